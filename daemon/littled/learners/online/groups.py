"""Who votes for closures: single examples and groups of them, as stored parameters."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Stored parameters of tallies over closures, fixed before any data.

    `tested_every` sets the price, since tests come after every so many positions; the rest is
    utility only. An example's secret word modulo `groups` plus the number of single voters says
    whose it is: `singles` vote by themselves while no call of the season has been made, and
    again once it has started over, `later_singles` otherwise, and all others with their group.
    A group votes once, for the closure of its examples, as soon as it is whole or `stable`
    examples in a row were inside it. Groups begin anew after `renewed_after` examples of an
    epoch, or two, four, ... times as many (`begun`). `next_score` is the threshold of rules
    that come right after the published one, where their list is public. After every
    `forgets_after` positions each rule has one vote less, so that what few have voted for is
    forgotten.
    """

    groups: int
    singles: int
    later_singles: int
    stable: int
    renewed_after: int
    next_score: int
    tested_every: int
    forgets_after: int

    def wrong(self) -> str | None:
        """The first thing that is wrong with these values, in one sentence."""
        values = asdict(self)
        if any(type(value) is not int or value < 0 for value in values.values()):
            return "the settings of groups must be integers of at least 0"
        if any(value < 1 for name, value in values.items() if not name.endswith("singles")):
            return "all settings of groups but their singles must be at least 1"
        return None

    def to_dict(self) -> dict[str, int]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """What `to_dict` wrote; ValueError, one sentence, for anything else."""
        names = {setting.name for setting in fields(cls)}
        if not isinstance(values, dict) or set(values) != names:
            raise ValueError(f"the settings of groups are {', '.join(sorted(names))}")
        return cls(**values)

    def voter(self, word: int, place: int, calls: int) -> int | None:
        """The group of an example, None for one that votes by itself.

        By the secret word of its position, its place in the epoch, from 0 on, and the calls since
        everything began.
        """
        singles = self.later_singles if calls else self.singles
        number = word % (self.groups + singles)
        if number >= self.groups:
            return None
        return number + self.groups * begun(place // self.renewed_after)

    def first_test(self, position: int) -> int:
        """The first position from this one on after which is a test."""
        return -(-(position + 1) // self.tested_every) * self.tested_every - 1


def begun(stretch: int) -> int:
    """The stretch of an epoch with which the groups of this one began; both are numbered from 0.

    Groups last for 1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8, ... stretches: if those that have
    voted did not agree, others soon take their place, and if mistakes are so rare that a group
    needs long, there is one that lasts. Source: Luby, Sinclair and Zuckerman, "Optimal Speedup of
    Las Vegas Algorithms".
    """
    # k of S(k), which is S(k - 1) twice and then 2^(k - 1), and has the sum k 2^(k - 1)
    first, k = 0, 1
    while stretch >= k << (k - 1):
        k += 1
    while stretch - first < (k - 1) << (k - 1):  # in one of the two
        k -= 1
        if stretch - first >= k << (k - 1):
            first += k << (k - 1)
    return first + ((k - 1) << (k - 1))
