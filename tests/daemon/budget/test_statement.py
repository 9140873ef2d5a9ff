"""Seasons as others compose them: equal charges together, answers apart, rounding on one side."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.budget.codec import event_to_dict
from littled.budget.events import (
    DenseSelection,
    PrecisionLoss,
    PredictionAnswersDense,
    PrivacyEvent,
    RestoredSeason,
    ScorecardSeason,
    TriggerSeason,
)
from littled.budget.ledger import LedgerEntry
from littled.budget.price import Price
from littled.budget.prices import price
from littled.budget.spending import epsilon_of
from littled.budget.statement import Charge, Season, seasons_of

TRIGGER = TriggerSeason(Fraction(1, 3))
CALL = DenseSelection(Fraction(1, 20), 1, "zcdp")
LOSS = PrecisionLoss(Fraction(1, 1 << 40), Fraction(1))
DELTA_Z = Fraction(1, 10**6)
AMOUNTS = st.fractions(0, 100, max_denominator=10**20)


def ledger(*charges: tuple[int, str | None, PrivacyEvent, int | None]) -> list[LedgerEntry]:
    """Entries from season, learner, event and window."""
    numbers = count()
    return [
        LedgerEntry(
            next(numbers), "s", season, learner, 0, event_to_dict(event), price(event), window
        )
        for season, learner, event, window in charges
    ]


def test_equal_charges_of_a_learner_stand_together() -> None:
    entries = ledger(
        *((0, "a", TRIGGER, None), (0, "b", TRIGGER, None), (0, "a", CALL, None)),
        *((0, "b", CALL, None), (0, "a", CALL, None), (2, "a", TRIGGER, None)),
    )
    first, last = seasons_of(entries)
    assert (first.number, last.number) == (0, 2)
    assert [(each.learner, each.event["type"], each.count) for each in first.charges] == [
        *(("a", "trigger_season", 1), ("b", "trigger_season", 1)),
        *(("a", "dense_selection", 2), ("b", "dense_selection", 1)),
    ]
    assert first.spent == sum((entry.price for entry in entries[:5]), Price.zero())
    assert last.spent == price(TRIGGER)


def test_answers_are_no_charge_of_a_season_that_paid_for_them() -> None:
    paid = PredictionAnswersDense(Fraction(1), 100, "pure")
    given_out = [PredictionAnswersDense(Fraction(1), answers, "pure") for answers in (3, 40)]
    (season,) = seasons_of(
        ledger((0, "a", paid, None), *((0, "a", event, 7) for event in given_out))
    )
    assert season.spent == price(paid)
    assert season.to_dict(Fraction(0))["answered"] == {"requests": 2, "answers": 43}
    assert season.to_dict(Fraction(0))["epsilon"] == float(price(paid).epsilon_pure)


def test_a_season_is_written_with_its_epsilon_and_exact_amounts() -> None:
    (season,) = seasons_of(
        ledger((1, "a", TRIGGER, None), (1, "a", LOSS, None), *[(1, "a", CALL, None)] * 3)
    )
    facts = season.to_dict(DELTA_Z)
    spent = price(TRIGGER) + price(LOSS) + price(CALL) * 3
    assert set(facts) == {
        *("season", "charges", "answered", "spent"),
        *("epsilon", "delta", "conversion_delta", "failure_mass"),
    }
    assert facts["season"] == 1
    assert facts["spent"] == spent.to_dict()
    assert facts["epsilon"] == epsilon_of(spent, DELTA_Z)
    assert facts["delta"] == pytest.approx(float(DELTA_Z + spent.delta), rel=1e-15)
    assert facts["charges"][2] == {
        "learner": "a",
        "event": event_to_dict(CALL),
        "count": 3,
        "price": price(CALL).to_dict(),
    }
    assert json.loads(json.dumps(facts)) == facts


def test_every_charge_is_an_event_with_both_amounts() -> None:
    restored = RestoredSeason(Fraction(1, 2), Fraction(1, 4), Fraction(1, 8))
    (season,) = seasons_of(
        ledger((0, "a", CALL, None), (0, "a", CALL, None), (0, None, restored, None))
    )
    event = season.to_dict(DELTA_Z, "dp_accounting")["dp_event"]
    rho = float(price(CALL).rho)
    assert event["class_name"] == "ComposedDpEvent"
    assert [(part["class_name"], part["count"]) for part in event["events"]] == [
        ("SelfComposedDpEvent", 2),
        ("SelfComposedDpEvent", 1),
    ]
    assert [part["event"] for part in event["events"]] == [
        {"class_name": "ZCDpEvent", "rho": rho, "xi": 0.0},
        {"class_name": "ZCDpEvent", "rho": 0.25, "xi": 0.5},
    ]
    assert season.to_dict(DELTA_Z, "opendp")["measurements"] == [
        {"measure": "zero_concentrated_divergence", "distance": [rho, 0.0], "count": 2},
        {"measure": "max_divergence", "distance": [0.5, 0.125], "count": 1},
        {"measure": "zero_concentrated_divergence", "distance": [0.25, 0.0], "count": 1},
    ]


@given(AMOUNTS, AMOUNTS)
def test_gdp_is_an_event_of_no_more_noise_and_a_measurement_in_zcdp(
    pure: Fraction, amount: Fraction
) -> None:
    amount += Fraction(1, 10**9)
    zero = Fraction(0)
    charge = Charge("a", {}, Price(pure, zero, Fraction(1, 8), amount), 3)
    season = Season(0, (charge,))
    parts = season.to_dict(DELTA_Z, "dp_accounting")["dp_event"]["events"]
    assert [part["count"] for part in parts] == [3] * len(parts)
    names = [part["event"]["class_name"] for part in parts]
    assert names == (["ZCDpEvent"] if pure else []) + ["GaussianDpEvent"]
    noise = parts[-1]["event"]["noise_multiplier"]
    assert 1 / Fraction(noise) ** 2 >= 2 * amount
    assert 1 / Fraction(math.nextafter(noise, math.inf)) ** 2 < 2 * amount * (
        1 + Fraction(1, 2**80)
    )
    rows = season.to_dict(DELTA_Z, "opendp")["measurements"]
    assert [row["measure"] for row in rows[-1:]] == ["zero_concentrated_divergence"]
    assert Fraction(rows[-1]["distance"][0]) >= amount
    assert sum(row["distance"][1] for row in rows) == 1 / 8


def test_what_costs_nothing_is_a_measurement_of_nothing() -> None:
    (row,) = Season(0, (Charge(None, {}, Price.zero(), 5),)).to_dict(DELTA_Z, "opendp")[
        "measurements"
    ]
    assert row == {"measure": "max_divergence", "distance": [0.0, 0.0], "count": 5}


@given(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS)
def test_floats_are_rounded_to_the_safe_side_by_less_than_one_step(
    epsilon: Fraction, rho: Fraction, mass: Fraction, delta_z: Fraction
) -> None:
    charge = Charge("a", {}, Price(epsilon, rho, mass), 1)
    delta_z += Fraction(1, 10**9)
    found = Season(0, (charge,)).to_dict(delta_z, "dp_accounting")
    written: dict[str, Any] = found["dp_event"]["events"][0]["event"]
    for up, exact in (
        *((written["xi"], epsilon), (written["rho"], rho)),
        *((found["failure_mass"], mass), (found["delta"], delta_z + mass)),
    ):
        assert up == 0 == exact or math.nextafter(up, -math.inf) < exact <= Fraction(up)
    down = found["conversion_delta"]
    assert Fraction(down) <= delta_z < math.nextafter(down, math.inf)


def test_draws_that_are_beside_the_rest_are_told_as_what_they_add_to_others() -> None:
    event = ScorecardSeason(
        0, 0, 10**9, 2 * 10**12, stump_rate=Fraction(1, 26), accounting="gaussian",
        conversion_delta=Fraction(1, 10**6),
    )  # fmt: skip
    season = Season(0, (Charge("a", event_to_dict(event), price(event), 1),))
    (part,) = season.to_dict(DELTA_Z, "dp_accounting")["dp_event"]["events"]
    together = price(replace(event, conversion_delta=Fraction(0))).gaussian
    assert together > 2 * price(event).gaussian
    assert 1 / Fraction(part["event"]["noise_multiplier"]) ** 2 >= 2 * together
    (row,) = season.to_dict(DELTA_Z, "opendp")["measurements"]
    assert Fraction(row["distance"][0]) >= together
    # what this season may spend, and has
    assert season.spent == price(event)
