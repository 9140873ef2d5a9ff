"""The command `python -m benchmarks.prediction`; see the package."""

import argparse
import importlib.util
from collections.abc import Sequence
from pathlib import Path

from benchmarks import prediction
from benchmarks.pool import add_pool_options
from benchmarks.prediction.bound import BoundPoint
from benchmarks.prediction.measuring import PARTS, QUICK_SIZE, measure
from benchmarks.prediction.report import markdown, write_json_lines
from benchmarks.prediction.runs import ErrorRow, Row


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
    # matplotlib is optional
    from benchmarks.prediction.plots import bound, errors  # noqa: PLC0415

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
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.prediction",
        description=(prediction.__doc__ or "").splitlines()[0],
    )
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    add_pool_options(parser)
    parser.add_argument("--output", type=Path, default=Path("build/prediction"))
    parser.add_argument(
        "--quick", action="store_true", help=f"few classes and windows of {QUICK_SIZE:,} examples"
    )
    return parser.parse_args(arguments)


def main() -> None:
    """Measure and write."""
    arguments = parsed_arguments()
    write(measure(arguments), arguments.output)


if __name__ == "__main__":
    main()
