"""Mistakes of the online learner and of other methods, on realizable streams at a fixed budget.

    python benchmarks/learning.py [--quick] [--seeds 12] [--horizon 1000000] [--jobs 2]
        [--kinds uniform clustered adversarial] [--classes thresholds:256 ...] [--no-baselines]
        [--output build/learning]

For every class, kind of stream (`_streams.py`) and seed: littled as the daemon runs it, without
sockets and disk (`_runs.py`), and all baselines that apply (`_baselines.py`) on the same examples,
at the same (1, 1e-6)-differential privacy. littled runs three times: as it is planned by itself, as
it is planned for independent examples, and as it is planned to protect users, of whom each has ten
examples (more about these: `users.py`). Baselines with free parameters are first tuned on streams
of their own, in two ways: once for all kinds of streams, by the worst kind's mean, as littled's
plan is one for all of them; and for each kind separately. Writes to the output folder:

- `learning.md`: the tables;
- `learning.jsonl`: the same figures and the plans, one JSON object a line;
- `runs.jsonl`: every single run;
- `mistakes.png`, `over-time-CLASS.png`: figures, if matplotlib is installed (extra `plots`).

Seconds are those of the processor. With the defaults all of it takes minutes on two cores.
"""

import argparse
import importlib.util
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from _baselines import Variant
from _report import TITLES, ClassFacts, figures, markdown, write_json_lines
from _runs import USERS, WAYS, Run, Task, applicable, hypotheses_of, perform, plan_for, tune
from _streams import KINDS, Kind, parsed

from littled.classes.base import ClassError
from littled.planner import PlanError, StreamPlan

CLASSES = (
    "thresholds:256",
    "thresholds:65536",
    "points:64",
    "prefixes:128",
    "sparse_sets:64:4",
    "affine:64:8",
    "stumps:16:64",
    "conjunctions:10",
    "conjunctions:64",
    "table:1000x500",
)
OVER_TIME = ("thresholds:65536", "affine:64:8")
TUNING_SEEDS = 2
QUICK_SEEDS, QUICK_HORIZON = 2, 100_000

Result = TypeVar("Result")
Map = Callable[[Callable[[Task], Result], Sequence[Task]], Iterator[Result]]


def facts_of(name: str, horizon: int) -> tuple[ClassFacts, dict[str, StreamPlan]]:
    """What is public about a class, and littled's plans for it, by method."""
    plans: dict[str, StreamPlan] = {}
    notes = []
    try:
        dimension = hypotheses_of(name).littlestone_dimension
    except ClassError as error:
        return ClassFacts(name, None, {}, f"littled does not run: {error}"), {}
    for method in WAYS:
        try:
            plans[method] = plan_for(name, horizon, method)
        except PlanError as error:
            notes.append(f"{TITLES[method]} does not run: {error}")
    parameters = {method: plan.plans[0].parameters.to_dict() for method, plan in plans.items()}
    return ClassFacts(name, dimension, parameters, " ".join(notes)), plans


# Mistakes on the tuning streams by class, baseline, number of the variant, and kind.
Trials = dict[tuple[str, str], dict[int, dict[Kind, list[int]]]]
Choices = dict[str, Variant]


def trials(tasks: Sequence[Task], over: "Pool", seeds: int) -> Trials:
    """Every variant of every baseline that has a choice, on all tuning streams."""
    found: Trials = {}
    for task, grids in zip(tasks, over.map(tune, tasks, f"tuning on {seeds} seeds"), strict=True):
        for name, runs in grids.items():
            kept = found.setdefault((task.class_name, name), {})
            for number, run in enumerate(runs):
                by_kind = kept.setdefault(number, {})
                by_kind.setdefault(task.kind, []).append(run.mistakes)
    return found


def best_variants(class_name: str, found: Trials, kinds: Sequence[Kind]) -> Choices:
    """For every baseline that applies the variant with the fewest mistakes.

    These are the mean over the tuning streams of a kind, of the worst of these kinds.
    """

    def worst(by_kind: Mapping[Kind, list[int]]) -> float:
        return max(statistics.mean(by_kind[kind]) for kind in kinds)

    chosen: Choices = {}
    for baseline in applicable(class_name):
        seen = found.get((class_name, baseline.name), {0: {}})
        number = min(seen, key=lambda each: worst(seen[each])) if len(seen) > 1 else 0
        chosen[baseline.name] = baseline.variants(class_name)[number]
    return chosen


class Pool:
    """Processes for tasks, or this process alone; says on standard error how far it is."""

    def __init__(self, jobs: int) -> None:
        """`jobs` processes."""
        self._pool = None
        if jobs > 1:
            # a product that is spread over threads gets in the way of the other process
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(jobs, mp_context=context)

    def map(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], what: str
    ) -> Iterator[Result]:
        """The results in order."""
        begun = time.perf_counter()
        results = map(work, tasks) if self._pool is None else self._pool.map(work, tasks)
        for number, result in enumerate(results, 1):
            yield result
            if number % max(1, len(tasks) // 20) == 0 or number == len(tasks):
                seconds = time.perf_counter() - begun
                print(f"{what}: {number}/{len(tasks)}, {seconds:.0f} s", file=sys.stderr)

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown()


def measure(arguments: argparse.Namespace) -> tuple[list[Run], list[ClassFacts]]:
    """All runs of all classes, and what is public about these."""
    facts, plans = [], {}
    for name in arguments.classes:
        fact, plans[name] = facts_of(name, arguments.horizon)
        facts.append(fact)
        if fact.note:
            print(f"{name}: {fact.note}", file=sys.stderr)
    pool = Pool(arguments.jobs)
    cells = [(name, kind) for name in arguments.classes for kind in arguments.kinds]
    chosen: dict[str, Choices] = {}
    told: dict[tuple[str, str], Choices] = {}
    if arguments.baselines:
        tuning = [
            Task(name, kind, seed, arguments.horizon, {}, {}, {})
            for name, kind in cells
            for seed in range(arguments.tuning_seeds)
        ]
        found = trials(tuning, pool, arguments.tuning_seeds)
        for name in arguments.classes:
            chosen[name] = best_variants(name, found, arguments.kinds)
        told = {(name, kind): best_variants(name, found, [kind]) for name, kind in cells}
    tasks = [
        Task(
            name, kind, seed, arguments.horizon, plans[name],
            chosen.get(name, {}), told.get((name, kind), {}),
        )
        for name, kind in cells
        for seed in range(arguments.seeds)
    ]  # fmt: skip
    runs = [run for found in pool.map(perform, tasks, "streams") for run in found]
    pool.close()
    return runs, facts


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
    from _plots import over_time, overview  # noqa: PLC0415 -- matplotlib is optional

    # only what has the same guarantee
    shown = [each for each in found if not each.told and each.method != USERS]
    overview(output / "mistakes.png", shown, facts, horizon)
    for name in OVER_TIME:
        if any(each.class_name == name for each in shown):
            path = output / f"over-time-{name.replace(':', '-')}.png"
            over_time(path, shown, name, horizon)
    print(f"The figures are in {output}.")


def parsed_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", nargs="+", default=list(CLASSES), metavar="CLASS")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--horizon", type=int, default=1_000_000)
    parser.add_argument("--tuning-seeds", type=int, default=TUNING_SEEDS)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--baselines", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--output", type=Path, default=Path("build/learning"))
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_SEEDS} seeds of {QUICK_HORIZON:,} examples"
    )
    found = parser.parse_args(arguments)
    if found.quick:
        found.seeds, found.horizon, found.tuning_seeds = QUICK_SEEDS, QUICK_HORIZON, 1
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
