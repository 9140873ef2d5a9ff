"""Uniform stability of an answer, which a flip makes private: the cruder way to its price."""

from fractions import Fraction


def stability(k: Fraction, q: Fraction) -> Fraction:
    """What |P[y] - P'[y]| can be for the answer h(x), h drawn from the candidates of T, no flip.

    It is q + (1 - q) (k - 1) / (k + 1) = q + (1 - q) tanh(e / 2). *Proof.* Given T without i, the
    difference is at most max over p of g(p) - p = (k - 1) / (k + 1), at p = 1 / (k + 1) (Lemma P);
    given T with i it is at most 1. Equality: the probability is 1 / (k + 1) for every T without i,
    and the answer turns from certainly 0 to certainly 1 for every T with i.
    """
    return q + (1 - q) * (k - 1) / (k + 1)
