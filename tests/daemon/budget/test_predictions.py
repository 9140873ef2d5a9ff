"""Prices of private answers: closed forms against searches, never below them, and as events."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.budget import predictions
from littled.budget.codec import event_from_dict, event_to_dict
from littled.budget.events import (
    Accounting,
    DenseSelection,
    PredictionAnswersAveraging,
    PredictionAnswersDense,
    PredictionAnswersMajority,
    PredictionAnswersRealizable,
    PredictionAnswersRelabelling,
    PredictionAnswersStability,
    PredictionStableVoting,
    PrivacyEvent,
)
from littled.budget.price import Price
from littled.budget.prices import UnsupportedEvent, price
from littled.budget.rounding import exp_upper
from oracle.budget.stability import stability

ZERO = Fraction(0)
STEP = Fraction(1, 1 << 80)

RATES = st.fractions(Fraction(1, 1000), 5)
SHARES = st.fractions(0, Fraction(19, 20))
FLIPS = st.fractions(Fraction(1, 1000), Fraction(49, 100))
ANSWERS = st.integers(0, 1000)
ACCOUNTING: st.SearchStrategy[Accounting] = st.sampled_from(("pure", "zcdp"))
EVENTS: st.SearchStrategy[PrivacyEvent] = st.one_of(
    st.builds(PredictionAnswersDense, RATES, ANSWERS, ACCOUNTING),
    st.builds(PredictionAnswersStability, RATES, SHARES, FLIPS, ANSWERS, ACCOUNTING),
    st.builds(
        PredictionAnswersRelabelling, RATES, RATES, SHARES, st.just(ZERO) | FLIPS,
        st.fractions(0, Fraction(1, 20)), st.integers(1, 300),
        st.integers(1, 10**30).map(Fraction), ANSWERS, ACCOUNTING,
    ),
    st.builds(PredictionAnswersRealizable, RATES, ANSWERS, ACCOUNTING),
    st.builds(PredictionAnswersAveraging, st.integers(1, 500), FLIPS, ANSWERS, ACCOUNTING),
    st.builds(PredictionAnswersMajority, RATES, ANSWERS, ACCOUNTING),
    st.builds(
        PredictionStableVoting, RATES, RATES, st.integers(1, 300), st.integers(0, 20)
    ),
)  # fmt: skip


def real(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


def pairs(rate: Fraction, q: Fraction, flip: Fraction) -> Any:
    """P[y] and P'[y] at their bounds, for many means p: (2, points) of floats."""
    k, b = np.exp(float(rate)), 1 - 2 * float(flip)
    p = np.concatenate((np.linspace(0, 1, 4001), np.geomspace(1e-12, 1, 4001)))
    g = k**2 * p / (1 + (k**2 - 1) * p)
    above = float(flip) + b * (float(q) + (1 - float(q)) * g)
    below = float(flip) + b * (1 - float(q)) * p
    return above, below


@given(RATES, SHARES, FLIPS)
def test_the_ratio_of_stability_is_the_best_over_all_means(
    rate: Fraction, q: Fraction, flip: Fraction
) -> None:
    above, below = pairs(rate, q, flip)
    searched = float((above / below).max())
    closed = float(predictions.stable_ratio(exp_upper(rate), q, flip))
    assert searched * (1 - 1e-9) <= closed <= searched * (1 + 1e-4)


@given(RATES, SHARES, FLIPS)
def test_the_odds_of_stability_are_the_best_over_all_means(
    rate: Fraction, q: Fraction, flip: Fraction
) -> None:
    above, below = pairs(rate, q, flip)
    searched = float((above * (1 - below) / ((1 - above) * below)).max())
    closed = float(predictions.stable_odds(exp_upper(rate), q, flip))
    assert searched * (1 - 1e-6) <= closed <= searched * (1 + 1e-4)


@given(RATES, SHARES, FLIPS)
def test_the_ratio_satisfies_its_inequality_exactly(
    rate: Fraction, q: Fraction, flip: Fraction
) -> None:
    k, b = exp_upper(rate), 1 - 2 * flip
    r = predictions.stable_ratio(k, q, flip)
    for p in (ZERO, Fraction(1, 10**6), Fraction(1, 50), 1 / (1 + k), Fraction(1, 2), Fraction(1)):
        g = k * k * p / (1 + (k * k - 1) * p)
        assert flip + b * (q + (1 - q) * g) <= r * (flip + b * (1 - q) * p)


