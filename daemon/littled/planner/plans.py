"""Plans as values: everything that a store records and an engine needs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Self

from littled.budget.price import Price
from littled.budget.rounding import to_text
from littled.classes import HypothesisClass, class_from_dict
from littled.learners.online import OnlineLearner
from littled.learners.online.parameters import OnlineParameters
from littled.learners.prediction import PredictionLearner, PredictionParameters
from littled.planner.requests import PlanError, Unit
from littled_protocol.rules import Words


@dataclass(frozen=True, slots=True)
class LearnerPlan:
    """One online learner with all its parameters."""

    name: str
    hypotheses: HypothesisClass
    parameters: OnlineParameters
    words: Words

    def learner(self, stream: str) -> OnlineLearner:
        """The learner itself."""
        return OnlineLearner(f"{stream}/{self.name}", self.hypotheses, self.parameters)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return _plan_to_dict("online", self)

    @classmethod
    def from_dict(cls, name: str, values: Mapping[str, Any]) -> Self:
        """The plan that `to_dict` wrote."""
        parameters = OnlineParameters.from_dict(values["parameters"])
        return cls(name, parameters=parameters, **_class_and_words(values))


@dataclass(frozen=True, slots=True)
class PredictionPlan:
    """One learner that answers questions from windows, with all its parameters."""

    name: str
    hypotheses: HypothesisClass
    parameters: PredictionParameters
    words: Words

    def learner(self, stream: str) -> PredictionLearner:
        """The learner itself."""
        return PredictionLearner(f"{stream}/{self.name}", self.hypotheses, self.parameters)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return _plan_to_dict("prediction", self)

    @classmethod
    def from_dict(cls, name: str, values: Mapping[str, Any]) -> Self:
        """The plan that `to_dict` wrote."""
        parameters = PredictionParameters.from_dict(values["parameters"])
        return cls(name, parameters=parameters, **_class_and_words(values))


AnyPlan = LearnerPlan | PredictionPlan


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """One stream: its budget as public caps, and its learners in the order in which they step.

    With unit "user" every batch needs a user for each example, and a learner keeps at most
    `user_examples_max` examples of one user and season.
    """

    stream: str
    epsilon: Fraction
    delta: Fraction
    delta_z: Fraction
    horizon: int
    caps: Price
    plans: tuple[AnyPlan, ...]
    unit: Unit = "example"
    user_examples_max: int = 1

    @property
    def online(self) -> tuple[LearnerPlan, ...]:
        """The plans of the online learners, in the order in which they step."""
        return tuple(plan for plan in self.plans if isinstance(plan, LearnerPlan))

    @property
    def predictions(self) -> tuple[PredictionPlan, ...]:
        """The plans of the learners that answer questions."""
        return tuple(plan for plan in self.plans if isinstance(plan, PredictionPlan))

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
            "unit": self.unit,
            "user_examples_max": self.user_examples_max,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The plan that `to_dict` wrote; what was stored before there were units lacks one."""
        return cls(
            stream=values["stream"],
            epsilon=Fraction(values["epsilon"]),
            delta=Fraction(values["delta"]),
            delta_z=Fraction(values["delta_z"]),
            horizon=values["horizon"],
            caps=Price.from_dict(values["caps"]),
            plans=tuple(
                _plan_from_dict(name, each) for name, each in sorted(values["learners"].items())
            ),
            unit=values.get("unit", "example"),
            user_examples_max=values.get("user_examples_max", 1),
        )


def _plan_from_dict(name: str, values: Mapping[str, Any]) -> AnyPlan:
    """The plan of a learner of either kind."""
    kinds: dict[str, type[AnyPlan]] = {"online": LearnerPlan, "prediction": PredictionPlan}
    kind = kinds.get(values["kind"])
    if kind is None:
        raise PlanError(f"learner {name} has the unknown kind {values['kind']!r}")
    return kind.from_dict(name, values)


def _plan_to_dict(kind: str, plan: AnyPlan) -> dict[str, Any]:
    return {
        "kind": kind,
        "hypotheses": plan.hypotheses.to_dict(),
        "parameters": plan.parameters.to_dict(),
        "words": asdict(plan.words),
    }


def _class_and_words(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "hypotheses": class_from_dict(values["hypotheses"]),
        "words": Words(**values["words"]),
    }
