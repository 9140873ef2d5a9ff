"""Epochs that end at public times: where they end, what they keep, what they cost."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.budget.price import Price
from littled.budget.prices import price
from littled.classes.hypothesis import HypothesisClass
from littled.classes.names import class_from_name
from littled.classes.thresholds import Thresholds
from littled.learners.contract import (
    CallAdmitted,
    CallRequested,
    Examples,
    Place,
    SeasonOpened,
)
from littled.learners.online import OnlineLearner, OnlineState
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.snapshot import state_from_dict, state_to_dict
from littled.learners.online.values import scheduled_calls
from littled.learners.snapshot import pack, unpack
from littled.mechanisms.noise import Address
from littled_protocol.rules import PointsRule, ThresholdRule
from support.learning import HEAD, column, course, equal, run, stream
from support.small_classes import Cubes
from support.tape import TapeNoise

HORIZON = 5000
DENSE = OnlineParameters(
    epsilon=Fraction(1),
    horizon=HORIZON,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(0),
    trigger_threshold=0,
    selection="dense",
    selection_rate=Fraction(1, 2),
    selection_accounting="pure",
    draws=1,
    calls_max=9,
    buffer="examples",
    fresh=True,
    schedule_first=10,
)
# Epochs of 10, 10, 20, 40, 80, 160 and then 300 examples each.
CAP: dict[str, Any] = {"schedule_cap": 300, "calls_max": 21}
CAPPED = replace(DENSE, **CAP)
CLOSURE = replace(
    DENSE, selection="closure", selection_rate=Fraction(1), buffer="mistakes", mistakes_max=1000,
    list_cap=1, bottom_score=12, teachers=16,
)  # fmt: skip
PATHS = replace(
    DENSE, selection="sparse", buffer="both", background_max=32, mistakes_max=20, list_cap=9,
    bottom_score=20,
)  # fmt: skip
CASES: dict[str, tuple[HypothesisClass, OnlineParameters]] = {
    "dense": (Thresholds(16), DENSE),
    "dense with noise": (Thresholds(16), replace(DENSE, noise_rate=Fraction(1, 10))),
    "dense with a cap": (Thresholds(16), CAPPED),
    "closures": (Cubes(4), CLOSURE),
    "closures with a cap": (Cubes(4), replace(CLOSURE, **CAP)),
    "few mistakes": (Cubes(4), replace(CLOSURE, mistakes_max=9)),
    "paths": (class_from_name("prefixes:8"), PATHS),
    "background": (class_from_name("prefixes:8"), replace(PATHS, buffer="examples")),
    "ids": (
        class_from_name("points:8"),
        replace(CLOSURE, selection="histogram", teachers=None, list_cap=0),
    ),
}
ENDS = [10 << number for number in range(9)]
CAPPED_ENDS = [10, 20, 40, 80, 160, 320, *range(620, HORIZON, 300)]


def examples(count: int, seed: int = 1) -> Any:
    """Points below 16, labels of a threshold."""
    return stream(seed, count)


# --- positions ------------------------------------------------------------------------------------


@given(first=st.integers(1, 50), horizon=st.integers(1, 3000))
def test_calls_of_a_schedule_are_counted_exactly(first: int, horizon: int) -> None:
    ends = [first << number for number in range(12) if first << number < horizon]
    assert scheduled_calls(first, horizon) == len(ends)
    p = replace(DENSE, horizon=horizon, schedule_first=first, calls_max=len(ends))
    lengths = [p.epoch_length(calls) for calls in range(len(ends) + 1)]
    assert lengths.pop() is None
    assert list(itertools.accumulate(each or 0 for each in lengths)) == ends


@given(first=st.integers(1, 50), more=st.integers(0, 200), horizon=st.integers(1, 3000))
def test_calls_of_a_schedule_with_a_cap_are_counted_exactly(
    first: int, more: int, horizon: int
) -> None:
    cap = first + more
    ends = list(itertools.takewhile(lambda end: end < horizon, ends_with_cap(first, cap)))
    assert scheduled_calls(first, horizon, cap) == len(ends)
    p = replace(DENSE, horizon=horizon, schedule_first=first, schedule_cap=cap, calls_max=len(ends))
    lengths = [p.epoch_length(calls) for calls in range(len(ends) + 1)]
    assert lengths.pop() is None
    assert list(itertools.accumulate(each or 0 for each in lengths)) == ends


def ends_with_cap(first: int, cap: int) -> Iterator[int]:
    """Ends of epochs: each doubles what there was, or has `cap` examples if these are fewer."""
    end = first
    while True:
        yield end
        end += min(end, cap)


@pytest.mark.parametrize("case", CASES)
def test_epochs_end_at_the_scheduled_positions(case: str) -> None:
    hypotheses, parameters = CASES[case]
    x, y = examples(HORIZON)
    learner = OnlineLearner("s/l", hypotheses, parameters)
    state, out, before = run(learner, column(hypotheses, x), y, TapeNoise(2), [100, 3000])
    ends = ENDS if parameters.schedule_cap is None else CAPPED_ENDS
    assert [each.position for each in out] == [0, *ends]
    assert {each.kind for each in out} == {"rule"}
    assert [each.epoch_position for each in before] == [0, *ends[:-1]]
    assert (state.halted, state.calls, state.mistakes) == (False, len(ends), 0)


def test_no_call_comes_with_the_last_example_of_a_season() -> None:
    x, y = examples(40)
    learner = OnlineLearner("s/l", Thresholds(16), replace(DENSE, horizon=40, calls_max=2))
    _, out, _ = run(learner, x, y, TapeNoise(2), [])
    assert [each.position for each in out] == [0, 10, 20]


@pytest.mark.no_cover
@pytest.mark.parametrize("case", CASES)
@settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, 400), max_size=6), seed=st.integers(0, 3))
def test_results_do_not_depend_on_how_the_stream_is_cut(
    case: str, cuts: list[int], seed: int
) -> None:
    hypotheses, parameters = CASES[case]
    x, y = examples(400, seed)
    learner = OnlineLearner("s/l", hypotheses, parameters)
    whole = run(learner, column(hypotheses, x), y, TapeNoise(seed), [])
    parts = run(learner, column(hypotheses, x), y, TapeNoise(seed), cuts)
    assert parts[1] == whole[1]
    # a buffer means what it is reduced to, however far it was dropped before
    final = [learner._keeping.closed(each) for each in (whole[0], parts[0])]
    assert equal(*final)


def test_a_snapshot_within_an_epoch_goes_on_as_if_nothing_had_been() -> None:
    hypotheses, parameters = CASES["closures"]
    x, y = examples(300)
    learner, tape = OnlineLearner("s/l", hypotheses, parameters), TapeNoise(3)
    state = learner.step(learner.initial(), SeasonOpened(0, 0), tape).state
    straight = restored = state
    for at in range(0, 300, 7):
        part = slice(at, at + 7)
        straight = fed(learner, straight, x[part], y[part], at)
        restored = fed(learner, restored, x[part], y[part], at)
        restored = state_from_dict(unpack(pack(state_to_dict(restored))))
    assert equal(restored, straight)
    assert restored.calls == 5


def fed(
    learner: OnlineLearner, state: OnlineState, x: Any, y: Any, position: int, seed: int = 3
) -> OnlineState:
    """The state after a record; calls are admitted."""
    done = 0
    while done < len(y):
        place = Place(HEAD, position, position + done)
        step = learner.step(state, Examples(place, x[done:], y[done:]), TapeNoise(seed))
        state, done = step.state, done + step.consumed
        for effect in step.effects:
            assert isinstance(effect, CallRequested)
            state = learner.step(state, CallAdmitted(effect.place), TapeNoise(seed)).state
    return state


def test_the_next_season_begins_the_schedule_again_with_the_last_rule() -> None:
    learner = OnlineLearner("s/l", Thresholds(16), DENSE)
    x, y = examples(HORIZON)
    state = learner.step(learner.initial(), SeasonOpened(0, 0), TapeNoise(3)).state
    state = fed(learner, state, x, y, 0)
    opened = learner.step(state, SeasonOpened(1, HORIZON), TapeNoise(3)).state
    assert opened.rule == state.rule
    before = fed(learner, opened, x[:9], y[:9], HORIZON)
    assert (before.calls, before.epoch_position) == (0, HORIZON)
    after = fed(learner, before, x[9:10], y[9:10], HORIZON + 9)
    assert (after.calls, after.epoch_position) == (1, HORIZON + 10)


# --- learning -------------------------------------------------------------------------------------


def test_a_scheduled_learner_finds_the_threshold() -> None:
    x, y = examples(HORIZON)
    learner = OnlineLearner("s/l", Thresholds(16), DENSE)
    state, _, _ = run(learner, x, y, TapeNoise(3), [])
    assert state.rule == ThresholdRule(size=16, threshold=5)


def test_a_cap_lets_a_learner_follow_a_change() -> None:
    """From half time on another threshold fits: what doubles for ever has heard too much before."""
    x, y = examples(HORIZON)
    half = HORIZON // 2
    y[half:] = x[half:] >= 12
    states = {
        parameters: run(OnlineLearner("s/l", Thresholds(16), parameters), x, y, TapeNoise(3), [])[0]
        for parameters in (DENSE, CAPPED)
    }
    assert states[DENSE].rule == ThresholdRule(size=16, threshold=5)
    assert states[CAPPED].rule == ThresholdRule(size=16, threshold=12)


def test_scheduled_closures_find_the_target() -> None:
    hypotheses = Cubes(4)
    target = hypotheses.smallest([0b0010, 0b1011])
    x = np.random.default_rng(2).integers(0, 16, HORIZON).astype(np.uint8)
    y = np.isin(x, sorted(target)).astype(np.uint8)
    learner = OnlineLearner("s/l", hypotheses, CLOSURE)
    state, _, _ = run(learner, x, y, TapeNoise(3), [])
    assert state.rule == PointsRule(bits=4, members=tuple(sorted(target)))


# --- what is kept, and what it costs --------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_charged_for_when_epochs_end_and_no_noise_decides_it(case: str) -> None:
    hypotheses, parameters = CASES[case]
    learner = OnlineLearner("s/l", hypotheses, parameters)
    names = [type(event).__name__ for event in learner.season_events()]
    assert len(names) == 2
    assert names[0].endswith("Selection")
    assert names[1] == "PrecisionLoss"
    assert price(learner.call_event()) == Price.zero()
    x, y = examples(400)
    said = course(learner, column(hypotheses, x), y, TapeNoise(1), 64)
    purposes = {entry[1] for entry in said if entry[0] == "noise"}
    assert purposes <= {"buffer", "teacher", "select"}


def test_the_last_epoch_of_a_season_keeps_nothing() -> None:
    hypotheses, parameters = CASES["closures"]
    x, y = examples(HORIZON)
    learner = OnlineLearner("s/l", hypotheses, parameters)
    state, _, _ = run(learner, x, y, TapeNoise(2), [])
    assert (state.buffer, state.archive, state.pending) == (None, (), ())


class Uniform:
    """Words of a generator by address, for long streams."""

    def words(self, address: Address, count: int, offset: int = 0) -> NDArray[np.uint64]:
        seed = [len(address.purpose), address.purpose.encode()[0], address.position, address.draw]
        rng = np.random.default_rng(seed)
        return rng.integers(0, 2**64, offset + count, dtype=np.uint64)[offset:]


@pytest.mark.parametrize("most", [50, 400, 10**6])
def test_an_epoch_keeps_a_public_share_of_its_positions(most: int) -> None:
    """All examples are mistakes; their number stays within what the plan allows for."""
    count = 20_000
    first = 16_000
    parameters = replace(
        CLOSURE, mistakes_max=most, horizon=count, schedule_first=first, calls_max=1
    )
    learner = OnlineLearner("s/l", Cubes(4), parameters)
    x, y = np.full(count, 3, dtype=np.uint8), np.ones(count, dtype=np.uint8)
    _, _, (before,) = run(learner, x, y, Uniform(), [5000])
    assert before.buffer is not None
    kept = len(before.buffer)
    assert kept <= learner.mistakes_kept_max <= first
    expected = min(most, first)
    assert abs(kept - expected) <= 5 * expected**0.5 * (expected < first)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 20),
    position=st.integers(0, 399),
    other=st.tuples(st.integers(0, 15), st.integers(0, 1)),
    case=st.sampled_from(
        ["closures", "closures with a cap", "few mistakes", "paths", "background", "ids"]
    ),
)
def test_neighbours_with_one_transcript_differ_in_one_element(
    seed: int, position: int, other: tuple[int, int], case: str
) -> None:
    hypotheses, parameters = CASES[case]
    x, y = examples(400, seed)
    x2, y2 = x.copy(), y.copy()
    x2[position], y2[position] = other
    learner = OnlineLearner("s/l", hypotheses, parameters)
    one, two = (
        run(learner, column(hypotheses, points), labels, TapeNoise(seed), [])
        for points, labels in ((x, y), (x2, y2))
    )
    for left, right, first, second in zip(one[2], two[2], one[1][1:], two[1][1:], strict=True):
        differ = kept(learner, left) ^ kept(learner, right)
        assert len({each[0] for each in differ}) <= 1
        assert len(differ) <= 2
        if left.epoch_position > position:
            assert not differ
        if first != second:
            return


def kept(learner: OnlineLearner, state: OnlineState) -> set[tuple[int, ...]]:
    """What the epoch that ends here has kept: priority, point, label, teacher."""
    (buffer,) = learner._keeping.closed(state).archive
    return {
        (int(p), int(x), int(y), int(t))
        for p, x, y, t in zip(buffer.priority, buffer.x, buffer.y, buffer.teacher, strict=True)
    }


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"fresh": False}, "a schedule needs fresh selections"),
        ({"trigger_rate": Fraction(1, 2)}, "a schedule has no trigger"),
        ({"trigger_threshold": 3}, "a schedule has no trigger"),
        ({"calls_max": 8}, "a schedule from 10 over 5000 examples has calls_max 9"),
        ({"schedule_first": 0}, "schedule_first must be an integer of at least 1"),
        ({"schedule_first": None}, "a trigger bounds its mistakes"),
        ({"mistakes_max": -1}, "mistakes_max must be an integer of at least 0"),
        ({"mistakes_max": 0}, "need a mistakes_max"),
        ({"schedule_cap": 9}, "schedule_cap must be an integer of at least schedule_first"),
        ({"schedule_cap": 300.0}, "schedule_cap must be an integer of at least schedule_first"),
        ({"schedule_cap": 300}, "5000 examples, with epochs of at most 300, has calls_max 21"),
        (
            {"schedule_cap": 300, "schedule_first": None, "mistakes_max": 0},
            "only epochs of a schedule have a schedule_cap",
        ),
    ],
)
def test_a_schedule_refuses_what_does_not_go_with_it(
    changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        replace(CLOSURE, **changes)


def test_parameters_survive_storage_and_older_ones_have_no_schedule() -> None:
    assert OnlineParameters.from_dict(CLOSURE.to_dict()) == CLOSURE
    assert "schedule_cap" not in CLOSURE.to_dict()
    assert CAPPED.to_dict()["schedule_cap"] == 300
    assert OnlineParameters.from_dict(CAPPED.to_dict()) == CAPPED
    triggered = replace(
        DENSE, schedule_first=None, trigger_rate=Fraction(1, 2), trigger_threshold=9
    )
    values = triggered.to_dict()
    del values["schedule_first"], values["mistakes_max"]
    assert OnlineParameters.from_dict(values) == triggered
