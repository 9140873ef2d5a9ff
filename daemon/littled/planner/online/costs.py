"""Models of what one joint training takes: measured on one core, not promised.

Memory is the most that a training can take, whatever the examples are, so that a plan can be
refused before it is used (`littled.planner.sizes`). It is made of

- *rows*: what a season has kept, once in the learner, joined in one column each, and written to a
  snapshot, or to a pipe and from there into the other process: 6 times in all, or 9 times;
- *candidates* of a selection without essential lists: for each kept example as many bytes as its
  class takes to propose, to close or to flip;
- *essential lists*: what a teacher has of an epoch, the lists of all teachers, each as long as it
  may be, with the text by which keys are ordered (`key_bytes` of the class), and the version space
  of one teacher at a time (`space_bytes`);
- *counts* of users, where users are protected.

What a way of selection does is up to it (`littled.learners.online.selections`). Seconds were fitted
to `benchmarks.retrain`; bytes were measured with `tracemalloc` and rounded up.
"""

from functools import lru_cache

from littled.learners.online.keeping import BACKGROUND_SLACK
from littled.learners.online.selections.base import Load
from littled.planner.online.plan import OnlinePlan

# Seconds of one joint training, and of what it does for each unit of `Work`.
FIXED_SECONDS = 0.002
RULE_SECONDS, CELL_SECONDS = 20e-9, 1e-9
CANDIDATE_SECONDS, SHARE_SECONDS = 0.15e-6, 60e-6

# Where users are protected: each user in one of the two counts, once, and while counts are merged
# and written.
COUNT_BYTES, COUNT_COPIES = 20, 8


def retrain_seconds(plan: OnlinePlan) -> float:
    """About how long one joint training takes when the season has kept all it may."""
    work = plan.selection.work(plan.hypotheses, load(plan))
    seconds = FIXED_SECONDS + RULE_SECONDS * work.rules + CELL_SECONDS * work.cells
    seconds += CANDIDATE_SECONDS * work.candidates
    return seconds + SHARE_SECONDS * work.teachers * work.epochs


def retrain_memory_bytes(plan: OnlinePlan) -> int:
    """The most memory that keeping, storing and training take at once, whatever is kept."""
    counted = counts_max(plan) * COUNT_BYTES * COUNT_COPIES
    return counted + plan.selection.memory_bytes(plan.hypotheses, load(plan))


def load(plan: OnlinePlan) -> Load:
    """What the last joint training of a season meets at the most."""
    return Load(examples_max(plan), rows_max(plan), _epochs(plan))


def examples_max(plan: OnlinePlan) -> int:
    """Most examples that a training learns from: the background of each epoch, and mistakes."""
    if not plan.selection.keeps_rows:
        return 0
    return _mistakes_max(plan) + _epochs(plan) * plan.parameters.background_max


def rows_max(plan: OnlinePlan) -> int:
    """Most examples that a learner holds at a time, M being the mistakes that it may keep.

    A buffer without a background of b examples holds mistakes only. With one it is cut whenever it
    has more than 2b + BACKGROUND_SLACK examples, to b and the mistakes. Each of the other epochs
    that are remembered has b and its mistakes; the epoch after the last call keeps nothing. So
    before call number c + 1 there are at most M + c b + b + b + BACKGROUND_SLACK examples, c being
    one less than the number of epochs at the most, and none are added after the last call. A dense
    learner holds counts instead.
    """
    background = plan.parameters.background_max
    if not plan.selection.keeps_rows or not background:
        return examples_max(plan)
    return examples_max(plan) + background + BACKGROUND_SLACK


@lru_cache(maxsize=256)
def _mistakes_max(plan: OnlinePlan) -> int:
    """Most mistakes that a season keeps, computed once: making a learner makes tables of noise."""
    return plan.learner("").mistakes_kept_max


def row_bytes(plan: OnlinePlan) -> int:
    """Bytes of one kept example."""
    return plan.selection.keeping(plan.hypotheses).row_bytes


def counts_max(plan: OnlinePlan) -> int:
    """Most users that both counts of a season hold together; 0 where examples are protected.

    The trigger counts mistakes. Kept are these, for which one count serves, or the background of
    each epoch besides, or instead, with what a call sees of a pool; a dense learner counts every
    example, if it does not count mistakes only.
    """
    p = plan.parameters
    if p.user_examples_max is None:
        return 0
    counted = min(p.horizon, _mistakes_counted_max(plan))
    if p.buffer == "mistakes" and p.schedule_first is None:
        return counted
    held = 0 if p.pool is None else p.pool.most
    kept = p.calls_max * (p.background_max + held)
    if not plan.selection.keeps_rows:
        kept = p.horizon
    elif p.keeps_mistakes:
        kept += counted if p.schedule_first is None else p.calls_max * _mistakes_max(plan)
    return counted + min(p.horizon, kept)


@lru_cache(maxsize=256)
def _mistakes_counted_max(plan: OnlinePlan) -> int:
    """Most mistakes that a season's trigger counts, computed once like `_mistakes_max`."""
    return plan.learner("").mistakes_counted_max


def _epochs(plan: OnlinePlan) -> int:
    """Epochs of a season that the last of its trainings looks at."""
    return 1 if plan.parameters.fresh else max(1, plan.parameters.calls_max)
