"""One byte string: `x is s`, for texts and keys that are no numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import ClassError, Labels, Points
from littled.classes.capabilities import Items
from littled.classes.hypothesis import HypothesisClass
from littled_protocol import limits
from littled_protocol.rules import StringRule

LENGTH_MIN = 2


@dataclass(frozen=True)
class Strings(HypothesisClass, Items):
    """The rules x == s over byte strings of `length` bytes, and the rule that is always 0."""

    length: int

    def __post_init__(self) -> None:
        """Refuse lengths that no type of points has (ClassError)."""
        if not LENGTH_MIN <= self.length <= limits.string_bytes_max:
            raise ClassError(
                f"strings needs a length from {LENGTH_MIN} to {limits.string_bytes_max} bytes, not "
                f"{self.length}"
            )

    @property
    def name(self) -> str:
        """`strings:LENGTH`."""
        return f"strings:{self.length}"

    @property
    def point_type(self) -> str:
        """Byte strings of this length."""
        return f"bytes{self.length}"

    @property
    def littlestone_dimension(self) -> int:
        """1: one mistake on the target reveals it."""
        return 1

    @property
    def dual_vc_dimension(self) -> int:
        """1: no string belongs to two different rules."""
        return 1

    def to_dict(self) -> dict[str, Any]:
        """Name and length."""
        return {"class": "strings", "length": self.length}

    def contains(self, points: Points) -> bool:
        """Every byte string of this length."""
        return True

    def first_rule(self) -> StringRule:
        """Always 0."""
        return StringRule(self.length, None)

    @property
    def longest_rule(self) -> StringRule:
        """Any string."""
        return StringRule(self.length, b"\xff" * self.length)

    @property
    def item_bits(self) -> int:
        """A string is the number whose bytes it is, the highest first."""
        return 8 * self.length

    def reported(self, x: Points, y: Labels) -> tuple[list[int], NDArray[np.int64]]:
        """The strings of positive examples, rising, with their counts."""
        strings, counts = self._counted(x[y == 1])
        return [self._number(string) for string in strings], counts

    def item_rule(self, item: int) -> StringRule:
        """The rule of one string."""
        return StringRule(self.length, item.to_bytes(self.length, "big"))

    def empirical_rule(self, x: Points, y: Labels) -> StringRule:
        """The string with the most votes where it has any, else the constant 0: fewest errors."""
        strings, counts = self._counted(x[y == 1])
        against, vetoes = self._counted(x[y == 0])
        lost = dict(zip(against, vetoes.tolist(), strict=True))
        votes = [n - lost.get(s, 0) for s, n in zip(strings, counts.tolist(), strict=True)]
        most = max(votes, default=0)
        return (
            self.item_rule(self._number(strings[votes.index(most)]))
            if most > 0
            else (self.first_rule())
        )

    def _counted(self, x: Points) -> tuple[list[bytes], NDArray[np.int64]]:
        """The different strings, rising, and how often each comes.

        numpy passes over zero bytes at the end of a string; all have the same length, so that those
        which differ only there are the same.
        """
        if not len(x):
            return [], np.zeros(0, dtype=np.int64)
        rows = np.ascontiguousarray(x).view(f"S{self.length}").ravel()
        strings, counts = np.unique(rows, return_counts=True)
        return strings.tolist(), counts.astype(np.int64)

    def _number(self, string: bytes) -> int:
        return int.from_bytes(string.ljust(self.length, b"\0"), "big")
