"""Dimensions and standard optimal rules of version spaces of conjunctions."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from littled.classes import conjunction_spaces
from littled.classes.base import ClassError
from littled.classes.conjunction_spaces import ConjunctionVersionSpace, _bits
from littled.littlestone import CostExceeded
from littled_protocol.rules import ConjunctionRule
from oracle.classes.solved import Solved

# What an exact dimension may cost: sets of literals that are tried.
HITTING_STEPS_MAX = 20_000


class SolvedConjunctions(ConjunctionVersionSpace, Solved):
    """The version space of `ConjunctionVersionSpace`."""

    @property
    def littlestone_dimension(self) -> int:
        """Exact if no errors are allowed, unless that is too costly; else an upper bound.

        Let U be the literals that a consistent rule may have, because no data set has too many
        positive examples without them; b the bits that occur in U; w the least number of literals
        of a consistent rule. The bound is b - w, or 1 + b - w if U has both literals of some bit:
        let all literals of U decide, in the latter case after a first mistake that leaves b of
        them; each mistake removes one, and w always stay. If no errors are allowed, the rules
        between one of w literals and U are all consistent, and a chain of questions about one
        literal each makes so many mistakes; then w is the size of a smallest set of literals that
        every negative point lacks one of, found in at most HITTING_STEPS_MAX steps. Otherwise w is
        replaced by a lower bound, from the negative examples that each literal excludes.

        -1 when empty; with errors allowed and more than ALL_RULES_BITS_MAX bits, when that is
        certain.
        """
        if self._is_empty:
            return -1
        literals = self._usable
        both = self._lower(literals & (literals >> self.bits))
        most = self._lower(literals | (literals >> self.bits)).bit_count() + (both != 0)
        return most - self._narrowest[0]

    def standard_optimal_rule(self) -> ConjunctionRule:
        """The SOA if the dimension is exact; else the conjunction of all literals of U.

        If no errors are allowed it is a conjunction, that of all literals of all consistent rules
        with w literals: label 0 keeps the dimension exactly if one of these still is consistent.
        The conjunction of U is the predictor whose mistakes the upper bound counts.
        """
        if self._is_empty:
            raise ClassError("an empty version space has no standard optimal rule")
        literals = self._narrowest[1]
        if self._lower(literals & (literals >> self.bits)):
            literals = self._never
        return ConjunctionRule(self.bits, self._lower(literals), literals >> self.bits)

    # -- the narrowest rules -----------------------------------------------------------------

    @cached_property
    def _narrowest(self) -> tuple[int, int]:
        """The number w, or a lower bound of it, and the literals of the standard optimal rule."""
        if not self.allowed.any():
            try:
                return self._smallest_hitting_sets()
            except CostExceeded:
                pass
        return self._least_literals(), self._usable

    def _smallest_hitting_sets(self) -> tuple[int, int]:
        """The size of the smallest sets of usable literals that hold for no negative point.

        With all their literals. All literals, counted as bits + 1, where only the rule that is
        always 0 is left. Raises CostExceeded.
        """
        refused = np.flatnonzero(self.negative.any(axis=0))
        lacked = [self._usable & ~self.points[number] for number in refused]
        search = _HittingSets(self.bits)
        for size in range(self.bits + 1):
            union = search.union(lacked, size, 0)
            if union is not None:
                return size, union
        return self.bits + 1, self._never

    def _least_literals(self) -> int:
        """Fewer literals do not exclude enough negative examples of some data set."""
        usable = _bits([self._usable], 2 * self.bits)[0]
        excluded = np.sort(self.negative @ (self._lacks * usable), axis=1)[:, ::-1]
        left = self.negative.sum(axis=1) - self.allowed
        short = (np.cumsum(excluded, axis=1) < left[:, None]).sum(axis=1) + (left > 0)
        return min(int(short.max(initial=0)), self.bits + 1)

    # -- literals ----------------------------------------------------------------------------

    def _lower(self, literals: int) -> int:
        """The literals that ask for a 1; shifted down by `bits`, those that ask for a 0."""
        return literals & ((1 << self.bits) - 1)

    @cached_property
    def _usable(self) -> int:
        """The literals U; all of them if no positive example needs to be inside."""
        few = (self.positive @ self._lacks <= self.allowed[:, None]).all(axis=0)
        return sum(1 << int(literal) for literal in np.flatnonzero(few))

    @cached_property
    def _is_empty(self) -> bool:
        """Whether no rule is consistent, as far as that is certain."""
        if not self.allowed.any():
            return not self._is_consistent(self._usable)
        if self.bits <= conjunction_spaces.ALL_RULES_BITS_MAX:
            return not self._best_of_all(1)
        found, everything = self._best_found(1)
        return everything and not found


class _HittingSets:
    """The search for all smallest sets of literals that have one of each of some sets."""

    def __init__(self, bits: int) -> None:
        """Prepare for literals about so many bits."""
        self._bits = bits
        self._steps = 0

    def union(self, sets: Sequence[int], size: int, barred: int) -> int | None:
        """All literals of the sets of `size` literals that hit all `sets`; None if there are none.

        Without the literals `barred`, and never with both literals of a bit. Nothing smaller may
        hit them all. Raises CostExceeded.
        """
        self._steps += 1
        if self._steps > HITTING_STEPS_MAX:
            raise CostExceeded(f"hitting sets need more than {HITTING_STEPS_MAX} steps")
        if not sets:
            return 0
        left = sorted((each & ~barred for each in sets), key=int.bit_count)
        if _disjoint(left) > size or not left[0]:
            return None
        union: int | None = None
        for literal in _ones(left[0]):
            missed = [each for each in left if not each & literal]
            opposite = literal << self._bits | literal >> self._bits
            others = self.union(missed, size - 1, barred | opposite)
            if others is not None:
                union = (union or 0) | literal | others
            barred |= literal
        return union


def _disjoint(sets: Sequence[int]) -> int:
    """A number of sets, first ones first, that have no literal in common."""
    taken = number = 0
    for each in sets:
        if not each & taken:
            taken |= each
            number += 1
    return number


def _ones(mask: int) -> Iterator[int]:
    """The powers of two in a mask."""
    while mask:
        yield mask & -mask
        mask &= mask - 1