@given(RATES, SHARES, FLIPS)
def test_the_bound_by_stability_alone_is_never_smaller(
    rate: Fraction, q: Fraction, flip: Fraction
) -> None:
    """ln(1 + (1 - 2a) s / a), the bound of Corollary 2, holds as well."""
    k = exp_upper(rate)
    plain = 1 + (1 - 2 * flip) * stability(k, q) / flip
    assert predictions.stable_ratio(k, q, flip) <= plain


def test_the_bound_by_stability_alone_is_often_much_larger() -> None:
    rate, q, flip = Fraction(1, 10), Fraction(1, 1000), Fraction(1, 20)
    k = exp_upper(rate)
    plain = mpmath.log(real(1 + (1 - 2 * flip) * stability(k, q) / flip))
    ours = price(PredictionAnswersStability(rate, q, flip, 1, "pure")).epsilon_pure
    assert 5 * real(ours) < plain


def test_stability_grows_with_both_rates() -> None:
    k, q = exp_upper(Fraction(1, 2)), Fraction(1, 3)
    found = stability(k, q)
    assert float(found) == pytest.approx(1 / 3 + 2 / 3 * np.tanh(0.25))
    assert stability(k, Fraction(1, 4)) < found < stability(exp_upper(Fraction(1)), q)


@given(RATES, SHARES)
def test_stability_is_the_largest_difference(rate: Fraction, q: Fraction) -> None:
    k = exp_upper(rate)
    with mpmath.workprec(300):
        ideal = real(q) + (1 - real(q)) * mpmath.tanh(real(rate) / 2)
        bound = real(stability(k, q))
        assert ideal <= bound <= ideal + mpmath.mpf(10) ** -40
    p = np.linspace(0, 1, 2001)
    e = float(k) ** 2
    searched = float((e * p / (1 + (e - 1) * p) - p).max())
    assert searched <= float(stability(k, ZERO)) <= searched + 1e-5


@given(RATES, ANSWERS, ACCOUNTING)
def test_dense_answers_are_the_case_without_a_subset(
    rate: Fraction, answers: int, accounting: Accounting
) -> None:
    dense = price(PredictionAnswersDense(rate, answers, accounting))
    assert dense == price(DenseSelection(rate, answers, accounting))
    other = price(PredictionAnswersStability(rate, ZERO, ZERO, answers, accounting))
    slack = answers * STEP
    assert dense.fits_in(other)
    assert other.fits_in(dense + Price(slack, slack, ZERO))


@given(RATES, SHARES, FLIPS)
def test_zcdp_is_never_dearer_than_by_way_of_pure(
    rate: Fraction, q: Fraction, flip: Fraction
) -> None:
    pure = price(PredictionAnswersStability(rate, q, flip, 1, "pure")).epsilon_pure
    rho = price(PredictionAnswersStability(rate, q, flip, 1, "zcdp")).rho
    assert rho <= pure * pure / 2 + STEP


def test_prices_of_stability_by_hand() -> None:
    # 1 + b q / a = 1 + 0.8 * 0.5 / 0.1 = 5 is more than exp(2 * 1/2)
    event = PredictionAnswersStability(Fraction(1, 2), Fraction(1, 2), Fraction(1, 10), 1, "pure")
    assert float(price(event).epsilon_pure) == pytest.approx(np.log(5), abs=1e-15)
    # a = 1/10, b = 4/5, q = 1/4, k = e: the root of the quadratic
    event = replace(event, rate=Fraction(1), subset_rate=Fraction(1, 4))
    c = 0.6 / (np.exp(2) - 1)
    roots = np.roots([c - 0.1, -2 * c * np.e, c * np.exp(2) + 0.3])
    (root,) = [each for each in roots if 1 <= each <= np.e]
    assert float(price(event).epsilon_pure) == pytest.approx(2 * np.log(root), abs=1e-12)


@given(st.integers(1, 400), FLIPS)
def test_averaging_costs_what_one_of_k_chunks_can_do(chunks: int, flip: Fraction) -> None:
    b = 1 - 2 * flip
    laws = [flip + b * Fraction(s, chunks) for s in range(chunks + 1)]
    steps = [(laws[s + 1], laws[s]) for s in range(chunks)]
    ratio = max(max(p / r, (1 - r) / (1 - p)) for p, r in steps)
    assert ratio == predictions.averaging_ratio(chunks, flip)
    odds = max(p * (1 - r) / ((1 - p) * r) for p, r in steps)
    assert odds == predictions.averaging_odds(chunks, flip)


