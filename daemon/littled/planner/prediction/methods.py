"""Ways to answer: for each, the parameters with the least expected excess error at a given price.

Sources: Dagan and Feldman 2020 (stability, relabelling, realizable), Kasiviswanathan and others
2011 (dense), Dwork and Feldman 2018 (averaging), Papernot and others 2017 (majority, which in zCDP
has the law of `littled.mechanisms.noisy_majority`).

All of this is utility, in floating point. Prices are those of `littled.budget.predictions`, solved
for a rate or a flip on a grid of the other parameters; `littled.planner.predictions` prices what
comes of it once more, exactly, before it is used.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from littled.classes.labelings import LABELINGS_MAX
from littled.learners.online.values import Accounting
from littled.learners.prediction import Method
from littled.planner.prediction.errors import ErrorModel, Link
from littled.portable import Floats, exp, exps, geometric, log, log1p, log1ps

# What the mechanisms can tabulate, and what promises anything.
RATE_MIN, RATE_MAX = 2.0**-16, 30.0
MAJORITY_RATE_MIN = 2.0**-20
# Steps of the grids, as ratios, and of the bisections, which halve a logarithm.
GRID_RATIO = 1.25
BISECTIONS = 40
FLIP_MIN, FLIP_MAX = 1e-5, 0.4
# Examples of a random subset that are expected at the least.
SUBSET_MIN = 2.0
# Standard deviations by which a random subset can be larger than expected (2^-127 and less), and
# as much again for small ones.
SUBSET_DEVIATIONS, SUBSET_SPARE = 14, 130
# Parts of s = e + v of relabelling that the votes get.
VOTE_PARTS = (0.2, 0.35, 0.5, 0.65, 0.8, 0.9)
# Flips of relabelling, and failure masses that they make up for, as parts of the flip.
FLIPS = (0.002, 0.006, 0.02, 0.06, 0.15)
FAILURE_PARTS = (1e-1, 1e-2, 1e-3)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one answer may cost: `amount` in pure epsilon or in rho, and `failure` in delta."""

    accounting: Accounting
    amount: float
    failure: float

    @property
    def draw_rate(self) -> float:
        """Rate of a draw of bounded range twice the rate."""
        pure = self.accounting == "pure"
        return min(self.amount / 2 if pure else math.sqrt(2 * self.amount), RATE_MAX)

    @property
    def ratio(self) -> float:
        """exp(epsilon) of a pure answer: in zCDP epsilon^2 / 2 is its price."""
        pure = self.accounting == "pure"
        return exp(min(self.amount if pure else math.sqrt(2 * self.amount), RATE_MAX))

    @property
    def odds(self) -> float:
        """The change of odds that w^2 / 8 in zCDP pays for, w its logarithm."""
        return exp(min(math.sqrt(8 * self.amount), 2 * RATE_MAX))


@dataclass(frozen=True, slots=True)
class Found:
    """Parameters of one method and the excess error that is expected of its answers."""

    method: Method
    error: float
    rate: float = 0.0
    subset_rate: float = 0.0
    flip: float = 0.0
    chunks: int | None = None
    vote_rate: float = 0.0
    net: float = 0.0


def best_parameters(method: Method, model: ErrorModel, allowance: Allowance) -> Found | None:
    """What this method does best at this price; None where it cannot answer at all."""
    if allowance.amount <= 0:
        return None
    return min(_METHODS[method](model, allowance), key=lambda found: found.error, default=None)


def lists_subsets(model: ErrorModel) -> bool:
    """Whether the class can list the labelings of any random subset worth drawing."""
    return len(_subsets(model)[0]) > 0


# -- one rule, drawn from all ----------------------------------------------------------------------


def _dense(model: ErrorModel, allowance: Allowance) -> Iterator[Found]:
    few, rate = model.hypotheses.dense, allowance.draw_rate
    if few is not None and rate >= RATE_MIN:
        error = model.sampling(model.window) + model.selection(rate, few.rule_count)
        yield Found("dense", min(error, model.worst), rate=rate)


