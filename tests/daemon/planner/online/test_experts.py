"""The baseline "experts": finite classes only, and never better than dense selection."""

from fractions import Fraction

from littled.classes import class_from_name
from littled.planner import LearnerRequest, StreamRequest, compare_ways
from littled.planner.online.experts import experts_mistakes


def request(name: str) -> StreamRequest:
    learner = LearnerRequest("l", class_from_name(name))
    return StreamRequest("s", Fraction(1), Fraction(1, 10**6), 10**5, (learner,))


def test_only_finite_classes_have_experts() -> None:
    asked = request("points:64")
    assert experts_mistakes(asked, asked.learners[0]) is None
    assert "listed" in compare_ways(asked)[-1].remark


def test_every_restart_of_the_textbook_test_costs() -> None:
    """The test's noise is larger by more than a factor of five, and so are the mistakes."""
    asked = request("thresholds:64")
    found = experts_mistakes(asked, asked.learners[0])
    assert found is not None
    (dense,) = (each for each in compare_ways(asked) if each.way == "dense")
    assert dense.expected_mistakes is not None
    assert found.expected_mistakes > 5 * dense.expected_mistakes


def test_more_rules_cost_more() -> None:
    few, many = (request(f"thresholds:{size}") for size in (8, 8000))
    first = experts_mistakes(few, few.learners[0])
    second = experts_mistakes(many, many.learners[0])
    assert first is not None
    assert second is not None
    assert first.expected_mistakes < second.expected_mistakes
    assert first.calls_max < second.calls_max
