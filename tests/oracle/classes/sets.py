"""Dimensions and standard optimal rules of version spaces of sparse sets, point functions too."""

from functools import cached_property

from littled.classes.base import ClassError
from littled.classes.set_spaces import Errors, SetVersionSpace, minus
from littled.littlestone import CostExceeded
from littled_protocol.rules import PointsRule
from oracle.classes.solved import Solved

# What an exact dimension may cost: sets of seen ids, ids on which they differ, parts of games.
FAMILY_MAX = 512
UNDECIDED_MAX = 48
GAME_STATES_MAX = 20_000
GAME_DEPTH_MAX = 200


class SolvedSets(SetVersionSpace, Solved):
    """The version space of `SetVersionSpace`, in whose notation all this is."""

    @property
    def littlestone_dimension(self) -> int:
        """Exact where F is small, otherwise an upper bound; -1 when empty.

        Exact if no errors are allowed: min(members - m, u). Exact as well if F has at most
        FAMILY_MAX parts, which differ on at most UNDECIDED_MAX ids, and its game (`_Game`) at most
        GAME_STATES_MAX states. Otherwise: with k ids that every part must have, because leaving
        them out alone is too many errors, and n that a part may have, min(members - k, n - k + u),
        the dimension of all sets in between.
        """
        return self._solution[0]

    def standard_optimal_rule(self) -> PointsRule:
        """The SOA where the dimension is exact; otherwise the ids that every set must have.

        It may have more than `members` ids. If no errors are allowed it is the set of the positive
        ids; but if the budget is not 0 and there are no more unseen ids than it allows, then these
        belong to it as well.
        """
        dimension, ones = self._solution
        if dimension < 0:
            raise ClassError("an empty version space has no standard optimal rule")
        return PointsRule(bits=self.bits, members=tuple(sorted(ones)))

    @cached_property
    def _solution(self) -> tuple[int, set[int]]:
        """The dimension, and the ids that the standard optimal rule says 1 to."""
        seen: set[int] = set().union(*self.positives, *self.negatives)
        unseen = (1 << self.bits) - len(seen)
        errors = {id_: self._errors_of(id_) for id_ in sorted(seen)}
        forced = {id_ for id_, (without, _) in errors.items() if self._too_many(without)}
        possible = [id_ for id_, (_, having) in errors.items() if not self._too_many(having)]
        budget = self.members - len(forced)
        if budget < 0 or not forced.issubset(possible):
            return -1, set()
        undecided = [id_ for id_ in possible if id_ not in forced]
        slack = self.allowed
        for id_ in seen.difference(undecided):
            slack = minus(slack, errors[id_][id_ in forced])
        try:
            parts = _parts([errors[id_] for id_ in undecided], slack, budget)
            dimension, ones = _Game(parts, len(undecided), budget, unseen).solve()
        except CostExceeded:
            return min(budget, len(undecided) + unseen), forced
        found = forced.union(id_ for i, id_ in enumerate(undecided) if ones >> i & 1)
        if ones >> len(undecided):
            found.update(id_ for id_ in range(1 << self.bits) if id_ not in seen)
        return dimension, found


def _parts(errors: list[tuple[Errors, Errors]], slack: Errors, budget: int) -> list[int]:
    """The sets of at most `budget` undecided ids, as bit sets, whose errors fit into the slack.

    `errors[i]` are those of leaving id i out and of having it. Raises CostExceeded for too many
    ids or sets.
    """
    if len(errors) > UNDECIDED_MAX:
        raise CostExceeded(f"more than {UNDECIDED_MAX} ids are undecided")
    parts = [(0, slack)] if min(slack, default=0) >= 0 else []
    for bit, choices in enumerate(errors):
        parts = [
            (part | label << bit, left)
            for part, before in parts
            for label, wrong in enumerate(choices)
            if min(left := minus(before, wrong), default=0) >= 0
            and part.bit_count() + label <= budget
        ]
        if len(parts) > FAMILY_MAX:
            raise CostExceeded(f"more than {FAMILY_MAX} sets of seen ids are consistent")
    return [part for part, _ in parts]


class _Game:
    """Exact Littlestone dimension of a family of parts with a budget of unseen ids.

    `parts` are bit sets over `ids` seen ids; part B comes with any at most budget - |B| of `unseen`
    further ids. Let L(F, b, u) be the dimension for parts F that fit into budget b.

    - A tree that asks for an unseen id first is worth 1 + L(F, b - 1, u - 1): label 1 costs
      everybody one id, and leaves a sub-class of what label 0 leaves. Seen ids split F.
    - u counts up to b only: by the first line both children of an unseen id may be given the same
      tree, and those of a seen id may ask for the same unseen ids, so b of them are enough.
    - L(F, b + 1, u) = 1 + L(F, b, u) if every part fits into b and u > b. At least: ask for an
      unseen id. At most: say 0 to unseen ids, and to seen ones what a learner for budget b says.
      At the first mistake at an unseen id forget that id: what remains fits into b.

    Raises CostExceeded after GAME_STATES_MAX states, and where it would have to recurse deeply.
    """

    def __init__(self, parts: list[int], ids: int, budget: int, unseen: int) -> None:
        self.parts = parts
        self.columns = [
            sum(1 << row for row, part in enumerate(parts) if part >> bit & 1) for bit in range(ids)
        ]
        # fitting[b]: the parts of at most b ids
        self.fitting = [
            sum(1 << row for row, part in enumerate(parts) if part.bit_count() <= size)
            for size in range(ids + 1)
        ]
        self.everything = self.fitting[-1]
        self.budget, self.unseen = budget, unseen
        self.known: dict[tuple[int, int, int], int] = {}

    def solve(self) -> tuple[int, int]:
        """The dimension; and the SOA as a bit set of seen ids, one bit more for all unseen ones."""
        whole = self.dimension(self.everything, self.budget, self.unseen)
        ones = 0
        for bit, column in enumerate(self.columns):
            if self.dimension(self.everything & ~column, self.budget, self.unseen) < whole:
                ones |= 1 << bit
        if self.unseen and self.dimension(self.everything, self.budget, self.unseen - 1) < whole:
            ones |= 1 << len(self.columns)
        return whole, ones

    def dimension(self, rows: int, budget: int, unseen: int) -> int:
        """L of those of the parts `rows` that fit into the budget; -1 for none."""
        if budget < 0:
            return -1
        rows &= self.fitting[min(budget, len(self.fitting) - 1)]
        unseen = min(unseen, budget)
        if rows & (rows - 1) == 0:
            size = self.parts[rows.bit_length() - 1].bit_count() if rows else budget + 1
            return min(budget - size, unseen)
        largest = next(size for size, parts in enumerate(self.fitting) if rows & ~parts == 0)
        if unseen == budget > largest:
            return budget - largest + self.dimension(rows, largest, largest)
        key = (rows, budget, unseen)
        if key not in self.known:
            if len(self.known) >= GAME_STATES_MAX or unseen > GAME_DEPTH_MAX:
                raise CostExceeded("the exact dimension takes too many states")
            self.known[key] = self._search(rows, budget, unseen)
        return self.known[key]

    def _search(self, rows: int, budget: int, unseen: int) -> int:
        """The best first point for at least two parts; all of them fit into the budget."""
        best = 1 + self.dimension(rows, budget - 1, unseen - 1) if unseen else 0
        for column in self.columns:
            ones = rows & column
            if ones in (0, rows):
                continue
            side = self.dimension(ones, budget, unseen)
            if side >= best:
                other = self.dimension(rows & ~column, budget, unseen)
                best = max(best, 1 + min(side, other))
        return best
