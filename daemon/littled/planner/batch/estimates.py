"""What is expected of a window's rule, where nothing is proven or the proof is coarse.

Heuristics in floating point, for people and for the choice of chunks; `python -m benchmarks.batch`
holds them against runs. A share `positives` of the examples is taken to have label 1.

- *dense*: the errors of rules are taken to be spread evenly, like the volume of a ball whose
  dimension v is the class's VC dimension. The excess error of the rule that is drawn then has the
  law Gamma(v) / (g n) (g of `bounds`).
- *proposals*: rules near h* are those of one example's list.
- *closure*, *teachers*: a chunk with enough positive examples names h* and another one does not, so
  that h* has the score Bin(k, p); what competes with it is bottom.
"""

from fractions import Fraction

from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.planner.batch.bounds import binomial, bottom_chance, weight_loss
from littled.portable import exp, log, log1p, total

# Errors at which the weight of rules is looked at.
SHELLS = 400


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
    e = float(rate)
    return sum(
        (
            p * min(1.0, exp(min(e * (bottom - x), 0.0)) + exp(min(e * (chunks - 2 * x), 0.0)))
            for x, p in enumerate(binomial(chunks, named, chunks))
        ),
        0.0,
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


def lists_expected(dimension: int, chunks: int, size: int, alpha: float, rate: Fraction) -> float:
    """That a rule of excess error above alpha is drawn from lists of all rules without errors.

    Of a rule of error r the weight is (1 - (1 - exp(-e)) (1 - (1 - r)^s))^k on average; and rules
    are spread as for `dense_expected`.
    """
    loss = 1 - exp(-rate)
    near: list[float] = []
    far: list[float] = []
    for shell in range(SHELLS):
        error = (shell + 0.5) / SHELLS
        absent = 1 - exp(size * log1p(-error))
        weight = chunks * log1p(-loss * absent) + (dimension - 1) * log(error)
        (far if error > alpha else near).append(exp(weight))
    above = float(total(far)) if far else 0.0
    whole = above + (float(total(near)) if near else 0.0)
    return above / whole if whole > 0 else 1.0
