"""Every outcome of the noise, with exact probabilities, for code that runs as it is.

Only the functions that turn uniform words into an outcome are replaced, and by nothing but their
own law: which outcome comes is chosen, each of them in turn, and its probability is read off the
tables that the real function compares words with. `test_online_laws` checks these laws against the
real functions, word by word at the ends of every interval.

*Probabilities* are integers in units of 2^-`BITS`, always rounded down, and what is too unlikely to
be tried is left out. So a sum of them is at most the true probability, and what is missing to 1 is
all that was lost, whether by rounding or by leaving out: whoever adds it to a bound has a bound of
the truth. Nothing here is a float.

*Thresholds.* A trigger's noise on its threshold is not tried value by value but held: the learner
gets a mark in its place, a number so large that it can be read off every gap that it is part of.
Tests against it come out both ways, and are written down with their gaps. So one run serves for
every value that the noise may have, and `Thresholds.given` says how likely it is for each.

*The end.* Where the last position is known (`Outcomes.last`), what can only matter beyond it is not
tried: how long a candidate waits that does not pass before, and the noise of spells that begin
behind it. Whatever reads such noise fails (`Unseen`).

*Words* are handed out by `Handles`, each with a number of its own. It fails where a word is used
twice, or where one is asked for at an earlier place than the present one: two outcomes of the same
word are not independent, and would be enumerated as if they were.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, islice, product
from math import comb, prod
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.learners.online.tallies import CALL_DRAW
from littled.learners.prediction import parts
from littled.learners.users import USER_PURPOSE
from littled.mechanisms.above_threshold import AboveThreshold, Gaps
from littled.mechanisms.cohen_lyu import CohenLyuTest
from littled.mechanisms.discrete_laplace import MAGNITUDE_BITS, SURVIVAL_BITS, DiscreteLaplace
from littled.mechanisms.exponential import LIMB_BITS, WeighedScores
from littled.mechanisms.noise import Address, NoiseSource
from littled.mechanisms.powers import weight_floors
from littled.mechanisms.ranges import RangeDraw
from littled.mechanisms.set_sample import NONE, SetSample
from littled.mechanisms.stable_histogram import StableHistogram
from littled.mechanisms.subset import SIZE_WORDS, BernoulliSubset
from littled.mechanisms.tallies import DRAW_BITS, DRAW_WORDS, TallyTests, waiting_law
from littled.mechanisms.votes import VoteCoin
from support.tails import tail_of

BITS = 160
ONE = 1 << BITS
WORD_BITS = 64
# Of so many words, those below a gap's number make its test fire.
WHOLE = 1 << SURVIVAL_BITS

Result = TypeVar("Result")
# Outcomes with their probabilities, none of which is 0.
Law = Sequence[tuple[Any, int]]
_Words = NDArray[np.uint64]
# Whether a test fires whose chance is reckoned elsewhere.
EITHER: Law = ((False, ONE), (True, ONE))

# -- the laws of the functions that read words -----------------------------------------------------


def share(part: int, whole: int) -> int:
    """A probability, rounded down."""
    return (part << BITS) // whole


def coin(heads: int, whole: int) -> Law:
    """1 with probability heads/whole, else 0."""
    return [(y, share(n, whole)) for y, n in ((0, whole - heads), (1, heads)) if n]


@lru_cache(maxsize=64)
def laplace(rate: Fraction, tail_bits: int) -> Law:
    """The noise that `DiscreteLaplace.sample` makes, except for magnitudes rarer than 2^-tail_bits.

    The last word bit is the sign, the others are a number V, and the magnitude falls with V: how
    many V give at least m is found by bisection with the real function.
    """
    noise, law = DiscreteLaplace(rate), list[tuple[int, int]]()
    most, magnitude = 1 << MAGNITUDE_BITS, 0

    def beyond(magnitude: int) -> int:
        return _first(lambda v: _sampled(noise, v << 1) <= magnitude, 1 << MAGNITUDE_BITS)

    while most >> (MAGNITUDE_BITS - tail_bits):
        fewer = beyond(magnitude)
        half = share(most - fewer, 2 << MAGNITUDE_BITS)
        law += [(magnitude, half), (-magnitude, half)] if magnitude else [(0, 2 * half)]
        most, magnitude = fewer, magnitude + 1
    return law


_sample = DiscreteLaplace.sample


def _sampled(noise: DiscreteLaplace, uniform: int) -> int:
    return _sample(noise, to_words(uniform, DiscreteLaplace.WORDS))


def _first(holds: Callable[[int], bool], end: int) -> int:
    """The first number from 0 on for which it holds, `end` for none; it never stops to hold."""
    low, high = 0, end
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def to_words(uniform: int, count: int) -> _Words:
    """A uniform number as words, the lowest first."""
    return np.frombuffer(uniform.to_bytes(8 * count, "little"), dtype="<u8").astype(np.uint64)


def weights(scores: WeighedScores) -> list[int]:
    """The integer weight of every candidate."""
    table = {
        distance: sum(int(limb) << (LIMB_BITS * place) for place, limb in enumerate(limbs))
        for distance, limbs in zip(scores.distances.tolist(), scores.limbs.T, strict=True)
    }
    return [table.get(score, 0) for score in scores.behind.tolist()]


def drawn(scores: WeighedScores) -> Law:
    """The candidate of a draw: of 2^256 numbers u at least floor(2^256 w / W) fall to weight w."""
    masses = weights(scores)
    return [(index, share(weight, sum(masses))) for index, weight in enumerate(masses) if weight]


def sets(of: SetSample, counts: NDArray[np.int64], odds: NDArray[np.int64]) -> Law:
    """Every set with at most one test of a group, and bottom, by the weights they should have."""
    options = [[None, *(j for j in (0, 1) if row[j])] for row in odds.tolist()]
    offered = counts[odds > 0].tolist()
    if not offered:
        return [(None, ONE)]
    table = [*islice(weight_floors(of.rate, BITS), of.cap + 1)]
    table += [0] * (of.cap + 1 - len(table))
    found: list[tuple[Any, int]] = []
    for choice in product(*options):
        drawn = tuple((group, test) for group, test in enumerate(choice) if test is not None)
        score = min((int(counts[one]) for one in drawn), default=max(offered))
        weight = prod(NONE if j is None else int(odds[i, j]) for i, j in enumerate(choice))
        found.append((drawn, weight * table[max(offered) - score]))
    everything = prod(NONE + sum(row) for row in odds.tolist())
    found.append((None, of.doubt * everything * table[max(offered)]))
    total = sum(weight for _, weight in found)
    return [(drawn, share(weight, total)) for drawn, weight in found if share(weight, total)]


def in_ranges(of: RangeDraw, sizes: Sequence[int], distances: Sequence[int]) -> Law:
    """The range and the place in it of a draw: of 2^U numbers u at least floor(2^U A / W) each."""
    whole = sum(of.weights(sizes, distances))
    return [
        ((index, place), mass)
        for index, (size, distance) in enumerate(zip(sizes, distances, strict=True))
        if (mass := share(of.weight(distance), whole))
        for place in range(size)
    ]


@lru_cache(maxsize=64)
def subset(of: BernoulliSubset) -> Law:
    """Every subset of the indices: its size by bisection, then all of this size alike."""
    most, law, below = 1 << (WORD_BITS * SIZE_WORDS), list[tuple[Any, int]](), 0

    def up_to(size: int) -> int:
        return _first(lambda u: of.size(to_words(u, SIZE_WORDS)) > size, most)

    for size in range(of.count + 1):
        upto = up_to(size)
        mass = share(upto - below, most * comb(of.count, size))
        sets = (
            np.array(members, dtype=np.int64) for members in combinations(range(of.count), size)
        )
        law += [(members, mass) for members in sets if mass]
        below = upto
    return law


@lru_cache(maxsize=64)
def tried(rate: Fraction, tail_bits: int, reach: int) -> tuple[Law, int]:
    """`laplace`, and what the values that are not tried can come to; see `Outcomes`."""
    law = laplace(rate, tail_bits)
    return law, ONE - sum(mass for _, mass in law[: -2 * reach])


@lru_cache(maxsize=64)
def spells(of: TallyTests, tail_bits: int) -> Law:
    """The noise of a spell, except for what is rarer than 2^-tail_bits, from its table."""
    floors = [1 << DRAW_BITS, *(-floor for floor in of._survivals), 0]
    return [
        (noise, share(floor - floors[noise + 1], 1 << DRAW_BITS))
        for noise, floor in enumerate(floors)
        if floor >> (DRAW_BITS - tail_bits)
    ]


@lru_cache(maxsize=1 << 12)
def waits(of: TallyTests, gap: int) -> Law:
    """How long a vote's id waits: every number of steps up to all of them, and never."""
    if gap <= 0:
        return [(1, ONE)]
    never, ones = waiting_law(of.rate, gap, of.digits)
    whole, law = 1 << DRAW_BITS, list[tuple[Any, int]]()
    for before in range(of.steps):
        mass = share(whole - never, whole)
        for digit, one in enumerate(ones):
            part = one if before >> digit & 1 else whole - one
            mass = (mass * share(part, whole)) >> BITS
        law.append((1 + before, mass))
    return [*law, (None, ONE - sum(mass for _, mass in law))]


