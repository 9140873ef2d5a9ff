"""What one private answer costs, in closed form: the formulas behind the events of predictions.

Source: Dagan and Feldman, "PAC Learning with Stable and Private Predictions", with constants proven
here in place of the O(); the realizable learner and averaging are those of Dwork and Feldman,
"Privacy-preserving Prediction".

An answer is one bit about one point, with fresh noise, from a window of n examples. Neighbours are
windows that differ in the example at one position i. Write P[y] and P'[y] for the probability of
the answer y from two neighbours, in either order; all bounds hold for both answers y.

Every function takes exact fractions and gives a fraction that is at least what it names. Most take
k, a fraction at least exp(e) for the rate e of an exponential mechanism (weights exp(e * score),
where a replaced example changes each score by -1, 0 or 1): every bound grows with k.

**Lemma P (odds).** Let two such mechanisms weigh the same candidates, and let p and p' be the
probabilities that a set of candidates is drawn from. Then p / (1 - p) <= k^2 p' / (1 - p'), so
p <= g(p') with g(p) = k^2 p / (1 + (k^2 - 1) p), which is concave and grows. *Proof.* The weight of
the set changes by the factor k at most, in one direction, that of the others by k in the other.

**Lemma Q (bits).** For an answer of one bit: (1) if the log-odds of the answer differ by at most w,
its price is w^2 / 8 in zCDP. (2) If P[y] <= Q P'[y] + d and P'[y] <= Q P[y] + d for both y, then
P = (1 - d) M + d N and P' = (1 - d) M' + d N' with M and M' pure ln(Q)-DP of each other: the price
is pure ln Q and d in delta. *Proof.* (1) The log-ratios of P and P' lie in an interval of width w
around 0, see `littled.mechanisms.exponential`. (2) Let p = P[1] >= p' = P'[1]. M[1] may be any
number from (p - d) / (1 - d) to p / (1 - d) within [0, 1], and M'[1] likewise. If p - d <= p' there
is a number common to both, and M = M'. Otherwise M[1] = (p - d) / (1 - d) and
M'[1] = p' / (1 - d): then M[1] / M'[1] = (p - d) / p' <= Q by the first condition for y = 1, and
M'[0] / M[0] = (1 - p' - d) / (1 - p) <= Q by the second one for y = 0; the other two ratios are
below 1.

**Subset and representatives.** A random subset T of the indices has each of them with probability
q, independently, so T without i is independent of whether i is in T. The candidates of T are one
rule for each labeling of T's points, chosen by these points alone; their scores are the agreements
with all n examples. If i is not in T, neighbours have the same candidates, and Lemma P holds.
"""

from fractions import Fraction
from math import isqrt

from littled.budget.rounding import exp_upper, ln_upper

# Square roots are bounded to so many binary digits.
ROOT_BITS = 240


