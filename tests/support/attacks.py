"""Peers that mean no good, in processes of their own: bounded in number and in time.

`python attacks.py KIND ADDRESS PEERS SECONDS` attacks a daemon on this machine over a Unix socket
or the loopback interface, and prints what it sent as JSON at the end.
"""

import contextlib
import functools
import json
import selectors
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgpack

from littled_protocol.codec import encode, encode_frame, frame
from littled_protocol.messages import Examples, Hello, Open, Ping, StatusRequest, Subscribe

Address = Path | tuple[str, int]
HELLO = encode_frame(Hello(1, "attacker/1"))
PEERS_MAX = 4000
SECONDS_MAX = 120.0


@dataclass(frozen=True, slots=True)
class Attack:
    """What every peer of an attack does.

    first: what it sends at once. awaits: what has to have come before it goes on. again: what it
    sends over and over after that, as fast as it is taken. reads: whether it takes answers.
    leaves_at: bytes received after which it leaves and comes back; None to stay. closes: whether it
    leaves at once and comes back. bytes_max: bytes sent after which it leaves and comes back.
    over_http: whether it is one of HTTP.
    """

    first: Callable[[int], bytes] = lambda _: HELLO
    awaits: bytes = b""
    again: bytes = b""
    reads: bool = True
    leaves_at: int | None = None
    closes: bool = False
    bytes_max: int | None = None
    over_http: bool = False


def _get(path: str, leaves_at: int | None = None) -> Attack:
    """Ask for a page of HTTP over and over: the daemon closes after each answer."""
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n"
    return Attack(first=lambda _: head.encode(), leaves_at=leaves_at, over_http=True)


def _partial(_number: int) -> bytes:
    """All of a frame of the greatest length but its last byte, after a greeting."""
    return HELLO + (2**20 - 4).to_bytes(4, "big") + bytes(2**20 - 5)


def _producer(number: int) -> bytes:
    return HELLO + encode_frame(Open(0, "flights", f"attacker-{number}"))


def _with_values(message: Ping | Examples) -> bytes:
    """The frame of a message with as many values as there may be, in a field that nobody knows."""
    fields = msgpack.unpackb(encode(message))
    return frame(msgpack.packb({**fields, "z": [[None] * 4096] * 31}))


def _catch_up(number: int) -> bytes:
    return HELLO + b"".join(
        encode_frame(Subscribe(f"{stream}/late", 0)) for stream in ("flights", "ids", "small")
    )


ATTACKS = {
    "ping": Attack(again=encode_frame(Ping(7)) * 500),
    "ping without reading": Attack(again=encode_frame(Ping(7)) * 500, reads=False),
    "status without reading": Attack(again=encode_frame(StatusRequest()) * 16, reads=False),
    "ask for status": Attack(again=encode_frame(StatusRequest())),
    "connect and leave": Attack(first=lambda _: b"", closes=True),
    "connect and be silent": Attack(first=lambda _: b""),
    "greet and leave": Attack(leaves_at=1),
    "greet and be idle": Attack(),
    "ping and leave": Attack(
        first=lambda _: HELLO + encode_frame(Ping(7)) * 4000, reads=False, bytes_max=80_000
    ),
    "wrong first frames": Attack(first=lambda _: b"GET / HTTP/1.1\r\n\r\n", leaves_at=1 << 30),
    "unknown streams": Attack(
        first=lambda _: HELLO + encode_frame(Open(0, "nowhere", "p")), leaves_at=1 << 30
    ),
    "open channels": Attack(
        first=lambda number: (
            HELLO
            + b"".join(encode_frame(Open(at, "flights", f"a-{number}-{at}")) for at in range(256))
        ),
    ),
    "unfinished frames": Attack(first=_partial),
    "many values": Attack(
        first=_producer, awaits=b"opened", again=_with_values(Examples(0, 0, 1, b"a", b"\0"))
    ),
    "pings of many values": Attack(again=_with_values(Ping(7))),
    "examples again": Attack(
        first=_producer,
        awaits=b"opened",
        again=b"".join(encode_frame(Examples(0, at, 1, b"a", b"\0")) for at in range(8000)),
    ),
    "catch up": Attack(first=_catch_up, leaves_at=4096),
    "HTTP health": _get("/healthz"),
    "HTTP status": _get("/status"),
    "HTTP metrics": _get("/metrics"),
    "HTTP events and leave": _get("/events", leaves_at=1),
    "HTTP events": _get("/events"),
    "HTTP page": _get("/"),
    "HTTP rule": _get("/rules/flights/late"),
}


@functools.cache
def client_hello() -> bytes:
    """What a client of TLS says first."""
    sent = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(
            ssl.MemoryBIO(), sent, server_hostname="localhost"
        ).do_handshake()
    return sent.read()


