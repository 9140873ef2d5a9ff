"""Models of what one joint training takes: measured on one core, not promised.

Memory is the most that a training can take, whatever the examples are, so that a plan can be
refused before it is used (`littled.planner.sizes`). It is made of

- *rows*: what a season has kept, once in the learner, joined in one column each, and written to a
  snapshot, or to a pipe and from there into the other process: `ROW_COPIES` and
  `ROW_COPIES_PROCESS` times in all;
- *candidates* of a selection without essential lists: for each kept example as many bytes as its
  class takes to propose, to close or to flip (`_proposing_bytes`);
- *essential lists*: what a teacher has of an epoch (`SHARE_BYTES`), the lists of all teachers,
  each as long as it may be, with the text by which keys are ordered (`_key_bytes`), and the version
  space of one teacher at a time (`space_bytes`).

The constants were measured with `tracemalloc`, over 2,000 and 20,000 different points in 1 to 100
epochs with shares of 2 % to 100 % of positive labels, and rounded up.
"""

import math
from functools import lru_cache

from littled.classes import (
    AffineSubspaces,
    Conjunctions,
    HypothesisClass,
    PointFunctions,
    Prefixes,
    SparseSets,
)
from littled.classes.table import Table
from littled.planner.online.plan import LearnerPlan
from littled_protocol.columns import point_type

# Seconds and bytes of one joint training, fitted to benchmarks.retrain.
FIXED_SECONDS = 0.002
RULE_SECONDS, RULE_BYTES = 20e-9, 35
# of a table, whose rows have to be gone through
CELL_SECONDS = 1e-9
CANDIDATE_SECONDS, CANDIDATE_BYTES = 0.15e-6, 130
# of what one teacher has of one epoch: two views and what holds them
SHARE_SECONDS, SHARE_BYTES = 60e-6, 350
# of the process in which the lists of teachers are made (littled.service.training)
PROCESS_BYTES = 50_000_000

# Of a kept example beside its point: label, mistake, priority and the teacher's word.
LABELS_BYTES = 1 + 1 + 8 + 8
ROW_COPIES, ROW_COPIES_PROCESS = 6, 9
# Where users are protected: of a kept example, of numbering the users of all of them, and of each
# user in one of the two counts, once, and while counts are merged and written.
USER_BYTES, USER_NUMBER_BYTES, COUNT_BYTES, COUNT_COPIES = 16, 64, 20, 8
# Beside the first, the background may hold so many examples more until it is cut again.
BACKGROUND_SLACK = 1024
# What one integer of a set, a vector or a mask takes in Python, with its place in a tuple.
INTEGER_BYTES = 52
# A key on a list, among the votes and in the order of candidates, beside the key itself.
KEY_BYTES = 300
# The search for sets: branches, each of ids left out and of errors on each epoch.
BRANCHES, BRANCH_BYTES = 20_000, 2_000


def retrain_seconds(plan: LearnerPlan) -> float:
    """About how long one joint training takes when the season has kept all it may."""
    parameters = plan.parameters
    if parameters.selection == "dense":
        rules = plan.hypotheses.rule_count or 0
        cells = rules * plan.hypotheses.points if isinstance(plan.hypotheses, Table) else 0
        return FIXED_SECONDS + RULE_SECONDS * rules + CELL_SECONDS * cells
    if has_essential_lists(plan):
        return FIXED_SECONDS + SHARE_SECONDS * (parameters.teachers or 0) * _epochs(plan)
    candidates = examples_max(plan) * (plan.hypotheses.proposals_per_example or 1)
    return FIXED_SECONDS + CANDIDATE_SECONDS * candidates