# -- one rule of each chunk ------------------------------------------------------------------------


def _realizable(model: ErrorModel, allowance: Allowance) -> Iterator[Found]:
    yield from _voted("realizable", model, allowance.draw_rate, "coin")


def _majority(model: ErrorModel, allowance: Allowance) -> Iterator[Found]:
    if allowance.accounting == "pure":
        yield from _voted("majority", model, allowance.amount / 2, "laplace")
    else:
        rate = math.sqrt(allowance.amount)
        yield from _voted("majority", model, rate, "concentrated", MAJORITY_RATE_MIN)


def _voted(
    method: Method, model: ErrorModel, rate: float, link: Link, least: float = RATE_MIN
) -> Iterator[Found]:
    if rate < least:
        return
    rate = min(rate, RATE_MAX)
    chunks, missed, misled = _chunk_errors(model)
    errors = model.votes(missed, misled, chunks, np.array(rate), link)
    after = np.minimum(errors, model.worst)
    best = int(after.argmin())
    yield Found(method, float(after[best]), chunks=int(chunks[best]), vote_rate=rate)


def _averaging(model: ErrorModel, allowance: Allowance) -> Iterator[Found]:
    chunks, missed, misled = _chunk_errors(model)
    if allowance.accounting == "pure":
        flips = 1 / (chunks * (allowance.ratio - 1) + 2)
    else:
        flips = _least(lambda flip: _averaging_odds(chunks, flip) <= allowance.odds, len(chunks))
    flips = np.maximum(flips, FLIP_MIN)
    after = np.minimum(model.flipped(np.minimum(missed + misled, model.worst), flips), model.worst)
    best = int(after.argmin())
    if flips[best] < 0.5:
        yield Found(
            "averaging", float(after[best]), chunks=int(chunks[best]), flip=float(flips[best])
        )


def _averaging_odds(chunks: Floats, flip: Floats) -> Floats:
    """`predictions.averaging_odds` of arrays."""
    more = flip + (1 - 2 * flip) / chunks
    return more * (1 - flip) / (flip * (1 - more))


