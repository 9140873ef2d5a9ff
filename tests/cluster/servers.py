"""Three servers of PostgreSQL, of which one leads and every commit is on another one as well.

Where memory has room their files are there: what is lost when processes are killed is the same as
on a disk, and a failover takes a second and not twenty.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from support.databases import Postgres, new_server

SETTINGS = (
    *("fsync=on", "max_connections=60", "shared_buffers=16MB", "wal_keep_size=64MB"),
    *("wal_sender_timeout=5s", "wal_receiver_timeout=5s", "wal_retrieve_retry_interval=200ms"),
    "dynamic_shared_memory_type=mmap",  # files beside the data, which go with it
)
NAMES = ("n0", "n1", "n2")
SYNCHRONOUS = f"ANY 1 ({', '.join(NAMES)})"
WAIT_SECONDS = 120.0
MEMORY, MEMORY_BYTES_MIN = Path("/dev/shm"), 4 << 30
_STANDING = """
SELECT pg_wal_lsn_diff(greatest(coalesce(pg_last_wal_receive_lsn(), '0/0'),
    coalesce(pg_last_wal_replay_lsn(), '0/0')), '0/0')
"""


@dataclass
class Node:
    """One server: its data, and the folder of its socket."""

    name: str
    data: Path
    sockets: Path
    frozen: list[int] = field(default_factory=list)


class Servers:
    """A primary and two standbys, and who is which."""

    def __init__(self, first: Postgres) -> None:
        """Start a new server as the primary, and make standbys of it."""
        self._first = first
        self._count = 0
        self.primary = Node("n0", first.folder / "data", first.folder)
        self.standbys: list[Node] = []
        self.start(self.primary)
        self.tell(f"ALTER SYSTEM SET synchronous_standby_names = '{SYNCHRONOUS}'")
        self.tell("SELECT pg_reload_conf()")
        self._join(NAMES[1:])

    # -- asking ------------------------------------------------------------------------------

    def _run(self, *command: str | Path) -> str:
        done = subprocess.run(
            [self._first._programs / command[0], *map(str, command[1:])],
            capture_output=True,
            text=True,
            check=False,
            cwd=self._first.folder,
            timeout=WAIT_SECONDS,
            user=self._first.user,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def tell(self, statement: str, node: Node | None = None) -> str:
        """What a server says, the primary unless told; AssertionError where that fails."""
        host = (node or self.primary).sockets
        known = ("-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", "postgres")
        return self._run("psql", *known, "-h", host, "-U", "tests", "-c", statement)

    def ask(self, statement: str) -> str:
        """What the primary says; nothing where it does not answer."""
        with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
            return self.tell(statement).strip()
        return ""

    def waits(self) -> bool:
        """Whether a commit waits for the standbys."""
        asked = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        return self.ask(asked) not in ("", "0")

    def in_transaction(self) -> bool:
        """Whether some store has begun a transaction and has not said more."""
        asked = (
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'littled' "
            "AND state = 'idle in transaction'"
        )
        return self.ask(asked) not in ("", "0")

    def end(self, how: str, what: str) -> None:
        """Cancel or terminate backends of stores. how: cancel or terminate. what: which."""
        self.ask(
            f"SELECT pg_{how}_backend(pid) FROM pg_stat_activity "  # noqa: S608
            f"WHERE application_name = 'littled' AND {what}"
        )

    # -- processes ---------------------------------------------------------------------------

    @staticmethod
    def _processes(node: Node) -> list[int]:
        first = int((node.data / "postmaster.pid").read_text().split()[0])
        with contextlib.suppress(OSError):
            children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
            return [first, *map(int, children)]
        return [first]

    def freeze(self, nodes: Sequence[Node]) -> None:
        """Let servers stand still."""
        for node in nodes:
            node.frozen = self._processes(node)
            for process in node.frozen:
                _signal(process, signal.SIGSTOP)

    def thaw(self, nodes: Sequence[Node]) -> None:
        """Let them go on."""
        for node in nodes:
            for process in node.frozen:
                _signal(process, signal.SIGCONT)
            node.frozen = []

    def kill(self, node: Node) -> None:
        """End a server as a power cut would."""
        processes = self._processes(node)
        for process in processes:
            _signal(process, signal.SIGKILL)
        deadline = time.monotonic() + WAIT_SECONDS
        while any(_alive(process) for process in processes):
            assert time.monotonic() < deadline, "a server does not end"
            time.sleep(0.02)
        # The kernel keeps its segment of shared memory, and has some thousands at the most.
        segment = (node.data / "postmaster.pid").read_text().splitlines()[6].split()[-1]
        subprocess.run(["ipcrm", "-m", segment], check=False, capture_output=True)  # noqa: S607

    def start(self, node: Node) -> None:
        """Start a server, and wait until it answers."""
        options = f"-c listen_addresses='' -c unix_socket_directories={node.sockets}"
        options += "".join(f" -c {setting}" for setting in SETTINGS)
        log = self._first.folder / f"{node.name}.log"
        (node.data / "postmaster.pid").unlink(missing_ok=True)
        for left in node.sockets.glob(".s.PGSQL.*"):
            left.unlink()
        self._run("pg_ctl", "-D", node.data, "-l", log, "-w", "-o", options, "start")

    def restart(self) -> None:
        """Kill the primary and start it again: it shows commits that no standby may have."""
        self.kill(self.primary)
        self.start(self.primary)

    def _join(self, names: Sequence[str]) -> None:
        """Make new standbys by backups of the primary."""
        self._count += 1
        with ThreadPoolExecutor(len(names)) as pool:
            self.standbys += pool.map(self._new_standby, names)

    def _new_standby(self, name: str) -> Node:
        folder = self._first.folder
        data, sockets = folder / f"{name}-{self._count}", folder / f"{name}-sockets-{self._count}"
        sockets.mkdir()
        if self._first.user is not None:
            shutil.chown(sockets, self._first.user)
        host = self.primary.sockets
        copied = ("-c", "fast", "-R", "-X", "stream", "--no-sync", "-D", data)
        self._run("pg_basebackup", "-h", host, "-U", "tests", *copied)
        with (data / "postgresql.auto.conf").open("a") as file:
            file.write(f"primary_conninfo = 'host={host} user=tests application_name={name}'\n")
        node = Node(name, data, sockets)
        self.start(node)
        return node

    def fail_over(self) -> None:
        """Kill the primary, promote the standby that has most, and make new standbys of it.

        What a standby that is frozen had not received is lost.
        """
        old = self.primary
        self.kill(old)
        for node in self.standbys:
            for process in node.frozen:
                # Else it would find in its socket's buffer what it has acknowledged to nobody.
                if b"walreceiver" in _command_line(process):
                    _signal(process, signal.SIGKILL)
        self.thaw(self.standbys)
        most = max(self.standbys, key=self._standing)
        (other,) = (node for node in self.standbys if node is not most)
        self._run("pg_ctl", "-D", most.data, "-w", "promote")
        self.kill(other)
        self.primary, self.standbys = most, []
        for node in (old, other):
            shutil.rmtree(node.data)
        self._join([old.name, other.name])

    def _standing(self, node: Node) -> int:
        """How far a standby has come, once it answers."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            with contextlib.suppress(AssertionError):
                return int(self.tell(_STANDING, node))
            assert time.monotonic() < deadline, "a standby does not answer"
            time.sleep(0.1)

    def settle(self) -> None:
        """Wait until both standbys follow."""
        self.thaw([self.primary, *self.standbys])
        deadline = time.monotonic() + WAIT_SECONDS
        asked = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'quorum'"
        while self.ask(asked) != str(len(self.standbys)):
            assert time.monotonic() < deadline, "the standbys do not come"
            time.sleep(0.1)

    @property
    def socket(self) -> Path:
        """Where the primary listens."""
        return self.primary.sockets / ".s.PGSQL.5432"

    def stop(self) -> None:
        """End all servers."""
        for node in (self.primary, *self.standbys):
            self.thaw([node])
            with contextlib.suppress(OSError, ValueError, IndexError):
                self.kill(node)


def _signal(process: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def _command_line(process: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


def _alive(process: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def url_by(folder: Path, schema: str = "public") -> str:
    """The URL of a schema by the socket in a folder."""
    host, options = quote(str(folder), safe=""), quote(f"-csearch_path={schema}", safe="")
    return f"postgresql://tests@/postgres?host={host}&options={options}"


def parent() -> Path | None:
    """Where folders of servers should be; None where that is as good as anywhere."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage(MEMORY).free >= MEMORY_BYTES_MIN:
            return MEMORY
    return None


@contextlib.contextmanager
def servers() -> Iterator[Servers | None]:
    """Three servers that follow one another; None where PostgreSQL is not installed."""
    with new_server(parent()) as first:
        if first is None:
            yield None
            return
        made = Servers(first)
        try:
            yield made
        finally:
            made.stop()
