"""The online learner's state machine: what it does, what it keeps, what it lets out."""

import hashlib
import json
from dataclasses import fields, replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.classes.hypothesis import HypothesisClass
from littled.classes.names import class_from_name
from littled.classes.table import Table
from littled.classes.thresholds import Thresholds
from littled.learners.contract import (
    CallRefused,
    CallRequested,
    Examples,
    Place,
    Published,
    SeasonOpened,
    SeasonPriced,
)
from littled.learners.online import OnlineLearner, OnlineState
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.snapshot import state_from_dict, state_to_dict
from littled.learners.online.values import EpochSettings, Keep
from littled.learners.snapshot import SnapshotUnusable, pack, unpack
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.mechanisms.noise import Address, KeyedNoise
from littled_protocol.rules import MajorityRule, PointsRule, PrefixRule, ThresholdRule
from support.learning import HEAD, Listening, Runner, column, equal, run, stream
from support.tape import TapeNoise

TINY = Fraction(1, 10**6)
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
HISTOGRAM = replace(
    SPARSE, selection="histogram", list_cap=0, buffer="mistakes", background_max=0,
)  # fmt: skip
TEACHERS = replace(
    SPARSE, buffer="mistakes", background_max=0, teachers=20, list_cap=300, bottom_score=8,
    selection_rate=Fraction(2), trigger_threshold=120,
)  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "purposes"),
    [(HISTOGRAM, set()), (TEACHERS, {"teacher"}), (SPARSE, {"buffer"})],
)
def test_words_of_positions_are_drawn_where_they_decide_what_is_kept(
    parameters: OnlineParameters, purposes: set[str]
) -> None:
    """Mistakes are kept whatever their priorities: where nothing else is, there are none.

    Parameters alone say so, and not whether there are mistakes.
    """
    hypotheses = class_from_name("points:8" if parameters is HISTOGRAM else "prefixes:8")
    x = np.arange(40, dtype=np.uint8)
    for labels in (np.zeros(40, dtype=np.uint8), (x % 8 == 3).astype(np.uint8)):
        noise = TapeNoise(4)
        state, _, _ = run(OnlineLearner("s/l", hypotheses, parameters), x, labels, noise, [7, 21])
        drawn = {purpose for _, purpose, _, _ in noise.requests}
        assert drawn - {"trigger", "trigger-threshold"} == purposes
        assert state.buffer is not None
        kept = state.buffer.joined()
        mistakes = kept.x[kept.mistake]
        assert mistakes.tolist() == x[labels == 1].tolist()
        if parameters is TEACHERS:
            words = [int(noise._word(noise_address(at), at, 0)) for at in mistakes.tolist()]
            assert kept.teacher.tolist() == words


def noise_address(position: int) -> Address:
    """Where the teacher of the example at a position is drawn from."""
    return Address(HEAD, "s/l", "teacher", position)


def test_dense_learner_finds_the_threshold() -> None:
    x, y = stream(1, 8000)
    learner = OnlineLearner("s/l", Thresholds(16), DENSE)
    state, out, _ = run(learner, x, y, TapeNoise(3), [1000, 2000])
    assert out[0].rule == ThresholdRule(size=16, threshold=8)
    assert state.rule == ThresholdRule(size=16, threshold=5)
    assert [each.version for each in out] == list(range(1, len(out) + 1))
    assert all(a.position < b.position for a, b in pairwise(out))


@pytest.mark.parametrize("name", ["points:64", "prefixes:128"])
def test_one_example_a_teacher_finds_the_target(name: str) -> None:
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
    parameters = HISTOGRAM if name == "points:64" else SPARSE
    learner = OnlineLearner("s/l", hypotheses, parameters)
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


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("hypotheses", "parameters"),
    [
        (Thresholds(16), DENSE),
        (Thresholds(16), replace(DENSE, buffer="mistakes")),
        (Thresholds(16), replace(DENSE, noise_rate=Fraction(1, 20))),
        (Thresholds(16), TEACHERS),
        (class_from_name("points:8"), replace(HISTOGRAM, trigger_threshold=40)),
        (class_from_name("prefixes:8"), replace(SPARSE, background_max=16, trigger_threshold=40)),
        (class_from_name("points:8"), replace(HISTOGRAM, background_max=16, buffer="examples")),
    ],
)
@settings(max_examples=40)
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
    return learner._keeping.closed(state)


