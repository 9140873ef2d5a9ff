"""The state of an online learner as plain values, and back."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

from littled.learners.online.buffer import Buffer
from littled.learners.online.closure_tallies import ClosureTallies
from littled.learners.online.memories import memory_from_dict
from littled.learners.online.pool import HeldRows, Pool
from littled.learners.online.state import OnlineState
from littled.learners.online.tallies import Tallies
from littled.learners.snapshot import SnapshotUnusable, counts_from_dict, counts_to_dict
from littled_protocol.rules import rule_from_dict

_USER_COUNTS = ("users_counted", "users_kept")
Part = TypeVar("Part")


def state_to_dict(state: OnlineState) -> dict[str, Any]:
    """Plain values of an online learner's state."""
    values = {field.name: getattr(state, field.name) for field in fields(state)}
    values["rule"] = state.rule.to_dict()
    values["buffer"] = None if state.buffer is None else state.buffer.to_dict()
    values["archive"] = [buffer.to_dict() for buffer in state.archive]
    values["pending"] = [list(batch) for batch in state.pending]
    for name in _USER_COUNTS:
        values[name] = counts_to_dict(values[name])
    if state.memory is None:
        del values["memory"]  # as snapshots were before memories came
    else:
        values["memory"] = state.memory.to_dict()
    if state.pool is None:
        del values["pool"]  # as snapshots were before pools came
    else:
        values["pool"] = state.pool.to_dict()
    if state.tallies is None:
        del values["tallies"]  # as snapshots were before tallies came
    else:
        values["tallies"] = state.tallies.to_dict()
    return values


def state_from_dict(values: dict[str, Any]) -> OnlineState:
    """The state that `state_to_dict` wrote; SnapshotUnusable if its fields differ."""
    if set(values) | {"memory", "pool", "tallies"} != {field.name for field in fields(OnlineState)}:
        raise SnapshotUnusable("the snapshot has the fields of another version")
    read = dict(values)
    if "memory" in values:
        read["memory"] = _read(memory_from_dict, values["memory"], "memory")
    if "pool" in values:
        of_users = "rows" in values["pool"]
        pool = HeldRows.from_dict if of_users else Pool.from_dict
        read["pool"] = _read(pool, values["pool"], "pool")
    if "tallies" in values:
        of_closures = "closures" in values["tallies"]
        reader = ClosureTallies.from_dict if of_closures else Tallies.from_dict
        read["tallies"] = _read(reader, values["tallies"], "tallies")
    read["rule"] = rule_from_dict(values["rule"])
    read["buffer"] = None if values["buffer"] is None else Buffer(**values["buffer"])
    read["archive"] = tuple(Buffer(**buffer) for buffer in values["archive"])
    read["pending"] = tuple((x, y, users) for x, y, users in values["pending"])
    for name in _USER_COUNTS:
        read[name] = counts_from_dict(values[name])
    return OnlineState(**read)


def _read(reader: Callable[[dict[str, Any]], Part], values: dict[str, Any], what: str) -> Part:
    try:
        return reader(values)
    except ValueError as error:
        raise SnapshotUnusable(f"the snapshot has the {what} of another version: {error}") from None