@lru_cache(maxsize=1 << 12)
def waits_within(of: TallyTests, gap: int, most: int) -> Law:
    """The same, but one that waits for more than so many steps never passes."""
    law = [way for way in waits(of, gap) if way[0] is not None and way[0] <= most]
    return [*law, (None, ONE - sum(mass for _, mass in law))] if law != [(1, ONE)] else law


# -- trying them -----------------------------------------------------------------------------------


# A learner's place among those whose thresholds are held, and the value of its noise.
Noises = tuple[tuple[int, int], ...]
MARK_BITS, MARKS_MAX = 20, 2


def mark(place: int) -> int:
    """What stands for the noise of the threshold with this place."""
    return 1 << (MARK_BITS * (place + 1))


def unmarked(number: int) -> tuple[int, ...]:
    """The number without its marks, and for each place how often it has that mark."""
    parts = []
    for _ in range(MARKS_MAX):
        half = 1 << (MARK_BITS - 1)
        rest = (number + half) % (2 * half) - half
        parts.append(rest)
        number = (number - rest) >> MARK_BITS
    return (*parts, number)


class Chances(dict[int, int]):
    """The probability that a test of each gap fires, or does not; found when it is asked for."""

    def __init__(self, rate: Fraction, fired: bool) -> None:
        """For tests with noise of this rate."""
        self._rate, self._fired = rate, fired

    def __missing__(self, gap: int) -> int:
        heads = tail_of(self._rate, gap)
        found = self[gap] = share(heads if self._fired else WHOLE - heads, WHOLE)
        return found


