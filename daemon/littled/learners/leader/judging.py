"""Which rule is published: a scorecard, the stump, "never" or "always", by noisy counts.

Candidates are public before the examples that judge them. At the end of each public period the
learner releases, with noise, how much more often each was right than wrong in it; all that is here
follows from these numbers, and from the draw of a trial, where there was one (PRIVACY.md, section
16).
"""

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np

from littled.classes.capabilities import Integers
from littled.learners.leader.parameters import NOISE_VARIANCE

# A period counts three quarters as much once the next one has ended, so that changes are followed.
_FADE_ABOVE, _FADE_BELOW = 3, 4
# A scorecard is left for what leads by a multiple of the noise in a lead and by half a percent of
# the examples, and taken again when nothing leads it by half as much: it follows changes, and
# others do not.
_LEAD_SHARE: Final = 200
# What is counted: the scorecard, the stump, and "never"; "always" is right where "never" is wrong.
COUNTED: Final = 3


class Candidate(IntEnum):
    """What can be published."""

    SCORECARD = 0
    STUMP = 1
    NEVER = 2
    ALWAYS = 3


def candidate_scores(sums: Integers) -> Integers:
    """Right answers of each candidate less those of "never": int64 (candidates,).

    sums: how much more often each that is counted was right than wrong. An example changes each
    number of right answers by 1 at the most, and all by the same number of "never".
    """
    never = sums[Candidate.NEVER]
    scores: Integers = (np.append(sums, -never) - never) // 2
    return scores


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was released of all periods of a season, and the choice. Public.

    standing: noisy right answers less wrong ones of each that is counted, older periods for less.
    variance: of the noise in each. examples: in these periods, older ones for less, in the units of
    the standing.
    """

    standing: tuple[int, ...] = (0,) * COUNTED
    variance: int = 0
    examples: int = 0
    choice: Candidate = Candidate.SCORECARD

    def after(
        self, released: tuple[int, ...], examples: int, lead: int = 1, halves: int = 0
    ) -> "Judgement":
        """The judgement after one more period's numbers; `examples` is what all right would be.

        lead: by how many standard deviations of a lead a scorecard has to be behind, to be left.
        halves: by how many halves of one it has to be ahead of "never" or "always", to be taken
        again; above 0 these are left for the stump, or for each other, by two halves.
        """
        faded = [number * _FADE_ABOVE // _FADE_BELOW for number in self.standing]
        standing = tuple(old + new for old, new in zip(faded, released, strict=True))
        variance = self.variance * _FADE_ABOVE**2 // _FADE_BELOW**2 + NOISE_VARIANCE
        examples += self.examples * _FADE_ABOVE // _FADE_BELOW
        scorecard, stump, never = standing
        others = {Candidate.STUMP: stump, Candidate.NEVER: never, Candidate.ALWAYS: -never}
        best = max(others, key=others.__getitem__)
        stands = halves if self.choice in (Candidate.NEVER, Candidate.ALWAYS) else 0
        if stands:
            stays = others[best] - others[self.choice] <= math.isqrt(2 * variance)
            best = self.choice if stays else best
        # one right answer more is one wrong answer less, so that it counts twice
        needed = 2 * examples // _LEAD_SHARE
        if self.choice is Candidate.SCORECARD:
            needed += math.isqrt(2 * variance * lead * lead)
        else:
            needed = needed // 2 - math.isqrt(variance * stands * stands // 2)
        choice = best if others[best] - scorecard > needed else Candidate.SCORECARD
        return Judgement(standing, variance, examples, choice)
