"""HTTP connections over real sockets: silent, slow, deaf and talkative peers, and who watches."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from littled.limits import (
    HTTP_CONNECTIONS_MAX,
    HTTP_HEAD_BYTES_MAX,
    HTTP_READ_BYTES,
    HTTP_REQUEST_UNITS,
    HTTP_WAITING_MAX,
)
from littled.service import http_connections
from littled.service.access import Access, Gate
from littled.service.elsewhere import Nowhere
from littled.service.figures import Figures
from littled.service.http import HttpServer
from littled.service.http_connections import HttpConnection
from littled.service.reception import Newcomer
from littled.service.subscribers import Releases
from littled.service.turns import Making
from littled_protocol import limits
from support.certificates import Authority

WAIT_SECONDS = 20.0
HEALTHZ = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
STATUS = b"GET /status HTTP/1.1\r\nHost: a\r\n\r\n"
EVENTS = b"GET /rules/flights/late/events HTTP/1.1\r\nHost: a\r\n\r\n"
# Larger than what the kernel takes on the loopback interface for a peer that does not read.
PAGE_BYTES = 16 << 20


class Surface:
    """Public facts: a long status, and a learner without releases."""

    instance = "5" * 32

    def __init__(self) -> None:
        self.releases = Releases(["flights/late"], lambda _, _since: [])
        self.figures = Figures({})
        self.words: dict[str, Any] = {}
        self.page: dict[str, Any] = {"streams": {}}
        self.numbers = b"littled_connections 0.0\n"
        self.elsewhere = Nowhere()

    def healthy(self) -> bool:
        return True

    x_types: Mapping[str, str] = {}

    def status(self, streams: Sequence[str]) -> dict[str, Any]:
        return self.page

    def positions(self) -> dict[str, int]:
        return {}

    def metrics(self, accepted: str, sees: Callable[[str], bool]) -> Making[tuple[bytes, str]]:
        yield 1.0
        return self.numbers, "text/plain; version=0.0.4; charset=utf-8"

    @property
    def feeding(self) -> Any:
        raise AssertionError("nobody feeds")

    async def predict(self, asked: Any) -> Any:
        raise AssertionError("nobody asks")


class Site:
    """A server, and raw connections to it that stay open until the end of the test."""

    def __init__(self, server: HttpServer, surface: Surface, port: int) -> None:
        self.server, self.surface, self.port = server, surface, port
        self.stack = ExitStack()
        self._loop = asyncio.get_running_loop()

    async def connect(self, data: bytes = b"", receive_bytes: int | None = None) -> socket.socket:
        """A connection that has sent some bytes."""
        peer = self.stack.enter_context(socket.socket())
        if receive_bytes is not None:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        peer.setblocking(False)
        await self._loop.sock_connect(peer, ("127.0.0.1", self.port))
        await self._loop.sock_sendall(peer, data)
        return peer

    async def rest(self, peer: socket.socket) -> bytes:
        """What comes until the server closes the connection, in good order or not."""
        received = b""
        async with asyncio.timeout(WAIT_SECONDS):
            with suppress(ConnectionError):
                while data := await self._loop.sock_recv(peer, 1 << 16):
                    received += data
        return received

    async def follow(self) -> socket.socket:
        """A connection on which a stream of events has begun."""
        peer = await self.connect(EVENTS)
        async with asyncio.timeout(WAIT_SECONDS):
            assert b"200 OK" in await self._loop.sock_recv(peer, 1 << 16)
        return peer

    async def ask(self, data: bytes) -> bytes:
        """The answer, up to the end of the connection."""
        return await self.rest(await self.connect(data))

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not condition():  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(0.01)

    @property
    def connections(self) -> http_connections.HttpConnections:
        """What the server knows of its connections."""
        found = self.server._connections
        assert found is not None
        return found


@asynccontextmanager
async def running(tls: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    surface = Surface()
    server = HttpServer(surface, Gate(Access()), "littled/test")
    await server.start(listener, tls)
    site = Site(server, surface, listener.getsockname()[1])
    try:
        yield site
    finally:
        site.stack.close()
        await server.stop()
        listener.close()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with running() as made:
        yield made


async def is_well(site: Site) -> bool:
    answer = await site.ask(HEALTHZ)
    return answer.startswith(b"HTTP/1.1 200 OK") and answer.endswith(b"ok\n")


async def test_silent_connections_close_no_page(site: Site) -> None:
    """More than there are slots and waiting places together, some with half a request."""
    most = HTTP_WAITING_MAX + HTTP_CONNECTIONS_MAX + 50
    silent = [await site.connect(data) for data in (b"", b"GET /sta") * (most // 2)]
    assert await is_well(site)
    assert b"200 OK" in await site.ask(STATUS)
    for oldest in silent[: most - HTTP_WAITING_MAX - 2]:
        assert await site.rest(oldest) == b""
    assert len(site.connections.waiting) <= HTTP_WAITING_MAX


async def test_a_request_has_its_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connections, "HTTP_HEAD_SECONDS", 0.3)
    for data in (b"", HEALTHZ[:-2]):
        assert await site.rest(await site.connect(data)) == b""
    assert await is_well(site)


async def test_a_byte_now_and_then_does_not_extend_the_time(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connections, "HTTP_HEAD_SECONDS", 0.3)
    slow = await site.connect()

    async def drip() -> None:
        while True:
            await asyncio.get_running_loop().sock_sendall(slow, b"G")
            await asyncio.sleep(0.05)

    with pytest.raises(ConnectionError):
        await asyncio.wait_for(drip(), WAIT_SECONDS)


async def test_those_who_watch_have_slots_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connections, "HTTP_CONNECTIONS_MAX", 6)  # three for one origin
    monkeypatch.setattr(http_connections, "HTTP_LINE_SECONDS", 0.2)
    async with running() as site:
        for _ in range(3):
            await site.follow()
        full = await site.ask(STATUS)
        assert full.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After" in full
        assert await is_well(site)
        for target in (b"/metrics?a=1", b"http://a/metrics", b"http://a/metrics?a=/"):
            request = b"GET " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n"
            assert b"littled_connections" in await site.ask(request)
        for target in (b"http://a/status", b"http://metrics/", b"http:/metrics", b"metrics", b"*"):
            full = await site.ask(b"GET " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n")
            assert full.startswith(b"HTTP/1.1 503 ")


async def test_who_finds_no_slot_stands_in_line_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connections, "HTTP_CONNECTIONS_MAX", 4)  # two for one origin
    monkeypatch.setattr(http_connections, "HTTP_LINE_SECONDS", WAIT_SECONDS)
    async with running() as site:
        followers = [await site.follow() for _ in range(2)]
        asking = asyncio.ensure_future(site.ask(STATUS))
        await site.until(lambda: bool(site.connections.waiting))
        await asyncio.sleep(0.2)
        assert not asking.done()
        followers[0].close()
        assert b"200 OK" in await asking


async def test_a_request_that_waits_for_its_turn_is_not_late(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps its slot, is answered whole, and takes no memory for a long body."""
    monkeypatch.setattr(http_connections, "HTTP_HEAD_SECONDS", 0.2)
    monkeypatch.setattr(http_connections, "SWEEP_SECONDS", 0.05)
    waiting: list[tuple[Any, Any]] = []
    add = site.connections.turns.add
    monkeypatch.setattr(site.connections.turns, "add", lambda *each: waiting.append(each))
    asking = asyncio.ensure_future(site.ask(STATUS))
    gone = await site.connect(STATUS)
    talking = await site.connect(STATUS)
    await site.until(lambda: len(waiting) == 3)
    gone.close()
    with suppress(TimeoutError):
        async with asyncio.timeout(1):
            await asyncio.get_running_loop().sock_sendall(talking, b"a" * PAGE_BYTES)
    slots = site.connections.slots[False]
    held = [len(each._head) for each in slots if isinstance(each, HttpConnection)]
    assert len(held) >= 2
    assert max(held) < HTTP_HEAD_BYTES_MAX + (1 << 18)
    assert not asking.done()
    for each in waiting:
        add(*each)
    assert b"200 OK" in await asking


