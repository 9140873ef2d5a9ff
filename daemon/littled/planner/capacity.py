"""What all learners of a stream may take together, and what one published rule may.

Each learner is within the limits alone (`littled.planner.online.sizes` says why there are limits).
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from littled.classes.hypothesis import HypothesisClass
from littled.planner.planning import planning_of
from littled.planner.plans import Plan, PublishingPlan
from littled_protocol import limits
from littled_protocol.codec import encode
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import Release
from littled_protocol.rules import MajorityRule

# A snapshot of a whole stream: half of what SQLite stores as one value.
SNAPSHOT_BYTES_MAX = 500_000_000
# What is counted of one user, and of a period otherwise.
USER_BYTES, FIGURE_BYTES = 20, 1024
# Memory that the learners of a stream may come to take.
MEMORY_BYTES_MAX = 4 << 30


def misfit_together(plans: Sequence[Plan[Any]]) -> str | None:
    """Why the learners of a stream exceed a limit together, and what to change; or None."""
    planned = [(planning_of(plan.kind), plan) for plan in plans]
    counts = sum(map(_counts_bytes_max, plans))
    snapshots = counts + sum(planning.snapshot_bytes_max(plan) for planning, plan in planned)
    memory = 2 * counts + sum(planning.memory_bytes_max(plan) for planning, plan in planned)
    smaller = "".join(dict.fromkeys(planning.takes_less for planning, _ in planned))
    for what, most, total in (
        ("snapshot", SNAPSHOT_BYTES_MAX, snapshots),
        ("memory", MEMORY_BYTES_MAX, memory),
    ):
        if total > most:
            return (
                f"the learners of this stream can come to {total:,} bytes of {what} together, more "
                f"than {most:,}; give some of them a stream of their own{smaller}"
            )
    return None


def _counts_bytes_max(plan: Plan[Any]) -> int:
    """Most bytes of what is counted of mistakes: whose were, where users are protected."""
    if not isinstance(plan, PublishingPlan) or plan.quality is None:
        return 0
    users = plan.parameters.user_examples_max is not None
    return FIGURE_BYTES + (USER_BYTES * plan.quality.period if users else 0)


@lru_cache(maxsize=256)
def fits_a_frame(hypotheses: HypothesisClass, draws: int) -> bool:
    """Whether a release of any majority of so many rules of the class can be encoded.

    Tried with the class's longest rule, the longest names and the greatest numbers.
    """
    rule = hypotheses.longest_rule
    most = limits.integer_max
    name = "s" * limits.name_characters_max
    published = MajorityRule((rule,) * draws) if draws > 1 else rule
    try:
        encode(Release(f"{name}/{name}", most, "season", most, most, most, published.to_dict()))
    except ProtocolError:
        return False
    return True
