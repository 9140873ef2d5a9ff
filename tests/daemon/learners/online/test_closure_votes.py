"""Votes for closures, one example at a time: who votes for what, and when it is published."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.classes.capabilities import needed
from littled.classes.names import class_from_name
from littled.learners.contract import CallAdmitted, CallRequested, Examples, Place, SeasonOpened
from littled.learners.online import OnlineLearner, OnlineState
from littled.learners.online.closure_tallies import ClosureTallies, Group, Watched
from littled.learners.online.closure_votes import ClosureVotes, around_all
from littled.learners.online.groups import GroupSettings
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.tallies import NEVER
from littled.mechanisms.noise import KeyedNoise
from littled.mechanisms.tallies import TallyTests
from littled_protocol.rules import AffineRule, ConjunctionRule, Rule

HEAD = bytes(32)
NOISE = KeyedNoise(bytes(32))
# Group 0 for the word 0; the word 1 is of one that votes alone.
SINGLE, GROUPED = 1, 0
GROUPS = GroupSettings(
    groups=1, singles=1, later_singles=1, stable=2, renewed_after=16, next_score=2, tested_every=1,
    forgets_after=64,
)  # fmt: skip
P = OnlineParameters(
    epsilon=Fraction(2),
    horizon=64,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(0),
    threshold_rate=Fraction(1),
    trigger_threshold=0,
    selection="closure-tally",
    selection_rate=Fraction(1),
    selection_accounting="pure",
    draws=1,
    calls_max=9,
    buffer="mistakes",
    bottom_score=3,
    fresh=True,
    groups=GROUPS,
)
Vote = tuple[int, int, int]
Calls = list[tuple[int, Rule]]


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise: a rule passes at its threshold, or two tests later with a vote less."""
    waits = {0: 1, 1: 3}
    monkeypatch.setattr(TallyTests, "threshold_noise", lambda tests, words: 0)
    monkeypatch.setattr(
        TallyTests, "wait", lambda tests, gap, words: 1 if gap < 0 else waits.get(gap)
    )


def run(
    stream: list[Vote],
    monkeypatch: pytest.MonkeyPatch,
    name: str = "affine:4:2",
    batch: int = 1,
    parameters: OnlineParameters = P,
) -> tuple[OnlineState, Calls]:
    """The last state, and each new rule with the position of the call that it is from."""
    secrets = np.array([word for _, _, word in stream], dtype=np.uint64)

    def of_positions(noise: LearnerNoise, event: Examples, purpose: str) -> NDArray[np.uint64]:
        assert purpose == "teacher"
        return secrets[event.place.position :][: len(event.y)]

    monkeypatch.setattr(LearnerNoise, "of_positions", of_positions)
    learner = OnlineLearner("s/l", class_from_name(name), parameters)
    state = learner.step(learner.initial(), SeasonOpened(0, 0), NOISE).state
    calls: Calls = []
    position = 0
    while position < len(stream):
        part = stream[position : position + batch]
        x = np.array([x for x, _, _ in part], dtype=np.uint8)
        y = np.array([y for _, y, _ in part], dtype=np.uint8)
        step = learner.step(state, Examples(Place(HEAD, 0, position), x, y), NOISE)
        state, position = step.state, position + step.consumed
        for effect in step.effects:
            assert isinstance(effect, CallRequested)
            state = learner.step(state, CallAdmitted(effect.place), NOISE).state
            calls.append((effect.place.position, state.rule))
    return state, calls


def around(*points: int, name: str = "affine:4:2") -> Rule:
    closed = needed(class_from_name(name).intersection_closed)
    rule: Rule | None = class_from_name(name).first_rule()
    for point in points:
        assert rule is not None
        rule = closed.around(rule, point)
    assert rule is not None
    return rule


def tallies_of(state: OnlineState) -> ClosureTallies:
    assert isinstance(state.tallies, ClosureTallies)
    return state.tallies


