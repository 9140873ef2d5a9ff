"""What an example adds to the sums of a batch, in exact integers; and what it may add at the most.

An example with features a (integers), centre m and length bound b becomes the vector
v = rho (a - m), where rho is an integer, |rho| at most LENGTH_MAX / max(|a - m|, b): so |v| is at
most `LENGTH_MAX`, whatever the example is. rho has the sign of the label, and follows the public
score of the row.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Labels, Points
from littled.classes.capabilities import AdditiveRules, Features, Integers
from littled.learners.leader.parameters import LENGTH_MAX, RESIDUAL_STEPS
from littled_protocol.rules.scorecards import rows_of

# Weights are multiples of 2^-24; for scores of 2^-16, and limited so that sums of them fit.
WEIGHT_BITS, SCORE_BITS, SCORE_WEIGHT_MAX = 24, 16, 1 << 27
# A residual k stands for k / 128; so much of a vector's length is one step of it.
_STEP = LENGTH_MAX // RESIDUAL_STEPS
# The greatest margins, in scores, up to which a residual has at least k = 64, 63, ..., 1 steps:
# floor(2^16 ln((128.5 - k) / (k - 0.5))), as it is the integer nearest to
# 128 min(1/2, 1 - 1 / (1 + exp(-margin))).
MARGINS = np.array(
    [
        1024,
        3072,
        5122,
        7175,
        9231,
        11291,
        13358,
        15430,
        17511,
        19600,
        21700,
        23810,
        25933,
        28069,
        30220,
        32387,
        34572,
        36775,
        38999,
        41245,
        43515,
        45810,
        48132,
        50484,
        52868,
        55284,
        57737,
        60229,
        62762,
        65339,
        67964,
        70640,
        73371,
        76161,
        79014,
        81936,
        84932,
        88009,
        91172,
        94430,
        97791,
        101265,
        104863,
        108597,
        112481,
        116533,
        120770,
        125217,
        129899,
        134850,
        140108,
        145722,
        151751,
        158273,
        165388,
        173228,
        181976,
        191896,
        203381,
        217065,
        234064,
        256639,
        290637,
        363152,
    ],
    dtype=np.int64,
)


@dataclass(frozen=True)
class FeatureMap:
    """The features of a class's rows, by cells: the buckets of all columns in one list.

    Vectors have the constant first: int64 (dimensions,). cosines: of each column, at the most.
    flags_from: categories from which on flags tell more than order; 0 for never.
    """

    rules: AdditiveRules
    cosines: int
    flags_from: int = 0

    @cached_property
    def encoded(self) -> Features:
        """What the buckets of a row become."""
        return self.rules.features(self.cosines, self.flags_from)

    @property
    def constant(self) -> int:
        """The feature of the constant."""
        return self.encoded.constant

    @cached_property
    def first_cells(self) -> NDArray[np.uint32]:
        """Of each column its first cell."""
        return np.cumsum([0, *self.rules.sizes[:-1]]).astype(np.uint32)

    @cached_property
    def cell_count(self) -> int:
        """Cells in all."""
        return sum(self.rules.sizes)

    @cached_property
    def dimensions(self) -> int:
        """Features of a row, the constant counted."""
        return self.encoded.dimensions

    @cached_property
    def _entries(self) -> tuple[Integers, Integers, Integers]:
        """Cell, feature and value of all features that are not 0."""
        cells, places, values = [], [], []
        cell, place = 0, 1
        for table in self.encoded.tables:
            at, feature = np.nonzero(table)
            cells.append(at + cell)
            places.append(feature + place)
            values.append(table[at, feature])
            cell, place = cell + len(table), place + table.shape[1]
        return np.concatenate(cells), np.concatenate(places), np.concatenate(values)

    def cells(self, x: Points) -> NDArray[np.uint32]:
        """The cells of n rows: uint32 (columns, n), in which sums over columns are fast."""
        by_column = np.ascontiguousarray(rows_of(x).T)  # of small numbers still
        found: NDArray[np.uint32] = by_column + self.first_cells[:, np.newaxis]
        return found

    def rows(self, cells: NDArray[np.uint32]) -> Integers:
        """The features of n rows, the constant first: int64 (n, dimensions)."""
        found = np.empty((cells.shape[1], self.dimensions), dtype=np.int64)
        found[:, 0] = self.constant
        first = 1
        for place, table in enumerate(self.encoded.tables):
            buckets = cells[place] - self.first_cells[place]
            found[:, first : first + table.shape[1]] = table[buckets]
            first += table.shape[1]
        return found

    def sums(self, weights: Integers) -> Integers:
        """For each cell the sum of its features times these weights (dimensions,): (cells,).

        Exact, though numpy adds in floating point: sums of products stay below 2^53.
        """
        cells, places, values = self._entries
        return _counted(cells, values * weights[places], self.cell_count)

    def squares(self, centre: Integers) -> Integers:
        """For each cell the squared length of its column's features less the centre: (cells,)."""
        cells, places, values = self._entries
        found = _counted(cells, values * (values - 2 * centre[places]), self.cell_count)
        first = 1
        for start, table in zip(self.first_cells.tolist(), self.encoded.tables, strict=True):
            around = centre[first : first + table.shape[1]]
            found[start : start + len(table)] += int((around * around).sum())
            first += table.shape[1]
        return found

    def vector(self, cells: NDArray[np.uint32], multiples: Integers, centre: Integers) -> Integers:
        """The sum of n rows' features less the centre, times integers (n,): (dimensions,).

        Exact as `sums` is: multiples are below 2^13 times the usual length, and n below 2^17.
        """
        repeated = np.empty(cells.shape)
        repeated[:] = multiples
        histogram = _counted(cells.ravel(), repeated.ravel(), self.cell_count)
        at, places, values = self._entries
        total = int(multiples.sum())
        vector = _counted(places, values * histogram[at], self.dimensions) - centre * total
        vector[0] = self.constant * total
        return vector


