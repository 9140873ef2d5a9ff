"""Stumps: one feature of a row against a threshold, in either direction.

What makes them easy: walk through the rows one step of one feature at a time, and the number of
rules that say 1 changes by at most one a step, since only "feature i >= t" and "feature i < t"
change where feature i passes t. So any set of stumps can be halved by a row.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import (
    DENSE_RULES_MAX,
    ClassError,
    DataSet,
    HypothesisClass,
    Labels,
    NumberedVersionSpace,
    Points,
    Scores,
    consistent_numbers,
    evenly_cut,
)
from littled_protocol import limits
from littled_protocol.rules import MajorityRule, Rule, StumpRule

# Of more rules no majority can be published, as which the SOA of a set of stumps is written.
OPTIMAL_RULES_MAX = (1 << (limits.majority_members_max.bit_length() - 1)) - 1


@dataclass(frozen=True)
class Stumps(HypothesisClass):
    """The rules "feature i >= t" and "feature i < t", t = 1..buckets-1, and both constants.

    Points are rows of `features` numbers 0..buckets-1. Rule 0 is always 1, then come "feature i >=
    t" for rising i and, for each i, rising t; the second half are the negations in the same order.
    """

    features: int
    buckets: int

    def __post_init__(self) -> None:
        """Refuse numbers that rows cannot have, and too many rules (ClassError)."""
        if not 2 <= self.features <= limits.row_features_max:
            most = limits.row_features_max
            raise ClassError(f"stumps needs 2 to {most} features, not {self.features}")
        if not 2 <= self.buckets <= 1 << 16:
            raise ClassError(f"stumps needs 2 to 65536 buckets, not {self.buckets}")
        if self.rule_count > DENSE_RULES_MAX:
            raise ClassError(
                f"{self.name} has {self.rule_count} rules, more than {DENSE_RULES_MAX}; "
                "use fewer features or buckets"
            )

    @property
    def name(self) -> str:
        """`stumps:FEATURES:BUCKETS`."""
        return f"stumps:{self.features}:{self.buckets}"

    @property
    def point_type(self) -> str:
        """Rows: `u16xFEATURES`."""
        return self.first_rule().x_type

    @property
    def littlestone_dimension(self) -> int:
        """floor(log2(number of rules)), exact: every set of stumps can be halved.

        At the row of zeros and the row of greatest features the numbers of rules that say 1 lie on
        different sides of one half, or at it, and on the way they change by at most one a step.
        """
        return self.rule_count.bit_length() - 1

    @property
    def dual_vc_dimension(self) -> int:
        """The number of features, exact.

        "Feature i >= 1" for all i are answered in all ways; of two stumps of the same feature, one
        of the four pairs of answers is missing.
        """
        return self.features

    def to_dict(self) -> dict[str, Any]:
        """Name, features and buckets."""
        return {"class": "stumps", "features": self.features, "buckets": self.buckets}

    def contains(self, points: Points) -> bool:
        """Whether every feature is below `buckets`."""
        return not len(points) or int(points.max()) < self.buckets

    def first_rule(self) -> StumpRule:
        """Always 0; the votes of all rules are even at every row, so no rule is better at first."""
        return StumpRule(self.features, self.buckets, 0, 0, at_least=False)

    @property
    def longest_rule(self) -> StumpRule:
        """The last threshold of the last feature: greater integers are no shorter."""
        return StumpRule(self.features, self.buckets, self.features - 1, self.buckets - 1, True)

    @property
    def rule_count(self) -> int:
        """Two directions of every threshold of every feature, and two constants."""
        return 2 * self._half

    def empty_statistics(self) -> NDArray[np.int64]:
        """Counts of labels 0 and 1 in each bucket of each feature, (2, features, buckets)."""
        return np.zeros((2, self.features, self.buckets), dtype=np.int64)

    def add(self, statistics: NDArray[np.int64], x: Points, y: Labels) -> NDArray[np.int64]:
        """Count the examples in the buckets of all their features."""
        row = self.buckets * y.astype(np.int64)
        columns = (np.bincount(column + row, minlength=2 * self.buckets) for column in x.T)
        counts = np.stack([column.reshape(2, self.buckets) for column in columns], axis=1)
        return statistics + counts

    def scores(self, statistics: NDArray[np.int64]) -> Scores:
        """Agreements: labels 1 at or above t and labels 0 below; the negation has the others."""
        zeros, ones = statistics
        all_ones = ones[0].sum()
        at_least = np.cumsum(zeros - ones, axis=1)[:, :-1] + all_ones
        first = np.concatenate(([all_ones], at_least.ravel()))
        scores: Scores = np.concatenate((first, statistics[:, 0].sum() - first))
        return scores

    def rule(self, index: int) -> StumpRule:
        """The constant or the stump `index`."""
        negated, place = divmod(index, self._half)
        feature, threshold = divmod(place - 1, self.buckets - 1) if place else (0, -1)
        return StumpRule(self.features, self.buckets, feature, threshold + 1, not negated)

    def version_space(
        self, data_sets: Sequence[DataSet], tolerance: Fraction
    ) -> "StumpVersionSpace":
        """The stumps that err little enough on every data set, exactly."""
        return StumpVersionSpace(consistent_numbers(self, data_sets, tolerance), self)

    def essential_rule(self, key: Hashable) -> StumpRule:
        """The rule with this number."""
        assert isinstance(key, int)
        return self.rule(key)

    @property
    def _half(self) -> int:
        return self.features * (self.buckets - 1) + 1


@dataclass(frozen=True, eq=False)
class StumpVersionSpace(NumberedVersionSpace):
    """Any set of stumps; its dimension floor(log2(rules)) is exact, as it can be halved.

    The essential list is the whole version space for every p >= 2, however many rows there are.
    Where the SOA changes between two rows that differ by one step of one feature, their labels
    leave one stump; where it is constant, the row of zeros and the row of greatest features leave
    that constant. So irreducible means a single rule (Corollary 4.1, item 4).
    """

    hypotheses: Stumps

    def standard_optimal_rule(self) -> Rule:
        """The SOA, a majority; of more than OPTIMAL_RULES_MAX rules, that of so many of them.

        With n rules and dimension L, label 0 keeps the dimension where at least 2^L rules say 0. So
        the SOA says 1 where more than n - 2^L rules do: where they are most of 2^(L + 1) - 1 rules
        once the constant 1 fills up that number.
        """
        self.require_rules()
        chosen = self.numbers[evenly_cut(len(self.numbers), OPTIMAL_RULES_MAX)]
        members = [self.hypotheses.rule(int(number)) for number in chosen]
        always = self.hypotheses.rule(0)
        members += [always] * ((1 << len(members).bit_length()) - 1 - len(members))
        return MajorityRule(tuple(members)) if members[1:] else members[0]
