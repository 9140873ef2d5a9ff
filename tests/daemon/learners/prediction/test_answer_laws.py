"""Answers by exact enumeration: no neighbour exceeds a price, and the prices are nearly reached.

Windows of eight examples, every neighbouring pair and every point, up to the symmetries of
`support.window_families`, which are checked against all windows of four examples. Each test of
eight examples runs on a sample of the pairs, and as a part of the campaign on all of them.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain, combinations, islice, product

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.budget.events import (
    Accounting,
    PredictionAnswersAveraging,
    PredictionAnswersDense,
    PredictionAnswersMajority,
    PredictionAnswersRealizable,
    PredictionAnswersRelabelling,
    PredictionAnswersStability,
    PrivacyEvent,
)
from littled.budget.predictions import (
    differing_max,
    no_net,
    relabelled_ratio,
    stable_odds,
    stable_ratio,
)
from littled.budget.prices import price
from littled.budget.rounding import exp_upper, ln_upper
from littled.classes.base import Labels, Points
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.classes.points import PointFunctions
from littled.classes.table import Table
from littled.classes.thresholds import Thresholds
from oracle.budget.stability import stability
from support.answer_laws import (
    Law,
    Window,
    chunk_votes,
    coin_law,
    columns,
    concentrated_law,
    dense_law,
    difference,
    failure,
    flipped,
    majority_law,
    neighbours,
    odds_ratio,
    ratio,
    relabelled_given,
    relabelled_law,
    stable_given,
    stable_law,
)
from support.rows import (
    RowCandidates,
    RowLabelings,
    Rows,
    all_rows,
    first_row,
    scattered_row,
)
from support.window_families import (
    Chunked,
    chunked,
    extreme_pairs,
    extremes,
    families,
    relabelled_law_by_points,
    stable_law_by_points,
    unchunked,
    voting,
)

OVERCHARGE_MAX = 1.2
ROWS = ((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, 1))
ASKED = np.arange(3, dtype=np.uint8)
CLASSES: dict[str, tuple[HypothesisClass, Points]] = {  # each with all of its points
    "first": (Rows(ROWS, first_row), ASKED),
    "scattered": (Rows(ROWS, scattered_row), ASKED),
    "all": (Rows(all_rows(3), scattered_row), ASKED),
    "thresholds": (Thresholds(3), ASKED),
    "table": (Table.from_matrix(["a", "b", "c", "d", "e"], np.array(ROWS, dtype=np.bool_)), ASKED),
    "points": (PointFunctions(2), np.arange(4, dtype=np.uint8)),
}
EXAMPLES, POINTS = 8, 3
STABLE = [  # k = exp(rate), subset_rate, flip
    (Fraction(3), Fraction(1, 4), Fraction(1, 10)),
    (Fraction(3, 2), Fraction(1, 2), Fraction(1, 5)),
    (Fraction(7), Fraction(1, 20), Fraction(1, 100)),
]
RELABELLED = [  # k, k of the votes, subset_rate, net
    (Fraction(5, 4), Fraction(5, 4), Fraction(1, 4), Fraction(1, 10)),
    (Fraction(3, 2), Fraction(8, 7), Fraction(1, 2), Fraction(1, 3)),
]

every_class = pytest.mark.parametrize("name", CLASSES)
CAMPAIGN = pytest.mark.campaign
ALL = pytest.param(1, marks=CAMPAIGN, id="all")


def rate_of(k: Fraction) -> Fraction:
    """A rate e with exp(e) at least k, and hardly more: what it costs is enough for k."""
    return ln_upper(k)


def divergence_slope(here: Law, there: Law) -> float:
    """The largest Renyi divergence of order a, divided by a, over some orders."""
    orders = (1.001, 1.5, 2.0, 4.0, 8.0, 30.0, 200.0)
    bits = [np.log(np.array([law, [1 - p for p in law]], dtype=float)) for law in (here, there)]
    return max(
        float((np.logaddexp(*(a * one + (1 - a) * other)) / (a - 1) / a).max())
        for one, other in (bits, reversed(bits))
        for a in orders
    )


@dataclass(frozen=True)
class Claim:
    """What one answer is said to cost."""

    event: Callable[[Accounting], PrivacyEvent]

    @cached_property
    def epsilon(self) -> Fraction:
        cost = price(self.event("pure"))
        assert cost.rho == 0
        return cost.epsilon_pure

    @cached_property
    def rho(self) -> Fraction:
        cost = price(self.event("zcdp"))
        assert cost.epsilon_pure == 0
        return cost.rho

    @cached_property
    def ratio(self) -> Fraction:
        return exp_upper(self.epsilon)

    def check(self, here: Law, there: Law, *accountings: Accounting) -> None:
        if "pure" in accountings:
            assert ratio(here, there) <= self.ratio
        if "zcdp" in accountings:
            assert divergence_slope(here, there) <= float(self.rho) + 1e-9


def stable_claim(k: Fraction, q: Fraction, flip: Fraction) -> Claim:
    return Claim(partial(PredictionAnswersStability, rate_of(k), q, flip, 1))


# -- no price is too low ---------------------------------------------------------------------------


@every_class
@pytest.mark.parametrize(("k", "q", "flip"), STABLE)
@pytest.mark.parametrize("step", [113, ALL])
def test_answers_by_stability_cost_at_most_their_price(
    name: str, k: Fraction, q: Fraction, flip: Fraction, step: int
) -> None:
    claim, law = stable_claim(k, q, flip), stable_law_by_points(*CLASSES[name], k, q)
    for here, there in extreme_pairs(law, families(EXAMPLES, 1, POINTS, step)):
        assert difference(here, there) <= stability(k, q)
        one, other = flipped(here, flip), flipped(there, flip)
        assert ratio(one, other) <= stable_ratio(k, q, flip)
        assert odds_ratio(one, other) <= stable_odds(k, q, flip)
        claim.check(one, other, "pure", "zcdp")


@pytest.mark.parametrize("name", [name for name in CLASSES if CLASSES[name][0].dense])
@pytest.mark.parametrize("k", [Fraction(3), Fraction(8, 7)])
@pytest.mark.parametrize("step", [19, ALL])
def test_dense_answers_cost_at_most_their_price(name: str, k: Fraction, step: int) -> None:
    hypotheses, asked = CLASSES[name]
    claim = Claim(partial(PredictionAnswersDense, rate_of(k), 1))
    few = needed(hypotheses.dense)
    rules = [few.rule(number) for number in range(few.rule_count)]
    rows = [rule.evaluate(asked).tolist() for rule in rules]

    def law(window: Chunked) -> Law:
        return dense_law(rows, unchunked(window), asked, k)

    for here, there in extreme_pairs(law, families(EXAMPLES, 1, POINTS, step)):
        assert odds_ratio(here, there) <= k * k
        claim.check(here, there, "pure", "zcdp")


# How answers of each way to answer from votes are booked, and by what factor an answer of eight
# chunks, k = 2, is overcharged.
OF_VOTES: dict[str, dict[Accounting, float]] = {
    "realizable": {"pure": 1.009, "zcdp": 1.06},
    "averaging": {"pure": 1.0001, "zcdp": 1.28},
    "majority, pure": {"pure": 1.16},
    "majority, zcdp": {"zcdp": 1.11},
}


def of_votes(chunks: int, k: Fraction) -> dict[str, tuple[Law, Claim]]:
    """The law of each way for 0 to all votes for 1, and what it costs."""
    votes, flip, rate = range(chunks + 1), Fraction(1, 10), rate_of(k)
    majority = Claim(partial(PredictionAnswersMajority, rate, 1))
    return {
        "realizable": (
            coin_law(votes, chunks, k),
            Claim(partial(PredictionAnswersRealizable, rate, 1)),
        ),
        "averaging": (
            flipped([Fraction(ones, chunks) for ones in votes], flip),
            Claim(partial(PredictionAnswersAveraging, chunks, flip, 1)),
        ),
        "majority, pure": (majority_law(votes, chunks, k), majority),
        "majority, zcdp": (concentrated_law(votes, chunks, rate), majority),
    }


@every_class
@pytest.mark.parametrize(
    ("chunks", "step"),
    [(1, 19), (2, 173), (3, 859), (4, 263), (8, 19)]
    + [pytest.param(chunks, 1, marks=CAMPAIGN) for chunks in (1, 2, 3, 4, 8)],
)
def test_answers_of_chunks_cost_at_most_their_price(name: str, chunks: int, step: int) -> None:
    ways, every = of_votes(chunks, Fraction(2)), families(EXAMPLES, chunks, POINTS, step)
    # of votes that differ by one at most, the extremes are all there are
    for here, there in extreme_pairs(voting(*CLASSES[name]), every):
        assert {more - less for less, more in zip(here, there, strict=True)} <= {0, 1}
        for way, (law, claim) in ways.items():
            one, other = ([law[ones] for ones in votes] for votes in (here, there))
            claim.check(one, other, *OF_VOTES[way])


@every_class
@pytest.mark.parametrize(
    ("row", "chunks", "step"),
    [
        *((0, 2, 1511), (0, 4, 2267), (1, 2, 1511), (1, 4, 2267)),
        # all pairs with either number of chunks
        *(pytest.param(0, 4, 1, marks=CAMPAIGN), pytest.param(1, 2, 1, marks=CAMPAIGN)),
        *(pytest.param(0, 2, 31, marks=CAMPAIGN), pytest.param(1, 4, 31, marks=CAMPAIGN)),
    ],
)
def test_answers_by_relabelling_cost_at_most_their_price(
    name: str, row: int, chunks: int, step: int
) -> None:
    (hypotheses, asked), flip = CLASSES[name], Fraction(1, 20)
    k, k_vote, q, net = RELABELLED[row]
    plain, turned = (relabelled_claim(hypotheses, k, k_vote, q, each, net) for each in (0, flip))
    cost = price(plain.event("pure"))
    law = relabelled_law_by_points(hypotheses, asked, k, q, chunks, k_vote)
    for here, there in extreme_pairs(law, families(EXAMPLES, chunks, POINTS, step)):
        assert failure(here, there, exp_upper(cost.epsilon_pure)) <= cost.delta
        turned.check(flipped(here, flip), flipped(there, flip), "pure", "zcdp")


def relabelled_claim(
    hypotheses: HypothesisClass, k: Fraction, k_vote: Fraction, q: Fraction, flip: Fraction | int,
    net: Fraction,
) -> Claim:  # fmt: skip
    labelings = Fraction(hypotheses.labelings_max(EXAMPLES - 1))
    return Claim(
        partial(
            PredictionAnswersRelabelling,
            *(rate_of(k), rate_of(k_vote), q, Fraction(flip), net, EXAMPLES, labelings, 1),
        )
    )


# -- no price is much too high ---------------------------------------------------------------------

# The points of the worst case: example i is at U in one window and at W in the other, all others
# are at Z, and X is asked about.
Z, U, W, X = range(4)


def swinging_row(points: frozenset[int], rows: list[int]) -> int:
    """With U the answer at X is 1, with W it is 0; with Z alone all labels are as at Z."""
    values = [all_rows(4)[number] for number in rows]
    if U in points:
        wanted = [row[X] == 1 for row in values]
    elif W in points:
        wanted = [row[X] == 0 for row in values]
    elif Z in points:
        wanted = [len(set(row)) == 1 for row in values]
    else:
        wanted = [not any(row) for row in values]
    return rows[wanted.index(True)]


SWINGING = (Rows(all_rows(4), swinging_row), np.arange(4, dtype=np.uint8))


def swing(ones: int, zeros: int, k: Fraction, q: Fraction) -> tuple[Law, Law]:
    """The laws at X: a neighbour pair whose others are so many labels 1 and 0 at Z."""
    others = ((Z, 1),) * ones + ((Z, 0),) * zeros
    law = stable_law_by_points(SWINGING[0], SWINGING[1][X:], k, q)
    here, there = (law(chunked((*others, example), 1)) for example in ((U, 1), (W, 0)))
    return here, there


def swinging_families(step: int) -> Iterator[list[Chunked]]:
    """Of seven and of eight examples at Z, U and W; if not all, those whose others are all at Z.

    Seven are an odd number: six others with as many labels 1 as 0.
    """
    both = chain(families(EXAMPLES - 1, 1, POINTS), families(EXAMPLES, 1, POINTS))
    return (each for each in both if step == 1 or {x for x, _ in each[0][0]} == {Z})


WORST = pytest.mark.parametrize("step", [pytest.param(0, id="others_alike"), ALL])


def nearly_reached(claim: Fraction | float, reached: Fraction | float, factor: float) -> None:
    """Not below what is reached, and so many times that at the most."""
    assert reached <= claim + 1e-12
    assert claim <= factor * reached


@pytest.mark.parametrize(
    ("k", "q", "factor"),
    [(Fraction(3), Fraction(1, 4), 1.12), (Fraction(3, 2), Fraction(1, 2), 1.003)],
)
@WORST
def test_the_stability_is_nearly_reached(
    k: Fraction, q: Fraction, factor: float, step: int
) -> None:
    pairs = extreme_pairs(stable_law_by_points(*SWINGING, k, q), swinging_families(step))
    assert factor <= OVERCHARGE_MAX
    nearly_reached(stability(k, q), max(difference(*pair) for pair in pairs), factor)


@pytest.mark.parametrize(
    ("k", "q", "flip", "factor", "factor_of_odds"),
    [
        (Fraction(3), Fraction(1, 4), Fraction(1, 10), 1.03, 1.13),
        (Fraction(3, 2), Fraction(1, 3), Fraction(1, 5), 1.001, 1.02),
        # so large a subset that the odds of the selection no longer matter
        (Fraction(3, 2), Fraction(1, 2), Fraction(1, 10), 1.06, 1.02),
        (Fraction(7), Fraction(1, 4), Fraction(1, 20), 1.03, 1.19),
        # so small a subset that it is empty with probability 2/3
        (Fraction(7), Fraction(1, 20), Fraction(1, 100), 1.17, 1.41),
    ],
)
@WORST
def test_the_price_of_stability_is_nearly_reached(
    k: Fraction, q: Fraction, flip: Fraction, factor: float, factor_of_odds: float, step: int
) -> None:
    law = stable_law_by_points(*SWINGING, k, q)
    pairs = [
        (flipped(here, flip), flipped(there, flip))
        for here, there in extreme_pairs(law, swinging_families(step))
    ]
    reached = math.log(max(ratio(*pair) for pair in pairs))
    assert factor <= OVERCHARGE_MAX
    nearly_reached(float(stable_claim(k, q, flip).epsilon), reached, factor)
    reached = math.log(max(odds_ratio(*pair) for pair in pairs))
    nearly_reached(math.log(stable_odds(k, q, flip)), reached, factor_of_odds)


def test_all_prices_of_stability_are_reached_by_many_examples() -> None:
    """Where a small subset is hardly ever empty, and with it the price in zCDP."""
    k, q, flip = Fraction(11, 10), Fraction(1, 100), Fraction(1, 20)
    claim = stable_claim(k, q, flip)
    pairs = [swing(ones, 1000 - ones, k, q) for ones in (450, 480, 490, 500, 510)]
    turned = [(flipped(here, flip), flipped(there, flip)) for here, there in pairs]
    nearly_reached(stability(k, q), max(difference(*pair) for pair in pairs), 1.01)
    nearly_reached(float(claim.epsilon), math.log(max(ratio(*pair) for pair in turned)), 1.01)
    nearly_reached(float(claim.rho), max(divergence_slope(*pair) for pair in turned), 1.01)


@pytest.mark.parametrize("way", OF_VOTES)
def test_prices_of_votes_are_nearly_reached(way: str) -> None:
    """With every number of votes, which is all that these laws depend on."""
    law, claim = of_votes(8, Fraction(2))[way]
    one, other = law[:-1], law[1:]
    reached = {"pure": math.log(ratio(one, other)), "zcdp": divergence_slope(one, other)}
    claims = {"pure": claim.epsilon, "zcdp": claim.rho}
    for accounting, factor in OF_VOTES[way].items():
        nearly_reached(float(claims[accounting]), reached[accounting], factor)
    assert OF_VOTES["realizable"]["pure"] <= OVERCHARGE_MAX


@pytest.mark.parametrize(("k", "factor"), [(Fraction(3, 2), 1.06), (Fraction(4, 3), 1.14)])
def test_the_prices_of_the_coin_and_of_dense_answers_are_nearly_reached(
    k: Fraction, factor: float
) -> None:
    """Eight votes are eight examples of a class with a single point; the fewer, the less."""
    asked, window = np.zeros(1, dtype=np.uint8), ((0, 1),) * 8
    coin = coin_law((7, 8), 8, k)
    dense = [dense_law(((0,), (1,)), each, asked, k)[0] for each in (window, ((0, 0), *window[1:]))]
    assert coin == dense[::-1]
    assert factor <= OVERCHARGE_MAX
    for event in (PredictionAnswersRealizable, PredictionAnswersDense):
        claim = Claim(partial(event, rate_of(k), 1))
        nearly_reached(float(claim.epsilon), math.log(ratio(dense[:1], dense[1:])), factor)


@pytest.mark.parametrize(("row", "factor"), [(0, 8.4), (1, 21)])
@pytest.mark.parametrize("step", [2267, pytest.param(31, marks=CAMPAIGN)])
def test_the_price_of_relabelling_is_for_many_examples(row: int, factor: float, step: int) -> None:
    """Of eight a net is hardly ever there, and the price is far above what these rules reach."""
    (hypotheses, asked), flip = CLASSES["all"], Fraction(1, 20)
    k, k_vote, q, net = RELABELLED[row]
    claim = relabelled_claim(hypotheses, k, k_vote, q, flip, net)
    pairs = extreme_pairs(
        relabelled_law_by_points(hypotheses, asked, k, q, 4, k_vote),
        families(EXAMPLES, 4, POINTS, step),
    )
    reached = max(ratio(flipped(here, flip), flipped(there, flip)) for here, there in pairs)
    nearly_reached(float(claim.epsilon), math.log(reached), factor)


def test_without_a_flip_nothing_private_is_left() -> None:
    """Why the stable predictor is no private one."""
    here, there = swing(0, 6, Fraction(54), Fraction(1, 4))
    assert difference(here, there) < Fraction(1, 3)
    assert ratio(here, there) > 10**6


class Peeking(RowLabelings):
    """Representatives that look at all examples of the window, which no proof allows."""

    def candidates(self, subset: NDArray[np.int64]) -> RowCandidates:
        points = frozenset(int(point) for point in self.x)
        numbers = [
            max(rows) if U in points else min(rows)
            for rows in (
                [n for n, row in enumerate(self.hypotheses.rows) if row[Z] == label]
                for label in (0, 1)
            )
        ]
        return RowCandidates(np.zeros(2, dtype=np.int64), np.array(numbers), self.hypotheses)


@pytest.mark.parametrize("peeks", [False, True])
def test_representatives_that_look_beyond_the_subset_are_caught(
    peeks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def window(hypotheses: Rows, x: Points, y: Labels) -> Peeking:
        return Peeking(hypotheses, x, y)

    if peeks:
        monkeypatch.setattr(Rows, "window", window)
    k, q, flip = Fraction(11, 10), Fraction(1, 50), Fraction(1, 10)
    here, there = (flipped(law, flip) for law in swing(3, 3, k, q))
    assert (ratio(here, there) > stable_ratio(k, q, flip)) == peeks


# -- the proof of relabelling ----------------------------------------------------------------------

WINDOWS: list[Window] = [
    ((0, 0), (1, 1), (2, 1), (1, 0)),
    ((2, 1), (2, 1), (2, 0), (0, 1)),
    ((1, 1), (1, 1), (1, 1), (1, 1)),
]


def is_net(hypotheses: Rows, window: Window, without: int, subset: tuple[int, ...], u: int) -> bool:
    """Whether rows that agree on the subset differ on at most u of the examples but one."""
    others = [x for at, (x, _) in enumerate(window) if at != without]
    return all(
        any(one[window[at][0]] != other[window[at][0]] for at in subset)
        or sum(one[x] != other[x] for x in others) <= u
        for one, other in combinations(hypotheses.rows, 2)
    )


@pytest.mark.parametrize("name", ["first", "scattered", "all"])
@pytest.mark.parametrize(("k", "k_vote", "q", "net"), RELABELLED)
def test_each_step_of_the_proof_of_relabelling_holds(
    name: str, k: Fraction, k_vote: Fraction, q: Fraction, net: Fraction
) -> None:
    """Lemmas 18 and 19, and the probability of no net, each for itself."""
    hypotheses, _ = CLASSES[name]
    assert isinstance(hypotheses, Rows)
    u, nets = differing_max(4, net), 0
    growth = (k * k_vote) ** (2 * u) * (1 + k * k_vote**2)
    for window in WINDOWS:
        missing = Fraction(0)
        for members in product((False, True), repeat=3):
            subset = tuple(at + 1 for at, member in enumerate(members) if member)
            if not is_net(hypotheses, window, 0, subset, u):
                missing += q ** len(subset) * (1 - q) ** (3 - len(subset))
                continue
            nets += 1
            laws = [
                relabelled_given(hypotheses, window, np.array(each, dtype=np.int64), ASKED,
                                 k, 2, k_vote)
                for each in (subset, (0, *subset))
            ]  # fmt: skip
            for p, r in zip(*laws, strict=True):
                assert r <= growth * p
                assert 1 - r <= growth * (1 - p)
        labelings = Fraction(hypotheses.labelings_max(3))
        assert missing <= no_net(4, net, q, labelings)
        indices = np.array([1, 3], dtype=np.int64)
        here = relabelled_given(hypotheses, window, indices, ASKED, k, 2, k_vote)
        for x, y in product(range(3), (0, 1)):
            other = relabelled_given(
                hypotheses, ((x, y), *window[1:]), indices, ASKED, k, 2, k_vote
            )
            assert ratio(here, other) <= (k * k_vote) ** 2
    assert nets > 10


def test_relabelling_without_a_subset_is_two_mechanisms_one_after_the_other() -> None:
    rate, vote_rate = Fraction(1, 3), Fraction(1, 5)
    bound = relabelled_ratio(rate, vote_rate, Fraction(0), 100, Fraction(1, 2))
    assert exp_upper(2 * rate + 2 * vote_rate) == bound


# -- the enumeration itself, by brute force --------------------------------------------------------


def all_windows(examples: int, points: int, step: int = 1) -> Iterator[Window]:
    return islice(product(product(range(points), (0, 1)), repeat=examples), 0, None, step)


@every_class
@pytest.mark.parametrize("step", [131, ALL])
def test_laws_from_symmetries_are_those_of_the_definition(name: str, step: int) -> None:
    """Every window of four examples in every order, and every subset of its indices."""
    hypotheses, asked = CLASSES[name]
    k, q, _ = STABLE[1]
    stable, votes = stable_law_by_points(hypotheses, asked, k, q), voting(hypotheses, asked)
    for window in all_windows(4, POINTS, step):
        examples = columns(window, asked.dtype.type)
        assert stable_law(hypotheses, window, asked, k, q) == stable(chunked(window, 1))
        for chunks in (1, 2, 3, 4):
            said = chunk_votes(hypotheses, *examples, asked, chunks)
            assert said == votes(chunked(window, chunks))


@every_class
@pytest.mark.parametrize("chunks", [2, 3])
@pytest.mark.parametrize("step", [997, pytest.param(29, marks=CAMPAIGN)])
def test_the_law_of_relabelling_is_that_of_its_definition(
    name: str, chunks: int, step: int
) -> None:
    """So too, of some of these windows, as it is long to work out."""
    hypotheses, asked = CLASSES[name]
    k, k_vote, q, _ = RELABELLED[1]
    law = relabelled_law_by_points(hypotheses, asked, k, q, chunks, k_vote)
    for window in all_windows(4, POINTS, step):
        definition = relabelled_law(hypotheses, window, asked, k, q, chunks, k_vote)
        assert definition == law(chunked(window, chunks))


@pytest.mark.parametrize("chunks", [1, 2, 3, 4])
def test_families_hold_every_pair_of_neighbours_and_no_other(chunks: int) -> None:
    found = list(families(4, chunks, 2))
    pairs = {frozenset(pair) for family in found for pair in combinations(family, 2)}
    assert pairs == {
        frozenset(chunked(each, chunks) for each in (window, other))
        for window in all_windows(4, 2)
        for other in neighbours(window, 2)
    }
    assert all(chunked(unchunked(each), chunks) == each for pair in pairs for each in pair)
    assert list(families(4, chunks, 2, 7)) == found[::7]


@pytest.mark.parametrize("name", ["scattered", "thresholds"])
def test_no_pair_of_a_family_is_worse_than_its_extremes(name: str) -> None:
    k, q, flip = STABLE[0]
    law = stable_law_by_points(*CLASSES[name], k, q)
    measures: list[Callable[[Law, Law], Fraction | float]] = [
        difference,
        ratio,
        odds_ratio,
        divergence_slope,
        partial(failure, ratio=Fraction(2)),
    ]
    for family in families(4, 1, POINTS, 17):
        laws = [flipped(law(window), flip) for window in family]
        for measure in measures:
            worst = max(measure(*pair) for pair in combinations(laws, 2))
            assert measure(*extremes(laws)) == pytest.approx(worst, rel=1e-12, abs=0)


def test_an_empty_subset_has_one_candidate_and_every_example_may_be_in_it() -> None:
    window, k = WINDOWS[0], Fraction(3)
    labelings = needed(CLASSES["first"][0].window_labelings).window(*columns(window))
    nothing = stable_given(labelings, np.zeros(0, dtype=np.int64), ASKED, k)
    assert set(nothing) <= {0, 1}
    whole = stable_given(labelings, np.arange(4), ASKED, k)
    # every labeling of all points has one row here, so this is the dense law
    assert whole == dense_law(ROWS, window, ASKED, k)


def test_noise_on_both_counts_has_the_law_of_its_sum() -> None:
    """Against the definition with noise up to 60, beyond which there is less than 2^-59 of it."""
    k, noise = Fraction(2), range(-60, 61)
    share = {z: (k - 1) / (k + 1) * k ** -abs(z) for z in noise}
    for ones, said in enumerate(majority_law(range(4), 3, k)):
        wins = sum(share[a] * share[b] for a, b in product(noise, noise) if ones + a > 3 - ones + b)
        assert 0 <= said - wins < Fraction(1, 1 << 58)
