"""The command `python -m benchmarks.learning`; see the package."""

import argparse
import importlib.util
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import learning
from benchmarks.arguments import too_small
from benchmarks.learning.measuring import CLASSES, TUNING_SEEDS, measure
from benchmarks.learning.report import ClassFacts, figures, markdown, write_json_lines
from benchmarks.learning.runs import USERS, Run
from benchmarks.learning.streams import KINDS, ORDERS, parsed
from benchmarks.pool import add_pool_options

OVER_TIME = ("thresholds:65536", "affine:64:8")
QUICK_SEEDS, QUICK_HORIZON = 2, 100_000


def write(runs: Sequence[Run], facts: Sequence[ClassFacts], horizon: int, output: Path) -> None:
    """Every file of the output folder."""
    output.mkdir(parents=True, exist_ok=True)
    found = figures(runs)
    report = markdown(found, facts, horizon)
    (output / "learning.md").write_text(report, encoding="utf-8")
    rows = [{"horizon": horizon, **each.to_dict()} for each in found]
    write_json_lines(output / "learning.jsonl", [*rows, *(asdict(fact) for fact in facts)])
    singles = [{k: v for k, v in asdict(run).items() if k != "timeline"} for run in runs]
    write_json_lines(output / "runs.jsonl", singles)
    print(report)
    if importlib.util.find_spec("matplotlib") is None:
        print("No figures were drawn: matplotlib is not installed (pip install 'littled[plots]').")
        return
    # matplotlib is optional
    from benchmarks.learning.plots import over_time, overview  # noqa: PLC0415

    # only what has the same guarantee
    usual = [figures for figures in found if figures.kind in KINDS]
    shown = [figures for figures in usual if not figures.told and figures.method != USERS]
    if shown:
        overview(output / "mistakes.png", shown, facts, horizon)
    for name in OVER_TIME:
        if any(each.class_name == name for each in shown):
            path = output / f"over-time-{name.replace(':', '-')}.png"
            over_time(path, shown, name, horizon)
    print(f"The figures are in {output}.")


def parsed_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    about = (learning.__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning", description=about)
    parser.add_argument("--classes", nargs="+", default=list(CLASSES), metavar="CLASS")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument(
        "--streams", nargs="+", default=[], choices=ORDERS, help="further kinds, for littled alone"
    )
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--horizon", type=int, default=1_000_000)
    parser.add_argument("--tuning-seeds", type=int, default=TUNING_SEEDS)
    add_pool_options(parser)
    parser.add_argument("--baselines", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--output", type=Path, default=Path("build/learning"))
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_SEEDS} seeds of {QUICK_HORIZON:,} examples"
    )
    found = parser.parse_args(arguments)
    if found.quick:
        found.seeds, found.horizon, found.tuning_seeds = QUICK_SEEDS, QUICK_HORIZON, 1
    small = too_small(found, seeds=1, horizon=1, tuning_seeds=1, jobs=1)
    if small is not None:
        parser.error(small)
    for name in found.classes:
        try:
            parsed(name)
        except ValueError as error:
            parser.error(str(error))
    return found


def main() -> None:
    """Measure and write."""
    arguments = parsed_arguments()
    runs, facts = measure(arguments)
    write(runs, facts, arguments.horizon, arguments.output)


if __name__ == "__main__":
    main()
