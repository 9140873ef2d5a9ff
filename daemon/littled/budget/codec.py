"""Privacy events as a ledger writes them: JSON-able values, and back."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from fractions import Fraction
from typing import Any

from littled.budget.events import PrivacyEvent
from littled.budget.prices import UnsupportedEvent, priced_events
from littled.budget.rounding import from_text, to_text

_EVENTS = priced_events()


def event_to_dict(event: PrivacyEvent) -> dict[str, Any]:
    """JSON-able: "type" and the parameters, fractions as exact "numerator/denominator".

    Parameters that came later are left out where they have their default.
    """
    if type(event) not in _EVENTS.values():
        raise UnsupportedEvent(f"the privacy event {type(event).__name__} has no written form")
    values = {
        field.name: value
        for field in fields(event)
        if (value := getattr(event, field.name)) != field.default
    }
    return {
        "type": event.name,
        **{
            name: to_text(value) if isinstance(value, Fraction) else value
            for name, value in values.items()
        },
    }


def event_from_dict(values: Mapping[str, Any]) -> PrivacyEvent:
    """The event that `event_to_dict` wrote; UnsupportedEvent for anything else."""
    name = values.get("type")
    kind = _EVENTS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise UnsupportedEvent("the type of a privacy event is unsupported by this version")
    known = {field.name: field for field in fields(kind)}
    needed = {field.name for field in known.values() if field.default is MISSING}
    given = set(values) - {"type"}
    if not needed <= given <= set(known):
        wrong = ", ".join(sorted((given - set(known)) | (needed - given)))
        raise UnsupportedEvent(f"the privacy event {name} differs from this version's in: {wrong}")
    try:
        return kind(
            **{
                name: from_text(values[name]) if known[name].type is Fraction else values[name]
                for name in sorted(given)
            }
        )
    except (TypeError, ValueError) as error:
        raise UnsupportedEvent(f"the privacy event {name} is not well-formed: {error}") from None
