"""Conjunctions of bits: `x` has these bits 1 and those 0.

A set of literals is one integer of 2 * bits bits: bit i stands for "bit i of x is 1", bit bits + i
for "bit i of x is 0". A point makes `bits` of them true. A conjunction holds for the points whose
true literals are among them all of its own, so the smallest conjunction around some points is the
intersection of their true literals; all literals together are the rule that is always 0.
"""

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
    members_of_chunks,
)
from littled.classes.capabilities import IntersectionClosed, VersionSpaces
from littled.classes.conjunction_rules import DENSE_BITS_MAX, ConjunctionRules
from littled.classes.conjunction_spaces import ConjunctionVersionSpace
from littled.classes.hypothesis import HypothesisClass
from littled.classes.memory import INTEGER_BYTES, digits
from littled.classes.wide import Pairs, as_pairs, fits_bits, starts_of_runs, to_int
from littled_protocol.rules import ConjunctionRule, MajorityRule, Rule


@dataclass(frozen=True)
class Conjunctions(HypothesisClass, IntersectionClosed, VersionSpaces):
    """All conjunctions of literals over `bits` bits, and the rule that is always 0."""

    bits: int

    def __post_init__(self) -> None:
        """Refuse widths outside 1..128 (ClassError)."""
        if not 1 <= self.bits <= 128:
            raise ClassError(f"conjunctions needs a number of bits from 1 to 128, not {self.bits}")

    @property
    def name(self) -> str:
        """`conjunctions:BITS`."""
        return f"conjunctions:{self.bits}"

    @property
    def point_type(self) -> str:
        """The smallest column type that holds `bits` bits."""
        return self.first_rule().x_type

    @property
    def littlestone_dimension(self) -> int:
        """bits + 1, exact.

        At most: say 0 up to the first mistake, which leaves `bits` literals, and from then on let
        all literals decide that are left; every further mistake removes one. At least, by induction
        on the bits: ask for one x. Label 1 leaves all subsets of `bits` literals, and a question
        for each of them; label 0 leaves, for one literal that x makes false, its conjunctions with
        all rules about the other bits.
        """
        return self.bits + 1

    @property
    def dual_vc_dimension(self) -> int:
        """`bits`, exact: the rules of one literal each are answered in all ways by 2^bits points.

        More rules would need more points.
        """
        return self.bits

    def to_dict(self) -> dict[str, Any]:
        """Name and width."""
        return {"class": "conjunctions", "bits": self.bits}

    def contains(self, points: Points) -> bool:
        """Whether every point has at most `bits` bits."""
        return fits_bits(points, self.bits)

    def first_rule(self) -> ConjunctionRule:
        """Always 0: all literals."""
        return ConjunctionRule(self.bits, self._mask, self._mask)

    @property
    def longest_rule(self) -> ConjunctionRule:
        """All literals: both masks have all digits, or are the longest integers."""
        return self.first_rule()

    # -- few rules ---------------------------------------------------------------------------

    @property
    def dense(self) -> ConjunctionRules | None:
        """Up to DENSE_BITS_MAX bits."""
        return ConjunctionRules(self.bits) if self.bits <= DENSE_BITS_MAX else None

    @property
    def window_labelings(self) -> ConjunctionRules | None:
        """Up to DENSE_BITS_MAX bits, as all rules are looked at."""
        return self.dense

    # -- closures ----------------------------------------------------------------------------

    @property
    def closure_examples(self) -> int:
        """The least k with bits * 2^(1 - k) <= 1/5.

        So often does one of the bits that a rule leaves open have the same value in k points that
        were drawn uniformly from it, and the closure a literal too many.
        """
        return (5 * self.bits - 1).bit_length() + 1

    def closures(
        self, x: Points, y: Labels, teachers: NDArray[np.int64] | None, published: Rule
    ) -> Proposals:
        """The literals common to `published` and a teacher's positive points; keys (candidates, 4).

        A key has the masks of ones and of zeros, two words each. Around a majority is whatever the
        literals common to its members hold for.
        """
        numbers = np.arange(len(y), dtype=np.int64) if teachers is None else teachers
        new = (y == 1) & (published.evaluate(x) == 0)
        order = np.flatnonzero(new)[np.argsort(numbers[new], kind="stable")]
        if not len(order):
            return Proposals(np.zeros(0, dtype=np.int64), np.zeros((0, 4), dtype=np.uint64))
        literals = self._literals(as_pairs(x))
        starts = np.flatnonzero(np.diff(numbers[order], prepend=numbers[order[0]] - 1))
        around = np.array(_words(self._around(published), self.bits), dtype=np.uint64)
        closures = np.bitwise_and.reduceat(literals[order], starts, axis=0) & around
        proposing = numbers[order[starts]]
        refused = np.zeros(len(proposing), dtype=np.bool_)
        negative = np.flatnonzero((y == 0) & np.isin(numbers, proposing))
        whose = np.searchsorted(proposing, numbers[negative])
        inside = (closures[whose] & ~literals[negative] == 0).all(axis=1)
        refused[whose[inside]] = True
        return _counted(closures[~refused])

    def closed_rule(self, proposals: Proposals, index: int) -> ConjunctionRule:
        """The conjunction behind candidate `index`."""
        key = proposals.keys[index]
        return ConjunctionRule(self.bits, to_int(key[:2]), to_int(key[2:]))

    def around(self, published: Rule, point: int) -> ConjunctionRule:
        """The literals of `published` that the point makes true."""
        assert isinstance(published, ConjunctionRule)
        return ConjunctionRule(self.bits, published.ones & point, published.zeros & ~point)

    def joined(self, first: Rule, second: Rule) -> ConjunctionRule:
        """The literals common to both."""
        assert isinstance(first, ConjunctionRule)
        assert isinstance(second, ConjunctionRule)
        return ConjunctionRule(self.bits, first.ones & second.ones, first.zeros & second.zeros)

    @property
    def next_rules_max(self) -> int:
        """One for each literal of a rule that is not always 0."""
        return self.bits

    def next_rules(self, published: Rule) -> list[Rule]:
        """The rule without each one of its literals; none where all literals make it always 0."""
        assert isinstance(published, ConjunctionRule)
        ones, zeros = published.ones, published.zeros
        if ones & zeros:
            return []
        flags = [1 << bit for bit in range(self.bits) if (ones | zeros) >> bit & 1]
        return [ConjunctionRule(self.bits, ones & ~flag, zeros & ~flag) for flag in flags]

    # -- version spaces ----------------------------------------------------------------------

    def version_space(
        self, data_sets: Sequence[DataSet], tolerance: Fraction
    ) -> ConjunctionVersionSpace:
        """The conjunctions that err little enough on every data set."""
        return ConjunctionVersionSpace.of(self.bits, data_sets, tolerance)

    def essential_rule(self, key: Hashable) -> ConjunctionRule:
        """The conjunction of a set of literals."""
        assert isinstance(key, int)
        return ConjunctionRule(self.bits, key & self._mask, key >> self.bits)

    def key_bytes(self, examples: int) -> int:
        """A mask of literals."""
        return INTEGER_BYTES + self.bits // 4 + digits(2 * self.bits)

    def space_bytes(self, examples: int, epochs: int) -> int:
        """8 bytes for each literal of a point, and for each neighbour of a conjunction at it."""
        rules = 3**8 * (3_000 + 32 * epochs)
        return rules + examples * (400 + 52 * self.bits + 32 * epochs)

    # -- private prediction ------------------------------------------------------------------

    @property
    def vc_dimension(self) -> int:
        """max(bits, 2), exact.

        The points with a single bit 0 are shattered, and so are the two points of one bit. And of
        m >= 3 shattered points each has a literal that it alone makes false, as the others make up
        a labeling; two of these literals are not of the same bit, or each of the other points would
        make one of them false. So m <= bits.
        """
        return max(self.bits, 2)

    def labelings_max(self, n: int) -> int:
        """The bound of Sauer and Shelah, and at most one for each rule."""
        rules: int = 3**self.bits + 1
        return min(rules, super().labelings_max(min(n, 1 << self.bits)))

    @property
    def learns_from_noise(self) -> bool:
        """Where there are few rules: else it is too hard."""
        return self.dense is not None

    def empirical_rule(self, x: Points, y: Labels) -> Rule:
        """The smallest conjunction around the positive points, if it has no errors.

        Otherwise, for up to DENSE_BITS_MAX bits, the first rule with the fewest errors; for more
        the better one of that conjunction and the constant 0.
        """
        return self.empirical_rules(x, y, np.zeros(len(y), dtype=np.int64), 1)[0]

    def empirical_rules(
        self, x: Points, y: Labels, chunk_numbers: NDArray[np.int64], chunks: int
    ) -> list[Rule]:
        """The same, and the conjunctions of all chunks at once."""
        literals = self._literals(as_pairs(x))
        order = np.argsort(chunk_numbers, kind="stable")
        order = order[y[order] == 1]
        around = np.tile(
            np.array(_words((1 << 2 * self.bits) - 1, self.bits), np.uint64), (chunks, 1)
        )
        starts = starts_of_runs(chunk_numbers[order])
        if len(starts):
            owners = chunk_numbers[order[starts]]
            around[owners] = np.bitwise_and.reduceat(literals[order], starts, axis=0)
        negative = np.flatnonzero(y == 0)
        inside = (around[chunk_numbers[negative]] & ~literals[negative] == 0).all(axis=1)
        wrong = np.bincount(chunk_numbers[negative[inside]], minlength=chunks)
        rules: list[Rule] = [
            ConjunctionRule(self.bits, to_int(key[:2]), to_int(key[2:])) for key in around
        ]
        members = members_of_chunks(chunk_numbers, chunks) if wrong.any() else []
        for chunk in np.flatnonzero(wrong).tolist():
            mine = members[chunk]
            rules[chunk] = self._with_errors(x[mine], y[mine], rules[chunk], int(wrong[chunk]))
        return rules

    def _with_errors(self, x: Points, y: Labels, around: Rule, wrong: int) -> Rule:
        """A rule for a chunk on whose negative points the conjunction around the others errs."""
        if (few := self.dense) is not None:
            return few.rule(int(few.agreements(x, y).argmax()))
        return around if wrong < int(y.sum(dtype=np.int64)) else self.first_rule()

    @property
    def _mask(self) -> int:
        return (1 << self.bits) - 1

    def _literals(self, points: Pairs) -> NDArray[np.uint64]:
        """The true literals of points: words of ones and of zeros, (n, 4)."""
        mask = np.array([self._mask >> 64, self._mask % 2**64], dtype=np.uint64)
        return np.concatenate((points, ~points & mask), axis=1)

    def _around(self, published: Rule) -> int:
        """The literals of the smallest conjunction around all members of a published rule."""
        members = published.members if isinstance(published, MajorityRule) else (published,)
        literals = (1 << 2 * self.bits) - 1
        for member in members:
            assert isinstance(member, ConjunctionRule)
            literals &= member.ones | member.zeros << self.bits
        return literals


def _words(literals: int, bits: int) -> list[int]:
    """A set of literals as words of ones and of zeros."""
    masks = literals & ((1 << bits) - 1), literals >> bits
    return [word for mask in masks for word in (mask >> 64, mask % 2**64)]


def _counted(rows: NDArray[np.uint64]) -> Proposals:
    """Every different row once, with the number of times that it occurs."""
    ordered = rows[np.lexsort(rows.T)]
    starts = starts_of_runs(ordered)
    return Proposals(np.diff(starts, append=len(rows)).astype(np.int64), ordered[starts])
