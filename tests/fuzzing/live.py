"""Mutated frames over a real socket: `python -m fuzzing.live FIRST COUNT`, counted in frames.

A daemon of its own serves while peers greet it and then send what no client would. It ends each
with a code, stays up, stays small, and an honest producer beside them loses nothing.
"""

import contextlib
import random
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fuzzing.frames import mutated
from fuzzing.targets import starting_points
from littled_protocol.codec import encode_frame
from littled_protocol.messages import Hello, Open
from support.serving import Peer, PlacesFile, make_store, serving

# What the daemon may grow by: its buffers and caches, whatever comes.
GROWTH_BYTES_MAX = 256 << 20
FRAMES_A_PEER = 4
PEERS_A_CHECK = 50


def attack(path: Path, frames: list[bytes], *, greet: bool) -> None:
    """Send frames, and read until the daemon ends it or has nothing more to say."""
    with socket.socket(socket.AF_UNIX) as peer, contextlib.suppress(OSError):
        peer.settimeout(5)
        peer.connect(str(path))
        first = encode_frame(Hello(2, "peer")) + encode_frame(Open(0, "small", "x"))
        peer.sendall((first if greet else b"") + b"".join(frames))
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(1 << 16):
            pass


def inputs(first: int, count: int) -> Iterator[tuple[list[bytes], bool]]:
    """What each peer sends."""
    points = [each[2:] for each in starting_points() if each[0] == 0]
    for number in range(first, first + count, FRAMES_A_PEER):
        chance = random.Random(number)
        frames = [
            mutated(bytearray(chance.choice(points)), chance, points) for _ in range(FRAMES_A_PEER)
        ]
        yield frames, chance.random() < 0.9


def main(first: str = "0", count: str = "4000") -> int:
    """Run frames; the status is 1 if the daemon broke a promise."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        # Streams that frames name and the store does not have are those of another daemon.
        places = PlacesFile(Path(folder) / "places")
        places.say(net=["unix:/run/other.sock"], visits=[])
        store = make_store(Path(folder) / "store")
        daemon = stack.enter_context(serving(store, elsewhere=str(places.path)))
        honest = stack.enter_context(Peer.greet(daemon.unix))
        following = honest.open("flights", "honest").next_sequence
        at_first = daemon.resident_bytes()
        for number, (frames, greet) in enumerate(inputs(int(first), int(count))):
            attack(daemon.unix, frames, greet=greet)
            if number % PEERS_A_CHECK == 0:
                honest.feed(following, b"\x07\x09", b"\0\1")
                following += 2
                honest.acknowledged(following)
        growth = daemon.resident_bytes() - at_first
        honest.socket.close()
        status = daemon.stop()
        bad = [each for each in daemon.lines if each.get("level") in ("error", "critical")]
    if status or bad or growth > GROWTH_BYTES_MAX:
        print(f"status {status}, growth {growth:,} bytes, log {bad[:3]}\nfailing seed {first}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
