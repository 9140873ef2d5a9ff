"""What no plan may exceed: the bounds hold whatever is kept, and what exceeds them is refused."""

from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.classes.hypothesis import HypothesisClass
from littled.classes.names import class_from_name
from littled.classes.table import Table
from littled.learners.online import OnlineState
from littled.learners.online.buffer import Buffer
from littled.learners.online.keeping import EPOCH_BYTES
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.snapshot import state_to_dict
from littled.learners.online.values import EpochSettings
from littled.learners.snapshot import pack
from littled.mechanisms.noise import KeyedNoise
from littled.planner import (
    OnlinePlan,
    OnlineRequest,
    PaperConstants,
    PlanError,
    StreamPlan,
    StreamRequest,
    compare_ways,
    plan_stream,
)
from littled.planner.capacity import (
    MEMORY_BYTES_MAX,
    SNAPSHOT_BYTES_MAX,
    fits_a_frame,
    misfit_together,
)
from littled.planner.online.costs import examples_max, retrain_memory_bytes, row_bytes, rows_max
from littled.planner.online.sizes import (
    STATE_BYTES,
    candidates_max,
    misfit,
    snapshot_bytes_max,
)
from littled.planner.prediction.request import PredictionRequest
from littled.planner.search import _plan_stream
from littled_protocol.codec import encode
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import Release
from littled_protocol.rules import MajorityRule, TableRule, Words
from support.learning import Runner, column

DELTA = Fraction(1, 10**6)


def asked(
    hypotheses: HypothesisClass | str, horizon: int, epsilon: Fraction | int, **how: Any
) -> StreamRequest:
    if isinstance(hypotheses, str):
        hypotheses = class_from_name(hypotheses)
    learner = OnlineRequest("l", hypotheses, **how)
    return StreamRequest("s", Fraction(epsilon), DELTA, horizon, (learner,))


def paper(**constants: int) -> dict[str, Any]:
    return {
        "selection": "paper",
        "paper": PaperConstants(**{name: Fraction(each) for name, each in constants.items()}),
    }


@cache
def wide_table() -> Table:
    """Two rules over 300,000 points: each is 75,000 characters of text in a release."""
    matrix = np.zeros((2, 300_000), dtype=np.bool_)
    matrix[1] = True
    return Table.from_matrix(["never", "always"], matrix)