def test_single_examples_vote_for_the_rule_around_their_own_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = [(5, 1, SINGLE), (9, 1, SINGLE), (5, 0, SINGLE), (5, 1, SINGLE), (5, 1, SINGLE)]
    for batch in (1, 2, 5):
        state, calls = run(stream, monkeypatch, batch=batch)
        assert calls == [(4, around(5))]
        # {9} has its vote still, as one for the rule around both
        assert dict(tallies_of(state).watched) == {around(5, 9): Watched(2, NEVER, False)}


def test_votes_for_rules_that_become_one_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two votes for {9} and one for {5, 9} are three, once {5} is published."""
    stream = [
        *((9, 1, SINGLE), (5, 1, GROUPED), (9, 1, GROUPED), (9, 1, GROUPED), (5, 1, GROUPED)),
        *((9, 1, SINGLE), (5, 1, SINGLE), (5, 1, SINGLE), (0, 0, SINGLE), (0, 0, SINGLE)),
    ]
    waits = {0: 1, 1: 9}
    monkeypatch.setattr(
        TallyTests, "wait", lambda tests, gap, _: waits.get(gap, 1 if gap < 0 else None)
    )
    _, calls = run([*stream[:8], (5, 1, SINGLE), *stream[8:]], monkeypatch)
    assert calls == [(8, around(5)), (9, around(5, 9))]


def test_a_group_votes_once_for_what_its_examples_agree_on(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = [(point, 1, GROUPED) for point in (1, 3, 1, 3, 1, 3, 7, 1)]
    state, calls = run(stream[:3], monkeypatch)
    assert dict(tallies_of(state).groups) == {0: Group(around(1, 3), held=1)}
    assert not tallies_of(state).watched
    for length in (4, 6, 8):
        state, calls = run(stream[:length], monkeypatch)
        assert dict(tallies_of(state).groups) == {0: Group(around(1, 3), held=2, voted=True)}
        assert dict(tallies_of(state).watched) == {around(1, 3): Watched(2, NEVER, False)}
    assert calls == []


def test_a_group_that_is_whole_votes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    state, _ = run([(point, 1, GROUPED) for point in (0, 1, 2)], monkeypatch)
    assert dict(tallies_of(state).watched) == {around(0, 1, 2): Watched(2, NEVER, False)}


def test_a_group_whose_closure_is_no_rule_never_votes(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = [(point, 1, GROUPED) for point in (0, 1, 2, 4)]
    state, _ = run(wide, monkeypatch, parameters=replace(P, groups=replace(GROUPS, stable=9)))
    assert len(tallies_of(state).watched) == 1  # it was whole before
    # a group whose first two points are no rule together
    rule = class_from_name("affine:4:1").first_rule()
    votes = ClosureVotes(P, class_from_name("affine:4:1"))
    lost = votes._joined_by(Group(around(0, 1, name="affine:4:1")), rule, 2, {})
    assert lost == Group(rule, 0, voted=True)
    assert votes._joined_by(lost, rule, 5, {}) is lost
    # where rules start over, it has voted for that
    votes = ClosureVotes(replace(P, starts_over=True), class_from_name("affine:4:1"))
    one = around(0, name="affine:4:1")
    assert votes._joined_by(Group(around(0, 1, name="affine:4:1")), one, 2, {}) == lost


def test_groups_begin_anew_at_public_places_and_after_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = {0: 1}
    monkeypatch.setattr(TallyTests, "wait", lambda tests, gap, words: waits.get(gap))
    quick = replace(P, groups=replace(GROUPS, renewed_after=4, stable=1))
    stream = [(1, 1, GROUPED)] * 8 + [(2, 1, GROUPED)] * 2
    state, calls = run(stream, monkeypatch, parameters=quick)
    # votes at 1, 5 and 9: the first two are for {1}
    assert tallies_of(state).groups.keys() == {0, 1, 2}
    assert {rule: one.gap for rule, one in tallies_of(state).watched.items()} == {
        around(1): 1, around(2): 2,
    }  # fmt: skip
    assert calls == []
    state, calls = run([*stream[:7], (1, 1, SINGLE)], monkeypatch, parameters=quick)
    assert calls == [(7, around(1))]
    assert not tallies_of(state).groups


def test_rules_that_come_next_are_tested_without_votes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What wait the noise gives decides alone; each has the lower threshold."""
    rule = around(0b0101, name="conjunctions:4")
    state, calls = run([(0b0101, 1, SINGLE)] * 3, monkeypatch, "conjunctions:4")
    assert calls == [(2, rule)]
    closed = needed(class_from_name("conjunctions:4").intersection_closed)
    assert dict(tallies_of(state).watched) == {
        after: Watched(2, NEVER, True) for after in closed.next_rules(rule)
    }
    # the published rule loses all its literals without an example that says so
    monkeypatch.setattr(TallyTests, "wait", lambda tests, gap, words: 2)
    stream = [(0b0101, 1, SINGLE), *[(0, 0, SINGLE)] * 4]
    _, calls = run(stream, monkeypatch, "conjunctions:4")
    assert calls == [(1, rule), (3, ConjunctionRule(4, 0, 0))]


