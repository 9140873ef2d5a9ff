"""All ways of selection that the planner knows, in the order in which they are compared."""

from littled.learners.online.selections.base import Selection
from littled.planner.online.paper import PaperWay
from littled.planner.online.request import OnlineRequest
from littled.planner.online.ways.base import Way
from littled.planner.online.ways.capped import CappedWay
from littled.planner.online.ways.closure import ClosureWay
from littled.planner.online.ways.closure_tally import ClosureTallyWay
from littled.planner.online.ways.dense import DenseWay
from littled.planner.online.ways.fresh import FreshWay
from littled.planner.online.ways.histogram import HistogramWay
from littled.planner.online.ways.majority import MajorityWay
from littled.planner.online.ways.memory import HalvingWay, MemoryWay
from littled.planner.online.ways.sparse import SparseWay
from littled.planner.online.ways.tally import TallyWay
from littled.planner.online.ways.teachers import TeachersWay
from littled.planner.requests import PlanError

WAYS: dict[str, Way] = {
    way.name: way
    for way in (
        *(
            DenseWay(),
            FreshWay(),
            CappedWay(),
            MemoryWay(),
            HalvingWay(),
            MajorityWay(),
            SparseWay(),
            ClosureWay(),
        ),
        *(HistogramWay(), TallyWay(), ClosureTallyWay(), TeachersWay(), PaperWay()),
    )
}


def allowed_ways(request: OnlineRequest) -> tuple[Way, ...]:
    """The ways of selection that the request leaves open; PlanError for a contradiction.

    Where nothing is told of the stream there is one, if the class has it.
    """
    ways = tuple(way for way in WAYS.values() if way.is_usual(request))
    ways = ways or tuple(way for way in WAYS.values() if way.is_open(request))
    if not request.leaves_open:
        for way in ways:
            if reason := way.refusal(request):
                raise PlanError(f"learner {request.name}: {reason}")
    return ways


def way_of(selection: Selection) -> Way:
    """The way that a plan is of that selects like this."""
    return next(way for way in WAYS.values() if way.is_of(selection))
