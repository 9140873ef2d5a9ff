"""Plans: from (class, epsilon, delta, horizon, noise rate) to every parameter of a learner.

A plan never looks at data. It fixes two kinds of numbers. *Privacy-critical* ones (rates, numbers
of calls and draws, list caps, bottom scores and the caps of the filter) are exact rationals, and
the caps are checked against (epsilon, delta) by `littled.budget.conversion`. *Utility* ones (the
trigger's threshold, how the budget is divided, how many calls to plan for) are heuristics found
by a small search in floating point; a bad choice costs mistakes, never privacy.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any, Literal, Self, get_args

from littled.budget.conversion import guarantee, rho_of_epsilon
from littled.budget.events import price
from littled.budget.price import Price
from littled.budget.rounding import to_text
from littled.classes import HypothesisClass, class_from_dict
from littled.learners.online import OnlineLearner
from littled.learners.parameters import Accounting, Keep, OnlineParameters
from littled_protocol.rules import Words

Way = Literal["auto", "dense", "sparse"]

# Rates are multiples of 2^-16: exact, short, and cheap to tabulate.
RATE_DENOMINATOR = 1 << 16
# Share of delta for the zCDP conversion; the rest covers list failures and finite precision.
DELTA_Z_SHARE = Fraction(9, 10)
# Background examples that a sparse learner keeps per epoch.
BACKGROUND_EXAMPLES = 1 << 14
BACKGROUND_EXAMPLES_NOISY = 1 << 16
# Candidates of one sparse selection, at most: about 70 bytes each while it runs. Memory must not
# depend on private data beyond what the plan allows for, or running out of it would tell.
CANDIDATES_MAX = 1 << 23
# With longer fractions the trigger's 64-bit arithmetic could overflow.
NOISE_RATE_DENOMINATOR_MAX = 10**9
# Chance, aimed at, that quiet noise alone fires the trigger in a season, and that bottom wins.
FAILURE_PROBABILITY = 0.05
TRIGGER_SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
CALLS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)


class PlanError(ValueError):
    """No plan exists for what was asked; one sentence with the reason and what would be right."""


@dataclass(frozen=True, slots=True)
class LearnerRequest:
    """What a configuration asks of one learner."""

    name: str
    hypotheses: HypothesisClass
    noise_rate: Fraction = Fraction(0)
    selection: Way = "auto"
    teachers: int | None = None
    words: Words = field(default_factory=Words)


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """What a configuration asks of one stream."""

    name: str
    epsilon: Fraction
    delta: Fraction
    horizon: int
    learners: tuple[LearnerRequest, ...]


@dataclass(frozen=True, slots=True)
class LearnerPlan:
    """One learner with all its parameters."""

    name: str
    hypotheses: HypothesisClass
    parameters: OnlineParameters
    words: Words

    def learner(self, stream: str) -> OnlineLearner:
        """The learner itself."""
        return OnlineLearner(f"{stream}/{self.name}", self.hypotheses, self.parameters)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return {
            "kind": "online",
            "hypotheses": self.hypotheses.to_dict(),
            "parameters": self.parameters.to_dict(),
            "words": asdict(self.words),
        }

    @classmethod
    def from_dict(cls, name: str, values: Mapping[str, Any]) -> Self:
        """The plan that `to_dict` wrote."""
        if values["kind"] != "online":
            raise PlanError(f"learner {name} has the unknown kind {values['kind']!r}")
        return cls(
            name=name,
            hypotheses=class_from_dict(values["hypotheses"]),
            parameters=OnlineParameters.from_dict(values["parameters"]),
            words=Words(**values["words"]),
        )


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """One stream: its budget as public caps, and its learners in the order in which they step."""

    stream: str
    epsilon: Fraction
    delta: Fraction
    delta_z: Fraction
    horizon: int
    caps: Price
    plans: tuple[LearnerPlan, ...]

    @property
    def x_type(self) -> str:
        """Type of the points on the wire."""
        return self.plans[0].hypotheses.point_type

    @property
    def learners(self) -> tuple[str, ...]:
        """Names of the learners, without the stream's."""
        return tuple(plan.name for plan in self.plans)

    @property
    def words(self) -> dict[str, Words]:
        """For each learner the words in which its rules are described."""
        return {plan.name: plan.words for plan in self.plans}

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; fractions as "numerator/denominator"."""
        return {
            "stream": self.stream,
            "epsilon": to_text(self.epsilon),
            "delta": to_text(self.delta),
            "delta_z": to_text(self.delta_z),
            "horizon": self.horizon,
            "caps": self.caps.to_dict(),
            "learners": {plan.name: plan.to_dict() for plan in self.plans},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The plan that `to_dict` wrote."""
        return cls(
            stream=values["stream"],
            epsilon=Fraction(values["epsilon"]),
            delta=Fraction(values["delta"]),
            delta_z=Fraction(values["delta_z"]),
            horizon=values["horizon"],
            caps=Price.from_dict(values["caps"]),
            plans=tuple(
                LearnerPlan.from_dict(name, each)
                for name, each in sorted(values["learners"].items())
            ),
        )


