"""What a configuration asks of a learner that answers questions from windows."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from littled.classes.hypothesis import HypothesisClass
from littled.learners.prediction import Method
from littled_protocol.rules import Words

AskedMethod = Method | Literal["auto"]
METHODS: tuple[Method, ...] = get_args(Method)

# Expected excess error at which a window serves as many answers as it can.
EXCESS_ERROR = Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class PredictionRequest:
    """What a configuration asks of one learner that answers questions from windows.

    Either `answers` a window, with the least excess error that the budget allows, or as many
    answers as there can be at an expected `excess_error`, the other one being None.
    """

    kind: ClassVar[str] = "prediction"

    name: str
    hypotheses: HypothesisClass
    window: int
    noise_rate: Fraction = Fraction(0)
    excess_error: Fraction | None = EXCESS_ERROR
    answers: int | None = None
    method: AskedMethod = "auto"
    words: Words = field(default_factory=Words)
