"""A cluster from the first fault to the last look: daemons, peers, and what they were told.

Whatever any subscriber ever saw has to be one chain that the store has in the end, within the
budget; every example that was acknowledged is in the journal, none twice; no daemon tells a
producer of fewer examples than it told before, or of a place in its source that is not where its
examples are; no daemon finds the store behind the mark; and the store verifies, replay included.

How long anything may take is no promise: limits are for what never comes, on the busiest machine.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cluster.peers import LEARNER, STREAM, columns, has_place
from cluster.servers import Servers, url_by
from littled.budget.price import Price
from littled.store.store import Store
from support.commands import start
from support.etcd import Cluster
from support.relay import Relay

DAEMONS = 3
PRODUCERS = ("tower", "radar")
# A daemon that has ended is started again after so long; one that found the store locked, as two
# of three do over and over, after longer: a start costs a second of processor time.
AGAIN_SECONDS, LOCKED_SECONDS = 0.5, 3.0
LOCKED = "another process serves the store"
# So many acknowledgements show that everybody works again.
AGAIN = 10
RECOVERY_SECONDS = 300.0
READY = '"event": "ready"'
STATUSES = {0, 1, 3, -signal.SIGKILL}
# What no fault explains: a daemon that met rows which it had not written, or an error of its own;
# or that what the mark has is not there, although the most advanced standby is always promoted.
STRANGE = (
    *("nobody here has written", "is damaged", "defect of littled", "Traceback", "replay mism"),
    "is behind its high-water mark",
)
CONFIGURATION = """
[streams.flights]
epsilon = 1.0
delta = 1e-6
horizon = 20_000
learners.late = { class = "thresholds:256", noise_rate = 0 }
"""
COPY = """
BEGIN ISOLATION LEVEL REPEATABLE READ;
DO $$ DECLARE name text; BEGIN
    CREATE SCHEMA {schema};
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = '{of}' LOOP
        EXECUTE format('CREATE TABLE {schema}.%I (LIKE {of}.%I INCLUDING ALL)', name, name);
        EXECUTE format('INSERT INTO {schema}.%I SELECT * FROM {of}.%I', name, name);
    END LOOP;
END $$;
COMMIT
"""


class Wrong(Exception):
    """A promise that was broken."""


# --- daemons --------------------------------------------------------------------------------------


@dataclass
class Served:
    """One daemon's place, the store by a relay of its own, its process now, and what it said."""

    number: int
    folder: Path
    url: str
    relay: Relay
    process: subprocess.Popen[str] | None = None
    began: float = 0.0
    again: float = 0.0
    said: list[str] = field(default_factory=list)

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.folder / "d.sock"

    @property
    def log(self) -> Path:
        """What its process says."""
        return self.folder / "log"

    @property
    def runs(self) -> bool:
        """Whether there is a process."""
        return self.process is not None and self.process.poll() is None

    @property
    def serves(self) -> bool:
        """Whether its process has opened the store; it listens before that."""
        return self.runs and READY in self.log.read_text()

    def start(self, places: Sequence[str]) -> None:
        """Start a process. places: what it needs to know beside the store."""
        self.began = time.monotonic()
        where: list[str | Path] = ["--unix", self.socket, "--log", "json", *places]
        with self.log.open("w") as log:
            self.process = start("serve", self.url, *where, stdout=log, stderr=log)

    def signal(self, number: signal.Signals) -> None:
        """Send its process a signal."""
        if self.process is not None and self.runs:
            self.process.send_signal(number)


