"""What a season of a scorecard learner costs: all neighbours of tiny streams, release by release.

Noise is Gaussian, so what a transcript costs is exact arithmetic: given what is before, a release
of values v on one side and v' on the other has the divergence |v - v'|^2 / (2 s^2) in zCDP, and
these add up over the transcript; a stump is drawn with the bounded range w = rate (largest change
of a score - least change), which costs w^2 / 8. As GDP mu^2 / 2 is the same, but for a draw
w^2 pi / 16. So the transcript is given here, by an adversary who also chooses every other example
by it; both sides are run until their values are known, and the squares that they differ by are
compared with the learner's own event. Nothing is sampled.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from littled.budget.conversion import epsilon_of_gaussian
from littled.budget.events import PrecisionLoss, ScorecardSeason
from littled.budget.price import Price
from littled.budget.prices import price
from littled.classes.capabilities import Integers
from littled.classes.scorecard import Scorecards
from littled.learners.contract import CallAdmitted, CallRequested, Examples, Place, SeasonOpened
from littled.learners.leader import LeaderLearner, LeaderParameters
from littled.learners.leader.judging import Candidate, candidate_scores
from littled.learners.leader.learner import season_event
from littled.mechanisms import discrete_gaussian
from littled.mechanisms.noise import KeyedNoise, NoiseSource, Purpose
from littled_protocol.columns import point_type
from support.learning import HEAD

F = Fraction
NOISE = KeyedNoise(bytes(32))
CLASS = Scorecards("3x2c")
COLD = LeaderParameters(
    epsilon=F(8), horizon=6, batch_examples=2, decay=F(9, 10), learning_rate=F(1, 4), scale=40
)
WARM = replace(COLD, horizon=8, warmup=2, warmup_scale=30, moments_scale=90_000)
# With prices of alike sizes for the stump, for rows and for counts.
COMPARED = replace(
    WARM, horizon=14, publish_every=1, stump_batches=2, stump_rate=F(1, 140), stump_points=100,
    stump_fade=4, judging_scale=10**8, judging_first=1, judging_last=2, cosines=2,
)  # fmt: skip
# Of a row's coefficients, 40, 3 and 0, two are left: older sums are no part of it.
DAMPED = replace(
    COMPARED, horizon=16, damping=F(7, 9), judging_lead=2, short_share=F(4, 5), scale=40,
    warmup_scale=36,
)  # fmt: skip
# The learning rate falls, and begins anew after what is longer than noise.
FALLING = replace(DAMPED, falling_after=2, drift_batches=2, drift_lead=1)
# Where the stump is the dearest part: as GDP it is dearer than in zCDP.
EXACT = replace(FALLING, accounting="gaussian", stump_rate=F(1, 90))
# After the first batch of the rest a candidate is drawn from two that nothing else is learned from.
TRIED = replace(DAMPED, horizon=20, trial_after=5, trial_batches=2, judging_return=1)
# Draws cost nearly what the rest converts to, and are beside it.
PURE = replace(
    TRIED, accounting="gaussian", stump_rate=F(1, 80), conversion_delta=F(1, 10**6)
)  # fmt: skip
PI = F(314159265358979323846, 10**20)
DRAWS = ("scorecard-stump", "scorecard-trial")
# A row of buckets and a label; None for an example of a user that is not there.
Example = tuple[tuple[int, int], int]
EXTREMES: tuple[Example, ...] = (((0, 0), 0), ((0, 0), 1), ((2, 1), 0), ((2, 1), 1), ((1, 0), 1))


@dataclass(frozen=True)
class Transcribed(LeaderLearner):
    """Releases what a transcript says, and writes down the values that it hides."""

    transcript: tuple[int, ...] = ()
    seen: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)

    def release(
        self, values: Integers, noise: NoiseSource, place: Place, purpose: Purpose
    ) -> Integers:
        turn = len(self.seen)
        self.seen.append((purpose, tuple(values.tolist())))
        size = self.transcript[turn % len(self.transcript)]
        if purpose == "scorecard-judging":  # so that every candidate is published by turns
            size = (1 << 38) * (-1) ** turn
        # about as large as noise and signal are, of another sign for every other value
        signs = np.where(np.arange(len(values)) % 2, 1, -1)
        return signs * size + values * 0

    def draw(self, sums: Integers, standing: int, noise: NoiseSource, place: Place) -> int:
        turn = len(self.seen)
        self.seen.append(("scorecard-stump", tuple(self.stumps.scores(sums).tolist())))
        return int(self.stumps.drawn[abs(self.transcript[turn % len(self.transcript)]) % 5])

    def draw_candidate(self, sums: Integers, noise: NoiseSource, place: Place) -> Candidate:
        turn = len(self.seen)
        self.seen.append(("scorecard-trial", tuple(candidate_scores(sums).tolist())))
        return Candidate((turn + len(self.transcript)) % len(Candidate))


def values_of(
    learner: Transcribed, examples: Sequence[Example], users: Sequence[int] | None
) -> list[tuple[str, tuple[int, ...]]]:
    """What the learner would have released, before noise, on one side."""
    whose = None if users is None else tuple(users)
    return _values_of(learner.parameters, learner.transcript, tuple(examples), whose)


# Each side is one of many pairs of neighbours.
@lru_cache(maxsize=1 << 12)
def _values_of(
    parameters: LeaderParameters,
    transcript: tuple[int, ...],
    examples: tuple[Example, ...],
    users: tuple[int, ...] | None,
) -> list[tuple[str, tuple[int, ...]]]:
    learner = Transcribed("s/l", CLASS, parameters, transcript)
    kind = point_type(learner.hypotheses.point_type)
    x = kind.decode([list(row) for row, _ in examples], len(examples))
    y = np.array([label for _, label in examples], dtype=np.uint8)
    whose: Any = None
    if users is not None:
        whose = np.array([[0, user] for user in users], dtype=np.uint64)
    state = learner.step(learner.initial(), SeasonOpened(0, 0), NOISE).state
    done = 0
    while done < len(y):
        part = None if whose is None else whose[done:]
        step = learner.step(state, Examples(Place(HEAD, 0, done), x[done:], y[done:], part), NOISE)
        state, done = step.state, done + step.consumed
        for effect in step.effects:
            assert isinstance(effect, CallRequested)
            state = learner.step(state, CallAdmitted(effect.place), NOISE).state
    return learner.seen


def cost(learner: Transcribed, sides: Sequence[Sequence[Example]], users: Any = None) -> Fraction:
    """rho, or mu^2 / 2, of one transcript for two neighbours; `users` those of each side."""
    whose = (None, None) if users is None else users
    first, second = (values_of(learner, s, u) for s, u in zip(sides, whose, strict=True))
    assert [purpose for purpose, _ in first] == [purpose for purpose, _ in second]
    squares, drawn = 0, F(0)
    for (purpose, ours), (_, theirs) in zip(first, second, strict=True):
        changes = [a - b for a, b in zip(ours, theirs, strict=True)]
        if purpose in DRAWS:
            width = learner.parameters.stump_rate * (max(changes) - min(changes))
            drawn += width**2 / 8
            if learner.parameters.accounting == "gaussian":
                drawn += width**2 * (PI / 16 - F(1, 8))
        else:
            squares += sum(change**2 for change in changes)
    return drawn + Fraction(squares, 2 * discrete_gaussian.VARIANCE)


def claimed(learner: LeaderLearner) -> Fraction:
    (event, _) = learner.season_events()
    cost, zero = price(event), F(0)
    amount = cost.rho + cost.gaussian
    gaussian = learner.parameters.accounting == "gaussian"
    assert cost == (Price(zero, zero, zero, amount) if gaussian else Price(zero, amount, zero))
    return amount


LONG = 8
TRANSCRIPTS = ((1,), (1 << 36, -(1 << 36)), (1 << 41, 1 << 38, -(1 << 41)))


def neighbours(length: int) -> Iterator[tuple[list[Example], list[Example]]]:
    """Streams that differ in one example, at every position, around different others.

    Of longer streams fewer, so that tests are quick: pairs with other rows, labels, or both.
    """
    pairs = list(combinations(EXTREMES, 2))
    shifts = 2 if length <= LONG else 1
    for position, (ours, theirs) in product(range(length), pairs if shifts == 2 else pairs[::3]):
        for shift in range(shifts):
            rest = [EXTREMES[(i * 3 + shift) % len(EXTREMES)] for i in range(length)]
            first, second = list(rest), list(rest)
            first[position], second[position] = ours, theirs
            yield first, second


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "parameters",
    [COLD, WARM, COMPARED, DAMPED, FALLING, replace(WARM, accounting="gaussian"), EXACT, TRIED],
    ids=["cold", "warm", "compared", "damped", "falling", "warm, GDP", "falling, GDP", "tried"],
)
def test_all_releases_of_a_season_cost_what_is_charged(parameters: LeaderParameters) -> None:
    most = F(0)
    for transcript in TRANSCRIPTS:
        learner = Transcribed("s/l", CLASS, parameters, transcript)
        for sides in neighbours(parameters.horizon):
            most = max(most, cost(learner, sides))
    assert most <= claimed(learner)
    # the claim is nearly reached: examples of the first batch that are as long as may be
    assert most > claimed(learner) * F(7, 10)


def test_the_warmup_and_the_rest_are_each_within_their_part() -> None:
    event = season_event(WARM)
    parts = {"warmup": F(0), "moments": F(0), "rest": F(0)}
    for transcript in TRANSCRIPTS:
        learner = Transcribed("s/l", CLASS, WARM, transcript)
        for sides in neighbours(WARM.horizon):
            first, second = (values_of(learner, side, None) for side in sides)
            found: dict[str, int] = dict.fromkeys(parts, 0)
            for turn, ((purpose, ours), (_, theirs)) in enumerate(zip(first, second, strict=True)):
                part = "moments" if purpose == "scorecard-moments" else "warmup"
                part = "rest" if turn > WARM.warmup else part
                found[part] += sum((a - b) ** 2 for a, b in zip(ours, theirs, strict=True))
            assert not (found["warmup"] and found["rest"])  # an example is in one of them
            for part, apart in found.items():
                parts[part] = max(parts[part], F(apart))
    for part, squares in parts.items():
        assert squares <= getattr(event, part)
        # rows that are cut keep less than their length, as they are rounded towards 0
        assert squares > getattr(event, part) * F(1, 2), part


@pytest.mark.long
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize(
    "parameters",
    [COLD, WARM, COMPARED, DAMPED, EXACT],
    ids=["cold", "warm", "compared", "damped", "falling, GDP"],
)
def test_all_that_one_user_gives_costs_what_is_charged(
    parameters: LeaderParameters, most: int
) -> None:
    """User 0 has examples at two or three positions; on the other side another one, or nobody."""
    parameters = replace(parameters, user_examples_max=most)
    length = parameters.horizon
    for transcript in TRANSCRIPTS[1:]:
        learner = Transcribed("s/l", CLASS, parameters, transcript)
        found = F(0)
        last = length - 1
        for places in [(0, 1), (0, 2), (1, 3), (0, last), (3, last), (0, 1, last)]:
            users = [0 if i in places else 10 + i for i in range(length)]
            # whoever is at these places on the other side gave enough before, so is left out
            others = [10 if i in places and i else 10 + i for i in range(length)]
            for ours, theirs in product(EXTREMES[:4], repeat=2):
                first = [EXTREMES[i % len(EXTREMES)] for i in range(length)]
                second = list(first)
                for place in places:
                    first[place], second[place] = ours, theirs
                found = max(found, cost(learner, (first, second), (users, users)))
                found = max(found, cost(learner, (first, first), (users, others)))
        assert found <= claimed(learner)
        assert found > claimed(learner) / 8
    alone = season_event(replace(parameters, user_examples_max=None))
    parts = ("warmup", "moments", "rest", "judging")
    together = season_event(parameters)
    assert together.stump_rate == most * alone.stump_rate
    assert [getattr(together, part) for part in parts] == [
        most**2 * getattr(alone, part) for part in parts
    ]


def test_transcripts_let_rates_fall_and_begin_anew() -> None:
    """So that what follows from releases is seen to follow from them alone."""
    began = set()
    for transcript in TRANSCRIPTS:
        learner = Transcribed("s/l", CLASS, FALLING, transcript)
        sides = next(neighbours(FALLING.horizon))
        began.add(rules_of(learner, sides[0])[-1].split("], ")[2])
    assert len(began) > 1


def test_the_event_of_a_damped_sequence_has_its_own_coefficients() -> None:
    assert (DAMPED.coefficients, DAMPED.batches) == ((40, 3), 4)
    assert season_event(DAMPED).rest == (2 << 22) ** 2 * (40**2 + 3**2)
    # what a learning rate does has no price
    assert season_event(FALLING) == season_event(DAMPED)


def test_a_season_of_gdp_pays_for_the_distance_from_normal_noise() -> None:
    exact = LeaderLearner("s/l", CLASS, replace(FALLING, accounting="gaussian"))
    zcdp = LeaderLearner("s/l", CLASS, FALLING)
    season, loss = exact.season_events()
    assert season == replace(season_event(FALLING), accounting="gaussian")
    values = (FALLING.batches + FALLING.warmup) * exact.features.dimensions
    values += exact.features.dimensions + 1 + 3 * len(FALLING.periods)
    more = exact.precision_error() - zcdp.precision_error()
    assert more == F(values, 8 * discrete_gaussian.VARIANCE)
    assert loss == PrecisionLoss(exact.precision_error(), FALLING.epsilon)


def test_the_event_is_what_the_proof_says() -> None:
    p = WARM
    c, w = p.coefficients, p.warmup_coefficients
    assert (c, w) == ((40, 17), (30, 13))
    assert season_event(p) == ScorecardSeason(
        warmup=(2 << 22) ** 2 * (30**2 + 13**2),
        moments=5 * (90_000 * 1024) ** 2,
        rest=(2 << 22) ** 2 * (40**2 + 17**2),
        variance=discrete_gaussian.VARIANCE,
    )


def test_what_is_judged_and_what_a_stump_is_drawn_from_are_within_their_parts() -> None:
    event = season_event(COMPARED)
    judged, widths = 0, {0}
    for transcript in TRANSCRIPTS:
        learner = Transcribed("s/l", CLASS, COMPARED, transcript)
        for sides in neighbours(COMPARED.horizon):
            first, second = (values_of(learner, side, None) for side in sides)
            both = list(zip(first, second, strict=True))
            changed = {purpose for (purpose, a), (_, b) in both if a != b}
            # an example is before the warm-up, or it is learned from and judged
            assert changed == {"scorecard-stump"} or "scorecard-stump" not in changed
            found = 0
            for (purpose, ours), (_, theirs) in both:
                changes = [a - b for a, b in zip(ours, theirs, strict=True)]
                if purpose == "scorecard-judging":
                    found += sum(change**2 for change in changes)
                elif purpose == "scorecard-stump":
                    widths.add(max(changes) - min(changes))
            judged = max(judged, found)
    assert event.judging / 2 < judged <= event.judging == 3 * (2 * 10**8) ** 2
    assert max(widths) == 2


@pytest.mark.no_cover
def test_pure_draws_are_beside_the_rest_and_within_what_that_converts_to() -> None:
    """An example is drawn from, at a bounded ratio of probabilities, or it is in the rest."""
    most, pure = F(0), F(0)
    for transcript in TRANSCRIPTS:
        learner = Transcribed("s/l", CLASS, PURE, transcript)
        for sides in neighbours(PURE.horizon):
            first, second = (values_of(learner, side, None) for side in sides)
            assert [purpose for purpose, _ in first] == [purpose for purpose, _ in second]
            squares, drawn = 0, F(0)
            for (purpose, ours), (_, theirs) in zip(first, second, strict=True):
                changes = [a - b for a, b in zip(ours, theirs, strict=True)]
                if purpose in DRAWS:  # a ratio of two weights changes by so much at the most
                    drawn += PURE.stump_rate * (max(changes) - min(changes))
                else:
                    squares += sum(change**2 for change in changes)
            assert not (drawn and squares)
            most = max(most, Fraction(squares, 2 * discrete_gaussian.VARIANCE))
            pure = max(pure, drawn)
    amount = claimed(LeaderLearner("s/l", CLASS, PURE))
    assert amount * F(7, 10) < most <= amount
    assert pure == 2 * PURE.stump_rate
    converted = epsilon_of_gaussian(amount, PURE.conversion_delta)
    assert converted * F(1, 2) < pure <= converted


def test_a_candidate_is_drawn_by_chance_and_a_better_one_more_often() -> None:
    learner = LeaderLearner("s/l", CLASS, replace(TRIED, stump_rate=F(1, 2)))
    sums = np.array([-2, 2, 0], dtype=np.int64)  # of the scorecard, the stump, and "never"
    drawn = [learner.draw_candidate(sums, NOISE, Place(HEAD, 0, at)) for at in range(300)]
    # the scorecard weighs exp(1) times as much as another one that is as good
    weights = dict(zip(Candidate, (2.7183 * 0.6065, 1.6487, 1.0, 1.0), strict=True))
    for candidate, weight in weights.items():
        share = weight / sum(weights.values())
        assert abs(drawn.count(candidate) / 300 - share) < 4 * (share / 300) ** 0.5


def test_a_stump_is_drawn_by_chance_and_a_better_one_more_often() -> None:
    learner = LeaderLearner("s/l", CLASS, replace(COMPARED, stump_rate=F(1, 2)))
    sums = np.array([-2, 0, 2, 0, 0], dtype=np.int64)  # 1 from the last bucket of column 0 on
    places = (Place(HEAD, 0, position) for position in range(300))
    drawn = [learner.draw(sums, -1, NOISE, place) for place in places]
    numbers = learner.stumps.drawn.tolist()
    scores = learner.stumps.scores(sums).tolist()
    weights = {n: 1.6487 ** (s / 1) for n, s in zip(numbers, scores, strict=True)}
    for number, weight in weights.items():
        share = weight / sum(weights.values())
        assert abs(drawn.count(number) / 300 - share) < 4 * (share / 300) ** 0.5
    # the one that stands weighs exp(4) times as much
    again = [learner.draw(sums, 3, NOISE, Place(HEAD, 0, position)) for position in range(99)]
    assert again.count(3) > 50


SHAPED = replace(WARM, columns_max=1, monotone="rf")
# So that about half of the transcripts' scorecards are published again.
SELDOM = replace(COMPARED, judging_scale=0, judging_first=0, judging_last=0, least_change=400)
SHAPED_SELDOM = replace(SELDOM, monotone="rf")


@pytest.mark.long
@pytest.mark.parametrize(
    "parameters",
    [COLD, WARM, SHAPED, COMPARED, DAMPED, FALLING, SELDOM, SHAPED_SELDOM, EXACT, TRIED, PURE],
    ids=[
        "cold",
        "warm",
        "shaped",
        "compared",
        "damped",
        "falling",
        "seldom",
        "shaped-seldom",
        "GDP",
        "tried",
        "pure",
    ],
)
def test_what_is_published_follows_from_the_releases_alone(parameters: LeaderParameters) -> None:
    """Neighbours whose releases are the same publish the same rules, and ask for the same words."""
    compared = 0
    for transcript in TRANSCRIPTS:
        learner = Transcribed("s/l", CLASS, parameters, transcript)
        for sides in neighbours(parameters.horizon):
            first, second = (rules_of(learner, side) for side in sides)
            assert first == second
            compared += len(first)
    assert compared > 100


def rules_of(learner: Transcribed, examples: Sequence[Example]) -> list[str]:
    """Every rule that is published, and the public facts of the last state."""
    return _rules_of(learner.parameters, learner.transcript, tuple(examples))


@lru_cache(maxsize=1 << 12)
def _rules_of(
    parameters: LeaderParameters, transcript: tuple[int, ...], examples: tuple[Example, ...]
) -> list[str]:
    learner = Transcribed("s/l", CLASS, parameters, transcript)
    kind = point_type(learner.hypotheses.point_type)
    x = kind.decode([list(row) for row, _ in examples], len(examples))
    y = np.array([label for _, label in examples], dtype=np.uint8)
    state, out, done = learner.step(learner.initial(), SeasonOpened(0, 0), NOISE).state, [], 0
    while done < len(y):
        step = learner.step(state, Examples(Place(HEAD, 0, done), x[done:], y[done:]), NOISE)
        state, done = step.state, done + step.consumed
        for effect in step.effects:
            assert isinstance(effect, CallRequested)
            state = learner.step(state, CallAdmitted(effect.place), NOISE).state
            out.append(state.rule.to_json())
    sequence = state.sequence
    assert sequence is not None
    found = None if sequence.recent is None else sequence.recent.tolist()
    public = (state.weights.tolist(), state.average.tolist(), state.batches, sequence.since, found)
    return [*out, str((*public, state.base, state.stump, state.judgement, state.card))]