# At ports of HTTP, where a request is good for one connection, and of TLS.
OTHER_ATTACKS = {
    "begin a handshake": Attack(first=lambda _: client_hello(), leaves_at=1),
    "ask for health": Attack(first=lambda _: b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "ask for metrics": Attack(first=lambda _: b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"),
}


def connected(address: Address) -> socket.socket:
    """A socket on its way to a daemon, which does not wait for anything."""
    family = socket.AF_UNIX if isinstance(address, Path) else socket.AF_INET
    peer = socket.socket(family)
    peer.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        peer.connect(str(address) if isinstance(address, Path) else address)
    return peer


class Attackers:
    """Peers of one attack, in one loop."""

    def __init__(self, attack: Attack, address: Address, peers: int) -> None:
        """Begin without a connection."""
        self._attack, self._address = attack, address
        self._selector = selectors.DefaultSelector()
        self._waiting: dict[socket.socket, bytes] = {}
        self._received: dict[socket.socket, int] = {}
        self._sent: dict[socket.socket, int] = {}
        # Of those who wait for something, the end of what has come.
        self._awaiting: dict[socket.socket, bytes] = {}
        self._missing = list(range(peers))
        self._numbers: dict[socket.socket, int] = {}
        self.sent_bytes = self.received_bytes = self.connections = 0

    def run(self, seconds: float) -> None:
        """Attack for so long."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            for number in self._missing[:16]:
                self._missing.remove(number)
                self._connect(number)
            for key, events in self._selector.select(0 if self._missing else 0.05):
                self._serve(key.fileobj, events)  # type: ignore[arg-type]

    def _connect(self, number: int) -> None:
        try:
            peer = connected(self._address)
        except OSError:  # the queue is full
            self._missing.append(number)
            time.sleep(0.001)
            return
        self.connections += 1
        if self._attack.closes:
            peer.close()
            self._missing.append(number)
            return
        self._numbers[peer] = number
        self._waiting[peer] = self._attack.first(number)
        self._received[peer] = self._sent[peer] = 0
        if self._attack.awaits:
            self._awaiting[peer] = b""
        events = selectors.EVENT_WRITE | (selectors.EVENT_READ if self._attack.reads else 0)
        self._selector.register(peer, events)

    def _serve(self, peer: socket.socket, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                self._send(peer)
            if events & selectors.EVENT_READ and self._attack.reads and peer in self._numbers:
                data = peer.recv(1 << 16)
                self.received_bytes += len(data)
                self._received[peer] += len(data)
                self._look(peer, data)
                leaves_at = self._attack.leaves_at
                if not data or (leaves_at is not None and self._received[peer] >= leaves_at):
                    self._leave(peer)
        except BlockingIOError:
            return
        except OSError:
            self._leave(peer)

    def _look(self, peer: socket.socket, data: bytes) -> None:
        """Go on with an attack whose peer has what it waited for."""
        if peer in self._awaiting:
            self._awaiting[peer] += data
            if self._attack.awaits in self._awaiting[peer]:
                del self._awaiting[peer]
                self._selector.modify(peer, selectors.EVENT_READ | selectors.EVENT_WRITE)

    def _send(self, peer: socket.socket) -> None:
        again = b"" if peer in self._awaiting else self._attack.again
        data = self._waiting[peer] or again
        if data:
            sent = peer.send(data)
            self.sent_bytes += sent
            self._waiting[peer] = data[sent:]
            self._sent[peer] += sent
        if self._attack.bytes_max is not None and self._sent[peer] >= self._attack.bytes_max:
            self._leave(peer)
        elif not self._waiting[peer] and not again:
            self._selector.modify(peer, selectors.EVENT_READ if self._attack.reads else 0)

    def _leave(self, peer: socket.socket) -> None:
        self._selector.unregister(peer)
        self._missing.append(self._numbers.pop(peer))
        del self._waiting[peer], self._received[peer], self._sent[peer]
        self._awaiting.pop(peer, None)
        peer.close()


@contextlib.contextmanager
def attacking(
    kind: str, address: Address, peers: int, seconds: float, processes: int = 1
) -> Iterator[list[subprocess.Popen[str]]]:
    """An attack that is under way: in so many processes, killed at the end if need be."""
    assert kind in ATTACKS | OTHER_ATTACKS
    where = str(address) if isinstance(address, Path) else f"{address[0]}:{address[1]}"
    command = [sys.executable, __file__, kind, where, str(peers // processes), str(seconds)]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    try:
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
        yield running
    finally:
        for process in running:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def outcome(processes: Sequence[subprocess.Popen[str]]) -> dict[str, int]:
    """Wait for the end of an attack; return what it sent in all."""
    total: dict[str, int] = {}
    for process in processes:
        assert process.stdout is not None
        for name, value in json.loads(process.stdout.readline()).items():
            total[name] = total.get(name, 0) + value
    return total


def main(arguments: Sequence[str]) -> int:
    """Attack as the arguments say."""
    kind, where, peers, seconds = arguments
    host, _, port = where.rpartition(":")
    address: Address = (host, int(port)) if port.isdigit() else Path(where)
    attackers = Attackers((ATTACKS | OTHER_ATTACKS)[kind], address, min(int(peers), PEERS_MAX))
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    attackers.run(min(float(seconds), SECONDS_MAX))
    said = {
        "sent_bytes": attackers.sent_bytes,
        "received_bytes": attackers.received_bytes,
        "connections": attackers.connections,
    }
    sys.stdout.write(json.dumps(said) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
