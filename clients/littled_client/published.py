"""What a subscriber receives: one release of a learner, with its rule and words ready to use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from littled_client.errors import ClientError
from littled_client.values import value_points
from littled_protocol.columns import Labels
from littled_protocol.facts import ReleaseFacts
from littled_protocol.messages import Release
from littled_protocol.rules import Rule, Words, rule_from_dict
from littled_protocol.rules.fields import RuleFields


@dataclass(frozen=True, slots=True)
class Published:
    """One release of a learner.

    learner: "stream/learner". version: counts the learner's releases from 1.
    kind: "rule" (a new rule), "halt" (no more rules in this season) or "season" (a new season with
    a new budget). season, epoch: where in the learner's life it happened. position: number of the
    stream's examples before it. rule: the rule in force, over points; None when the release carries
    none. words: what its points and labels stand for; None where the daemon does not say so in a
    way that this version understands.
    """

    learner: str
    version: int
    kind: str
    season: int
    epoch: int
    position: int
    rule: Rule | None
    words: Words | None = None

    @classmethod
    def from_release(cls, release: Release, words: Words | None) -> Published:
        """Return the value of a release as it came over the wire, with its learner's words.

        Raises RuleError for a rule that this version does not know.
        """
        rule = None if release.rule is None else rule_from_dict(release.rule)
        return cls.with_rule(release, rule, words)

    @classmethod
    def with_rule(cls, release: Release, rule: Rule | None, words: Words | None) -> Published:
        """Return the same where the rule in the release was read already."""
        return cls(
            learner=release.learner,
            version=release.version,
            kind=release.kind,
            season=release.season,
            epoch=release.epoch,
            position=release.position,
            rule=rule,
            words=words,
        )

    def predict(self, values: Any) -> Labels:
        """Return the rule's labels, uint8 (n,), for n values, evaluated here.

        values: an array or a sequence in the stream's own units: delays in minutes, addresses, rows
        of features; see `littled_client.values`. For points there is `rule.evaluate`. Raises
        ExampleError for a value that is none of the stream's, ClientError when this release carries
        no rule, or its words are not known.
        """
        if self.rule is None:
            raise ClientError(f"release {self.version} of {self.learner} carries no rule")
        if self.words is None:
            raise ClientError(
                f"it is not known what the points of {self.learner} stand for; "
                "rule.evaluate takes points"
            )
        return self.rule.evaluate(value_points(self.rule.x_type, self.words, values))

    def describe(self) -> str:
        """Return the release in one line: its rule in words, or what else it says.

        Where the words are not known the rule is said of points, by the name x.
        """
        if self.rule is not None:
            return self.rule.describe(self.words or Words())
        if self.kind == "halt":
            return "no further rule in this season"
        return f"season {self.season} begins"

    def to_dict(self) -> ReleaseFacts:
        """Return the release as a JSON object: what files, HTTP and commands show of it.

        `text` says the rule in words, `words` and `rule` are what `Words.from_dict` and
        `rule_from_dict` read.
        """
        rule = None if self.rule is None else cast("RuleFields", self.rule.to_dict())
        return {
            "learner": self.learner,
            "version": self.version,
            "kind": self.kind,
            "season": self.season,
            "epoch": self.epoch,
            "position": self.position,
            "text": None if self.rule is None else self.describe(),
            "words": None if self.words is None else self.words.to_dict(),
            "rule": rule,
        }
