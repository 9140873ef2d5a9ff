"""What a configuration asks of the planner."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, get_args

from littled.classes import HypothesisClass
from littled.learners.online.parameters import USER_EXAMPLES_MAX
from littled.learners.prediction import Method
from littled_protocol.rules import Words

Way = Literal["dense", "fresh", "sparse", "closure", "histogram", "teachers", "paper"]
Asked = Literal["auto", "dense", "fresh", "sparse", "closure", "histogram", "paper"]
Adversary = Literal["none", "oblivious", "adaptive"]
AskedMethod = Method | Literal["auto"]
Unit = Literal["example", "user"]

WAYS: tuple[Way, ...] = get_args(Way)
METHODS: tuple[Method, ...] = get_args(Method)
UNITS: tuple[Unit, ...] = get_args(Unit)

# With longer fractions the trigger's 64-bit arithmetic could overflow.
NOISE_RATE_DENOMINATOR_MAX = 10**9
# Chance, aimed at, that the calls of a season run out, or that noise upsets a plan otherwise.
FAILURE_PROBABILITY = Fraction(1, 20)
# Expected excess error at which a window serves as many answers as it can.
EXCESS_ERROR = Fraction(1, 20)


# Why there is no paper mode with unit = "user".
PAPER_LIMITS = "the paper's tests are priced for single examples only"


class PlanError(ValueError):
    """No plan exists for what was asked; one sentence with the reason and what would be right."""


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
    """What a configuration asks of one learner."""

    name: str
    hypotheses: HypothesisClass
    noise_rate: Fraction = Fraction(0)
    selection: Asked = "auto"
    teachers: int | None = None
    adversary: Adversary = "oblivious"
    failure_probability: Fraction = FAILURE_PROBABILITY
    paper: PaperConstants = field(default_factory=PaperConstants)
    words: Words = field(default_factory=Words)


@dataclass(frozen=True, slots=True)
class PredictionRequest:
    """What a configuration asks of one learner that answers questions from windows.

    Either `answers` a window, with the least excess error that the budget allows, or as many
    answers as there can be at an expected `excess_error`, the other one being None.
    """

    name: str
    hypotheses: HypothesisClass
    window: int
    noise_rate: Fraction = Fraction(0)
    excess_error: Fraction | None = EXCESS_ERROR
    answers: int | None = None
    method: AskedMethod = "auto"
    words: Words = field(default_factory=Words)


AnyRequest = LearnerRequest | PredictionRequest


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """What a configuration asks of one stream.

    `unit`: what (epsilon, delta) protects, one example, or one user with all of their examples of a
    season, of which each learner keeps `user_examples_max` at the most (PRIVACY.md, "User-level
    privacy"). It means nothing with unit "example".
    """

    name: str
    epsilon: Fraction
    delta: Fraction
    horizon: int
    learners: tuple[AnyRequest, ...]
    unit: Unit = "example"
    user_examples_max: int = 1


def check_requests(request: StreamRequest) -> None:
    """PlanError for what cannot be planned whatever the budget."""
    learners = request.learners
    _check_unit(request)
    if len({each.hypotheses.point_type for each in learners}) != 1:
        kinds = ", ".join(f"{x.name} reads {x.hypotheses.point_type}" for x in learners)
        raise PlanError(f"all learners of a stream must read one type of x: {kinds}")
    for each in learners:
        if each.noise_rate.denominator > NOISE_RATE_DENOMINATOR_MAX:
            raise PlanError(f"learner {each.name}: noise_rate may have at most 9 decimal places")
        if isinstance(each, PredictionRequest):
            _check_prediction(each, request.horizon)
        else:
            _check_online(each, alone=len(learners) == 1)


def _check_unit(request: StreamRequest) -> None:
    """What is asked for the protection of users, and what nobody has proven for them."""
    most = request.user_examples_max
    if request.unit not in UNITS:
        raise PlanError(f"unit must be one of {', '.join(UNITS)}")
    if type(most) is not int or not 1 <= most <= USER_EXAMPLES_MAX:
        raise PlanError(f"user_examples_max must be an integer from 1 to {USER_EXAMPLES_MAX:,}")
    if request.unit == "example":
        if most != 1:
            raise PlanError('user_examples_max is for streams with unit = "user" only')
        return
    for each in request.learners:
        if isinstance(each, PredictionRequest):
            raise PlanError(
                f"learner {each.name}: private answers protect single examples only; give it a "
                'stream with unit = "example"'
            )
        if each.selection == "paper":
            raise PlanError(f"learner {each.name}: {PAPER_LIMITS}; take another selection")


def _check_online(learner: LearnerRequest, *, alone: bool) -> None:
    if learner.selection == "paper" and not alone:
        raise PlanError(
            f"learner {learner.name}: paper mode divides a whole budget; give it a stream alone"
        )
    if not 0 < learner.failure_probability < 1:
        raise PlanError(f"learner {learner.name}: failure_probability must be between 0 and 1")


def _check_prediction(learner: PredictionRequest, horizon: int) -> None:
    if not 1 <= learner.window <= horizon:
        raise PlanError(
            f"learner {learner.name}: window must be from 1 to the stream's horizon of "
            f"{horizon:,} examples, or no window would ever be full"
        )
    if (learner.excess_error is None) == (learner.answers is None):
        raise PlanError(f"learner {learner.name}: give either excess_error or answers")
    if learner.excess_error is not None and not 0 < learner.excess_error < Fraction(1, 2):
        raise PlanError(f"learner {learner.name}: excess_error must be between 0 and 0.5")
    if learner.answers is not None and learner.answers < 1:
        raise PlanError(f"learner {learner.name}: answers must be at least 1")


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
