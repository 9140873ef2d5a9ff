"""Real groups on this machine: members that are killed, frozen and stopped, with their daemons."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from littled.groups.agreement import Agreement, Present
from littled.groups.partitions import label
from littled.store.etcd_place import MarkInEtcd
from littled.store.store import Store
from littled_client import Client
from support.databases import Postgres
from support.postgres import url_of

LITTLED = [sys.executable, "-P", "-m", "littled.cli"]
STREAM = """
[streams.{}]
epsilon = 1.0
delta = 1e-6
horizon = 100_000
learners.rule = {{ class = "thresholds:256", noise_rate = 0 }}
"""
SECONDS = 60.0


def free_block(count: int, number: int) -> int:
    """The first of so many consecutive ports that nobody has, below those that systems hand out.

    number: of the member, so that those of one test have different ones.
    """
    for first in range(20_000 + os.getpid() * 37 % 9_000 + 300 * number, 32_000, count):
        taken = [socket.socket() for _ in range(count)]
        try:
            for port, each in enumerate(taken, start=first):
                each.bind(("127.0.0.1", port))
        except OSError:
            continue
        finally:
            for each in taken:
                each.close()
        return first
    raise AssertionError("there are no free ports")


def database_url(server: Postgres) -> str:
    """The URL of the database of a server, without options."""
    return f"postgresql://tests@/postgres?host={quote(str(server.folder), safe='')}"


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    try:
        return [*map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())]
    except OSError:
        return []


def serves(process: int) -> bool:
    """Whether a process is still a daemon of a group, as its number may be another one's by now."""
    try:
        return b"--partition" in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def alive(process: int) -> bool:
    """Whether a process runs, and is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@dataclass
class Machine:
    """A member with its daemons."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    seen: set[int] = field(default_factory=set)

    @property
    def daemons(self) -> list[int]:
        """The processes of its daemons, while it runs."""
        found = children(self.process.pid)
        self.seen.update(found)
        return found

    def signal_all(self, number: int, daemons: Sequence[int]) -> None:
        """Send it and its daemons a signal."""
        for process in (self.process.pid, *daemons):
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def said(self) -> str:
        """What it has logged."""
        return self.log.read_text()

    def stop(self) -> int:
        """Ask it to stop; its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS)


@dataclass
class Group:
    """A group whose stores are in PostgreSQL; or in folders, where there is no server."""

    url: str
    folder: Path
    server: Postgres | None
    streams: list[str]
    partitions: int
    machines: list[Machine] = field(default_factory=list)

    @property
    def keys(self) -> Path:
        """The noise keys."""
        return self.folder / "keys"

    @property
    def place(self) -> MarkInEtcd:
        """What it has in etcd."""
        return MarkInEtcd.parse(self.url)

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command, whose standard input does not end."""
        command = [*LITTLED, *map(str, arguments)]
        end, other = os.pipe()
        try:
            return subprocess.run(
                command, stdin=end, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        finally:
            os.close(end)
            os.close(other)

    def init(self) -> subprocess.CompletedProcess[str]:
        """Make it."""
        config = self.folder / "littled.toml"
        config.write_text("".join(map(STREAM.format, self.streams)))
        store = str(self.folder / "stores") if self.server is None else database_url(self.server)
        return self.run(
            *("group", "init", self.url, "--config", config, "--keys", self.keys),
            *("--partitions", str(self.partitions), "--store", store),
        )

    def told(self, *streams: str) -> Path:
        """A configuration of these streams."""
        config = self.folder / "more.toml"
        config.write_text("".join(map(STREAM.format, streams)))
        return config

    def add(self, streams: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Add a partition with these streams."""
        asked = ("group", "add", self.url, "--config", self.told(*streams), "--keys", self.keys)
        said = self.run(*asked)
        if said.returncode == 0:
            self.partitions += 1
            self.streams += streams
        return said

    def join(self, *options: str, bounded: bool = False) -> Machine:
        """Start a member. bounded: with ports for no more partitions than there are."""
        name = f"m{len(self.machines)}"
        # Ports of members that were just started are not bound yet.
        first = free_block(self.partitions + 1, len(self.machines))
        path = self.folder / f"{name}.log"
        arguments = ["group", "member", self.url, "--keys", str(self.keys), "--name", name]
        ports = f"{first}-{first + self.partitions - 1}" if bounded else f"{first}"
        arguments += ["--address", f"127.0.0.1:{ports}", "--log", "json", *options]
        with path.open("ab") as log:
            process = subprocess.Popen([*LITTLED, *arguments], stderr=log, cwd=self.folder)
        self.machines.append(Machine(name, process, path))
        return self.machines[-1]

    def present(self) -> Present:
        """Who serves what."""
        agreement = Agreement(self.place)
        try:
            return agreement.present()
        finally:
            agreement.close()

    def counts(self) -> dict[str, int]:
        """How many partitions each member serves."""
        found: dict[str, int] = {}
        for served in self.present().tenures.values():
            if served.addresses:
                name = served.member.rpartition("-")[0]
                found[name] = found.get(name, 0) + 1
        return found

    def wait(self, **counts: int) -> Present:
        """Wait until each of these members serves so many partitions, and nobody else any."""
        deadline = time.monotonic() + SECONDS
        while (found := self.counts()) != counts:
            assert time.monotonic() < deadline, (found, [each.said() for each in self.machines])
            time.sleep(0.1)
        return self.present()

    def address(self, stream: str, present: Present | None = None) -> str:
        """Where a stream is served."""
        return (present or self.present()).tenures[self.partition_of(stream)].addresses[0]

    def partition_of(self, stream: str) -> int:
        """The partition of a stream."""
        agreement = Agreement(self.place)
        try:
            return agreement.directory().partition_of(stream)
        finally:
            agreement.close()

    def feed(self, stream: str, count: int = 1, address: str | None = None) -> None:
        """Feed examples, and wait until they are durable.

        address: of any daemon, which says where to go; else that of the right one.
        """
        there = address or self.address(stream)
        with Client(there, producer="test") as client, client.feed(stream) as feeder:
            for number in range(count):
                feeder.send([(97 * number) % 256], [int((97 * number) % 256 >= 24)])
            feeder.flush()

    def feed_all(self, address: str | None = None) -> None:
        """Feed each stream an example; see `feed`."""
        for stream in self.streams:
            self.feed(stream, address=address)

    def store(self, partition: int) -> list[str]:
        """Arguments of commands that open the store of a partition."""
        name = f"g_{self.place.prefix.rpartition('/')[2]}_{label(partition)}"
        folder = str(self.folder / "stores" / label(partition))
        store = folder if self.server is None else url_of(self.server, name)
        mark = self.place.below(f"partitions/{label(partition)}/mark")
        key = self.keys / f"{label(partition)}.key"
        return [store, "--key", str(key), "--mark", str(mark)]

    def verify(self) -> None:
        """See that every store is sound, with what was fed."""
        for partition in range(self.partitions):
            said = self.run("verify", *self.store(partition), "--replay", "--json")
            assert said.returncode == 0, said.stdout + said.stderr

    def positions(self) -> dict[str, int]:
        """How many examples of each stream are stored."""
        found: dict[str, int] = {}
        for partition in range(self.partitions):
            url, _, key, _, mark = self.store(partition)
            with Store.open(url, key, mark, read_only=True) as store:
                found |= {name: store.position(name) for name in store.plans}
        return found

    def status(self) -> tuple[int, dict[str, Any]]:
        """What `littled group status --json` says."""
        said = self.run("group", "status", self.url, "--json")
        return said.returncode, json.loads(said.stdout)

    def end(self) -> None:
        """Kill whatever is left."""
        for each in self.machines:
            left = [p for p in {*each.daemons, *each.seen} if serves(p)]
            each.signal_all(signal.SIGKILL, left)
            each.process.wait(SECONDS)


@contextmanager
def group_of(
    url: str, folder: Path, server: Postgres | None, streams: int, partitions: int
) -> Iterator[Group]:
    """A group that was made, without members."""
    names = [f"shop-{number:04}" for number in range(streams)]
    found = Group(url, folder, server, names, partitions)
    said = found.init()
    assert said.returncode == 0, said.stderr
    try:
        yield found
    finally:
        found.end()
