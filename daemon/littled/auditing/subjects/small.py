"""Streams for small learners: what there is to see of them, few runs show."""

from fractions import Fraction

from littled.planner import StreamRequest
from littled.planner.requests import Request

# A season that is short and a budget that is large.
EPSILON, DELTA, HORIZON = Fraction(4), Fraction(1, 100), 64


def alone(
    request: Request, horizon: int = HORIZON, user_examples_max: int | None = None
) -> StreamRequest:
    """A stream for one learner; for users, of whom so many examples are protected together."""
    return StreamRequest(
        "small",
        EPSILON,
        DELTA,
        horizon,
        (request,),
        unit="example" if user_examples_max is None else "user",
        user_examples_max=user_examples_max or 1,
    )
