"""What a figure says: how often rules were wrong, with an interval. All of it from public counts.

Source: Clopper and Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case of
the Binomial" (1934), for a count with discrete Laplace noise: the law of such a count grows with
the error rate as that of a count does, and so can be inverted in the same way.

*The interval.* Let each of n examples be a mistake with probability p, independently. Of the count
M with noise Z, s = M + Z was released. The interval is from the least p for which P[M + Z >= s] is
above (1 - L)/2 to the greatest for which P[M + Z <= s] is, L being the level; it holds p with
probability L at the least. It accounts for noise and for chance in the examples, both exactly. A
count below 0 or above n is taken as 0 or n, which only widens it. Where n itself has noise, one
hundredth goes into bounds of n, and of the two ends each is taken with the bound that makes the
interval wider. Beyond `COUNTED_MAX` examples the chance in them is bounded by Hoeffding's
inequality.

Rules may change within a period, and examples may come in any order; what p stands for then, and
what is not claimed, is on the page "How good is the rule" (docs/quality.md).
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from littled.learners.measured import QualitySettings
from littled.portable import exp, log
from littled_protocol.facts import FigureFacts, QualityFacts
from littled_protocol.figures import Figure

LEVEL = 0.95
# Of the chance to miss, this much is for how many examples were counted, where that has noise.
COUNT_MISS = 0.01
# With more examples a binomial law would take long to add up.
COUNTED_MAX = 10_000_000
# Ends of intervals, and error rates, are multiples of this.
UNIT = 1e-6
_DIGITS = 6
# So many standard deviations, and so many more, hold all but 2^-50 of a binomial law.
_DEVIATIONS, _MORE = 9.0, 60

Floats = NDArray[np.float64]


def quality_facts(
    quality: QualitySettings, last: Figure | None, season_position: int, position: int
) -> QualityFacts:
    """What a status says of a learner's rules, JSON-able: the last figure, and when the next comes.

    season_position: where the present season began. position: examples learned so far.
    """
    period = (position - season_position) // quality.period + 1
    following = season_position + period * quality.period if period <= quality.periods else None
    facts: QualityFacts = {"period_examples": quality.period, "next_position": following}
    return facts if last is None else {**facts, **figure_facts(quality, last)}


@lru_cache(maxsize=1024)
def _facts(quality: QualitySettings, figure: Figure) -> FigureFacts:
    rate, lower, upper = error_rate(quality, figure)
    facts: FigureFacts = {
        "error_rate": rate,
        "error_rate_lower": lower,
        "error_rate_upper": upper,
        "level": LEVEL,
        "number": figure.number,
        "season": figure.season,
        "first_position": figure.first,
        "position": figure.end,
        "first_version": figure.first_version,
        "last_version": figure.last_version,
    }
    if figure.right is not None:
        facts["examples_counted"] = min(max(figure.wrong + figure.right, 0), figure.examples)
    return facts


def figure_facts(quality: QualitySettings, figure: Figure) -> FigureFacts:
    """What a figure says, JSON-able: error rate and interval, positions, and versions of rules."""
    return _facts(quality, figure).copy()


def error_rate(quality: QualitySettings, figure: Figure) -> tuple[float, float, float]:
    """The error rate of a period and the ends of its interval, each from 0 to 1.

    The rate is that of the noisy counts; where these say nothing it is the interval's middle.
    """
    rate, wrong = float(quality.rate), figure.wrong
    if figure.right is None:
        least = most = counted = figure.examples
        miss = 1 - LEVEL
    else:
        counted = min(max(wrong + figure.right, 0), figure.examples)
        apart = _both_noises(rate, COUNT_MISS)
        least, most = (
            min(max(wrong + figure.right + way * apart, 0), figure.examples) for way in (-1, 1)
        )
        miss = 1 - LEVEL - COUNT_MISS
    lower = _lower(min(max(wrong, 0), most), most, rate, miss / 2)
    upper = 1 - _lower(least - min(max(wrong, 0), least), least, rate, miss / 2)
    found = wrong / counted if counted else (lower + upper) / 2
    ends = math.floor(lower / UNIT) * UNIT, math.ceil(upper / UNIT) * UNIT
    rounded = [round(min(max(one, 0.0), 1.0), _DIGITS) for one in (found, *ends)]
    return rounded[0], rounded[1], rounded[2]


def _lower(noisy: int, count: int, rate: float, miss: float) -> float:
    """The least p for which a noisy count of `count` examples is `noisy` or more often enough.

    The upper end is that of what is right: a count of examples less mistakes, with noise of the
    same law.
    """
    if not count or noisy <= 0:
        return 0.0
    if count > COUNTED_MAX:
        reach = -log(miss / 2) / rate + math.sqrt(-log(miss / 2) * count / 2)
        return max((noisy - reach) / count, 0.0)
    low, high = 0.0, 1.0
    if float(_noise_tail(np.array([noisy]), rate)[0]) > miss:
        return 0.0
    while high - low > UNIT / 4:
        middle = (low + high) / 2
        if _reached(noisy, count, middle, rate) > miss:
            high = middle
        else:
            low = middle
    return low


def _reached(noisy: int, count: int, p: float, rate: float) -> float:
    """P[M + Z >= noisy], M binomial, 0 < p < 1."""
    mode = min(int((count + 1) * p), count)
    around = int(_DEVIATIONS * math.sqrt(count * p * (1 - p))) + _MORE
    above = np.arange(mode, min(mode + around, count), dtype=np.float64)
    below = np.arange(mode, max(mode - around, 0), -1, dtype=np.float64)
    odds = p / (1 - p)
    up = np.cumprod((count - above) / (above + 1) * odds)
    down = np.cumprod(below / (count - below + 1) / odds)
    weights = np.concatenate((down[::-1], [1.0], up))
    first = mode - len(down)
    gaps = noisy - np.arange(first, first + len(weights))
    return math.fsum(weights * _noise_tail(gaps, rate)) / math.fsum(weights)


def _noise_tail(gaps: NDArray[np.int64], rate: float) -> Floats:
    """P[Z >= gap] of each gap, Z discrete Laplace."""
    ratio = exp(-rate)
    away = np.where(gaps >= 1, gaps, 1 - gaps)
    powers = np.cumprod(np.full(int(away.max()), ratio))
    tail: Floats = powers[away - 1] / (1 + ratio)
    return np.where(gaps >= 1, tail, 1 - tail)


@lru_cache(maxsize=64)
def _both_noises(rate: float, miss: float) -> int:
    """The least q for which the sum of two noises is beyond q or -q with a chance of `miss`.

    P[Z + Z' = k] = ((1 - b)/(1 + b))^2 b^|k| (|k| + (1 + b^2)/(1 - b^2)), b = exp(-rate).
    """
    ratio = exp(-rate)
    scale, more = ((1 - ratio) / (1 + ratio)) ** 2, (1 + ratio**2) / (1 - ratio**2)
    inside, power, reach = scale * more, 1.0, 0
    while 1 - inside > miss:
        reach += 1
        power *= ratio
        inside += 2 * scale * power * (reach + more)
    return reach
