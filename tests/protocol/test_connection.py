"""The connection against the vectors, and two connections joined without a network."""

from __future__ import annotations

import tracemalloc
from itertools import product
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from littled_protocol import limits
from littled_protocol.codec import encode_frame, frame
from littled_protocol.connection import (
    CLOSED,
    NEED_DATA,
    TRANSITIONS,
    Connection,
    Event,
    Role,
    State,
)
from littled_protocol.errors import (
    ErrorCode,
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
)
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
    error_message,
    message_from_fields,
)
from support.messages import MESSAGES
from support.vectors import from_json, load

FRAMES = load("frames.json")["frames"]
REFUSED = load("refused.json")["frames"]
FORBIDDEN = load("forbidden.json")["frames"]
CONVERSATIONS = load("conversations.json")["conversations"]

HELLO = Hello(2, "test")
WELCOME = Welcome(2, "test", "store", 4096, limits.frame_bytes_max)
REQUEST = bytes(range(16))
SAMPLES: dict[str, Message] = {
    sample.type_name: sample
    for sample in (
        *(HELLO, WELCOME, Open(0, "s", "p"), Opened(0, "s", "u8", 0, 0)),
        *(Examples(0, 0, 1, b"\x00", b"\x00"), Ack(0, 1, 1), Subscribe("s/l", 0)),
        *(Release("s/l", 1, "halt", 0, 0, 0, None), StatusRequest(), Status({})),
        *(Ping(1), Pong(1), Error("internal_error", "it failed")),
        *(Predict(REQUEST, "s/l", 1, b"\x00"), Prediction(REQUEST, "s/l", b"\x01", 0, 9, False)),
        PredictionRefused(REQUEST, "s/l", "window_spent", "later", 1, 10, 0, 0, 200),
        Moved("s", ["b:1"], 0, 1),
    )
}


class Pair:
    """Two connections joined: what one sends, the other receives."""

    def __init__(self, frame_bytes_max: int = limits.frame_bytes_max) -> None:
        self.sides = {
            Role.CLIENT: Connection(Role.CLIENT),
            Role.SERVER: Connection(Role.SERVER, frame_bytes_max),
        }

    def pass_on(self, sender: Role, message: Message) -> Event:
        """Send a message and return what arrives."""
        receiver = self.sides[sender.peer]
        receiver.receive_data(self.sides[sender].send(message))
        return receiver.next_event()

    def talk(self, *messages: tuple[Role, Message]) -> None:
        for sender, message in messages:
            assert self.pass_on(sender, message) == message
            assert self.sides[sender.peer].next_event() in (NEED_DATA, CLOSED)
            assert self.sides[sender].state is self.sides[sender.peer].state

    @property
    def client(self) -> Connection:
        return self.sides[Role.CLIENT]

    @property
    def server(self) -> Connection:
        return self.sides[Role.SERVER]


def ready_pair() -> Pair:
    """A pair on which every message is possible: one of everything is open or unanswered."""
    pair = Pair()
    pair.talk(
        (Role.CLIENT, HELLO),
        (Role.SERVER, WELCOME),
        (Role.CLIENT, Open(0, "s", "p")),
        (Role.SERVER, Opened(0, "s", "u8", 0, 0)),
        (Role.CLIENT, Open(1, "s", "q")),
        (Role.CLIENT, Subscribe("s/l", 0)),
        (Role.CLIENT, StatusRequest()),
        (Role.CLIENT, SAMPLES["predict"]),
    )
    return pair


def in_state(state: State) -> Pair:
    if state is State.READY:
        return ready_pair()
    pair = Pair()
    if state is State.START:
        return pair
    pair.talk((Role.CLIENT, HELLO))
    if state is State.CLOSED:
        pair.talk((Role.SERVER, SAMPLES["error"]))
    return pair


def refusal(connection: Connection, data: bytes) -> RemoteProtocolError:
    connection.receive_data(data)
    with pytest.raises(RemoteProtocolError) as caught:
        connection.next_event()
    return caught.value


# --- Vectors --------------------------------------------------------------------------------------


def request_moved(message: dict[str, Any]) -> Message:
    """What this `moved` answers."""
    if "channel" in message:
        return Open(message["channel"], message["stream"], "p")
    if "learner" in message:
        return Subscribe(message["learner"], 0)
    if "request" in message:
        return Predict(from_json(message["request"]), f"{message['stream']}/l", 1, b"\x00")
    return StatusRequest(message["stream"])


