"""The command `python -m benchmarks.service`; see the package."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path

from benchmarks import service
from benchmarks.service import measuring
from benchmarks.service.measuring import Plan, Sample
from benchmarks.service.plots import draw
from benchmarks.service.report import markdown

MEMORY = Path("/dev/shm")  # noqa: S108 - a file system in memory, with folders of its own names
DEFAULT = Plan()
QUICK = Plan(rounds=1, scale=200, trips=20, batches=(1, 10_000))


def parsed_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.service",
        description=service.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="a little of everything, in seconds")
    parser.add_argument("--rounds", type=int, default=DEFAULT.rounds, help="turns of each")
    parser.add_argument("--parts", nargs="+", choices=DEFAULT.parts, default=DEFAULT.parts)
    parser.add_argument("--long", type=int, default=0, metavar="MILLIONS", help="of examples")
    parser.add_argument("--no-peers", action="store_true", help="the daemon and bare servers only")
    parser.add_argument("--disk", type=Path, default=None, help="folder on the disk to measure")
    parser.add_argument("--memory", type=Path, default=MEMORY, help="folder in memory")
    parser.add_argument("--quiet", action="store_true", help="the tables only")
    parser.add_argument("--json", type=Path, help="file for all samples")
    parser.add_argument("--plots", type=Path, help="file for a picture (PNG, SVG)")
    return parser.parse_args(arguments)


def plan_of(arguments: argparse.Namespace) -> Plan:
    """What is asked for."""
    some = QUICK if arguments.quick else replace(DEFAULT, rounds=arguments.rounds)
    peers, parts = not arguments.no_peers, tuple(arguments.parts)
    return replace(some, long=arguments.long, with_peers=peers, parts=parts)


def measured(plan: Plan, disk: Path, memory: Path, missing: list[str]) -> Iterator[Sample]:
    """All samples; `missing` is filled with what is not installed."""
    curves = [part for part in plan.parts if part != "one"]
    if curves:
        with measuring.running(plan, _new(disk)) as field:
            missing += field.missing
            for part in curves:
                yield from getattr(measuring, part)(plan, field)
    if "one" in plan.parts:
        yield from measuring.one(plan, _new(disk), "disk")
        if os.access(memory, os.W_OK):
            with tempfile.TemporaryDirectory(dir=memory) as folder:
                yield from measuring.one(plan, Path(folder), "memory")
        else:
            missing.append(f"{memory}, a file system in memory, cannot be written to")


def _new(folder: Path) -> Path:
    # With a short name, as sockets are in it.
    return Path(tempfile.mkdtemp(prefix="", dir=folder))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, show, and write what was asked for."""
    asked = parsed_arguments(arguments)
    missing: list[str] = []
    if find_spec("msgspec") is None:
        missing.append("the package msgspec is not installed, so that the bare server is slower")
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory(prefix="", dir=asked.disk) as folder:
        for sample in measured(plan_of(asked), Path(folder), asked.memory, missing):
            samples.append(sample)
            if not asked.quiet:
                print(json.dumps(asdict(sample)), flush=True)
    print(markdown(samples, list(dict.fromkeys(missing))))
    if asked.json is not None:
        facts = {"missing": missing, "samples": [asdict(sample) for sample in samples]}
        asked.json.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    if asked.plots is not None:
        draw(samples, asked.plots)


if __name__ == "__main__":
    main()
