"""The ledger: every charge of a stream, with the event it was made for.

An entry records what was done (the event) and what was charged (the price). Nobody has to believe
the charge: `rederive` computes every price again and adds them up, season by season. The ledger is
public; it holds parameters and prices, nothing that depends on data.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Self

from littled.budget.events import PrecisionLoss, UnsupportedEvent, event_from_dict, price
from littled.budget.price import Price


class LedgerDamaged(ValueError):
    """Bytes that are no ledger entry of this version; one sentence."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One charge.

    `number` counts the stream's entries from 0, over all seasons; `learner` is the learner's name
    without the stream's, or None for the stream itself; `position` is the example at which the
    charge was made; `event` is what `event_to_dict` wrote.
    """

    number: int
    stream: str
    season: int
    learner: str | None
    position: int
    event: dict[str, Any]
    price: Price

    def to_bytes(self) -> bytes:
        """Canonical: equal entries have equal bytes (JSON, sorted keys, no spaces, ASCII)."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values["price"] = self.price.to_dict()
        text = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return text.encode("ascii")

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The entry that `to_bytes` wrote; LedgerDamaged for any other bytes."""
        try:
            values = json.loads(data)
            _check_types(values)
            entry = cls(**{**values, "price": Price.from_dict(values["price"])})
        except (ValueError, TypeError, KeyError, RecursionError):
            raise LedgerDamaged("a ledger entry is not written as this version writes it") from None
        if entry.to_bytes() != data:
            raise LedgerDamaged("a ledger entry is not in its canonical form")
        return entry


def rederive(
    entries: Iterable[LedgerEntry],
    caps: Price,
    *,
    horizon: int | None = None,
    epsilon: Fraction | None = None,
) -> list[str]:
    """Problems of one stream's ledger, in order, one sentence each; empty if there are none.

    Checks that entries are numbered from 0 without a gap, that seasons never go back and (with
    `horizon`) contain their positions, that every price is the price of its event, that the events
    of finite precision assume at least the promised `epsilon`, and that no season's sum, recorded
    or computed again, exceeds `caps`.
    """
    problems = []
    seasons: dict[int, tuple[Price, Price]] = defaultdict(lambda: (Price.zero(), Price.zero()))
    season = 0
    for expected, entry in enumerate(entries):
        if entry.number != expected:
            problems.append(f"ledger entry {entry.number} stands where {expected} was expected")
        if entry.season < season:
            problems.append(f"ledger entry {entry.number} goes back to season {entry.season}")
        season = entry.season
        if horizon is not None and entry.position // horizon != entry.season:
            problems.append(f"ledger entry {entry.number} lies outside season {entry.season}")
        derived, wrong = _derived(entry, epsilon)
        problems.extend(wrong)
        recorded_sum, derived_sum = seasons[entry.season]
        seasons[entry.season] = (recorded_sum + entry.price, derived_sum + derived)
    problems.extend(_overspent(seasons, caps))
    return problems


def _derived(entry: LedgerEntry, epsilon: Fraction | None) -> tuple[Price, list[str]]:
    """The price of the entry's event, and what is wrong with it."""
    try:
        event = event_from_dict(entry.event)
    except UnsupportedEvent as error:
        return entry.price, [f"ledger entry {entry.number} cannot be priced: {error}"]
    derived = price(event)
    problems = []
    if derived != entry.price:
        problems.append(
            f"ledger entry {entry.number} charges ({entry.price.in_words()}) for an event that "
            f"costs ({derived.in_words()})"
        )
    if epsilon is not None and isinstance(event, PrecisionLoss) and event.epsilon < epsilon:
        problems.append(
            f"ledger entry {entry.number} prices finite precision for less than the "
            "promised epsilon"
        )
    return derived, problems


def _overspent(seasons: dict[int, tuple[Price, Price]], caps: Price) -> Iterator[str]:
    """One sentence for each season whose recorded or derived sum exceeds the caps."""
    for season, (recorded, derived) in sorted(seasons.items()):
        for spent in (recorded, derived):
            if not spent.fits_in(caps):
                yield (
                    f"season {season} spends ({spent.in_words()}), more than its caps "
                    f"({caps.in_words()})"
                )
                break


def _check_types(values: dict[str, Any]) -> None:
    """TypeError, KeyError or ValueError unless every field of an entry has its type."""
    if set(values) != {each.name for each in fields(LedgerEntry)}:
        raise ValueError("fields")
    for name in ("number", "season", "position"):
        if type(values[name]) is not int or values[name] < 0:
            raise TypeError(name)
    if not isinstance(values["stream"], str) or not isinstance(values["learner"], str | None):
        raise TypeError("names")
    if not isinstance(values["event"], dict) or not isinstance(values["price"], dict):
        raise TypeError("event")