# One for each rate, as a Fraction takes longer to look up than what is done with a chance.
chances = lru_cache(Chances)


class HeldTest(NamedTuple):
    """A test against held noise: its chances, the gap without it, the places of what is part of it.

    Each place with how often it is.
    """

    chances: Chances
    gap: int
    times: tuple[tuple[int, int], ...]


class Drawing(NamedTuple):
    """Values of the noise that a run has drawn for thresholds, as far as they matter later.

    kept: those that are still needed, by place. mass: how likely the run is with them, before its
    `tests` against noise that was held before.
    """

    kept: Noises
    mass: int
    tests: tuple[HeldTest, ...]


class Thresholds(NamedTuple):
    """What a run has drawn for thresholds, by place, and its tests against any."""

    drawn: tuple[tuple[int, Law], ...] = ()
    tests: tuple[HeldTest, ...] = ()

    def drawings(self, mass: int, marked: Sequence[int]) -> list[Drawing]:
        """All values of the noise; those of places that are not marked are added up."""
        places = [place for place, _ in self.drawn]
        settled: dict[Noises, int] = defaultdict(int)
        others = []
        for values in product(*(law for _, law in self.drawn)):
            part = mass
            for _, probability in values:
                part = (part * probability) >> BITS
            noises = {place: value for place, (value, _) in zip(places, values, strict=True)}
            part, tests = self._tested(noises, part)
            kept = tuple([(place, noises[place]) for place in marked if place in noises])
            if tests:
                others.append(Drawing(kept, part, tests))
            else:
                settled[kept] += part
        found = [*(Drawing(kept, part, ()) for kept, part in settled.items()), *others]
        return [drawing for drawing in found if drawing.mass]

    def _tested(self, noises: dict[int, int], part: int) -> tuple[int, tuple[HeldTest, ...]]:
        """How likely the run is by its first tests, which need no other noise; and what is left."""
        left: list[HeldTest] = []
        for chance, gap, times in self.tests:
            known = gap
            others: tuple[tuple[int, int], ...] = ()
            for place, n in times:
                if place in noises:
                    known += n * noises[place]
                else:
                    others = (*others, (place, n))
            if others or left:
                left.append(HeldTest(chance, known, others))
            else:
                part = (part * chance[known]) >> BITS
        return part, tuple(left)


