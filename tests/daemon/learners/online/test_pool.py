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
from littled.learners.online.keeping import PooledBuffers, PooledCounts
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.pool import HeldRows, Pool, PoolSettings
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
OF_USERS = replace(
    PARAMETERS, buffer="both", background_max=50, user_examples_max=1,
    pool=replace(SETTINGS, calls=60, most=40),
)  # fmt: skip
LINE = Thresholds(8)


def learner(parameters: OnlineParameters = PARAMETERS) -> OnlineLearner:
    return OnlineLearner("s/l", LINE, parameters)


def counted(state: OnlineState) -> list[int]:
    """How many examples the epoch at hand and each slot hold."""
    assert state.statistics is not None
    assert isinstance(state.pool, Pool)
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
    assert isinstance(state.pool, Pool)
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
        ({"pool": replace(SETTINGS, most=5)}, "that counts examples has no most"),
        ({"user_examples_max": 1}, "beside a background"),
        ({"user_examples_max": 1, "background_max": 5}, "needs a most, of at least 1"),
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


def mistakes_region_by_region(parameters: OnlineParameters) -> int:
    """One region after the other, each example of another user where users are protected."""
    target, size = 5, 4000
    noise = KeyedNoise(bytes(range(32)))
    one, state = opened(parameters)
    wrong = 0
    for number in range(60):
        point = (number * 3) % 8
        x = np.full(size, point, dtype=np.uint8)
        y = (x >= target).astype(np.uint8)
        first = number * size
        while first < (number + 1) * size:
            rest = slice(first - number * size, size)
            whose = np.arange(first, (number + 1) * size, dtype=np.uint64)
            users = None if parameters.user_examples_max is None else np.stack([whose] * 2, axis=1)
            event = Examples(Place(HEAD, first, first), x[rest], y[rest], users)
            step = one.step(state, event, noise)
            flags = state.rule.evaluate(x[rest][: step.consumed]) != y[rest][: step.consumed]
            wrong += int(np.count_nonzero(flags))
            first += step.consumed
            state = step.state
            for effect in step.effects:
                assert isinstance(effect, CallRequested)
                state = one.step(state, CallAdmitted(effect.place), noise).state
    return wrong


@pytest.mark.parametrize("most", [0, 100])
def test_a_pool_remembers_regions_that_are_gone(most: int) -> None:
    """A rule that errs in an earlier one is not drawn any more."""
    parameters = OF_USERS if most else PARAMETERS
    pools = PoolSettings(8, 40, 2, 40, most), None
    remembering, forgetting = (
        mistakes_region_by_region(replace(parameters, pool=pool)) for pool in pools
    )
    assert 3 * remembering < forgetting


# --- where users are protected --------------------------------------------------------------------


def users_fed(
    one: OnlineLearner,
    state: OnlineState,
    count: int,
    *,
    cut: int = 0,
    wrong: int | None = None,
    of: int | None = None,
) -> OnlineState:
    """So many examples, each of another user or of one; one in `wrong` is a mistake."""
    first, noise = state.epoch_position, LearnerNoise("s/l", KeyedNoise(bytes(32)))
    for start in range(0, count, cut or count):
        numbers = np.arange(start, min(count, start + (cut or count)), dtype=np.uint64)
        x = (numbers % 8).astype(np.uint8)
        mistake = np.zeros(len(x), dtype=np.bool_) if wrong is None else numbers % wrong == 0
        whose = np.stack([numbers + first if of is None else numbers * 0 + of] * 2, axis=1)
        y = (state.rule.evaluate(x) ^ mistake).astype(np.uint8)
        piece = Examples(Place(HEAD, first, first + start), x, y, whose.astype(np.uint64))
        state = one._keeping.keep(state, piece, mistake, noise)
    return state


def held(state: OnlineState) -> list[int]:
    """Whose examples wait."""
    assert isinstance(state.pool, HeldRows)
    if state.pool.rows is None:
        return []
    users = state.pool.rows.joined().users
    assert users is not None
    return [int(user) for user in users[:, 0]]


def offered(one: OnlineLearner, state: OnlineState, length: int) -> tuple[list[int], list[int]]:
    """Whose examples a call at the end of this epoch sees, of its own and of the pool."""
    place = Place(HEAD, state.epoch_position, state.epoch_position + length - 1)
    closed = one._keeping.closed(state)
    found = one._keeping.recalled(closed, place)
    own, *others = ([int(user) for user in part.users[:, 0]] for part in found.archive)  # type: ignore[index]
    return own, [user for part in others for user in part]


def test_a_position_is_for_one_call_only() -> None:
    one, state = opened(replace(OF_USERS, background_max=100_000))
    seen: Counter[int] = Counter()
    for call in range(9):
        state = users_fed(one, state, 1000, wrong=7)
        assert not {*held(state)} & {*state.buffer.joined().users[:, 0].tolist()}  # type: ignore[index, union-attr]
        own, others = offered(one, state, 1000)
        seen.update(own + others)
        assert 450 < len(own) < 560
        # a slot has so many at the most; four calls ago it was emptied
        assert len(others) == 40
        state = called(one, state, 1000)
        assert not {*others} & {*held(state)}
        assert state.calls == call + 1
    assert set(seen.values()) == {1}


