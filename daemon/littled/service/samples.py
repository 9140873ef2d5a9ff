"""What may be measured: an allow-list of public facts and nothing else.

Every entry says why it may be seen: it is public by the protocol (lengths and numbers of what peers
sent), or it is a function of published releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Why = Literal["public input", "published"]


@dataclass(frozen=True, slots=True)
class MetricName:
    """An entry of the allow-list: what a metric is, and why anybody may see it."""

    kind: Literal["counter", "gauge"]
    help: str
    labels: tuple[str, ...]
    why: Why


METRICS: Mapping[str, MetricName] = {
    "littled_healthy": MetricName(
        "gauge", "1 while commits go through, as /healthz says.", (), "public input"
    ),
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
    "littled_stream_epsilon": MetricName(
        "gauge", "Epsilon of a season, its budget.", ("stream",), "published"
    ),
    "littled_stream_epsilon_spent": MetricName(
        "gauge", "Epsilon spent in the season.", ("stream",), "published"
    ),
    "littled_stream_epsilon_prepaid": MetricName(
        "gauge", "The part of it that a season pays when it opens.", ("stream",), "published"
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
    "littled_learner_calls_left": MetricName(
        "gauge", "Calls that the learner may still make in the season.", ("learner",), "published"
    ),
    "littled_learner_error_rate": MetricName(
        "gauge",
        "How often the learner's rules were wrong in the last period, from 0 to 1, with noise.",
        ("learner",),
        "published",
    ),
    "littled_learner_error_rate_lower": MetricName(
        "gauge", "Lower end of its 95 % interval.", ("learner",), "published"
    ),
    "littled_learner_error_rate_upper": MetricName(
        "gauge", "Upper end of its 95 % interval.", ("learner",), "published"
    ),
    "littled_learner_error_rate_position": MetricName(
        "gauge", "Examples of the stream at the period's end.", ("learner",), "published"
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
