"""Chains with a public memory: what it does, what is stored of it, and what it is good for."""

from dataclasses import replace
from fractions import Fraction
from math import ceil, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.budget.events import DenseSelection
from littled.classes.thresholds import Thresholds
from littled.learners.contract import Place, SeasonOpened
from littled.learners.online import OnlineLearner, OnlineState
from littled.learners.online.chain_memory import OFFSET_MAX, ChainMemory, ChainSettings, Weights
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.selections.chain import Chain
from littled.learners.online.selections.register import selection_of
from littled.learners.online.snapshot import state_from_dict, state_to_dict
from littled.learners.online.values import EpochSettings
from littled.learners.snapshot import SnapshotUnusable, pack, unpack
from littled.mechanisms.noise import NoiseSource
from littled_protocol.rules import ThresholdRule
from support.learner_cases import ONLINE, USERS
from support.learning import HEAD, Runner, equal, run
from support.tape import TapeNoise

# Trigger and selection of rates at which epochs are as long as with a budget of 1.
DIRECT = replace(
    ONLINE["chain"][1], horizon=5_000, calls_max=500, trigger_rate=Fraction(1, 2),
    selection_rate=Fraction(1, 4), trigger_threshold=31, ladder=(EpochSettings(72),),
    memory=ChainSettings(400, evidence=14, fading=0, full_length=1000, floor=28, median_after=0),
)  # fmt: skip
SIZE = 16


def memory_of(state: OnlineState) -> ChainMemory:
    assert isinstance(state.memory, ChainMemory)
    return state.memory


def threshold_of(state: OnlineState) -> int:
    assert isinstance(state.rule, ThresholdRule)
    return state.rule.threshold


def learner_of(parameters: OnlineParameters, size: int = SIZE) -> OnlineLearner:
    return OnlineLearner("s/l", Thresholds(size), parameters)


def memory_settings(parameters: OnlineParameters) -> ChainSettings:
    assert isinstance(parameters.memory, ChainSettings)
    return parameters.memory


class Stream:
    """A learner that gets one example after the other."""

    def __init__(self, parameters: OnlineParameters, noise: NoiseSource) -> None:
        self.runner, self.fed = Runner(learner_of(parameters), noise), 0
        self.runner.open()

    @property
    def threshold(self) -> int:
        return threshold_of(self.runner.state)

    def give(self, x: int, y: int) -> None:
        point, label = np.array([x], dtype=np.uint8), np.array([y], dtype=np.uint8)
        for _ in self.runner.feed(point, label, self.fed):
            pass
        self.fed += 1


# --- what it does ---------------------------------------------------------------------------------


def halving(learner: OnlineLearner, state: OnlineState, zeros: int, ones: int) -> OnlineState:
    """After a call on an epoch of so many mistakes of the published rule, of either label."""
    statistics = np.zeros((2, SIZE), dtype=np.int64)
    published = threshold_of(state)
    if zeros:
        statistics[0, published] = zeros
    if ones:
        statistics[1, published - 1] = ones
    return called(learner, replace(state, statistics=statistics))


def called(learner: OnlineLearner, state: OnlineState, seed: int = 0) -> OnlineState:
    place = Place(HEAD, 0, seed)
    after, rule = learner._selection.select(
        learner.hypotheses, state, place, LearnerNoise("s/l", TapeNoise(seed))
    )
    assert rule is not None
    return replace(after, rule=rule)


def opened(learner: OnlineLearner) -> OnlineState:
    return learner.step(learner.initial(), SeasonOpened(0, 0), TapeNoise()).state


