"""Turns of the HTTP side: its clients together are one worker beside the sessions of the protocol.

Nobody is refused here: a request whose head is there waits until it is begun, one or two in a turn
of the loop, and what takes long to make is made a little in each turn, for the origin that has had
the least. All of it comes out of one allowance, but for those who watch, who have one for
themselves and so wait for nobody else, and for questions and rows, which have limits of their own
and cost a budget or a disk. Those of one origin wait as long as it has spent its own allowance: for
the bytes of questions, and for what was refused.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from functools import cached_property
from typing import Any, Final

from littled.limits import (
    HTTP_ORIGINS_MAX,
    HTTP_UNITS_MAX,
    HTTP_UNITS_PER_SECOND,
    HTTP_WAIT_UNITS,
)
from littled.service.turns import Allowance, Making, Rate, T, Turns

_RATE: Final = Rate(HTTP_UNITS_MAX, HTTP_UNITS_PER_SECOND, HTTP_WAIT_UNITS)
Begin = Callable[[], int]
"""Begins a request; returns what work it is, 0 if whoever sent it is gone."""


class Lane(Enum):
    """Where a request waits: those who watch do not wait for all the others."""

    WATCHING = auto()
    OTHERS = auto()


class _Waiting:
    """Who waits in a lane: requests to be begun, and what is being made for others."""

    def __init__(self, now: float) -> None:
        self.allowance = Allowance(now, _RATE)
        self.begins: deque[Begin] = deque()
        self.waits = False
        # By origin, of each what came first; and what work each has had, also of some that have
        # nothing now: who has had least comes next, and who comes anew has had as much as that one.
        self._makings: dict[str, deque[tuple[Making[Any], asyncio.Future[Any]]]] = {}
        self._had: dict[str, float] = {}
        self._makes_next = True

    @property
    def is_asked(self) -> bool:
        """Whether anything is left to do."""
        return bool(self._makings or self.begins)

    @property
    def has_work(self) -> bool:
        """Whether something is left that could be done now."""
        return self.is_asked and not self.allowance.is_spent

    def make(self, origin: str, making: Making[T], future: asyncio.Future[T]) -> None:
        """Let something be made for an origin, after what it has asked for before."""
        if origin not in self._makings:
            least = min((self._had[each] for each in self._makings), default=0.0)
            self._had = {
                each: units
                for each, units in self._had.items()
                if units > least or each in self._makings
            }
            self._had[origin] = max(self._had.get(origin, 0.0), least)
            self._makings[origin] = deque()
        self._makings[origin].append((making, future))

    def go_on(self) -> float:
        """Begin a request, or make a piece; return what work it was."""
        # What is made and what is begun take turns: neither waits for all of the other.
        makes = bool(self._makings) and (self._makes_next or not self.begins)
        self._makes_next = not makes
        took = self._make_on() if makes else self.begins.popleft()()
        self.allowance.spend(took)
        return took

    def _make_on(self) -> float:
        """Make a piece for the origin that has had the least: pieces differ in size."""
        origin = min(self._makings, key=self._had.__getitem__)
        asked = self._makings[origin]
        took = _piece(*asked[0])
        if took is None:
            asked.popleft()
        else:
            self._had[origin] += took
        if not asked:
            del self._makings[origin]
        if not self._makings:
            self._had.clear()
        return took or 0


def _piece(making: Making[Any], future: asyncio.Future[Any]) -> float | None:
    """Make a piece of something; return what work it was, None if there is no more to make."""
    if future.done():  # whoever asked is gone
        return None
    try:
        return next(making)
    except StopIteration as end:
        future.set_result(end.value)
    except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
        future.set_exception(error)
    return None


class _Origin:
    """One origin's requests with bodies, and what it may still send in vain."""

    __slots__ = ("allowance", "begins")

    def __init__(self, now: float) -> None:
        self.allowance = Allowance(now, _RATE)
        self.begins: deque[Begin] = deque()