@lru_cache(maxsize=64)
def _chunk_errors(model: ErrorModel) -> tuple[Floats, Floats, Floats]:
    """Odd numbers of chunks (m,), what a rule of one of so many misses, and what misleads it."""
    tried = np.unique(_grid(1.0, max(model.window / 2, 1.0)).astype(np.int64) // 2 * 2 + 1)
    chunks = tried[tried <= model.window].astype(np.float64)
    sizes = (model.window / chunks).tolist()
    missed, misled = ([part(size) for size in sizes] for part in (model.missed, model.sampling))
    return chunks, np.array(missed), np.array(misled)


# -- one rule, drawn from the labelings of a subset ------------------------------------------------


@lru_cache(maxsize=64)
def _subsets(model: ErrorModel) -> tuple[Floats, Floats, Floats]:
    """Expected sizes of subsets (m,), the complexity of their labelings, and what they miss."""
    if model.hypotheses.window_labelings is None:
        return np.empty(0), np.empty(0), np.empty(0)
    sizes = [size for size in _grid(SUBSET_MIN, model.window / 2).tolist() if _listed(model, size)]
    complexity = [model.complexity(model.labelings(math.ceil(size))) for size in sizes]
    missed = [model.net(size) for size in sizes]
    return np.array(sizes), np.array(complexity), np.array(missed)


def _listed(model: ErrorModel, size: float) -> bool:
    """Whether all subsets of this expected size that occur have labelings that can be listed."""
    most = math.ceil(size + SUBSET_DEVIATIONS * math.sqrt(size) + SUBSET_SPARE)
    return model.hypotheses.labelings_max(min(most, model.window)) <= LABELINGS_MAX


def _stability(model: ErrorModel, allowance: Allowance) -> Iterator[Found]:
    sizes, complexity, missed = _subsets(model)
    if not len(sizes):
        return
    q = (sizes / model.window)[:, None]
    flips = _grid(FLIP_MIN, FLIP_MAX)[None, :]
    pure = allowance.accounting == "pure"

    def affordable(rate: Floats) -> NDArray[np.bool_]:
        k = exps(rate)
        if pure:
            return _stable_ratio(k, q, flips) <= allowance.ratio
        return _stable_odds(k, q, flips) <= allowance.odds

    rates = _largest(affordable, (len(sizes), flips.shape[1]))
    with np.errstate(divide="ignore"):
        drawn = complexity[:, None] / (rates * model.window)
    errors = np.minimum(drawn + missed[:, None] + model.sampling(model.window), model.worst)
    after = np.where(rates > 0, model.flipped(errors, flips), np.inf)
    size, flip = np.unravel_index(int(after.argmin()), after.shape)
    if math.isfinite(after[size, flip]):
        yield Found(
            "stability",
            float(after[size, flip]),
            rate=float(rates[size, flip]),
            subset_rate=float(q[size, 0]),
            flip=float(flips[0, flip]),
        )


def _stable_ratio(k: Floats, q: Floats, flip: Floats) -> Floats:
    """`predictions.stable_ratio` of arrays."""
    b = 1 - 2 * flip
    c = b * (1 - q) / (k * k - 1)
    m = c * k * k + flip + b * q
    root = m / (c * k + np.sqrt(np.maximum(c * c * k * k - (c - flip) * m, 0.0)))
    turned = 1 + b * q / flip
    found: Floats = np.where(turned >= k * k, turned, root * root)
    return found


def _stable_odds(k: Floats, q: Floats, flip: Floats) -> Floats:
    """`predictions.stable_odds` of arrays."""
    b = 1 - 2 * flip
    m = b * (1 - q)
    middle = (flip + b * q + m * k / (k + 1)) / (flip + m / (k + 1))
    ends = (flip + b * q) * (1 - flip) / (flip * (1 - flip - b * q))
    return np.maximum(middle * middle, ends)


# -- relabelling -----------------------------------------------------------------------------------


def _relabelling(model: ErrorModel, allowance: Allowance) -> Iterator[Found]:
    """The best of all divisions of the price between selection and votes, for every net tried.

    A failure mass is either in delta, without a flip, or made up for by the flip.
    """
    tried = _nets(model, allowance)
    if not len(tried):
        return
    q, complexity, missed, differing, failure, flip, part = tried.T

    def affordable(step: Floats) -> NDArray[np.bool_]:
        ratio = _relabelled_ratio(step, part, q, differing)
        return np.where(flip, _flipped_ratio(ratio, failure, flip), ratio) <= allowance.ratio

    steps = _largest(affordable, part.shape)
    steps[steps * np.minimum(part, 1 - part) < RATE_MIN] = 0.0
    votes, chunks, voted = _votes(model)
    # the votes of the next lower rate that was tried: they err no less
    index = np.maximum(np.searchsorted(votes, steps * part, side="right") - 1, 0)
    with np.errstate(divide="ignore"):
        drawn = complexity / (steps * (1 - part) * model.window)
    errors = np.minimum(drawn + missed + model.sampling(model.window) + voted[index], model.worst)
    after = np.where(steps > 0, model.flipped(errors, flip), np.inf)
    best = int(after.argmin())
    if math.isfinite(after[best]):
        yield Found(
            "relabelling",
            float(after[best]),
            rate=float(steps[best] * (1 - part[best])),
            subset_rate=float(q[best]),
            flip=float(flip[best]),
            chunks=int(chunks[index[best]]),
            vote_rate=float(steps[best] * part[best]),
            net=float(differing[best]) / (model.window - 1),
        )


def _nets(model: ErrorModel, allowance: Allowance) -> Floats:
    """Rows of q, its complexity, what it misses, u, failure mass, flip, and the votes' part."""
    flipped = [(part * flip, flip) for flip in FLIPS for part in FAILURE_PARTS]
    rows = [
        (size / model.window, complexity, missed, differing, failure, flip, part)
        for size, complexity, missed in zip(*(sizes[::2] for sizes in _subsets(model)), strict=True)
        for failure, flip in ((allowance.failure, 0.0), *flipped)
        if (differing := _differing(model, size / model.window, failure)) is not None
        for part in VOTE_PARTS
    ]
    return np.array(rows)


def _relabelled_ratio(step: Floats, part: Floats, q: Floats, differing: Floats) -> Floats:
    """`predictions.relabelled_ratio` of arrays; e + v = `step`, of which v is `part`."""
    exponent = 2 * step * differing + log1ps(exps(step * (1 + part)))
    ratio: Floats = exps(2 * step) * (1 + exps(np.minimum(exponent, 600)) * q / (1 - q))
    return ratio


def _flipped_ratio(ratio: Floats, failure: Floats, flip: Floats) -> Floats:
    """`predictions.flipped_ratio` of arrays, where the flip is above 0."""
    b, flip = 1 - 2 * flip, np.maximum(flip, FLIP_MIN)
    met = (flip + b * (ratio + failure) / (ratio + 1)) / (flip + b * (1 - failure) / (ratio + 1))
    return np.maximum(1 + b * failure / flip, met)


def _differing(model: ErrorModel, q: float, failure: float) -> int | None:
    """The least u for which q tau^2 / 2 (1 - q)^(u + 1) is at most `failure`, None if none is."""
    labelings = model.hypotheses.labelings_max(model.window - 1)
    if labelings < 2 or failure <= 0:
        return None
    logarithm = log(q) + log(labelings) + log(labelings - 1) - log(2 * failure)
    least = max(math.ceil(logarithm / -log1p(-q)) - 1, 1)
    return least if least < model.window - 1 else None


@lru_cache(maxsize=64)
def _votes(model: ErrorModel) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Rising rates of a vote (m,), the best numbers of chunks there, and their errors.

    Labels are those of one rule, so they have no noise.
    """
    chunks, _, _ = _chunk_errors(model)
    errors = np.array([model.chunk(model.window / number) for number in chunks.tolist()])
    rates = _grid(RATE_MIN, RATE_MAX)
    voted = np.array([model.votes(errors, 0 * errors, chunks, rate, "coin") for rate in rates])
    best = voted.argmin(axis=1)
    return rates, chunks[best].astype(np.int64), voted.min(axis=1)


# -- grids and bisections --------------------------------------------------------------------------


def _grid(low: float, high: float) -> Floats:
    """Rising numbers from low to high, about `GRID_RATIO` apart."""
    if high <= low:
        return np.array([high])
    steps = math.ceil(log(high / low) / log(GRID_RATIO))
    return geometric(low, high, steps + 1)


def _largest(affordable: Callable[[Floats], NDArray[np.bool_]], shape: tuple[int, ...]) -> Floats:
    """The largest rates that are affordable, of this shape; 0 where not even the least one is."""
    low = np.full(shape, RATE_MIN)
    high = np.full(shape, RATE_MAX)
    possible = affordable(low)
    for _ in range(BISECTIONS):
        middle = np.sqrt(low * high)
        holds = affordable(middle)
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return np.where(possible, low, 0.0)


def _least(affordable: Callable[[Floats], NDArray[np.bool_]], count: int) -> Floats:
    """The least flips (count,) that are affordable; 1/2 is."""
    low, high = np.full(count, FLIP_MIN), np.full(count, 0.5)
    for _ in range(BISECTIONS):
        middle = np.sqrt(low * high)
        holds = affordable(middle)
        low, high = np.where(holds, low, middle), np.where(holds, middle, high)
    return high


_METHODS: dict[Method, Callable[[ErrorModel, Allowance], Iterator[Found]]] = {
    "dense": _dense,
    "stability": _stability,
    "relabelling": _relabelling,
    "realizable": _realizable,
    "averaging": _averaging,
    "majority": _majority,
}