def plan_stream(request: StreamRequest) -> StreamPlan:
    """The plan with the fewest estimated mistakes whose caps are within (epsilon, delta).

    Learners share the budget evenly; one way of accounting and one share for the trigger serve
    them all, so that their prices add up to the caps exactly.

    Raises PlanError if the learners read different points or the budget is too small for one call.
    """
    if len({each.hypotheses.point_type for each in request.learners}) != 1:
        kinds = ", ".join(f"{x.name} reads {x.hypotheses.point_type}" for x in request.learners)
        raise PlanError(f"all learners of a stream must read one type of x: {kinds}")
    ordered = sorted(request.learners, key=lambda each: each.name)
    for each in ordered:
        if each.noise_rate.denominator > NOISE_RATE_DENOMINATOR_MAX:
            raise PlanError(f"learner {each.name}: noise_rate may have at most 9 decimal places")
    ways = [_way(each) for each in ordered]
    best: tuple[float, list[LearnerPlan]] | None = None
    for share, accounting in product(TRIGGER_SHARES, get_args(Accounting)):
        budget = Budget(
            request.epsilon, request.delta, request.horizon, len(ordered), accounting, share
        )
        found = [_best(each, budget, way) for each, way in zip(ordered, ways, strict=True)]
        feasible = [each for each in found if each is not None]
        mistakes = sum(each.mistakes for each in feasible)
        if len(feasible) == len(ordered) and (best is None or mistakes < best[0]):
            best = (mistakes, [each.plan for each in feasible])
    if best is None:
        raise PlanError(
            f"epsilon {float(request.epsilon)} with delta "
            f"{float(request.delta)} does not pay for one call of every learner over "
            f"{request.horizon} examples; raise epsilon or delta"
        )
    return _checked(request, tuple(best[1]))


def _checked(request: StreamRequest, plans: tuple[LearnerPlan, ...]) -> StreamPlan:
    """The plan with its caps, once exact arithmetic has shown that they keep the promise."""
    caps = sum((_caps(plan.learner(request.name)) for plan in plans), Price.zero())
    delta_z = request.delta * DELTA_Z_SHARE if caps.rho else Fraction(0)
    epsilon, delta = guarantee(caps, delta_z)
    if epsilon > request.epsilon or delta > request.delta:
        raise PlanError(
            f"the best plan found does not keep within epsilon "
            f"{float(request.epsilon)} and delta {float(request.delta)}; raise delta"
        )
    return StreamPlan(
        request.name, request.epsilon, request.delta, delta_z, request.horizon, caps, plans
    )


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget of a stream, shared evenly by `share` learners, and one way to divide it."""

    epsilon: Fraction
    delta: Fraction
    horizon: int
    share: int
    accounting: Accounting
    trigger_share: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plan with its estimated number of mistakes in a season; the estimate is a heuristic."""

    plan: LearnerPlan
    mistakes: float


