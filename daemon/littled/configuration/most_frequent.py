"""The table of a learner of most frequent items in a configuration."""

from typing import Literal

from pydantic import Field

from littled.configuration.window_values import ValueConfiguration
from littled.planner.most_frequent.plan import MostFrequentRequest
from littled_protocol.rules import Words


class MostFrequentConfiguration(ValueConfiguration):
    """One learner that publishes the most frequent item of each window."""

    kind: Literal["most_frequent"] = Field(
        default="most_frequent", description="Publishes the most frequent item of each window."
    )

    def request(self, name: str, words: Words) -> MostFrequentRequest:
        """What the planner is asked for."""
        return MostFrequentRequest(**self.asked(name, words))
