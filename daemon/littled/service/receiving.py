"""Memory for what has arrived and is not dealt with yet, shared by all peers.

A peer holds up to `FRAME_SHORT_BYTES` for nothing. An unfinished frame that is longer needs a
*grant* of its length out of a pool, in the order of asking, and is not read on without one; peers
that have finished a long frame before come first. While others wait for grants, a frame that does
not come on gives its grant up: its session ends. What one read may bring beyond that is little once
much is waiting to be dealt with.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

from littled.limits import (
    FRAME_GROWTH_BYTES,
    FRAME_GROWTH_SECONDS,
    FRAMES_GRANTED_BYTES,
    RECEIVE_BACKLOG_BYTES,
)


class Receiver(Protocol):
    """Somebody who receives frames."""

    def granted(self) -> None:
        """Read on: the frame that was asked for has its place."""

    def stalled(self) -> None:
        """End: the frame does not come on, and others wait for its place."""

    @property
    def growing_bytes(self) -> int | None:
        """How much of the frame is there; None while it cannot grow as nothing is read."""


class Receiving:
    """Counts what all receivers hold, and grants places for long frames; used on one loop."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._loop = asyncio.get_running_loop()
        self.held_bytes = 0
        self._free_bytes = FRAMES_GRANTED_BYTES
        # Receivers with a grant: its length, and how much of the frame was there at the last look.
        self._grants: dict[Receiver, list[int]] = {}
        # Who waits: those that have finished a long frame before, and the others.
        self._proven: deque[tuple[Receiver, int]] = deque()
        self._asking: deque[tuple[Receiver, int]] = deque()
        self._looking = False

    @property
    def is_crowded(self) -> bool:
        """Whether so much is held that reads must be short."""
        return self.held_bytes > RECEIVE_BACKLOG_BYTES

    def ask(self, receiver: Receiver, frame_bytes: int, *, proven: bool = False) -> bool:
        """Ask for a place for a frame of this length; return whether it is there.

        Otherwise `granted` is called later. Asking again for the same frame changes nothing.
        proven: whether the receiver has finished a long frame before.
        """
        grant = self._grants.get(receiver)
        if grant is not None:
            if grant[0] == frame_bytes:
                return True
            self.give_back(receiver)
        first = not self._proven and (proven or not self._asking)
        if first and self._grant(receiver, frame_bytes):
            return True
        (self._proven if proven else self._asking).append((receiver, frame_bytes))
        if not self._looking:
            self._looking = True
            self._note_growth()
            self._loop.call_later(FRAME_GROWTH_SECONDS, self._look)
        return False

    def give_back(self, receiver: Receiver) -> bool:
        """Give a grant back, as the frame is whole or its session over; return if there was one."""
        grant = self._grants.pop(receiver, None)
        if grant is None:
            return False
        self._free_bytes += grant[0]
        self._serve()
        return True

    def leave(self, receiver: Receiver) -> None:
        """Forget a receiver that is gone."""
        if receiver not in self._grants:
            self._proven = deque(found for found in self._proven if found[0] is not receiver)
            self._asking = deque(found for found in self._asking if found[0] is not receiver)
        self.give_back(receiver)

    def _grant(self, receiver: Receiver, frame_bytes: int) -> bool:
        if frame_bytes > self._free_bytes:
            return False
        self._free_bytes -= frame_bytes
        self._grants[receiver] = [frame_bytes, receiver.growing_bytes or 0]
        return True

    def _serve(self) -> None:
        """Grant what can be granted, in order."""
        while waiting := self._proven or self._asking:
            if not self._grant(*waiting[0]):
                break
            waiting.popleft()[0].granted()

    def _look(self) -> None:
        """End the frames that have not come on since the last look, while somebody waits."""
        self._looking = bool(self._proven or self._asking)
        if not self._looking:
            return
        for receiver, grant in list(self._grants.items()):
            there = receiver.growing_bytes
            if there is not None and there - grant[1] < FRAME_GROWTH_BYTES:
                receiver.stalled()
        self._serve()
        self._note_growth()
        self._loop.call_later(FRAME_GROWTH_SECONDS, self._look)

    def _note_growth(self) -> None:
        for receiver, grant in self._grants.items():
            grant[1] = receiver.growing_bytes or grant[1]
