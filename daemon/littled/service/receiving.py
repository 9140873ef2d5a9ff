"""Memory for what has arrived and is not dealt with yet, shared by all peers.

A peer holds up to `FRAME_SHORT_BYTES` for nothing. An unfinished frame that is longer needs a
*grant* of its length out of a pool, and is not read on without one. Peers that have finished a long
frame before take turns with the others, so that neither a crowd that never finishes one nor a crowd
that did so once keeps anybody waiting; and so do the origins among either. An origin that holds
much is granted nothing more while little is free, so that all of them together leave room for
somebody else. While others wait for grants, a frame that does not come on gives its grant up: its
session ends. What one read may bring beyond that is little once much is waiting to be dealt with.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Protocol

from littled.limits import (
    FRAME_GROWTH_BYTES,
    FRAME_GROWTH_SECONDS,
    FRAMES_GRANTED_BYTES,
    FRAMES_OF_ORIGIN_TIMES,
    RECEIVE_BACKLOG_BYTES,
)
from littled.service.admission import less
from littled.service.lines import Line


class Receiver(Protocol):
    """Somebody who receives frames."""

    @property
    def origin(self) -> str:
        """Where they come from."""

    def granted(self) -> None:
        """Read on: the frame that was asked for has its place."""

    def stalled(self) -> None:
        """End: the frame does not come on, and others wait for its place."""

    @property
    def growing_bytes(self) -> int | None:
        """How much has come, now and before; None while a frame is whole or must not be read on."""


@dataclass(slots=True)
class _Grant:
    """A place for a frame: its length, and how much had come from its peer at the last look.

    came_bytes: None where there was no look yet, or nothing could come.
    """

    frame_bytes: int
    came_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class _Wish:
    """A frame that waits for a place: its length, and whether its peer has finished one before."""

    frame_bytes: int
    proven: bool


class Receiving:
    """Counts what all receivers hold, and grants places for long frames; used on one loop."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._loop = asyncio.get_running_loop()
        self.held_bytes = 0
        self._free_bytes = FRAMES_GRANTED_BYTES
        self._grants: dict[Receiver, _Grant] = {}
        self._granted_bytes: Counter[str] = Counter()
        # Who waits has a wish, and stands in the line of those who are like it in being proven.
        self._wishes: dict[Receiver, _Wish] = {}
        self._lines: dict[bool, Line[Receiver]] = {True: Line(), False: Line()}
        self._turn_of_proven = True
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
        known = self._grants.get(receiver) or self._wishes.get(receiver)
        if known is None or known.frame_bytes != frame_bytes:
            self.give_back(receiver)
            self._wishes[receiver] = _Wish(frame_bytes, proven)
            self._lines[proven].add(receiver, receiver.origin)
            self._serve()
        if receiver in self._grants:
            return True
        if not self._looking:
            self._looking = True
            self._loop.call_later(FRAME_GROWTH_SECONDS, self._look)
            self._note_growth()
        return False

    def give_back(self, receiver: Receiver) -> bool:
        """Forget a frame, as it is whole or its session over; return whether it had a place."""
        wish = self._wishes.pop(receiver, None)
        if wish is not None:
            self._lines[wish.proven].leave(receiver, receiver.origin)
        grant = self._grants.pop(receiver, None)
        if grant is not None:
            self._free_bytes += grant.frame_bytes
            less(self._granted_bytes, receiver.origin, grant.frame_bytes)
        if grant is not None or wish is not None:  # others may have waited behind it
            self._serve()
        return grant is not None

    def _serve(self) -> None:
        """Grant what can be granted, in turns."""
        while (line := self._next_line()) is not None:
            receiver = line.first(self._may)
            assert receiver is not None, "a line without anybody was next"
            wish = self._wishes[receiver]
            if wish.frame_bytes > self._free_bytes:
                break  # shorter frames of others would keep it waiting for ever
            line.take(self._may)
            del self._wishes[receiver]
            self._turn_of_proven = not wish.proven
            self._free_bytes -= wish.frame_bytes
            self._granted_bytes[receiver.origin] += wish.frame_bytes
            self._grants[receiver] = _Grant(wish.frame_bytes)
            receiver.granted()

    def _next_line(self) -> Line[Receiver] | None:
        """Return the line whose turn it is, or the other one where nobody there may be granted."""
        for proven in (self._turn_of_proven, not self._turn_of_proven):
            if self._lines[proven].first(self._may) is not None:
                return self._lines[proven]
        return None

    def _may(self, origin: str) -> bool:
        """Whether an origin may be granted something, considering what it has and what is free."""
        return self._granted_bytes[origin] <= FRAMES_OF_ORIGIN_TIMES * self._free_bytes

    def _look(self) -> None:
        """End the frames that have not come on since the last look, while somebody waits."""
        self._looking = bool(self._wishes)
        if not self._looking:
            return
        # At first, and the place before its receiver: whatever goes wrong there, no place is lost.
        self._loop.call_later(FRAME_GROWTH_SECONDS, self._look)
        for receiver, grant in list(self._grants.items()):
            before, now = grant.came_bytes, receiver.growing_bytes
            if before is not None and now is not None and now - before < FRAME_GROWTH_BYTES:
                self.give_back(receiver)
                receiver.stalled()
        self._note_growth()

    def _note_growth(self) -> None:
        for receiver, grant in self._grants.items():
            grant.came_bytes = receiver.growing_bytes
