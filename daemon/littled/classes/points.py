"""Point functions: `x == a` for one id `a`, or nothing at all."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import (
    ClassError,
    DataSet,
    Labels,
    Points,
    Proposals,
)
from littled.classes.capabilities import IdSets, Items, VersionSpaces, WindowLabelings
from littled.classes.hypothesis import HypothesisClass
from littled.classes.set_labelings import SetLabelings, most_voted
from littled.classes.set_spaces import SetVersionSpace, set_space_bytes
from littled.classes.sparse_sets import flipped_ids, id_flips
from littled.classes.wide import fits_bits, tally, to_ints
from littled_protocol.rules import PointsRule, Rule

NOTHING = -1


@dataclass(frozen=True)
class PointFunctions(HypothesisClass, IdSets, Items, VersionSpaces, WindowLabelings):
    """The rules x == a over ids of `bits` bits, and the rule that is always 0.

    The constant 0 is the SOA of the class (restricting to label 0 keeps the dimension wherever the
    domain is larger than the number of restrictions), so learners may publish it.
    """

    bits: int

    def __post_init__(self) -> None:
        """Refuse widths outside 1..128 (ClassError)."""
        if not 1 <= self.bits <= 128:
            raise ClassError(f"points needs a number of bits from 1 to 128, not {self.bits}")

    @property
    def name(self) -> str:
        """`points:BITS`."""
        return f"points:{self.bits}"

    @property
    def point_type(self) -> str:
        """The smallest column type that holds `bits` bits."""
        return self.first_rule().x_type

    @property
    def littlestone_dimension(self) -> int:
        """1: one mistake on the target reveals it."""
        return 1

    @property
    def dual_vc_dimension(self) -> int:
        """1: no id belongs to two different rules."""
        return 1

    def to_dict(self) -> dict[str, Any]:
        """Name and width."""
        return {"class": "points", "bits": self.bits}

    def contains(self, points: Points) -> bool:
        """Whether every id has at most `bits` bits."""
        return fits_bits(points, self.bits)

    def first_rule(self) -> PointsRule:
        """Always 0."""
        return PointsRule(bits=self.bits, members=())

    @property
    def longest_rule(self) -> PointsRule:
        """The greatest id: the most digits, or the longest integer."""
        return PointsRule(bits=self.bits, members=((1 << self.bits) - 1,))

    def flips(self, x: Points, y: Labels, published: Rule, *, vetoes: bool) -> Proposals:
        """Every id on which the published rule errs, with votes to flip it."""
        return id_flips(x, y, published, vetoes=vetoes)

    def flipped_rule(
        self, flips: Proposals, passing: NDArray[np.int64], published: Rule
    ) -> PointsRule:
        """The smallest new id that passes, in place of the published one; or nothing at all.

        On a realizable stream the target alone is ever new, so an id that passes is the target,
        whether or not the id that was published before has been seen again.
        """
        return flipped_ids(flips, passing, published, members_max=1)

    def ids_of(self, published: Rule) -> tuple[int, ...]:
        """The members."""
        assert isinstance(published, PointsRule)
        return published.members

    @property
    def item_bits(self) -> int:
        """Every id is an item."""
        return self.bits

    def reported(self, x: Points, y: Labels) -> tuple[list[int], NDArray[np.int64]]:
        """The ids of positive examples, rising, with their counts."""
        positive = y == 1
        counted = tally(x[positive], y[positive])
        return to_ints(counted.ids), counted.positive

    def item_rule(self, item: int) -> PointsRule:
        """The rule of one id."""
        return PointsRule(bits=self.bits, members=(item,))

    def version_space(
        self, data_sets: Sequence[DataSet], tolerance: Fraction
    ) -> "PointVersionSpace":
        """The ids, and nothing at all, that err little enough on every data set."""
        return PointVersionSpace.of(self.bits, 1, data_sets, tolerance)

    def essential_rule(self, key: Hashable) -> PointsRule:
        """The rule of one id; `NOTHING` is the constant 0."""
        assert isinstance(key, int)
        return PointsRule(bits=self.bits, members=() if key == NOTHING else (key,))

    def space_bytes(self, examples: int, epochs: int) -> int:
        """A search for sets."""
        return set_space_bytes(examples, epochs)

    @property
    def vc_dimension(self) -> int:
        """1, exact: no rule says 1 to two ids."""
        return 1

    def labelings_max(self, n: int) -> int:
        """One for each different id and one for none of them, exact."""
        return min(n, 1 << self.bits) + 1

    def window(self, x: Points, y: Labels) -> SetLabelings:
        """A labeling is represented by the one id that it says 1 to, or by the constant 0."""
        return SetLabelings.of(self, self.bits, 1, x, y)

    def empirical_rule(self, x: Points, y: Labels) -> Rule:
        """The id with the most votes where it has any, else the constant 0: fewest errors."""
        return self.empirical_rules(x, y, np.zeros(len(y), dtype=np.int64), 1)[0]

    def empirical_rules(
        self, x: Points, y: Labels, chunk_numbers: NDArray[np.int64], chunks: int
    ) -> list[Rule]:
        """The same of all chunks at once."""
        found = most_voted(x, y, chunk_numbers, chunks, members=1)
        return [PointsRule(bits=self.bits, members=members) for members in found]


class PointVersionSpace(SetVersionSpace):
    """Some ids, and perhaps nothing at all: sets of at most one id, with keys of their own.

    The dimension is 1 for two rules or more. What `SetVersionSpace` says about the essential list
    comes down to this. If the constant 0 is consistent, it alone is (p, d)-essential whenever
    p * 2^d + 1 is at most the number of ids that no data set contains. Otherwise all consistent
    rules are, n of them, whenever p >= n; they are ids of positive examples.
    """

    def essential(self, cap: int) -> list[Hashable]:
        """The constant 0 where it is consistent, else all consistent ids; at most `cap`."""
        return [key[0] if key else NOTHING for key in self.smallest_parts(cap)]
