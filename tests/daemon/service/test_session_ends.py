"""How sessions end, and what is left of them: sessions of the process itself, over real sockets."""

import asyncio
import os
import socket
import ssl
import threading
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from littled.engine.predictions import refusal
from littled.limits import RELEASES_IN_MEMORY_MAX, TLS_READ_BYTES
from littled.service import daemon, receiving, sessions, subscribers
from littled.service.access import Access, Gate
from littled.service.admission import Admission
from littled.service.daemon import Daemon
from littled.service.elsewhere import Nowhere
from littled.service.handshakes import Handshakes, Place, shake_hands
from littled.service.sessions import ServerContext, Session
from littled.service.turns import Allowance, Rate
from littled.store.records import StoredRelease
from littled_protocol import limits
from littled_protocol.codec import encode, encode_frame
from littled_protocol.errors import ErrorCode, ProtocolError, RefusalCode
from littled_protocol.messages import (
    Hello,
    Ping,
    Pong,
    Predict,
    Release,
    Subscribe,
    error_message,
)
from littled_protocol.rules import ThresholdRule
from support.certificates import Authority

SECONDS = 10.0
LONG = (limits.frame_bytes_max - 4).to_bytes(4, "big") + b"x"


class Releases:
    """Of one learner, of which nothing is ever published."""

    def __contains__(self, learner: str) -> bool:
        return learner == "flights/late"

    async def beyond(self, learner: str, version: int) -> None:
        await asyncio.Event().wait()


class Elsewhere:
    """Knows one stream."""

    def where(self, stream: str) -> tuple[str, ...] | None:
        return () if stream == "far" else None


def make_context(elsewhere: Any = None, releases: Any = None) -> ServerContext:
    """What sessions share, where nothing is served but the releases of one learner, or these."""

    async def predict(message: Predict) -> Any:
        return refusal(message, RefusalCode.UNKNOWN_LEARNER)

    none: Any = None
    log: Any = SimpleNamespace(info=lambda *_, **__: None)
    return ServerContext(
        *("littled/test", "instance", limits.credit_bytes),
        intake=none,
        schemas=cast("Any", {"flights": None}),
        releases=releases or cast("Any", Releases()),
        statuses=none,
        predict=predict,
        spawn=asyncio.get_running_loop().create_task,
        log=log,
        admission=Admission(1),
        elsewhere=elsewhere or Nowhere(),
    )


@asynccontextmanager
async def joined(
    context: ServerContext, origin: str = "uid 1"
) -> AsyncIterator[tuple[Session, socket.socket]]:
    """A session that has greeted, and its peer, which is gone in the end."""
    accepted, peer = socket.socketpair()
    for each in (accepted, peer):
        each.setblocking(False)
    session = Session(context, "unix", Gate(Access()), origin)
    context.admission.enter(session, 0, origin)
    loop = asyncio.get_running_loop()
    await loop.connect_accepted_socket(lambda: session, accepted)
    with peer:
        await loop.sock_sendall(peer, encode_frame(Hello(2, "peer/1")))
        assert await loop.sock_recv(peer, 1 << 16)
        yield session, peer
    await over(session)


def asking(stream: str) -> bytes:
    """A request for predictions."""
    return encode_frame(Predict(os.urandom(16), f"{stream}/late", 1, b"1"))


def asking_at_length() -> bytes:
    """A request of a length for which a frame needs a place."""
    return encode_frame(Predict(os.urandom(16), "flights/late", 1, bytes(200_000)))


def spent() -> Allowance:
    """An allowance of which nothing is left for ten minutes."""
    allowance = Allowance(asyncio.get_running_loop().time(), Rate(1.0, 1.0, 0.0))
    allowance.spend(600.0)
    return allowance


async def come(session: Session, data: bytes) -> None:
    """Have bytes come at once, whatever a socket would take, and have them dealt with."""
    session._context.buffer[: len(data)] = data
    session.buffer_updated(len(data))
    for _ in range(5):
        await asyncio.sleep(0)


async def over(session: Session) -> None:
    """Wait for the end of a session."""
    async with asyncio.timeout(SECONDS):
        await session.ended.wait()


def fill(session: Session, context: ServerContext) -> None:
    """Send more than a peer that does not read can take."""
    while not context.counters.unsent_bytes:
        session.send(Pong(1))


