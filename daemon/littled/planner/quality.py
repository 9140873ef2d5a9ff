"""How much of a budget says how good the rules are, and how often: decided before any data.

A share of epsilon, the same for each learner that publishes rules, pays for all figures of a season
(PRIVACY.md, section 19). A season has at most `PERIODS_MAX` periods, and at least `PERIODS_MIN`,
unless these would be so short that the noise of a figure is worth more than so many points
(hundredths of an error rate): `NOISE_USUAL` for more periods than that, `NOISE_MOST` for any.
Where not even a whole season is enough, nothing is measured and nothing is charged.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from littled.budget.events import MistakeCounts
from littled.budget.prices import price
from littled.learners.measured import USER_EXAMPLES, QualitySettings
from littled.planner.budgets import EXAMPLES_OF_A_USER, rate_below
from littled.planner.plans import Plan, PublishingPlan
from littled.planner.requests import StreamRequest
from littled.portable import log

# Of epsilon, where nothing else is asked for.
QUALITY_SHARE = Fraction(1, 40)
PERIODS_MIN, PERIODS_MAX = 2, 24
# An error rate is off by less than so much in 95 of 100 figures, as far as noise goes.
NOISE_USUAL, NOISE_MOST = 0.02, 0.05
# Noise of rate 1 is beyond this with a chance of about 5 in 100, either way.
_REACH = log(20)


def quality_of(request: StreamRequest, publishing: int) -> QualitySettings | None:
    """How each of so many learners that publish rules is measured; None if none is."""
    if not publishing or not request.quality:
        return None
    each = request.quality * request.epsilon / len(request.learners)
    rate = rate_below(each / 2 if request.unit.is_user else each)
    if not rate:
        return None
    counted = request.horizon
    if request.unit.is_user:  # each of them once
        expected = request.users_expected or request.horizon // EXAMPLES_OF_A_USER
        counted = min(counted, expected)
    usual, most = (int(counted * float(rate) * off / _REACH) for off in (NOISE_USUAL, NOISE_MOST))
    periods = min(PERIODS_MAX, max(usual, min(PERIODS_MIN, most)), request.horizon)
    if not periods:
        return None
    return QualitySettings(rate, request.horizon // periods, periods)


def quality_cost(settings: QualitySettings | None, *, users: bool) -> Fraction:
    """What all figures of a season cost one learner, in pure epsilon."""
    if settings is None:
        return Fraction(0)
    event = MistakeCounts(settings.rate, USER_EXAMPLES if users else 0)
    return price(event).epsilon_pure


def measured(plan: Plan[Any], settings: QualitySettings | None) -> Plan[Any]:
    """The plan with its rules measured, if it publishes any."""
    return replace(plan, quality=settings) if isinstance(plan, PublishingPlan) else plan


def noise_width(settings: QualitySettings, counted: int) -> float:
    """By how much noise puts an error rate off, at the most, in 95 of 100 figures."""
    return _REACH / float(settings.rate) / max(counted, 1)
