"""The online learner's state machine: what it does, what it keeps, what it lets out."""

from dataclasses import fields, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.classes import HypothesisClass, Table, Thresholds, class_from_name
from littled.learners.online import (
    CallAdmitted,
    CallRefused,
    CallRequested,
    Examples,
    OnlineLearner,
    OnlineState,
    Place,
    Published,
    SeasonOpened,
    SeasonPriced,
)
from littled.learners.parameters import OnlineParameters
from littled.learners.snapshot import (
    SnapshotUnusable,
    online_from_dict,
    online_to_dict,
    pack,
    unpack,
)
from littled_protocol.columns import point_type
from littled_protocol.rules import MajorityRule, PointsRule, PrefixRule, ThresholdRule
from support.tape import TapeNoise

HEAD = bytes(32)
DENSE = OnlineParameters(
    epsilon=Fraction(1),
    horizon=10_000,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(1, 2),
    trigger_threshold=30,
    selection="dense",
    selection_rate=Fraction(1, 4),
    selection_accounting="pure",
    draws=1,
    calls_max=4,
    buffer="examples",
)
SPARSE = replace(
    DENSE, selection="sparse", buffer="both", background_max=64, list_cap=129, bottom_score=40,
    trigger_threshold=80,
)  # fmt: skip
TEACHERS = replace(
    SPARSE, buffer="mistakes", background_max=0, teachers=20, list_cap=300, bottom_score=8,
    selection_rate=Fraction(2), trigger_threshold=120,
)  # fmt: skip

Run = tuple[OnlineState, list[Published], list[OnlineState]]


def column(hypotheses: HypothesisClass, values: Any) -> NDArray[Any]:
    kind = point_type(hypotheses.point_type)
    if kind.name == "u128":
        return np.array([[v >> 64, v & (2**64 - 1)] for v in values], dtype=np.uint64)
    return np.array(values, dtype=kind.dtype)


def run(
    learner: OnlineLearner, x: NDArray[Any], y: NDArray[np.uint8], noise: Any, cuts: list[int]
) -> Run:
    """Feed a stream cut at `cuts`, admitting every call; the states before each call too."""
    opened = learner.step(learner.initial(), SeasonOpened(0, 0), noise)
    state, out = opened.state, [e for e in opened.effects if isinstance(e, Published)]
    before = []
    edges = sorted({0, *cuts, len(y)})
    for start, stop in pairwise(edges):
        at = start
        while at < stop:
            step = learner.step(
                state, Examples(Place(HEAD, start, at), x[at:stop], y[at:stop]), noise
            )
            state, at = step.state, at + step.consumed
            for effect in step.effects:
                if isinstance(effect, CallRequested):
                    before.append(state)
                    assert effect.place.position == at - 1
                    trained = learner.step(state, CallAdmitted(effect.place), noise)
                    state = trained.state
                    out += [e for e in trained.effects if isinstance(e, Published)]
                elif isinstance(effect, Published):
                    out.append(effect)
    return state, out, before


def stream(seed: int, count: int, target: int = 5, size: int = 16) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, size, count).astype(np.uint8)
    return x, (x >= target).astype(np.uint8)


def equal(left: Any, right: Any) -> bool:
    """Deep equality of states that hold arrays."""
    return bool(pack(online_to_dict(left)) == pack(online_to_dict(right)))


def test_dense_learner_finds_the_threshold() -> None:
    x, y = stream(1, 8000)
    learner = OnlineLearner("s/l", Thresholds(16), DENSE)
    state, out, _ = run(learner, x, y, TapeNoise(3), [1000, 2000])
    assert out[0].rule == ThresholdRule(size=16, threshold=8)
    assert state.rule == ThresholdRule(size=16, threshold=5)
    assert [each.version for each in out] == list(range(1, len(out) + 1))
    assert all(a.position < b.position for a, b in pairwise(out))


