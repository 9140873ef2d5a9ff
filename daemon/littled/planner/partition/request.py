"""What a configuration asks of a partition learner."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from littled.classes.hypothesis import HypothesisClass
from littled_protocol.rules import Words


@dataclass(frozen=True, slots=True)
class PartitionRequest:
    """What a configuration asks of one partition learner: its class, and nothing else.

    `noise_rate` is not reckoned with: labels may be as noisy as they are.
    """

    kind: ClassVar[str] = "partition"

    name: str
    hypotheses: HypothesisClass
    noise_rate: Fraction = Fraction(0)
    words: Words = field(default_factory=Words)
