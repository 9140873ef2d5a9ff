"""Plans: from what a configuration asks for to every parameter of a learner, without any data.

What is said of learners of one kind only is in that kind's folder, except for online learners, the
usual ones, which are named here too.
"""

from littled.planner.choosing import best_class
from littled.planner.online.comparing import Comparison
from littled.planner.online.plan import OnlinePlan
from littled.planner.online.request import OnlineRequest, PaperConstants
from littled.planner.online.search import compare_ways
from littled.planner.plans import StreamPlan, season_cost
from littled.planner.requests import PlanError, StreamRequest
from littled.planner.search import decided, plan_stream

__all__ = [
    "Comparison",
    "OnlinePlan",
    "OnlineRequest",
    "PaperConstants",
    "PlanError",
    "StreamPlan",
    "StreamRequest",
    "best_class",
    "compare_ways",
    "decided",
    "plan_stream",
    "season_cost",
]