@pytest.mark.parametrize("name", ["points:64", "prefixes:128"])
def test_sparse_learner_finds_the_target(name: str) -> None:
    hypotheses = class_from_name(name)
    rng = np.random.default_rng(5)
    block = 0x20010DB8 << 96 if name == "prefixes:128" else 7
    values, labels = [], []
    for _ in range(3000):
        inside = rng.random() < 0.3
        if name == "points:64":
            values.append(block if inside else int(rng.integers(100, 200)))
        else:
            low = int(rng.integers(0, 2**48)) << 48 | int(rng.integers(0, 2**48))
            flip = 0 if inside else 1 << (127 - int(rng.integers(0, 32)))
            values.append((block ^ flip) | low)
        labels.append(inside)
    learner = OnlineLearner("s/l", hypotheses, SPARSE)
    y = np.array(labels, dtype=np.uint8)
    state, out, _ = run(learner, column(hypotheses, values), y, TapeNoise(2), [])
    found = state.rule
    if isinstance(found, PointsRule):
        assert found.members == (7,)
    else:
        assert isinstance(found, PrefixRule)
        assert (found.length, found.value) == (32, 0x20010DB8)
    assert 2 <= len(out) <= 4


def test_teachers_agree_on_the_threshold() -> None:
    x, y = stream(2, 9000)
    learner = OnlineLearner("s/l", Thresholds(16), TEACHERS)
    state, _, _ = run(learner, x, y, TapeNoise(1), [])
    wrong = int((state.rule.evaluate(x) != y).sum())
    assert wrong <= len(y) // 8


def test_teachers_with_stage_test_and_majority() -> None:
    table = Table.from_matrix([f"t{t}" for t in range(17)], np.arange(16) >= np.arange(17)[:, None])
    x, y = stream(3, 9000)
    parameters = replace(TEACHERS, stage_rate=Fraction(2), draws=3)
    learner = OnlineLearner("s/l", table, parameters)
    state, out, _ = run(learner, x, y, TapeNoise(4), [])
    assert any(isinstance(each.rule, MajorityRule) for each in out)
    assert 1 <= state.stage <= table.littlestone_dimension + 2
    names = [type(event).__name__ for event in learner.season_events()]
    assert names.count("StageTest") == table.littlestone_dimension + 1


@pytest.mark.parametrize(
    ("hypotheses", "parameters"),
    [
        (Thresholds(16), DENSE),
        (Thresholds(16), replace(DENSE, buffer="mistakes")),
        (Thresholds(16), replace(DENSE, noise_rate=Fraction(1, 20))),
        (Thresholds(16), TEACHERS),
        (class_from_name("points:8"), replace(SPARSE, background_max=16, trigger_threshold=40)),
        (class_from_name("prefixes:8"), replace(SPARSE, background_max=16, trigger_threshold=40)),
        (class_from_name("points:8"), replace(SPARSE, background_max=16, buffer="examples")),
    ],
)
@given(cuts=st.lists(st.integers(0, 600), max_size=6), seed=st.integers(0, 3))
def test_results_do_not_depend_on_how_the_stream_is_cut(
    hypotheses: HypothesisClass,
    parameters: OnlineParameters,
    cuts: list[int],
    seed: int,
) -> None:
    x, y = stream(seed, 600)
    learner = OnlineLearner("s/l", hypotheses, parameters)
    whole = run(learner, column(hypotheses, x), y, TapeNoise(seed), [])
    parts = run(learner, column(hypotheses, x), y, TapeNoise(seed), cuts)
    assert parts[1] == whole[1]
    final = [_close(learner, each) for each in (whole[0], parts[0])]
    assert equal(*final)


def _close(learner: OnlineLearner, state: OnlineState) -> OnlineState:
    """The state with its buffer reduced to what it means, however far it was dropped."""
    return learner._close_epoch(state)


