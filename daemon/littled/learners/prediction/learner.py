"""The prediction learner: private answers about single points, no rule is ever published.

Source: Dagan and Feldman, "PAC Learning with Stable and Private Predictions" (Corollary 2, Theorem
12, Lemma 9); Dwork and Feldman, "Privacy-preserving Prediction"; Kasiviswanathan and others, "What
Can We Learn Privately?"; Papernot and others on noisy majorities, here with another law of noise
(`littled.mechanisms.noisy_majority`).

Examples come in windows of a fixed number n, and each belongs to one window only. A window serves
`answers_max` answers. Each answer is one bit about one point, with fresh noise, so the adversary
may choose a point after seeing earlier answers; prices of answers add up. The points that are asked
about are not protected.

What an answer costs is fixed and public (`answers_event`); the proofs are in
`littled.budget.predictions` and PRIVACY.md. `prepare` is deterministic and draws nothing: it does
once what all answers of a window need. Both it and the answers are private until released.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from littled.budget.events import (
    PrecisionLoss,
    PredictionAnswersAveraging,
    PredictionAnswersDense,
    PredictionAnswersMajority,
    PredictionAnswersRealizable,
    PredictionAnswersRelabelling,
    PredictionAnswersStability,
    PrivacyEvent,
)
from littled.classes.base import Ballot, Labelings, Labels, Points
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.learners.prediction.parameters import Method, PredictionParameters
from littled.learners.prediction.parts import (
    Draw,
    check_window,
    chunk_rules,
    draws,
)
from littled.learners.prediction.stable import StablePredictor
from littled.mechanisms.exponential import ExponentialMechanism, WeighedScores
from littled.mechanisms.noise import Address, NoiseSource
from littled.mechanisms.noisy_majority import Noise, NoisyMajority
from littled.mechanisms.votes import PRECISION, VoteCoin

_OF_CHUNKS = frozenset({"realizable", "averaging", "majority"})

# The answer to point j with this noise.
_Answering = Callable[[int, Draw], bool]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Prepared:
    """What one window's answers are made from: private, and opaque to everybody else.

    By method: the weighed scores of all rules; the labelings of subsets, and for relabelling the
    points; the votes of the chunks' rules.
    """

    scores: WeighedScores | None = None
    labelings: Labelings | None = None
    x: Points | None = None
    ballot: Ballot | None = None


@dataclass(frozen=True)
class PredictionLearner:
    """Private answers about one class with public parameters.

    `name` is "stream/learner" and separates the noise of learners on one stream. ValueError, one
    sentence, for parameters that do not fit the class.
    """

    name: str
    hypotheses: HypothesisClass
    parameters: PredictionParameters

    def __post_init__(self) -> None:
        """Check the parameters against the class, and the rates against the mechanisms."""
        if self.parameters.method == "dense" and self.hypotheses.dense is None:
            raise ValueError(f"{self.hypotheses.name} has too many rules for dense prediction")
        _ = self.precision_error(), self.answers_event(1)

    # -- public facts ------------------------------------------------------------------------

    @property
    def method(self) -> Method:
        """How answers are made."""
        return self.parameters.method

    @property
    def window(self) -> int:
        """Examples in a window."""
        return self.parameters.window

    @property
    def answers_max(self) -> int:
        """Answers that a window serves at the most."""
        return self.parameters.answers_max

    def answers_event(self, count: int) -> PrivacyEvent:
        """What `count` answers cost, whatever they are about: fixed and public."""
        p = self.parameters
        match p.method:
            case "dense":
                return PredictionAnswersDense(p.rate, count, p.accounting)
            case "stability":
                return PredictionAnswersStability(
                    p.rate, p.subset_rate, p.flip, count, p.accounting
                )
            case "relabelling":
                return self._relabelling_event(count)
            case "realizable":
                return PredictionAnswersRealizable(p.vote_rate, count, p.accounting)
            case "averaging":
                return PredictionAnswersAveraging(self._chunks, p.flip, count, p.accounting)
            case "majority":
                return PredictionAnswersMajority(p.vote_rate, count, p.accounting)

    def _relabelling_event(self, count: int) -> PredictionAnswersRelabelling:
        p = self.parameters
        return PredictionAnswersRelabelling(
            rate=p.rate,
            vote_rate=p.vote_rate,
            subset_rate=p.subset_rate,
            flip=p.flip,
            net=p.net,
            window=p.window,
            labelings=Fraction(self.hypotheses.labelings_max(p.window - 1)),
            answers=count,
            accounting=p.accounting,
        )

    def window_events(self) -> tuple[PrivacyEvent, ...]:
        """What one full window costs: all its answers, and finite precision.

        An example is in one window, so all windows together cost an example what one does.
        """
        p = self.parameters
        error = min(Fraction(1), p.answers_max * self.precision_error())
        return self.answers_event(p.answers_max), PrecisionLoss(error, p.epsilon)

    def precision_error(self) -> Fraction:
        """Bound on the total variation of one answer from the ideal one."""
        match self.parameters.method:
            case "dense":
                return self._selection.total_variation(needed(self.hypotheses.dense).rule_count)
            case "stability":
                return self._stable.precision_error
            case "relabelling":
                _ = self._coin
                return self._stable.precision_error + PRECISION
            case "realizable":
                _ = self._coin
                return PRECISION
            case "averaging":
                return Fraction(0)
            case "majority":
                return self._majority.total_variation

    # -- answers -----------------------------------------------------------------------------

    def prepare(self, x: Points, y: Labels) -> Prepared:
        """The work on a window of examples `x` (n,) with labels `y` (n,) that is done once.

        Deterministic and free of noise; it may take seconds. ValueError unless n is `window`.
        """
        p = self.parameters
        check_window(x, y, p.window)
        if p.method == "dense":
            agreements = needed(self.hypotheses.dense).agreements(x, y)
            return Prepared(scores=self._selection.weighed(agreements))
        if p.method in _OF_CHUNKS:
            rules = chunk_rules(self.hypotheses, x, y, self._chunks)
            if p.method == "majority":
                self._majority.prepare()
            return Prepared(ballot=self.hypotheses.ballot(rules))
        return Prepared(labelings=self._stable.prepare(x, y), x=x)

    def answer(
        self, prepared: Prepared, points: Points, noise: NoiseSource, address: Address
    ) -> Labels:
        """One answer for each of `points` (m,), uint8 (m,), each with fresh noise.

        The noise of answer j is at the purposes "predict/..." of `address`, whose `draw` is the
        first answer's; the caller gives no two answers of a window the same place and draw.
        """
        return np.fromiter(self._answers(prepared, points, noise, address), dtype=np.uint8)

    def _answers(
        self, prepared: Prepared, points: Points, noise: NoiseSource, address: Address
    ) -> Iterator[bool]:
        answering = self._answering(prepared, points)
        for number, draw in enumerate(draws(noise, address, len(points))):
            yield answering(number, draw)

    def _answering(self, prepared: Prepared, points: Points) -> _Answering:
        """The method's way to answer, and to flip where it does."""
        p = self.parameters
        if p.method in _OF_CHUNKS:
            assert prepared.ballot is not None
            ones = prepared.ballot(points)
            return lambda number, draw: self._from_votes(int(ones[number]), draw)
        ask = {
            "dense": self._dense,
            "stability": self._by_stability,
            "relabelling": self._by_relabelling,
        }[p.method]
        return lambda number, draw: ask(prepared, points[number : number + 1], draw)

    def _dense(self, prepared: Prepared, point: Points, draw: Draw) -> bool:
        assert prepared.scores is not None
        words = draw.words("predict/select", ExponentialMechanism.WORDS)
        rule = needed(self.hypotheses.dense).rule(prepared.scores.draw(words))
        return bool(rule.evaluate(point)[0])

    def _by_stability(self, prepared: Prepared, point: Points, draw: Draw) -> bool:
        assert prepared.labelings is not None
        label = self._stable.label(prepared.labelings, point, draw)
        return label != draw.toss("predict/flip", self.parameters.flip)

    def _by_relabelling(self, prepared: Prepared, point: Points, draw: Draw) -> bool:
        assert prepared.labelings is not None
        assert prepared.x is not None
        candidates, index = self._stable.select(prepared.labelings, draw)
        labels = candidates.rule(index).evaluate(prepared.x)
        rules = chunk_rules(self.hypotheses, prepared.x, labels, self._chunks)
        label = self._by_coin(int(self.hypotheses.ballot(rules)(point)[0]), draw)
        return label != draw.toss("predict/flip", self.parameters.flip)

    def _from_votes(self, ones: int, draw: Draw) -> bool:
        """The answer to this many votes for 1, of `chunks`."""
        p, k = self.parameters, self._chunks
        if p.method == "averaging":
            # a random chunk's rule says 1 with probability ones / k, and what it says is flipped
            return draw.toss("predict/vote", p.flip + (1 - 2 * p.flip) * Fraction(ones, k))
        if p.method == "majority":
            words = draw.words("predict/vote", self._majority.words)
            return bool(self._majority.answer(ones, k - ones, words))
        return self._by_coin(ones, draw)

    def _by_coin(self, ones: int, draw: Draw) -> bool:
        counts: NDArray[np.int64] = np.array([ones], dtype=np.int64)
        return bool(self._coin.answers(counts, draw.words("predict/vote", 1))[0])

    # -- mechanisms --------------------------------------------------------------------------

    @property
    def _chunks(self) -> int:
        assert self.parameters.chunks is not None
        return self.parameters.chunks

    @cached_property
    def _selection(self) -> ExponentialMechanism:
        return ExponentialMechanism(self.parameters.rate)

    @cached_property
    def _stable(self) -> StablePredictor:
        p = self.parameters
        return StablePredictor(self.name, self.hypotheses, p.window, p.rate, p.subset_rate)

    @cached_property
    def _coin(self) -> VoteCoin:
        return VoteCoin(self.parameters.vote_rate, self._chunks)

    @cached_property
    def _majority(self) -> NoisyMajority:
        pure = self.parameters.accounting == "pure"
        noise: Noise = "laplace" if pure else "concentrated"
        return NoisyMajority(self.parameters.vote_rate, self._chunks, noise)
