"""Published rules as values: evaluated, said in words, written as a map, JSON and SQL; no daemon.

A rule maps points to labels. It is public, so everybody evaluates it locally, on whole columns:

    rule = rule_from_dict(release.rule)
    labels = rule.evaluate(points)          # uint8 (n,)
    print(rule.describe(Words(x_name="departure delay", unit="min", positive="late")))

Points have the shape and dtype of the rule's `x_type` (see `columns`); other arrays of integers are
converted when every value fits. What a rule or its map cannot be raises RuleError, one sentence.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from littled_protocol import limits
from littled_protocol.columns import Labels, Points, point_type, smallest_point_type

# Numbers of more bits are written as hexadecimal text: JSON readers keep 53 bits, msgpack 64.
_NUMBER_BITS_MAX: Final = 32
# The prefix ::ffff:0:0/96 under which 128-bit columns hold IPv4 addresses.
_IPV4_BITS: Final = 96
_IPV4_PREFIX: Final = 0xFFFF
# How many points or members a sentence lists before it only counts them.
_LISTED_MAX: Final = 5
_WORD: Final = 2**64 - 1
_HEXADECIMAL: Final = re.compile(r"[0-9a-f]*")
_SQL_ALWAYS, _SQL_NEVER = "(1 = 1)", "(1 = 0)"
_ALWAYS, _NEVER = "always", "never"


class RuleError(ValueError):
    """A rule, a map of a rule, or points that cannot be; one sentence."""


@dataclass(frozen=True, slots=True)
class Words:
    """How people name the points and labels of a stream.

    x_name, unit: of a point, "departure delay" and "min". offset: added to a point before it is
    shown or compared in SQL, so that 0 stands for `offset`. positive, negative: the labels 1 and 0.
    """

    x_name: str = "x"
    unit: str = ""
    offset: int = 0
    positive: str = "1"
    negative: str = "0"

    def __post_init__(self) -> None:
        """Refuse words that would break a line (RuleError)."""
        for text in (self.x_name, self.unit, self.positive, self.negative):
            if not isinstance(text, str) or not text.isprintable():
                raise RuleError("words need texts of printable characters")
        if type(self.offset) is not int:
            raise RuleError("the offset of words needs an integer")

    def label(self, label: int) -> str:
        """Return the word for a label, 0 or 1."""
        return self.positive if label else self.negative

    def value(self, point: int) -> str:
        """Return a point as people read it: shifted by the offset, with its unit."""
        return f"{point + self.offset}{' ' if self.unit else ''}{self.unit}"


@dataclass(frozen=True, slots=True)
class Rule(ABC):
    """What every kind of rule answers; `kind` is its name on the wire."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def x_type(self) -> str:
        """Name of the type of the points (`columns`)."""

    @abstractmethod
    def condition(self, words: Words = Words()) -> str:
        """Return when the label is 1, as a phrase: "x >= 3", "always" or "never"."""

    @abstractmethod
    def to_sql(self, column: str = "x", offset: int = 0) -> str:
        """Return a boolean expression of standard SQL that is true where the label is 1.

        column: name of the column with the points, quoted here. offset: added to every point that
        the expression names, for columns that hold unshifted values (RuleError for u128). Points of
        type u128 are text of 32 small hexadecimal digits; columns of u64 need a numeric type of 20
        digits once points reach 2^63.
        """

    @abstractmethod
    def _labels(self, points: Points) -> NDArray[np.bool_] | Labels:
        """Return the labels of points that have the type's dtype and shape."""

    @abstractmethod
    def _fields(self) -> dict[str, Any]:
        """Return the fields of the map, without the kind."""

    @classmethod
    @abstractmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        """Return the rule of exactly these fields; RuleError or KeyError otherwise."""

    def evaluate(self, x: NDArray[Any]) -> Labels:
        """Return the labels, uint8 (n,), of n points of type `x_type`.

        Arrays of other integers are converted; RuleError when a value is outside the type's range
        or the shape is wrong.
        """
        labels = self._labels(_as_points(x, self.x_type))
        return labels.view(np.uint8)

    def describe(self, words: Words = Words()) -> str:
        """Return the rule in one line: "late if departure delay >= 24 min", "never late"."""
        condition = self.condition(words)
        if condition in (_ALWAYS, _NEVER):
            return f"{condition} {words.positive}"
        return f"{words.positive} if {condition}"

    def to_dict(self) -> dict[str, Any]:
        """Return a map of texts, integers, lists and maps from which `rule_from_dict` makes it."""
        return {"kind": self.kind, **self._fields()}

    def to_json(self) -> str:
        """Return `to_dict` as JSON in one line, always the same for equal rules."""
        return json.dumps(self.to_dict(), separators=(",", ":"), allow_nan=False)


