"""Version spaces of conjunctions.

Sets of literals are integers as in `littled.classes.conjunctions`: bit i stands for "bit i of x is
1", bit bits + i for "bit i of x is 0", all of them for the rule that is always 0. In what follows
that rule counts bits + 1 literals, one more than any conjunction that holds for a point.
"""

import heapq
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import DataSet, VersionSpace, errors_allowed
from littled.classes.wide import to_ints

# Up to this width all 3^bits + 1 conjunctions are looked at.
ALL_RULES_BITS_MAX = 8
# What one teacher's list may cost: conjunctions whose neighbours are looked at.
SEARCH_STEPS_MAX = 128


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

    # -- what literals do --------------------------------------------------------------------

    @property
    def _never(self) -> int:
        return (1 << 2 * self.bits) - 1

    @cached_property
    def _lacks(self) -> NDArray[np.int64]:
        """1 where a point makes a literal false, (points, 2 * bits)."""
        return 1 - _bits(self.points, 2 * self.bits)

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
