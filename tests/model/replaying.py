"""Ways through the model, taken by real stores on a real server with a real mark in etcd.

Each owner is a `Store` on a thread of its own, held up before each step of a takeover and before
each replacement of the mark, so that it does what the model does when the model does it. Every
commit is durable at once here: standbys have tests of their own. Where a standby is promoted that
lags, the server's tables are those after an earlier commit, and all connections are ended. What
holds owners apart beside the guards is switched off: the server's lock, and what reserves numbers
of producers ahead.

After each step the database, the mark, and whether the owner lives have to be as in the model; and
what the model says cannot be done is tried, and has to fail.
"""

import queue
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import littled.store.store as store_module
from littled.store.errors import StoreError
from littled.store.etcd_register import EtcdRegister
from littled.store.mark import Numbers
from littled.store.place import Place
from littled.store.postgres import PostgresDatabase
from littled.store.records import NewRecord
from littled.store.register import current
from littled.store.registers import open_register
from littled.store.store import Store, _close_quietly
from model.protocol import ALL, Bounds, Owner, State, epoch_of, journal_of, releases_of, steps
from support.databases import Postgres
from support.postgres import asked, url_of
from support.stores import LEARNER, STREAM, entry, plan_values, release

BOUNDS = Bounds(openings=4, commits=6, faults=1, kinds=("copied",))
_LAGS = "that lags is promoted"
FAILOVERS = BOUNDS._replace(faults=2, kinds=(_LAGS,))
WAIT_SECONDS = 20.0
RATE = Fraction(1, 64)
_KEPT = 100  # numbers of schemas from which a standby is promoted
# Where an owner is held up after a step, and which step comes next where it is held up.
_ARRIVES = {"reads the mark": "store", "claims the mark": "put"}
_NEXT = {"store": "reads the store", "claim": "claims the mark", "put": "puts the mark, and shows"}
HELD: dict[threading.Thread, "Process"] = {}


class Killed(BaseException):
    """The end of an owner's thread."""


class Lock:
    """The lock of a server whose connection is lost."""

    def release(self) -> None:
        """Do nothing."""


class Process:
    """One owner: a thread that is held up before each step."""

    def __init__(self, url: str, files: tuple[Path, str]) -> None:
        """Begin to open a store; nothing is done yet."""
        self.store: Store | None = None
        self.error: BaseException | None = None
        self.reached: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.go_on: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self.work: Callable[[Store], Any] | None = None
        self._url, self._files = url, files
        self.thread = threading.Thread(target=self._run, daemon=True)
        HELD[self.thread] = self
        self.thread.start()
        self.at = self.reached.get(timeout=WAIT_SECONDS)

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.at == "ended"

    def hold(self, before: str) -> None:
        """On the owner's thread: wait for the driver."""
        self.reached.put(before)
        if not self.go_on.get():
            raise Killed

    def step(self, work: Callable[[Store], Any] | None = None) -> str:
        """Let it go on to where it is held up next; where that is, or "ended"."""
        self.work = work
        self.go_on.put(True)
        self.at = self.reached.get(timeout=WAIT_SECONDS)
        return self.at

    def kill(self) -> None:
        """End it."""
        if not self.over:
            self.go_on.put(False)
        self.thread.join(WAIT_SECONDS)
        HELD.pop(self.thread)

    def _run(self) -> None:
        try:
            self.store = Store.open(self._url, *self._files)
            while True:
                self.hold("serving")
                assert self.work is not None
                self.work(self.store)
        except (StoreError, Killed) as error:
            self.error = error
        finally:
            if self.store is not None:
                _close_quietly(self.store._readers, self.store._writing, None)
                self.store._register.close()
            self.reached.put("ended")


@contextmanager
def held_up() -> Iterator[None]:
    """Let owners be held up; see above what is switched off."""
    with (
        patch.object(PostgresDatabase, "lock", lambda *_, **__: Lock()),
        patch.object(Store, "_reserve", lambda *_: None),
        _held(PostgresDatabase, "writing", "raise"),
        _held(store_module, "current", "mark"),
        _held(store_module, "read_known", "store"),
        _held(EtcdRegister, "claim", "claim"),
        _held(EtcdRegister, "_put", "put"),
    ):
        yield


