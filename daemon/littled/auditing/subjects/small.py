"""Streams for small learners: what there is to see of them, few runs show."""

from fractions import Fraction

from littled.budget.unit import EXAMPLE, Unit
from littled.planner import StreamRequest
from littled.planner.requests import Request

# A season that is short and a budget that is large.
EPSILON, DELTA, HORIZON = Fraction(4), Fraction(1, 100), 64


def alone(request: Request, horizon: int = HORIZON, unit: Unit = EXAMPLE) -> StreamRequest:
    """A stream for one learner."""
    return StreamRequest(
        "small",
        EPSILON,
        DELTA,
        horizon,
        (request,),
        unit,
    )
