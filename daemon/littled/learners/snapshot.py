"""States of learners as bytes and back: a snapshot saves replaying a long journal, nothing more."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from littled.learners.online import OnlineState
from littled.learners.online.buffer import Buffer
from littled.learners.users import Run, UserCounts
from littled_protocol.rules import rule_from_dict

# The size of a snapshot is bounded by the buffers' caps; this only refuses absurd files.
SNAPSHOT_BYTES_MAX = 1 << 32
_USER_COUNTS = ("users_counted", "users_kept")


class SnapshotUnusable(Exception):
    """A snapshot of another version; the journal is replayed from its start instead."""


def pack(values: Mapping[str, Any]) -> bytes:
    """Deterministic msgpack of plain values and numpy arrays."""
    packed: bytes = msgpack.packb(values, default=_array_to_dict, use_bin_type=True)
    return packed


def unpack(data: bytes) -> dict[str, Any]:
    """What `pack` wrote; SnapshotUnusable otherwise."""
    try:
        values = msgpack.unpackb(
            data,
            object_hook=_array_from_dict,
            strict_map_key=True,
            max_bin_len=SNAPSHOT_BYTES_MAX,
        )
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise SnapshotUnusable("the snapshot is not readable") from error
    if not isinstance(values, dict):
        raise SnapshotUnusable("the snapshot is not a map")
    return values


def online_to_dict(state: OnlineState) -> dict[str, Any]:
    """Plain values of an online learner's state."""
    values = {each.name: getattr(state, each.name) for each in fields(state)}
    values["rule"] = state.rule.to_dict()
    values["buffer"] = None if state.buffer is None else _buffer_to_dict(state.buffer)
    values["archive"] = [_buffer_to_dict(each) for each in state.archive]
    values["pending"] = [list(each) for each in state.pending]
    for name in _USER_COUNTS:
        values[name] = _counts_to_dict(values[name])
    return values


def online_from_dict(values: dict[str, Any]) -> OnlineState:
    """The state that `online_to_dict` wrote; SnapshotUnusable if its fields differ."""
    if set(values) != {each.name for each in fields(OnlineState)}:
        raise SnapshotUnusable("the snapshot has the fields of another version")
    read = dict(values)
    read["rule"] = rule_from_dict(values["rule"])
    read["buffer"] = None if values["buffer"] is None else Buffer(**values["buffer"])
    read["archive"] = tuple(Buffer(**each) for each in values["archive"])
    read["pending"] = tuple((x, y, users) for x, y, users in values["pending"])
    for name in _USER_COUNTS:
        read[name] = _counts_from_dict(values[name])
    return OnlineState(**read)


def _counts_to_dict(counts: UserCounts | None) -> dict[str, Any] | None:
    """As one run, however many batches it took."""
    if counts is None:
        return None
    whole = counts.whole()
    return {"users": whole.users, "counts": whole.counts}


def _counts_from_dict(values: dict[str, Any] | None) -> UserCounts | None:
    if values is None:
        return None
    run = Run(**values)
    return UserCounts((run,) if len(run) else ())


def _buffer_to_dict(buffer: Buffer) -> dict[str, Any]:
    return {
        each.name: getattr(buffer, each.name) for each in fields(buffer) if each.name != "limit"
    }


def _array_to_dict(value: object) -> dict[str, Any]:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"a snapshot cannot hold a {type(value).__name__}")
    return {"dtype": value.dtype.str, "shape": list(value.shape), "data": value.tobytes()}


def _array_from_dict(values: dict[str, Any]) -> dict[str, Any] | NDArray[Any]:
    if set(values) != {"dtype", "shape", "data"} or not isinstance(values["data"], bytes):
        return values  # a map of learners may have any names
    array: NDArray[Any] = np.frombuffer(values["data"], dtype=np.dtype(values["dtype"]))
    return array.reshape(values["shape"])
