"""The plan of a scorecard learner: a fixed point over public numbers, and what it takes.

A larger learning rate learns sooner and lets more noise into the weights; smaller batches follow
sooner and make the rows of a season, and so the noise, more. The rate is the one at which the noise
of a usual row's score has the standard deviation `SCORE_NOISE` at the season's end, and a batch is
so large that its sum moves a score by about `BATCH_SPEED` at the most. Both were chosen on real
streams, where the optimum is flat (docs/real-streams.md); prices do not depend on them.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from littled.classes.capabilities import AdditiveRules, needed
from littled.learners.leader import LeaderParameters
from littled.learners.leader.parameters import (
    BATCH_MAX,
    BATCHES_MAX,
    LENGTH_MAX,
    NOISE_VARIANCE,
    SCALE_MAX,
    coefficients,
)
from littled.planner.budgets import Budget
from littled.planner.capacity import MEMORY_BYTES_MAX, SNAPSHOT_BYTES_MAX, fits_a_frame
from littled.planner.leader.plan import LeaderPlan
from littled.planner.leader.request import LeaderRequest
from littled.planner.planning import Cost, Planning
from littled.planner.requests import PlanError, StreamRequest
from littled.portable import log
from littled_protocol import limits

SCORE_NOISE, BATCH_SPEED = 0.7, 4.0
RATE_MAX = 0.2
# Batches have at least so many examples, and a season at least so many batches, where it can.
BATCH_MIN, BATCHES_MIN = 8, 40
# The warm-up has so many examples as make the noise of the mean a fifth of a usual row, but at most
# a twentieth of a season; where that leaves more noise than 0.7 of a row, there is none.
WARMUP_PRECISION, WARMUP_SHARE, WARMUP_NOISE = 5.0, 20, 0.7
# With coarser coefficients, rounding them would lose more than the budget's size does.
SCALE_MIN = 8
# Learning rates are multiples of this.
RATE_UNIT = 1 << 20
STEPS = 60
# Below such a noise of a score a scorecard says something by itself.
WORTHWHILE_NOISE = 1.0
WORTHWHILE_EXAMPLES = 2_000
# A user's two words, and the count; twice while counts are merged.
USER_BYTES = 2 * 20
CELL_BYTES = 64


@dataclass(frozen=True, slots=True)
class LeaderEstimate:
    """A plan and the standard deviation that noise gives a usual row's score, in log odds."""

    plan: LeaderPlan
    score_noise: float


class LeaderPlanning(Planning[LeaderRequest, LeaderEstimate, LeaderPlan]):
    """How scorecard learners are planned, and what they take."""

    has_trigger: ClassVar[bool] = False
    takes_less: ClassVar[str] = " or fewer columns of a scorecard"

    def check(self, request: LeaderRequest, stream: StreamRequest) -> None:
        """Raise PlanError for what cannot be planned on this stream whatever the budget."""
        hypotheses = request.hypotheses
        if hypotheses.additive is None:
            raise PlanError(
                f"learner {request.name}: kind leader needs the class scorecard, not "
                f"{hypotheses.name}"
            )
        if request.monotone and len(request.monotone) != len(hypotheses.additive.sizes):
            raise PlanError(f"learner {request.name}: monotone needs one letter for each column")
        if not fits_a_frame(hypotheses, 1):
            raise PlanError(
                f"learner {request.name}: the points of {sum(hypotheses.additive.sizes):,} "
                f"buckets do not fit into a frame of {limits.frame_bytes_max:,} bytes; use fewer "
                "steps or values"
            )

    def best(self, request: LeaderRequest, budget: Budget) -> LeaderEstimate | None:
        """The plan under one way to divide the budget; None if it leaves no zCDP."""
        if budget.accounting != "zcdp" or request.hypotheses.additive is None:
            return None
        parameters = planned(request.hypotheses.additive.dimensions, budget)
        if parameters is None:
            return None
        parameters = replace(parameters, columns_max=request.columns_max, monotone=request.monotone)
        plan = LeaderPlan(request.name, request.hypotheses, parameters, request.words)
        too_large = (
            self.snapshot_bytes_max(plan) > SNAPSHOT_BYTES_MAX
            or self.memory_bytes_max(plan) > MEMORY_BYTES_MAX
        )
        return None if too_large else LeaderEstimate(plan, score_noise(parameters))

    def cost(self, request: LeaderRequest, estimate: LeaderEstimate) -> Cost:
        """The noise of a score."""
        return Cost(logarithm=log(estimate.score_noise))

    def is_worthwhile(
        self, request: LeaderRequest, estimate: LeaderEstimate, stream: StreamRequest
    ) -> bool:
        """Whether there are enough examples for the noise that a score has."""
        enough = stream.horizon >= WORTHWHILE_EXAMPLES
        return enough and estimate.score_noise <= WORTHWHILE_NOISE

    def why_not(
        self, request: LeaderRequest, stream: StreamRequest, budgets: tuple[Budget, ...]
    ) -> str | None:
        """Why there is no plan: the budget, the horizon, or the columns."""
        if any(self.best(request, budget) for budget in budgets):
            return None
        return (
            f"epsilon {float(stream.epsilon):g} with delta {float(stream.delta):g} is too small "
            f"for a scorecard over {stream.horizon:,} examples, or these columns need too much "
            "memory; raise epsilon, or leave columns out"
        )

    def snapshot_bytes_max(self, plan: LeaderPlan) -> int:
        """Most bytes of the learner's state in a snapshot: sums, releases, the rule, and users."""
        p, rules = plan.parameters, needed(plan.hypotheses.additive)
        sums = 2 * 8 * rules.dimensions * max(p.batches, p.warmup)
        users = 20 * p.horizon if p.user_examples_max is not None else 0
        return sums + users + limits.frame_bytes_max + 4096

    def memory_bytes_max(self, plan: LeaderPlan) -> int:
        """About how much memory the learner takes: its state twice, while a batch ends."""
        p, rules = plan.parameters, needed(plan.hypotheses.additive)
        users = USER_BYTES * p.horizon if p.user_examples_max is not None else 0
        return 2 * self.snapshot_bytes_max(plan) + users + CELL_BYTES * sum(rules.sizes)