def receiver_for(message: dict[str, Any], sender: str) -> Connection:
    """A connection to which the sender may now send this message, whatever its numbers."""
    pair = Pair()
    role = Role(sender)
    kind = message["type"]
    if kind == "hello":
        return pair.server
    pair.talk((Role.CLIENT, Hello(message["version"], "a") if kind == "welcome" else HELLO))
    if kind == "welcome":
        return pair.client
    pair.talk((Role.SERVER, WELCOME))
    if kind == "moved":
        pair.talk((Role.CLIENT, request_moved(message)))
    if kind in ("opened", "examples", "ack"):
        pair.talk((Role.CLIENT, Open(message["channel"], "s", "p")))
    if kind in ("examples", "ack"):
        pair.talk((Role.SERVER, Opened(message["channel"], "s", "u8", 0, 0)))
    if kind == "release":
        pair.talk((Role.CLIENT, Subscribe(message["learner"], 0)))
    if kind == "status":
        pair.talk((Role.CLIENT, StatusRequest()))
    if kind in ("prediction", "prediction_refused"):
        count = len(from_json(message["y"])) if kind == "prediction" else message["asked"]
        request = from_json(message["request"])
        pair.talk((Role.CLIENT, Predict(request, message["learner"], count, bytes(count))))
    return pair.sides[role.peer]


@pytest.mark.parametrize("vector", FRAMES, ids=lambda v: v["name"])
def test_a_frame_arrives_whole_byte_by_byte_and_with_more_behind_it(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["frame"])
    expected = message_from_fields(from_json(vector["message"]))
    behind = b"\x00\x00\x00\x10\x82"

    whole = receiver_for(vector["message"], vector["sender"])
    whole.receive_data(data)
    assert whole.next_event() == expected
    assert whole.frame_bytes == len(data)
    assert whole.next_event() is (CLOSED if isinstance(expected, Error) else NEED_DATA)
    assert not whole.frame_begun

    slowly = receiver_for(vector["message"], vector["sender"])
    for i in range(len(data) - 1):
        slowly.receive_data(data[i : i + 1])
        assert slowly.next_event() is NEED_DATA
        assert slowly.frame_begun
    slowly.receive_data(data[-1:])
    assert slowly.next_event() == expected

    trailing = receiver_for(vector["message"], vector["sender"])
    trailing.receive_data(data + behind)
    assert trailing.next_event() == expected
    ended = isinstance(expected, Error)
    assert trailing.next_event() is (CLOSED if ended else NEED_DATA)
    assert trailing.frame_begun is not ended


@pytest.mark.parametrize("vector", REFUSED, ids=lambda v: v["name"])
def test_a_refused_frame_is_refused_however_it_arrives(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["frame"])
    whole = ready_pair().server
    assert refusal(whole, data + b"more").code == vector["code"]
    assert whole.state is State.ERROR

    slowly = ready_pair().server
    for i in range(len(data) - 1):
        slowly.receive_data(data[i : i + 1])
        if slowly.next_event() is not NEED_DATA:
            pytest.fail("a part of a refused frame became an event")
    assert refusal(slowly, data[-1:]).code == vector["code"]


@pytest.mark.parametrize("vector", FORBIDDEN, ids=lambda v: v["name"])
def test_of_a_forbidden_message_nothing_but_its_type_is_looked_at(vector: dict[str, Any]) -> None:
    server = ready_pair().server
    server.forbidden = frozenset(vector["forbidden"])
    data = bytes.fromhex(vector["frame"])
    if vector["code"] is None:
        server.receive_data(data)
        assert server.next_event() is not NEED_DATA
        return
    assert refusal(server, data).code == vector["code"]
    assert server.state is State.ERROR


@pytest.mark.parametrize("vector", CONVERSATIONS, ids=lambda v: v["name"])
def test_conversations_of_the_vectors(vector: dict[str, Any]) -> None:
    pair = Pair(frame_bytes_max=8192)
    steps = [(Role(sender), from_json(fields)) for sender, fields in vector["steps"]]
    accepted = steps if "state" in vector else steps[:-1]
    pair.talk(*((sender, message_from_fields(fields)) for sender, fields in accepted))
    if "state" in vector:
        assert pair.client.state is pair.server.state is State(vector["state"])
        return
    sender, fields = steps[-1]
    if vector.get("only") != "receiver":
        with pytest.raises(LocalProtocolError) as caught:
            pair.sides[sender].send(message_from_fields(fields))
        assert caught.value.code == vector["refused"]
    receiver = pair.sides[sender.peer]
    assert refusal(receiver, frame(msgpack.packb(fields))).code == vector["refused"]