@pytest.mark.no_cover
@pytest.mark.parametrize("way", ["dense", "mistakes", "both", "background", "teachers"])
@given(
    seed=st.integers(0, 20),
    position=st.integers(0, 119),
    other=st.tuples(st.integers(0, 15), st.integers(0, 1)),
)
def test_neighbours_with_one_transcript_differ_in_one_element(
    way: str, seed: int, position: int, other: tuple[int, int]
) -> None:
    """PRIVACY.md, section 4: the state difference that every price rests on."""
    hypotheses = {"dense": Thresholds(16), "teachers": Thresholds(16)}.get(
        way, class_from_name("points:8")
    )
    parameters = {
        "dense": replace(DENSE, trigger_threshold=12),
        "teachers": replace(TEACHERS, trigger_threshold=20),
        "mistakes": replace(HISTOGRAM, trigger_threshold=20),
        # fewer than an epoch has, but so many that the one which differs is often among them
        "both": replace(HISTOGRAM, buffer="both", background_max=15, trigger_threshold=20),
        "background": replace(
            HISTOGRAM, buffer="examples", background_max=15, trigger_threshold=20
        ),
    }[way]
    x, y = stream(seed, 400)
    x2, y2 = x.copy(), y.copy()
    x2[position], y2[position] = other
    learner = OnlineLearner("s/l", hypotheses, parameters)
    tapes = TapeNoise(seed), TapeNoise(seed)
    one = run(learner, column(hypotheses, x), y, tapes[0], [])
    two = run(learner, column(hypotheses, x2), y2, tapes[1], [])
    calls = zip(one[2], two[2], one[1][1:], two[1][1:], strict=False)
    for left, right, fired, fired_too in calls:
        if fired.position != fired_too.position:
            return
        assert abs(left.mistakes - right.mistakes) <= 1
        _assert_one_element(_close(learner, left), _close(learner, right), parameters.teachers)
        if fired != fired_too:
            return
    if one[1] == two[1]:
        # a histogram reads one word for each of its ids, how many nobody sees; all else is equal
        words, others = (
            [each[:3] if each[1] == "select" else each for each in tape.requests] for tape in tapes
        )
        assert words == others


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


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("thresholds:16", DENSE),
        ("prefixes:8", SPARSE),
        ("points:8", HISTOGRAM),
        ("thresholds:16", TEACHERS),
    ],
)
def test_states_survive_as_bytes(name: str, parameters: OnlineParameters) -> None:
    hypotheses = class_from_name(name)
    x, y = stream(4, 700)
    learner = OnlineLearner("s/l", hypotheses, parameters)
    state, _, _ = run(learner, column(hypotheses, x), y, TapeNoise(0), [300])
    data = pack(state_to_dict(state))
    again = state_from_dict(unpack(data))
    assert equal(again, state)
    assert {each.name for each in fields(again)} == {each.name for each in fields(state)}


def test_foreign_snapshots_are_refused() -> None:
    with pytest.raises(SnapshotUnusable):
        unpack(b"\xc1")
    with pytest.raises(SnapshotUnusable):
        unpack(b"\x01")
    with pytest.raises(SnapshotUnusable):
        state_from_dict({"rule": {}})


# --- parameters -----------------------------------------------------------------------------------

CLOSURE = replace(
    DENSE, selection="closure", buffer="mistakes", list_cap=1, bottom_score=10,
    selection_rate=Fraction(1), ladder=(EpochSettings(60, 12), EpochSettings(90, None)),
)  # fmt: skip
FRESH = replace(TEACHERS, stage_rate=Fraction(1, 3), tests="cohen_lyu", tests_failure=TINY)


