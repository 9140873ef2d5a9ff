"""Limits over all peers together, over real sockets: users, unsent bytes."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from littled_protocol.codec import encode_frame
from littled_protocol.messages import Hello, Open, Ping, Pong, Release, Welcome
from support.serving import Peer, make_store, serving

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
