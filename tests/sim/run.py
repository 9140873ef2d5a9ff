"""One season after the other of a simulated machine, and an auditor who believes nothing.

A seed decides who sends what, the schedule of threads, the network, and the faults: the power goes
away at some change of a file, with any part of what was not synced left over; a write or a sync
fails; connections end; the clock jumps. After each of the daemon's lives the auditor opens the
store: what was acknowledged is in it once, in order; what was released and answered is in it with
the same bytes; no season has spent more than its caps, by its own sum. At the end the journal is
learned once more and must lead to the same.
"""

import asyncio
import gc
import hashlib
import logging
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import traceback
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import apsw

from littled.cli.replaying import compare_stream
from littled.service import daemon as service
from littled.service.daemon import serve
from littled.store import columns, staging, tail
from littled.store.errors import StoreError
from littled.store.files import FolderLock
from littled.store.store import Store
from littled.store.verify import verify
from sim.loop import SimLoop
from sim.peers import (
    LEARNER,
    Network,
    Seen,
    Wrong,
    again_and_again,
    ask,
    examples,
    produce,
    subscribe,
)
from sim.world import Deadlock, PowerLost, World, simulated
from support.disks import ForgetfulDisk, quick_folder
from support.predictions import STREAM, make_store, stream_plan

# Simulated time after which a life that does nothing wrong must have done its work.
LIFE_SECONDS_MAX = 200_000.0
LIVES_MAX = 12
STORY_LINES = 40
# Latencies and pieces of a network on which frames arrive within the limits for them.
NETWORKS = ((0.0005, 7), (0.0005, 1 << 16), (0.01, 7), (0.01, 200), (0.3, 1 << 16))


class SilentLog:
    """Keeps what the daemon says, for who looks into a failure."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def __getattr__(self, level: str) -> Any:
        def note(event: str, **facts: Any) -> None:
            self.lines.append(f"{level}: {event} {facts}")

        return note


@dataclass
class Faults:
    """What goes wrong in one life, and when, counted in changes of files."""

    power_at: int | None = None
    failure_at: int | None = None
    jumps: list[tuple[float, float]] = field(default_factory=list)
    kill_after_seconds: float | None = None


@dataclass(frozen=True)
class Load:
    """Who sends how many examples, and how long a producer rests after each few frames."""

    producers: tuple[tuple[str, int], ...]
    rest_seconds: float = 0.0


@dataclass
class Machine:
    """A folder, what peers have seen, and one seed's chance."""

    seed: int
    folder: Path
    chance: random.Random
    seen: Seen = field(default_factory=Seen)
    lines: list[str] = field(default_factory=list)
    load: Load = Load((("tower", 260), ("radar", 180)))
    now: float = 0.0
    lives: int = 0
    crashes: int = 0
    kills: int = 0
    failures: int = 0
    changes: int = 0

    def note(self, text: str) -> None:
        """Add a line to the story."""
        self.lines.append(f"[{self.now:.3f}] {text}")