@pytest.mark.parametrize("parameters", [DENSE, SPARSE, TEACHERS, CLOSURE, FRESH, HISTOGRAM])
def test_written_parameters_are_read_again(parameters: OnlineParameters) -> None:
    written = json.loads(json.dumps(parameters.to_dict()))
    assert OnlineParameters.from_dict(written) == parameters


def test_floats_are_amounts_as_they_are_written() -> None:
    floats: dict[str, Any] = {"epsilon": 1, "noise_rate": 0.1, "selection_rate": 0.25}
    made = replace(DENSE, **floats)
    assert made.to_dict() == replace(DENSE, noise_rate=Fraction(1, 10)).to_dict()


def test_parameters_are_written_like_this_for_ever() -> None:
    written = CLOSURE.to_dict()
    assert written["ladder"] == [
        {"trigger_threshold": 60, "teachers": 12},
        {"trigger_threshold": 90, "teachers": None},
    ]
    assert FRESH.to_dict()["tests_failure"] == "1/1000000"


def test_plans_from_before_the_later_parameters_still_load() -> None:
    later = {"ladder", "tests", "tests_failure"}
    for parameters in (DENSE, SPARSE, TEACHERS):
        old = {name: value for name, value in parameters.to_dict().items() if name not in later}
        assert OnlineParameters.from_dict(old) == parameters


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"patience": 3}, "differ in: patience"),
        ({"draws": None, "patience": 3}, "differ in: draws, patience"),
        ({"ladder": [{"trigger_threshold": 3}]}, "stored settings of the ladder"),
        ({"ladder": [[3, None]]}, "stored settings of the ladder"),
    ],
)
def test_other_stored_parameters_are_refused(changes: dict[str, Any], sentence: str) -> None:
    values = {
        k: v for k, v in (CLOSURE.to_dict() | changes).items() if v is not None or k != "draws"
    }
    with pytest.raises(ValueError, match=sentence):
        OnlineParameters.from_dict(values)


