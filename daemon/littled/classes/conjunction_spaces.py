"""Version spaces of conjunctions.

Sets of literals are integers as in `littled.classes.conjunctions`: bit i stands for "bit i of x is
1", bit bits + i for "bit i of x is 0", all of them for the rule that is always 0. In what follows
that rule counts bits + 1 literals, one more than any conjunction that holds for a point.
"""

import heapq
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import ClassError, DataSet, VersionSpace, errors_allowed
from littled.classes.wide import to_ints
from littled.littlestone import CostExceeded
from littled_protocol.rules import ConjunctionRule

# Up to this width all 3^bits + 1 conjunctions are looked at.
ALL_RULES_BITS_MAX = 8
# What one teacher's list may cost: conjunctions whose neighbours are looked at.
SEARCH_STEPS_MAX = 128
# What an exact dimension may cost: sets of literals that are tried.
HITTING_STEPS_MAX = 20_000


@dataclass(frozen=True, eq=False)
class ConjunctionVersionSpace(VersionSpace):
    """The conjunctions that err at most `allowed[i]` times on data set i.

    `points` are the true literals of the different points of all data sets; `positive` and
    `negative` count the examples at each of them, int64 (data sets, points).

    Which list of essential hypotheses? All of the version space, cut: for d >= bits + 1 and p >= 2
    bits every irreducible part of the class is a single rule, so that Corollary 4.1, item 4,
    applies. Proof. Let a part have dimension t >= 1. *Its SOA says 1 to some x*: the labels of x
    and its neighbours in each bit, bits + 1 points, leave at most one rule. *Its SOA is always 0*:
    let l = bits + 1 - t. There are at most 1.4 bits * 2^l points among which every conjunction of l
    literals holds for one (so many random points do it with positive probability), and p * 2^(d -
    t) are no fewer. Labels 0 at all of them leave only conjunctions of more than l literals, which
    are of dimension at most t - 1: say 0 up to the first mistake, which leaves `bits` literals;
    every further one removes one, and more than l always stay.
    """

    bits: int
    points: tuple[int, ...]
    positive: NDArray[np.int64]
    negative: NDArray[np.int64]
    allowed: NDArray[np.int64]

    @classmethod
    def of(cls, bits: int, data_sets: Sequence[DataSet], tolerance: Fraction) -> Self:
        """The version space of these data sets."""
        columns = [to_ints(x) for x, _ in data_sets]
        different = sorted(set().union(*columns))
        place = {point: number for number, point in enumerate(different)}
        counts = np.zeros((2, len(data_sets), len(different)), dtype=np.int64)
        for number, (column, (_, y)) in enumerate(zip(columns, data_sets, strict=True)):
            places = np.array([place[point] for point in column], dtype=np.int64)
            np.add.at(counts[:, number], (y.astype(np.int64), places), 1)
        mask = (1 << bits) - 1
        literals = tuple(point | (mask & ~point) << bits for point in different)
        allowed = np.array([errors_allowed(tolerance, len(y)) for _, y in data_sets])
        return cls(bits, literals, counts[1], counts[0], allowed.astype(np.int64))

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

    def essential(self, cap: int) -> list[Hashable]:
        """Consistent rules: those with the fewest errors first, then with the most literals.

        Exact up to ALL_RULES_BITS_MAX bits. Beyond, they are the first `cap` that a search finds in
        SEARCH_STEPS_MAX steps, best first in the same order. It begins with the smallest
        conjunction around all positive points, and with the rule that is always 0. A step drops a
        literal; or, where errors are allowed, asks for one more and leaves out the positive points
        that lack it. Enough steps lead to every consistent rule that holds for a positive point;
        there are too many others to be of use. All this depends on this teacher's data only.
        """
        if self.bits <= ALL_RULES_BITS_MAX:
            return list(self._best_of_all(cap))
        return list(self._best_found(cap)[0])

    # -- all rules, and those that a search finds --------------------------------------------

    def _best_of_all(self, cap: int) -> list[int]:
        """The first `cap` consistent rules of the whole class."""
        rules = _all_rules(self.bits)
        errors = self._errors(rules)
        total = errors.sum(axis=0)
        consistent = np.flatnonzero((errors <= self.allowed[:, None]).all(axis=0))
        found = [(int(total[i]), -rules[i].bit_count(), rules[i]) for i in consistent]
        return [literals for _, _, literals in heapq.nsmallest(cap, found)]

    def _best_found(self, cap: int) -> tuple[list[int], bool]:
        """The first `cap` consistent rules that the search finds, and whether it saw everything."""
        queue: list[tuple[int, int, int, int]] = []
        seen: set[int] = set()

        def look_at(rules: Sequence[int]) -> None:
            new = [literals for literals in dict.fromkeys(rules) if literals not in seen]
            seen.update(new)
            errors = self._errors(new)
            too_many = (errors - self.allowed[:, None]).max(axis=0, initial=0)
            for literals, total, excess in zip(new, errors.sum(axis=0), too_many, strict=True):
                entry = (int(total), -literals.bit_count(), literals, int(excess))
                heapq.heappush(queue, entry)

        never = [self._never] if self._is_consistent(self._never) else []
        look_at([self._around(np.ones(len(self.points), dtype=np.bool_)), *never])
        found: list[int] = []
        for _ in range(SEARCH_STEPS_MAX):
            if not queue or len(found) >= cap:
                break
            _, _, literals, excess = heapq.heappop(queue)
            if not excess:
                found.append(literals)
            if literals != self._never:
                look_at([*self._without_one(literals), *self._with_one_more(literals)])
        return found, not queue

    def _without_one(self, literals: int) -> list[int]:
        """Conjunctions of one literal less that do not hold for too many negative examples."""
        own = _bits([literals], 2 * self.bits)[0]
        missing = self._lacks @ own
        holds = (missing == 0)[:, None] | ((missing == 1)[:, None] & (self._lacks * own > 0))
        few = (self.negative @ holds <= self.allowed[:, None]).all(axis=0) & (own > 0)
        return [literals & ~(1 << int(literal)) for literal in np.flatnonzero(few)]

    def _with_one_more(self, literals: int) -> list[int]:
        """Smallest conjunctions around the positive points inside that do not lack one literal.

        None, if this conjunction is not the smallest around the positive points inside itself.
        """
        inside = self._lacks @ _bits([literals], 2 * self.bits)[0] == 0
        if not self.allowed.any() or self._around(inside) != literals:
            return []
        left = (inside & self.positive.any(axis=0))[:, None] & (self._lacks == 0)
        missed = self.positive.sum(axis=1, keepdims=True) - self.positive @ left
        few = (missed <= self.allowed[:, None]).all(axis=0) & left.any(axis=0)
        return [self._around(left[:, literal]) for literal in np.flatnonzero(few)]

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

    # -- what literals do --------------------------------------------------------------------

    @property
    def _never(self) -> int:
        return (1 << 2 * self.bits) - 1

    def _lower(self, literals: int) -> int:
        """The literals that ask for a 1; shifted down by `bits`, those that ask for a 0."""
        return literals & ((1 << self.bits) - 1)

    @cached_property
    def _lacks(self) -> NDArray[np.int64]:
        """1 where a point makes a literal false, (points, 2 * bits)."""
        return 1 - _bits(self.points, 2 * self.bits)

    @cached_property
    def _usable(self) -> int:
        """The literals U; all of them if no positive example needs to be inside."""
        few = (self.positive @ self._lacks <= self.allowed[:, None]).all(axis=0)
        return sum(1 << int(literal) for literal in np.flatnonzero(few))

    def _errors(self, rules: Sequence[int]) -> NDArray[np.int64]:
        """The errors of some rules on each data set, (data sets, rules)."""
        inside = self._lacks @ _bits(rules, 2 * self.bits).T == 0
        errors: NDArray[np.int64] = self.positive @ ~inside + self.negative @ inside
        return errors

    def _is_consistent(self, literals: int) -> bool:
        return bool((self._errors([literals])[:, 0] <= self.allowed).all())

    def _around(self, inside: NDArray[np.bool_]) -> int:
        """The literals of the smallest conjunction around the positive points among these."""
        common = self._never
        for number in np.flatnonzero(inside & self.positive.any(axis=0)):
            common &= self.points[number]
        return common

    @cached_property
    def _is_empty(self) -> bool:
        """Whether no rule is consistent, as far as that is certain."""
        if not self.allowed.any():
            return not self._is_consistent(self._usable)
        if self.bits <= ALL_RULES_BITS_MAX:
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


def _bits(numbers: Sequence[int], width: int) -> NDArray[np.int64]:
    """The bits of some numbers, the lowest first, (numbers, width)."""
    size = (width + 7) // 8
    data = b"".join(number.to_bytes(size, "little") for number in numbers)
    rows = np.frombuffer(data, dtype=np.uint8).reshape(len(numbers), size)
    bits = np.unpackbits(rows, axis=1, count=width, bitorder="little")
    return bits.astype(np.int64)


@lru_cache(maxsize=ALL_RULES_BITS_MAX)
def _all_rules(bits: int) -> tuple[int, ...]:
    """Every conjunction of literals, and the rule that is always 0."""
    rules = [0]
    for bit in range(bits):
        rules = [rule | literal for rule in rules for literal in (0, 1 << bit, 1 << bit + bits)]
    return (*rules, (1 << 2 * bits) - 1)
