"""How many users a plan needs, where users are protected: a rough number, and utility only.

Of a user c mistakes are counted in a season and c examples kept. Who has given these gives a
learner nothing more: once most users have, a rule that errs makes no trigger fire, and a call sees
next to nothing. On a bad stream a learner that makes M mistakes beyond the noise rate, at a
threshold U, has about M / U epochs, which keep these mistakes, and b examples of the background
each. So it needs about

    (M + b max(1, M / U)) / c

users. Each of its epochs keeps b examples with a schedule, too. A learner that counts every example
needs a user for each c of a season.
"""

import math

from littled.planner.online.plan import OnlinePlan


def users_needed(plan: OnlinePlan, mistakes: float) -> int:
    """About how many users the plan of a learner needs that is to make so many mistakes.

    ValueError for a plan that protects examples.
    """
    p = plan.parameters
    if p.user_examples_max is None:
        raise ValueError("a plan that protects examples needs no users")
    kept = mistakes
    if p.schedule_first is not None:
        kept += p.calls_max * p.background_max
    else:
        kept += p.background_max * max(1.0, mistakes / max(1, p.trigger_threshold))
    if p.buffer == "examples" and not plan.selection.keeps_rows:
        kept = p.horizon
    return math.ceil(min(kept, p.horizon) / p.user_examples_max)
