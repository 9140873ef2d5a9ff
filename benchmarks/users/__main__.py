"""The command `python -m benchmarks.users`; see the package."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import users
from benchmarks.arguments import too_small
from benchmarks.learning.report import write_json_lines
from benchmarks.learning.streams import KINDS, ORDERS, parsed
from benchmarks.users import ingest
from benchmarks.users.mistakes import CLASSES, EACH, markdown, measured

PARTS = ("mistakes", "speed")


def parsed_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    about = (users.__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.users", description=about)
    parser.add_argument("--classes", nargs="+", default=list(CLASSES), metavar="CLASS")
    kinds = [*KINDS, *ORDERS]
    parser.add_argument("--streams", nargs="+", choices=kinds, default=list(KINDS))
    parser.add_argument("--each", nargs="+", type=int, default=list(EACH))
    parser.add_argument("--kept", type=int, default=1, help="user_examples_max")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--horizon", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    points = list(ingest.CLASSES)
    parser.add_argument("--points", nargs="+", choices=points, default=points)
    parser.add_argument("--examples", type=int, default=3_000_000, help="timed in a run")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("build/users"))
    found = parser.parse_args(arguments)
    small = too_small(found, seeds=1, horizon=1, kept=1, jobs=1)
    if small is not None:
        parser.error(small)
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
        speeds = ingest.run(arguments.points, arguments.examples, arguments.rounds, print)
        rows = [vars(each) for each in speeds]
        write(arguments.output, "speed", ingest.markdown(speeds), rows)


if __name__ == "__main__":
    main()
