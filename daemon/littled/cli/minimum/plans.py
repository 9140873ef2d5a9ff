"""What `littled plan` and `littled init` say about learners of robust minima."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from littled.classes.capabilities import needed
from littled.cli.output import amount, number
from littled.cli.window_values import PAPER_ERROR, ValuePresentation
from littled.planner.minimum.plan import MinimumPlan
from littled.planner.minimum.search import LN2, MinimumPlanning
from littled.planner.window_values import ValuePlan, ValueRequest
from littled.portable import log


class MinimumPresentation(ValuePresentation):
    """Plans of learners of robust minima, for people."""

    heading: ClassVar[str] = "robust minima of windows"
    plans: ClassVar[type[ValuePlan[Any]]] = MinimumPlan
    methods: ClassVar[Mapping[str, str]] = {
        "exponential": "among all numbers",
        "stable": "a length of prefixes, a prefix of it, and an end of its block",
    }

    @property
    def planning(self) -> MinimumPlanning:
        """Its planning."""
        return MinimumPlanning()

    def promise(self, facts: Mapping[str, Any]) -> str:
        """Between alpha n and 2 alpha n."""
        n = facts["window"]
        alpha = facts["alpha_proven"] if facts["alpha"] is None else facts["alpha"]
        return (
            f"an alpha-robust minimum with alpha {amount(alpha)}: at least "
            f"{number(int(alpha * n))} examples up to it and at most {number(int(2 * alpha * n))} "
            "below it, or never"
        )

    def papers(self, request: ValueRequest, epsilon: float, delta: float) -> Iterator[str]:
        """Theorem 13, whose first part has a constant in its proof."""
        alpha, beta = float(request.alpha or PAPER_ERROR), float(request.beta)
        numbers = needed(request.hypotheses.least_numbers).number_bits * LN2
        pure = 4 * (numbers - log(beta)) / (alpha * epsilon)
        yield (
            f"Theorem 13, Min_pure: 4 ln(R/beta)/(alpha epsilon) = {number(int(pure) + 1)} "
            f"examples for alpha {amount(alpha)}"
        )
        yield (
            "Theorem 13, Min_approx: (log* R)^1.5 ln(1/delta)^1.5 ln(1/beta)/(alpha epsilon) times "
            "a constant and logarithms that are not given"
        )
