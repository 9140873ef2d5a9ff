"""What a configuration asks of an online learner."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from littled.classes import HypothesisClass
from littled.planner.requests import PlanError
from littled_protocol.rules import Words

Way = Literal["dense", "fresh", "sparse", "closure", "histogram", "teachers", "paper"]
Asked = Literal["auto", "dense", "fresh", "sparse", "closure", "histogram", "paper"]
Adversary = Literal["none", "oblivious", "adaptive"]

WAYS: tuple[Way, ...] = get_args(Way)

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
class LearnerRequest:
    """What a configuration asks of one online learner."""

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


def allowed_ways(request: LearnerRequest) -> tuple[Way, ...]:
    """The ways of selection that the request leaves open; PlanError for a contradiction."""
    name, asked, teachers = request.hypotheses.name, request.selection, request.teachers
    if asked == "paper":
        if teachers is not None:
            raise PlanError(
                f"learner {request.name}: in paper mode the number of teachers follows from the "
                "constants; set paper.teachers instead of teachers"
            )
        return ("paper",)
    if asked == "auto":
        if teachers is not None:
            return ("teachers",)
        return ("dense", "fresh", "sparse", "closure", "histogram")
    if asked == "sparse":
        if teachers is not None:
            return ("teachers",)
        if request.hypotheses.proposals_per_example is None:
            raise PlanError(
                f"learner {request.name}: {name} has no short list of rules per example, so sparse "
                "selection needs a number of teachers, for example teachers = 200"
            )
        return ("sparse",)
    if teachers is not None:
        raise PlanError(
            f"learner {request.name}: {asked} selection has no teachers of its own; use sparse"
        )
    if asked in ("dense", "fresh") and request.hypotheses.rule_count is None:
        raise PlanError(f"learner {request.name}: {name} has too many rules for {asked} selection")
    if asked == "closure" and not request.hypotheses.has_closures:
        raise PlanError(f"learner {request.name}: {name} has no closures; use dense or sparse")
    if asked == "histogram" and not request.hypotheses.has_flips:
        raise PlanError(
            f"learner {request.name}: {name} has no rules that are sets of ids; use points or "
            "sparse_sets, or another selection"
        )
    return (asked,)
