"""Where a warm-up is planned, and when it ends its epochs."""

from dataclasses import replace
from fractions import Fraction

from littled.budget.unit import Unit
from littled.planner.budgets import Budget
from littled.planner.online.warmup import ENDS, ENDS_OF_CHAIN, warmup_ends

BUDGET = Budget(Fraction(1), Fraction(1, 10**6), 1_000_000, 1, "pure", 0.4)


def test_each_end_is_a_multiple_of_the_first() -> None:
    assert warmup_ends(1024, BUDGET, ENDS) == (45, 135, 405)
    assert warmup_ends(1024, BUDGET, ENDS_OF_CHAIN) == (45, 180)


def test_how_the_budget_is_divided_is_all_the_same() -> None:
    assert warmup_ends(1024, replace(BUDGET, trigger_share=0.1), ENDS) == (45, 135, 405)


def test_no_end_is_beyond_the_season() -> None:
    ends = warmup_ends(1024, replace(BUDGET, horizon=200), ENDS)
    assert ends
    assert ends[-1] < 200


def test_there_is_none_where_it_is_not_proven() -> None:
    assert not warmup_ends(1024, replace(BUDGET, accounting="zcdp"), ENDS)
    assert not warmup_ends(1024, replace(BUDGET, unit=Unit(1)), ENDS)
