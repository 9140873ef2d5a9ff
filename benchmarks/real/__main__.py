"""The command `python -m benchmarks.real`; see the package."""

import argparse
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks import real
from benchmarks.pool import Pool, add_pool_options
from benchmarks.real.measuring import Asked, Kept, measured
from benchmarks.real.methods import METHODS
from benchmarks.real.report import Figures, figures, markdown, renewed, sections
from benchmarks.real.streams import HELD_OUT, NAMES, QUICK_ROWS, family_of
from benchmarks.real.tables import TABLES

QUICK_SEEDS = 1


def parsed_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    about = (real.__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real", description=about)
    parser.add_argument("--streams", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--epsilons", nargs="+", default=["0.1", "1", "4"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tuning-seeds", type=int, default=2)
    parser.add_argument("--tuning-streams", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--again", nargs="+", default=[], choices=list(METHODS), metavar="METHOD")
    add_pool_options(parser)
    parser.add_argument("--json", type=Path, help="a file for the figures")
    parser.add_argument("--page", type=Path, help="a page that quotes tables, to be renewed")
    parser.add_argument("--output", type=Path, default=Path("build/real"))
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_SEEDS} seed, {QUICK_ROWS:,} rows"
    )
    found = parser.parse_args(arguments)
    if found.quick:
        found.seeds = found.tuning_seeds = QUICK_SEEDS
    for epsilon in found.epsilons:
        if not _is_positive(epsilon):
            parser.error(f"--epsilons: {epsilon!r} is not a number above 0")
    families = {family_of(name) for name in found.tuning_streams}
    for name in found.streams:
        if families <= {family_of(name)}:
            parser.error(f"--tuning-streams: none is of other data than {name}")
    return found


def _is_positive(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False


def asked_of(arguments: argparse.Namespace) -> Asked:
    """What the command line asks for; methods and streams in the order of the tables."""
    return Asked(
        streams=tuple(name for name in TABLES if name in arguments.streams),
        tuning_streams=tuple(name for name in NAMES if name in arguments.tuning_streams),
        methods=tuple(name for name in METHODS if name in arguments.methods),
        epsilons=tuple(arguments.epsilons),
        seeds=arguments.seeds,
        tuning_seeds=arguments.tuning_seeds,
        rows=QUICK_ROWS if arguments.quick else None,
    )


def draw(found: Sequence[Figures], asked: Asked, output: Path) -> None:
    """The figures, if they can be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        print("No figures were drawn: matplotlib is not installed (pip install 'littled[plots]').")
        return
    # matplotlib is optional
    from benchmarks.real.plots import over_time  # noqa: PLC0415

    drawn = [name for name in asked.streams if name not in HELD_OUT] or asked.streams
    for epsilon in asked.epsilons:
        over_time(output / f"over-time-{epsilon}.png", found, drawn, epsilon)
    print(f"The figures are in {output}.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write."""
    given = parsed_arguments(arguments)
    asked, output = asked_of(given), given.output
    output.mkdir(parents=True, exist_ok=True)
    kept, pool = Kept.opened(output / "runs.jsonl", given.again), Pool(given.jobs, given.executor)
    runs, refusals = measured(asked, kept, pool)
    pool.close()
    found = figures(runs)
    parts = sections(found, refusals, asked)
    report = markdown(parts, asked)
    (output / "real.md").write_text(report, encoding="utf-8")
    if given.json is not None:
        rows = [each.to_dict() for each in found]
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if given.page is not None:
        page = given.page.read_text(encoding="utf-8")
        given.page.write_text(renewed(page, parts), encoding="utf-8")
    print(report)
    draw(found, asked, output)


if __name__ == "__main__":
    main()