@contextmanager
def _held(owner: Any, name: str, before: str) -> Iterator[None]:
    real = getattr(owner, name)

    def call(*arguments: Any, **options: Any) -> Any:
        process = HELD.get(threading.current_thread())
        if process is not None:
            process.hold(before)
        return real(*arguments, **options)

    with patch.object(owner, name, call):
        yield


class Replay:
    """One way through the model, and through the real thing beside it."""

    def __init__(
        self, server: Postgres, mark: str, folder: Path, name: str, bounds: Bounds = BOUNDS
    ) -> None:
        """Make a store. tried: how often an owner was let do what it may not do."""
        self.way: list[str] = []
        self._bounds = bounds
        self._kept: set[int] = set()
        self._server, self._name = server, name
        self._files = folder / f"key-{name}", mark
        self.processes: dict[int, Process] = {}
        self.urls = [self._schema(0)]
        Store.create(self.urls[0], {"streams": [STREAM]}, {STREAM: plan_values()}, *self._files)
        self.tried = 0

    def _schema(self, number: int) -> str:
        url = url_of(self._server, f"m{self._name}_{number}")
        asked(url, f"CREATE SCHEMA m{self._name}_{number}")
        return url

    def take(self, chance: random.Random) -> tuple[str, ...]:
        """Take one way to its end; its steps. AssertionError where the two differ."""
        state, way = State(), self.way
        try:
            self._keep(state)
            while choices := self._choices(state):
                lags = sum(name.endswith(_LAGS) for name, _ in choices)
                rare = {"is killed": 0.1, _LAGS: 0.5 / max(lags, 1)}
                weights = [
                    min((rare[end] for end in rare if name.endswith(end)), default=1.0)
                    for name, _ in choices
                ]
                ((name, after),) = chance.choices(choices, weights)
                way.append(name)
                if self._do(name, state, after):
                    state = after
                    self._compare(state, way)
                    self._keep(state)
        finally:
            for process in self.processes.values():
                process.kill()
        return tuple(way)

    def _do(self, name: str, state: State, after: State) -> bool:
        """Take a step; whether it was, as a real store may see sooner that it was put off."""
        if name == "the store is copied":
            self._copy(0, 1)
        if name.endswith(_LAGS):
            self._promote(len(after.databases[0].log))
        if not name.startswith("owner "):
            return True
        number, what = int(name.split()[1]), name.split(maxsplit=2)[2]
        if what.startswith("raises the epoch of "):
            self.processes[number] = Process(self.urls[int(what[-1])], self._files)
            assert self.processes[number].step() == "mark"
            return True
        process = self.processes[number]
        owner = next(each for each in state.owners if each.opening == number)
        if what == "is killed":
            if not process.over:
                self._try_what_is_forbidden(state, owner)
            self.processes.pop(number).kill()
        elif what == "reads the store" and process.step() == "ended":
            database = state.databases[owner.database]
            assert (epoch_of(database.log), database.life) != (owner.epoch, owner.life)
            return False
        else:
            self._step(process, owner, what)
        return True

    @staticmethod
    def _step(process: Process, owner: Owner, what: str) -> None:
        if what == "reads the store":
            assert process.at == "claim"
        elif what in _ARRIVES:
            assert process.step() == _ARRIVES[what]
        elif what == "puts the mark, and shows":
            if process.at == "serving":  # a mark may be moved for other reasons
                assert process.step(_moves) == "put"
            assert process.step() == "serving"
        elif what == "appends an example":
            assert process.step(_appends(owner)) == "serving"
        elif what == "publishes":
            assert process.step(_publishes(owner)) == "put"
        elif what == "tells where its producer is":
            assert process.step(lambda store: store.place(STREAM, "tower")) == "serving"

    def _choices(self, state: State) -> list[tuple[str, State]]:
        """The next steps; of a commit that waits nothing but its end, as nothing waits here."""
        ended = tuple(f"owner {number} " for number, each in self.processes.items() if each.over)
        found = [
            (name, after)
            for name, after in steps(state, ALL, self._bounds)
            if name.endswith("is killed") or not name.startswith(ended)
        ]
        ending = [each for each in found if each[0].endswith("has everything")]
        told = [each for each in found if each[0].endswith("is told of its commit")]
        return ending or told or found

    def _copy(self, source: int, target: int) -> None:
        self.urls.append(self._schema(target))
        self._fill(source, target)

    def _fill(self, source: int, target: int) -> None:
        """Let a schema have the tables of another one."""
        there, here = f"m{self._name}_{source}", f"m{self._name}_{target}"
        for (table,) in asked(
            self.urls[0],
            f"SELECT tablename FROM pg_tables WHERE schemaname = '{there}'",  # noqa: S608
        ):
            asked(
                self.urls[0],
                f"CREATE TABLE {here}.{table} (LIKE {there}.{table} INCLUDING ALL);"  # noqa: S608
                f"INSERT INTO {here}.{table} SELECT * FROM {there}.{table}",
            )

    def _keep(self, state: State) -> None:
        """Remember what a standby has that comes no further, where one may be promoted."""
        length = len(state.databases[0].log)
        if self._bounds is not FAILOVERS or state.databases[0].waiting or length in self._kept:
            return
        self._kept.add(length)
        self._schema(_KEPT + length)
        self._fill(0, _KEPT + length)

    def _promote(self, length: int) -> None:
        """Be a server that has no more than so many commits, to which nobody is connected."""
        asked(
            self.urls[0],
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'littled'",
        )
        schema = f"m{self._name}_0"
        asked(self.urls[0], f"DROP SCHEMA {schema} CASCADE; CREATE SCHEMA {schema}")
        self._fill(_KEPT + length, 0)
        for later in [each for each in self._kept if each > length]:
            self._kept.remove(later)
            kept = f"m{self._name}_{_KEPT + later}"
            asked(self.urls[0], f"DROP SCHEMA {kept} CASCADE")

    def _compare(self, state: State, way: list[str]) -> None:
        """The databases and the mark are as in the model."""
        if any(database.waiting for database in state.databases):
            return  # for a moment that is over here already
        for url, database in zip(self.urls, state.databases, strict=True):
            found = asked(url, "SELECT sequence, x FROM records ORDER BY key")
            journal = tuple((int(sequence), x[0]) for sequence, x in found)
            assert journal == journal_of(database.log), way
            (count,) = asked(url, "SELECT count(*) FROM releases")[0]
            assert count == len(releases_of(database.log)), way
        register = open_register(Place.of(self.urls[0], *self._files), self._key())
        mark, _ = current(register)
        register.close()
        assert mark.version(LEARNER) == len(state.mark.releases), way

    def _key(self) -> bytes:
        return bytes.fromhex(self._files[0].read_text().split()[-1])

    def _try_what_is_forbidden(self, state: State, owner: Owner) -> None:
        """What the model does not let an owner do it cannot do: it ends."""
        process = self.processes[owner.opening]
        if owner.state == "claimed" and owner.mark[:2] == (owner.journal, owner.releases):
            return  # a mark that stays as it is is not written, and nothing else is shown
        more = state._replace(used=state.used._replace(commits=0))
        may = {
            name.split(maxsplit=2)[2]
            for name, _ in steps(more, ALL, self._bounds)
            if name.startswith(f"owner {owner.opening} ")
        }
        if process.at == "serving" and "appends an example" not in may:
            process.step(_appends(owner))
        elif process.at == "serving" and "puts the mark, and shows" not in may:
            assert process.step(_moves) == "put"
            process.step()
        elif process.at in _NEXT and _NEXT[process.at] not in may:
            process.step()
        else:
            return
        self.tried += 1
        assert process.at == "ended", self.way
        assert isinstance(process.error, StoreError), self.way


def _moves(store: Store) -> None:
    """Replace the mark for another reason, as it is done for numbers of producers."""
    mark = store._marks[STREAM]
    numbers = mark.numbers or Numbers({})
    raised = numbers.raised({"radar": numbers.bound("radar") + 1})
    store._marks[STREAM] = replace(mark, numbers=raised)
    store._advance_mark()


def _appends(owner: Owner) -> Callable[[Store], Any]:
    number, cut = len(owner.journal), bytes([owner.opening]) * 8
    return lambda store: store.append([NewRecord(STREAM, "tower", number, 1, cut, b"\0")])


def _publishes(owner: Owner) -> Callable[[Store], Any]:
    version = len(owner.releases) + 1
    cut = owner.journal[version - 1][1]
    return lambda store: store.publish(
        [release(version, threshold=cut)], [entry(version - 1, rate=RATE)]
    )
