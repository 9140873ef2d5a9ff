"""What the planner asks of every kind of learner, and of no kind by name."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from littled.kinds import kind_of, load
from littled.planner.budgets import Budget
from littled.planner.plans import Plan
from littled.planner.requests import Request, StreamRequest


class Estimated(Protocol):
    """A feasible plan of one learner, with what its kind expects of it."""

    @property
    def plan(self) -> Plan[Any]:
        """The plan."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a plan should have little of: expected mistakes, and the logarithm of anything else.

    Mistakes of several learners are added, and the rest is multiplied.
    """

    mistakes: float = 0.0
    logarithm: float = 0.0


R = TypeVar("R", bound=Request)
E = TypeVar("E", bound=Estimated)
P = TypeVar("P", bound=Plan[Any])


class Planning(ABC, Generic[R, E, P]):
    """How learners of one kind are planned, and what they take, whatever their examples are.

    - `publishes`: whether learners publish rules, which can be measured.
    - `has_trigger`: whether a learner pays for a trigger out of its part of the budget.
    - `gaussian`: whether all that learners are charged for can be booked as GDP.
    - `takes_less`: " or ..." and what else makes it take less memory; "" for nothing.
    """

    publishes: ClassVar[bool] = True
    has_trigger: ClassVar[bool]
    gaussian: ClassVar[bool] = False
    takes_less: ClassVar[str] = ""

    @abstractmethod
    def check(self, request: R, stream: StreamRequest) -> None:
        """Raise PlanError for what cannot be planned on this stream whatever the budget."""

    @abstractmethod
    def best(self, request: R, budget: Budget) -> E | None:
        """The best plan under one way to divide the budget; None if that pays for none."""

    @abstractmethod
    def cost(self, request: R, estimate: E) -> Cost:
        """What the request wants little of."""

    @abstractmethod
    def is_worthwhile(self, request: R, estimate: E, stream: StreamRequest) -> bool:
        """Whether a class that nobody named may be taken, as little is lost by it.

        `stream` has all learners with which the estimate was made.
        """

    @abstractmethod
    def why_not(self, request: R, stream: StreamRequest, budgets: tuple[Budget, ...]) -> str | None:
        """One sentence on why a learner has no plan by itself; None if that is not known.

        `budgets` are all ways to divide the budget that were tried.
        """

    @abstractmethod
    def snapshot_bytes_max(self, plan: P) -> int:
        """Most bytes of the learner's state in a snapshot."""

    @abstractmethod
    def memory_bytes_max(self, plan: P) -> int:
        """Memory that the learner may come to take, by a model."""


def planning_of(kind: str) -> Planning[Any, Any, Any]:
    """How learners of this kind are planned. Raises `littled.kinds.UnknownKind`."""
    planning: type[Planning[Any, Any, Any]] = load(kind_of(kind).planning)
    return planning()
