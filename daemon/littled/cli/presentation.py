"""What `littled plan` and `littled init` say about plans, whatever their kind."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.table import Table

from littled.budget.conversion import guarantee
from littled.cli.output import amount, console, number, print_json, print_pairs
from littled.cli.quality import quality_plan, quality_words
from littled.cli.tabling import REMARK, print_table
from littled.planner import StreamPlan, StreamRequest

# How prices are added up, for people.
ACCOUNTING = {"pure": "pure", "zcdp": "zCDP, converted", "gaussian": "GDP, exactly"}


@dataclass(frozen=True, slots=True)
class PlanReport:
    """A plan of one learner: as a JSON object, for people, and beside what else could be done."""

    facts: Mapping[str, Any]
    words: Mapping[str, str]
    comparison: Table


class KindPresentation(ABC):
    """How plans of one kind of learner are shown.

    heading: what the learners give. columns: of the table of a stream's learners.
    """

    heading: ClassVar[str]
    columns: ClassVar[Sequence[str]]

    @abstractmethod
    def report(self, request: StreamRequest) -> PlanReport:
        """The plan of a learner alone on its stream. PlanError where there is none."""

    @abstractmethod
    def rows(self, stream: StreamPlan) -> Iterator[Sequence[str]]:
        """What `columns` say of each learner of this kind."""

    def comparisons(self, stream: StreamPlan, request: StreamRequest) -> Iterator[Table]:
        """What else could have been done for the learners of a stream; here nothing."""
        return iter(())

    def notes(self, stream: StreamPlan, request: StreamRequest) -> Iterator[str]:
        """What to say of these learners besides, in a sentence each; here nothing."""
        return iter(())

    def hopeless(self, stream: StreamPlan, request: StreamRequest) -> Iterator[str]:
        """Which of these learners are expected to teach nothing worth its examples; here none."""
        return iter(())

    def show(self, request: StreamRequest, *, as_json: bool) -> None:
        """Print the plan of a learner alone on its stream. PlanError where there is none."""
        report = self.report(request)
        if as_json:
            print_json(report.facts, indent=2)
            return
        print_pairs(report.words)
        console().print()
        print_table(report.comparison)

    def table(self, stream: StreamPlan, title: str) -> Table:
        """The learners of this kind of a stream."""
        table = titled_table(title, self.columns)
        for row in self.rows(stream):
            table.add_row(*row)
        return table


def titled_table(title: str, columns: Sequence[str]) -> Table:
    """An empty table with its title at the left, as all of plans."""
    return Table(*columns, title=title, title_justify="left", title_style="bold")


def compared(title: str, what: str, figures: Sequence[str]) -> Table:
    """An empty table that compares what can be done by some figures, with a remark."""
    table = titled_table(title, (what,))
    for figure in figures:
        table.add_column(figure, justify="right")
    table.add_column(REMARK)
    return table


def stream_facts(stream: StreamPlan) -> dict[str, Any]:
    """What every plan says of its stream: budget, season, guarantee, and all of it as stored."""
    epsilon, delta = guarantee(stream.caps, stream.delta_z)
    return {
        "epsilon": float(stream.epsilon),
        "delta": float(stream.delta),
        "horizon": stream.horizon,
        "unit": stream.unit.word,
        "user_examples_max": stream.unit.user_examples_max,
        "guarantee": {"epsilon": float(epsilon), "delta": float(delta)},
        "quality": quality_plan(stream),
        "plan": stream.to_dict(),
    }


def stream_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """Budget and guarantee for people; `facts` with those of the stream, and "accounting"."""
    proven = facts["guarantee"]
    accounting = ACCOUNTING[facts["accounting"]]
    return {
        "budget": f"epsilon {amount(facts['epsilon'])}, delta {amount(facts['delta'])} for each "
        f"season of {number(facts['horizon'])} examples",
        "guarantee": f"({amount(proven['epsilon'])}, {amount(proven['delta'])})-differentially "
        f"private per {facts['unit']} ({accounting})",
        **({"quality": quality_words(facts["quality"])} if facts["quality"] else {}),
    }
