"""Daemons on one store in PostgreSQL with its mark in etcd, and all that may happen to a cluster.

    python -m cluster.run FIRST COUNT

makes faults of those numbers, `LIFE_FAULTS` to a life of a cluster; a number alone is repeated with
those before it in its life. Everything is real: three members of etcd, three servers of PostgreSQL
of which one standby has to have each commit, two daemons that a supervisor starts again whenever
they end, producers, and subscribers of each daemon. Faults follow from their number; what they meet
does not. For a failing one it prints "failing seed NUMBER".

Whatever any subscriber ever saw has to be one chain that the store has in the end, within the
budget; every example that was acknowledged is in the journal, none twice, and no daemon tells a
producer of fewer than it told before; and the store verifies, replay included.
"""

import contextlib
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cluster.peers import LEARNER, STREAM, columns
from cluster.servers import Servers, servers, url_by
from littled.budget.price import Price
from littled.store.store import Store
from support.commands import start
from support.etcd import Cluster, etcd_cluster
from support.relay import Relay

LIFE_FAULTS = 10
DAEMONS = 2
PRODUCERS = ("tower", "radar")
AGAIN_SECONDS = 0.5
# So many acknowledgements show that everybody works again.
AGAIN = 10
RECOVERY_SECONDS = 90.0
STATUSES = {0, 1, 3, -signal.SIGKILL}
# What no fault explains: a daemon that met rows which it had not written, or an error of its own.
STRANGE = ("nobody here has written", "is damaged", "defect of littled", "Traceback", "replay mism")
CONFIGURATION = """
[streams.flights]
epsilon = 1.0
delta = 1e-6
horizon = 20_000
learners.late = { class = "thresholds:256", noise_rate = 0 }
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
    ended: float = 0.0
    said: list[str] = field(default_factory=list)

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.folder / "d.sock"

    @property
    def runs(self) -> bool:
        """Whether there is a process."""
        return self.process is not None and self.process.poll() is None

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
        made.ask(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        self.daemons = []
        for number in range(DAEMONS):
            home = folder / f"d{number}"
            home.mkdir()
            relay = Relay(home / ".s.PGSQL.5432", made.socket)
            self.daemons.append(Served(number, home, url_by(home, schema), relay))
        self.told: list[str] = []
        self.ends: list[tuple[int, str]] = []
        self.copies = 0
        configuration = folder / "littled.toml"
        configuration.write_text(CONFIGURATION)
        self.command("init", self.daemons[0].url, "--config", configuration)
        self.peers = [
            self._peer("feed", *PRODUCERS),
            self._peer("watch", *(str(number) for number in range(DAEMONS))),
        ]
        self.supervising = True

    @property
    def places(self) -> tuple[str, ...]:
        """What every command needs to know beside the store."""
        return "--key", str(self.key), "--mark", self.mark

    def command(self, *arguments: str | Path) -> str:
        """Run a command on the store that has to succeed."""
        done = start(*arguments, *self.places)
        out, err = done.communicate(timeout=RECOVERY_SECONDS)
        if done.returncode:
            raise Wrong(f"littled {arguments[0]} ended with {done.returncode}: {err[-600:]}")
        return out

    def _peer(self, what: str, *names: str) -> "subprocess.Popen[bytes]":
        sockets = (str(each.socket) for each in self.daemons)
        return subprocess.Popen(
            [sys.executable, "-m", "cluster.peers", what, self.folder, *names, "at", *sockets],
            cwd=Path(__file__).parents[1],
        )

    # -- supervising -------------------------------------------------------------------------

    def look_after(self) -> None:
        """Start daemons that have ended, some time later, as a supervisor does."""
        for daemon in self.daemons:
            if daemon.process is not None and not daemon.runs:
                self._note_end(daemon)
            late = time.monotonic() - daemon.ended > AGAIN_SECONDS
            if daemon.process is None and late and self.supervising:
                where = ("--unix", daemon.socket, "--log", "json")
                daemon.process = start("serve", daemon.url, *where, *self.places)

    def _note_end(self, daemon: Served) -> None:
        assert daemon.process is not None
        _, err = daemon.process.communicate()
        status, daemon.process, daemon.ended = daemon.process.returncode, None, time.monotonic()
        last = err.strip().splitlines()[-1:] or [""]
        daemon.said += last
        self.told.append(f"daemon {daemon.number} ended with {status}: {last[0][:300]}")
        self.ends.append((status, last[0][:90] if status in (1, 3) else ""))
        known = status in STATUSES or not self.supervising
        if not known or any(word in err for word in STRANGE):
            raise Wrong(f"a daemon ended with {status}: {err[-1500:]}")

    def wait(self, seconds: float) -> None:
        """Let things go on for a while."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.look_after()
            time.sleep(0.05)

    def wait_for(self, what: str, there: Callable[[], bool], seconds: float) -> None:
        """Let things go on until something has come. Wrong where it does not come."""
        until = time.monotonic() + seconds
        while not there():
            if time.monotonic() > until:
                raise Wrong(f"{what} has not come in {seconds:.0f} s; {self.told[-4:]}")
            self.wait(0.1)

    def owner(self) -> Served:
        """The daemon that has the store, once one has."""
        found: list[Served] = []

        def there() -> bool:
            locks = self.servers.ask(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
            )
            running = [each for each in self.daemons if each.runs and each.socket.exists()]
            found[:] = running[:1] if locks not in ("", "0") else []
            return bool(found)

        self.wait_for("an owner", there, RECOVERY_SECONDS)
        return found[0]

    # -- what was told -----------------------------------------------------------------------

    def _lines(self, what: str, name: str) -> Iterator[list[str]]:
        path = self.folder / f"{what}-{name}"
        if path.exists():
            for line in path.read_text(encoding="ascii").splitlines(keepends=True):
                if line.endswith("\n"):
                    yield line.split()

    def acknowledged(self) -> int:
        """How many acknowledgements there were so far."""
        return sum(words[0] == "acked" for name in PRODUCERS for words in self._lines("feed", name))

    def shown(self) -> dict[int, bytes]:
        """Every version that anybody saw. Wrong where there are two of one."""
        found: dict[int, bytes] = {}
        for number in range(DAEMONS):
            for _, version, body in self._lines("watch", str(number)):
                if found.setdefault(int(version), bytes.fromhex(body)) != bytes.fromhex(body):
                    raise Wrong(f"version {version} was shown in two ways")
        return found

    def ranges(self, name: str) -> list[tuple[int, int]]:
        """What of a producer was acknowledged. Wrong where it was told of fewer than before."""
        least, sent, found = 0, list[tuple[int, int]](), []
        for what, *numbers in self._lines("feed", name):
            values = [int(each) for each in numbers]
            if what == "told":
                if values[0] < least:
                    raise Wrong(f"{name} goes on at {values[0]}, and was at {least}")
                least, sent = max(least, values[0]), []
            elif what == "sent":
                sent.append((values[0], values[1]))
            else:
                least = max(least, values[0])
                found += [each for each in sent if each[1] <= values[0]]
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
        self.wait_for(
            "acknowledgements", lambda: self.acknowledged() > before + AGAIN, RECOVERY_SECONDS
        )
        self.look()

    def finish(self) -> str:
        """Stop everybody and look at all there is; what there was, in a line."""
        self.supervising = False
        for peer in self.peers:
            peer.kill()
            peer.wait()
        for daemon in self.daemons:
            daemon.signal(signal.SIGTERM)
        self.wait_for("the end", lambda: not any(each.runs for each in self.daemons), 60)
        self.look_after()
        self.daemons[0].relay.lose(0)  # nothing later, either
        url = self.daemons[0].url
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
                daemon.process.communicate()
            daemon.relay.close()


