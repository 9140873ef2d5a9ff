"""Laboratory only: adaptive adversaries and streams that no rule fits, the theory beside ours.

Sources: L, remark after Lemma 6.2; Li, Wang and Ye (arXiv 2510.00574), of which the abstract and
summaries were at hand, and no algorithm: O_d(log T) mistakes against an adaptive adversary, about
sqrt(T) regret on any stream. What is run is what L's remark describes, this program's learners, and
in `private_experts` a known learner with a regret of about sqrt(T) for classes that can be listed.

The remark: R draws have to be so many that their majority represents the law D that they come from
at every point at once. What Claim 6.4 uses of it is that where the majority errs, at least a third
of D errs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from littled.classes.names import class_from_name
from littled.engine import Runner, progressive
from littled.laboratory.compositions import compositions
from littled.laboratory.draws import key, words
from littled.laboratory.playing import alone, evader, planned, play
from littled.laboratory.small_classes import SmallClass
from littled.littlestone import dual_vapnik_chervonenkis_dimension
from littled.planner import OnlineRequest
from littled.planner.bounds import draws_for_majority
from littled.planner.search import best_estimates, plan_stream

_DTYPES = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32}
# Where the majority errs at least this share of the law errs.
SHARE = Fraction(1, 3)


def labels_of(rules: SmallClass) -> NDArray[np.int64]:
    """The class as a matrix of 0 and 1, (rules, points)."""
    return np.array(
        [[h >> x & 1 for x in range(rules.points)] for h in rules.hypotheses], dtype=np.int64
    )


def misleading(rules: SmallClass, draws: int, grid: int = 6) -> float:
    """The chance that R draws mislead at some point, for the worst law among many.

    They mislead at a point where their majority says a label that less than a third of the law
    says. Laws are all with weights that are multiples of 1/`grid`. The chance is exact, by all
    outcomes of the R draws.
    """
    labels = labels_of(rules)
    counts = np.array(list(compositions(draws, len(labels))), dtype=np.int64)
    log_ways = math.lgamma(draws + 1) - np.array(
        [sum(math.lgamma(c + 1) for c in row) for row in counts.tolist()]
    )
    says_one = 2 * (counts @ labels) > draws
    worst = 0.0
    for parts in compositions(grid, len(labels)):
        law = np.array(parts) / grid
        ones = law @ labels
        wrong = np.where(says_one, ones < float(SHARE), 1 - ones < float(SHARE)).any(axis=1)
        possible = wrong & (counts[:, law == 0] == 0).all(axis=1)
        log_law = np.log(np.where(law > 0, law, 1.0))
        worst = max(worst, float(np.exp(log_ways[possible] + counts[possible] @ log_law).sum()))
    return worst


@dataclass(frozen=True, slots=True)
class Draws:
    """How many draws represent any law at every point but for a failure, and the proven number."""

    least: int
    proven: int
    dual_dimension: int


def draws_needed(rules: SmallClass, failure: float, tried: Sequence[int]) -> Draws:
    """The first number tried that suffices, beside the bound that paper mode plans with.

    ValueError if none suffices.
    """
    least = next((r for r in tried if misleading(rules, r) <= failure), None)
    if least is None:
        raise ValueError(f"{max(tried)} draws are not enough")
    dual = dual_vapnik_chervonenkis_dimension(labels_of(rules).astype(bool))
    deviation = float(Fraction(1, 2) - SHARE)
    proven = draws_for_majority(math.log(rules.points), dual, deviation, failure)
    return Draws(least, proven, dual)


def proven_mistakes(class_name: str, horizon: int) -> float | None:
    """What the best plan of (1, 1e-6) proves of adaptive adversaries; None if that is nothing."""
    request = OnlineRequest("lab", class_from_name(class_name), adversary="adaptive")
    (estimate,) = best_estimates(alone(request, horizon))
    bound = getattr(estimate, "guaranteed_mistakes", None)
    return None if bound is None else float(bound)


@dataclass(frozen=True, slots=True)
class Evaded:
    """What an evader did to a learner: its plan in words, calls, and mistakes."""

    draws: int
    threshold: int
    calls: int
    mistakes: int
    halted: bool


def evaded(request: OnlineRequest, points: int, seed: int) -> Evaded:
    """Run the plan of (1, 1e-6) at T = 10^6 against `littled.laboratory.playing.evader`.

    PlanError, with the numbers, where there is no plan.
    """
    horizon = 10**6
    learner = planned(request, horizon)
    turns = list(play(learner, evader(learner.hypotheses, points), horizon, seed))
    last, p = turns[-1], learner.parameters
    calls = sum(turn.called for turn in turns)
    return Evaded(p.draws, p.trigger_threshold, calls, last.mistakes, last.state.halted)


@dataclass(frozen=True, slots=True)
class Agnostic:
    """Mean regret over streams of fair coins: mistakes less those of the best rule in hindsight."""

    length: int
    regret: float
    root: float

    @property
    def by_root(self) -> float:
        """Regret in units of sqrt(T)."""
        return self.regret / self.root


def agnostic_regret(class_name: str, length: int, seeds: int) -> Agnostic:
    """The learner that is planned where nothing is told of the stream, on labels that nothing fits.

    Points are uniform, labels fair coins: the best rule gains about sqrt(T) by chance, which is the
    worst case of regret up to constants.
    """
    hypotheses = class_from_name(class_name)
    request = OnlineRequest("lab", hypotheses, adversary="none", nothing_told=True)
    plan = plan_stream(alone(request, length))
    dense = hypotheses.dense
    assert dense is not None
    points = dense.rule_count - 1
    regrets = []
    for seed in range(seeds):
        drawn = words("agnostic points", seed, length) % np.uint64(points)
        x = drawn.astype(_DTYPES[hypotheses.point_type])
        y = (words("agnostic labels", seed, length) & np.uint64(1)).astype(np.uint8)
        mistakes = progressive(Runner(plan, key(seed)), [(x, y)])["lab"].mistakes
        best = length - int(dense.agreements(x, y).max())
        regrets.append(mistakes - best)
    return Agnostic(length, sum(regrets) / seeds, math.sqrt(length))