class Disk(ForgetfulDisk):
    """The disk of one life; it counts changes and knows when the power goes."""

    def __init__(self, machine: Machine, world: World, store: Path, faults: Faults) -> None:
        self.machine, self.world, self.faults = machine, world, faults
        self.events = 0
        self.left: Path | None = None
        self.store = store
        # By file, what it was before the last renaming, while that may be undone by a power cut.
        self.renamed: dict[str, bytes | None] = {}
        super().__init__(f"sim-{machine.lives}", store, self.changed)

    def changed(self, kind: str, path: str) -> None:
        """Before each change of a file."""
        if self.world.off:
            raise apsw.IOError
        self.events += 1
        self.machine.changes += 1
        if self.events == self.faults.power_at:
            self.machine.note(f"power lost at a {kind} of {Path(path).name}")
            self.cut()
            raise PowerLost
        if self.events == self.faults.failure_at and kind in ("write", "sync"):
            self.machine.note(f"failure of a {kind} of {Path(path).name}")
            self.machine.failures += 1
            raise apsw.FullError if kind == "write" else apsw.IOError

    def kill(self) -> None:
        """End the process: everything that it wrote is left."""
        self.left = self.store.with_name(f"life {self.machine.lives} left")
        shutil.copytree(self.store, self.left)
        self.machine.kills += 1
        self.world.off = True

    def cut(self) -> None:
        """Switch the machine off; what is left of the store lies in `left`."""
        chance = self.machine.chance
        self.left = self.store.with_name(f"life {self.machine.lives} left")
        self.left.mkdir()
        contents = self.after_power_cut(chance)
        for name in ("noise.key", "high-water-mark"):
            before = self.renamed.get(str(self.store / name))
            undone = before is not None and chance.random() < 0.5
            contents[name] = before if undone and before else (self.store / name).read_bytes()
        for name, data in contents.items():
            path = self.left / name
            path.write_bytes(data)
            path.chmod(0o600)
        self.machine.crashes += 1
        self.world.off = True

    @contextmanager
    def under_stores(self) -> Iterator[None]:
        """Have every store that is opened meanwhile on this disk."""
        usual = Store.open

        def opened(*arguments: Any, **more: Any) -> Store:
            return usual(*arguments, vfs=self.name, **more)

        Store.open = opened  # type: ignore[method-assign]
        try:
            yield
        finally:
            Store.open = usual  # type: ignore[method-assign]

    @contextmanager
    def other_files(self) -> Iterator[None]:
        """Hook the files that are not SQLite's: the mark is renamed, then its folder is synced."""
        replace, sync = os.replace, os.fsync

        def renamed(source: Any, target: Any, **more: Any) -> None:
            if Path(target).parent == self.store:
                self.changed("renaming", str(target))
                old = Path(target).read_bytes() if Path(target).exists() else None
                self.renamed.setdefault(str(target), old)
            replace(source, target, **more)

        def synced(descriptor: int) -> None:
            self.changed("sync", f"descriptor {descriptor}")
            if Path(f"/proc/self/fd/{descriptor}").is_dir():
                self.renamed.clear()

        os.replace, os.fsync = renamed, synced  # type: ignore[assignment]
        try:
            yield
        finally:
            os.replace, os.fsync = replace, sync


def plan_faults(chance: random.Random, *, calm: bool) -> Faults:
    """What goes wrong in the next life."""
    faults = Faults()
    if calm:
        return faults
    kind = chance.random()
    if kind < 0.6:
        faults.power_at = round(chance.uniform(1, 15) ** 2)
    elif kind < 0.8:
        faults.failure_at = round(chance.uniform(1, 15) ** 2)
    if chance.random() < 0.3:
        faults.jumps = [(chance.uniform(0, 20), chance.choice((40.0, 3_600.0, 86_400.0)))]
    return faults


async def live(machine: Machine, world: World, store: Path, faults: Faults) -> None:
    """The daemon and its peers until the work is done; raises what ended the daemon."""
    chance, loop = machine.chance, asyncio.get_running_loop()
    assert isinstance(loop, SimLoop)
    path = str(machine.folder / "s")
    log: Any = SilentLog(machine.lines)
    daemon = asyncio.create_task(serve(store, Path(path), log=log, environment={}))
    latency_seconds, piece_bytes = chance.choice(NETWORKS)
    network = Network(chance, latency_seconds, piece_bytes, chance.choice((0.0, 0.01, 0.05)))

    async def producing(name: str, count: int) -> None:
        rest = machine.load.rest_seconds
        await again_and_again(
            lambda: produce(path, name, count, machine.seen, network, rest), network
        )

    peers = [producing(name, count) for name, count in machine.load.producers]
    slow = chance.choice((0.0, 0.5, 30.0))
    others = [
        again_and_again(lambda: subscribe(path, machine.seen, network, slow), network),
        again_and_again(lambda: ask(path, machine.seen, network), network),
    ]
    listeners = [asyncio.create_task(each) for each in others]
    jumping = asyncio.create_task(_jump(world, faults))
    work = asyncio.gather(*peers)
    watched: list[asyncio.Future[Any]] = [*listeners, work]
    try:
        everybody = {daemon, *watched}
        await asyncio.wait(everybody, timeout=LIFE_SECONDS_MAX, return_when=asyncio.FIRST_COMPLETED)
        for waiting in watched:
            if waiting.done():
                waiting.result()
        if not daemon.done() and not work.done():
            for thread in world.threads:
                machine.note(f"waiting: {thread.name} {thread.where()}")
            machine.lines += [str(task) for task in asyncio.all_tasks()]
            raise Wrong("the work is not done, and nobody says why")
        if not daemon.done():
            await asyncio.sleep(chance.uniform(0, 5))
            loop.handlers.get(signal.SIGTERM, lambda: None)()
        await daemon
    finally:
        for waiting in (*watched, jumping):
            waiting.cancel()
        await asyncio.wait({*watched, jumping})


