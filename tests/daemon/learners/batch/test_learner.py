"""The window learner as a state machine: where windows lie, what they release and forget."""

from dataclasses import fields, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.budget.events import DenseSelection, PrecisionLoss, PrepaidSelection
from littled.budget.price import Price
from littled.budget.prices import price
from littled.classes.names import class_from_name
from littled.learners.batch import BatchLearner, BatchParameters, BatchState
from littled.learners.contract import (
    CallAdmitted,
    CallRefused,
    CallRequested,
    Effect,
    Examples,
    Place,
    Published,
    SeasonOpened,
    SeasonPriced,
)
from littled.learners.users import UserCounts
from littled.mechanisms.noise import Address, KeyedNoise
from littled_protocol.rules import ThresholdRule
from support.learning import HEAD, column, stream
from support.tape import TapeNoise

F = Fraction
DENSE = BatchParameters(method="dense", epsilon=F(1), horizon=100, window=30, rate=F(1, 2))
CASES: dict[str, tuple[str, BatchParameters]] = {
    "dense": ("thresholds:16", DENSE),
    "histogram": ("points:8", replace(DENSE, method="histogram", bottom_score=4)),
    "proposals": ("prefixes:8", replace(DENSE, method="proposals", bottom_score=4, list_cap=9)),
    "closure": (
        "conjunctions:8",
        replace(DENSE, method="closure", bottom_score=2, list_cap=1, chunks=7),
    ),
    "teachers": (
        "thresholds:16",
        replace(DENSE, method="teachers", bottom_score=3, list_cap=17, chunks=7),
    ),
}


def learner(case: str = "dense", **changes: Any) -> BatchLearner:
    name, parameters = CASES[case]
    return BatchLearner("s/l", class_from_name(name), replace(parameters, **changes))


def run(
    of: BatchLearner, x: Any, y: Any, noise: Any, cuts: list[int], users: Any = None
) -> tuple[BatchState, list[Published]]:
    """A season, cut at `cuts`; every call is admitted."""
    state = of.step(of.initial(), SeasonOpened(0, 0), noise).state
    points, out = column(of.hypotheses, x), []
    for start, stop in pairwise(sorted({0, *(cut for cut in cuts if cut < len(y)), len(y)})):
        done = start
        while done < stop:
            whose = None if users is None else users[done:stop]
            part = Examples(Place(HEAD, start, done), points[done:stop], y[done:stop], whose)
            step = of.step(state, part, noise)
            state, done = step.state, done + step.consumed
            for effect in step.effects:
                assert isinstance(effect, CallRequested)
                answer = of.step(state, CallAdmitted(effect.place), noise)
                state = answer.state
                out += [each for each in answer.effects if isinstance(each, Published)]
    return state, out


# --- where windows lie ----------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_each_full_window_makes_one_release_and_what_is_left_over_none(case: str) -> None:
    x, y = stream(1, 100)
    state, out = run(learner(case), x, y, TapeNoise(1), [])
    assert [(each.kind, each.position) for each in out] == [
        ("rule", 30),
        ("rule", 60),
        ("rule", 90),
    ]
    assert [each.version for each in out] == [2, 3, 4]
    assert [each.epoch for each in out] == [1, 2, 3]
    assert state.pieces == ()


def test_seasons_begin_windows_anew_and_carry_the_rule_over() -> None:
    of = learner()
    x, y = stream(1, 100)
    state, out = run(of, x, y, TapeNoise(1), [])
    step = of.step(state, SeasonOpened(1, 100), TapeNoise(1))
    priced, opened = step.effects
    assert isinstance(priced, SeasonPriced)
    assert opened == Published("season", 5, 1, 3, 100, out[-1].rule)
    assert step.state == replace(state, version=5, season=1, epoch_position=100, calls=0, pieces=())


def test_the_first_release_is_a_constant_of_the_class() -> None:
    of = learner()
    _, published = of.step(of.initial(), SeasonOpened(0, 0), TapeNoise(1)).effects
    assert published == Published("rule", 1, 0, 0, 0, ThresholdRule(16, 8))


