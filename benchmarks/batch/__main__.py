"""The command `python -m benchmarks.batch`; see the package."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import batch
from benchmarks.batch.flights import PLACES, WINDOWS, FlightRow, flight_row
from benchmarks.batch.windows import METHODS, WindowRow, least_window
from benchmarks.pool import Pool, add_pool_options

QUICK_RUNS, QUICK_PLACES, QUICK_WINDOWS = 20, 5, (300, 1_000)


def markdown(windows: Sequence[WindowRow], flights: Sequence[FlightRow], runs: int) -> str:
    """The report."""
    lines = [
        f"Least window for an error of 0.05 in nine of ten runs ({runs} runs a law, (1, 1e-6)):",
        "",
        "| class | method | window | chunks | estimated | proven |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in windows:
        numbers = [_number(each) for each in (row.window, row.chunks, row.estimated, row.proven)]
        lines.append(f"| {row.class_name} | {row.method} | {' | '.join(numbers)} |")
    lines += [
        "",
        "Flights: error on the 5,000 flights after a window, in per cent:",
        "",
        "| window | littled | DP gradient descent | window's best rule | best in hindsight |",
        "|---:|---:|---:|---:|---:|",
    ]
    for flight in flights:
        errors = (flight.littled, flight.descent, flight.window_best, flight.hindsight)
        shares = " | ".join(f"{100 * error:.1f}" for error in errors)
        lines.append(f"| {flight.window:,} | {shares} |")
    return "\n".join([*lines, ""])


def _number(value: float | None) -> str:
    return f"{value:,.0f}" if value else "-"


def parsed_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    about = (batch.__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batch", description=about)
    parser.add_argument("--classes", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--places", type=int, default=PLACES)
    parser.add_argument("--windows", nargs="*", type=int, default=list(WINDOWS))
    add_pool_options(parser)
    parser.add_argument("--output", type=Path, default=Path("build/batch"))
    parser.add_argument("--quick", action="store_true", help="fewer runs and places")
    found = parser.parse_args(arguments)
    if found.quick:
        found.runs, found.places, found.windows = QUICK_RUNS, QUICK_PLACES, list(QUICK_WINDOWS)
    return found


def main() -> None:
    """Measure and write."""
    arguments = parsed_arguments()
    pool = Pool(arguments.jobs, arguments.executor)
    tasks = [(name, m, arguments.runs) for name in arguments.classes for m in METHODS[name]]
    windows = list(pool.map(least_window, tasks, "windows"))
    places = [(window, arguments.places) for window in arguments.windows]
    flights = list(pool.map(flight_row, places, "flights"))
    pool.close()
    arguments.output.mkdir(parents=True, exist_ok=True)
    report = markdown(windows, flights, arguments.runs)
    (arguments.output / "batch.md").write_text(report, encoding="utf-8")
    rows = [*(asdict(row) for row in windows), *(asdict(row) for row in flights)]
    (arguments.output / "batch.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    print(report)


if __name__ == "__main__":
    main()
