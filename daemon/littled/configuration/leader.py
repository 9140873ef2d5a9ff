"""The table of a scorecard learner in a configuration."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

from pydantic import Field

from littled.budget.unit import Unit
from littled.configuration.parts import LearnerPart
from littled.planner.leader.request import LeaderRequest, Way, letters
from littled_protocol import limits
from littled_protocol.rules import Words


class LeaderConfiguration(LearnerPart):
    """One scorecard learner of a stream: the columns that it reads, and the shape of its rules.

    `columns_max`: columns that have points in a rule. `monotone`: columns by their names, whose
    points may only rise, or only fall, from one value to the next.
    """

    kind: Literal["leader"] = Field(
        default="leader", description="Publishes scorecards, which follow what changes."
    )
    columns_max: int | None = Field(
        default=None,
        ge=1,
        le=limits.row_features_max,
        description="Columns that have points in a rule; all without it.",
    )
    monotone: dict[str, Way] = Field(
        default_factory=dict,
        description="Columns by their names, whose points only rise or only fall.",
    )

    def request(self, name: str, words: Words) -> LeaderRequest:
        """What the planner is asked for."""
        return LeaderRequest(
            name=name,
            hypotheses=self.hypothesis_class,
            noise_rate=Fraction(self.noise_rate or 0),
            words=words,
            columns_max=self.columns_max,
            monotone=self._ways(),
        )

    def _ways(self) -> str:
        """The letters of the features in their order, "" where all are free."""
        if not self.monotone or self.reading is None:
            return ""
        return letters(self.monotone.get(feature.name) for feature in self.reading.features)

    def problems(self, name: str, unit: Unit, horizon: int) -> Iterator[str]:
        """A noise rate would be told to nobody; what is to rise or fall has to be read."""
        if self.noise_rate:
            yield (f"has learners.{name}.noise_rate, which a scorecard does not need; leave it out")
        read = () if self.reading is None else self.reading.features
        for column in self.monotone:
            if column not in {feature.name for feature in read}:
                yield (
                    f"has learners.{name}.monotone.{column}, which is no number, category or part "
                    "of a time that the learner reads"
                )
