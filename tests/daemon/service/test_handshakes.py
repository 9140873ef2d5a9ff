"""TLS under connections that share one buffer and read nothing ahead."""

import asyncio
import socket
import ssl
from asyncio import sslproto
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from littled.limits import (
    HANDSHAKES_WAITING_MAX,
    TLS_EMPTY_RECORDS_MAX,
    TLS_READ_BYTES,
    TLS_READ_BYTES_MIN,
)
from littled.service import handshakes as handshakes_module
from littled.service import tls_records
from littled.service.access import Shown, digest_of
from littled.service.handshakes import Handshakes, Place, shake_hands
from littled.service.tls import TlsFiles
from littled_protocol import limits
from support.attacks import client_hello
from support.certificates import DAY, Authority
from support.key_updates import KeyUpdates

SECONDS = 20.0
Contexts = tuple[ssl.SSLContext, ssl.SSLContext]
"""Of the server, and of its peers."""


class Guest(asyncio.Protocol):
    """Keeps what came."""

    def __init__(self, wanted: int = 0) -> None:
        self.came, self.wanted = bytearray(), wanted
        self.longest = 0
        self.has_all, self.is_over = asyncio.Event(), asyncio.Event()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.came += data
        self.longest = max(self.longest, len(data))
        if len(self.came) >= self.wanted:
            self.has_all.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_over.set()


