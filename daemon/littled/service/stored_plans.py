"""Plans as a store has them."""

from littled.planner import PlanError, StreamPlan
from littled.store.errors import StoreRefused
from littled.store.store import Store


def stored_plan(store: Store, stream: str) -> StreamPlan:
    """The plan of a stream. StoreRefused for one that only a newer version can have written.

    What is stored is what was planned (`Store.open` sees to that), so it cannot be anything else.
    """
    try:
        return StreamPlan.from_dict(store.plans[stream])
    except PlanError as error:
        raise StoreRefused(
            f"the store in {store.name} was written by a newer version, as the plan of {stream} is "
            f"not one of this version ({error}); use the version that wrote it"
        ) from error
