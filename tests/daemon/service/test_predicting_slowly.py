"""Long answers of a daemon process: nobody waits for them, and what waits itself is bounded."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from littled.limits import STOP_SECONDS
from littled_protocol import limits
from littled_protocol.codec import encode_frame
from littled_protocol.messages import (
    Ack,
    Error,
    Examples,
    Ping,
    Pong,
    Prediction,
    Status,
    StatusRequest,
)
from support.predicting import ask, check, fed
from support.predictions import HORIZON, STREAM, examples, question
from support.serving import Peer, Serving, serving, wait_for_file


@pytest.fixture
def store(prediction_store: Path) -> Path:
    """A new store whose learners answer requests."""
    return prediction_store


@pytest.fixture
def slow(store: Path) -> Iterator[tuple[Serving, Peer]]:
    """A daemon inside an answer, and the peer that asked for it."""
    with serving(store, answers="slow") as daemon:
        peer = fed(daemon)
        peer.send(question(1))
        wait_for_file(store / "answering")
        yield daemon, peer
        peer.socket.close()


@pytest.mark.long
def test_nobody_waits_for_a_long_answer(slow: tuple[Serving, Peer], store: Path) -> None:
    daemon, peer = slow
    with Peer.greet(daemon.unix) as other:
        other.open(STREAM, "other")
        for number in range(50):
            other.feed(number, b"\x15", b"\1")
            other.acknowledged(number + 1)
        other.send(Ping(1))
        assert other.expect(Pong) == Pong(1)
        peer.send(Ping(2), StatusRequest())
        assert peer.expect(Pong) == Pong(2)
        near = peer.expect(Status).body["streams"][STREAM]["learners"]["near"]
        assert near["answers_left"] == 20
    (store / "go").touch()
    assert peer.expect(Prediction).left == 17
    assert daemon.stop() == 0


@pytest.mark.long
def test_so_many_requests_may_wait_and_no_more(slow: tuple[Serving, Peer], store: Path) -> None:
    daemon, peer = slow
    most = limits.predict_requests_max
    with Peer.greet(daemon.unix) as other:
        other.write(b"".join(encode_frame(question(100 + number)) for number in range(most + 1)))
        assert other.error() == "limit_exceeded"
    peer.send(*(question(number, b"\1") for number in range(2, most + 1)))
    (store / "go").touch()
    found = [peer.expect(Prediction) for _ in range(most)]
    assert [int.from_bytes(each.request) for each in found] == list(range(1, most + 1))
    assert found[-1].left == 20 - 3 - 15
    assert daemon.stop() == 0


def test_a_stop_waits_for_an_answer(slow: tuple[Serving, Peer], store: Path) -> None:
    daemon, peer = slow
    daemon.process.send_signal(signal.SIGTERM)
    daemon.wait_for("stopping")
    (store / "go").touch()
    assert peer.expect(Prediction).left == 17
    assert peer.error() == "shutting_down"
    assert daemon.ended() == 0
    assert check(store) == 1


@pytest.mark.long
def test_a_stop_does_not_wait_for_ever(store: Path) -> None:
    soon = {"littled.service.daemon.STOP_SECONDS": 1.0}
    with serving(store, answers="slow", limits=soon) as daemon:
        peer = fed(daemon)
        peer.send(question(1), question(2))
        wait_for_file(store / "answering")
        daemon.process.send_signal(signal.SIGTERM)
        assert peer.error() == "shutting_down"
        assert daemon.ended() == 0
    with serving(store) as daemon, Peer.greet(daemon.unix) as peer:
        first = ask(peer, 1)
        assert (first.repeated, first.left) == (False, 17)
        assert daemon.stop() == 0
    assert check(store) == 1


def ask_ahead_of_the_engine(peer: Peer, store: Path) -> tuple[bytes, bytes]:
    """Ask from a window whose season an engine has not opened yet; return what was fed."""
    peer.open(STREAM, "p")
    x, y = examples(HORIZON + 100)
    peer.feed(0, x, y)
    peer.acknowledged(len(x))
    wait_for_file(store / "learning")
    peer.send(question(1), Ping(1))
    assert peer.expect(Pong) == Pong(1)
    return x, y


def test_a_stop_does_not_wait_for_who_waits_for_a_season(store: Path) -> None:
    """The engine may have much to learn until then; asked again, the request has its answer."""
    with serving(store, engine="slow") as daemon, Peer.greet(daemon.unix) as peer:
        ask_ahead_of_the_engine(peer, store)
        began = time.monotonic()
        daemon.process.send_signal(signal.SIGTERM)
        assert peer.error() == "shutting_down"
        assert time.monotonic() - began < STOP_SECONDS / 4
        (store / "go").touch()
        assert daemon.ended() == 0
    with serving(store) as again, Peer.greet(again.unix) as peer:
        peer.send(question(1))
        assert peer.expect(Prediction).window == 3


def test_a_stop_acknowledges_what_came_beside_a_question_that_waits(store: Path) -> None:
    """The session that gets no answer ends, and what it has fed before is committed by then."""
    with serving(store, engine="slow") as daemon, Peer.greet(daemon.unix) as peer:
        x, y = ask_ahead_of_the_engine(peer, store)
        daemon.process.send_signal(signal.SIGSTOP)
        first = len(x)
        # In many commits, so that some are under way when the stop begins.
        batches = [Examples(0, first + 40 * each, 40, x[:40], y[:40]) for each in range(500)]
        peer.send(*batches)
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.send_signal(signal.SIGCONT)
        acked = first
        while isinstance(message := peer.receive(), Ack):
            acked = message.next_sequence
        assert isinstance(message, Error)
        assert message.code == "shutting_down"
        (store / "go").touch()
        assert daemon.ended() == 0
    with serving(store) as again, Peer.greet(again.unix) as peer:
        assert peer.open(STREAM, "p").next_sequence == acked


def test_a_peer_that_leaves_takes_its_waiting_requests_along(
    slow: tuple[Serving, Peer], store: Path
) -> None:
    daemon, peer = slow
    peer.send(question(2), question(3))
    time.sleep(0.2)
    peer.socket.close()
    time.sleep(0.2)
    (store / "go").touch()
    with Peer.greet(daemon.unix) as other:
        # the one in hand was finished and charged, the others were not begun
        answer = ask(other, 1)
        assert (answer.repeated, answer.left) == (True, 17)
        assert ask(other, 2).left == 14
    assert daemon.stop() == 0
    assert check(store) == 2


def test_a_peer_with_much_to_ask_is_not_read_from_meanwhile(store: Path) -> None:
    little = {"littled.service.sessions.PREDICT_PENDING_BYTES_MAX": 200}
    with serving(store, answers="slow", limits=little) as daemon:
        peer = fed(daemon)
        peer.send(*(question(number) for number in range(4)))
        wait_for_file(store / "answering")
        peer.send(Ping(1))
        peer.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):
            peer.receive()
        peer.socket.settimeout(20)
        (store / "go").touch()
        found = [peer.receive() for _ in range(5)]
        assert [each.left for each in found if isinstance(each, Prediction)] == [17, 14, 11, 8]
        assert found.index(Pong(1)) >= 2  # when the requests that wait are few again
        peer.socket.close()
        assert daemon.stop() == 0
