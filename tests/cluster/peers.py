"""Producers and subscribers of a cluster's daemons, as a process of their own.

    python -m cluster.peers feed FOLDER NAME SOCKET...
    python -m cluster.peers watch FOLDER NAME SOCKET...

What they are told they write down, a line each, before they go on:

    told NUMBER PLACE  where the producer goes on, when a channel is opened, and in its source
    sent FIRST END     a batch
    acked END          an acknowledgement
    shown VERSION HEX  a release
"""

import sys
import threading
import time
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import TextIO

from littled_protocol.codec import encode
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import Ack, Examples, Open, Opened, Release
from support import serving
from support.serving import Peer

STREAM, LEARNER = "flights", "flights/late"
BATCH = 400
AHEAD = 3
PAUSE_SECONDS = 0.1
# So many examples of a producer follow one rule; then it is another one.
RULE_EXAMPLES = 4_000
# A batch in so many has no place of its source: that is stored in another way.
WITHOUT_PLACE = 3
ANSWER_SECONDS = 5.0  # a daemon that is frozen does not answer


def columns(name: str, first: int, count: int) -> tuple[bytes, bytes]:
    """The examples of a producer from a number on, which depend on nothing else."""
    numbers = range(first, first + count)
    start = sum(name.encode())
    x = bytes((start + number) * 97 % 256 for number in numbers)
    y = bytes(
        value >= 24 + 53 * (number // RULE_EXAMPLES) % 200
        for number, value in zip(numbers, x, strict=True)
    )
    return x, y


def has_place(first: int) -> bool:
    """Whether the batch that begins with this number says where its source is behind it."""
    return first // BATCH % WITHOUT_PLACE != 0


class Notes:
    """Lines in a file, each there before the next thing is done."""

    def __init__(self, path: Path) -> None:
        self._file: TextIO = path.open("a", encoding="ascii")

    def note(self, *words: object) -> None:
        """Add a line."""
        self._file.write(" ".join(map(str, words)) + "\n")
        self._file.flush()


def feed(notes: Notes, name: str, socket: Path) -> None:
    """Feed one daemon until it is gone."""
    with Peer.greet(socket) as peer:
        peer.send(Open(0, STREAM, name, resumes=True))
        opened: Opened = peer.expect(Opened)
        following = opened.next_sequence
        notes.note("told", following, int(opened.resume or b"0"))
        underway: list[int] = []
        while True:
            x, y = columns(name, following, BATCH)
            notes.note("sent", following, following + BATCH)
            first, following = following, following + BATCH
            place = b"%d" % following if has_place(first) else None
            peer.send(Examples(0, first, BATCH, x, y, resume=place))
            underway.append(following)
            while len(underway) >= AHEAD:
                message = peer.receive()
                if not isinstance(message, Ack):
                    return
                notes.note("acked", message.next_sequence)
                underway = [end for end in underway if end > message.next_sequence]
            time.sleep(PAUSE_SECONDS)


def watch(notes: Notes, _: str, socket: Path) -> None:
    """Write down whatever one daemon shows until it is gone."""
    with Peer.greet(socket) as peer:
        peer.subscribe(LEARNER)
        while (message := peer.receive()) is not None:
            if isinstance(message, Release):
                notes.note("shown", message.version, encode(message).hex())


def _on_and_on(what: str, folder: Path, name: str, sockets: list[Path]) -> None:
    notes = Notes(folder / f"{what}-{name}")
    for socket in cycle(sockets):
        # One that is not there, ends, or hangs: the next one then.
        with suppress(OSError, AssertionError, ProtocolError):
            (feed if what == "feed" else watch)(notes, name, socket)
        time.sleep(PAUSE_SECONDS)


def main(what: str, folder: str, *names: str) -> None:
    """One thread for each producer, or for each daemon that is watched; until the process ends.

    names: of producers, or the numbers of daemons, then "at", then sockets.
    """
    serving.WAIT_SECONDS = ANSWER_SECONDS
    at = names.index("at")
    sockets = [Path(each) for each in names[at + 1 :]]
    for number, name in enumerate(names[:at]):
        own = sockets if what == "feed" else [sockets[number]]
        threading.Thread(target=_on_and_on, args=(what, Path(folder), name, own)).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
