"""Other private methods, at (epsilon, 1e-6) for the replacement of one example.

Every docstring has the guarantee. Noise is floating-point noise of numpy, at no charge for its
precision, which favours these methods.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from benchmarks.learning.baselines import (
    Outcome,
    PeriodicExponential,
    Variant,
    clipped_gradient,
    gaussian_deviation,
    noisy_counts,
)
from benchmarks.real.features import FORMS, matrix_of
from benchmarks.real.hindsight import stumps_of
from benchmarks.real.method import Method, Setting
from benchmarks.real.streams import DELTA, Flags, RealStream

Floats = NDArray[np.float64]


def flagged(outcome: Outcome, count: int) -> Flags:
    """Positions of mistakes as flags (n,)."""
    wrong = np.zeros(count, dtype=np.bool_)
    wrong[outcome.positions] = True
    return wrong


class PeriodicStumps(Method):
    """The exponential mechanism over all stumps every fixed number of examples.

    Source and guarantee: `benchmarks.learning.baselines.PeriodicExponential`.
    """

    name, title = "exponential", "exponential mechanism"

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Lengths of periods, and the data that a draw sees."""
        return (
            *({"every": every, "data": "all"} for every in (100, 300, 1000, 3000, 10_000)),
            *({"every": every, "data": "fresh"} for every in (100, 300, 1000, 3000, 10_000)),
        )

    def wrong(self, stream: RealStream, epsilon: str, seed: int, setting: Setting) -> Flags:
        """Draw, predict a slice, count it; "never" comes first."""
        rules = stumps_of(stream.rows, max(stream.sizes))
        variant: Variant = {"every": float(setting["every"]), "data": str(setting["data"])}
        method = PeriodicExponential(Fraction(epsilon))
        never = 2 * rules.stumps + 1
        outcome = method.run_on(rules, stream.y, variant, self.rng(stream, seed), first_rule=never)
        return flagged(outcome, len(stream))


