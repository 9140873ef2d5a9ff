"""Which class of rules to take where nobody named one."""

from collections.abc import Sequence

from littled.planner.planning import planning_of
from littled.planner.requests import PlanError, StreamRequest
from littled.planner.search import best_estimates


def best_class(alone: Sequence[StreamRequest]) -> int:
    """Which of these requests of one learner each is the best, by its place.

    They differ in their classes of rules, and stand with those first that can say most. The first
    one is taken whose learner is expected to lose little; where all lose much, the last that has a
    plan, and the last of all where none has. No data have a part in it.
    """
    last = len(alone) - 1
    if last == 0:
        return last
    for place, stream in enumerate(alone):
        (request,) = stream.learners
        try:
            (estimate,) = best_estimates(stream)
        except PlanError:
            continue
        if planning_of(request.kind).is_worthwhile(request, estimate, stream):
            return place
        last = place
    return last
