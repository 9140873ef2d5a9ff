"""What is fuzzed: bytes of a peer, payloads, rules, questions in JSON; and what may come of them.

A target takes any bytes. The only ends that are allowed are a value, or the one error that the
target's documentation names: whatever else is raised is a finding, and so are a result that does
not survive being written and read again, and an input that takes too long.
"""

import json
import pickle
import time
from collections.abc import Callable, Iterator
from functools import cache

import msgpack
import numpy as np

from littled.service.questions import QuestionError
from littled_protocol.codec import decode, encode, encode_frame
from littled_protocol.columns import point_type
from littled_protocol.connection import CLOSED, NEED_DATA, Connection, Role
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import (
    Examples,
    Hello,
    Open,
    Opened,
    StatusRequest,
    Subscribe,
    Welcome,
)
from littled_protocol.rules import RuleError, Words, rule_from_dict
from support.asking import read_question
from support.vectors import from_json, load

# CPU time that the longest input of `INPUT_BYTES_MAX` may take, with room for a busy machine.
INPUT_SECONDS_MAX = 1.0
INPUT_BYTES_MAX = 4_096
X_TYPES = {"s": "u8", "wide": "u128", "row": "u16x3"}


def server_connection() -> Connection:
    """A server that has let a client in and has a channel open for it."""
    server = Connection(Role.SERVER)
    server.receive_data(encode_frame(Hello(2, "peer")) + encode_frame(Open(0, "s", "tower")))
    server.next_event()
    server.send(Welcome(2, "us", "store", 1 << 20, 1 << 20))
    server.next_event()
    server.send(Opened(0, "s", "u8", 0, 0))
    return server


def client_connection() -> Connection:
    """A client that was let in, has a channel and a subscription, and waits for answers."""
    client = Connection(Role.CLIENT)
    client.send(Hello(2, "peer"))
    client.receive_data(encode_frame(Welcome(2, "us", "store", 1 << 20, 1 << 20)))
    client.next_event()
    client.send(Open(0, "s", "tower"))
    client.receive_data(encode_frame(Opened(0, "s", "u8", 0, 0)))
    client.next_event()
    client.send(Examples(0, 0, 2, b"ab", b"\0\1"))
    client.send(Subscribe("s/late", 0))
    client.send(Subscribe("flights/late", 0))
    client.send(StatusRequest("flights"))
    client.send(Open(255, "flights", "tower"))
    return client


@cache
def prepared(make: Callable[[], Connection]) -> bytes:
    """A connection as it is made; read again for each input it costs a fifth of making it."""
    return pickle.dumps(make())


def fresh(make: Callable[[], Connection]) -> Connection:
    """A connection that shares nothing with those of other inputs."""
    made: Connection = pickle.loads(prepared(make))  # noqa: S301 - written by this process
    return made


def feed(connection: Connection, data: bytes) -> None:
    """Give bytes to a connection, in pieces whose size the first byte says; take all that comes."""
    size = 1 + data[0] if data else 1
    pieces = [data[start : start + size] for start in range(1, len(data), size)]
    try:
        for piece in [*pieces, b""]:
            connection.receive_data(piece)
            while True:
                if connection.role is Role.SERVER and connection.next_burst() is not None:
                    continue
                event = connection.next_event()
                if event is NEED_DATA or event is CLOSED:
                    break
    except ProtocolError:
        return


def server(data: bytes) -> None:
    """Bytes that a client sends."""
    feed(fresh(server_connection), data)


def client(data: bytes) -> None:
    """Bytes that a daemon sends."""
    feed(fresh(client_connection), data)


def payload(data: bytes) -> None:
    """One payload; a message is the same after it was written and read."""
    try:
        message = decode(data)
    except ProtocolError:
        return
    assert decode(encode(message)) == message


def rule(data: bytes) -> None:
    """The map of a rule, as a release holds it; what can be read can be evaluated and said."""
    try:
        values = msgpack.unpackb(data, strict_map_key=False)
    except Exception:  # noqa: BLE001 - whatever msgpack says: these bytes are no map
        return
    if not isinstance(values, dict):
        return
    try:
        found = rule_from_dict(values)
    except RuleError:
        return
    kind = point_type(found.x_type)
    points = kind.decode(bytes(2 * kind.itemsize_bytes), 2)
    labels = found.evaluate(points)
    assert labels.dtype == np.uint8
    assert labels.shape == (2,)
    assert found.describe(Words())
    assert rule_from_dict(found.to_dict()) == found


def question(data: bytes) -> None:
    """The body of a question over HTTP."""
    try:
        asked = read_question(data, X_TYPES, {})
    except QuestionError:
        return
    assert asked.count >= 1


TARGETS: tuple[Callable[[bytes], None], ...] = (server, client, payload, rule, question)


def run(data: bytes) -> None:
    """Run the target that the first byte names; AssertionError if it takes too long."""
    if not data:
        return
    began = time.thread_time()
    TARGETS[data[0] % len(TARGETS)](data[1:])
    seconds = time.thread_time() - began
    assert seconds < INPUT_SECONDS_MAX, f"an input of {len(data)} bytes took {seconds:.1f} s"


@cache
def starting_points() -> tuple[bytes, ...]:
    """Inputs to mutate, from the vectors: right and wrong frames, conversations, rules."""
    return tuple(_starting_points())


def _starting_points() -> Iterator[bytes]:
    frames = [each["frame"] for each in load("frames.json")["frames"]]
    frames += [each["frame"] for each in load("refused.json")["frames"]]
    for text in frames:
        frame = bytes.fromhex(text) if isinstance(text, str) else from_json(text)
        for piece in (b"\xff", b"\x06"):
            yield b"\0" + piece + frame[:INPUT_BYTES_MAX]
            yield b"\1" + piece + frame[:INPUT_BYTES_MAX]
        yield b"\2" + frame[4:INPUT_BYTES_MAX]
    for each in load("rules.json")["rules"]:
        yield b"\3" + msgpack.packb(from_json(each["rule"]))[:INPUT_BYTES_MAX]
    for stream, x in (("s", [1, "7"]), ("wide", ["::1", 1 << 100]), ("row", [[1, 2, 3]])):
        body = {"learner": f"{stream}/late", "x": x, "request": "0f" * 16}
        yield b"\4" + json.dumps(body).encode()
