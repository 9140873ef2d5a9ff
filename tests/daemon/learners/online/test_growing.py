"""Rules that grow: closures, histograms, ladders; and where a season ends."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from littled.budget.events import HistogramSelection, PrepaidSelection, SparseSelection, StageTest
from littled.budget.prices import price
from littled.classes.base import DataSet
from littled.classes.hypothesis import HypothesisClass
from littled.classes.points import PointFunctions
from littled.classes.sparse_sets import SparseSets
from littled.classes.thresholds import Thresholds
from littled.learners.contract import CallRequested, Published, SeasonOpened
from littled.learners.online import OnlineLearner, OnlineState
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.selections.closure import Closures
from littled.learners.online.snapshot import state_from_dict, state_to_dict
from littled.learners.online.values import EpochSettings
from littled.learners.snapshot import pack, unpack
from littled.mechanisms.above_threshold import AboveThreshold
from littled.mechanisms.noise import Address, KeyedNoise
from littled.mechanisms.sparse_sample import SparseSample
from littled_protocol.rules import MajorityRule, PointsRule
from support.learning import Runner, column, course, equal, run
from support.small_classes import Cubes, Sets
from support.tape import TapeNoise

# At such a rate no noise is left: the trigger fires at U exactly, the best candidate always wins.
CERTAIN = Fraction(80)
CLOSURE = OnlineParameters(
    epsilon=Fraction(1),
    horizon=10_000,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(1, 2),
    trigger_threshold=30,
    selection="closure",
    selection_rate=Fraction(1),
    selection_accounting="pure",
    draws=1,
    calls_max=12,
    buffer="mistakes",
    list_cap=1,
    bottom_score=12,
)
SETS = replace(CLOSURE, selection="histogram", list_cap=0)
# So little that nothing is expected in a short season, but enough for examples to veto.
SLIGHT = Fraction(1, 10**6)
STAGES = replace(
    CLOSURE, selection="sparse", teachers=8, list_cap=30, bottom_score=3, stage_rate=Fraction(3),
    selection_rate=Fraction(2), calls_max=9, trigger_threshold=20,
)  # fmt: skip
FRESH: dict[str, Any] = {"tests": "cohen_lyu", "tests_failure": Fraction(1, 1000)}


def examples(seed: int, count: int, target: frozenset[int], bits: int, noisy: float = 0.0) -> Any:
    """Uniform points; label 1 in the target, or the other label for some."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 1 << bits, count).astype(np.uint8)
    y = np.isin(x, sorted(target)) ^ (rng.random(count) < noisy)
    return x, y.astype(np.uint8)


def members(published: Published) -> tuple[int, ...]:
    assert isinstance(published.rule, PointsRule)
    return published.rule.members


# --- learning -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        CLOSURE,
        replace(CLOSURE, teachers=25, trigger_threshold=60),
        replace(
            CLOSURE,
            bottom_score=26,
            ladder=(EpochSettings(40, 30), EpochSettings(60, 30), EpochSettings(90, 40)),
        ),
        replace(CLOSURE, **FRESH),
    ],
)
def test_closures_grow_to_the_target_and_never_beyond(parameters: OnlineParameters) -> None:
    hypotheses = Cubes(6)
    target = hypotheses.smallest([0b010010, 0b110111])
    x, y = examples(3, 4000, target, 6)
    _, out, _ = run(OnlineLearner("s/l", hypotheses, parameters), x, y, TapeNoise(5), [])
    rules = [set(members(each)) for each in out]
    assert rules[0] == set()
    assert rules[-1] == target
    assert all(earlier <= later for earlier, later in pairwise(rules))


@pytest.mark.parametrize("fresh", [True, False])
def test_all_members_of_a_set_are_found_at_once(fresh: bool) -> None:
    target = frozenset({1, 4, 6})
    x, y = examples(1, 3000, target, 3)
    parameters = replace(SETS, bottom_score=8, trigger_threshold=80, fresh=fresh)
    _, out, _ = run(OnlineLearner("s/l", Sets(), parameters), x, y, TapeNoise(2), [])
    assert [set(members(each)) for each in out] == [set(), target]
    assert out[1].position < 300


