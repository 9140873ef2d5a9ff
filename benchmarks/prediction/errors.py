"""Excess errors of private answers from one window, expected over all of their randomness.

    measured = Measured(window)
    measured.excess(parameters)          # of any method of the prediction learner
    measured.noisy_majority(k, v, "gaussian")
    measured.stable_voting(setting)

Votes, scores and labelings are the learner's own. From them the probability of each answer follows
exactly: by a formula for the coin, the noisy counts and the flip; by the weights of all rules for
dense answers. Where a subset is random, rules are drawn by the learner's own mechanisms and noise,
and each is measured exactly.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.prediction.windows import Floats, Window
from littled.classes.capabilities import needed
from littled.learners.prediction import PredictionParameters, StablePredictor
from littled.learners.prediction.parts import Draw, chunk_rules, draws
from littled.mechanisms.noise import Address, KeyedNoise
from littled.planner.prediction.errors import LEADS, LOG_ODDS, Link
from littled_protocol.rules import Rule

# Rules drawn where a subset is random, and windows relabelled.
DRAWS, RELABELLED = 40, 2
# Nodes of the distribution of stable voting's threshold noise.
NODES = 101
ANSWERS_MAX = 10**9

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class StableSetting:
    """Stable voting: k chunks, rates e and v, threshold U, and c unstable answers at the most."""

    chunks: int
    rate: float
    vote_rate: float
    threshold: int
    unstable_max: int


class Measured:
    """One window, and what has been learned from it so far."""

    def __init__(self, window: Window) -> None:
        """Nothing is learned yet."""
        self.window = window
        self._votes: dict[int, Numbers] = {}
        self._prepared: dict[str, Any] = {}

    def votes(self, chunks: int) -> Numbers:
        """How many chunks' rules say 1 to each question, int64 (m,)."""
        if chunks not in self._votes:
            w = self.window
            rules = chunk_rules(w.hypotheses, w.x, w.y, chunks)
            self._votes[chunks] = w.hypotheses.ballot(rules)(w.questions)
        return self._votes[chunks]

    def excess(self, parameters: PredictionParameters) -> float:
        """Expected excess error of the learner's answers with these parameters."""
        p, k = parameters, parameters.chunks or 0
        match p.method:
            case "dense":
                return self.one_of_all(float(p.rate))
            case "stability":
                return self._stability(p)
            case "relabelling":
                return self._relabelling(p)
            case "realizable":
                return self.voted(k, float(p.vote_rate))
            case "averaging":
                agreed = self.window.excess(self.votes(k) / k)
                return self.window.flipped(agreed, float(p.flip))
            case "majority":
                link: Link = "laplace" if p.accounting == "pure" else "concentrated"
                return self.noisy_majority(k, float(p.vote_rate), link)

    def one_of_all(self, rate: float) -> float:
        """A rule drawn from all rules by the exponential mechanism, whether it is published."""
        if "scores" not in self._prepared:
            w = self.window
            scores = needed(w.hypotheses.dense).agreements(w.x, w.y)
            self._prepared["scores"] = (scores - scores.max(), w.excess_of_all())
        scores, errors = self._prepared["scores"]
        weights = np.exp(rate * scores)
        return float(weights @ errors / weights.sum())

    def voted(self, chunks: int, rate: float) -> float:
        """The coin of the exponential mechanism on two vote counts, of any rate."""
        return self.window.excess(coin(self.votes(chunks), chunks, rate))

    def noisy_majority(self, chunks: int, rate: float, link: Link) -> float:
        """The majority with noise of this law and rate, of any size: the noise is ideal."""
        chances = {"laplace": laplace, "gaussian": gaussian, "concentrated": concentrated}[link]
        return self.window.excess(chances(self.votes(chunks), chunks, rate))

    def _stability(self, p: PredictionParameters) -> float:
        errors = [
            self.window.excess_of_rule(rule) for rule in self._rules(p.rate, p.subset_rate, DRAWS)
        ]
        return self.window.flipped(float(np.mean(errors)), float(p.flip))

    def _relabelling(self, p: PredictionParameters) -> float:
        w, k = self.window, p.chunks or 0
        errors = []
        for rule in self._rules(p.rate, p.subset_rate, RELABELLED):
            rules = chunk_rules(w.hypotheses, w.x, rule.evaluate(w.x), k)
            ones = w.hypotheses.ballot(rules)(w.questions)
            errors.append(w.excess(coin(ones, k, float(p.vote_rate))))
        return w.flipped(float(np.mean(errors)), float(p.flip))

    def _rules(self, rate: Fraction, subset_rate: Fraction, count: int) -> list[Rule]:
        """Rules of as many random subsets."""
        w = self.window
        predictor = StablePredictor("bench/l", w.hypotheses, len(w.y), rate, subset_rate)
        if "labelings" not in self._prepared:
            self._prepared["labelings"] = predictor.prepare(w.x, w.y)
        found = (predictor.select(self._prepared["labelings"], each) for each in noises(count))
        return [candidates.rule(index) for candidates, index in found]

    # -- stable voting -----------------------------------------------------------------------

    def stable_voting(self, setting: StableSetting) -> tuple[float, float]:
        """Expected number of answers until the last unstable one, and their excess error.

        Questions come independently, as often as they are asked. For each value of the threshold's
        noise a segment has a geometric number of answers; both figures are means over that value.
        """
        w, k = self.window, setting.chunks
        ones = self.votes(k)
        zeros = k - ones
        distances = np.where(ones > zeros, (ones - zeros + 1) // 2 - 1, (zeros - ones) // 2)
        levels, place = np.unique(distances, return_inverse=True)
        asked = w.zeros + w.ones
        majority = (ones > zeros).astype(np.float64)
        wrong = majority * w.zeros + (1 - majority) * w.ones
        drawn = coin(ones, k, setting.vote_rate)
        wrong_drawn = drawn * w.zeros + (1 - drawn) * w.ones
        sums = [
            np.bincount(place, weights=each, minlength=len(levels)) / asked.sum()
            for each in (asked, wrong, wrong_drawn)
        ]
        middles = (np.arange(NODES) + 0.5) / NODES
        noise = np.sign(middles - 0.5) * -np.log(2 * np.minimum(middles, 1 - middles))
        needed = setting.threshold + noise * 2 / setting.rate - levels[:, None]
        failing = _unstable(needed, setting.rate / 4)
        unstable = np.maximum(sums[0] @ failing, 1 / ANSWERS_MAX)
        errors = (sums[1] @ (1 - failing) + sums[2] @ failing) / unstable
        per_segment = float((1 / unstable).mean())
        excess = w.scale * float(errors.mean()) / per_segment - w.best
        return min(setting.unstable_max * per_segment, ANSWERS_MAX), excess


def noises(count: int, window: int = 0) -> list[Draw]:
    """Fresh noise for so many rules of a window, the same at every call."""
    return list(draws(KeyedNoise(bytes(32)), Address(b"", "bench/l", "predict", window), count))


# --- Probabilities of the answer 1 ----------------------------------------------------------------


def coin(ones: Numbers, chunks: int, rate: float) -> Floats:
    """The exponential mechanism on two vote counts."""
    odds: Floats = np.exp(np.clip(rate * (chunks - 2 * ones), -700, 700))
    return 1 / (1 + odds)


def laplace(ones: Numbers, chunks: int, rate: float) -> Floats:
    """The larger of two counts with discrete Laplace noise, 0 where they are equal.

    With s = exp(-v) the noises differ by j with probability
    ((1 - s) / (1 + s))^2 s^|j| (|j| + (1 + s^2) / (1 - s^2)); the sum over j >= d is below.
    """
    leads = 2 * ones - chunks
    s = math.exp(-rate)
    # the answer 1 needs a difference above -lead: more than half where the lead is positive
    far = np.where(leads > 0, leads, 1 - leads)
    rest = far + s / (1 - s) + (1 + s * s) / (1 - s * s)
    tail = ((1 - s) / (1 + s)) ** 2 * np.exp(-rate * far) / (1 - s) * rest
    return np.where(leads > 0, 1 - tail, tail)


def gaussian(ones: Numbers, chunks: int, rate: float) -> Floats:
    """The larger of two counts with Gaussian noise of standard deviation 1/v, whole numbers."""
    leads = 2 * ones - chunks - 0.5
    values, place = np.unique(leads, return_inverse=True)
    found = np.array([math.erfc(-rate * each / 2) / 2 for each in values.tolist()])
    return found[place]


def concentrated(ones: Numbers, chunks: int, rate: float) -> Floats:
    """The concentrated law of `littled.mechanisms.noisy_majority`, as if at all real numbers."""
    leads = 2 * ones - chunks
    odds = np.interp(rate * np.abs(leads), LEADS, LOG_ODDS)
    return 1 / (1 + np.exp(-np.sign(leads) * odds))


def _unstable(needed: Floats, rate: float) -> Floats:
    """P[nu < needed] for discrete Laplace nu of this rate, as if at all real numbers."""
    s = math.exp(-rate)
    size = np.exp(-rate * np.minimum(np.abs(needed), 700 / rate))
    return np.where(needed > 0, 1 - size / (1 + s), s * size / (1 + s))


@lru_cache(maxsize=4096)
def at_least(count: int, mean: float) -> float:
    """The probability that a Poisson number of this mean is at least `count`."""
    if mean <= 0:
        return 0.0
    terms = (j * math.log(mean) - mean - math.lgamma(j + 1) for j in range(count))
    return max(0.0, 1 - math.fsum(math.exp(each) for each in terms))


def with_missing(answers: float, excess: float, asked: int, unstable: int, coin_: float) -> float:
    """Excess error of so many answers, of which those that are not given are tossed.

    About `answers` come until so many unstable ones: a sum of as many exponential numbers.
    """
    ratio = asked / answers * unstable
    missing = asked * at_least(unstable, ratio) - answers * at_least(unstable + 1, ratio)
    missing = min(max(missing / asked, 0.0), 1.0)
    return missing * coin_ + (1 - missing) * excess