# --- The table of transitions ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sender", "state", "name"),
    list(product(Role, [s for s in State if s is not State.ERROR], MESSAGES)),
)
def test_every_row_and_every_missing_row_of_the_table(
    sender: Role, state: State, name: str
) -> None:
    message = SAMPLES[name]
    if name == "opened":
        message = Opened(1, "s", "u8", 0, 0)
    if name == "open":
        message = Open(2, "s", "p")
    if name == "subscribe":
        message = Subscribe("s/other", 0)
    if name == "predict":
        message = Predict(bytes(16), "s/l", 1, b"\x00")
    following = TRANSITIONS.get((sender, state, name))
    pair = in_state(state)
    if following is not None:
        pair.talk((sender, message))
        assert pair.client.state is following
        return
    with pytest.raises(LocalProtocolError) as caught:
        pair.sides[sender].send(message)
    assert caught.value.code == ErrorCode.UNEXPECTED_MESSAGE
    assert pair.sides[sender].state is state
    receiver = pair.sides[sender.peer]
    if state is State.CLOSED:
        receiver.receive_data(encode_frame(message))
        assert receiver.next_event() is CLOSED
    else:
        assert refusal(receiver, encode_frame(message)).code == ErrorCode.UNEXPECTED_MESSAGE


def test_the_table_names_only_messages_that_exist_and_uses_all() -> None:
    assert {name for _, _, name in TRANSITIONS} == set(MESSAGES)
    assert not [row for row in TRANSITIONS if row[1] is State.CLOSED]


# --- Ends -----------------------------------------------------------------------------------------


def test_after_an_error_of_the_peer_only_an_error_may_be_sent() -> None:
    pair = ready_pair()
    first = refusal(pair.server, frame(b"\xc0"))
    assert pair.server.state is State.ERROR
    pair.server.receive_data(encode_frame(Ping(1)))
    with pytest.raises(RemoteProtocolError) as again:
        pair.server.next_event()
    assert again.value is first
    for name in MESSAGES:
        if name != "error":
            with pytest.raises(LocalProtocolError):
                pair.server.send(SAMPLES[name])
    assert pair.pass_on(Role.SERVER, error_message(first)) == Error(
        "malformed_frame", "A frame is not one well-formed message."
    )
    assert pair.server.state is State.ERROR
    assert pair.client.next_event() is CLOSED


def test_messages_before_a_wrong_one_are_still_delivered() -> None:
    server = ready_pair().server
    server.receive_data(encode_frame(Ping(1)) + encode_frame(Ping(2)) + frame(b"\xc0"))
    assert [server.next_event(), server.next_event()] == [Ping(1), Ping(2)]
    with pytest.raises(RemoteProtocolError):
        server.next_event()


@pytest.mark.parametrize("state", [State.START, State.GREETED, State.READY])
def test_the_end_of_the_stream_between_frames_closes(state: State) -> None:
    for connection in in_state(state).sides.values():
        connection.receive_data(b"")
        assert connection.next_event() is CLOSED
        assert connection.state is State.CLOSED
        assert connection.next_event() is CLOSED


def test_what_came_before_the_end_of_the_stream_is_delivered() -> None:
    server = ready_pair().server
    server.receive_data(encode_frame(Ping(1)))
    server.receive_data(b"")
    assert server.next_event() == Ping(1)
    assert server.next_event() is CLOSED


@pytest.mark.parametrize("length", range(1, 13))
def test_the_end_of_the_stream_inside_a_frame_is_an_error(length: int) -> None:
    server = ready_pair().server
    server.receive_data(encode_frame(Ping(1))[:length])
    assert server.next_event() is NEED_DATA
    server.receive_data(b"")
    with pytest.raises(RemoteProtocolError) as caught:
        server.next_event()
    assert caught.value.code == ErrorCode.MALFORMED_FRAME


def test_nothing_follows_an_error() -> None:
    pair = ready_pair()
    pair.client.receive_data(pair.server.send(SAMPLES["error"]) + b"\x00\x00\x00\x01\xc1")
    assert pair.client.next_event() == SAMPLES["error"]
    assert pair.client.next_event() is CLOSED
    pair.client.receive_data(encode_frame(Ping(1)))
    assert pair.client.next_event() is CLOSED
    assert pair.server.next_event() is CLOSED


