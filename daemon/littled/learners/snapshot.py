"""States of learners as bytes and back: a snapshot saves replaying a long journal, nothing more.

A learner says itself which plain values and arrays its state comes to
(`littled.learners.contract.Learner.state_to_dict`).
"""

from collections.abc import Mapping
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from littled.learners.users import Run, UserCounts

# The size of a snapshot is bounded by the buffers' caps; this only refuses absurd files.
SNAPSHOT_BYTES_MAX = 1 << 32


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


def counts_to_dict(counts: UserCounts | None) -> dict[str, Any] | None:
    """Plain values of counts, None for none: as one run, however many batches it took."""
    if counts is None:
        return None
    whole = counts.whole()
    return {"users": whole.users, "counts": whole.counts}


def counts_from_dict(values: dict[str, Any] | None) -> UserCounts | None:
    """The counts that `counts_to_dict` wrote."""
    if values is None:
        return None
    run = Run(**values)
    return UserCounts((run,) if len(run) else ())


def _array_to_dict(value: object) -> dict[str, Any]:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"a snapshot cannot hold a {type(value).__name__}")
    return {"dtype": value.dtype.str, "shape": list(value.shape), "data": value.tobytes()}


def _array_from_dict(values: dict[str, Any]) -> dict[str, Any] | NDArray[Any]:
    if set(values) != {"dtype", "shape", "data"} or not isinstance(values["data"], bytes):
        return values  # a map of learners may have any names
    array: NDArray[Any] = np.frombuffer(values["data"], dtype=np.dtype(values["dtype"]))
    return array.reshape(values["shape"])
