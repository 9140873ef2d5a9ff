"""The limits: that they hold together, and that the largest allowed things really fit."""

from __future__ import annotations

from typing import Any

import pytest

from littled_protocol import limits
from littled_protocol.codec import decode, encode_frame
from littled_protocol.messages import (
    Examples,
    Message,
    Moved,
    Open,
    Predict,
    Prediction,
    PredictionRefused,
    Release,
    Subscribe,
)
from littled_protocol.rules import (
    AffineRule,
    ConjunctionRule,
    MajorityRule,
    PointsRule,
    PrefixSetRule,
    Rule,
    StumpRule,
    TableRule,
    ThresholdRule,
)


def test_every_limit_is_a_positive_number_with_its_unit_in_its_name() -> None:
    named: dict[str, Any] = {
        name: value
        for name, value in vars(limits).items()
        if not name.startswith("_") and isinstance(value, int | float)
    }
    units = ("bytes", "seconds", "characters", "depth", "containers", "elements", "keys")
    counts = ("examples", "features", "integer", "channels", "members", "points", "prefixes")
    others = ("subscriptions", "requests", "addresses", "maps", "ms")
    assert len(named) > 30
    for name, value in named.items():
        assert value > 0, name
        assert any(unit in name.split("_") for unit in (*units, *counts, *others)), name
        assert isinstance(value, float) == ("seconds" in name.split("_")), name


def test_contradicting_limits_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    limits._check_relations()
    monkeypatch.setattr(limits, "credit_bytes", limits.frame_bytes_max - 1)
    with pytest.raises(RuntimeError, match="a credit holds the largest frame"):
        limits._check_relations()


@pytest.mark.parametrize(("length", "credit"), [(1, 256), (255, 256), (256, 256), (257, 257)])
def test_the_credit_of_a_frame_is_its_length_but_at_least_256(length: int, credit: int) -> None:
    assert limits.credit_of_frame(length) == credit


def release(rule: Rule) -> Release:
    return Release("s/l", 1, "rule", 0, 0, 0, rule.to_dict())


def longest_messages() -> dict[str, Message]:
    most = limits.examples_per_frame_max
    lists = limits.list_examples_max
    table = TableRule(
        "a" * limits.rule_name_bytes_max,
        "f" * limits.digest_characters_max,
        b"\xff" * (limits.table_points_max // 8),
        limits.table_points_max,
    )
    members = tuple(range(2**128 - limits.rule_members_max, 2**128))
    return {
        "a batch of 64-bit points": Examples(0, 2**62, most, bytes(8 * most), bytes(most)),
        "a batch of 64-bit points of users": Examples(
            0, 2**62, most // 2, bytes(4 * most), bytes(most // 2), bytes(8 * most)
        ),
        "a list of pairs": Examples(0, 2**62, lists, [[65535, 65535]] * lists, [1] * lists),
        "a list of 16 bytes": Examples(0, 2**62, lists, [bytes(16)] * lists, [1] * lists),
        "a list of points to predict": Predict(bytes(16), "s/l", 1000, [2**64 - 1] * lists),
        "a set of points": release(PointsRule(128, members)),
        "a set of prefixes": release(
            PrefixSetRule(128, tuple((2 * value, 128) for value in range(limits.rule_prefixes_max)))
        ),
        "a table's rule": release(table),
        "a majority of thresholds": release(
            MajorityRule((ThresholdRule(2**32, 2**32),) * limits.majority_members_max)
        ),
        "a majority of points": release(
            MajorityRule((PointsRule(128, (2**128 - 1,)),) * limits.majority_members_max)
        ),
        "a majority of stumps": release(
            MajorityRule((StumpRule(1024, 2**16, 1023, 1, False),) * limits.majority_members_max)
        ),
        "a majority of conjunctions": release(
            MajorityRule((ConjunctionRule(128, 2**128 - 1, 0),) * limits.majority_members_max)
        ),
        "a subspace of 127 dimensions": release(
            AffineRule(128, tuple(2**bit + 1 for bit in range(127, 0, -1)), 1)
        ),
        "a majority of subspaces of 20 dimensions": release(
            MajorityRule(
                (AffineRule(128, tuple(2**bit for bit in range(127, 107, -1)), 1),)
                * limits.majority_members_max
            )
        ),
    }


@pytest.mark.no_cover
@pytest.mark.parametrize("name", longest_messages())
def test_the_largest_allowed_messages_fit_into_a_frame(name: str) -> None:
    message = longest_messages()[name]
    frame = encode_frame(message)
    assert len(frame) <= limits.frame_bytes_max
    assert decode(frame[limits.frame_prefix_bytes :]) == message


def test_the_longest_row_to_predict_and_every_answer_fit_into_the_least_frame() -> None:
    name, most = "n" * limits.name_characters_max, limits.integer_max
    learner, request = f"{name}/{name}", bytes(limits.request_bytes)
    labels, sentence = bytes(limits.predict_points_max), "m" * limits.error_message_bytes_max
    code = "c" * limits.error_code_characters_max
    addresses = ["a" * limits.address_bytes_max] * limits.moved_addresses_max
    for message in (
        Predict(request, learner, 1, bytes(2 * limits.row_features_max)),
        Prediction(request, learner, labels, most, most, False),
        PredictionRefused(request, learner, code, sentence, 1000, most, most, most, most),
        Moved(name, addresses, limits.moved_after_ms_max, None, learner),
    ):
        assert len(encode_frame(message)) <= limits.frame_bytes_max_min


def test_what_a_client_sends_beside_batches_fits_into_the_least_frame() -> None:
    name = "n" * limits.name_characters_max
    for message in (
        Open(255, name, "p" * limits.producer_characters_max),
        Subscribe(f"{name}/{name}", limits.integer_max),
    ):
        assert len(encode_frame(message)) <= limits.frame_bytes_max_min