@lru_cache(maxsize=256)
def planned(dimensions: int, budget: Budget) -> LeaderParameters | None:
    """The parameters for a part of a budget in zCDP; None if it is too small."""
    n, rho, most = budget.horizon, float(budget.answers_amount), budget.unit.examples
    if rho <= 0:
        return None
    # the price of c examples of a user grows with c^2
    own = rho / (most * most)
    batch, decay, rate = _batch(n, own)
    needed = math.sqrt(5 * dimensions / own)
    longest = min(n / WARMUP_SHARE, WARMUP_PRECISION * needed)
    warmup = int(longest) // batch if needed <= WARMUP_NOISE * longest else 0
    batches = n // batch - warmup
    scale = scale_of(batches, decay, own)
    warmup_scale = scale_of(warmup, decay, own / 2) if warmup else 0
    if min(scale, warmup_scale or scale) < SCALE_MIN:
        return None
    moments = (
        math.isqrt(int(own * NOISE_VARIANCE / 5)) // AdditiveRules.USUAL_LENGTH if warmup else 0
    )
    try:
        return LeaderParameters(
            epsilon=budget.epsilon,
            horizon=n,
            batch_examples=batch,
            decay=decay,
            learning_rate=max(Fraction(1), Fraction(round(rate * RATE_UNIT))) / RATE_UNIT,
            scale=scale,
            warmup=warmup,
            warmup_scale=warmup_scale,
            moments_scale=min(moments, 1 << 24) if warmup else 0,
            user_examples_max=budget.user_examples_max,
        )
    except ValueError:  # a season so long that sums would not fit into 64 bits
        return None


def _batch(n: int, rho: float) -> tuple[int, Fraction, float]:
    """The size of a batch, the decay and the learning rate that fit each other."""
    deviation, rate, batch, decay = math.sqrt(1 / (2 * rho)), 0.05, 1, Fraction(1)
    for _ in range(STEPS):
        usual = max(BATCH_MIN, min(round(BATCH_SPEED / rate), max(BATCH_MIN, n // BATCHES_MIN)))
        batch = min(max(usual, -(-n // BATCHES_MAX)), n, BATCH_MAX)
        decay = 1 - Fraction(batch, 2 * n)
        rate = min(RATE_MAX, SCORE_NOISE / (deviation * _squares(n // batch, decay)))
    return batch, decay, rate


@lru_cache(maxsize=1024)
def _squares(count: int, decay: Fraction) -> float:
    """The sum of the squares of the coefficients before they are scaled."""
    one = 1 << 30
    return sum(c * c for c in coefficients(count, decay, one)) / (one * one)


def scale_of(count: int, decay: Fraction, rho: float) -> int:
    """The largest scale of so many coefficients that rho pays for."""
    length = math.sqrt(2 * rho * NOISE_VARIANCE / _squares(count, decay))
    return min(SCALE_MAX, int(length * (1 - 1e-9)) // (2 * LENGTH_MAX))


def score_noise(p: LeaderParameters) -> float:
    """Standard deviation of the noise in the last weights along a vector of length 1."""
    squares = sum(c * c for c in p.coefficients)
    unit = 2 * LENGTH_MAX * p.scale * p.scale
    return float(p.learning_rate) * math.sqrt(NOISE_VARIANCE * squares) / unit
