"""Servers as processes, each ended by its own handle, with what CPU time they took."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_START_SECONDS = 60.0
_REST_SECONDS = 0.25
_END_SECONDS = 10.0


class Server:
    """A process in a group of its own, together with whatever it starts."""

    def __init__(self, command: Sequence[Any], folder: Path, place: Path | None = None) -> None:
        """Start it, silent except for a log in a folder; place: where it runs, if not there."""
        with (folder / f"{folder.name}.log").open("wb") as log:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                cwd=place or folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def connected(self, connect: Callable[[], socket.socket]) -> socket.socket:
        """Try to connect until it listens; raises OSError when it ends or takes too long."""
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                return connect()
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def cpu_seconds(self) -> float:
        """CPU time of the process and of its children that live."""
        family = [self._process.pid, *_children(self._process.pid)]
        return sum(map(_cpu_seconds, family))

    def rested_cpu_seconds(self) -> float:
        """The same once it rests."""
        seconds = self.cpu_seconds()
        while True:
            time.sleep(_REST_SECONDS)
            before, seconds = seconds, self.cpu_seconds()
            if seconds - before < 0.02:
                return seconds

    def resident_mib(self) -> float:
        """Memory of the process in MiB."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def end(self) -> None:
        """End it and its children."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
                break


def _children(process: int) -> list[int]:
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
        return [int(number) for number in text.split()]
    return []


def _cpu_seconds(process: int) -> float:
    """CPU time of the threads of a process that live."""
    nanoseconds = 0
    for thread in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            nanoseconds += int(thread.read_text(encoding="ascii").split()[0])
    return nanoseconds / 1e9


def unix(path: Path) -> socket.socket:
    """A connection to a Unix socket."""
    peer = socket.socket(socket.AF_UNIX)
    try:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        peer.connect(str(path))
    except OSError:
        peer.close()
        raise
    return peer


def loopback(port: int) -> socket.socket:
    """A connection to a port of this machine."""
    peer = socket.create_connection(("127.0.0.1", port))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return peer


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