def _best(
    request: LearnerRequest, budget: Budget, way: Literal["dense", "sparse"]
) -> Candidate | None:
    """The best number of calls for one learner, None if not even one call is paid for."""
    drafts = (_Draft(request, budget, way, calls) for calls in CALLS)
    candidates = [found for draft in drafts if (found := draft.candidate()) is not None]
    return min(candidates, key=lambda each: each.mistakes, default=None)


def _way(request: LearnerRequest) -> Literal["dense", "sparse"]:
    """Dense where the class is finite and small, else sparse; or as asked."""
    name, dense = request.hypotheses.name, request.hypotheses.rule_count is not None
    if request.selection == "dense" and not dense:
        raise PlanError(f"learner {request.name}: {name} has too many rules for dense selection")
    short = request.hypotheses.proposals_per_example is not None
    if request.selection == "sparse" and request.teachers is None and not short:
        raise PlanError(
            f"learner {request.name}: {name} has no short list of rules per example, so sparse "
            "selection needs a number of teachers, for example teachers = 200"
        )
    if request.selection == "auto":
        return "dense" if dense and request.teachers is None else "sparse"
    if request.selection == "dense" and request.teachers is not None:
        raise PlanError(f"learner {request.name}: dense selection has no teachers; use sparse")
    return request.selection