# --- Thresholds -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ThresholdRule(Rule):
    """1 iff x >= threshold, for points 0..size-1 and a threshold of 0..size; size says never."""

    kind: ClassVar[str] = "threshold"
    size: int
    threshold: int

    def __post_init__(self) -> None:
        """Check the fields (RuleError)."""
        _integer(self.size, 1, 2**32, "size")
        _integer(self.threshold, 0, self.size, "threshold")

    @property
    def x_type(self) -> str:
        """u8, u16 or u32, whichever holds size - 1."""
        return _index_type(self.size)

    def condition(self, words: Words = Words()) -> str:
        """Return for example "x >= 3"."""
        if self.threshold in (0, self.size):
            return _NEVER if self.threshold else _ALWAYS
        return f"{words.x_name} >= {words.value(self.threshold)}"

    def to_sql(self, column: str = "x", offset: int = 0) -> str:
        """Return a comparison."""
        if self.threshold in (0, self.size):
            return _SQL_NEVER if self.threshold else _SQL_ALWAYS
        return f"({_identifier(column)} >= {self.threshold + offset})"

    def _labels(self, points: Points) -> NDArray[np.bool_]:
        if self.threshold == self.size:
            return np.zeros(len(points), dtype=np.bool_)
        return points >= self.threshold

    def _fields(self) -> dict[str, Any]:
        return {"size": self.size, "threshold": self.threshold}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        return cls(size=fields["size"], threshold=fields["threshold"])