# --- Limits ---------------------------------------------------------------------------------------


def test_a_frame_that_is_too_long_is_refused_by_its_first_bytes() -> None:
    server = ready_pair().server
    longest = limits.frame_bytes_max - limits.frame_prefix_bytes
    server.receive_data(longest.to_bytes(4, "big"))
    assert server.next_event() is NEED_DATA
    assert refusal(ready_pair().server, (longest + 1).to_bytes(4, "big")).code == "frame_too_large"


def test_the_longest_frame_passes() -> None:
    pair = Pair()
    most = limits.frame_bytes_max
    pair.talk((Role.CLIENT, HELLO), (Role.SERVER, Welcome(1, "t", "i", 2 * most, most)))
    pair.talk((Role.CLIENT, Open(0, "s", "p")), (Role.SERVER, Opened(0, "s", "u128", 0, 0)))
    overhead = len(encode_frame(Examples(0, 0, 1, bytes(100_000), b"\x00"))) - 100_000
    pair.talk((Role.CLIENT, Examples(0, 0, 1, bytes(most - overhead), b"\x00")))
    assert pair.server.frame_bytes == most
    with pytest.raises(LocalProtocolError) as caught:
        pair.client.send(Examples(0, 1, 1, bytes(most - overhead + 1), b"\x00"))
    assert caught.value.code == ErrorCode.FRAME_TOO_LARGE


@pytest.mark.parametrize("size", [1, 100, 9_000, 16_384, 70_000])
def test_a_long_frame_takes_little_more_than_its_bytes_however_they_are_cut(size: int) -> None:
    pair = Pair()
    pair.talk((Role.CLIENT, HELLO), (Role.SERVER, Welcome(1, "t", "i", 2**20, 2**20)))
    pair.talk((Role.CLIENT, Open(0, "s", "p")), (Role.SERVER, Opened(0, "s", "u8", 0, 0)))
    server = pair.server
    example = Examples(0, 0, 50_000, bytes(50_000), bytes(50_000))
    data = memoryview(encode_frame(example) + encode_frame(Ping(1)))
    whole = len(data) - len(encode_frame(Ping(1)))
    tracemalloc.start()
    try:
        for at in range(0, whole - size, size):
            server.receive_data(data[at : at + size])
            assert server.buffered_bytes == at + size
        assert server.needs_data()
        assert tracemalloc.get_traced_memory()[0] < 1.25 * whole + 4_000
    finally:
        tracemalloc.stop()
    server.receive_data(data[at + size :])
    assert server.next_event() == example
    assert server.next_event() == Ping(1)
    assert server.is_drained()


def test_the_first_frame_is_short() -> None:
    longest = limits.first_frame_bytes_max - limits.frame_prefix_bytes
    server = Connection(Role.SERVER)
    server.receive_data(longest.to_bytes(4, "big"))
    assert server.next_event() is NEED_DATA
    too_long = refusal(Connection(Role.SERVER), (longest + 1).to_bytes(4, "big"))
    assert too_long.code == ErrorCode.FRAME_TOO_LARGE
    with pytest.raises(LocalProtocolError) as caught:
        Connection(Role.SERVER).send(Error("internal_error", "m" * longest))
    assert caught.value.code == ErrorCode.FRAME_TOO_LARGE
    Pair().talk((Role.CLIENT, Hello(1, "a" * limits.agent_bytes_max, "t" * limits.token_bytes_max)))


def test_a_connection_has_a_limit_of_subscriptions() -> None:
    pair = ready_pair()
    for i in range(limits.subscriptions_max - 1):
        pair.talk((Role.CLIENT, Subscribe(f"s/l{i}", 0)))
    with pytest.raises(LocalProtocolError) as caught:
        pair.client.send(Subscribe("s/more", 0))
    assert caught.value.code == ErrorCode.LIMIT_EXCEEDED
    again = refusal(pair.server, encode_frame(Subscribe("s/more", 0)))
    assert again.code == ErrorCode.LIMIT_EXCEEDED


