"""Twins: neighbouring streams with one tape draw, ask and say the same until their outputs differ.

What is measured of every query that goes into a mechanism stays within what its price is made for;
`support.twins` says what that is. Planted faults, each in one place, have to be found.
"""

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.classes import HypothesisClass, Table, Thresholds, class_from_name
from littled.classes.base import Proposals
from littled.learners import online
from littled.learners.online import OnlineLearner
from littled.learners.parameters import OnlineParameters, Rung
from littled.learners.prediction import PredictionLearner, PredictionParameters, learner, parts
from littled.learners.prediction.parts import Draw
from littled.learners.prediction.stable import StablePredictor
from littled.learners.users import UserCounts
from littled.mechanisms.above_threshold import AboveThreshold
from littled.planner import LearnerPlan, PredictionPlan, StreamPlan
from littled_protocol.codec import decode
from littled_protocol.messages import Release
from littled_protocol.rules import Words
from support.small_classes import Cubes, Sets
from support.twins import (
    Ears,
    Kind,
    Said,
    Verdict,
    compare,
    course,
    plan_of,
    points_of,
    random_neighbour,
    random_script,
    random_stream,
    random_user_neighbour,
    with_users,
)

HORIZON = 32
EXAMPLES = 42
# Neighbours that one stream is compared with; of users, these kinds.
NEIGHBOURS = 12
KINDS: tuple[Kind, ...] = (
    "examples", "silent", "examples", "examples", "silent", "name",
)  # fmt: skip

# --- Learners -------------------------------------------------------------------------------------

DENSE = OnlineParameters(
    epsilon=Fraction(1),
    horizon=HORIZON,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(1, 2),
    trigger_threshold=5,
    selection="dense",
    selection_rate=Fraction(1, 3),
    selection_accounting="pure",
    draws=1,
    calls_max=3,
    buffer="examples",
)
SPARSE = replace(
    DENSE, selection="sparse", buffer="both", background_max=12, list_cap=9, bottom_score=3
)
CLOSURE = replace(
    DENSE, selection="closure", buffer="mistakes", list_cap=1, bottom_score=3,
    selection_rate=Fraction(1),
)  # fmt: skip
TEACHERS = replace(CLOSURE, selection="sparse", teachers=4, list_cap=6, trigger_threshold=7)
STAGES = replace(TEACHERS, stage_rate=Fraction(2))
SETS = replace(CLOSURE, selection="histogram", list_cap=0)
FRESH: dict[str, Any] = {"tests": "cohen_lyu", "tests_failure": Fraction(1, 1000)}
VETOES: dict[str, Any] = {"noise_rate": Fraction(1, 10**6), "buffer": "both", "background_max": 12}
SCHEDULE: dict[str, Any] = {
    "trigger_rate": Fraction(0), "trigger_threshold": 0, "fresh": True, "schedule_first": 4,
    "calls_max": 3,
}  # fmt: skip
KEPT = SCHEDULE | {"mistakes_max": 12}
LADDER = (Rung(3, 3), Rung(6, None))

