"""Audits of partition learners, and small ones."""

from collections.abc import Mapping
from fractions import Fraction

from littled.auditing.online import engine_subject
from littled.auditing.streams import EXAMPLES_MAX, NoStreams, selection_pairs
from littled.auditing.subjects.small import alone
from littled.auditing.trials import Subject
from littled.budget.unit import EXAMPLE, Unit
from littled.classes.names import class_from_name
from littled.planner import StreamPlan, StreamRequest
from littled.planner.partition.plan import PartitionPlan
from littled.planner.partition.request import PartitionRequest

# Small learners by name, and of how many examples of one user what is protected consists.
SETS = {"prefix-sets": EXAMPLE, "prefix-sets-users": Unit(2)}


class PartitionAudits:
    """The audits of partition learners."""

    def small(self) -> Mapping[str, StreamRequest]:
        """Sets of up to two blocks of four addresses."""
        hypotheses = class_from_name("prefix_sets:2:2")
        return {
            name: alone(PartitionRequest(name, hypotheses), unit=unit)
            for name, unit in SETS.items()
        }

    def subject(self, stream: StreamPlan, plan: PartitionPlan, name: str) -> Subject:
        """The audit of one learner of a stream. NoStreams where its epochs are too long."""
        p = plan.parameters
        if p.schedule_first > EXAMPLES_MAX:
            raise NoStreams(
                f"learner {plan.name} has epochs of more than {EXAMPLES_MAX:,} examples, too many "
                "for runs to be repeated; audit it with a smaller horizon"
            )
        points, pairs = selection_pairs(
            plan.hypotheses, p.schedule_first, Fraction(p.rate), 0, p.user_examples_max or 1
        )
        words = f"{plan.hypotheses.name}, epochs of {p.schedule_first} and more"
        return engine_subject(stream, plan, name, words, points, pairs)
