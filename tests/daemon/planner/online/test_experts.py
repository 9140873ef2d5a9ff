"""The baseline "experts": finite classes only, and never better than dense selection."""

from fractions import Fraction

import pytest

from littled.classes.names import class_from_name
from littled.planner import OnlineRequest, StreamRequest, compare_ways
from littled.planner.online.experts import experts_mistakes


def learner(name: str) -> OnlineRequest:
    return OnlineRequest("l", class_from_name(name))


def request(name: str) -> StreamRequest:
    return StreamRequest("s", Fraction(1), Fraction(1, 10**6), 10**5, (learner(name),))


def test_only_finite_classes_have_experts() -> None:
    asked = request("points:64")
    assert experts_mistakes(asked, learner("points:64")) is None
    assert "listed" in compare_ways(asked)[-1].remark


@pytest.mark.long
def test_every_restart_of_the_textbook_test_costs() -> None:
    """The test's noise is larger by more than a factor of five, and so are the mistakes."""
    asked = request("thresholds:64")
    found = experts_mistakes(asked, learner("thresholds:64"))
    assert found is not None
    (dense,) = (each for each in compare_ways(asked) if each.way == "dense")
    assert dense.expected_mistakes is not None
    assert found.expected_mistakes > 5 * dense.expected_mistakes


def test_more_rules_cost_more() -> None:
    few, many = "thresholds:8", "thresholds:8000"
    first = experts_mistakes(request(few), learner(few))
    second = experts_mistakes(request(many), learner(many))
    assert first is not None
    assert second is not None
    assert first.expected_mistakes < second.expected_mistakes
    assert first.calls_max < second.calls_max
