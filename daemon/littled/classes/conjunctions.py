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
    HypothesisClass,
    Labels,
    Points,
    Proposals,
    Scores,
)
from littled.classes.conjunction_spaces import ConjunctionVersionSpace
from littled.classes.wide import Pairs, as_pairs, fits_bits, starts_of_runs, to_int
from littled_protocol.rules import ConjunctionRule, MajorityRule, Rule

# 3^12 + 1 rules are the most that fit into a dense selection.
DENSE_BITS_MAX = 12


@dataclass(frozen=True)
class Conjunctions(HypothesisClass):
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

    # -- dense selection ---------------------------------------------------------------------

    @property
    def rule_count(self) -> int | None:
        """3^bits conjunctions and the rule that is always 0, up to DENSE_BITS_MAX bits.

        The number of a conjunction has a ternary digit for each bit, the lowest for bit 0: 0 and 1
        for the literal that asks for this bit, 2 for none. The last rule is always 0.
        """
        return 3**self.bits + 1 if self.bits <= DENSE_BITS_MAX else None

    def empty_statistics(self) -> NDArray[np.int64]:
        """Counts of labels 0 and 1 at each point, (2, 2^bits)."""
        self._require_few_rules()
        return np.zeros((2, 1 << self.bits), dtype=np.int64)

    def add(self, statistics: NDArray[np.int64], x: Points, y: Labels) -> NDArray[np.int64]:
        """Count the examples at their points."""
        self._require_few_rules()
        cells = x + (y.astype(np.int64) << self.bits)
        return statistics + np.bincount(cells, minlength=statistics.size).reshape(statistics.shape)

    def scores(self, statistics: NDArray[np.int64]) -> Scores:
        """Agreements: all labels 0, and each example inside adds 1 for label 1, -1 for label 0.

        The sums over all subcubes at once: each axis of two values gets their sum as a third.
        """
        self._require_few_rules()
        zeros, ones = statistics
        sums = ones - zeros
        for bit in range(self.bits):
            # the axes of lower bits have three values already, those of higher bits still two
            pairs = sums.reshape(-1, 2, 3**bit)
            sums = np.concatenate((pairs, pairs.sum(axis=1, keepdims=True)), axis=1)
        agreements = sums.ravel() + zeros.sum()
        scores: Scores = np.append(agreements, zeros.sum())
        return scores

    def rule(self, index: int) -> ConjunctionRule:
        """The conjunction `index`."""
        self._require_few_rules()
        if index == 3**self.bits:
            return self.first_rule()
        digits = [index // 3**bit % 3 for bit in range(self.bits)]
        ones, zeros = (
            sum(1 << bit for bit, digit in enumerate(digits) if digit == value) for value in (1, 0)
        )
        return ConjunctionRule(self.bits, ones, zeros)

    # -- sparse selection --------------------------------------------------------------------

    @property
    def has_closures(self) -> bool:
        """The intersection of two conjunctions is one."""
        return True

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

    def version_space(
        self, data_sets: Sequence[DataSet], tolerance: Fraction
    ) -> ConjunctionVersionSpace:
        """The conjunctions that err little enough on every data set."""
        return ConjunctionVersionSpace.of(self.bits, data_sets, tolerance)

    def essential_rule(self, key: Hashable) -> ConjunctionRule:
        """The conjunction of a set of literals."""
        assert isinstance(key, int)
        return ConjunctionRule(self.bits, key & self._mask, key >> self.bits)

    @property
    def _mask(self) -> int:
        return (1 << self.bits) - 1

    def _require_few_rules(self) -> None:
        if self.rule_count is None:
            raise ClassError(f"{self.name} has too many rules for dense selection; use sparse")

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
