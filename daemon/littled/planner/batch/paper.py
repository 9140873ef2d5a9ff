"""What the papers' own constants demand of a window, and the p of Lyu's essential hypotheses.

The constants are for comparison: no plan uses them. Which p_j a plan's lists belong to is a fact of
the plan (`EssentialLists`).

Sources: Lyu, "Private Learning of Littlestone Classes, Revisited", Theorem 3, with the chunks that
its proof chooses and with its event E_good written out; Alon, Bun, Livni, Malliaris, Moran,
"Private and Online Learnability are Equivalent", Theorems 23 and 30.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.portable import LN2, exp, log

# Steps of the fixed point for n, which is on both sides of its inequality.
ROUNDS = 50
# Beyond this a number of examples is given by its logarithm alone.
LOG10_MAX = 18.0
_LN10 = log(10)


@dataclass(frozen=True, slots=True)
class PaperSize:
    """What a statement demands: its source, log10 of the examples, and why it cannot be met."""

    source: str
    examples_log10: float
    reason: str

    @property
    def examples(self) -> str:
        """In words, such as 5.3e10."""
        if self.examples_log10 > LOG10_MAX:
            return f"10^{self.examples_log10:.4g}"
        return f"{exp(self.examples_log10 * _LN10):.1e}".replace("e+", "e")


def paper_sizes(
    hypotheses: HypothesisClass, alpha: float, beta: float, epsilon: Fraction, delta: Fraction
) -> tuple[PaperSize, ...]:
    """What either paper demands for this error and confidence."""
    return (
        _lyu(hypotheses, alpha, beta, float(epsilon), float(delta)),
        _alon(hypotheses, alpha, beta, float(epsilon), float(delta)),
    )


@dataclass(frozen=True, slots=True)
class EssentialLists:
    """For which p the lists of teachers are (p, d)-essential hypotheses (Lyu, Definition 4.3).

    Stage j has p_j = 2^(j - 1) `first`. The proof of Theorem 3 takes p_1 = 2 n d, and uses that p
    doubles from stage to stage (Lemma 4.3) and that p_1 is n or more (an essential hypothesis is
    the SOA of a part that n labels do not reduce). Both hold for a greater p_1 as well. So where a
    class's lists are the essential ones from some p on only, p_1 is that p, if it is the greater
    one; a longer list is paid for by L in any case.

    always: whether a class's lists are these whatever a chunk's examples are. Otherwise the class's
    `VersionSpace.essential` says for which examples they are.
    """

    dimension: int
    paper: int
    first: int
    always: bool

    def at(self, stage: int) -> int:
        """p_j of stage j, from 1 on."""
        return self.first << (stage - 1)


def essential_lists(hypotheses: HypothesisClass, window: int) -> EssentialLists:
    """The p of the lists of chunks of a window of n examples, however many chunks there are."""
    d = max(hypotheses.littlestone_dimension, 1)
    least, paper = needed(hypotheses.version_spaces).essential_p_min(d), 2 * window * d
    return EssentialLists(d, paper, max(paper, least or 1), least is not None)


def _lyu(
    hypotheses: HypothesisClass, alpha: float, beta: float, epsilon: float, delta: float
) -> PaperSize:
    """k = d^2 ln(1/delta) / epsilon chunks of s examples.

    E_good: errors above alpha/3 are within 1 +- 1/(5d) on every chunk, for n^d rules. By Chernoff
    one fails with probability at most 2 exp(-(alpha/3) s / (3 (5d)^2)). Half of epsilon is for the
    stage tests; common rules are on k/2 lists and have to outweigh bottom.
    """
    d = max(hypotheses.littlestone_dimension, 1)
    chunks = math.ceil(d * d * log(1 / delta) / epsilon)
    size, n = 1.0, float(chunks)
    for _ in range(ROUNDS):
        size = 225 * d * d / alpha * (log(2 * chunks / beta) + d * log(n))
        n = chunks * size
    bottom = 1 + math.ceil(log(1 / delta) / (epsilon / 4))
    if chunks < 2 * bottom:
        reason = (
            f"its {chunks:,} chunks cannot outweigh bottom: a rule on half of them needs "
            f"{2 * bottom:,} chunks"
        )
    else:
        reason = f"{chunks:,} chunks of {size:.1e} examples".replace("e+", "e")
    return PaperSize("Lyu, Theorem 3", log(n) / _LN10, reason)


def _alon(
    hypotheses: HypothesisClass, alpha: float, beta: float, epsilon: float, delta: float
) -> PaperSize:
    """m ln(1 / (eta beta delta)) / (eta epsilon), eta = 1 / ((d + 1) 2^(2^(d + 2) + 1)).

    m = 2^(2^(d + 2) + 1) 4^(d + 1) d / alpha examples a chunk; constants of the O() taken as 1.
    """
    d = max(hypotheses.littlestone_dimension, 1)
    tower = (2.0 ** min(d + 2, 1000) + 1) * LN2
    eta = log(d + 1) + tower
    m = tower + (d + 1) * 2 * LN2 + log(d / alpha)
    chunks = eta + log(eta - log(beta) - log(delta)) - log(epsilon)
    return PaperSize(
        "Alon and others, Theorem 30",
        (m + chunks) / _LN10,
        f"global stability of a class of dimension {d} is one in 10^{eta / _LN10:.3g}",
    )
