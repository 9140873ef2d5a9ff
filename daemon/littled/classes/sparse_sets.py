"""Sparse sets of ids: `x` is one of at most so many ids, added and taken away as they err."""

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
    sauer_shelah,
)
from littled.classes.capabilities import IdSets, VersionSpaces, WindowLabelings
from littled.classes.hypothesis import HypothesisClass
from littled.classes.memory import digits
from littled.classes.set_labelings import SetLabelings, most_voted
from littled.classes.set_spaces import SetVersionSpace, set_space_bytes
from littled.classes.wide import as_pairs, fits_bits, tally, to_int
from littled_protocol.rules import PointsRule, Rule

# A set is published whole, again and again.
MEMBERS_MAX = 1024


@dataclass(frozen=True)
class SparseSets(HypothesisClass, IdSets, VersionSpaces, WindowLabelings):
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
    def longest_rule(self) -> PointsRule:
        """The greatest ids, as many as a set may have: greater integers are no shorter."""
        ids = 1 << self.bits
        members = min(self.members, ids)
        return PointsRule(bits=self.bits, members=tuple(range(ids - members, ids)))

    def flips(self, x: Points, y: Labels, published: Rule, *, vetoes: bool) -> Proposals:
        """Every id on which the published rule errs, with votes to add it or to take it away."""
        return id_flips(x, y, published, vetoes=vetoes)

    def flipped_rule(
        self, flips: Proposals, passing: NDArray[np.int64], published: Rule
    ) -> PointsRule:
        """The published ids with those that pass added or taken away: `flipped_ids`."""
        return flipped_ids(flips, passing, published, members_max=self.members)

    def ids_of(self, published: Rule) -> tuple[int, ...]:
        """The members."""
        assert isinstance(published, PointsRule)
        return published.members

    def version_space(self, data_sets: Sequence[DataSet], tolerance: Fraction) -> SetVersionSpace:
        """The sets that err little enough on every data set."""
        return SetVersionSpace.of(self.bits, self.members, data_sets, tolerance)

    def essential_rule(self, key: Hashable) -> PointsRule:
        """The rule of a set, given as a tuple of its ids in rising order."""
        assert isinstance(key, tuple)
        return PointsRule(bits=self.bits, members=key)

    def key_bytes(self, examples: int) -> int:
        """No set has more members than there are examples, whose ids are counted with these.

        A place in the tuple, and digits.
        """
        return min(self.members, examples) * (8 + digits(self.bits))

    def space_bytes(self, examples: int, epochs: int) -> int:
        """A search for sets."""
        return set_space_bytes(examples, epochs)

    @property
    def vc_dimension(self) -> int:
        """min(members, 2^bits), exact: so many ids, and no more, can all be members."""
        return min(self.members, 1 << self.bits)

    def labelings_max(self, n: int) -> int:
        """The sets of at most `members` of n different ids, exact."""
        return sauer_shelah(min(n, 1 << self.bits), self.members)

    def window(self, x: Points, y: Labels) -> SetLabelings:
        """A labeling is represented by the set of the ids that it says 1 to."""
        return SetLabelings.of(self, self.bits, self.members, x, y)

    def empirical_rule(self, x: Points, y: Labels) -> Rule:
        """The ids with the most votes, as many as there may be: fewest errors."""
        return self.empirical_rules(x, y, np.zeros(len(y), dtype=np.int64), 1)[0]

    def empirical_rules(
        self, x: Points, y: Labels, chunk_numbers: NDArray[np.int64], chunks: int
    ) -> list[Rule]:
        """The same of all chunks at once."""
        found = most_voted(x, y, chunk_numbers, chunks, self.members)
        return [self.essential_rule(members) for members in found]


def id_flips(x: Points, y: Labels, published: Rule, *, vetoes: bool) -> Proposals:
    """Every id on which the published rule errs, rising: its errors, with `vetoes` less its hits.

    `keys` are (high, low) pairs.
    """
    counts = tally(x, y)
    member = published.evaluate(counts.ids) == 1
    errors = np.where(member, counts.negative, counts.positive)
    found = np.flatnonzero(errors)
    scores = errors
    if vetoes:
        scores = errors - np.where(member, counts.positive, counts.negative)
    return Proposals(scores[found], as_pairs(counts.ids.take(found, axis=0)))


def flipped_ids(
    flips: Proposals, passing: NDArray[np.int64], published: Rule, *, members_max: int
) -> PointsRule:
    """The published set without the members that pass, and with the other ids that pass.

    The first `members_max` of the new ids come in, one after the other in rising order. Each takes
    a free place, or the place of the old member that follows it on the circle of all ids. So on a
    stream that some set of the class fits, an old member that no longer belongs leaves in the end,
    even if it is never seen again. For as long as one stays, a true member may lose its place only
    to a true one before it on the circle; it makes mistakes, comes back, and takes the place of one
    further on. Places are lost further and further on, never past a member that does not belong.
    """
    assert isinstance(published, PointsRule)
    old = set(published.members)
    passed = [to_int(pair) for pair in flips.keys[passing]]
    new = sorted(set(passed) - old)[:members_max]
    old -= set(passed)
    for number, id_ in enumerate(new, start=1):
        if len(old) + number > members_max:
            old.remove(min(old, key=lambda member: (member < id_, member)))
    return PointsRule(bits=published.bits, members=tuple(sorted({*old, *new})))
