"""The table of a partition learner in a configuration."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

from pydantic import Field

from littled.budget.unit import Unit
from littled.configuration.parts import LearnerPart
from littled.planner.partition.request import PartitionRequest
from littled_protocol.rules import Words


class PartitionConfiguration(LearnerPart):
    """One partition learner of a stream: the class of its rules, and the column that it reads."""

    kind: Literal["partition"] = Field(
        default="partition", description="Publishes sets of blocks of addresses."
    )

    def request(self, name: str, words: Words) -> PartitionRequest:
        """What the planner is asked for."""
        return PartitionRequest(
            name=name,
            hypotheses=self.hypothesis_class,
            noise_rate=Fraction(self.noise_rate or 0),
            words=words,
        )

    def problems(self, name: str, unit: Unit, horizon: int) -> Iterator[str]:
        """A noise rate would be told to nobody."""
        if self.noise_rate:
            yield f"has learners.{name}.noise_rate, which prefix_sets do not need; leave it out"
