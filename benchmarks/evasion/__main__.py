"""The command `python -m benchmarks.evasion`; see the package."""

import argparse
import importlib.util
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import evasion
from benchmarks.arguments import too_small
from benchmarks.evasion.measuring import CLASSES, PLANS, Planned, Run, asked, measure, policies_of
from benchmarks.evasion.report import figures, markdown
from benchmarks.learning.report import write_json_lines
from benchmarks.learning.runs import hypotheses_of
from benchmarks.pool import add_pool_options
from littled.classes.base import ClassError

QUICK_SEEDS, QUICK_HORIZON = 2, 100_000


def write(runs: Sequence[Run], plans: Sequence[Planned], arguments: argparse.Namespace) -> None:
    """Every file of the output folder."""
    output: Path = arguments.output
    output.mkdir(parents=True, exist_ok=True)
    found = figures(runs, plans)
    report = markdown(found, plans, arguments.horizon, arguments.most)
    (output / "evasion.md").write_text(report, encoding="utf-8")
    asked_for = {"horizon": arguments.horizon, "most": arguments.most}
    write_json_lines(output / "evasion.jsonl", [asked_for | row.to_dict() for row in found])
    write_json_lines(output / "runs.jsonl", [asdict(run) for run in runs])
    print(report)
    if importlib.util.find_spec("matplotlib") is None:
        print("No figure was drawn: matplotlib is not installed (pip install 'littled[plots]').")
        return
    # matplotlib is optional
    from benchmarks.evasion.plots import overview  # noqa: PLC0415

    if found:
        overview(output / "evasion.png", found, arguments.horizon, arguments.most)
        print(f"The figure is in {output}.")


def parsed_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    about = (evasion.__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evasion", description=about)
    parser.add_argument("--classes", nargs="+", default=list(CLASSES), metavar="CLASS")
    parser.add_argument("--plans", nargs="+", default=list(PLANS), metavar="PLAN")
    parser.add_argument("--policies", nargs="+", default=[], metavar="POLICY", help="default: all")
    parser.add_argument("--search", type=int, default=0, metavar="N", help="random policies tried")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--horizon", type=int, default=1_000_000)
    parser.add_argument("--most", type=int, default=50_000, help="mistakes at which a run ends")
    add_pool_options(parser)
    parser.add_argument("--output", type=Path, default=Path("build/evasion"))
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_SEEDS} seeds of {QUICK_HORIZON:,} examples"
    )
    found = parser.parse_args(arguments)
    if found.quick:
        found.seeds, found.horizon = QUICK_SEEDS, QUICK_HORIZON
    problem = _problem(found)
    if problem is not None:
        parser.error(problem)
    return found


def _problem(found: argparse.Namespace) -> str | None:
    """What is wrong with the arguments, in one sentence."""
    small = too_small(found, seeds=1, horizon=1, most=1, jobs=1, search=0)
    if small is not None:
        return small
    known: dict[str, None] = {}
    try:
        for name in found.classes:
            known |= dict.fromkeys(policies_of(name))
            hypotheses_of(name)
        for name in found.plans:
            asked(name)
    except (ValueError, ClassError) as error:
        return str(error)
    for name in found.policies:
        if name not in known:
            return f"no class here has a policy {name!r}; there are {', '.join(sorted(known))}"
    return None


def main() -> None:
    """Measure and write."""
    arguments = parsed_arguments()
    runs, plans = measure(arguments)
    write(runs, plans, arguments)


if __name__ == "__main__":
    main()
