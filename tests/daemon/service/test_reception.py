"""Crowds that connect: who comes in beside idle, silent and restless peers, and what is logged.

Attackers are processes of their own. Times are compared with times at rest in the same run, with
much slack: the machine may be busy.
"""

import errno
import select
import signal
import socket
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from littled.limits import LOG_LINES_MAX
from littled_protocol.messages import Ping, Pong
from support.attacks import attacking, outcome
from support.serving import Peer, Serving, serving

pytestmark = pytest.mark.long

TOKEN = "0123456789abcdef" * 2
# So many more than asyncio lets wait by itself.
FLOOD = 800
ATTACK_SECONDS = 3.0
# A greeting may take so many times what it takes at rest, and at rest it counts as at least this.
SLOWER_TIMES_MAX = 50
GREETING_SECONDS_MIN = 0.02


@pytest.fixture(scope="module")
def daemon(module_store: Path) -> Iterator[Serving]:
    """One daemon for the tests of this module; it must survive them all."""
    with serving(module_store, tcp=["127.0.0.1", 0], token=TOKEN) as running:
        yield running
        assert running.stop() == 0
        assert [line for line in running.lines if line.get("level") != "info"] == []


def greeting_seconds(daemon: Serving, transport: str, count: int = 7) -> float:
    """How long a new client usually waits for its first answer."""
    seconds = []
    for _ in range(count):
        started = time.monotonic()
        address = daemon.unix if transport == "unix" else daemon.address("tcp")
        with Peer.greet(address, TOKEN if transport == "tcp" else None) as peer:
            peer.open("flights", "newcomer")
            seconds.append(time.monotonic() - started)
    return statistics.median(seconds)


@pytest.mark.long
@pytest.mark.parametrize("transport", ["unix", "tcp"])
@pytest.mark.parametrize(
    ("kind", "peers"),
    [("greet and be idle", 2000), ("connect and leave", 1), ("connect and be silent", 600)],
)
def test_a_new_client_comes_in_beside_a_crowd(
    daemon: Serving, transport: str, kind: str, peers: int
) -> None:
    at_rest = max(greeting_seconds(daemon, transport), GREETING_SECONDS_MIN)
    address = daemon.unix if transport == "unix" else daemon.address("tcp")
    with Peer.greet(daemon.unix) as settled:
        settled.open("flights", "settled")
        with attacking(kind, address, peers, ATTACK_SECONDS):
            time.sleep(0.5)  # until the crowd is there
            assert greeting_seconds(daemon, transport) < SLOWER_TIMES_MAX * at_rest
            settled.send(Ping(1))
            assert settled.expect(Pong)


@pytest.mark.parametrize("transport", ["unix", "tcp"])
def test_a_flood_of_connects_finds_a_place_in_line(store: Path, transport: str) -> None:
    with serving(store, tcp=["127.0.0.1", 0], token=TOKEN) as daemon, ExitStack() as stack:
        daemon.process.send_signal(signal.SIGSTOP)  # nobody is let in meanwhile
        stack.callback(daemon.process.send_signal, signal.SIGCONT)
        address = daemon.unix if transport == "unix" else daemon.address("tcp")
        peers = [stack.enter_context(hanging(address)) for _ in range(FLOOD)]
        assert all(is_connected(peer) for peer in peers)


def hanging(address: Path | tuple[str, int]) -> socket.socket:
    """A socket that tries to connect, without waiting; a full Unix queue refuses at once."""
    peer = socket.socket(socket.AF_UNIX if isinstance(address, Path) else socket.AF_INET)
    peer.setblocking(False)
    name = str(address) if isinstance(address, Path) else address
    if peer.connect_ex(name) not in (0, errno.EINPROGRESS):
        peer.close()
        pytest.fail("there is no place in the queue")
    return peer


def is_connected(peer: socket.socket) -> bool:
    """Whether it is within a second."""
    waiting = select.poll()
    waiting.register(peer, select.POLLOUT)
    return [event for _, event in waiting.poll(1000)] == [select.POLLOUT]


@pytest.mark.parametrize("kind", ["wrong first frames", "unknown streams", "ping and leave"])
def test_an_attack_writes_less_than_it_sends_and_is_counted(store: Path, kind: str) -> None:
    with serving(store) as daemon:
        with attacking(kind, daemon.unix, 20, 1.5) as attackers:
            sent = outcome(attackers)
        assert daemon.stop() == 0
    assert sent["connections"] > 5 * LOG_LINES_MAX
    assert len(daemon.text) < sent["sent_bytes"]
    told = Counter(line["event"] for line in daemon.lines)
    left_out = sum(line.get("left_out", 0) for line in daemon.lines)
    if kind != "ping and leave":  # who only leaves ends without a code
        assert told["session ended"] + left_out > sent["connections"] // 2
        assert told["session ended"] < sent["connections"] // 2