def test_a_refused_call_halts_until_the_next_season() -> None:
    of, noise = learner(), TapeNoise(1)
    x, y = stream(1, 40)
    state = of.step(of.initial(), SeasonOpened(0, 0), noise).state
    step = of.step(state, Examples(Place(HEAD, 0, 0), x, y), noise)
    (asked,) = step.effects
    assert isinstance(asked, CallRequested)
    step = of.step(step.state, CallRefused(asked.place), noise)
    assert step.effects == (Published("halt", 2, 0, 0, 30, ThresholdRule(16, 8)),)
    assert step.state.halted
    assert step.state.pieces == ()
    ignored = of.step(step.state, Examples(Place(HEAD, 0, 30), x[30:], y[30:]), noise)
    assert (ignored.state, ignored.effects, ignored.consumed) == (step.state, (), 10)
    assert not of.step(step.state, SeasonOpened(1, 100), noise).state.halted


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, 100), max_size=12), seed=st.integers(0, 3))
def test_results_do_not_depend_on_how_the_stream_is_cut(
    case: str, cuts: list[int], seed: int
) -> None:
    of = learner(case)
    x, y = stream(seed, 85)
    whole, parts = (run(of, x, y, TapeNoise(seed), each) for each in ([], cuts))
    assert parts[1] == whole[1]
    assert plain(of.settled(parts[0])) == plain(of.settled(whole[0]))


def test_examples_one_by_one_are_joined_now_and_then() -> None:
    of = learner(horizon=1000, window=1000)
    x, y = stream(1, 999)
    state, _ = run(of, x, y, TapeNoise(1), list(range(999)))
    lengths = [len(labels) for _, labels, _ in state.pieces]
    assert sum(lengths) == 999
    assert all(a > 2 * b for a, b in pairwise(lengths))


def plain(state: BatchState) -> list[Any]:
    """The values of a state, arrays as lists."""
    values = [getattr(state, each.name) for each in fields(state)]
    return [_listed(each) for each in values]


def _listed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, UserCounts):
        whole = value.whole()
        return whole.users.tolist(), whole.counts.tolist()
    return [_listed(each) for each in value] if isinstance(value, tuple) else value


# --- what is released -----------------------------------------------------------------------------


def test_a_rule_of_each_window_follows_the_target_of_that_window() -> None:
    """What was learned before is not in the way of what holds now."""
    of = learner(horizon=900, window=300, rate=F(2))
    x = np.tile(np.arange(16, dtype=np.uint8), 57)[:900]
    target = np.repeat([5, 12, 2], 300)
    _, out = run(of, x, (x >= target).astype(np.uint8), KeyedNoise(bytes(32)), [])
    assert [each.rule for each in out] == [ThresholdRule(16, t) for t in (5, 12, 2)]


@pytest.mark.parametrize("case", ["histogram", "proposals", "closure"])
def test_bottom_keeps_the_rule_and_is_released_all_the_same(case: str) -> None:
    x, y = stream(1, 60)
    one = replace(learner(case).parameters, bottom_score=1000)
    of = BatchLearner("s/l", learner(case).hypotheses, one)
    _, out = run(of, x, y, TapeNoise(3), [])
    assert [each.rule for each in out] == [of.hypotheses.first_rule()] * 2
    assert [each.version for each in out] == [2, 3]


@pytest.mark.parametrize("case", CASES)
def test_noise_is_drawn_at_the_last_example_of_a_window_only(case: str) -> None:
    noise, (x, y) = TapeNoise(1), stream(1, 100)
    run(learner(case), x, y, noise, [])
    assert [request[2] for request in noise.requests] == [29, 59, 89]
    assert {request[1] for request in noise.requests} == {"select"}


def test_the_noise_of_stage_tests_has_addresses_of_its_own() -> None:
    of = learner("teachers", window=84, chunks=4, tolerance=F(1, 4), stage_rate=F(1, 4))
    asked: list[Address] = []

    class Heard(TapeNoise):
        def words(self, address: Address, count: int, offset: int = 0) -> NDArray[np.uint64]:
            asked.append(address)
            return super().words(address, count, offset)

    for seed in range(20):
        asked.clear()
        x, y = stream(seed, 84)
        run(of, x, y, Heard(seed), [])
        assert len(set(asked)) == len(asked)
        purposes = [(each.purpose, each.draw) for each in asked]
        assert purposes[0] == ("stage-threshold", 0)
        tested = [draw for purpose, draw in purposes if purpose == "stage-query"]
        assert tested == list(range(1, len(tested) + 1))
        assert purposes[1 + len(tested) :] in ([], [("select", 0)])


