"""What `littled plan` and `littled init` say about partition learners."""

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
from littled.planner.partition.plan import PartitionPlan


class PartitionPresentation(KindPresentation):
    """Plans of partition learners, for people."""

    heading: ClassVar[str] = "sets of blocks"
    columns: ClassVar[Sequence[str]] = ("learner", "class", "each epoch", "rules")

    def report(self, request: StreamRequest) -> PlanReport:
        """The plan of a partition learner alone on its stream."""
        found = plan_stream(request)
        (planned,) = found.of(PartitionPlan)
        facts = partition_facts(found, planned)
        return PlanReport(facts, partition_in_words(facts), epochs_table(planned))

    def rows(self, stream: StreamPlan) -> Iterator[Sequence[str]]:
        """Of each partition learner."""
        for plan in stream.of(PartitionPlan):
            p = plan.parameters
            yield (
                plan.name,
                plan.hypotheses.name,
                f"{number(p.schedule_cap)} examples",
                number(p.calls_max),
            )


def partition_facts(stream: StreamPlan, learner: PartitionPlan) -> dict[str, Any]:
    """A plan of one learner as a JSON object; exact numbers are in `plan`."""
    p = learner.parameters
    return {
        "class": learner.hypotheses.name,
        "littlestone_dimension": learner.hypotheses.littlestone_dimension,
        **stream_facts(stream),
        "accounting": p.accounting,
        "rate": float(p.rate),
        "count_noise": 2**0.5 / float(p.rate),
        "divided_from": p.divided_from,
        "parts_max": p.parts_max,
        "first_epoch": p.schedule_first,
        "epoch_examples": p.schedule_cap,
        "rules_per_season": p.calls_max,
    }


def partition_in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """The same for people."""
    users = facts["user_examples_max"]
    return {
        "class": f"{facts['class']}, Littlestone dimension at most "
        f"{number(facts['littlestone_dimension'])}",
        **stream_words(facts),
        **({"users": f"the first {number(users)} examples of each and season"} if users else {}),
        "epochs": f"of {number(facts['first_epoch'])} examples, doubling up to "
        f"{number(facts['epoch_examples'])}",
        "rules": f"{number(facts['rules_per_season'])} in a season, for one price",
        "noise": f"moves a count by about {amount(facts['count_noise'])} examples",
        "blocks": f"up to {number(facts['parts_max'])} are counted, divided from "
        f"{number(facts['divided_from'])} labels of the rarer kind on",
    }


def epochs_table(learner: PartitionPlan) -> Table:
    """After how many examples rules are published."""
    p = learner.parameters
    table = compared("rules", "after examples", ("version",))
    ends, end = [], 0
    for call in range(p.calls_max):
        end += p.epoch_length(call) or 0
        ends.append(end)
    for place in sorted({0, 1, 2, 3, 7, len(ends) // 2, len(ends) - 1}):
        if 0 <= place < len(ends):
            remark = "the last of a season" if place == len(ends) - 1 else ""
            table.add_row(number(ends[place]), number(place + 2), remark)
    return table