def test_a_group_votes_at_once_for_a_rule_that_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = [*[(0b0101, 1, SINGLE)] * 3, (0b0111, 1, GROUPED), (0b0111, 1, GROUPED)]
    state, calls = run(stream, monkeypatch, "conjunctions:4")
    after = around(0b0101, 0b0111, name="conjunctions:4")
    assert isinstance(after, ConjunctionRule)
    assert tallies_of(state).watched[after] == Watched(1, 5, True)
    assert tallies_of(state).groups[0].voted
    assert len(calls) == 1


def test_tests_come_at_public_positions_only(monkeypatch: pytest.MonkeyPatch) -> None:
    rare = replace(P, groups=replace(GROUPS, tested_every=4))
    for batch in (1, 3, 8):
        _, calls = run([(5, 1, SINGLE)] * 8, monkeypatch, batch=batch, parameters=rare)
        assert calls == [(3, around(5))]
        # with two votes it would wait for three tests from position 3 on
        stream = [*[(5, 1, SINGLE)] * 2, *[(0, 0, SINGLE)] * 12]
        _, calls = run(stream, monkeypatch, batch=batch, parameters=rare)
        assert calls == [(11, around(5))]


def test_a_vote_of_each_rule_is_forgotten_at_public_positions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    often = replace(P, groups=replace(GROUPS, forgets_after=4))
    waits = {0: 1}
    monkeypatch.setattr(TallyTests, "wait", lambda tests, gap, words: waits.get(gap))
    stream = [(5, 1, SINGLE), (5, 1, SINGLE), (9, 1, SINGLE), (0, 1, GROUPED), (0, 0, SINGLE)]
    for batch in (1, 2, 5):
        state, calls = run(stream, monkeypatch, batch=batch, parameters=often)
        assert dict(tallies_of(state).watched) == {around(5): Watched(2, NEVER, False)}
        assert dict(tallies_of(state).groups) == {0: Group(around(0))}
        assert calls == []


def test_noise_is_drawn_anew_for_each_rule_whenever_tests_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[int] = []

    def threshold_noise(tests: TallyTests, words: NDArray[np.uint64]) -> int:
        assert len(words) == tests.words
        drawn.append(int(words[0]))
        return 10 * len(drawn) if len(drawn) > 2 else 0

    monkeypatch.setattr(TallyTests, "threshold_noise", threshold_noise)
    often = replace(P, bottom_score=9, groups=replace(GROUPS, forgets_after=6))
    stream = [*[(5, 1, SINGLE)] * 3, *[(9, 1, SINGLE)] * 3, (0, 0, SINGLE)]
    state, _ = run(stream, monkeypatch, parameters=often)
    # three votes are two when one is forgotten
    assert {rule: one.gap for rule, one in tallies_of(state).watched.items()} == {
        around(5): 9 - 2 + 30, around(9): 9 - 2 + 40,
    }  # fmt: skip
    assert len(drawn) == len(set(drawn)) == 4


