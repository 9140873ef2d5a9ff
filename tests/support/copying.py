"""Processes that begin as copies of one that has imported the program already.

Python needs half a second of a core to import what a daemon needs, and tests start hundreds of
daemons. So one process imports it once, starts nothing, and is copied (`fork`) for each of them. A
copy is a process of its own, with its own descriptors, environment and folder. Where the start
itself is tested, or what is read from the environment while modules are imported, use
`subprocess.Popen`.

Run as a program (`python copying.py DESCRIPTOR`), this is the process that is copied.
"""

import atexit
import contextlib
import fcntl
import functools
import gc
import importlib
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
LOST = 255
"""The exit status of a copy, where the process that would have told it was killed."""
NUMBER_BYTES = 4
MESSAGE_BYTES_MAX = 1 << 17
DESCRIPTORS_MAX = 64


def anew(function: str) -> list[str]:
    """The command that calls `module:function`, to be followed by strings, without any copying."""
    return [sys.executable, "-P", __file__, function]


class Copy(subprocess.Popen[str]):
    """A copy that calls `module:function` with a list of strings; otherwise as any other process.

    Measurements of coverage do not follow copies, so under them it is started from the beginning.
    """

    def __init__(self, function: str, arguments: Sequence[str], **options: Any) -> None:
        """Start it.

        options: stdin, stdout, stderr, text, env, cwd and pass_fds of `subprocess.Popen`.
        """
        self._function, self._words = function, list(arguments)
        self._told: socket.socket | None = None
        super().__init__([*anew(function), *arguments], **options)

    def _execute_child(self, args: Any, *rest: Any) -> None:
        """Take the place of the part of `Popen` that forks; its arguments are by place."""
        if not hasattr(os, "pidfd_open") or "COVERAGE_PROCESS_CONFIG" in os.environ:
            super()._execute_child(args, *rest)  # type: ignore[misc]
            return
        pass_fds, cwd, env = rest[3:6]
        pipes = rest[9:15]
        given = [own if pipe == -1 else pipe for own, pipe in enumerate(pipes[0:1] + pipes[3:6:2])]
        self._told, theirs = socket.socketpair()
        with theirs:
            request = {
                "function": self._function,
                "arguments": self._words,
                "environment": dict(os.environ if env is None else env),
                "folder": os.fspath(cwd or Path.cwd()),
                "inherited": list(pass_fds),
            }
            descriptors = [theirs.fileno(), *given, *pass_fds]
            socket.send_fds(_original(), [json.dumps(request).encode()], descriptors)
        self.pid = int.from_bytes(self._told.recv(NUMBER_BYTES))
        assert self.pid, "the process that is copied has ended"
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _internal_poll(self, *rest: Any, **more: Any) -> int | None:
        if self._told is None:
            return super()._internal_poll(*rest, **more)  # type: ignore[misc,no-any-return]
        return self._ended(0)

    def _wait(self, timeout: float | None) -> int:
        if self._told is None:
            return super()._wait(timeout)  # type: ignore[misc,no-any-return]
        if (status := self._ended(timeout)) is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        return status

    def _ended(self, seconds: float | None) -> int | None:
        """The exit status, if the process ends within that time."""
        assert self._told is not None
        if self.returncode is None and select.select([self._told], [], [], seconds)[0]:
            with self._waitpid_lock:  # type: ignore[attr-defined]
                if self.returncode is None:
                    number = self._told.recv(NUMBER_BYTES)
                    self.returncode = int.from_bytes(number, signed=True) if number else LOST
                    self._told.close()
        return self.returncode


@functools.cache
def _original() -> socket.socket:
    """Start the process that is copied; return the socket that takes requests."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        number = theirs.fileno()
        command = [sys.executable, "-P", __file__, str(number)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[number])

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


# --- the process that is copied -------------------------------------------------------------------


def main(arguments: Sequence[str]) -> Any:
    """Serve requests, and end when nobody is there to send them; copies do what they are told."""
    sys.path[:0] = [str(TESTS.parent), str(TESTS)]
    if len(arguments) > 1:  # from the beginning
        name, *words = arguments
        return _function(name)(words)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if (request := _serve(socket.socket(fileno=int(arguments[0])))) is None:
        return 0
    sys.argv[1:] = request["arguments"]
    return _function(request["function"])(request["arguments"])


def _function(name: str) -> Any:
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


def _serve(control: socket.socket) -> dict[str, Any] | None:
    """Copy this process for every request, and tell how copies end. Copies return the request."""
    copies: dict[int, tuple[int, socket.socket]] = {}
    waiting = selectors.DefaultSelector()
    waiting.register(control, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fd in copies:
                _tell(*copies.pop(key.fd))
                waiting.unregister(key.fd)
                os.close(key.fd)
                continue
            data, received, _, _ = socket.recv_fds(control, MESSAGE_BYTES_MAX, DESCRIPTORS_MAX)
            if not data:
                return None
            request: dict[str, Any] = json.loads(data)
            _import(request)
            told = socket.socket(fileno=received[0])
            if not (process := _fork()):
                waiting.close()
                for each in (control, told, *(other for _, other in copies.values())):
                    each.close()
                for number in copies:
                    os.close(number)
                _settle_in(request, received[1:])
                return request
            told.sendall(process.to_bytes(NUMBER_BYTES))
            for number in received[1:]:
                os.close(number)
            ends = os.pidfd_open(process)
            copies[ends] = process, told
            waiting.register(ends, selectors.EVENT_READ)


def _import(request: dict[str, Any]) -> None:
    """Import what a copy will need, so that the next one has it too."""
    module = request["function"].partition(":")[0]
    importlib.import_module(module)
    if module == "littled.cli.entry":
        entry = importlib.import_module(module)
        if (command := request["arguments"][0]) in entry.COMMANDS:
            importlib.import_module(f"littled.cli.{entry.COMMANDS[command][0]}")
    gc.freeze()


def _fork() -> int:
    with warnings.catch_warnings():
        # NumPy's library has threads, and sees itself to it that it can be copied.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _tell(process: int, told: socket.socket) -> None:
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    with told, contextlib.suppress(BrokenPipeError):
        told.sendall(code.to_bytes(NUMBER_BYTES, signed=True))


def _settle_in(request: dict[str, Any], received: list[int]) -> None:
    """Take over descriptors, environment and folder."""
    wanted = [0, 1, 2, *request["inherited"]]
    free = max(wanted) + DESCRIPTORS_MAX
    lifted = [fcntl.fcntl(number, fcntl.F_DUPFD, free) for number in received]
    for number in received:
        os.close(number)
    for number, target in zip(lifted, wanted, strict=True):
        os.dup2(number, target)
        os.close(number)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    signal.signal(signal.SIGINT, signal.default_int_handler)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
