"""Metrics: an allow-list that nothing gets around."""

from collections.abc import Iterator

import pytest
from prometheus_client import Counter, Gauge
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from littled.service.metrics import AllowListRegistry, Metrics
from littled.service.samples import METRICS, Sample


def test_the_whole_surface() -> None:
    assert sorted(METRICS) == [
        "littled_connections",
        "littled_connections_accepted",
        "littled_learner_epoch",
        "littled_learner_error_rate",
        "littled_learner_error_rate_lower",
        "littled_learner_error_rate_position",
        "littled_learner_error_rate_upper",
        "littled_learner_halted",
        "littled_learner_season",
        "littled_learner_version",
        "littled_received_bytes",
        "littled_session_errors",
        "littled_stream_cap",
        "littled_stream_epsilon",
        "littled_stream_epsilon_prepaid",
        "littled_stream_epsilon_spent",
        "littled_stream_position",
        "littled_stream_spent",
        "littled_window",
        "littled_window_answers_given",
        "littled_window_answers_left",
        "littled_window_next",
    ]


def test_samples_become_text_that_prometheus_reads() -> None:
    metrics = Metrics(
        lambda: [
            Sample("littled_stream_position", ("flights",), 7),
            Sample("littled_stream_position", ("ids",), 2.0**40),
            Sample("littled_received_bytes", (), 12),
        ]
    )
    text = metrics.text().decode()
    families = {each.name: each for each in text_string_to_metric_families(text)}
    assert set(families) == {"littled_stream_position", "littled_received_bytes"}
    assert families["littled_received_bytes"].type == "counter"
    positions = families["littled_stream_position"].samples
    assert [(each.labels, each.value) for each in positions] == [
        ({"stream": "flights"}, 7.0),
        ({"stream": "ids"}, 2.0**40),
    ]
    assert "_created" not in text
    assert metrics.text().decode() == text


def test_a_sample_off_the_list_is_refused() -> None:
    metrics = Metrics(lambda: [Sample("littled_mistakes", (), 3)])
    with pytest.raises(KeyError):
        metrics.text()


def test_a_metric_off_the_list_is_refused() -> None:
    registry = AllowListRegistry()
    with pytest.raises(ValueError, match="littled_mistakes is not on the allow-list"):
        Counter("littled_mistakes", "Mistakes.", registry=registry)
    with pytest.raises(ValueError, match="littled_gap is not on the allow-list"):
        Gauge("littled_gap", "Gap.", registry=registry)
    with pytest.raises(ValueError, match="not on the allow-list"):
        registry.register(Nameless())
    assert list(registry.collect()) == []


class Nameless(Collector):
    """A collector that does not say what it collects."""

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("littled_gap", "Gap.", value=1)
