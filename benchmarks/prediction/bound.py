"""The lower bound of Theorem 11, and what the uniformly stable learner does on its instance.

Source: Dagan and Feldman, "PAC Learning with Stable and Private Predictions", Theorem 11 and
appendix D. A set of d points is shattered; each of d - 1 of them has the probability
4 alpha / (d - 1), the last one all the rest; labels are those of a random rule. A g-stable learner
that errs by alpha at most needs n >= (d - 1) / (8 g alpha) examples. So at a fixed n it errs by

    alpha = (d - 1) / (8 g n)

at least on the instance of this very alpha, as long as alpha <= 1/4; for smaller g take 1/4, where
the proof's last line gives 2 alpha (1 - 4 g alpha n / (d - 1)).

Of the learner's parameters those with the least error on the instance are taken for every g, in
hindsight. Their error is known exactly: a point in the subset is answered by the exponential
mechanism on its own examples, any other as the representatives do, which is wrong for half of all
rules. The learner itself is then measured: with windows, subsets and draws of its own.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import mean, stdev

import numpy as np

from benchmarks.prediction.errors import noises
from littled.budget.rounding import exp_upper
from littled.classes.table import Table
from littled.learners.prediction import StablePredictor
from littled.planner.prediction.search import below

SIZE = 2000
DIMENSIONS = (5, 9)
STABILITIES = tuple(2.0**-power for power in range(1, 10))
WINDOWS, DRAWS = 40, 20
ALPHA_MAX = 0.25
RATE_MIN = 2.0**-16


@dataclass(frozen=True)
class BoundPoint:
    """One stability: the bound, the learner's exact error, and the measured one, with its error."""

    dimension: int
    size: int
    stability: float
    alpha: float
    bound: float
    rate: float
    subset_rate: float
    exact: float
    measured: float
    deviation: float


def bound_point(dimension: int, size: int, wanted: float, windows: int, draws: int) -> BoundPoint:
    """The learner of stability `wanted` at most, on the instance that is the worst for it."""
    alpha = min(ALPHA_MAX, (dimension - 1) / (8 * wanted * size))
    rate, q = _best(dimension, size, wanted, alpha)
    table = Table.from_matrix([f"rule {number}" for number in range(2**dimension)], _all(dimension))
    learner = StablePredictor("bench/l", table, size, below(rate), below(q))
    k = exp_upper(learner.rate)
    exact = learner.subset_rate + (1 - learner.subset_rate) * (k - 1) / (k + 1)
    assert exact <= Fraction(wanted)
    rng = np.random.default_rng([dimension, size, round(1 / wanted)])
    errors = [_measured(learner, alpha, rng, window, draws) for window in range(windows)]
    return BoundPoint(
        dimension,
        size,
        wanted,
        alpha,
        lower_bound(dimension, size, wanted, alpha),
        float(learner.rate),
        float(learner.subset_rate),
        exact_error(dimension, size, alpha, float(learner.rate), float(learner.subset_rate)),
        mean(errors),
        stdev(errors) / math.sqrt(windows),
    )


def lower_bound(dimension: int, size: int, stability: float, alpha: float) -> float:
    """What the mean error over all rules is at least, by the last line of appendix D."""
    return max(0.0, 2 * alpha * (1 - 4 * stability * alpha * size / (dimension - 1)))


def exact_error(dimension: int, size: int, alpha: float, rate: float, q: float) -> float:
    """Mean error of the stable learner over rules, windows, subsets and draws."""
    light = 4 * alpha / (dimension - 1)
    shares = [light] * (dimension - 1) + [1 - 4 * alpha]
    return sum(each * _error_at(each, size, rate, q) for each in shares if each)


def _error_at(share: float, size: int, rate: float, q: float) -> float:
    """Mean error at a point with this share of the examples."""
    # the number of its examples, as far as it is likely at all
    spread = 12 * math.sqrt(size * share) + 12
    counts = np.arange(max(0, int(size * share - spread)), min(size, int(size * share + spread)))
    logs = [math.lgamma(size + 1) - math.lgamma(c + 1) - math.lgamma(size - c + 1) for c in counts]
    with np.errstate(divide="ignore"):
        rest = (size - counts) * np.log1p(-share) if share < 1 else np.where(counts == size, 0, -99)
    chances = np.exp(np.array(logs) + counts * math.log(share) + rest)
    outside = (1 - q) ** counts
    wrong = 1 / (1 + np.exp(np.minimum(rate * counts, 700)))
    return float(chances @ (outside / 2 + (1 - outside) * wrong))


def _best(dimension: int, size: int, stability: float, alpha: float) -> tuple[float, float]:
    """Rate and subset rate with q + (1 - q) tanh(e / 2) = g and the least exact error."""
    found = []
    for part in np.linspace(0.02, 0.98, 25):
        q = stability * float(part)
        rate = 2 * math.atanh((stability - q) / (1 - q)) * (1 - 1e-9)
        if rate >= RATE_MIN:
            found.append((exact_error(dimension, size, alpha, rate, q), rate, q))
    return min(found)[1:]


def _all(dimension: int) -> np.ndarray:
    """Every labeling of so many points, in order: representatives are 0 outside the subset."""
    return (np.arange(2**dimension)[:, None] >> np.arange(dimension) & 1).astype(bool)


def _measured(
    learner: StablePredictor, alpha: float, rng: np.random.Generator, window: int, draws: int
) -> float:
    """Mean error of some answers at every point, from one window of a random rule."""
    dimension = learner.hypotheses.vc_dimension
    light = 4 * alpha / (dimension - 1)
    shares = np.array([light] * (dimension - 1) + [1 - 4 * alpha])
    right = rng.random(dimension) < 0.5
    x = rng.choice(dimension, learner.window, p=shares).astype(np.uint8)
    prepared = learner.prepare(x, right[x].astype(np.uint8))
    points = np.arange(dimension, dtype=np.uint8)
    errors = []
    for draw in noises(draws, window):
        candidates, index = learner.select(prepared, draw)
        wrong = candidates.rule(index).evaluate(points) != right
        errors.append(float(wrong @ shares))
    return mean(errors)