@dataclass(frozen=True, slots=True)
class _Draft:
    """One point of the search grid."""

    request: LearnerRequest
    budget: Budget
    way: Literal["dense", "sparse"]
    calls: int

    @property
    def trigger_rate(self) -> Fraction:
        """The trigger's e."""
        return _rate(float(self.budget.epsilon / self.budget.share) * self.budget.trigger_share)

    def candidate(self) -> Candidate | None:
        """This point of the grid, if it is feasible."""
        rate = self._selection_rate()
        if rate <= 0 or self.trigger_rate <= 0:
            return None
        list_cap, bottom = self._sparse_parameters(rate)
        parameters = OnlineParameters(
            epsilon=self.budget.epsilon,
            horizon=self.budget.horizon,
            noise_rate=self.request.noise_rate,
            trigger_rate=self.trigger_rate,
            trigger_threshold=1,
            selection=self.way,
            selection_rate=rate,
            selection_accounting=self.budget.accounting,
            draws=1,
            calls_max=self.calls,
            buffer=self._keep(),
            background_max=self._background(),
            list_cap=list_cap,
            bottom_score=bottom,
            teachers=self.request.teachers,
        )
        threshold, mistakes = self._estimate(parameters)
        planned = replace(parameters, trigger_threshold=threshold)
        plan = LearnerPlan(self.request.name, self.request.hypotheses, planned, self.request.words)
        if plan.learner("").mistakes_kept_max * self._per_example > CANDIDATES_MAX // 2:
            return None
        return Candidate(plan, mistakes)

    def _selection_rate(self) -> Fraction:
        """Largest e for which `calls` selections fit beside the trigger."""
        epsilon = self.budget.epsilon / self.budget.share - self.trigger_rate
        if epsilon <= 0:
            return Fraction(0)
        if self.budget.accounting == "pure":
            return _rate(epsilon / (2 * self.calls))
        whole = self.budget.epsilon - self.trigger_rate * self.budget.share
        rho = rho_of_epsilon(whole, self.budget.delta * DELTA_Z_SHARE) / self.budget.share
        return _rate(math.sqrt(float(2 * rho / self.calls)) * (1 - 1e-9))

    def _sparse_parameters(self, rate: Fraction) -> tuple[int, int]:
        """List cap L and bottom score B with L exp(e (1 - B)) within its share of delta."""
        if self.way == "dense":
            return 0, 0
        hypotheses = self.request.hypotheses
        if self.request.teachers is None:
            list_cap = hypotheses.proposals_per_example or 1
        else:
            list_cap = TEACHER_LIST_CAP
        share = (1 - DELTA_Z_SHARE) if self.budget.accounting == "zcdp" else Fraction(9, 10)
        delta = self.budget.delta * share / (self.budget.share * self.calls) * Fraction(9, 10)
        bottom = 1 + math.ceil(math.log(list_cap / float(delta)) / float(rate))
        return list_cap, bottom

    def _keep(self) -> Keep:
        if self.way == "dense" or self.request.noise_rate:
            return "examples"
        return "both" if self.request.teachers is None else "mistakes"

    @property
    def _per_example(self) -> int:
        """Candidates that one kept example can add to a selection."""
        if self.way == "dense" or self.request.teachers is not None:
            return 0
        return self.request.hypotheses.proposals_per_example or 0

    def _background(self) -> int:
        """Size of an epoch's background; half of the room for candidates is for mistakes."""
        if self.way == "dense" or self._keep() == "mistakes":
            return 0
        wanted = BACKGROUND_EXAMPLES_NOISY if self.request.noise_rate else BACKGROUND_EXAMPLES
        if not self._per_example:
            return wanted
        room = CANDIDATES_MAX // (1 if self._keep() == "examples" else 2)
        return min(wanted, room // (self.calls * self._per_example))

    def _estimate(self, parameters: OnlineParameters) -> tuple[int, float]:
        """Heuristic: a good trigger threshold U and the mistakes of a season.

        U is the larger of what keeps noise alone quiet for a whole season and what a selection
        needs to see; each needed call then costs U plus the trigger's own delay.
        """
        trigger, rate = float(self.trigger_rate), float(parameters.selection_rate)
        quiet = (math.log(self.budget.horizon) + math.log(1 / FAILURE_PROBABILITY)) / trigger
        # honest noise strays from its rate by about one standard deviation over a season
        rate_of_noise = float(self.request.noise_rate)
        quiet += math.sqrt(rate_of_noise * (1 - rate_of_noise) * self.budget.horizon)
        threshold, choices, spare = math.ceil(quiet), self._choices(), 2.0
        if self.way == "sparse":
            # noise alone may fire up to `quiet` early, and a call that sees too little is lost
            threshold += math.ceil(self._seen(parameters))
            spare = 1.0
        needed = 1 + math.log(choices) / math.log(1 + rate * threshold)
        if self.request.noise_rate:
            spare = 6.0
        if self.calls < needed + spare:
            return threshold, math.inf if self.calls < needed else 1e6 * needed * threshold
        return threshold, needed * (threshold + 1 / trigger)

    def _choices(self) -> int:
        """Rules among which a selection must tell the best one."""
        hypotheses = self.request.hypotheses
        if self.way == "sparse" and self.request.teachers is None:
            return hypotheses.proposals_per_example or 1
        return hypotheses.rule_count or 1 << hypotheses.littlestone_dimension

    def _seen(self, parameters: OnlineParameters) -> float:
        """Mistakes after which the best rule outweighs bottom and every other candidate."""
        rate = float(parameters.selection_rate)
        margin = math.log(parameters.list_cap / FAILURE_PROBABILITY) / rate
        if parameters.teachers is None:
            return parameters.bottom_score + margin
        # a teacher's list is short once it holds a few examples, so all k need some
        return max(3.0 * parameters.teachers, parameters.bottom_score + margin)


TEACHER_LIST_CAP = 256


def _caps(learner: OnlineLearner) -> Price:
    """Everything that a season of this learner can be charged."""
    fixed = sum((price(event) for event in learner.season_events()), Price.zero())
    return fixed + price(learner.call_event()) * learner.parameters.calls_max


def _rate(value: float | Fraction) -> Fraction:
    """The largest rate on the grid that is at most `value`."""
    return Fraction(math.floor(value * RATE_DENOMINATOR), RATE_DENOMINATOR)
