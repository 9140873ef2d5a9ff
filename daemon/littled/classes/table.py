"""An explicit, finite, public list of rules over numbered points."""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import (
    DENSE_RULES_MAX,
    ClassError,
    DataSet,
    NumberedPoints,
    NumberedVersionSpace,
    Scores,
    consistent_numbers,
)
from littled.littlestone import (
    CostExceeded,
    littlestone_dimension,
    standard_optimal_algorithm,
)
from littled_protocol.rules import TableRule

# The rule name under which the SOA of a version space is published when it is no row.
STANDARD_OPTIMAL_NAME = "standard optimal rule"
# Exact dimensions are only searched for in tables of at most this many cells, and this much work.
DIMENSION_CELLS_MAX = 1 << 16
DIMENSION_SUBCLASSES_MAX = 20_000


@dataclass(frozen=True)
class Table(NumberedPoints):
    """Named rules, one row of 0 and 1 each; the points are the columns' numbers 0..points-1."""

    rule_names: tuple[str, ...]
    points: int
    packed: tuple[bytes, ...]  # each row by numpy.packbits
    dimension: int
    matrix: NDArray[np.bool_] = field(init=False, repr=False, compare=False)
    byte_columns: NDArray[np.uint8] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Unpack the rows once."""
        rows = np.frombuffer(b"".join(self.packed), dtype=np.uint8)
        bits = np.unpackbits(rows.reshape(len(self.packed), -1), axis=1)[:, : self.points]
        object.__setattr__(self, "matrix", bits.astype(bool))
        columns = np.ascontiguousarray(rows.reshape(len(self.packed), -1).T)
        object.__setattr__(self, "byte_columns", columns)

    @classmethod
    def from_matrix(cls, names: Sequence[str], matrix: NDArray[np.bool_]) -> Self:
        """A table from its names and a boolean matrix (rules, points).

        Raises ClassError for empty, repeated or unnamed rules and for tables that are too large.
        """
        matrix = np.asarray(matrix, dtype=bool)
        if matrix.ndim != 2 or not matrix.size or len(matrix) > DENSE_RULES_MAX:
            raise ClassError(f"a table needs 1 to {DENSE_RULES_MAX} rules over at least one point")
        if len(names) != len(matrix) or len(set(names)) != len(names) or not all(names):
            raise ClassError("every rule of a table needs a name of its own")
        if len(np.unique(matrix, axis=0)) != len(matrix):
            raise ClassError("a table lists the same rule twice; keep one of the two rows")
        packed = tuple(row.tobytes() for row in np.packbits(matrix, axis=1))
        return cls(tuple(names), matrix.shape[1], packed, _dimension(matrix))

    @classmethod
    def from_dict(cls, description: dict[str, Any]) -> Self:
        """The table that `to_dict` described (ClassError where it cannot be)."""
        points = description["points"]
        try:
            data = base64.b64decode(description["rows"], validate=True)
            rows = np.frombuffer(data, dtype=np.uint8).reshape(len(description["names"]), -1)
        except (binascii.Error, ValueError) as error:
            raise ClassError("the rows of a stored table are damaged") from error
        matrix = np.unpackbits(rows, axis=1)[:, :points].astype(bool)
        return cls.from_matrix(description["names"], matrix)

    @property
    def digest(self) -> str:
        """A short public fingerprint of names and rows."""
        state = hashlib.blake2b(digest_size=8)
        for name, row in zip(self.rule_names, self.packed, strict=True):
            state.update(len(name.encode()).to_bytes(4, "big") + name.encode() + row)
        return state.hexdigest()

    @property
    def name(self) -> str:
        """`table:DIGEST`; a configuration names the file instead."""
        return f"table:{self.digest}"

    @property
    def point_type(self) -> str:
        """The smallest unsigned integer that holds the points' numbers."""
        return self.rule(0).x_type

    @property
    def littlestone_dimension(self) -> int:
        """Exact for small tables, else the bound floor(log2(number of rules))."""
        return self.dimension

    @property
    def dual_vc_dimension(self) -> int:
        """At most log2 of the number of different columns: m rules in all ways need 2^m of them."""
        return len(np.unique(self.matrix, axis=1).T).bit_length() - 1

    def to_dict(self) -> dict[str, Any]:
        """Names and packed rows in base64."""
        return {
            "class": "table",
            "names": list(self.rule_names),
            "points": self.points,
            "rows": base64.b64encode(b"".join(self.packed)).decode(),
        }

    def first_rule(self) -> TableRule:
        """The rule that differs least from the majority vote of all rules."""
        majority = 2 * self.matrix.sum(axis=0) > len(self.matrix)
        return self.rule(int((self.matrix != majority).sum(axis=1).argmin()))

    @property
    def longest_rule(self) -> TableRule:
        """The row with the longest name: all else is equally long in every row."""
        return self.rule(max(range(len(self.packed)), key=self._name_bytes))

    @property
    def point_count(self) -> int:
        """One point for each column."""
        return self.points

    @property
    def rule_count(self) -> int:
        """Number of rows."""
        return len(self.matrix)

    def scores(self, statistics: NDArray[np.int64]) -> Scores:
        """Agreements of every row: labels 1 where it says 1, labels 0 where it says 0."""
        zeros, ones = statistics
        scores: Scores = _subset_sums(self.byte_columns, ones - zeros) + zeros.sum()
        return scores

    def rule(self, index: int) -> TableRule:
        """The row `index`."""
        return TableRule(
            name=self.rule_names[index],
            digest=self.digest,
            values=self.packed[index],
            size=self.points,
        )

    def _name_bytes(self, index: int) -> int:
        return len(self.rule_names[index].encode())

    def version_space(self, data_sets: Sequence[DataSet], tolerance: Fraction) -> "RowVersionSpace":
        """The rows that err little enough on every data set, exactly."""
        return RowVersionSpace(consistent_numbers(self, data_sets, tolerance), self)


