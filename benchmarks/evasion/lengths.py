"""The search for a block's length as a game: which branch costs whoever searches most.

A learner that searches publishes the constant 0 while it knows no block, and learns of up to k
lengths at a time whether the target is as long: positives propose their blocks of these lengths. If
none is published the target is shorter than all of them. If one is, its next mistake says whether
the target is shorter, in which case the lengths below are bisected on a path that is known, or
longer but shorter than the next one proposed. An epoch under the constant 0 costs `up` mistakes,
any other one `down`. `ask(n)` are the places of the lengths, among the n that are left, that are
best proposed; with them the search costs `search(n)` at most. Learners that search in another way
meet an evader that only guesses their branches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

# Of the search with four lengths at a time at (1, 1e-6): mistakes that epochs wait for.
UP, DOWN, AT_ONCE = 214, 79, 4


@dataclass(frozen=True)
class LengthSearch:
    """The search among up to `most` lengths."""

    most: int
    up: int = UP
    down: int = DOWN
    at_once: int = AT_ONCE

    def bisect(self, left: int) -> int:
        """What it costs to bisect so many lengths of a known path."""
        return self.down * (left.bit_length() - 1) if left else 0

    def search(self, left: int) -> int:
        """The least cost of the worst branch with so many lengths left under the constant 0."""
        return self._table[left][0]

    def ask(self, left: int) -> tuple[int, ...]:
        """The places, 0..left-1, of the lengths that are proposed, in rising order."""
        return self._table[left][1]

    @cached_property
    def _table(self) -> list[tuple[int, tuple[int, ...]]]:
        costs: list[int] = [0]
        table: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        for left in range(1, self.most + 1):
            above = [self.up + self.down + cost for cost in costs]
            below = [self.up + self.down + self.bisect(place) for place in range(1, left + 1)]
            limits = sorted({self.up, *(self.up + cost for cost in costs[1:]), *above, *below})
            first, last = 0, len(limits) - 1
            while first < last:
                middle = (first + last) // 2
                if self._places(left, limits[middle], costs) is None:
                    first = middle + 1
                else:
                    last = middle
            places = self._places(left, limits[first], costs)
            assert places is not None
            table.append((limits[first], places))
            costs.append(limits[first])
        return table

    def _places(self, left: int, limit: int, costs: Sequence[int]) -> tuple[int, ...] | None:
        """Places that keep every branch within the limit, as few as can be; None if none do."""
        at = max((n for n in range(left) if not n or self.up + costs[n] <= limit), default=0)
        places: list[int] = []
        while at < left:
            if len(places) == self.at_once or self._shorter(at) > limit:
                return None
            places.append(at)
            at += 1
            while at < left and self.up + self.down + costs[at - places[-1]] <= limit:
                at += 1
        return tuple(places)

    def _shorter(self, place: int) -> int:
        """A block was published of this place, and the target is shorter."""
        return self.up + self.down + self.bisect(place) if place else 0

    def costliest(self, left: int) -> int:
        """How many of the lengths that are left the evader keeps under the constant 0.

        It then shows positives that have the longest of these in common, and no more.
        """
        places = self.ask(left)
        branches = [(self.up + self.search(places[0]), places[0])] if places[0] else []
        for place, end in zip(places, (*places[1:], left), strict=True):
            longer = self.up + self.down + self.search(end - place - 1)
            branches.append((max(longer, self._shorter(place)), end))
        return max(branches)[1]