def _check_budget(store: Store) -> None:
    """Every season's charges, added up here, are within the plan's caps."""
    caps = Price.from_dict(store.plans[STREAM]["caps"])
    spent: dict[int, Price] = {}
    for entry in store.ledger(STREAM):
        spent[entry.season] = spent.get(entry.season, Price.zero()) + entry.price
    if any(not each.fits_in(caps) for each in spent.values()):
        raise Wrong("a season has spent more than its budget")


# --- faults ---------------------------------------------------------------------------------------


def kill_the_owner(life: Life, chance: random.Random) -> None:
    """The daemon that serves is killed."""
    life.owner().signal(signal.SIGKILL)


def freeze_the_owner(life: Life, chance: random.Random) -> None:
    """It stands still for a while, and nobody takes over."""
    owner = life.owner()
    owner.signal(signal.SIGSTOP)
    life.wait(chance.uniform(0.1, 4))
    owner.signal(signal.SIGCONT)


def put_off_the_owner(life: Life, chance: random.Random) -> None:
    """It stands still, its lock goes, another one takes over and is fed; then it wakes up."""
    owner = life.owner()
    owner.signal(signal.SIGSTOP)
    life.servers.end(
        "terminate", "pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted)"
    )
    before = life.acknowledged()
    with contextlib.suppress(Wrong):
        life.wait_for("another owner", lambda: life.acknowledged() > before + AGAIN, 15)
    life.wait(chance.uniform(0, 2))
    owner.signal(signal.SIGCONT)


def kill_a_member(life: Life, chance: random.Random) -> None:
    """A member of etcd is killed, and comes back."""
    chance.choice(life.etcd.members).kill()
    life.wait(chance.uniform(0.5, 3))


