"""The ledger of a store for other programs: what every season was charged, and its sum."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from littled.budget.ledger import LedgerEntry
from littled.budget.statement import Form, seasons_of
from littled.budget.unit import EXAMPLE, Unit
from littled.store.errors import StoreDamaged
from littled.store.place import MarkPlace
from littled.store.store import Store

FORMS: tuple[Form, ...] = get_args(Form)
# How the parts go together, which no event of an accountant says.
NOTES = (
    "Every season is a composition of its own: an example is in one season, so all seasons "
    "together cost it the largest of them, not their sum. Users are protected with their examples "
    "of one season.",
    "Charges of one season are composed: they add up. The price of one with a conversion_delta is "
    "for its own stream, and for no larger delta; what other accountants are given adds up.",
    "What windows and epochs of one season have in parallel is charged once, when the season "
    "opens: an example is in one of them, so all of them cost it the largest, and prepaid "
    "selections and answers cost nothing more.",
    "failure_mass is the sum of what charges have in delta; it is added to conversion_delta, at "
    "which what is not pure is converted.",
)


class NoSuchStream(ValueError):
    """A store without the stream that was asked for; one sentence that names those it has."""


def ledger_of(
    path: Path | str,
    *,
    form: Form = "json",
    stream: str | None = None,
    key_path: Path | str | None = None,
    mark_path: MarkPlace | Path | str | None = None,
) -> dict[str, Any]:
    """What the streams of the store in the folder `path` were charged; the store is only read.

    form: "json", or "dp_accounting" or "opendp" for what these libraries compose as well
    (docs/ledger.md). stream: one alone. key_path, mark_path: where these files are, if they are not
    in the store. JSON-able; all of it is public.

    Raises ValueError for another form, NoSuchStream, and StoreError for a store that cannot be
    read: one sentence each.
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}")
    with Store.open(path, key_path, mark_path, read_only=True) as store:
        if stream is not None and stream not in store.plans:
            raise NoSuchStream(f"{path} has no stream {stream}; it has {', '.join(store.plans)}")
        streams = {
            name: _stream(name, plan, store.ledger(name), form)
            for name, plan in store.plans.items()
            if stream in (None, name)
        }
    return {"form": form, "notes": list(NOTES), "streams": streams}


def _stream(
    name: str, plan: Mapping[str, Any], entries: list[LedgerEntry], form: Form
) -> dict[str, Any]:
    try:
        unit = Unit.of(plan.get("unit", EXAMPLE.word), plan.get("user_examples_max"))
        epsilon, delta, delta_z = (Fraction(plan[key]) for key in ("epsilon", "delta", "delta_z"))
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise StoreDamaged(f"the plan of {name} does not say what it promises") from error
    return {
        "neighboring_relation": "REPLACE_ONE",
        **unit.to_dict(),
        "budget": {"epsilon": float(epsilon), "delta": float(delta)},
        "seasons": [season.to_dict(delta_z, form) for season in seasons_of(entries)],
    }
