"""Sets of prefixes: unions of CIDR blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from littled_protocol import limits
from littled_protocol.columns import Points, smallest_point_type
from littled_protocol.rules.base import (
    ALWAYS,
    LISTED_MAX,
    NEVER,
    SQL_NEVER,
    Rule,
    RuleError,
    Words,
    listed,
)
from littled_protocol.rules.bounds import Bounds
from littled_protocol.rules.fields import PrefixSetFields
from littled_protocol.rules.prefixes import PrefixRule
from littled_protocol.rules.writing import (
    identifier,
    integer,
    literal,
    number_from_wire,
    number_to_wire,
    sql_always,
    sql_any,
)


@dataclass(frozen=True, slots=True)
class PrefixSetRule(Rule):
    """1 iff x begins with one of `prefixes`, each a value and its length in bits; none: always 0.

    No prefix begins with another, they are in rising order of their points, and no two of them
    are the two halves of one: so there is one way to write a set.
    """

    kind: ClassVar[str] = "prefix_set"
    bits: int
    prefixes: tuple[tuple[int, int], ...]
    _ranges: tuple[tuple[int, int], ...] = field(init=False, repr=False, compare=False)
    _bounds: Bounds = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the fields (RuleError)."""
        integer(self.bits, 1, 128, "bits")
        most = limits.rule_prefixes_max
        if type(self.prefixes) is not tuple or len(self.prefixes) > most:
            raise RuleError(f"prefixes needs a tuple of at most {most} prefixes")
        for prefix in self.prefixes:
            if type(prefix) is not tuple or len(prefix) != 2:
                raise RuleError("prefixes needs pairs of a value and a length")
            integer(prefix[1], 0, self.bits, "a length")
            integer(prefix[0], 0, 2 ** prefix[1] - 1, "a value")
        for (value, length), (following, its_length) in pairwise(self.prefixes):
            if (value + 1) << (self.bits - length) > following << (self.bits - its_length):
                raise RuleError("prefixes needs prefixes apart, in rising order of their points")
            if length == its_length and value ^ 1 == following:
                raise RuleError("prefixes needs one prefix in place of its two halves")
        ranges = _ranges(self.bits, self.prefixes)
        edges = [edge for least, end in ranges for edge in (least, end) if edge >> self.bits == 0]
        object.__setattr__(self, "_ranges", ranges)
        object.__setattr__(self, "_bounds", Bounds(edges, self.x_type))

    @property
    def x_type(self) -> str:
        """The smallest scalar type that holds `bits` bits."""
        return smallest_point_type(self.bits)

    def _condition(self, words: Words) -> str:
        """Return the largest blocks: "x in 3.0.0.0/8, 17.0.0.0/8 or 13 more"."""
        if not self.prefixes:
            return NEVER
        if self.prefixes[0][1] == 0:
            return ALWAYS
        ordered = sorted(self.prefixes, key=lambda prefix: prefix[1])
        blocks = [PrefixRule(self.bits, *prefix) for prefix in ordered[:LISTED_MAX]]
        if len(ordered) == 1:
            return blocks[0].condition(words)
        shown = [block.place(words) for block in blocks]
        if len(ordered) > len(shown):
            shown.append(f"{len(ordered) - len(shown)} more")
        return f"{words.x_name} in {listed(shown, 'or')}"

    def _sql(self, column: str, offset: int) -> str:
        """Return comparisons with both ends of each range of neighbouring prefixes."""
        if not self.prefixes or self.prefixes[0][1] == 0:
            return sql_always(column) if self.prefixes else SQL_NEVER
        name = identifier(column)
        terms = []
        for least, end in self._ranges:
            first, last = (literal(p, self.x_type, offset) for p in (least, end - 1))
            terms.append(f"{name} BETWEEN {first} AND {last}")
        return f"({sql_any(terms)})"

    def _labels(self, points: Points) -> NDArray[np.bool_]:
        inside: NDArray[np.bool_] = self._bounds.below(points) % 2 == 1
        return inside

    def _fields(self) -> PrefixSetFields:
        return {
            "kind": "prefix_set",
            "bits": self.bits,
            "prefixes": [[number_to_wire(v, self.bits, n), n] for v, n in self.prefixes],
        }

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        bits, prefixes = fields["bits"], fields["prefixes"]
        integer(bits, 1, 128, "bits")
        if type(prefixes) is not list or len(prefixes) > limits.rule_prefixes_max:
            raise RuleError(f"prefixes needs a list of at most {limits.rule_prefixes_max} prefixes")
        found = []
        for prefix in prefixes:
            if type(prefix) is not list or len(prefix) != 2:
                raise RuleError("prefixes needs lists of a value and a length")
            integer(prefix[1], 0, bits, "a length")
            found.append((number_from_wire(prefix[0], bits, prefix[1]), prefix[1]))
        return cls(bits, tuple(found))


def _ranges(bits: int, prefixes: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Return the ranges of points, each with the point after its last; neighbours are one."""
    ranges: list[tuple[int, int]] = []
    for value, length in prefixes:
        least, end = value << (bits - length), (value + 1) << (bits - length)
        if ranges and ranges[-1][1] == least:
            least = ranges.pop()[0]
        ranges.append((least, end))
    return tuple(ranges)
