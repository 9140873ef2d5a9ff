"""Events: prices by formula and never below it, n-fold laws, strict reading and writing."""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.budget.codec import event_from_dict, event_to_dict
from littled.budget.conversion import epsilon_of_gaussian
from littled.budget.events import (
    Accounting,
    CohenLyuStageTest,
    CohenLyuTrigger,
    DenseSelection,
    HistogramSelection,
    PrecisionLoss,
    PrivacyEvent,
    RestoredSeason,
    ScorecardSeason,
    SparseSelection,
    StageTest,
    TriggerSeason,
)
from littled.budget.normal import PI_UPPER
from littled.budget.price import Price
from littled.budget.prices import UnsupportedEvent, composable_price, kappa_upper, price

ZERO = Fraction(0)
STEP = Fraction(1, 1 << 80)

RATES = st.fractions(0, 20)
ACCOUNTING: st.SearchStrategy[Accounting] = st.sampled_from(("pure", "zcdp"))
DRAWS = st.integers(0, 40)
FAILURES = st.fractions(Fraction(1, 10**12), Fraction(999, 1000))
USERS = st.integers(1, 60)
# What a season had spent: a sum of prices.
SPENT = st.integers(0, 20 << 80).map(lambda steps: steps * STEP)
EVENTS: st.SearchStrategy[PrivacyEvent] = st.one_of(
    st.builds(TriggerSeason, RATES),
    st.builds(StageTest, RATES),
    st.builds(DenseSelection, RATES, DRAWS, ACCOUNTING),
    st.builds(SparseSelection, RATES, st.integers(0, 500), st.integers(0, 400), DRAWS, ACCOUNTING),
    st.builds(HistogramSelection, RATES, st.integers(0, 400), st.integers(1, 2), ACCOUNTING),
    st.builds(PrecisionLoss, st.fractions(0, 1), st.fractions(0, 2000)),
    st.builds(CohenLyuTrigger, RATES, FAILURES),
    st.builds(CohenLyuStageTest, RATES, FAILURES),
    st.builds(RestoredSeason, SPENT, SPENT, SPENT),
    st.builds(TriggerSeason, RATES, USERS),
    st.builds(TriggerSeason, RATES, st.integers(1, 9), RATES),
    st.builds(DenseSelection, RATES, DRAWS, ACCOUNTING, USERS),
    st.builds(
        SparseSelection, RATES, st.integers(0, 500), st.integers(0, 400), DRAWS, ACCOUNTING, USERS,
        st.integers(1, 2),
    ),
    st.builds(
        HistogramSelection, RATES, st.integers(0, 400), st.integers(1, 2), ACCOUNTING, USERS,
        st.integers(1, 2),
    ),
)  # fmt: skip


@given(RATES)
def test_trigger_and_stage_tests_are_pure_at_their_rate(rate: Fraction) -> None:
    for event in (TriggerSeason(rate), StageTest(rate)):
        cost = price(event)
        assert rate <= cost.epsilon_pure < rate + STEP
        assert cost.rho == cost.delta == 0


@given(RATES, RATES, FAILURES)
def test_what_was_lost_counts_as_it_is_said(epsilon: Fraction, rho: Fraction, d: Fraction) -> None:
    assert price(RestoredSeason(epsilon, rho, d)) == Price(epsilon, rho, d)
    lost = RestoredSeason(epsilon, Fraction(0), d, rho)
    assert price(lost) == Price(epsilon, Fraction(0), d, rho)
    assert ("gaussian" in event_to_dict(lost)) == (rho > 0)


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9), RATES)
def test_a_season_of_scorecards_costs_the_same_as_gdp_but_for_its_stump(
    warmup: int, rest: int, judging: int, rate: Fraction
) -> None:
    zcdp = ScorecardSeason(warmup, 7, rest, 10**6, judging, rate)
    gaussian = replace(zcdp, accounting="gaussian")
    cost = price(gaussian)
    assert cost == Price(ZERO, ZERO, ZERO, cost.gaussian)
    rows = Fraction(max(warmup + 7, rest) + judging, 2 * 10**6)
    drawn = cost.gaussian - STEP <= rate**2 * PI_UPPER / 4
    assert cost.gaussian >= max(rows, rate**2 * Fraction(314159265, 10**8) / 4)
    assert drawn or cost.gaussian - STEP < rows
    assert price(zcdp).rho <= cost.gaussian
    assert event_from_dict(event_to_dict(gaussian)) == gaussian
    assert "accounting" not in event_to_dict(zcdp)
    with pytest.raises(ValueError, match="accounting of scorecard_season must be one of zcdp, gau"):
        replace(zcdp, accounting="pure")  # type: ignore[arg-type]


