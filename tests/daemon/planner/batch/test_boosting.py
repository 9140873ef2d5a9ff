"""Plans of boosted scorecards: how many rounds, when a stump is better, and what is said then."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from littled.budget.events import DenseSelection
from littled.budget.unit import EXAMPLE, Unit
from littled.classes.names import class_from_name
from littled.learners.batch.boosting import ROUND_RATE_MIN
from littled.planner import PlanError, StreamRequest, plan_stream
from littled.planner.batch.boosting import ROUNDS, STEP, candidates, least_window
from littled.planner.batch.plan import BatchPlan
from littled.planner.batch.request import BatchRequest

CLASS = class_from_name("scorecard:12x7x24x50x9c")


def stream(epsilon: Any = 1, unit: Unit = EXAMPLE, **asked: Any) -> StreamRequest:
    """A season of a million examples, with one learner of windows."""
    request = BatchRequest("rule", CLASS, **{"window": 5_000, **asked})
    return StreamRequest(
        "s", Fraction(str(epsilon)), Fraction(1, 10**6), 1_000_000, (request,), unit
    )


def planned(**options: Any) -> Any:
    """The parameters of the plan."""
    (plan,) = plan_stream(stream(**options)).of(BatchPlan)
    return plan.parameters


def refused(**options: Any) -> str:
    """Why there is no plan."""
    with pytest.raises(PlanError) as error:
        plan_stream(stream(**options))
    return str(error.value)


def test_longer_windows_and_larger_budgets_have_more_rounds() -> None:
    rounds = [planned(window=n).rounds for n in (1_000, 2_000, 5_000, 20_000)]
    assert rounds == sorted(rounds)
    assert rounds[0] < rounds[-1] == ROUNDS[-1]
    assert planned(epsilon="0.1", window=20_000).rounds < rounds[-1]
    assert planned().step == STEP
    assert planned().method == "boosted"


@pytest.mark.parametrize(
    ("epsilon", "window", "has_a_plan"),
    [
        *((1, 1_000, True), (1, 5_000, True), (1, 20_000, True)),
        *(("0.1", 1_000, False), ("0.1", 20_000, True)),
    ],
)
def test_there_are_plans_where_scorecards_were_better_than_stumps(
    epsilon: Any, window: int, has_a_plan: bool
) -> None:
    """What was measured on eleven tables: docs/which-class.md."""
    if has_a_plan:
        assert planned(epsilon=epsilon, window=window).method == "boosted"
    else:
        assert "would err more than one stump" in refused(epsilon=epsilon, window=window)


def test_few_rounds_are_booked_pure_and_many_as_zcdp() -> None:
    assert planned(window=500).accounting == "pure"
    assert planned(window=20_000).accounting == "zcdp"


@pytest.mark.parametrize("users", [None, 1, 5])
def test_the_budget_pays_for_every_round_and_not_for_more(users: int | None) -> None:
    unit = EXAMPLE if users is None else Unit(users)
    p = planned(window=50_000, unit=unit)
    most = users or 1
    assert p.accounting == "zcdp"
    (plan,) = plan_stream(stream(window=50_000, unit=unit)).of(BatchPlan)
    event, _ = plan.learner("s").season_events()
    assert event == DenseSelection(p.rate, p.rounds, "zcdp", users or 0)
    single = planned(window=50_000).rate * planned(window=50_000).rounds ** Fraction(1, 2)
    assert float(p.rate) * p.rounds**0.5 * most == pytest.approx(float(single), rel=0.02)


def test_a_window_that_is_too_small_is_told_what_is_not() -> None:
    said = refused(window=200)
    assert said == (
        "learner rule: in a window of 200 examples a scorecard would err more than one stump at "
        'this budget; take class = "stumps", or a window of 423 or more'
    )
    assert planned(window=423).rounds == ROUNDS[0]
    assert "or a window of 423 or more" in refused(window=422)


def test_a_budget_that_no_window_makes_up_for_is_named() -> None:
    assert "raise epsilon or the horizon" in refused(epsilon="0.0001", window=1_000)


def test_what_a_scorecard_errs_cannot_be_asked_for() -> None:
    assert "give window instead of alpha" in refused(window=None, alpha=Fraction(1, 10))
    assert "leave it out" in refused(noise_rate=Fraction(1, 10))
    assert "dense does not apply" in refused(method="dense")


def test_a_window_that_takes_too_much_memory_is_named_as_that() -> None:
    wide = class_from_name("scorecard:" + "x".join(["2"] * 200))
    request = BatchRequest("rule", wide, window=10**7)
    season = replace(stream(), learners=(request,), horizon=10**8)
    with pytest.raises(PlanError, match=r"bytes of memory|bytes in a snapshot"):
        plan_stream(season)


def test_every_rate_has_a_table_of_weights() -> None:
    for epsilon in ("0.01", "0.02", "1"):
        p = planned(epsilon=epsilon, window=500_000)
        assert p.rate >= ROUND_RATE_MIN


def test_candidates_are_all_cuts_in_both_directions_and_the_constants() -> None:
    rules = CLASS.additive
    assert rules is not None
    assert candidates(rules) == 2 * (11 + 6 + 23 + 49 + 8) + 2


def test_the_least_window_is_the_first_good_one() -> None:
    assert least_window(lambda n: n >= 77, 10, 1_000) == 77
    assert least_window(lambda n: n >= 11, 10, 1_000) == 11
    assert least_window(lambda n: n >= 1_000, 10, 1_000) == 1_000
    assert least_window(lambda n: False, 10, 1_000) is None