EIGHT = range(8)
PAIRS = [[a, b] for a in range(3) for b in range(3)]
TABLE = Table.from_matrix(
    ["none", "low", "odd", "all"],
    np.array([[0] * 8, [1] * 4 + [0] * 4, [0, 1] * 4, [1] * 8], dtype=np.bool_),
)
# Each class, by its name, with the points of its streams.
CLASSES: dict[str, tuple[HypothesisClass, Any]] = {
    "thresholds": (class_from_name("thresholds:8"), EIGHT),
    "stumps": (class_from_name("stumps:2:3"), PAIRS),
    "table": (TABLE, EIGHT),
    "conjunctions": (class_from_name("conjunctions:3"), EIGHT),
    "prefixes": (class_from_name("prefixes:3"), EIGHT),
    "long prefixes": (class_from_name("prefixes:12"), [each << 9 for each in EIGHT]),
    "points": (class_from_name("points:3"), EIGHT),
    "sets": (class_from_name("sparse_sets:3:3"), EIGHT),
    "wide sets": (class_from_name("sparse_sets:128:2"), [each << 100 for each in EIGHT]),
    "affine": (class_from_name("affine:3:2"), EIGHT),
    "cubes": (Cubes(3), EIGHT),
    "all sets": (Sets(3), EIGHT),
}
ONLINE: dict[str, tuple[str, OnlineParameters]] = {
    "dense": ("thresholds", DENSE),
    "dense mistakes": ("stumps", replace(DENSE, buffer="mistakes")),
    "dense draws": ("table", replace(DENSE, draws=3, ladder=(Rung(3), Rung(8)))),
    "dense zcdp": ("table", replace(DENSE, selection_accounting="zcdp")),
    "dense noisy": ("conjunctions", replace(DENSE, noise_rate=Fraction(1, 10))),
    "dense fresh": ("thresholds", replace(DENSE, fresh=True, calls_max=9, trigger_threshold=3)),
    "dense fresh tests": ("thresholds", replace(DENSE, **FRESH)),
    "dense schedule": ("stumps", replace(DENSE, **SCHEDULE)),
    "sparse": ("prefixes", SPARSE),
    "sparse draws": ("long prefixes", replace(SPARSE, draws=3, list_cap=13, buffer="examples")),
    "sparse fresh": ("prefixes", replace(SPARSE, fresh=True, calls_max=9, trigger_threshold=3)),
    "sparse schedule": ("prefixes", replace(SPARSE, **KEPT)),
    "teachers": ("thresholds", TEACHERS),
    "teachers of points": ("points", TEACHERS),
    "teachers of prefixes": ("prefixes", replace(TEACHERS, draws=3)),
    "teachers of sets": ("sets", replace(TEACHERS, buffer="both", background_max=9)),
    "stages": ("cubes", STAGES),
    "stages of affine spaces": ("affine", STAGES),
    "fresh stages": ("thresholds", replace(STAGES, **FRESH)),
    "closure": ("cubes", CLOSURE),
    "closure of affine spaces": ("affine", replace(CLOSURE, **FRESH)),
    "closure of teachers": ("conjunctions", replace(CLOSURE, teachers=4, bottom_score=2)),
    "closure ladder": ("cubes", replace(CLOSURE, ladder=LADDER, calls_max=5)),
    "closure fresh": ("affine", replace(CLOSURE, fresh=True, calls_max=9, trigger_threshold=3)),
    "closure schedule": ("conjunctions", replace(CLOSURE, **KEPT, teachers=3)),
    "histogram": ("all sets", SETS),
    "histogram of points": ("points", replace(SETS, fresh=True, calls_max=9)),
    "histogram of wide ids": ("wide sets", SETS),
    "histogram vetoes": ("sets", replace(SETS, **VETOES)),
    "histogram fresh vetoes": ("all sets", replace(SETS, **VETOES, fresh=True, ladder=(Rung(3),))),
    "histogram schedule": ("points", replace(SETS, **KEPT)),
}  # fmt: skip
WINDOW: dict[str, Any] = {"epsilon": Fraction(30), "window": 12, "answers_max": 9}
E, Q, A, V = Fraction(1, 3), Fraction(1, 5), Fraction(1, 10), Fraction(1, 2)
RELABELLING = PredictionParameters(
    "relabelling", **WINDOW, rate=E, subset_rate=Q, chunks=4, vote_rate=V, net=Fraction(1, 5)
)
PREDICTIONS: dict[str, tuple[str, PredictionParameters]] = {
    "answers, dense": ("stumps", PredictionParameters("dense", **WINDOW, rate=E)),
    "answers, stability": (
        "points", PredictionParameters("stability", **WINDOW, rate=E, subset_rate=Q, flip=A)
    ),
    "answers, relabelling": ("thresholds", RELABELLING),
    "answers, relabelling, flipped": ("prefixes", replace(RELABELLING, flip=A)),
    "answers, realizable": (
        "affine", PredictionParameters("realizable", **WINDOW, chunks=4, vote_rate=V)
    ),
    "answers, realizable by stumps": (
        "stumps", PredictionParameters("realizable", **WINDOW, chunks=3, vote_rate=V)
    ),
    "answers, averaging": (
        "conjunctions", PredictionParameters("averaging", **WINDOW, chunks=4, flip=A)
    ),
    "answers, majority": (
        "sets", PredictionParameters("majority", **WINDOW, chunks=4, vote_rate=V)
    ),
    "answers, concentrated majority": (
        "table",
        PredictionParameters("majority", **WINDOW, chunks=4, vote_rate=V, accounting="zcdp"),
    ),
}  # fmt: skip


