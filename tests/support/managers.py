"""A service manager, as far as a watchdog needs one."""

import itertools
import socket
import threading
import time
from pathlib import Path

# What the watchdog of the tests expects.
WATCHDOG_SECONDS = 3.0


class Manager:
    """A service manager that notes when it hears from the watchdog."""

    def __init__(self, folder: Path) -> None:
        """Listen in a folder."""
        path = folder / "notify.sock"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self.environment = {
            "NOTIFY_SOCKET": str(path),
            "WATCHDOG_USEC": str(int(WATCHDOG_SECONDS * 1e6)),
        }
        self._heard: list[float] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while message := self._socket.recv(4096):
            if b"WATCHDOG=1" in message or b"READY=1" in message:
                self._heard.append(time.monotonic())

    def longest_silence(self) -> float:
        """The longest time from one message to the next so far."""
        heard = [*self._heard, time.monotonic()]
        return max(later - sooner for sooner, later in itertools.pairwise(heard))

    def close(self) -> None:
        """Listen no more."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.sendto(b"", self.environment["NOTIFY_SOCKET"])
        self._thread.join()
        self._socket.close()
