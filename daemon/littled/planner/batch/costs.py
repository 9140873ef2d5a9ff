"""What a window learner may take, whatever its examples are; models for people, and limits."""

import math

from littled.classes.capabilities import needed
from littled.learners.batch.boosting import RESIDUAL_STEPS
from littled.planner.batch.plan import BatchPlan
from littled_protocol import limits
from littled_protocol.columns import point_type

# Besides points and labels, an example has its chunk, and is sorted.
EXAMPLE_BYTES = 80
RULE_BYTES = 120
# A candidate of lists or of examples, with its key.
CANDIDATE_BYTES = 160
# Of an example's bucket in each column, and of one distance in the table of a mechanism's weights.
CELL_BYTES, DISTANCE_BYTES = 10, 64
# A user's two words, and the count; twice while counts are merged.
USER_BYTES = 2 * 20
STATE_BYTES = limits.frame_bytes_max + 4096
# Seconds: an example that is sorted, a rule that is weighed, a chunk's list, a candidate.
EXAMPLE_SECONDS, RULE_SECONDS, CHUNK_SECONDS, CANDIDATE_SECONDS = 1e-6, 20e-9, 1e-3, 1e-6
# Of an example in a round, for each column.
CELL_SECONDS = 3e-9
# Distances beyond so many multiples of 1/rate have no weight.
DISTANCES = 89


def snapshot_bytes_max(plan: BatchPlan) -> int:
    """Most bytes of the learner's state in a snapshot: a window, the rule, and who was counted."""
    p = plan.parameters
    users = p.user_examples_max is not None
    row = point_type(plan.hypotheses.point_type).itemsize_bytes + 1 + (16 if users else 0)
    return p.window * row + (p.horizon * 20 if users else 0) + STATE_BYTES


def memory_bytes_max(plan: BatchPlan) -> int:
    """About how much memory drawing a rule takes at the most."""
    p = plan.parameters
    users = USER_BYTES * p.horizon if p.user_examples_max is not None else 0
    candidates = CANDIDATE_BYTES * candidates_max(plan)
    return (
        snapshot_bytes_max(plan)
        + EXAMPLE_BYTES * p.window
        + RULE_BYTES * _weighed(plan)
        + users
        + candidates
        + _boosting_bytes(plan)
    )


def _boosting_bytes(plan: BatchPlan) -> int:
    """Of a window's cells, and of the weights that stumps are drawn by."""
    p = plan.parameters
    if p.method != "boosted":
        return 0
    distances = math.ceil(DISTANCES * RESIDUAL_STEPS / p.rate)
    return CELL_BYTES * p.window * _columns(plan) + DISTANCE_BYTES * distances


def _columns(plan: BatchPlan) -> int:
    return len(needed(plan.hypotheses.additive).sizes)


def candidates_max(plan: BatchPlan) -> int:
    """Most candidates of one draw from lists."""
    p = plan.parameters
    return max(p.chunks, p.window if p.method == "proposals" else 0) * p.list_cap


def draw_seconds(plan: BatchPlan) -> float:
    """About how long a window's rule takes."""
    p = plan.parameters
    lists = CHUNK_SECONDS * p.chunks if p.method == "teachers" else 0.0
    rules = RULE_SECONDS * _weighed(plan)
    if p.method == "boosted":
        rules = CELL_SECONDS * p.rounds * p.window * (_columns(plan) + 8)
    return rules + lists + EXAMPLE_SECONDS * p.window + CANDIDATE_SECONDS * candidates_max(plan)


def _weighed(plan: BatchPlan) -> int:
    """Rules that are weighed: all of them, or none."""
    return needed(plan.hypotheses.dense).rule_count if plan.parameters.method == "dense" else 0