def of_users(case: str, most: int, **changes: Any) -> tuple[str, OnlineParameters]:
    """The same learner where users are protected, with fewer mistakes to an epoch."""
    of_class, parameters = ONLINE[case]
    threshold = min(parameters.trigger_threshold, 3)
    changes = {"trigger_threshold": threshold, **changes}
    return of_class, replace(parameters, user_examples_max=most, **changes)


# Of every way of selection, trigger and buffer; a name ends with c.
USERS: dict[str, tuple[str, OnlineParameters]] = {
    "dense, users 1": of_users("dense", 1),
    "dense mistakes, users 2": of_users("dense mistakes", 2),
    "dense draws, users 3": of_users("dense draws", 3),
    "dense fresh, users 2": of_users("dense fresh", 2),
    "dense schedule, users 1": of_users("dense schedule", 1),
    "sparse, users 2": of_users("sparse", 2),
    "sparse fresh, users 1": of_users("sparse fresh", 1, background_max=3),
    "sparse schedule, users 3": of_users("sparse schedule", 3),
    "teachers, users 2": of_users("teachers", 2),
    "teachers of sets, users 1": of_users("teachers of sets", 1),
    "stages, users 1": of_users("stages", 1),
    "closure, users 1": of_users("closure", 1),
    "closure of teachers, users 3": of_users("closure of teachers", 3),
    "closure ladder, users 2": of_users("closure ladder", 2, ladder=(Rung(2, 3), Rung(3, None))),
    "closure fresh, users 1": of_users("closure fresh", 1),
    "closure schedule, users 2": of_users("closure schedule", 2),
    "histogram, users 1": of_users("histogram", 1),
    "histogram of points, users 3": of_users("histogram of points", 3),
    "histogram vetoes, users 2": of_users("histogram vetoes", 2),
    "histogram fresh vetoes, users 1": of_users("histogram fresh vetoes", 1),
    "histogram schedule, users 2": of_users("histogram schedule", 2),
}
TOGETHER = ("dense", "dense draws", "answers, dense", "answers, relabelling")
LEARNERS: dict[str, tuple[str, Any]] = {**ONLINE, **PREDICTIONS, **USERS}
CASES = [*ONLINE, *PREDICTIONS, "a small budget", "one stream for all"]


@dataclass(frozen=True)
class Case:
    """A stream's plan, and the points of its examples."""

    plan: StreamPlan
    points: NDArray[Any]


def learner_plan(name: str, hypotheses: HypothesisClass | None = None) -> Any:
    """One learner under its own name without blanks."""
    kind = PredictionPlan if name in PREDICTIONS else LearnerPlan
    of_class, parameters = LEARNERS[name]
    plain = name.replace(",", "").replace(" ", "_")
    return kind(plain, hypotheses or CLASSES[of_class][0], parameters, Words())


@functools.cache
def case_of(name: str) -> Case:
    if name == "one stream for all":
        hypotheses, points = CLASSES["thresholds"]
        plans = [learner_plan(each, hypotheses) for each in TOGETHER]
        return Case(plan_of(plans, HORIZON), points_of(hypotheses, points))
    if name == "a small budget":  # which refuses the second or third call
        hypotheses, points = CLASSES["thresholds"]
        plan = plan_of([learner_plan("dense")], HORIZON, share=Fraction(2, 3))
        return Case(plan, points_of(hypotheses, points))
    hypotheses, points = CLASSES[LEARNERS[name][0]]
    return Case(plan_of([learner_plan(name)], HORIZON), points_of(hypotheses, points))


# --- Twins ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ears() -> Iterator[Ears]:
    """What every mechanism of this module's runs is asked."""
    with pytest.MonkeyPatch.context() as patch:
        yield listening(patch)


