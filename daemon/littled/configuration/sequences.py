"""The table of a learner of one-way sequences in a configuration."""

from typing import Literal

from pydantic import Field

from littled.configuration.window_values import ValueConfiguration
from littled.planner.sequences.plan import SequencesRequest
from littled_protocol.rules import Words


class SequencesConfiguration(ValueConfiguration):
    """One learner that publishes what follows from one string, of each window."""

    kind: Literal["sequences"] = Field(
        default="sequences", description="Publishes what follows from one string, of each window."
    )

    def request(self, name: str, words: Words) -> SequencesRequest:
        """What the planner is asked for."""
        return SequencesRequest(**self.asked(name, words))
