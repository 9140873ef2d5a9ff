"""What a season of a partition learner costs: all neighbours of tiny streams, count by count.

A transcript of noisy counts has the probability exp(-e |z - a|) for each count a that was released
as z, up to a factor that no example changes. So of two neighbours that have counts a and a' the
transcript is exp(e (|z - a'| - |z - a|)) times as likely here as there, summed over all counts of
all epochs; this is compared with what the season is charged, for transcripts of small numbers
and of great ones, which divide the parts of later epochs. An adversary's choices given what was
released are other streams, and all of these are compared. Nothing is sampled.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from littled.budget.prices import price
from littled.classes.capabilities import Integers
from littled.classes.prefix_sets import PrefixSets
from littled.learners.contract import CallAdmitted, CallRequested, Examples, Place, SeasonOpened
from littled.learners.partition import PartitionLearner, PartitionParameters
from littled.mechanisms.noise import KeyedNoise, NoiseSource
from support.learning import HEAD

F = Fraction
NOISE = KeyedNoise(bytes(32))
CLASS = PrefixSets(2, 2)
# Epochs of 1, 1, 2 and 2 examples, and one more that no rule follows.
SMALL = PartitionParameters(
    epsilon=F(8), horizon=7, rate=F(1, 2), accounting="pure", schedule_first=1, schedule_cap=2,
    decay=F(1, 2), divided_from=2, block_cost=1, parts_max=4,
)  # fmt: skip
# An address and a label.
Example = tuple[int, int]
EXAMPLES: tuple[Example, ...] = ((0, 0), (0, 1), (1, 1), (3, 0), (3, 1))


@dataclass(frozen=True)
class Transcribed(PartitionLearner):
    """Releases what a transcript says, and writes down the counts that it hides."""

    transcript: tuple[int, ...] = ()
    seen: list[tuple[Integers, Integers]] = field(default_factory=list)

    def release(self, counts: Integers, noise: NoiseSource, place: Place) -> Integers:
        said = np.resize(np.roll(self.transcript, -len(self.seen)), counts.shape)
        found = said.astype(np.int64)
        self.seen.append((counts, found))
        return found


def course(
    learner: Transcribed, examples: Sequence[Example], users: Sequence[int] | None = None
) -> tuple[list[tuple[Integers, Integers]], list[str]]:
    """The counts and what was released of them; and all that is public in the end."""
    learner = replace(learner, seen=[])
    x = np.array([address for address, _ in examples], dtype=np.uint8)
    y = np.array([label for _, label in examples], dtype=np.uint8)
    whose: Any = None
    if users is not None:
        whose = np.array([[0, user] for user in users], dtype=np.uint64)
    state, public, done = learner.step(learner.initial(), SeasonOpened(0, 0), NOISE).state, [], 0
    while done < len(y):
        part = None if whose is None else whose[done:]
        event = Examples(Place(HEAD, 0, done), x[done:], y[done:], part)
        step = learner.step(state, event, NOISE)
        state, done = step.state, done + step.consumed
        for effect in step.effects:
            assert isinstance(effect, CallRequested)
            state = learner.step(state, CallAdmitted(effect.place), NOISE).state
            public.append(state.rule.to_json())
    facts = (state.partition.starts, state.partition.lengths, state.memory.tolist(), state.epoch)
    return learner.seen, [*public, str(facts)]


def loss(
    learner: Transcribed,
    sides: Sequence[Sequence[Example]],
    users: tuple[Sequence[int], Sequence[int]] | None = None,
) -> Fraction:
    """How much likelier the transcript is on one side, as a logarithm; both publish the same."""
    whose = (None, None) if users is None else users
    (ours, said), (theirs, also) = (
        course(learner, side, their) for side, their in zip(sides, whose, strict=True)
    )
    assert said == also  # of the same releases the same rules and partitions follow
    total = 0
    for (a, z), (b, same) in zip(ours, theirs, strict=True):
        assert (z == same).all()
        total += int((np.abs(z - b) - np.abs(z - a)).sum())
    return learner.parameters.rate * abs(total)


def claimed(learner: PartitionLearner) -> Fraction:
    (event, _) = learner.season_events()
    return price(event).epsilon_pure


def neighbours(length: int) -> Iterator[tuple[list[Example], list[Example]]]:
    """Streams that differ in one example, at every position, around different others."""
    for position, (ours, theirs) in product(range(length), combinations(EXAMPLES, 2)):
        rest = [EXAMPLES[(i * 3 + position) % len(EXAMPLES)] for i in range(length)]
        first, second = list(rest), list(rest)
        first[position], second[position] = ours, theirs
        yield first, second


# Small numbers, which leave the partition as it is; great ones, which divide it; and both.
TRANSCRIPTS = [
    *((0,), (1, 0), (0, 1), (2, 0, 1), (0, 2, 1, 1)),
    *((9, 9), (9, -9), (8, 0, 0, 0, 8), (1, 9, -3, 2)),
]


def test_all_counts_of_a_season_cost_what_is_charged_and_decide_what_is_published() -> None:
    most, partitions = F(0), set()
    for transcript in TRANSCRIPTS:
        learner = Transcribed("s/l", CLASS, SMALL, transcript)
        for sides in neighbours(SMALL.horizon):
            most = max(most, loss(learner, sides))
        partitions.add(course(learner, sides[0])[1][-1])
    assert most == claimed(learner) == 2 * SMALL.rate
    assert len(partitions) > 5


def test_an_example_is_counted_once_and_in_its_own_epoch() -> None:
    learner = Transcribed("s/l", CLASS, SMALL, (3, 9, 4))
    for first, second in neighbours(SMALL.horizon):
        (position,) = (i for i in range(len(first)) if first[i] != second[i])
        (ours, _), (theirs, _) = course(learner, first), course(learner, second)
        assert [int(counts.sum()) for counts, _ in ours] == [1, 1, 2, 2]
        ends = [1, 2, 4, 6, 7]
        for number, ((a, _), (b, _)) in enumerate(zip(ours, theirs, strict=True)):
            inside = ends[number] - int(a.sum()) <= position < ends[number]
            assert (a != b).any() <= inside
            assert int(np.abs(a - b).sum()) in (0, 2)


@pytest.mark.no_cover
@pytest.mark.parametrize("most", [1, 2])
def test_all_that_one_user_gives_costs_what_is_charged(most: int) -> None:
    """User 0 has examples at some positions; on the other side other ones, or somebody else."""
    parameters = replace(SMALL, user_examples_max=most)
    length, found = parameters.horizon, F(0)
    for transcript in ((0,), (2,), (9, 9), (1, 9, -3, 2)):
        learner = Transcribed("s/l", CLASS, parameters, transcript)
        for places in [(0, 1), (0, 2), (1, 3), (0, 5), (3, 4, 5), (0, 1, 2)]:
            users = [0 if i in places else 10 + i for i in range(length)]
            # whoever is at these places on the other side gave enough before, so is left out
            others = [10 if i in places and i else 10 + i for i in range(length)]
            for ours, theirs in combinations(EXAMPLES[:4], 2):
                first = [EXAMPLES[i % len(EXAMPLES)] for i in range(length)]
                second = list(first)
                for place in places:
                    first[place], second[place] = ours, theirs
                found = max(found, loss(learner, (first, second), (users, users)))
                found = max(found, loss(learner, (first, first), (users, others)))
    assert found == claimed(learner) == 2 * most * parameters.rate


def test_booked_as_zcdp_two_counts_cost_half_the_square_each() -> None:
    for most in (None, 3):
        learner = PartitionLearner(
            "s/l", CLASS, replace(SMALL, accounting="zcdp", user_examples_max=most)
        )
        (event, _) = learner.season_events()
        # of c counts that rise and c that fall, all in one place each, (c e)^2 / 2 and as much
        e = SMALL.rate * (most or 1)
        assert price(event).rho == 2 * (e * e / 2)
        assert price(event).epsilon_pure == 0
