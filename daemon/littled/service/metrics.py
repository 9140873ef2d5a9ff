"""Metrics in Prometheus' text format: an allow-list of public facts and nothing else.

The registry is the daemon's own, so neither Python nor a library adds anything to it, and it
refuses a metric that `METRICS` does not name. Every entry says why it may be seen: it is public by
the protocol (lengths and numbers of what peers sent), or it is a function of published releases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

Why = Literal["public input", "published"]


@dataclass(frozen=True, slots=True)
class MetricName:
    """An entry of the allow-list: what a metric is, and why anybody may see it."""

    kind: Literal["counter", "gauge"]
    help: str
    labels: tuple[str, ...]
    why: Why


METRICS: Mapping[str, MetricName] = {
    "littled_connections": MetricName("gauge", "Open connections.", (), "public input"),
    "littled_connections_accepted": MetricName(
        "counter", "Connections accepted since the start.", (), "public input"
    ),
    "littled_received_bytes": MetricName(
        "counter", "Bytes of all messages from peers since the start.", (), "public input"
    ),
    "littled_session_errors": MetricName(
        "counter", "Sessions ended with an error since the start.", ("code",), "public input"
    ),
    "littled_stream_position": MetricName(
        "gauge", "Durable examples of the stream.", ("stream",), "public input"
    ),
    "littled_stream_spent": MetricName(
        "gauge", "Budget spent in the season, by kind of price.", ("stream", "part"), "published"
    ),
    "littled_stream_cap": MetricName(
        "gauge", "Budget of a season, by kind of price.", ("stream", "part"), "published"
    ),
    "littled_learner_version": MetricName(
        "gauge", "Version of the learner's last release.", ("learner",), "published"
    ),
    "littled_learner_epoch": MetricName(
        "gauge", "Epoch of the learner's last release.", ("learner",), "published"
    ),
    "littled_learner_season": MetricName(
        "gauge", "Season of the learner's last release.", ("learner",), "published"
    ),
    "littled_learner_halted": MetricName(
        "gauge",
        "1 when the learner has spent its budget until the next season.",
        ("learner",),
        "published",
    ),
    "littled_window": MetricName(
        "gauge", "Number of the window that the learner answers from.", ("learner",), "public input"
    ),
    "littled_window_next": MetricName(
        "gauge", "Examples with which its next window is full.", ("learner",), "public input"
    ),
    "littled_window_answers_given": MetricName(
        "gauge", "Answers that the window has given.", ("learner",), "public input"
    ),
    "littled_window_answers_left": MetricName(
        "gauge", "Answers that are left in the window.", ("learner",), "public input"
    ),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One number under a name of the allow-list, with its labels' values in the list's order."""

    name: str
    labels: tuple[str, ...]
    value: float


class Metrics:
    """Collects samples when asked, and writes them down."""

    def __init__(self, samples: Callable[[], Iterable[Sample]]) -> None:
        """Take what `samples` returns at each call of `text`."""
        self._registry = AllowListRegistry()
        self._registry.register(_Facts(samples))

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format.

        Raises KeyError for a sample that is not on the allow-list.
        """
        return generate_latest(self._registry)


class AllowListRegistry(CollectorRegistry):
    """A registry that refuses what `METRICS` does not name."""

    def __init__(self) -> None:
        """Start empty; collectors are asked for their names, which they must know."""
        super().__init__(auto_describe=False)

    def register(self, collector: Collector) -> None:
        """Add a collector; raises ValueError when one of its names is not on the allow-list."""
        describe = getattr(collector, "describe", None)
        names = [metric.name for metric in describe()] if describe is not None else []
        for name in names or ["a metric without a name"]:
            if name not in METRICS:
                raise ValueError(f"{name} is not on the allow-list of public metrics")
        super().register(collector)


class _Facts(Collector):
    """The one collector: turns samples into metric families."""

    def __init__(self, samples: Callable[[], Iterable[Sample]]) -> None:
        self._samples = samples

    def describe(self) -> Iterable[Metric]:
        """Return every family that may ever be collected, empty."""
        return [_family(name) for name in METRICS]

    def collect(self) -> Iterator[Metric]:
        """Return the families that have samples, in the order of the allow-list."""
        families = {name: _family(name) for name in METRICS}
        for sample in self._samples():
            families[sample.name].add_metric(sample.labels, sample.value)
        yield from (family for family in families.values() if family.samples)


def _family(name: str) -> CounterMetricFamily | GaugeMetricFamily:
    entry = METRICS[name]
    if entry.kind == "counter":
        return CounterMetricFamily(name, entry.help, labels=entry.labels)
    return GaugeMetricFamily(name, entry.help, labels=entry.labels)
