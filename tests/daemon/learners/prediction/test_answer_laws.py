"""Answers by exact enumeration: no neighbour exceeds a price, and the prices are nearly reached."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.budget.events import (
    Accounting,
    PredictionAnswersAveraging,
    PredictionAnswersDense,
    PredictionAnswersRealizable,
    PredictionAnswersRelabelling,
    PredictionAnswersStability,
    PrivacyEvent,
    price,
)
from littled.budget.predictions import (
    differing_max,
    no_net,
    relabelled_ratio,
    stability,
    stable_odds,
    stable_ratio,
)
from littled.budget.rounding import exp_upper
from littled.classes import HypothesisClass
from littled.classes.base import Labels, Points
from littled.classes.table import Table
from littled.classes.thresholds import Thresholds
from support.answer_laws import (
    TINY,
    Law,
    Window,
    averaging_law,
    columns,
    dense_law,
    difference,
    failure,
    flipped,
    neighbours,
    odds_ratio,
    ratio,
    realizable_law,
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

OVERCHARGE_MAX = Fraction(6, 5)
ROWS = ((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, 1))
ASKED = np.arange(3, dtype=np.uint8)
CLASSES: dict[str, HypothesisClass] = {
    "first": Rows(ROWS, first_row),
    "scattered": Rows(ROWS, scattered_row),
    "all": Rows(all_rows(3), scattered_row),
    "thresholds": Thresholds(3),
    "table": Table.from_matrix(["a", "b", "c", "d", "e"], np.array(ROWS, dtype=np.bool_)),
}
WINDOWS: list[Window] = [
    ((0, 0), (1, 1), (2, 1), (1, 0)),
    ((2, 1), (2, 1), (2, 0), (0, 1)),
    ((1, 1), (1, 1), (1, 1), (1, 1)),
]
STABLE = [  # rate, subset_rate, flip
    (Fraction(1), Fraction(1, 4), Fraction(1, 10)),
    (Fraction(1, 2), Fraction(1, 2), Fraction(1, 5)),
    (Fraction(2), Fraction(1, 20), Fraction(1, 100)),
]


def epsilon(event: PrivacyEvent) -> Fraction:
    return price(event).epsilon_pure


def divergence_slope(here: Law, there: Law) -> float:
    """The largest Renyi divergence of order a, divided by a, over some orders."""
    worst = 0.0
    for one, other in ((here, there), (there, here)):
        for p, r in zip(one, other, strict=True):
            for a in (1.001, 1.5, 2.0, 4.0, 8.0, 30.0, 200.0):
                pairs = ((float(p), float(r)), (float(1 - p), float(1 - r)))
                total = math.fsum(
                    math.exp(a * math.log(u) + (1 - a) * math.log(w)) for u, w in pairs
                )
                worst = max(worst, math.log(total) / (a - 1) / a)
    return worst


def check_all(
    law: Callable[[Window], Law], windows: Sequence[Window], check: Callable[[Law, Law], None]
) -> None:
    """Compare every window with all of its neighbours."""
    for window in windows:
        here = law(window)
        for other in neighbours(window, 3):
            check(here, law(other))


# -- no price is too low ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize(("rate", "q", "flip"), STABLE)
def test_answers_by_stability_cost_at_most_their_price(
    name: str, rate: Fraction, q: Fraction, flip: Fraction
) -> None:
    k = exp_upper(rate)
    pure = epsilon(PredictionAnswersStability(rate, q, flip, 1, "pure"))
    rho = price(PredictionAnswersStability(rate, q, flip, 1, "zcdp")).rho

    def check(here: Law, there: Law) -> None:
        assert difference(here, there) <= stability(k, q) + TINY
        one, other = flipped(here, flip), flipped(there, flip)
        assert ratio(one, other) <= min(stable_ratio(k, q, flip), exp_upper(pure)) + TINY
        assert odds_ratio(one, other) <= stable_odds(k, q, flip) + TINY
        assert divergence_slope(one, other) <= float(rho) + 1e-9

    check_all(lambda window: stable_law(CLASSES[name], window, ASKED, rate, q), WINDOWS[:2], check)


@pytest.mark.campaign
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize(("rate", "q", "flip"), STABLE)
def test_answers_by_stability_cost_at_most_their_price_for_eight_examples(
    name: str, rate: Fraction, q: Fraction, flip: Fraction
) -> None:
    k, window = exp_upper(rate), (*WINDOWS[0], *WINDOWS[1])

    def check(here: Law, there: Law) -> None:
        assert difference(here, there) <= stability(k, q) + TINY
        one, other = flipped(here, flip), flipped(there, flip)
        assert ratio(one, other) <= stable_ratio(k, q, flip) + TINY
        assert odds_ratio(one, other) <= stable_odds(k, q, flip) + TINY

    check_all(lambda each: stable_law(CLASSES[name], each, ASKED, rate, q), [window], check)


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 7)])
def test_dense_answers_cost_at_most_their_price(rate: Fraction) -> None:
    pure = epsilon(PredictionAnswersDense(rate, 1, "pure"))
    rho = price(PredictionAnswersDense(rate, 1, "zcdp")).rho

    def check(here: Law, there: Law) -> None:
        assert ratio(here, there) <= exp_upper(pure) + TINY
        assert odds_ratio(here, there) <= exp_upper(2 * rate) + TINY
        assert divergence_slope(here, there) <= float(rho) + 1e-9

    check_all(lambda window: dense_law(ROWS, window, ASKED, rate), WINDOWS, check)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("chunks", [2, 4])
def test_answers_of_chunks_cost_at_most_their_price(name: str, chunks: int) -> None:
    rate, flip, hypotheses = Fraction(1), Fraction(1, 10), CLASSES[name]
    coin: dict[Accounting, Fraction] = {
        "pure": epsilon(PredictionAnswersRealizable(rate, 1, "pure")),
        "zcdp": price(PredictionAnswersRealizable(rate, 1, "zcdp")).rho,
    }
    mean: dict[Accounting, Fraction] = {
        "pure": epsilon(PredictionAnswersAveraging(chunks, flip, 1, "pure")),
        "zcdp": price(PredictionAnswersAveraging(chunks, flip, 1, "zcdp")).rho,
    }

    def checked(costs: dict[Accounting, Fraction]) -> Callable[[Law, Law], None]:
        def check(here: Law, there: Law) -> None:
            assert ratio(here, there) <= exp_upper(costs["pure"]) + TINY
            assert divergence_slope(here, there) <= float(costs["zcdp"]) + 1e-9

        return check

    check_all(
        lambda window: realizable_law(hypotheses, window, ASKED, chunks, rate),
        WINDOWS, checked(coin),
    )  # fmt: skip
    check_all(
        lambda window: averaging_law(hypotheses, window, ASKED, chunks, flip),
        WINDOWS, checked(mean),
    )  # fmt: skip


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


SWINGING = Rows(all_rows(4), swinging_row)


def swing(ones: int, zeros: int, rate: Fraction, q: Fraction) -> tuple[Law, Law]:
    """The laws at X: a neighbour pair whose others are so many labels 1 and 0 at Z."""
    others = ((Z, 1),) * ones + ((Z, 0),) * zeros
    asked = np.array([X], dtype=np.uint8)
    here, there = (
        stable_law(SWINGING, (*others, example), asked, rate, q) for example in ((U, 1), (W, 0))
    )
    return here, there


@pytest.mark.parametrize(
    ("rate", "q"), [(Fraction(1), Fraction(1, 4)), (Fraction(1, 2), Fraction(1, 2))]
)
def test_the_stability_is_nearly_reached(rate: Fraction, q: Fraction) -> None:
    claim = stability(exp_upper(rate), q)
    reached = max(difference(*swing(ones, 6 - ones, rate, q)) for ones in (2, 3, 4))
    assert claim / OVERCHARGE_MAX < reached <= claim + TINY


@pytest.mark.parametrize(
    ("rate", "q", "flip"),
    [
        (Fraction(1), Fraction(1, 4), Fraction(1, 10)),
        (Fraction(1, 2), Fraction(1, 3), Fraction(1, 5)),
        # so large a subset that the odds of the selection no longer matter
        (Fraction(1, 2), Fraction(1, 2), Fraction(1, 10)),
        (Fraction(2), Fraction(1, 4), Fraction(1, 20)),
    ],
)
def test_the_price_of_stability_is_nearly_reached(
    rate: Fraction, q: Fraction, flip: Fraction
) -> None:
    claim = float(epsilon(PredictionAnswersStability(rate, q, flip, 1, "pure")))
    reached = 0.0
    for ones in (0, 3):
        here, there = (flipped(law, flip) for law in swing(ones, 7 - ones, rate, q))
        reached = max(reached, math.log(ratio(here, there)))
    assert claim / float(OVERCHARGE_MAX) < reached <= claim + 1e-12


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 2)])
def test_the_price_of_the_realizable_learner_is_nearly_reached(rate: Fraction) -> None:
    hypotheses, asked = Rows(((0,), (1,))), np.zeros(1, dtype=np.uint8)
    window: Window = ((0, 1),) * 8
    here, there = (
        realizable_law(hypotheses, each, asked, 8, rate) for each in (window, ((0, 0), *window[1:]))
    )
    claim = float(epsilon(PredictionAnswersRealizable(rate, 1, "pure")))
    reached = math.log(ratio(here, there))
    assert claim / float(OVERCHARGE_MAX) < reached <= claim


def test_the_price_of_averaging_is_reached() -> None:
    hypotheses, asked, flip = Rows(((0,), (1,))), np.zeros(1, dtype=np.uint8), Fraction(1, 10)
    window: Window = ((0, 1),) * 8
    here, there = (
        averaging_law(hypotheses, each, asked, 8, flip) for each in (window, ((0, 0), *window[1:]))
    )
    claim = float(epsilon(PredictionAnswersAveraging(8, flip, 1, "pure")))
    assert math.log(ratio(here, there)) == pytest.approx(claim)


def test_odds_of_stability_are_nearly_reached() -> None:
    rate, q, flip = Fraction(1), Fraction(1, 4), Fraction(1, 10)
    claim = math.log(stable_odds(exp_upper(rate), q, flip))
    reached = max(
        math.log(odds_ratio(*(flipped(law, flip) for law in swing(ones, 6 - ones, rate, q))))
        for ones in (0, 2, 3)
    )
    assert claim / float(OVERCHARGE_MAX) < reached <= claim


def test_without_a_flip_nothing_private_is_left() -> None:
    """Why the stable predictor is no private one."""
    here, there = swing(0, 6, Fraction(4), Fraction(1, 4))
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
    rate, q, flip = Fraction(1, 10), Fraction(1, 50), Fraction(1, 10)
    here, there = (flipped(law, flip) for law in swing(3, 3, rate, q))
    assert (ratio(here, there) > stable_ratio(exp_upper(rate), q, flip)) == peeks


# -- relabelling -----------------------------------------------------------------------------------

RELABELLED = [  # rate, vote_rate, subset_rate, net
    (Fraction(1, 4), Fraction(1, 4), Fraction(1, 4), Fraction(1, 10)),
    (Fraction(1, 2), Fraction(1, 8), Fraction(1, 2), Fraction(1, 3)),
]


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize(("rate", "vote_rate", "q", "net"), RELABELLED)
def test_answers_by_relabelling_cost_at_most_their_price(
    name: str, rate: Fraction, vote_rate: Fraction, q: Fraction, net: Fraction
) -> None:
    hypotheses, flip = CLASSES[name], Fraction(1, 20)
    labelings = Fraction(hypotheses.labelings_max(3))
    plain, turned = (
        price(
            PredictionAnswersRelabelling(
                rate, vote_rate, q, each, net, 4, labelings, 1, "pure"
            )
        )
        for each in (Fraction(0), flip)
    )  # fmt: skip
    assert turned.delta == 0

    def check(here: Law, there: Law) -> None:
        assert failure(here, there, exp_upper(plain.epsilon_pure)) <= plain.delta + TINY
        one, other = flipped(here, flip), flipped(there, flip)
        assert ratio(one, other) <= exp_upper(turned.epsilon_pure) + TINY

    check_all(
        lambda window: relabelled_law(hypotheses, window, ASKED, rate, q, 2, vote_rate),
        WINDOWS[:1], check,
    )  # fmt: skip


def is_net(hypotheses: Rows, window: Window, without: int, subset: tuple[int, ...], u: int) -> bool:
    """Whether rows that agree on the subset differ on at most u of the examples but one."""
    others = [x for at, (x, _) in enumerate(window) if at != without]
    return all(
        any(one[window[at][0]] != other[window[at][0]] for at in subset)
        or sum(one[x] != other[x] for x in others) <= u
        for one, other in combinations(hypotheses.rows, 2)
    )


@pytest.mark.parametrize("name", ["first", "scattered", "all"])
@pytest.mark.parametrize(("rate", "vote_rate", "q", "net"), RELABELLED)
def test_each_step_of_the_proof_of_relabelling_holds(
    name: str, rate: Fraction, vote_rate: Fraction, q: Fraction, net: Fraction
) -> None:
    """Lemmas 18 and 19, and the probability of no net, each for itself."""
    hypotheses = CLASSES[name]
    assert isinstance(hypotheses, Rows)
    u, nets = differing_max(4, net), 0
    growth = exp_upper(2 * (rate + vote_rate) * u) * (1 + exp_upper(rate + 2 * vote_rate))
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
                                 rate, 2, vote_rate)
                for each in (subset, (0, *subset))
            ]  # fmt: skip
            for p, r in zip(*laws, strict=True):
                assert r <= growth * p + TINY
                assert 1 - r <= growth * (1 - p) + TINY
        labelings = Fraction(hypotheses.labelings_max(3))
        assert missing <= no_net(4, net, q, labelings)
        indices = np.array([1, 3], dtype=np.int64)
        here = relabelled_given(hypotheses, window, indices, ASKED, rate, 2, vote_rate)
        for x, y in product(range(3), (0, 1)):
            other = relabelled_given(
                hypotheses, ((x, y), *window[1:]), indices, ASKED, rate, 2, vote_rate
            )
            assert ratio(here, other) <= exp_upper(2 * (rate + vote_rate)) + TINY
    assert nets > 10


def test_relabelling_without_a_subset_is_two_mechanisms_one_after_the_other() -> None:
    rate, vote_rate = Fraction(1, 3), Fraction(1, 5)
    bound = relabelled_ratio(rate, vote_rate, Fraction(0), 100, Fraction(1, 2))
    assert exp_upper(2 * rate + 2 * vote_rate) == bound


# -- the enumeration itself ------------------------------------------------------------------------


def test_an_empty_subset_has_one_candidate_and_every_example_may_be_in_it() -> None:
    window, k = WINDOWS[0], exp_upper(Fraction(1))
    labelings = CLASSES["first"].window(*columns(window))
    nothing = stable_given(labelings, np.zeros(0, dtype=np.int64), ASKED, k)
    assert set(nothing) <= {0, 1}
    whole = stable_given(labelings, np.arange(4), ASKED, k)
    # every labeling of all points has one row here, so this is the dense law
    assert whole == dense_law(ROWS, window, ASKED, Fraction(1))
