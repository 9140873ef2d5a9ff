"""Twins: neighbouring streams with one tape draw, ask and say the same until their outputs differ.

What is measured of every query that goes into a mechanism stays within what its price is made for;
`support.twins` says what that is. Planted faults, each in one place, have to be found.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.classes.base import Proposals
from littled.classes.thresholds import Thresholds
from littled.learners.batch import BatchLearner, BatchParameters, boosting, methods
from littled.learners.online import OnlineLearner
from littled.learners.online.keeping import Buffers, Counts
from littled.learners.online.noise import LearnerNoise
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.selections import teachers
from littled.learners.online.selections.teachers import StagedTeachers
from littled.learners.prediction import PredictionLearner, learner, parts
from littled.learners.prediction.parts import Draw
from littled.learners.prediction.stable import StablePredictor
from littled.learners.users import UserCounts
from littled.mechanisms.above_threshold import Gaps
from littled_protocol.codec import decode
from littled_protocol.messages import Release
from support.class_cases import STREAMS
from support.learner_cases import BATCH_USERS, CASES, POOL_USERS, USERS, case_of
from support.small_classes import Sets
from support.twins import (
    Ears,
    Kind,
    Said,
    Verdict,
    compare,
    course,
    random_neighbour,
    random_script,
    random_stream,
    random_user_neighbour,
    with_users,
)

EXAMPLES = 42
# Neighbours that one stream is compared with; of users, these kinds.
NEIGHBOURS = 12
KINDS: tuple[Kind, ...] = (
    "examples", "silent", "examples", "examples", "silent", "name",
)  # fmt: skip
CASES_OF_USERS: dict[str, tuple[str, OnlineParameters | BatchParameters]] = {
    **USERS, **BATCH_USERS, **POOL_USERS,
}  # fmt: skip

# --- Twins ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ears() -> Iterator[Ears]:
    """What every mechanism of this module's runs is asked."""
    with pytest.MonkeyPatch.context() as patch:
        yield listening(patch)


def listening(patch: pytest.MonkeyPatch) -> Ears:
    heard = Ears(patch)
    for hypotheses in {type(each): each for each, _ in STREAMS.values()}.values():
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
        random = np.random.default_rng((seed, crc32(name.encode()), number))
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
        random = np.random.default_rng((seed, crc32(name.encode()), number))
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


MORE_STREAMS = 4
# All that is measured, and the most that it may be: some pair of each kind of learner comes so far.
DECLARED = {
    "gaps": 1, "scores": 1, "offered": 2, "histogram": 2, "lists": 1, "most": 1, "agreements": 1,
    "votes": 1, "chance": 1, "tally": 2,
}  # fmt: skip


def check(ears: Ears, streams: int, seed: int) -> int:
    """Compare pairs of all cases; how many there were."""
    whole = Tally()
    for name in CASES:
        tally = twins(name, ears, streams, seed)
        if not tally.agreed:  # few twins of learners that draw often do
            tally.join(twins(name, ears, MORE_STREAMS, seed + MORE_STREAMS))
        assert tally.agreed, f"no twins of {name} say the same to the end"
        assert tally.largest, f"twins of {name} never ask different questions"
        whole.join(tally)
    assert whole.pairs // 5 < whole.agreed < whole.pairs
    assert {what: whole.largest[what] for what in DECLARED} == DECLARED
    return whole.pairs


@pytest.mark.long
def test_twins_draw_the_same_and_ask_nearly_the_same(ears: Ears) -> None:
    assert check(ears, 1, seed=2) >= 800


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
    for name, (_, parameters) in CASES_OF_USERS.items():
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


@pytest.mark.long
def test_twins_of_users_draw_the_same_and_ask_nearly_the_same(ears: Ears) -> None:
    assert check_users(ears, 3, seed=0) >= 800


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
    for kind in (Buffers, Counts):
        keep = kind.keep

        def drawing(
            keeping: Any, state: Any, event: Any, mistake: Any, noise: Any, keep: Any = keep
        ) -> Any:
            if mistake.any():
                noise.of_positions(event.take(slice(1)), "buffer")
            return keep(keeping, state, event, mistake, noise)

        patch.setattr(kind, "keep", drawing)