@pytest.mark.parametrize(
    ("parameters", "changes", "sentence"),
    [
        (DENSE, {"selection": "best"}, "selection must be one of dense, sparse, closure"),
        (DENSE, {"selection_accounting": "free"}, "selection_accounting must be one of"),
        (DENSE, {"buffer": "all"}, "buffer must be one of"),
        (DENSE, {"tests": "none"}, "tests must be one of"),
        (DENSE, {"horizon": 0}, "horizon must be at least 1"),
        (DENSE, {"calls_max": -1}, "must not be negative"),
        (DENSE, {"noise_rate": Fraction(-1, 9)}, "must not be negative"),
        (DENSE, {"draws": 2}, "draws must be an odd number"),
        (DENSE, {"draws": 0}, "draws must be an odd number"),
        (DENSE, {"draws": 1025}, "draws must be an odd number up to 1024"),
        (DENSE, {"trigger_threshold": 3.0}, "must be an integer"),
        (DENSE, {"trigger_threshold": (1 << 62) + 1}, r"must be an integer from -2\^62"),
        (DENSE, {"trigger_threshold": -(1 << 62) - 1}, r"must be an integer from -2\^62"),
        (TEACHERS, {"teachers": 0}, "at least 1"),
        (CLOSURE, {"ladder": (EpochSettings(3, 0),)}, "at least 1"),
        (DENSE, {"teachers": 5}, "dense selection has no teachers"),
        (HISTOGRAM, {"teachers": 5}, "histogram selection has no teachers"),
        (HISTOGRAM, {"draws": 3}, "histogram selection needs draws 1"),
        (SPARSE, {"ladder": (EpochSettings(3, 5),)}, "only closure selection changes its teachers"),
        (
            TEACHERS,
            {"ladder": (EpochSettings(3, 5),)},
            "only closure selection changes its teachers",
        ),
        (SPARSE, {"stage_rate": Fraction(1)}, "a stage test needs sparse selection with"),
        (CLOSURE, {"stage_rate": Fraction(1)}, "a stage test needs sparse selection with"),
        (CLOSURE, {"list_cap": 2}, "closure selection needs list_cap 1"),
        (CLOSURE, {"draws": 3}, "closure selection needs draws 1"),
        (FRESH, {"tests_failure": Fraction(0)}, "above 0 and below 1"),
        (FRESH, {"tests_failure": Fraction(1)}, "above 0 and below 1"),
        (DENSE, {"tests_failure": TINY}, "only cohen_lyu tests have a tests_failure"),
    ],
)
def test_parameters_that_no_learner_can_have_are_refused(
    parameters: OnlineParameters, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        replace(parameters, **changes)


@pytest.mark.parametrize(
    ("hypotheses", "parameters", "sentence"),
    [
        (class_from_name("points:64"), DENSE, "too many rules for dense selection"),
        (Thresholds(16), SPARSE, "no short lists of rules per example"),
        (class_from_name("points:8"), replace(CLOSURE), "not closed under intersection"),
        (class_from_name("prefixes:8"), replace(SPARSE, list_cap=8), "more than list_cap 8"),
        (class_from_name("points:8"), SPARSE, "no short lists of rules per example"),
        (class_from_name("prefixes:8"), HISTOGRAM, "no rules that are sets of ids"),
    ],
)
def test_parameters_that_do_not_fit_the_class_are_refused(
    hypotheses: HypothesisClass, parameters: OnlineParameters, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        OnlineLearner("s/l", hypotheses, parameters)


def test_the_rung_in_force_is_a_function_of_public_counters() -> None:
    first, last = EpochSettings(30, None), EpochSettings(90, None)
    assert [CLOSURE.settings(kept) for kept in range(4)] == [
        first,
        EpochSettings(60, 12),
        last,
        last,
    ]
    assert [DENSE.settings(kept) for kept in range(3)] == [first] * 3


def test_for_dense_selection_the_ladder_counts_every_call() -> None:
    quiet = replace(DENSE, trigger_rate=Fraction(20), trigger_threshold=10, fresh=True)
    learner = OnlineLearner(
        "s/l", Thresholds(16), replace(quiet, ladder=(EpochSettings(10), EpochSettings(40)))
    )
    y = np.arange(1000, dtype=np.uint8) % 2  # half of these no rule can get right
    _, out, _ = run(learner, np.full(1000, 5, dtype=np.uint8), y, TapeNoise(1), [100, 101])
    lengths = [b.position - a.position for a, b in pairwise(out)]
    assert len(lengths) == 4 + 1  # calls_max, and the fire at which the learner halts
    assert all(abs(each - 20) <= 4 for each in lengths[:2])
    assert all(abs(each - 80) <= 4 for each in lengths[2:4])


# --- what a season keeps at the most --------------------------------------------------------------


def thresholds_of_any_course(parameters: OnlineParameters) -> int:
    """Largest sum of the thresholds of all epochs, over every outcome of every call."""
    worst = 0
    for outcomes in product((False, True), repeat=parameters.calls_max):
        kept, total = 0, 0
        for changed in outcomes:
            total += parameters.settings(kept).trigger_threshold
            kept = 0 if changed else kept + 1
        worst = max(worst, total)
    return worst


@given(thresholds=st.lists(st.integers(0, 50), max_size=4), calls=st.integers(0, 6))
def test_the_bound_of_kept_mistakes_allows_for_every_course_of_the_ladder(
    thresholds: list[int], calls: int
) -> None:
    ladder = tuple(EpochSettings(threshold) for threshold in thresholds)
    parameters = replace(HISTOGRAM, ladder=ladder, calls_max=calls)
    learner = OnlineLearner("s/l", class_from_name("points:8"), parameters)
    reach = DiscreteLaplace(parameters.trigger_rate).reach
    assert learner.mistakes_kept_max == thresholds_of_any_course(parameters) + calls * 3 * reach


def test_mistakes_that_the_trigger_allows_for_are_kept_as_well() -> None:
    quiet = replace(HISTOGRAM, noise_rate=Fraction(1, 7))
    bounds = [
        OnlineLearner("s/l", class_from_name("points:8"), each).mistakes_kept_max
        for each in (HISTOGRAM, quiet)
    ]
    assert bounds[1] == bounds[0] + 10_000 // 7
    kept_in_background = replace(HISTOGRAM, buffer="examples")
    learner = OnlineLearner("s/l", class_from_name("points:8"), kept_in_background)
    assert learner.mistakes_kept_max == 0


@pytest.mark.parametrize("kept", ["mistakes", "both"])
def test_nothing_is_kept_where_no_call_is_left(kept: Keep) -> None:
    """The last epoch of a season ends with a halt: what it kept would be read by nobody."""
    background = 8 if kept == "both" else 0
    parameters = replace(HISTOGRAM, buffer=kept, background_max=background, calls_max=1)
    learner = OnlineLearner("s/l", class_from_name("points:8"), parameters)
    x = np.full(1000, 7, dtype=np.uint8)
    runner, noise = Runner(learner, KeyedNoise(bytes(range(32)))), KeyedNoise(bytes(32))
    runner.open()
    list(runner.feed(x, np.ones(1000, dtype=np.uint8), 0))
    assert runner.state.calls == 1
    assert not runner.state.halted
    # only what the one call has seen, however the published rule errs from now on
    before = sum(map(len, runner.state.archive))
    wrong = 1 - runner.state.rule.evaluate(x)
    step = learner.step(runner.state, Examples(Place(HEAD, 1000, 1000), x[:60], wrong[:60]), noise)
    assert step.state.mistakes == 60
    assert step.state.buffer is None
    assert sum(map(len, step.state.archive)) == before <= learner.mistakes_kept_max + background


def test_a_dense_learner_counts_nothing_where_no_call_is_left() -> None:
    learner = OnlineLearner("s/l", Thresholds(16), replace(DENSE, calls_max=0))
    opened = learner.step(learner.initial(), SeasonOpened(0, 0), KeyedNoise(bytes(32))).state
    x = np.arange(16, dtype=np.uint8)
    y = (x & 1).astype(np.uint8)
    step = learner.step(opened, Examples(Place(HEAD, 0, 0), x, y), KeyedNoise(bytes(32)))
    assert step.state.pending == ()
    assert step.state.mistakes


# --- addresses of noise ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hypotheses", "parameters", "digest", "first"),
    [
        (Thresholds(16), DENSE, "65fef05f3546a9ef", [("select", 100, 0, 0, 4)]),
        (class_from_name("prefixes:8"), SPARSE, "e65e32bf4f13d3ef", [("select", 1478, 0, 0, 4)]),
        (
            Thresholds(16),
            replace(TEACHERS, stage_rate=Fraction(2), draws=3),
            "c75bc252141895c7",
            [
                ("stage-threshold", 617, 1, 0, 3),
                ("stage-query", 617, 1, 0, 3),
                ("stage-threshold", 617, 2, 0, 3),
                ("stage-query", 617, 2, 0, 3),
                *(("select", 617, draw, 0, 4) for draw in range(3)),
            ],
        ),
    ],
)
def test_noise_has_the_addresses_that_it_had_in_the_first_version(
    hypotheses: HypothesisClass,
    parameters: OnlineParameters,
    digest: str,
    first: list[tuple[Any, ...]],
) -> None:
    """A journal from before must replay to the same bits, whatever came since.

    Of teachers' mistakes all are kept: the words of their priorities, which the first version drew
    as well, are left out, and nothing else is.
    """
    x, y = stream(2, 3000)
    if parameters is SPARSE:
        y = (x == 5).astype(np.uint8)
    heard = Listening(KeyedNoise(bytes(range(32))))
    run(OnlineLearner("s/l", hypotheses, parameters), x, y, heard, [700, 1500])
    asked = [entry[1:] for entry in heard.entries]
    assert [each for each in asked if each[0] in {"select", "stage-threshold", "stage-query"}][
        : len(first)
    ] == first
    assert hashlib.blake2b(repr(asked).encode(), digest_size=8).hexdigest() == digest
