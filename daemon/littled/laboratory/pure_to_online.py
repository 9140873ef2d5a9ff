"""Laboratory only: from a pure private learner to an online learner.

Source: Gonen, Hazan and Moran 2019, as B, section 3.6, describes it; B, Propositions 18 and 19.

The learner is run N times on one dummy sample that has nothing to do with the stream; its N
hypotheses are the experts of weighted majority. Under pure epsilon-privacy the law on the dummy is
at least exp(-epsilon m0) of the law on any sample of m0 examples, as m0 replacements lead from one
to the other. So a run is alpha-good for a stream's distribution with chance (1 - beta) exp(-epsilon
m0) at the least, and

    N = exp(epsilon m0) ln(1 / failure) / (1 - beta)

runs hold a good one. (B writes exp(m0) for epsilon = 1.)

The second learner, for points, is improper and needs m0 independent of the number of ids: it draws
K = (4 / alpha) ln(2 / beta) public random sets, each id in a set with chance alpha / 2, and the
exponential mechanism takes one of them (after Beimel, Nissim and Stemmer). A set with the target
in it, chance alpha / 2, weighs at most alpha on other ids with chance 1/2 (Markov), so it is
alpha-good with chance alpha / 4, on every distribution.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from littled.laboratory.draws import uniforms, words
from littled.laboratory.small_classes import SmallClass
from littled.laboratory.stable_learner import Infeasible

EXPERTS_LOG2_MAX = 20.0


def sample_size(rules: int, alpha: float, beta: float, epsilon: float) -> int:
    """m0 with which the exponential mechanism over so many rules is alpha-good but for beta.

    N exp(-(1 - exp(-epsilon / 2)) alpha m0) <= beta, for any realizable distribution.
    """
    return math.ceil(math.log(rules / beta) / (-math.expm1(-epsilon / 2) * alpha))


def experts_promised(epsilon: float, sample: int, beta: float, failure: float) -> float:
    """log2 of the number of runs that the reduction asks for."""
    return (epsilon * sample + math.log(math.log(1 / failure) / (1 - beta))) / math.log(2)


def experts_for(epsilon: float, sample: int, beta: float, failure: float) -> int:
    """The number of runs; Infeasible, with the number, beyond what a machine can hold."""
    needed = experts_promised(epsilon, sample, beta, failure)
    if needed > EXPERTS_LOG2_MAX:
        raise Infeasible(
            f"the reduction asks for 2^{needed:.1f} experts, exp(epsilon m0) for samples of "
            f"{sample:,}"
        )
    return math.ceil(math.exp2(needed))


def uniform_experts(class_name: str) -> int:
    """Infeasible: an infinite class has no uniform pure learner whose rules are finite."""
    raise Infeasible(
        f"a uniform pure learner of {class_name} publishes rules of infinite expected description"
    )


def dummy_chance(rules: SmallClass, target: int, alpha: Fraction) -> Fraction:
    """Exact chance that the exponential mechanism on the dummy, an empty sample, is alpha-good.

    Points are uniform. It is the share of the rules that are good: independent of m0.
    """
    good = sum((h ^ target).bit_count() <= alpha * rules.points for h in rules.hypotheses)
    return Fraction(good, len(rules.hypotheses))


def smallest_ratio(rules: SmallClass, base: Fraction, sample: int) -> Fraction:
    """The least ratio of the law on the empty dummy and the law on a sample, over all samples.

    `base` is exp(epsilon / 2); by pure privacy the ratio is exp(-epsilon `sample`) or more.
    """
    count = len(rules.hypotheses)
    examples = [(x, y) for x in range(rules.points) for y in (0, 1)]
    largest = Fraction(0)
    for chosen in combinations_with_replacement(examples, sample):
        weights = [base ** sum(h >> x & 1 == y for x, y in chosen) for h in rules.hypotheses]
        largest = max(largest, max(weights) / sum(weights))
    return 1 / (count * largest)


@dataclass(frozen=True, slots=True)
class Regret:
    """Weighted majority on a stream: its mistakes and those of the best expert."""

    experts: int
    mistakes: int
    best: int


def follow(advice: NDArray[np.bool_], labels: NDArray[np.bool_]) -> Regret:
    """Weighted majority with factor 1/2: `advice` (experts, T), `labels` (T,).

    Littlestone and Warmuth 1994: at most 2.41 (best + log2 experts) mistakes.
    """
    logs = np.zeros(len(advice))
    mistakes = 0
    for said, label in zip(advice.T, labels, strict=True):
        weights = np.exp2(logs - logs.max())
        guess = 2 * weights[said].sum() >= weights.sum()
        mistakes += int(guess != label)
        logs[said != label] -= 1
    best = int((advice != labels).sum(axis=1).min())
    return Regret(len(advice), mistakes, best)


def dense_runs(rules: SmallClass, target: int, experts: int, length: int, seed: int) -> Regret:
    """Experts are runs of the exponential mechanism on the empty dummy, points are uniform."""
    picks = words("dense runs", seed, experts) % np.uint64(len(rules.hypotheses))
    drawn = (words("dense stream", seed, length) % np.uint64(rules.points)).astype(np.int64)
    table = np.array(
        [[h >> x & 1 for x in range(rules.points)] for h in (*rules.hypotheses, target)], dtype=bool
    )
    return follow(table[picks.astype(np.int64)][:, drawn], table[-1][drawn])


def random_sets(alpha: float, beta: float) -> int:
    """K, the random sets among which one run of the learner of points chooses."""
    return math.ceil(4 / alpha * math.log(2 / beta))


def point_runs(ids: int, alpha: float, experts: int, length: int, seed: int) -> Regret:
    """Experts are runs of the learner of points on a dummy of examples that it has not seen.

    On an empty dummy all K sets are equally likely, so a run is one random set. The target is half
    of the stream, other ids are uniform; whether an id is in a set is drawn when it first comes.
    """
    target = uniforms("point stream", seed, length) < 0.5
    others = words("point ids", seed, length) % np.uint64(ids)
    drawn = np.where(target, np.uint64(ids), others)
    seen, places = np.unique(drawn, return_inverse=True)
    inside = uniforms("point sets", seed, experts * len(seen)).reshape(experts, len(seen))
    return follow((inside < alpha / 2)[:, places], target)


def mean_description(bits: int, sample: int, epsilon: float) -> float:
    """Expected bits that name the rule which the exponential mechanism learns over 2^bits ids.

    Elias gamma for the number of the rule, on `sample` examples of id 0 with label 1: the longer
    the ids, the longer, without limit; B, Proposition 18, has this for every pure learner.
    """
    count = 1 << bits
    weight = math.exp(epsilon / 2 * sample)
    numbers = np.arange(2, count + 1)
    lengths = 2 * np.floor(np.log2(numbers)) + 1
    return float((weight * 1 + lengths.sum()) / (weight + len(numbers)))
