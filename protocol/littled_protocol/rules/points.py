"""Sets of points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from littled_protocol import limits
from littled_protocol.columns import Points, smallest_point_type
from littled_protocol.encodings import Dialect, IdColumn, Reading
from littled_protocol.rules.base import LISTED_MAX, NEVER, SQL_NEVER, Rule, RuleError, Words, listed
from littled_protocol.rules.fields import PointsFields
from littled_protocol.rules.writing import (
    identifier,
    integer,
    literal,
    number_from_wire,
    number_to_wire,
)


@dataclass(frozen=True, slots=True)
class PointsRule(Rule):
    """1 iff x is one of `members`, points of `bits` bits in rising order; none: always 0."""

    kind: ClassVar[str] = "points"
    bits: int
    members: tuple[int, ...]
    _finder: _Finder = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the fields (RuleError)."""
        integer(self.bits, 1, 128, "bits")
        if type(self.members) is not tuple or len(self.members) > limits.rule_members_max:
            raise RuleError(f"members needs a tuple of at most {limits.rule_members_max} points")
        for member in self.members:
            integer(member, 0, 2**self.bits - 1, "a member")
        if any(a >= b for a, b in zip(self.members, self.members[1:], strict=False)):
            raise RuleError("members needs different points in rising order")
        object.__setattr__(self, "_finder", _Finder(self.members))

    @property
    def x_type(self) -> str:
        """The smallest scalar type that holds `bits` bits."""
        return smallest_point_type(self.bits)

    def _condition(self, words: Words) -> str:
        """Return for example "x is 17" or "x is 1, 5 or 9"."""
        if not self.members:
            return NEVER
        shown = [self._shown(member, words) for member in self.members[:LISTED_MAX]]
        if len(self.members) > LISTED_MAX:
            return f"{words.x_name} is one of {len(self.members)}: {', '.join(shown)}, ..."
        return f"{words.x_name} is {listed(shown, 'or')}"

    def _sql(self, column: str, offset: int) -> str:
        """Return a list of the members."""
        if not self.members:
            return SQL_NEVER
        members = ", ".join(literal(member, self.x_type, offset) for member in self.members)
        return f"({identifier(column)} IN ({members}))"

    def _read_sql(self, words: Words, reading: Reading, dialect: Dialect) -> str:
        (column,) = reading.columns
        if not isinstance(column, IdColumn):
            return Rule._read_sql(self, words, reading, dialect)
        if not self.members:
            return SQL_NEVER
        if dialect == "sqlite" or self.bits % 4:
            raise RuleError(
                f"the numbers of {column.name} are hashes of {self.bits} bits, which SQLite does "
                "not compute, and other databases in steps of 4 bits alone"
            )
        digits, text = self.bits // 4, f"CAST({identifier(column.name)} AS TEXT)"
        digest = {
            "postgresql": f"ENCODE(SHA256(CONVERT_TO({text}, 'UTF8')), 'hex')",
            "duckdb": f"SHA256({text})",
        }[dialect]
        members = ", ".join(f"'{member:0{digits}x}'" for member in self.members)
        return f"(SUBSTR({digest}, 1, {digits}) IN ({members}))"

    def _shown(self, member: int, words: Words) -> str:
        return words.value(member, self.x_type)

    def _labels(self, points: Points) -> NDArray[np.bool_]:
        return self._finder.find(points)

    def _fields(self) -> PointsFields:
        members = [number_to_wire(member, self.bits, self.bits) for member in self.members]
        return {"kind": "points", "bits": self.bits, "members": members}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        bits, members = fields["bits"], fields["members"]
        integer(bits, 1, 128, "bits")
        if type(members) is not list:
            raise RuleError("members needs a list")
        return cls(bits, tuple(number_from_wire(member, bits, bits) for member in members))


class _Finder:
    """Finds the members of a set among many points: a filter by hash, then a binary search.

    A point of 128 bits is searched by one 64-bit key made from its two words by a multiplier that
    keeps the members' keys apart, and compared whole afterwards. Points of 8 and 16 bits are looked
    up in a table of all of them.
    """

    _MULTIPLIER: ClassVar[int] = 0x9E3779B97F4A7C15
    # Of 32 points that are no members, about one passes the filter.
    _FILTER_BITS_PER_MEMBER: ClassVar[int] = 5
    _TABLE_BITS_MAX: ClassVar[int] = 16

    def __init__(self, members: Sequence[int]) -> None:
        """Prepare for these members, all different."""
        words = [[member >> 64, member & 0xFFFF_FFFF_FFFF_FFFF] for member in members]
        pairs = np.array(words, dtype=np.uint64).reshape(-1, 2)
        self._multiplier = np.uint64(self._MULTIPLIER)
        keys = self._keys(pairs)
        while len(np.unique(keys)) < len(keys):
            self._multiplier += np.uint64(2)
            keys = self._keys(pairs)
        order = np.argsort(keys)
        self._members, self._member_keys = pairs[order], keys[order]
        filter_bits = len(members).bit_length() + self._FILTER_BITS_PER_MEMBER
        self._hash_shift = np.uint64(64 - filter_bits)
        self._filter = np.zeros(1 << filter_bits, dtype=np.bool_)
        self._filter[self._hash(keys)] = True

    def find(self, points: Points) -> NDArray[np.bool_]:
        """Return which points (n,) or (n, 2) are members, (n,)."""
        if not len(self._members):
            return np.zeros(len(points), dtype=np.bool_)
        if len(self._members) == 1:
            return self._equal(points, self._members[0])
        bits = 8 * points.itemsize
        if bits <= self._TABLE_BITS_MAX:
            table = np.zeros(1 << bits, dtype=np.bool_)
            table[self._members[:, 1]] = True
            found: NDArray[np.bool_] = table[points]
            return found
        return self._search(points)

    def _search(self, points: Points) -> NDArray[np.bool_]:
        wide = points.ndim == 2
        keys = self._keys(points) if wide else points.astype(np.uint64, copy=False)
        found: NDArray[np.bool_] = self._filter[self._hash(keys)]
        at = np.flatnonzero(found)
        nearest = np.searchsorted(self._member_keys, keys[at])
        nearest[nearest == len(self._members)] = 0
        members = self._members[nearest]
        same = members[:, 1] == (points[at, 1] if wide else points[at])
        found[at] = same & (members[:, 0] == points[at, 0]) if wide else same
        return found

    def _keys(self, pairs: Points) -> NDArray[np.uint64]:
        keys: NDArray[np.uint64] = pairs[:, 0] * self._multiplier + pairs[:, 1]
        return keys

    def _hash(self, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
        hashes: NDArray[np.uint64] = keys * np.uint64(self._MULTIPLIER)
        hashes >>= self._hash_shift
        return hashes

    @staticmethod
    def _equal(points: Points, member: NDArray[np.uint64]) -> NDArray[np.bool_]:
        if points.ndim == 1:
            same: NDArray[np.bool_] = points == int(member[1])
        else:
            same = (points[:, 1] == member[1]) & (points[:, 0] == member[0])
        return same
