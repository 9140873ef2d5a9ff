"""What was last written to a mark that is not in a file, remembered beside the store.

A cluster of etcd that is restored from a backup has another name only if somebody gives it one. By
this file a store that has written to a cluster notices that the cluster no longer knows of it. It
says what is true when it is there, and nothing is lost without it: a copy of the database alone
has none.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from littled.store.errors import StoreFailed, StoreRefused
from littled.store.files import PRIVATE_FILE, read_limited, replace_private

_BYTES_MAX = 64
_DIGITS = 20


@dataclass(frozen=True, slots=True)
class Seen:
    """The cluster that was written to last, and its revision then."""

    cluster: str
    revision: int


class Witness:
    """One file of two numbers; only a start makes it durable, since all it can miss is its use."""

    def __init__(self, path: Path | None) -> None:
        """Open nothing yet. None: remember nothing."""
        self._path = path
        self._descriptor: int | None = None

    def read(self) -> Seen | None:
        """What was noted last; None where nothing was, or nothing that can be read."""
        if self._path is None:
            return None
        try:
            cluster, revision = read_limited(self._path, _BYTES_MAX).split()
            return Seen(str(int(cluster)), int(revision))
        except (OSError, StoreRefused, ValueError):
            return None

    def begin(self, cluster: str, revision: int) -> None:
        """Note it, durable on return, and be ready for more. StoreFailed."""
        self.close()
        if self._path is None:
            return
        try:
            replace_private(self._path, _text(cluster, revision))
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC, PRIVATE_FILE)
        except OSError as error:
            raise StoreFailed(f"{self._path} cannot be written: {error.strerror}") from error

    def note(self, cluster: str, revision: int) -> None:
        """Note it. StoreFailed."""
        if self._descriptor is None:
            return
        try:
            os.pwrite(self._descriptor, _text(cluster, revision), 0)
        except OSError as error:
            raise StoreFailed(f"{self._path} cannot be written: {error.strerror}") from error

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _text(cluster: str, revision: int) -> bytes:
    """As long for all numbers, so that one takes the place of the other."""
    return f"{int(cluster):0{_DIGITS}} {revision:0{_DIGITS}}\n".encode()
