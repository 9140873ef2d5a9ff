"""Each method's parameters cost what they may, and err less the more they may cost."""

import math
from fractions import Fraction

import numpy as np
import pytest

from littled.budget import predictions
from littled.budget.rounding import exp_upper
from littled.classes.names import class_from_name
from littled.learners.online.values import Accounting
from littled.learners.prediction import Method
from littled.mechanisms import noisy_majority
from littled.planner.prediction.errors import ErrorModel
from littled.planner.prediction.methods import (
    MAJORITY_RATE_MIN,
    RATE_MIN,
    Allowance,
    Found,
    _averaging_odds,
    _flipped_ratio,
    _relabelled_ratio,
    _stable_odds,
    _stable_ratio,
    best_parameters,
    lists_subsets,
)
from littled.planner.prediction.request import METHODS

MODEL = ErrorModel(class_from_name("thresholds:256"), 100_000, 0.1)
LARGE = ErrorModel(class_from_name("thresholds:256"), 3_000_000, 0.0)


def drawn(rate: float) -> tuple[float, float]:
    return 2 * rate, rate**2 / 2


def changed(ratio: Fraction, odds: Fraction) -> tuple[float, float]:
    return math.log(ratio), math.log(odds) ** 2 / 8


def exactly(model: ErrorModel, found: Found) -> tuple[float, float]:
    """The price of an answer as epsilon, and as rho, by the exact formulas."""
    q, flip = Fraction(found.subset_rate), Fraction(found.flip)
    if found.method == "majority":
        return 2 * found.vote_rate, found.vote_rate**2
    if found.method in ("dense", "realizable"):
        return drawn(max(found.rate, found.vote_rate))
    if found.method == "stability":
        of = exp_upper(Fraction(found.rate)), q, flip
        return changed(predictions.stable_ratio(*of), predictions.stable_odds(*of))
    if found.method == "averaging":
        votes = found.chunks or 0, flip
        return changed(predictions.averaging_ratio(*votes), predictions.averaging_odds(*votes))
    n = model.window
    net = Fraction(round(found.net * (n - 1)), n - 1)
    rates = Fraction(found.rate), Fraction(found.vote_rate)
    ratio = predictions.relabelled_ratio(*rates, q, n, net)
    if flip:
        labelings = Fraction(model.hypotheses.labelings_max(n - 1))
        failure = q * predictions.no_net(n, net, q, labelings)
        ratio = predictions.flipped_ratio(ratio, failure, flip)
    epsilon = math.log(ratio)
    return epsilon, epsilon**2 / 2


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize("method", METHODS)
def test_what_is_found_costs_what_it_may(method: Method, accounting: Accounting) -> None:
    for model, epsilon in ((MODEL, 0.01), (LARGE, 0.1)):
        amount = epsilon if accounting == "pure" else epsilon**2 / 2
        found = best_parameters(method, model, Allowance(accounting, amount, 1e-9))
        assert found is not None
        price = exactly(model, found)[accounting == "zcdp"]
        assert price <= amount * (1 + 1e-9)
        if method != "relabelling":  # its last step in finding a net leaves something
            assert price >= amount * 0.999
        assert 0 < found.error <= model.worst


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
@pytest.mark.parametrize("method", METHODS)
def test_more_budget_means_less_error(method: Method, accounting: Accounting) -> None:
    amounts = [1e-5, 1e-3, 1e-1, 1.0] if accounting == "pure" else [1e-9, 1e-5, 1e-3, 0.5]
    tried = [best_parameters(method, LARGE, Allowance(accounting, each, 1e-9)) for each in amounts]
    errors = [math.inf if each is None else each.error for each in tried]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.1


def test_nothing_is_found_without_a_budget_or_below_what_can_be_tabulated() -> None:
    for method in METHODS:
        assert best_parameters(method, MODEL, Allowance("pure", 0.0, 1e-9)) is None
    for method in ("dense", "realizable", "majority"):
        least = Allowance("pure", RATE_MIN, 0.0)
        assert best_parameters(method, MODEL, least) is None
    # a vote of rate v costs v^2
    assert MAJORITY_RATE_MIN == noisy_majority.RATE_MIN
    least_price = MAJORITY_RATE_MIN**2
    for part, found in ((0.9, False), (1.1, True)):
        allowance = Allowance("zcdp", part * least_price, 0.0)
        assert (best_parameters("majority", MODEL, allowance) is not None) == found


def test_classes_without_lists_have_no_methods_of_subsets() -> None:
    for name, listed in (
        ("prefixes:32", True),
        ("affine:64:8", False),
        ("sparse_sets:64:4", False),
    ):
        model = ErrorModel(class_from_name(name), 10_000, 0.0)
        assert lists_subsets(model) == listed
        for method in ("stability", "relabelling"):
            found = best_parameters(method, model, Allowance("pure", 0.5, 1e-9))
            assert (found is not None) >= (listed and method == "stability")
            assert found is None or listed


def test_relabelling_gives_up_a_failure_mass_or_a_flip() -> None:
    """Theorem 12 with delta, or without one."""
    pure = best_parameters("relabelling", LARGE, Allowance("pure", 0.5, 0.0))
    mixed = best_parameters("relabelling", LARGE, Allowance("pure", 0.5, 1e-6))
    assert pure is not None
    assert mixed is not None
    assert pure.flip > 0
    assert mixed.error <= pure.error


# -- floating point beside exact formulas ----------------------------------------------------------


@pytest.mark.parametrize("q", [0.001, 0.1])
@pytest.mark.parametrize("flip", [0.001, 0.2])
def test_formulas_agree_with_the_exact_ones(q: float, flip: float) -> None:
    for rate in (0.001, 0.1, 2.0):
        k, exact_k = np.exp(rate), exp_upper(Fraction(rate))
        exact = exact_k, Fraction(q), Fraction(flip)
        for ours, theirs in (
            (_stable_ratio, predictions.stable_ratio),
            (_stable_odds, predictions.stable_odds),
        ):
            found = ours(np.array(k), np.array(q), np.array(flip))
            assert float(found) == pytest.approx(float(theirs(*exact)), rel=1e-9)
    found = _averaging_odds(np.array(7.0), np.array(flip))
    assert float(found) == pytest.approx(float(predictions.averaging_odds(7, Fraction(flip))))
    ratio = _relabelled_ratio(np.array(0.01), np.array(0.25), np.array(q), np.array(9.0))
    relabelled = predictions.relabelled_ratio(
        Fraction(75, 10_000), Fraction(25, 10_000), Fraction(q), 101, Fraction(9, 100)
    )
    assert float(ratio) == pytest.approx(float(relabelled))
    flipped = _flipped_ratio(ratio, np.array(1e-5), np.array(flip))
    turned = predictions.flipped_ratio(relabelled, Fraction(1, 10**5), Fraction(flip))
    assert float(flipped) == pytest.approx(float(turned))