@given(st.integers(1, 10**9), st.fractions(Fraction(1, 10**9), Fraction(1, 2)))
def test_pure_draws_cost_nothing_beside_what_the_rest_converts_to(
    rest: int, delta: Fraction
) -> None:
    alone = ScorecardSeason(0, 0, rest, 10**9, accounting="gaussian")
    epsilon = epsilon_of_gaussian(price(alone).gaussian, delta)
    pure = replace(alone, stump_rate=epsilon / 2, conversion_delta=delta)
    assert price(pure) == price(alone)
    assert event_from_dict(event_to_dict(pure)) == pure
    with pytest.raises(ValueError, match="stump_rate of scorecard_season is above what its rows"):
        replace(pure, stump_rate=epsilon / 2 + STEP)
    # beside anything else they cost what they would as GDP
    assert composable_price(pure) == price(replace(pure, conversion_delta=ZERO))
    assert composable_price(pure).gaussian >= (epsilon / 2) ** 2 * PI_UPPER / 4
    assert composable_price(alone) == price(alone)


@pytest.mark.parametrize("changes", [{"accounting": "zcdp"}, {"conversion_delta": Fraction(1)}])
def test_pure_draws_are_for_gdp_alone(changes: dict[str, Any]) -> None:
    pure = ScorecardSeason(
        0, 0, 10**9, 10**9, stump_rate=Fraction(1, 100), accounting="gaussian",
        conversion_delta=Fraction(1, 10**6),
    )  # fmt: skip
    with pytest.raises(ValueError, match="conversion_delta of scorecard_season is below 1, and"):
        replace(pure, **changes)


@given(RATES, FAILURES)
def test_tests_with_fresh_noise_cost_what_lemma_d_says(rate: Fraction, failure: Fraction) -> None:
    trigger = price(CohenLyuTrigger(rate, failure))
    segment = price(CohenLyuStageTest(rate, failure))
    with mpmath.workprec(400):
        e = mpmath.mpf(rate.numerator) / rate.denominator
        wait = mpmath.log(mpmath.mpf(failure.denominator) / failure.numerator)
        kappa = e / mpmath.log1p(mpmath.exp(-e))
        for cost, ideal in ((trigger, max(e, kappa * wait)), (segment, e + kappa * wait)):
            bound = mpmath.mpf(cost.epsilon_pure.numerator) / cost.epsilon_pure.denominator
            assert ideal <= bound <= ideal * (1 + mpmath.mpf(10) ** -30) + mpmath.mpf(2) ** -79
            assert cost.rho == 0
            assert failure <= cost.delta < failure + STEP


@pytest.mark.parametrize(
    "rate", [ZERO, Fraction(1, 1 << 16), *map(Fraction, (1, 50, 60, 138, 1000))]
)
def test_kappa_is_rounded_up_at_every_size(rate: Fraction) -> None:
    bound = kappa_upper(rate)
    with mpmath.workprec(6000):
        e = mpmath.mpf(rate.numerator) / rate.denominator
        kappa = e / mpmath.log1p(mpmath.exp(-e))
        ratio = mpmath.mpf(bound.numerator) / bound.denominator
        assert kappa <= ratio <= kappa * (1 + mpmath.mpf(10) ** -25)


