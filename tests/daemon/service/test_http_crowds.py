"""Crowds at the HTTP port, over real sockets: whoever holds or loops on a page closes it to nobody.

Attackers are processes of their own. Where a second origin is needed, each loopback address is made
one.
"""

import json
import select
import socket
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from littled.limits import (
    HTTP_EVENT_STREAMS_MAX,
    HTTP_FEEDS_MAX,
    HTTP_LINE_SECONDS,
    HTTP_QUESTIONS_MAX,
)
from support.attacks import attacking
from support.predictions import STREAM, make_store
from support.serving import make_store as make_plain_store
from support.serving import serving

pytestmark = pytest.mark.long

APART = {"littled.service.listeners.ORIGIN_LOOPBACK_BITS": 32}
CROWD, HONEST = "127.0.0.1", "127.0.0.2"
LOOPS = 64
PROBES = 15
# Whoever is told nothing for so long is not refused.
QUIET_SECONDS = 1.0


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def post(path: str, body: bytes, length: int | None = None) -> bytes:
    """A request with a body, which may be announced to be longer than it is."""
    length = len(body) if length is None else length
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {length}\r\n\r\n".encode() + body


def sent(address: tuple[str, int], data: bytes, source: str) -> socket.socket:
    """A connection from an address of this machine, on which something was sent."""
    peer = socket.create_connection(address, 10, source_address=(source, 0))
    peer.sendall(data)
    return peer


def status_of(peer: socket.socket) -> int:
    return int(peer.recv(1 << 12)[9:12])


def answer(address: tuple[str, int], data: bytes, source: str) -> int:
    with sent(address, data, source) as peer:
        return status_of(peer)


@pytest.mark.parametrize("source", [CROWD, HONEST])
@pytest.mark.parametrize("kind", ["ask for health", "ask for metrics"])
def test_a_probe_is_answered_beside_a_crowd_that_asks(
    tmp_path: Path, kind: str, source: str
) -> None:
    """A liveness probe that is refused ends the daemon."""
    with serving(
        make_plain_store(tmp_path / "store"), http=["127.0.0.1", 0], limits=APART
    ) as daemon:
        address = daemon.address("http")
        with attacking(kind, address, LOOPS, 60.0):
            got = Counter(
                answer(address, get(path), source)
                for path in ("/healthz", "/metrics")
                for _ in range(PROBES)
            )
        assert got == {200: 2 * PROBES}
        assert daemon.stop() == 0


def test_one_origin_holds_a_part_of_what_lasts(tmp_path: Path) -> None:
    """Endless streams of events, and bodies that do not come."""
    events = get(f"/rules/{STREAM}/late/events")
    question = json.dumps({"learner": f"{STREAM}/near", "x": [1]}).encode()
    feed = f"/feed/{STREAM}?sequence=0&producer="
    with (
        serving(make_store(tmp_path / "store"), http=["127.0.0.1", 0], limits=APART) as daemon,
        ExitStack() as peers,
    ):
        address = daemon.address("http")

        def crowd(data: bytes, count: int) -> Counter[int]:
            """Ask so often, and hold on; return what those were told who were told anything."""
            held = [peers.enter_context(sent(address, data, CROWD)) for _ in range(count)]
            assert answer(address, get("/status"), CROWD) == 200  # so all of them are in by now
            told = Counter[int]()
            while ready := select.select(held, [], [], QUIET_SECONDS)[0]:
                told += Counter(map(status_of, ready))
                held = [peer for peer in held if peer not in ready]
            return told

        most = HTTP_EVENT_STREAMS_MAX
        assert crowd(events, most) == {200: most // 2, 503: most // 2}
        assert answer(address, events, HONEST) == 200

        refused = crowd(post("/predict", b"{", 500), HTTP_QUESTIONS_MAX)
        assert refused == {503: HTTP_QUESTIONS_MAX // 2}
        assert answer(address, post("/predict", question), CROWD) == 503
        # There is nothing to answer from yet, which who is let in is told.
        assert answer(address, post("/predict", question), HONEST) == 409

        refused = crowd(post(f"{feed}crowd", b"[", 500), HTTP_FEEDS_MAX)
        assert refused == {503: HTTP_FEEDS_MAX // 2}
        assert answer(address, post(f"{feed}crowd", b"[[1,1]]"), CROWD) == 503
        assert answer(address, post(f"{feed}honest", b"[[1,1]]"), HONEST) == 200

        for path in ("/status", "/healthz", "/metrics"):
            for source in (CROWD, HONEST):
                assert answer(address, get(path), source) == 200
        assert daemon.stop() == 0


def test_one_origin_has_half_of_the_slots(tmp_path: Path) -> None:
    """And stands in line for no more; who comes from elsewhere has one at once."""
    limits = APART | {"littled.service.http_connections.HTTP_CONNECTIONS_MAX": 8}
    with (
        serving(make_store(tmp_path / "store"), http=["127.0.0.1", 0], limits=limits) as daemon,
        ExitStack() as peers,
    ):
        address = daemon.address("http")
        events = get(f"/rules/{STREAM}/late/events")
        held = [peers.enter_context(sent(address, events, CROWD)) for _ in range(12)]
        assert Counter(map(status_of, held)) == {200: 4, 503: 8}
        for _ in range(4):
            peer = peers.enter_context(sent(address, events, HONEST))
            peer.settimeout(HTTP_LINE_SECONDS)  # who stands in line waits for longer
            assert status_of(peer) == 200
        assert daemon.stop() == 0
