"""Parameters of the scorecard learner: coefficients, what is refused, and how they are stored."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from littled.learners.leader import LeaderParameters
from littled.learners.leader.parameters import BATCHES_MAX, DAMPED_BATCHES_MAX, coefficients, roots

F = Fraction
WARM = LeaderParameters(
    epsilon=F(1), horizon=1_000, batch_examples=10, decay=F(199, 200),
    learning_rate=F(1, 20), scale=900, warmup=4, warmup_scale=700, moments_scale=5_000,
)  # fmt: skip


@pytest.mark.parametrize("decay", [F(1), F(9, 10), F(199, 200)])
def test_coefficients_are_the_root_of_decaying_sums(decay: Fraction) -> None:
    """Applied twice they are 1, g, g^2, ..., up to what is lost by rounding down."""
    one = 1 << 40
    found = coefficients(50, decay, one)
    assert found[0] == one
    for k in range(50):
        twice = sum(found[j] * found[k - j] for j in range(k + 1))
        assert 0 <= decay**k - F(twice, one * one) < F(1, 1 << 30)


@pytest.mark.parametrize("decay", [F(1), F(9, 10), F(197, 200)])
def test_roots_undo_coefficients(decay: Fraction) -> None:
    """Convolved with them they are 1, 0, 0, ..., up to rounding."""
    one = 1 << 40
    applied, undoing = coefficients(300, decay, one), roots(300, decay)
    assert undoing[0] == 1 << 16
    for k in range(300):
        both = sum(applied[j] * undoing[k - j] for j in range(k + 1))
        assert abs(F(both, one << 16) - (k == 0)) < F(1, 2000)


def test_damped_coefficients_fall_faster_and_end_where_they_are_0() -> None:
    damped = replace(WARM, damping=F(1, 10))
    whole = coefficients(damped.batches, WARM.decay * F(9, 10), WARM.scale)
    kept = len(damped.coefficients)
    assert damped.coefficients == whole[:kept]
    assert 10 < kept < damped.batches
    assert min(damped.coefficients) > 0
    assert not any(whole[kept:])
    assert len(damped.roots) == kept
    assert damped.lasting == 200
    assert len(WARM.coefficients) == WARM.batches


def test_damped_seasons_may_have_more_batches() -> None:
    long = replace(WARM, horizon=10 * DAMPED_BATCHES_MAX, damping=F(1, 100))
    assert long.all_batches == DAMPED_BATCHES_MAX > BATCHES_MAX
    with pytest.raises(ValueError, match=f"1 to {DAMPED_BATCHES_MAX} batches"):
        replace(long, horizon=11 * DAMPED_BATCHES_MAX)
    with pytest.raises(ValueError, match="sums that would not fit into 64 bits"):
        replace(long, horizon=1 << 40, batch_examples=1 << 29)


def test_coefficients_are_rounded_down() -> None:
    for k, found in enumerate(coefficients(30, F(1), 1000)):
        exact = 1000 * F(math.comb(2 * k, k), 4**k)
        assert exact - 1 - F(1, 1000) < found <= exact


def test_batches_are_those_that_end_in_the_season() -> None:
    assert WARM.batches == 96
    assert replace(WARM, horizon=1_009).batches == 96
    assert len(WARM.coefficients) == 96
    assert len(WARM.warmup_coefficients) == 4
    cold = replace(WARM, warmup=0, warmup_scale=0, moments_scale=0)
    assert cold.batches == 100
    assert cold.warmup_coefficients == ()


def test_parameters_are_stored_and_read_again() -> None:
    for parameters in (WARM, replace(WARM, user_examples_max=3)):
        assert LeaderParameters.from_dict(parameters.to_dict()) == parameters
    assert WARM.to_dict()["decay"] == "199/200"
    shaped = replace(WARM, columns_max=2, monotone="r-f")
    assert LeaderParameters.from_dict(shaped.to_dict()) == shaped
    assert shaped.to_dict().keys() - WARM.to_dict().keys() == {"columns_max", "monotone"}
    with pytest.raises(ValueError, match="scale"):
        LeaderParameters.from_dict({k: v for k, v in WARM.to_dict().items() if k != "scale"})


PORTFOLIO = replace(
    WARM, cosines=16, average_batches=3, publish_every=1, stump_batches=4, stump_rate=F(1, 4),
    stump_points=100, stump_fade=80, judging_scale=10**6, judging_first=3, judging_last=12,
    least_change=20, damping=F(1, 20), judging_lead=2, short_share=F(4, 5),
    falling_after=10, drift_batches=16, drift_lead=4,
)  # fmt: skip


def test_what_came_later_is_stored_where_it_is_not_what_it_was_before() -> None:
    assert PORTFOLIO.to_dict().keys() - WARM.to_dict().keys() == {
        *("cosines", "average_batches", "publish_every", "stump_batches", "stump_rate"),
        *("stump_points", "stump_fade", "judging_scale", "judging_first", "judging_last"),
        *("least_change", "damping", "judging_lead", "short_share"),
        *("falling_after", "drift_batches", "drift_lead"),
    }
    assert LeaderParameters.from_dict(PORTFOLIO.to_dict()) == PORTFOLIO
    assert PORTFOLIO.batches == 92


TRIED = replace(
    PORTFOLIO, trial_after=12, trial_batches=5, judging_return=1, accounting="gaussian",
    conversion_delta=F(1, 10**6),
)  # fmt: skip


def test_what_is_told_by_flags_is_stored() -> None:
    flagged = replace(TRIED, flags_from=9)
    assert flagged.to_dict().keys() - TRIED.to_dict().keys() == {"flags_from"}
    assert LeaderParameters.from_dict(flagged.to_dict()) == flagged


def test_a_trial_is_no_part_of_the_rest_and_before_all_that_is_judged() -> None:
    assert TRIED.to_dict().keys() - PORTFOLIO.to_dict().keys() == {
        *("trial_after", "trial_batches", "judging_return", "conversion_delta", "accounting"),
    }
    assert LeaderParameters.from_dict(TRIED.to_dict()) == TRIED
    assert (TRIED.batches, TRIED.trial_end, TRIED.unjudged) == (87, 17, 17)
    assert TRIED.periods[0] == 17 + TRIED.judging_first
    last = replace(TRIED, trial_after=95)
    assert (last.batches, last.trial_end, last.periods) == (87, 100, ())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"trial_after": 7}, "a trial needs a stump, and comes after it and the warm-up"),
        ({"trial_after": 96}, "before the season's end"),
        (
            {"stump_batches": 0, "stump_rate": F(0), "conversion_delta": F(0)},
            "a trial needs a stump",
        ),
        ({"trial_batches": 0}, "trial_after needs trial_batches"),
        ({"accounting": "zcdp"}, "conversion_delta needs a stump, and accounting gaussian"),
        ({"conversion_delta": F(1)}, "conversion_delta must be from 0 to below 1"),
        ({"conversion_delta": -F(1, 9)}, "conversion_delta must be from 0 to below 1"),
        ({"judging_return": 101}, "judging_lead and judging_return must be from 0 to 100"),
        ({"trial_after": -1}, "trial_after must be an integer of at least 0"),
        ({"user_examples_max": 2}, "there is neither a trial nor a conversion_delta"),
        (
            {"user_examples_max": 2, "conversion_delta": F(0)},
            "there is neither a trial nor a conversion_delta",
        ),
    ],
)
def test_a_trial_that_cannot_be_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        replace(TRIED, **changes)


def test_a_rate_that_falls_is_rounded_down_from_a_power_of_the_batches() -> None:
    for batches in (0, 1, 9, 10, 50, 10_000):
        exact = 2**14 * (1 + batches / 10) ** -0.75
        assert exact - 1.001 < PORTFOLIO.falling(batches) <= exact
    assert PORTFOLIO.falling(0) == WARM.falling(0) == WARM.falling(99) == 2**14


def test_periods_double_up_to_the_longest_and_begin_after_the_first_scorecards() -> None:
    assert PORTFOLIO.unjudged == 7
    assert PORTFOLIO.periods == (10, 16, *range(28, 101, 12))
    assert WARM.periods == ()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"cosines": 0}, "cosines must be from 1 to 64"),
        ({"flags_from": -1}, "flags_from"),
        ({"average_batches": 0}, "average_batches at least 1"),
        ({"publish_every": 0}, "a stump, judging and least_change need publish_every"),
        ({"least_change": 1025}, "least_change must be from 0 to 1024"),
        ({"stump_batches": 0}, "a stump needs stump_batches and a stump_rate"),
        ({"stump_rate": F(0)}, "a stump needs stump_batches and a stump_rate"),
        ({"stump_rate": F(1001)}, "a stump needs stump_batches and a stump_rate"),
        ({"stump_points": 2000}, "stump_points must be from 0 to 1024"),
        ({"stump_fade": 0}, "and need stump_fade"),
        ({"judging_first": 0}, "judging needs judging_scale"),
        ({"judging_first": 20}, "judging_first from 1 to judging_last"),
        ({"judging_scale": 0}, "judging needs judging_scale"),
        ({"judging_scale": 1 << 58}, "counts that would not fit into 64 bits"),
        ({"stump_batches": 96}, "batches after its warm-up"),
        ({"judging_lead": -1}, "judging_lead must be an integer of at least 0"),
        ({"judging_lead": 101}, "judging_lead and judging_return must be from 0 to 100"),
        ({"short_share": F(0)}, "short_share must be above 0 and at most 1"),
        ({"short_share": F(2)}, "short_share must be above 0 and at most 1"),
        ({"damping": F(0)}, "falling_after needs damping"),
        ({"falling_after": 0}, "drift_batches needs falling_after"),
        ({"drift_lead": 0}, "drift_batches needs drift_lead, from 1 to 100"),
        ({"drift_batches": 0}, "drift_batches needs drift_lead, from 1 to 100"),
        ({"drift_lead": 101}, "drift_batches needs drift_lead, from 1 to 100"),
        ({"falling_after": 1 << 15}, "falling_after and drift_batches must be at most 16384"),
        ({"drift_batches": 1 << 15}, "falling_after and drift_batches must be at most 16384"),
        ({"damping": F(1)}, "damping must be from 0 to below 1"),
        ({"decay": F(1)}, "decay 1 - 1/k for an integer k with it"),
        ({"decay": F(197, 200)}, "decay 1 - 1/k for an integer k with it"),
    ],
)
def test_candidates_that_no_learner_can_have_are_refused(
    changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        replace(PORTFOLIO, **changes)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"epsilon": F(0)}, "epsilon must be above 0"),
        ({"learning_rate": F(2)}, "learning_rate above 0 and at most 1"),
        ({"decay": F(0)}, "decay must be above 0"),
        ({"decay": F(2)}, "decay must be above 0 and at most 1"),
        ({"batch_examples": 0}, "batch_examples must be from 1"),
        ({"batch_examples": 10.0}, "batch_examples must be an integer"),
        ({"batch_examples": 1_001}, f"from 1 to {BATCHES_MAX} batches"),
        ({"horizon": 10**6, "batch_examples": 1}, f"from 1 to {BATCHES_MAX} batches"),
        ({"scale": 0}, "scale and warmup_scale must be from 1"),
        ({"scale": 5_000}, "scale and warmup_scale must be from 1"),
        ({"warmup": 100}, "batches after its warm-up"),
        ({"warmup": 0}, "a warm-up needs"),
        ({"moments_scale": 0}, "a warm-up needs"),
        ({"moments_scale": 1 << 25}, "moments_scale must be at most"),
        ({"user_examples_max": 0}, "user_examples_max must be an integer from 1"),
        ({"columns_max": 0}, "columns_max must be an integer of at least 1"),
        ({"columns_max": True}, "columns_max must be an integer of at least 1"),
        ({"monotone": "rx"}, "monotone must be a text of r, f and -"),
        ({"horizon": 1 << 40, "batch_examples": 1 << 29}, "sums that would not fit into 64 bits"),
    ],
)
def test_what_no_learner_can_have_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        replace(WARM, **changes)
