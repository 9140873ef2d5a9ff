"""What the command line says about learners that publish a value of each window."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from rich.table import Table

from littled.cli.output import amount, number
from littled.cli.presentation import (
    KindPresentation,
    PlanReport,
    compared,
    stream_facts,
    stream_words,
)
from littled.planner import StreamPlan, StreamRequest, plan_stream
from littled.planner.search import budgets_of
from littled.planner.window_values import ValueEstimate, ValuePlan, ValuePlanning, ValueRequest

# An error at which the paper's sizes are shown where none is asked for.
PAPER_ERROR = 0.05


class ValuePresentation(KindPresentation):
    """Plans of learners of values, for people.

    `plans`: the class of its plans. `methods`: each method in words.
    """

    columns: ClassVar[Sequence[str]] = ("learner", "class", "method", "window", "first rule")
    plans: ClassVar[type[ValuePlan[Any]]]
    methods: ClassVar[Mapping[str, str]]

    @property
    @abstractmethod
    def planning(self) -> ValuePlanning[Any, Any]:
        """How the kind is planned."""

    @abstractmethod
    def papers(self, request: ValueRequest, epsilon: float, delta: float) -> Iterator[str]:
        """What the paper's statements come to, a sentence each; `paper` of a plan's facts."""

    @abstractmethod
    def promise(self, facts: Mapping[str, Any]) -> str:
        """What is proven of a value, in words."""

    def report(self, request: StreamRequest) -> PlanReport:
        """The plan of a learner alone on its stream."""
        found = plan_stream(request)
        (plan,), (asked,) = found.of(self.plans), request.learners
        assert isinstance(asked, ValueRequest)
        options = self._options(request, asked)
        facts = self._facts(found, plan, asked, options, request)
        return PlanReport(facts, self._words(facts), self._table(facts))

    def rows(self, stream: StreamPlan) -> Iterator[Sequence[str]]:
        """Of each learner of the kind."""
        for plan in stream.of(self.plans):
            yield (
                plan.name,
                plan.hypotheses.name,
                plan.parameters.method,
                f"{number(plan.parameters.window)} examples",
                plan.hypotheses.first_rule().describe(plan.words),
            )

    def _options(
        self, request: StreamRequest, asked: ValueRequest
    ) -> dict[str, ValueEstimate[Any] | None]:
        """The best plan of each method, None where it has none."""
        planning, wanted = self.planning, {}
        for method in planning.methods:
            found = [
                option
                for budget in budgets_of(request)
                if (option := planning.estimate(asked, budget, method)) is not None
            ]
            wanted[method] = min(
                found,
                key=lambda option: (option.plan.parameters.window, option.alpha),
                default=None,
            )
        return wanted

    def _facts(
        self,
        stream: StreamPlan,
        plan: ValuePlan[Any],
        asked: ValueRequest,
        options: Mapping[str, ValueEstimate[Any] | None],
        request: StreamRequest,
    ) -> dict[str, Any]:
        """A plan of one learner as a JSON object; exact numbers are in `plan`."""
        p = plan.parameters
        chosen = options[p.method]
        return {
            "class": plan.hypotheses.name,
            **stream_facts(stream),
            "window": p.window,
            "windows_per_season": p.windows,
            "method": p.method,
            "accounting": p.accounting,
            "alpha": None if asked.alpha is None else float(asked.alpha),
            "alpha_proven": None if chosen is None else chosen.alpha,
            "margin": None if chosen is None else chosen.margin,
            "beta": float(asked.beta),
            "rate": float(p.rate),
            "rank": getattr(p, "rank", None),
            "solved_for": "alpha" if asked.alpha is None else "window",
            "methods": [
                {
                    "method": method,
                    "chosen": method == p.method,
                    "window": None if option is None else option.plan.parameters.window,
                    "alpha": None if option is None else option.alpha,
                    "remark": ""
                    if option
                    else self.planning.misfit(asked, method) or "no window is enough",
                }
                for method, option in options.items()
            ],
            "paper": list(self.papers(asked, float(request.epsilon), float(request.delta))),
        }

    def _words(self, facts: Mapping[str, Any]) -> dict[str, str]:
        """The same for people."""
        users = facts["user_examples_max"]
        return {
            "class": facts["class"],
            **stream_words(facts),
            **(
                {"users": f"the first {number(users)} examples of each and season"} if users else {}
            ),
            "windows": f"{number(facts['window'])} examples each, "
            f"{number(facts['windows_per_season'])} in a season; all of them cost what one does",
            "method": f"{facts['method']}: {self.methods[facts['method']]}",
            "proven": f"{self.promise(facts)}, in {amount(100 * (1 - facts['beta']))} % of the "
            "windows",
            **{f"Bun {index}": line for index, line in enumerate(facts["paper"], 1)},
        }

    def _table(self, facts: Mapping[str, Any]) -> Table:
        """What each method would need or reach."""
        solved = facts["solved_for"]
        table = compared("methods", "method", (f"{solved} proven",))
        for row in facts["methods"]:
            value = row[solved]
            shown = (
                "-" if value is None else (number(value) if solved == "window" else amount(value))
            )
            table.add_row(
                row["method"],
                shown,
                row["remark"] or self.methods[row["method"]],
                style="bold" if row["chosen"] else "",
            )
        return table
