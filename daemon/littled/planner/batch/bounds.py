"""What is proven of a window's rule. Utility only, in floating point: no price depends on it.

*Source of the examples.* They are independent, of one law; a rule h* of the class makes their
labels, and each label is turned over with probability eta (`noise_rate`), whatever the example. The
excess error of a rule is how much more likely it errs than h*: (1 - 2 eta) times the probability
that the two differ. Bounded is the chance that a window's draw is a rule of excess error above
alpha, or bottom although the rule that is always 0 has one.

*One unit of score.* Let a rule differ from h* with probability m. Each example adds 1 to the
difference D of their scores with probability m (1 - eta), and -1 with m eta. It is drawn with
probability at most min(1, exp(-e D)), so at most E exp(-t D) for every t from 0 to e. An example's
factor is 1 - m ((1 - eta) (1 - exp(-t)) - eta (exp(t) - 1)) = 1 - alpha g, with g for this bracket
over 1 - 2 eta (`weight_loss`); so n examples leave exp(-g alpha n) at the most. Without noise it is
largest at t = e, g = 1 - exp(-e), else at the lesser of e and ln((1 - eta) / eta) / 2.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache

from littled.portable import exp, log, log1p

# What is left of a tail beyond so many multiples of 1/rate is below 1e-17.
TAIL = 40.0
# Exponents of Chernoff's bound that are tried.
CHERNOFF_STEPS = 24


def weight_loss(rate: Fraction, noise_rate: Fraction) -> float:
    """g: by so much at least one example lowers a rule's weight, for each unit of excess error."""
    return _loss(_best_exponent(float(rate), float(noise_rate)), float(noise_rate))


def _best_exponent(rate: float, noise: float) -> float:
    return min(rate, log((1 - noise) / noise) / 2) if noise else rate


def _loss(t: float, noise: float) -> float:
    return ((1 - noise) * (1 - exp(-t)) - noise * (exp(t) - 1)) / (1 - 2 * noise)


def dense_failure(rules: int, n: int, alpha: float, rate: Fraction, noise_rate: Fraction) -> float:
    """N exp(-g alpha n), by a union over all N rules; at most 1."""
    return min(1.0, exp(log(rules) - weight_loss(rate, noise_rate) * alpha * n))


def histogram_failure(
    members: int, n: int, alpha: float, rate: Fraction, threshold: int, noise_rate: Fraction
) -> float:
    """Of a set of so many ids: that one of those passes not whose excess error is alpha / members.

    Without noise P[Bin(n, alpha / members) + nu < B] for each of them, exactly, and no id passes
    that should not. With noise Chernoff's bound for both.
    """
    share, e, eta = alpha / members, float(rate), float(noise_rate)
    if not eta:
        return min(1.0, members * missed(n, share, e, threshold))

    def one(t: float) -> float:
        return threshold * t + n * log1p(-share * _loss(t, eta)) + _log_moment(t, e)

    def wrong(t: float) -> float:
        return _log_moment(t, e) - threshold * t

    # up to ln((1 - eta) / eta) a wrong id has no chance that grows with its examples
    below = min(e, log((1 - eta) / eta))
    right = _least(one, e)
    return min(1.0, members * exp(min(right, 0.0)) + n * exp(_least(wrong, below)))


def missed(n: int, share: float, rate: float, threshold: int) -> float:
    """P[Bin(n, share) + nu < threshold], nu discrete Laplace of this rate."""
    b = exp(-rate)
    reach = min(n, threshold + int(TAIL / rate))

    def passes(gap: int) -> float:
        return exp(-rate * gap) / (1 + b) if gap > 0 else 1 - exp(-rate * (1 - gap)) / (1 + b)

    return sum(
        (p * (1 - passes(threshold - x)) for x, p in enumerate(binomial(n, share, reach))), 0.0
    )


def proposals_failure(
    listed: int, n: int, alpha: float, rate: Fraction, bottom: int, noise_rate: Fraction
) -> float:
    """By a union over the rules that n examples propose, `listed` each; and bottom's chance.

    The other n - 1 examples are independent of a rule that one of them proposes; with noise this
    one may speak against h*, which costs a factor of exp(t). Bottom is drawn with probability at
    most min(1, exp(e (B - X))), X being the score of h*, whose examples of label 1 come with
    probability alpha at the least.
    """
    e, eta = float(rate), float(noise_rate)
    t = _best_exponent(e, eta)
    others = log(n * listed) + (t if eta else 0.0) - _loss(t, eta) * alpha * (n - 1)
    if not eta:
        return min(1.0, exp(min(others, 0.0)) + bottom_chance(n, alpha, e, bottom))

    def drawn(t: float) -> float:
        return bottom * t + n * log1p(-alpha * _loss(t, eta))

    return min(1.0, exp(min(others, 0.0)) + exp(min(_least(drawn, e), 0.0)))


def bottom_chance(n: int, share: float, rate: float, bottom: int) -> float:
    """E min(1, exp(e (B - X))), X ~ Bin(n, share): of bottom against a rule with the score X."""
    reach = min(n, bottom + int(TAIL / rate))
    return sum(
        (
            p * (1.0 if x <= bottom else exp(-rate * (x - bottom)))
            for x, p in enumerate(binomial(n, share, reach))
        ),
        0.0,
    )


def lists_failure(
    rules: int, chunks: int, size: int, alpha: float, rate: Fraction, bottom: int
) -> float:
    """Of k chunks that list every rule without errors on them, of N rules in all.

    h* is on all lists. Another rule is on that of a chunk of s examples with probability
    q <= (1 - alpha)^s, chunks being independent: its weight is at most exp(e k) times
    (1 - (1 - exp(-e)) (1 - q))^k on average. Without noise only.
    """
    e = float(rate)
    absent = 1 - exp(size * log1p(-min(alpha, 1 - 1e-12)))
    others = log(rules) + chunks * log1p(-(1 - exp(-e)) * absent)
    return min(1.0, exp(min(others, 0.0)) + exp(min(e * (bottom - chunks), 0.0)))


def binomial(n: int, share: float, upto: int) -> Iterator[float]:
    """P[Bin(n, share) = x] for x = 0, ..., upto."""
    if share >= 1:
        yield from (1.0 if x == n else 0.0 for x in range(upto + 1))
        return
    logarithm = n * log1p(-share)
    odds = log(share) - log1p(-share) if share > 0 else -1e9
    for step in _steps(n, min(upto, n)):
        yield exp(logarithm)
        logarithm += step + odds
    for _ in range(min(upto, n), upto + 1):
        yield exp(logarithm)


@lru_cache(maxsize=1024)
def _steps(n: int, upto: int) -> tuple[float, ...]:
    """ln C(n, x + 1) - ln C(n, x) for x = 0, ..., upto - 1; a search asks for few n, often."""
    return tuple(log((n - x) / (x + 1)) for x in range(upto))


def _log_moment(t: float, rate: float) -> float:
    """ln E exp(t nu), nu discrete Laplace of a rate above t."""
    b = exp(-rate)
    return 2 * log1p(-b) - log1p(-b * exp(t)) - log1p(-b * exp(-t))


def _least(value: Callable[[float], float], below: float) -> float:
    """The least value at some numbers above 0 and below this one."""
    return min(value(below * step / CHERNOFF_STEPS) for step in range(1, CHERNOFF_STEPS))
