"""littled itself: the plan of a configuration, and the daemon's engine in this process."""

import json
from functools import lru_cache

from benchmarks.real.hindsight import least_error
from benchmarks.real.method import Method, Setting
from benchmarks.real.streams import Flags, RealStream
from littled.configuration import ConfigurationError
from littled.planner import PlanError, StreamPlan
from littled.programs.research import run

NOISE_DIGITS = 2


class Littled(Method):
    """A learner as a configuration asks for it, with nothing said but its class.

    A version that has no such class, or no plan for it, refuses.
    """

    def __init__(
        self,
        name: str,
        title: str,
        class_name: str,
        *,
        told: bool = False,
        number: str | None = None,
    ) -> None:
        """`told`: its noise rate is the error of the best stump in hindsight, in two digits.

        `number`: the one column that it reads, if it does not read all.
        """
        self.name, self.title = name, title
        self.class_name, self.told, self.number = class_name, told, number

    def refusal(self, stream: RealStream, epsilon: str) -> str | None:
        """What the configuration or the planner says."""
        try:
            self._plan(stream, epsilon)
        except (ConfigurationError, PlanError) as error:
            return str(error)
        return None

    def wrong(self, stream: RealStream, epsilon: str, seed: int, setting: Setting) -> Flags:
        """What was published when each example came, held against its label."""
        return run(self._plan(stream, epsilon), [(stream.x, stream.y)], seed).wrong

    def _plan(self, stream: RealStream, epsilon: str) -> StreamPlan:
        alone = len(stream.features) == 1 and self.class_name == "stumps"
        learner = f'class = "{"thresholds" if alone else self.class_name}"'
        if self.number is not None:
            learner += f"\ncolumns = {json.dumps([self.number])}"
        if self.told:
            learner += f"\nnoise_rate = {least_error(stream):.{NOISE_DIGITS}f}"
        return _plan_of(stream, epsilon, learner)


@lru_cache(maxsize=64)
def _plan_of(stream: RealStream, epsilon: str, learner: str) -> StreamPlan:
    return stream.plan(epsilon, learner)