@dataclass(frozen=True)
class Contribution:
    """What an example adds to a batch's sum, at a public centre and length.

    centre: int64 (dimensions,), 0 for the constant. bound: the length to which shorter rows are not
    stretched.
    """

    features: FeatureMap
    centre: Integers
    bound: int

    @cached_property
    def _squares(self) -> Integers:
        return self.features.squares(self.centre)

    @property
    def _stretch_bits(self) -> int:
        """2^bits are at most the constant, so that no stretch of so many numbers has two squares.

        As far as there are rows: they are as long as the constant at least.
        """
        return self.features.constant.bit_length() - 1

    @cached_property
    def _roots(self) -> Integers:
        """The root, rounded up, of the first number of each stretch up to a row's greatest square.

        Roots of all others of a stretch are these or one more.
        """
        firsts = self.features.first_cells.astype(np.int64)
        most = int(np.maximum.reduceat(self._squares, firsts).sum())
        most += self.features.constant**2
        squares = np.arange(math.isqrt(most) + 2, dtype=np.int64) ** 2
        starts = np.arange((most >> self._stretch_bits) + 1, dtype=np.int64) << self._stretch_bits
        found: Integers = np.searchsorted(squares, starts, side="left").astype(np.int64)
        return found

    def lengths(self, cells: NDArray[np.uint32]) -> Integers:
        """max(ceil |a - m|, bound) of n rows: int64 (n,)."""
        squares = self._squares.take(cells).sum(axis=0) + self.features.constant**2
        found: Integers = self._roots.take(squares >> self._stretch_bits)
        found += found * found < squares
        return np.maximum(found, self.bound)

    def scores(self, weights: Integers) -> tuple[Integers, int]:
        """Scores of cells and of the constant: times the length of a row, in 2^-16."""
        scaled = weights >> (WEIGHT_BITS - SCORE_BITS)
        limited = np.minimum(np.maximum(scaled, -SCORE_WEIGHT_MAX), SCORE_WEIGHT_MAX)
        constant = int(limited[0]) * self.features.constant
        return self.features.sums(limited), constant - int((limited * self.centre).sum())

    def multiples(
        self,
        scores: tuple[Integers, int],
        cells: NDArray[np.uint32],
        lengths: Integers,
        y: Labels,
        base: Integers | int = 0,
    ) -> Integers:
        """rho of n examples: int64 (n,), at most `LENGTH_MAX` / length each way.

        base: what rows score besides, in 2^-16.
        """
        of_cells, constant = scores
        score = (of_cells.take(cells).sum(axis=0) + constant) // lengths + base
        ones = y.astype(np.bool_)
        margin = np.where(ones, score, -score)
        residual = RESIDUAL_STEPS - np.searchsorted(MARGINS, margin, side="left")
        size = residual * _STEP // lengths
        found: Integers = np.where(ones, size, -size)
        return found

    def moments(self, cells: NDArray[np.uint32]) -> Integers:
        """Sums of rows cut to the usual length, and of their squared lengths over it, all integers.

        int64 (dimensions + 1,): a row changes the first part by at most `USUAL_LENGTH` in length,
        and the last number by 0 to `USUAL_LENGTH`. `bound` is `USUAL_LENGTH` here.
        """
        usual = self.features.rules.USUAL_LENGTH
        rows, lengths = self.features.rows(cells), self.lengths(cells)[:, np.newaxis]
        cut = np.sign(rows) * (np.abs(rows) * usual // lengths)
        squares = (cut * cut).sum(axis=1) // usual
        moments: Integers = np.append(cut.sum(axis=0), squares.sum())
        return moments


def contribution(features: FeatureMap, centre: Integers, bound: int) -> Contribution:
    """What an example adds at this centre and length; made once for all batches of a sequence."""
    return _contribution(features, centre.tobytes(), bound)


@lru_cache(maxsize=16)
def _contribution(features: FeatureMap, centre: bytes, bound: int) -> Contribution:
    return Contribution(features, np.frombuffer(centre, dtype=np.int64), bound)


def _counted(places: NDArray[Any], values: NDArray[Any], count: int) -> Integers:
    """The sum of the values at each of `count` places: int64; exact below 2^53."""
    found: Integers = np.bincount(places, values, count).astype(np.int64)
    return found
