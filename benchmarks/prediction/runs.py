"""The four measurements of the prediction benchmark, each as rows that a report is made of."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from statistics import mean, median, stdev
from typing import Any

import numpy as np

from benchmarks.learning.streams import make_stream
from benchmarks.prediction.bound import BoundPoint, bound_point
from benchmarks.prediction.choices import (
    ALPHA,
    NOISY_MAJORITY,
    PLANNED,
    PUBLISHED,
    STABLE_VOTING,
    Cell,
    StableVotes,
    answers_at,
    majority_choice,
    parameters_of,
    planned,
    published_rate,
    vote_rate,
)
from benchmarks.prediction.errors import ANSWERS_MAX, Measured
from benchmarks.prediction.windows import FLIGHTS, KINDS, Kind, make_window
from littled.learners.prediction import Method, PredictionLearner
from littled.mechanisms.noise import Address, KeyedNoise

# Windows from here on are for choosing stable voting's parameters, and for nothing else.
TUNING_SEED = 1_000_000
# Numbers of answers are searched up to this ratio.
SEARCH_RATIO, STEP, FAILED_MAX = 1.05, 2, 3
METHODS: tuple[str, ...] = (*PLANNED, NOISY_MAJORITY, STABLE_VOTING, PUBLISHED)
# Wrong labels of the windows that are timed: chunks then learn many different rules.
TIMES_NOISE = Fraction(1, 10)
# Questions that are timed alone, and in one request; of a slow method fewer.
ANSWER_REPEATS, REQUEST_POINTS = 30, 1000
FEW_REPEATS, FEW_POINTS = 4, 1000


@dataclass(frozen=True)
class ErrorRow:
    """Excess error of one method where each of `answers` may move log-odds by `epsilon`.

    excess: mean over the windows; spread: standard deviation. None: the method cannot answer.
    chosen: whether it is the planner's choice among its methods.
    """

    class_name: str
    noise: float
    size: int
    epsilon: float
    answers: int
    method: str
    excess: float | None
    spread: float | None
    windows: int
    chosen: bool


@dataclass(frozen=True)
class AnswersRow:
    """The largest numbers of answers with a measured excess error of at most alpha, by method.

    The error is that of the worst kind of windows. 0: not even one; None: the method does not
    apply; `ANSWERS_MAX` stands for no limit. chosen: what the planner chooses by itself, with so
    many `planned` answers and what these err by. same_chunks: what the daemon's majority gives
    with the chunks of noisy majority.
    """

    class_name: str
    noise: float
    size: int
    chosen: str | None
    planned: int
    planned_excess: float | None
    most: Mapping[str, int | None]
    same_chunks: int


@dataclass(frozen=True)
class TimeRow:
    """Seconds of one method at n = `size`: preparing a window, one question alone, one of many."""

    class_name: str
    method: Method
    size: int
    answers: int
    chunks: int | None
    prepare_seconds: float
    alone_seconds: float
    together_seconds: float


def windows_of(cell: Cell, count: int, kind: Kind = "even", first: int = 0) -> list[Measured]:
    """Measured windows of a cell."""
    return [
        Measured(make_window(cell.class_name, cell.noise, cell.size, kind, seed))
        for seed in range(first, first + count)
    ]


def stable_votes(cell: Cell, kind: Kind = "even") -> StableVotes:
    """Stable voting, tuned on a window of its own: for flights, on the last of five."""
    first = 4 if cell.class_name == FLIGHTS else TUNING_SEED
    return StableVotes(cell, windows_of(cell, 1, kind, first))


# --- Excess error ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ErrorTask:
    """One cell, the log-odds that an answer may move by, and how many windows."""

    cell: Cell
    epsilons: tuple[float, ...]
    windows: int


def error_rows(task: ErrorTask) -> list[ErrorRow]:
    """All methods at every price."""
    cell = task.cell
    measured, voting = windows_of(cell, task.windows), stable_votes(cell)
    rows = []
    for epsilon in task.epsilons:
        answers = answers_at(epsilon)
        best = planned(cell, "auto", answers)
        for method in METHODS:
            found = _errors(cell, method, answers, measured, voting)
            rows.append(
                ErrorRow(
                    cell.class_name, float(cell.noise), cell.size, epsilon, answers, method,
                    mean(found) if found else None,
                    stdev(found) if found and len(found) > 1 else None,
                    len(measured), best is not None and best.method == method,
                )
            )  # fmt: skip
    return rows


def _errors(
    cell: Cell, method: str, answers: int, measured: list[Measured], voting: StableVotes
) -> list[float] | None:
    """Excess errors of so many answers by one method, one for each window."""
    if method == STABLE_VOTING:
        setting = voting.best_at(answers)
        if setting is None:
            return None
        return [voting.error(setting, answers, each.stable_voting(setting)) for each in measured]
    if method == PUBLISHED:
        rate = published_rate(cell)
        return None if rate is None else [each.one_of_all(rate) for each in measured]
    excess = excess_at(cell, method, answers)
    return None if excess is None else [excess(each) for each in measured]


def excess_at(cell: Cell, method: str, answers: int) -> Callable[[Measured], float] | None:
    """What measures a method with the parameters that are chosen for so many answers."""
    if method == NOISY_MAJORITY:
        choice = majority_choice(cell, answers)
        return lambda measured: measured.noisy_majority(*choice)
    parameters = parameters_of(cell, method, answers)  # type: ignore[arg-type]
    if parameters is None:
        return None
    return lambda measured: measured.excess(parameters)


# --- Numbers of answers ---------------------------------------------------------------------------


@dataclass(frozen=True)
class AnswersTask:
    """One cell and how many windows of each kind."""

    cell: Cell
    windows: int


Kinds = Mapping[Kind, list[Measured]]


def answers_row(task: AnswersTask) -> AnswersRow:
    """The most answers of every method, and what the planner promises."""
    cell = task.cell
    kinds: Kinds = {kind: windows_of(cell, task.windows, kind) for kind in KINDS}
    most: dict[str, int | None] = {
        method: _most(cell, method, kinds) for method in (*PLANNED, NOISY_MAJORITY)
    }
    most[STABLE_VOTING] = min(_most_stable(cell, kind, kinds[kind]) for kind in KINDS)
    rate = published_rate(cell)
    most[PUBLISHED] = None if rate is None else _most_published(kinds, rate)
    best = planned(cell, "auto", None)
    promised = best and best.plan.parameters
    return AnswersRow(
        cell.class_name, float(cell.noise), cell.size,
        best.method if best else None,
        best.answers if best else 0,
        _worst(kinds, lambda each: each.excess(promised)) if promised else None,
        most,
        _same_chunks(cell, most[NOISY_MAJORITY] or 0, kinds),
    )  # fmt: skip


def _most_published(kinds: Kinds, rate: float) -> int:
    """All answers that can be counted, or none, as one rule gives any number of them."""
    return ANSWERS_MAX if _worst(kinds, lambda each: each.one_of_all(rate)) <= ALPHA else 0


def _worst(kinds: Kinds, excess: Callable[[Measured], float]) -> float:
    """The mean over the windows of the worst kind."""
    return max(mean(excess(each) for each in measured) for measured in kinds.values())


def _most(cell: Cell, method: str, kinds: Kinds) -> int | None:
    """The largest number of answers of one method that err by alpha at most."""
    excess = excess_at(cell, method, 1)
    if excess is None:
        return None
    if method == "relabelling":  # a relabelled window takes seconds
        kinds = {kind: measured[:1] for kind, measured in kinds.items()}

    def good(answers: int) -> bool:
        excess = excess_at(cell, method, answers)
        return excess is not None and _worst(kinds, excess) <= ALPHA

    known = None if method == NOISY_MAJORITY else planned(cell, method, None)  # type: ignore[arg-type]
    return largest(good, known.answers if known else 1)


def _same_chunks(cell: Cell, answers: int, kinds: Kinds) -> int:
    """Answers by the daemon's majority with the chunks of noisy majority for so many answers."""
    chunks, _, _ = majority_choice(cell, max(answers, 1))

    def good(count: int) -> bool:
        rate = vote_rate(count)

        def excess(each: Measured) -> float:
            return each.noisy_majority(chunks, rate, "concentrated")

        return _worst(kinds, excess) <= ALPHA

    return largest(good, max(answers, 1))