def retrain_memory_bytes(plan: LearnerPlan) -> int:
    """The most memory that keeping, storing and training take at once, whatever is kept."""
    hypotheses, parameters = plan.hypotheses, plan.parameters
    counted = counts_max(plan) * COUNT_BYTES * COUNT_COPIES
    if parameters.selection == "dense":
        return counted + RULE_BYTES * (hypotheses.rule_count or 0)
    rows = rows_max(plan)
    if parameters.user_examples_max is not None:
        counted += rows * USER_NUMBER_BYTES
    if not has_essential_lists(plan):
        proposing = _proposing_bytes(plan, examples_max(plan))
        return counted + rows * ROW_COPIES * row_bytes(plan) + proposing
    teachers = parameters.teachers or 1
    own = examples_of_one_teacher(rows, teachers, parameters.user_examples_max or 1)
    keys = teachers * parameters.list_cap
    return (
        counted
        + PROCESS_BYTES
        + rows * (ROW_COPIES_PROCESS * row_bytes(plan) + INTEGER_BYTES)
        + teachers * _epochs(plan) * SHARE_BYTES
        + keys * (KEY_BYTES + _key_bytes(hypotheses, own))
        + space_bytes(hypotheses, own, _epochs(plan))
    )


def has_essential_lists(plan: LearnerPlan) -> bool:
    """Whether teachers list the essential hypotheses of their own examples (Algorithm 4)."""
    return plan.parameters.selection == "sparse" and plan.parameters.teachers is not None


def examples_max(plan: LearnerPlan) -> int:
    """Most examples that a training learns from: the background of each epoch, and mistakes."""
    if plan.parameters.selection == "dense":
        return 0
    return _mistakes_max(plan) + _epochs(plan) * plan.parameters.background_max


def rows_max(plan: LearnerPlan) -> int:
    """Most examples that a learner holds at a time, M being the mistakes that it may keep.

    A buffer without a background of b examples holds mistakes only. With one it is cut whenever it
    has more than 2b + BACKGROUND_SLACK examples, to b and the mistakes. Each of the other epochs
    that are remembered has b and its mistakes; the epoch after the last call keeps nothing. So
    before call number c + 1 there are at most M + c b + b + b + BACKGROUND_SLACK examples, c being
    one less than the number of epochs at the most, and none are added after the last call. A dense
    learner holds counts instead.
    """
    background = plan.parameters.background_max
    if plan.parameters.selection == "dense" or not background:
        return examples_max(plan)
    return examples_max(plan) + background + BACKGROUND_SLACK


@lru_cache(maxsize=256)
def _mistakes_max(plan: LearnerPlan) -> int:
    """Most mistakes that a season keeps, computed once: making a learner makes tables of noise."""
    return plan.learner("").mistakes_kept_max


def row_bytes(plan: LearnerPlan) -> int:
    """Bytes of one kept example: its point, `LABELS_BYTES`, and its user where users count."""
    users = 0 if plan.parameters.user_examples_max is None else USER_BYTES
    return point_type(plan.hypotheses.point_type).itemsize_bytes + LABELS_BYTES + users


def counts_max(plan: LearnerPlan) -> int:
    """Most users that both counts of a season hold together; 0 where examples are protected.

    The trigger counts mistakes. Kept are these, for which one count serves, or the background of
    each epoch besides, or instead; a dense learner counts every example, if it does not count
    mistakes only.
    """
    p = plan.parameters
    if p.user_examples_max is None:
        return 0
    counted = min(p.horizon, _mistakes_counted_max(plan))
    if p.buffer == "mistakes" and p.schedule_first is None:
        return counted
    kept = p.calls_max * p.background_max
    if p.selection == "dense":
        kept = p.horizon
    elif p.keeps_mistakes:
        kept += counted if p.schedule_first is None else p.calls_max * _mistakes_max(plan)
    return counted + min(p.horizon, kept)


@lru_cache(maxsize=256)
def _mistakes_counted_max(plan: LearnerPlan) -> int:
    """Most mistakes that a season's trigger counts, computed once like `_mistakes_max`."""
    return plan.learner("").mistakes_counted_max


