"""Limits over all peers together, over real sockets: users, addresses, unsent and unread bytes."""

import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from littled.limits import ALLOWANCE_UNITS_MAX
from littled_protocol.codec import encode_frame
from littled_protocol.messages import Examples, Hello, Open, Ping, Pong, Release, Welcome
from support.certificates import Authority
from support.serving import Peer, make_store, raw, serving

pytestmark = pytest.mark.long

CONNECTIONS = 16
OF_ONE_USER = 8
OTHER_USER = 12345
# Connects as another user so often, opens a channel each time and keeps it, and says what came.
CONNECT = """
import json, os, socket, sys
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
peers = []
for first in json.loads(sys.argv[3]):
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(sys.argv[2])
    peer.settimeout(30)
    peer.sendall(bytes.fromhex(first))
    data = b""
    while b"opened" not in data and b"error" not in data:
        data += peer.recv(1 << 16)
    peers.append(peer)
    print("opened" if b"opened" in data else "refused" if b"limit_exceeded" in data else "?")
sys.stdout.flush()
sys.stdin.read()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_each_user_has_a_share_of_the_connections(open_folder: Path) -> None:
    store = make_store(open_folder / "store")
    limits = {"littled.service.admission.CONNECTIONS_MAX": CONNECTIONS}
    opens = [
        (encode_frame(Hello(1, "other/1")) + encode_frame(Open(0, "flights", f"b-{number}"))).hex()
        for number in range(OF_ONE_USER + 1)
    ]
    with serving(store, limits=limits) as daemon, ExitStack() as peers:
        daemon.unix.chmod(0o666)
        ours = [peers.enter_context(Peer.greet(daemon.unix)) for _ in range(OF_ONE_USER)]
        for number, peer in enumerate(ours):
            peer.open("flights", f"a-{number}")
        with Peer.connect(daemon.unix) as more:
            more.send(Hello(1, "peer/1"))
            assert more.error() == "limit_exceeded"
        command = [sys.executable, "-c", CONNECT, str(OTHER_USER), str(daemon.unix)]
        with subprocess.Popen(
            [*command, json.dumps(opens)], stdin=-1, stdout=-1, text=True
        ) as other:
            assert other.stdout is not None
            said = [other.stdout.readline().strip() for _ in opens]
            assert said == ["opened"] * OF_ONE_USER + ["refused"]
            for peer in ours:  # nobody had to make room for another user
                peer.send(Ping(1))
                assert peer.expect(Pong)
            other.communicate()
        assert daemon.stop() == 0


def test_the_loopback_interface_has_the_share_of_one_origin(store: Path) -> None:
    """Of its sixteen million addresses; who subscribes and is silent never makes room."""
    limits = {"littled.service.admission.CONNECTIONS_MAX": CONNECTIONS}
    with serving(store, tcp=["127.0.0.1", 0], limits=limits) as daemon, ExitStack() as peers:

        def subscriber(number: int) -> Peer:
            source = f"127.0.0.{2 + number}", 0
            plain = socket.create_connection(daemon.address("tcp"), 60, source_address=source)
            peer = peers.enter_context(Peer(plain))
            peer.send(Hello(1, "peer/1"))
            return peer

        for number in range(OF_ONE_USER):
            peer = subscriber(number)
            assert peer.expect(Welcome)
            peer.subscribe("flights/late")
            assert peer.expect(Release)
        assert subscriber(OF_ONE_USER).error() == "limit_exceeded"
        for _ in range(CONNECTIONS - OF_ONE_USER):  # the others are for others
            peer = peers.enter_context(Peer.greet(daemon.unix))
            peer.open("flights", "unix")
        assert daemon.stop() == 0


# Peers that send all of a frame of the greatest length but its last byte, and what they may take:
# 64 MiB for what was sent, and for each of them a session and what TLS keeps.
UNFINISHED = 400
UNFINISHED_SECONDS = 2.0
SEND_SECONDS = 0.2
UNFINISHED_BYTES = (64 << 20) + UNFINISHED * (64 << 10)


@pytest.mark.parametrize("secret", [False, True])
def test_unfinished_frames_of_all_peers_have_their_place(tmp_path: Path, secret: bool) -> None:
    ours = Authority(tmp_path, "ours")
    server = ours.issue("localhost", server=True)
    context = ssl.create_default_context(cafile=ours.path)
    tls = {"tls": {"certificate": str(server.certificate), "key": str(server.key)}}
    store = make_store(tmp_path / "store")
    with (
        serving(store, tcp=["127.0.0.1", 0], **(tls if secret else {})) as daemon,
        ExitStack() as peers,
    ):

        def greeted() -> socket.socket:
            peer = socket.create_connection(daemon.address("tcp"), 60)
            if secret:
                peer = context.wrap_socket(peer, server_hostname="localhost")
            peers.enter_context(peer).sendall(encode_frame(Hello(1, "peer/1")))
            return peer

        greeted()
        before = daemon.resident_bytes()
        crowd = [greeted() for _ in range(UNFINISHED)]
        senders = [threading.Thread(target=send_almost_all, args=(peer,)) for peer in crowd]
        for sender in senders:
            sender.start()
        most, ends = 0, time.monotonic() + UNFINISHED_SECONDS
        while time.monotonic() < ends:
            most = max(most, daemon.resident_bytes() - before)
            time.sleep(0.02)
        for sender in senders:
            sender.join()
        assert most < UNFINISHED_BYTES
        assert daemon.stop() == 0


def send_almost_all(peer: socket.socket) -> None:
    """Send what is taken in a moment."""
    peer.settimeout(SEND_SECONDS)
    with suppress(OSError):
        peer.sendall((2**20 - 4).to_bytes(4, "big") + bytes(2**20 - 5))


def test_a_length_beyond_all_limits_keeps_no_long_frame_waiting(tmp_path: Path) -> None:
    """Who has spent its allowance is judged later; until then its claim counts for nothing."""
    store = make_store(tmp_path / "store")
    with serving(store, tcp=["127.0.0.1", 0]) as daemon, ExitStack() as peers:
        honest = peers.enter_context(Peer.greet(daemon.unix))
        honest.open("ids", "honest")
        long = encode_frame(Examples(0, 0, 15_000, bytes(8 * 15_000), bytes(15_000)))
        crowd = [peers.enter_context(Peer.greet(daemon.address("tcp"))) for _ in range(8)]
        # It is overdrawn by so much that it takes two seconds to come back.
        overdraws = raw(type="ping", nonce=7, z=bytes(16_000))
        spends = encode_frame(Ping(7)) * (ALLOWANCE_UNITS_MAX - 1) + overdraws
        for peer in crowd:
            peer.write(spends + b"\xff" * 4)
        for peer in crowd:
            assert [peer.expect(Pong) for _ in range(ALLOWANCE_UNITS_MAX)]
        honest.write(long[:-1])
        time.sleep(0.1)  # so that it comes in two parts
        honest.write(long[-1:])
        honest.connection.send(Examples(0, 0, 15_000, bytes(8 * 15_000), bytes(15_000)))
        assert honest.acknowledged(15_000)
        assert not all(answered_with_an_error(peer) for peer in crowd)
        for peer in crowd:
            assert b"error" in peer.received or peer.error() == "frame_too_large"
        assert daemon.stop() == 0


def answered_with_an_error(peer: Peer) -> bool:
    """Whether an error has come by now."""
    peer.socket.setblocking(False)
    try:
        peer.take()
    except BlockingIOError:
        pass
    finally:
        peer.socket.settimeout(30.0)
    return b"error" in peer.received


def test_newcomers_who_say_nothing_make_room_for_others(store: Path) -> None:
    limits = {"littled.service.reception.LOBBY_MAX": 8}
    with serving(store, limits=limits) as daemon, ExitStack() as peers:
        silent = [peers.enter_context(Peer.connect(daemon.unix)) for _ in range(12)]
        for peer in silent:
            peer.socket.settimeout(5.0)  # far less than a newcomer may take to greet
            peer.connection.send(Hello(1, "peer/1"))
        for peer in silent[:4]:
            assert peer.error() == "limit_exceeded"
        for peer in silent[4:]:
            peer.write(encode_frame(Hello(1, "peer/1")))
            assert peer.expect(Welcome)
        assert daemon.stop() == 0


def test_unsent_bytes_of_all_peers_are_limited_together(store: Path) -> None:
    """No peer is slow enough to be dropped alone: some 330 KB wait for each."""
    limits = {
        "littled.service.sessions.UNSENT_BYTES_MAX": 2 << 20,
        "littled_protocol.limits.send_seconds": 600.0,  # after which each would be dropped anyway
    }
    with serving(store, engine="chatty", limits=limits) as daemon, ExitStack() as peers:
        quick = peers.enter_context(Peer.greet(daemon.unix))
        feeder = peers.enter_context(Peer.greet(daemon.unix))
        quick.subscribe("ids/late")
        assert quick.expect(Release).version == 1
        feeder.open("ids", "feeder")
        for _ in range(16):
            peers.enter_context(Peer.greet(daemon.unix)).subscribe("ids/late")
        for number in range(20):
            feeder.feed(number, bytes(8), b"\0")
            feeder.acknowledged(number + 1)
            assert quick.expect(Release).version == number + 2
        daemon.wait_for("session ended")
        ended = [each["code"] for each in daemon.lines if each["event"] == "session ended"]
        assert set(ended) == {"slow_subscriber"}
        assert 1 <= len(ended) <= 14  # those for whom there is room may stay
        quick.send(Ping(1))
        assert quick.expect(Pong)
        assert daemon.stop() == 0
