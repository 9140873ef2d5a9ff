"""The tallies of a season over closures: which rules have votes, and who has yet to vote together.

PRIVACY.md, section 4, "Lemma J". All of it is private: what leaves is which rules pass, and when.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from littled.learners.online.tallies import NEVER
from littled_protocol.rules import Rule, rule_from_dict


@dataclass(frozen=True, slots=True)
class Watched:
    """One rule: its `gap`, its threshold and rho less its votes; after which position it `passes`.

    `NEVER` where that is beyond the season. `is_next`: whether it comes right after the published
    rule, and so has the other threshold.
    """

    gap: int
    passes: int
    is_next: bool


@dataclass(frozen=True, slots=True)
class Group:
    """The closure of a group's examples, how many in a row it has `held`, whether it has voted."""

    closure: Rule
    held: int = 0
    voted: bool = False


@dataclass(frozen=True, slots=True)
class ClosureTallies:
    """The rules that are tested, and the groups of the epoch; mappings that nobody changes."""

    watched: Mapping[Rule, Watched] = field(default_factory=dict)
    groups: Mapping[int, Group] = field(default_factory=dict)
    # When the first of the rules passes.
    first: int = NEVER

    def passing(self, position: int) -> list[Rule]:
        """The rules that pass after the example at this position."""
        return [rule for rule, one in self.watched.items() if one.passes == position]

    @classmethod
    def of(cls, watched: Mapping[Rule, Watched], groups: Mapping[int, Group] | None = None) -> Self:
        """These rules and groups."""
        return cls(watched, groups or {}, first_of(watched.values()))

    def to_dict(self) -> dict[str, Any]:
        """Columns, for a snapshot, in the order in which rules and groups came."""
        facts = self.watched.values()
        return {
            "closures": [rule.to_dict() for rule in self.watched],
            "gaps": [one.gap for one in facts],
            "passes": [one.passes for one in facts],
            "next": [one.is_next for one in facts],
            "groups": [
                [number, group.closure.to_dict(), group.held, group.voted]
                for number, group in self.groups.items()
            ],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote; ValueError if columns are missing or unknown."""
        if set(values) != {"closures", "gaps", "passes", "next", "groups"}:
            raise ValueError("tallies of closures have closures, gaps, passes, next and groups")
        rules = map(rule_from_dict, values["closures"])
        columns = zip(rules, values["gaps"], values["passes"], values["next"], strict=True)
        groups = {
            number: Group(rule_from_dict(closure), held, voted)
            for number, closure, held, voted in values["groups"]
        }
        return cls.of({rule: Watched(*facts) for rule, *facts in columns}, groups)


def first_of(watched: Iterable[Watched]) -> int:
    """When the first of them passes."""
    return min((one.passes for one in watched), default=NEVER)


def carried(
    watched: Mapping[Rule, Watched],
    threshold: Callable[[Watched], int],
    published: Rule,
    joined: Callable[[Rule, Rule], Rule | None],
    forgotten: int = 0,
) -> dict[Rule, int]:
    """What the votes of each rule have left when `published` comes, for the rule around both.

    A rule whose gap is below its threshold by more than `forgotten` passes the rest of the
    difference on, a number below 0; those of rules that become one add up. Nothing is left of what
    becomes the published rule.
    """
    found: dict[Rule, int] = {}
    for rule, one in watched.items():
        left = min(0, one.gap - threshold(one) + forgotten)
        around = joined(rule, published) if left else None
        if around is not None and around != published:
            found[around] = found.get(around, 0) + left
    return found
