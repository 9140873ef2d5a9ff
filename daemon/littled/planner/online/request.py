"""What a configuration asks of an online learner."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal

from littled.classes.hypothesis import HypothesisClass
from littled.ways import Asked
from littled.written import as_written
from littled_protocol.rules import Words

Adversary = Literal["none", "oblivious", "adaptive"]

# Chance, aimed at, that the calls of a season run out, or that noise upsets a plan otherwise.
FAILURE_PROBABILITY = Fraction(1, 20)
# Why there is no paper mode with unit = "user".
PAPER_LIMITS = "the paper's tests are priced for single examples only"


@dataclass(frozen=True, slots=True)
class PaperConstants:
    """The constants that Lyu's Algorithms 3 and 4 leave open, and the split of epsilon.

    With d the Littlestone dimension and T the horizon (natural logarithms): `calls` C in
    K = C d^3; `teachers` in k = C d^3.5 ln(T) ln(1/delta) / epsilon; `threshold` C in
    U = C d^3 ln(d ln T) k; `draws` in R = C ln T. `trigger_share` and `stage_share` of epsilon pay
    for the two AboveThreshold tests, what is left for the draws.
    """

    calls: Fraction = Fraction(1)
    teachers: Fraction = Fraction(1)
    threshold: Fraction = Fraction(1)
    draws: Fraction = Fraction(1)
    trigger_share: Fraction = Fraction(1, 4)
    stage_share: Fraction = Fraction(1, 4)


@dataclass(frozen=True, slots=True)
class OnlineRequest:
    """What a configuration asks of one online learner.

    `nothing_told`: neither how many labels contradict the best rule nor that one fits; the plan is
    then "capped" where a class has it. Elsewhere it is made for a `noise_rate` of 0, as it is
    wherever a program names none. Whoever takes settings from people says `nothing_told` where they
    leave the noise rate out.
    """

    kind: ClassVar[str] = "online"

    name: str
    hypotheses: HypothesisClass
    noise_rate: Fraction = Fraction(0)
    selection: Asked = "auto"
    teachers: int | None = None
    adversary: Adversary = "oblivious"
    failure_probability: Fraction = FAILURE_PROBABILITY
    paper: PaperConstants = field(default_factory=PaperConstants)
    words: Words = field(default_factory=Words)
    nothing_told: bool = False

    def __post_init__(self) -> None:
        """Take floats, of programs, as they are written."""
        object.__setattr__(self, "noise_rate", as_written(self.noise_rate))
        failure = as_written(self.failure_probability)
        object.__setattr__(self, "failure_probability", failure)

    @property
    def leaves_open(self) -> bool:
        """Whether the planner chooses the way of selection."""
        return self.selection == "auto"

    def asks_for(self, way: str) -> bool:
        """Whether the way of selection with this name is asked for."""
        return self.selection == way