def listening(patch: pytest.MonkeyPatch) -> Ears:
    heard = Ears(patch)
    for hypotheses in {type(each): each for each, _ in CLASSES.values()}.values():
        heard.listen_to(hypotheses)
    return heard


@dataclass
class Tally:
    """What pairs came to."""

    pairs: int = 0
    agreed: int = 0
    largest: Counter[str] = field(default_factory=Counter)
    # by kind of neighbour: those that said the same although something else was asked
    hidden: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: Verdict, kind: str = "") -> None:
        self.pairs += 1
        self.agreed += verdict.agreed
        self.largest |= verdict.largest
        self.hidden[kind] += verdict.agreed and any(verdict.largest.values())

    def join(self, other: "Tally") -> None:
        self.pairs += other.pairs
        self.agreed += other.agreed
        self.largest |= other.largest
        self.hidden += other.hidden


def twins(name: str, ears: Ears, streams: int, seed: int = 0) -> Tally:
    """Compare so many streams of a case with `NEIGHBOURS` random neighbours each."""
    case, tally = case_of(name), Tally()
    for number in range(streams):
        random = np.random.default_rng((seed, CASES.index(name), number))
        stream = random_stream(case.points, EXAMPLES, random, noisy=0.2)
        script = random_script(case.plan, case.points, EXAMPLES, random)
        key = random.bytes(32)
        one = course(case.plan, stream, script, ears, key)
        for _ in range(NEIGHBOURS):
            position, other = random_neighbour(stream, case.points, random)
            two = course(case.plan, other, script, ears, key, one)
            tally.add(compare(case.plan, [position], one, two))
    return tally


def user_twins(name: str, ears: Ears, streams: int, seed: int = 0) -> Tally:
    """The same with neighbours that differ in all that one user gives."""
    case, tally = case_of(name), Tally()
    for number in range(streams):
        random = np.random.default_rng((seed, [*USERS].index(name), number))
        stream = with_users(random_stream(case.points, EXAMPLES, random, noisy=0.2), random, 9)
        script = random_script(case.plan, case.points, EXAMPLES, random)
        key = random.bytes(32)
        one = course(case.plan, stream, script, ears, key)
        for kind in KINDS:
            other = random_user_neighbour(stream, case.points, random, kind, one)
            two = course(case.plan, other.stream, script, ears, key, one, other.exchanged)
            verdict = compare(case.plan, other.positions, one, two)
            assert verdict.agreed or kind != "name", "a user is known by their name"
            tally.add(verdict, kind)
    return tally


# All that is measured, and the most that it may be: some pair of each kind of learner comes so far.
DECLARED = {
    "gaps": 1, "scores": 1, "offered": 2, "histogram": 2, "lists": 1, "most": 1, "agreements": 1,
    "votes": 1, "chance": 1,
}  # fmt: skip


def check(ears: Ears, streams: int, seed: int) -> int:
    """Compare pairs of all cases; how many there were."""
    whole = Tally()
    for name in CASES:
        tally = twins(name, ears, streams, seed)
        assert tally.agreed, f"no twins of {name} say the same to the end"
        assert tally.largest, f"twins of {name} never ask different questions"
        whole.join(tally)
    assert whole.pairs // 5 < whole.agreed < whole.pairs
    assert {what: whole.largest[what] for what in DECLARED} == DECLARED
    return whole.pairs


def test_twins_draw_the_same_and_ask_nearly_the_same(ears: Ears) -> None:
    assert check(ears, 1, seed=0) >= 500


@pytest.mark.campaign
def test_ten_thousand_twins_draw_the_same_and_ask_nearly_the_same(ears: Ears) -> None:
    assert check(ears, 20, seed=1) >= 10_000


# What of this twins of users come to, by c. Nowhere it is more than c mistakes of a trigger, 2c for
# scores in sum, one list, one query of a stage test and one secret word: `compare` sees to that.
REACHED_BY_USERS: dict[int, dict[str, int]] = {
    1: {
        "gaps": 1, "scores": 2, "offered": 2, "histogram": 2, "lists": 1, "most": 1, "users": 1,
    },
    2: {"gaps": 2, "scores": 4, "histogram": 4},
    3: {"gaps": 3, "histogram": 4},
}  # fmt: skip


