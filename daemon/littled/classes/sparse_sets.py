"""Sparse sets of ids: `x` is one of at most so many ids, built up one by one."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from littled.classes.base import (
    ClassError,
    DataSet,
    HypothesisClass,
    Labels,
    Points,
    Proposals,
)
from littled.classes.set_spaces import SetVersionSpace
from littled.classes.wide import as_pairs, fits_bits, tally, to_int
from littled_protocol.columns import point_type
from littled_protocol.rules import MajorityRule, PointsRule, Rule

# A set is published whole, again and again, and every id of it costs a selection.
MEMBERS_MAX = 1024


@dataclass(frozen=True)
class SparseSets(HypothesisClass):
    """The rules "x is in A" for all sets A of at most `members` ids of `bits` bits."""

    bits: int
    members: int

    def __post_init__(self) -> None:
        """Refuse widths outside 1..128 and sizes outside 1..MEMBERS_MAX (ClassError)."""
        if not 1 <= self.bits <= 128:
            raise ClassError(f"sparse_sets needs a number of bits from 1 to 128, not {self.bits}")
        if not 1 <= self.members <= MEMBERS_MAX:
            raise ClassError(
                f"sparse_sets needs a number of members from 1 to {MEMBERS_MAX}, not {self.members}"
            )

    @property
    def name(self) -> str:
        """`sparse_sets:BITS:MEMBERS`."""
        return f"sparse_sets:{self.bits}:{self.members}"

    @property
    def point_type(self) -> str:
        """The smallest column type that holds `bits` bits."""
        return self.first_rule().x_type

    @property
    def littlestone_dimension(self) -> int:
        """min(members, 2^bits), exact.

        So many ids are shattered: all their subsets are rules. And whoever says 0 to every id but
        those found to be members errs only at members, at most `members` times, and at each id
        once.
        """
        return min(self.members, 1 << self.bits)

    @property
    def dual_vc_dimension(self) -> int:
        """min(floor(log2(members)) + 1, bits), exact.

        m sets that answer points in all 2^m ways need 2^m ids, and each says 1 to half of them, so
        2^(m - 1) <= members; conversely, numbers of m bits and the sets "bit i is 1" do it.
        """
        return min(self.members.bit_length(), self.bits)

    def to_dict(self) -> dict[str, Any]:
        """Name, width and greatest size."""
        return {"class": "sparse_sets", "bits": self.bits, "members": self.members}

    def contains(self, points: Points) -> bool:
        """Whether every id has at most `bits` bits."""
        return fits_bits(points, self.bits)

    def first_rule(self) -> PointsRule:
        """The empty set."""
        return PointsRule(bits=self.bits, members=())

    @property
    def proposals_per_example(self) -> int:
        """A positive example proposes its own id."""
        return 1

    @property
    def builds_up(self) -> bool:
        """A selection adds one id, so several follow one another."""
        return True

    def proposals(self, x: Points, y: Labels, published: Rule) -> Proposals:
        """Every id with label 1 that `published` lacks, its positive minus its negative examples.

        Nothing is proposed once `published` has all the ids it may have; both are public.
        """
        held = _members(published)
        found = point_votes(x, y)
        if len(held) >= self.members:
            return Proposals(found.scores[:0], found.keys[:0])
        wide = point_type(self.point_type).columns == 2
        says = published.evaluate(found.keys if wide else found.keys[:, 1])
        lacking = np.flatnonzero(says == 0)
        return Proposals(found.scores[lacking], found.keys.take(lacking, axis=0))

    def proposed_rule(self, proposals: Proposals, index: int, published: Rule) -> PointsRule:
        """The published ids and the one behind candidate `index`."""
        members = {*_members(published), to_int(proposals.keys[index])}
        return self.essential_rule(tuple(sorted(members)))

    def version_space(self, data_sets: Sequence[DataSet], tolerance: Fraction) -> SetVersionSpace:
        """The sets that err little enough on every data set."""
        return SetVersionSpace.of(self.bits, self.members, data_sets, tolerance)

    def essential_rule(self, key: Hashable) -> PointsRule:
        """The rule of a set, given as a tuple of its ids in rising order."""
        assert isinstance(key, tuple)
        return PointsRule(bits=self.bits, members=key)


def point_votes(x: Points, y: Labels) -> Proposals:
    """Every id seen with label 1, with its positive minus its negative examples."""
    counts = tally(x, y)
    proposed = np.flatnonzero(counts.positive)
    scores = (counts.positive - counts.negative)[proposed]
    return Proposals(scores, as_pairs(counts.ids.take(proposed, axis=0)))


def _members(published: Rule) -> list[int]:
    """The ids to which a published set, or a majority of such sets, says 1; in no order."""
    if isinstance(published, MajorityRule):
        counts = Counter(id_ for member in published.members for id_ in _members(member))
        return [id_ for id_, count in counts.items() if 2 * count > len(published.members)]
    assert isinstance(published, PointsRule)
    return list(published.members)
