"""Laboratory only: everlasting prediction with protected questions, its price and what it needs.

Sources: Naor, Nissim, Stemmer and Yan 2023; Stemmer, arXiv 2401.04311, for the model. The
construction is this project's own. It is not served: docs/laboratory.md says why.

Construction. Phase r has a window of n_r = n 2^r labelled points and gives 2 n_r answers, each by a
method of private prediction (`littled.learners.prediction`), for instance a rule that is drawn anew
for each answer. The points of the 2 n_r questions, labelled with their answers, are the window of
phase r + 1. Nothing is ever published but an answer to the one who asked for it.

Guarantee. Each phase's answers are (epsilon, delta)-private for its window, by the price of the
method. An example is in the window of phase 0 only. A question is in one window, that of the next
phase: what others see of it is answers of that phase, which are (epsilon, delta)-private, and
answers of later phases, which are computed from these and from other questions. So examples and
questions cost (epsilon, delta) for ever; the answer to a question is the asker's own. Neighbouring
relation: replace one example, or the point of one question. Sensitivity: one place of one window.
Edge cases: with fewer than 2 n_r questions the phase does not end.

Price in numbers of answers: n_r examples have to pay for 2 n_r answers of one phase.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from littled.budget.conversion import rho_of_epsilon
from littled.classes.names import class_from_name
from littled.laboratory.draws import uniforms
from littled.planner.prediction.request import AskedMethod, PredictionRequest
from littled.planner.prediction.search import best_under
from littled.planner.requests import StreamRequest
from littled.planner.search import budgets_of

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
EXCESS_ERROR = Fraction(1, 20)
GROWTH = 2


def answers(
    class_name: str, window: int, method: AskedMethod, noise_rate: Fraction = Fraction(0)
) -> int:
    """Answers of one window at an excess error of 0.05, by the planner; 0 if it has none."""
    request = PredictionRequest(
        "lab", class_from_name(class_name), window, noise_rate, EXCESS_ERROR, method=method
    )
    stream = StreamRequest("lab", EPSILON, DELTA, window, (request,))
    found = best_under(request, tuple(budgets_of(stream)))
    return found.answers if found else 0


def least_window(
    class_name: str, method: AskedMethod, noise_rate: Fraction = Fraction(0), most: int = 1 << 24
) -> int | None:
    """The least n, to 1 in 100, whose answers make the next window; None beyond `most`."""
    low, high = 1, most
    if answers(class_name, high, method, noise_rate) < GROWTH * high:
        return None
    while high > low * 1.01 + 1:
        middle = math.isqrt(low * high)
        enough = answers(class_name, middle, method, noise_rate) >= GROWTH * middle
        low, high = (low, middle) if enough else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a simulated run: its window, and how often its answers were wrong."""

    window: int
    rate: float
    error: float


def draw_rate(window: int) -> float:
    """Rate e of a draw that 2 n of them pay for: e^2 / 2 each in zCDP, within (1, 1e-6)."""
    rho = float(rho_of_epsilon(EPSILON, DELTA))
    return math.sqrt(2 * rho / (GROWTH * window))


def phases(size: int, window: int, count: int, seed: int) -> Iterator[Phase]:
    """Run the construction on x >= t over `size` points, which are uniform, t in the middle."""
    target = size // 2
    x = _points(size, window, seed, 0)
    y = x >= target
    for phase in range(count):
        rate = draw_rate(len(x))
        asked = _points(size, GROWTH * len(x), seed, phase + 1)
        law = _law(size, x, y, rate)
        drawn = np.searchsorted(law, uniforms(f"everlasting draws {phase}", seed, len(asked)))
        said = asked >= drawn
        wrong = float((said != (asked >= target)).mean())
        yield Phase(len(x), rate, wrong)
        x, y = asked, said


def _points(size: int, count: int, seed: int, phase: int) -> NDArray[np.int64]:
    found: NDArray[np.int64] = (uniforms(f"everlasting points {phase}", seed, count) * size).astype(
        np.int64
    )
    return found


def _law(size: int, x: NDArray[np.int64], y: NDArray[np.bool_], rate: float) -> NDArray[np.float64]:
    """The exponential mechanism over all thresholds 0..size, as its cumulative distribution."""
    ones = np.bincount(x[y], minlength=size)
    zeros = np.bincount(x[~y], minlength=size)
    scores = np.concatenate([[0], np.cumsum(zeros - ones)]).astype(np.float64)
    weights = np.exp(rate * (scores - scores.max()))
    found: NDArray[np.float64] = np.cumsum(weights) / weights.sum()
    return found
