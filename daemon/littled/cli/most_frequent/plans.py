"""What `littled plan` and `littled init` say about learners of most frequent items."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from littled.classes.capabilities import needed
from littled.cli.output import amount, number
from littled.cli.window_values import PAPER_ERROR, ValuePresentation
from littled.planner.most_frequent.plan import MostFrequentPlan
from littled.planner.most_frequent.search import LN2, MostFrequentPlanning
from littled.planner.window_values import ValuePlan, ValueRequest
from littled.portable import log


class MostFrequentPresentation(ValuePresentation):
    """Plans of learners of most frequent items, for people."""

    heading: ClassVar[str] = "most frequent items of windows"
    plans: ClassVar[type[ValuePlan[Any]]] = MostFrequentPlan
    methods: ClassVar[Mapping[str, str]] = {
        "exponential": "among all items there are",
        "stable": "among the items that examples report, and none of them",
    }

    @property
    def planning(self) -> MostFrequentPlanning:
        """Its planning."""
        return MostFrequentPlanning()

    def promise(self, facts: Mapping[str, Any]) -> str:
        """A gap of alpha n."""
        alpha = facts["alpha_proven"] if facts["alpha"] is None else facts["alpha"]
        gap = number(int(alpha * facts["window"]))
        return (
            f"the item that {gap} examples report, if every other one has {gap} fewer (alpha "
            f"{amount(alpha)} of the window)"
        )

    def papers(self, request: ValueRequest, epsilon: float, delta: float) -> Iterator[str]:
        """Theorem 15; the constant of its first part is that of Theorem 10."""
        alpha, beta = float(request.alpha or PAPER_ERROR), float(request.beta)
        numbers = needed(request.hypotheses.items).item_bits * LN2
        gap = 2 * (numbers - log(beta)) / epsilon
        yield (
            f"Theorem 15, Freq_pure: a gap of 2 ln(R/beta)/epsilon = {number(int(gap) + 1)}, so "
            f"{number(int(gap / alpha) + 1)} examples for alpha {amount(alpha)}"
        )
        n = request.window or gap / alpha
        approximate = log(n / (delta * beta)) / epsilon
        yield (
            f"Theorem 15, Freq_approx: a gap of ln(n/(delta beta))/epsilon = "
            f"{number(int(approximate) + 1)} times a constant that is not given"
        )