class HttpTurns:
    """The requests of all HTTP clients, and what is being made for them."""

    def __init__(self, turns: Turns | None = None) -> None:
        """Take turns with the sessions, or without any; a loop need not run yet."""
        self._given = turns
        # Whoever spent something lately, the last one last; and those that have something to begin.
        self._origins: dict[str, _Origin] = {}
        self._feeding: deque[_Origin] = deque()

    @cached_property
    def turns(self) -> Turns:
        """The turns of the loop."""
        return Turns() if self._given is None else self._given

    @cached_property
    def _lane(self) -> dict[Lane, _Waiting]:
        now = asyncio.get_running_loop().time()
        return {lane: _Waiting(now) for lane in Lane}

    @cached_property
    def _lanes(self) -> deque[_Waiting]:
        """The one that is served next comes first."""
        return deque(self._lane.values())

    def add(self, lane: Lane, begin: Begin) -> None:
        """Let a request be begun when it is its turn."""
        self._lane[lane].begins.append(begin)
        self._take_turn(self._lane[lane])

    def add_feeding(self, origin: str, begin: Begin) -> None:
        """Let a request that brings a body be begun, before others, if its origin may have it."""
        one = self._origin(origin)
        one.begins.append(begin)
        if len(one.begins) == 1:
            self._feed(one)

    def charge(self, origin: str, units: float) -> None:
        """Take from what an origin may ask for with bodies."""
        self._origin(origin).allowance.spend(units)

    async def made(self, lane: Lane, origin: str, making: Making[T]) -> T:
        """Wait for what is made in turns; for one origin one thing after the other."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._lane[lane].make(origin, making, future)
        self._take_turn(self._lane[lane])
        return await future

    def work(self, units: int) -> int:
        """Do about so much work; return how much it was."""
        done = 0.0
        while done < units and self.has_work:
            if self._feeding:
                one = self._feeding.popleft()
                done += one.begins.popleft()()
                if one.begins:
                    self._feed(one)
                continue
            done += self._next_lane().go_on()
        for waiting in self._lanes:
            self._wait_for_allowance(waiting)
        return round(done)

    @property
    def has_work(self) -> bool:
        """Whether something is left that could be done now."""
        return bool(self._feeding) or any(waiting.has_work for waiting in self._lanes)

    def _origin(self, name: str) -> _Origin:
        """What is known of an origin; one that was not heard of for long makes room."""
        one = self._origins.pop(name, None) or _Origin(asyncio.get_running_loop().time())
        self._origins[name] = one
        if len(self._origins) > HTTP_ORIGINS_MAX:
            idle = next((each for each, found in self._origins.items() if not found.begins), name)
            del self._origins[idle]
        return one

    def _feed(self, one: _Origin) -> None:
        """Let an origin with requests begin one, now or when it has some of its allowance."""
        loop = asyncio.get_running_loop()
        seconds = one.allowance.wait_seconds(loop.time())
        if seconds > 0:
            loop.call_later(seconds, self._feed, one)
        else:
            self._feeding.append(one)
            self.turns.add(self)

    def _next_lane(self) -> _Waiting:
        """The lane whose turn it is, of those that have work; the other one has the next."""
        while not self._lanes[0].has_work:
            self._lanes.rotate()
        self._lanes.rotate()
        return self._lanes[-1]

    def _take_turn(self, waiting: _Waiting) -> None:
        self._wait_for_allowance(waiting)
        if self.has_work:
            self.turns.add(self)

    def _wait_for_allowance(self, waiting: _Waiting) -> None:
        """Come back when there is allowance again for what is asked, if there is none."""
        if not waiting.is_asked or waiting.waits:
            return
        loop = asyncio.get_running_loop()
        seconds = waiting.allowance.wait_seconds(loop.time())
        if seconds > 0:
            waiting.waits = True
            loop.call_later(seconds, self._go_on, waiting)

    def _go_on(self, waiting: _Waiting) -> None:
        waiting.waits = False
        self._take_turn(waiting)