def check_users(ears: Ears, streams: int, seed: int) -> int:
    """Compare pairs of all cases of users; how many there were."""
    largest: dict[int, Counter[str]] = {most: Counter() for most in REACHED_BY_USERS}
    whole = Tally()
    for name, (_, parameters) in USERS.items():
        tally = user_twins(name, ears, streams, seed)
        assert tally.largest, f"twins of {name} never ask different questions"
        assert parameters.user_examples_max is not None
        largest[parameters.user_examples_max] |= tally.largest
        whole.join(tally)
    assert whole.pairs // 4 < whole.agreed < whole.pairs
    # who it is makes no difference to any query; other examples do, and yet outputs agree
    assert whole.hidden.keys() == {"examples", "silent"}
    for most, reached in REACHED_BY_USERS.items():
        assert largest[most] >= Counter(reached)
    return whole.pairs


def test_twins_of_users_draw_the_same_and_ask_nearly_the_same(ears: Ears) -> None:
    assert check_users(ears, 1, seed=4) >= 125


@pytest.mark.campaign
def test_five_thousand_twins_of_users_draw_the_same_and_ask_nearly_the_same(ears: Ears) -> None:
    assert check_users(ears, 40, seed=1) >= 5_000


def test_cases_reach_every_kind_of_release(ears: Ears) -> None:
    """Rules, halts, new seasons and refusals by the budget, and answers of every learner."""
    kinds: Counter[str] = Counter()
    for name in CASES:
        case, random = case_of(name), np.random.default_rng(5)
        stream = random_stream(case.points, EXAMPLES, random, noisy=0.3)
        script = random_script(case.plan, case.points, EXAMPLES, random)
        for each in course(case.plan, stream, script, ears, bytes(32)):
            if isinstance(each, Said) and each.what == "release":
                message = decode(each.value[1])
                assert isinstance(message, Release)
                kinds[message.kind] += 1
                spent = name == "a small budget" and message.epoch < 3
                kinds["refused"] += spent and message.kind == "halt"
            elif isinstance(each, Said) and each.what == "answer":
                kinds[type(each.value).__name__] += 1
    wanted = {"rule", "halt", "season", "refused", "Prediction", "PredictionRefused"}
    assert all(kinds[each] for each in wanted)


# --- Planted faults -------------------------------------------------------------------------------


def _a_word_more_for_a_mistake(patch: pytest.MonkeyPatch) -> None:
    remember = OnlineLearner._remember

    def drawing(learner: OnlineLearner, state: Any, event: Any, mistake: Any, noise: Any) -> Any:
        if mistake.any():
            learner._words(noise, event.place, "buffer", 1)
        return remember(learner, state, event, mistake, noise)

    patch.setattr(OnlineLearner, "_remember", drawing)


def _an_address_that_depends_on_labels(patch: pytest.MonkeyPatch) -> None:
    draws = OnlineLearner._draws

    def moved(learner: OnlineLearner, place: Any) -> Any:
        return [replace(each, draw=each.draw + MISTAKES[-1]) for each in draws(learner, place)]

    close = OnlineLearner._close_epoch

    def noted(learner: OnlineLearner, state: Any) -> Any:
        MISTAKES.append(state.mistakes)
        return close(learner, state)

    patch.setattr(OnlineLearner, "_close_epoch", noted)
    patch.setattr(OnlineLearner, "_draws", moved)


MISTAKES = [0]


def _mistakes_that_count_twice(patch: pytest.MonkeyPatch) -> None:
    above = AboveThreshold.first_above
    patch.setattr(
        AboveThreshold, "first_above", lambda self, gaps, words: above(self, 2 * gaps, words)
    )


def _mistakes_of_the_batch_alone(patch: pytest.MonkeyPatch) -> None:
    """A count that begins anew with each record: c goes back to 0 within the epoch."""
    observe = OnlineLearner._observe

    def forgetful(learner: OnlineLearner, state: Any, event: Any, noise: Any) -> Any:
        return observe(learner, replace(state, mistakes=0), event, noise)

    patch.setattr(OnlineLearner, "_observe", forgetful)


