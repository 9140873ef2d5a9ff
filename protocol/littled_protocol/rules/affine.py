"""Affine subspaces of bit vectors: an offset and all XORs of a basis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from littled_protocol.columns import Points, smallest_point_type
from littled_protocol.encodings import Dialect, Reading
from littled_protocol.rules.base import (
    ALWAYS,
    LISTED_MAX,
    NEVER,
    SQL_NEVER,
    Rule,
    RuleError,
    Words,
    flagged_parts,
    said,
    sql_of_parts,
)
from littled_protocol.rules.conjunctions import named_bits, said_bits
from littled_protocol.rules.fields import AffineFields
from littled_protocol.rules.writing import (
    fixed_bits,
    integer,
    is_known,
    number_from_wire,
    number_to_wire,
    parity_terms,
    sql_always,
    sql_sum,
)

# Points evaluated at a time, so that what lies between two steps stays in a processor's cache.
_CHUNK_POINTS: Final = 1 << 14

# Words of a point, one array (n,) each, the most significant first.
_Columns = list[NDArray[np.unsignedinteger[Any]]]
_Inside = Callable[[_Columns], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class AffineRule(Rule):
    """1 iff x is `offset` XOR some of the vectors of `basis`, all of `bits` bits.

    basis: in falling order and reduced row echelon form: the highest bit of each vector is set in
    no other. offset: has none of these bits; None, with no basis, for the rule that is always 0.
    """

    kind: ClassVar[str] = "affine"
    bits: int
    basis: tuple[int, ...]
    offset: int | None

    def __post_init__(self) -> None:
        """Check the fields (RuleError)."""
        integer(self.bits, 1, 128, "bits")
        if type(self.basis) is not tuple or len(self.basis) > self.bits:
            raise RuleError(f"basis needs a tuple of at most {self.bits} vectors")
        for vector in self.basis:
            integer(vector, 1, 2**self.bits - 1, "a vector of the basis")
        if any(a <= b for a, b in zip(self.basis, self.basis[1:], strict=False)):
            raise RuleError("basis needs vectors in falling order")
        highest = self._highest_bits
        if any(v & highest != 2 ** (v.bit_length() - 1) for v in self.basis):
            raise RuleError("basis needs vectors whose highest bits are set in no other")
        if self.offset is None:
            if self.basis:
                raise RuleError("a rule that is always 0 needs no basis")
            return
        integer(self.offset, 0, 2**self.bits - 1, "offset")
        if self.offset & highest:
            raise RuleError("offset needs to be without the highest bits of the basis")

    @property
    def x_type(self) -> str:
        """The smallest scalar type that holds `bits` bits."""
        return smallest_point_type(self.bits)

    @property
    def _checks(self) -> tuple[tuple[int, int], ...]:
        """Masks with a parity each, 0 or 1: x has label 1 iff x & mask has it for all of them.

        There are `bits` less the dimension: one for each bit that leads no vector of the basis, in
        rising order. Not for the rule that is always 0.
        """
        leading = [(vector, 2 ** (vector.bit_length() - 1)) for vector in self.basis]
        highest = self._highest_bits
        free = [bit for bit in range(self.bits) if not (highest >> bit) & 1]
        masks = [sum(lead for vector, lead in leading if (vector >> b) & 1) + 2**b for b in free]
        offset = self.offset or 0
        return tuple((mask, (offset >> bit) & 1) for mask, bit in zip(masks, free, strict=True))

    def _condition(self, words: Words) -> str:
        """Return for example "x in 5 xor span(8, 2)", or a few parities where these say it all."""
        if self.offset is None or len(self.basis) == self.bits:
            return NEVER if self.offset is None else ALWAYS
        if not self.basis:
            shown = self._shown(self.offset) if self._wide else words.value(self.offset)
            return f"{words.x_name} is {shown}"
        if self.bits - len(self.basis) <= min(len(self.basis), LISTED_MAX):
            return self._said_checks(words)
        some = ", ".join(map(self._shown, self.basis[:LISTED_MAX]))
        rest = f", ... {len(self.basis)} vectors" if len(self.basis) > LISTED_MAX else ""
        name = words.number(self.x_type)
        return f"{name} in {self._shown(self.offset)} xor span({some}{rest})"

    def _sql(self, column: str, offset: int) -> str:
        """Return the parity checks, as sums of bits or of digits with an odd number of bits."""
        if self.offset is None or len(self.basis) == self.bits:
            return SQL_NEVER if self.offset is None else sql_always(column)
        mask, value, parities = self._split_checks()
        conditions = fixed_bits(column, self.bits, mask, value, offset)
        for part, parity in parities:
            terms = parity_terms(column, self.bits, part, offset)
            conditions.append(f"{sql_sum(terms)} % 2 = {parity}")
        if not mask and not any(parity for _, parity in parities):
            # Of NULL, which is no point, all these sums are even.
            conditions.append(is_known(column))
        return f"({' AND '.join(conditions)})"

    def _read_condition(self, words: Words, reading: Reading) -> str:
        if reading.form != "bits":
            return Rule._read_condition(self, words, reading)
        if self.offset is None or not self._checks:
            return ALWAYS if self.offset is not None else NEVER
        mask, value, parities = self._split_checks()
        alone = said(flagged_parts(reading, value, mask & ~value))
        if alone in (ALWAYS, NEVER) and mask:
            return alone
        clauses = [alone] if mask else []
        for part, parity in parities:
            chosen = [flag for bit, flag in enumerate(reading.flags) if part >> bit & 1]
            held = "; ".join(feature.condition(buckets) for feature, buckets in chosen)
            clauses.append(f"{'an odd' if parity else 'an even'} number of these holds ({held})")
        return " and ".join(clauses)

    def _read_sql(self, words: Words, reading: Reading, dialect: Dialect) -> str:
        if reading.form != "bits":
            return Rule._read_sql(self, words, reading, dialect)
        if self.offset is None:
            return SQL_NEVER
        mask, value, parities = self._split_checks()
        conditions = [sql_of_parts(flagged_parts(reading, value, mask & ~value), dialect)]
        for part, parity in parities:
            chosen = [flag for bit, flag in enumerate(reading.flags) if part >> bit & 1]
            terms = [
                f"CASE WHEN {feature.to_sql(buckets, dialect)} THEN 1 ELSE 0 END"
                for feature, buckets in chosen
            ]
            conditions.append(f"{sql_sum(terms)} % 2 = {parity}")
        return f"({' AND '.join(conditions)})"

    @property
    def _highest_bits(self) -> int:
        return sum(2 ** (vector.bit_length() - 1) for vector in self.basis)

    @property
    def _wide(self) -> bool:
        return self.x_type == "u128"

    def _shown(self, vector: int) -> str:
        return f"{vector:032x}" if self._wide else str(vector)

    def _split_checks(self) -> tuple[int, int, list[tuple[int, int]]]:
        """Return the mask and the values of bits checked alone, and the other checks."""
        alone = [check for check in self._checks if check[0].bit_count() == 1]
        others = [check for check in self._checks if check[0].bit_count() > 1]
        return sum(m for m, _ in alone), sum(m for m, parity in alone if parity), others

    def _said_checks(self, words: Words) -> str:
        name = words.number(self.x_type)
        mask, value, parities = self._split_checks()
        clauses = [said_bits(mask, value, name)] if mask else []
        for part, parity in parities:
            number = "an odd" if parity else "an even"
            clauses.append(f"{number} number of {named_bits(part, name)} is 1")
        return " and ".join(clauses)

    def _labels(self, points: Points) -> NDArray[np.bool_]:
        labels = np.zeros(len(points), dtype=np.bool_)
        if self.offset is None:
            return labels
        few_checks = self.bits - len(self.basis) < len(self.basis)
        inside = _checker(self._checks) if few_checks else _reducer(self.basis, self.offset)
        for start in range(0, len(points), _CHUNK_POINTS):
            part = points[start : start + _CHUNK_POINTS]
            columns = [part] if part.ndim == 1 else [part[:, 0], part[:, 1]]
            labels[start : start + _CHUNK_POINTS] = inside(columns)
        return labels

    def _fields(self) -> AffineFields:
        basis = [number_to_wire(vector, self.bits, self.bits) for vector in self.basis]
        offset = self.offset
        if offset is None:
            return {"kind": "affine", "bits": self.bits, "basis": basis, "offset": None}
        written = number_to_wire(offset, self.bits, self.bits)
        return {"kind": "affine", "bits": self.bits, "basis": basis, "offset": written}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        bits, basis, offset = fields["bits"], fields["basis"], fields["offset"]
        integer(bits, 1, 128, "bits")
        if type(basis) is not list:
            raise RuleError("basis needs a list")
        vectors = tuple(number_from_wire(vector, bits, bits) for vector in basis)
        return cls(bits, vectors, None if offset is None else number_from_wire(offset, bits, bits))


def _reducer(basis: tuple[int, ...], offset: int) -> _Inside:
    """Return what says which points are the offset once the basis has cleared its highest bits."""

    def inside(columns: _Columns) -> NDArray[np.bool_]:
        kind = columns[0].dtype.type
        rest = [column.copy() for column in columns]
        for vector in basis:
            place, shift = divmod(vector.bit_length() - 1, 64)
            leads = (rest[-1 - place] >> kind(shift)) & kind(1)
            for index, part in enumerate(_words(vector, columns)):
                if part:
                    rest[index] ^= leads * part
        labels = np.ones(len(columns[0]), dtype=np.bool_)
        for word, part in zip(rest, _words(offset, columns), strict=True):
            labels &= word == part
        return labels

    return inside


def _checker(checks: Sequence[tuple[int, int]]) -> _Inside:
    """Return what says which points have the right parity in all checks."""

    def inside(columns: _Columns) -> NDArray[np.bool_]:
        wrong = np.zeros(len(columns[0]), dtype=np.uint8)
        for mask, parity in checks:
            ones = np.full(len(wrong), parity, dtype=np.uint8)
            for word, part in zip(columns, _words(mask, columns), strict=True):
                if part:
                    ones += np.bitwise_count(word & part)
            wrong |= ones
        right: NDArray[np.bool_] = wrong & np.uint8(1) == 0
        return right

    return inside


def _words(number: int, columns: _Columns) -> list[np.unsignedinteger[Any]]:
    """Return a number in words like those of the columns."""
    kind = columns[0].dtype.type
    if len(columns) == 1:
        return [kind(number)]
    return [kind(number >> 64), kind(number % 2**64)]