def freeze_the_leader(life: Life, chance: random.Random) -> None:
    """etcd's leader stands still."""
    leader = life.etcd.leader()
    leader.freeze()
    life.wait(chance.uniform(0.5, 4))
    leader.thaw()


def lose_the_majority(life: Life, chance: random.Random) -> None:
    """Two members of etcd stand still."""
    frozen = chance.sample(life.etcd.members, 2)
    for member in frozen:
        member.freeze()
    life.wait(chance.uniform(0.5, 6))
    for member in frozen:
        member.thaw()


def freeze_a_standby(life: Life, chance: random.Random) -> None:
    """One standby stands still; the other one is enough."""
    frozen = [chance.choice(life.servers.standbys)]
    life.servers.freeze(frozen)
    life.wait(chance.uniform(0.5, 3))
    life.servers.thaw(frozen)


def freeze_the_standbys(life: Life, chance: random.Random) -> None:
    """Both stand still: commits wait."""
    life.servers.freeze(life.servers.standbys)
    life.wait(chance.uniform(0.5, 4))
    life.servers.thaw(life.servers.standbys)


def cancel_a_wait(life: Life, chance: random.Random) -> None:
    """The wait for standbys is cancelled, so that a commit succeeds with a warning; a failover."""
    life.servers.freeze(life.servers.standbys)
    if life.servers.waiting():
        life.servers.end(chance.choice(("cancel", "terminate")), "wait_event = 'SyncRep'")
    life.wait(chance.uniform(0.2, 1.5))
    if chance.random() < 0.7:
        _fail_over(life)
    life.servers.thaw(life.servers.standbys)


def restart_the_primary(life: Life, chance: random.Random) -> None:
    """It is killed and started again."""
    life.servers.restart()


def show_what_no_standby_has(life: Life, chance: random.Random) -> None:
    """The primary starts again with commits that were never replicated; then it may fail over."""
    life.servers.freeze(life.servers.standbys)
    life.servers.waiting()
    life.servers.restart()
    life.wait(chance.uniform(1, 4))
    if chance.random() < 0.7:
        _fail_over(life)
    life.servers.thaw(life.servers.standbys)


def fail_over(life: Life, chance: random.Random) -> None:
    """The primary is killed, and the standby that has most is promoted."""
    if chance.random() < 0.5:
        life.servers.freeze(life.servers.standbys)
        life.servers.waiting()
    _fail_over(life)


def fail_over_under_a_frozen_owner(life: Life, chance: random.Random) -> None:
    """The same while the owner stands still; another one takes over, and it wakes up."""
    owner = life.owner()
    owner.signal(signal.SIGSTOP)
    _fail_over(life)
    life.wait(chance.uniform(0, 4))
    owner.signal(signal.SIGCONT)


def _fail_over(life: Life) -> None:
    for daemon in life.daemons:
        daemon.relay.lead_to(life.folder / "nobody")
        daemon.relay.lose(0)
    life.servers.fail_over()
    for daemon in life.daemons:
        daemon.relay.lead_to(life.servers.socket)


def freeze_the_primary(life: Life, chance: random.Random) -> None:
    """The primary stands still."""
    life.servers.freeze([life.servers.primary])
    life.wait(chance.uniform(0.5, 4))
    life.servers.thaw([life.servers.primary])


def lose_connections(life: Life, chance: random.Random) -> None:
    """All connections of a daemon to its database are lost, at once or soon."""
    for daemon in chance.sample(life.daemons, chance.randint(1, DAEMONS)):
        daemon.relay.lose(chance.choice((0, 1, 100, 3_000, 30_000)))


def delay_connections(life: Life, chance: random.Random) -> None:
    """Nothing arrives for a while, in either direction; then perhaps it is all lost."""
    delayed = chance.sample(life.daemons, chance.randint(1, DAEMONS))
    for daemon in delayed:
        daemon.relay.stall(stalled=True)
    life.wait(chance.uniform(0.2, 4))
    for daemon in delayed:
        if chance.random() < 0.5:
            daemon.relay.lose(0)
        daemon.relay.stall(stalled=False)


def lose_the_mark(life: Life, chance: random.Random) -> None:
    """etcd is restored from a backup under a new name; the newest copy goes on by a restore."""
    backup = life.folder / f"backup-{time.monotonic_ns()}"
    life.etcd.ctl("snapshot", "save", str(backup), members=life.etcd.members[:1])
    life.wait(chance.uniform(0.5, 3))
    life.etcd.restore(backup, f"cluster-{time.monotonic_ns()}")
    refused = "it was restored from a backup"
    life.wait_for(
        "a refusal",
        lambda: any(refused in said for each in life.daemons for said in each.said[-2:]),
        RECOVERY_SECONDS,
    )
    life.supervising = False
    life.wait_for("the end", lambda: not any(each.runs for each in life.daemons), 60)
    life.command("restore", life.daemons[0].url, "--yes")
    for each in life.daemons:
        each.said.clear()
    life.supervising = True


