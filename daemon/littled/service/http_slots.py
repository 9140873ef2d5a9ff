"""What the HTTP side has a number of: slots for requests, and shares of what they may hold.

One origin has a part of each, so that nobody alone closes a page to everybody else.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from aiohttp import web

from littled.service.admission import one_less, share_of
from littled.service.lines import Line
from littled.service.listeners import origin_of


class Asker(Protocol):
    """Somebody who asks for a slot."""

    @property
    def origin(self) -> str:
        """Where it comes from."""

    @property
    def is_begun(self) -> bool:
        """Whether somebody is at work on the answer."""

    @property
    def is_answered(self) -> bool:
        """Whether it holds a slot only because it has not closed yet."""

    def begin(self) -> None:
        """Take the slot."""

    def cut(self) -> None:
        """End, to make room."""

    def check_time(self, now: float) -> None:
        """End if the peer has broken a time limit; `now` is the loop's time."""


class Slots:
    """So many slots; who finds none stands in line."""

    def __init__(self, most: int) -> None:
        """Begin with all of them free."""
        self._most, self._share = most, share_of(most)
        # The oldest first.
        self._held: dict[Asker, None] = {}
        self._origins: Counter[str] = Counter()
        self._line: Line[Asker] = Line()
        self._loop = asyncio.get_running_loop()

    def __len__(self) -> int:
        """Return how many are taken."""
        return len(self._held)

    def __iter__(self) -> Iterator[Asker]:
        """Return who has one."""
        return iter(self._held)

    def ask(self, asker: Asker) -> None:
        """Let somebody stand in line, who may be the next at once."""
        self._line.add(asker, asker.origin)
        self.serve()

    def leave(self, asker: Asker) -> None:
        """Forget somebody who may have asked."""
        self._line.leave(asker, asker.origin)
        if asker in self._held:
            del self._held[asker]
            one_less(self._origins, asker.origin)
            if self._line:
                self._loop.call_soon(self.serve)

    def serve(self) -> None:
        """Give slots to those for whom there are some."""
        while (asker := self._line.take(self._finds_room)) is not None:
            self._held[asker] = None
            self._origins[asker.origin] += 1
            asker.begin()

    def _finds_room(self, origin: str) -> bool:
        """Whether there is a slot; who was answered and has only not closed yet makes room."""
        if self._origins[origin] >= self._share:
            rivals = [each for each in self._held if each.origin == origin]
        elif len(self._held) >= self._most:
            rivals = list(self._held)
        else:
            return True
        answered = next((each for each in rivals if each.is_answered), None)
        if answered is not None:
            answered.cut()
        return answered is not None


class Shares:
    """Places for what lasts, of which every origin has a part."""

    def __init__(self) -> None:
        """Begin with all of them free."""
        self._taken: Counter[str] = Counter()

    @contextmanager
    def place(
        self, request: web.Request, most: int, full: Callable[[], Exception]
    ) -> Iterator[None]:
        """Have one of so many places; where none is left for the peer, raises what `full` makes."""
        origin = origin_in(request)
        if self._taken[origin] >= share_of(most) or self._taken.total() >= most:
            raise full()
        self._taken[origin] += 1
        try:
            yield
        finally:
            one_less(self._taken, origin)


def origin_in(request: web.Request) -> str:
    """Where a request comes from; those whose peer is gone are of one origin."""
    peer = request.get_extra_info("socket")
    try:
        return "gone" if peer is None else origin_of(peer)
    except OSError:
        return "gone"
