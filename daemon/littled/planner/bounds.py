"""Tail bounds on mistakes and calls. Utility only, in floating point: no price depends on them.

**When the trigger fires.** An epoch fires when q + nu >= U + rho (Lemma A, PRIVACY.md), nu and rho
discrete Laplace, nu of rate e, so P[nu >= x] <= exp(-e x), and rho of the same; or of another one,
where users are protected (Lemma U). With `reach` x = ln(T / m) / e, at most m of a season's T steps
are expected to have noise of x or more; the number of those steps is at most a quantile of the
Poisson law of mean m. Every other fire has seen at least U + rho - x mistakes.

**How often a dense selection can be wrong.** Let every rule h weigh exp(-e errors(h)) and W be
the sum, so W <= N for N rules, and W >= 1 as long as some rule has no errors. Fix the stream (the
adversary is oblivious). The rule of an epoch is drawn from these weights; let it fire after M of
its mistakes. Every rule that makes its M-th mistake of the epoch no later has lost a factor
exp(-e M) by then. Ordered by the time of the M-th mistake, the share of weight up to and with a
rule drawn by weight is stochastically at least uniform. So a fire lowers ln W by at least
X = -ln(1 - (1 - exp(-e M)) q), q uniform, whatever happened before, and

    P[at least n fires after the first call] <= P[X_1 + ... + X_n <= ln N].

(This is the "halving by sampling" of Lyu's section 2 with one draw instead of O(log T): one
uniform rank costs a constant factor in the number of calls and saves the factor O(log T) in price.)

**Adaptive adversaries** see the rule before they choose points, so its rank is not uniform. The
majority of R draws differs from the weights' own vote by at most eta at every point, except with
the probability of uniform convergence over the dual class. Where it errs, rules of at least
1/2 - eta of the weight err as well; over M mistakes at least (1/2 - eta - c) / (1 - c) of the
weight makes c M of them (reverse Markov, as in Claim 6.4), so every fire lowers ln W by at least
-ln(1 - share (1 - exp(-e c M))).
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from littled.portable import LN2, Floats, exp, expm1, expm1s, exps, log, log1p, total

# The logarithm of the weights is followed on a grid of so many steps, rounded against us.
GRID_STEPS = 128
FIRES_MAX = 400
# Threshold noise beyond this many multiples of 1/rate is taken as if it were at its worst.
NOISE_RANGE = 25.0
# Chances below this are not followed any further, unless somebody asks for less.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True, slots=True)
class TriggerNoise:
    """What the trigger's noise can do in a season of `horizon` steps, at `rate`.

    `own_rate`: that of the threshold's noise, if it is another one.
    """

    rate: float
    horizon: int
    own_rate: float | None = None

    @property
    def threshold_rate(self) -> float:
        """The rate of the threshold's noise."""
        return self.rate if self.own_rate is None else self.own_rate

    def reach(self, exceedances: float) -> float:
        """Noise that at most this many steps of the season are expected to reach."""
        return max(log(self.horizon / exceedances), 0.0) / self.rate

    def overshoot(self, epochs: int, failure: float) -> float:
        """Mistakes beyond U that no epoch waits for, except with this probability.

        Half of it is for rho, the other half for the noise of the step at which the mistakes
        reach U + rho + y: it stays below -y with probability at most exp(-e y).
        """
        half = log(2 * max(epochs, 1) / failure)
        return half / self.threshold_rate + half / self.rate

    def delays(self, epochs: int, failure: float) -> float:
        """Mistakes beyond U that so many epochs wait for together, except with this probability.

        An epoch waits for max(rho, 0) + Y at the most, where Y > y only if the step that reaches y
        mistakes beyond U + rho has noise below -y: P[Y >= k] <= a^k, a = exp(-e), e being the
        lower one of two rates. Hence
        E a^(-Y / 2) <= 1 + a^(1/2) and E a^(-max(rho, 0) / 2) = 1 + a^(1/2) / (1 + a), whose
        product is at most 3. With n epochs Markov's inequality bounds the chance of a sum of x or
        more by 3^n exp(-e x / 2).
        """
        return 2 * (epochs * log(3) - log(failure)) / min(self.rate, self.threshold_rate)

    def early(self, failure: float) -> int:
        """By how many mistakes no epoch of a season fires before U, except with this probability.

        A step fires with q >= U + rho - nu, and nu - rho is k or more with at most T times the
        chance of one step. Rho beyond `NOISE_RANGE` counts as if it always fired.
        """
        reach = math.ceil(NOISE_RANGE / self.threshold_rate)
        rho = np.arange(-reach, reach + 1)
        weights = exps(-self.threshold_rate * np.abs(rho))
        weights *= -expm1(-self.threshold_rate) / (1 + exp(-self.threshold_rate))
        beyond = exp(-self.threshold_rate * (reach + 1)) / (1 + exp(-self.threshold_rate))

        def chance(margin: int) -> float:
            gaps = margin + rho
            tails = exps(-self.rate * np.where(gaps > 0, gaps, 1 - gaps)) / (1 + exp(-self.rate))
            passed = float(total(weights * np.where(gaps > 0, tails, 1 - tails)))
            return self.horizon * (passed + beyond)

        most = math.ceil(self.reach(failure) + reach)
        return bisect_left(range(most), -failure, key=lambda margin: -chance(margin))

    def undershoot(self, epochs: int, failure: float) -> float:
        """How far below 0 rho falls in no epoch, except with this probability."""
        return log(max(epochs, 1) / failure) / self.threshold_rate


