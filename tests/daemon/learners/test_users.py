"""Caps on users: counts against a plain model, and what a learner keeps of each user."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.classes.names import class_from_name
from littled.classes.thresholds import Thresholds
from littled.learners.contract import CallRequested, SeasonOpened
from littled.learners.online import OnlineLearner, OnlineState
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.snapshot import state_from_dict, state_to_dict
from littled.learners.online.values import EpochSettings
from littled.learners.snapshot import SnapshotUnusable, pack, unpack
from littled.learners.users import USER_PURPOSE, UserCounts, Users, user_numbers
from littled.mechanisms.noise import KeyedNoise
from support.learning import Listening, Runner, column, equal, stream
from support.tape import TapeNoise

# Few users, some of which share one of their two words with others.
USERS = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda pair: (pair[0] << 62, pair[1]))


def rows(users: list[tuple[int, int]]) -> Users:
    return np.array(users, dtype=np.uint64).reshape(-1, 2)


# --- counts ---------------------------------------------------------------------------------------


@given(
    batches=st.lists(st.lists(st.tuples(USERS, st.booleans()), max_size=12), max_size=8),
    most=st.integers(1, 3),
)
def test_the_first_examples_of_each_user_are_admitted(
    batches: list[list[tuple[tuple[int, int], bool]]], most: int
) -> None:
    counts, model = UserCounts(), Counter[tuple[int, int]]()
    states = [(counts, +model)]
    for batch in batches:
        users, wanted = rows([user for user, _ in batch]), np.array([w for _, w in batch], bool)
        admitted = counts.admitted(users, wanted, most)
        first = []
        for user, want in batch:
            first.append(want and model[user] < most)
            model[user] += first[-1]
        assert admitted.tolist() == first
        counts = counts.plus(users[admitted])
        states.append((counts, +model))
    for state, expected in states:  # earlier ones are what they were
        whole = state.whole()
        names = [(int(first), int(second)) for first, second in whole.users.T]
        assert names == sorted(names)
        assert dict(zip(names, whole.counts.tolist(), strict=True)) == expected


def test_runs_grow_fast_enough_to_be_few() -> None:
    counts = UserCounts()
    rng = np.random.default_rng(0)
    for number in range(300):
        counts = counts.plus(rng.integers(0, 2**64, (1 + number % 3, 2), dtype=np.uint64))
        sizes = [len(run) for run in counts.runs]
        assert all(a > 2 * b for a, b in pairwise(sizes))
    assert sum(len(run) for run in counts.runs) == len(counts.whole()) == 600


@given(st.lists(USERS, max_size=20))
def test_users_have_numbers_of_their_own(users: list[tuple[int, int]]) -> None:
    numbers = user_numbers(rows(users)).tolist()
    assert len(set(numbers)) == len(set(users)) == len(set(zip(users, numbers, strict=True)))
    assert sorted(set(numbers)) == list(range(len(set(users))))


# --- learners -------------------------------------------------------------------------------------

DENSE = OnlineParameters(
    epsilon=Fraction(1),
    horizon=600,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(1, 2),
    trigger_threshold=12,
    selection="dense",
    selection_rate=Fraction(1, 4),
    selection_accounting="pure",
    draws=1,
    calls_max=3,
    buffer="examples",
    user_examples_max=2,
)
SPARSE = replace(
    DENSE, selection="sparse", buffer="both", background_max=16, list_cap=9, bottom_score=20,
)  # fmt: skip
CLOSING = replace(
    DENSE, selection="closure", buffer="mistakes", list_cap=1, bottom_score=4,
    ladder=(EpochSettings(12, 5),), teachers=7,
)  # fmt: skip
CASES: dict[str, tuple[HypothesisClass, OnlineParameters]] = {
    "examples": (Thresholds(16), DENSE),
    "mistakes": (Thresholds(16), replace(DENSE, buffer="mistakes")),
    "both": (class_from_name("prefixes:8"), SPARSE),
    "background": (class_from_name("prefixes:8"), replace(SPARSE, buffer="examples")),
    "teachers": (class_from_name("conjunctions:4"), CLOSING),
    "scheduled": (
        class_from_name("conjunctions:4"),
        replace(
            CLOSING, trigger_rate=Fraction(0), trigger_threshold=0, ladder=(), fresh=True,
            schedule_first=100, mistakes_max=40,
        ),
    ),
}  # fmt: skip


def fed(
    case: str, seed: int, cuts: list[int], givers: int = 60
) -> tuple[OnlineLearner, list[OnlineState], NDArray[Any], Users]:
    """States before each call and at the end, of a stream of people who give about ten each."""
    hypotheses, parameters = CASES[case]
    learner = OnlineLearner("s/l", hypotheses, parameters)
    x, y = stream(seed, 600)
    rng = np.random.default_rng(seed)
    users = rng.integers(0, givers, (600, 1)).astype(np.uint64).repeat(2, axis=1)
    runner, states = Runner(learner, TapeNoise(seed)), []
    runner.open()
    points = column(hypotheses, x)
    for a, b in zip([0, *sorted(cuts)], [*sorted(cuts), 600], strict=True):
        effects = runner.feed(points[a:b], y[a:b], a, users[a:b])
        states += [runner.state for effect in effects if isinstance(effect, CallRequested)]
    return learner, [*states, runner.state], points, users


@pytest.mark.no_cover
@pytest.mark.parametrize("case", CASES)
@settings(max_examples=12)
@given(cuts=st.lists(st.integers(0, 600), max_size=5), seed=st.integers(0, 2))
def test_results_do_not_depend_on_how_the_stream_is_cut(
    case: str, cuts: list[int], seed: int
) -> None:
    learner, whole, _, _ = fed(case, seed, [])
    _, parts, _, _ = fed(case, seed, cuts)
    assert len(whole) == len(parts)
    for left, right in zip(whole, parts, strict=True):
        assert equal(learner._keeping.closed(left), learner._keeping.closed(right))


@pytest.mark.parametrize("case", CASES)
def test_no_more_than_the_cap_is_kept_or_counted_of_anybody(case: str) -> None:
    learner, states, _, _ = fed(case, 1, [])
    reached = 0
    for state in states:
        closed = learner._keeping.closed(state)
        for counts in (closed.users_counted, closed.users_kept):
            if counts is not None and counts.runs:
                assert counts.whole().counts.max() <= 2
                reached = max(reached, int(counts.whole().counts.max()))
        kept = Counter(
            int(user)
            for epoch in closed.archive
            for user in (epoch.users[:, 0].tolist())  # type: ignore[index]
        )
        assert max(kept.values(), default=0) <= 2
        if closed.statistics is not None and learner.parameters.buffer == "examples":
            assert closed.users_kept is not None
            # each kept example is counted once: no rule agrees with more of them
            assert needed(learner.hypotheses.dense).scores(closed.statistics).max() <= 2 * 60
    assert reached == 2
    assert states[-1].calls > 0


def test_kept_mistakes_are_counted_mistakes() -> None:
    """Where mistakes are kept and nothing else, one count serves."""
    _, states, _, _ = fed("teachers", 1, [])
    assert all(state.users_kept is None for state in states)
    learner, (state, *_), _, _ = fed("both", 1, [])
    closed = learner._keeping.closed(state)
    assert closed.users_counted is not None
    assert closed.users_kept is not None
    counted, kept = closed.users_counted.whole(), closed.users_kept.whole()
    assert counted.counts.sum() > 5
    assert (kept.of(counted.users.T) >= counted.counts).all()


def test_a_season_begins_with_nobody_counted() -> None:
    for case in CASES:
        learner, states, _, _ = fed(case, 2, [])
        step = learner.step(states[-1], SeasonOpened(1, 600), TapeNoise(0))
        for counts in (step.state.users_counted, step.state.users_kept):
            assert counts in (None, UserCounts())


def test_a_user_has_one_word_in_a_season_and_another_in_the_next() -> None:
    learner = OnlineLearner("s/l", class_from_name("conjunctions:4"), CLOSING)
    words = []
    for season in (0, 0, 1):
        _, (state, *_), _, _ = fed("teachers", 3, [])
        closed = learner._keeping.closed(replace(state, season=season))
        heard = Listening(KeyedNoise(bytes(32)))
        told = learner._keeping.with_user_words(closed, LearnerNoise(learner.name, heard))
        (epoch,) = told.archive
        assert epoch.users is not None
        by_user = dict(zip(epoch.users[:, 0].tolist(), epoch.teacher.tolist(), strict=True))
        again = zip(epoch.users[:, 0].tolist(), epoch.teacher.tolist(), strict=True)
        assert all(by_user[user] == word for user, word in again)
        assert len(set(by_user.values())) == len(by_user) == len(heard.entries)
        assert {entry[1] for entry in heard.entries} == {USER_PURPOSE}
        words.append(by_user)
    assert words[0] == words[1]
    assert not set(words[0].values()) & set(words[2].values())


@pytest.mark.parametrize("case", CASES)
def test_states_with_users_survive_as_bytes(case: str) -> None:
    _, states, _, _ = fed(case, 0, [50, 51, 333])
    for state in states:
        assert equal(state_from_dict(unpack(pack(state_to_dict(state)))), state)


def test_snapshots_from_before_there_were_users_are_replayed() -> None:
    _, (state, *_), _, _ = fed("both", 0, [])
    values = state_to_dict(state)
    for name in ("users_counted", "users_kept"):
        old = {key: value for key, value in values.items() if key != name}
        with pytest.raises(SnapshotUnusable, match="fields of another version"):
            state_from_dict(old)


@pytest.mark.parametrize("most", [0, True, 1.0, 10**6 + 1])
def test_other_caps_are_refused(most: Any) -> None:
    with pytest.raises(
        ValueError, match="user_examples_max must be an integer from 1 to 1,000,000"
    ):
        replace(DENSE, user_examples_max=most)
