"""The registry of messages and the checks of their fields."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest

from littled_protocol import messages
from littled_protocol.errors import ERROR_SENTENCES, ErrorCode, ProtocolError, RefusalCode
from littled_protocol.messages import (
    MESSAGE_CLASSES,
    Ack,
    Error,
    Examples,
    Hello,
    Message,
    Open,
    Ping,
    Predict,
    Prediction,
    PredictionRefused,
    Release,
    Status,
    StatusRequest,
    Subscribe,
    error_message,
    fields_of,
    message_from_fields,
)
from support.messages import MESSAGES
from support.vectors import from_json, load

FRAMES = load("frames.json")["frames"]


def code_of(call: Any, *arguments: Any) -> ErrorCode:
    with pytest.raises(ProtocolError) as caught:
        call(*arguments)
    return caught.value.code


def test_the_registry_is_append_only() -> None:
    assert list(MESSAGES)[:17] == [
        *("hello", "welcome", "open", "opened", "examples", "ack", "subscribe", "release"),
        *("status_request", "status", "ping", "pong", "error"),
        *("predict", "prediction", "prediction_refused"),
        "moved",
    ]


def test_the_registry_holds_every_message_of_the_module() -> None:
    defined = {
        value
        for value in vars(messages).values()
        if isinstance(value, type) and issubclass(value, Message) and value is not Message
    }
    # A class with slots is a second class; those of the registry are the ones in the module.
    assert set(MESSAGE_CLASSES) == defined == set(MESSAGES.values())


@pytest.mark.parametrize("cls", MESSAGE_CLASSES, ids=lambda cls: cls.type_name)
def test_optional_fields_stand_last_and_default_to_none(cls: type[Message]) -> None:
    defaults = [field.default for field in fields(cls)]
    required = sum(default is not None for default in defaults)
    assert defaults[required:] == [None] * (len(defaults) - required)


@pytest.mark.parametrize("vector", FRAMES, ids=lambda v: v["name"])
def test_fields_and_messages_are_two_forms_of_one_value(vector: dict[str, Any]) -> None:
    values = from_json(vector["message"])
    message = message_from_fields(values)
    assert type(message) is MESSAGES[values["type"]]
    assert fields_of(message) == values
    assert list(fields_of(message)) == list(values)


OPTIONAL = {
    "hello": {"token"},
    "open": {"resumes"},
    "opened": {"users"},  # its places go together
    "examples": {"users", "resume"},
    "error": {"channel"},
    "prediction_refused": {"window", "next_window"},
    "moved": {"channel", "learner", "request"},
}


@pytest.mark.parametrize("vector", FRAMES, ids=lambda v: v["name"])
def test_every_required_field_is_required(vector: dict[str, Any]) -> None:
    values = from_json(vector["message"])
    optional = OPTIONAL.get(values["type"], set())
    for name in set(values) - {"type"}:
        without = {key: value for key, value in values.items() if key != name}
        if name in optional:
            assert getattr(message_from_fields(without), name) is None
        else:
            assert code_of(message_from_fields, without) == ErrorCode.MALFORMED_FRAME


INTEGER_BOUNDS = [
    ("hello", "version", 0, 2**31 - 1),
    ("welcome", "version", 0, 2**31 - 1),
    ("welcome", "credit_bytes", 4096, 2**40),
    ("welcome", "frame_bytes_max", 4096, 2**20),
    ("open", "channel", 0, 255),
    ("opened", "channel", 0, 255),
    ("opened", "next_sequence", 0, 2**63 - 1),
    ("opened", "position", 0, 2**63 - 1),
    ("examples", "channel", 0, 255),
    ("ack", "channel", 0, 255),
    ("ack", "next_sequence", 0, 2**63 - 1),
    ("ack", "position", 0, 2**63 - 1),
    ("subscribe", "since", 0, 2**63 - 1),
    ("release", "version", 1, 2**63 - 1),
    ("release", "season", 0, 2**63 - 1),
    ("release", "epoch", 0, 2**63 - 1),
    ("release", "position", 0, 2**63 - 1),
    ("ping", "nonce", 0, 2**64 - 1),
    ("pong", "nonce", 0, 2**64 - 1),
    ("error", "channel", 0, 255),
    ("predict", "count", 1, 1000),
    ("prediction", "window", 0, 2**63 - 1),
    ("prediction", "left", 0, 2**63 - 1),
    ("prediction_refused", "asked", 1, 1000),
    ("prediction_refused", "spent", 0, 2**63 - 1),
    ("prediction_refused", "left", 0, 2**63 - 1),
    ("prediction_refused", "window", 0, 2**63 - 1),
    ("prediction_refused", "next_window", 0, 2**63 - 1),
]


@pytest.mark.parametrize(("kind", "name", "least", "most"), INTEGER_BOUNDS)
def test_integers_have_exactly_their_bounds(kind: str, name: str, least: int, most: int) -> None:
    values = from_json(next(v["message"] for v in FRAMES if v["message"]["type"] == kind))
    for good in (least, most):
        assert getattr(message_from_fields(values | {name: good}), name) == good
    for bad in (least - 1, most + 1, float(least), True, str(least), b"\x01", [least]):
        assert code_of(message_from_fields, values | {name: bad}) == ErrorCode.MALFORMED_FRAME


def test_batches_have_exactly_their_bounds() -> None:
    last = 2**63 - 1
    for sequence, count in ((0, 1), (0, 65536), (last - 65536, 65536), (last - 1, 1)):
        assert Examples(0, sequence, count, b"", b"").count == count
    for count in (0, -1, 65537):
        assert code_of(Examples, 0, 0, count, b"", b"") == ErrorCode.INVALID_EXAMPLES
    for wrong in (
        (0, last, 1, b"", b""),
        (0, last - 65535, 65536, b"", b""),
        (0, -1, 1, b"", b""),
        (0, 0.0, 1, b"", b""),
        (0, 0, 1.0, b"", b""),
        (0, 0, True, b"", b""),
        (0, 0, 1, "a", b""),
        (0, 0, 1, b"", None),
        (0, 0, 1, (1,), b""),
        (0, 0, 1, bytearray(1), b""),
    ):
        assert code_of(Examples, *wrong) == ErrorCode.MALFORMED_FRAME


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("a", True),
        ("9.A_b-c", True),
        ("_", True),
        ("a" * 64, True),
        ("", False),
        ("a" * 65, False),
        (".a", False),
        ("-a", False),
        ("a b", False),
        ("a/b", False),
        ("a\n", False),
        ("ä", False),
        ("a\x00", False),
        (1, False),
        (b"a", False),
        (None, False),
    ],
)
def test_names_are_parts_of_paths(name: Any, good: bool) -> None:
    makers: list[Any] = [
        lambda: Open(0, name, "p"),
        lambda: Subscribe(f"{name}/l" if isinstance(name, str) else name, 0),
        lambda: Subscribe(f"s/{name}" if isinstance(name, str) else name, 0),
    ]
    for make in makers:
        if good:
            make()
        else:
            assert code_of(make) == ErrorCode.MALFORMED_FRAME


@pytest.mark.parametrize(
    ("producer", "good"),
    [
        ("p", True),
        ("!/~:@[]", True),
        ("p" * 128, True),
        ("", False),
        ("p" * 129, False),
        ("p q", False),
        ("p\t", False),
        ("p\x7f", False),
        ("é", False),
        (5, False),
    ],
)
def test_producers_are_visible_ascii(producer: Any, good: bool) -> None:
    if good:
        assert Open(0, "s", producer).producer == producer
    else:
        assert code_of(Open, 0, "s", producer) == ErrorCode.MALFORMED_FRAME


def test_texts_are_printable_and_counted_in_bytes() -> None:
    assert Hello(1, "ä" * 64).agent == "ä" * 64
    assert Hello(1, "").agent == ""
    for agent in ("ä" * 65, "a\r", "\x1b[31m", "a\u2028b", "\ud800", 1, None):
        assert code_of(Hello, 1, agent) == ErrorCode.MALFORMED_FRAME
    for token in ("t" * 513, "t\n", 5):
        assert code_of(Hello, 1, "a", token) == ErrorCode.MALFORMED_FRAME


def test_unknown_types_and_missing_types_are_told_apart() -> None:
    assert code_of(message_from_fields, {"type": "tea"}) == ErrorCode.UNEXPECTED_MESSAGE
    for values in ({}, {"type": None}, {"type": 1}, {"type": b"ping"}, {"type": ["ping"]}):
        assert code_of(message_from_fields, values) == ErrorCode.MALFORMED_FRAME


def test_unknown_fields_are_ignored() -> None:
    assert message_from_fields({"type": "status_request", "later": 1}) == StatusRequest()
    assert message_from_fields({"type": "ping", "nonce": 1, "later": 1}) == Ping(1)


def test_messages_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Ack(0, 1, 1).next_sequence = 2  # type: ignore[misc]


def test_releases_carry_a_map_or_nothing() -> None:
    wrong: list[Any] = [[], "rule", 1, b""]
    for rule in wrong:
        assert code_of(Release, "a/b", 1, "rule", 0, 0, 0, rule) == ErrorCode.MALFORMED_FRAME
    for kind in ("news", "", None, 1, ["rule"]):
        assert code_of(Release, "a/b", 1, kind, 0, 0, 0, None) == ErrorCode.MALFORMED_FRAME


REQUEST = bytes(range(16))
REFUSED = PredictionRefused(REQUEST, "s/l", "no_window", "Not yet.", 1, 0, 0)


def test_requests_are_sixteen_bytes() -> None:
    for make in (
        lambda request: Predict(request, "s/l", 1, b"\x00"),
        lambda request: Prediction(request, "s/l", b"\x00", 0, 0, False),
        lambda request: replace(REFUSED, request=request),
    ):
        assert make(REQUEST).request == REQUEST
        for request in (b"", REQUEST[1:], REQUEST + b"\x00", "a" * 16, bytearray(16), None, 5):
            assert code_of(make, request) == ErrorCode.MALFORMED_FRAME


def test_points_to_predict_are_a_column_or_a_list() -> None:
    for good in (b"", b"\x00", [], [1]):
        assert Predict(REQUEST, "s/l", 1, good).x == good
    strange: list[Any] = ["a", None, 1, (1,), bytearray(1), {}]
    for wrong in strange:
        assert code_of(Predict, REQUEST, "s/l", 1, wrong) == ErrorCode.MALFORMED_FRAME


def test_predictions_are_bytes_of_zeros_and_ones() -> None:
    for good in (b"\x00", b"\x01\x00", bytes(1000)):
        assert Prediction(REQUEST, "s/l", good, 0, 0, False).y == good
    for wrong in (b"", b"\x02", b"\x00\xff", bytes(1001), [0], "\x00", bytearray(1), None, 1):
        assert code_of(Prediction, REQUEST, "s/l", wrong, 0, 0, False) == ErrorCode.MALFORMED_FRAME
    for repeated in (0, 1, None, "true", b"\x01"):
        assert (
            code_of(Prediction, REQUEST, "s/l", b"\x00", 0, 0, repeated)
            == ErrorCode.MALFORMED_FRAME
        )


def test_refusals_have_a_code_and_a_sentence() -> None:
    found = replace(REFUSED, code=RefusalCode.WINDOW_SPENT)
    assert type(found.code) is str
    assert found.code == "window_spent"
    assert replace(REFUSED, code="out_of_tea").code == "out_of_tea"
    for code in ("", "Out", "out of tea", "x" * 65, 1, None):
        assert code_of(lambda code=code: replace(REFUSED, code=code)) == ErrorCode.MALFORMED_FRAME
    assert code_of(lambda: replace(REFUSED, message="a\nb")) == ErrorCode.MALFORMED_FRAME


def test_a_status_is_a_map() -> None:
    for body in (None, [], "up", [("a", 1)]):
        assert code_of(Status, body) == ErrorCode.MALFORMED_FRAME


def test_errors_are_told_by_their_fixed_sentence() -> None:
    error = ProtocolError(ErrorCode.INVALID_EXAMPLES, "something particular")
    told = error_message(error, channel=3)
    assert told == Error("invalid_examples", ERROR_SENTENCES[error.code], 3)
    assert type(told.code) is str
    assert told.error_code is ErrorCode.INVALID_EXAMPLES


def test_error_codes_of_later_versions_are_accepted() -> None:
    assert Error("out_of_tea", "No tea.").error_code is ErrorCode.INTERNAL_ERROR
    for code in ("", "Out", "out of tea", "x" * 65, 1, None):
        assert code_of(Error, code, "No tea.") == ErrorCode.MALFORMED_FRAME
    assert code_of(Error, "a", "a\nb") == ErrorCode.MALFORMED_FRAME