def poisson_quantile(mean: float, failure: float) -> int:
    """The least n that a Poisson variable exceeds with at most this probability."""
    n, term = 0, exp(-mean)
    below = term
    while 1 - below > failure and n < 10_000:
        n += 1
        term *= mean / n
        below += term
    return n


@lru_cache(maxsize=4096)
def fires_beyond(
    log_rules: float,
    rate: float,
    threshold: float,
    threshold_rate: float,
    negligible: float = NEGLIGIBLE,
) -> tuple[float, ...]:
    """P[X_1 + ... + X_n <= ln N] for n = 1, 2, ... until it is negligible.

    `threshold` is U minus the reach; M = threshold + rho, never below 0, rho of `threshold_rate`.
    """
    if log_rules <= 0:
        return ()
    steps = _lowering(log_rules, rate, threshold, threshold_rate)
    # row i: the law of one step more, begun at i, which is a window on zeros and then the law
    laws = sliding_window_view(np.concatenate((np.zeros(GRID_STEPS), steps)), GRID_STEPS + 1)
    matrix = np.ascontiguousarray(laws[::-1])
    moved = np.empty(matrix.shape)  # one for all steps: to ask for it takes longer than a step
    weight = np.zeros(GRID_STEPS + 1)
    weight[0] = 1.0
    tails: list[float] = []
    while len(tails) < FIRES_MAX:
        weight = total(np.multiply(weight[:, None], matrix, out=moved), axis=0)
        # they never rise; what rounding adds is left out
        tails.append(min(float(total(weight)), tails[-1] if tails else 1.0))
        if tails[-1] < negligible:
            break
    return tuple(tails)


def _lowering(log_rules: float, rate: float, threshold: float, threshold_rate: float) -> Floats:
    """Law of X on the grid 0, ln(N)/steps, ..., rounded down; mass above ln N is left out."""
    rho, stride, mass = _threshold_noise(threshold_rate)
    share = -expm1s(-rate * np.maximum(rho + threshold - stride / 2, 0.0))
    reached = _lost(log_rules) / np.maximum(share, 1e-300)[:, None]
    np.minimum(reached, 1.0, out=reached)
    reached[share <= 0] = 1.0
    reached *= mass[:, None]
    below = total(reached, axis=0)
    law = np.zeros(GRID_STEPS + 1)
    law[:GRID_STEPS] = np.diff(below)
    law[0] += below[0]
    return law


@lru_cache(maxsize=64)
def _threshold_noise(rate: float) -> tuple[NDArray[np.int64], int, Floats]:
    """Values of rho at equal distances, that distance, and the mass of each of them."""
    reach = math.ceil(NOISE_RANGE / rate)
    stride = max(1, reach // 100)  # a coarse grid of rho, each cell at its lowest value
    rho = np.arange(-reach, reach + 1, stride)
    mass = exps(-rate * np.abs(rho))
    mass /= total(mass)
    return rho, stride, mass


@lru_cache(maxsize=64)
def _lost(log_rules: float) -> Floats:
    """The share of weight that is gone at each step of the grid."""
    edges = log_rules / GRID_STEPS * np.arange(GRID_STEPS + 1)
    return -expm1s(-edges)


def calls_needed(tails: tuple[float, ...], failure: float) -> int | None:
    """Calls that suffice except with this probability, the first one included; None if none do."""
    for fires, tail in enumerate(tails):
        if tail <= failure:
            return fires + 1
    return None if tails else 1


def calls_expected(tails: tuple[float, ...]) -> float:
    """Expected number of calls on the worst oblivious stream, the first one included."""
    return 1.0 + math.fsum(tails)


@lru_cache(maxsize=4096)
def draws_for_majority(points: float, dual_dimension: int, deviation: float, failure: float) -> int:
    """Odd number R of draws whose majority is everywhere within `deviation` of the weights' vote.

    The smaller of two bounds. Hoeffding and a union over the points, of which there are
    exp(`points`): 2 N exp(-2 R eta^2). Vapnik and Chervonenkis over the dual class of dimension
    D: 4 ((2R)^D + 1) exp(-R eta^2 / 8). Source: Lyu, remark after Lemma 6.2.
    """
    union = (LN2 + points - log(failure)) / (2 * deviation * deviation)
    draws = 8.0 / (deviation * deviation)
    for _ in range(60):
        growth = dual_dimension * log(2 * draws)
        growth += log1p(exp(-growth))
        before, draws = draws, 8 * (log(4) + growth - log(failure)) / (deviation * deviation)
        if draws == before:
            break
    return math.ceil(min(union, draws)) | 1


@lru_cache(maxsize=1024)
def adaptive_lowering(rate: float, mistakes: float, deviation: float) -> float:
    """Least lowering of ln W at a fire of a majority rule after so many mistakes."""
    best = 0.0
    for part in (step / 100 for step in range(1, 50)):
        share = (0.5 - deviation - part) / (1 - part)
        if share > 0 and mistakes > 0:
            best = max(best, -log1p(share * expm1(-rate * part * mistakes)))
    return best
