"""Turns at messages whose values are looked at one by one, and that hold many of them.

Columns of examples are checked and copied whole; lists, and fields that nobody knows, are decoded
value by value: a frame of 130,000 of them takes the loop ten milliseconds, and cannot be left in
between. So such messages come one after the other, every origin in its turn, and after each there
is a rest some times as long, in which the loop is there for everybody else.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from littled.limits import SCAN_REST_TIMES, WORK_UNIT_SECONDS
from littled.service.lines import Line


class Scanner(Protocol):
    """Somebody who has such a message in hand."""

    @property
    def origin(self) -> str:
        """Where it comes from."""

    def may_scan(self) -> None:
        """Decode one now, and call `done`, also if that cannot be now."""


class Scanning:
    """Says whose turn it is; used on one loop."""

    def __init__(self) -> None:
        """Begin without anybody."""
        self._loop = asyncio.get_running_loop()
        self._line: Line[Scanner] = Line()
        self._turn_of: Scanner | None = None
        self._rest_ends = self._loop.time()
        self._scheduled = False

    def __contains__(self, scanner: Scanner) -> bool:
        """Return whether somebody waits for a turn."""
        return self._line.holds(scanner, scanner.origin)

    def ask(self, scanner: Scanner) -> bool:
        """Return whether it is this one's turn; otherwise `may_scan` is called when it is.

        Asking again while waiting changes nothing.
        """
        if scanner is self._turn_of:
            return True
        if scanner in self:
            return False
        if self._turn_of is None and not self._line and self._loop.time() >= self._rest_ends:
            self._turn_of = scanner
            return True
        self._line.add(scanner, scanner.origin)
        self._schedule()
        return False

    def done(self, scanner: Scanner, units: float = 0) -> None:
        """End a turn that took so much work, none if it was not used; then rest.

        Does nothing for who has no turn.
        """
        if scanner is self._turn_of:
            self._turn_of = None
            self._rest_ends = self._loop.time() + SCAN_REST_TIMES * WORK_UNIT_SECONDS * units
            self._schedule()

    def leave(self, scanner: Scanner) -> None:
        """Forget somebody who is gone."""
        self._line.leave(scanner, scanner.origin)
        self.done(scanner)

    def _schedule(self) -> None:
        if self._line and self._turn_of is None and not self._scheduled:
            self._scheduled = True
            self._loop.call_at(self._rest_ends, self._next)

    def _next(self) -> None:
        self._scheduled = False
        if self._turn_of is None and (scanner := self._line.take()) is not None:
            self._turn_of = scanner
            scanner.may_scan()
