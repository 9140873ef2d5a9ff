"""What each method makes of one window, what it books, and what it does not go with."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.budget.prices import price
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.classes.names import class_from_name
from littled.learners.batch import BatchParameters
from littled.learners.batch.methods import Draw, Teachers, Window, selection_of
from littled.mechanisms.noise import Address
from littled_protocol.rules import PointsRule, PrefixRule, Rule, ScorecardRule, ThresholdRule
from support.learning import HEAD, column
from support.tape import TapeNoise

F = Fraction
# Rates at which the best score is drawn except with a chance of exp(-20).
DENSE = BatchParameters(method="dense", epsilon=F(1), horizon=64, window=64, rate=F(20))
HISTOGRAM = replace(DENSE, method="histogram", bottom_score=6)
PROPOSALS = replace(DENSE, method="proposals", bottom_score=6, list_cap=17)
CLOSURE = replace(DENSE, method="closure", bottom_score=6, list_cap=1, chunks=8)
TEACHERS = replace(CLOSURE, method="teachers", list_cap=300)
BOOSTED = replace(DENSE, method="boosted", rounds=4, step=110)
STAGES = replace(TEACHERS, tolerance=F(1, 4), stage_rate=F(40), window=80, horizon=80)

Case = tuple[str, BatchParameters, Rule, Sequence[int]]
AFFINE = class_from_name("affine:8:2")
SUBSPACE: Rule = needed(AFFINE.version_spaces).essential_rule((8, (2, 1)))
CASES: dict[str, Case] = {
    "dense": ("thresholds:16", DENSE, ThresholdRule(16, 5), range(16)),
    "histogram": ("points:16", HISTOGRAM, PointsRule(16, (7,)), range(4, 9)),
    "histogram of sets": ("sparse_sets:16:3", HISTOGRAM, PointsRule(16, (4, 7)), range(4, 9)),
    "proposals": ("prefixes:16", PROPOSALS, PrefixRule(16, 1, 14), range(16)),
    "closure": ("affine:8:2", CLOSURE, SUBSPACE, range(6, 15)),
    "teachers": ("thresholds:16", TEACHERS, ThresholdRule(16, 5), (4, 5, 6)),
    "teachers of points": ("points:16", TEACHERS, PointsRule(16, (7,)), (6, 7, 8)),
    "boosted": ("scorecard:16", BOOSTED, ScorecardRule(0, ((-110,) * 5 + (110,) * 11,)), range(16)),
    "teachers with stages": ("thresholds:16", STAGES, ThresholdRule(16, 5), (4, 5, 6)),
}


def window_of(hypotheses: HypothesisClass, x: Any, y: Any, parameters: BatchParameters) -> Window:
    """A window whose example i is in chunk i modulo k."""
    chunks = np.arange(len(y), dtype=np.int64) % max(parameters.chunks, 1)
    return Window(column(hypotheses, x), np.asarray(y, dtype=np.uint8), chunks)


def draw(seed: int = 0) -> Draw:
    return Draw(TapeNoise(seed), Address(HEAD, "s/l", "select", 63))


def selected(name: str, parameters: BatchParameters, x: Any, y: Any, seed: int = 0) -> Rule | None:
    """What a method draws from these examples."""
    hypotheses = class_from_name(name)
    selection = selection_of(hypotheses, parameters)
    return selection.select(window_of(hypotheses, x, y, parameters), draw(seed))


@pytest.mark.parametrize("name", CASES)
def test_a_window_of_a_rule_comes_to_a_rule_without_errors(name: str) -> None:
    class_name, parameters, target, points = CASES[name]
    x = np.tile(np.array(points), 80)[: parameters.window]
    hypotheses = class_from_name(class_name)
    y = target.evaluate(column(hypotheses, x.tolist()))
    for seed in range(5):
        rule = selected(class_name, parameters, x.tolist(), y, seed)
        assert rule is not None
        np.testing.assert_array_equal(rule.evaluate(column(hypotheses, x.tolist())), y)


@pytest.mark.parametrize("name", [each for each in CASES if each not in ("dense", "boosted")])
def test_a_window_without_examples_comes_to_bottom(name: str) -> None:
    class_name, parameters, _, _ = CASES[name]
    rule = selected(class_name, parameters, [], [])
    if class_name.startswith("thresholds") and "teachers" in name:
        assert rule is not None  # the lists of all chunks have all rules
    else:
        assert rule is None or rule == class_from_name(class_name).first_rule()


def test_dense_draws_a_rule_from_a_window_without_examples() -> None:
    found = {selected("thresholds:16", DENSE, [], [], seed) for seed in range(30)}
    assert len(found) > 8


def test_examples_that_contradict_the_first_rule_vote_and_others_veto() -> None:
    noisy = replace(HISTOGRAM, noise_rate=F(1, 10), window=20)
    x, y = [7] * 20, [1] * 10 + [0] * 10
    assert selected("points:16", replace(HISTOGRAM, window=20), x, y) == PointsRule(16, (7,))
    assert selected("points:16", noisy, x, y) is None
    assert selected("points:16", noisy, x, [1] * 20) == PointsRule(16, (7,))


def test_lists_of_teachers_err_as_their_stage_allows() -> None:
    """With d = 4 the share is 1/4 (7/8)^j."""
    selection = selection_of(class_from_name("thresholds:16"), STAGES)
    assert isinstance(selection, Teachers)
    assert [selection._allowed(stage, 10) for stage in range(1, 6)] == [2, 1, 1, 1, 1]
    assert [selection._allowed(stage, 12) for stage in range(1, 6)] == [2, 2, 2, 1, 1]


MISFITS = {
    "too many rules": ("points:64", DENSE),
    "no rules that are sets": ("thresholds:16", HISTOGRAM),
    "does not propose": ("thresholds:16", PROPOSALS),
    "proposes up to 17 rules, more than list_cap 16": (
        "prefixes:16", replace(PROPOSALS, list_cap=16)
    ),
    "not closed": ("thresholds:16", CLOSURE),
    "need a stage_rate": ("thresholds:16", replace(TEACHERS, tolerance=F(1, 2))),
    "leave out stage_rate": ("thresholds:16", replace(TEACHERS, stage_rate=F(1))),
}  # fmt: skip


@pytest.mark.parametrize("problem", MISFITS)
def test_classes_that_a_method_has_no_use_for_are_refused(problem: str) -> None:
    name, parameters = MISFITS[problem]
    with pytest.raises(ValueError, match=problem):
        selection_of(class_from_name(name), parameters)


def test_stage_tests_are_made_wherever_a_user_could_fill_a_chunk() -> None:
    """However many examples a chunk has then depends on who the users are."""
    slight = replace(TEACHERS, tolerance=F(1, 20), user_examples_max=1)
    assert selection_of(class_from_name("thresholds:16"), replace(slight, user_examples_max=None))
    with pytest.raises(ValueError, match="need a stage_rate"):
        selection_of(class_from_name("thresholds:16"), slight)
    assert selection_of(class_from_name("thresholds:16"), replace(slight, stage_rate=F(1)))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("most", [None, 1, 2])
def test_what_is_booked_grows_with_what_a_user_may_give(name: str, most: int | None) -> None:
    class_name, parameters, _, _ = CASES[name]
    p = replace(parameters, user_examples_max=most, horizon=3 * parameters.window, rate=F(1, 2))
    selection = selection_of(class_from_name(class_name), p)
    total = sum(price(event).epsilon_pure for event in selection.season_events())
    tests = p.stage_rate or F(0)
    assert total == (most or 1) * (
        p.rounds or 1 + tests
    )  # two windows of three at the most, or c examples


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), labels=st.lists(st.integers(0, 1), min_size=16, max_size=16))
@pytest.mark.parametrize("name", CASES)
def test_every_rule_is_one_of_the_class(name: str, seed: int, labels: list[int]) -> None:
    """Whatever the labels are: what is published can be published again by the dense method."""
    class_name, parameters, _, points = CASES[name]
    p = replace(parameters, rate=F(1, 10), bottom_score=1 if parameters.bottom_score else 0)
    x = (list(points) * 16)[:16]
    rule = selected(class_name, p, x, labels, seed)
    assert rule is None or is_member(class_name, rule)


def is_member(class_name: str, rule: Rule) -> bool:
    """Whether a rule is one of the class."""
    kind, *numbers = class_name.split(":")
    if isinstance(rule, PointsRule):
        return len(rule.members) <= (1 if kind == "points" else int(numbers[1]))
    if kind == "affine":
        return len(rule.to_dict()["basis"]) <= int(numbers[1])
    if isinstance(rule, ScorecardRule):
        return [len(table) for table in rule.tables] == [int(size) for size in numbers]
    return isinstance(rule, ThresholdRule | PrefixRule)
