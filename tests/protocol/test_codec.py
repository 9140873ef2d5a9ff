"""The codec against the vectors, and against any bytes whatsoever."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from typing import Any

import msgpack
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from littled_protocol import limits
from littled_protocol.codec import (
    Likeness,
    _decode_any,
    decode,
    encode,
    encode_frame,
    frame,
    has_more_values,
    scan,
)
from littled_protocol.connection import Connection, Role
from littled_protocol.errors import ErrorCode, ProtocolError, RefusalCode, RemoteProtocolError
from littled_protocol.messages import (
    Ack,
    Error,
    Examples,
    Hello,
    Message,
    Moved,
    Open,
    Opened,
    Ping,
    Pong,
    Predict,
    Prediction,
    PredictionRefused,
    Release,
    Status,
    StatusRequest,
    Subscribe,
    Welcome,
    message_from_fields,
)
from support.messages import MESSAGES
from support.vectors import from_json, load

FRAMES = load("frames.json")["frames"]
REFUSED = load("refused.json")["frames"]


def decode_any(payload: bytes) -> Message:
    """What the way that takes any payload makes of one."""
    return _decode_any(payload)[0]


def code_of(payload: bytes) -> ErrorCode | None:
    try:
        decode(payload)
    except ProtocolError as error:
        return error.code
    return None


# --- Vectors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", FRAMES, ids=lambda v: v["name"])
def test_frames_of_the_vectors_decode_and_encode(vector: dict[str, Any]) -> None:
    whole = bytes.fromhex(vector["frame"])
    message = message_from_fields(from_json(vector["message"]))
    assert int.from_bytes(whole[:4], "big") == len(whole) - 4
    assert decode(whole[4:]) == message
    assert decode(bytearray(whole[4:])) == message
    assert (encode_frame(message) == whole) is vector["both_ways"]


def test_the_vectors_hold_every_message() -> None:
    assert {v["message"]["type"] for v in FRAMES if v["both_ways"]} == set(MESSAGES)


@pytest.mark.parametrize("vector", REFUSED, ids=lambda v: v["name"])
def test_refused_payloads_of_the_vectors(vector: dict[str, Any]) -> None:
    whole = bytes.fromhex(vector["frame"])
    if vector["code"] == "frame_too_large":
        assert int.from_bytes(whole[:4], "big") + 4 > limits.frame_bytes_max
        payload = bytes(limits.frame_bytes_max)
    else:
        assert int.from_bytes(whole[:4], "big") == len(whole) - 4
        payload = whole[4:]
    assert code_of(payload) == vector["code"]


# --- Round trips ----------------------------------------------------------------------------------

names = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,63}", fullmatch=True)
learners = st.builds("{}/{}".format, names, names)
producers = st.from_regex(r"[!-~]{1,128}", fullmatch=True)
texts = st.text(max_size=30).filter(str.isprintable)
channels = st.integers(0, 255)
requests = st.binary(min_size=16, max_size=16)
labels = st.lists(st.integers(0, 1), min_size=1, max_size=300).map(bytes)
numbers = st.integers(0, 2**63 - 1)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def nesting(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(nesting, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(nesting, value), default=0)
    return 0


# A body lies one level inside its frame.
bodies = st.dictionaries(texts, values, max_size=4).filter(
    lambda body: nesting(body) < limits.frame_depth_max
)
columns = st.binary(max_size=700) | st.lists(
    st.integers(0, 2**64 - 1) | st.booleans() | st.lists(st.integers(0, 65535), max_size=5),
    max_size=40,
)
addresses = st.lists(texts, max_size=limits.moved_addresses_max)
delays = st.integers(0, limits.moved_after_ms_max)
examples = st.builds(
    Examples,
    channels,
    st.integers(0, 2**63 - 1 - 65536),
    st.integers(1, 65536),
    columns,
    columns,
    st.none() | st.binary(max_size=300),
)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(Hello, st.integers(0, 2**31 - 1), texts, st.none() | texts),
    st.builds(
        Welcome,
        st.integers(0, 2**31 - 1),
        texts,
        names,
        st.integers(4096, 2**40),
        st.integers(4096, 2**20),
    ),
    st.builds(Open, channels, names, producers),
    st.builds(Opened, channels, names, names, numbers, numbers),
    examples,
    st.builds(Ack, channels, numbers, numbers),
    st.builds(Subscribe, learners, numbers),
    st.builds(
        Release,
        learners,
        st.integers(1, 2**63 - 1),
        st.sampled_from(["rule", "halt", "season"]),
        numbers,
        numbers,
        numbers,
        st.none() | bodies,
    ),
    st.builds(StatusRequest),
    st.builds(Status, bodies),
    st.builds(Ping, st.integers(0, 2**64 - 1)),
    st.builds(Pong, st.integers(0, 2**64 - 1)),
    st.builds(Error, st.sampled_from(list(ErrorCode)), texts, st.none() | channels),
    st.builds(Predict, requests, learners, st.integers(1, 1000), columns),
    st.builds(Prediction, requests, learners, labels, numbers, numbers, st.booleans()),
    st.builds(
        PredictionRefused,
        *(requests, learners, st.sampled_from(list(RefusalCode)), texts, st.integers(1, 1000)),
        *(numbers, numbers, st.none() | numbers, st.none() | numbers),
    ),
    st.builds(Moved, names, addresses, delays, st.none() | channels),
    st.builds(Moved, names, addresses, delays, st.none(), st.none(), requests),
    learners.flatmap(
        lambda learner: st.builds(
            Moved,
            *(st.just(learner.partition("/")[0]), addresses, delays, st.none(), st.just(learner)),
        )
    ),
)


@pytest.mark.no_cover
@given(messages)
@settings(max_examples=400)
def test_messages_survive_the_wire(message: Message) -> None:
    payload = encode(message)
    assert decode(payload) == message
    assert encode(decode(payload)) == payload
    assert frame(payload) == len(payload).to_bytes(4, "big") + payload == encode_frame(message)
    if not isinstance(message, Ack):
        # Independently of our own encoder: msgpack's, with the fields in declared order.
        assert next(iter(msgpack.unpackb(payload))) == "type"
        assert msgpack.packb(msgpack.unpackb(payload)) == payload


@given(st.builds(Ack, channels, numbers, numbers))
def test_all_acknowledgements_have_one_length(ack: Ack) -> None:
    assert len(encode_frame(ack)) == 72


# --- Any bytes ------------------------------------------------------------------------------------


def outcome(payload: bytes, by: Any = decode) -> Message | ErrorCode:
    """A message or a code; anything else that is raised fails the test."""
    try:
        found: Message = by(payload)
    except ProtocolError as error:
        return error.code
    return found


@given(st.binary(max_size=200))
@settings(max_examples=500)
@example(b"")
@example(b"\x81" * 2000)
@example(b"\xdf\x00\x00\x00\x01" * 300)
def test_any_bytes_end_in_a_message_or_an_error(payload: bytes) -> None:
    found = outcome(payload)
    assert isinstance(found, Message | ErrorCode)
    if isinstance(found, Message):
        assert decode(encode(found)) == found


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """The payload of a message with a few bytes changed, cut out or put in."""
    payload = bytearray(encode(draw(messages)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(payload)))
        cut = draw(st.integers(0, 3))
        payload[at : at + cut] = draw(st.binary(max_size=3))
    return bytes(payload)


@pytest.mark.long
@pytest.mark.no_cover
@given(damaged())
@settings(max_examples=500)
def test_damaged_messages_end_in_a_message_or_an_error(payload: bytes) -> None:
    assert isinstance(outcome(payload), Message | ErrorCode)
    assert outcome(payload) == outcome(payload, decode_any)


tags = st.sampled_from(
    list(bytes.fromhex("80818290919fa1c0c1c4c5c6c7cacbcccfd0d3d4d8d9dadbdcdddedfff0001"))
)


@given(st.lists(tags, max_size=60).map(lambda found: b"\x82" + bytes(found)))
@settings(max_examples=500)
def test_any_tags_end_in_a_message_or_an_error(payload: bytes) -> None:
    assert isinstance(outcome(payload), Message | ErrorCode)


@pytest.mark.no_cover
@given(examples.map(encode) | damaged())
@settings(max_examples=250)
def test_the_quick_way_agrees_with_the_general_way(payload: bytes) -> None:
    assert outcome(payload) == outcome(payload, decode_any)


INTEGER_FORMS = {
    1: [
        b"\x01",
        b"\xcc\x01",
        b"\xcd\x00\x01",
        b"\xce\x00\x00\x00\x01",
        b"\xcf" + bytes(7) + b"\x01",
    ],
    200: [b"\xcc\xc8", b"\xcd\x00\xc8", b"\xce\x00\x00\x00\xc8", b"\xcf" + bytes(7) + b"\xc8"],
}


@pytest.mark.parametrize("number", INTEGER_FORMS[1] + INTEGER_FORMS[200], ids=bytes.hex)
@pytest.mark.parametrize("header", [b"\xc4\x02", b"\xc5\x00\x02", b"\xc6\x00\x00\x00\x02"])
def test_the_quick_way_reads_every_form_of_numbers_and_columns(
    number: bytes, header: bytes
) -> None:
    payload = (
        b"\x86\xa4type\xa8examples\xa7channel" + number + b"\xa8sequence" + number
        + b"\xa5count\x02\xa1x" + header + b"\n\x0b\xa1y" + header + b"\x00\x01"
    )  # fmt: skip
    value = 1 if number in INTEGER_FORMS[1] else 200
    found = Examples(value, value, 2, b"\n\x0b", b"\x00\x01")
    assert decode(payload) == decode_any(payload) == found
    named = b"\x87" + payload[1:] + b"\xa5users" + header + b"ab"
    assert decode(named) == decode_any(named) == replace(found, users=b"ab")


@pytest.mark.parametrize("cut", range(1, 12))
@pytest.mark.parametrize("users", [None, b"", bytes(48)])
def test_the_quick_way_leaves_cut_and_lengthened_batches_to_the_general_way(
    cut: int, users: bytes | None
) -> None:
    whole = encode(Examples(0, 0, 3, b"abc", b"\x00\x01\x00", users))
    for payload in (whole[:-cut], whole + bytes(cut)):
        assert code_of(payload) == ErrorCode.MALFORMED_FRAME
        assert outcome(payload) == outcome(payload, decode_any)


# --- Batches like the last one --------------------------------------------------------------------

# One after each form of a number; of one example, of none in the columns, with users, a place.
SEEN = [
    *[Examples(0, number, 1, b"a", b"\x01") for number in (5, 200, 300, 70_000, 1 << 40)],
    *[Examples(200, 300, 2, b"abcdefgh", b"\x01\x00"), Examples(3, 300, 1, b"", b"")],
    Examples(0, 300, 1, b"a", b"\x01", bytes(16)),
    Examples(0, 300, 1, b"a", b"\x01", None, b"place"),
]


def after(seen: bytes) -> Likeness:
    """What has decoded a payload."""
    likeness = Likeness()
    assert likeness.decode(seen) == decode(seen)
    return likeness


@pytest.mark.parametrize("message", SEEN, ids=str)
def test_whatever_byte_differs_from_the_last_batch_is_seen(message: Examples) -> None:
    seen = encode(message)
    likeness = after(seen)
    for at, byte in enumerate(seen):
        for other in {byte ^ 1, byte ^ 0xFF, 0, 0x7F, 0x80, 0xC4, 0xCC, 0xCD, 0xFF}:
            payload = bytearray(seen)
            payload[at] = other
            found = outcome(bytes(payload), likeness.decode)
            assert found == outcome(bytes(payload)), (at, other)
            assert outcome(seen, likeness.decode) == message


@pytest.mark.parametrize("message", SEEN, ids=str)
def test_a_batch_like_the_last_one_may_be_cut_or_lengthened(message: Examples) -> None:
    seen = encode(message)
    likeness = after(seen)
    for payload in (*[seen[:cut] for cut in range(len(seen))], seen + b"\0", seen + seen):
        assert outcome(payload, likeness.decode) == outcome(payload)
        assert likeness.decode(seen) == message


@pytest.mark.no_cover
@given(st.lists(examples, min_size=1, max_size=4), st.lists(st.integers(0, 3), max_size=12))
@settings(max_examples=200)
def test_batches_in_any_order_decode_as_each_alone(kinds: list[Examples], order: list[int]) -> None:
    likeness = Likeness()
    for number, index in enumerate(order):
        kind = kinds[index % len(kinds)]
        message = replace(kind, sequence=number * kind.count)
        assert outcome(encode(message), likeness.decode) == message


def test_numbers_go_on_past_each_longer_form() -> None:
    likeness = Likeness()
    for number in (*range(120, 140), *range(250, 260), *range(65_530, 65_540), (1 << 32) - 1):
        message = Examples(0, number, 1, b"a", b"\0")
        assert likeness.decode(encode(message)) == message
        assert likeness.decode(bytearray(encode(message))) == message


def test_who_may_feed_no_more_is_refused_after_any_batch() -> None:
    message = Examples(0, 300, 1, b"a", b"\0")
    likeness = after(encode(message))
    with pytest.raises(ProtocolError) as caught:
        likeness.decode(encode(message), frozenset({"examples"}))
    assert caught.value.code is ErrorCode.FORBIDDEN


# --- The scan -------------------------------------------------------------------------------------


def scan_code(payload: bytes) -> ErrorCode | None:
    try:
        scan(payload)
    except ProtocolError as error:
        return error.code
    return None


@pytest.mark.long
@pytest.mark.no_cover
@given(st.dictionaries(texts, values, max_size=5))
@settings(max_examples=250)
def test_the_scan_accepts_exactly_what_nests_few_enough(body: dict[str, Any]) -> None:
    deep = nesting(body) > limits.frame_depth_max
    assert scan_code(msgpack.packb(body)) == (ErrorCode.DEPTH_EXCEEDED if deep else None)


@pytest.mark.long
@pytest.mark.no_cover
@given(st.dictionaries(texts, values, max_size=5), st.data())
@settings(max_examples=250)
def test_the_scan_refuses_every_cut_and_every_tail(
    body: dict[str, Any], data: st.DataObject
) -> None:
    payload = msgpack.packb(body)
    at = data.draw(st.integers(0, len(payload) - 1))
    tail = data.draw(st.binary(min_size=1, max_size=5))
    assert scan_code(payload[:at]) is not None
    assert scan_code(payload + tail) is not None


@pytest.mark.parametrize("depth", range(1, 12))
def test_the_depth_counts_from_the_frames_own_map(depth: int) -> None:
    expected = ErrorCode.DEPTH_EXCEEDED if depth > limits.frame_depth_max else None
    assert scan_code(b"\x81\xa1a" * (depth - 1) + b"\x80") == expected
    if depth > 1:
        assert scan_code(b"\x81\xa1a" + b"\x91" * (depth - 2) + b"\x90") == expected


@given(st.floats(width=32) | st.just(math.nan) | st.sampled_from([math.inf, -math.inf]))
def test_the_scan_finds_floats_that_are_not_finite(value: float) -> None:
    expected = None if math.isfinite(value) else ErrorCode.MALFORMED_FRAME
    assert scan_code(b"\x81\xa1a\xcb" + struct.pack(">d", value)) == expected
    assert scan_code(b"\x81\xa1a\xca" + struct.pack(">f", value)) == expected


@given(st.integers(0, 2**64 - 1))
@settings(max_examples=300)
def test_the_scan_reads_floats_by_their_bits(bits: int) -> None:
    raw = bits.to_bytes(8, "big")
    finite = math.isfinite(struct.unpack(">d", raw)[0])
    assert (scan_code(b"\x81\xa1a\xcb" + raw) is None) == finite
    half = math.isfinite(struct.unpack(">f", raw[:4])[0])
    assert (scan_code(b"\x81\xa1a\xca" + raw[:4]) is None) == half


def test_the_scan_counts_lists_maps_and_values() -> None:
    def lists(count: int) -> bytes:
        rows, rest = divmod(count, 4000)
        parts = [b"\xdc\x0f\xa0" + b"\x90" * 4000] * rows + [
            b"\xdc" + struct.pack(">H", rest) + b"\x90" * rest
        ]
        return msgpack_map(parts)

    # The frame's map, the two outer lists and the inner ones.
    most = limits.frame_containers_max - 3
    assert scan_code(lists(most)) is None
    assert scan_code(lists(most + 1)) == ErrorCode.LIMIT_EXCEEDED

    def many(count: int) -> bytes:
        rows, rest = divmod(count, 4096)
        parts = [b"\xdc\x10\x00" + bytes(4096)] * rows + [
            b"\xdc" + struct.pack(">H", rest) + bytes(rest)
        ]
        return msgpack_map(parts)

    keys = 2 * (limits.frame_elements_max // 4096)
    most = limits.frame_elements_max - keys
    assert scan_code(many(most)) is None
    assert scan_code(many(most + 1)) == ErrorCode.LIMIT_EXCEEDED


def msgpack_map(parts: list[bytes]) -> bytes:
    """A map of the parts under one-letter keys."""
    pairs = b"".join(b"\xa1" + bytes([97 + i]) + part for i, part in enumerate(parts))
    return b"\xde" + struct.pack(">H", len(parts)) + pairs


def test_the_largest_map_and_list_are_accepted() -> None:
    keys = {f"{i:04}": 0 for i in range(limits.map_keys_max)}
    assert decode(encode(Status(keys))) == Status(keys)
    values = list(range(limits.list_examples_max))
    assert decode(encode(Status({"a": values}))) == Status({"a": values})
    assert outcome(encode_any(Status(keys | {"x": 0}))) == ErrorCode.LIMIT_EXCEEDED
    assert outcome(encode_any(Status({"a": [*values, 0]}))) == ErrorCode.LIMIT_EXCEEDED


def encode_any(message: Status) -> bytes:
    """The payload of a status without our encoder's checks."""
    payload: bytes = msgpack.packb({"type": "status", "body": message.body})
    return payload


