"""Sessions over real sockets: what peers may do, what they may not, what nobody else notices."""

import random
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import msgpack
import numpy as np
import pytest

from littled.limits import (
    ALLOWANCE_UNITS_MAX,
    ALLOWANCE_UNITS_PER_SECOND,
    ALLOWANCE_WAIT_UNITS,
    FRAME_SHORT_BYTES,
    STATUS_UNITS,
    STATUS_UNITS_PER_STREAM,
)
from littled_protocol import limits
from littled_protocol.codec import encode_frame
from littled_protocol.messages import (
    PROTOCOL_VERSION,
    Ack,
    Examples,
    Hello,
    Open,
    Opened,
    Ping,
    Pong,
    Release,
    Status,
    StatusRequest,
    Subscribe,
    Welcome,
)
from support.attacks import attacking
from support.serving import Peer, Serving, framed, raw, serving

TOKEN = "0123456789abcdef" * 2
SHORT = {
    "littled_protocol.limits.first_frame_seconds": 0.6,
    "littled_protocol.limits.frame_seconds": 0.8,
    "littled_protocol.limits.send_seconds": 1.2,
    "littled_protocol.limits.close_seconds": 0.5,
    "littled.service.daemon.SWEEP_SECONDS": 0.1,
    "littled.service.admission.CONNECTIONS_MAX": 16,
}
GUESTS_OF_AN_ORIGIN = 8

# Commits wait for the engine from the first record on.
HELD_UP = {
    "littled.service.queues.ENGINE_QUEUE_BYTES_MAX": 1,
    "littled.service.queues.ENGINE_QUEUE_RESERVE_BYTES": 0,
}


@pytest.fixture(scope="module")
def daemon(module_store: Path) -> Iterator[Serving]:
    """One daemon for the tests of this module; it must survive them all."""
    with serving(module_store, tcp=["127.0.0.1", 0], token=TOKEN, limits=SHORT) as running:
        yield running
        assert running.stop() == 0
        assert [line for line in running.lines if line.get("level") != "info"] == []


@pytest.fixture
def peer(daemon: Serving) -> Iterator[Peer]:
    """A peer that was let in."""
    with Peer.greet(daemon.unix) as made:
        yield made


def labels(text: str) -> bytes:
    """Labels written as a text of 0 and 1."""
    return bytes(int(each) for each in text)


# --- Greeting -------------------------------------------------------------------------------------


def test_the_greeting_says_what_a_client_needs(daemon: Serving, peer: Peer) -> None:
    assert peer.welcome is not None
    assert peer.welcome.version == 1
    assert peer.welcome.server.startswith("littled/")
    assert peer.welcome.credit_bytes == limits.credit_bytes
    with Peer.greet(daemon.unix) as other:
        assert other.welcome == peer.welcome


def test_a_later_client_is_spoken_to_in_the_highest_common_version(daemon: Serving) -> None:
    with Peer.connect(daemon.unix) as peer:
        peer.send(Hello(7, "future/1"))
        assert peer.expect(Welcome).version == PROTOCOL_VERSION


@pytest.mark.parametrize("token", [None, "", TOKEN[:-1]])
def test_a_port_needs_the_token(daemon: Serving, token: str | None) -> None:
    with Peer.connect(daemon.address("tcp")) as peer:
        peer.send(Hello(1, "peer/1", token))
        assert peer.error() == "unauthorized"


def test_a_port_with_the_token_and_a_socket_without(daemon: Serving) -> None:
    with Peer.greet(daemon.address("tcp"), TOKEN) as peer, Peer.greet(daemon.unix) as local:
        for each in (peer, local):
            each.send(Ping(5))
            assert each.expect(Pong) == Pong(5)


# --- Subscribing and asking -----------------------------------------------------------------------


def test_a_subscriber_gets_what_it_missed(daemon: Serving, peer: Peer) -> None:
    peer.subscribe("ids/late")
    first = peer.expect(Release)
    assert (first.learner, first.version, first.position) == ("ids/late", 1, 0)
    with Peer.greet(daemon.unix) as other:
        other.subscribe("ids/late", since=1)
        other.send(Ping(1))
        assert other.expect(Pong) == Pong(1)


@pytest.mark.parametrize("learner", ["flights/early", "nobody/late"])
def test_an_unknown_learner(peer: Peer, learner: str) -> None:
    peer.subscribe(learner)
    assert peer.error() == "unknown_learner"


def test_an_unknown_stream(peer: Peer) -> None:
    peer.send(Open(0, "nowhere", "me"))
    assert peer.error() == "unknown_stream"


