"""Curves of a run as one picture; needs the extra `plots`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.service.measuring import (
    BATCHES,
    CONNECTIONS,
    STREAMS,
    SUBSCRIBERS,
    Sample,
)
from benchmarks.service.report import chosen, middle


def draw(samples: Sequence[Sample], path: Path) -> None:
    """Examples per second by batch size, connections, subscribers and streams."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra

    mpl.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, ((by_batch, by_connections), (by_subscribers, by_streams)) = pyplot.subplots(
        2, 2, figsize=(10, 7), layout="constrained"
    )
    for points in ("u8", "u64"):
        _lines(by_batch, chosen(samples, part="batches", points=points), "batch", BATCHES, points)
    if samples:
        by_batch.set_yscale("log")
    some = chosen(samples, part="connections", batch=1)
    _lines(by_connections, some, "connections", CONNECTIONS, "single")
    _lines(by_subscribers, chosen(samples, part="subscribers"), "subscribers", SUBSCRIBERS, "1,000")
    _lines(by_streams, chosen(samples, part="streams"), "streams", STREAMS, "1,000")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _lines(axes: Any, some: Sequence[Sample], fact: str, numbers: Sequence[int], kind: str) -> None:
    for name in dict.fromkeys(sample.contender for sample in some):
        seen = [
            (number, middle(found, lambda sample: sample.per_second))
            for number in numbers
            if (found := chosen(some, contender=name, **{fact: number}))
        ]
        axes.plot(*zip(*seen, strict=True), marker="o", label=f"{name}, {kind}")
    if some and fact != "subscribers":
        axes.set_xscale("log")
    axes.set_xlabel(fact)
    axes.set_ylabel("examples/s")
    if some:
        axes.legend(fontsize="x-small")
