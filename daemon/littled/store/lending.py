"""Connections that read, lent to any thread for one short use, and kept for the next one."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Generic, TypeVar

from littled.limits import STORE_READERS_IDLE_MAX
from littled.store.errors import StoreFailed

Connection = TypeVar("Connection")


class Lending(Generic[Connection]):
    """The connections of one database that are lent, whichever it is.

    opening: makes one. closing: closes one, and hears whether something went wrong with it.
    translated: turns what the database raises into a StoreError.
    """

    def __init__(
        self,
        opening: Callable[[], Connection],
        closing: Callable[[Connection, bool], None],
        translated: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """Nothing is opened yet."""
        self._opening = opening
        self._closing = closing
        self._translated = translated
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._closed = False

    @contextmanager
    def lend(self) -> Iterator[Connection]:
        """Lend a connection; what the database raises inside becomes a StoreError."""
        with self._lock:
            if self._closed:
                raise StoreFailed("the store is closed")
            connection = self._idle.pop() if self._idle else None
        with self._translated():
            if connection is None:
                connection = self._opening()
            try:
                yield connection
            except BaseException:
                self._closing(connection, True)
                raise
        with self._lock:
            keep = not self._closed and len(self._idle) < STORE_READERS_IDLE_MAX
            if keep:
                self._idle.append(connection)
        if not keep:
            self._closing(connection, False)

    def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back. Raises StoreError."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        with self._translated():
            for connection in idle:
                self._closing(connection, False)
