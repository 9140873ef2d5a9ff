"""Stumps: one feature of a row against a threshold, in either direction.

What makes them easy: walk through the rows one step of one feature at a time, and the number of
rules that say 1 changes by at most one a step, since only "feature i >= t" and "feature i < t"
change where feature i passes t. So any set of stumps can be halved by a row.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import (
    DENSE_RULES_MAX,
    ClassError,
    Labels,
    Points,
    Scores,
)
from littled.classes.capabilities import CutRules
from littled.classes.chunks import ChunkCuts
from littled.classes.hypothesis import HypothesisClass
from littled.classes.labelings import RepresentedRules, first_equal, hash_weights
from littled.classes.numbered import COUNTED_AT_ONCE, NumberedVersionSpaces
from littled_protocol import limits
from littled_protocol.rules import Rule, StumpRule

# Cells of a comparison of stumps on examples, a byte each.
_COMPARED_MAX = 1 << 22

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Stumps(HypothesisClass, CutRules, NumberedVersionSpaces, RepresentedRules):
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
        counts = np.zeros_like(statistics)
        cells = self.features * self.buckets
        first_cells = np.arange(0, cells, self.buckets, dtype=np.uint32)
        step = max(COUNTED_AT_ONCE, 2 * cells) // self.features
        for start in range(0, len(y), step):
            rows = x[start : start + step] + first_cells
            rows += (y[start : start + step].astype(np.uint32) * np.uint32(cells))[:, np.newaxis]
            counts += np.bincount(rows.ravel(), minlength=2 * cells).reshape(counts.shape)
        return statistics + counts

    def scores(self, statistics: NDArray[np.int64]) -> Scores:
        """Agreements: labels 1 at or above t and labels 0 below; the negation has the others."""
        zeros, ones = statistics
        all_ones = ones[0].sum()
        at_least = np.cumsum(zeros - ones, axis=1)[:, :-1] + all_ones
        first = np.concatenate(([all_ones], at_least.ravel()))
        scores: Scores = np.concatenate((first, statistics[:, 0].sum() - first))
        return scores

    def cut_errors(self, statistics: NDArray[np.int64], cuts: Numbers) -> Numbers:
        """From the sums of all buckets below each cut."""
        none = np.zeros((2, self.features, 1), dtype=np.int64)
        sums = np.concatenate((none, np.cumsum(statistics, axis=2)), axis=2)
        below = np.take_along_axis(sums, np.broadcast_to(cuts, (2, *cuts.shape)), axis=2)
        above = sums[:, :, -1:] - below
        errors = np.empty_like(below)
        errors[0, :, 0], errors[1, :, 0] = above[0, :, 0], below[1, :, 0]
        errors[0, :, 1], errors[1, :, 1] = below[0, :, 1], above[1, :, 1]
        return errors

    def rule(self, index: int) -> StumpRule:
        """The constant or the stump `index`."""
        negated, place = divmod(index, self._half)
        feature, threshold = divmod(place - 1, self.buckets - 1) if place else (0, -1)
        return StumpRule(self.features, self.buckets, feature, threshold + 1, not negated)

    def essential_p_min(self, d: int) -> int:
        """2, whatever d is and however many rows there are: all consistent stumps are essential.

        Where the SOA changes between two rows that differ by one step of one feature, their labels
        leave one stump; where it is constant, the row of zeros and the row of greatest features
        leave that constant. So irreducible means a single rule (Corollary 4.1, item 4).
        """
        return 2

    def labels_of(self, numbers: Numbers, point: Points) -> NDArray[np.bool_]:
        """What the stumps with these numbers say to one row."""
        negated, place = np.divmod(numbers, self._half)
        feature, threshold = np.divmod(place - 1, self.buckets - 1)
        at_least = (place == 0) | (point[0].take(feature, mode="clip") > threshold)
        labels: NDArray[np.bool_] = at_least != (negated == 1)
        return labels

    # -- private prediction ------------------------------------------------------------------

    @property
    def vc_dimension(self) -> int:
        """The greatest n with 2^n <= labelings of n rows at most, an upper bound."""
        found = 1
        while 2 << found <= self._cuts_max(found + 1):
            found += 1
        return found

    def labelings_max(self, n: int) -> int:
        """Both constants, and two for each cut between different values of a feature."""
        return min(1 << n, self._cuts_max(n)) if n < 64 else self._cuts_max(n)

    def _cuts_max(self, n: int) -> int:
        return 2 + 2 * self.features * (min(max(n, 1), self.buckets) - 1)

    def representatives(self, points: Points) -> Numbers:
        """Stumps whose thresholds are values of these rows (n, features), and the constants.

        A labeling is represented by a threshold that is a value of the first feature with it.
        Of features that cut the rows in the same way it is the first. Time for sorting each feature
        of the rows, and n comparisons for each cut that is left out.
        """
        if not len(points):
            return np.zeros(1, dtype=np.int64)
        cuts = _Cuts.of(points)
        first = first_equal(cuts.hashes, cuts.equal)
        kept = np.flatnonzero(first == np.arange(len(first)))
        numbers = self._number(cuts.feature[kept], cuts.threshold[kept])
        return np.concatenate(([0], numbers, [self._half], numbers + self._half))

    @property
    def lines(self) -> int:
        """One for each feature, in both directions."""
        return 2 * self.features

    def empirical_rule(self, x: Points, y: Labels) -> Rule:
        """A stump with the fewest errors, its threshold in the middle between two values."""
        return self.empirical_rules(x, y, np.zeros(len(y), dtype=np.int64), 1)[0]

    def empirical_rules(
        self, x: Points, y: Labels, chunk_numbers: Numbers, chunks: int
    ) -> list[Rule]:
        """The same of all chunks at once, feature by feature; of equals the first one's."""
        examples = np.bincount(chunk_numbers, minlength=chunks)
        ones = np.bincount(chunk_numbers[y == 1], minlength=chunks)
        best, chosen = np.full(chunks, -1), np.zeros(chunks, dtype=np.int64)
        for feature, column in enumerate(x.T):
            cuts = ChunkCuts.of(column.astype(np.int64), y, chunk_numbers, chunks, self.buckets)
            for negated in (False, True):
                items = cuts.items.best(-cuts.gains if negated else cuts.gains, chunks)
                agreements = ones + cuts.gains[items]
                if negated:
                    agreements = examples - agreements
                better = np.flatnonzero(agreements > best)
                best[better] = agreements[better]
                least, greatest = cuts.gaps(items[better])
                chosen[better] = self._middles(feature, least, greatest, negated)
        return [self.rule(number) for number in chosen.tolist()]

    @property
    def _half(self) -> int:
        return self.features * (self.buckets - 1) + 1

    def _number(self, feature: Numbers | np.int64, threshold: Numbers) -> Numbers:
        """The numbers of "feature i >= t", 1 <= t < buckets."""
        return feature * (self.buckets - 1) + threshold

    def _middles(self, feature: int, least: Numbers, greatest: Numbers, negated: bool) -> Numbers:
        """The numbers of "feature >= t", or "feature < t", for t in the middle of gaps.

        In the gaps at the ends that is a constant.
        """
        numbers = self._number(np.int64(feature), (least + greatest + 1) // 2)
        numbers[least == 0] = 0
        numbers[greatest == self.buckets] = self._half
        return (numbers + negated * self._half) % self.rule_count


@dataclass(frozen=True, eq=False)
class _Cuts:
    """All "feature >= value" for a feature's different values in some rows, but the least.

    `feature` and `threshold` (cuts,) in rising order; `says` (cuts,) whether the first row lies
    above. A cut and its negation count as the same, so `hashes` (cuts,) are of the rows on the
    first row's side.
    """

    points: Points
    feature: Numbers
    threshold: Numbers
    says: NDArray[np.bool_]
    hashes: NDArray[np.uint64]

    @classmethod
    def of(cls, points: Points) -> "_Cuts":
        """The cuts of these rows (n, features), n > 0."""
        weights = hash_weights(len(points))
        everything = weights.sum(keepdims=True)
        features, thresholds, above = [], [], []
        for feature, column in enumerate(points.T):
            order = np.argsort(column, kind="stable")
            ordered = column.take(order)
            cuts = np.flatnonzero(ordered[1:] != ordered[:-1])
            features.append(np.full(len(cuts), feature, dtype=np.int64))
            thresholds.append(ordered[cuts + 1].astype(np.int64))
            above.append(everything - np.cumsum(weights.take(order)).take(cuts))
        found, threshold, hashes = map(np.concatenate, (features, thresholds, above))
        says = points[0].take(found) >= threshold
        return cls(points, found, threshold, says, np.where(says, hashes, everything - hashes))

    def equal(self, first: Numbers, second: Numbers) -> NDArray[np.bool_]:
        """Whether cuts with these numbers, pair by pair, are the same on all rows."""
        same = np.empty(len(first), dtype=np.bool_)
        piece = max(_COMPARED_MAX // len(self.points), 1)
        for start in range(0, len(first), piece):
            part = slice(start, start + piece)
            labels = (self._on_first_side(cuts[part]) for cuts in (first, second))
            same[part] = np.equal(*labels).all(axis=0)
        return same

    def _on_first_side(self, cuts: Numbers) -> NDArray[np.bool_]:
        """Which rows lie on the same side as the first row, (n, cuts)."""
        above = self.points.take(self.feature[cuts], axis=1) >= self.threshold[cuts]
        labels: NDArray[np.bool_] = above == self.says[cuts]
        return labels