def _an_address_that_depends_on_labels(patch: pytest.MonkeyPatch) -> None:
    draws = LearnerNoise.draws

    def moved(noise: LearnerNoise, place: Any, count: int) -> Any:
        found = draws(noise, place, count)
        return [replace(address, draw=address.draw + MISTAKES[-1]) for address in found]

    train = OnlineLearner._train

    def noted(learner: OnlineLearner, state: Any, place: Any, noise: Any) -> Any:
        MISTAKES.append(state.mistakes)
        return train(learner, state, place, noise)

    patch.setattr(OnlineLearner, "_train", noted)
    patch.setattr(LearnerNoise, "draws", moved)


MISTAKES = [0]


def _mistakes_that_count_twice(patch: pytest.MonkeyPatch) -> None:
    at = Gaps.at
    patch.setattr(Gaps, "at", lambda gaps, steps: 2 * at(gaps, steps))


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

    patch.setattr(teachers, "_numbers", parts)


def _a_call_that_remembers(patch: pytest.MonkeyPatch) -> None:
    train = OnlineLearner._train

    def remembering(learner: OnlineLearner, state: Any, place: Any, noise: Any) -> Any:
        with pytest.MonkeyPatch.context() as meanwhile:
            meanwhile.setattr(type(learner._keeping), "emptied", lambda _, state: state)
            return train(learner, state, place, noise)

    patch.setattr(OnlineLearner, "_train", remembering)


def _a_sum_of_all_lists(patch: pytest.MonkeyPatch) -> None:
    test = StagedTeachers._stage_test

    def summed(selection: StagedTeachers, state: Any, most: int, place: Any, noise: Any) -> Any:
        return test(selection, state, 3 * most, place, noise)

    patch.setattr(StagedTeachers, "_stage_test", summed)


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
    words = Buffers.with_user_words

    def shared(keeping: Buffers, state: Any, noise: Any) -> Any:
        state = words(keeping, state, noise)
        *before, last = state.archive
        last = replace(last, teacher=np.arange(len(last), dtype=np.uint64))
        return replace(state, archive=(*before, last))

    patch.setattr(Buffers, "with_user_words", shared)


def _a_place_for_somebody_else(patch: pytest.MonkeyPatch) -> None:
    """The background is chosen among the examples of users who are not used up."""
    close = Buffers.closed

    def chosen(keeping: Buffers, state: Any) -> Any:
        buffer, most = state.buffer.joined(), keeping.parameters.user_examples_max
        within = state.users_kept.admitted(buffer.users, ~buffer.mistake, most) | buffer.mistake
        return close(keeping, replace(state, buffer=buffer.take(within)))

    patch.setattr(Buffers, "closed", chosen)


def _a_word_for_each_epoch(patch: pytest.MonkeyPatch) -> None:
    """A word that depends on how many examples are kept, instead of on the user alone."""
    words = Buffers.with_user_words

    def moved(keeping: Buffers, state: Any, noise: Any) -> Any:
        kept = sum(map(len, state.archive))
        return words(keeping, replace(state, season=state.season + 64 * kept), noise)

    patch.setattr(
        Buffers,
        "with_user_words",
        lambda keeping, state, noise: replace(moved(keeping, state, noise), season=state.season),
    )


def _a_window_that_remembers(patch: pytest.MonkeyPatch) -> None:
    train = BatchLearner._train

    def remembering(learner: BatchLearner, state: Any, place: Any, noise: Any) -> Any:
        step = train(learner, state, place, noise)
        return replace(step, state=replace(step.state, pieces=state.pieces))

    patch.setattr(BatchLearner, "_train", remembering)


def _examples_of_a_window_that_count_twice(patch: pytest.MonkeyPatch) -> None:
    agreements = Thresholds.agreements
    patch.setattr(Thresholds, "agreements", lambda self, x, y: 2 * agreements(self, x, y))


