"""Tails of noise and weights of scores, one at a time, as the mechanisms' own tables have them."""

from fractions import Fraction
from functools import lru_cache

from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.mechanisms.exponential import _joined, _weight_limbs


@lru_cache(maxsize=64)
def _laplace(rate: Fraction) -> DiscreteLaplace:
    """Noise of this rate, which keeps its table."""
    return DiscreteLaplace(rate)


def tail_of(rate: Fraction, gap: int) -> int:
    """floor(2^64 * P[Z >= gap]) for discrete Laplace noise Z of this rate."""
    return int(_laplace(rate).survival_word(gap))


def weight_of(rate: Fraction, distance: int) -> int:
    """floor(2^127 * exp(-rate * distance)): the weight of a score so far below the largest."""
    limbs = _weight_limbs(rate)
    return _joined(limbs[:, distance]) if distance < limbs.shape[1] else 0