class Unseen:
    """Noise that nothing is to depend on: it can be added to and kept, and is not compared."""

    def __add__(self, other: object) -> "Unseen":
        return self

    __radd__ = __add__


UNSEEN = Unseen()


class Handles:
    """Words that stand for noise, each used once, and secret words with the values given here.

    The secret word of a user is the second half of who they are.
    """

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self.begin(0, {})

    def begin(self, position: int, secrets: dict[str, int]) -> None:
        """Forget all words; noise is now asked for at this position."""
        self.position, self.secrets = position, secrets
        self._numbers: dict[tuple[Address, int], int] = {}
        self._used: set[int] = set()

    def words(self, address: Address, count: int, offset: int = 0) -> _Words:
        if address.purpose == USER_PURPOSE:  # a user stands there in place of a record's head
            return np.frombuffer(address.chain_head, dtype="<u8")[1:].astype(np.uint64)
        assert address.position == self.position, "noise of another place is asked for"
        if address.purpose in self.secrets:
            return np.full(count, self.secrets[address.purpose], dtype=np.uint64)
        places = [(address, offset + i) for i in range(count)]
        numbers = [self._numbers.setdefault(place, len(self._numbers)) for place in places]
        return np.array(numbers, dtype=np.uint64)

    def address(self, words: _Words) -> Address:
        """Where these words are from."""
        (found,) = (where for (where, _), number in self._numbers.items() if number == words[0])
        return found

    def place(self, words: _Words) -> int:
        """Among all learners that have drawn noise for a threshold, the place of who does."""
        learner = self.address(words).learner
        place = self._places.setdefault(learner, len(self._places))
        assert place < MARKS_MAX, "there are marks for two learners only"
        return place

    def use(self, words: _Words) -> None:
        """An outcome is made of these words."""
        for word in words.tolist():
            assert word not in self._used, "a word of noise is used twice"
            self._used.add(word)


