"""How many users a plan needs, where users are protected: a rough number, and utility only.

Of a user c mistakes are counted in a season and c examples kept. Who has given these gives a
learner nothing more: once most users have, a rule that errs makes no trigger fire, and a call sees
next to nothing. On a bad stream a learner that makes M mistakes beyond the noise rate, at a
threshold U, has about M / U epochs, which keep these mistakes, and b examples of the background
each; with a pool b is the background and the most that one slot holds. So it needs about

    (M + b max(1, M / U)) / c

users. With a schedule each epoch keeps b examples, too, and no mistakes if it has a cap. A learner
that counts every example, and forgets them with their epoch, needs a user for each c of a season;
one that remembers them does not, as there is little that it needs at the end of a season. Measured
on streams of 1,000,000 examples, a fresh dense learner over 257 rules does well with 0.7 times as
many users as this, and badly with 0.3 times.
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
    if p.schedule_cap is not None:
        kept = p.calls_max * p.background_max
    elif p.schedule_first is not None:
        kept += p.calls_max * p.background_max
    else:
        held = 0 if p.pool is None else p.pool.most
        kept += (p.background_max + held) * max(1.0, mistakes / max(1, p.trigger_threshold))
    if p.fresh and p.buffer == "examples" and not plan.selection.keeps_rows:
        kept = p.horizon
    return math.ceil(min(kept, p.horizon) / p.user_examples_max)
