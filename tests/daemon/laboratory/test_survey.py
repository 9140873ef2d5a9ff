"""The survey of all small classes."""

from collections import Counter
from fractions import Fraction

import pytest

from littled.laboratory.survey import Surveyed, survey


def test_no_statement_fails_on_any_class_over_three_points() -> None:
    found = survey(3, (1,), all_supports=True)
    assert {d: each.classes for d, each in found.items()} == {0: 1, 1: 7, 2: 12, 3: 1}
    assert sum(each.runs for each in found.values()) == 616
    assert found[1].least == Fraction(1, 2)
    assert not any(each.broken for each in found.values())


def test_what_processes_find_is_added_up() -> None:
    total = Surveyed(1, 2, Fraction(1, 2))
    total.add(Surveyed(3, 4, Fraction(1, 3), Counter({"Lemma 25": 2})))
    assert total == Surveyed(4, 6, Fraction(1, 3), Counter({"Lemma 25": 2}))


@pytest.mark.campaign
def test_no_statement_fails_on_any_class_over_five_points() -> None:
    found = survey(5, (1,), all_supports=False)
    assert sum(each.classes for each in found.values()) == 5771
    assert not any(each.broken for each in found.values())
