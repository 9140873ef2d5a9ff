"""Streams that are fixed beforehand and known to hurt, whoever learns."""

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.evasion.game import Rows
from benchmarks.learning.orders import stream_of
from benchmarks.learning.streams import KINDS, ORDERS

# In the stream of near misses of prefixes a positive comes again every so many examples.
AGAIN_EVERY = 100
_USUAL = ("clustered", "adversarial", "near-misses", "sorted", "grouped", "bursts", "jump")
# For each family of classes the names of its streams.
FIXED: Mapping[str, tuple[str, ...]] = {
    "thresholds": _USUAL,
    "points": _USUAL,
    "prefixes": (*_USUAL, "near-again"),
    "sparse_sets": _USUAL,
    "affine": _USUAL,
    "stumps": _USUAL,
    "conjunctions": _USUAL,
    "table": _USUAL,
}


@dataclass(frozen=True)
class FixedStream:
    """All examples; mistakes count from the position `counted` on."""

    rows: Rows
    counted: int = 0


def fixed_stream(class_name: str, name: str, horizon: int, seed: int) -> FixedStream:
    """The stream of this name for a class; `FIXED` has the names of each family.

    After a jump no rule fits the whole stream, so only mistakes behind it count.
    """
    wanted = "near-misses" if name == "near-again" else name
    (kind,) = (kind for kind in (*KINDS, *ORDERS) if kind == wanted)
    stream = stream_of(class_name, kind, horizon, seed)
    x, y = stream.x, stream.y
    if name == "near-again":
        x[::AGAIN_EVERY], y[::AGAIN_EVERY] = x[0], 1
    return FixedStream(Rows(x, y), stream.phases[-1] if stream.later else 0)
