"""Mistakes of learners that protect users, beside those that protect examples."""

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.learning.orders import stream_of
from benchmarks.learning.report import percentile_95
from benchmarks.learning.runs import LITTLED, USERS, plan_for, run_littled, users_of
from benchmarks.learning.streams import Kind
from benchmarks.pool import Pool

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
    kind: Kind
    seed: int
    horizon: int
    kept: int
    each: tuple[int, ...]


@dataclass(frozen=True)
class Outcome:
    """Mistakes and rules published of one run; `each` is None where examples are protected."""

    class_name: str
    kind: Kind
    seed: int
    each: int | None
    mistakes: int
    publications: int
    seconds: float


def perform(task: Task) -> list[Outcome]:
    """All runs of a task."""
    stream = stream_of(task.class_name, task.kind, task.horizon, task.seed)
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


def mistakes_of(
    outcomes: Sequence[Outcome], class_name: str, kind: Kind, each: int | None
) -> list[int]:
    """Mistakes of the runs of one cell, the fewest first."""
    return sorted(
        outcome.mistakes
        for outcome in outcomes
        if (outcome.class_name, outcome.kind, outcome.each) == (class_name, kind, each)
    )


def table(outcomes: Sequence[Outcome], arguments: argparse.Namespace, each: int | None) -> str:
    """Mistakes for all kinds of streams, where users give `each` examples, None: without users."""
    of = "one example" if each is None else f"a user with {each:,}"
    lines = [
        f"| class, {of} | {' | '.join(arguments.streams)} |",
        f"|---|{'---:|' * len(arguments.streams)}",
    ]
    for name in arguments.classes:
        runs = [mistakes_of(outcomes, name, kind, each) for kind in arguments.streams]
        cells = [f"{statistics.median(found):,.0f} ({percentile_95(found):,})" for found in runs]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def markdown(outcomes: Sequence[Outcome], arguments: argparse.Namespace) -> str:
    """The tables."""
    title = (
        f"Mistakes in {arguments.seeds} streams of {arguments.horizon:,} examples of each kind at "
        "(1, 1e-6): the median, and the 95th percentile in brackets.\n"
    )
    tables = [table(outcomes, arguments, each) for each in (None, *arguments.each)]
    return "\n".join([title, *tables])


def measured(arguments: argparse.Namespace) -> list[Outcome]:
    """All runs."""
    tasks = [
        Task(
            name, kind, seed, arguments.horizon, arguments.kept, tuple(arguments.each)
        )
        for name in arguments.classes
        for kind in arguments.streams
        for seed in range(arguments.seeds)
    ]  # fmt: skip
    pool = Pool(arguments.jobs)
    try:
        return [outcome for found in pool.map(perform, tasks, "streams") for outcome in found]
    finally:
        pool.close()
