"""Releases as a program sees them."""

import numpy as np
import pytest

from littled_client.errors import ClientError, ExampleError
from littled_client.published import Published
from littled_protocol.messages import Release
from littled_protocol.rules import PrefixRule, RuleError, ThresholdRule, Words


def release(kind: str, rule: object) -> Release:
    return Release("flights/late", 4, kind, 1, 2, 300, rule)  # type: ignore[arg-type]


def test_a_release_becomes_a_value_with_its_rule() -> None:
    rule = ThresholdRule(256, 54)
    published = Published.from_release(release("rule", rule.to_dict()))
    assert published == Published("flights/late", 4, "rule", 1, 2, 300, rule)
    assert published.predict([0, 53, 54, 255]).tolist() == [0, 0, 1, 1]
    assert published.predict(np.array([54], dtype=np.int64)).tolist() == [1]
    words = Words("delay", "min", -30, "late", "not late")
    assert published.describe(words) == rule.describe(words) == "late if delay >= 24 min"
    assert published.describe() == rule.describe(Words())


def test_addresses_can_be_predicted_as_they_are_written() -> None:
    rule = PrefixRule(128, 0x20010DB8, 32)
    published = Published.from_release(release("rule", rule.to_dict()))
    assert published.predict(["2001:db8::1", "10.0.0.1", "2001:db9::"]).tolist() == [1, 0, 0]


def test_points_of_another_type_are_refused() -> None:
    published = Published.from_release(release("rule", ThresholdRule(256, 1).to_dict()))
    with pytest.raises(ExampleError, match="range of type u8"):
        published.predict([256])


@pytest.mark.parametrize(
    ("kind", "words"), [("halt", "no further rule in this season"), ("season", "season 1 begins")]
)
def test_a_release_without_a_rule_says_so(kind: str, words: str) -> None:
    published = Published.from_release(release(kind, None))
    assert published.describe() == words
    with pytest.raises(ClientError, match="release 4 of flights/late carries no rule"):
        published.predict([1])


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(RuleError):
        Published.from_release(release("rule", {"kind": "oracle"}))
