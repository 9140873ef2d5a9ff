"""Metrics for Prometheus and others, of samples on the allow-list (`littled.service.samples`).

They come in Prometheus' text format, or as OpenMetrics to who accepts that.

The registry is the daemon's own, so neither Python nor a library adds anything to it, and it
refuses a metric that the allow-list does not name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from littled.limits import HTTP_UNITS_PER_STREAM, METRICS_ANEW_UNITS
from littled.service.samples import METRICS, Sample
from littled.service.turns import Making

# How OpenMetrics ends.
_END: Final = b"# EOF\n"
# Whoever asks may think of many versions and ways to escape names, which are letters here anyway.
_OPENMETRICS: Final = "application/openmetrics-text"
_ACCEPTED: Final = f"{_OPENMETRICS};version=1.0.0"


class Metrics:
    """Writes samples down when asked; those of a stream once, until something of it changes."""

    def __init__(
        self,
        samples: Callable[[], Iterable[Sample]],
        streams: Collection[str] = (),
        state: Callable[[str], object] = lambda _: None,
        of_stream: Callable[[str], Iterable[Sample]] = lambda _: (),
    ) -> None:
        """Take what `samples` returns at each call of `text`, and `of_stream` for each stream.

        state: what is the same as long as a stream's samples are.
        """
        self._samples = samples
        self._streams = streams
        self._state = state
        self._of_stream = of_stream
        self._facts = _Facts()
        self._registry = AllowListRegistry()
        self._registry.register(self._facts)
        # By the type of the content, of which there are two.
        self._written: dict[str, dict[str, tuple[object, _Lines]]] = {}

    def text(
        self, accepted: str = "", sees: Callable[[str], bool] = lambda _: True
    ) -> Making[tuple[bytes, str]]:
        """Make all metrics, and the type of the content.

        accepted: the header `Accept` of who asks; sees: of which streams it may know. Raises
        KeyError for a sample that is not on the allow-list.
        """
        encode, content_type = choose_encoder(_ACCEPTED if _is_open(accepted) else "")
        written = self._written.setdefault(content_type, {})
        parts = [self._lines(encode, self._samples())]
        yield METRICS_ANEW_UNITS
        for stream in filter(sees, self._streams):
            state, known = self._state(stream), written.get(stream)
            if known is None or known[0] != state:
                known = written[stream] = state, self._lines(encode, self._of_stream(stream))
                yield METRICS_ANEW_UNITS
            else:
                yield HTTP_UNITS_PER_STREAM
            parts.append(known[1])
        return _whole(parts, encode(CollectorRegistry())), content_type

    def _lines(self, encode: Callable[[Collector], bytes], samples: Iterable[Sample]) -> _Lines:
        self._facts.samples = samples
        found = _Lines({}, {})
        for family in self._registry.collect():
            lines = encode(_Family(family)).splitlines(keepends=True)
            comments = [line for line in lines if line.startswith(b"#") and line != _END]
            numbers = [line for line in lines if not line.startswith(b"#")]
            found.headings[family.name] = b"".join(comments)
            found.samples[family.name] = b"".join(numbers)
        return found


def _is_open(accepted: str) -> bool:
    """Whether somebody who accepts that gets OpenMetrics."""
    try:
        return choose_encoder(accepted)[1].startswith(_OPENMETRICS)
    except (TypeError, ValueError):  # the library compares a version that is no number with one
        return False


class _Lines(NamedTuple):
    """Some samples as text: by the name of their family its heading, and their lines."""

    headings: dict[str, bytes]
    samples: dict[str, bytes]


def _whole(parts: Sequence[_Lines], end: bytes) -> bytes:
    """All families in the order of the allow-list, each with its samples of all parts."""
    pieces = []
    for name in METRICS:
        headings = (part.headings[name] for part in parts if name in part.headings)
        pieces.append(next(headings, b""))
        pieces += [part.samples[name] for part in parts if name in part.samples]
    return b"".join((*pieces, end))


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

    def __init__(self) -> None:
        self.samples: Iterable[Sample] = ()

    def describe(self) -> Iterable[Metric]:
        """Return every family that may ever be collected, empty."""
        return [_family(name) for name in METRICS]

    def collect(self) -> Iterator[Metric]:
        """Return the families that have samples."""
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for sample in self.samples:
            if sample.name not in families:
                families[sample.name] = _family(sample.name)
            families[sample.name].add_metric(sample.labels, sample.value)
        yield from families.values()


class _Family(Collector):
    """One family by itself."""

    def __init__(self, family: Metric) -> None:
        self._found = family

    def collect(self) -> Iterator[Metric]:
        """Return it."""
        yield self._found


def _family(name: str) -> CounterMetricFamily | GaugeMetricFamily:
    entry = METRICS[name]
    if entry.kind == "counter":
        return CounterMetricFamily(name, entry.help, labels=entry.labels)
    return GaugeMetricFamily(name, entry.help, labels=entry.labels)