@pytest.mark.parametrize("how", ["half closed", "an error"])
async def test_who_ends_and_does_not_take_the_rest_is_dropped(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "send_seconds", 0.2)
    context = make_context()
    async with joined(context) as (session, peer):
        fill(session, context)
        if how == "half closed":
            peer.shutdown(socket.SHUT_WR)
        else:
            peer.send(encode_frame(error_message(ProtocolError(ErrorCode.SHUTTING_DOWN))))
        await asyncio.sleep(0.05)
        assert context.counters.unsent_bytes  # it has a moment
        await over(session)
        assert context.counters.unsent_bytes == 0
        assert len(context.admission) == 0
        assert not context.sessions


async def test_who_ends_gets_the_rest() -> None:
    context = make_context()
    async with joined(context) as (session, peer):
        fill(session, context)
        peer.shutdown(socket.SHUT_WR)
        received, loop = bytearray(), asyncio.get_running_loop()
        async with asyncio.timeout(SECONDS):
            while data := await loop.sock_recv(peer, 1 << 16):
                received += data
        frame = encode_frame(Pong(1))
        assert received == frame * (len(received) // len(frame))
        await over(session)
        assert session._aborting is not None
        assert session._aborting.cancelled()


@pytest.mark.parametrize("before", ["reads nothing", "has failed", "has ended"])
async def test_who_is_cut_leaves_nothing_behind(
    before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its connection nor bytes that would be counted for others."""
    monkeypatch.setattr(limits, "close_seconds", 600.0)
    monkeypatch.setattr(limits, "send_seconds", 600.0)
    context = make_context()
    async with joined(context) as (session, peer):
        fill(session, context)
        if before == "has failed":
            session.fail(ErrorCode.LIMIT_EXCEEDED)
        elif before == "has ended":
            peer.shutdown(socket.SHUT_WR)
            await asyncio.sleep(0.05)
        session.cut(ErrorCode.LIMIT_EXCEEDED)
        assert context.counters.unsent_bytes == 0
        await over(session)


async def test_who_reads_is_told_why_it_is_cut() -> None:
    context = make_context()
    async with joined(context) as (session, peer):
        session.cut(ErrorCode.LIMIT_EXCEEDED)
        said = await asyncio.get_running_loop().sock_recv(peer, 1 << 16)
        assert b"limit_exceeded" in said


async def test_who_is_cut_is_gone_though_it_says_no_goodbye(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With TLS as well, and it is told why: nobody counts it any more."""
    monkeypatch.setattr(limits, "close_seconds", 600.0)
    ours = Authority(tmp_path, "ours")
    issued = ours.issue("localhost", server=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(issued.certificate, issued.key)
    client = ssl.create_default_context(cafile=str(ours.path))
    session = Session(make_context(), "tcp", Gate(Access()), "uid 1")
    accepted, plain = socket.socketpair()
    accepted.setblocking(False)
    plain.settimeout(SECONDS)
    place = Place(Handshakes(), "uid 1", bytearray(TLS_READ_BYTES))
    shaking = asyncio.create_task(shake_hands(session, accepted, tls, place))
    wrap = partial(client.wrap_socket, plain, server_hostname="localhost")
    with await asyncio.to_thread(wrap) as peer:
        await shaking
        session.cut(ErrorCode.LIMIT_EXCEEDED)
        await over(session)
        assert b"limit_exceeded" in peer.recv(1 << 16)


async def test_a_stop_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "close_seconds", 0.1)
    monkeypatch.setattr(limits, "send_seconds", 600.0)
    context = make_context()
    async with joined(context) as (stuck, peer), joined(context) as (other, _):
        fill(stuck, context)
        peer.shutdown(socket.SHUT_WR)
        await asyncio.sleep(0.05)
        async with asyncio.timeout(SECONDS):
            await Daemon._see_out(cast("Any", SimpleNamespace(_failure=None)), context)
        await over(stuck)
        await over(other)


async def test_a_session_that_fails_does_not_end_the_looks_at_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(daemon, "SWEEP_SECONDS", 0.01)
    monkeypatch.setattr(daemon, "tell_left_out", lambda _: None)
    monkeypatch.setattr(limits, "idle_seconds", 0.0)
    context, events = make_context(), list[str]()
    log = SimpleNamespace(error=lambda event, **_: events.append(event))
    of_daemon: Any = SimpleNamespace(_loop=asyncio.get_running_loop(), _log=log)
    reception: Any = SimpleNamespace(check_time=lambda *_: None)
    async with joined(context) as (broken, _), joined(context) as (other, _):
        monkeypatch.setattr(broken, "check_time", lambda _: 1 / 0)
        sweep = asyncio.create_task(Daemon._sweep(of_daemon, context, reception))
        await over(broken)
        await over(other)
        assert not sweep.done()
        sweep.cancel()
    assert events == ["session failed"]


async def test_names_that_a_peer_makes_up_are_not_kept() -> None:
    context = make_context(Elsewhere())
    async with joined(context) as (session, peer):
        for number in range(20):
            peer.send(asking(f"made-up-{number}"))
        for stream in ("flights", "far"):
            peer.send(asking(stream))
        async with asyncio.timeout(SECONDS):
            while len(session._uses) < 2:  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.01)
        assert {stream for _, stream in session._uses} == {"flights", "far"}


async def test_each_origin_has_a_share_of_the_subscriptions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And has it again once its sessions are over."""
    monkeypatch.setattr(sessions, "SUBSCRIPTIONS_MAX", 4)
    context = make_context()
    subscribe = encode_frame(Subscribe("flights/late", 0))

    async def is_refused(peer: socket.socket) -> bool:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(peer, subscribe + encode_frame(Ping(1)))
        async with asyncio.timeout(SECONDS):
            said = await loop.sock_recv(peer, 1 << 16)
        return b"limit_exceeded" in said

    async with joined(context) as (_, first), joined(context, "uid 2") as (_, other):
        async with joined(context) as (_, second), joined(context) as (_, third):
            assert not await is_refused(first)
            assert not await is_refused(second)
            assert await is_refused(third)
            assert not await is_refused(other)
        async with joined(context) as (_, again):
            assert not await is_refused(again)
    assert context.counters.subscriptions == 0
    assert not context.subscribed


async def test_who_waits_for_memory_and_has_its_allowance_back_waits_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(receiving, "FRAMES_GRANTED_BYTES", limits.frame_bytes_max)
    monkeypatch.setattr(receiving, "FRAME_GROWTH_SECONDS", 600.0)
    context = make_context()
    free = context.receiving._free_bytes
    async with joined(context) as (waiting, peer), joined(context) as (_, holder):
        asked, ask = Counter[Any](), context.receiving.ask

        def counted(who: Any, frame_bytes: int, **kw: Any) -> bool:
            asked[who] += 1
            return ask(who, frame_bytes, **kw)

        monkeypatch.setattr(context.receiving, "ask", counted)
        holder.send(LONG)
        # One ping is half a unit too much, which is there again after half a second.
        waiting._allowance = Allowance(asyncio.get_running_loop().time(), Rate(0.5, 1.0, 0.1))
        peer.send(encode_frame(Ping(1)) + LONG)
        async with asyncio.timeout(SECONDS):
            while asked[waiting] < 2:  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.01)
        assert len(context.receiving._wishes) == 1
    assert context.receiving._free_bytes == free


async def test_frame_after_frame_of_one_length_comes_on_while_others_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However little of a frame is there, when more was there of the one before it."""
    monkeypatch.setattr(receiving, "FRAME_GROWTH_SECONDS", 600.0)
    monkeypatch.setattr(receiving, "FRAMES_OF_ORIGIN_TIMES", 0)  # one frame for each
    context, crowd = make_context(), "uid 2"
    pool = context.receiving
    async with (
        joined(context) as (feeder, _),
        joined(context, crowd) as (holder, _),
        joined(context, crowd) as (waiting, _),
    ):
        feeder._allowance = Allowance(0.0, Rate(1e9, 1.0, 1.0))
        frame, left = asking_at_length(), 100_000
        await come(feeder, frame[:left])
        await come(holder, LONG)
        holder.hold(object())  # it cannot help it
        await come(waiting, LONG)
        for there in (50_000, 20_000, 10_000):
            following = asking_at_length()
            await come(feeder, frame[left:] + following[:there])
            frame, left = following, there
            pool._look()
            assert not feeder._ending
        assert waiting in pool._wishes
        for _ in range(2):
            pool._look()
        assert feeder._ending
        assert not holder._ending
        for each in (holder, waiting):
            each.cut(ErrorCode.LIMIT_EXCEEDED)


async def test_who_sends_frame_after_frame_of_one_length_lets_others_have_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(receiving, "FRAME_GROWTH_SECONDS", 600.0)
    monkeypatch.setattr(receiving, "FRAMES_GRANTED_BYTES", limits.frame_bytes_max)
    context = make_context()
    pool = context.receiving
    async with joined(context) as (feeder, _), joined(context, "uid 2") as (other, _):
        feeder._allowance = Allowance(0.0, Rate(1e9, 1.0, 1.0))
        first, second = asking_at_length(), asking_at_length()
        await come(feeder, first[:50_000])
        await come(other, LONG)
        assert (feeder in pool._grants, other in pool._grants) == (True, False)
        await come(feeder, first[50_000:] + second[:50_000])
        assert (feeder in pool._grants, other in pool._grants) == (False, True)
        assert feeder._proven
        other.fail(ErrorCode.LIMIT_EXCEEDED)
        assert feeder in pool._grants
        assert not feeder._held_by


@pytest.mark.parametrize(
    ("why", "ends"), [("whole", False), ("answers", False), ("allowance", True)]
)
async def test_who_cannot_help_it_that_a_frame_does_not_come_on_goes_on(
    why: str, *, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "FRAME_GROWTH_SECONDS", 600.0)
    monkeypatch.setattr(receiving, "FRAMES_GRANTED_BYTES", limits.frame_bytes_max)
    context = make_context()
    async with joined(context) as (session, _), joined(context, "uid 2") as (waiting, _):
        frame = asking_at_length()
        if why == "whole":
            session._allowance = spent()
        await come(session, frame if why == "whole" else frame[:-1])
        if why != "whole":
            session.hold(session._asked if why == "answers" else session._allowance)
        assert session in context.receiving._grants
        await come(waiting, LONG)
        for _ in range(3):
            context.receiving._look()
        assert session._ending is ends
        session.cut(ErrorCode.LIMIT_EXCEEDED)


async def test_who_waits_for_memory_with_a_whole_frame_is_read_on_once_that_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(receiving, "FRAME_GROWTH_SECONDS", 600.0)
    monkeypatch.setattr(receiving, "FRAMES_GRANTED_BYTES", limits.frame_bytes_max)
    context = make_context()
    async with joined(context) as (session, _), joined(context, "uid 2") as (holder, _):
        await come(holder, LONG)
        session._allowance = spent()
        await come(session, asking_at_length())
        assert session in context.receiving._wishes
        session._allowance.spend(-1e9)
        session._go_on()
        for _ in range(5):
            await asyncio.sleep(0)
        assert session not in context.receiving._wishes
        assert context.receiving not in session._held_by


async def test_old_releases_are_read_for_each_origin_in_its_turn() -> None:
    read: list[str] = []
    go_on = threading.Event()
    crowd = [f"flights/crowd{number}" for number in range(9)]

    def release(learner: str, version: int) -> StoredRelease:
        rule = ThresholdRule(256, version).to_dict()
        message = Release(learner, version, "rule", 0, version, version, rule)
        return StoredRelease(learner, version, encode(message), None)

    def of(learner: str) -> list[StoredRelease]:
        return [release(learner, version + 1) for version in range(RELEASES_IN_MEMORY_MAX + 1)]

    def reading(learner: str, since: int) -> list[StoredRelease]:
        read.append(learner)
        assert go_on.wait(10), "nobody was served while old releases were read"
        return of(learner)[since:]

    releases = subscribers.Releases([*crowd, "flights/alone"], reading)
    for learner in releases.learners:
        releases.announce(of(learner))
    context = make_context(releases=releases)
    loop = asyncio.get_running_loop()
    async with joined(context, "uid 1") as (_, many), joined(context, "uid 2") as (_, one):
        await loop.sock_sendall(many, b"".join(encode_frame(Subscribe(each, 0)) for each in crowd))
        async with asyncio.timeout(SECONDS):
            while not read:  # noqa: ASYNC110 - it is counted on another thread
                await asyncio.sleep(0.01)
        await loop.sock_sendall(one, encode_frame(Subscribe("flights/alone", 0)))
        await asyncio.sleep(0.1)
        go_on.set()
        async with asyncio.timeout(SECONDS):
            while "flights/alone" not in read:  # noqa: ASYNC110 - it is read on another thread
                await asyncio.sleep(0.01)
        assert read.index("flights/alone") <= 2