def test_the_status_holds_public_facts_and_nothing_else(peer: Peer) -> None:
    peer.send(StatusRequest())
    body = peer.expect(Status).body
    assert set(body) == {"server", "instance", "streams"}
    assert set(body["streams"]) == {"flights", "ids", "small"}
    assert body["streams"]["small"].pop("x_greatest") == 199
    for stream in body["streams"].values():
        assert set(stream) == {
            *("stream", "x_type", "unit", "position", "season", "horizon"),
            *("epsilon", "delta", "spent", "caps", "learners"),
            *("epsilon_spent", "epsilon_prepaid"),
        }
        for learner in stream["learners"].values():
            assert set(learner) == {
                *("version", "epoch", "halted", "rule", "words"),
                *("calls_left", "next_call"),
            }


# --- Hostile frames -------------------------------------------------------------------------------

HELLO = encode_frame(Hello(1, "peer/1"))
DEEP = b"\x81\xa1a" * 20 + b"\xc0"
BEFORE_GREETING = {
    "no msgpack": (framed(b"\xc1\xc1"), "malformed_frame"),
    "an empty frame": (framed(b""), "malformed_frame"),
    "no map": (framed(msgpack.packb([1, 2])), "malformed_frame"),
    "two maps": (framed(HELLO[4:] + HELLO[4:]), "malformed_frame"),
    "a key twice": (framed(b"\x82\xa1a\x01\xa1a\x02"), "malformed_frame"),
    "a cut string": (framed(b"\x81\xa4ty"), "malformed_frame"),
    "too deep": (framed(DEEP), "depth_exceeded"),
    "too long": ((2**31).to_bytes(4, "big"), "frame_too_large"),
    "longer than a first frame": ((4096).to_bytes(4, "big"), "frame_too_large"),
    "an unknown type": (raw(type="hullo"), "unexpected_message"),
    "a message too early": (encode_frame(Ping(1)), "unexpected_message"),
    "version 0": (raw(type="hello", version=0, agent="a"), "unsupported_version"),
    "a missing field": (raw(type="hello", version=1), "malformed_frame"),
    "a wrong type": (raw(type="hello", version="1", agent="a"), "malformed_frame"),
    "tls": (b"\x16\x03\x01\x02\x00\x01\x00", "frame_too_large"),
}


@pytest.mark.parametrize("name", BEFORE_GREETING)
def test_wrong_first_frames(daemon: Serving, name: str) -> None:
    data, code = BEFORE_GREETING[name]
    with Peer.connect(daemon.unix) as peer:
        peer.connection.send(Hello(1, "peer/1"))  # so that our own side takes the answer
        peer.write(data)
        assert peer.error() == code