@pytest.mark.parametrize("direct_calls", [0, 1])
def test_an_interval_that_contradicts_itself_begins_anew(direct_calls: int) -> None:
    """With the rule in force where rules are drawn, with the middle of all where they are not."""
    ladder = (EpochSettings(5),) if direct_calls else ()
    settings = ChainSettings(direct_calls, 14, 0, 1000, 28, 0)
    learner = learner_of(replace(DIRECT, ladder=ladder, memory=settings))
    state = opened(learner)
    if direct_calls:
        state = halving(learner, state, 0, 0)
        assert (threshold_of(state), memory_of(state).fires) == (8, 1)
    else:
        state = replace(state, rule=ThresholdRule(size=SIZE, threshold=8))
    told = []
    for zeros, ones in ((400, 0), (400, 0), (400, 0), (400, 0)):  # always too low
        state = halving(learner, state, zeros, ones)
        told.append((threshold_of(state), memory_of(state).low, memory_of(state).high))
    assert told == [(12, 9, 16), (14, 13, 16), (15, 15, 16), (16, 16, 16)]
    state = halving(learner, state, 0, 400)
    assert memory_of(state) == ChainMemory.empty(SIZE + 1)
    assert threshold_of(state) == (16 if direct_calls else 8)


def test_no_rule_outside_the_interval_is_published() -> None:
    """An old season's rule may be; what it is mistaken about still halves nothing twice."""
    learner = learner_of(replace(DIRECT, ladder=(), memory=ChainSettings(0, 14, 0, 1000, 28, 0)))
    state = replace(opened(learner), rule=ThresholdRule(size=SIZE, threshold=3))
    state = halving(learner, state, 400, 0)
    assert (memory_of(state).low, memory_of(state).high, threshold_of(state)) == (4, 16, 10)
    state = halving(learner, state, 0, 400)
    assert (memory_of(state).low, memory_of(state).high, threshold_of(state)) == (4, 9, 6)


def test_direct_calls_draw_by_offsets_as_well() -> None:
    """Where the epoch says nothing, a rule that the releases convicted is hardly ever drawn."""
    far = ChainSettings(400, 10**6, 0, 1000, 10**6, 0)
    learner = learner_of(replace(DIRECT, memory=far))
    convicted = ChainMemory(1, (0, 5, 6), (-(10**6), 0, -(10**6)), 0, SIZE)
    state = replace(opened(learner), memory=convicted)
    state = replace(state, statistics=np.zeros((2, SIZE), dtype=np.int64))
    assert {threshold_of(called(learner, state, seed)) for seed in range(20)} == {5}


def test_the_median_of_the_weights_is_published_later() -> None:
    """After a draw between the two kinds of mistakes, by all of the evidence."""
    learner = learner_of(replace(DIRECT, memory=ChainSettings(400, 14, 0, 1000, 28, 2)))
    state = replace(opened(learner), rule=ThresholdRule(size=SIZE, threshold=8))
    first = halving(learner, state, 400, 0)
    assert threshold_of(first) > 8
    second = halving(learner, replace(first, rule=state.rule), 400, 0)
    told = [memory_of(state).of_each(SIZE + 1)[0] for state in (first, second)]
    assert told[1] == max(told[0] - 14, -28)
    assert threshold_of(second) == memory_of(second).median(Weights(Fraction(1, 4)), SIZE + 1) == 12


def test_a_season_begins_with_nothing_known() -> None:
    """The rule is that of the season before, the memory is not."""
    parameters = replace(DIRECT, trigger_threshold=3, horizon=200)
    learner = learner_of(parameters)
    x = np.arange(200, dtype=np.uint8) % SIZE
    state, _, _ = run(learner, x, (x >= 5).astype(np.uint8), TapeNoise(1), [])
    assert memory_of(state).fires
    assert len(memory_of(state).offsets) > 1
    after = learner.step(state, SeasonOpened(1, 200), TapeNoise(1)).state
    assert memory_of(after) == ChainMemory.empty(SIZE + 1)
    assert after.rule == state.rule


def test_the_threshold_of_the_trigger_is_that_of_the_phase() -> None:
    parameters = replace(DIRECT, memory=ChainSettings(3, 14, 0, 1000, 28, 0))
    selection, state = selection_of(parameters), opened(learner_of(parameters))
    for fires, most in ((0, 31), (2, 31), (3, 72), (9, 72)):
        memory = replace(memory_of(state), fires=fires)
        assert selection.settings(replace(state, memory=memory)).trigger_threshold == most
    alone = selection_of(replace(DIRECT, ladder=(), memory=ChainSettings(0, 14, 0, 1000, 28, 0)))
    assert alone.settings(state).trigger_threshold == 31