# -- refused ---------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Callable[[], StreamRequest], str]] = {
    "a snapshot that SQLite would not store": (
        lambda: asked("points:128", 10**12, 1, **paper(teachers=40, threshold=1000)),
        "learner l: 50,694,228 examples of 34 bytes that a season may keep make snapshots of up to "
        "1,724,657,448 bytes, more than 500,000,000; lower paper.threshold or paper.teachers",
    ),
    "too many lists": (
        lambda: asked("sparse_sets:128:1024", 10**9, 1, teachers=100_000),
        "learner l: 100,000 teachers with lists of up to 256 rules can come to 25,600,000 "
        "candidates, more than 8,388,608; set 32,768 or fewer, or take a class of smaller "
        "dimension",
    ),
    "too many lists of the paper": (
        lambda: asked("sparse_sets:64:2", 10**8, 2, **paper(teachers=40)),
        "learner l: 57,585 teachers with lists of up to 65,536 rules can come to 3,773,890,560 "
        "candidates, more than 8,388,608; lower paper.teachers until k is 128 or fewer, or take a "
        "class of smaller dimension",
    ),
    "too much of one teacher": (
        lambda: asked("conjunctions:128", 10**9, Fraction(1, 100), teachers=2),
        "learner l: a training from 2,156,416 examples of conjunctions:128 can take 9,",
    ),
    "a majority that no frame holds": (
        lambda: asked(wide_table(), 10**6, 2, **paper(teachers=100)),
        "can be longer than a frame, 1,048,576 bytes or 131,072 values; lower paper.draws or take "
        "a class with shorter rules",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", REFUSED)
def test_what_could_come_to_too_much_is_refused_with_what_would_be_right(name: str) -> None:
    request, sentence = REFUSED[name]
    with pytest.raises(PlanError) as refused:
        plan_stream(request())
    assert sentence in str(refused.value)
    assert ";" in str(refused.value)


def test_more_teachers_are_advised_where_one_of_them_has_too_much() -> None:
    with pytest.raises(PlanError, match=r"more than 4,294,967,296; take more teachers"):
        plan_stream(asked("conjunctions:128", 10**9, Fraction(1, 100), teachers=2))
    plan_stream(asked("conjunctions:128", 10**9, Fraction(1, 100), teachers=20))


def test_fewer_teachers_are_advised_where_their_lists_are_too_much() -> None:
    with pytest.raises(PlanError, match=r"more than 4,294,967,296; take fewer teachers"):
        plan_stream(asked("sparse_sets:128:1024", 10**9, 1, teachers=2000))


@pytest.mark.long
def test_a_way_that_was_not_chosen_says_why_it_could_not_be() -> None:
    request = asked(wide_table(), 10**6, 2, **{**paper(teachers=100), "selection": "auto"})
    rows = {each.way: each for each in compare_ways(request)}
    assert rows["paper"].expected_mistakes is None
    assert "can be longer than a frame" in rows["paper"].remark


@pytest.mark.long
def test_learners_that_fit_alone_may_be_too_much_together(monkeypatch: pytest.MonkeyPatch) -> None:
    learners = tuple(
        OnlineRequest(name, class_from_name("thresholds:256")) for name in ("early", "late")
    )
    request = StreamRequest("s", Fraction(1), DELTA, 10**6, learners)
    plans = plan_stream(request).of(OnlinePlan)
    assert misfit_together(plans) is None
    alone = max(map(snapshot_bytes_max, plans))
    monkeypatch.setattr("littled.planner.capacity.SNAPSHOT_BYTES_MAX", alone)
    assert [misfit(each) for each in plans] == [None, None]
    _plan_stream.cache_clear()
    with pytest.raises(PlanError, match=r"of snapshot together, more than .*; give some of them"):
        plan_stream(request)


@pytest.mark.long
def test_windows_count_as_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    online = OnlineRequest("rules", class_from_name("thresholds:256"))
    windows = PredictionRequest("answers", class_from_name("thresholds:256"), 100_000)
    request = StreamRequest("s", Fraction(1), DELTA, 10**6, (online, windows))
    plans = plan_stream(request).of(OnlinePlan)
    assert misfit_together(plans) is None
    (alone,) = (each for each in plans if isinstance(each, OnlinePlan))
    monkeypatch.setattr("littled.planner.capacity.MEMORY_BYTES_MAX", retrain_memory_bytes(alone))
    assert misfit_together([alone]) is None
    _plan_stream.cache_clear()
    with pytest.raises(PlanError, match=r"of memory together, more than .* or a smaller window"):
        plan_stream(request)


USUAL = ["thresholds:256", "prefixes:128"]
# Every example of a season may be a mistake on an id of its own, all of which are watched.
WATCHED = ["points:64", "sparse_sets:64:4"]
# And many may vote for closures of their own.
TESTED = ["affine:64:8", "conjunctions:128"]


@pytest.mark.long
@pytest.mark.parametrize("name", [*USUAL, "stumps:16:64"])
def test_usual_plans_are_far_from_every_limit(name: str) -> None:
    (plan,) = plan_stream(asked(name, 10**6, 1)).of(OnlinePlan)
    assert misfit(plan) is None
    assert snapshot_bytes_max(plan) < SNAPSHOT_BYTES_MAX // 50
    assert retrain_memory_bytes(plan) < MEMORY_BYTES_MAX // 10


@pytest.mark.parametrize("name", TESTED)
@pytest.mark.parametrize("selection", ["auto", "closure"])
def test_usual_plans_of_closures_are_within_every_limit(name: str, selection: Any) -> None:
    request = StreamRequest(
        "s", Fraction(1), Fraction(1, 10**6), 10**6,
        (OnlineRequest("l", class_from_name(name), selection=selection),),
    )  # fmt: skip
    (plan,) = plan_stream(request).of(OnlinePlan)
    assert misfit(plan) is None
    few = 50 if selection == "closure" else 5
    assert snapshot_bytes_max(plan) < SNAPSHOT_BYTES_MAX // few
    assert retrain_memory_bytes(plan) < MEMORY_BYTES_MAX // 10


@pytest.mark.parametrize("name", WATCHED)
@pytest.mark.parametrize("selection", ["auto", "histogram"])
def test_usual_plans_of_ids_are_within_every_limit(name: str, selection: Any) -> None:
    few = 50 if selection == "histogram" else 10
    request = StreamRequest(
        "s", Fraction(1), Fraction(1, 10**6), 10**6,
        (OnlineRequest("l", class_from_name(name), selection=selection),),
    )  # fmt: skip
    (plan,) = plan_stream(request).of(OnlinePlan)
    assert misfit(plan) is None
    assert snapshot_bytes_max(plan) < SNAPSHOT_BYTES_MAX // few
    assert retrain_memory_bytes(plan) < MEMORY_BYTES_MAX // (10 if few == 50 else 5)


# -- frames ----------------------------------------------------------------------------------------


@pytest.mark.long
def test_majorities_fit_into_a_frame_exactly_as_far_as_they_can_be_encoded() -> None:
    table = wide_table()

    def encodes(draws: int) -> bool:
        rule = MajorityRule(tuple(table.rule(1) for _ in range(draws)))
        try:
            encode(Release("s/l", 1, "rule", 0, 0, 0, rule.to_dict()))
        except ProtocolError:
            return False
        return True

    assert [fits_a_frame(table, draws) for draws in (1, 3, 13, 15)] == [True, True, True, False]
    assert [encodes(draws) for draws in (13, 15)] == [True, False]


def test_the_first_rule_does_not_speak_for_longer_ones() -> None:
    """The first rule of sparse sets is empty; a majority of full ones has too many values."""
    hypotheses = class_from_name("sparse_sets:64:1024")
    assert not hypotheses.first_rule().members  # type: ignore[attr-defined]
    assert fits_a_frame(hypotheses, 1)
    assert not fits_a_frame(hypotheses, 101)
    named = Table.from_matrix(["a", "b" * 128], np.eye(2, dtype=np.bool_))
    assert isinstance(named.longest_rule, TableRule)
    assert named.longest_rule.name == "b" * 128


# -- snapshots -------------------------------------------------------------------------------------

PARAMETERS = OnlineParameters(
    epsilon=Fraction(1),
    horizon=100_000,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(1, 2),
    trigger_threshold=30,
    selection="sparse",
    selection_rate=Fraction(1, 4),
    selection_accounting="pure",
    draws=1,
    calls_max=4,
    buffer="both",
    background_max=64,
    list_cap=129,
    bottom_score=10**6,
)


def planned(name: str, **changes: Any) -> OnlinePlan:
    return OnlinePlan("l", class_from_name(name), replace(PARAMETERS, **changes), Words())


def full(plan: OnlinePlan) -> OnlineState:
    """A state with as many rows, in as many epochs, as the bound counts."""
    parameters, hypotheses = plan.parameters, plan.hypotheses
    epochs = 0 if parameters.fresh else parameters.calls_max - 1
    left = rows_max(plan)
    sizes = [parameters.background_max] * epochs
    sizes.append(left - sum(sizes))
    buffers = []
    for size in sizes:
        words = np.arange(size, dtype=np.uint64)
        features = getattr(hypotheses, "features", 0)
        points = column(hypotheses, [[0] * features if features else 0] * size)
        buffers.append(Buffer(points, words.astype(np.uint8), words > 3, words, words))
    return replace(plan.learner("s").initial(), buffer=buffers[-1], archive=tuple(buffers[:-1]))


SMALL = [
    planned("prefixes:128"),
    planned("prefixes:128", fresh=True),
    planned("prefixes:16", buffer="mistakes", background_max=0),
    planned("prefixes:32", buffer="examples", calls_max=9),
    planned("stumps:20:9", teachers=20, buffer="mistakes", background_max=0),
]


@pytest.mark.parametrize("plan", SMALL, ids=lambda plan: plan.hypotheses.name)
def test_a_full_state_is_as_large_as_the_bound_says(plan: OnlinePlan) -> None:
    state = full(plan)
    bound = snapshot_bytes_max(plan)
    packed = len(pack(state_to_dict(state)))
    around = STATE_BYTES + (plan.parameters.calls_max + 1) * EPOCH_BYTES
    assert bound - around <= packed <= bound
    # nothing is in a state that the bound does not know of
    assert {each.name for each in fields(OnlineState) if "Buffer" in str(each.type)} == {
        "buffer",
        "archive",
    }


@settings(max_examples=25)
@given(
    name=st.sampled_from(["prefixes:8", "prefixes:64", "thresholds:9", "stumps:3:5"]),
    calls=st.integers(0, 4),
    background=st.integers(0, 30),
    fresh=st.booleans(),
    threshold=st.integers(1, 40),
    seed=st.integers(0, 2**32),
)
def test_no_stream_makes_a_snapshot_larger_than_the_bound(
    name: str, calls: int, background: int, fresh: bool, threshold: int, seed: int
) -> None:
    """All labels contradict the published rule, which is the most that can be kept."""
    dense = name[0] in "ts"
    plan = planned(
        name,
        selection="dense" if dense else "sparse",
        buffer="examples" if dense else ("both" if background else "mistakes"),
        background_max=0 if dense else background,
        calls_max=calls,
        trigger_threshold=threshold,
        fresh=fresh,
        ladder=(EpochSettings(threshold + 7),),
    )
    learner = plan.learner("s")
    runner = Runner(learner, KeyedNoise(seed.to_bytes(32, "big")))
    runner.open()
    rng = np.random.default_rng(seed)
    bound = snapshot_bytes_max(plan)
    for record in range(30):
        if runner.state.halted:
            break
        rows = rng.integers(0, 5, (40, 3 if name[0] == "s" else 1))
        values = rows.tolist() if name[0] == "s" else rows[:, 0].tolist()
        x = column(plan.hypotheses, values)
        list(runner.feed(x, 1 - runner.state.rule.evaluate(x), 40 * record))
        state = runner.state
        held = sum(map(len, (*state.archive, *([state.buffer] if state.buffer else []))))
        assert held <= rows_max(plan)
        assert len(pack(state_to_dict(state))) <= bound
    assert runner.state.calls == calls


def test_rows_and_candidates_count_what_a_plan_may_keep() -> None:
    teachers = planned("stumps:3:5", teachers=20, buffer="mistakes", background_max=0)
    assert candidates_max(teachers) == 20 * 129
    assert row_bytes(teachers) == 6 + 18
    both = planned("prefixes:8")
    kept = both.learner("s").mistakes_kept_max
    assert examples_max(both) == kept + 4 * 64
    assert rows_max(both) == kept + 5 * 64 + 1024
    assert candidates_max(both) == 9 * (kept + 4 * 64)
    dense = planned("thresholds:9", selection="dense", buffer="examples", background_max=0)
    assert (rows_max(dense), candidates_max(dense)) == (0, 0)


def test_a_stream_plan_is_made_of_what_was_checked() -> None:
    plan = plan_stream(asked("points:64", 10**6, 1))
    assert isinstance(plan, StreamPlan)
    assert misfit_together(plan.plans) is None
