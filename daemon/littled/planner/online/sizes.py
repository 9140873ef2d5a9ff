"""What no plan may exceed, whatever the examples are: a frame, candidates, a snapshot, memory.

How many mistakes a learner has kept, how long its lists are and how large a rule it comes to depend
on private data. If one of them could grow until something gives way, then that the daemon stops
would say something about the data; and a store whose snapshot cannot be written, or a release that
no frame holds, would stop it again after every restart. So all of it is bounded by the plan, which
is public, and a plan whose bound is too high is refused, with what would be right.

**A snapshot** holds the states of all learners of a stream, as one value in SQLite, which refuses
values above 10^9 bytes. One learner's state is at the most

    rows * (point + 1 + 1 + 8 + 8)     kept examples: point, label, mistake, priority, teacher
    + 8 counts + pending * (point + 1)   a dense learner's statistics, and what they do not hold yet
    + slots * 8 counts + pending * (point + 2)   its pool, the same for each slot
    + (2 * slots * most + 1,024) * (point + 18)  or, where users are protected, rows of that pool
    + (epochs + 1) * 512                 names, types and shapes of the columns of each epoch
    + one frame + 4,096                  the published rule, and the numbers
    + users * 20                         where users are protected: who, and how many examples

where rows (`littled.planner.online.costs.rows_max`) is at most M + (E + 1) b + 1,024, M being
`mistakes_kept_max`, b `background_max`, and E the epochs that are remembered: `calls_max`, or 1 if
selections are fresh. For example: points:128 in paper mode with epsilon 1, delta 10^-6, 10^12
examples, paper.teachers 40 and paper.threshold 1,000 may keep M = 50,694,228 mistakes of 16 + 18
bytes, 1.7 * 10^9 bytes, and is refused.

Where users are protected a row and a pending point have 16 bytes more, and users are those of whom
the season has counted a mistake, and those of whom it has kept an example: each of the two at most
the horizon (`littled.planner.online.costs.counts_max`).
"""

from collections.abc import Iterator
from dataclasses import replace

from littled.planner.capacity import MEMORY_BYTES_MAX, SNAPSHOT_BYTES_MAX, fits_a_frame
from littled.planner.online.costs import (
    COUNT_BYTES,
    counts_max,
    examples_max,
    retrain_memory_bytes,
    row_bytes,
    rows_max,
)
from littled.planner.online.plan import OnlinePlan
from littled_protocol import limits

# Candidates of one sparse selection.
CANDIDATES_MAX = 1 << 23

STATE_BYTES = limits.frame_bytes_max + 4096


def misfit(plan: OnlinePlan) -> str | None:
    """Why the plan exceeds one of the limits for one learner, and what to change; or None."""
    return next(_misfits(plan), None)


def snapshot_bytes_max(plan: OnlinePlan) -> int:
    """Most bytes of a learner's state in a snapshot; the arithmetic is in the module's text."""
    state = STATE_BYTES + counts_max(plan) * COUNT_BYTES
    return plan.selection.keeping(plan.hypotheses).stored_bytes(rows_max(plan)) + state


def candidates_max(plan: OnlinePlan) -> int:
    """Most candidates of one selection; 0 where all rules of a class are weighed."""
    return plan.selection.candidates_max(plan.hypotheses, examples_max(plan))


def _misfits(plan: OnlinePlan) -> Iterator[str]:
    parameters, name = plan.parameters, plan.hypotheses.name
    if not fits_a_frame(plan.hypotheses, parameters.draws):
        fewer = "lower paper.draws" if _is_paper(plan) else 'set adversary = "oblivious"'
        yield (
            f"a majority of {parameters.draws:,} rules of {name} can be longer than a frame, "
            f"{limits.frame_bytes_max:,} bytes or {limits.frame_elements_max:,} values; {fewer} or "
            "take a class with shorter rules"
        )
    candidates = candidates_max(plan)
    if candidates > CANDIDATES_MAX and plan.selection.lists_by_teacher:
        most = max(1, CANDIDATES_MAX // parameters.list_cap)
        fewer = f"lower paper.teachers until k is {most:,}" if _is_paper(plan) else f"set {most:,}"
        yield (
            f"{parameters.teachers:,} teachers with lists of up to {parameters.list_cap:,} rules "
            f"can come to {candidates:,} candidates, more than {CANDIDATES_MAX:,}; {fewer} or "
            "fewer, or take a class of smaller dimension"
        )
    elif candidates > CANDIDATES_MAX:
        yield (
            f"{examples_max(plan):,} examples of {name} that a training may see can come to "
            f"{candidates:,} candidates, more than {CANDIDATES_MAX:,}; {_fewer_examples(plan)}"
        )
    size, users = snapshot_bytes_max(plan), counts_max(plan)
    if size > SNAPSHOT_BYTES_MAX and 2 * users * COUNT_BYTES > size:
        yield (
            f"{users:,} users whose examples a season may count make snapshots of up to {size:,} "
            f"bytes, more than {SNAPSHOT_BYTES_MAX:,}; shorten the horizon"
        )
    elif size > SNAPSHOT_BYTES_MAX:
        yield (
            f"{rows_max(plan):,} examples of {row_bytes(plan):,} bytes that a season may keep make "
            f"snapshots of up to {size:,} bytes, more than {SNAPSHOT_BYTES_MAX:,}; "
            f"{_fewer_examples(plan)}"
        )
    memory = retrain_memory_bytes(plan)
    if memory > MEMORY_BYTES_MAX:
        yield (
            f"a training from {examples_max(plan):,} examples of {name} can take {memory:,} bytes "
            f"of memory, more than {MEMORY_BYTES_MAX:,}; {_lighter(plan)}"
        )


def _is_paper(plan: OnlinePlan) -> bool:
    return plan.parameters.tests == "cohen_lyu"


def _fewer_examples(plan: OnlinePlan) -> str:
    """What makes a trigger fire sooner."""
    if _is_paper(plan):
        return "lower paper.threshold or paper.teachers"
    return "raise epsilon or shorten the horizon"


def _lighter(plan: OnlinePlan) -> str:
    """What helps against too much memory: long lists ask for fewer teachers, much data for more."""
    if not plan.selection.lists_by_teacher:
        return _fewer_examples(plan)
    twice = replace(plan.parameters, teachers=2 * (plan.parameters.teachers or 1))
    more = retrain_memory_bytes(replace(plan, parameters=twice)) < retrain_memory_bytes(plan)
    number = "more" if more else "fewer"
    return f"take {number} teachers or a smaller class, or {_fewer_examples(plan)}"
