"""A coin whose probability is an exact fraction, and which is tossed exactly.

Source: comparison of a uniform number with the binary expansion of the probability, digit by digit.

Guarantee: P[1] is the fraction itself, with no error at all. Randomised response is made of it: a
bit that is turned over with probability a, 0 < a <= 1/2, is pure ln((1 - a) / a)-DP (Warner).

Neighbouring relation: replace one example, where the probability depends on data.

Sensitivity: the caller's part; a toss says what its probability lets it say.

Shapes: one bool a toss.

Edge cases: probabilities 0 and 1 are certain. A toss reads one word, but another one with
probability 2^-64, and so on; how many it reads does not depend on data but through the probability.
"""

from fractions import Fraction

from littled.mechanisms.noise import Address, NoiseSource
from littled.written import as_written

WORD_BITS = 64


def toss(probability: Fraction, noise: NoiseSource, address: Address) -> bool:
    """Whether a uniform number on [0, 1), read from this address, is below the probability.

    Word for word: the uniform number's next 64 digits decide unless they are the probability's own.
    A float is taken as it is written. TypeError for what is no number, ValueError outside 0 to 1.
    """
    probability = as_written(probability)
    if not 0 <= probability <= 1:
        raise ValueError("the probability of a toss must be from 0 to 1")
    if probability == 1:
        return True
    rest, offset = probability, 0
    while rest:
        digits, part = divmod(rest.numerator << WORD_BITS, rest.denominator)
        word = int(noise.words(address, 1, offset)[0])
        if word != digits:
            return word < digits
        rest, offset = Fraction(part, rest.denominator), offset + 1
    return False
