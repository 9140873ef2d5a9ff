"""When a warm-up ends its epochs, before a trigger begins to look. Utility only.

What is drawn at public times has all of epsilon (PRIVACY.md, "Warm-up"), so it needs fewer examples
than what a trigger asks for. Between two ends a rule is wrong on about 1 / (c n) of the examples, n
being those that it was drawn from and c as in `schedules`: if each end is g times the one before,
the mistakes of a doubling are proportional to g / ln g, which is least near g = 3. Nothing is
tested meanwhile, so somebody who sees each rule may make every example of a warm-up a mistake.
"""

from littled.planner.budgets import Budget
from littled.planner.online.schedules import USUAL_SHARE, drawn_laws, planned
from littled.portable import exp

# The ends, in multiples of the first one. Where rules form a chain the plan holds against somebody
# who sees each rule, so there are fewer examples: one draw more, from as many as are left.
ENDS, ENDS_OF_CHAIN = (1, 3, 9), (1, 4)


def warmup_ends(rules: int, budget: Budget, factors: tuple[int, ...]) -> tuple[int, ...]:
    """The ends of a warm-up for a class of so many rules; none where nothing is proven of it.

    The first is that of a schedule with this rate. `factors`: the ends in multiples of it.
    """
    if budget.accounting != "pure" or budget.user_examples_max:
        return ()
    rate = float(budget.trigger_rate / 2 + budget.selection_rate(1))
    facts = (float(rules), 1 - exp(-rate))
    first, _ = planned(budget.horizon, drawn_laws, facts, (USUAL_SHARE,))
    return tuple(first * factor for factor in factors if first * factor < budget.horizon)
