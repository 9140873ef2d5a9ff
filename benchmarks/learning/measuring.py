"""All runs of the learning benchmark, after the baselines were tuned."""

import argparse
import statistics
import sys
from collections.abc import Mapping, Sequence

from benchmarks.learning.baselines import Variant
from benchmarks.learning.report import TITLES, ClassFacts
from benchmarks.learning.runs import (
    WAYS,
    Run,
    Task,
    applicable,
    hypotheses_of,
    perform,
    plan_for,
    tune,
)
from benchmarks.learning.streams import Kind
from benchmarks.pool import Pool
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
TUNING_SEEDS = 2


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


def measure(arguments: argparse.Namespace) -> tuple[list[Run], list[ClassFacts]]:
    """All runs of all classes, and what is public about these."""
    facts, plans = [], {}
    for name in arguments.classes:
        fact, plans[name] = facts_of(name, arguments.horizon)
        facts.append(fact)
        if fact.note:
            print(f"{name}: {fact.note}", file=sys.stderr)
    pool = Pool(arguments.jobs, arguments.executor)
    cells = [(name, kind) for name in arguments.classes for kind in arguments.kinds]
    more = [(name, kind) for name in arguments.classes for kind in arguments.streams]
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
    tasks += [
        Task(name, kind, seed, arguments.horizon, plans[name], {}, {})
        for name, kind in more
        for seed in range(arguments.seeds)
    ]
    runs = [run for found in pool.map(perform, tasks, "streams") for run in found]
    pool.close()
    return runs, facts