@pytest.mark.parametrize("hypotheses", [PointFunctions(3), SparseSets(3, 3)])
def test_a_full_rule_is_rebuilt_after_drift(hypotheses: PointFunctions | SparseSets) -> None:
    """What the second half has as target is published in the end, and nothing besides."""
    most = hypotheses.littlestone_dimension
    targets = [frozenset({1, 4, 6}), frozenset({0, 5, 6})]
    targets = [frozenset(sorted(each)[:most]) for each in targets]
    parameters = replace(SETS, bottom_score=8, trigger_threshold=40, fresh=True, calls_max=100)
    learner = OnlineLearner("s/l", hypotheses, parameters)
    halves = [examples(seed, 3000, target, 3) for seed, target in enumerate(targets)]
    # whether or not the members that have left are ever seen again
    for left in (True, False):
        kept = [left or point not in targets[0] - targets[1] for point in halves[1][0]]
        x, y = (np.concatenate((a, b[kept])) for a, b in zip(*halves, strict=True))
        _, out, _ = run(learner, x, y, TapeNoise(3), [])
        assert targets[0] in [set(members(each)) for each in out if each.position < 1000]
        assert set(members(out[-1])) == targets[1]


@pytest.mark.parametrize("noisy", [0.05, 0.2])
def test_wrong_labels_are_outvoted_by_right_ones(noisy: float) -> None:
    target = frozenset({1, 4, 6})
    x, y = examples(1, 3000, target, 3, noisy)
    parameters = replace(
        SETS, noise_rate=Fraction(noisy), buffer="examples", background_max=4096, bottom_score=12,
        fresh=True, calls_max=100,
    )  # fmt: skip
    out = run(OnlineLearner("s/l", Sets(3), parameters), x, y, TapeNoise(2), [])[1]
    assert set(members(out[-1])) == target
    # without vetoes, wrong labels alone flip an id that is frequent enough
    odd = OnlineLearner("s/l", Sets(3), replace(parameters, noise_rate=Fraction(0), calls_max=9))
    found = [set(members(each)) for each in run(odd, x, y, TapeNoise(2), [])[1]]
    assert any(target < each or each < target for each in found[2:])


# --- against a model without noise ----------------------------------------------------------------


@dataclass
class Model:
    """What a learner at certain rates does, in the words of its parameters."""

    hypotheses: Cubes | Sets
    p: OnlineParameters
    teacher: NDArray[np.int64]
    rule: frozenset[int] = frozenset()
    data: list[tuple[int, int, int]] = field(default_factory=list)
    kept: int = 0
    calls: int = 0
    halted: bool = False
    out: list[tuple[str, int, tuple[int, ...]]] = field(default_factory=list)

    def run(self, x: NDArray[Any], y: NDArray[Any]) -> list[tuple[str, int, tuple[int, ...]]]:
        count = 0
        for at, (point, label) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
            if self.halted:
                break
            if (point in self.rule) != label:
                count += 1
                self.data.append((at, point, label))
            if count >= self.threshold():
                self.fire(at)
                count = 0
        return self.out

    def threshold(self) -> int:
        if not (self.kept and self.p.ladder):
            return self.p.trigger_threshold
        return self.p.ladder[min(self.kept, len(self.p.ladder)) - 1].trigger_threshold

    def fire(self, at: int) -> None:
        if self.calls == self.p.calls_max:
            self.halted = True
            self.release("halt", at)
            return
        rule = self.flipped() if isinstance(self.hypotheses, Sets) else self.closed()
        self.calls += 1
        self.kept = self.kept + 1 if rule == self.rule else 0
        self.rule = rule
        self.release("rule", at)
        if self.p.fresh:
            self.data = []

    def flipped(self) -> frozenset[int]:
        votes: Counter[int] = Counter()
        for _, point, label in self.data:
            wrong = (point in self.rule) != label
            votes[point] += 1 if wrong else -bool(self.p.noise_rate)
        return self.rule ^ {p for p, count in votes.items() if count >= self.p.bottom_score}

    def closed(self) -> frozenset[int]:
        votes = self.votes()
        best = max(votes.values(), default=-1)
        assume(best != self.p.bottom_score and list(votes.values()).count(best) < 2)
        return max(votes, key=votes.__getitem__) if best > self.p.bottom_score else self.rule

    def votes(self) -> Counter[frozenset[int]]:
        votes: Counter[frozenset[int]] = Counter()
        assert isinstance(self.hypotheses, Cubes)
        settings = [EpochSettings(self.p.trigger_threshold, self.p.teachers), *self.p.ladder]
        k = settings[min(self.kept, len(settings) - 1)].teachers
        holders = {at if k is None else int(self.teacher[at]) % k for at, _, _ in self.data}
        for holder in sorted(holders):
            own = [
                (point, label)
                for at, point, label in self.data
                if (at if k is None else int(self.teacher[at]) % k) == holder
            ]
            ones = {point for point, label in own if label}
            closure = self.hypotheses.smallest(sorted(ones | self.rule))
            if ones - self.rule and not any(point in closure for point, label in own if not label):
                votes[closure] += 1
        return votes

    def release(self, kind: str, at: int) -> None:
        self.out.append((kind, at + 1, tuple(sorted(self.rule))))


