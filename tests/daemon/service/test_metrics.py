"""Metrics: an allow-list that nothing gets around."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client import Counter, Gauge
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from littled.limits import HTTP_UNITS_PER_STREAM, METRICS_ANEW_UNITS
from littled.service.access import Access, Gate
from littled.service.metrics import AllowListRegistry, Metrics
from littled.service.samples import METRICS, Sample
from support.making import made
from support.sites import FakeDaemon, run


def written(metrics: Metrics, accepted: str = "") -> tuple[bytes, str]:
    """All metrics and their type."""
    return made(metrics.text(accepted))[0]


def test_the_whole_surface() -> None:
    assert sorted(METRICS) == [
        "littled_connections",
        "littled_connections_accepted",
        "littled_healthy",
        "littled_learner_calls_left",
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
    content, kind = written(metrics)
    assert kind.startswith("text/plain; version=0.0.4")
    text = content.decode()
    families = {each.name: each for each in text_string_to_metric_families(text)}
    assert set(families) == {"littled_stream_position", "littled_received_bytes"}
    assert families["littled_received_bytes"].type == "counter"
    positions = families["littled_stream_position"].samples
    assert [(each.labels, each.value) for each in positions] == [
        ({"stream": "flights"}, 7.0),
        ({"stream": "ids"}, 2.0**40),
    ]
    assert "_created" not in text
    assert written(metrics, "text/plain;q=0.5, */*") == (content, kind)


def test_who_accepts_openmetrics_gets_it() -> None:
    metrics = Metrics(
        lambda: [
            Sample("littled_healthy", (), 1),
            Sample("littled_session_errors", ("forbidden",), 2),
        ]
    )
    asked = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2"
    content, kind = written(metrics, asked)
    assert kind.startswith("application/openmetrics-text; version=1.0.0; charset=utf-8")
    text = content.decode()
    assert text.endswith("# EOF\n")
    parse: Any = openmetrics.text_string_to_metric_families
    families = {each.name: each for each in parse(text)}
    assert families["littled_healthy"].samples[0].value == 1.0
    (errors,) = families["littled_session_errors"].samples
    assert (errors.name, errors.labels) == ("littled_session_errors_total", {"code": "forbidden"})
    plain = {each.name for each in text_string_to_metric_families(written(metrics)[0].decode())}
    assert plain == set(families)


TYPES = st.sampled_from(["text/plain", "application/openmetrics-text", "*/*", "", "text/html"])
VERSIONS = st.sampled_from(["1.0.0", "0.0.4", "x", "1.x", "1.0.0a", "", "..", "1=2", "-1", "\xff"])
NAMED = st.sampled_from(["version", "escaping", "q", ""])
PARAMETERS = st.tuples(NAMED, st.sampled_from(["=", " = ", ""]), VERSIONS).map("".join)
ACCEPTED = st.lists(st.tuples(TYPES, st.lists(PARAMETERS, max_size=3)), max_size=3)


@given(ACCEPTED)
@example([("text/plain", ["version=x"])])
@example([("application/openmetrics-text", ["version=1.0.0a"])])
def test_metrics_are_written_whatever_somebody_accepts(
    wanted: list[tuple[str, list[str]]],
) -> None:
    metrics = Metrics(lambda: [Sample("littled_healthy", (), 1)])
    accepted = ",".join(";".join([kind, *parameters]) for kind, parameters in wanted)
    content, kind = written(metrics, accepted)
    assert kind in (written(metrics)[1], written(metrics, "application/openmetrics-text")[1])
    assert content.startswith(b"# HELP littled_healthy ")


async def test_a_version_that_is_none_is_answered_as_no_version_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    daemon = FakeDaemon()
    metrics = Metrics(lambda: [Sample("littled_healthy", (), 1)])
    daemon.metrics = metrics.text  # type: ignore[method-assign]
    async for site in run(Gate(Access()), daemon):
        plain = await site.get("/metrics")
        for accepted in ("text/plain;version=x", "application/openmetrics-text;version=1.0.0a"):
            status, text, headers = await site.get("/metrics", headers={"Accept": accepted})
            assert (status, text) == (200, plain[1])
            assert headers["Content-Type"] == plain[2]["Content-Type"]
    assert not caplog.records


def test_samples_of_a_stream_are_written_again_when_its_state_has_changed() -> None:
    positions = {"a": 1, "b": 2}
    asked: list[str] = []

    def of_stream(stream: str) -> Iterator[Sample]:
        asked.append(stream)
        yield Sample("littled_stream_position", (stream,), positions[stream])
        yield Sample("littled_stream_epsilon", (stream,), 1)

    def whole() -> Metrics:
        return Metrics(lambda: own, positions, positions.__getitem__, of_stream)

    own = [Sample("littled_healthy", (), 1)]
    metrics = whole()
    for accepted in ("", "application/openmetrics-text;version=1.0.0"):
        text = written(metrics, accepted)[0].decode()
        assert text.count("# TYPE littled_stream_position gauge\n") == 1
        assert 'littled_stream_position{stream="a"} 1.0\n' in text
        assert text.index("littled_stream_position") < text.index("littled_stream_epsilon")
        assert text.endswith("# EOF\n") == bool(accepted)
        assert text.count("# EOF") == bool(accepted)
    asked.clear()
    positions["b"] = 7
    own[0] = Sample("littled_healthy", (), 0)
    changed, pieces = made(metrics.text())
    assert asked == ["b"]
    assert pieces == [METRICS_ANEW_UNITS, HTTP_UNITS_PER_STREAM, METRICS_ANEW_UNITS]
    assert changed == written(whole())
    made(metrics.text("application/openmetrics-text"))
    for kind in ("application/openmetrics-text", "text/plain"):
        for number in range(3):  # types that somebody thinks of
            for names in ("", "allow-utf-8", "dots", "values", "underscores"):
                asked_for = f"{kind};version=1.0.{number};escaping={names}"
                _, pieces = made(metrics.text(asked_for))
                assert pieces == [METRICS_ANEW_UNITS, *[HTTP_UNITS_PER_STREAM] * len(positions)]


def test_a_sample_off_the_list_is_refused() -> None:
    metrics = Metrics(lambda: [Sample("littled_mistakes", (), 3)])
    with pytest.raises(KeyError):
        written(metrics)


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


def test_who_may_see_one_stream_gets_the_samples_of_that_one() -> None:
    def of_stream(stream: str) -> Iterator[Sample]:
        yield Sample("littled_stream_position", (stream,), 1)

    metrics = Metrics(list, ["a", "b"], lambda _: 0, of_stream)
    assert b'stream="b"' in written(metrics)[0]
    (text, _), _ = made(metrics.text("", lambda stream: stream == "a"))
    assert b'stream="a"' in text
    assert b'stream="b"' not in text
