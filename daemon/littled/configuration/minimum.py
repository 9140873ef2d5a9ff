"""The table of a learner of robust minima in a configuration."""

from typing import Literal

from pydantic import Field

from littled.configuration.window_values import ValueConfiguration
from littled.planner.minimum.plan import MinimumRequest
from littled_protocol.rules import Words


class MinimumConfiguration(ValueConfiguration):
    """One learner that publishes a robust minimum of each window."""

    kind: Literal["minimum"] = Field(
        default="minimum", description="Publishes a robust minimum of each window."
    )

    def request(self, name: str, words: Words) -> MinimumRequest:
        """What the planner is asked for."""
        return MinimumRequest(**self.asked(name, words))
