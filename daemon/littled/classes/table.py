"""An explicit, finite, public list of rules over numbered points."""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import (
    DENSE_RULES_MAX,
    ClassError,
    Labels,
    Points,
    Scores,
    members_of_chunks,
)
from littled.classes.labelings import RepresentedRules, first_equal, hash_weights
from littled.classes.numbered import NumberedPoints, NumberedVersionSpaces
from littled.littlestone import CostExceeded, littlestone_dimension, vapnik_chervonenkis_dimension
from littled_protocol.rules import Rule, TableRule

# Exact dimensions are only searched for in tables of at most this many cells, and this much work.
DIMENSION_CELLS_MAX = 1 << 16
DIMENSION_SUBCLASSES_MAX = 20_000
# Of how many chunks rows are scored together, so that the scores stay close to the processor.
_CHUNKS_AT_A_TIME = 64
_CELLS_MAX = 1 << 20


@dataclass(frozen=True)
class Table(NumberedPoints, NumberedVersionSpaces, RepresentedRules):
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

    def essential_p_min(self, d: int) -> int:
        """The least p with p * 2^(d - LDim) >= rules - 1 or >= points: `NumberedVersionSpace`."""
        needed = min(self.rule_count - 1, self.point_count)
        return max(1, -(-needed >> max(0, d - self.littlestone_dimension)))

    @property
    def cells(self) -> int:
        """A cell for each rule and point."""
        return self.rule_count * self.points

    def labels_of(self, numbers: NDArray[np.int64], point: Points) -> NDArray[np.bool_]:
        """What the rows with these numbers say to one point."""
        labels: NDArray[np.bool_] = self.matrix[numbers, int(point[0])]
        return labels

    @cached_property
    def vc_dimension(self) -> int:
        """Exact for small tables, else the Littlestone dimension or its bound."""
        if self.matrix.size > DIMENSION_CELLS_MAX:
            return self.dimension
        try:
            return vapnik_chervonenkis_dimension(
                self.matrix, subclasses_max=DIMENSION_SUBCLASSES_MAX
            )
        except CostExceeded:
            return self.dimension

    def labelings_max(self, n: int) -> int:
        """The bound of Sauer and Shelah, and at most one for each row."""
        return min(len(self.matrix), super().labelings_max(min(n, self.points)))

    def representatives(self, points: Points) -> NDArray[np.int64]:
        """The first of the rows that say the same to all these points (n,), rising."""
        seen = np.zeros(8 * self.words.itemsize * self.words.shape[1], dtype=np.uint8)
        seen[points] = 1
        mask = np.packbits(seen).view(np.uint64)
        columns = np.flatnonzero(mask)
        parts = self.words.take(columns, axis=1) & mask[columns]

        def equal(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.bool_]:
            same: NDArray[np.bool_] = (parts[first] == parts[second]).all(axis=1)
            return same

        first = first_equal(parts @ hash_weights(len(columns)), equal)
        return np.flatnonzero(first == np.arange(len(first)))

    def empirical_rule(self, x: Points, y: Labels) -> Rule:
        """The first row with the fewest errors."""
        return self.empirical_rules(x, y, np.zeros(len(y), dtype=np.int64), 1)[0]

    def empirical_rules(
        self, x: Points, y: Labels, chunk_numbers: NDArray[np.int64], chunks: int
    ) -> list[Rule]:
        """The same of some chunks at a time; memory for _CELLS_MAX scores, or one a row."""
        largest = int(np.bincount(chunk_numbers, minlength=1).max())
        kind: np.dtype[np.signedinteger[Any]] = np.dtype(np.int64 if largest >> 15 else np.int16)
        width = min(max(_CELLS_MAX // len(self.matrix), 1), _CHUNKS_AT_A_TIME, chunks)
        members = members_of_chunks(chunk_numbers, chunks)
        found = []
        for start in range(0, chunks, width):
            part = np.concatenate(members[start : start + width])
            cells = x.take(part).astype(np.int64) * width + chunk_numbers.take(part) - start
            size = self.points * width
            zeros, ones = (np.bincount(cells[y[part] == n], minlength=size) for n in (0, 1))
            votes = (ones - zeros).astype(kind).reshape(self.points, width)
            best = _subset_sums(self.byte_columns, votes).argmax(axis=0)
            found += best[: chunks - start].tolist()
        rules: dict[int, Rule] = {number: self.rule(number) for number in set(found)}
        return [rules[number] for number in found]

    @cached_property
    def words(self) -> NDArray[np.uint64]:
        """The packed rows, filled up with zeros, as words, (rules, words)."""
        width = len(self.packed[0])
        rows = np.zeros((len(self.packed), -(-width // 8) * 8), dtype=np.uint8)
        rows[:, :width] = self.byte_columns.T
        return rows.view(np.uint64)


def _subset_sums(
    columns: NDArray[np.uint8], weights: NDArray[np.signedinteger[Any]]
) -> NDArray[np.signedinteger[Any]]:
    """For every row the sums of the weights (points, ...) where it says 1, (rules, ...).

    `columns` (bytes, rules) are the rows as packed by numpy.packbits. Eight points at a time: the
    sums of all subsets of their weights are looked up by the byte, ten times faster than a product
    of integer matrices. The weights' dtype has to hold the sums.
    """
    rest = weights.shape[1:]
    padded = np.zeros((8 * len(columns), *rest), dtype=weights.dtype)
    padded[: len(weights)] = weights
    sums = np.zeros((columns.shape[1], *rest), dtype=weights.dtype)
    found = np.empty_like(sums)
    subsets = np.zeros((256, *rest), dtype=weights.dtype)
    for eight, column in zip(padded.reshape(-1, 8, *rest), columns, strict=True):
        size = 1
        for weight in eight[::-1]:  # the first point has the highest bit
            np.add(subsets[:size], weight, out=subsets[size : 2 * size])
            size *= 2
        subsets.take(column, axis=0, out=found, mode="clip")
        sums += found
    return sums


def _dimension(matrix: NDArray[np.bool_]) -> int:
    """Exact dimension where that is cheap, else floor(log2(rules))."""
    if matrix.size <= DIMENSION_CELLS_MAX:
        try:
            return littlestone_dimension(matrix, subclasses_max=DIMENSION_SUBCLASSES_MAX)
        except CostExceeded:
            pass
    return len(matrix).bit_length() - 1
