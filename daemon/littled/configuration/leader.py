"""The table of a scorecard learner in a configuration."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

from littled.budget.unit import Unit
from littled.configuration.parts import LearnerPart
from littled.planner.leader.request import LeaderRequest
from littled_protocol.rules import Words


class LeaderConfiguration(LearnerPart):
    """One scorecard learner of a stream: the columns that it reads."""

    kind: Literal["leader"] = "leader"

    def request(self, name: str, words: Words) -> LeaderRequest:
        """What the planner is asked for."""
        return LeaderRequest(name, self.hypothesis_class, Fraction(self.noise_rate or 0), words)

    def problems(self, name: str, unit: Unit, horizon: int) -> Iterator[str]:
        """A noise rate would be told to nobody."""
        if self.noise_rate:
            yield (f"has learners.{name}.noise_rate, which a scorecard does not need; leave it out")