class AggregatedStumps(Method):
    """Subsample and aggregate: teachers vote for stumps, and a stable histogram counts.

    Source: Nissim, Raskhodnikova and Smith, "Smooth Sensitivity and Sampling in Private Data
    Analysis". In every epoch of public length, example number t belongs to teacher t mod k. Each
    teacher votes for the stump that errs least on its examples, the first of these, with up to 7
    thresholds a feature, so that votes can meet. The stump with the largest noisy count is
    published if that is above the threshold; else the rule stays.

    Guarantee: a replaced example changes one vote of one epoch. See
    `benchmarks.learning.baselines.StableHistogram`: one histogram is (epsilon, delta)-DP, and
    epochs are of different examples.
    """

    name, title = "aggregate", "subsample and aggregate"
    BINS = 8

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Epochs and teachers."""
        choices = (
            (1000, 50),
            (3000, 50),
            (10_000, 50),
            (10_000, 150),
            (20_000, 350),
            (40_000, 500),
        )
        return tuple({"every": every, "teachers": teachers} for every, teachers in choices)

    def wrong(self, stream: RealStream, epsilon: str, seed: int, setting: Setting) -> Flags:
        """Epoch by epoch."""
        every, teachers = int(setting["every"]), int(setting["teachers"])
        rng, sizes = self.rng(stream, seed), np.array(stream.sizes)
        coarse = stream.rows.astype(np.int64) * np.minimum(sizes, self.BINS) // sizes
        rules = stumps_of(coarse.astype(np.uint16), self.BINS)
        published = 2 * rules.stumps + 1  # never
        wrong = np.zeros(len(stream), dtype=np.bool_)
        for first in range(0, len(stream), every):
            part = slice(first, first + every)
            cells, y = rules.cells[part], stream.y[part]
            wrong[part] = rules.labels(published, cells) != y
            if len(y) < every:
                break
            ballots = [
                int(rules.losses(cells[teacher::teachers], y[teacher::teachers]).argmin())
                for teacher in range(teachers)
            ]
            votes = np.bincount(ballots, minlength=2 * rules.stumps + 2)
            noisy = noisy_counts(votes, float(epsilon), rng)
            if np.isfinite(noisy.max()):
                published = int(noisy.argmax())
        return wrong


class PrivateLeader(Method):
    """DP-FTRL: linear logistic regression that follows the regularised leader on noisy sums.

    Source: Kairouz et al., "Practical and Private (Deep) Learning without Sampling or Shuffling";
    the square-root factorisation of the prefix sums is from Fichtenberger, Henzinger and Upadhyay,
    "Constant matters". Weights are -rate / (1 + shrink t) times the noisy sum of all gradients of
    the t examples so far, renewed after each batch.

    Guarantee: gradients have length at most 1, since features have; a replaced example moves one
    batch's sum by 2 at the most. With prefix sums factorised as R R, noise R Z hides R applied to
    the batches' sums, which moves by 2 |R's first column|; batches may depend on what was released
    before (Denisov et al., "Improved Differential Privacy for SGD via Optimal Private Linear
    Operators on Adaptive Streams", Theorem 2.1). Z's deviation is the least that is
    (epsilon, delta)-DP for one Gaussian mechanism (Balle and Wang).
    """

    name, title = "dp-ftrl", "DP-FTRL"

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Features, batches, rates, and how weights shrink."""
        rates = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
        grid = product(FORMS, (64, 256, 1024), rates, (0.0, 3e-5))
        return tuple(
            {"features": form, "batch": batch, "rate": rate, "shrink": shrink}
            for form, batch, rate, shrink in grid
        )

    def wrong(self, stream: RealStream, epsilon: str, seed: int, setting: Setting) -> Flags:
        """Predict a batch with the weights published before it, then learn from it."""
        batch, shrink = int(setting["batch"]), float(setting["shrink"])
        features, y = matrix_of(stream, str(setting["features"])), stream.y
        batches = -(-len(stream) // batch)
        noise = _prefix_noise(batches, features.shape[1], epsilon, self.rng(stream, seed))
        wrong = np.zeros(len(stream), dtype=np.bool_)
        gradients, weights = np.zeros(features.shape[1]), np.zeros(features.shape[1])
        for number in range(batches):
            part = slice(number * batch, (number + 1) * batch)
            x = features[part].astype(np.float64)
            score = x @ weights
            wrong[part] = (score > 0) != y[part]
            gradients += clipped_gradient(x, y[part], score)
            rate = float(setting["rate"]) / (1 + shrink * (number + 1) * batch)
            weights = -rate * (gradients + noise[number])
        return wrong


def _prefix_noise(batches: int, width: int, epsilon: str, rng: np.random.Generator) -> Floats:
    """R Z (batches, width) for the square root R of the prefix sums."""
    column = np.cumprod(np.concatenate(([1.0], 1 - 0.5 / np.arange(1, batches))))
    sensitivity = 2 * math.sqrt(float(column @ column))
    deviation = sensitivity * gaussian_deviation(float(epsilon), float(DELTA))
    white = rng.normal(0, deviation, (batches, width))
    length = 1 << (2 * batches - 1).bit_length()
    spectrum = np.fft.rfft(white, length, axis=0) * np.fft.rfft(column, length)[:, None]
    found: Floats = np.fft.irfft(spectrum, length, axis=0)[:batches]
    return found


class PrivateDescent(Method):
    """DP-SGD: linear logistic regression by noisy gradient steps, one pass over minibatches.

    Source and guarantee: `benchmarks.learning.baselines.PrivateGradient`, with features that have
    length at most 1.
    """

    name, title = "dp-sgd", "DP-SGD"

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Features, batches, steps and how they fall."""
        grid = product(FORMS, (300, 1000, 3000), (1.0, 4.0, 16.0, 64.0, 256.0), (0.0, 0.5))
        return tuple(
            {"features": form, "batch": batch, "step": step, "decay": decay}
            for form, batch, step, decay in grid
        )

    def wrong(self, stream: RealStream, epsilon: str, seed: int, setting: Setting) -> Flags:
        """Predict a batch with the weights published before it, then learn from it."""
        batch, rng = int(setting["batch"]), self.rng(stream, seed)
        features, y = matrix_of(stream, str(setting["features"])), stream.y
        deviation = 2 * gaussian_deviation(float(epsilon), float(DELTA))
        wrong, weights = np.zeros(len(stream), dtype=np.bool_), np.zeros(features.shape[1])
        for number, first in enumerate(range(0, len(stream), batch)):
            part = slice(first, first + batch)
            x = features[part].astype(np.float64)
            score = x @ weights
            wrong[part] = (score > 0) != y[part]
            gradient = clipped_gradient(x, y[part], score)
            noisy = gradient + rng.normal(0, deviation, len(weights))
            step = float(setting["step"]) / (1 + number) ** float(setting["decay"])
            weights = weights - step * noisy / batch
        return wrong
