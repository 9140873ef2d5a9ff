"""Stable voting: a window that pays for unstable answers only.

Source: Bassily, Thakkar and Thakurta, "Model-Agnostic Private Learning via Stability" (distance to
instability with sparse vector), with constants proven here. What a window costs depends on its
data up to a public cap, so the daemon, whose price for an answer is fixed, does not serve it.

Mechanism. k public chunks of the window have a rule each, which vote. The majority at a point is 1
iff more rules say 1 than 0. The *distance* is how many examples would have to be replaced to turn
the majority, less one: with n_1 and n_0 votes it is ceil((n_1 - n_0) / 2) - 1 where the majority is
1, and floor((n_0 - n_1) / 2) where it is 0. A segment draws a threshold noise r, discrete Laplace
of rate e/2; each answer draws a fresh nu of rate e/4 and is *stable* iff distance + nu >= U + r. A
stable answer is the majority, exactly. An unstable one is drawn from the votes by the coin of
`littled.mechanisms.votes` at rate v, and ends the segment. Whether an answer is stable is public.
After the c-th unstable answer the window answers no more.

Guarantee: all answers of a window, of fully adaptive points, are (c (e + 2v), c f)-DP, f =
`littled.budget.predictions.unstable_as_stable`, up to a total variation of `precision_error`. The
number of stable answers does not matter. *Proof.* Replacing one example changes one vote. If the
majority at a point is the same on both sides, the distances differ by at most 1; if it is not, both
distances are 0. So distances have sensitivity 1, and the tests of one segment, up to and with the
first failure, are pure e-DP (`StageTest` in `littled.budget.events`), whatever else is released in
between. Let N be the transcripts in which no answer is stable at a point where the majorities
differ. On N a stable answer is the same function of the point on both sides, an unstable one has a
probability that changes by exp(2v) at most, and there are c segments at most: on N the probability
of a transcript changes by exp(c (e + 2v)) at most. Outside N: take the first point of a segment at
which the majorities differ. Its distance is 0, so given all that came before and r, the test passes
with probability P[nu >= U + r]; otherwise the segment ends there. So the probability that a segment
leaves N is at most the mean of P[nu >= U + r] over a fresh r, which is at most f; there are at most
c segments.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from littled.budget.events import PrecisionLoss, PredictionStableVoting, PrivacyEvent
from littled.classes.base import Ballot, Labels, Points
from littled.classes.hypothesis import HypothesisClass
from littled.learners.prediction.parts import Draw, check_window, chunk_rules, draws
from littled.mechanisms.discrete_laplace import DiscreteLaplace
from littled.mechanisms.noise import Address, NoiseSource
from littled.mechanisms.votes import PRECISION, VoteCoin


@dataclass(frozen=True, slots=True)
class StableVotingState:
    """What a window has said so far, and the noise of its segment, which is secret."""

    answers: int = 0
    unstable: int = 0
    threshold_noise: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class StableAnswers:
    """Released answers: `labels` uint8 (m,), and whether each was `stable`, bool (m,)."""

    labels: Labels
    stable: NDArray[np.bool_]


@dataclass(frozen=True)
class StableVoting:
    """Stable voting with `chunks` k, `rate` e, `vote_rate` v and `threshold` U >= 1.

    A window of `window` examples gives at most `answers_max` answers, of which `unstable_max` may
    be unstable. `name` is "stream/learner". ValueError, one sentence, for what cannot be.
    """

    name: str
    hypotheses: HypothesisClass
    window: int
    chunks: int
    rate: Fraction
    vote_rate: Fraction
    threshold: int
    answers_max: int
    unstable_max: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        """Refuse what no votes can be counted with, and what has no price."""
        if not 1 <= self.chunks <= self.window:
            raise ValueError("chunks must be from 1 to the number of examples in a window")
        if self.answers_max < 1 or self.unstable_max < 1:
            raise ValueError("answers_max and unstable_max must be at least 1")
        _ = self._coin, self._noises, self.window_events()

    def window_events(self) -> tuple[PrivacyEvent, ...]:
        """What a window costs at the most, charged before its first answer."""
        voting = PredictionStableVoting(
            self.rate, self.vote_rate, self.threshold, self.unstable_max
        )
        return voting, PrecisionLoss(min(Fraction(1), self.precision_error), self.epsilon)

    @property
    def precision_error(self) -> Fraction:
        """Bound on the total variation of all answers of a window from the ideal ones."""
        for_threshold, for_query = (each.total_variation for each in self._noises)
        segment = for_threshold + PRECISION
        return self.unstable_max * segment + self.answers_max * for_query

    def prepare(self, x: Points, y: Labels) -> Ballot:
        """The chunks' votes, private; ValueError unless there are `window` examples."""
        check_window(x, y, self.window)
        return self.hypotheses.ballot(chunk_rules(self.hypotheses, x, y, self.chunks))

    def answer(
        self,
        state: StableVotingState,
        prepared: Ballot,
        points: Points,
        noise: NoiseSource,
        address: Address,
    ) -> tuple[StableVotingState, StableAnswers]:
        """Answers to the points in order, as many as the window still has, and its new state.

        The noise of answer j is at the purposes "predict/..." of `address`, draw j from its own on.
        """
        labels, stable = [], []
        ones = prepared(points)
        for number, draw in enumerate(draws(noise, address, len(points))):
            if state.answers >= self.answers_max or state.unstable >= self.unstable_max:
                break
            state, label, passed = self._one(state, int(ones[number]), draw)
            labels.append(label)
            stable.append(passed)
        return state, StableAnswers(np.array(labels, np.uint8), np.array(stable, np.bool_))

    def _one(
        self, state: StableVotingState, ones: int, draw: Draw
    ) -> tuple[StableVotingState, int, bool]:
        """The state after one answer, the answer, and whether it was stable."""
        for_threshold, for_query = self._noises
        rho = state.threshold_noise
        if rho is None:
            rho = for_threshold.sample(draw.words("predict/threshold", DiscreteLaplace.WORDS))
        nu = for_query.sample(draw.words("predict/test", DiscreteLaplace.WORDS))
        state = replace(state, answers=state.answers + 1, threshold_noise=rho)
        majority, distance = majority_and_distance(ones, self.chunks - ones)
        if distance + nu >= self.threshold + rho:
            return state, majority, True
        counts = np.array([ones], dtype=np.int64)
        label = int(self._coin.answers(counts, draw.words("predict/vote", 1))[0])
        return replace(state, unstable=state.unstable + 1, threshold_noise=None), label, False

    @cached_property
    def _coin(self) -> VoteCoin:
        return VoteCoin(self.vote_rate, self.chunks)

    @cached_property
    def _noises(self) -> tuple[DiscreteLaplace, DiscreteLaplace]:
        return DiscreteLaplace(self.rate / 2), DiscreteLaplace(self.rate / 4)


def majority_and_distance(ones: int, zeros: int) -> tuple[int, int]:
    """The majority, 0 where votes are equal, and how many changed votes leave it as it is."""
    if ones > zeros:
        return 1, (ones - zeros + 1) // 2 - 1
    return 0, (zeros - ones) // 2