@given(RATES, st.fractions(0, Fraction(1, 2)), FLIPS)
def test_a_flip_makes_a_failure_pure(rate: Fraction, failure: Fraction, flip: Fraction) -> None:
    q = exp_upper(rate)
    b, searched = 1 - 2 * float(flip), 0.0
    for r in np.concatenate((np.linspace(0, 1, 1001), np.geomspace(1e-9, 1, 1001))):
        other = 1 - (1 - float(failure) - r) / float(q)
        p = min(float(q) * r + float(failure), other, 1)
        searched = max(searched, (float(flip) + b * p) / (float(flip) + b * r))
    closed = float(predictions.flipped_ratio(q, failure, flip))
    assert searched * (1 - 1e-9) <= closed <= searched * 1.01


@given(st.integers(1, 400), st.fractions(0, Fraction(1, 2)), SHARES, st.integers(1, 10**9))
def test_no_net_is_a_union_bound(window: int, net: Fraction, q: Fraction, labelings: int) -> None:
    u = predictions.differing_max(window, net)
    assert u <= net * (window - 1) < u + 1
    ideal = Fraction(labelings * (labelings - 1), 2) * (1 - q) ** (u + 1)
    bound = predictions.no_net(window, net, q, Fraction(labelings))
    one = Fraction(1)
    assert min(one, ideal) <= bound <= min(one, ideal * (1 + Fraction(1, 10**40)) + STEP)


def test_relabelling_costs_what_its_proof_says() -> None:
    rate, vote, q, net = Fraction(1, 400), Fraction(1, 500), Fraction(1, 30), Fraction(1, 10)
    event = PredictionAnswersRelabelling(rate, vote, q, ZERO, net, 1001, Fraction(5), 1, "pure")
    growth = np.exp(2 * 100 * 0.0045) * (1 + np.exp(1 / 400 + 2 / 500))
    cost = price(event)
    assert float(cost.epsilon_pure) == pytest.approx(0.009 + np.log(1 + growth / 29))
    assert float(cost.delta) == pytest.approx(10 * (29 / 30) ** 101 / 30)
    zcdp = price(replace(event, accounting="zcdp"))
    assert float(zcdp.rho) == pytest.approx(float(cost.epsilon_pure) ** 2 / 2)
    assert (zcdp.delta, zcdp.epsilon_pure) == (cost.delta, Fraction(0))
    flipped = price(replace(event, flip=Fraction(1, 10)))
    assert flipped.delta == 0


def passes(rate: float, threshold: int) -> float:
    """P[nu >= U + r], summed up."""
    z = np.arange(-4000, 4001)
    nu, r = (np.exp(-scale * np.abs(z)) for scale in (rate / 4, rate / 2))
    nu, r = nu / nu.sum(), r / r.sum()
    tail = np.cumsum(nu[::-1])[::-1]
    at = np.clip(threshold + z + 4000, 0, 8000)
    return float((r * tail[at]).sum())


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 10), Fraction(4)])
@pytest.mark.parametrize("threshold", [1, 5, 60])
def test_an_unstable_majority_passes_as_seldom_as_said(rate: Fraction, threshold: int) -> None:
    bound = float(predictions.unstable_as_stable(rate, threshold))
    assert passes(float(rate), threshold) <= bound * (1 + 1e-9)
    assert bound <= 1.5 * passes(float(rate), threshold) or threshold < 60


def test_stable_voting_pays_for_unstable_answers() -> None:
    event = PredictionStableVoting(Fraction(1, 2), Fraction(1, 8), 200, 4)
    cost = price(event)
    assert cost.epsilon_pure == 4 * (Fraction(1, 2) + Fraction(1, 4))
    assert 0 < cost.delta < 4 * Fraction(1, 10**10)


# -- as events -------------------------------------------------------------------------------------


@given(EVENTS, st.integers(0, 20))
def test_answers_are_priced_one_by_one(event: PrivacyEvent, times: int) -> None:
    one: PrivacyEvent
    many: PrivacyEvent
    if isinstance(event, PredictionStableVoting):
        one, many = replace(event, unstable=1), replace(event, unstable=times)
    else:
        values: Any = event
        one, many = replace(values, answers=1), replace(values, answers=times)
    assert price(many) == price(one) * times


@given(EVENTS)
def test_prices_lie_on_the_grid_and_events_are_read_again(event: PrivacyEvent) -> None:
    cost = price(event)
    for amount in (cost.epsilon_pure, cost.rho, cost.delta):
        assert (1 << 80) % amount.denominator == 0
    written = event_to_dict(event)
    assert event_from_dict(written) == event
    assert set(map(type, written.values())) <= {str, int}


@given(EVENTS)
def test_only_the_accounting_decides_where_an_answer_is_booked(event: PrivacyEvent) -> None:
    accounting = getattr(event, "accounting", "pure")
    cost = price(event)
    assert (cost.rho if accounting == "pure" else cost.epsilon_pure) == 0