async def _jump(world: World, faults: Faults) -> None:
    """The machine sleeps for a while, or its wall clock is set."""
    for at, seconds in faults.jumps:
        await asyncio.sleep(at)
        world.now += seconds
        world.wall_ahead -= 2 * seconds


@contextmanager
def _closed_in_the_end() -> Iterator[None]:
    """Close sockets that listen, locks and tails, as the kernel does where a process is gone."""
    listening: list[socket.socket] = []
    locks: list[FolderLock] = []
    tails: list[tail.Tail] = []

    def listen(listener: socket.socket, *backlog: int) -> None:
        listening.append(listener)
        super(socket.socket, listener).listen(*backlog)

    def lock(made: FolderLock, path: Path) -> None:
        locks.append(made)
        locked(made, path)

    def open_tail(made: tail.Tail) -> None:
        tails.append(made)
        opened(made)

    locked, opened = FolderLock.__init__, tail.Tail.open
    try:
        with (
            patch.object(socket.socket, "listen", listen),
            patch.object(FolderLock, "__init__", lock),
            patch.object(tail.Tail, "open", open_tail),
        ):
            yield
    finally:
        for listener in listening:
            listener.close()
        for each in locks:
            each.release()
        for made in tails:
            made.close()


def one_life(machine: Machine, store: Path, faults: Faults) -> tuple[Path, bool]:
    """Let the daemon live once; return what is left of its store, and whether the work is done."""
    machine.lives += 1
    world = World(machine.chance)
    world.now = machine.now
    disk = Disk(machine, world, store, faults)
    done = False
    try:
        with simulated(world), disk.other_files(), disk.under_stores(), _closed_in_the_end():
            loop = SimLoop(world)
            if faults.kill_after_seconds is not None:
                loop.call_later(faults.kill_after_seconds, disk.kill)
            try:
                loop.run_until_complete(live(machine, world, store, faults))
                done = True
            except PowerLost:
                pass
            except Deadlock as error:
                machine.lines += [f"{each.name}: {each.where()}" for each in world.threads]
                machine.lines += [str(task) for task in asyncio.all_tasks(loop)]
                raise Wrong(str(error)) from None
            except (StoreError, apsw.Error, OSError, ExceptionGroup) as error:
                if not disk.faults.failure_at or disk.events < disk.faults.failure_at:
                    raise
                machine.note(f"the daemon ended: {type(error).__name__}")
            finally:
                _bury(loop, world)
    finally:
        machine.now = world.now
        gc.collect()
        disk.unregister()
    return disk.left or store, done


def _bury(loop: SimLoop, world: World) -> None:
    """End everything that is left of a life, without a change of any file."""
    tasks = asyncio.all_tasks(loop)
    world.cut_power()
    for task in tasks:
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        with suppress(BaseException):
            coroutine = task.get_coro()
            if coroutine is not None:  # a task that ended at once has none, from Python 3.12 on
                coroutine.close()
    with suppress(BaseException):
        loop.close()


# --- The auditor ----------------------------------------------------------------------------------


def audit(machine: Machine, path: Path, *, replay: bool) -> None:
    """Compare a store with what peers were told; raise Wrong for the first contradiction."""
    seen = machine.seen
    found = verify(path).findings
    if found:
        raise Wrong(f"verify: {found[0]}")
    following: dict[str, int] = defaultdict(int)
    with Store.open(path) as store:
        position = 0
        for record in store.records(STREAM):
            if record.sequence != following[record.producer] or record.first_position != position:
                raise Wrong(f"{record.producer} is learned twice or has a gap")
            if (record.x, record.y) != examples(record.producer, record.sequence, record.count):
                raise Wrong(f"what {record.producer} sent is not what is stored")
            following[record.producer] += record.count
            position += record.count
        for name, least in seen.acknowledged.items():
            if not least <= following[name] <= seen.sent.get(name, 0):
                raise Wrong(f"{name}: {least} acknowledged, {following[name]} stored")
        bodies = {each.version: each.body for each in store.releases(LEARNER)}
        for version, body in seen.releases.items():
            if bodies.get(version) != body:
                raise Wrong(f"version {version} is not what was released")
        stored = {each.request: (each.x, each.y, each.window) for each in store.predictions(STREAM)}
        if any(stored.get(request) != answer for request, answer in seen.answers.items()):
            raise Wrong("an answer that was given is not stored")
        _check_budget(store)
        if replay:
            findings = compare_stream(store, STREAM).findings
            if findings:
                raise Wrong(f"replay: {findings[0]}")


