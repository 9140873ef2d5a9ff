"""What `littled plan` and `littled init` say about scorecard learners."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from rich.table import Table

from littled.classes.capabilities import needed
from littled.cli.output import amount, number
from littled.cli.presentation import (
    KindPresentation,
    PlanReport,
    compared,
    stream_facts,
    stream_words,
)
from littled.learners.leader.learner import published_after
from littled.planner import StreamPlan, StreamRequest, plan_stream
from littled.planner.leader.plan import LeaderPlan
from littled.planner.leader.search import score_noise


class LeaderPresentation(KindPresentation):
    """Plans of scorecard learners, for people."""

    heading: ClassVar[str] = "scorecards"
    columns: ClassVar[Sequence[str]] = ("learner", "columns", "each batch", "noise of a score")

    def report(self, request: StreamRequest) -> PlanReport:
        """The plan of a scorecard learner alone on its stream."""
        found = plan_stream(request)
        (planned,) = found.of(LeaderPlan)
        facts = scorecard_facts(found, planned)
        return PlanReport(facts, scorecard_in_words(facts), batches_table(planned))

    def rows(self, stream: StreamPlan) -> Iterator[Sequence[str]]:
        """Of each scorecard learner."""
        for plan in stream.of(LeaderPlan):
            yield (
                plan.name,
                str(len(needed(plan.hypotheses.additive).sizes)),
                f"{number(plan.parameters.batch_examples)} examples",
                f"{score_noise(plan.parameters):.2f}",
            )


def scorecard_facts(stream: StreamPlan, learner: LeaderPlan) -> dict[str, Any]:
    """A plan of one learner as a JSON object; exact numbers are in `plan`."""
    p, rules = learner.parameters, needed(learner.hypotheses.additive)
    return {
        "class": learner.hypotheses.name,
        "columns": len(rules.sizes),
        "buckets": sum(rules.sizes),
        "dimensions": rules.features(p.cosines, p.flags_from).dimensions,
        **stream_facts(stream),
        "accounting": p.accounting,
        "batch_examples": p.batch_examples,
        "batches_per_season": p.batches + p.warmup,
        "warmup_examples": p.warmup * p.batch_examples,
        "rules_per_season": sum(1 for _ in published_after(p)),
        "learning_rate": float(p.learning_rate),
        "score_noise": score_noise(p),
    }


def scorecard_in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """The same for people."""
    users = facts["user_examples_max"]
    warmup = facts["warmup_examples"]
    return {
        "class": f"{facts['columns']} columns with {number(facts['buckets'])} buckets in all",
        **stream_words(facts),
        **({"users": f"the first {number(users)} examples of each and season"} if users else {}),
        "batches": f"{number(facts['batches_per_season'])} in a season, of "
        f"{number(facts['batch_examples'])} examples each",
        "rules": f"{number(facts['rules_per_season'])} in a season, for one price",
        "warm-up": f"{number(warmup)} examples, then the mean row is released"
        if warmup
        else "none: the mean row would be mostly noise",
        "noise": f"moves the log odds of a usual row by {facts['score_noise']:.2f} at the end",
        "learning rate": amount(facts["learning_rate"]),
    }


def batches_table(learner: LeaderPlan) -> Table:
    """After how many examples rules are published."""
    p = learner.parameters
    table = compared("rules", "after examples", ("version",))
    numbers = list(published_after(p))
    shown = sorted({0, 1, 2, 3, 7, len(numbers) // 4, len(numbers) // 2, len(numbers) - 1})
    for place in shown:
        if 0 <= place < len(numbers):
            remark = "the last of a season" if place == len(numbers) - 1 else ""
            table.add_row(number(numbers[place] * p.batch_examples), number(place + 2), remark)
    return table
