"""Version spaces of sparse sets and, as sets of at most one id, of point functions."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from operator import add, gt, le, sub
from typing import Self, TypeAlias

from littled.classes.base import DataSet, VersionSpace
from littled.classes.wide import evidence

# What one teacher's list may cost: ids looked at in the search for those that can be left out.
SEARCH_STEPS_MAX = 20_000
# What the search takes for each of them: a branch with ids left out, and its errors on each epoch.
BRANCH_BYTES = 2_000

# Errors on each data set.
Errors: TypeAlias = tuple[int, ...]
# Rising numbers of ids that are left out.
Choice: TypeAlias = tuple[int, ...]
# A choice with the number of the first id that may be added, and the slack that is left.
_Branch: TypeAlias = tuple[int, Errors, Choice]


def set_space_bytes(examples: int, epochs: int) -> int:
    """Most bytes for the version space of one teacher, of so many examples in so many epochs."""
    search = SEARCH_STEPS_MAX * (BRANCH_BYTES + 8 * epochs)
    return search + examples * (400 + 32 * epochs)


@dataclass(frozen=True, eq=False)
class SetVersionSpace(VersionSpace):
    """The sets of at most `members` ids that err at most `allowed[i]` times on data set i.

    `positives[i]` and `negatives[i]` are the ids of the examples of data set i, with repetitions.

    Notation for what follows: S are the ids of all examples, u the number of other ids, F the sets
    A & S over all consistent sets A, m the least size in F. A set is consistent exactly when its
    part in S is one of F, so a version space is F and the budget: part B of F comes with any at
    most members - |B| unseen ids. If no errors are allowed F has one part, all positive ids.
    """

    bits: int
    members: int
    positives: tuple[list[int], ...]
    negatives: tuple[list[int], ...]
    allowed: tuple[int, ...]

    @classmethod
    def of(cls, bits: int, members: int, data_sets: Sequence[DataSet], tolerance: Fraction) -> Self:
        """The version space of these data sets."""
        return cls(bits, members, *evidence(data_sets, tolerance))

    def essential(self, cap: int) -> list[Hashable]:
        """The parts in F of least size m, as rising tuples of ids; at most `cap`.

        These are the (p, d)-essential hypotheses, for d >= members, whenever

        - p is at least the number of ids on which F is not unanimous, or m is 0; and
        - p * 2^(d - t + 1) + t <= u for t = members - m, unless t is 0.

        Proof. Let B be in F and t(B) = members - |B|. The sets with part B in S have dimension
        t(B) and SOA B while at least t(B) unseen ids are left, also after labels 0 at others.
        *Dimension t or more remains*: let |B| = m. A valid tree, followed along the labels of B,
        cannot reach dimension below t: the node where it would is at most one deeper than
        p * (2^(d - t + 1) - 1), the most for its parent, and the labels up to there leave t unseen
        ids. So the path ends in a leaf of dimension at least t; if it is t, then the SOA of the
        leaf is B, since one more label of B would not lower it either. *Dimension t is enough*: if
        m > 0, split at the ids where F is not unanimous, at most p. No node is too deep, and a leaf
        belongs to one part B, so it may be p * (2^(d - t(B)) - 1) >= p deep. It has dimension at
        most t(B) <= t, and if t(B) = t it is irreducible and has SOA B; other leaves that are
        reducible can be split further (Claim 4.1). If m = 0 the root alone is such a tree if it is
        irreducible, of dimension t: it has dimension at most `members` = t, and at least that of
        its part with empty B, whatever labels 0 are added. So t is the decomposition dimension, and
        the essential hypotheses are the B of size m.

        The smallest parts are found by leaving out as many positive ids as possible, cheapest
        first, in at most SEARCH_STEPS_MAX steps: exactly if no errors are allowed, and otherwise
        unless that limit is reached; then these are the smallest parts found so far. At `cap` parts
        that cannot be beaten the search ends. All this depends on this teacher's data only.
        """
        return list(self.smallest_parts(cap))

    def smallest_parts(self, cap: int) -> list[tuple[int, ...]]:
        """The list of `essential`, whose keys a sub-class may write in another way."""
        few = all(map(le, map(len, self.positives), self.allowed))
        if any(self.allowed) and not few:
            return self._search(cap)
        inside: set[int] = set() if few else set().union(*self.positives)
        fits = len(inside) <= self.members and all(map(inside.isdisjoint, self.negatives))
        return [tuple(sorted(inside))][:cap] if fits else []

    def _search(self, cap: int) -> list[tuple[int, ...]]:
        """Smallest consistent parts; ids without positive examples belong to none of them."""
        kept: list[int] = []
        free: list[tuple[int, int, Errors]] = []
        slack = self.allowed
        for id_ in set().union(*self.positives):
            without, having = self._errors_of(id_)
            must, may = self._too_many(without), not self._too_many(having)
            if must and not may:
                return []
            change = minus(without, having)
            leave_out = not may or (not must and max(change) <= 0)
            slack = minus(slack, without if leave_out else having)
            if must:
                kept.append(id_)
            elif not leave_out:
                free.append((sum(change), id_, change))
        free.sort()
        search = _LeaveOut([change for _, _, change in free], slack)
        ways = search.largest(len(kept) + len(free) - self.members, cap)
        ids = [id_ for _, id_, _ in free]
        return [tuple(sorted([*kept, *set(ids).difference(ids[i] for i in way)])) for way in ways]

    @cached_property
    def _counts(self) -> tuple[list[Counter[int]], list[Counter[int]]]:
        """Positive and negative examples of every id on each data set."""
        return list(map(Counter, self.positives)), list(map(Counter, self.negatives))

    def _errors_of(self, id_: int) -> tuple[Errors, Errors]:
        """The errors of leaving this id out, and of having it."""
        positives, negatives = self._counts
        return errors_at(positives, id_), errors_at(negatives, id_)

    def _too_many(self, errors: Errors) -> bool:
        return any(map(gt, errors, self.allowed))


class _LeaveOut:
    """The search for as many ids as possible that can be left out within the slack.

    `changes[i]` are the errors that leaving out id number i adds on each data set (perhaps less
    than 0), in the order of their sums; `slack` are the errors that are left.
    """

    def __init__(self, changes: list[Errors], slack: Errors) -> None:
        self.changes = changes
        self.slack = slack
        sums = [sum(change) for change in changes]
        self.spent = [0, *accumulate(max(total, 0) for total in sums)]
        self.saved = -sum(min(total, 0) for total in sums)
        # relief[i]: the errors that the ids from number i on may still take away again
        self.relief: list[Errors] = []
        if any(min(change) < 0 for change in changes):
            falls = [tuple([max(-by, 0) for by in change]) for change in reversed(changes)]
            self.relief = [*accumulate(falls, _plus, initial=(0,) * len(slack))][::-1]

    def largest(self, least: int, cap: int) -> list[Choice]:
        """At most `cap` choices of greatest size, at least `least`; none if there are none."""
        greedy = self._greedy()
        if greedy is not None and len(greedy) == len(self.changes):
            return [greedy] if len(greedy) >= least else []
        best = max(least, 0 if greedy is None else len(greedy))
        bound = self._most(0, sum(self.slack))
        found: list[Choice] = []
        waiting: list[_Branch] = [(0, self.slack, ())] if bound >= best else []
        steps = 0
        while waiting and steps < SEARCH_STEPS_MAX:
            start, slack, chosen = waiting.pop()
            if len(chosen) >= best and min(slack) >= 0:
                if len(chosen) > best:
                    best, found = len(chosen), []
                found.append(chosen)
                if best == bound and len(found) >= cap:
                    break
            waiting += reversed(self._next(start, slack, chosen, best))
            steps += 1 + len(self.changes) - start
        if not found and greedy is not None and len(greedy) >= best:
            found = [greedy]
        return found[:cap]

    def _next(self, start: int, slack: Errors, chosen: Choice, best: int) -> list[_Branch]:
        """The choices with one id more that may still become as large as `best`."""
        found = []
        room = sum(slack)
        for i in range(start, len(self.changes)):
            if len(chosen) + self._most(i, room) < best:
                break  # the later ones cost at least as much
            left = minus(slack, self.changes[i])
            hoped = _plus(left, self.relief[i + 1]) if self.relief else left
            if min(hoped) >= 0 and len(chosen) + 1 + self._most(i + 1, sum(left)) >= best:
                found.append((i + 1, left, (*chosen, i)))
        return found

    def _most(self, start: int, room: int) -> int:
        """No more ids than this, from number `start` on, fit into so much slack in all."""
        reach = self.spent[start] + room + self.saved
        return max(bisect_right(self.spent, reach, lo=start) - 1 - start, 0)

    def _greedy(self) -> Choice | None:
        """A choice to which nothing can be added; None where slack is missing from the start."""
        slack = self.slack
        if min(slack) < 0:
            return None
        chosen = []
        for i, change in enumerate(self.changes):
            left = minus(slack, change)
            if min(left) >= 0:
                slack = left
                chosen.append(i)
        return tuple(chosen)


def errors_at(counts: Sequence[Counter[int]], point: int) -> Errors:
    """The counted examples of one point on each data set."""
    return tuple([count.get(point, 0) for count in counts])


def minus(left: Errors, right: Errors) -> Errors:
    """The difference on each data set."""
    return tuple(map(sub, left, right))


def _plus(left: Errors, right: Errors) -> Errors:
    return tuple(map(add, left, right))
