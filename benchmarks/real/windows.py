"""What a rule from one window is worth: boosted scorecards beside one stump, on real streams.

    python -m benchmarks.real.windows [--streams NAME ...] [--windows N ...] [--epsilons E ...]
        [--seeds 2] [--places 4] [--page docs/which-class.md ...]

Each rule is learned from one window of a stream and judged on the next window, in percent. The
figure of a stream is the mean over up to `--places` windows, evenly spaced, and over seeds. Nothing
is told to littled but the class and the window; a scorecard that its planner would refuse, as one
stump errs less, is drawn here all the same, and marked with a star. Of the peers, subsample and
aggregate has the number of teachers that does best on the other streams. `--page` writes the tables
into pages, below the comments that name them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from statistics import mean

import numpy as np

from benchmarks.batch.laws import Sample
from benchmarks.batch.windows import drawn_rule, key_of
from benchmarks.pool import Pool, add_pool_options
from benchmarks.real.configurations import configuration
from benchmarks.real.private import AggregatedStumps, PeriodicStumps
from benchmarks.real.report import renewed
from benchmarks.real.streams import DELTA, NAMES, RealStream, stream_of
from littled.configuration import parse_configuration
from littled.learners.batch import BatchLearner
from littled.planner.batch import boosting
from littled.planner.batch.request import BatchRequest
from littled.planner.batch.search import best_batch, drafted
from littled.planner.search import budgets_of
from littled_protocol.columns import point_type

WINDOWS = (1_000, 5_000, 20_000)
EPSILONS = ("0.1", "1")
SEEDS, PLACES = 2, 4
BOOSTED, STUMP, EXPONENTIAL, AGGREGATE = "boosted", "stumps", "exponential", "aggregate"
METHODS = (BOOSTED, STUMP, EXPONENTIAL, AGGREGATE)
# Examples of one teacher of subsample and aggregate.
SIZES = (20, 60, 200)
TITLE = "A rule from a window"


@dataclass(frozen=True)
class Task:
    """What one process measures at a time. size: examples of a teacher, where there are any."""

    stream: str
    method: str
    window: int
    epsilon: str
    seeds: int
    places: int
    size: int = 0


@dataclass(frozen=True)
class Row:
    """The mean error of rules of windows on the next window, as a share; None without windows.

    refused: whether the planner would rather have a stump.
    """

    stream: str
    method: str
    window: int
    epsilon: str
    size: int
    error: float | None
    refused: bool = False


def measured(task: Task) -> Row:
    """All windows and seeds of a task."""
    stream = stream_of(task.stream)
    starts = _starts(len(stream), task.window, task.places)
    found = [_error(task, stream, start, seed) for start in starts for seed in range(task.seeds)]
    refused = task.method == BOOSTED and bool(found) and _planned(task)[1]
    error = mean(found) if found else None
    return Row(task.stream, task.method, task.window, task.epsilon, task.size, error, refused)


def _starts(count: int, window: int, places: int) -> list[int]:
    """Where windows begin that have another one behind them."""
    last = count // window - 2
    if last < 0:
        return []
    return sorted({int(place) * window for place in np.linspace(0, last, places)})


def _error(task: Task, stream: RealStream, start: int, seed: int) -> float:
    """Of the rule of one window on the next one."""
    n = task.window
    both = slice(start, start + 2 * n)
    part = replace(stream, x=stream.x[both], rows=stream.rows[both], y=stream.y[both])
    if task.method in (BOOSTED, STUMP):
        learner, _ = _planned(task)
        key = key_of(task, start, seed)
        x = part.rows.astype(point_type(learner.hypotheses.point_type).dtype)
        rule = drawn_rule(learner, Sample(x[:n], part.y[:n]), key)
        return float(np.mean(rule.evaluate(x[n:]) != part.y[n:]))
    if task.method == EXPONENTIAL:
        wrong = PeriodicStumps().wrong(part, task.epsilon, seed, {"every": n, "data": "fresh"})
    else:
        setting = {"every": n, "teachers": n // task.size}
        wrong = AggregatedStumps().wrong(part, task.epsilon, seed, setting)
    return float(wrong[n:].mean())


@lru_cache(maxsize=256)
def _planned(task: Task) -> tuple[BatchLearner, bool]:
    """The learner of windows, and whether the planner would have refused it."""
    name = "scorecard" if task.method == BOOSTED else "stumps"
    keys = f'kind = "batch"\nclass = "{name}"\nwindow = {task.window}'
    text = configuration(task.stream, len(stream_of(task.stream)), task.epsilon, DELTA, keys)
    request = parse_configuration(text, Path("real.toml")).streams[task.stream].request()
    (asked,) = request.learners
    assert isinstance(asked, BatchRequest)
    budgets = tuple(budgets_of(request))
    found = [one for budget in budgets if (one := best_batch(asked, budget)) is not None]
    if found:
        plan = min(found, key=lambda one: one.preference).plan
        return plan.learner(task.stream), False
    assert asked.hypotheses.additive is not None, "only scorecards are refused"
    rules = asked.hypotheses.additive
    drafts = [drafted(asked, budget, "boosted", task.window, 0.0, 0) for budget in budgets]
    best = min(
        (draft for draft in drafts if draft is not None),
        key=lambda draft: boosting.expected(rules, draft),
    )
    return BatchLearner(f"{task.stream}/rule", asked.hypotheses, best), True


def chosen(rows: Sequence[Row]) -> list[Row]:
    """Of rows that differ in their teachers the one whose size does best on the other streams."""
    kept = [row for row in rows if row.method != AGGREGATE]
    places = {(row.window, row.epsilon) for row in rows}
    for window, epsilon in sorted(places):
        here = [
            row
            for row in rows
            if (row.method, row.window, row.epsilon) == (AGGREGATE, window, epsilon)
            and row.error is not None
        ]
        for stream in sorted({row.stream for row in here}):
            size = min(
                sorted({row.size for row in here}),
                key=lambda size: sum(
                    row.error or 0.0 for row in here if row.size == size and row.stream != stream
                ),
            )
            kept += [row for row in here if (row.stream, row.size) == (stream, size)]
    return kept


def table(rows: Sequence[Row], epsilon: str) -> str:
    """Means over streams, and on how many of them scorecards are ahead of littled's stump."""
    lines = [
        "| examples a window | boosted | one stump | exponential mechanism | subsample and "
        "aggregate | boosted ahead of the stump on |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for window in sorted({row.window for row in rows}):
        here = [row for row in rows if (row.window, row.epsilon) == (window, epsilon)]
        errors = {
            method: {
                row.stream: row.error
                for row in here
                if row.method == method and row.error is not None
            }
            for method in METHODS
        }
        streams = errors[BOOSTED].keys() & errors[STUMP].keys()
        if not streams:
            continue
        refused = any(row.refused for row in here)
        cells = [
            f"{100 * mean(errors[method].values()):.1f}" if errors[method] else ""
            for method in METHODS
        ]
        cells[0] += "*" * refused
        ahead = sum(errors[BOOSTED][name] < errors[STUMP][name] for name in streams)
        lines.append(f"| {window:,} | {' | '.join(cells)} | {ahead} of {len(streams)} |")
    return "\n".join(lines)


def tables(rows: Sequence[Row]) -> Mapping[str, str]:
    """One for each epsilon, by title."""
    found = chosen(rows)
    epsilons = sorted({row.epsilon for row in rows}, key=float)
    return {f"{TITLE}, epsilon {epsilon}": table(found, epsilon) for epsilon in epsilons}


def rows_of(asked: argparse.Namespace) -> Iterator[Row]:
    """Everything that was asked for."""
    tasks = [
        Task(name, method, window, epsilon, asked.seeds, asked.places, size)
        for window in asked.windows
        for epsilon in asked.epsilons
        for method in asked.methods
        for size in (SIZES if method == AGGREGATE else (0,))
        for name in asked.streams
    ]
    pool = Pool(asked.jobs, asked.executor)
    try:
        yield from pool.map(measured, tasks, "rules of windows")
    finally:
        pool.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real.windows",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--streams", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--windows", nargs="+", type=int, default=WINDOWS)
    parser.add_argument("--epsilons", nargs="+", default=EPSILONS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--places", type=int, default=PLACES)
    add_pool_options(parser)
    parser.add_argument("--page", type=Path, nargs="+", default=(), help="pages to write into")
    asked = parser.parse_args(arguments)
    rows = []
    for row in rows_of(asked):
        rows.append(row)
        print(json.dumps(asdict(row)), flush=True)
    found = tables(rows)
    for title, text in found.items():
        print(f"\n{title}\n\n{text}")
    for path in asked.page:
        page = path.read_text(encoding="utf-8")
        path.write_text(renewed(page, dict(found)), encoding="utf-8")


if __name__ == "__main__":
    main()
