"""Metrics for Prometheus and others, of samples on the allow-list (`littled.service.samples`).

They come in Prometheus' text format, or as OpenMetrics to who accepts that.

The registry is the daemon's own, so neither Python nor a library adds anything to it, and it
refuses a metric that the allow-list does not name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from littled.service.samples import METRICS, Sample


class Metrics:
    """Collects samples when asked, and writes them down."""

    def __init__(self, samples: Callable[[], Iterable[Sample]]) -> None:
        """Take what `samples` returns at each call of `text`."""
        self._registry = AllowListRegistry()
        self._registry.register(_Facts(samples))

    def text(self, accepted: str = "") -> tuple[bytes, str]:
        """Return all metrics, and the type of the content.

        accepted: the header `Accept` of who asks. Raises KeyError for a sample that is not on the
        allow-list.
        """
        encode, content_type = choose_encoder(accepted)
        return encode(self._registry), content_type


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
