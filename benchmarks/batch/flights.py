"""A rule from each window of real flights, and how it does on the flights that follow."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from benchmarks.batch.laws import Sample
from benchmarks.batch.windows import DELTA, EPSILON, HORIZON, drawn_rule, key_of
from littled.budget.conversion import rho_of_epsilon
from littled.classes.names import class_from_name
from littled.cli.flights import DELAY_MAX, DELAY_MIN, Flights, read_flights
from littled.learners.batch import BatchLearner
from littled.planner.batch.request import BatchRequest
from littled.planner.batch.search import estimate
from littled.planner.budgets import Budget
from littled_protocol.rules import ThresholdRule

WINDOWS = (300, 1_000, 3_000, 10_000)
NEXT = 5_000
PLACES = 40
SIZE = DELAY_MAX - DELAY_MIN + 1
# Steps and rates of gradient descent that are tried.
SETTINGS = tuple(product((10, 40), (1.0, 4.0, 16.0, 64.0)))


@dataclass(frozen=True)
class FlightRow:
    """Mean errors on the flights after windows of one length.

    descent: of the best setting, known in hindsight. window_best: the window's best rule, without
    privacy. hindsight: the best rule for the flights after it.
    """

    window: int
    places: int
    littled: float
    descent: float
    window_best: float
    hindsight: float


@cache
def _flights() -> Flights:
    return read_flights()


def errors_of(x: NDArray[np.uint8], y: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Errors of every threshold 0..SIZE."""
    late = np.bincount(x[y == 1], minlength=SIZE)
    punctual = np.bincount(x[y == 0], minlength=SIZE)
    missed = np.concatenate(([0], np.cumsum(late)))
    errors: NDArray[np.int64] = missed + punctual.sum()
    return errors - np.concatenate(([0], np.cumsum(punctual)))


def flight_row(task: tuple[int, int]) -> FlightRow:
    """One length of windows, at so many places of the year."""
    window, places = task
    flights = _flights()
    x, y = flights.points, flights.late
    learner = _learner(window)
    found: list[tuple[float, float, float]] = []
    descents: dict[tuple[int, float], list[float]] = {setting: [] for setting in SETTINGS}
    starts = np.linspace(0, len(y) - window - NEXT - 1, places).astype(int)
    for place, start in enumerate(starts.tolist()):
        end = start + window
        sample = Sample(x[start:end], y[start:end])
        test = errors_of(x[end : end + NEXT], y[end : end + NEXT]) / NEXT
        rule = drawn_rule(learner, sample, key_of("flights", window, place))
        assert isinstance(rule, ThresholdRule)
        own = errors_of(sample.x, sample.y)
        found.append((test[rule.threshold], test[own.argmin()], test.min()))
        rng = np.random.default_rng([window, place])
        for setting, errors in descents.items():
            weights = descended(rng, _features(sample.x), sample.y, *setting)
            said = _features(x[end : end + NEXT]) @ weights > 0
            errors.append(float(np.mean(said != y[end : end + NEXT])))
    littled, best, hindsight = np.mean(found, axis=0).tolist()
    descent = min(float(np.mean(errors)) for errors in descents.values())
    return FlightRow(window, places, littled, descent, best, hindsight)


def _learner(window: int) -> BatchLearner:
    hypotheses = class_from_name(f"thresholds:{SIZE}")
    request = BatchRequest("l", hypotheses, window=window, noise_rate=Fraction(1, 10))
    budget = Budget(EPSILON, DELTA, HORIZON, 1, "pure", 0.0, 1)
    found = estimate(request, budget, "dense")
    assert found is not None
    return BatchLearner("s/l", hypotheses, found.plan.parameters)


def _features(x: NDArray[np.uint8]) -> NDArray[np.float64]:
    return np.stack([x / (SIZE / 2) - 1, np.ones(len(x))], axis=1)


def descended(
    rng: np.random.Generator,
    features: NDArray[np.float64],
    y: NDArray[np.uint8],
    steps: int,
    rate: float,
) -> NDArray[np.float64]:
    """Logistic regression by DP gradient descent: full batches, gradients of length at most 1.

    A replaced example moves a sum of gradients by 2 at the most, so that each step with noise of
    standard deviation s is 2/s^2-zCDP. Weights are the sum of those of the later half of the steps.
    """
    rho = rho_of_epsilon(EPSILON, DELTA)
    deviation = float(2 * steps / rho) ** 0.5
    weights, found = np.zeros(features.shape[1]), np.zeros(features.shape[1])
    lengths = np.linalg.norm(features, axis=1)
    for step in range(steps):
        residuals = 1 / (1 + np.exp(-np.clip(features @ weights, -30, 30))) - y
        scale = residuals / np.maximum(1, np.abs(residuals) * lengths)
        gradient = features.T @ scale + deviation * rng.normal(size=len(weights))
        weights = weights - rate * gradient / len(y)
        if step >= steps // 2:
            found += weights
    return found
