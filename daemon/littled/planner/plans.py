"""Plans as values: everything that a store records and an engine needs."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from littled.budget.price import Price
from littled.budget.prices import not_alone, price
from littled.budget.rounding import to_text
from littled.budget.unit import EXAMPLE, Unit
from littled.classes.hypothesis import HypothesisClass
from littled.classes.names import class_from_dict
from littled.kinds import UnknownKind, kind_of, load
from littled.learners.contract import AnsweringLearner, Learner
from littled.learners.measured import MeasuredLearner, QualitySettings
from littled.planner.requests import PlanError
from littled_protocol.columns import Points
from littled_protocol.encodings import TableSchema
from littled_protocol.facts import KindFacts
from littled_protocol.figures import figures_of
from littled_protocol.rules import Words


class Parameters(Protocol):
    """Public parameters of a learner, which a store keeps."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; fractions as "numerator/denominator"."""

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The parameters that `to_dict` wrote; ValueError for any others."""


P = TypeVar("P", bound=Parameters)
K = TypeVar("K", bound="Plan[Any]")


@dataclass(frozen=True, slots=True)
class Plan(ABC, Generic[P]):
    """One learner with all its parameters; `kind` is its name in `littled.kinds`."""

    kind: ClassVar[str]
    parameters_class: ClassVar[type[Parameters]]

    name: str
    hypotheses: HypothesisClass
    parameters: P
    words: Words

    @abstractmethod
    def season_cost(self, stream: str) -> Price:
        """Everything that a season of this learner can be charged."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return {
            "kind": self.kind,
            "hypotheses": self.hypotheses.to_dict(),
            "parameters": self.parameters.to_dict(),
            "words": self.words.to_dict(),
        }

    @classmethod
    def from_dict(cls, name: str, values: Mapping[str, Any]) -> Self:
        """The plan that `to_dict` wrote."""
        parameters: Any = cls.parameters_class.from_dict(values["parameters"])
        hypotheses = class_from_dict(values["hypotheses"])
        return cls(name, hypotheses, parameters, Words.from_dict(values["words"]))


