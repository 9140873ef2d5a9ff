"""Mistakes of learners that protect users, beside those that protect examples."""

import argparse
import multiprocessing
import os
import statistics
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from benchmarks.learning.runs import LITTLED, USERS, plan_for, run_littled, users_of
from benchmarks.learning.streams import KINDS, Usual, make_stream

CLASSES = (
    "thresholds:256",
    "points:64",
    "prefixes:128",
    "sparse_sets:64:4",
    "affine:64:8",
    "stumps:16:64",
    "conjunctions:10",
    "table:1000x500",
)
EACH = (1, 10, 100)


@dataclass(frozen=True)
class Task:
    """One stream: a run without users, and one for each number of examples that users give."""

    class_name: str
    kind: Usual
    seed: int
    horizon: int
    kept: int
    each: tuple[int, ...]


@dataclass(frozen=True)
class Outcome:
    """Mistakes and rules published of one run; `each` is None where examples are protected."""

    class_name: str
    kind: Usual
    seed: int
    each: int | None
    mistakes: int
    publications: int
    seconds: float


def perform(task: Task) -> list[Outcome]:
    """All runs of a task."""
    stream = make_stream(task.class_name, task.kind, task.horizon, task.seed)
    plans = {
        way: plan_for(task.class_name, task.horizon, way, task.kept) for way in (LITTLED, USERS)
    }
    outcomes = []
    for each in (None, *task.each):
        way = LITTLED if each is None else USERS
        users = None if each is None else users_of(task.horizon, each, task.seed)
        run = run_littled(stream, plans[way], way, users)
        outcomes.append(
            Outcome(
                task.class_name, task.kind, task.seed, each, run.mistakes, run.publications,
                run.seconds,
            )
        )  # fmt: skip
    return outcomes


def medians(outcomes: Sequence[Outcome], class_name: str, each: int | None) -> str:
    """Median mistakes for all kinds of streams."""
    cells = []
    for kind in KINDS:
        found = [
            outcome.mistakes
            for outcome in outcomes
            if (outcome.class_name, outcome.kind, outcome.each) == (class_name, kind, each)
        ]
        if found:
            cells.append(f"{statistics.median(found):,.0f}")
    return " / ".join(cells)


def markdown(outcomes: Sequence[Outcome], arguments: argparse.Namespace) -> str:
    """The table."""
    titles = ["one example", *(f"a user with {each:,}" for each in arguments.each)]
    lines = [
        f"Median mistakes of {arguments.seeds} streams of {arguments.horizon:,} examples, "
        f"{' / '.join(KINDS)}, at (1, 1e-6) for",
        "",
        f"| class | {' | '.join(titles)} |",
        f"|---|{'---:|' * len(titles)}",
    ]
    for name in arguments.classes:
        cells = [medians(outcomes, name, each) for each in (None, *arguments.each)]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def measured(arguments: argparse.Namespace) -> list[Outcome]:
    """All runs."""
    tasks = [
        Task(
            name, kind, seed, arguments.horizon, arguments.kept, tuple(arguments.each)
        )
        for name in arguments.classes
        for kind in KINDS
        for seed in range(arguments.seeds)
    ]  # fmt: skip
    if arguments.jobs == 1:
        return [outcome for task in tasks for outcome in perform(task)]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(arguments.jobs, mp_context=context) as pool:
        return [outcome for found in pool.map(perform, tasks) for outcome in found]