class Outcomes:
    """Runs something once for every combination of outcomes that it comes to.

    `tails`: what values of noise that are not tried can come to in one run, at the most: their own
    probability, and that of the last `reach` ones tried at either end, whose counterparts on the
    other side, as far beyond, are not tried there. `last`: the position behind which nothing runs.
    """

    def __init__(self, tail_bits: int, reach: int = 1, last: int | None = None) -> None:
        self.tail_bits, self.reach, self.tails, self.last = tail_bits, reach, 0, last
        self.noise = Handles()
        self._mass = self._tails = 0
        self._begin([])

    def all(self, run: Callable[[], Result]) -> Iterator[tuple[Result, int]]:
        """What each of the runs gives, with its probability."""
        ways: list[list[int]] = [[]]
        with self._replaced():
            while ways:
                self._begin(ways.pop())
                result = run()
                yield result, self._mass
                ways.extend(self._others())

    @property
    def thresholds(self) -> Thresholds:
        """What the run at hand has held."""
        return Thresholds(tuple(self._drawn), tuple(self._tests))

    def choose(self, law: Law, words: _Words) -> Any:
        """The next outcome: as was given, or the first."""
        self.noise.use(words)
        at = len(self._taken)
        self._taken.append(self._given[at] if at < len(self._given) else 0)
        self._counts.append(len(law))
        value, mass = law[self._taken[-1]]
        self._mass = (self._mass * mass) >> BITS
        return value

    def _begin(self, given: list[int]) -> None:
        self._given = given
        self._mass, self._tails = ONE, 0
        self._drawn: list[tuple[int, Law]] = []
        self._tests: list[HeldTest] = []
        self._taken: list[int] = []
        self._counts: list[int] = []

    def _law(self, rate: Fraction) -> Law:
        """The values of a noise that are tried, with a note of those that are not."""
        law, left_out = tried(rate, self.tail_bits, self.reach)
        self._tails += left_out
        self.tails = max(self.tails, self._tails)
        return law

    def _fires(self, rate: Fraction, gap: int, words: _Words) -> bool:
        gap, *times = unmarked(gap)
        if not any(times):
            return bool(self.choose(coin(tail_of(rate, gap), WHOLE), words))
        fired = bool(self.choose(EITHER, words))
        places = tuple((place, n) for place, n in enumerate(times) if n)
        self._tests.append(HeldTest(chances(rate, fired), gap, places))
        return fired

    def _others(self) -> Iterator[list[int]]:
        """Ways on that were neither given nor taken."""
        for at in range(len(self._given), len(self._taken)):
            for index in range(1, self._counts[at]):
                yield [*self._taken[:at], index]

    def _spell(self, of: TallyTests, words: _Words) -> Any:
        """The noise of a spell's threshold; unseen where it begins behind the last example."""
        if self.noise.position == self.last and self.noise.address(words).draw == CALL_DRAW:
            self.noise.use(words[:DRAW_WORDS])
            return UNSEEN
        law = spells(of, self.tail_bits)
        self._tails += ONE - sum(mass for _, mass in law[: -self.reach])
        self.tails = max(self.tails, self._tails)
        return int(self.choose(law, words[:DRAW_WORDS]))

    def _wait(self, of: TallyTests, gap: Any, words: _Words) -> int | None:
        """Steps until a test fires, as far as the last example can see."""
        if gap is UNSEEN:
            self.noise.use(words[DRAW_WORDS:])
            return None
        most = of.steps if self.last is None else 1 + self.last - self.noise.position
        found = self.choose(waits_within(of, gap, most), words[DRAW_WORDS:])
        return None if found is None else int(found)

    @contextmanager
    def _replaced(self) -> Iterator[None]:
        """The functions that read words choose by their law instead."""
        choose = self.choose

        def first_above(test: Any, gaps: NDArray[np.int64], words: _Words) -> int | None:
            each = enumerate(gaps.tolist())
            fired = (i for i, gap in each if self._fires(test.rate, gap, words[i : i + 1]))
            return next(fired, None)

        def first_fire(test: Any, gaps: Gaps, words: _Words) -> int | None:
            return first_above(test, gaps.all(), words)

        def threshold_noise(test: AboveThreshold, words: _Words) -> int:
            place = self.noise.place(words)
            self.noise.use(words)
            self._drawn.append((place, self._law(test.threshold_law.rate)))
            return mark(place)

        def passing(of: StableHistogram, scores: NDArray[np.int64], words: _Words) -> Any:
            noise = DiscreteLaplace(of.rate)
            chances = [coin(tail_of(noise.rate, of.threshold - s), WHOLE) for s in scores.tolist()]
            bits = [choose(law, words[i : i + 1]) for i, law in enumerate(chances)]
            return np.flatnonzero(bits).astype(np.int64)

        def answers(of: VoteCoin, ones: NDArray[np.int64], words: _Words) -> Any:
            chances = [coin(of.threshold(n), WHOLE) for n in ones.tolist()]
            bits = [choose(law, words[i : i + 1]) for i, law in enumerate(chances)]
            return np.array(bits, dtype=np.uint8)

        def sample(noise: DiscreteLaplace, words: _Words) -> int:
            return int(choose(self._law(noise.rate), words))

        def draw(scores: WeighedScores, words: _Words) -> int:
            return int(choose(drawn(scores), words))

        def toss(probability: Fraction, noise: NoiseSource, address: Address) -> bool:
            law = coin(probability.numerator, probability.denominator)
            return bool(choose(law, noise.words(address, 1)))

        def chosen(of: BernoulliSubset, noise: NoiseSource, address: Address) -> Any:
            return choose(subset(of), noise.words(address, 1))

        def spell(of: TallyTests, words: _Words) -> Any:
            return self._spell(of, words)

        def wait(of: TallyTests, gap: Any, words: _Words) -> int | None:
            return self._wait(of, gap, words)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(TallyTests, "threshold_noise", spell)
            patch.setattr(TallyTests, "wait", wait)
            patch.setattr(SetSample, "sample", lambda *args: choose(sets(*args[:3]), args[3]))
            patch.setattr(AboveThreshold, "threshold_noise", threshold_noise)
            for kind in (AboveThreshold, CohenLyuTest):
                patch.setattr(kind, "first_above", first_above)
                patch.setattr(kind, "first_fire", first_fire)
            patch.setattr(StableHistogram, "passing", passing)
            patch.setattr(VoteCoin, "answers", answers)
            patch.setattr(DiscreteLaplace, "sample", sample)
            patch.setattr(WeighedScores, "draw", draw)
            patch.setattr(RangeDraw, "sample", lambda *of: choose(in_ranges(*of[:3]), of[3]))
            patch.setattr(BernoulliSubset, "sample", chosen)
            patch.setattr(parts, "toss", toss)
            yield