def stable_ratio(k: Fraction, q: Fraction, flip: Fraction) -> Fraction:
    """What P[y] / P'[y] can be where the answer h(x) is flipped with probability a = `flip`.

    Let b = 1 - 2a, and p the mean over T without i of the probability of y under P'. By Lemma P,
    and by Jensen's inequality as g is concave,

        P[y] <= a + b (q + (1 - q) g(p)),        P'[y] >= a + b (1 - q) p,

    so P[y] <= R P'[y] for the least R with a + b q - R a + b (1 - q) max over p of (g(p) - R p)
    <= 0. For 1 <= R <= k^2 the maximum is at 1 + (k^2 - 1) p = k / sqrt(R), where it is
    (k - sqrt(R))^2 / (k^2 - 1); for R >= k^2 it is 0, at p = 0. So R = 1 + b q / a if that is at
    least k^2. Otherwise, with c = b (1 - q) / (k^2 - 1), r = sqrt(R) is the smallest positive root
    of (c - a) r^2 - 2 c k r + m = 0, m = c k^2 + a + b q, which is
    m / (c k + sqrt(c^2 k^2 - (c - a) m)). Equality: every T without i gives y with that
    probability p, and the answer turns fully for every T with i.

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

    A rule h is drawn from the candidates of T at rate e. S_h is the window with h's labels; k
    public chunks of it have a rule each, and the answer is drawn from their votes at rate v. Let
    h_{S,T}(y) be the probability of y given T, and f = `no_net`. Then
    Q = exp(2e + 2v) (1 + C q / (1 - q)) with C = exp((2e + 2v) u) (1 + exp(e + 2v)),
    u = `differing_max`. *Proof.*

    (1) *T without i*: h_{S,T}(y) <= exp(2e + 2v) h_{S',T}(y). The candidates are the same, each is
    drawn with a probability that changes by exp(2e) at most, and given h one relabelled example
    differs, so one chunk's vote, and the answer's probability changes by exp(2v) at most.

    (2) *T = J and i, J an eta-net of the others*: h_{S,T}(y) <= C h_{S,J}(y), on the same window S.
    Let H_T and H_J be the candidates, w_h = exp(e * agreements). For h in H_T let g be the one rule
    of H_J that labels J as h does: for each g there are at most two such h, which label x_i in the
    two ways, so one of them, h_0, labels x_i as g does, if it is there, and it is: g itself labels
    T. h and g agree on the net J, so they differ on at most u of the other examples; h_0 and g
    differ on no more than these u, the second one, h_1, and g on u + 1. So w_g <= exp(e u) w_{h_0},
    and the sum of all w_g is at most exp(e u) times the sum of all w_h. And
    w_h <= exp(e u) w_g or exp(e (u + 1)) w_g, while S_h and S_g differ in as many labels, each of
    which changes one chunk's vote at most: the answer's probability given h is at most exp(2v u) or
    exp(2v (u + 1)) times that given g. Together h_{S,T}(y) <= exp(e u) (exp((e + 2v) u) +
    exp((e + 2v) (u + 1))) h_{S,J}(y), which is C h_{S,J}(y).

    (3) J, all of T but i, has the same law whether i is in T or not. Over J,

        P[y] = E[(1 - q) h_{S,J}(y) + q h_{S,J and i}(y)] <= E[(1 - q + q C) h_{S,J}(y)] + q f,

    as h is at most 1 where J is no net; and P'[y] >= (1 - q) E[h_{S',J}(y)]. With (1) for
    h_{S,J}(y), that is the claim.
    """
    step = 2 * (rate + vote_rate)
    growth = exp_upper(step * differing_max(window, net)) * (1 + exp_upper(rate + 2 * vote_rate))
    return exp_upper(step) * (1 + growth * q / (1 - q))


def flipped_ratio(ratio: Fraction, failure: Fraction, flip: Fraction) -> Fraction:
    """What P[y] / P'[y] can be where P[y] <= Q P'[y] + d before a flip with probability a > 0.

    Q = `ratio`, d = `failure`, and the same for 1 - y with the two exchanged. Let p and p' be the
    probabilities before the flip. So p is at most Q p' + d, and also at most
    1 - (1 - d - p') / Q from the other bound; the two meet at p' = (1 - d) / (Q + 1),
    p = (Q + d) / (Q + 1). On each piece (a + b p) / (a + b p') is a quotient of linear functions of
    p', so monotone; on the second it falls, since its numerator rises with slope b / Q only. So it
    is largest at p' = 0, p = d, or where they meet.
    """
    b = 1 - 2 * flip
    met = (flip + b * (ratio + failure) / (ratio + 1)) / (flip + b * (1 - failure) / (ratio + 1))
    return max(1 + b * failure / flip, met)


def unstable_as_stable(rate: Fraction, threshold: int) -> Fraction:
    """What the probability can be that a distance of 0 passes the noisy test of stable voting.

    The test is nu >= U + r, U = `threshold` >= 1, with discrete Laplace nu of rate e/4 and r of
    rate e/2. Let s = exp(-e/4). P[nu >= z] <= s^z / (1 + s) for every integer z: with equality for
    z >= 0, and for z = -j because (1 - s^j) (1 - s^(j + 1)) >= 0. So the probability is at most
    s^U E[s^r] / (1 + s), where E[s^r] = (1 + s)^2 / (1 + s + s^2): together
    s^U (1 + s) / (1 + s + s^2), which grows with s.
    """
    s = exp_upper(-rate / 4)
    return min(Fraction(1), s**threshold * (1 + s) / (1 + s + s * s))


def _root_lower(value: Fraction) -> Fraction:
    """A fraction at most sqrt(value), by less than 2^-240, for value >= 0."""
    return Fraction(
        isqrt((value.numerator << (2 * ROOT_BITS)) // value.denominator), 1 << ROOT_BITS
    )
