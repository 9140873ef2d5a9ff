"""Releases as CloudEvents: what stands where, and nothing that is not public."""

import json

from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from littled_client.cloudevents import cloud_event
from littled_client.published import Published
from littled_protocol.messages import Release
from littled_protocol.rules import ThresholdRule, Words

RULE = ThresholdRule(256, 54)
WORDS = Words(x_name="delay", unit="min", offset=-30, positive="late", negative="on time")


def published(kind: str = "rule", version: int = 3) -> Published:
    rule = RULE.to_dict() if kind == "rule" else None
    return Published.from_release(Release("flights/late", version, kind, 1, 2, 99, rule), WORDS)


def test_an_event_has_the_attributes_of_its_release() -> None:
    assert cloud_event(published(), "abc") == {
        "specversion": "1.0",
        "id": "flights/late/3",
        "source": "urn:littled:abc",
        "type": "littled.release.rule",
        "subject": "flights/late",
        "datacontenttype": "application/json",
        "data": published().to_dict(),
    }


def test_an_event_without_a_rule_says_so() -> None:
    for kind in ("halt", "season"):
        event = cloud_event(published(kind), "abc")
        assert event["type"] == f"littled.release.{kind}"
        assert event["data"]["rule"] is None


def test_another_library_reads_the_same() -> None:
    made = cloud_event(published(), "abc")
    read = JSONFormat().read(CloudEvent, json.dumps(made))
    attributes = read.get_attributes()
    del attributes["time"]  # which that library takes from its own clock where an event has none
    assert attributes == {name: made[name] for name in made if name != "data"}
    assert read.get_data() == made["data"]


def test_stores_have_sources_of_their_own() -> None:
    """After a restore a version may be released again, as another rule."""
    one, other = (cloud_event(published(), instance) for instance in ("abc", "abd"))
    assert one["id"] == other["id"]
    assert one["source"] != other["source"]
