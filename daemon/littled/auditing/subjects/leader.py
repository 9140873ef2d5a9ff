"""Audits of scorecard learners, and a small one."""

from collections.abc import Mapping
from fractions import Fraction

from littled.auditing.online import engine_subject
from littled.auditing.streams import EXAMPLES_MAX, NoStreams, selection_pairs
from littled.auditing.subjects.small import HORIZON, alone
from littled.auditing.trials import Subject
from littled.budget.unit import EXAMPLE, Unit
from littled.classes.names import class_from_name
from littled.planner import StreamPlan, StreamRequest
from littled.planner.leader.plan import LeaderPlan
from littled.planner.leader.request import LeaderRequest

# Small learners by name: their horizons, and of how many examples of one user what is protected
# consists. The longer season begins with a stump, and has a trial.
SCORECARDS = {
    "scorecard": (HORIZON, EXAMPLE),
    "scorecard-trial": (96, EXAMPLE),
    "scorecard-users": (HORIZON, Unit(2)),
}


class LeaderAudits:
    """The audits of scorecard learners."""

    def small(self) -> Mapping[str, StreamRequest]:
        """Scorecards of two columns of three buckets."""
        hypotheses = class_from_name("scorecard:3x3")
        return {
            name: alone(LeaderRequest(name, hypotheses), horizon, unit)
            for name, (horizon, unit) in SCORECARDS.items()
        }

    def subject(self, stream: StreamPlan, plan: LeaderPlan, name: str) -> Subject:
        """The audit of one learner of a stream. NoStreams where its batches are too long."""
        p = plan.parameters
        stages = plan.learner(stream.stream).stages
        length = p.batch_examples * (stages[0] if stages else max(1, p.warmup))
        if length > EXAMPLES_MAX:
            raise NoStreams(
                f"learner {plan.name} has batches and a warm-up of more than {EXAMPLES_MAX:,} "
                "examples, too many for runs to be repeated; audit it with a smaller horizon"
            )
        points, pairs = selection_pairs(
            plan.hypotheses, length, Fraction(1), 0, p.user_examples_max or 1
        )
        words = f"{plan.hypotheses.name}, batches of {p.batch_examples}"
        return engine_subject(stream, plan, name, words, points, pairs)
