"""Releases as a program sees them."""

import json

import numpy as np
import pytest

from littled_client.errors import ClientError, ExampleError
from littled_client.published import Published
from littled_protocol.messages import Release
from littled_protocol.rules import PrefixRule, RuleError, ThresholdRule, Words, rule_from_dict

WORDS = Words("delay", "min", -30, "late", "not late")


def release(kind: str, rule: object) -> Release:
    return Release("flights/late", 4, kind, 1, 2, 300, rule)  # type: ignore[arg-type]


def test_a_release_becomes_a_value_with_its_rule_and_words() -> None:
    rule = ThresholdRule(256, 54)
    published = Published.from_release(release("rule", rule.to_dict()), WORDS)
    assert published == Published("flights/late", 4, "rule", 1, 2, 300, rule, WORDS)
    assert published.predict([-30, 23, 24, 225]).tolist() == [0, 0, 1, 1]
    assert published.predict(np.array([24], dtype=np.int64)).tolist() == [1]
    assert published.describe() == "late if delay >= 24 min"
    assert rule.evaluate(np.array([53, 54])).tolist() == [0, 1]


def test_a_release_is_written_as_an_object_that_says_everything() -> None:
    rule = ThresholdRule(256, 54)
    written = Published.from_release(release("rule", rule.to_dict()), WORDS).to_dict()
    assert list(written) == [
        *("learner", "version", "kind", "season", "epoch", "position", "text", "words", "rule")
    ]
    assert written["text"] == "late if delay >= 24 min"
    assert Words.from_dict(written["words"]) == WORDS
    assert rule_from_dict(json.loads(json.dumps(written))["rule"]) == rule


def test_values_mean_nothing_without_words() -> None:
    published = Published.from_release(release("rule", ThresholdRule(256, 54).to_dict()), None)
    with pytest.raises(ClientError, match=r"not known what the points of flights/late stand for"):
        published.predict([60])
    assert published.describe() == "1 if x >= 54"
    assert published.to_dict()["words"] is None


def test_addresses_can_be_predicted_as_they_are_written() -> None:
    rule = PrefixRule(128, 0x20010DB8, 32)
    published = Published.from_release(release("rule", rule.to_dict()), Words())
    assert published.predict(["2001:db8::1", "10.0.0.1", "2001:db9::"]).tolist() == [1, 0, 0]


def test_values_outside_of_the_stream_are_refused() -> None:
    published = Published.from_release(release("rule", ThresholdRule(256, 1).to_dict()), WORDS)
    with pytest.raises(ExampleError, match=r"value 2 less the offset -30 is outside 0 to 255"):
        published.predict([225, 226])


@pytest.mark.parametrize(
    ("kind", "text"), [("halt", "no further rule in this season"), ("season", "season 1 begins")]
)
def test_a_release_without_a_rule_says_so(kind: str, text: str) -> None:
    published = Published.from_release(release(kind, None), WORDS)
    assert published.describe() == text
    assert (published.to_dict()["text"], published.to_dict()["rule"]) == (None, None)
    with pytest.raises(ClientError, match="release 4 of flights/late carries no rule"):
        published.predict([1])


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(RuleError):
        Published.from_release(release("rule", {"kind": "oracle"}), WORDS)