def _most_stable(cell: Cell, kind: Kind, measured: list[Measured]) -> int:
    """Expected answers of stable voting, tuned for this kind of windows."""
    setting = stable_votes(cell, kind).most_answers(float(ALPHA))
    if setting is None:
        return 0
    kept = [each.stable_voting(setting) for each in measured]
    if mean(error for _, error in kept) > ALPHA:
        return 0
    return int(mean(answers for answers, _ in kept))


def largest(good: Callable[[int], bool], start: int) -> int:
    """About the largest number that is good, up to `SEARCH_RATIO`; 0 if 1 is not.

    More answers may err less: where most chunks miss what is rare, noise turns some answers right.
    So a few numbers that are not good do not end the search.
    """
    low = start
    while not good(low):
        if low == 1:
            low = 0
            break
        low = max(low // STEP, 1)
    failed, tried = 0, max(low, start)
    while failed < FAILED_MAX and tried < ANSWERS_MAX:
        tried = min(math.ceil(tried * STEP), ANSWERS_MAX)
        low, failed = (tried, 0) if good(tried) else (low, failed + 1)
    high = min(low * STEP, ANSWERS_MAX)
    while low and high > max(low * SEARCH_RATIO, low + 1):
        middle = min(max(round((low * high) ** 0.5), low + 1), high - 1)
        low, high = (middle, high) if good(middle) else (low, middle)
    return low


# --- Time -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TimeTask:
    """One class, its methods, and the size of the window."""

    class_name: str
    methods: tuple[Method, ...]
    size: int


def time_rows(task: TimeTask) -> list[TimeRow]:
    """The learner itself, with the plan for as many answers as there can be at alpha."""
    cell = Cell(task.class_name, TIMES_NOISE, task.size)
    stream = make_stream(task.class_name, "uniform", task.size, 0)
    wrong = np.random.default_rng(task.size).random(task.size) < float(TIMES_NOISE)
    y = stream.y ^ wrong
    rows = []
    for method in task.methods:
        found = planned(cell, method, None)
        if found is not None:
            learner = found.plan.learner("bench")
            rows.append(_timed(learner, cell, stream.x, y))
    return rows


def _timed(learner: PredictionLearner, cell: Cell, x: np.ndarray, y: np.ndarray) -> TimeRow:
    noise, parameters = KeyedNoise(bytes(32)), learner.parameters
    begun = time.process_time()
    prepared = learner.prepare(x, y)
    prepare = time.process_time() - begun

    def seconds(first: int, count: int) -> float:
        address = Address(b"", learner.name, "predict", 0, first)
        begun = time.process_time()
        learner.answer(prepared, x[first : first + count], noise, address)
        return time.process_time() - begun

    once = seconds(0, 1)  # the mechanisms' tables are made here
    # answers by votes ask every chunk's rule once a request, others do everything anew
    repeats, points = (ANSWER_REPEATS, REQUEST_POINTS) if once < 1 else (FEW_REPEATS, FEW_POINTS)
    alone = median(seconds(number, 1) for number in range(1, repeats))
    together = seconds(repeats, points) / points
    return TimeRow(
        cell.class_name, parameters.method, cell.size, parameters.answers_max,
        parameters.chunks, prepare, alone, together,
    )  # fmt: skip


# --- Lower bound ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class BoundTask:
    """One stability; see `bound.py`."""

    dimension: int
    size: int
    stability: float
    windows: int
    draws: int


def bound_row(task: BoundTask) -> BoundPoint:
    """The bound and the measured error."""
    return bound_point(task.dimension, task.size, task.stability, task.windows, task.draws)


Task = ErrorTask | AnswersTask | TimeTask | BoundTask
Row = ErrorRow | AnswersRow | TimeRow | BoundPoint


def perform(task: Task) -> list[Row]:
    """The rows of any task."""
    match task:
        case ErrorTask():
            return list(error_rows(task))
        case AnswersTask():
            return [answers_row(task)]
        case TimeTask():
            return list(time_rows(task))
        case BoundTask():
            return [bound_row(task)]


def to_dict(row: Row) -> dict[str, Any]:
    """JSON-able, with the name of the measurement."""
    names = {
        ErrorRow: "error", AnswersRow: "answers", TimeRow: "time", BoundPoint: "bound",
    }  # fmt: skip
    return {"measurement": names[type(row)], **asdict(row)}
