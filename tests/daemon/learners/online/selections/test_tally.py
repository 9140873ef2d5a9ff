"""Tally selection, one example at a time: who passes is flipped, and whose spell ends then."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.classes.names import class_from_name
from littled.learners.contract import CallAdmitted, CallRequested, Examples, Place, SeasonOpened
from littled.learners.online import OnlineLearner, OnlineState
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.selections.tally import points_of
from littled.learners.online.tallies import NEVER, Watched
from littled.mechanisms.noise import KeyedNoise
from littled.mechanisms.tallies import TallyTests
from littled_protocol.rules import PointsRule

HEAD = bytes(32)
P = OnlineParameters(
    epsilon=Fraction(2),
    horizon=40,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(0),
    threshold_rate=Fraction(1),
    trigger_threshold=0,
    selection="tally",
    selection_rate=Fraction(1),
    selection_accounting="pure",
    draws=1,
    calls_max=9,
    buffer="mistakes",
    bottom_score=3,
    fresh=True,
)
NOISE = KeyedNoise(bytes(32))


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise: an id passes with its third vote, or two steps later than it would with two."""
    waits = {0: 1, 1: 3, 2: None}
    monkeypatch.setattr(TallyTests, "threshold_noise", lambda tests, words: 0)
    monkeypatch.setattr(TallyTests, "wait", lambda tests, gap, words: waits[gap])


def run(
    stream: list[tuple[int, int]],
    name: str = "sparse_sets:8:2",
    batch: int = 1,
    parameters: OnlineParameters = P,
) -> tuple[OnlineState, list[tuple[int, tuple[int, ...]]]]:
    """The last state, and each new rule with the position of the call that it is from."""
    learner = OnlineLearner("s/l", class_from_name(name), parameters)
    state = learner.step(learner.initial(), SeasonOpened(0, 0), NOISE).state
    calls = []
    position = 0
    while position < len(stream):
        part = stream[position : position + batch]
        x = np.array([x for x, _ in part], dtype=np.uint8)
        y = np.array([y for _, y in part], dtype=np.uint8)
        step = learner.step(state, Examples(Place(HEAD, 0, position), x, y), NOISE)
        state, position = step.state, position + step.consumed
        for effect in step.effects:
            assert isinstance(effect, CallRequested)
            step = learner.step(state, CallAdmitted(effect.place), NOISE)
            state = step.state
            assert isinstance(state.rule, PointsRule)
            calls.append((effect.place.position, state.rule.members))
    return state, calls


def test_each_id_has_votes_of_its_own_and_keeps_them_when_others_pass() -> None:
    # the third vote for 7 comes last, long after 5 has passed
    stream = [(7, 1), (5, 1), (5, 1), (5, 1), (0, 0), (7, 1), (0, 0), (7, 1), (7, 1)]
    for batch in (1, 2, 4, 9):
        state, calls = run(stream, batch=batch)
        assert calls == [(3, (5,)), (7, (5, 7))]
        assert state.tallies is None


def test_an_id_passes_without_a_mistake_once_its_time_comes() -> None:
    stream = [(7, 1), (7, 1), (0, 0), (0, 0), (7, 1)]
    for batch in (1, 3, 5):
        _, calls = run(stream, batch=batch)
        assert calls == [(3, (7,))]


def test_two_ids_may_pass_at_once() -> None:
    # 5 waits from its second vote on, and 7 gets its third then
    stream = [(7, 1), (5, 1), (7, 1), (5, 1), (7, 1), (0, 0), (0, 0)]
    monkey = [(7, 1), (7, 1), (5, 1), (5, 1), (5, 1)]
    assert run(stream)[1] == [(4, (7,)), (5, (5, 7))]
    assert run(monkey)[1] == [(3, (7,)), (4, (5, 7))]
    both = [(5, 1), (7, 1), (5, 1), (0, 0), (7, 1)]
    assert run([*both[:4], (0, 0)])[1] == [(4, (5,))]
    together = [(7, 1), (5, 1), (7, 1), (5, 1), (5, 1)]
    assert run(together)[1] == [(4, (5, 7))]


def test_a_vote_draws_anew_when_its_id_passes() -> None:
    """With its second vote 7 would pass at position 3; the vote there is its third."""
    state, calls = run([(7, 1), (7, 1), (0, 0), (7, 1), (0, 0)])
    assert calls == [(3, (7,))]
    assert state.tallies is None


def test_a_member_leaves_by_votes_against_it() -> None:
    _, calls = run([*[(7, 1)] * 3, *[(7, 0)] * 3])
    assert calls == [(2, (7,)), (5, ())]


