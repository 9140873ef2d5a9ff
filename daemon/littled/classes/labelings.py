"""Labelings of a subset of examples by a class: what the classes share.

Source: Dagan and Feldman, "PAC learning with stable and private predictions", section 2.1: H_T, one
rule of H for each labeling of the points of T. Its privacy proofs need H_T to be a function of T's
points alone, and exactly one rule a labeling: two sets T that differ in one example then have at
most two rules each for one labeling of what they share.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Candidates, ClassError, Labelings, Labels, Points, Scores
from littled.classes.capabilities import WindowLabelings
from littled.classes.hypothesis import HypothesisClass
from littled_protocol.rules import Rule

# Labelings that are listed for one prediction: as many as a dense selection has rules.
LABELINGS_MAX = 1 << 20

# The multiplier of splitmix64 and those of its mixing, for keys that spread over 64 bits.
_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


class RepresentedRules(WindowLabelings):
    """Rules by number, of which some represent the labelings of a subset."""

    @abstractmethod
    def rule(self, index: int) -> Rule:
        """The rule with this number."""

    @abstractmethod
    def agreements(self, x: Points, y: Labels) -> Scores:
        """With how many of the examples `x` (n,), `y` (n,) every rule agrees, int64 (rules,)."""

    @abstractmethod
    def labels_of(self, numbers: NDArray[np.int64], point: Points) -> NDArray[np.bool_]:
        """What the rules with these numbers (m,) say to one point, a column of length 1; (m,)."""

    @abstractmethod
    def representatives(self, points: Points) -> NDArray[np.int64]:
        """Numbers of rules, one for each labeling of these points (n,); functions of them alone.

        Neither the order of the points nor how often each occurs matters.
        """

    def window(self, x: Points, y: Labels) -> "NumberedLabelings":
        """A labeling is represented by the rule that `representatives` chooses."""
        return NumberedLabelings(self, x, self.agreements(x, y))


@dataclass(frozen=True, eq=False)
class NumberedCandidates(Candidates):
    """Candidates whose keys are numbers of rules, int64 (candidates,)."""

    rules: RepresentedRules

    def labels(self, point: Points) -> NDArray[np.bool_]:
        """What every candidate says to one point."""
        return self.rules.labels_of(self.keys, point)

    def rule(self, index: int) -> Rule:
        """The rule of candidate `index`."""
        return self.rules.rule(int(self.keys[index]))


@dataclass(frozen=True, eq=False)
class NumberedLabelings(Labelings):
    """The labelings of subsets of the points `x` (n,) by numbered rules.

    `scores` (rules,) are the agreements of all rules with the window, which is all that its labels
    are needed for. Memory: the points and 8 bytes a rule.
    """

    rules: RepresentedRules
    x: Points
    scores: Scores

    def candidates(self, subset: NDArray[np.int64]) -> NumberedCandidates:
        """The rules that represent the subset's labelings, as the class chooses them."""
        numbers = self.rules.representatives(self.x.take(subset, axis=0))
        return NumberedCandidates(self.scores.take(numbers), numbers, self.rules)


def check_labelings(hypotheses: HypothesisClass, size: int) -> None:
    """Refuse subsets of so many examples that their labelings may be too many (ClassError).

    Looks at the size alone, since how many labelings there really are is private.
    """
    if hypotheses.labelings_max(size) > LABELINGS_MAX:
        raise ClassError(
            f"{hypotheses.name} may have more than {LABELINGS_MAX} labelings of a subset; "
            "use a smaller subset"
        )


def hash_weights(count: int) -> NDArray[np.uint64]:
    """Odd constants (count,) whose sums tell sets apart, except by accident; always the same.

    Sets that only seem equal are found by `first_equal`.
    """
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_STEP)
    for shift, factor in ((30, _FIRST), (27, _SECOND)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)


def first_equal(
    hashes: NDArray[np.uint64],
    equal: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]],
) -> NDArray[np.int64]:
    """For every item the first item that equals it, int64 (items,).

    `hashes` (items,) are the same for equal items and seldom for others; `equal` compares the items
    with these numbers, pair by pair. Only items with equal hashes are compared, and all of those.
    """
    first = np.arange(len(hashes), dtype=np.int64)
    left = first
    while len(left):
        _, places, groups = np.unique(hashes[left], return_index=True, return_inverse=True)
        heads = left[places][groups]
        same = heads == left
        others = np.flatnonzero(~same)
        same[others] = equal(heads[others], left[others])
        first[left[same]] = heads[same]
        left = left[~same]
    return first