# --- prices ---------------------------------------------------------------------------------------


def test_a_season_opens_with_the_price_of_one_window_and_calls_are_free() -> None:
    of = learner()
    selection, loss = of.season_events()
    assert selection == DenseSelection(F(1, 2), 1, "pure")
    assert isinstance(loss, PrecisionLoss)
    # three windows of 17 rules
    assert loss == PrecisionLoss(3 * F(17, 1 << 126), F(1))
    assert price(of.call_event()) == Price.zero()
    assert isinstance(of.call_event(), PrepaidSelection)


def test_precision_counts_every_window_and_never_exceeds_certainty() -> None:
    assert learner(horizon=3000).precision_error() == 100 * F(17, 1 << 126)
    stages = learner("teachers", window=84, chunks=4, tolerance=F(1, 4), stage_rate=F(1))
    assert stages.precision_error() > F(69, 1 << 126)


# --- users ----------------------------------------------------------------------------------------


def whose(numbers: Any) -> NDArray[np.uint64]:
    """Users by number, as pairs of words."""
    second = np.asarray(numbers, dtype=np.uint64)
    return np.stack((second + np.uint64(7), second), axis=1)


def test_the_first_examples_of_each_user_and_season_are_learned_from() -> None:
    of = learner(user_examples_max=2)
    x, y = stream(1, 100)
    noise = TapeNoise(1)
    state = of.step(of.initial(), SeasonOpened(0, 0), noise).state
    users = whose([1, 1, 1, 2, 1, 2, 2, 3])
    step = of.step(state, Examples(Place(HEAD, 0, 0), x[:8], y[:8], users), noise)
    ((kept, _, names),) = of.settled(step.state).pieces
    assert kept.tolist() == x[[0, 1, 3, 5, 7]].tolist()
    assert names is not None
    assert names[:, 1].tolist() == [1, 1, 2, 2, 3]
    opened = of.step(step.state, SeasonOpened(1, 100), noise).state
    assert opened.users_kept == UserCounts()


def test_a_window_of_users_who_have_given_enough_draws_all_the_same() -> None:
    of, noise = learner(user_examples_max=1), TapeNoise(1)
    x, y = stream(1, 90)
    _, out = run(of, x, y, noise, [], whose([4] * 90))
    assert len(out) == 3
    assert [request[2] for request in noise.requests] == [29, 59, 89]


def test_all_examples_of_a_user_are_in_one_chunk() -> None:
    of, noise = learner("closure", user_examples_max=20, window=60), KeyedNoise(bytes(32))
    x, y = stream(1, 60)
    users = whose(np.arange(60) // 4)
    state = of.step(of.initial(), SeasonOpened(0, 0), noise).state
    state = of.step(state, Examples(Place(HEAD, 0, 0), x, y, users), noise).state
    chunks = of._window(state, noise).chunks
    assert (chunks.reshape(15, 4) == chunks[::4, None]).all()
    assert len(set(chunks.tolist())) > 3
    assert chunks.max() < 7


@pytest.mark.parametrize(("most", "users"), [(None, whose([1])), (1, None)])
def test_users_come_where_they_are_protected_and_only_there(most: Any, users: Any) -> None:
    of, noise = learner(user_examples_max=most), TapeNoise(1)
    state = of.step(of.initial(), SeasonOpened(0, 0), noise).state
    x, y = stream(1, 1)
    with pytest.raises(ValueError, match="come with their users"):
        of.step(state, Examples(Place(HEAD, 0, 0), x, y, users), noise)


def test_nothing_is_consumed_of_no_examples() -> None:
    of, noise = learner(), TapeNoise(1)
    state = of.step(of.initial(), SeasonOpened(0, 0), noise).state
    x, y = stream(1, 0)
    step = of.step(state, Examples(Place(HEAD, 0, 0), x, y), noise)
    effects: tuple[Effect, ...] = ()
    assert (step.state, step.effects, step.consumed) == (state, effects, 0)