@pytest.mark.parametrize(
    "request_line", ["GET / HTTP/1.1", "POST /predict HTTP/1.1", "PRI * HTTP/2.0"]
)
def test_who_speaks_http_is_answered_in_http(daemon: Serving, request_line: str) -> None:
    with Peer.connect(daemon.unix) as peer:
        peer.write(f"{request_line}\r\nHost: a\r\n\r\n".encode())
        answer = b"".join(iter(lambda: peer.socket.recv(4096), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert b"the daemon speaks HTTP at the address of --http" in body


AFTER_GREETING = {
    "a second greeting": (HELLO, "unexpected_message"),
    "a server's message": (encode_frame(Ack(0, 1, 1)), "unexpected_message"),
    "a channel that is not open": (
        encode_frame(Examples(9, 0, 1, b"a", b"\0")),
        "unexpected_message",
    ),
    "no examples": (
        raw(type="examples", channel=0, sequence=0, count=0, x=b"", y=b""),
        "invalid_examples",
    ),
    "too many examples": (
        raw(type="examples", channel=0, sequence=0, count=65_537, x=b"", y=b""),
        "invalid_examples",
    ),
    "not a number": (raw(type="ping", nonce=float("nan")), "malformed_frame"),
    "an extension": (framed(b"\x82\xa4type\xa4ping\xa5nonce\xd4\x01\x00"), "malformed_frame"),
    "an array that promises too much": (
        framed(b"\x82\xa4type\xa8examples\xa1x\xdd\x7f\xff\xff\xff"),
        "limit_exceeded",
    ),
    "a float for a number": (raw(type="ping", nonce=1.0), "malformed_frame"),
    "an impossible name": (
        raw(type="open", channel=0, stream="../etc", producer="p"),
        "malformed_frame",
    ),
    "too long": ((limits.frame_bytes_max).to_bytes(4, "big"), "frame_too_large"),
}


@pytest.mark.parametrize("name", AFTER_GREETING)
def test_wrong_later_frames(daemon: Serving, name: str) -> None:
    data, code = AFTER_GREETING[name]
    with Peer.greet(daemon.unix) as honest, Peer.greet(daemon.unix) as peer:
        peer.open("flights", "hostile")
        peer.write(data)
        assert peer.error() == code
        honest.send(Ping(2))
        assert honest.expect(Pong)


def test_subscribing_twice_and_opening_twice(daemon: Serving, peer: Peer) -> None:
    peer.write(encode_frame(Subscribe("flights/late", 0)) * 2)
    assert peer.error() == "unexpected_message"
    with Peer.greet(daemon.unix) as other:
        other.write(encode_frame(Open(0, "flights", "one")) + encode_frame(Open(0, "ids", "two")))
        assert other.error() == "unexpected_message"


def test_a_stream_that_ends_inside_a_frame(daemon: Serving) -> None:
    with Peer.greet(daemon.unix) as peer:
        peer.write(b"\0\0\0\x10abc")
    with Peer.connect(daemon.unix) as reset:
        reset.socket.setsockopt(1, 13, struct.pack("ii", 1, 0))
        reset.write(b"\0\0")


def test_random_frames_end_their_own_session_only(daemon: Serving) -> None:
    chance = random.Random(4)
    with Peer.greet(daemon.unix) as honest:
        honest.open("flights", "honest")
        before = daemon.resident_bytes()
        for turn in range(300):
            frame = bytearray(encode_frame(Examples(0, 0, 4, b"abcd", bytes(4))))
            for _ in range(chance.randint(1, 6)):
                frame[chance.randrange(4, len(frame))] = chance.randrange(256)
            with Peer.greet(daemon.unix) as peer:
                peer.open("flights", "random")
                peer.write(bytes(frame) + chance.randbytes(chance.randint(0, 50)))
            if turn % 50 == 0:
                honest.feed(turn // 50, b"a", b"\0")
                honest.acknowledged(turn // 50 + 1)
        assert daemon.resident_bytes() - before < 16 << 20


# --- Time and number ------------------------------------------------------------------------------


@pytest.mark.parametrize("begin", [b"", b"\0\0", HELLO[:-1]])
def test_a_greeting_has_its_time(daemon: Serving, begin: bytes) -> None:
    with Peer.connect(daemon.unix) as peer:
        peer.connection.send(Hello(1, "peer/1"))
        started = time.monotonic()
        peer.write(begin)
        assert peer.error() == "limit_exceeded"
        assert 0.5 < time.monotonic() - started < 5


def test_a_drop_now_and_then_does_not_extend_the_time(daemon: Serving) -> None:
    with Peer.greet(daemon.unix) as peer:
        started = time.monotonic()
        peer.write((200).to_bytes(4, "big"))
        with pytest.raises((BrokenPipeError, ConnectionResetError)):  # noqa: PT012 - it ends a loop
            for _ in range(100):
                peer.write(b"\0")
                time.sleep(0.1)
        assert 0.5 < time.monotonic() - started < 6


def test_a_quiet_peer_may_stay(daemon: Serving, peer: Peer) -> None:
    time.sleep(1.5)
    peer.send(Ping(3))
    assert peer.expect(Pong) == Pong(3)


def test_silent_connections_make_room(daemon: Serving) -> None:
    with Peer.greet(daemon.unix) as honest:
        silent = [Peer.connect(daemon.unix) for _ in range(40)]
        with Peer.greet(daemon.unix) as newcomer:
            newcomer.send(Ping(1))
            assert newcomer.expect(Pong)
        honest.send(Ping(2))
        assert honest.expect(Pong)
        silent[0].connection.send(Hello(1, "peer/1"))
        assert silent[0].error() == "limit_exceeded"
        for each in silent:
            each.socket.close()


def test_too_many_guests(daemon: Serving) -> None:
    guests = [Peer.greet(daemon.unix) for _ in range(GUESTS_OF_AN_ORIGIN)]
    for number, guest in enumerate(guests):
        guest.open("flights", f"guest-{number}")
    with Peer.connect(daemon.unix) as more:
        more.send(Hello(1, "peer/1"))
        assert more.error() == "limit_exceeded"
    with Peer.greet(daemon.address("tcp"), TOKEN) as elsewhere:  # another listener, another origin
        elsewhere.send(Ping(1))
        assert elsewhere.expect(Pong)
    for guest in guests:
        guest.send(Ping(1))
        assert guest.expect(Pong)
        guest.socket.close()


def test_idle_guests_make_room_and_others_do_not(daemon: Serving) -> None:
    with Peer.greet(daemon.unix) as feeder, Peer.greet(daemon.unix) as subscriber:
        feeder.open("flights", "settled")
        subscriber.subscribe("flights/late", since=10**6)
        idle = [Peer.greet(daemon.unix) for _ in range(GUESTS_OF_AN_ORIGIN - 2)]
        idle[0].send(Ping(1))
        assert idle[0].expect(Pong)
        with Peer.greet(daemon.unix) as newcomer:
            assert idle[1].error() == "limit_exceeded"  # it was silent for longest
            for guest in (feeder, subscriber, idle[0], newcomer):
                guest.send(Ping(2))
                assert guest.expect(Pong)
        for guest in idle:
            guest.socket.close()


@pytest.mark.long
def test_an_idle_guest_is_dropped_after_a_time_unless_it_pings(store: Path) -> None:
    short = SHORT | {"littled_protocol.limits.idle_seconds": 1.0}
    with (
        serving(store, limits=short) as daemon,
        Peer.greet(daemon.unix) as silent,
        Peer.greet(daemon.unix) as polite,
        Peer.greet(daemon.unix) as feeder,
    ):
        feeder.open("flights", "quiet")
        for _ in range(10):
            time.sleep(0.2)
            polite.send(Ping(1))
            assert polite.expect(Pong)
        assert silent.error() == "limit_exceeded"
        feeder.feed(0, b"a", b"\0")
        assert feeder.acknowledged(1)


@pytest.mark.long
def test_a_peer_that_asks_without_end_is_read_from_as_its_allowance_allows(daemon: Serving) -> None:
    with Peer.greet(daemon.unix) as greedy, Peer.greet(daemon.unix) as honest:
        before, started = daemon.resident_bytes(), time.monotonic()
        greedy.socket.settimeout(0.3)
        pings = encode_frame(Ping(2**63)) * 4096
        with pytest.raises(TimeoutError):  # noqa: PT012 - it ends a loop
            while True:
                greedy.write(pings)
        assert daemon.resident_bytes() - before < 16 << 20
        honest.send(Ping(1))
        assert honest.expect(Pong)
        taken = 0
        greedy.socket.settimeout(2 * ALLOWANCE_WAIT_UNITS / ALLOWANCE_UNITS_PER_SECOND + 5)
        while time.monotonic() - started < 2:
            taken += len(greedy.take())
        pongs = taken // len(encode_frame(Pong(2**63)))
        allowed = ALLOWANCE_UNITS_MAX + ALLOWANCE_UNITS_PER_SECOND * (time.monotonic() - started)
        assert ALLOWANCE_UNITS_MAX - 1 <= pongs <= allowed + ALLOWANCE_WAIT_UNITS


def test_a_status_costs_more_than_a_ping(daemon: Serving, peer: Peer) -> None:
    started, answers = time.monotonic(), 0
    price = STATUS_UNITS + STATUS_UNITS_PER_STREAM * 3
    while time.monotonic() - started < 1.5:
        peer.send(StatusRequest())
        assert peer.expect(Status)
        answers += 1
    allowed = ALLOWANCE_UNITS_MAX + ALLOWANCE_UNITS_PER_SECOND * (time.monotonic() - started)
    assert answers <= allowed / price + 1


@pytest.mark.long
def test_long_frames_get_through_beside_many_that_are_never_finished(store: Path) -> None:
    with serving(store) as daemon, Peer.greet(daemon.unix) as honest:
        honest.open("ids", "honest")
        count = 65_000
        # What the daemon needs for frames of this length, and keeps, is there before measuring.
        for number in range(8):
            honest.feed(number * count, bytes(8 * count), bytes(count))
            honest.acknowledged((number + 1) * count)
        before = daemon.resident_bytes()
        with attacking("unfinished frames", daemon.unix, 400, 60) as attackers:
            time.sleep(1)
            for number in range(8, 11):
                honest.feed(number * count, bytes(8 * count), bytes(count))
                honest.acknowledged((number + 1) * count)
            # 64 MiB for frames, and what 400 sessions and a busy engine take; it would be 400 MiB.
            assert daemon.resident_bytes() - before < (64 + 96) << 20
            assert all(process.poll() is None for process in attackers)
        assert 9 * count > FRAME_SHORT_BYTES
        assert daemon.stop() == 0


# --- Crowds ---------------------------------------------------------------------------------------


@pytest.mark.long
def test_slow_subscribers_are_dropped_and_delay_nobody(store: Path) -> None:
    with (
        serving(store, engine="chatty", limits=SHORT) as daemon,
        Peer.greet(daemon.unix) as slow,
        Peer.greet(daemon.unix) as quick,
        Peer.greet(daemon.unix) as feeder,
    ):
        before = daemon.resident_bytes()
        slow.subscribe("ids/late")
        quick.subscribe("ids/late")
        feeder.open("ids", "feeder")
        started = time.monotonic()
        for number in range(150):  # 150 releases of 74 kB, for each subscriber 11 MB
            feeder.feed(number, bytes(8), b"\0")
            feeder.acknowledged(number + 1)
            assert quick.expect(Release).version == number + 1
        assert time.monotonic() - started < 15
        daemon.wait_for("session ended")
        assert [each["code"] for each in daemon.lines if "code" in each] == ["slow_subscriber"]
        assert daemon.resident_bytes() - before < 64 << 20
        with Peer.greet(daemon.unix) as back:  # what is not in memory any more comes from the store
            back.subscribe("ids/late", since=20)
            assert [back.expect(Release).version for _ in range(131)] == list(range(21, 152))


def test_subscriptions_are_limited_in_sum_and_come_back(store: Path) -> None:
    few = {
        "littled.service.sessions.SUBSCRIPTIONS_MAX": 4,
        "littled.service.admission.CONNECTIONS_PER_ORIGIN_SHARE": 1.0,  # all are of one origin
    }
    with serving(store, limits=few) as daemon, Peer.greet(daemon.unix) as first:
        for learner in ("flights/late", "ids/late", "small/late"):
            first.subscribe(learner)
            assert first.expect(Release)
        with Peer.greet(daemon.unix) as second:
            second.subscribe("flights/late")
            assert second.expect(Release)
            second.subscribe("ids/late")
            assert second.error() == "limit_exceeded"
        with Peer.greet(daemon.unix) as third:
            third.subscribe("ids/late")
            assert third.expect(Release)


def test_examples_beyond_the_credit(store: Path) -> None:
    with serving(store, engine="slow", limits=HELD_UP) as daemon, Peer.greet(daemon.unix) as peer:
        peer.open("flights", "greedy")
        frames = [
            encode_frame(Examples(0, number * 60_000, 60_000, bytes(60_000), bytes(60_000)))
            for number in range(150)
        ]
        assert sum(map(len, frames)) > limits.credit_bytes
        peer.write(b"".join(frames))
        assert peer.error() == "credit_exceeded"
        (store / "go").touch()


@pytest.mark.long
def test_an_engine_that_is_behind_holds_its_feeders_up_in_bounded_memory(store: Path) -> None:
    with serving(store, engine="slow") as daemon, Peer.greet(daemon.unix) as peer:
        peer.open("flights", "held")
        before = daemon.resident_bytes()
        batch, sequence, acknowledged = 60_000, 0, 0
        column = np.zeros(batch, np.uint8).tobytes()
        peer.socket.settimeout(1.5)
        with pytest.raises(TimeoutError):  # noqa: PT012 - the loop ends by it
            for _ in range(2_000):
                while peer.connection.credit_left_bytes < 2 * batch + 100:
                    acknowledged = peer.expect(Ack).next_sequence
                peer.feed(sequence, column, column)
                sequence += batch
        held = daemon.resident_bytes() - before
        assert 2 * acknowledged > 30 << 20  # as much as an engine's queue takes, in columns
        assert held < 110 << 20
        with Peer.greet(daemon.unix) as other:  # another stream's engine is not behind
            other.open("small", "free")
            other.socket.settimeout(5)
            (store / "go").touch()
            other.feed(0, b"a", b"\0")
            other.acknowledged(1)
        peer.socket.settimeout(20)
        peer.acknowledged(sequence)


def test_opening_while_the_predecessors_examples_are_on_their_way(store: Path) -> None:
    with serving(store, engine="slow", limits=HELD_UP) as daemon:
        with Peer.greet(daemon.unix) as first:
            first.open("flights", "heir")
            first.feed(0, b"a", b"\0")
            first.acknowledged(1)
            first.feed(1, b"bc", b"\0\1")
            time.sleep(0.2)  # taken, but its commit waits for the engine
        with Peer.greet(daemon.unix) as second:
            second.send(Open(0, "flights", "heir"))
            second.send(Ping(1))
            assert second.expect(Pong) == Pong(1)
            (store / "go").touch()
            assert second.expect(Opened).next_sequence == 3
