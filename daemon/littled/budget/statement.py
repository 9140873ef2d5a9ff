"""What a stream was charged, season by season, in the terms of other accountants.

A price (epsilon_pure, rho, delta) that is not Gaussian is what the literature calls
delta-approximate (epsilon_pure, rho)-zCDP: outside of a mass delta the Renyi divergence of every
order a is at most epsilon_pure + a rho (`littled.budget.price`). Source: Bun and Steinke,
"Concentrated Differential Privacy: Simplifications, Extensions, and Lower Bounds" (2016),
Definitions 1.1 and 8.1. So

- `dp_accounting` has it as `ZCDpEvent(rho, xi)` with xi = epsilon_pure. No event of it has a
  failure mass, which is told beside;
- OpenDP composes pure charges by `approximate(max_divergence())`, and those with a rho by
  `approximate(zero_concentrated_divergence())`.

What is mu-GDP is a `GaussianDpEvent(noise_multiplier)` of 1 / mu in `dp_accounting`. OpenDP has no
measure for it: there mu^2/2 is a rho, which is true, and less than is known.

Only what is public is in it: events, prices, numbers of answers.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from littled.budget.codec import event_from_dict
from littled.budget.ledger import LedgerEntry
from littled.budget.normal import root_upper
from littled.budget.price import Price
from littled.budget.prices import composable_price
from littled.budget.spending import epsilon_of

Form = Literal["json", "dp_accounting", "opendp"]
Facts = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Charge:
    """A charge that a season has `count` times: of one learner, or None for the stream itself.

    event: as `littled.budget.codec` writes it; price: of one.
    """

    learner: str | None
    event: Mapping[str, Any]
    price: Price
    count: int

    @property
    def composable(self) -> Price:
        """The price as other accountants may add it to any others."""
        if "conversion_delta" not in self.event:
            return self.price
        return composable_price(event_from_dict(self.event))

    def to_dict(self) -> Facts:
        """JSON-able, amounts as exact "numerator/denominator"."""
        return {
            "learner": self.learner,
            "event": dict(self.event),
            "count": self.count,
            "price": self.price.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Season:
    """What one season was charged, equal charges together, in the order of their first.

    requests, answers: what was answered from windows that the season had paid for. They are no
    charges of the season (`littled.budget.ledger`).
    """

    number: int
    charges: tuple[Charge, ...]
    requests: int = 0
    answers: int = 0

    @property
    def spent(self) -> Price:
        """The sum of all charges."""
        return sum((each.price * each.count for each in self.charges), Price.zero())

    def to_dict(self, delta_z: Fraction, form: Form = "json") -> Facts:
        """JSON-able: charges, their sum, and (epsilon, delta) of it; and those in a form.

        delta_z: what the stream's delta leaves for the conversion. Floats are rounded up, those of
        `conversion_delta` down; `epsilon` is the one of a status.
        """
        spent = self.spent
        facts: Facts = {
            "season": self.number,
            "charges": [each.to_dict() for each in self.charges],
            "answered": {"requests": self.requests, "answers": self.answers},
            "spent": spent.to_dict(),
            "epsilon": epsilon_of(spent, delta_z),
            "delta": _up(delta_z + spent.delta),
            "conversion_delta": _down(delta_z),
            "failure_mass": _up(spent.delta),
        }
        if form == "dp_accounting":
            facts["dp_event"] = _composed(self.charges)
        elif form == "opendp":
            facts["measurements"] = [row for each in self.charges for row in _measurements(each)]
        return facts


def seasons_of(entries: Iterable[LedgerEntry]) -> tuple[Season, ...]:
    """The seasons of one stream's ledger, in order; none of one without a charge."""
    sums: dict[int, _Sums] = {}
    for entry in entries:
        season = sums.setdefault(entry.season, _Sums())
        if entry.window is None:
            event = json.dumps(entry.event, sort_keys=True)
            season.charges[entry.learner, event, entry.price] += 1
        else:
            season.requests += 1
            season.answers += int(entry.event.get("answers", 0))
    return tuple(season.as_season(number) for number, season in sorted(sums.items()))


@dataclass(slots=True)
class _Sums:
    """A season so far."""

    charges: Counter[tuple[str | None, str, Price]] = field(default_factory=Counter)
    requests: int = 0
    answers: int = 0

    def as_season(self, number: int) -> Season:
        charges = tuple(
            Charge(learner, json.loads(event), price, count)
            for (learner, event, price), count in self.charges.items()
        )
        return Season(number, charges, self.requests, self.answers)


def _composed(charges: Iterable[Charge]) -> Facts:
    """A `ComposedDpEvent` by the names of its classes and fields, one part for each charge."""
    parts = [
        {"class_name": "SelfComposedDpEvent", "event": event, "count": each.count}
        for each in charges
        for event in _dp_events(each.composable)
    ]
    return {"class_name": "ComposedDpEvent", "events": parts}


def _dp_events(price: Price) -> list[Facts]:
    """A `ZCDpEvent`, a `GaussianDpEvent`, or both for a price with both."""
    found = []
    if not price.gaussian or price.rho or price.epsilon_pure:
        rho, xi = _up(price.rho), _up(price.epsilon_pure)
        found.append({"class_name": "ZCDpEvent", "rho": rho, "xi": xi})
    if price.gaussian:
        noise = _down(1 / root_upper(2 * price.gaussian))
        found.append({"class_name": "GaussianDpEvent", "noise_multiplier": noise})
    return found


def _measurements(charge: Charge) -> list[Facts]:
    """Measures by name with their distances: pure, zero-concentrated, or both for one with both."""
    price, rows = charge.composable, []
    concentrated = price.rho + price.gaussian
    if price.epsilon_pure or not concentrated:
        rows.append(("max_divergence", price.epsilon_pure))
    if concentrated:
        rows.append(("zero_concentrated_divergence", concentrated))
    masses = [_up(price.delta), 0.0]
    return [
        {"measure": measure, "distance": [_up(amount), mass], "count": charge.count}
        for (measure, amount), mass in zip(rows, masses, strict=False)
    ]


def _up(amount: Fraction) -> float:
    """The smallest float that is not below the amount."""
    nearest = float(amount)
    return nearest if Fraction(nearest) >= amount else math.nextafter(nearest, math.inf)


def _down(amount: Fraction) -> float:
    """The largest float that is not above the amount."""
    nearest = float(amount)
    return nearest if Fraction(nearest) <= amount else math.nextafter(nearest, -math.inf)
