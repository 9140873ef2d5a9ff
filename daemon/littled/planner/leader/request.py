"""What a configuration asks of a scorecard learner."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from littled.classes.hypothesis import HypothesisClass
from littled_protocol.rules import Words


@dataclass(frozen=True, slots=True)
class LeaderRequest:
    """What a configuration asks of one scorecard learner: nothing but its columns.

    `noise_rate` is not reckoned with: labels may be as noisy as they are.
    """

    kind: ClassVar[str] = "leader"

    name: str
    hypotheses: HypothesisClass
    noise_rate: Fraction = Fraction(0)
    words: Words = field(default_factory=Words)