def test_a_call_is_booked_as_one_dense_selection() -> None:
    for name in ("chain", "chain medians", "chain halving"):
        learner = learner_of(ONLINE[name][1])
        booked = [e for e in learner.season_events() if isinstance(e, DenseSelection)]
        assert [(event.rate, event.draws) for event in booked] == [(Fraction(1, 3), 1)]


# --- what is stored -------------------------------------------------------------------------------

NAMES = ["chain", "chain medians", "chain halving"]


def test_parameters_without_a_memory_are_stored_as_ever() -> None:
    for name, (_, parameters) in (ONLINE | USERS).items():
        stored = parameters.to_dict()
        with_one = name.startswith(("chain", "path", "lengths", "majority")) or "standing" in name
        assert ("memory" in stored) == with_one
        assert OnlineParameters.from_dict(stored) == parameters


def test_parameters_with_another_memory_are_refused() -> None:
    stored = ONLINE["chain"][1].to_dict()
    with pytest.raises(ValueError, match="has one of the words chain, path, lengths, standing"):
        OnlineParameters.from_dict({**stored, "memory": {"word": "odd"}})


def test_snapshots_without_a_memory_are_as_ever() -> None:
    learner = OnlineLearner("s/l", Thresholds(SIZE), ONLINE["dense"][1])
    state = opened(learner)
    assert state.memory is None
    assert "memory" not in state_to_dict(state)
    assert state_from_dict(unpack(pack(state_to_dict(state)))).memory is None


@pytest.mark.parametrize("name", NAMES)
def test_a_snapshot_goes_on_as_the_learner_does(name: str) -> None:
    learner = learner_of(replace(ONLINE[name][1], calls_max=30))
    x = np.random.default_rng(3).integers(0, SIZE, 200).astype(np.uint8)
    y = (x >= 11).astype(np.uint8)
    runner = Runner(learner, TapeNoise(2))
    runner.open()
    for first in range(0, 200, 10):
        read = state_from_dict(unpack(pack(state_to_dict(runner.state))))
        assert read.memory == runner.state.memory
        assert hash(read.memory) == hash(runner.state.memory)
        assert equal(read, runner.state)
        runner.state = read
        for _ in runner.feed(x[first : first + 10], y[first : first + 10], first):
            pass
    assert memory_of(runner.state).fires
    assert equal(runner.state, run(learner, x, y, TapeNoise(2), range(0, 200, 10))[0])


@pytest.mark.parametrize(
    "changes", [{"word": "odd"}, {"fires": None}, {"starts": ["0"]}, {"more": 1}]
)
def test_a_snapshot_with_another_memory_is_not_used(changes: dict[str, Any]) -> None:
    values = state_to_dict(opened(learner_of(DIRECT)))
    with pytest.raises(SnapshotUnusable, match="the memory of another version"):
        state_from_dict({**values, "memory": {**values["memory"], **changes}})


@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20)
@given(cuts=st.lists(st.integers(0, 150), max_size=6), seed=st.integers(0, 3))
def test_what_is_remembered_does_not_depend_on_batches(
    name: str, cuts: list[int], seed: int
) -> None:
    learner = learner_of(ONLINE[name][1])
    x = np.random.default_rng(seed).integers(0, SIZE, 150).astype(np.uint8)
    y = (x >= 4).astype(np.uint8)
    whole, parts = (run(learner, x, y, TapeNoise(seed), each) for each in ([], cuts))
    assert parts[1] == whole[1]
    assert pack(memory_of(parts[0]).to_dict()) == pack(memory_of(whole[0]).to_dict())


@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
def test_neighbours_that_say_the_same_remember_the_same(name: str) -> None:
    """Byte for byte, after every release; medians hide draws, which are paid for and compared."""
    learner, same = learner_of(ONLINE[name][1]), 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        x, y = random.integers(0, SIZE, 60).astype(np.uint8), np.zeros(60, dtype=np.uint8)
        y[:] = x >= 7
        other = y.copy()
        other[random.integers(60)] ^= 1
        runs = [course_of(learner, x, labels, seed) for labels in (y, other)]
        for (said, memory), (said_there, memory_there) in zip(*runs, strict=False):
            if said != said_there:
                break
            assert memory == memory_there
            same += 1
    assert same > 100


