"""The exact law of what one window releases, for every sample, and what its neighbours' differ by.

The learner itself is run through every outcome of its noise (`support.outcomes`). In a window
nothing is released but its one rule, so that a sample's law is a table of rules with their
probabilities, and an adversary that chooses among the samples of a window chooses all at once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from littled.budget.conversion import guarantee
from littled.budget.events import PrecisionLoss
from littled.budget.price import Price
from littled.budget.prices import price
from littled.budget.rounding import exp_upper
from littled.learners.batch import BatchState, WindowLearner
from littled.learners.contract import (
    CallAdmitted,
    CallRequested,
    Examples,
    Place,
    Published,
    SeasonOpened,
)
from littled.learners.snapshot import pack
from littled.mechanisms.noise import NoiseSource
from littled_protocol.rules import Rule
from support.learning import HEAD, column
from support.outcomes import ONE, Outcomes

# Rules with their probabilities, in units of 1 / ONE and rounded down.
Law = dict[Any, int]
RATIO_BITS = 64


class Labelled(NamedTuple):
    """One example; `user` and the user's secret word where users are protected."""

    x: Any
    y: int
    user: int = 0
    word: int = 0


Sample = tuple[Labelled, ...]


# Asked for each pair of neighbours, and the same for all of them.
@lru_cache
def ratio_of(epsilon: Fraction, *, upper: bool) -> int:
    """exp(epsilon) in units of 2^-RATIO_BITS, a little less if `upper`, else a little more."""
    if upper:
        return int((1 << RATIO_BITS) / exp_upper(-epsilon))
    return int(exp_upper(epsilon) * (1 << RATIO_BITS)) + 1


def every_example(points: Sequence[Any]) -> list[Labelled]:
    """Both labels of each point."""
    return [Labelled(x, y) for x in points for y in (0, 1)]


def columns(learner: WindowLearner, sample: Sequence[Labelled]) -> tuple[Any, Any, Any]:
    """Points, labels and users of a sample."""
    x = column(learner.hypotheses, [each.x for each in sample])
    y = np.array([each.y for each in sample], dtype=np.uint8)
    if learner.parameters.user_examples_max is None:
        return x, y, None
    users: NDArray[np.uint64] = np.array([(e.user, e.word) for e in sample], dtype=np.uint64)
    return x, y, users


def opened(learner: WindowLearner, noise: NoiseSource) -> BatchState:
    """The learner's state in its first season, before any example."""
    return learner.step(learner.initial(), SeasonOpened(0, 0), noise).state


def observed(
    learner: WindowLearner, state: BatchState, sample: Sequence[Labelled], noise: NoiseSource
) -> tuple[BatchState, Place]:
    """The state once a whole window has been seen, and where the call is."""
    first = state.epoch_position
    x, y, users = columns(learner, sample)
    step = learner.step(state, Examples(Place(HEAD, first, first), x, y, users), noise)
    (asked,) = step.effects
    assert isinstance(asked, CallRequested)
    return step.state, asked.place


def trained(
    learner: WindowLearner, state: BatchState, place: Place, noise: NoiseSource
) -> tuple[BatchState, Published]:
    """The state after the call, and the release."""
    step = learner.step(state, CallAdmitted(place), noise)
    (published,) = step.effects
    assert isinstance(published, Published)
    return step.state, published