def test_examples_that_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative ones, and those on which the published rule is right."""
    state, calls = run([*[(5, 1, SINGLE)] * 3, (5, 1, SINGLE), (5, 0, SINGLE)], monkeypatch)
    assert calls == [(2, around(5))]
    assert not tallies_of(state).watched


def test_a_rule_that_is_not_in_the_class_leaves_the_published_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two lines pass at once, and no line is around both."""
    monkeypatch.setattr(
        TallyTests, "wait", lambda tests, gap, words: {1: 4, 0: 2}.get(gap, None if gap > 0 else 1)
    )
    stream = [(0, 1, SINGLE), (3, 1, SINGLE), (0, 1, SINGLE), (3, 1, SINGLE), (3, 1, SINGLE)]
    _, calls = run([*stream, (0, 0, SINGLE)], monkeypatch, "affine:4:0")
    assert calls == [(5, class_from_name("affine:4:0").first_rule())]


def test_the_rule_around_several() -> None:
    closed = needed(class_from_name("affine:4:1").intersection_closed)
    rules = [around(point, name="affine:4:1") for point in (1, 2, 4)]
    assert around_all(closed, rules[0], []) == rules[0]
    found = around_all(closed, rules[0], rules[1:2])
    assert isinstance(found, AffineRule)
    assert found.evaluate(np.arange(8, dtype=np.uint8)).tolist() == [0, 1, 1, 0, 0, 0, 0, 0]
    assert around_all(closed, rules[0], rules[1:]) is None


def test_a_new_season_knows_no_votes(monkeypatch: pytest.MonkeyPatch) -> None:
    learner: Any = OnlineLearner("s/l", class_from_name("affine:4:2"), P)
    state, _ = run([(7, 1, SINGLE), (5, 1, GROUPED)], monkeypatch)
    assert state.tallies is not None
    assert learner.step(state, SeasonOpened(1, 64), NOISE).state.tallies is None


OVER = replace(P, starts_over=True)
# Three votes publish {5}; the fourth example is inside it, and wrong.
GROWN = [(5, 1, SINGLE)] * 3


def test_negative_examples_inside_the_rule_vote_to_start_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nothing = class_from_name("affine:4:2").first_rule()
    stream = [*GROWN, (9, 1, SINGLE), *[(5, 0, SINGLE)] * 2, (9, 1, SINGLE), (5, 0, SINGLE)]
    for batch in (1, 3, 8):
        state, calls = run(stream, monkeypatch, batch=batch, parameters=OVER)
        assert calls == [(2, around(5)), (7, nothing)]
        # the votes for {5, 9} are forgotten with everything else
        assert not tallies_of(state).watched
        assert not tallies_of(state).groups
    _, calls = run([*stream, *[(9, 1, SINGLE)] * 3], monkeypatch, parameters=OVER)
    assert calls[2:] == [(10, around(9))]


def test_nothing_starts_over_from_the_smallest_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """No rule says 1 to less, and examples that are negative outside of the rule are right."""
    state, calls = run([(5, 0, SINGLE)] * 9, monkeypatch, parameters=OVER)
    assert calls == []
    assert not tallies_of(state).watched
    state, calls = run([*GROWN, *[(9, 0, SINGLE)] * 9], monkeypatch, parameters=OVER)
    assert calls == [(2, around(5))]
    assert not tallies_of(state).watched


def test_votes_to_start_over_outlive_calls_and_places_where_votes_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nothing = class_from_name("affine:4:2").first_rule()
    slow = replace(OVER, bottom_score=3, groups=replace(GROUPS, forgets_after=8))
    waits = {0: 1}
    monkeypatch.setattr(TallyTests, "wait", lambda tests, gap, words: waits.get(gap))
    stream = [*GROWN, *[(5, 0, SINGLE)] * 2, *[(9, 1, SINGLE)] * 3]
    state, calls = run(stream, monkeypatch, parameters=slow)
    assert calls == [(2, around(5)), (7, around(5, 9))]
    assert dict(tallies_of(state).watched) == {nothing: Watched(1, NEVER, False)}
    # one of the two votes is forgotten at position 8, and two more are needed
    state, calls = run([*stream, (5, 0, SINGLE)], monkeypatch, parameters=slow)
    assert dict(tallies_of(state).watched) == {nothing: Watched(1, NEVER, False)}
    state, calls = run([*stream, *[(5, 0, SINGLE)] * 2], monkeypatch, parameters=slow)
    assert calls[2:] == [(9, nothing)]