def examples_of_one_teacher(examples: int, teachers: int, of_a_user: int = 1) -> int:
    """Most examples that secret words give to one of k teachers, but for a chance below 2^-64.

    m + t or more, with m = examples / k the mean, come to one teacher with probability at most
    exp(-t^2 / (2m + 2t/3)), by Chernoff's bound; whoever chooses the examples does not know the
    words. With t = 10 sqrt(m) + 100 that is below exp(-49) for every m. Where up to c examples of a
    user have one word, it is so for m / c and t / c.
    """
    mean = -(-examples // teachers)
    return min(examples, mean + 10 * math.isqrt(mean * of_a_user) + 100 * of_a_user)


def _epochs(plan: LearnerPlan) -> int:
    """Epochs of a season that the last of its trainings looks at."""
    return 1 if plan.parameters.fresh else max(1, plan.parameters.calls_max)


def _proposing_bytes(plan: LearnerPlan, examples: int) -> int:
    """Bytes of a selection without essential lists from so many examples."""
    hypotheses = plan.hypotheses
    if plan.parameters.selection != "closure":
        return examples * CANDIDATE_BYTES * (hypotheses.proposals_per_example or 1)
    if isinstance(hypotheses, AffineSubspaces):
        # an offset and a basis for everybody who proposes a closure
        words = (hypotheses.dimension + 1) * -(-hypotheses.bits // 64)
        return examples * 300 + _proposing(plan, examples) * 50 * words
    return examples * 300


def _proposing(plan: LearnerPlan, examples: int) -> int:
    """Most teachers of one call, of so many examples at the most.

    Where each example is one, they are those of an epoch with that rung's threshold, if the calls
    see their own epoch only.
    """
    rungs = plan.parameters.rungs
    spare = max(rung.trigger_threshold for rung in rungs) if plan.parameters.fresh else 0
    return max(
        examples - spare + (rung.trigger_threshold if plan.parameters.fresh else 0)
        if rung.teachers is None
        else min(rung.teachers, examples)
        for rung in rungs
    )


def _key_bytes(hypotheses: HypothesisClass, examples: int) -> int:
    """Bytes of one key of an essential list, and of the text that orders it among the others.

    `examples`: that the teacher has at the most; no set has more members than it has examples.
    """
    if isinstance(hypotheses, SparseSets):
        # the ids themselves are counted with the examples; a place in the tuple, and digits
        return min(hypotheses.members, examples) * (8 + _digits(hypotheses.bits))
    if isinstance(hypotheses, AffineSubspaces):
        return (hypotheses.dimension + 1) * (INTEGER_BYTES + _digits(hypotheses.bits))
    if isinstance(hypotheses, Conjunctions):
        return INTEGER_BYTES + hypotheses.bits // 4 + _digits(2 * hypotheses.bits)
    return 2 * (INTEGER_BYTES + _digits(128))


def _digits(bits: int) -> int:
    """Characters of an integer of so many bits in decimal, with a comma and a space."""
    return bits * 302 // 1000 + 3


def space_bytes(hypotheses: HypothesisClass, examples: int, epochs: int) -> int:
    """Bytes for the version space of one teacher with so many examples in so many epochs."""
    if isinstance(hypotheses, PointFunctions | SparseSets):
        search = BRANCHES * (BRANCH_BYTES + 8 * epochs)
        return search + examples * (400 + 32 * epochs)
    if isinstance(hypotheses, Conjunctions):
        # 8 bytes for each literal of a point, and for each neighbour of a conjunction at it
        rules = 3**8 * (3_000 + 32 * epochs)
        return rules + examples * (400 + 52 * hypotheses.bits + 32 * epochs)
    if isinstance(hypotheses, AffineSubspaces):
        return examples * (400 + 30 * hypotheses.dimension + 16 * epochs)
    if isinstance(hypotheses, Prefixes):
        return examples * (300 + 16 * epochs)
    # counts of a class for dense selection, and scores of all of its rules
    return 8 * RULE_BYTES * (hypotheses.rule_count or 0) + examples * 64
