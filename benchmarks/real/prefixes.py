"""From how many examples on a scorecard beats a stump: both on the first rows of real streams.

    python -m benchmarks.real.prefixes [--streams NAME ...] [--rows N ...] [--epsilons E ...]
        [--seeds 3] [--page docs/which-class.md]

A season is as long as the part of the stream that is used, nothing is told but the class, and the
figure is the progressive error of what was published, in percent. `--page` writes the tables into a
page, below the comments that name them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean

from benchmarks.pool import Pool
from benchmarks.real.learners import Littled
from benchmarks.real.report import renewed
from benchmarks.real.streams import NAMES, RealStream, stream_of

ROWS = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 40_000)
EPSILONS = ("0.1", "1", "4")
SEEDS = 3
SCORECARD = Littled("scorecard", "scorecards", "scorecard")
STUMP = Littled("stumps", "stumps", "stumps")
TITLE = "How many examples"


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
    """What one process measures at a time."""

    stream: str
    rows: int
    epsilon: str
    seeds: int


def measured(task: Task) -> Pair:
    """Run both learners."""
    stream = first_rows(stream_of(task.stream), task.rows)
    stumps, scorecards = (
        _error(method, stream, task.epsilon, task.seeds) for method in (STUMP, SCORECARD)
    )
    return Pair(task.stream, task.rows, task.epsilon, stumps, scorecards)


def first_rows(stream: RealStream, rows: int) -> RealStream:
    """The stream up to so many rows."""
    return replace(stream, x=stream.x[:rows], rows=stream.rows[:rows], y=stream.y[:rows])


def _error(method: Littled, stream: RealStream, epsilon: str, seeds: int) -> float | None:
    if method.refusal(stream, epsilon) is not None:
        return None
    return mean(float(method.wrong(stream, epsilon, seed, {}).mean()) for seed in range(seeds))


def table(pairs: Sequence[Pair], epsilon: str) -> str:
    """Means over streams with both, and on how many of them scorecards are ahead."""
    lines = [
        "| rows | stumps | scorecards | scorecards ahead on |",
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
        stumps = mean(pair.stumps for pair in both if pair.stumps is not None)
        cards = mean(pair.scorecards for pair in both if pair.scorecards is not None)
        ahead = sum(pair.lead > 0 for pair in both if pair.lead is not None)
        lines.append(
            f"| {rows:,} | {100 * stumps:.1f} | {100 * cards:.1f} | {ahead} of {len(both)} |"
        )
    return "\n".join(lines)


def tables(pairs: Sequence[Pair]) -> Mapping[str, str]:
    """One for each epsilon, by title."""
    epsilons = sorted({pair.epsilon for pair in pairs}, key=float)
    return {f"{TITLE}, epsilon {epsilon}": table(pairs, epsilon) for epsilon in epsilons}


def pairs_of(asked: argparse.Namespace) -> Iterator[Pair]:
    """Everything that was asked for; parts longer than a stream are left out."""
    tasks = [
        Task(name, rows, epsilon, asked.seeds)
        for name in asked.streams
        for rows in asked.rows
        for epsilon in asked.epsilons
        if rows <= len(stream_of(name))
    ]
    pool = Pool(asked.jobs)
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
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--page", type=Path, help="a page whose tables are written anew")
    asked = parser.parse_args(arguments)
    pairs = []
    for pair in pairs_of(asked):
        pairs.append(pair)
        print(json.dumps(asdict(pair)), flush=True)
    found = tables(pairs)
    for title, text in found.items():
        print(f"\n{title}\n\n{text}")
    if asked.page is not None:
        page = asked.page.read_text(encoding="utf-8")
        asked.page.write_text(renewed(page, dict(found)), encoding="utf-8")


if __name__ == "__main__":
    main()
