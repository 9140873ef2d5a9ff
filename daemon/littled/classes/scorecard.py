"""Scorecards: a constant and, for each column, a public table of points; 1 where they sum above 0.

What a learner sees of a row are the cosines of its buckets and flags of its categories (`tables`):
public integers, so that what is learned is a vector of some dozen weights, and the points follow.
"""

import math
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from littled.classes.base import ClassError, Labels, Points
from littled.classes.capabilities import AdditiveRules, Features, Integers
from littled.classes.hypothesis import HypothesisClass
from littled_protocol import limits
from littled_protocol.columns import smallest_point_type
from littled_protocol.rules import Rule, ScorecardRule
from littled_protocol.rules.scorecards import POINTS_MAX, rows_of

# Features are computed in units of 2^-40 and rounded at the end.
_BITS = 40
_ONE = 1 << _BITS
# Cosines of a column with ordered buckets, at the most; the j-th has the length j^(-3/4).
COSINES_MAX = 64
_LENGTHS = tuple(
    math.isqrt(math.isqrt((1 << 4 * _BITS) // j**3)) for j in range(1, COSINES_MAX + 1)
)
# Lengths beside 1 of the first cosine: of the constant, of a category's flag, and of the flag of
# what is missing or other.
CONSTANT, FLAG, OUTSIDE = _ONE // 2, _ONE // 5, _ONE * 4 // 5
# The square of a flag's length where a column has many categories: their number over this, and 2 at
# the most. Each has the fewer examples the more there are, and is learned as fast.
MANY, MANY_SQUARE_MAX = 32, 2
# A column of more categories has no flags: each would have too few examples to be told from noise.
FLAGS_MAX = 512
# Buckets of all columns together: each has a number in every release.
CELLS_MAX = 1 << 16
# Passes over a chunk in search of a rule without errors.
PASSES_MAX = 1000
# pi in units of 2^-100, in which cosines are turned from bucket to bucket.
_TURN_BITS = 100
_PI = 3982441812995697363688351113952

_COLUMN = re.compile(r"(m?)([0-9]{1,5})(c?)(o?)")


@dataclass(frozen=True)
class Scorecards(HypothesisClass, AdditiveRules):
    """All scorecards over columns with these buckets.

    `columns`: for each column its number of buckets; "c" behind it where they are categories, whose
    order need not mean anything; "m" before it where the first bucket is what is missing; "o" at
    the end where the last one is everything else: "64x2x7coxm65". Points are rows of buckets, or
    the buckets of the one column.
    """

    columns: str

    def __post_init__(self) -> None:
        """Refuse columns that rows cannot have (ClassError)."""
        parts = self.columns.split("x")
        if not all(map(_COLUMN.fullmatch, parts)) or len(parts) > limits.row_features_max:
            raise ClassError(
                f"scorecard needs the buckets of 1 to {limits.row_features_max} columns, as "
                f"64x2x7c, not {self.columns!r}"
            )
        if not all(2 <= size <= 1 << 16 for size in self.sizes):
            raise ClassError(f"scorecard needs 2 to 65536 buckets a column, not {self.columns}")
        if sum(self.sizes) > CELLS_MAX:
            raise ClassError(
                f"scorecard needs at most {CELLS_MAX} buckets in all, not {sum(self.sizes)}"
            )

    @property
    def name(self) -> str:
        """`scorecard:COLUMNS`."""
        return f"scorecard:{self.columns}"

    @property
    def point_type(self) -> str:
        """Rows, `u16xCOLUMNS`, or of one column its buckets."""
        if len(self.sizes) > 1:
            return f"u16x{len(self.sizes)}"
        return smallest_point_type((self.sizes[0] - 1).bit_length())

    @property
    def littlestone_dimension(self) -> int:
        """An upper bound: the logarithm to base 2 of the number of rules with these points."""
        return (1 + sum(self.sizes)) * (2 * POINTS_MAX + 1).bit_length()

    @property
    def vc_dimension(self) -> int:
        """1 and the buckets of each column but one: half-spaces over their flags."""
        return 1 + sum(size - 1 for size in self.sizes)

    def to_dict(self) -> dict[str, Any]:
        """Name and columns."""
        return {"class": "scorecard", "columns": self.columns}

    def contains(self, points: Points) -> bool:
        """Whether every bucket is one of its column's."""
        rows = rows_of(points)
        return not len(rows) or bool((rows.max(axis=0) < np.array(self.sizes)).all())

    def first_rule(self) -> ScorecardRule:
        """No points for anything, which is always 0."""
        return ScorecardRule(0, tuple((0,) * size for size in self.sizes))

    @property
    def longest_rule(self) -> ScorecardRule:
        """The greatest numbers of points everywhere."""
        return ScorecardRule(-POINTS_MAX, tuple((-POINTS_MAX,) * size for size in self.sizes))

    # -- features ----------------------------------------------------------------------------

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Buckets of each column."""
        return tuple(int(part.strip("mco")) for part in self.columns.split("x"))

    @cached_property
    def ordered(self) -> tuple[range, ...]:
        """Of each column the buckets between what is missing and what is other."""
        parts = zip(self.columns.split("x"), self.sizes, strict=True)
        return tuple(range(part.count("m"), size - part.count("o")) for part, size in parts)

    def features(self, cosines: int, flags_from: int = 0) -> Features:
        """Of each column the features of its buckets, and the constant; public.

        A column of 2 buckets in order has one, -1 and 1; any other the cosines cos(pi j v / (size -
        1)) / j^(3/4) of its bucket v, j = 1, ..., `cosines`, and up to 512 categories a small flag
        for each besides, as their order may mean something or nothing. From `flags_from` categories
        on, above 0, there is one cosine, and flags are longer the more there are: a few cosines say
        little of many values in no order. Buckets of what is missing or other are no part of the
        order, and have a flag of their own. All are scaled by one number, so that a row whose
        buckets are uniform has a squared length of `USUAL_LENGTH`^2 in the mean, the constant
        counted, and rounded to integers.
        """
        if cosines not in range(1, COSINES_MAX + 1):
            raise ValueError(f"a column has 1 to {COSINES_MAX} cosines, not {cosines}")
        return _scaled_features(self.columns, cosines, flags_from, self.USUAL_LENGTH)

    def rule_of(self, constant: int, points: Integers) -> ScorecardRule:
        """The rule with these points: of the constant, and of the buckets of all columns in a row.

        points: int64 (buckets of all columns,), limited like the constant to `POINTS_MAX`.
        """
        limited = np.minimum(np.maximum(points, -POINTS_MAX), POINTS_MAX).tolist()
        ends = list(accumulate(self.sizes))
        starts = [0, *ends[:-1]]
        tables = tuple(tuple(limited[a:b]) for a, b in zip(starts, ends, strict=True))
        return ScorecardRule(max(-POINTS_MAX, min(POINTS_MAX, constant)), tables)

    # -- one chunk ---------------------------------------------------------------------------

    def empirical_rule(self, x: Points, y: Labels) -> Rule:
        """The rule that a perceptron comes to; the fewest errors are hard to find.

        After each pass over the chunk all wrong examples count at once, so their order does not
        matter. It ends where no example is wrong, as it does at last where a rule without errors
        exists, or after `PASSES_MAX` passes with the rule that had the fewest errors.
        """
        rows, ones = rows_of(x).astype(np.int64), y.astype(np.bool_)
        firsts = np.cumsum([0, *self.sizes[:-1]])
        cells, signs = rows + firsts, np.where(ones, 1, -1)
        points, constant = np.zeros(sum(self.sizes), dtype=np.int64), 0
        best, fewest = (points, constant), len(y) + 1
        for _ in range(PASSES_MAX):
            wrong = ((points[cells].sum(axis=1) + constant) > 0) != ones
            errors = int(np.count_nonzero(wrong))
            if errors < fewest:
                best, fewest = (points.copy(), constant), errors
            largest = max(int(np.abs(points).max()), abs(constant))
            if not errors or largest + errors > POINTS_MAX:
                break
            np.add.at(points, cells[wrong], signs[wrong][:, np.newaxis])
            constant += int(signs[wrong].sum())
        found, constant = best
        parts = np.split(found, firsts[1:])
        return ScorecardRule(constant, tuple(tuple(part.tolist()) for part in parts))


@lru_cache(maxsize=64)
def _scaled_features(columns: str, cosines: int, flags_from: int, usual_length: int) -> Features:
    """The features of all columns, at the length that a usual row is to have."""
    parts = [_features(column, cosines, flags_from) for column in columns.split("x")]
    squares = CONSTANT**2
    for part in parts:
        squares += sum(value * value for row in part for value in row) // len(part)
    length = math.isqrt(squares)  # the square root of the mean square, in units of 2^-40

    def scaled(value: int) -> int:
        return (2 * value * usual_length + length) // (2 * length)

    tables = (
        np.array([[scaled(v) for v in row] for row in part], dtype=np.int64) for part in parts
    )
    return Features(max(1, scaled(CONSTANT)), tuple(tables))


@lru_cache(maxsize=256)
def _features(column: str, cosines: int, flags_from: int) -> list[list[int]]:
    """The features of one column's buckets before they are scaled, a list for each bucket."""
    found = _COLUMN.fullmatch(column)
    assert found is not None, "columns are checked when a class is made"
    missing, written, category, other = found.groups()
    size, before, behind = int(written), len(missing), len(other)
    inner = size - before - behind
    many = bool(category) and 0 < flags_from <= inner <= FLAGS_MAX
    flag = _flag_of_many(inner) if many else FLAG
    features: list[list[int]] = []
    if inner == 2:
        features.append([-_ONE, _ONE])
    elif inner > 2:
        for order in range(1, min(1 if many else cosines, inner - 1) + 1):
            length = _LENGTHS[order - 1]
            features.append([c * length >> _TURN_BITS for c in _cosines(order, inner - 1)])
        if category and inner <= FLAGS_MAX:
            features += [[flag * (i == j) for i in range(inner)] for j in range(inner)]
    padded = [[0] * before + values + [0] * behind for values in features]
    if before:
        padded.append([OUTSIDE] + [0] * (size - 1))
    if behind:
        padded.append([0] * (size - 1) + [OUTSIDE])
    if not padded:  # one bucket and nothing outside cannot be, as a column has two
        padded.append([0] * size)
    return [list(row) for row in zip(*padded, strict=True)]


def _flag_of_many(categories: int) -> int:
    """The length of a flag beside those of so many other categories."""
    return math.isqrt(_ONE * _ONE * min(categories, MANY_SQUARE_MAX * MANY) // MANY)


def _cosines(order: int, last: int) -> list[int]:
    """cos(pi order v / last) for v = 0, ..., last, in units of 2^-100, each off by few of them.

    Each is the one before, turned by one angle: with cosine and sine, products of integers.
    """
    one, angle = 1 << _TURN_BITS, _PI * order // last
    cosine = sine = 0
    term, power = one, 0
    while term:  # the series of both, term by term
        if power % 2:
            sine += term if power % 4 == 1 else -term
        else:
            cosine += term if power % 4 == 0 else -term
        power += 1
        term = (term * angle >> _TURN_BITS) // power
    found, x, y = [], one, 0
    for _ in range(last + 1):
        found.append(x)
        x, y = (x * cosine - y * sine) >> _TURN_BITS, (x * sine + y * cosine) >> _TURN_BITS
    return found
