"""What each method answers with at a given budget, chosen from what is public.

The planner chooses for its own methods. Noisy majority, as others have it, has ideal noise and the
best number of chunks by the planner's model of errors. Stable voting has no model: its parameters
are tuned on windows of its own, which is more than others are told.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from statistics import mean

import numpy as np

from benchmarks.prediction.errors import Measured, StableSetting, with_missing
from benchmarks.prediction.windows import FLIGHTS, FLIGHTS_CLASS, hypotheses_for
from littled.classes.hypothesis import HypothesisClass
from littled.learners.prediction import Method, PredictionParameters
from littled.planner import StreamRequest
from littled.planner.budgets import Budget
from littled.planner.prediction.errors import ErrorModel, Link
from littled.planner.prediction.request import METHODS, AskedMethod, PredictionRequest
from littled.planner.prediction.search import PredictionEstimate, best_under
from littled.planner.search import budgets_of

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
ALPHA = Fraction(1, 20)
# Rates of noise that the planner is told of the flights, as in the demo.
FLIGHTS_NOISE = Fraction(1, 10)
# Answers that are expected to err by so much of a coin's excess error are none.
HOPELESS = 0.95
PLANNED: tuple[Method, ...] = METHODS
NOISY_MAJORITY, STABLE_VOTING, PUBLISHED = "noisy-majority", "stable-voting", "rule"
# Stable voting's grids: chunks, of so many examples at the least, the votes' part of a segment's
# price, and unstable answers.
CHUNK_RATIO, CHUNK_MIN, VOTE_PARTS = 2, 10, (0.2, 0.5)
UNSTABLE = tuple(4**power for power in range(6))


@dataclass(frozen=True)
class Cell:
    """A class, the share of wrong labels, and the examples of a window."""

    class_name: str
    noise: Fraction
    size: int

    @property
    def hypotheses(self) -> HypothesisClass:
        """The daemon's class."""
        return _hypotheses(self.class_name)

    @property
    def told_noise(self) -> Fraction:
        """The rate of noise that a configuration would name."""
        return FLIGHTS_NOISE if self.class_name == FLIGHTS else self.noise

    @property
    def model(self) -> ErrorModel:
        """The planner's model of errors."""
        return ErrorModel(self.hypotheses, self.size, float(self.told_noise))

    @property
    def title(self) -> str:
        """As tables show it."""
        if self.class_name == FLIGHTS:
            return f"flights, `{FLIGHTS_CLASS}`"
        return f"`{self.class_name}`, noise {float(self.noise):.0%}"


@lru_cache(maxsize=32)
def _hypotheses(class_name: str) -> HypothesisClass:
    return hypotheses_for(class_name)


def budget(accounting: str, size: int) -> Budget:
    """All of (1, 1e-6) for one learner that answers questions."""
    assert accounting in ("pure", "zcdp")
    return Budget(EPSILON, DELTA, size, 1, accounting, 0.0, 1)  # type: ignore[arg-type]


def planned(cell: Cell, method: AskedMethod, answers: int | None) -> PredictionEstimate | None:
    """The planner's choice for so many answers, or for as many as there can be at `ALPHA`."""
    request = PredictionRequest(
        "l",
        cell.hypotheses,
        cell.size,
        noise_rate=cell.told_noise,
        excess_error=ALPHA if answers is None else None,
        answers=answers,
        method=method,
    )
    stream = StreamRequest("bench", EPSILON, DELTA, cell.size, (request,))
    return best_under(request, tuple(budgets_of(stream)))


def parameters_of(cell: Cell, method: Method, answers: int) -> PredictionParameters | None:
    """The planner's parameters of one method; None if it expects hardly more than a coin's luck."""
    found = planned(cell, method, answers)
    if found is None or found.expected_excess_error > HOPELESS * cell.model.worst:
        return None
    return found.plan.parameters


def published_rate(cell: Cell) -> float | None:
    """The rate at which one rule is drawn with the whole budget; None for classes without lists."""
    found = parameters_of(cell, "dense", 1)
    return None if found is None else float(found.rate)


