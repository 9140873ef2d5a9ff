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
        each.name: value
        for each in fields(event)
        if (value := getattr(event, each.name)) != each.default
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
    known = {each.name: each for each in fields(kind)}
    needed = {each.name for each in known.values() if each.default is MISSING}
    given = set(values) - {"type"}
    if not needed <= given <= set(known):
        wrong = ", ".join(sorted((given - set(known)) | (needed - given)))
        raise UnsupportedEvent(f"the privacy event {name} differs from this version's in: {wrong}")
    try:
        return kind(
            **{
                each: from_text(values[each]) if known[each].type is Fraction else values[each]
                for each in sorted(given)
            }
        )
    except (TypeError, ValueError) as error:
        raise UnsupportedEvent(f"the privacy event {name} is not well-formed: {error}") from None
