"""How much more than the best rule private answers err: heuristics, in floating point.

*Excess error* of a method: the probability, over a fresh example of the same distribution and the
method's own randomness, that an answer is wrong, less the same of the best rule of the class. Every
figure here is a model of its expectation on a stream that is bad for the method, and no price
depends on it. Constants are fitted: `tests/daemon/planner/prediction/test_errors.py` holds them to
a factor of 2 against the learners themselves. n is the window, eta the noise rate, d the class's
Vapnik-Chervonenkis dimension.

**Selection.** An exponential mechanism of rate e over c candidates, of which one is best and all
others are worse by the same g, errs by g / (1 + exp(e n g) / (c - 1)) more. The worst g gives
W(c / exp(1)) / (e n), W being Lambert's function: about ln(c) / (e n). Thresholds lie in a line, so
that few of them are near to the best one and many are far: there it is 1 / (e n), whatever c is.

**Sampling.** The best rule on n noisy labels is not the best one: `SAMPLING` sqrt(W eta (1 - eta) /
n) more, the usual agnostic rate, with W as above for all rules.

**Nets.** The best labeling of a random subset of m examples errs by `NET` d / m more than the best
rule, a rule that fits m examples without noise by `CHUNK` d / m.

**Votes.** Where all chunks agree an answer is wrong with some probability b. Let the rule of each
of k chunks err by r more than the best one for what it has not seen, and by s for the noise in its
labels. On bad streams most chunks miss the same rare point, so that a vote errs as much as a single
rule: by (1 - 2 b) r. Noise is every chunk's own, and only `LEFT_NOISE` of s is left. For thresholds
rules err on both sides of the best one, and what is left of r + s is less: let a rule be wrong at a
point that is u (r + s) / 2 away from where the best one turns with probability exp(-u) / 2; an
answer that follows k such votes, w of them wrong, is itself wrong with a probability that falls
with k - 2 w, and its integral over u is what is left.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from littled.classes.hypothesis import HypothesisClass
from littled.portable import (
    Floats,
    exp,
    expm1s,
    exps,
    interpolated,
    log,
    log1p,
    power,
    total,
)

# How an answer follows the votes: by the coin of the exponential mechanism, as the larger of two
# counts with Laplace or (what others do) Gaussian noise, or by the concentrated law of
# `littled.mechanisms.noisy_majority`.
Link = Literal["coin", "laplace", "gaussian", "concentrated"]

SAMPLING = 0.5
NET = 0.4
CHUNK = 0.6
# However many chunks vote, so much stays of one's error by noise, and for thresholds of any error.
LEFT_NOISE, LEFT_LINE = 0.25, 0.4
# W(c / exp(1)) is 1 for so many candidates: what a line of thresholds counts for.
LINE = exp(2)
# Points at which the integral over u is taken, and noise of the number of wrong votes (Gauss and
# Hermite, seven nodes).
DISTANCES = np.arange(65) / 8
UPPER_NODES = (1.1544053947399682, 2.366759410734541, 3.7504397177257425)
UPPER_CHANCES = (0.24012317860501273, 0.030757123967586498, 0.0005482688559722178)
NODES = np.array([*(-node for node in reversed(UPPER_NODES)), 0.0, *UPPER_NODES])
CHANCES = np.array([*reversed(UPPER_CHANCES), 16 / 35, *UPPER_CHANCES])
# Log-odds l of the concentrated law, and v times the lead that has them: the integral of 1 over
# v / (2 sqrt(K(l))) = v sqrt(l / tanh(l / 2)), which is how fast they grow.
LOG_ODDS = np.arange(8001) / 100
SLOPES = np.sqrt(np.r_[2.0, LOG_ODDS[1:] * (1 + exps(-LOG_ODDS[1:])) / -expm1s(-LOG_ODDS[1:])])
LEADS = np.r_[0.0, np.cumsum(np.diff(LOG_ODDS) * (1 / SLOPES[1:] + 1 / SLOPES[:-1]) / 2)]


@dataclass(frozen=True, slots=True)
class ErrorModel:
    """What errors depend on beside the method's parameters."""

    hypotheses: HypothesisClass
    window: int
    noise: float

    def complexity(self, candidates: int) -> float:
        """W of the module's text for a selection among so many rules of the class."""
        lines = self.hypotheses.lines
        if lines == 1:
            return 1.0
        if lines:
            candidates = min(candidates, round(lines * LINE))
        return lambert(log(max(candidates - 1, 1)) - 1)

    def labelings(self, examples: int) -> int:
        """How many rules so many examples can tell apart at the most."""
        found, few = self.hypotheses.labelings_max(examples), self.hypotheses.dense
        return found if few is None else min(found, few.rule_count)

    def selection(self, rate: float, candidates: int) -> float:
        """Excess error of a draw at this rate among so many candidates."""
        return self.complexity(candidates) / (rate * self.window)

    def sampling(self, examples: float) -> float:
        """Excess error of the best rule on so many examples, because labels are noisy."""
        variance = self.noise * (1 - self.noise)
        if not variance:
            return 0.0
        complexity = self.complexity(self.labelings(math.ceil(examples)))
        return SAMPLING * math.sqrt(complexity * variance / examples)

    def net(self, examples: float) -> float:
        """Excess error of the best of all labelings of so many random examples."""
        return NET * self.hypotheses.vc_dimension / examples

    def chunk(self, examples: float) -> float:
        """Excess error of a rule that fits so many random examples, whose labels have no noise."""
        return CHUNK * self.hypotheses.chunk_dimension / examples

    def learned(self, examples: float) -> float:
        """Excess error of the rule that the class learns from so many examples of the stream."""
        return self.missed(examples) + self.sampling(examples)

    def missed(self, examples: float) -> float:
        """The part of it that all rules of as many examples share.

        Large classes whose rules with the fewest errors are hard to find learn nothing from a chunk
        with a single wrong label.
        """
        error = self.chunk(examples)
        if not self.hypotheses.learns_from_noise:
            error += (1 - power(1 - self.noise, examples)) * self.worst
        return error

    def votes(
        self, missed: Floats, misled: Floats, chunks: Floats, vote_rate: Floats, link: Link
    ) -> Floats:
        """Excess errors of answers that follow votes of rules.

        These err by `missed`, which they share, and by `misled`, because labels are noisy.
        """
        base, line = followed(chunks, vote_rate, link)
        right = 1 - 2 * base
        if self.hypotheses.lines == 1:
            left = np.maximum(line, LEFT_LINE * right) * (missed + misled)
        else:
            left = right * (missed + LEFT_NOISE * misled)
        return base * (1 - 2 * self.noise) + left

    def flipped(self, errors: Floats, flip: Floats) -> Floats:
        """Excess errors after answers are turned over with probability `flip`."""
        return flip * (1 - 2 * self.noise) + (1 - 2 * flip) * errors

    @property
    def worst(self) -> float:
        """Excess error of a fair coin."""
        return 0.5 - self.noise


