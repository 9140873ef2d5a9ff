"""Subscribers that keep what a daemon shows them, for tests that stop and freeze daemons."""

import fcntl
import termios
import threading
import time
from pathlib import Path
from typing import Self

from littled_protocol.codec import encode
from littled_protocol.messages import Release
from support.serving import Peer

SECONDS_MAX = 60.0


class Watcher:
    """Keeps whatever a daemon shows a subscriber, until it ends."""

    def __init__(self, address: Path | tuple[str, int], learner: str) -> None:
        self.shown: dict[int, bytes] = {}
        self._peer = Peer.greet(address)
        self._peer.subscribe(learner)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        try:
            while (message := self._peer.receive()) is not None:
                if isinstance(message, Release):
                    self.shown[message.version] = encode(message)
        except OSError:
            pass

    def wait(self, version: int) -> Self:
        """Wait for a version."""
        deadline = time.monotonic() + SECONDS_MAX
        while version not in self.shown:
            assert time.monotonic() < deadline, f"version {version} was not shown"
            time.sleep(0.01)
        return self

    def settled(self) -> dict[int, bytes]:
        """What a daemon has shown that is frozen; what was on its way is taken first."""
        deadline = time.monotonic() + SECONDS_MAX
        while any(fcntl.ioctl(self._peer.socket, termios.FIONREAD, bytes(4))):
            assert time.monotonic() < deadline, "what was shown is not taken"
            time.sleep(0.01)
        time.sleep(0.2)  # for the thread, which has taken the last of it
        return dict(self.shown)

    def end(self) -> dict[int, bytes]:
        """What was shown, once the daemon has ended."""
        self._thread.join(SECONDS_MAX)
        assert not self._thread.is_alive()
        self._peer.socket.close()
        return self.shown