# --- Points ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PointsRule(Rule):
    """1 iff x is one of `members`, points of `bits` bits in rising order; none: always 0."""

    kind: ClassVar[str] = "points"
    bits: int
    members: tuple[int, ...]
    _finder: _Finder = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the fields (RuleError)."""
        _integer(self.bits, 1, 128, "bits")
        if type(self.members) is not tuple or len(self.members) > limits.rule_members_max:
            raise RuleError(f"members needs a tuple of at most {limits.rule_members_max} points")
        for member in self.members:
            _integer(member, 0, 2**self.bits - 1, "a member")
        if any(a >= b for a, b in zip(self.members, self.members[1:], strict=False)):
            raise RuleError("members needs different points in rising order")
        object.__setattr__(self, "_finder", _Finder(self.members))

    @property
    def x_type(self) -> str:
        """The smallest scalar type that holds `bits` bits."""
        return smallest_point_type(self.bits)

    def condition(self, words: Words = Words()) -> str:
        """Return for example "x is 17" or "x is 1, 5 or 9"."""
        if not self.members:
            return _NEVER
        shown = [self._shown(member, words) for member in self.members[:_LISTED_MAX]]
        if len(self.members) > _LISTED_MAX:
            return f"{words.x_name} is one of {len(self.members)}: {', '.join(shown)}, ..."
        listed = " or ".join([", ".join(shown[:-1]), shown[-1]] if shown[1:] else shown)
        return f"{words.x_name} is {listed}"

    def to_sql(self, column: str = "x", offset: int = 0) -> str:
        """Return a list of the members."""
        if not self.members:
            return _SQL_NEVER
        members = ", ".join(_literal(member, self.x_type, offset) for member in self.members)
        return f"({_identifier(column)} IN ({members}))"

    def _shown(self, member: int, words: Words) -> str:
        return f"{member:032x}" if self.x_type == "u128" else words.value(member)

    def _labels(self, points: Points) -> NDArray[np.bool_]:
        return self._finder.find(points)

    def _fields(self) -> dict[str, Any]:
        members = [_number_to_wire(member, self.bits, self.bits) for member in self.members]
        return {"bits": self.bits, "members": members}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        bits, members = fields["bits"], fields["members"]
        _integer(bits, 1, 128, "bits")
        if type(members) is not list:
            raise RuleError("members needs a list")
        return cls(bits, tuple(_number_from_wire(member, bits, bits) for member in members))


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
        words = [[member >> 64, member & _WORD] for member in members]
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


# --- Prefixes -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PrefixRule(Rule):
    """1 iff the first `length` of the `bits` bits of x are `value`.

    length: 0..bits, 0 says always 1; None (with value 0) says always 0. value: the integer of the
    first `length` bits.
    """

    kind: ClassVar[str] = "prefix"
    bits: int
    value: int
    length: int | None

    def __post_init__(self) -> None:
        """Check the fields (RuleError)."""
        _integer(self.bits, 1, 128, "bits")
        if self.length is not None:
            _integer(self.length, 0, self.bits, "length")
        _integer(self.value, 0, 2 ** (self.length or 0) - 1, "value")

    @property
    def x_type(self) -> str:
        """The smallest scalar type that holds `bits` bits."""
        return smallest_point_type(self.bits)

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The least and the greatest point with label 1, between which all have it; None: none."""
        if self.length is None:
            return None
        free = self.bits - self.length
        return self.value << free, (self.value << free) | (2**free - 1)

    def condition(self, words: Words = Words()) -> str:
        """Return a CIDR block for 32 and 128 bits, else the range of points."""
        if self.bounds is None:
            return _NEVER
        if self.length == 0:
            return _ALWAYS
        least, greatest = self.bounds
        if self.bits in (32, 128):
            return f"{words.x_name} in {self.block}"
        if least == greatest:
            return f"{words.x_name} is {self._shown(least, words)}"
        return f"{words.x_name} in {self._shown(least, words)}..{self._shown(greatest, words)}"

    @property
    def block(self) -> str:
        """The CIDR block of a rule over 32 or 128 bits; IPv4 inside ::ffff:0:0/96.

        Raises RuleError for other widths and for the rule that is always 0.
        """
        if self.bounds is None or self.length is None or self.bits not in (32, 128):
            raise RuleError("only prefixes of 32 or 128 bits, and not the empty one, are blocks")
        least = self.bounds[0]
        if self.bits == 32:
            return str(IPv4Network((least, self.length)))
        if self.length >= _IPV4_BITS and least >> 32 == _IPV4_PREFIX:
            return str(IPv4Network((least & 0xFFFF_FFFF, self.length - _IPV4_BITS)))
        return str(IPv6Network((least, self.length)))

    def to_sql(self, column: str = "x", offset: int = 0) -> str:
        """Return a comparison with both bounds."""
        if self.bounds is None or self.length == 0:
            return _SQL_NEVER if self.bounds is None else _SQL_ALWAYS
        least, greatest = (_literal(bound, self.x_type, offset) for bound in self.bounds)
        return f"({_identifier(column)} BETWEEN {least} AND {greatest})"

    def _shown(self, point: int, words: Words) -> str:
        return f"{point:032x}" if self.x_type == "u128" else words.value(point)

    def _labels(self, points: Points) -> NDArray[np.bool_]:
        if self.bounds is None or self.length == 0:
            return np.full(len(points), self.length == 0)
        least, greatest = self.bounds
        if points.ndim == 1:
            # Below `least` the difference wraps around to more than the width of the range.
            wrapped: Points = points - points.dtype.type(least)
            return wrapped <= greatest - least
        fixed = (2**128 - 1) ^ (greatest - least)
        labels = np.ones(len(points), dtype=np.bool_)
        for column, shift in ((0, 64), (1, 0)):
            mask, word = (fixed >> shift) & _WORD, (least >> shift) & _WORD
            if mask:
                labels &= (points[:, column] & np.uint64(mask)) == np.uint64(word)
        return labels

    def _fields(self) -> dict[str, Any]:
        value = _number_to_wire(self.value, self.bits, self.length or 0)
        return {"bits": self.bits, "value": value, "length": self.length}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        bits, length = fields["bits"], fields["length"]
        _integer(bits, 1, 128, "bits")
        if length is not None:
            _integer(length, 0, bits, "length")
        return cls(bits, _number_from_wire(fields["value"], bits, length or 0), length)


