"""What one private answer costs, in closed form: the formulas behind the events of predictions.

Source: Dagan and Feldman, "PAC Learning with Stable and Private Predictions", with constants
in place of the O(); the realizable learner and averaging are those of Dwork and Feldman,
"Privacy-preserving Prediction".

An answer is one bit about one point, with fresh noise, from a window of n examples. Neighbours are
windows that differ in the example at one position i. Write P[y] and P'[y] for the probability of
the answer y from two neighbours, in either order; all bounds hold for both answers y.

Every function takes exact fractions and gives a fraction that is at least what it names. Most take
k, a fraction at least exp(e) for the rate e of an exponential mechanism (weights exp(e * score),
where a replaced example changes each score by -1, 0 or 1): every bound grows with k.

The proofs of all of these bounds, and Lemmas P and Q, are in PRIVACY.md, section 13.
"""

from fractions import Fraction
from math import isqrt

from littled.budget.rounding import exp_upper, ln_upper

# Square roots are bounded to so many binary digits.
ROOT_BITS = 240


def stable_ratio(k: Fraction, q: Fraction, flip: Fraction) -> Fraction:
    """What P[y] / P'[y] can be where the answer h(x) is flipped with probability a = `flip`.

    PRIVACY.md, section 13 (Private by stability). With b = 1 - 2a it is 1 + b q / a if that is at
    least k^2. Otherwise, with c = b (1 - q) / (k^2 - 1), its root r is the smallest positive root
    of (c - a) r^2 - 2 c k r + m = 0, m = c k^2 + a + b q, which is
    m / (c k + sqrt(c^2 k^2 - (c - a) m)).

    With q = 0 and a = 0 it is k^2, the exponential mechanism's own. a = 0 and q > 0: no R.
    """
    b = 1 - 2 * flip
    if flip and flip + b * q >= k * k * flip:
        return 1 + b * q / flip
    c = b * (1 - q) / (k * k - 1)
    m = c * k * k + flip + b * q
    root = m / (c * k + _root_lower(c * c * k * k - (c - flip) * m))
    return root * root


def stable_odds(k: Fraction, q: Fraction, flip: Fraction) -> Fraction:
    """What the ratio of the odds P[y] / P[1 - y] to P'[y] / P'[1 - y] can be, with that flip.

    With the bounds of `stable_ratio` for P[y] and P'[y], both of them for the same p, and
    z = 1 - g(p), m = b (1 - q), f(t) = (1 - a - m t) / (a + m t), the ratio of the odds is at most
    f(p) f(z). As z = (1 - p) / (1 + (k^2 - 1) p), p + z = 1 - (k^2 - 1) p z: numerator and
    denominator of f(p) f(z) are linear in the product p z, so it is monotone in it, and largest
    where the product is: at p = 0, product 0, or at p = z = 1 / (k + 1). The two values are

        (a + b q) (1 - a) / (a (1 - a - b q)),
        ((a + b q + m k / (k + 1)) / (a + m / (k + 1)))^2.
    """
    b = 1 - 2 * flip
    m = b * (1 - q)
    middle = (flip + b * q + m * k / (k + 1)) / (flip + m / (k + 1))
    odds = middle * middle
    if flip:
        odds = max(odds, (flip + b * q) * (1 - flip) / (flip * (1 - flip - b * q)))
    return odds


def averaging_ratio(chunks: int, flip: Fraction) -> Fraction:
    """What P[y] / P'[y] can be for the rule of one random chunk of k, flipped: 1 + b / (k a).

    With s of the k chunks' rules saying y, P[y] = a + b s / k; a replaced example changes s by at
    most 1, and the ratio is largest from s = 0 to 1.
    """
    return 1 + (1 - 2 * flip) / (chunks * flip)


def averaging_odds(chunks: int, flip: Fraction) -> Fraction:
    """What the ratio of the odds can be: that from s = 0 to 1, as log-odds are steepest there."""
    more = flip + (1 - 2 * flip) / chunks
    return more * (1 - flip) / (flip * (1 - more))


def differing_max(window: int, net: Fraction) -> int:
    """On how many of the other n - 1 examples two rules can differ that agree on a net of them.

    It is floor(eta (n - 1)) for an eta-net, eta = `net`.
    """
    return net.numerator * (window - 1) // net.denominator


def no_net(window: int, net: Fraction, q: Fraction, labelings: Fraction) -> Fraction:
    """What the probability can be that T without i is no eta-net of the n - 1 other examples.

    T without i is no net iff two of the at most t = `labelings` labelings of the other points
    differ on u + 1 of them or more, u = `differing_max`, and nowhere on T. There are t (t - 1) / 2
    pairs at most, and T misses u + 1 given positions with probability (1 - q)^(u + 1).
    """
    missed = (differing_max(window, net) + 1) * ln_upper(1 - q) if q else Fraction(0)
    # 1 - q is below 1, but an upper bound of a logarithm so close to 0 may lie above it
    return min(Fraction(1), labelings * (labelings - 1) / 2 * exp_upper(min(missed, Fraction(0))))


def relabelled_ratio(
    rate: Fraction, vote_rate: Fraction, q: Fraction, window: int, net: Fraction
) -> Fraction:
    """What Q can be in P[y] <= Q P'[y] + q f, for an answer learned from relabelled examples.

    PRIVACY.md, section 13 (By relabelling), with f = `no_net`:
    Q = exp(2e + 2v) (1 + C q / (1 - q)) with C = exp((2e + 2v) u) (1 + exp(e + 2v)),
    u = `differing_max`.
    """
    step = 2 * (rate + vote_rate)
    growth = exp_upper(step * differing_max(window, net)) * (1 + exp_upper(rate + 2 * vote_rate))
    return exp_upper(step) * (1 + growth * q / (1 - q))


def flipped_ratio(ratio: Fraction, failure: Fraction, flip: Fraction) -> Fraction:
    """What P[y] / P'[y] can be where P[y] <= Q P'[y] + d before a flip with probability a > 0.

    Q = `ratio`, d = `failure`, and the same for 1 - y with the two exchanged. The larger of the
    ratios at p' = 0 and where the two bounds of p meet (PRIVACY.md, section 13, By relabelling).
    """
    b = 1 - 2 * flip
    met = (flip + b * (ratio + failure) / (ratio + 1)) / (flip + b * (1 - failure) / (ratio + 1))
    return max(1 + b * failure / flip, met)


def unstable_as_stable(rate: Fraction, threshold: int) -> Fraction:
    """What the probability can be that a distance of 0 passes the noisy test of stable voting.

    The test is nu >= U + r, U = `threshold` >= 1, with discrete Laplace nu of rate e/4 and r of
    rate e/2. With s = exp(-e/4) it is at most s^U (1 + s) / (1 + s + s^2), which grows with s
    (PRIVACY.md, section 13, Stable voting).
    """
    s = exp_upper(-rate / 4)
    return min(Fraction(1), s**threshold * (1 + s) / (1 + s + s * s))


def _root_lower(value: Fraction) -> Fraction:
    """A fraction at most sqrt(value), by less than 2^-240, for value >= 0."""
    return Fraction(
        isqrt((value.numerator << (2 * ROOT_BITS)) // value.denominator), 1 << ROOT_BITS
    )
