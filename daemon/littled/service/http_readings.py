"""Long bodies, which are read beside the loop one at a time: what that takes is limited so.

Origins take turns: however many bodies one sends, another's waits for one of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from littled.service.lines import Turn

T = TypeVar("T")


class Readings:
    """Whose turn it is to be read."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._turn = Turn()

    async def read(self, origin: str, body: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Read a body that came from there when it is its turn.

        A thread cannot be interrupted: the turn lasts as long, also when the peer has left.
        """
        await self._turn.take(origin)
        reading = asyncio.ensure_future(body())
        reading.add_done_callback(self._end_turn)
        await asyncio.wait([reading])
        return reading.result()

    def _end_turn(self, reading: asyncio.Future[Any]) -> None:
        self._turn.give_back()
        if not reading.cancelled():
            reading.exception()  # which its peer is told, unless it has left