@dataclass(frozen=True, eq=False)
class RowVersionSpace(NumberedVersionSpace):
    """Some rows of a table."""

    hypotheses: Table

    @cached_property
    def littlestone_dimension(self) -> int:
        """Exact where that is cheap, else the smaller of the table's and floor(log2(rows))."""
        if not len(self.numbers):
            return -1
        return min(_dimension(self._rows), self.hypotheses.dimension)

    def standard_optimal_rule(self) -> TableRule:
        """The SOA where that is cheap, else the majority of the rows; a row, if it equals one.

        The majority is what the bound floor(log2(rows)) stands for: a mistake halves the rows.
        """
        self.require_rules()
        values = _standard_optimal_values(self._rows)
        table = self.hypotheses
        equal = np.flatnonzero((table.matrix == values).all(axis=1))
        if len(equal):
            return table.rule(int(equal[0]))
        packed = np.packbits(values).tobytes()
        return TableRule(STANDARD_OPTIMAL_NAME, table.digest, packed, table.points)

    @property
    def _rows(self) -> NDArray[np.bool_]:
        return self.hypotheses.matrix[self.numbers]


def _standard_optimal_values(rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The SOA of these rows where that is cheap, else their majority, (points,)."""
    if rows.size <= DIMENSION_CELLS_MAX:
        try:
            return standard_optimal_algorithm(rows, subclasses_max=DIMENSION_SUBCLASSES_MAX)
        except CostExceeded:
            pass
    majority: NDArray[np.bool_] = 2 * rows.sum(axis=0) > len(rows)
    return majority


def _subset_sums(columns: NDArray[np.uint8], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """For every row the sum of the weights (points,) where it says 1, int64 (rows,).

    `columns` (bytes, rows) are the rows as packed by numpy.packbits. Eight points at a time: the
    sums of all subsets of their weights are looked up by the byte, ten times faster than a product
    of integer matrices.
    """
    padded = np.zeros(8 * len(columns), dtype=np.int64)
    padded[: len(weights)] = weights
    subsets = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)
    sums = np.zeros(columns.shape[1], dtype=np.int64)
    for eight, column in zip(padded.reshape(-1, 8), columns, strict=True):
        sums += (subsets @ eight)[column]
    return sums


def _dimension(matrix: NDArray[np.bool_]) -> int:
    """Exact dimension where that is cheap, else floor(log2(rules))."""
    if matrix.size <= DIMENSION_CELLS_MAX:
        try:
            return littlestone_dimension(matrix, subclasses_max=DIMENSION_SUBCLASSES_MAX)
        except CostExceeded:
            pass
    return len(matrix).bit_length() - 1