@dataclass(frozen=True, slots=True)
class PublishingPlan(Plan[P]):
    """The plan of a learner that publishes rules: an engine runs it.

    quality: how its rules are measured; None where they are not.
    """

    quality: QualitySettings | None = field(default=None, kw_only=True)

    @property
    def needs_process(self) -> bool:
        """Whether a training would keep other threads from the interpreter for long."""
        return False

    @property
    def facts(self) -> KindFacts:
        """What a status says of the learner besides its last release; public, JSON-able."""
        return {}

    @abstractmethod
    def learner(self, stream: str) -> Learner[Any]:
        """The learner itself."""

    def chains(self, stream: str) -> tuple[str, ...]:
        """The names under which a store keeps what the learner releases."""
        name = f"{stream}/{self.name}"
        return (name,) if self.quality is None else (name, figures_of(name))

    def running(self, stream: str) -> Learner[Any]:
        """The learner as an engine runs it: measured, where the plan says so."""
        learner = self.learner(stream)
        if self.quality is None:
            return learner
        parameters: Any = self.parameters
        return MeasuredLearner(learner, self.quality, parameters.user_examples_max is not None)

    def season_cost(self, stream: str) -> Price:
        """What a season can cost in all: what is charged when it opens, and every call."""
        return season_cost(self.running(stream))

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; quality stands among the parameters, where earlier versions refuse it."""
        values = Plan.to_dict(self)
        if self.quality is not None:
            values["parameters"] = {**values["parameters"], "quality": self.quality.to_dict()}
        return values

    @classmethod
    def from_dict(cls, name: str, values: Mapping[str, Any]) -> Self:
        """The plan that `to_dict` wrote."""
        parameters = dict(values["parameters"])
        asked = parameters.pop("quality", None)
        plan = super(PublishingPlan, cls).from_dict(name, {**values, "parameters": parameters})
        return plan if asked is None else replace(plan, quality=QualitySettings.from_dict(asked))


@dataclass(frozen=True, slots=True)
class AnsweringPlan(Plan[P]):
    """The plan of a learner that answers requests from windows."""

    @abstractmethod
    def learner(self, stream: str) -> AnsweringLearner[Any]:
        """The learner itself."""

    def season_cost(self, stream: str) -> Price:
        """What a window can cost, charged once for a season: an example is in one window."""
        events = self.learner(stream).window_events()
        return sum((price(event) for event in events), Price.zero())


def season_cost(learner: Learner[Any]) -> Price:
    """What a season can cost in all: what is charged when it opens, and every call."""
    return opening_cost(learner) + price(learner.call_event()) * learner.calls_max


def opening_cost(learner: Learner[Any]) -> Price:
    """What a season is charged for a learner when it opens."""
    return sum((price(event) for event in learner.season_events()), Price.zero())


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """One stream: its budget as public caps, and its learners in the order in which they step.

    Where users are protected, every batch needs a user for each example. `schema`: the columns of
    the tables that it takes; its learners then have a reading each, which says what they see of a
    row. None where points are of one type for all learners.
    """

    stream: str
    epsilon: Fraction
    delta: Fraction
    delta_z: Fraction
    horizon: int
    caps: Price
    plans: tuple[Plan[Any], ...]
    unit: Unit = EXAMPLE
    schema: TableSchema | None = None

    def __post_init__(self) -> None:
        """ValueError for a learner that needs caps of its own, and does not have them."""
        for plan in self.publishing:
            for event in plan.running(self.stream).season_events():
                problem = not_alone(event, self.caps, self.delta_z)
                if problem is not None:
                    raise ValueError(f"learner {plan.name}: {problem}")

    @property
    def publishing(self) -> tuple[PublishingPlan[Any], ...]:
        """The plans of the learners that publish rules, in the order in which they step."""
        return tuple(plan for plan in self.plans if isinstance(plan, PublishingPlan))

    @property
    def answering(self) -> tuple[AnsweringPlan[Any], ...]:
        """The plans of the learners that answer requests."""
        return tuple(plan for plan in self.plans if isinstance(plan, AnsweringPlan))

    def of(self, kind: type[K]) -> tuple[K, ...]:
        """The plans of one kind, in the order in which the learners step."""
        return tuple(plan for plan in self.plans if isinstance(plan, kind))

    @property
    def x_type(self) -> str:
        """Type of the points on the wire."""
        if self.schema is not None:
            return self.schema.x_type
        return self.plans[0].hypotheses.point_type

    def view(self, learner: Plan[Any]) -> Callable[[Points], Points] | None:
        """What a learner sees of points of the stream; None for the points themselves.

        A fixed public function of each point by itself, so that streams which differ in one example
        still differ in one, and every proof about a learner's points holds for the stream.
        """
        reading = learner.words.reading
        if reading is None or self.schema is None:
            return None
        return reading.view(self.schema.columns)

    @property
    def learners(self) -> tuple[str, ...]:
        """Names of the learners, without the stream's."""
        return tuple(plan.name for plan in self.plans)

    @property
    def words(self) -> dict[str, Words]:
        """For each learner the words in which its rules are described."""
        return {plan.name: plan.words for plan in self.plans}

    @property
    def prepaid(self) -> Price:
        """What every season is charged when it opens, whatever its examples are."""
        opened = sum((opening_cost(one.running(self.stream)) for one in self.publishing),
                     Price.zero())  # fmt: skip
        return sum((one.season_cost(self.stream) for one in self.answering), opened)

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
            **self.unit.to_dict(),
            **({} if self.schema is None else {"schema": self.schema.to_dict()}),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The plan that `to_dict` wrote; what was stored before there were units lacks one.

        PlanError for a learner of an unknown kind, or with what only a newer version knows.
        """
        return cls(
            stream=values["stream"],
            epsilon=Fraction(values["epsilon"]),
            delta=Fraction(values["delta"]),
            delta_z=Fraction(values["delta_z"]),
            horizon=values["horizon"],
            caps=Price.from_dict(values["caps"]),
            plans=tuple(
                _plan_from_dict(name, learner)
                for name, learner in sorted(values["learners"].items())
            ),
            unit=Unit.of(values.get("unit", EXAMPLE.word), values.get("user_examples_max")),
            schema=TableSchema.from_dict(values["schema"]) if "schema" in values else None,
        )


def _plan_from_dict(name: str, values: Mapping[str, Any]) -> Plan[Any]:
    """The plan of a learner of any kind."""
    try:
        plan: type[Plan[Any]] = load(kind_of(values["kind"]).plan)
    except UnknownKind as error:
        raise PlanError(f"learner {name}: {error}") from None
    try:
        return plan.from_dict(name, values)
    except (KeyError, TypeError, ValueError) as error:
        raise PlanError(f"learner {name}: {_said(error)}") from error


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else f"{error} is not known here"
