"""Which class of rules to take where nobody named one."""

from collections.abc import Sequence

from littled.planner.planning import planning_of
from littled.planner.requests import PlanError, StreamRequest
from littled.planner.search import best_estimates


def best_class(name: str, streams: Sequence[StreamRequest], others: StreamRequest | None) -> int:
    """Which of these requests is the best, by its place.

    They differ in the class of the learner `name`, and stand with those first that can say most.
    `others`: the other learners of each, if there are any, with their part of the budget. The first
    request is taken whose learner is expected to lose little, and by which none of the others is
    lost, as learners share one way of accounting; where there is none, the last that has a plan,
    and the last of all where none has. No data have a part in it.
    """
    last = len(streams) - 1
    if last == 0:
        return last
    kept = set() if others is None else _worthwhile(others) or set()
    for place, stream in enumerate(streams):
        found = _worthwhile(stream)
        if found is None:
            continue
        if kept | {name} <= found:
            return place
        last = place
    return last


def _worthwhile(stream: StreamRequest) -> set[str] | None:
    """The learners that are expected to lose little; None where there is no plan."""
    try:
        estimates = best_estimates(stream)
    except PlanError:
        return None
    learners = sorted(stream.learners, key=lambda learner: learner.name)
    return {
        learner.name
        for learner, estimate in zip(learners, estimates, strict=True)
        if planning_of(learner.kind).is_worthwhile(learner, estimate, stream)
    }