def test_a_group_votes_to_start_over_in_the_place_of_its_vote(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nothing = class_from_name("affine:4:2").first_rule()
    stream = [*GROWN, (9, 1, GROUPED), (5, 0, GROUPED), (5, 0, GROUPED), (9, 1, GROUPED)]
    state, calls = run(stream, monkeypatch, parameters=OVER)
    assert calls == [(2, around(5))]
    assert dict(tallies_of(state).watched) == {nothing: Watched(2, NEVER, False)}
    assert dict(tallies_of(state).groups) == {0: Group(nothing, 0, voted=True)}
    # one that has voted for a closure votes for nothing else
    stream = [*GROWN, *[(9, 1, GROUPED)] * 3, (5, 0, GROUPED)]
    state, calls = run(stream, monkeypatch, parameters=OVER)
    assert dict(tallies_of(state).watched) == {around(5, 9): Watched(2, NEVER, False)}


def test_who_votes_alone_is_decided_as_at_first_once_a_season_has_started_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    later = replace(OVER, groups=replace(GROUPS, later_singles=7))
    # of the word 2 is a group's before the first call and one who votes alone after it
    stream = [*GROWN, *[(5, 0, SINGLE)] * 3, (9, 1, 2)]
    state, calls = run(stream, monkeypatch, parameters=later)
    assert len(calls) == 2
    assert tallies_of(state).groups.keys() == {0}
    state, _ = run([*GROWN, (9, 1, 2)], monkeypatch, parameters=later)
    assert not tallies_of(state).groups


STREAMS = st.lists(
    st.tuples(st.sampled_from([5, 9, 6]), st.integers(0, 1), st.integers(0, 3)),
    min_size=2, max_size=12,
)  # fmt: skip


@given(STREAMS, st.data())
def test_one_replaced_example_changes_one_vote(stream: list[Vote], data: st.DataObject) -> None:
    """What Lemma J rests on, where no rule passes: of either side at most one vote is its own."""
    place = data.draw(st.integers(0, len(stream) - 1))
    point, label = data.draw(st.sampled_from([5, 9, 6])), data.draw(st.integers(0, 1))
    other = [*stream[:place], (point, label, stream[place][2]), *stream[place + 1 :]]
    here, there = votes_of(stream), votes_of(other)
    assert (here - there).total() <= 1
    assert (there - here).total() <= 1


def votes_of(stream: list[Vote]) -> Counter[tuple[int, Rule]]:
    """Who votes for what when {5} is published: two groups, of the words 0 and 1."""
    parameters = replace(OVER, bottom_score=99, groups=replace(GROUPS, groups=2))
    learner = OnlineLearner("s/l", class_from_name("affine:4:2"), parameters)
    state = learner.step(learner.initial(), SeasonOpened(0, 0), NOISE).state
    state = replace(state, rule=around(5), calls=1)
    votes = ClosureVotes(parameters, learner.hypotheses)
    noise = LearnerNoise("s/l", NOISE)
    tallies = votes.begun(state.rule, {}, Place(HEAD, 0, 0), noise, 0)
    found: Counter[tuple[int, Rule]] = Counter()
    for position, (point, label, word) in enumerate(stream):
        x, y = np.array([point], dtype=np.uint8), np.array([label], dtype=np.uint8)
        part = Examples(Place(HEAD, 0, position), x, y)
        places = votes.voting(state.rule, y, state.rule.evaluate(x) != y)
        words = np.array([word], dtype=np.uint64)
        after = votes.counted(state, tallies, part, places, words, noise)
        for rule, one in after.watched.items():
            if one != tallies.watched.get(rule):
                found[position, rule] += 1
        tallies = after
    return found