class Life:
    """A cluster, daemons and peers from the first fault to the last look."""

    def __init__(self, folder: Path, made: Servers, etcd: Cluster, schema: str) -> None:
        """Make the store in a schema of its own and start everybody."""
        self.folder, self.servers, self.etcd, self.schema = folder, made, etcd, schema
        self.mark, self.key = etcd.url(schema), folder / "key"
        self.schemas = [schema]
        made.tell(f"CREATE SCHEMA {schema}")
        self.daemons = []
        for number in range(DAEMONS):
            home = folder / f"d{number}"
            home.mkdir()
            relay = Relay(home / ".s.PGSQL.5432", made.socket)
            self.daemons.append(Served(number, home, url_by(home, schema), relay))
        self.told: list[str] = []
        self.ends: list[tuple[int, str]] = []
        self.peers: list[subprocess.Popen[bytes]] = []
        configuration = folder / "littled.toml"
        configuration.write_text(CONFIGURATION)
        self.command("init", self.url_of(schema), "--config", configuration)
        sockets = [daemon.socket for daemon in self.daemons]
        self.feeders = self.peer("feed", PRODUCERS, sockets)
        self.peer("watch", map(str, range(DAEMONS)), sockets)
        self.supervising = True

    @property
    def places(self) -> tuple[str, ...]:
        """What every command needs to know beside the store."""
        return "--key", str(self.key), "--mark", self.mark

    def url_of(self, schema: str) -> str:
        """A schema by the server itself: a relay may still have a connection to lose."""
        return url_by(self.servers.primary.sockets, schema)

    def command(self, *arguments: str | Path) -> str:
        """Run a command on the store that has to succeed."""
        done = start(*arguments, *self.places)
        out, err = done.communicate(timeout=RECOVERY_SECONDS)
        if done.returncode:
            raise Wrong(f"littled {arguments[0]} ended with {done.returncode}: {err[-600:]}")
        return out

    def peer(
        self, what: str, names: Iterable[str], sockets: Sequence[Path]
    ) -> "subprocess.Popen[bytes]":
        """Start a process of producers ("feed") or of subscribers ("watch")."""
        found = subprocess.Popen(
            [sys.executable, "-m", "cluster.peers", what, self.folder, *names, "at", *sockets],
            cwd=Path(__file__).parents[1],
        )
        self.peers.append(found)
        return found

    def feed_anew(self) -> None:
        """End all producers with their connections, and start them again."""
        self.feeders.kill()
        self.feeders.wait()
        self.feeders = self.peer("feed", PRODUCERS, [daemon.socket for daemon in self.daemons])

    def copy(self) -> str:
        """Copy the store as it is at one moment; the schema of the copy."""
        copy = f"{self.schemas[0]}_copy{len(self.schemas)}"
        self.schemas.append(copy)
        self.servers.tell(COPY.format(schema=copy, of=self.schema))
        return copy

    def go_to(self, schema: str) -> None:
        """Serve another schema from now on; daemons of this one are somebody else's matter."""
        self.schema = schema
        for daemon in self.daemons:
            daemon.url = url_by(daemon.folder, schema)

    # -- supervising -------------------------------------------------------------------------

    def look_after(self) -> None:
        """Start daemons that have ended, some time later, as a supervisor does."""
        for daemon in self.daemons:
            if daemon.process is not None and not daemon.runs:
                self._note_end(daemon)
            late = time.monotonic() > daemon.again
            if daemon.process is None and late and self.supervising:
                daemon.start(self.places)

    def _note_end(self, daemon: Served) -> None:
        assert daemon.process is not None
        daemon.process.wait()
        status, daemon.process, err = daemon.process.returncode, None, daemon.log.read_text()
        daemon.again = time.monotonic() + (LOCKED_SECONDS if LOCKED in err else AGAIN_SECONDS)
        last = err.strip().splitlines()[-1:] or [""]
        daemon.said += last
        self.told.append(f"daemon {daemon.number} ended with {status}: {last[0][:300]}")
        self.ends.append((status, last[0][:90] if status in (1, 3) else ""))
        known = status in STATUSES or not self.supervising
        if not known or any(word in err for word in STRANGE):
            raise Wrong(f"a daemon ended with {status}: {err[-1500:]}")

    def has_seen(self, version: int) -> bool:
        """Whether a subscriber has seen more than this version."""
        return max(self.shown(), default=0) > version

    def wait(self, seconds: float) -> None:
        """Let things go on for a while."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.look_after()
            time.sleep(0.05)

    def comes(self, there: Callable[[], bool], seconds: float) -> bool:
        """Let things go on until something has come; whether it has."""
        until = time.monotonic() + seconds
        while not there():
            if time.monotonic() > until:
                return False
            self.wait(0.1)
        return True

    def wait_for(self, what: str, there: Callable[[], bool]) -> None:
        """The same for what has to come. Wrong where it does not."""
        if not self.comes(there, RECOVERY_SECONDS):
            raise Wrong(f"{what} has not come in {RECOVERY_SECONDS:.0f} s; {self.told[-4:]}")

    def owner(self) -> Served:
        """The daemon that serves the store, once one does; the last one that began to."""
        self.wait_for("an owner", lambda: any(each.serves for each in self.daemons))
        serving = [each for each in self.daemons if each.serves]
        return max(serving, key=lambda each: each.began)

    # -- what was told -----------------------------------------------------------------------

    def _lines(self, path: Path) -> Iterator[list[str]]:
        if path.exists():
            for line in path.read_text(encoding="ascii").splitlines(keepends=True):
                if line.endswith("\n"):
                    yield line.split()

    def acknowledged(self) -> int:
        """How many acknowledgements there were so far."""
        fed = (self._lines(self.folder / f"feed-{name}") for name in PRODUCERS)
        return sum(words[0] == "acked" for lines in fed for words in lines)

    def shown(self) -> dict[int, bytes]:
        """Every version that anybody saw. Wrong where there are two of one."""
        found: dict[int, bytes] = {}
        for path in self.folder.glob("watch-*"):
            for _, version, body in self._lines(path):
                if found.setdefault(int(version), bytes.fromhex(body)) != bytes.fromhex(body):
                    raise Wrong(f"version {version} was shown in two ways")
        return found

    def ranges(self, name: str) -> list[tuple[int, int]]:
        """What of a producer was acknowledged.

        Wrong where it was told of fewer than before, or of a place in its source that is before
        examples which were acknowledged with theirs, or beyond what is stored.
        """
        least, place, sent, found = 0, 0, list[tuple[int, int]](), []
        for what, *numbers in self._lines(self.folder / f"feed-{name}"):
            values = [int(each) for each in numbers]
            if what == "told":
                if values[0] < least:
                    raise Wrong(f"{name} goes on at {values[0]}, and was at {least}")
                if not place <= values[1] <= values[0]:
                    raise Wrong(f"{name} goes on at {values}, and its source was at {place}")
                least, place, sent = *values, []
            elif what == "sent":
                sent.append((values[0], values[1]))
            else:
                least = max(least, values[0])
                done = [each for each in sent if each[1] <= values[0]]
                place = max([place, *(end for first, end in done if has_place(first))])
                found += done
                sent = [each for each in sent if each[1] > values[0]]
        return found

    def look(self) -> None:
        """Hold what was told so far against the promises."""
        self.shown()
        for name in PRODUCERS:
            self.ranges(name)

    # -- the end -----------------------------------------------------------------------------

    def recover(self) -> None:
        """Wait until everything works again, and see that it does."""
        for member in self.etcd.members:
            if member.process is None:
                self.etcd.start([member])
            else:
                member.thaw()
        self.servers.settle()
        for daemon in self.daemons:
            daemon.relay.stall(stalled=False)
            daemon.signal(signal.SIGCONT)
        before = self.acknowledged()
        self.wait_for("acknowledgements", lambda: self.acknowledged() > before + AGAIN)
        self.look()

    def end(self) -> None:
        """Stop all daemons, and start none."""
        self.supervising = False
        for daemon in self.daemons:
            daemon.signal(signal.SIGTERM)
        self.wait_for("the end", lambda: not any(each.runs for each in self.daemons))
        self.look_after()

    def finish(self) -> str:
        """Stop everybody and look at all there is; what there was, in a line."""
        for peer in self.peers:
            peer.kill()
            peer.wait()
        self.end()
        url = self.url_of(self.schema)
        report = json.loads(self.command("verify", url, "--replay", "--json"))
        if not report["sound"]:
            raise Wrong(f"the store does not verify: {report}")
        with Store.open(url, self.key, self.mark, read_only=True) as store:
            return self._check(store)

    def _check(self, store: Store) -> str:
        stored: dict[str, list[tuple[int, int]]] = {name: [] for name in PRODUCERS}
        position = 0
        for record in store.records(STREAM):
            position += record.count
            if record.producer not in stored:
                continue  # a restore's
            if stored[record.producer] and stored[record.producer][-1][1] > record.sequence:
                raise Wrong(f"an example of {record.producer} is learned twice")
            if (record.x, record.y) != columns(record.producer, record.sequence, record.count):
                raise Wrong(f"what {record.producer} sent is not what is stored")
            stored[record.producer].append((record.sequence, record.sequence + record.count))
        for name in PRODUCERS:
            have = {number for first, end in stored[name] for number in range(first, end)}
            for first, end in self.ranges(name):
                if not have.issuperset(range(first, end)):
                    raise Wrong(f"examples {first} to {end} of {name} were acknowledged, and lost")
        bodies = {each.version: each.body for each in store.releases(LEARNER)}
        shown = self.shown()
        if not bodies.items() >= shown.items():
            raise Wrong("a release that was shown is not the store's")
        _check_budget(store)
        return f"{position} examples, {len(bodies)} releases, {len(shown)} of them shown"

    def close(self) -> None:
        """Leave nothing behind."""
        for peer in self.peers:
            peer.kill()
            peer.wait()
        for daemon in self.daemons:
            if daemon.process is not None:
                daemon.process.kill()
                daemon.process.wait()
            daemon.relay.close()
        self.servers.thaw([self.servers.primary, *self.servers.standbys])
        for schema in self.schemas:
            self.servers.ask(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def _check_budget(store: Store) -> None:
    """Every season's charges, added up here, are within the plan's caps."""
    caps = Price.from_dict(store.plans[STREAM]["caps"])
    spent: dict[int, Price] = {}
    for entry in store.ledger(STREAM):
        spent[entry.season] = spent.get(entry.season, Price.zero()) + entry.price
    if any(not each.fits_in(caps) for each in spent.values()):
        raise Wrong("a season has spent more than its budget")