def test_a_connection_has_a_limit_of_unanswered_requests() -> None:
    pair = Pair()
    pair.talk((Role.CLIENT, HELLO), (Role.SERVER, WELCOME))
    requests = [bytes([i]) * 16 for i in range(limits.predict_requests_max + 1)]
    asked = [Predict(request, "s/l", 1, b"\x00") for request in requests]
    pair.talk(*((Role.CLIENT, each) for each in asked[:-1]))
    with pytest.raises(LocalProtocolError) as caught:
        pair.client.send(asked[-1])
    assert caught.value.code == ErrorCode.LIMIT_EXCEEDED
    pair.talk(
        (Role.SERVER, Prediction(requests[3], "s/l", b"\x01", 0, 9, False)),
        (Role.CLIENT, asked[-1]),
    )
    assert refusal(pair.server, encode_frame(asked[3])).code == ErrorCode.LIMIT_EXCEEDED


class PredictionMachine(RuleBasedStateMachine):
    """Any order of requests, answers and refusals, right and wrong, against a set of names."""

    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair()
        self.pair.talk((Role.CLIENT, HELLO), (Role.SERVER, WELCOME))
        self.unanswered: dict[bytes, int] = {}

    @rule(name=st.integers(0, 20), count=st.integers(1, 3))
    def ask(self, name: int, count: int) -> None:
        request = bytes([name]) * 16
        message = Predict(request, "s/l", count, bytes(count))
        if request in self.unanswered or len(self.unanswered) == limits.predict_requests_max:
            with pytest.raises(LocalProtocolError):
                self.pair.client.send(message)
            return
        self.pair.talk((Role.CLIENT, message))
        self.unanswered[request] = count

    @rule(name=st.integers(0, 20), labels=st.integers(0, 3), refuse=st.booleans())
    def answer(self, name: int, labels: int, refuse: bool) -> None:
        """Answer in any way; without labels it is a refusal, or says that the stream has moved."""
        request = bytes([name]) * 16
        message: Message
        if labels:
            message = Prediction(request, "s/l", bytes(labels), 0, 9, False)
        elif refuse:
            message = PredictionRefused(request, "s/l", "no_window", "later", 1, 0, 0)
        else:
            message = Moved("s", [], 0, request=request)
        right = request in self.unanswered and labels in (0, self.unanswered[request])
        if not right:
            with pytest.raises(LocalProtocolError):
                self.pair.server.send(message)
            return
        self.pair.talk((Role.SERVER, message))
        del self.unanswered[request]


TestPredictions = PredictionMachine.TestCase
TestPredictions.settings = settings(max_examples=40, stateful_step_count=30)


@pytest.mark.parametrize("length", [0, limits.frame_bytes_max_min - 1, limits.frame_bytes_max + 1])
def test_the_longest_frame_has_bounds(length: int) -> None:
    with pytest.raises(ValueError, match="frame_bytes_max needs 4096 to 1048576"):
        Connection(Role.SERVER, length)


def test_a_server_cannot_promise_longer_frames_than_it_accepts() -> None:
    pair = Pair(frame_bytes_max=8192)
    pair.talk((Role.CLIENT, HELLO))
    with pytest.raises(LocalProtocolError):
        pair.server.send(Welcome(1, "t", "i", 4096, 8193))
    pair.talk((Role.SERVER, Welcome(1, "t", "i", 4096, 8192)))


# --- Credit ---------------------------------------------------------------------------------------


def test_credit_counts_whole_frames_and_at_least_256_bytes() -> None:
    pair = ready_pair()
    assert pair.client.credit_left_bytes == pair.server.credit_left_bytes == 4096
    pair.talk((Role.CLIENT, Examples(0, 0, 1, b"\x00", b"\x00")))
    assert pair.client.credit_left_bytes == pair.server.credit_left_bytes == 4096 - 256
    large = Examples(0, 1, 500, bytes(500), bytes(500))
    pair.talk((Role.CLIENT, large))
    left = 4096 - 256 - len(encode_frame(large))
    assert pair.client.credit_left_bytes == pair.server.credit_left_bytes == left
    pair.talk((Role.SERVER, Ack(0, 500, 500)))
    assert pair.server.credit_left_bytes == 4096 - len(encode_frame(large))
    pair.talk((Role.SERVER, Ack(0, 501, 501)))
    assert pair.client.credit_left_bytes == pair.server.credit_left_bytes == 4096


