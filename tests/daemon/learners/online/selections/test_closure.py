"""Closures that teachers propose, and what they propose when the rule that fits has changed."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.classes.base import Scores
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.classes.names import class_from_name
from littled.learners.contract import Place
from littled.learners.online import OnlineState
from littled.learners.online.buffer import Buffer
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.selections.closure import Closures
from littled.mechanisms.noise import KeyedNoise
from littled.mechanisms.sparse_sample import SparseSample
from littled_protocol.rules import Rule

NOISE = LearnerNoise("s/l", KeyedNoise(bytes(32)))
PLACE = Place(bytes(32), 0, 9)
AFFINE = class_from_name("affine:4:1")
P = OnlineParameters(
    epsilon=Fraction(2),
    horizon=64,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(1),
    trigger_threshold=3,
    selection="closure",
    selection_rate=Fraction(1),
    selection_accounting="pure",
    draws=1,
    calls_max=9,
    buffer="mistakes",
    list_cap=1,
    bottom_score=3,
    fresh=True,
    starts_over=True,
)
ALONE = "only closure selection that starts_over can have starts_over_together"
# (x, y, user)
Row = tuple[int, int, int]


def around(*points: int, of: HypothesisClass = AFFINE) -> Rule:
    closed, rule = needed(of.intersection_closed), of.first_rule()
    for point in points:
        found = closed.around(rule, point)
        assert found is not None
        rule = found
    return rule


def kept(rows: list[Row], *, users: bool) -> Buffer:
    x, y = (np.array([row[i] for row in rows], dtype=np.uint8) for i in range(2))
    words = np.array([row[2] for row in rows], dtype=np.uint64)
    names = np.stack([words] * 2, axis=1) if users else None
    return Buffer(x, y, np.ones(len(rows), dtype=bool), words, words, names)


def offered(
    rows: list[Row],
    published: Rule,
    monkeypatch: pytest.MonkeyPatch,
    hypotheses: HypothesisClass = AFFINE,
    **changes: Any,
) -> dict[Rule, int]:
    """The score of each candidate, by the rule that is published when it is drawn."""
    parameters = replace(P, **{"user_examples_max": 2, **changes})
    users = parameters.user_examples_max is not None
    state = OnlineState(published, archive=(kept(rows, users=users),))
    seen: list[list[int]] = []

    def sample(mechanism: SparseSample, scores: Scores, words: Any) -> int | None:
        seen.append(scores.tolist())
        return len(seen) - 1 if len(seen) <= len(scores) else None

    monkeypatch.setattr(SparseSample, "sample", sample)
    found: dict[Rule, int] = {}
    while True:
        _, rule = Closures(parameters).select(hypotheses, state, PLACE, NOISE)
        if rule is None:
            return found
        found[rule] = seen[-1][len(seen) - 1]


def test_who_has_an_example_that_no_rule_fits_proposes_the_smallest_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once, whatever else they have."""
    rows = [(5, 0, 1), (5, 0, 1), (5, 0, 2), (3, 1, 2), (3, 1, 3), (3, 1, 4), (9, 1, 5), (6, 1, 5)]
    rows += [(1, 0, 3)]  # outside of the rule, which is right
    found = offered(rows, around(5), monkeypatch)
    assert found == {AFFINE.first_rule(): 2, around(5, 3): 2}


def test_of_a_whole_rule_every_mistake_says_that_no_rule_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [(5, 0, 1), (9, 1, 2), (9, 1, 2), (6, 1, 3)]
    assert offered(rows, around(5, 3), monkeypatch) == {AFFINE.first_rule(): 3}
    assert offered(rows[1:], around(5, 3), monkeypatch) == {AFFINE.first_rule(): 2}


def test_nothing_starts_over_from_the_smallest_rule_or_without_being_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [(5, 0, 1), (3, 1, 2), (9, 0, 2)]
    assert offered(rows, AFFINE.first_rule(), monkeypatch) == {around(3): 1}
    found = offered(rows, around(5), monkeypatch, starts_over=False)
    assert found == {around(5, 3): 1}


# There is a line through 5 and each of 3, 6 and 9, and none through two of these.
APART: list[Row] = [
    *((3, 1, 1), (6, 1, 1), (9, 1, 1)),
    *((3, 1, 2), (6, 1, 2)),
    *((3, 1, 3), (3, 1, 3)),
    *((5, 0, 4), (3, 1, 4), (6, 1, 4)),
    (5, 1, 5),
]


def test_who_has_examples_that_no_rule_fits_together_proposes_the_smallest_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once, however many these are, and whatever says so beside them."""
    found = offered(APART, around(5), monkeypatch, starts_over_together=True)
    assert found == {AFFINE.first_rule(): 3, around(5, 3): 1}
    found = offered(APART, around(5), monkeypatch)
    assert found == {AFFINE.first_rule(): 1, around(5, 3): 1}


def test_a_negative_example_in_a_closure_says_that_no_rule_fits_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plane = class_from_name("affine:4:2")
    rows = [(3, 1, 1), (9, 1, 1), (5 ^ 3 ^ 9, 0, 1), (3, 1, 2), (9, 1, 2), (0, 0, 2)]
    found = offered(rows, around(5), monkeypatch, plane, starts_over_together=True)
    assert found == {AFFINE.first_rule(): 1, around(5, 3, 9, of=plane): 1}


def test_nothing_starts_over_together_from_the_smallest_rule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [(3, 1, 1), (6, 1, 1), (9, 1, 1), (5, 1, 2)]
    found = offered(rows, AFFINE.first_rule(), monkeypatch, starts_over_together=True)
    assert found == {around(5): 1}


def test_an_example_that_is_a_teacher_has_a_rule_around_it_and_the_published_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone: dict[str, Any] = {"user_examples_max": None, "starts_over_together": True}
    found = offered(APART[:3], around(5), monkeypatch, **alone)
    assert found == {around(5, point): 1 for point in (3, 6, 9)}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"fresh": False}, "only closures, of fresh selections, can have starts_over"),
        ({"selection": "dense"}, "only closures, of fresh selections, can have starts_over"),
        ({"starts_over": 1}, "starts_over must be true or false"),
        ({"starts_over_together": 1}, "starts_over_together must be true or false"),
        ({"starts_over": False, "starts_over_together": True}, ALONE),
        ({"starts_over": False, "fresh": False, "starts_over_together": True}, ALONE),
    ],
)
def test_what_cannot_start_over_says_so(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        replace(P, **values)


def test_plans_that_never_start_over_are_stored_as_they_were() -> None:
    assert P.to_dict()["starts_over"] is True
    assert OnlineParameters.from_dict(P.to_dict()) == P
    assert "starts_over_together" not in P.to_dict()
    together = replace(P, starts_over_together=True)
    assert together.to_dict()["starts_over_together"] is True
    assert OnlineParameters.from_dict(together.to_dict()) == together
    before = replace(P, starts_over=False)
    assert "starts_over" not in before.to_dict()
    assert OnlineParameters.from_dict(before.to_dict()) == before