# --- Tables ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableRule(Rule):
    """1 iff the bit of x is set in `values`; one row of a public table of rules.

    name: of the rule in its table. digest: hexadecimal fingerprint of the table. values: the bits
    of the points 0..size-1 as by numpy.packbits, the rest of the last byte zero.
    """

    kind: ClassVar[str] = "table"
    name: str
    digest: str
    values: bytes
    size: int

    def __post_init__(self) -> None:
        """Check the fields (RuleError)."""
        _integer(self.size, 1, limits.table_points_max, "size")
        if not isinstance(self.name, str) or not self.name.isprintable() or not self.name:
            raise RuleError("name needs a text of printable characters")
        if len(self.name.encode()) > limits.rule_name_bytes_max:
            raise RuleError(f"name needs at most {limits.rule_name_bytes_max} bytes")
        _hexadecimal(self.digest, "digest")
        if not 1 <= len(self.digest) <= limits.digest_characters_max:
            raise RuleError(f"digest needs 1 to {limits.digest_characters_max} digits")
        if type(self.values) is not bytes or len(self.values) != (self.size + 7) // 8:
            raise RuleError("values needs one bit for each point, packed into bytes")
        if self.values[-1] & ((1 << (-self.size % 8)) - 1):
            raise RuleError("values needs zeros after the last point")

    @property
    def x_type(self) -> str:
        """u8, u16 or u32, whichever holds size - 1."""
        return _index_type(self.size)

    def condition(self, words: Words = Words()) -> str:
        """Return the name of the rule."""
        return f"rule {self.name} says so of {words.x_name}"

    def to_sql(self, column: str = "x", offset: int = 0) -> str:
        """Return a list of the points with label 1."""
        ones = np.flatnonzero(self._bits())
        if not len(ones):
            return _SQL_NEVER
        listed = ", ".join(str(point + offset) for point in ones.tolist())
        return f"({_identifier(column)} IN ({listed}))"

    def _bits(self) -> Labels:
        return np.unpackbits(np.frombuffer(self.values, dtype=np.uint8), count=self.size)

    def _labels(self, points: Points) -> Labels:
        bits = 8 * points.itemsize
        if bits > 16:
            # One more entry, 0, stands for every number beyond the table.
            lookup = np.append(self._bits(), np.uint8(0))
            return lookup[np.minimum(points, self.size)]
        lookup = np.zeros(1 << bits, dtype=np.uint8)
        lookup[: self.size] = self._bits()
        return lookup[points]

    def _fields(self) -> dict[str, Any]:
        values = self.values.hex()
        return {"name": self.name, "digest": self.digest, "size": self.size, "values": values}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        _hexadecimal(fields["values"], "values")
        if len(fields["values"]) % 2:
            raise RuleError("values needs whole bytes")
        values = bytes.fromhex(fields["values"])
        return cls(fields["name"], fields["digest"], values, fields["size"])


# --- Majorities -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MajorityRule(Rule):
    """1 iff more than half of the members say 1; they share one x_type, none is a majority."""

    kind: ClassVar[str] = "majority"
    members: tuple[Rule, ...]

    def __post_init__(self) -> None:
        """Check the fields (RuleError)."""
        most = limits.majority_members_max
        if type(self.members) is not tuple or not 1 <= len(self.members) <= most:
            raise RuleError(f"members needs a tuple of 1 to {most} rules")
        for member in self.members:
            if not isinstance(member, Rule) or isinstance(member, MajorityRule):
                raise RuleError("members needs rules that are no majorities themselves")
            if member.x_type != self.members[0].x_type:
                raise RuleError("members needs rules over one type of points")

    @property
    def x_type(self) -> str:
        """The members' type."""
        return self.members[0].x_type

    def condition(self, words: Words = Words()) -> str:
        """Return the members' conditions, counted when there are several equal ones."""
        if len(self.members) == 1:
            return self.members[0].condition(words)
        counts: dict[str, int] = {}
        for member in self.members:
            condition = member.condition(words)
            counts[condition] = counts.get(condition, 0) + 1
        if len(counts) == 1:
            return next(iter(counts))
        shown = [f"{n} times {text}" if n > 1 else text for text, n in counts.items()]
        rest = ["..."] if len(shown) > _LISTED_MAX else []
        listed = "; ".join(shown[:_LISTED_MAX] + rest)
        return f"at least {len(self.members) // 2 + 1} of {len(self.members)} hold: {listed}"

    def to_sql(self, column: str = "x", offset: int = 0) -> str:
        """Return a count of the members that hold, compared with half of them."""
        cases = [f"CASE WHEN {m.to_sql(column, offset)} THEN 1 ELSE 0 END" for m in self.members]
        return f"(2 * {_sql_sum(cases)} > {len(self.members)})"

    def _labels(self, points: Points) -> NDArray[np.bool_]:
        votes = np.zeros(len(points), dtype=np.uint16)
        for member in self.members:
            votes += member.evaluate(points)
        return votes > len(self.members) // 2

    def _fields(self) -> dict[str, Any]:
        return {"members": [member.to_dict() for member in self.members]}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        members = fields["members"]
        if type(members) is not list or len(members) > limits.majority_members_max:
            raise RuleError(f"members needs a list of at most {limits.majority_members_max} rules")
        if any(isinstance(m, dict) and m.get("kind") == cls.kind for m in members):
            raise RuleError("members needs rules that are no majorities themselves")
        return cls(tuple(rule_from_dict(member) for member in members))


# --- From a map -----------------------------------------------------------------------------------

RULE_CLASSES: Final[tuple[type[Rule], ...]] = (
    *(ThresholdRule, PointsRule, PrefixRule, TableRule, MajorityRule),
)
"""Every kind of rule; append-only."""

