"""The table of a learner of one-way sequences in a configuration."""

from typing import Literal

from littled.configuration.window_values import ValueConfiguration
from littled.planner.sequences.plan import SequenceRequest
from littled_protocol.rules import Words


class SequenceConfiguration(ValueConfiguration):
    """One learner that publishes what follows from one string, of each window."""

    kind: Literal["sequences"] = "sequences"

    def request(self, name: str, words: Words) -> SequenceRequest:
        """What the planner is asked for."""
        return SequenceRequest(**self.asked(name, words))
