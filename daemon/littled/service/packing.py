"""Packs old records while the daemon serves: a segment at a time, between commits.

Each segment is a job of the writer that takes milliseconds. So that commits seldom find one in
their way, the writer then rests from packing for several times as long, except where so much waits
that the file would grow.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

from littled.limits import PACKING_REST_TIMES, PACKING_WAITING_MAX
from littled.service.writer import Writer


class Packed(Protocol):
    """What a packer needs of a store."""

    @property
    def segments_waiting(self) -> int:
        """How many segments may be packed, about."""

    def pack(self) -> bool:
        """Pack one of them; return whether more are waiting. On the writer's thread."""


class Packer:
    """Packs the records of one store; used on the event loop."""

    def __init__(self, store: Packed, writer: Writer, loop: asyncio.AbstractEventLoop) -> None:
        """Do nothing before the first commit."""
        self._store = store
        self._writer = writer
        self._loop = loop
        self._busy = False

    def committed(self) -> None:
        """Say that there may be something to pack."""
        if not self._busy and self._store.segments_waiting:
            self._busy = True
            self._writer.submit(self._pack)

    def _pack(self) -> None:
        """Pack a segment on the writer's thread; a failure ends the daemon as any other write's."""
        started = time.monotonic()
        self._store.pack()
        self._loop.call_soon_threadsafe(self._packed, time.monotonic() - started)

    def _packed(self, seconds: float) -> None:
        late = self._store.segments_waiting > PACKING_WAITING_MAX
        self._loop.call_later(0.0 if late else PACKING_REST_TIMES * seconds, self._rested)

    def _rested(self) -> None:
        self._busy = False
        self.committed()