_Reader = tuple[frozenset[str], Callable[[dict[str, Any]], Rule]]

_READERS: Final[MappingProxyType[str, _Reader]] = MappingProxyType(
    {
        "threshold": (frozenset({"size", "threshold"}), ThresholdRule._from_fields),
        "points": (frozenset({"bits", "members"}), PointsRule._from_fields),
        "prefix": (frozenset({"bits", "value", "length"}), PrefixRule._from_fields),
        "table": (frozenset({"name", "digest", "size", "values"}), TableRule._from_fields),
        "majority": (frozenset({"members"}), MajorityRule._from_fields),
    }
)


def rule_from_dict(values: dict[str, Any]) -> Rule:
    """Return the rule of a map as `Rule.to_dict` writes it.

    Strict: RuleError for an unknown kind, a missing or further field, a wrong type or value, and
    any form of a number but the one that `to_dict` writes.
    """
    kind = values.get("kind") if isinstance(values, dict) else None
    found = _READERS.get(kind) if isinstance(kind, str) else None
    if found is None:
        raise RuleError(f"kind needs to be one of {', '.join(_READERS)}")
    names, read = found
    fields = {name: value for name, value in values.items() if name != "kind"}
    if fields.keys() != names:
        raise RuleError(
            f"a rule of kind {kind} needs exactly the fields {', '.join(sorted(names))}"
        )
    return read(fields)


# --- Helpers --------------------------------------------------------------------------------------


def _integer(value: object, least: int, greatest: int, name: str) -> None:
    if type(value) is not int or not least <= value <= greatest:
        raise RuleError(f"{name} needs an integer from {least} to {greatest}")


def _hexadecimal(value: object, name: str) -> None:
    if not isinstance(value, str) or not _HEXADECIMAL.fullmatch(value):
        raise RuleError(f"{name} needs small hexadecimal digits")


def _index_type(size: int) -> str:
    """Return u8, u16 or u32: the smallest type for the points 0..size-1."""
    return smallest_point_type(max(1, (size - 1).bit_length()))


def _number_to_wire(number: int, bits: int, digits_bits: int) -> int | str:
    """Return a number as it is, or as hexadecimal text of fixed length when `bits` are many."""
    if bits <= _NUMBER_BITS_MAX:
        return number
    return f"{number:0{max(1, (digits_bits + 3) // 4)}x}"


def _number_from_wire(value: object, bits: int, digits_bits: int) -> int:
    """Return the number that `_number_to_wire` wrote; RuleError for any other form."""
    if bits <= _NUMBER_BITS_MAX:
        _integer(value, 0, 2**digits_bits - 1, "a number of the rule")
        assert isinstance(value, int)
        return value
    digits = max(1, (digits_bits + 3) // 4)
    if not isinstance(value, str) or len(value) != digits or not _HEXADECIMAL.fullmatch(value):
        raise RuleError(f"a number of the rule needs {digits} small hexadecimal digits")
    return int(value, 16)


def _as_points(x: NDArray[Any], name: str) -> Points:
    """Return an array of integers as points of a scalar type (n,) or of u128 (n, 2)."""
    kind = point_type(name)
    array = np.asarray(x)
    if array.ndim != (1 if kind.columns == 1 else 2) or array.shape[1:] not in ((), (2,)):
        shape = "(n,)" if kind.columns == 1 else "(n, 2)"
        raise RuleError(f"points of type {name} need an array {shape}")
    if array.dtype == kind.dtype:
        return array
    if not array.size:
        return array.astype(kind.dtype)
    if array.dtype.kind not in "ui" or array.min() < 0 or array.max() > np.iinfo(kind.dtype).max:
        raise RuleError(f"points of type {name} need integers in the range of the type")
    return array.astype(kind.dtype)


def _identifier(column: str) -> str:
    """Return a column's name quoted for SQL; RuleError for a name that SQL cannot quote."""
    if not column or not column.isprintable():
        raise RuleError("a column's name needs printable characters")
    return '"' + column.replace('"', '""') + '"'


def _literal(point: int, x_type: str, offset: int) -> str:
    """Return a point as a literal of SQL."""
    if x_type != "u128":
        return str(point + offset)
    if offset:
        raise RuleError("points of type u128 have no offset")
    return f"'{point:032x}'"


def _sql_sum(terms: Sequence[str]) -> str:
    """Return the sum of the terms, nested like a balanced tree: engines limit the depth."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({_sql_sum(terms[:half])} + {_sql_sum(terms[half:])})"
