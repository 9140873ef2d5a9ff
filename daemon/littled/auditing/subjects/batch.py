"""Audits of window learners, and small ones of every method."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from littled.auditing.online import engine_subject
from littled.auditing.streams import EXAMPLES_MAX, NoStreams, selection_pairs
from littled.auditing.subjects.small import alone
from littled.auditing.trials import Subject
from littled.budget.unit import EXAMPLE, Unit
from littled.classes.names import class_from_name
from littled.planner import StreamPlan, StreamRequest
from littled.planner.batch.plan import BatchPlan
from littled.planner.batch.request import BatchRequest

# Two windows, of which the first tells the streams apart.
WINDOW = 8
NOISE_RATE = Fraction(1, 10)

# Small learners by name: the class, and how a rule is drawn; a window that is longer than usual.
WINDOWS: dict[str, tuple[str, dict[str, Any]]] = {
    "window-dense": ("thresholds:2", {"method": "dense"}),
    "window-histogram": ("points:8", {"method": "histogram"}),
    "window-histogram-noisy": ("points:8", {"method": "histogram", "noise_rate": NOISE_RATE}),
    "window-proposals": ("prefixes:8", {"method": "proposals"}),
    "window-closure": ("conjunctions:3", {"method": "closure"}),
    "window-teachers": ("thresholds:2", {"method": "teachers"}),
    "window-boosted": ("scorecard:2", {"method": "boosted", "window": 32}),
    "window-users": ("thresholds:2", {"method": "dense"}),
}
# Of which so many examples of one user are protected together, instead of single examples.
OF_USERS = {"window-users": Unit(2)}


class BatchAudits:
    """The audits of window learners."""

    def small(self) -> Mapping[str, StreamRequest]:
        """The learners of `WINDOWS`."""
        return {
            name: alone(
                BatchRequest(name, class_from_name(class_name), **{"window": WINDOW, **asked}),
                2 * asked.get("window", WINDOW),
                OF_USERS.get(name, EXAMPLE),
            )
            for name, (class_name, asked) in WINDOWS.items()
        }

    def subject(self, stream: StreamPlan, plan: BatchPlan, name: str) -> Subject:
        """The audit of one learner of a stream. NoStreams where its window is too long."""
        p = plan.parameters
        if p.window > EXAMPLES_MAX:
            raise NoStreams(
                f"learner {plan.name} has windows of more than {EXAMPLES_MAX:,} examples, too many "
                "for runs to be repeated; audit it with a smaller window"
            )
        points, pairs = selection_pairs(
            plan.hypotheses, p.window, p.rate, p.bottom_score, p.user_examples_max or 1
        )
        words = f"{plan.hypotheses.name}, windows by {plan.parameters.method}"
        return engine_subject(stream, plan, name, words, points, pairs)
