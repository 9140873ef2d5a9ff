"""What the protection of users costs beside that of examples: in mistakes, and in time.

    python benchmarks/users.py [--parts mistakes speed] [--output build/users]
        [--seeds 5] [--horizon 1000000] [--jobs 2] [--kept 1]
        [--classes thresholds:256 ...] [--each 1 10 100]
        [--points u8 u16 ...] [--examples 3000000] [--rounds 2]

*Mistakes.* For every class, kind of stream (`_streams.py`) and seed: littled as the daemon runs it,
planned by itself, once with unit = "example" and then with unit = "user" at the same (1, 1e-6), of
whom each gives so many examples of a season (`--each`), at places that chance chooses. `--kept` is
user_examples_max. The streams are the same, but for whose examples they are. Writes `users.md` and
`users.jsonl` to the output folder.

*Speed.* How many examples a second a real daemon takes in (`_user_ingest.py`), for every type of
points; best on a machine with nothing else to do. Writes `speed.md` and `speed.jsonl`.
"""

import argparse
import multiprocessing
import os
import statistics
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _user_ingest
from _report import write_json_lines
from _runs import LITTLED, USERS, plan_for, run_littled, users_of
from _streams import KINDS, Kind, make_stream, parsed

CLASSES = (
    "thresholds:256",
    "points:64",
    "prefixes:128",
    "sparse_sets:64:4",
    "affine:64:8",
    "conjunctions:10",
)
EACH = (1, 10, 100)
PARTS = ("mistakes", "speed")


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


def parsed_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", nargs="+", default=list(CLASSES), metavar="CLASS")
    parser.add_argument("--each", nargs="+", type=int, default=list(EACH))
    parser.add_argument("--kept", type=int, default=1, help="user_examples_max")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--horizon", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    points = list(_user_ingest.CLASSES)
    parser.add_argument("--points", nargs="+", choices=points, default=points)
    parser.add_argument("--examples", type=int, default=3_000_000, help="timed in a run")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("build/users"))
    found = parser.parse_args(arguments)
    for name in found.classes:
        try:
            parsed(name)
        except ValueError as error:
            parser.error(str(error))
    return found


def write(folder: Path, name: str, report: str, rows: list[dict[str, Any]]) -> None:
    """A table for people and its rows for programs."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(report, encoding="utf-8")
    write_json_lines(folder / f"{name}.jsonl", rows)
    print(report)


def main() -> None:
    """Measure and write."""
    arguments = parsed_arguments()
    if "mistakes" in arguments.parts:
        outcomes = measured(arguments)
        asked = {"horizon": arguments.horizon, "kept": arguments.kept}
        rows = [asked | vars(each) for each in outcomes]
        write(arguments.output, "users", markdown(outcomes, arguments), rows)
    if "speed" in arguments.parts:
        speeds = _user_ingest.run(arguments.points, arguments.examples, arguments.rounds, print)
        rows = [vars(each) for each in speeds]
        write(arguments.output, "speed", _user_ingest.markdown(speeds), rows)


if __name__ == "__main__":
    main()
