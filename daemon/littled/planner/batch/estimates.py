"""What is expected of a window's rule, where nothing is proven or the proof is coarse.

Heuristics in floating point, for people and for the choice of chunks; `python -m benchmarks.batch`
holds them against runs. A share `positives` of the examples is taken to have label 1.

- *dense*: the errors of rules are taken to be spread evenly, like the volume of a ball whose
  dimension v is the class's VC dimension. The excess error of the rule that is drawn then has the
  law Gamma(v) / (g n) (g of `bounds`).
- *proposals*: rules near h* are those of one example's list.
- *boosted*: so many errors more than a scorecard of the same window without noise has, in the mean
  of the tables that `python -m benchmarks.real.windows` measures: what too few rounds leave out,
  and what a drawn stump is behind the best one, a multiple of ln m / (e n) among m candidates.
- *closure*, *teachers*: a chunk with enough positive examples names h* and another one does not, so
  that h* has the score Bin(k, p); what competes with it is bottom.
"""

import math
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np

from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.planner.batch.bounds import binomial, bottom_chance, weight_loss
from littled.portable import Floats, exp, exps, log, log1p, log1ps, logs, total

# Errors at which the weight of rules is looked at.
SHELLS = 400
# Of k rounds a share of 1/25 sqrt(k) is left out, and of one stump by itself this; of what a drawn
# stump is behind the best one, so much is left in the end.
ROUNDS_LEFT_OUT, STUMP_LEFT_OUT, DRAW_SHARE = 0.04, 0.035, 0.2


def dense_expected(
    dimension: int, n: int, alpha: float, rate: Fraction, noise_rate: Fraction
) -> float:
    """P[Gamma(v) > g alpha n]."""
    reached = weight_loss(rate, noise_rate) * alpha * n
    term = below = 1.0
    for order in range(1, dimension):
        term *= reached / order
        below += term
    return min(1.0, below * exp(-reached))


def boosted_expected(rounds: int, candidates: int, n: int, rate: Fraction) -> float:
    """Errors beyond a scorecard's without noise, as a share of examples."""
    return ROUNDS_LEFT_OUT / math.sqrt(rounds) + DRAW_SHARE * log(candidates) / (float(rate) * n)


def stump_expected(candidates: int, n: int, rate: Fraction) -> float:
    """The same of one stump, drawn at this rate."""
    return STUMP_LEFT_OUT + DRAW_SHARE * log(candidates) / (float(rate) * n)


def proposals_expected(
    listed: int, n: int, alpha: float, rate: Fraction, bottom: int,
    noise_rate: Fraction, positives: float,
) -> float:  # fmt: skip
    """Of one list's rules against h*, and bottom against it."""
    others = log(listed) - weight_loss(rate, noise_rate) * alpha * n
    share = max(positives, alpha) * (1 - 2 * float(noise_rate))
    return min(1.0, exp(min(others, 0.0)) + bottom_chance(n, share, float(rate), bottom))


def chunks_expected(
    chunks: int, named: float, rate: Fraction, bottom: int, *, others_say_nothing: bool = False
) -> float:
    """Of bottom against a rule that each of so many chunks names with this probability.

    others_say_nothing: whether all other chunks name one rule, that which is always 0.
    """
    if not others_say_nothing:
        return bottom_chance(chunks, named, float(rate), bottom)
    lost = _lost_chances(chunks, float(rate), bottom)
    return sum((p * q for p, q in zip(binomial(chunks, named, chunks), lost, strict=True)), 0.0)


@lru_cache(maxsize=1024)
def _lost_chances(chunks: int, e: float, bottom: int) -> tuple[float, ...]:
    """What a rule on x lists loses at the most, x = 0, ..., k, to bottom and to one on the rest."""
    return tuple(
        min(1.0, exp(min(e * (bottom - x), 0.0)) + exp(min(e * (chunks - 2 * x), 0.0)))
        for x in range(chunks + 1)
    )


def closure_named(hypotheses: HypothesisClass, size: int, positives: float) -> float:
    """The chance that a chunk of so many examples has enough positive ones for its closure."""
    enough = needed(hypotheses.intersection_closed).closure_examples
    return 1 - sum(binomial(size, positives, min(enough, size + 1) - 1), 0.0)


def listed_chance(hypotheses: HypothesisClass, size: int, positives: float) -> float:
    """The chance that a chunk of so many examples lists h*.

    A class of few rules lists every rule without errors. Elsewhere a chunk needs a positive example
    or, of a set of ids, one of each; with fewer it lists a smaller rule.
    """
    if hypotheses.dense is not None:
        return 1.0
    members = hypotheses.littlestone_dimension if hypotheses.id_sets is not None else 1
    seen = 1 - exp(size * log1p(-min(positives / members, 1 - 1e-12)))
    return exp(members * log(seen))


@cache
def _shells() -> tuple[Floats, Floats, Floats]:
    """Errors r in the middle of each shell, with ln r and ln(1 - r), each (shells,) float64."""
    errors = (np.arange(SHELLS) + 0.5) / SHELLS
    return errors, logs(errors), log1ps(-errors)


@lru_cache(maxsize=1024)
def _left_out(size: int, rate: Fraction) -> Floats:
    """For each shell ln of what a chunk of s examples leaves of a rule's weight, on average."""
    loss = 1 - exp(-rate)
    return log1ps(-loss * (1 - exps(size * _shells()[2])))


def lists_expected(dimension: int, chunks: int, size: int, alpha: float, rate: Fraction) -> float:
    """That a rule of excess error above alpha is drawn from lists of all rules without errors.

    Of a rule of error r the weight is (1 - (1 - exp(-e)) (1 - (1 - r)^s))^k on average; and rules
    are spread as for `dense_expected`.
    """
    errors, log_errors, _ = _shells()
    weights = exps(chunks * _left_out(size, rate) + (dimension - 1) * log_errors)
    above, below = (float(total(weights[near])) for near in (errors > alpha, errors <= alpha))
    return above / (above + below) if above + below > 0 else 1.0