@given(
    seed=st.integers(0, 20),
    position=st.integers(0, 399),
    other=st.tuples(st.integers(0, 15), st.integers(0, 1)),
    way=st.sampled_from(["dense", "mistakes", "both", "background", "teachers"]),
)
def test_neighbours_with_one_transcript_differ_in_one_element(
    seed: int, position: int, other: tuple[int, int], way: str
) -> None:
    """Privacy notes, section 2: the state difference that every price rests on."""
    hypotheses = {"dense": Thresholds(16), "teachers": Thresholds(16)}.get(
        way, class_from_name("points:8")
    )
    parameters = {
        "dense": replace(DENSE, trigger_threshold=12),
        "teachers": replace(TEACHERS, trigger_threshold=20),
        "mistakes": replace(SPARSE, buffer="mistakes", background_max=0, trigger_threshold=20),
        "both": replace(SPARSE, background_max=8, trigger_threshold=20),
        "background": replace(SPARSE, buffer="examples", background_max=8, trigger_threshold=20),
    }[way]
    x, y = stream(seed, 400)
    x2, y2 = x.copy(), y.copy()
    x2[position], y2[position] = other
    learner = OnlineLearner("s/l", hypotheses, parameters)
    tapes = TapeNoise(seed), TapeNoise(seed)
    one = run(learner, column(hypotheses, x), y, tapes[0], [])
    two = run(learner, column(hypotheses, x2), y2, tapes[1], [])
    calls = zip(one[2], two[2], one[1][1:], two[1][1:], strict=False)
    for left, right, first, second in calls:
        if first.position != second.position:
            return
        assert abs(left.mistakes - right.mistakes) <= 1
        _assert_one_element(_close(learner, left), _close(learner, right), parameters.teachers)
        if first != second:
            return
    if one[1] == two[1]:
        assert tapes[0].requests == tapes[1].requests


def _assert_one_element(left: OnlineState, right: OnlineState, teachers: int | None) -> None:
    if left.statistics is not None and right.statistics is not None:
        change = left.statistics - right.statistics
        assert np.abs(change).sum() <= 2
        assert abs(change.sum()) <= 1
        return
    gone, come = [], []
    for a, b in zip(left.archive, right.archive, strict=True):
        first = {
            (int(p), *(int(v) for v in row))
            for p, *row in zip(a.priority, a.x, a.y, a.teacher, strict=True)
        }
        second = {
            (int(p), *(int(v) for v in row))
            for p, *row in zip(b.priority, b.x, b.y, b.teacher, strict=True)
        }
        gone += sorted(first - second)
        come += sorted(second - first)
    assert len(gone) <= 1
    assert len(come) <= 1
    assert {each[0] for each in gone} == {each[0] for each in come} or not (gone and come)
    if teachers is not None:
        assert len({each[-1] % teachers for each in gone + come}) <= 1


def test_season_prices_are_charged_before_anything_is_seen() -> None:
    learner = OnlineLearner("s/l", Thresholds(16), DENSE)
    tape = TapeNoise()
    step = learner.step(learner.initial(), SeasonOpened(0, 0), tape)
    assert tape.requests == []
    assert isinstance(step.effects[0], SeasonPriced)
    assert [type(e).__name__ for e in step.effects[0].events] == ["TriggerSeason", "PrecisionLoss"]
    assert isinstance(step.effects[1], Published)


def test_refused_call_halts_and_draws_no_more_noise() -> None:
    x, y = stream(1, 2000)
    learner = OnlineLearner("s/l", Thresholds(16), DENSE)
    tape = TapeNoise(3)
    state = learner.step(learner.initial(), SeasonOpened(0, 0), tape).state
    place = Place(HEAD, 0, 0)
    step = learner.step(state, Examples(place, x, y), tape)
    request = step.effects[0]
    assert isinstance(request, CallRequested)
    refused = learner.step(step.state, CallRefused(request.place), tape)
    halt = refused.effects[0]
    assert isinstance(halt, Published)
    assert (halt.kind, halt.rule) == ("halt", state.rule)
    drawn = len(tape.requests)
    after = learner.step(refused.state, Examples(place, x, y), tape)
    assert (after.consumed, after.effects, len(tape.requests)) == (len(y), (), drawn)
    private = {"mistakes": 0, "pending": (), "buffer": None, "archive": (), "threshold_noise": None}
    assert {name: getattr(refused.state, name) for name in private} == private