async def test_who_watches_and_does_not_read_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connections, "HTTP_WATCH_CONNECTIONS_MAX", 4)  # two for one origin
    async with running() as site:
        site.surface.numbers = b"a" * PAGE_BYTES
        for _ in range(4):
            await site.connect(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", receive_bytes=4096)
        await site.until(lambda: len(site.connections.slots[True]) == 2)
        monkeypatch.setattr(limits, "send_seconds", 0.3)
        await site.until(lambda: not site.connections.slots[True])
        assert await is_well(site)


async def test_a_peer_that_does_not_read_loses_its_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connections, "HTTP_CONNECTIONS_MAX", 4)  # two for one origin
    monkeypatch.setattr(http_connections, "HTTP_LINE_SECONDS", 0.2)
    monkeypatch.setattr(limits, "send_seconds", 2.0)
    async with running() as site:
        site.surface.page = {"streams": {}, "text": "a" * PAGE_BYTES}
        for _ in range(2):
            await site.connect(STATUS, receive_bytes=4096)
        await site.until(lambda: len(site.connections.slots[False]) == 2)
        assert (await site.ask(STATUS)).startswith(b"HTTP/1.1 503 ")
        assert await is_well(site)
        await site.until(lambda: not site.connections.slots[False])
        site.surface.page = {"streams": {}}
        assert b"200 OK" in await site.ask(STATUS)