def teacher_words(count: int, seed: int) -> NDArray[np.int64]:
    tape = TapeNoise(seed)
    words = [tape.words(Address(b"", "s/l", "teacher", at), 1)[0] for at in range(count)]
    return np.array([int(word) % (1 << 40) for word in words], dtype=np.int64)


TEACHERS = st.none() | st.sampled_from([1, 2, 4, 8])
RUNGS = st.lists(st.builds(EpochSettings, st.integers(1, 12), TEACHERS), max_size=3).map(tuple)


@settings(max_examples=70)
@given(
    data=st.data(),
    sets=st.booleans(),
    fresh=st.booleans(),
    threshold=st.integers(1, 12),
    bottom=st.integers(1, 6),
    calls=st.integers(0, 9),
    noisy=st.sampled_from([0.0, 0.1, 0.5]),
    seed=st.integers(0, 5),
)
def test_without_noise_a_run_is_what_its_parameters_say(
    data: st.DataObject, sets: bool, fresh: bool, threshold: int, bottom: int, calls: int,
    noisy: float, seed: int,
) -> None:  # fmt: skip
    hypotheses: Cubes | Sets = Sets(3) if sets else Cubes(3)
    ladder = data.draw(RUNGS)
    teachers = None if sets else data.draw(TEACHERS)
    parameters = replace(
        CLOSURE, trigger_rate=CERTAIN, selection_rate=CERTAIN, trigger_threshold=threshold,
        bottom_score=bottom, calls_max=calls, fresh=fresh, teachers=teachers,
        ladder=tuple(EpochSettings(each.trigger_threshold) for each in ladder) if sets else ladder,
        selection="histogram" if sets else "closure",
        noise_rate=data.draw(st.sampled_from([Fraction(0), SLIGHT])),
    )  # fmt: skip
    x, y = examples(seed, 150, frozenset({1, 3, 5, 7}), 3, noisy)
    # 2^40 is a multiple of every number of teachers here
    model = Model(hypotheses, parameters, teacher_words(150, seed))
    expected = model.run(x, y)
    learner = OnlineLearner("s/l", hypotheses, parameters)
    state, out, _ = run(learner, x, y, TapeNoise(seed), [40, 41, 90])
    assert [(each.kind, each.position, members(each)) for each in out[1:]] == expected
    assert (state.kept, state.calls, state.halted) == (model.kept, model.calls, model.halted)


# --- neighbours -----------------------------------------------------------------------------------

MODES: dict[str, tuple[HypothesisClass, OnlineParameters]] = {
    "closure": (Cubes(2), replace(CLOSURE, trigger_threshold=8, bottom_score=4)),
    "closure with teachers": (
        Cubes(2), replace(CLOSURE, trigger_threshold=14, bottom_score=2, teachers=5),
    ),
    "ladder": (
        Cubes(2),
        replace(
            CLOSURE, trigger_threshold=4, bottom_score=5,
            ladder=(EpochSettings(6, 6), EpochSettings(9, None)),
        ),
    ),
    "sets": (Sets(2), replace(SETS, trigger_threshold=6, bottom_score=4)),
    "sets with vetoes": (
        Sets(2),
        replace(
            SETS, trigger_threshold=6, bottom_score=4, noise_rate=Fraction(1, 100), buffer="both",
            background_max=16, fresh=True, ladder=(EpochSettings(9),),
        ),
    ),
    "fresh tests": (Cubes(2), replace(CLOSURE, trigger_threshold=8, bottom_score=4, **FRESH)),
    "stages": (Cubes(2), replace(STAGES, trigger_threshold=12)),
    "fresh stages": (Cubes(2), replace(STAGES, trigger_threshold=12, **FRESH)),
}  # fmt: skip


