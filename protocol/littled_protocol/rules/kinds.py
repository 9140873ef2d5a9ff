"""Majorities of rules, and every kind of rule by its name on the wire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from littled_protocol import limits
from littled_protocol.columns import Points
from littled_protocol.encodings import Dialect, Reading
from littled_protocol.rules.affine import AffineRule
from littled_protocol.rules.base import LISTED_MAX, Rule, RuleError, Words
from littled_protocol.rules.conjunctions import ConjunctionRule
from littled_protocol.rules.least import AtLeastRule
from littled_protocol.rules.points import PointsRule
from littled_protocol.rules.prefix_sets import PrefixSetRule
from littled_protocol.rules.prefixes import PrefixRule
from littled_protocol.rules.scorecards import ScorecardRule
from littled_protocol.rules.sequences import SequenceRule
from littled_protocol.rules.strings import StringRule
from littled_protocol.rules.stumps import StumpRule
from littled_protocol.rules.tables import TableRule
from littled_protocol.rules.thresholds import ThresholdRule
from littled_protocol.rules.writing import sql_sum


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

    def _condition(self, words: Words) -> str:
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
        rest = ["..."] if len(shown) > LISTED_MAX else []
        listed = "; ".join(shown[:LISTED_MAX] + rest)
        return f"at least {len(self.members) // 2 + 1} of {len(self.members)} hold: {listed}"

    def _sql(self, column: str, offset: int) -> str:
        """Return a count of the members that hold, compared with half of them."""
        return self._counted([member._sql(column, offset) for member in self.members])

    def _read_sql(self, words: Words, reading: Reading, dialect: Dialect) -> str:
        return self._counted([member.to_sql(words, dialect=dialect) for member in self.members])

    def _counted(self, conditions: list[str]) -> str:
        cases = [f"CASE WHEN {condition} THEN 1 ELSE 0 END" for condition in conditions]
        return f"(2 * {sql_sum(cases)} > {len(self.members)})"

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


_Reader = tuple[frozenset[str], Callable[[dict[str, Any]], Rule]]

_READERS: Final[MappingProxyType[str, _Reader]] = MappingProxyType(
    {
        "threshold": (frozenset({"size", "threshold"}), ThresholdRule._from_fields),
        "points": (frozenset({"bits", "members"}), PointsRule._from_fields),
        "prefix": (frozenset({"bits", "value", "length"}), PrefixRule._from_fields),
        "table": (frozenset({"name", "digest", "size", "values"}), TableRule._from_fields),
        "majority": (frozenset({"members"}), MajorityRule._from_fields),
        "stump": (
            frozenset({"features", "buckets", "feature", "threshold", "at_least"}),
            StumpRule._from_fields,
        ),
        "affine": (frozenset({"bits", "basis", "offset"}), AffineRule._from_fields),
        "conjunction": (frozenset({"bits", "ones", "zeros"}), ConjunctionRule._from_fields),
        "scorecard": (frozenset({"constant", "tables"}), ScorecardRule._from_fields),
        "prefix_set": (frozenset({"bits", "prefixes"}), PrefixSetRule._from_fields),
        "at_least": (frozenset({"bits", "least"}), AtLeastRule._from_fields),
        "string": (frozenset({"size", "value"}), StringRule._from_fields),
        "sequence": (
            frozenset({"bits", "index", "sigma", "label"}),
            SequenceRule._from_fields,
        ),
    }
)
"""Every kind of rule; append-only."""


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