def serve_an_old_copy(life: Life, chance: random.Random) -> None:
    """A copy of the store is made, and served once the store has gone on."""
    life.copies += 1
    schema = f"{life.schema}_copy{life.copies}"
    life.servers.ask(COPY.format(schema=schema, of=life.schema))
    before = max(life.shown(), default=0)
    with contextlib.suppress(Wrong):
        life.wait_for("a release", lambda: max(life.shown(), default=0) > before, 15)
    if max(life.shown(), default=0) == before:
        return
    url = url_by(life.daemons[0].folder, schema)
    refused = start("serve", url, "--unix", life.folder / "copy.sock", *life.places)
    try:
        _, err = refused.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        refused.kill()
        refused.communicate()
        raise Wrong("a copy that is behind its mark is served") from None
    if "behind its high-water mark" not in err:
        life.told.append(f"the copy said: {err[-200:]}")


COPY = """
DO $$ DECLARE name text; BEGIN
    CREATE SCHEMA {schema};
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = '{of}' LOOP
        EXECUTE format('CREATE TABLE {schema}.%I (LIKE {of}.%I INCLUDING ALL)', name, name);
        EXECUTE format('INSERT INTO {schema}.%I SELECT * FROM {of}.%I', name, name);
    END LOOP;
END $$
"""
FAULTS: tuple[Callable[[Life, random.Random], None], ...] = (
    kill_the_owner,
    freeze_the_owner,
    put_off_the_owner,
    kill_a_member,
    freeze_the_leader,
    lose_the_majority,
    freeze_a_standby,
    freeze_the_standbys,
    cancel_a_wait,
    restart_the_primary,
    show_what_no_standby_has,
    fail_over,
    fail_over_under_a_frozen_owner,
    freeze_the_primary,
    lose_connections,
    delay_connections,
    lose_the_mark,
    serve_an_old_copy,
)
BY_NAME = {fault.__name__: fault for fault in FAULTS}


# --- lives ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def clusters() -> Iterator[tuple[Servers, Cluster]]:
    """Servers for one life after the other."""
    folder = Path(tempfile.mkdtemp(prefix="littled-etcd-"))
    try:
        with servers() as made, etcd_cluster(folder) as etcd:
            assert made is not None, "PostgreSQL is not installed, or not for this user"
            yield made, etcd
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def living(made: Servers, etcd: Cluster, schema: str = "flights") -> Iterator[Life]:
    """A store that daemons serve and peers use."""
    folder = Path(tempfile.mkdtemp(prefix="littled-life-"))
    life = None
    try:
        life = Life(folder, made, etcd, schema)
        life.recover()
        yield life
    finally:
        if life is not None:
            life.close()
        shutil.rmtree(folder, ignore_errors=True)


def live(life: Life, named: list[tuple[int, str]], say: Callable[[str], Any]) -> None:
    """Let these faults happen, each with the seed of its chance; raises Wrong."""
    for seed, name in named:
        began = time.monotonic()
        try:
            BY_NAME[name](life, random.Random(seed))
            life.recover()
        except Exception:
            say(f"failing seed {seed}")
            say(f"{name}: {life.told[-12:]}")
            raise
        say(f"fault {seed} {name}: held, {time.monotonic() - began:.1f} s")
    say(f"a life of {len(named)} faults: {life.finish()}")
    for (status, sentence), count in Counter(life.ends).most_common():
        say(f"  {count} times a daemon ended with {status}: {sentence}")


def fault_of(seed: int) -> str:
    """The name of a fault."""
    return random.Random(f"fault {seed}").choice(FAULTS).__name__


def main(first: str = "0", count: str = "1") -> int:
    """Make faults; print those after which a promise was broken, and one line in the end."""
    start_at, end = int(first), int(first) + int(count)
    failing = 0
    for begin in range(start_at - start_at % LIFE_FAULTS, end, LIFE_FAULTS):
        seeds = range(begin, min(begin + LIFE_FAULTS, end))
        try:
            named = [(seed, fault_of(seed)) for seed in seeds]
            with clusters() as (made, etcd), living(made, etcd) as life:
                live(life, named, lambda line: print(line, flush=True))
        except Exception:  # noqa: BLE001 - whatever it is, it is a finding
            traceback.print_exc()
            print(f"failing seed {seeds[-1]}", flush=True)
            failing += 1
    print(f"{end - start_at} faults, {failing} lives failed")
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