def noisy_examples(hypotheses: HypothesisClass, seed: int, count: int) -> Any:
    """A stream that no rule fits."""
    assert isinstance(hypotheses, Cubes | Sets)
    return examples(seed, count, frozenset({1, 3}), hypotheses.bits, 0.15)


@pytest.mark.parametrize("mode", MODES)
def test_no_word_of_noise_is_used_twice(mode: str) -> None:
    hypotheses, parameters = MODES[mode]
    learner = OnlineLearner("s/l", hypotheses, parameters)
    for seed in range(2):
        x, y = noisy_examples(hypotheses, seed, 200)
        entries = course(learner, x, y, TapeNoise(seed), 1)
        words: Counter[Any] = Counter()
        for purpose, position, draw, offset, count in (e[1:] for e in entries if e[0] == "noise"):
            words.update((purpose, position, draw, offset + i) for i in range(count))
        assert max(words.values()) == 1
        assert any(purpose == "select" for purpose, _, _, _ in words)


def test_no_two_steps_of_a_trigger_share_a_word_however_long_a_record_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is left of a record after a fire is looked at again, and its words are its own."""
    used: list[int] = []
    first_fire = AboveThreshold.first_fire

    def noted(self: AboveThreshold, gaps: Any, words: NDArray[np.uint64]) -> int | None:
        fired = first_fire(self, gaps, words)
        used.extend(words[: len(words) if fired is None else fired + 1].tolist())
        return fired

    monkeypatch.setattr(AboveThreshold, "first_fire", noted)
    hypotheses, parameters = MODES["sets"]
    learner = OnlineLearner("s/l", hypotheses, parameters)
    x, y = noisy_examples(hypotheses, 0, 200)
    _, out, _ = run(learner, x, y, KeyedNoise(bytes(32)), [])
    assert len(out) > 2
    assert len(set(used)) == len(used) > out[2].position


@pytest.mark.no_cover
@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=15)
@given(
    position=st.integers(0, 79),
    other=st.tuples(st.integers(0, 3), st.integers(0, 1)),
    seed=st.integers(0, 9),
)
def test_neighbours_with_one_transcript_differ_in_one_example_of_one_teacher(
    mode: str, position: int, other: tuple[int, int], seed: int
) -> None:
    hypotheses, parameters = MODES[mode]
    x, y = noisy_examples(hypotheses, seed, 80)
    x2, y2 = x.copy(), y.copy()
    x2[position], y2[position] = other
    learner = OnlineLearner("s/l", hypotheses, parameters)
    one, two = (run(learner, *each, TapeNoise(seed), []) for each in ((x, y), (x2, y2)))
    for left, right, first, second in zip(one[2], two[2], one[1][1:], two[1][1:], strict=False):
        if first.position != second.position:
            return
        assert public(left) == public(right)
        held = [kept(learner, each) for each in (left, right)]
        gone, come = held[0] - held[1], held[1] - held[0]
        assert max(gone.total(), come.total()) <= 1
        # the secret word of the position chooses its teacher, on both sides and for every k
        assert len({word for _, _, word in gone + come}) <= 1
        if first != second:
            return


def kept(learner: OnlineLearner, state: OnlineState) -> Counter[tuple[int, int, int]]:
    """Point, label and secret word of everything that the next call is made from."""
    epochs = learner._keeping.closed(state).archive
    return Counter(
        (int(point), int(label), int(word))
        for epoch in epochs
        for point, label, word in zip(epoch.x, epoch.y, epoch.teacher, strict=True)
    )


def public(state: OnlineState) -> tuple[Any, ...]:
    names = ("rule", "version", "season", "epoch", "epoch_position", "halted")
    counters = ("calls", "kept")
    return tuple(getattr(state, name) for name in (*names, *counters))


@pytest.mark.no_cover
@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=6)
@given(cuts=st.lists(st.integers(0, 200), max_size=6), seed=st.integers(0, 3))
def test_results_do_not_depend_on_how_the_stream_is_cut(
    mode: str, cuts: list[int], seed: int
) -> None:
    hypotheses, parameters = MODES[mode]
    learner = OnlineLearner("s/l", hypotheses, parameters)
    x, y = noisy_examples(hypotheses, seed, 200)
    whole = run(learner, x, y, TapeNoise(seed), [])
    parts = run(learner, x, y, TapeNoise(seed), cuts)
    assert parts[1] == whole[1]
    assert equal(*(learner._keeping.closed(each) for each in (whole[0], parts[0])))


@pytest.mark.parametrize("mode", MODES)
def test_a_state_written_down_at_any_moment_goes_on_as_if_nothing_happened(mode: str) -> None:
    hypotheses, parameters = MODES[mode]
    learner = OnlineLearner("s/l", hypotheses, parameters)
    x, y = noisy_examples(hypotheses, 1, 150)
    expected = run(learner, x, y, TapeNoise(1), [])
    runner, out = Runner(learner, TapeNoise(1)), []
    out += [each for each in runner.open() if isinstance(each, Published)]
    for at in range(len(y)):
        for effect in runner.feed(x[at : at + 1], y[at : at + 1], at):
            out += [effect] if isinstance(effect, Published) else []
            runner.state = state_from_dict(unpack(pack(state_to_dict(runner.state))))
    assert out == expected[1]
    assert equal(learner._keeping.closed(runner.state), learner._keeping.closed(expected[0]))


# --- where the algorithms are silent --------------------------------------------------------------


class ByDraw(TapeNoise):
    """Noise with which the draws of a call come to the best candidate (0) or the worst (1)."""

    def __init__(self, draws: str) -> None:
        super().__init__(seed=1)
        self.draws = draws

    def words(self, address: Address, count: int, offset: int = 0) -> NDArray[np.uint64]:
        words = super().words(address, count, offset)
        if address.purpose != "select":
            return words
        worst = self.draws[address.draw] == "1"
        return np.full(count, 2**64 - 1 if worst else 0, dtype=np.uint64)


def first_call(parameters: OnlineParameters, draws: str) -> tuple[OnlineState, OnlineState]:
    """The states before and after the first call on points of which only one has label 1.

    With bottom's score below the one candidate's, bottom is the worst candidate.
    """
    learner = OnlineLearner("s/l", Cubes(3), parameters)
    runner = Runner(learner, ByDraw(draws))
    runner.open()
    x, y = np.full(60, 5, dtype=np.uint8), np.ones(60, dtype=np.uint8)
    before = None
    for effect in runner.feed(x, y, 0):
        if isinstance(effect, CallRequested):
            before = runner.state
        elif before is not None:
            return before, runner.state
    raise AssertionError("the trigger did not fire")


@pytest.mark.parametrize(
    ("draws", "votes"), [("000", 3), ("100", 2), ("011", 0), ("111", 0), ("11100", 0), ("01010", 3)]
)
def test_bottoms_have_no_vote_unless_they_are_most(draws: str, votes: int) -> None:
    parameters = replace(STAGES, stage_rate=None, teachers=1, list_cap=1, draws=len(draws))
    parameters = replace(parameters, bottom_score=0)
    before, after = first_call(parameters, draws)
    if votes:
        assert isinstance(after.rule, MajorityRule)
        assert len(after.rule.members) == votes
    else:
        assert after.rule == before.rule
    # without a stage test a call that keeps the rule counts as Below
    assert after.stage == before.stage + (not votes)
    assert after.kept == int(not votes)


def season(
    learner: OnlineLearner, x: NDArray[Any], y: NDArray[np.uint8], seed: int = 1
) -> tuple[list[Any], OnlineState]:
    runner = Runner(learner, TapeNoise(seed))
    return [*runner.open(), *runner.feed(x, y, 0)], runner.state


@pytest.mark.parametrize("more", [{}, FRESH])
def test_when_no_stage_is_left_calls_keep_the_rule_and_are_still_charged(more: Any) -> None:
    """Labels that contradict every rule: every list is empty, every test is Below."""
    parameters = replace(STAGES, buffer="both", background_max=256, teachers=3)
    learner = OnlineLearner("s/l", Cubes(2), replace(parameters, **more))
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, 3000).astype(np.uint8)
    y = rng.integers(0, 2, 3000).astype(np.uint8)
    tape = TapeNoise(2)
    runner = Runner(learner, tape)
    effects = [*runner.open(), *runner.feed(x, y, 0)]
    calls = [each for each in effects if isinstance(each, CallRequested)]
    out = [each for each in effects if isinstance(each, Published)]
    assert runner.state.stage == learner.hypotheses.littlestone_dimension + 2
    assert len(calls) == learner.parameters.calls_max
    assert {each.event for each in calls} == {learner.call_event()}
    assert {each.rule for each in out} == {learner.hypotheses.first_rule()}
    assert [each.kind for each in out] == ["rule"] * (1 + len(calls)) + ["halt"]
    late = [r for r in tape.requests if r[2] > calls[0].place.position]
    assert not {purpose for _, purpose, _, _ in late} & {"select", "stage-query"}


@dataclass(frozen=True)
class Talkative(Cubes):
    """Lists that keep to none of the rules that Lemma B asks of them."""

    def essential_list(
        self, data_sets: Sequence[DataSet], tolerance: Fraction, cap: int
    ) -> list[Hashable]:
        return [frozenset({1}), frozenset({1}), frozenset({2}), frozenset({3})]


def test_a_teacher_votes_once_for_a_rule_and_for_no_more_rules_than_its_list_may_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[list[int]] = []
    sample = SparseSample.sample

    def watched(self: SparseSample, scores: NDArray[np.int64], words: NDArray[np.uint64]) -> Any:
        seen.append(sorted(scores.tolist()))
        return sample(self, scores, words)

    monkeypatch.setattr(SparseSample, "sample", watched)
    parameters = replace(STAGES, stage_rate=None, teachers=5, list_cap=3)
    learner = OnlineLearner("s/l", Talkative(2), parameters)
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 4, 500).astype(np.uint8), rng.integers(0, 2, 500).astype(np.uint8)
    season(learner, x, y)
    # cut to {1}, {1}, {2}, of which {1} counts once
    assert seen
    assert all(each == [5, 5] for each in seen)


def test_empty_lists_are_bottom_and_use_up_their_noise() -> None:
    parameters = replace(STAGES, stage_rate=None, draws=3, buffer="both", background_max=256)
    learner = OnlineLearner("s/l", Cubes(2), parameters)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, 2000).astype(np.uint8)
    y = rng.integers(0, 2, 2000).astype(np.uint8)
    entries = course(learner, x, y, TapeNoise(3), 500)
    draws = [entry[3] for entry in entries if entry[:2] == ("noise", "select")]
    assert draws == [0, 1, 2] * parameters.calls_max
    rules = {entry[1].rule for entry in entries if entry[0] == "release"}
    assert rules == {learner.hypotheses.first_rule()}


@pytest.mark.parametrize(
    ("hypotheses", "parameters"),
    [
        (Cubes(3), replace(CLOSURE, teachers=900, bottom_score=3)),
        (Thresholds(8), replace(STAGES, teachers=900, bottom_score=3)),
        (Cubes(2), replace(STAGES, teachers=900, **FRESH)),
    ],
)
def test_more_teachers_than_examples_are_no_trouble(
    hypotheses: HypothesisClass, parameters: OnlineParameters
) -> None:
    x, y = examples(2, 600, frozenset({2, 3}), 2)
    effects, _ = season(OnlineLearner("s/l", hypotheses, parameters), column(hypotheses, x), y)
    assert sum(isinstance(each, CallRequested) for each in effects) >= 1


@pytest.mark.no_cover
@pytest.mark.parametrize("mode", MODES)
def test_labels_that_contradict_every_rule_end_in_a_halt_within_the_plan(mode: str) -> None:
    hypotheses, parameters = MODES[mode]
    learner = OnlineLearner("s/l", hypotheses, parameters)
    rng = np.random.default_rng(7)
    x = rng.integers(0, 4, 4000).astype(np.uint8)
    y = rng.integers(0, 2, 4000).astype(np.uint8)
    effects, state = season(learner, x, y)
    calls = [each for each in effects if isinstance(each, CallRequested)]
    out = [each for each in effects if isinstance(each, Published)]
    assert (len(calls), state.calls) == (parameters.calls_max, parameters.calls_max)
    assert [each.kind for each in out] == ["rule"] * (1 + len(calls)) + ["halt"]
    assert state.halted
    assert (state.archive, state.buffer) == ((), None)


def test_a_new_season_begins_the_ladder_anew() -> None:
    learner = OnlineLearner("s/l", *MODES["sets with vetoes"])
    x, y = examples(2, 300, frozenset({1, 3}), 3)
    _, state = season(learner, x, y)
    assert state.calls > 0
    opened = learner.step(replace(state, kept=2), SeasonOpened(1, 300), TapeNoise(1)).state
    assert (opened.kept, opened.calls) == (0, 0)
    assert opened.rule == state.rule


# --- prices ---------------------------------------------------------------------------------------


def test_a_season_with_fresh_tests_is_charged_by_lemma_d() -> None:
    learner = OnlineLearner("s/l", Cubes(2), replace(STAGES, **FRESH))
    events = learner.season_events()
    names = [event.name for event in events]
    assert names == ["cohen_lyu_trigger", *["cohen_lyu_stage_test"] * 4, "precision_loss"]
    assert sum(price(event).delta for event in events[:-1]) >= 5 * Fraction(1, 1000)
    # one word of 64 bits a step and a test, and no noise on any threshold
    p = learner.parameters
    draw = SparseSample(p.selection_rate, list_cap=p.list_cap, bottom_score=p.bottom_score)
    select = p.calls_max * draw.total_variation(8 * 30)
    assert learner.precision_error() == Fraction(10_000 + 9 + 4, 1 << 64) + select
    plain = OnlineLearner("s/l", Cubes(2), STAGES)
    assert [type(each) for each in plain.season_events()].count(StageTest) == 4


@pytest.mark.parametrize(
    ("noise_rate", "fresh", "change"), [(0, True, 1), (0, False, 1), (SLIGHT, True, 2)]
)
def test_histograms_are_priced_by_what_one_example_can_change(
    noise_rate: Fraction, fresh: bool, change: int
) -> None:
    parameters = replace(SETS, noise_rate=Fraction(noise_rate), fresh=fresh)
    learner = OnlineLearner("s/l", Sets(3), parameters)
    paid = HistogramSelection(Fraction(1), 12, change, "pure")
    assert learner.call_event() == (PrepaidSelection(draws=1) if fresh else paid)
    assert (paid in learner.season_events()) == fresh
    # one word of 64 bits for each id, of which every example adds one to each call it is in
    words = 10_000 * (1 if fresh else 12)
    test = AboveThreshold(parameters.trigger_rate)
    trigger = test.precision_error(10_000) + 12 * test.precision_error(0)
    assert learner.precision_error() == trigger + Fraction(words, 1 << 64)


def offered_max(learner: OnlineLearner) -> int:
    """Most candidates of a selection among closures."""
    selection = learner._selection
    assert isinstance(selection, Closures)
    return selection._offered_max


def test_closures_are_priced_with_lists_of_one() -> None:
    learner = OnlineLearner("s/l", Cubes(3), replace(CLOSURE, ladder=(EpochSettings(9, 4),)))
    event = learner.call_event()
    assert isinstance(event, SparseSelection)
    assert (event.list_cap, event.draws, event.bottom_score) == (1, 1, 12)
    # without teachers in some settings, every example of the season may be a candidate
    assert offered_max(learner) == 10_000
    few = replace(CLOSURE, teachers=30, ladder=(EpochSettings(9, 40), EpochSettings(9, 20)))
    assert offered_max(OnlineLearner("s/l", Cubes(3), few)) == 40