def test_which_examples_of_users_are_held_is_said_by_words_alone() -> None:
    one, state = opened(OF_USERS)
    waiting = [
        held(one.settled(users_fed(one, state, 2000, wrong=wrong))) for wrong in (None, 1, 3)
    ]
    assert waiting[0] == waiting[1] == waiting[2]
    assert len(waiting[0]) == 4 * 40
    assert not {*waiting[0]} & {*range(10)}  # the first are for their own call
    # and whoever has them, though nobody is seen twice
    same = users_fed(one, state, 2000, of=77)
    assert held(one.settled(same)) == [77] * 160
    assert offered(one, same, 2000) == ([77], [])


def test_what_waits_uses_up_no_user_until_a_call_sees_it() -> None:
    one, state = opened(OF_USERS)
    state = called(one, users_fed(one, state, 1000, of=77), 1000)
    assert held(state) == [77] * 120
    kept = state.users_kept
    assert kept is not None
    assert kept.whole().counts.tolist() == [1]
    # of somebody whose examples wait a mistake is kept for its own epoch; what waits is not seen
    other = called(one, users_fed(one, opened(OF_USERS)[1], 1000), 1000)
    whose = held(other)[0]
    other = users_fed(one, other, 20, wrong=1, of=whose)
    assert offered(one, other, 20)[0] == [whose]
    assert whose not in offered(one, other, 20)[1]


def test_short_epochs_and_many_calls_empty_the_pool_of_users() -> None:
    one, state = opened(replace(OF_USERS, pool=replace(OF_USERS.pool, calls=3)))  # type: ignore[type-var]
    full = called(one, users_fed(one, state, 1000), 1000)
    assert len(held(full)) == 120
    short = users_fed(one, full, 10)
    assert offered(one, short, 10)[1] == []
    assert held(called(one, short, 10)) == []
    assert len(offered(one, users_fed(one, full, 11), 11)[1]) == 40
    for number in range(2, 5):
        state = users_fed(one, full, 1000)
        assert bool(offered(one, state, 1000)[1]) == (number < 4)
        full = called(one, state, 1000)
        assert bool(held(full)) == (number < 4)


def test_seasons_and_halts_empty_the_pool_of_users() -> None:
    one, state = opened(OF_USERS)
    full = called(one, users_fed(one, state, 1000), 1000)
    assert held(full)
    assert held(one.step(full, SeasonOpened(1, 100_000), TapeNoise()).state) == []
    place = Place(HEAD, full.epoch_position, full.epoch_position + 50)
    assert held(one._halt(users_fed(one, full, 51), place).state) == []


@pytest.mark.no_cover
@pytest.mark.parametrize("cut", [pytest.param(1, marks=pytest.mark.long), 7, 300])
def test_batches_make_no_difference_to_a_pool_of_users(cut: int) -> None:
    one, state = opened(OF_USERS)
    state = called(one, users_fed(one, state, 500), 500)
    whole = one.settled(users_fed(one, state, 5000, wrong=9))
    assert equal(whole, one.settled(users_fed(one, state, 5000, cut=cut, wrong=9)))


def test_a_snapshot_holds_a_pool_of_users() -> None:
    one, state = opened(OF_USERS)
    assert equal(state_from_dict(unpack(pack(state_to_dict(state)))), state)
    state = users_fed(one, called(one, users_fed(one, state, 500), 500), 70, wrong=5)
    stored = unpack(pack(state_to_dict(state)))
    assert equal(one.settled(state_from_dict(stored)), one.settled(state))
    with pytest.raises(SnapshotUnusable, match="a pool of users has rows and calls"):
        state_from_dict({**stored, "pool": {**stored["pool"], "more": 1}})


def test_snapshots_with_a_pool_of_users_are_no_larger_than_is_reckoned() -> None:
    one, state = opened(replace(OF_USERS, pool=PoolSettings(16, 0, 1, 60, 512)))
    keeping = one._keeping
    assert isinstance(keeping, PooledBuffers)
    largest = 0
    for count in (100, 17_000, 60_000):
        state = users_fed(one, state, count, cut=999)
        largest = max(largest, len(pack(state_to_dict(state))))
    assert largest < keeping.stored_bytes(0)


def test_parameters_of_a_pool_of_users_are_read_again() -> None:
    stored = OF_USERS.to_dict()
    assert stored["pool"] == {"slots": 4, "own": 10, "one_in": 2, "calls": 60, "most": 40}
    assert OnlineParameters.from_dict(stored) == OF_USERS


def test_mistakes_alone_have_no_background_of_users() -> None:
    with pytest.raises(ValueError, match="mistakes alone have no background of users"):
        replace(OF_USERS, buffer="mistakes")
    with pytest.raises(ValueError, match="mistakes alone have no background of users"):
        replace(OF_USERS, buffer="mistakes", pool=None)
    assert replace(OF_USERS, buffer="mistakes", pool=None, background_max=0).user_examples_max == 1
