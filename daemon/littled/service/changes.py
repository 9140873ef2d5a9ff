"""Which of many things have changed since somebody looked, without a look at all the others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile


class Changes:
    """Names of things, by when each has changed last."""

    def __init__(self) -> None:
        """Begin with none."""
        self.number = 0
        # The one that has changed last comes last.
        self._numbers: dict[str, int] = {}

    def note(self, name: str) -> None:
        """Take note that something has changed."""
        self.number += 1
        self._numbers.pop(name, None)
        self._numbers[name] = self.number

    def since(self, number: int) -> list[str]:
        """What has changed since `number` was this number, in that order; all of it since 0."""
        newest: Iterator[tuple[str, int]] = reversed(self._numbers.items())
        return [name for name, _ in takewhile(lambda each: each[1] > number, newest)][::-1]