def test_the_spell_of_an_id_ends_when_the_rule_changes_its_label() -> None:
    """Ids 5 and 7 are in; 5 has a vote against it when 9 takes the place of the next one, 5."""
    stream = [*[(5, 1)] * 3, *[(7, 1)] * 3, (5, 0), (7, 0), *[(9, 1)] * 3]
    state, calls = run(stream)
    assert calls[-1] == (10, (7, 9))
    assert state.tallies is not None
    assert dict(state.tallies.watched) == {7: Watched(2, NEVER)}


def test_a_published_id_has_a_threshold_of_its_own() -> None:
    """Two votes take a member away, and three bring it back."""
    stream = [*[(7, 1)] * 3, *[(7, 0)] * 2, *[(7, 1)] * 3, (0, 0)]
    for batch in (1, 2, 9):
        state, calls = run(stream, batch=batch, parameters=replace(P, published_score=2))
        assert calls == [(2, (7,)), (4, ()), (7, (7,))]
        assert state.tallies is not None
        assert dict(state.tallies.watched) == {7: Watched(2, NEVER)}


def test_a_published_id_is_tested_without_votes() -> None:
    """It passes three steps after it came; what waits with votes of its own is none of these."""
    stream = [*[(7, 1)] * 3, (5, 1), *[(0, 0)] * 3]
    for batch in (1, 2, 7):
        state, calls = run(stream, batch=batch, parameters=replace(P, published_score=1))
        assert calls == [(2, (7,)), (5, ())]
        assert state.tallies is not None
        assert dict(state.tallies.watched) == {5: Watched(2, NEVER)}
    assert run(stream)[1] == [(2, (7,))]


def test_an_id_that_loses_its_place_is_tested_by_votes_alone() -> None:
    stream = [*[(5, 1)] * 3, *[(7, 1)] * 3, *[(9, 1)] * 3]
    state, calls = run(stream, parameters=replace(P, published_score=2))
    assert calls[-1] == (8, (7, 9))
    assert state.tallies is not None
    assert dict(state.tallies.watched) == {7: Watched(2, NEVER), 9: Watched(2, NEVER)}


def test_what_was_published_before_a_season_is_tested_from_its_first_example() -> None:
    parameters = replace(P, published_score=1)
    learner = OnlineLearner("s/l", class_from_name("sparse_sets:8:2"), parameters)
    state, _ = run([*[(7, 1)] * 3, *[(9, 1)] * 3], parameters=replace(P, published_score=2))
    state = learner.step(state, SeasonOpened(1, 40), NOISE).state
    assert state.tallies is None
    x, y = np.array([0, 0, 7, 0], dtype=np.uint8), np.array([0, 0, 0, 0], dtype=np.uint8)
    for parts in ([4], [1, 3], [1, 1, 1, 1]):
        at, now = 0, state
        for count in parts:
            place = Place(HEAD, 40, 40 + at)
            now = learner.step(now, Examples(place, x[:count], y[:count]), NOISE).state
            at += count
        assert now.tallies is not None
        assert now.tallies.first == 42


def test_a_new_season_knows_no_votes() -> None:
    learner = OnlineLearner("s/l", class_from_name("sparse_sets:8:2"), P)
    state, _ = run([(7, 1), (5, 1)])
    assert state.tallies is not None
    opened = learner.step(state, SeasonOpened(1, 40), NOISE).state
    assert opened.tallies is None


@pytest.mark.parametrize("kind", ["u8", "u32", "u64", "u128"])
def test_ids_are_points_of_the_class(kind: str) -> None:
    ids = [3, 200]
    found = points_of(ids, kind)
    assert (found[:, 1] if kind == "u128" else found).tolist() == ids
    assert len(points_of([], kind)) == 0


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"fresh": False}, "is fresh"),
        ({"buffer": "both"}, "keeps mistakes"),
        ({"draws": 3}, "neither teachers nor draws"),
        ({"teachers": 3}, "neither teachers nor draws"),
        ({"trigger_rate": Fraction(1)}, "has no trigger"),
        ({"trigger_threshold": 3}, "has no trigger"),
        ({"schedule_first": 8, "calls_max": 3}, "no schedule|a schedule"),
        ({"threshold_rate": None}, "has a threshold_rate"),
        ({"threshold_rate": Fraction(0)}, "must be above 0"),
        ({"selection_accounting": "zcdp"}, "booked as pure"),
        ({"noise_rate": Fraction(1, 10)}, "noise_rate 0"),
        ({"user_examples_max": 1}, "single examples"),
        ({"published_score": 0}, "published_score must be an integer from 1"),
        ({"published_score": 1.5}, "published_score must be an integer from 1"),
        (
            {"selection": "histogram", "threshold_rate": None, "published_score": 3},
            "only tallies of ids have a published_score",
        ),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(values: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        replace(P, **values)


def test_it_needs_ids() -> None:
    with pytest.raises(ValueError, match="no rules that are sets of ids"):
        OnlineLearner("s/l", class_from_name("thresholds:8"), P)