def _examples_that_count_twice(patch: pytest.MonkeyPatch) -> None:
    scores = Thresholds.scores
    patch.setattr(Thresholds, "scores", lambda self, counts: 2 * scores(self, counts))


def _a_vote_for_two_ids(patch: pytest.MonkeyPatch) -> None:
    flips = Sets.flips

    def doubled(self: Any, *arguments: Any, **named: Any) -> Proposals:
        found = flips(self, *arguments, **named)
        return Proposals(2 * found.scores, found.keys)

    patch.setattr(Sets, "flips", doubled)


def _teachers_by_rank(patch: pytest.MonkeyPatch) -> None:
    """Algorithm 3, line 19, read literally: a mistake more moves others to other teachers."""

    def parts(words: NDArray[np.uint64], teachers: int) -> NDArray[np.int64]:
        return np.arange(len(words)) % teachers

    patch.setattr(online, "_numbers", parts)


def _a_call_that_remembers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OnlineLearner, "_forgetful", lambda _, state: state)


def _a_sum_of_all_lists(patch: pytest.MonkeyPatch) -> None:
    test = OnlineLearner._stage_test

    def summed(learner: OnlineLearner, state: Any, most: int, place: Any, noise: Any) -> Any:
        return test(learner, state, 3 * most, place, noise)

    patch.setattr(OnlineLearner, "_stage_test", summed)


def _chunks_by_label(patch: pytest.MonkeyPatch) -> None:
    chunk_rules = parts.chunk_rules

    def sorted_first(hypotheses: Any, x: Any, y: Any, chunks: int) -> Any:
        order = np.argsort(y, kind="stable")
        return chunk_rules(hypotheses, x[order], y[order], chunks)

    patch.setattr(learner, "chunk_rules", sorted_first)


def _a_subset_of_the_positive_examples(patch: pytest.MonkeyPatch) -> None:
    select, prepare = StablePredictor.select, PredictionLearner.prepare
    ones: list[int] = []

    def prepared(self: PredictionLearner, x: Any, y: Any) -> Any:
        ones.append(int(y.sum()))
        return prepare(self, x, y)

    def selected(self: StablePredictor, labelings: Any, draw: Draw) -> Any:
        address = replace(draw.address, draw=draw.address.draw + 64 * ones[-1])
        return select(self, labelings, Draw(draw.noise, address))

    patch.setattr(PredictionLearner, "prepare", prepared)
    patch.setattr(StablePredictor, "select", selected)


def _a_coin_of_one_vote(patch: pytest.MonkeyPatch) -> None:
    toss = Draw.toss

    def certain(self: Draw, purpose: Any, probability: Fraction) -> bool:
        return toss(self, purpose, Fraction(round(probability)))

    patch.setattr(Draw, "toss", certain)


def _a_cap_that_is_not_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(UserCounts, "admitted", lambda _, users, wanted, most: wanted)


def _a_cap_for_each_epoch(patch: pytest.MonkeyPatch) -> None:
    train = OnlineLearner._train

    def forgetful(learner: OnlineLearner, state: Any, place: Any, noise: Any) -> Any:
        step = train(learner, state, place, noise)
        kept = None if step.state.users_kept is None else UserCounts()
        return replace(step, state=replace(step.state, users_counted=UserCounts(), users_kept=kept))

    patch.setattr(OnlineLearner, "_train", forgetful)


def _one_cap_for_all_users(patch: pytest.MonkeyPatch) -> None:
    admitted, plus = UserCounts.admitted, UserCounts.plus
    patch.setattr(
        UserCounts,
        "admitted",
        lambda self, users, wanted, most: admitted(self, 0 * users, wanted, 4 * most),
    )
    patch.setattr(UserCounts, "plus", lambda self, users: plus(self, 0 * users))


