"""Commands as tests run them, and a real daemon to run them against."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from littled.cli.entry import run
from littled_client import Client, UnreachableError
from support.copying import Copy

CONFIGURATION = """
[streams.flights]
epsilon = 1.0
delta = 1e-6
horizon = 1_000_000
x = { name = "departure delay", unit = "min", offset = -30 }
y = { positive = "late", negative = "not late" }
learners.late = { class = "thresholds:256", noise_rate = 0 }

[streams.addresses]
epsilon = 1.0
delta = 1e-6
horizon = 1_000_000
learners.bad = { class = "prefixes:128" }
"""
START_SECONDS = 30.0
STARTED: list[subprocess.Popen[str]] = []


@dataclass(frozen=True)
class Said:
    """How a command ended and what it said."""

    status: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """The one sentence of a command that failed."""
        assert self.err.startswith("littled: "), self.err
        assert self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err
        return self.err.removeprefix("littled: ").rstrip("\n")

    @property
    def json(self) -> Any:
        """Standard output as one JSON value."""
        return json.loads(self.out)


Littled = Callable[..., Said]


def start(*arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
    """Start a command as a process of its own, without this machine's own settings.

    options: those of `Copy`, and "environment", variables beside those of the tests.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LITTLED_", "XDG_RUNTIME"))}
    environment = kept | {"NO_COLOR": "1"} | options.pop("environment", {})
    process = Copy(
        "littled.cli.entry:main",
        [str(each) for each in arguments],
        text=True,
        env=environment,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options,
    )
    STARTED.append(process)
    return process


def kill_leftovers() -> None:
    """End every process that a failed test left behind."""
    while STARTED:
        process = STARTED.pop()
        if process.poll() is None:
            process.kill()
            process.communicate()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:  # also of one that has ended, whose output nobody read
                pipe.close()


@dataclass(frozen=True)
class Daemon:
    """A daemon that serves a store of two streams, flights and addresses."""

    process: subprocess.Popen[str]
    folder: Path

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"unix:{self.folder / 'd.sock'}"

    @property
    def store(self) -> Path:
        """What it serves."""
        return self.folder / "store"

    def stop(self) -> int:
        """Ask it to stop; return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=START_SECONDS)
        return self.process.returncode


def make_store(folder: Path, text: str = CONFIGURATION) -> Path:
    """A new store in `folder`/store."""
    (folder / "littled.toml").write_text(text)
    assert run(["init", str(folder / "store"), "--config", str(folder / "littled.toml")]) == 0
    return folder / "store"


def serve(folder: Path, *arguments: str | Path, store: str | None = None) -> Daemon:
    """A daemon on `folder`/store, or on another store, that answers."""
    process = start("serve", store or folder / "store", "--unix", folder / "d.sock", *arguments)
    daemon = Daemon(process, folder)
    deadline = time.monotonic() + START_SECONDS
    while True:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        try:
            with Client(daemon.address):
                return daemon
        except UnreachableError:
            time.sleep(0.05)


def flights_csv(path: Path, count: int, seed: int = 1) -> Path:
    """A file of delays in minutes; late is a delay of 24 minutes or more, without exception."""
    delays = [(seed + i * 7919) % 256 - 30 for i in range(count)]
    lines = [f"{delay},{int(delay >= 24)}\n" for delay in delays]
    path.write_text("delay,late\n" + "".join(lines))
    return path


def fed(littled: Littled, running: Daemon, count: int) -> None:
    """Feed so many examples of one file in all."""
    delays = [line * 7919 % 256 for line in range(count)]
    file = running.folder / "flights.csv"
    file.write_text("delay,late\n" + "".join(f"{delay},{int(delay >= 60)}\n" for delay in delays))
    columns = ("--x", "delay", "--y", "late")
    facts = littled("feed", "flights", file, *columns, "-a", running.address, "--json").json
    assert facts["acknowledged"] == count


def position(daemon: Daemon, stream: str = "flights") -> int:
    """How many examples of a stream are durable."""
    with Client(daemon.address) as client:
        found = client.status()["streams"][stream]["position"]
    assert isinstance(found, int)
    return found
