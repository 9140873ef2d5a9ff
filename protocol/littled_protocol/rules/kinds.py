"""Majorities of rules, and every kind of rule by its name on the wire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self, cast

import numpy as np
from numpy.typing import NDArray

from littled_protocol import limits
from littled_protocol.columns import Points
from littled_protocol.described import keys_of
from littled_protocol.encodings import Dialect, Reading
from littled_protocol.rules.affine import AffineRule
from littled_protocol.rules.base import LISTED_MAX, Rule, RuleError, Words
from littled_protocol.rules.conjunctions import ConjunctionRule
from littled_protocol.rules.fields import (
    AffineFields,
    AtLeastFields,
    ConjunctionFields,
    MajorityFields,
    PointsFields,
    PrefixFields,
    PrefixSetFields,
    ScorecardFields,
    SequenceFields,
    SingleRule,
    StringFields,
    StumpFields,
    TableFields,
    ThresholdFields,
)
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

    def _fields(self) -> MajorityFields:
        members = cast("list[SingleRule]", [member.to_dict() for member in self.members])
        return {"kind": "majority", "members": members}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        members = fields["members"]
        if type(members) is not list or len(members) > limits.majority_members_max:
            raise RuleError(f"members needs a list of at most {limits.majority_members_max} rules")
        if any(isinstance(m, dict) and m.get("kind") == cls.kind for m in members):
            raise RuleError("members needs rules that are no majorities themselves")
        return cls(tuple(rule_from_dict(member) for member in members))


@dataclass(frozen=True, slots=True)
class RuleKind:
    """A kind of rule: the type of its fields, and what makes a rule of them (RuleError)."""

    fields: type
    read: Callable[[dict[str, Any]], Rule]


KINDS: Final[MappingProxyType[str, RuleKind]] = MappingProxyType(
    {
        "threshold": RuleKind(ThresholdFields, ThresholdRule._from_fields),
        "points": RuleKind(PointsFields, PointsRule._from_fields),
        "prefix": RuleKind(PrefixFields, PrefixRule._from_fields),
        "table": RuleKind(TableFields, TableRule._from_fields),
        "majority": RuleKind(MajorityFields, MajorityRule._from_fields),
        "stump": RuleKind(StumpFields, StumpRule._from_fields),
        "affine": RuleKind(AffineFields, AffineRule._from_fields),
        "conjunction": RuleKind(ConjunctionFields, ConjunctionRule._from_fields),
        "scorecard": RuleKind(ScorecardFields, ScorecardRule._from_fields),
        "prefix_set": RuleKind(PrefixSetFields, PrefixSetRule._from_fields),
        "at_least": RuleKind(AtLeastFields, AtLeastRule._from_fields),
        "string": RuleKind(StringFields, StringRule._from_fields),
        "sequence": RuleKind(SequenceFields, SequenceRule._from_fields),
    }
)
"""Every kind of rule; append-only."""


def rule_from_dict(values: dict[str, Any]) -> Rule:
    """Return the rule of a map as `Rule.to_dict` writes it.

    Strict: RuleError for an unknown kind, a missing or further field, a wrong type or value, and
    any form of a number but the one that `to_dict` writes.
    """
    kind = values.get("kind") if isinstance(values, dict) else None
    found = KINDS.get(kind) if isinstance(kind, str) else None
    if found is None:
        raise RuleError(f"kind needs to be one of {', '.join(KINDS)}")
    fields = {name: value for name, value in values.items() if name != "kind"}
    names = keys_of(found.fields)
    if fields.keys() != set(names):
        raise RuleError(
            f"a rule of kind {kind} needs exactly the fields {', '.join(sorted(names))}"
        )
    return found.read(fields)
