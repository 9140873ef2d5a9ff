"""The daemons that a member has started, each a process that ends when the member does.

A daemon is told by the end of its standard input that its member is gone, however that went. It
says by the service manager's protocol when it serves, and that it lives.
"""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from littled.groups.partitions import label
from littled.limits import (
    GROUP_HURRY_SECONDS,
    GROUP_SILENT_SECONDS,
    GROUP_START_SECONDS,
    GROUP_STOP_SECONDS,
)

_MESSAGE_BYTES = 4096
_MICROSECONDS = 1_000_000
# What is meant for the member alone.
_OWN = (
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
)


class Daemon:
    """A process that serves a partition, from its start to its end."""

    def __init__(self, folder: Path, partition: int, ready: Callable[[int], None]) -> None:
        """Listen for what it will say. folder: for a socket. ready: told when it serves.

        Raises OSError where that cannot be.
        """
        self._partition = partition
        self._ready = ready
        self._loop = asyncio.get_running_loop()
        self._served = False
        self._process: asyncio.subprocess.Process | None = None
        self._path = folder / f"{label(partition)}.notify"
        self._path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.setblocking(False)
        try:
            self._socket.bind(str(self._path))
        except OSError:
            self._socket.close()
            raise
        self._loop.add_reader(self._socket, self._hear)
        self._until = self._loop.time() + GROUP_START_SECONDS
        self._stopping = False

    async def run(self, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
        """Run `littled` with arguments, until it has ended; its status."""
        own = {name: value for name, value in environment.items() if name not in _OWN}
        own |= {
            "NOTIFY_SOCKET": str(self._path),
            "WATCHDOG_USEC": str(int(GROUP_SILENT_SECONDS * _MICROSECONDS)),
        }
        try:
            # In a session of its own: an interruption at a terminal is the member's to pass on.
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "littled.cli", *arguments),
                stdin=asyncio.subprocess.PIPE,
                env=own,
                start_new_session=True,
            )
            if self._stopping:
                self.signal(signal.SIGTERM)
            return await self._process.wait()
        finally:
            self.signal(signal.SIGKILL)
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._path.unlink(missing_ok=True)

    def stop(self, *, hurried: bool) -> bool:
        """Ask it to end; it is killed if that takes long, or nearly at once where hurried.

        Returns whether it was not asked before.
        """
        until = self._loop.time() + (GROUP_HURRY_SECONDS if hurried else GROUP_STOP_SECONDS)
        self._until = min(self._until, until) if self._stopping else until
        asked, self._stopping = self._stopping, True
        if not asked:
            self.signal(signal.SIGTERM)
        return not asked

    def signal(self, number: int) -> None:
        """Send it a signal, if it runs."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    def kill_if_silent(self) -> bool:
        """Kill it if it should have said something, or ended, by now; whether it was."""
        if self._loop.time() < self._until:
            return False
        self._until = self._loop.time() + GROUP_STOP_SECONDS
        self.signal(signal.SIGKILL)
        return True

    def _hear(self) -> None:
        try:
            said = self._socket.recv(_MESSAGE_BYTES).decode(errors="replace").splitlines()
        except OSError:
            return
        if self._stopping:
            return
        for line in said:
            name, _, value = line.partition("=")
            if name == "READY" and not self._served:
                self._served = True
                self._ready(self._partition)
            if name in ("READY", "WATCHDOG"):
                self._until = self._loop.time() + GROUP_SILENT_SECONDS
            if name == "EXTEND_TIMEOUT_USEC" and not self._served and value.isdecimal():
                until = self._loop.time() + int(value) / _MICROSECONDS
                self._until = max(self._until, until)


def end_with_standard_input(seconds: float) -> None:
    """In a daemon: wait until standard input ends, then ask this process to end, and end it.

    For a thread of its own; seconds: how long the process may take.
    """
    while True:
        try:
            if not os.read(sys.stdin.fileno(), 1):
                break
        except InterruptedError:
            continue
        except OSError:
            break
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGKILL)
