"""A pool: every example in one slot, spent once, and emptied at public times."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.classes.capabilities import needed
from littled.classes.thresholds import Thresholds
from littled.learners.contract import CallAdmitted, CallRequested, Examples, Place, SeasonOpened
from littled.learners.online import OnlineLearner, OnlineState
from littled.learners.online.keeping import PooledCounts
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.pool import Pool, PoolSettings
from littled.learners.online.snapshot import state_from_dict, state_to_dict
from littled.learners.snapshot import SnapshotUnusable, pack, unpack
from littled.mechanisms.noise import KeyedNoise
from support.learning import HEAD, equal
from support.tape import TapeNoise

F = Fraction
SETTINGS = PoolSettings(slots=4, own=10, one_in=2, calls=6)
PARAMETERS = OnlineParameters(
    epsilon=F(1), horizon=100_000, noise_rate=F(0), trigger_rate=F(1, 2), trigger_threshold=20,
    selection="dense", selection_rate=F(1, 4), selection_accounting="pure", draws=1, calls_max=60,
    buffer="examples", fresh=True, pool=SETTINGS,
)  # fmt: skip
LINE = Thresholds(8)


def learner(parameters: OnlineParameters = PARAMETERS) -> OnlineLearner:
    return OnlineLearner("s/l", LINE, parameters)


def counted(state: OnlineState) -> list[int]:
    """How many examples the epoch at hand and each slot hold."""
    assert state.statistics is not None
    assert state.pool is not None
    return [int(state.statistics.sum()), *state.pool.statistics.sum(axis=(1, 2)).tolist()]


def opened(parameters: OnlineParameters = PARAMETERS) -> tuple[OnlineLearner, OnlineState]:
    one = learner(parameters)
    return one, one.step(one.initial(), SeasonOpened(0, 0), TapeNoise()).state


def fed(
    one: OnlineLearner, state: OnlineState, count: int, cut: int = 0, noise: Any = None
) -> OnlineState:
    """So many examples more that the published rule gets right, kept in pieces up to `cut`."""
    first = state.epoch_position
    x = np.arange(count, dtype=np.uint8) % 8
    y = state.rule.evaluate(x).astype(np.uint8)
    noise = LearnerNoise("s/l", noise or TapeNoise(3))
    for start in range(0, count, cut or count):
        stop = min(count, start + (cut or count))
        piece = Examples(Place(HEAD, first, first + start), x[start:stop], y[start:stop])
        state = one._keeping.keep(state, piece, np.zeros(stop - start, dtype=np.bool_), noise)
    return state


def called(one: OnlineLearner, state: OnlineState, length: int) -> OnlineState:
    """The state after a call at the end of an epoch of so many examples."""
    place = Place(HEAD, state.epoch_position, state.epoch_position + length - 1)
    return one.step(state, CallAdmitted(place), TapeNoise(1)).state


def test_half_of_what_is_beyond_the_first_examples_is_held_in_equal_parts() -> None:
    one, state = opened()
    own, *slots = counted(one.settled(fed(one, state, 40_010)))
    assert own + sum(slots) == 40_010
    assert 20_010 - 500 < own < 20_010 + 500
    assert all(5_000 - 300 < held < 5_000 + 300 for held in slots)
    assert counted(one.settled(fed(one, state, 10))) == [10, 0, 0, 0, 0]


def test_which_example_is_held_is_said_by_its_position_alone() -> None:
    half = 1 << 63
    words = np.array([0, half - 1, half, half + 5, half], dtype=np.uint64)
    assert SETTINGS.held(words, 10).tolist() == [False, False, True, True, True]
    assert SETTINGS.held(words, 6).tolist() == [False, False, False, False, True]
    assert SETTINGS.held(words, 0).tolist() == [False] * 5
    assert replace(SETTINGS, one_in=1).held(words, 10).all()
    assert replace(SETTINGS, one_in=4).held(words + np.uint64(1 << 62), 10).sum() == 3
    assert SETTINGS.slots_of(words).tolist() == [0, 3, 0, 1, 0]


def test_each_call_spends_its_own_slot_once() -> None:
    one, state = opened(replace(PARAMETERS, pool=replace(SETTINGS, calls=60)))
    spent: Counter[int] = Counter()
    total = 0
    for call in range(9):
        state = fed(one, state, 1000)
        total += 1000
        before = counted(one.settled(state))
        place = Place(HEAD, state.epoch_position, state.epoch_position + 999)
        found = one._keeping.recalled(one._keeping.closed(state), place)
        seen, *left = counted(found)
        assert seen == before[0] + before[1 + call % 4]
        assert left == [0 if slot == call % 4 else before[1 + slot] for slot in range(4)]
        spent[call] = seen
        state = called(one, state, 1000)
        assert counted(state) == [0, *left]
    # all that came is spent or still held, nothing twice
    assert sum(spent.values()) + sum(counted(state)) == total


def test_short_epochs_and_many_calls_empty_the_pool() -> None:
    one, state = opened()
    full = called(one, fed(one, state, 1000), 1000)
    assert sum(counted(full)) > 300
    assert sum(counted(called(one, fed(one, full, 11), 11))) > 200
    assert counted(called(one, fed(one, full, 10), 10)) == [0] * 5
    for number in range(2, 8):
        full = called(one, fed(one, full, 1000), 1000)
        assert full.pool is not None
        assert (sum(counted(full)) > 0) == (number < 7)
        assert full.pool.calls == number % 7
    assert full.calls == 7


def test_seasons_and_halts_empty_the_pool() -> None:
    one, state = opened()
    full = called(one, fed(one, state, 1000), 1000)
    following = one.step(full, SeasonOpened(1, 100_000), TapeNoise()).state
    assert counted(following) == [0] * 5
    place = Place(HEAD, full.epoch_position, full.epoch_position + 50)
    assert counted(one._halt(fed(one, full, 51), place).state) == [0] * 5


@pytest.mark.parametrize("cut", [1, 7, 300])
def test_batches_make_no_difference(cut: int) -> None:
    one, state = opened()
    noise = KeyedNoise(bytes(32))
    whole = one.settled(fed(one, state, 900, noise=noise))
    parts = one.settled(fed(one, state, 900, cut, noise))
    assert equal(whole, parts)


def test_a_snapshot_holds_the_pool_with_what_waits() -> None:
    one, state = opened()
    state = fed(one, called(one, fed(one, state, 500), 500), 70)
    assert state.pool is not None
    assert state.pool.waiting
    stored = unpack(pack(state_to_dict(state)))
    assert equal(state_from_dict(stored), state)
    assert equal(one.settled(state_from_dict(stored)), one.settled(state))
    for odd in ({}, {**stored["pool"], "more": 1}):
        with pytest.raises(SnapshotUnusable, match="the pool of another version"):
            state_from_dict({**stored, "pool": odd})


def test_a_state_without_a_pool_is_stored_as_before_there_were_pools() -> None:
    one, state = opened(replace(PARAMETERS, pool=None))
    assert "pool" not in state_to_dict(state)
    assert state_from_dict(state_to_dict(state)).pool is None
    assert "pool" not in replace(PARAMETERS, pool=None).to_dict()
    assert one._keeping.stored_bytes(0) < learner()._keeping.stored_bytes(0)


def test_snapshots_are_no_larger_than_is_reckoned() -> None:
    one, state = opened()
    keeping = one._keeping
    assert isinstance(keeping, PooledCounts)
    largest = 0
    for count in (10, 1000, 60_000):
        largest = max(largest, len(pack(state_to_dict(fed(one, state, count, cut=999)))))
    assert largest < keeping.stored_bytes(0)


def test_parameters_are_read_again() -> None:
    stored = PARAMETERS.to_dict()
    assert stored["pool"] == {"slots": 4, "own": 10, "one_in": 2, "calls": 6}
    assert OnlineParameters.from_dict(stored) == PARAMETERS
    for odd in ({"slots": 4}, {**stored["pool"], "more": 1}, 4):
        with pytest.raises(
            ValueError, match="the settings of a pool are calls, one_in, own, slots"
        ):
            OnlineParameters.from_dict({**stored, "pool": odd})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"pool": PoolSettings(3, 0, 2, 1)}, "a power of two up to 256"),
        ({"pool": PoolSettings(512, 0, 2, 1)}, "a power of two up to 256"),
        ({"pool": PoolSettings(0, 0, 2, 1)}, "a power of two up to 256"),
        ({"pool": PoolSettings(2, -1, 2, 1)}, "integers of at least 0"),
        ({"pool": PoolSettings(2, 0, 2, True)}, "integers of at least 0"),
        ({"pool": PoolSettings(2, 0, 0, 1)}, "one in at least 1"),
        ({"fresh": False}, "for fresh selections"),
        ({"buffer": "mistakes"}, "neither mistakes alone nor a background"),
        ({"background_max": 5}, "neither mistakes alone nor a background"),
        ({"user_examples_max": 1}, "not users"),
        (
            {"schedule_first": 4, "trigger_rate": F(0), "trigger_threshold": 0},
            "a schedule has no pool",
        ),
        (
            {"selection": "closure", "buffer": "mistakes", "list_cap": 1},
            "closure selection has no pool",
        ),
    ],
)
def test_what_a_pool_does_not_go_with(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        replace(PARAMETERS, **changes)


def test_a_pool_is_counted_slot_by_slot() -> None:
    rules = needed(LINE.dense)
    x, y = np.array([1, 1, 5], dtype=np.uint8), np.array([0, 1, 1], dtype=np.uint8)
    pool = Pool.empty(2, rules).plus(x, y, np.array([1, 0, 1], dtype=np.uint8))
    assert pool.plus(x[:0], y[:0], np.zeros(0, dtype=np.uint8)) is pool
    full = pool.counted(rules)
    assert np.array_equal(full.statistics[0], rules.add(rules.empty_statistics(), x[1:2], y[1:2]))
    assert np.array_equal(full.statistics[1], rules.add(rules.empty_statistics(), x[::2], y[::2]))
    assert full.counted(rules) is full


def test_a_pool_remembers_regions_that_are_gone() -> None:
    """One region after the other: a rule that errs in an earlier one is not drawn any more."""
    target, size = 5, 4000
    noise = KeyedNoise(bytes(range(32)))
    errors = {}
    for pool in (None, PoolSettings(8, 40, 2, 40)):
        one, state = opened(replace(PARAMETERS, pool=pool))
        wrong = 0
        for number in range(60):
            point = (number * 3) % 8
            x = np.full(size, point, dtype=np.uint8)
            y = (x >= target).astype(np.uint8)
            first = number * size
            while first < (number + 1) * size:
                rest = slice(first - number * size, size)
                event = Examples(Place(HEAD, first, first), x[rest], y[rest])
                step = one.step(state, event, noise)
                flags = state.rule.evaluate(x[rest][: step.consumed]) != y[rest][: step.consumed]
                wrong += int(np.count_nonzero(flags))
                first += step.consumed
                state = step.state
                for effect in step.effects:
                    assert isinstance(effect, CallRequested)
                    state = one.step(state, CallAdmitted(effect.place), noise).state
        errors[pool is None] = wrong
    assert 3 * errors[False] < errors[True]
