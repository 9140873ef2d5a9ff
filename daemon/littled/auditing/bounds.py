"""What counts of transcripts prove: which transcripts to believe, and a lower bound of epsilon.

Source: Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of
the binomial" (1934), as audits of differential privacy use it: Ding, Wang, Wang, Zhang and Kifer,
"Detecting Violations of Differential Privacy" (2018); Bichsel, Steffen, Bogunovic and Vechev,
"DP-Sniper" (2021).

If a mechanism is (epsilon, delta)-DP, then for every set of transcripts P[set] <= exp(epsilon)
P'[set] + delta on neighbouring inputs. So a set that comes up in `hits` of n independent runs on
one side, and in `false_hits` of n on the other, proves that epsilon is at least
log((p - delta) / r), with p a lower limit of P[set] and r an upper limit of P'[set]. Both limits
hold together except for the *doubt*. The set must be chosen before: it is learned from runs of
their own, and proves by new ones. One pair of limits serves every delta at once.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import compress, product
from math import log

import numpy as np
from numpy.typing import NDArray

# What all bounds of one audit together may be wrong with.
DOUBT = 0.001
# Slopes, as shares of a claim, at which a training searches the best set.
SLOPES = (0.1, 0.3, 0.5, 0.7, 0.85, 1.0, 1.2)

Shares = NDArray[np.float64]
Transcript = Hashable
Counts = Counter[Transcript]
# Counts of sides 0 and 1.
Sides = tuple[Counts, Counts]
# What is looked at of a transcript: a function of it, so that nothing is looked at but the public.
View = Callable[[Transcript], Hashable]


@dataclass(frozen=True, slots=True)
class Claim:
    """An (epsilon, delta) that is promised of everything that one run makes public."""

    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """How often a convincing transcript came up, of so many games, on the likely side and not."""

    hits: int
    false_hits: int
    games: int
    doubt: float = DOUBT

    def epsilon(self, delta: float = 0.0) -> float:
        """A lower bound of epsilon at this delta; minus infinity where nothing is known."""
        return epsilon_at_least(self.hits, self.false_hits, self.games, delta, self.doubt)

    def exceeded(self, claims: Sequence[Claim]) -> tuple[Claim, ...]:
        """The claims that are proven to be wrong."""
        return tuple(claim for claim in claims if self.epsilon(claim.delta) > claim.epsilon)


def epsilon_at_least(
    hits: float, false_hits: float, games: int, delta: float, doubt: float = DOUBT
) -> float:
    """log((p - delta) / r), p and r at the ends of intervals that both hold except for `doubt`."""
    from scipy.special import betaincinv  # noqa: PLC0415 - only audits need it, an extra

    tail = doubt / 2
    p = betaincinv(hits, games - hits + 1, tail) if hits > 0 else 0.0
    r = betaincinv(false_hits + 1, games - false_hits, 1 - tail) if false_hits < games else 1.0
    return log((p - delta) / r) if p > delta else -np.inf


def cautious(here: Shares, there: Shares, runs: float) -> tuple[Shares, Shares]:
    """Shares (n,) or () of transcripts on both sides, estimated so that none convinces by chance.

    `here` and `there` are how often each came up in `runs` runs: by a standard deviation less
    where it shall convince, and more where it shall not.
    """
    p = np.maximum(here - np.sqrt(here), 0) / runs
    r = (there + np.sqrt(there) + 1) / runs
    return p, r


@dataclass(frozen=True)
class Belief:
    """What a training came to: the transcripts that speak for side `likely`.

    `promised` is about the lower bound of epsilon that they will prove.
    """

    view: View
    convincing: frozenset[Hashable]
    likely: int
    promised: float

    def count(self, counts: Counts) -> int:
        """How many of these transcripts convince."""
        return sum(
            n for transcript, n in counts.items() if self.view(transcript) in self.convincing
        )


def learn(
    counts: Sides,
    checks: Sides,
    views: Sequence[View],
    claim: Claim,
    games: int,
    doubt: float = DOUBT,
) -> Belief:
    """The set that promises the largest bound in so many games, from counts on both sides.

    For each view and slope s it is the transcripts with P > exp(s) P', cautiously estimated from
    `counts`: the sets of Neyman and Pearson, of which the best one tells the sides apart best.
    What a set promises is estimated from `checks`, as where transcripts are many, some of them
    convince by chance.
    """
    runs, checked = (min(side.total() for side in both) for both in (counts, checks))
    best = Belief(views[0], frozenset(), 0, -np.inf)
    for view in views:
        seen, others = ([_seen(side, view) for side in both] for both in (counts, checks))
        keys = list(seen[0] | seen[1])
        here, there = (
            np.array([[side[key] for key in keys] for side in both], dtype=np.float64)
            for both in (seen, others)
        )
        for likely, slope in product((0, 1), SLOPES):
            p, r = cautious(here[likely], here[1 - likely], runs)
            chosen = p > np.exp(slope * claim.epsilon) * r
            hit, missed = (there[side, chosen].sum() for side in (likely, 1 - likely))
            hits, false_hits = (
                min(games * float(mass), float(games)) for mass in cautious(hit, missed, checked)
            )
            promised = epsilon_at_least(hits, false_hits, games, claim.delta, doubt)
            if promised > best.promised:
                best = Belief(view, frozenset(compress(keys, chosen)), likely, promised)
    return best


def _seen(counts: Counts, view: View) -> Counter[Hashable]:
    """How often each view of a transcript came up."""
    seen: Counter[Hashable] = Counter()
    for transcript, count in counts.items():
        seen[view(transcript)] += count
    return seen