def answers_at(epsilon: float) -> int:
    """How many answers (1, 1e-6) pays for if the log-odds of each may move by `epsilon`."""
    pure = float(EPSILON) / epsilon
    rho = float(budget("zcdp", 1).answers_amount) / (epsilon * epsilon / 8)
    return max(1, math.floor(max(pure, rho) * (1 + 1e-12)))


def vote_rate(answers: int) -> float:
    """The rate v that so many answers may have, each v^2 in zCDP."""
    return math.sqrt(float(budget("zcdp", 1).answers_amount) / answers)


# --- Noisy majority with ideal noise --------------------------------------------------------------


def majority_choice(cell: Cell, answers: int) -> tuple[int, float, Link]:
    """Chunks, rate and noise of noisy majority: the best by the planner's model, of any rate."""
    chunks = _odd_chunks(cell.size, 1.25)
    missed, misled = (
        np.array([part(cell.size / each) for each in chunks])
        for part in (cell.model.missed, cell.model.sampling)
    )
    numbers = np.array(chunks, dtype=float)
    pure = float(budget("pure", cell.size).answers_amount) / (2 * answers)
    ways: tuple[tuple[Link, float], ...] = (("laplace", pure), ("gaussian", vote_rate(answers)))
    best: tuple[float, int, float, Link] | None = None
    for link, rate in ways:
        found = cell.model.votes(missed, misled, numbers, np.array(rate), link)
        number = int(found.argmin())
        if best is None or found[number] < best[0]:
            best = float(found[number]), chunks[number], rate, link
    assert best is not None
    return best[1:]


def _odd_chunks(size: int, ratio: float) -> list[int]:
    """Rising odd numbers up to half of the examples."""
    steps = math.ceil(math.log(size / 2) / math.log(ratio))
    return sorted({int(each) // 2 * 2 + 1 for each in np.geomspace(1, size / 2, steps)})


# --- Stable voting --------------------------------------------------------------------------------


def stable_settings(cell: Cell) -> Iterator[StableSetting]:
    """Everything on the grid that (1, 1e-6) pays for, booked as pure or as zCDP."""
    chunks = [k for k in _odd_chunks(cell.size, CHUNK_RATIO) if 16 <= k <= cell.size / CHUNK_MIN]
    for k, part, unstable in product(chunks, VOTE_PARTS, UNSTABLE):
        pure, zcdp = budget("pure", cell.size), budget("zcdp", cell.size)
        ways = (
            (float(pure.answers_amount) / unstable, pure),
            (math.sqrt(2 * float(zcdp.answers_amount) / unstable), zcdp),
        )
        segment, paid = max(ways, key=lambda way: way[0])
        rate = segment * (1 - part)
        threshold = _threshold(rate, float(paid.failure) / unstable)
        if 2 * threshold < k:
            yield StableSetting(k, rate, segment * part / 2, threshold, unstable)


def _threshold(rate: float, failure: float) -> int:
    """The least U of which `predictions.unstable_as_stable` is at most `failure`."""
    s = math.exp(-rate / 4)
    return max(1, math.ceil(math.log((1 + s) / (1 + s + s * s) / failure) / (rate / 4)))


class StableVotes:
    """Stable voting's settings and what they do on windows of their own."""

    def __init__(self, cell: Cell, tuning: list[Measured]) -> None:
        """Measure all settings on the tuning windows."""
        self._coin = tuning[0].window.coin
        self._found = {
            setting: [each.stable_voting(setting) for each in tuning]
            for setting in stable_settings(cell)
        }

    def best_at(self, answers: int) -> StableSetting | None:
        """The setting with the least excess error for so many answers."""

        def error(setting: StableSetting) -> float:
            return mean(self.error(setting, answers, each) for each in self._found[setting])

        return min(self._found, key=error, default=None)

    def error(self, setting: StableSetting, answers: int, found: tuple[float, float]) -> float:
        """Excess error of so many answers; those that are not given are tossed."""
        return with_missing(found[0], found[1], answers, setting.unstable_max, self._coin)

    def most_answers(self, excess: float) -> StableSetting | None:
        """The setting with the most answers whose excess error is clearly below this."""
        good = {
            setting: mean(answers for answers, _ in found)
            for setting, found in self._found.items()
            if mean(error for _, error in found) <= 0.9 * excess
        }
        return max(good, key=lambda setting: good[setting], default=None)
