"""Relabelling against stability: the parameters of least proven error, and the examples they need.

Source: Dagan and Feldman, "PAC Learning with Stable and Private Predictions", Theorem 3 and
Corollary 2, which leave the constants open. Utility only, in floating point: no price depends on
what is computed here. A choice is a set of parameters, and its price is that of
`littled.budget.predictions`, exact and rounded up, which every choice is checked against. The
bounds on errors are proven and so pessimistic; plans are made with those of
`littled.planner.prediction.errors`, which are fitted.

**What an answer errs by**, beyond the class's best rule h* on a window of n examples, t = the
number of labelings that n points can have, N = the number that a subset can have:

- *cover*: a rule that agrees with h* on a subset of rate q differs from it on at most
  ln(t n) / -ln(1 - q) examples, except with probability 1/n: a union bound over t labelings.
- *selection*: a draw from N candidates at rate e is ln(N) / e examples behind the best of them on
  average (Steinke and Ullman, "Subgaussian Tail Bounds via Stability Arguments").
- *flip*: with probability a.
- *votes*: the rules of k chunks, each without errors on n / k relabelled examples, differ from the
  relabelling rule on a share of b = k ln(t n) / n of the window on average; where less than a third
  of them do, the coin of rate v errs with probability exp(-v k / 3); elsewhere, on a share of 3 b
  at most, it may always err.

By stability the sum of the first three counts, by relabelling that of the first two and the votes.
How much a window says about the examples after it is the same for both and left out. With d the
dimension and x the error, stability needs examples in proportion to d / x^2 and relabelling to
d^2 / x, with much larger constants: its net must hold for every subset that is drawn, at a failure
mass of delta, and all of C (`predictions.relabelled_ratio`) is paid for by a smaller subset.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial

from littled.budget import predictions
from littled.budget.rounding import exp_upper, ln_upper
from littled.portable import exp, expm1, log, log1p

# Rates that are searched: each so many times smaller than the one before.
GRID_RATIO = 1.25
SUBSET_RATE_MAX = 0.5
FLIP_MAX = 0.45
# Shares of the rates e + v that go to the votes.
VOTE_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
BISECTIONS = 60
# Beyond it an exponential is taken as infinite.
EXPONENT_MAX = 300.0
# A chosen rate is rounded down to a multiple of this part of itself.
DIGITS = 10**6

Labelings = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class StabilityChoice:
    """e, q and a of answers by stability, and a bound on what such an answer errs by."""

    rate: Fraction
    subset_rate: Fraction
    flip: Fraction
    error: float


@dataclass(frozen=True, slots=True)
class RelabellingChoice:
    """e, v, q, eta and k of answers by relabelling, and a bound on what such an answer errs by."""

    rate: Fraction
    vote_rate: Fraction
    subset_rate: Fraction
    net: Fraction
    chunks: int
    error: float


def stability_parameters(epsilon: Fraction, window: int, labelings: Labelings) -> StabilityChoice:
    """The choice of least error for pure `epsilon` an answer. ValueError if there is none."""
    best: tuple[float, float, float, float] | None = None
    for q in _falling(SUBSET_RATE_MAX, 1 / window):
        for flip in _falling(FLIP_MAX, 1 / window):
            if flip * expm1(epsilon) <= (1 - 2 * flip) * q:
                break
            rate = _largest(partial(_stability_epsilon, q, flip), float(epsilon))
            error = _cover_and_selection(window, q, rate, labelings) + flip
            if best is None or error < best[0]:
                best = error, rate, q, flip
    if best is None or best[0] >= 1:
        raise ValueError("no parameters by stability err less than always, for this window")
    error, rate, q, flip = best
    exact = StabilityChoice(_down(rate), _down(q), _down(flip), error)
    k = exp_upper(exact.rate)
    assert ln_upper(predictions.stable_ratio(k, exact.subset_rate, exact.flip)) <= epsilon
    return exact


def relabelling_parameters(
    epsilon: Fraction, delta: Fraction, window: int, labelings: Labelings
) -> RelabellingChoice:
    """The choice of least error for pure `epsilon` and `delta` an answer, over q, e, v, eta and k.

    For each q the net is the least with q f <= delta, and the rates are the largest for epsilon.
    ValueError if there is none.
    """
    best: RelabellingChoice | None = None
    pairs = log(labelings(window - 1)) * 2 - log(2)
    for q in _falling(SUBSET_RATE_MAX, 1 / window):
        differing = math.ceil((log(q / delta) + pairs) / -log1p(-q) + 1e-9) - 1
        if not 0 <= differing < window - 1:
            continue
        for share in VOTE_SHARES:
            total = _largest(partial(_relabelling_epsilon, share, q, differing), float(epsilon))
            if total:
                choice = _relabelling_choice(total, share, q, differing, window, labelings)
                best = choice if best is None or choice.error < best.error else best
    if best is None or best.error >= 1:
        raise ValueError("no parameters by relabelling err less than always, for this window")
    share_of_all, net = best.subset_rate, best.net
    ratio = predictions.relabelled_ratio(best.rate, best.vote_rate, share_of_all, window, net)
    count = Fraction(labelings(window - 1))
    assert ln_upper(ratio) <= epsilon
    assert share_of_all * predictions.no_net(window, net, share_of_all, count) <= delta
    return best


def examples_needed(error: float, of_window: Callable[[int], float], window_max: int) -> int | None:
    """The smallest window, up to 1 in 100, whose choice errs so little; None beyond the largest.

    `of_window` is the error of a window's choice; it may raise ValueError for windows too small.
    """

    def good(window: int) -> bool:
        try:
            return of_window(window) <= error
        except ValueError:
            return False

    high = 16
    while not good(high):
        high *= 2
        if high > window_max:
            return None
    low = high // 2
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def _relabelling_choice(
    total: float, share: float, q: float, differing: int, window: int, labelings: Labelings
) -> RelabellingChoice:
    """The rates e + v = `total` shared out, with the best number of chunks for them."""
    rate, vote = (1 - share) * total, share * total
    size = log(labelings(window) * window)
    # where the derivative of 3 k size / n + exp(-v k / 3) is 0
    chunks = 3 / vote * log(max(vote * window / (9 * size), exp(vote / 3)))
    k = min(max(round(chunks), 1), window)
    votes = 3 * k * size / window + exp(-vote * k / 3)
    error = _cover_and_selection(window, q, rate, labelings) + votes
    return RelabellingChoice(
        _down(rate), _down(vote), _down(q), Fraction(differing, window - 1), k, error
    )


def _cover_and_selection(window: int, q: float, rate: float, labelings: Labelings) -> float:
    cover = log(labelings(window) * window) / -log1p(-q) + 1
    size = min(window, math.ceil(q * window + 3 * math.sqrt(q * window)))
    return (cover + log(labelings(size)) / rate) / window if rate else math.inf


def _stability_epsilon(q: float, flip: float, rate: float) -> float:
    """`predictions.stable_ratio` in floating point."""
    if rate > EXPONENT_MAX:
        return math.inf
    k, b = exp(rate), 1 - 2 * flip
    if 1 + b * q / flip >= k * k:
        return log(1 + b * q / flip)
    c = b * (1 - q) / (k * k - 1)
    m = c * k * k + flip + b * q
    return 2 * log(m / (c * k + math.sqrt(c * c * k * k - (c - flip) * m)))


def _relabelling_epsilon(share: float, q: float, differing: int, total: float) -> float:
    """The logarithm of `predictions.relabelled_ratio` in floating point."""
    exponent = 2 * total * differing
    if exponent + total > EXPONENT_MAX:
        return math.inf
    growth = exp(exponent) * (1 + exp(total * (1 + share)))
    return 2 * total + log1p(growth * q / (1 - q))


def _largest(epsilon_of: Callable[[float], float], epsilon: float) -> float:
    """The largest rate, a little less, whose price is at most epsilon; 0 if there is none."""
    low, high = 0.0, epsilon + 1
    while epsilon_of(high) <= epsilon:
        high *= 2
        if high > EXPONENT_MAX:
            break
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(middle) <= epsilon else (low, middle)
    return low * (1 - 1e-6)


def _falling(first: float, last: float) -> Iterator[float]:
    """A geometric grid from `first` down to `last`, of numbers that are fractions of few digits."""
    value = first
    while value >= last:
        yield float(_down(value))
        value /= GRID_RATIO


def _down(value: float) -> Fraction:
    """A fraction of few digits that is at most this, and nearly equal; of its own float, itself."""
    scale = DIGITS * 10 ** max(0, -Decimal(value).adjusted()) if value else 1
    return Fraction(math.floor(value * scale * (1 + 1e-12)), scale)