def lambert(logarithm: float) -> float:
    """W with W exp(W) = exp(logarithm): numbers of candidates can be too large for a float."""
    found = max(logarithm, log1p(exp(min(logarithm, 1.0))))
    for _ in range(20):
        found *= (1 + logarithm - log(found)) / (1 + found)
    return found


def followed(chunks: Floats, vote_rate: Floats, link: Link) -> tuple[Floats, Floats]:
    """Errors of answers from votes: where no rule is wrong, and the share of a rule's that is left.

    Numbers of chunks (m,) and rates of a vote (m,) or (); two arrays (m,).
    """
    strength = chunks * vote_rate
    wrong = exps(-DISTANCES) / 2
    spread = 2 * np.sqrt(wrong * (1 - wrong) / chunks[:, None])
    leads = (1 - 2 * wrong)[:, None] - spread[:, :, None] * NODES
    errors = total(_links(strength[:, None, None] * leads, link) * CHANCES)
    base = _links(strength, link)
    above = errors - base[:, None]
    left = total((above[:, 1:] + above[:, :-1]) * np.diff(DISTANCES))
    return base, np.maximum(left, 0.0)


def _links(leads: Floats, link: Link) -> Floats:
    """Probability of the answer that fewer votes are for, by v times the lead of the others."""
    size = np.minimum(np.abs(leads), 700.0)
    if link == "coin":
        losing = 1 / (1 + exps(size))
    elif link == "laplace":
        losing = (2 + size) / 4 * exps(-size)
    elif link == "concentrated":
        losing = 1 / (1 + exps(interpolated(size, LEADS, LOG_ODDS)))
    else:
        losing = np.vectorize(math.erfc)(size / 2) / 2  # for comparisons: no plan has this noise
    found: Floats = np.where(leads >= 0, losing, 1 - losing)
    return found