# --- What cannot be sent --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (Status({"a": object()}), "malformed_frame"),
        (Status({"a": 2**64}), "malformed_frame"),
        (Status({"a": math.nan}), "malformed_frame"),
        (Status({"a": "\ud800"}), "malformed_frame"),
        (Status({"a": [[[[[[[[1]]]]]]]]}), "depth_exceeded"),
        (Status({"a": [0] * 4097}), "limit_exceeded"),
        (Release("a/b", 1, "rule", 0, 0, 0, {"a": math.inf}), "malformed_frame"),
        (Examples(0, 0, 1, [math.nan], b"\x00"), "malformed_frame"),
        (Examples(0, 0, 1, [2**64], b"\x00"), "malformed_frame"),
        (Examples(0, 0, 1, b"\x00", [0] * 4097), "limit_exceeded"),
        (Examples(0, 0, 1, bytes(limits.frame_bytes_max), b"\x00"), "frame_too_large"),
        (Status({"a": "a" * limits.frame_bytes_max}), "frame_too_large"),
        (Predict(bytes(16), "a/b", 1, [math.nan]), "malformed_frame"),
        (Predict(bytes(16), "a/b", 1, [[0] * 4097]), "limit_exceeded"),
        (Predict(bytes(16), "a/b", 1, bytes(limits.frame_bytes_max)), "frame_too_large"),
    ],
)
def test_what_no_peer_could_decode_is_not_encoded(message: Message, code: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        encode(message)
    assert caught.value.code == code


def test_errors_do_not_show_what_was_sent() -> None:
    hidden = "canary"
    with pytest.raises(ProtocolError) as caught:
        decode(msgpack.packb({"type": "ping", "nonce": hidden}))
    assert hidden not in str(caught.value) + repr(caught.value)
    with pytest.raises(ProtocolError) as caught:
        decode(msgpack.packb({"type": "hello", "version": 1, "agent": 1}) + hidden.encode())
    assert hidden not in str(caught.value) + repr(caught.value)
    assert caught.value.__cause__ is None


# --- Many values ----------------------------------------------------------------------------------


def count(value: Any) -> int:
    """Values, map keys, and maps and lists themselves."""
    if isinstance(value, dict):
        return 1 + sum(1 + count(each) for each in value.values())
    return 1 + (sum(map(count, value)) if isinstance(value, list) else 0)


@given(bodies, st.binary(max_size=9), st.binary(max_size=9))
def test_more_values_than_a_number_are_seen(
    body: dict[str, Any], before: bytes, after: bytes
) -> None:
    payload = msgpack.packb(body)
    data, start = before + payload + after, len(before)
    whole = count(body)
    for most in {0, 1, whole // 2, whole - 1, whole, whole + 1}:
        found = has_more_values(data, start, start + len(payload), most)
        assert found == (whole > most)


@given(damaged(), st.integers(0, 40))
@settings(max_examples=300)
def test_any_bytes_can_be_asked_for_more_values(payload: bytes, most: int) -> None:
    if has_more_values(payload, 0, len(payload), most):
        assert len(payload) > most


def test_a_server_takes_few_maps() -> None:
    most = limits.frame_maps_to_server_max
    for maps in (most - 1, most):
        connection = Connection(Role.SERVER)
        greeting = {"type": "hello", "version": 1, "agent": "a/1", "z": [{}] * maps}
        connection.receive_data(frame(msgpack.packb(greeting)))
        if maps < most:
            assert isinstance(connection.next_event(), Hello)
        else:
            with pytest.raises(RemoteProtocolError) as refused:
                connection.next_event()
            assert refused.value.code is ErrorCode.LIMIT_EXCEEDED


def test_values_are_counted_where_they_are_looked_at() -> None:
    connection = Connection(Role.SERVER)
    connection.receive_data(frame(encode(Hello(1, "a/1"))))
    connection.next_event()
    hello = connection.values_looked_at
    assert hello == 8 + 2 * 3
    connection.send(Welcome(1, "s/1", "0" * 32, 1 << 20, 1 << 20))
    connection.receive_data(frame(encode(Open(0, "flights", "p"))))
    connection.next_event()
    connection.send(Opened(0, "flights", "u8", 0, 0))
    before = connection.values_looked_at
    connection.receive_data(frame(encode(Examples(0, 0, 2, b"ab", b"\0\1"))))
    assert not connection.due_has_more_values(64)
    connection.next_event()
    assert connection.values_looked_at == before
    listed = encode(Examples(0, 2, 99, [1] * 99, b"\0" * 99))
    connection.receive_data(frame(listed)[:-1])
    assert not connection.due_has_more_values(64)  # it is not whole
    connection.receive_data(listed[-1:])
    assert connection.due_has_more_values(64)
    assert not connection.due_has_more_values(2 * 6 + 1 + 99)
    connection.next_event()
    assert connection.values_looked_at == before + 2 * 8 + 2 * 6 + 99
    assert not connection.due_has_more_values(0)