def both_contexts(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Of the server, and of its peers."""
    ours = Authority(folder, "ours")
    issued = ours.issue("localhost", server=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(issued.certificate, issued.key)
    return tls, ssl.create_default_context(cafile=str(ours.path))


async def secret_peer(
    site: Site, client: ssl.SSLContext, data: bytes, receive_bytes: int | None = None
) -> ssl.SSLSocket:
    """A connection with TLS that blocks, and has sent some bytes."""
    plain = await site.connect(receive_bytes=receive_bytes)
    plain.settimeout(WAIT_SECONDS)
    wrap = partial(client.wrap_socket, plain, server_hostname="localhost")
    peer = site.stack.enter_context(await asyncio.to_thread(wrap))
    peer.sendall(data)
    return peer


async def test_who_found_no_slot_and_says_no_goodbye_counts_and_makes_room(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With TLS, where the connection is open until then, but no longer than for its request."""
    for name, value in {
        "HTTP_CONNECTIONS_MAX": 2,  # one for one origin
        "HTTP_WAITING_MAX": 2,
        "HTTP_LINE_SECONDS": 0.1,
        "HTTP_HEAD_SECONDS": 600.0,
        "SWEEP_SECONDS": 0.05,
    }.items():
        monkeypatch.setattr(http_connections, name, value)
    monkeypatch.setattr(limits, "close_seconds", 600.0)
    tls, client = both_contexts(tmp_path)
    async with running(tls) as site:
        follower = await secret_peer(site, client, EVENTS)
        assert b"200 OK" in await asyncio.to_thread(follower.recv, 1 << 16)
        refused = await secret_peer(site, client, STATUS)
        assert b" 503 " in await asyncio.to_thread(refused.recv, 1 << 16)
        (waiting,) = site.connections.waiting
        assert waiting.is_answered
        assert len(site.connections._admission) == 1
        await secret_peer(site, client, STATUS)
        await site.until(lambda: waiting not in site.connections.waiting)
        await site.until(lambda: waiting._transport is None)
        for each in site.connections.waiting:
            each._since -= 601.0
        await site.until(lambda: not site.connections.waiting)


async def test_a_peer_with_tls_that_does_not_read_and_says_goodbye_loses_its_slot(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What it does not take is in the transport beneath, which is closing."""
    monkeypatch.setattr(http_connections, "SWEEP_SECONDS", 0.05)
    monkeypatch.setattr(limits, "send_seconds", 0.3)
    tls, client = both_contexts(tmp_path)
    async with running(tls) as site:
        peer = await secret_peer(site, client, EVENTS, receive_bytes=4096)
        assert b"200 OK" in await asyncio.to_thread(peer.recv, 1 << 16)
        peer.setblocking(False)
        slots = site.connections.slots[False]
        (connection,) = slots
        transport: Any = cast("HttpConnection", connection)._transport
        beneath = transport._ssl_protocol._transport
        while beneath.get_write_buffer_size() < 30_000:  # and no more than is taken beneath
            transport.write(bytes(8192))
            await asyncio.sleep(0)
        with suppress(OSError):
            peer.unwrap()
        await site.until(lambda: not slots)
        accepted = beneath.get_extra_info("socket")
        await site.until(lambda: accepted.fileno() == -1)


async def test_a_connection_that_fails_does_not_keep_the_others(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connections, "HTTP_HEAD_SECONDS", 0.3)
    check_time, failed = HttpConnection.check_time, list[HttpConnection]()

    def broken(connection: HttpConnection, now: float) -> None:
        if not failed or failed == [connection]:
            failed.append(connection)
            raise AttributeError("it is broken")
        check_time(connection, now)

    monkeypatch.setattr(HttpConnection, "check_time", broken)
    for _ in range(2):
        assert await site.rest(await site.connect(HEALTHZ[:-2])) == b""
    assert len(failed) == 1
    assert await is_well(site)


async def test_a_newcomer_that_fails_does_not_keep_the_others(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    reception = site.connections._reception
    make, failed = reception._make, list[Newcomer]()

    def broken(newcomer: Newcomer) -> Any:
        if not failed:
            failed.append(newcomer)
            raise AttributeError("it is broken")
        return make(newcomer)

    monkeypatch.setattr(reception, "_make", broken)
    with suppress(ConnectionError):
        assert await site.rest(await site.connect(HEALTHZ)) == b""
    assert len(failed) == 1
    assert await is_well(site)


async def test_a_head_has_its_length(site: Site) -> None:
    long = b"GET /status HTTP/1.1\r\n" + b"A: b\r\n" * 3000
    for data in (long, long + b"\r\n"):
        assert (await site.ask(data)).startswith(b"HTTP/1.1 431 ")
    assert await is_well(site)


async def test_request_after_request_is_sent_in_vain(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A peer that follows releases and goes on asking is cut off, whatever waits in memory."""
    monkeypatch.setattr(http_connections, "HTTP_REQUEST_BYTES_MAX", 50_000)
    peer = await site.follow()
    with suppress(ConnectionError):
        await asyncio.get_running_loop().sock_sendall(peer, STATUS * 2_000)
    assert b"200 OK" not in await site.rest(peer)
    await site.until(lambda: not site.connections.slots[False])
    assert await is_well(site)


async def test_a_stop_does_not_wait_for_silent_peers() -> None:
    async with running() as site:
        silent = await site.connect(b"GET /")
        await site.until(lambda: bool(site.connections.waiting))
        await asyncio.wait_for(site.server.stop(), limits.close_seconds + WAIT_SECONDS)
        assert await site.rest(silent) == b""


async def test_who_hangs_up_before_the_answer_begins_is_no_error_of_the_daemons(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What the answer to a peer that is there goes wrong with still is one."""

    def gone(_releases: Releases, _learner: str) -> bool:
        for connection in site.connections._answering.values():
            assert connection._transport is not None
            connection._transport.abort()
        return True

    with monkeypatch.context() as patched:
        patched.setattr(Releases, "__contains__", gone)
        assert await site.ask(EVENTS) == b""
        await site.until(lambda: not site.connections.slots[False])
    assert caplog.records == []
    monkeypatch.setattr(site.surface, "status", lambda _: 1 / 0)
    assert b" 500 " in await site.ask(STATUS)
    assert len(caplog.records) == 1


async def test_who_hangs_up_leaves_nothing_behind(site: Site) -> None:
    for data in (b"", b"GET", EVENTS):
        (await site.connect(data)).close()
    known = site.connections
    await site.until(lambda: not known.waiting and not any(known.slots.values()))


@pytest.mark.parametrize(
    "first", [b"\x00\x00\x00\x17\x82\xa4type", b"\x16\x03\x01\x02\x00", b"\r\n"]
)
async def test_who_does_not_speak_http_is_told_at_once(site: Site, first: bytes) -> None:
    answer = await site.ask(first)
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert answer.endswith(b"clients of littled need the address of --unix or --tcp.\n")


# --- What follows a head --------------------------------------------------------------------------

CHUNKS = b"1\r\nx\r\n"


def passed_on(site: Site, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of what those who read requests are given."""
    given: list[int] = []
    made = site.connections.answer

    def answer() -> asyncio.Protocol:
        reader = made()
        taken = reader.data_received

        class Watched:
            def data_received(self, data: bytes) -> None:
                given.append(len(data))
                taken(data)

            def __getattr__(self, name: str) -> Any:
                return getattr(reader, name)

        return cast("asyncio.Protocol", Watched())

    monkeypatch.setattr(site.connections, "answer", answer)
    return given


async def test_nothing_is_passed_on_behind_a_head_that_has_no_body(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many pieces come with it: they would all be read in one go."""
    given = passed_on(site, monkeypatch)
    for path in (b"/healthz", b"/status", b"/feed/flights?producer=p", b"/predict"):
        head = b"GET " + path + b" HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        peer = await site.connect()
        given.clear()
        with suppress(ConnectionError):
            await asyncio.get_running_loop().sock_sendall(peer, head + CHUNKS * 43_000)
        assert (await site.rest(peer)).startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 405 "))
        assert given == [len(head)]
    assert await is_well(site)


async def test_a_body_is_passed_on_a_little_in_each_turn(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = passed_on(site, monkeypatch)
    head = b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    head += b"Transfer-Encoding: chunked\r\n\r\n"
    body = (b"9\r\n" + b" " * 9 + b"\r\n") * 6_000 + b"0\r\n\r\n"
    for first, rest in ((head + body, b""), (head, body)):
        given.clear()
        peer = await site.connect(first)
        await site.until(lambda: bool(given))
        await asyncio.get_running_loop().sock_sendall(peer, rest)
        assert (await site.rest(peer)).startswith(b"HTTP/1.1 4")
    assert max(given) <= HTTP_READ_BYTES
    assert sum(given) >= len(body) // 2


async def test_what_is_sent_in_vain_is_charged(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what nobody of us refuses, but the library that reads requests.

    It may answer once it has had one piece of a body.
    """
    charged: list[float] = []
    turns = site.connections.turns
    monkeypatch.setattr(turns, "charge", lambda _origin, units: charged.append(units))
    head = b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    length = HTTP_READ_BYTES + 4_000
    for data, least in (
        (head + b"Content-Length: %d\r\n\r\n" % length + b"[" * length, HTTP_READ_BYTES / 10),
        (b"POST /feed/x HTTP/1.1\r\nHost: a\r\n\r\n", 0),
        (b"POST /feed/x HTTP/1.1\r\nno header\r\n\r\n", 0),
        (b"POST /feed/x NO/1\r\n\r\n", 0),
    ):
        charged.clear()
        assert b" 4" in (await site.ask(data)).partition(b"\r\n")[0]
        await site.until(lambda: bool(charged))
        (units,) = charged
        assert units >= HTTP_REQUEST_UNITS + least
    charged.clear()
    for path in (b"/feed/x?producer=p", b"/predict", b"/healthz"):
        await site.ask(b"GET " + path + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    assert charged == []


async def test_only_a_request_with_a_body_comes_before_others(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    first: list[str] = []
    turns = site.connections.turns
    add = turns.add_feeding

    def watched(origin: str, begin: Callable[[], int]) -> None:
        first.append(origin)
        add(origin, begin)

    monkeypatch.setattr(turns, "add_feeding", watched)
    for method in (b"GET", b"HEAD", b"PUT", b"post"):
        await site.ask(method + b" /feed/x?producer=p HTTP/1.1\r\nHost: a\r\n\r\n")
    assert first == []
    await site.ask(b"POST /feed/x HTTP/1.1\r\nHost: a\r\n\r\n")
    assert first == ["127.0.0.0/8"]