def test_events_are_written_like_this_for_ever() -> None:
    tenth, third = Fraction(1, 10), Fraction(1, 3)
    written = [
        event_to_dict(each)
        for each in (
            PredictionAnswersDense(third, 5, "pure"),
            PredictionAnswersStability(third, tenth, tenth, 5, "zcdp"),
            PredictionAnswersRelabelling(
                third, tenth, tenth, ZERO, third, 9, Fraction(10**20), 5, "pure"
            ),
            PredictionAnswersRealizable(third, 5, "pure"),
            PredictionAnswersAveraging(7, tenth, 5, "pure"),
            PredictionAnswersMajority(third, 5, "zcdp"),
            PredictionStableVoting(third, tenth, 30, 2),
        )
    ]
    answers = {"answers": 5, "accounting": "pure"}
    assert written == [
        {"type": "prediction_answers_dense", "rate": "1/3", **answers},
        {
            "type": "prediction_answers_stability", "rate": "1/3", "subset_rate": "1/10",
            "flip": "1/10", "answers": 5, "accounting": "zcdp",
        },
        {
            "type": "prediction_answers_relabelling", "rate": "1/3", "vote_rate": "1/10",
            "subset_rate": "1/10", "flip": "0/1", "net": "1/3", "window": 9,
            "labelings": f"{10**20}/1", **answers,
        },
        {"type": "prediction_answers_realizable", "vote_rate": "1/3", **answers},
        {"type": "prediction_answers_averaging", "chunks": 7, "flip": "1/10", **answers},
        {
            "type": "prediction_answers_majority", "vote_rate": "1/3", "answers": 5,
            "accounting": "zcdp",
        },
        {
            "type": "prediction_stable_voting", "rate": "1/3", "vote_rate": "1/10",
            "threshold": 30, "unstable": 2,
        },
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: PredictionAnswersStability(Fraction(1), Fraction(1), Fraction(1, 9), 1, "pure"),
         "subset_rate of prediction_answers_stability must be below 1"),
        (lambda: PredictionAnswersStability(Fraction(1), ZERO, Fraction(1, 2), 1, "pure"),
         "flip of prediction_answers_stability must be below 1/2"),
        (lambda: PredictionAnswersStability(Fraction(1), Fraction(1, 9), ZERO, 1, "pure"),
         "flip of prediction_answers_stability must be above 0"),
        (lambda: PredictionAnswersStability(Fraction(1001), ZERO, ZERO, 1, "pure"),
         "at most 1000"),
        (lambda: PredictionAnswersAveraging(0, Fraction(1, 9), 1, "pure"), "must be above 0"),
        (lambda: PredictionAnswersAveraging(9, ZERO, 1, "pure"), "must be above 0"),
        (lambda: PredictionAnswersRelabelling(
            Fraction(1), Fraction(1), Fraction(1, 9), ZERO, ZERO, 9, Fraction(1, 2), 1, "pure"),
         "integers of at least 1"),
        (lambda: PredictionAnswersRelabelling(
            Fraction(1), Fraction(1), Fraction(1, 9), ZERO, Fraction(1, 2), 9999, Fraction(3), 1,
            "pure"),
         "too large to promise anything"),
        (lambda: PredictionStableVoting(Fraction(1), Fraction(1), 0, 1), "at least 1"),
        (lambda: PredictionStableVoting(Fraction(1001), Fraction(1), 1, 1), "at most 1000"),
    ],
)  # fmt: skip
def test_what_no_proof_covers_is_refused(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()


def test_stored_events_that_no_proof_covers_are_refused() -> None:
    event = PredictionAnswersStability(Fraction(1), Fraction(1, 9), Fraction(1, 9), 1, "pure")
    for name, value in (("flip", "0/1"), ("subset_rate", "2/1"), ("answers", -1)):
        with pytest.raises(UnsupportedEvent, match=f"{name}|not well-formed"):
            event_from_dict({**event_to_dict(event), name: value})


def test_more_of_anything_but_the_flip_costs_more() -> None:
    event = PredictionAnswersStability(
        Fraction(1, 10), Fraction(1, 50), Fraction(1, 10), 3, "pure"
    )  # fmt: skip
    for accounting, (name, more) in product(
        ("pure", "zcdp"),
        (("rate", Fraction(1, 9)), ("subset_rate", Fraction(1, 9)), ("answers", 4)),
    ):
        cheap = replace(event, accounting=accounting)  # type: ignore[arg-type]
        assert price(cheap).fits_in(price(replace(cheap, **{name: more})))  # type: ignore[arg-type]
        assert not price(cheap).fits_in(price(replace(cheap, flip=Fraction(1, 5))))