@dataclass(frozen=True)
class WindowCase:
    """A learner of one window, the points of its examples, and what it books.

    `tail_bits`: see `Outcomes`.
    """

    learner: WindowLearner
    points: Sequence[Any]
    delta_z: Fraction = Fraction(0)
    tail_bits: int = 24

    @cached_property
    def outcomes(self) -> Outcomes:
        return Outcomes(self.tail_bits, 1)

    @cached_property
    def _known(self) -> dict[tuple[bytes, Place], Law]:
        """By what is known at the end of a window, and where that is: the law of its release."""
        return {}

    @cached_property
    def claim(self) -> tuple[Fraction, Fraction]:
        """Epsilon and delta of a season, except for finite precision."""
        events = [e for e in self.learner.season_events() if not isinstance(e, PrecisionLoss)]
        return guarantee(sum(map(price, events), Price.zero()), self.delta_z)

    def law(self, sample: Sequence[Labelled], published: Rule | None = None) -> Law:
        """What the last window of this sample releases, and how likely each of it is.

        `published`: the rule of the window before, which bottom keeps.
        """
        size, law = self.learner.parameters.window, Law()
        state = opened(self.learner, self.outcomes.noise)
        for start in range(0, len(sample) - size, size):
            seen, place = observed(
                self.learner, state, sample[start : start + size], self.outcomes.noise
            )
            (state, _), _ = next(self._all(seen, place))
        if published is not None:
            state = replace(state, rule=published)
        seen, place = observed(self.learner, state, sample[-size:], self.outcomes.noise)
        # what is left of earlier windows is often the same
        key = pack(self.learner.state_to_dict(seen)), place
        if key not in self._known:
            for (_, release), mass in self._all(seen, place):
                law[release.rule] = law.get(release.rule, 0) + mass
            self._known[key] = law
        return self._known[key]

    def _all(self, state: BatchState, place: Place) -> Iterator[tuple[Any, int]]:
        def run() -> tuple[BatchState, Published]:
            self.outcomes.noise.begin(place.position, {})
            return trained(self.learner, state, place, self.outcomes.noise)

        return self.outcomes.all(run)

    def laws(self, canonical: Callable[[Sample], Sample] | None = None) -> dict[Sample, Law]:
        """The law of every sample of one window.

        `canonical`: of samples that come to the same one, one is run for all.
        """
        size, known = self.learner.parameters.window, dict[Sample, Law]()
        found = {}
        for sample in product(every_example(self.points), repeat=size):
            same = sample if canonical is None else canonical(sample)
            if same not in known:
                known[same] = self.law(same)
            found[sample] = known[same]
        return found

    def neighbours(self, laws: dict[Sample, Law]) -> Iterator[tuple[Law, Law]]:
        """Both laws of each pair of samples that differ in one example; no two pairs are one."""
        seen = set()
        for sample, law in laws.items():
            for at, other in product(range(len(sample)), every_example(self.points)):
                there = laws[(*sample[:at], other, *sample[at + 1 :])]
                if there is not law and (id(law), id(there)) not in seen:
                    seen.add((id(law), id(there)))
                    yield law, there

    def worst(self, laws: dict[Sample, Law], epsilon: Fraction, *, upper: bool = True) -> Fraction:
        """The largest hockey-stick divergence of neighbours, or a little more; else less."""
        return max(self.beyond(*pair, epsilon, upper=upper) for pair in self.neighbours(laws))

    def beyond(self, here: Law, there: Law, epsilon: Fraction, *, upper: bool = True) -> Fraction:
        """P[A] - exp(epsilon) P'[A] at its largest; what was lost speaks for P, or against it."""
        ratio = ratio_of(epsilon, upper=upper)
        if upper:
            value = (ONE - sum(here.values())) << RATIO_BITS
        else:
            value = -ratio * (ONE - sum(there.values()))
        value += sum(
            max(0, (mass << RATIO_BITS) - ratio * there.get(rule, 0)) for rule, mass in here.items()
        )
        return Fraction(value, ONE << RATIO_BITS)

    def check(self, laws: dict[Sample, Law], factor: float, delta_factor: float = 0) -> None:
        """The claim holds for all neighbours, and is within these factors of the truth; 0: any."""
        epsilon, delta = self.claim
        left_out = Fraction(self.outcomes.tails, ONE) + Fraction(1, 1 << 64)
        found = self.worst(laws, epsilon)
        assert found <= delta + left_out, (float(found), float(delta))
        if factor:
            less = epsilon / Fraction(factor)
            assert self.worst(laws, less, upper=False) > delta, "epsilon is overcharged"
        if delta_factor:
            true = self.worst(laws, epsilon, upper=False)
            assert true * Fraction(delta_factor) >= delta, "delta is overcharged"

    def exceeds(self, laws: dict[Sample, Law]) -> bool:
        """Whether some pair of neighbours proves the claim wrong."""
        epsilon, delta = self.claim
        return self.worst(laws, epsilon, upper=False) > delta

    def measured(self, laws: dict[Sample, Law], steps: int = 7) -> float:
        """The factor by which the claimed epsilon exceeds what these samples show."""
        (epsilon, delta), low, high = self.claim, Fraction(0), Fraction(1)
        for _ in range(steps):
            middle = (low + high) / 2
            over = self.worst(laws, epsilon * middle, upper=False) > delta
            low, high = (middle, high) if over else (low, middle)
        return float(1 / low) if low else float("inf")