def test_calls_are_limited_to_what_was_planned() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 16, 6000).astype(np.uint8)
    y = rng.integers(0, 2, 6000).astype(np.uint8)
    learner = OnlineLearner("s/l", Thresholds(16), replace(DENSE, calls_max=2))
    state, out, before = run(learner, x, y, TapeNoise(0), [])
    assert len(before) == 2
    assert [each.kind for each in out] == ["rule", "rule", "rule", "halt"]
    assert state.halted


def test_new_season_forgets_the_data_and_carries_the_rule() -> None:
    x, y = stream(1, 8000)
    learner = OnlineLearner("s/l", Thresholds(16), DENSE)
    state, _, _ = run(learner, x, y, TapeNoise(3), [])
    opened = learner.step(state, SeasonOpened(1, 8000), TapeNoise(3))
    assert opened.state.rule == state.rule
    assert opened.state.statistics is not None
    assert not opened.state.statistics.any()
    assert (opened.state.calls, opened.state.mistakes, opened.state.pending) == (0, 0, ())
    season = opened.effects[1]
    assert isinstance(season, Published)
    assert (season.kind, season.position, season.rule) == ("season", 8000, state.rule)


@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(333_333_333, 10**9)])
@pytest.mark.parametrize("first", [0, 17, 10**15 - 5])
def test_expected_mistakes_are_exact_however_long_the_epoch(rate: Fraction, first: int) -> None:
    learner = OnlineLearner("s/l", Thresholds(16), replace(DENSE, noise_rate=rate))
    state = replace(learner.initial(), epoch_position=3)
    expected = learner._expected_mistakes(state, first + 3, 4)
    exact = [int(rate * (first + step)) for step in (1, 2, 3, 4)]
    assert np.array_equal(expected, exact)


def test_learners_may_have_the_names_of_an_array() -> None:
    values = {"dtype": {"a": 1}, "shape": {"b": 2}, "data": {"c": 3}}
    assert unpack(pack({"learners": values})) == {"learners": values}


def test_noise_rate_raises_no_alarm_for_expected_mistakes() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 16, 20_000).astype(np.uint8)
    y = ((x >= 8) ^ (rng.random(20_000) < 0.1)).astype(np.uint8)
    quiet = replace(DENSE, horizon=20_000, noise_rate=Fraction(1, 8), trigger_threshold=120)
    _, out, _ = run(OnlineLearner("s/l", Thresholds(16), quiet), x, y, TapeNoise(1), [])
    assert len(out) == 1
    deaf = replace(quiet, noise_rate=Fraction(0))
    _, out, _ = run(OnlineLearner("s/l", Thresholds(16), deaf), x, y, TapeNoise(1), [])
    assert len(out) > 2


@pytest.mark.parametrize("parameters", [DENSE, SPARSE, TEACHERS])
def test_states_survive_as_bytes(parameters: OnlineParameters) -> None:
    name = "thresholds:16" if parameters is not SPARSE else "points:8"
    hypotheses = class_from_name(name)
    x, y = stream(4, 700)
    learner = OnlineLearner("s/l", hypotheses, parameters)
    state, _, _ = run(learner, column(hypotheses, x), y, TapeNoise(0), [300])
    data = pack(online_to_dict(state))
    again = online_from_dict(unpack(data))
    assert equal(again, state)
    assert {each.name for each in fields(again)} == {each.name for each in fields(state)}


def test_foreign_snapshots_are_refused() -> None:
    with pytest.raises(SnapshotUnusable):
        unpack(b"\xc1")
    with pytest.raises(SnapshotUnusable):
        unpack(b"\x01")
    with pytest.raises(SnapshotUnusable):
        online_from_dict({"rule": {}})


def test_parameters_survive_as_dict() -> None:
    for parameters in (DENSE, SPARSE, replace(TEACHERS, stage_rate=Fraction(1, 3))):
        assert OnlineParameters.from_dict(parameters.to_dict()) == parameters
    with pytest.raises(ValueError, match="draws"):
        OnlineParameters.from_dict({k: v for k, v in DENSE.to_dict().items() if k != "draws"})
