"""Made-up streams, fixed and chosen after each rule is seen."""

from fractions import Fraction

import pytest

from littled.classes.capabilities import needed
from littled.classes.names import class_from_name
from littled.laboratory.playing import Turn, evader, in_order, play, says
from littled.learners.online import OnlineLearner
from littled.planner import OnlinePlan, OnlineRequest, StreamRequest, plan_stream
from littled_protocol.rules import Rule

CLASS = class_from_name("thresholds:4")


def rule(at_least: int) -> Rule:
    """The rule "at least so much"."""
    dense = needed(CLASS.dense)
    rules = [dense.rule(index) for index in range(dense.rule_count)]
    wanted = [int(x >= at_least) for x in range(4)]
    return next(each for each in rules if [says(each, CLASS, x) for x in range(4)] == wanted)


def turns(horizon: int = 10**6) -> list[Turn]:
    request = OnlineRequest("lab", CLASS, adversary="adaptive")
    stream = StreamRequest("lab", Fraction(1), Fraction(1, 10**6), 10**6, (request,))
    (plan,) = plan_stream(stream).publishing
    assert isinstance(plan, OnlinePlan)
    learner = OnlineLearner("lab/lab", CLASS, plan.parameters)
    return list(play(learner, evader(CLASS, 4), horizon, seed=0))


def test_a_fixed_stream_goes_on_where_the_rule_is_right() -> None:
    source = in_order(CLASS, ((3, 1), (0, 0), (1, 1)))
    assert source(rule(4)) == (3, 1)
    assert source(rule(4)) == (3, 1)
    assert source(rule(0)) == (0, 0)
    assert source(rule(2)) == (1, 1)
    assert source(rule(1)) is None


def test_an_evader_names_what_the_rule_gets_wrong_and_most_rules_get_right() -> None:
    source = evader(CLASS, 4)
    # at least 4 is "never": label 1 at point 3 leaves four rules of five
    assert source(rule(4)) == (3, 1)
    assert source(rule(0)) == (0, 0)
    assert source(rule(3)) == (2, 1)
    # left are the rules "at least 1" and "at least 2"
    assert source(rule(1)) == (1, 0)
    assert source(rule(2)) is None


def test_every_call_and_the_end_is_a_turn() -> None:
    found = turns()
    assert [turn.called for turn in found] == [True] * (len(found) - 1) + [False]
    assert 2 <= len(found) <= 4
    epochs = [turn.epoch_mistakes for turn in found]
    assert sum(epochs) == found[-1].mistakes
    assert found[-1].mistakes == found[-2].mistakes


def test_the_horizon_ends_it() -> None:
    (only,) = turns(horizon=10)
    assert (only.mistakes, only.called) == (10, False)


@pytest.mark.parametrize("point", range(4))
def test_a_rule_says_its_label(point: int) -> None:
    assert says(rule(2), CLASS, point) == (point >= 2)
