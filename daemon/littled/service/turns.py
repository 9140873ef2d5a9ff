"""Turns: how much work is done for each peer at a time, and how much for all of them.

Little work, the mark of a peer that waits for each answer, is done when its bytes arrive. More of
it waits for turns, which are taken between two looks at the sockets: first come peers whose work
has just arrived, then, in a circle, those that have some left; each gets so many units, all
together no more than a turn has. So whoever sends much waits for itself, and whoever sends little
for nobody. Releases have turns to be sent, a few at a time, of each origin after those of others.
Work is counted in units of some 5 us, by what public facts say it costs: kinds and lengths.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, TypeVar

from littled.limits import (
    ALLOWANCE_UNITS_MAX,
    ALLOWANCE_UNITS_PER_SECOND,
    ALLOWANCE_WAIT_UNITS,
    RELEASES_PER_TURN,
    WORK_PER_PEER_UNITS,
    WORK_PER_TURN_UNITS,
)
from littled.service.lines import Line

T = TypeVar("T")
Making: TypeAlias = Generator[float, None, T]
"""Something that is made a little at a time: says what work each piece was, and returns it."""


class Worker(Protocol):
    """Somebody with work in hand."""

    def work(self, units: int) -> int:
        """Do work of about so many units; return what was done."""

    @property
    def has_work(self) -> bool:
        """Whether something is left that could be done now."""


class Turns:
    """Gives turns to workers on the running loop."""

    def __init__(self) -> None:
        """Begin without anybody waiting."""
        self._loop = asyncio.get_running_loop()
        self._fresh: deque[Worker] = deque()
        self._waiting: deque[Worker] = deque()
        self._queued: set[Worker] = set()
        self._sending: Line[asyncio.Future[None]] = Line()
        self._scheduled = False

    def __contains__(self, worker: Worker) -> bool:
        """Return whether a worker waits for a turn."""
        return worker in self._queued

    def add(self, worker: Worker) -> None:
        """Let a worker have a turn soon; does nothing for one that waits already."""
        if worker not in self._queued:
            self._queued.add(worker)
            self._fresh.append(worker)
            self._schedule()

    async def to_send(self, origin: str) -> None:
        """Wait for one of the turns to send a release to a subscriber that comes from there."""
        turn = self._loop.create_future()
        self._sending.add(turn, origin)
        self._schedule()
        await turn

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        """Have one turn, and others as long as somebody waits, whatever goes wrong in this one."""
        self._scheduled = False
        try:
            self._give_out()
        finally:
            if self._queued or self._sending:
                self._schedule()

    def _give_out(self) -> None:
        """Give out the units of one turn, also to at least one of those who have waited."""
        left = WORK_PER_TURN_UNITS
        for _ in range(len(self._fresh)):
            left -= self._serve(self._fresh.popleft())
            if left <= 0:
                break
        left = max(left, 1)
        for _ in range(len(self._waiting)):
            left -= self._serve(self._waiting.popleft())
            if left <= 0:
                break
        self._let_send()

    def _let_send(self) -> None:
        allowed = RELEASES_PER_TURN
        while allowed and (turn := self._sending.take()) is not None:
            if not turn.done():  # by a subscriber that is gone
                turn.set_result(None)
                allowed -= 1

    def _serve(self, worker: Worker) -> int:
        try:
            done = worker.work(WORK_PER_PEER_UNITS)
        except BaseException:
            self._queued.discard(worker)
            raise
        if worker.has_work:
            self._waiting.append(worker)
        else:
            self._queued.discard(worker)
        return max(done, 1)


@dataclass(frozen=True, slots=True)
class Rate:
    """So many units at once, and so many a second; who has to wait does so for so many."""

    most: float
    per_second: float
    wait: float


PEER: Final = Rate(ALLOWANCE_UNITS_MAX, ALLOWANCE_UNITS_PER_SECOND, ALLOWANCE_WAIT_UNITS)
"""What one peer of the protocol may ask for."""


class Allowance:
    """What a peer may ask for without feeding.

    It may be overdrawn by one message; nothing more is taken then before some of it is back.
    """

    __slots__ = ("_at", "_left", "_rate")

    def __init__(self, now: float, rate: Rate = PEER) -> None:
        """Begin with all of it; times are the loop's."""
        self._rate = rate
        self._left = float(rate.most)
        self._at = now

    def spend(self, units: float) -> None:
        """Take units out."""
        self._left -= units

    @property
    def is_spent(self) -> bool:
        """Whether nothing was left at the last look at the clock."""
        return self._left <= 0

    def wait_seconds(self, now: float) -> float:
        """Return how long to wait before the next message is taken; 0 if it need not wait.

        Who has to wait waits for enough to be taken at once, so that waking up costs little.
        """
        rate, passed, self._at = self._rate, now - self._at, now
        self._left = min(rate.most, self._left + passed * rate.per_second)
        if self._left > 0:
            return 0.0
        return (rate.wait - self._left) / rate.per_second