@pytest.fixture
def contexts(tmp_path: Path) -> Contexts:
    ours = Authority(tmp_path, "ours")
    issued = ours.issue("localhost", server=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(issued.certificate, issued.key)
    return server, ssl.create_default_context(cafile=str(ours.path))


@asynccontextmanager
async def joined(
    contexts: Contexts, buffer: bytearray, wanted: int, session: ssl.SSLSession | None = None
) -> AsyncIterator[tuple[Guest, ssl.SSLSocket]]:
    """A guest that was let in and wants so many bytes, and its peer, which blocks."""
    accepted, peer = socket.socketpair()
    accepted.setblocking(False)
    peer.settimeout(SECONDS)
    guest = Guest(wanted)
    place = Place(Handshakes(), "here", buffer)
    shaking = asyncio.create_task(shake_hands(guest, accepted, contexts[0], place))
    wrap = partial(contexts[1].wrap_socket, server_hostname="localhost", session=session)
    with await asyncio.to_thread(wrap, peer) as wrapped:
        await shaking
        yield guest, wrapped
        assert guest.transport is not None
        guest.transport.abort()
        await guest.is_over.wait()


async def test_what_two_peers_send_at_the_same_time_is_kept_apart(contexts: Contexts) -> None:
    buffer, size = bytearray(TLS_READ_BYTES), 300_000
    sent = [bytes([number]) * size for number in range(2)]
    async with (
        joined(contexts, buffer, size) as one,
        joined(contexts, buffer, size) as other,
        asyncio.timeout(SECONDS),
    ):
        peers = list(zip((one, other), sent, strict=True))
        for start in range(0, size, 10_000):
            for (_, peer), data in peers:
                await asyncio.to_thread(peer.sendall, data[start : start + 10_000])
        for (guest, _), data in peers:
            await guest.has_all.wait()
            assert guest.came == data


async def test_nothing_is_read_ahead_of_who_does_not_read(contexts: Contexts) -> None:
    """What a peer sends meanwhile stays with the system, up to what it holds for a socket."""
    data = bytes(4_000_000)
    async with (
        joined(contexts, bytearray(TLS_READ_BYTES), len(data)) as (guest, peer),
        asyncio.timeout(SECONDS),
    ):
        assert guest.transport is not None
        guest.transport.pause_reading()
        sending = asyncio.create_task(asyncio.to_thread(peer.sendall, data))
        await asyncio.sleep(0.3)
        assert len(guest.came) <= 2 * TLS_READ_BYTES
        assert not sending.done()
        guest.transport.resume_reading()
        await sending
        await guest.has_all.wait()
        assert guest.came == data


async def test_all_that_a_peer_has_not_taken_is_told(contexts: Contexts) -> None:
    """What is encrypted waits in the transport beneath."""
    size = 4_000_000
    async with (
        joined(contexts, bytearray(TLS_READ_BYTES), 0) as (guest, peer),
        asyncio.timeout(SECONDS),
    ):
        assert guest.transport is not None
        guest.transport.write(bytes(size))
        await asyncio.sleep(0)
        assert guest.transport.get_write_buffer_size() > size // 2
        taken = 0
        while taken < size:
            taken += len(await asyncio.to_thread(peer.recv, 1 << 20))
        while guest.transport.get_write_buffer_size():  # noqa: ASYNC110 - no event says so
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("by_the_peer", [False, True])
async def test_a_connection_that_is_closed_twice_can_be_aborted(
    contexts: Contexts, by_the_peer: bool
) -> None:
    async with (
        joined(contexts, bytearray(TLS_READ_BYTES), 0) as (guest, peer),
        asyncio.timeout(SECONDS),
    ):
        assert guest.transport is not None
        guest.transport.write(bytes(4_000_000))
        if by_the_peer:
            peer.setblocking(False)
            with suppress(OSError):
                peer.unwrap()
            while not guest.transport.is_closing():  # noqa: ASYNC110 - no event says so
                await asyncio.sleep(0.01)
        else:
            guest.transport.close()
        guest.transport.close()
        assert guest.transport.get_write_buffer_size()
        await asyncio.sleep(0.05)
        assert not guest.is_over.is_set()
        guest.transport.abort()
        await guest.is_over.wait()


async def test_who_takes_its_time_gets_all_that_was_written_before_the_goodbye(
    contexts: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And has as long for its own goodbye as ever."""
    monkeypatch.setattr(limits, "close_seconds", 0.1)
    size, taken = 2_000_000, 0
    async with (
        joined(contexts, bytearray(TLS_READ_BYTES), 0) as (guest, peer),
        asyncio.timeout(SECONDS),
    ):
        assert guest.transport is not None
        guest.transport.write(bytes(size))
        guest.transport.close()
        for _ in range(5):
            await asyncio.sleep(0.1)
            taken += len(await asyncio.to_thread(peer.recv, 1 << 14))
            assert not guest.is_over.is_set()
        while data := await asyncio.to_thread(peer.recv, 1 << 20):
            taken += len(data)
        assert taken == size
        await guest.is_over.wait()  # without a goodbye of the peer's


async def test_who_speaks_no_tls_is_no_guest(contexts: Contexts) -> None:
    accepted, peer = socket.socketpair()
    with peer:
        accepted.setblocking(False)
        guest = Guest()
        peer.sendall(b"GET / HTTP/1.1\r\n\r\n")
        place = Place(Handshakes(), "here", bytearray(TLS_READ_BYTES))
        with pytest.raises(OSError, match="SSL"):
            await shake_hands(guest, accepted, contexts[0], place)
        assert not guest.came
        assert guest.transport is None


async def test_handshakes_go_on_one_in_a_turn_and_by_origin(
    contexts: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was let in before, and sends the rest of what it has to say at the same time."""
    loop, turns, went_on = asyncio.get_running_loop(), 0, list[tuple[int, str]]()
    all_went_on = asyncio.Event()
    peers: list[socket.socket] = []
    rooms: list[tuple[bool, bool]] = []
    real = sslproto.SSLProtocol._do_handshake  # type: ignore[attr-defined]

    def turn() -> None:
        nonlocal turns
        turns += 1
        loop.call_soon(turn)

    def counted(tls: Any) -> None:
        if tls._incoming.pending:
            went_on.append((turns, tls._place.origin))
            rooms.append((handshakes.has_room("a crowd"), handshakes.has_room("elsewhere")))
            if len(went_on) == len(peers):
                all_went_on.set()
        real(tls)

    monkeypatch.setattr(sslproto.SSLProtocol, "_do_handshake", counted)
    handshakes, buffer = Handshakes(), bytearray(TLS_READ_BYTES)
    shaking = []
    for origin in (*["a crowd"] * (HANDSHAKES_WAITING_MAX + 2), "elsewhere"):
        accepted, peer = socket.socketpair()
        accepted.setblocking(False)
        peers.append(peer)
        place = Place(handshakes, origin, buffer)
        shaking.append(loop.create_task(shake_hands(Guest(), accepted, contexts[0], place)))
    await asyncio.sleep(0.05)  # until all are read from
    turn()
    for peer in peers:
        peer.sendall(client_hello())
    async with asyncio.timeout(SECONDS):
        await all_went_on.wait()
    assert len({at for at, _ in went_on}) == len(peers)
    assert "elsewhere" in [origin for _, origin in went_on[:2]]
    assert rooms[0] == (False, True)  # nobody else of the crowd is let in meanwhile
    assert rooms[-1] == (True, True)
    for task, peer in zip(shaking, peers, strict=True):
        task.cancel()
        peer.close()
    await asyncio.gather(*shaking, return_exceptions=True)


# --- Certificates of sessions that go on ----------------------------------------------------------


def with_clients(folder: Path) -> Contexts:
    """Both sides speak TLS 1.2, the server asks for certificates, and the peer has one."""
    ours = Authority(folder, "ours")
    issued, shown = ours.issue("localhost", server=True), ours.issue("feeder")
    server = TlsFiles(issued.certificate, issued.key, ours.path).context()
    client = ssl.create_default_context(cafile=str(ours.path))
    client.load_cert_chain(shown.certificate, shown.key)
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    return server, client


@pytest.mark.parametrize("days", [0, 2, -4])
async def test_a_session_that_goes_on_opens_nothing_once_its_certificate_has_expired(
    tmp_path: Path, days: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS 1.2 checks no certificate there, and looks at no clock."""
    contexts, buffer = with_clients(tmp_path), bytearray(TLS_READ_BYTES)
    async with joined(contexts, buffer, 0) as (_, peer):
        session = peer.session
    clock = SimpleNamespace(now=lambda zone: datetime.now(zone) + days * DAY)
    monkeypatch.setattr(handshakes_module, "datetime", clock)

    async def go_on() -> None:
        async with joined(contexts, buffer, 1, session) as (guest, peer):
            assert peer.session_reused
            await asyncio.to_thread(peer.sendall, b"x")
            await guest.has_all.wait()

    async with asyncio.timeout(SECONDS):
        if days:
            with pytest.raises(ssl.SSLCertVerificationError, match="not valid any more"):
                await go_on()
        else:
            await go_on()


# --- Goodbyes -------------------------------------------------------------------------------------


async def test_who_still_sends_is_told_why_it_ends(
    contexts: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it sends after our goodbye, before it has read that, is dropped and ends nothing."""
    monkeypatch.setattr(limits, "close_seconds", 2 * SECONDS)
    async with (
        joined(contexts, bytearray(TLS_READ_BYTES), 0) as (guest, peer),
        asyncio.timeout(SECONDS),
    ):
        assert guest.transport is not None
        guest.transport.write(b"farewell")
        guest.transport.close()
        await asyncio.to_thread(peer.sendall, bytes(4_000_000))
        assert not guest.is_over.is_set()
        assert await asyncio.to_thread(peer.recv, 1 << 16) == b"farewell"
        assert await asyncio.to_thread(peer.recv, 1 << 16) == b""
        await asyncio.to_thread(peer.unwrap)
        await guest.is_over.wait()
        assert not guest.came


async def test_who_waits_to_be_read_is_read_on_for_its_goodbye(
    contexts: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "close_seconds", 2 * SECONDS)
    async with (
        joined(contexts, bytearray(TLS_READ_BYTES), 0) as (guest, peer),
        asyncio.timeout(SECONDS),
    ):
        assert guest.transport is not None
        guest.transport.pause_reading()
        sending = asyncio.create_task(asyncio.to_thread(peer.sendall, bytes(4_000_000)))
        await asyncio.sleep(0.1)
        guest.transport.close()
        await sending
        assert await asyncio.to_thread(peer.recv, 1 << 16) == b""
        await asyncio.to_thread(peer.unwrap)
        await guest.is_over.wait()


async def test_a_peer_that_has_gone_shows_what_nobody_does(contexts: Contexts) -> None:
    async with joined(contexts, bytearray(TLS_READ_BYTES), 0) as (guest, _):
        assert guest.transport is not None
        assert Shown.by("token", guest.transport).token == digest_of("token")
        guest.transport.abort()
        await guest.is_over.wait()
        assert Shown.by("token", guest.transport) == Shown(digest_of(""))


# --- Records --------------------------------------------------------------------------------------


@asynccontextmanager
async def with_keys(
    contexts: Contexts, folder: Path, wanted: int = 0
) -> AsyncIterator[tuple[Guest, ssl.SSLSocket, KeyUpdates]]:
    """A guest, and its peer with what makes records by its keys."""
    contexts[1].keylog_filename = str(folder / "keys")
    async with joined(contexts, bytearray(TLS_READ_BYTES), wanted) as (guest, peer):
        yield guest, peer, KeyUpdates.of(peer, folder / "keys")


@pytest.mark.parametrize("ending", [False, True])
async def test_records_that_hold_nothing_end_a_connection(
    contexts: Contexts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, ending: bool
) -> None:
    """Before a goodbye, and after ours."""
    monkeypatch.setattr(limits, "close_seconds", 2 * SECONDS)
    async with (
        with_keys(contexts, tmp_path) as (guest, peer, keys),
        asyncio.timeout(SECONDS),
    ):
        if ending:
            assert guest.transport is not None
            guest.transport.close()
        sending = asyncio.to_thread(socket.socket.sendall, peer, keys.updates(5_000))
        with suppress(OSError):
            await sending
        await guest.is_over.wait()
        assert not guest.came


async def test_keys_may_change_now_and_then(
    contexts: Contexts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often in all, where enough lies between them; and nothing is lost in pieces."""
    monkeypatch.setattr(tls_records, "TLS_RECORDS_PER_EMPTY", 16)
    rounds, size, between = 5, 16_000, TLS_EMPTY_RECORDS_MAX * 8
    async with (
        with_keys(contexts, tmp_path, rounds * (between + size)) as (guest, peer, keys),
        asyncio.timeout(3 * SECONDS),
    ):
        for _ in range(rounds):
            sent = keys.updates(TLS_EMPTY_RECORDS_MAX // 2) + keys.records([bytes(size)])
            sent += keys.records([b"x"] * between)
            await asyncio.to_thread(socket.socket.sendall, peer, sent)
        await guest.has_all.wait()
        assert len(guest.came) == guest.wanted


async def test_few_short_records_are_read_at_once(contexts: Contexts, tmp_path: Path) -> None:
    """Each of them takes time, whatever it holds; long ones fill the buffer."""
    short = 5_000
    async with (
        with_keys(contexts, tmp_path, short) as (guest, peer, keys),
        asyncio.timeout(SECONDS),
    ):
        sent = keys.records([b"x"] * short)
        await asyncio.to_thread(socket.socket.sendall, peer, sent)
        await guest.has_all.wait()
        assert guest.longest <= 2 * TLS_READ_BYTES_MIN * short // len(sent)
        guest.wanted += 400_000
        guest.has_all.clear()
        await asyncio.to_thread(socket.socket.sendall, peer, keys.records([bytes(4_000)] * 100))
        await guest.has_all.wait()
        assert guest.longest > TLS_READ_BYTES_MIN * 4