@pytest.mark.parametrize("kind", [CohenLyuTrigger, CohenLyuStageTest])
@pytest.mark.parametrize(
    ("rate", "failure", "sentence"),
    [
        (Fraction(1), ZERO, "above 0 and below 1"),
        (Fraction(1), Fraction(1), "above 0 and below 1"),
        (Fraction(1001), Fraction(1, 2), "at most 1000"),
        (Fraction(-1), Fraction(1, 2), "must not be negative"),
    ],
)
def test_fresh_noise_needs_a_failure_mass_and_a_rate_that_promises_something(
    kind: Any, rate: Fraction, failure: Fraction, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        kind(rate, failure)


def test_less_failure_costs_more_epsilon() -> None:
    costs = [price(CohenLyuTrigger(Fraction(1, 8), Fraction(1, 2**n))) for n in range(1, 60)]
    spent = [cost.epsilon_pure for cost in costs]
    assert spent == sorted(spent)
    # a wait of hazard ln 2 and the one Above cost nearly the same; longer waits cost more
    assert Fraction(1, 8) <= spent[0] < Fraction(1, 7)
    assert len(set(spent)) > 50


def below_law(queries: Any, rate: float) -> Any:
    """P[the first Below is at t] and P[no Below], for rows of queries (rows, steps), threshold 0.

    Above iff query + nu > rho with discrete Laplace rho of rate e/2 and nu of rate e/4.
    """
    noise = np.arange(-400, 401)
    rho, nu = (np.exp(-scale * np.abs(noise)) for scale in (rate / 2, rate / 4))
    rho, nu = rho / rho.sum(), nu / nu.sum()
    above = 1 - np.cumsum(nu)[np.clip(noise - queries[:, :, None] + 400, 0, 800)]
    ahead = np.cumprod(above, axis=1)
    before = np.concatenate((np.ones_like(ahead[:, :1]), ahead[:, :-1]), axis=1)
    return np.concatenate((before * (1 - above), ahead[:, -1:]), axis=1) @ rho


def test_a_segment_of_stage_tests_is_pure_at_its_rate() -> None:
    """By enumeration, with changes of -1, 0 and 1 in any order: what its price relies on."""
    rate, steps, worst = 1.0, 4, 0.0
    queries = np.array(list(product((-9, 0, 9), repeat=steps)))
    here = below_law(queries, rate)
    for change in product((-1, 0, 1), repeat=steps):
        there = below_law(queries + np.array(change), rate)
        seen = (here > 1e-9) & (there > 1e-9)
        worst = max(worst, float(np.abs(np.log(here[seen] / there[seen])).max()))
    assert 0.9 * rate < worst <= rate + 1e-6


@given(RATES, DRAWS)
def test_a_dense_draw_has_bounded_range_of_twice_the_rate(rate: Fraction, draws: int) -> None:
    pure = price(DenseSelection(rate, draws, "pure"))
    zcdp = price(DenseSelection(rate, draws, "zcdp"))
    assert 2 * rate * draws <= pure.epsilon_pure <= (2 * rate + STEP) * draws
    assert (2 * rate) ** 2 / 8 * draws <= zcdp.rho <= (rate**2 / 2 + STEP) * draws
    assert pure == Price(pure.epsilon_pure, ZERO, ZERO)
    assert zcdp == Price(ZERO, zcdp.rho, ZERO)


@given(st.fractions(Fraction(1, 50), 5), st.integers(1, 500), st.integers(2, 3000), DRAWS)
def test_a_sparse_draw_also_costs_its_failure(
    rate: Fraction, list_cap: int, bottom: int, draws: int
) -> None:
    event = SparseSelection(rate, list_cap, bottom, draws, "zcdp")
    with mpmath.workprec(400):
        exponent = mpmath.mpf(rate.numerator) / rate.denominator * (1 - bottom)
        ideal = min(mpmath.mpf(1), list_cap * mpmath.exp(exponent))
        bound = mpmath.mpf(event.failure.numerator) / event.failure.denominator
        assert ideal <= bound <= ideal * (1 + mpmath.mpf(10) ** -40) + mpmath.mpf(2) ** -80
    dense = price(DenseSelection(rate, draws, "zcdp"))
    assert price(event) == dense + Price(ZERO, ZERO, event.failure * draws)
    dense = price(DenseSelection(rate, draws, "pure"))
    pure = price(replace(event, accounting="pure"))
    assert pure == dense + Price(ZERO, ZERO, event.failure * draws)


@pytest.mark.parametrize("bottom", [0, 1])
def test_a_bottom_that_does_not_stand_out_promises_nothing(bottom: int) -> None:
    assert SparseSelection(Fraction(1), 1, bottom, 1, "zcdp").failure == 1
    assert SparseSelection(Fraction(1), 0, bottom, 1, "zcdp").failure == 0


@given(st.fractions(Fraction(1, 50), 5), st.integers(2, 3000), st.integers(1, 2))
def test_a_histogram_costs_what_lemma_e_says(rate: Fraction, threshold: int, change: int) -> None:
    event = HistogramSelection(rate, threshold, change, "pure")
    with mpmath.workprec(400):
        e = mpmath.mpf(rate.numerator) / rate.denominator
        ideal = mpmath.exp(e * (1 - threshold)) / (1 + mpmath.exp(-e))
        bound = mpmath.mpf(event.failure.numerator) / event.failure.denominator
        assert ideal <= bound <= ideal * (1 + mpmath.mpf(10) ** -40) + mpmath.mpf(2) ** -80
    pure, zcdp = price(event), price(replace(event, accounting="zcdp"))
    assert 2 * rate <= pure.epsilon_pure < 2 * rate + STEP
    assert change * rate**2 <= zcdp.rho < change * rate**2 + STEP
    assert (pure.rho, pure.delta) == (Fraction(0), event.failure)
    assert (zcdp.epsilon_pure, zcdp.delta) == (Fraction(0), event.failure)


@pytest.mark.parametrize("threshold", [0, 1])
def test_a_histogram_that_shows_single_votes_promises_nothing(threshold: int) -> None:
    assert HistogramSelection(Fraction(1), threshold, 1, "pure").failure == 1
    # where no bit is left in exp(-e), the next threshold is as good as certain
    assert HistogramSelection(Fraction(1001), 2, 1, "pure").failure == STEP


@pytest.mark.parametrize("change", [0, 3])
def test_a_histogram_in_which_one_score_changes_by_more_is_not_covered(change: int) -> None:
    with pytest.raises(ValueError, match="change of histogram_selection must be 1 or 2"):
        HistogramSelection(Fraction(1), 9, change, "pure")


@given(RATES, st.integers(1, 40), st.integers(1, 2), ACCOUNTING)
def test_a_user_costs_what_one_example_costs_at_so_many_times_the_rate(
    rate: Fraction, most: int, change: int, by: Accounting
) -> None:
    assert price(TriggerSeason(rate, most)) == price(TriggerSeason(2 * most * rate))
    assert price(TriggerSeason(rate, most, rate)) == price(TriggerSeason(rate, most))
    split = TriggerSeason(rate, most, 3 * rate + 1)
    assert price(split) == price(TriggerSeason(most * (rate + split.threshold_rate)))
    dense = price(DenseSelection(most * rate, 3, by))
    assert price(DenseSelection(rate, 3, by, most)) == dense
    sparse = SparseSelection(rate, 5, 90, 3, by, most)
    assert price(sparse) == dense + Price(ZERO, ZERO, 3 * sparse.failure)
    histogram = HistogramSelection(rate, 90, change, by, most)
    alone = price(HistogramSelection(most * rate, 90, change, by))
    assert price(histogram) == replace(alone, delta=histogram.failure)


@given(
    st.fractions(Fraction(1, 50), 3), st.integers(1, 40), st.integers(1, 400), st.integers(1, 12),
    st.integers(1, 2),
)  # fmt: skip
def test_what_a_user_alone_proposes_shows_as_seldom_as_said(
    rate: Fraction, list_cap: int, above: int, most: int, epochs: int
) -> None:
    """Of each side: so many candidates as the votes allow, each with as many as is worst."""
    bottom = most + above
    sparse = SparseSelection(rate, list_cap, bottom, 1, "pure", most, epochs).failure
    histogram = HistogramSelection(rate, bottom, 1, "pure", most, epochs).failure
    with mpmath.workprec(400):
        e = mpmath.mpf(rate.numerator) / rate.denominator
        worst = max(mpmath.mpf(most) / m * mpmath.exp(e * (m - bottom)) for m in range(1, most + 1))
        tail = worst / (1 + mpmath.exp(-e))
        for failure, mass in ((sparse, list_cap * worst), (histogram, tail)):
            ideal = min(mpmath.mpf(1), mass * epochs)
            bound = mpmath.mpf(failure.numerator) / failure.denominator
            assert ideal <= bound <= ideal * (1 + mpmath.mpf(10) ** -40) + mpmath.mpf(2) ** -80
    assert SparseSelection(rate, list_cap, most, 1, "pure", most).failure == 1
    assert HistogramSelection(rate, most, 1, "pure", most).failure == 1


@pytest.mark.parametrize(("most", "epochs"), [(0, 2), (3, 7), (3, 0)])
def test_a_user_is_in_no_more_epochs_than_both_sides_have_examples(most: int, epochs: int) -> None:
    with pytest.raises(ValueError, match="from 1 to twice its user_examples_max"):
        SparseSelection(Fraction(1), 1, 9, 1, "pure", most, epochs)
    with pytest.raises(ValueError, match="from 1 to twice its user_examples_max"):
        HistogramSelection(Fraction(1), 9, 1, "pure", most, epochs)


@given(st.fractions(0, Fraction(1, 10**6)), st.fractions(0, 8))
def test_finite_precision_costs_its_share_on_both_sides(error: Fraction, epsilon: Fraction) -> None:
    cost = price(PrecisionLoss(error, epsilon))
    with mpmath.workprec(400):
        factor = 1 + mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        ideal = factor * mpmath.mpf(error.numerator) / error.denominator
        bound = mpmath.mpf(cost.delta.numerator) / cost.delta.denominator
        assert ideal <= bound <= ideal * (1 + mpmath.mpf(10) ** -40) + mpmath.mpf(2) ** -80
    assert cost.epsilon_pure == cost.rho == 0


def test_finite_precision_at_the_ends() -> None:
    assert price(PrecisionLoss(ZERO, Fraction(10**9))) == Price.zero()
    assert price(PrecisionLoss(Fraction(1, 10**400), Fraction(10**9))).delta == 1
    assert price(PrecisionLoss(Fraction(1, 2), ZERO)).delta == 1
    assert price(PrecisionLoss(Fraction(1, 10**400), ZERO)).delta == STEP


@given(st.one_of(EVENTS), st.integers(0, 20))
def test_n_draws_cost_what_n_events_of_one_draw_cost(event: PrivacyEvent, times: int) -> None:
    if not isinstance(event, DenseSelection | SparseSelection):
        return
    one, many = replace(event, draws=1), replace(event, draws=times)
    assert price(many) == price(one) * times == sum([price(one)] * times, Price.zero())


@given(EVENTS)
def test_prices_lie_on_the_grid(event: PrivacyEvent) -> None:
    cost = price(event)
    for amount in (cost.epsilon_pure, cost.rho, cost.delta):
        assert (1 << 80) % amount.denominator == 0


@given(st.sampled_from(["rate", "draws", "list_cap"]), st.fractions(0, 5), ACCOUNTING)
def test_prices_grow_with_their_parameters(name: str, more: Fraction, by: Accounting) -> None:
    event = SparseSelection(Fraction(1, 2), 5, 0, 3, by)
    added = more if name == "rate" else int(more)
    larger = replace(event, **{name: getattr(event, name) + added})
    assert price(event).fits_in(price(larger))


def test_a_higher_bottom_fails_less() -> None:
    failures = [
        SparseSelection(Fraction(1, 3), 20, bottom, 1, "zcdp").failure for bottom in range(120)
    ]
    assert failures == sorted(failures, reverse=True)
    assert failures[0] == 1
    assert failures[-1] < Fraction(1, 10**14)


@pytest.mark.parametrize(
    "event",
    [
        TriggerSeason(ZERO),
        StageTest(ZERO),
        DenseSelection(ZERO, 7, "pure"),
        DenseSelection(ZERO, 7, "zcdp"),
        DenseSelection(Fraction(1), 0, "zcdp"),
        SparseSelection(Fraction(1), 3, 0, 0, "pure"),
        PrecisionLoss(ZERO, Fraction(1)),
    ],
)
def test_what_does_nothing_costs_nothing(event: PrivacyEvent) -> None:
    assert price(event) == Price.zero()


@given(EVENTS)
def test_written_events_are_read_again(event: PrivacyEvent) -> None:
    written = event_to_dict(event)
    assert event_from_dict(written) == event
    assert set(map(type, written.values())) <= {str, int}


def test_events_are_written_like_this_for_ever() -> None:
    assert event_to_dict(TriggerSeason(Fraction(1, 2))) == {"type": "trigger_season", "rate": "1/2"}
    assert event_to_dict(StageTest(Fraction(3))) == {"type": "stage_test", "rate": "3/1"}
    assert event_to_dict(DenseSelection(Fraction(1, 8), 3, "zcdp")) == {
        "type": "dense_selection",
        "rate": "1/8",
        "draws": 3,
        "accounting": "zcdp",
    }
    assert event_to_dict(SparseSelection(Fraction(1, 8), 2, 90, 1, "pure")) == {
        "type": "sparse_selection",
        "rate": "1/8",
        "list_cap": 2,
        "bottom_score": 90,
        "draws": 1,
        "accounting": "pure",
    }
    assert event_to_dict(HistogramSelection(Fraction(1, 8), 90, 2, "pure")) == {
        "type": "histogram_selection",
        "rate": "1/8",
        "threshold": 90,
        "change": 2,
        "accounting": "pure",
    }
    assert event_to_dict(TriggerSeason(Fraction(1, 2), 3)) == {
        "type": "trigger_season",
        "rate": "1/2",
        "user_examples_max": 3,
    }
    assert event_to_dict(TriggerSeason(Fraction(1, 2), 3, Fraction(1, 7))) == {
        "type": "trigger_season",
        "rate": "1/2",
        "user_examples_max": 3,
        "threshold_rate": "1/7",
    }
    assert event_to_dict(HistogramSelection(Fraction(1, 8), 90, 2, "pure", 3, 6)) == {
        "type": "histogram_selection",
        "rate": "1/8",
        "threshold": 90,
        "change": 2,
        "accounting": "pure",
        "user_examples_max": 3,
        "epochs": 6,
    }
    assert event_to_dict(PrecisionLoss(Fraction(1, 1 << 40), Fraction(1))) == {
        "type": "precision_loss",
        "total_variation": f"1/{1 << 40}",
        "epsilon": "1/1",
    }
    assert event_to_dict(CohenLyuTrigger(Fraction(1, 2), Fraction(1, 9))) == {
        "type": "cohen_lyu_trigger",
        "rate": "1/2",
        "failure": "1/9",
    }
    assert event_to_dict(CohenLyuStageTest(Fraction(1, 2), Fraction(1, 9))) == {
        "type": "cohen_lyu_stage_test",
        "rate": "1/2",
        "failure": "1/9",
    }


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "type of a privacy event is unsupported"),
        ({"type": "gaussian", "rate": "1/2"}, "type of a privacy event is unsupported"),
        ({"type": 3}, "type of a privacy event is unsupported"),
        ({"type": ["trigger_season"]}, "type of a privacy event is unsupported"),
        ({"type": "trigger_season"}, "differs from this version's in: rate"),
        ({"type": "cohen_lyu_trigger", "rate": "1/2"}, "differs from this version's in: failure"),
        ({"type": "cohen_lyu_trigger", "rate": "1/2", "failure": "0/1"}, "above 0 and below 1"),
        (
            {"type": "stage_test", "rate": "1/2", "count": 9},
            "differs from this version's in: count",
        ),
        ({"type": "stage_test", "rate": "2/4"}, "lowest terms"),
        ({"type": "stage_test", "rate": 0.5}, "lowest terms"),
        ({"type": "stage_test", "rate": "-1/2"}, "must not be negative"),
        ({"type": "dense_selection", "rate": "1/2", "draws": 1.0, "accounting": "pure"}, "draws"),
        ({"type": "dense_selection", "rate": "1/2", "draws": True, "accounting": "pure"}, "draws"),
        ({"type": "dense_selection", "rate": "1/2", "draws": 1, "accounting": "free"}, "one of"),
        (
            {"type": "trigger_season", "rate": "1/2", "threshold_rate": "1/3"},
            "threshold_rate of trigger_season needs a user_examples_max",
        ),
    ],
)
def test_other_events_are_refused(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UnsupportedEvent, match=sentence):
        event_from_dict(values)


@pytest.mark.parametrize("rate", [0.5, 1, "1/2", None])
def test_inexact_parameters_are_refused(rate: Any) -> None:
    with pytest.raises(TypeError, match="rate of trigger_season must be of type Fraction"):
        TriggerSeason(rate)


@dataclass(frozen=True, slots=True)
class Unknown(PrivacyEvent):
    """An event that nobody registered."""

    name: ClassVar[str] = "unknown"
    rate: Fraction


@dataclass(frozen=True, slots=True)
class Cheaper(TriggerSeason):
    """A subclass is another mechanism than its parent."""


@pytest.mark.parametrize("event", [Unknown(Fraction(1)), Cheaper(Fraction(1))])
def test_events_without_a_proven_price_are_refused(event: PrivacyEvent) -> None:
    with pytest.raises(UnsupportedEvent, match="no price is known"):
        price(event)
    with pytest.raises(UnsupportedEvent, match="no written form"):
        event_to_dict(event)
