"""Plans as a store has them."""

from collections.abc import Mapping
from typing import Any

from littled.planner import PlanError, StreamPlan
from littled.store.errors import StoreDamaged, StoreRefused
from littled.store.store import Store


def stored_plan(store: Store, stream: str) -> StreamPlan:
    """The plan of a stream. StoreRefused for one that only a newer version can have written."""
    return _known(store.name, stream, store.plans[stream])


def refuse_unknown(store: str, plans: Mapping[str, Mapping[str, Any]]) -> None:
    """StoreRefused if one of the plans, by stream, is one that only a newer version can have made.

    store: what messages call the store.
    """
    for stream, plan in plans.items():
        _known(store, stream, plan)


def _known(store: str, stream: str, plan: Mapping[str, Any]) -> StreamPlan:
    """What is stored is what was planned, so what is no plan at all is damage: StoreDamaged."""
    try:
        return StreamPlan.from_dict(plan)
    except PlanError as error:
        raise StoreRefused(
            f"the store in {store} was written by a newer version, as the plan of {stream} is not "
            f"one of this version ({error}); use the version that wrote it"
        ) from error
    except ValueError as error:
        raise StoreDamaged(f"the plan of {stream} in {store} is no plan: {error}") from error
