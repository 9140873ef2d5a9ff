"""The plan of a scorecard learner: a fixed point over public numbers, and what it takes.

A larger learning rate learns sooner and lets more noise into the weights; smaller batches follow
sooner and make the rows of a season, and so the noise, more. The rate is the one at which the noise
of a usual row's score has the standard deviation `SCORE_NOISE` at the season's end, and a batch is
so large that its sum moves a score by about `BATCH_SPEED` at the most, and by more where the rate
has to be low. All were chosen on real streams, where the optimum is flat (docs/real-streams.md);
prices do not depend on them.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from littled.budget.conversion import epsilon_of_gaussian
from littled.budget.normal import PI_UPPER
from littled.classes.capabilities import AdditiveRules, needed
from littled.learners.leader import LeaderParameters
from littled.learners.leader.judging import COUNTED
from littled.learners.leader.learner import season_event
from littled.learners.leader.parameters import (
    BATCH_MAX,
    DAMPED_BATCHES_MAX,
    LENGTH_MAX,
    NOISE_VARIANCE,
    RATE_BITS,
    ROOT_BITS,
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
# Below this rate longer batches are better, whose noise averages weigh less often: the speed grows
# with the root of how much lower it is, up to three times.
RATE_LOW, FASTER_MAX = 0.05, 3.0
# Of batches that have to be longer; scores that were moved by much more would swing to and fro.
BATCH_SPEED_MAX = 8.0
RATE_MAX = 0.2
# Batches have at least so many examples, and a season at least so many batches, where it can.
BATCH_MIN, BATCHES_MIN = 8, 40
# Seasons of at least so many batches begin with a higher rate, which falls: so many times that of
# others, from a tenth of the season's batches on. Their batches are half as long, but have as many
# examples at least. Smaller budgets learn all season long, and noise hides changes.
FALLING_BATCHES, FALLING_RATE, FALLING_OVER = 300, 2, 10
FALLING_SPEED, FALLING_BATCH_MIN = BATCH_SPEED / 2, 24
# It begins anew where the latest releases, over some hundreds of examples, are longer than noise by
# five standard deviations: on streams that do not change this happens a few times a season.
DRIFT_BATCHES, DRIFT_LEAD = 32, 5
# Of longer seasons batches have more examples, since each takes its time.
SEASON_LONG, BATCH_LONG = 1 << 19, 256
# Noise that is spread over some hundred batches costs less than over all of a season, and learning
# makes up for what is left of it later: over an eighth of a season's, within these limits.
DAMPED_OVER, DAMPED_MIN, DAMPED_MAX = 8, 100, 300
# The warm-up has so many examples as make the noise of the mean a fifth of a usual row, but at most
# a tenth of a season; where that leaves more noise than 0.7 of a row, there is none.
WARMUP_PRECISION, WARMUP_SHARE, WARMUP_NOISE = 5.0, 10, 0.7
# The stump before it: a draw that loses one example in so many, within a tenth of a season; what it
# adds to scores, in points, and in how many times its own batches that fades. Where less than an
# 80th of a season is enough for such a draw, a scorecard has as soon learned more.
STUMP_LOSS, STUMP_SHARE, STUMP_POINTS, STUMP_FADE = 16, 10, 100, 20
STUMP_LEAST = 80
# Where draws are pure, they are more than twice as sharp. A stump has a twelfth of a season, or so
# many examples over the rate, and fades sooner. The trial behind it has as many as tell shares of
# right answers apart by about a hundredth.
PURE_SHARE, PURE_EXAMPLES, PURE_FADE = 12, 400, 8
TRIAL_AFTER, TRIAL_SHARE, TRIAL_EXAMPLES = Fraction(2, 25), 25, 150
# After a trial a scorecard that leads what is always the same by half a deviation is taken again.
TRIAL_RETURN = 1
# Periods of judging, in parts of a season, and the noise in a lead that is wanted, in parts of the
# longest; within limits of the budget's share.
PERIOD_FIRST, PERIOD_LAST, LEAD_NOISE = 160, 8, 0.0035
JUDGING_MIN, JUDGING_MAX = 0.01, 0.07
# The longest periods are shorter where there is no more noise than this in a lead. A scorecard is
# left for what leads by half a percent, or, where there is more noise, by so many deviations more.
LEAD_NOISY, LEAD_USUAL, LEAD_CAREFUL = 0.007, 0, 2
# Cosines of each of k columns in order: 128 / k^2, but at least 4 and at most 32.
COSINES_TOGETHER, COSINES_MIN, COSINES_OF_FEW = 128, 4, 32
# Categories are told by flags, and hardly by their order, from so many on: up to eight values that
# are listed in an order are told by as few cosines as well, such as the clarity of diamonds.
FLAGS_FROM = 9
# Published weights move half-way after each batch: streams whose days differ lose by more.
AVERAGE_BATCHES = 2
# Rows that are shorter than this share of usual ones are not stretched to a common length.
SHORT_SHARE = Fraction(4, 5)
# Public times of a season: the ends of all batches. On flights a rule that comes three batches of
# 28 later errs a quarter of a point more.
PUBLIC_TIMES = DAMPED_BATCHES_MAX
# There a scorecard is published if rows score differently by so many points, a fifth of a unit of
# log odds: real streams lose nothing, and where nothing changes one rule in fifty is published.
LEAST_CHANGE = 20
# With coarser coefficients, rounding them would lose more than the budget's size does.
SCALE_MIN = 8
# Learning rates are multiples of this.
RATE_UNIT = 1 << 20
STEPS = 60
# From so many examples on at epsilon 1 scorecards are ahead of stumps in the mean of real streams,
# at epsilon 0.1 from ten times as many on, at epsilon 4 from fewer (docs/which-class.md).
WORTHWHILE_EXAMPLES = 5_000
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
    gaussian: ClassVar[bool] = True
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
        """The plan under one way to divide the budget; None if it leaves nothing for noise."""
        if budget.accounting != "zcdp" or request.hypotheses.additive is None:
            return None
        parameters = planned(request.hypotheses.additive, budget)
        if parameters is None:
            return None
        parameters = replace(parameters, columns_max=request.columns_max, monotone=request.monotone)
        plan = LeaderPlan(request.name, request.hypotheses, parameters, request.words)
        too_large = (
            self.snapshot_bytes_max(plan) > SNAPSHOT_BYTES_MAX
            or self.memory_bytes_max(plan) > MEMORY_BYTES_MAX
        )
        # a tiny delta, or a huge epsilon, has no room for the distance from normal noise
        beside = budget.failure + budget.precision
        if too_large or (budget.gaussian and plan.season_cost("").delta > beside):
            return None
        return LeaderEstimate(plan, score_noise(parameters))

    def cost(self, request: LeaderRequest, estimate: LeaderEstimate) -> Cost:
        """The noise of a score."""
        return Cost(logarithm=log(estimate.score_noise))

    def is_worthwhile(
        self, request: LeaderRequest, estimate: LeaderEstimate, stream: StreamRequest
    ) -> bool:
        """Whether there are enough examples for the budget: scores are equally noisy at the end."""
        enough = WORTHWHILE_EXAMPLES * stream.unit.examples * len(stream.learners)
        return stream.horizon * stream.epsilon >= enough

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
        columns = max(len(p.coefficients), len(p.warmup_coefficients))
        sums = 2 * 8 * rules.features(p.cosines, p.flags_from).dimensions * columns
        users = 20 * p.horizon if p.user_examples_max is not None else 0
        return sums + users + limits.frame_bytes_max + 4096

    def memory_bytes_max(self, plan: LeaderPlan) -> int:
        """About how much memory the learner takes: its state twice, while a batch ends."""
        p, rules = plan.parameters, needed(plan.hypotheses.additive)
        users = USER_BYTES * p.horizon if p.user_examples_max is not None else 0
        return 2 * self.snapshot_bytes_max(plan) + users + CELL_BYTES * sum(rules.sizes)


@lru_cache(maxsize=256)
def planned(rules: AdditiveRules, budget: Budget) -> LeaderParameters | None:
    """The parameters for a part of a budget in zCDP or GDP; None if it is too small.

    rho is mu^2 / 2 where it is GDP.
    """
    n, rho, most = budget.horizon, float(budget.answers_amount), budget.unit.examples
    if rho <= 0:
        return None
    # the price of c examples of a user grows with c^2
    own = rho / (most * most)
    share = judging_share(n, own)
    rows = own * (1 - share)
    cosines = cosines_of(rules)
    batch, decay, rate = _batch(n, rows, BATCH_SPEED, BATCH_MIN)
    falls = n // batch >= FALLING_BATCHES and n <= SEASON_LONG
    if falls:
        batch, decay, rate = _batch(n, rows, FALLING_SPEED, min(batch, FALLING_BATCH_MIN))
        rate = min(FALLING_RATE * rate, BATCH_SPEED_MAX / batch)
    warmup = _warmup(rules.features(cosines, FLAGS_FROM).dimensions, n, rows, batch)
    draws = _draws(rules, budget, own, batch, warmup)
    batches = n // batch - draws["stump_batches"] - warmup - draws["trial_batches"]
    damping = Fraction(1, max(DAMPED_MIN, min(DAMPED_MAX, n // batch // DAMPED_OVER)))
    falling = decay * (1 - damping)
    scale = scale_of(batches, falling, rows)
    warmup_scale = scale_of(warmup, falling, rows / 2) if warmup else 0
    if min(scale, warmup_scale or scale) < SCALE_MIN:
        return None
    last = int(_period(n, own, share)) // batch
    first = max(1, last if draws["trial_batches"] else batches // PERIOD_FIRST)
    noisy = _lead_noise(own, share) > LEAD_NOISY * n / PERIOD_LAST
    moments = _multiple(rows / 2, 5 * AdditiveRules.USUAL_LENGTH * AdditiveRules.USUAL_LENGTH)
    try:
        found = LeaderParameters(
            epsilon=budget.epsilon,
            horizon=n,
            batch_examples=batch,
            decay=decay,
            learning_rate=max(Fraction(1), Fraction(round(rate * RATE_UNIT))) / RATE_UNIT,
            scale=scale,
            warmup=warmup,
            warmup_scale=warmup_scale,
            moments_scale=min(1 << 24, moments) if warmup else 0,
            user_examples_max=budget.user_examples_max,
            cosines=cosines,
            flags_from=FLAGS_FROM,
            average_batches=AVERAGE_BATCHES,
            publish_every=max(1, -(-(n // batch) // PUBLIC_TIMES)),
            judging_scale=_multiple(own * share, COUNTED * 4),
            judging_first=first,
            judging_last=max(first, last),
            least_change=LEAST_CHANGE,
            damping=damping,
            short_share=SHORT_SHARE,
            judging_lead=LEAD_CAREFUL if noisy else LEAD_USUAL,
            falling_after=n // batch // FALLING_OVER if falls else 0,
            drift_batches=DRIFT_BATCHES if falls else 0,
            drift_lead=DRIFT_LEAD if falls else 0,
            accounting="gaussian" if budget.gaussian else "zcdp",
            **draws,
        )
        return _with_pure_draws(found, budget) if found.trial_batches else found
    except ValueError:  # a season so long that sums would not fit into 64 bits
        return None


def cosines_of(rules: AdditiveRules) -> int:
    """Cosines of each column in order: more where few columns are there to say anything."""
    ordered = sum(1 for inner in rules.ordered if len(inner) > 2)
    return max(COSINES_MIN, min(COSINES_OF_FEW, COSINES_TOGETHER // max(1, ordered * ordered)))


def judging_share(n: int, rho: float) -> float:
    """The share of rho by which the noise in a lead is `LEAD_NOISE` of the longest periods."""
    noise = LEAD_NOISE * n / PERIOD_LAST
    wanted = COUNTED / (rho * noise * noise)
    return max(JUDGING_MIN, min(JUDGING_MAX, wanted))


def _period(n: int, rho: float, share: float) -> float:
    """Examples of the longest periods: where they can be shorter for that noise, they are."""
    return min(n / PERIOD_LAST, _lead_noise(rho, share) / LEAD_NOISY)


def _lead_noise(rho: float, share: float) -> float:
    """Standard deviation of a lead, in examples.

    The counts of a period have the variance v = 3 / (2 share rho), each of two that are compared.
    """
    return math.sqrt(COUNTED / (rho * share))


def _draws(
    rules: AdditiveRules, budget: Budget, own: float, batch: int, warmup: int
) -> dict[str, Any]:
    """The parameters of what is drawn from examples of its own: a stump, and in a trial."""
    n = budget.horizon
    # a draw of rate e costs e^2 / 2, or pi / 2 times as much
    batches, rate = _stump(rules, n, own * float(2 / PI_UPPER) if budget.gaussian else own, batch)
    trial, trial_after, fade = 0, 0, STUMP_FADE
    pure = _pure_rate(budget) if batches else Fraction(0)
    if pure:
        batches, fade = _part(n, batch, PURE_SHARE, PURE_EXAMPLES / pure), PURE_FADE
        trial = _part(n, batch, TRIAL_SHARE, TRIAL_EXAMPLES / pure)
        trial_after = max(batches + warmup, round(TRIAL_AFTER * n / batch))
    return {
        "stump_batches": batches,
        "stump_rate": rate,
        "stump_points": STUMP_POINTS if batches else 0,
        "stump_fade": fade * batches,
        "trial_after": trial_after,
        "trial_batches": trial,
        "judging_return": TRIAL_RETURN if trial else 0,
    }


def _stump(rules: AdditiveRules, n: int, rho: float, batch: int) -> tuple[int, Fraction]:
    """Batches from which a stump is drawn, and the rate of a draw; none where none is full.

    By the bound of the exponential mechanism a draw from m examples loses at most
    (1 + ln N) / (e m) of them, N stumps: 1 in `STUMP_LOSS` here, if that is not too long. The
    budget of a long season is so large that scorecards need no stump (`STUMP_LEAST`).
    """
    rate = Fraction(math.floor(math.sqrt(2 * rho) * (1 - 1e-9) * RATE_UNIT), RATE_UNIT)
    if not rate:
        return 0, rate
    stumps = 2 * (sum(rules.sizes) - len(rules.sizes) + 1)
    enough = STUMP_LOSS * (1 + log(stumps)) / float(rate)
    batches = int(min(n / STUMP_SHARE, enough)) // batch if enough * STUMP_LEAST > n else 0
    return (batches, rate) if batches else (0, Fraction(0))


def _pure_rate(budget: Budget) -> Fraction:
    """About the rate of pure draws, half of epsilon; 0 where there can be none."""
    if not budget.gaussian or budget.share > 1 or budget.unit.is_user:
        return Fraction(0)
    return budget.learning / 2


def _with_pure_draws(p: LeaderParameters, budget: Budget) -> LeaderParameters:
    """Parameters whose draws cost the epsilon that all else converts to, and no more."""
    delta = budget.conversion_delta
    epsilon = epsilon_of_gaussian(season_event(p).rows, delta)
    rate = Fraction(math.floor(epsilon * RATE_UNIT / 2), RATE_UNIT)
    return replace(p, stump_rate=rate, conversion_delta=delta)


def _part(n: int, batch: int, share: int, examples: Fraction) -> int:
    """Batches of so many examples, or of a part of a season where that is less; one at least."""
    return max(1, round(min(Fraction(n, share), examples) / batch))


def _warmup(dimensions: int, n: int, rho: float, batch: int) -> int:
    """Batches of the warm-up, one at least; 0 where the mean of rows would be mostly noise."""
    needed = math.sqrt(5 * dimensions / rho)
    longest = min(n / WARMUP_SHARE, WARMUP_PRECISION * needed)
    enough = needed <= WARMUP_NOISE * longest and batch <= n / WARMUP_SHARE
    return max(1, int(longest) // batch) if enough else 0


def _multiple(rho: float, squares: int) -> int:
    """The largest multiple of numbers that differ by so many squares that rho pays for."""
    return math.isqrt(int(2 * rho * (1 - 1e-9) * NOISE_VARIANCE / squares))


def _batch(n: int, rho: float, least_speed: float, least: int) -> tuple[int, Fraction, float]:
    """The size of a batch, the decay and the learning rate that fit each other."""
    deviation, rate, batch, decay = math.sqrt(1 / (2 * rho)), RATE_LOW, 1, Fraction(1)
    usual = batch
    for _ in range(STEPS):
        speed = least_speed * max(1.0, min(FASTER_MAX, math.sqrt(RATE_LOW / rate)))
        usual = max(least, min(round(speed / rate), max(least, n // BATCHES_MIN)))
        longer = max(-(-n // DAMPED_BATCHES_MAX), BATCH_LONG if n > SEASON_LONG else 1)
        batch = min(max(usual, longer), n, BATCH_MAX)
        decay = 1 - Fraction(1, max(2, round(2 * n / batch)))
        rate = min(RATE_MAX, SCORE_NOISE / (deviation * _squares(n // batch, decay)))
    if batch > usual:  # as many batches as there can be: long ones move scores by no more
        rate = min(rate, BATCH_SPEED_MAX / batch)
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


@lru_cache(maxsize=256)
def score_noise(p: LeaderParameters) -> float:
    """Standard deviation of the noise in the last weights along a vector of length 1.

    As far as learning does not make up for it, and if the rate never begins anew.
    """
    unit = 2 * LENGTH_MAX * p.scale
    if not p.damping:
        squares = sum(c * c for c in p.coefficients) / (p.scale * p.scale)
    elif p.falling_after:
        squares = _falling_squares(p)
    else:  # of decaying sums of the series that undoes the coefficients
        squares, current, roots = 0.0, 0.0, p.roots
        for k in range(p.batches):
            current = current * float(p.decay) + (roots[k] / 2**ROOT_BITS if k < len(roots) else 0)
            squares += current * current
    return float(p.learning_rate) * math.sqrt(NOISE_VARIANCE * squares) / unit


def _falling_squares(p: LeaderParameters) -> float:
    """The squares of what releases are multiplied by in the last weights, at rates that fall."""
    rates, power = [], 1 << ROOT_BITS
    for batch in reversed(range(p.batches)):
        rates.append(p.falling(batch) * power >> ROOT_BITS)
        power = power * p.decay.numerator // p.decay.denominator
    last_first = np.array(rates, dtype=np.int64)
    multiples = np.zeros(p.batches, dtype=np.int64)
    for k, root in enumerate(p.roots[: p.batches]):
        multiples[k:] += root * last_first[: p.batches - k]
    squares: int = sum(each * each for each in multiples.tolist())
    return squares / (1 << 2 * (ROOT_BITS + RATE_BITS))