class CreditMachine(RuleBasedStateMachine):
    """Any order of batches and acknowledgements on three channels, against a list of frames."""

    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair()
        self.pair.talk((Role.CLIENT, HELLO), (Role.SERVER, WELCOME))
        for channel in range(3):
            self.pair.talk((Role.CLIENT, Open(channel, "s", f"p{channel}")))
            self.pair.talk((Role.SERVER, Opened(channel, "s", "u8", 0, 0)))
        self.next = [0, 0, 0]
        self.acknowledged = [0, 0, 0]
        self.frames: list[tuple[int, int, int]] = []

    @rule(channel=st.integers(0, 2), count=st.integers(1, 1000))
    def feed(self, channel: int, count: int) -> None:
        message = Examples(channel, self.next[channel], count, bytes(count), bytes(count))
        cost = max(256, len(encode_frame(message)))
        if sum(each for _, _, each in self.frames) + cost > 4096:
            with pytest.raises(LocalProtocolError) as caught:
                self.pair.client.send(message)
            assert caught.value.code == ErrorCode.CREDIT_EXCEEDED
            return
        self.pair.talk((Role.CLIENT, message))
        self.next[channel] += count
        self.frames.append((channel, self.next[channel], cost))

    @precondition(lambda self: self.frames)
    @rule(channel=st.integers(0, 2), share=st.floats(0, 1))
    def acknowledge(self, channel: int, share: float) -> None:
        low, high = self.acknowledged[channel], self.next[channel]
        until = self.acknowledged[channel] = low + round(share * (high - low))
        self.pair.talk((Role.SERVER, Ack(channel, until, until)))
        self.frames = [f for f in self.frames if f[0] != channel or f[1] > until]

    @invariant()
    def both_sides_count_the_same(self) -> None:
        left = 4096 - sum(cost for _, _, cost in self.frames)
        assert self.pair.client.credit_left_bytes == left
        assert self.pair.server.credit_left_bytes == left


TestCredit = CreditMachine.TestCase
TestCredit.settings = settings(max_examples=40, stateful_step_count=30)


# --- Any bytes, any cuts --------------------------------------------------------------------------


def drain(connection: Connection) -> list[Message | str]:
    """Everything that can be had now; the code of an error, if there is one, last."""
    found: list[Message | str] = []
    try:
        while isinstance(event := connection.next_event(), Message):
            found.append(event)
        if event is CLOSED:
            found.append("closed")
    except RemoteProtocolError as error:
        found.append(error.code.value)
    return found


conversation = st.lists(
    st.sampled_from([encode_frame(sample) for sample in SAMPLES.values()])
    | st.binary(max_size=30)
    | st.binary(max_size=30).map(frame),
    max_size=8,
).map(b"".join)
# No bytes at all would be the end of the stream.
conversation = conversation.filter(len)


@pytest.mark.long
@pytest.mark.no_cover
@given(conversation, st.lists(st.integers(1, 40), min_size=1, max_size=10), st.booleans())
@settings(max_examples=800)
def test_any_bytes_mean_the_same_however_they_are_cut(
    data: bytes, cuts: list[int], greeted: bool
) -> None:
    whole, parts = (ready_pair().server if greeted else Connection(Role.SERVER) for _ in range(2))
    whole.receive_data(data)
    expected = drain(whole)
    found: list[Message | str] = []
    at, turn = 0, 0
    while at < len(data) and not (found and isinstance(found[-1], str)):
        size = cuts[turn % len(cuts)]
        parts.receive_data(memoryview(data)[at : at + size])
        found += drain(parts)
        at, turn = at + size, turn + 1
    assert found == expected
    assert parts.state is whole.state


def test_errors_name_places_and_not_values() -> None:
    server = ready_pair().server
    data = encode_frame(Examples(0, 0, 1, b"canary", b"\x07")).replace(b"\xa1y", b"\xa1x")
    error = refusal(server, data)
    assert error.code == ErrorCode.MALFORMED_FRAME
    assert "canary" not in str(error)
    assert isinstance(error, ProtocolError)
    assert error.__cause__ is None
    assert error.__suppress_context__


def test_a_connection_is_drained_when_nothing_can_come_of_what_it_has() -> None:
    connection, data = Connection(Role.SERVER), encode_frame(HELLO)
    assert connection.is_drained()
    connection.receive_data(data[:5])
    assert not connection.is_drained()
    connection.receive_data(data[5:] + data[:1])
    assert connection.next_event() == HELLO
    assert not connection.is_drained()  # one byte of the next frame
    whole = Connection(Role.SERVER)
    whole.receive_data(data)
    assert whole.next_event() == HELLO
    assert whole.is_drained()
    assert not whole._buffer  # its memory is free
    whole.receive_data(b"")
    assert not whole.is_drained()  # its end is to be told
    assert whole.next_event() is CLOSED