def _teachers_by_position(patch: pytest.MonkeyPatch) -> None:
    """The way of single examples: a user's are shared out to all teachers."""
    words = OnlineLearner._with_user_words

    def shared(learner: OnlineLearner, state: Any, noise: Any) -> Any:
        state = words(learner, state, noise)
        *before, last = state.archive
        last = replace(last, teacher=np.arange(len(last), dtype=np.uint64))
        return replace(state, archive=(*before, last))

    patch.setattr(OnlineLearner, "_with_user_words", shared)


def _a_place_for_somebody_else(patch: pytest.MonkeyPatch) -> None:
    """The background is chosen among the examples of users who are not used up."""
    close = OnlineLearner._close_epoch

    def chosen(learner: OnlineLearner, state: Any) -> Any:
        buffer, most = state.buffer, learner.parameters.user_examples_max
        within = state.users_kept.admitted(buffer.users, ~buffer.mistake, most) | buffer.mistake
        return close(learner, replace(state, buffer=buffer.take(within)))

    patch.setattr(OnlineLearner, "_close_epoch", chosen)


def _a_word_for_each_epoch(patch: pytest.MonkeyPatch) -> None:
    """A word that depends on how many examples are kept, instead of on the user alone."""
    words = OnlineLearner._with_user_words

    def moved(learner: OnlineLearner, state: Any, noise: Any) -> Any:
        kept = sum(map(len, state.archive))
        return words(learner, replace(state, season=state.season + 64 * kept), noise)

    patch.setattr(
        OnlineLearner,
        "_with_user_words",
        lambda learner, state, noise: replace(moved(learner, state, noise), season=state.season),
    )


# Each fault of a learner that protects users, with a case that has to find it.
FAULTS_OF_USERS: list[tuple[Callable[[pytest.MonkeyPatch], None], str, str]] = [
    (_a_cap_that_is_not_kept, "dense schedule, users 1", "by more than|too many"),
    (_a_cap_that_is_not_kept, "closure, users 1", "more mistakes of a user than are admitted"),
    (_a_cap_that_is_not_kept, "histogram schedule, users 2", "more than"),
    (_a_cap_for_each_epoch, "sparse fresh, users 1", "more mistakes of a user than are admitted"),
    (_a_cap_for_each_epoch, "histogram of points, users 3", "more"),
    (_one_cap_for_all_users, "dense mistakes, users 2", "else's mistakes|more mistakes"),
    (_teachers_by_position, "teachers, users 2", "lists of two teachers"),
    (_a_place_for_somebody_else, "sparse fresh, users 1", "more than"),
    (_a_word_for_each_epoch, "closure of teachers, users 3", "twins ask other questions"),
]


@pytest.mark.parametrize(("plant", "name", "sentence"), FAULTS_OF_USERS)
def test_a_planted_fault_of_users_is_found(
    plant: Callable[[pytest.MonkeyPatch], None],
    name: str,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    ears: Ears,
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=sentence):
        user_twins(name, ears, 40)


# Each fault, with a case that has to find it.
FAULTS: list[tuple[Callable[[pytest.MonkeyPatch], None], str, str]] = [
    (_a_word_more_for_a_mistake, "sparse", "other words"),
    (_an_address_that_depends_on_labels, "closure", "other words"),
    (_mistakes_that_count_twice, "dense", "counts more than once"),
    (_mistakes_of_the_batch_alone, "dense mistakes", "more than one c"),
    (_examples_that_count_twice, "dense", "by more than 1"),
    (_a_vote_for_two_ids, "histogram", "a histogram changes by too much|has two votes"),
    (_teachers_by_rank, "teachers", "lists of two teachers"),
    (_a_call_that_remembers, "dense fresh", "two calls of a fresh learner"),
    (_a_sum_of_all_lists, "stages", "stage test"),
    (_chunks_by_label, "answers, realizable", "two votes"),
    (_a_subset_of_the_positive_examples, "answers, stability", "other words"),
    (_a_coin_of_one_vote, "answers, averaging", "probability of a coin"),
]


@pytest.mark.parametrize(
    ("plant", "name", "sentence"), FAULTS, ids=[each[0].__name__[1:] for each in FAULTS]
)
def test_a_planted_fault_is_found(
    plant: Callable[[pytest.MonkeyPatch], None],
    name: str,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    ears: Ears,
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=sentence):
        twins(name, ears, 20)
