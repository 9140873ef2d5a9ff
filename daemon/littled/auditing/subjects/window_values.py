"""Audits of learners that publish a value of each window."""

from collections.abc import Mapping
from typing import Any

from littled.auditing.online import engine_subject
from littled.auditing.streams import EXAMPLES_MAX, NoStreams, selection_pairs
from littled.auditing.subjects.small import alone
from littled.auditing.trials import Subject
from littled.budget.unit import EXAMPLE, Unit
from littled.classes.names import class_from_name
from littled.planner import StreamPlan, StreamRequest
from littled.planner.window_values import ValuePlan, ValueRequest

# Two windows, of which the first tells the streams apart.
WINDOW = 128


def small_of(
    kind: type[ValueRequest],
    learners: Mapping[str, tuple[str, dict[str, Any]]],
    of_users: Mapping[str, Unit],
) -> Mapping[str, StreamRequest]:
    """Small learners of a kind by name, each alone on its stream."""
    return {
        name: alone(
            kind(name, class_from_name(class_name), window=WINDOW, **asked),
            2 * WINDOW,
            of_users.get(name, EXAMPLE),
        )
        for name, (class_name, asked) in learners.items()
    }


def window_subject(stream: StreamPlan, plan: ValuePlan[Any], name: str, bottom: int) -> Subject:
    """The audit of one learner: examples at the rank, or about as many as bottom has, differ.

    NoStreams where its window is too long.
    """
    p = plan.parameters
    if p.window > EXAMPLES_MAX:
        raise NoStreams(
            f"learner {plan.name} has windows of more than {EXAMPLES_MAX:,} examples, too many "
            "for runs to be repeated; audit it with a smaller window"
        )
    points, pairs = selection_pairs(
        plan.hypotheses, p.window, p.rate, bottom, p.user_examples_max or 1
    )
    return engine_subject(
        stream, plan, name, f"{plan.hypotheses.name}, values by {p.method}", points, pairs
    )