def _a_draw_that_depends_on_labels(patch: pytest.MonkeyPatch) -> None:
    for method in set(methods._METHODS.values()):
        select = method.select

        def moved(selection: Any, window: Any, draw: Any, select: Any = select) -> Any:
            place = replace(draw.place, position=draw.place.position + 64 * int(window.y.sum()))
            return select(selection, window, replace(draw, place=place))

        patch.setattr(method, "select", moved)


def _chunks_of_a_window_by_label(patch: pytest.MonkeyPatch) -> None:
    window = BatchLearner._window

    def sorted_first(learner: BatchLearner, state: Any, noise: Any) -> Any:
        found = window(learner, state, noise)
        order = np.argsort(found.y, kind="stable")
        return replace(found, x=found.x[order], y=found.y[order])

    patch.setattr(BatchLearner, "_window", sorted_first)


def _residuals_without_a_limit(patch: pytest.MonkeyPatch) -> None:
    residuals = boosting.residuals
    patch.setattr(boosting, "residuals", lambda scores, y: 3 * residuals(scores, y))


def _lists_of_a_window_that_all_count(patch: pytest.MonkeyPatch) -> None:
    above = methods.Teachers._above

    def summed(selection: Any, most: int, *asked: Any) -> bool:
        return above(selection, 3 * most, *asked)

    patch.setattr(methods.Teachers, "_above", summed)


def _a_cap_for_each_window(patch: pytest.MonkeyPatch) -> None:
    train = BatchLearner._train

    def forgetful(learner: BatchLearner, state: Any, place: Any, noise: Any) -> Any:
        step = train(learner, state, place, noise)
        return replace(step, state=replace(step.state, users_kept=UserCounts()))

    patch.setattr(BatchLearner, "_train", forgetful)


def _chunks_of_a_window_by_position(patch: pytest.MonkeyPatch) -> None:
    """The way of single examples: a user's are shared out to all chunks."""
    window = BatchLearner._window

    def shared(learner: BatchLearner, state: Any, noise: Any) -> Any:
        found, chunks = window(learner, state, noise), max(learner.parameters.chunks, 1)
        return replace(found, chunks=np.arange(len(found.y), dtype=np.int64) % chunks)

    patch.setattr(BatchLearner, "_window", shared)


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
    (_a_place_for_somebody_else, "dense background, users 1", "more than"),
    (_a_cap_that_is_not_kept, "dense background, users 2", "more than|more mistakes"),
    (_a_cap_for_each_epoch, "dense background, users 1", "more"),
    (_a_word_for_each_epoch, "closure of teachers, users 3", "twins ask other questions"),
    (_a_cap_that_is_not_kept, "windows, dense, users 1", "more than|too many"),
    (_a_cap_that_is_not_kept, "windows, closure, users 2", "too many"),
    (_a_cap_for_each_window, "windows, proposals, users 1", "more than|too many"),
    (_one_cap_for_all_users, "windows, histogram, users 3", "more than"),
    (_chunks_of_a_window_by_position, "windows, stages, users 3", "lists of two teachers"),
    (_a_window_that_remembers, "windows, zcdp, users 2", "more than|too many"),
    (_a_cap_that_is_not_kept, "windows, boosted, users 2", "more than|too many"),
]


@pytest.mark.long
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
        user_twins(name, ears, 240)


# Each fault, with a case that has to find it.
FAULTS: list[tuple[Callable[[pytest.MonkeyPatch], None], str, str]] = [
    (_a_word_more_for_a_mistake, "sparse", "other words|does something else"),
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
    (_a_window_that_remembers, "windows, dense", "two calls of a fresh learner"),
    (_examples_of_a_window_that_count_twice, "windows, dense", "by more than 1"),
    (_a_draw_that_depends_on_labels, "windows, zcdp", "other words"),
    (_chunks_of_a_window_by_label, "windows, teachers", "lists of two teachers"),
    (_a_window_that_remembers, "windows, boosted", "two calls of a fresh learner"),
    (_residuals_without_a_limit, "windows, boosted", "more than two residuals"),
    (_lists_of_a_window_that_all_count, "windows, stages", "stage test"),
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
        twins(name, ears, 60)
