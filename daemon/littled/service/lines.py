"""Lines in front of what is scarce: first come, first served, but every origin in its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Waiting = TypeVar("Waiting")


class Line(Generic[Waiting]):
    """Who waits, by origin: however many one origin sends, the others wait behind one of them."""

    def __init__(self) -> None:
        """Begin with nobody."""
        # The origin whose turn is next comes first, and of each who came first.
        self._origins: dict[str, dict[Waiting, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        """Return how many wait."""
        return self._count

    def __iter__(self) -> Iterator[Waiting]:
        """Return all who wait."""
        return (each for waiting in self._origins.values() for each in waiting)

    def holds(self, waiting: Waiting, origin: str) -> bool:
        """Return whether somebody of an origin waits."""
        return waiting in self._origins.get(origin, ())

    def of(self, origin: str) -> int:
        """Return how many of one origin wait."""
        return len(self._origins.get(origin, ()))

    def add(self, waiting: Waiting, origin: str) -> None:
        """Let somebody wait who does not yet."""
        self._origins.setdefault(origin, {})[waiting] = None
        self._count += 1

    def leave(self, waiting: Waiting, origin: str) -> None:
        """Forget somebody who may have waited."""
        of_origin = self._origins.get(origin, {})
        if waiting in of_origin:
            del of_origin[waiting]
            self._count -= 1
            if not of_origin:
                del self._origins[origin]

    def first(self, may: Callable[[str], bool] = lambda _: True) -> Waiting | None:
        """Return who is next, of the origins that may, and let it wait on; None for nobody."""
        origin = next(filter(may, self._origins), None)
        return None if origin is None else next(iter(self._origins[origin]))

    def take(self, may: Callable[[str], bool] = lambda _: True) -> Waiting | None:
        """Return who is next, of the origins that may; None if there is nobody."""
        origin = next(filter(may, self._origins), None)
        if origin is None:
            return None
        waiting = next(iter(self._origins[origin]))
        self.leave(waiting, origin)
        if origin in self._origins:  # the others have their turn first
            self._origins[origin] = self._origins.pop(origin)
        return waiting


class Turn:
    """A turn that one has at a time: who waits for it stands in line; used on one loop."""

    def __init__(self) -> None:
        """Begin with nobody who has it."""
        self._line: Line[asyncio.Future[None]] = Line()
        self._is_taken = False

    @property
    def is_wanted(self) -> bool:
        """Whether somebody waits for it."""
        return bool(self._line)

    async def take(self, origin: str) -> None:
        """Wait for the turn; who has it gives it back."""
        if not self._is_taken:
            self._is_taken = True
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.add(mine, origin)
        try:
            await mine
        except asyncio.CancelledError:
            self._line.leave(mine, origin)
            if not mine.cancelled():  # it came just when whoever waited for it left
                self.give_back()
            raise

    def give_back(self) -> None:
        """Let the next one have it."""
        while (waiting := self._line.take()) is not None:
            if not waiting.done():  # by somebody who is gone
                waiting.set_result(None)
                return
        self._is_taken = False
