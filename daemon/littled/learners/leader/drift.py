"""Whether a stream has changed: the latest releases are longer together than their noise.

Where weights fit a stream, the sums of its batches are near 0; after a change they point one way
for many batches. All here follows from releases, and from the public parameter of their noise.
"""

from littled.classes.capabilities import Integers
from littled.learners.leader.parameters import NOISE_VARIANCE, LeaderParameters

# Parts of the units in which the noise of a decaying sum is followed.
_BITS = 20


def is_longer_than_noise(recent: Integers, variance: int, lead: int) -> bool:
    """Whether the squared length of a sum (d,) exceeds noise by `lead` standard deviations.

    Of noise of this variance in each entry it is d variances in the mean, and its standard
    deviation is the root of 2d of them. Exact.
    """
    squares: int = sum(each * each for each in recent.tolist())
    excess = squares - len(recent) * variance
    return excess > 0 and excess * excess > lead * lead * 2 * len(recent) * variance * variance


def recent_noise(p: LeaderParameters) -> tuple[int, ...]:
    """The variance of noise in an entry of the decaying sum after 1, 2, ... batches.

    In the units of that sum: noise of the releases, without their lowest bits, convolved with what
    undoes their coefficients, then summed with a decay of 1 - 1/`drift_batches`.
    """
    roots = p.roots[: len(p.coefficients)]
    found, squares, current = [], 0, 0
    for k in range(max(p.batches, p.warmup)):
        current -= current // p.drift_batches
        current += roots[k] << _BITS if k < len(roots) else 0
        squares += current * current
        found.append(NOISE_VARIANCE * squares >> 2 * (p.dropped_bits + _BITS))
    return tuple(found)
