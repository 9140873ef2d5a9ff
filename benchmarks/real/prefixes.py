"""From how many examples on a scorecard beats a stump: both on the first rows of real streams.

    python -m benchmarks.real.prefixes [--streams NAME ...] [--rows N ...] [--epsilons E ...]
        [--seeds 3] [--numbers] [--page docs/which-class.md]

A season is as long as the part of the stream that is used, nothing is told but the class, and the
figure is the progressive error of what was published, in percent. `--numbers`: of each number among
the columns by itself, for which a stump is a threshold. `--page` writes the tables into a page,
below the comments that name them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean

from benchmarks.pool import Pool, add_pool_options
from benchmarks.real.learners import Littled
from benchmarks.real.report import renewed
from benchmarks.real.streams import NAMES, RealStream, stream_of
from littled_protocol.encodings import NumberColumn

ROWS = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 40_000)
EPSILONS = ("0.1", "1", "4")
SEEDS = 3
SCORECARD, STUMP, THRESHOLD = "scorecard", "stumps", "thresholds"
TITLE, NUMBERS_TITLE = "How many examples", "Each number by itself"


@dataclass(frozen=True)
class Pair:
    """Progressive errors on the first rows of a stream, means over seeds; None without a plan."""

    stream: str
    rows: int
    epsilon: str
    stumps: float | None
    scorecards: float | None

    @property
    def lead(self) -> float | None:
        """By how much the scorecards are better."""
        if self.stumps is None or self.scorecards is None:
            return None
        return self.stumps - self.scorecards


@dataclass(frozen=True)
class Task:
    """What one process measures at a time; `number`: the one column that is read."""

    stream: str
    rows: int
    epsilon: str
    seeds: int
    number: str | None = None

    @property
    def stump(self) -> str:
        """The class with one cut."""
        return STUMP if self.number is None else THRESHOLD


def measured(task: Task) -> Pair:
    """Run both learners."""
    stream = first_rows(stream_of(task.stream), task.rows)
    stumps, scorecards = (_error(task, rules, stream) for rules in (task.stump, SCORECARD))
    name = task.stream if task.number is None else f"{task.stream}/{task.number}"
    return Pair(name, task.rows, task.epsilon, stumps, scorecards)


def first_rows(stream: RealStream, rows: int) -> RealStream:
    """The stream up to so many rows."""
    return replace(stream, x=stream.x[:rows], rows=stream.rows[:rows], y=stream.y[:rows])


def _error(task: Task, rules: str, stream: RealStream) -> float | None:
    method = Littled(rules, rules, rules, number=task.number)
    if method.refusal(stream, task.epsilon) is not None:
        return None
    seeds = range(task.seeds)
    return mean(float(method.wrong(stream, task.epsilon, seed, {}).mean()) for seed in seeds)


def table(pairs: Sequence[Pair], epsilon: str, stumps: str = STUMP) -> str:
    """Means over streams with both, and on how many of them scorecards are ahead."""
    lines = [
        f"| rows | {stumps} | scorecards | scorecards ahead on |",
        "| ---: | ---: | ---: | ---: |",
    ]
    for rows in sorted({pair.rows for pair in pairs}):
        both = [
            pair
            for pair in pairs
            if (pair.rows, pair.epsilon) == (rows, epsilon) and pair.lead is not None
        ]
        if not both:
            lines.append(f"| {rows:,} | | no plan | |")
            continue
        cuts = mean(pair.stumps for pair in both if pair.stumps is not None)
        cards = mean(pair.scorecards for pair in both if pair.scorecards is not None)
        ahead = sum(pair.lead > 0 for pair in both if pair.lead is not None)
        lines.append(
            f"| {rows:,} | {100 * cuts:.1f} | {100 * cards:.1f} | {ahead} of {len(both)} |"
        )
    return "\n".join(lines)


def tables(pairs: Sequence[Pair], *, numbers: bool = False) -> Mapping[str, str]:
    """One for each epsilon, by title."""
    epsilons = sorted({pair.epsilon for pair in pairs}, key=float)
    title, stumps = (NUMBERS_TITLE, THRESHOLD) if numbers else (TITLE, STUMP)
    return {f"{title}, epsilon {epsilon}": table(pairs, epsilon, stumps) for epsilon in epsilons}


def numbers_of(stream: RealStream) -> tuple[str, ...]:
    """The names of the columns that are numbers."""
    return tuple(c.name for c in stream.schema.columns if isinstance(c, NumberColumn))


def pairs_of(asked: argparse.Namespace) -> Iterator[Pair]:
    """Everything that was asked for; parts longer than a stream are left out."""
    tasks = [
        Task(name, rows, epsilon, asked.seeds, number)
        for name in asked.streams
        for number in (numbers_of(stream_of(name)) if asked.numbers else (None,))
        for rows in asked.rows
        for epsilon in asked.epsilons
        if rows <= len(stream_of(name))
    ]
    pool = Pool(asked.jobs, asked.executor)
    try:
        yield from pool.map(measured, tasks, "parts of streams")
    finally:
        pool.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real.prefixes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--streams", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--rows", nargs="+", type=int, default=ROWS)
    parser.add_argument("--epsilons", nargs="+", default=EPSILONS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    add_pool_options(parser)
    parser.add_argument("--numbers", action="store_true", help="each number by itself")
    parser.add_argument("--page", type=Path, help="a page whose tables are written anew")
    asked = parser.parse_args(arguments)
    pairs = []
    for pair in pairs_of(asked):
        pairs.append(pair)
        print(json.dumps(asdict(pair)), flush=True)
    found = tables(pairs, numbers=asked.numbers)
    for title, text in found.items():
        print(f"\n{title}\n\n{text}")
    if asked.page is not None:
        page = asked.page.read_text(encoding="utf-8")
        asked.page.write_text(renewed(page, dict(found)), encoding="utf-8")


if __name__ == "__main__":
    main()