def _check_budget(store: Store) -> None:
    """Every season's charges, added up here, are within the plan's caps."""
    caps: dict[str, Any] = {**stream_plan().caps.to_dict()}
    spent: dict[tuple[int, str], Fraction] = defaultdict(Fraction)
    for entry in store.ledger(STREAM):
        for name, amount in entry.price.to_dict().items():
            spent[entry.season, name] += Fraction(str(amount))
    for (season, name), total in spent.items():
        if total > Fraction(caps[name]):
            raise Wrong(f"season {season} has spent {total} of {name}, more than its cap")


# --- One seed -------------------------------------------------------------------------------------


def run_seed(seed: int) -> Machine:
    """Run a seed to its end; raises what went wrong, with the story as a note."""
    with tempfile.TemporaryDirectory(prefix="sim", dir=quick_folder()) as name:
        machine = Machine(seed, Path(name), random.Random(seed))
        try:
            small_files()
            learn_before_listening(enough=seed % 2 == 0)
            path, done = new_store(machine), False
            for life in range(LIVES_MAX):
                path, done = one_life(
                    machine, path, plan_faults(machine.chance, calm=life == LIVES_MAX - 1)
                )
                audit(machine, path, replay=done)
                if done:
                    break
            if not done:
                raise Wrong("a life without faults did not do its work")
        except BaseException as error:
            error.add_note("\n".join([f"seed {seed}", *machine.lines[-STORY_LINES:]]))
            raise
    return machine


@contextmanager
def _secrets_of(chance: random.Random) -> Iterator[None]:
    """Keys and names of new stores come from the seed, so that its noise is the same each time."""
    with (
        patch("secrets.token_bytes", chance.randbytes),
        patch("secrets.token_hex", lambda count: chance.randbytes(count).hex()),
    ):
        yield


def new_store(machine: Machine) -> Path:
    """A new store in the machine's folder."""
    with _secrets_of(machine.chance):
        return make_store(machine.folder / "store 0")


def story(machine: Machine) -> str:
    """A digest of all that happened, without the name of the folder."""
    told = "\n".join(machine.lines).replace(str(machine.folder), "")
    seen = sorted(machine.seen.releases.items()), sorted(machine.seen.answers.items())
    return hashlib.blake2b(f"{told} {seen} {machine.now}".encode(), digest_size=8).hexdigest()


def leave_out_of_collections() -> None:
    """Let collections of garbage, one after each life, pass over the program itself."""
    gc.collect()
    gc.freeze()


def small_files() -> None:
    """Let columns of a few examples stand beside the database, and a few records ahead of it."""
    staged: Any = staging  # both modules have these from others
    staged.COLUMNS_BESIDE_RECORD_BYTES_MIN = 16
    staged.COLUMNS_BESIDE_COMMIT_BYTES_MIN = 24
    files: Any = columns
    files.COLUMN_FILE_BYTES = 100
    ahead: Any = tail
    ahead.TAIL_SLOTS = 5


def learn_before_listening(*, enough: bool) -> None:
    """Let a start learn whatever there is, or else only what somebody may know of."""
    starts: Any = service
    starts.START_LEARNING_SECONDS = 1.0 if enough else 0.0


def forget_syncs() -> None:
    """A fault to plant: the disk says that it has synced, and has not."""
    ForgetfulDisk.synced = lambda *_: None  # type: ignore[method-assign]


def main(first: str = "0", count: str = "1", fault: str = "") -> int:
    """Run seeds; print those that fail, with the story, and one line in the end."""
    logging.getLogger("concurrent.futures").disabled = True
    # of coroutines that wait once more while they are closed
    sys.unraisablehook = lambda _: None
    if fault:
        forget_syncs()
    leave_out_of_collections()
    failing, done = [], []
    for seed in range(int(first), int(first) + int(count)):
        try:
            machine = run_seed(seed)
        except Exception:  # noqa: BLE001 - whatever it is, it is a finding
            traceback.print_exc()
            print(f"failing seed {seed}", flush=True)
            failing.append(seed)
        else:
            print(f"seed {seed} {story(machine)}", flush=True)
            done.append(machine)
    lives, crashes = (sum(getattr(each, name) for each in done) for name in ("lives", "crashes"))
    failures, changes = (sum(getattr(x, name) for x in done) for name in ("failures", "changes"))
    print(f"{len(done)} seeds held, {lives} lives, {crashes} power cuts, {failures} failing writes")
    print(f"{changes} changes of files; failing seeds: {failing}")
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