def course_of(learner: OnlineLearner, x: Any, y: Any, seed: int) -> list[tuple[Any, bytes]]:
    """What is drawn and released at each call, and the memory then."""
    drawn: list[Any] = []
    found: list[tuple[Any, bytes]] = []
    draws = Chain._drawn

    def noted(self: Any, *arguments: Any) -> list[int]:
        drawn.append(draws(self, *arguments))
        return list(drawn[-1])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Chain, "_drawn", noted)
        runner = Runner(learner, TapeNoise(seed))
        runner.open()
        for at in range(len(y)):
            for effect in runner.feed(x[at : at + 1], y[at : at + 1], at):
                said = (repr(effect), tuple(map(tuple, drawn)))
                found.append((said, pack(memory_of(runner.state).to_dict())))
    return found


# --- what it is good for --------------------------------------------------------------------------

# A season whose inferences are all right, except with a probability of 6 %.
EVADED = replace(
    DIRECT,
    ladder=(),
    memory=ChainSettings(0, 0, 0, 1000, 0, 0),
    trigger_threshold=70,
    calls_max=100,
)
GAMMA = 0.02
# Epochs until one rule is left of 17, the first one of which begins with any rule.
EPOCHS = 5


def evaded(seed: int, steps: int = 600) -> int:
    """Mistakes against who shows the published rule's mistake that leaves most rules open."""
    stream, low, high, mistakes = Stream(EVADED, TapeNoise(seed)), 0, SIZE, 0
    for _ in range(steps):
        published = stream.threshold
        below, above = published - low, high - published
        if max(below, above) <= 0:
            return mistakes
        if above >= below:  # the rule is too low: 0 at its threshold
            low = max(low, published + 1)
            stream.give(published, 0)
        else:
            high = min(high, published - 1)
            stream.give(published - 1, 1)
        mistakes += 1
    return mistakes


def proven() -> int:
    """F U + 2 (F ln 3 - ln g) / e_t."""
    delays = 2 * (EPOCHS * log(3) - log(GAMMA)) / EVADED.trigger_rate
    return EPOCHS * EVADED.trigger_threshold + ceil(delays)


def check_evaders(seeds: range) -> None:
    found = [evaded(seed) for seed in seeds]
    assert max(found) <= proven()
    assert max(found) > proven() / 2


@pytest.mark.no_cover
def test_no_evader_makes_more_mistakes_than_is_proven() -> None:
    check_evaders(range(20))


@pytest.mark.campaign
def test_hundreds_of_evaders_make_no_more_mistakes_than_is_proven() -> None:
    check_evaders(range(1000, 1400))


def after_a_jump(floor: int, seed: int, most: int = 1000) -> int:
    """Mistakes until 14 is found, after 60 calls that drew 2 where 3 was published."""
    settings = replace(memory_settings(DIRECT), floor=floor)
    stream, mistakes = Stream(replace(DIRECT, memory=settings), TapeNoise(seed)), 0
    memory = memory_of(stream.runner.state)
    for _ in range(60):
        memory = memory.convicted(3, 14, SIZE + 1, too_low=False, floor=floor)
    rule = ThresholdRule(size=SIZE, threshold=2)
    stream.runner.state = replace(stream.runner.state, memory=memory, rule=rule)
    while stream.threshold != 14 and mistakes < most:
        above = stream.threshold < 14
        stream.give(stream.threshold - (not above), 0 if above else 1)
        mistakes += 1
    return mistakes


def test_a_target_that_jumps_is_found_again() -> None:
    """As no rule is convicted for good; without a floor it is not found."""
    assert max(after_a_jump(28, seed) for seed in range(8)) < 500
    assert min(after_a_jump(OFFSET_MAX, seed) for seed in range(2)) == 1000
