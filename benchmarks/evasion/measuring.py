"""All runs of the evasion benchmark, and the search for a policy that hurts more."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from benchmarks.evasion.classes import game_of
from benchmarks.evasion.fixed import FIXED, fixed_stream
from benchmarks.evasion.playing import Evader, Outcome, Prepared, play
from benchmarks.evasion.policies import NAMED, Policy, random_policy
from benchmarks.learning.baselines import DELTA, EPSILON
from benchmarks.learning.runs import hypotheses_of
from benchmarks.learning.streams import parsed
from benchmarks.pool import Pool
from littled.budget.unit import EXAMPLE, Unit
from littled.classes.base import ClassError
from littled.planner import OnlinePlan, OnlineRequest, PlanError, StreamRequest, plan_stream
from littled.planner.online.request import Adversary
from littled.planner.online.ways.base import Estimate
from littled.planner.search import best_estimates
from littled.ways import Asked

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
DEFAULT, SEARCHED = "default", "searched"
# The word of plans that protect users.
USERS = "users"
PLANS = (DEFAULT, "adaptive")
# The seeds of a search, which no other run has.
SEARCH_SEED = 3_000_000


@dataclass(frozen=True)
class Planned:
    """A plan as it was asked for, and what the planner says of it; `note`: why there is none."""

    class_name: str
    name: str
    plan: OnlinePlan | None
    expected: float | None
    guaranteed: float | None
    note: str = ""


@dataclass(frozen=True)
class Task:
    """One run. `policy`: the evader's; None for the fixed stream of this name."""

    planned: Planned
    name: str
    policy: Policy | None
    seed: int
    horizon: int
    most: int


@dataclass(frozen=True)
class Run:
    """One run and what it came to; `words`: the policy for people, "" for a fixed stream."""

    class_name: str
    plan: str
    policy: str
    words: str
    seed: int
    outcome: Outcome


def asked(name: str) -> dict[str, Any]:
    """What a plan's name asks of the planner; ValueError, one sentence, for no name of a plan."""
    found: dict[str, Any] = {}
    for word in [] if name == DEFAULT else name.split("/"):
        key = {
            **dict.fromkeys(get_args(Adversary), "adversary"),
            **dict.fromkeys(get_args(Asked), "selection"),
            USERS: "unit",
        }.get(word)
        if key is None or key in found:
            raise ValueError(
                f"{name!r} is no plan: it is default, an adversary "
                f"({', '.join(get_args(Adversary))}), a selection ({', '.join(get_args(Asked))}), "
                f"{USERS}, or some of these with slashes between"
            )
        found[key] = word
    return found


def planned(class_name: str, name: str, horizon: int) -> Planned:
    """The planner's plan for a class alone on a stream, with its own figures."""
    try:
        options = asked(name)
        unit = Unit(1) if options.pop("unit", None) else EXAMPLE
        learner = OnlineRequest("l", hypotheses_of(class_name), **options)
        request = StreamRequest("bench", EPSILON, DELTA, horizon, (learner,), unit=unit)
        (plan,) = plan_stream(request).of(OnlinePlan)
    except (ClassError, PlanError) as error:
        return Planned(class_name, name, None, None, None, str(error))
    (best,) = best_estimates(request)
    assert isinstance(best, Estimate)
    return Planned(class_name, name, plan, best.expected_mistakes, best.guaranteed_mistakes)


def policies_of(class_name: str) -> dict[str, Policy | None]:
    """Every policy and fixed stream of a class by name; None for a stream."""
    family, _ = parsed(class_name)
    return {**NAMED[family], **dict.fromkeys(FIXED[family])}


def perform(task: Task) -> Run:
    """One run."""
    name, plan = task.planned.class_name, task.planned.plan
    assert plan is not None
    opponent: Evader | Prepared
    if task.policy is None:
        opponent = Prepared(fixed_stream(name, task.name, task.horizon, task.seed))
    else:
        opponent = Evader(game_of(name), task.policy, task.seed)
    outcome = play(plan.learner("bench"), opponent, task.horizon, task.seed, task.most)
    words = "" if task.policy is None else task.policy.words
    return Run(name, task.planned.name, task.name, words, task.seed, outcome)


def searched(
    plans: Sequence[Planned], over: Pool, arguments: argparse.Namespace
) -> list[tuple[Planned, Policy]]:
    """For each plan the policy with the most mistakes of those that were tried, one run each."""
    tried = [
        random_policy(np.random.default_rng([SEARCH_SEED, number]))
        for number in range(arguments.search)
    ]
    tasks = [
        Task(plan, SEARCHED, policy, SEARCH_SEED + number, arguments.horizon, arguments.most)
        for plan in plans
        for number, policy in enumerate(tried)
    ]
    outcomes = [run.outcome for run in over.map(perform, tasks, "search")] if tasks else []
    found = []
    for place, plan in enumerate(plans if tried else []):
        here = outcomes[place * len(tried) : (place + 1) * len(tried)]
        # of those that were stopped the one that needed the fewest examples
        ranks = [
            (outcome.mistakes if not outcome.stopped else arguments.most, -outcome.examples)
            for outcome in here
        ]
        found.append((plan, tried[ranks.index(max(ranks))]))
    return found


def measure(arguments: argparse.Namespace) -> tuple[list[Run], list[Planned]]:
    """All runs, and the plans of all classes."""
    plans = [
        planned(name, plan, arguments.horizon)
        for name in arguments.classes
        for plan in arguments.plans
    ]
    for plan in plans:
        if plan.plan is None:
            print(f"{plan.class_name}, {plan.name}: {plan.note}", file=sys.stderr)
    made = [plan for plan in plans if plan.plan is not None]
    pool = Pool(arguments.jobs, arguments.executor)
    chosen: list[tuple[Planned, str, Policy | None]] = [
        (plan, name, policy)
        for plan in made
        for name, policy in policies_of(plan.class_name).items()
        if not arguments.policies or name in arguments.policies
    ]
    chosen += [(plan, SEARCHED, policy) for plan, policy in searched(made, pool, arguments)]
    tasks = [
        Task(plan, name, policy, seed, arguments.horizon, arguments.most)
        for plan, name, policy in chosen
        for seed in range(arguments.seeds)
    ]
    runs = list(pool.map(perform, tasks, "runs"))
    pool.close()
    return runs, plans
