"""What a subscriber receives: one release of a learner, with its rule ready to use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from littled_client.batches import points_array
from littled_client.errors import ClientError
from littled_protocol.columns import Labels, point_type
from littled_protocol.messages import Release
from littled_protocol.rules import Rule, Words, rule_from_dict


@dataclass(frozen=True, slots=True)
class Published:
    """One release of a learner.

    learner: "stream/learner". version: counts the learner's releases from 1.
    kind: "rule" (a new rule), "halt" (no more rules in this season) or "season" (a new season with
    a new budget). season, epoch: where in the learner's life it happened. position: number of the
    stream's examples before it. rule: the rule in force, None when the release carries none.
    """

    learner: str
    version: int
    kind: str
    season: int
    epoch: int
    position: int
    rule: Rule | None

    @classmethod
    def from_release(cls, release: Release) -> Published:
        """Return the value of a release as it came over the wire.

        Raises RuleError for a rule that this version does not know.
        """
        rule = None if release.rule is None else rule_from_dict(release.rule)
        return cls(
            learner=release.learner,
            version=release.version,
            kind=release.kind,
            season=release.season,
            epoch=release.epoch,
            position=release.position,
            rule=rule,
        )

    def predict(self, x: Any) -> Labels:
        """Return the rule's labels, uint8 (n,), for n points, evaluated here.

        x: an array or a sequence, as `send` takes them. Raises ExampleError for points of another
        type, ClientError when this release carries no rule.
        """
        rule = self._rule()
        return rule.evaluate(points_array(point_type(rule.x_type), x))

    def describe(self, words: Words | None = None) -> str:
        """Return the release in one line: its rule in words, or what else it says."""
        if self.rule is not None:
            return self.rule.describe(words or Words())
        if self.kind == "halt":
            return "no further rule in this season"
        return f"season {self.season} begins"

    def _rule(self) -> Rule:
        if self.rule is None:
            raise ClientError(f"release {self.version} of {self.learner} carries no rule")
        return self.rule
