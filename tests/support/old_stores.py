"""Stores that an older version of the program has made: their configurations, and their examples.

    python -m support.old_stores FOLDER NAME ...

makes files of `tests/fixtures/stores` with the program that is imported, and is run in the
environment of the older one: `git worktree add OLD 17e11b0`, and the three packages of OLD before
those of this version. Nothing here may need more than that version had. "columns" is of da941a9,
"windows" of f8874e1, the first with window learners; "quality" of the first version that says how
good rules are; "scorecards" of 84a95e3; "boosted" of 9e2c4c6, with scorecards from windows;
"damped" of 167dd7b, the last whose scorecards have one rate; "sequences" of the first with one-way
sequences; "grown" of the first to which streams can be added; "places" of 10fe5c0, with places of
producers' sources; "exact" of 18ed2ea, the first that books scorecards as Gaussian differential
privacy; "tallies" and "memories" of c2eb29e, the last whose closures never start over; "warmups"
and "together" of 13b946e, the first with warm-ups; "ahead" of 44ac363, the first with records that
stand ahead of the database, and with flags of categories; all others are of 17e11b0.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from littled.store.store import Store
from littled_client import Client
from littled_protocol.rules.sequences import leaf_of, point_of

FIXTURES = Path(__file__).parents[1] / "fixtures" / "stores"
PRODUCER = "p"
# Examples of each stream, and how many of them a frame has.
EXAMPLES = 1_500
EXAMPLES_OF_WINDOWS = 4_100
LEARN_SECONDS_MAX = 10.0
FRAMES = (1, 7, 120, 500)
ANSWERED_MAX = 12
Begun = Callable[..., "subprocess.Popen[str]"]
# Of u64 points: enough for columns beside the database.
FRAMES_OF_COLUMNS = (40_000, 3)

_STREAM = """
[streams.{name}]
epsilon = {epsilon}
delta = 1e-5
horizon = {horizon}
{more}
"""
_LEARNER = """
[streams.{name}.learners.{learner}]
class = "{kind}"
{more}
"""


def stream(
    name: str,
    kind: str,
    more: str = "",
    *,
    epsilon: float = 20,
    horizon: int = 5_000,
    unit: str = "",
) -> str:
    """A stream with one learner."""
    head = _STREAM.format(name=name, epsilon=epsilon, horizon=horizon, more=unit)
    return head + _LEARNER.format(name=name, learner="one", kind=kind, more=more)


CLASSES = {
    "thresholds": "thresholds:64",
    "points": "points:8",
    "wide": "points:128",
    "sets": "sparse_sets:8:2",
    "prefixes": "prefixes:16",
    "addresses": "prefixes:128",
    "affine": "affine:8:2",
    "stumps": "stumps:3:16",
    "conjunctions": "conjunctions:6",
    "table": "table:rules.csv",
}
TABLE = """rule,0,1,2,3,4,5,6,7
none,0,0,0,0,0,0,0,0
most,0,0,1,1,1,1,1,1
half,0,0,0,0,1,1,1,1
few,0,0,0,0,0,0,1,1
"""
SELECTIONS = {
    "auto": "thresholds:64",
    "dense": "thresholds:64",
    "fresh": "thresholds:64",
    "sparse": "prefixes:16",
    "closure": "affine:16:2",
    "histogram": "sparse_sets:16:2",
    "paper": "thresholds:16",
}
PAPER = "paper = {teachers = 8, threshold = 0.001}"
METHODS = ("dense", "stability", "relabelling", "realizable", "averaging", "majority")
ANSWERS = 'kind = "prediction"\nexcess_error = 0.45\nwindow = '
USERS = 'unit = "user"\nuser_examples_max = 4\n'
MEASURED = "quality = 0.025\n"
FITS = "noise_rate = 0"
TEACHERS = f'{FITS}\nselection = "closure"'
ADAPTIVE = f'{FITS}\nadversary = "adaptive"'
WINDOWS = {
    "dense": "thresholds:64",
    "histogram": "points:16",
    "proposals": "prefixes:16",
    "closure": "affine:16:2",
    "teachers": "thresholds:16",
}
WINDOW = 'kind = "batch"\npositives = 0.5\nwindow = '
CARD = 'kind = "batch"\nwindow = '
SHORT: Any = {"epsilon": 2, "horizon": 1_300}

CONFIGURATIONS = {
    "classes": "".join(stream(name, kind) for name, kind in CLASSES.items()),
    "selections": "".join(
        stream(name, kind, f'selection = "{name}"\n{PAPER if name == "paper" else ""}')
        for name, kind in SELECTIONS.items()
    ),
    "answers": "".join(
        stream(name, "thresholds:16", f'{ANSWERS}4000\nmethod = "{name}"', horizon=8_000)
        for name in METHODS
    ),
    "users": stream("late", "thresholds:64", unit=USERS, epsilon=8, horizon=20_000),
    "seasons": stream("late", "thresholds:64", "noise_rate = 0.05", horizon=400)
    + stream(
        "turns", "thresholds:16", f'{ANSWERS}200\nmethod = "averaging"', horizon=400, epsilon=100
    ),
    "restored": stream("late", "thresholds:64"),
    "grown": stream("late", "thresholds:64") + stream("thresholds", "thresholds:64"),
    # the producer of every stream tells places of its source
    "places": stream("late", "thresholds:64") + stream("members", "thresholds:64", unit=USERS),
    "killed": stream("late", "thresholds:64") + stream("ids", "points:64"),
    "columns": stream("rows", "points:64", horizon=45_000)
    + stream("members", "thresholds:64", unit=USERS, epsilon=8, horizon=45_000),
    # what is left over at the end of a season, 1,300 examples long, is in no window
    "windows": "".join(
        stream(f"{name}_windows", kind, f'{WINDOW}200\nmethod = "{name}"', **SHORT)
        for name, kind in WINDOWS.items()
    )
    + stream("noisy", "thresholds:64", f"{WINDOW}100\nnoise_rate = 0.05", **SHORT)
    + stream("members", "thresholds:64", f"{WINDOW}200", unit=USERS, **SHORT)
    + stream("pupils", "thresholds:16", f'{WINDOW}400\nmethod = "teachers"', unit=USERS),
    "sequences": "".join(
        stream(name, "oneway:3", f'window = 400\nmethod = "{name}"', epsilon=8, horizon=1_300)
        for name in ("exponential", "stable")
    )
    + stream("bearers", "oneway:3", "window = 600", unit=USERS, epsilon=16),
    # several seasons of several periods, and one that is not over
    "quality": stream("late", "thresholds:64", horizon=600, unit=MEASURED)
    + stream("ids", "points:64", "noise_rate = 0", horizon=600, unit=MEASURED)
    + stream("dense_windows", "thresholds:64", f"{WINDOW}200", horizon=600, unit=MEASURED)
    + stream("marks", "scorecard:16x16x16", horizon=600, unit=MEASURED)
    + stream("members", "thresholds:64", unit=f"{USERS}quality = 0.5\n", horizon=600),
    # two seasons; the second of these streams has a warm-up, and rules of two columns
    "scorecards": stream("cold", "scorecard:16x16x16c", epsilon=2, horizon=1_000)
    + stream("warm", "scorecard:16x16x16", "columns_max = 2", epsilon=20, horizon=1_300)
    + stream("members", "scorecard:16x16", unit=USERS, epsilon=8),
    # few rounds, booked pure, and many; what is left over at the end of a season is in no window
    "boosted": stream("few", "scorecard:16x16x16c", f"{CARD}200", epsilon=2, horizon=1_300)
    + stream("many", "scorecard:16x16", f"{CARD}400", epsilon=20, horizon=1_300)
    + stream("members", "scorecard:16x16", f"{CARD}400", unit=USERS, epsilon=20),
    # the same with damped noise, a stump, judged candidates, and one rate for the whole season
    "damped": stream("cold", "scorecard:16x16x16c", epsilon=2, horizon=1_000)
    + stream("warm", "scorecard:16x16x16", "columns_max = 2", epsilon=20, horizon=1_300)
    + stream("members", "scorecard:16x16", unit=USERS, epsilon=8),
    # and booked as GDP; how good the rules of the second are is measured, as is usual
    "exact": stream("cold", "scorecard:16x16x16c", epsilon=2, horizon=1_000)
    + stream("warm", "scorecard:16x16x16", "columns_max = 2", epsilon=8, horizon=1_300)
    + stream("members", "scorecard:16x16", unit=USERS, epsilon=8),
    "tallies": stream("ids", "points:64", FITS)
    + stream("sets", "sparse_sets:8:2", FITS)
    + stream("conjunctions", "conjunctions:16", FITS)
    + stream("lines", "affine:4:1", FITS),
    # public memories of chains and blocks, of majorities too, and examples that are held back
    "memories": stream("late", "thresholds:64", FITS)
    + stream("prefixes", "prefixes:16", FITS)
    + stream("stumps", "stumps:3:16", FITS)
    + stream("halving", "thresholds:64", ADAPTIVE)
    + stream("majority", "stumps:3:16", ADAPTIVE)
    + stream("members", "thresholds:64", FITS, unit=USERS, epsilon=8, horizon=20_000),
    # warm-ups of a chain and of a pool in the first of three seasons, and one that is not over
    "warmups": stream("chain", "thresholds:256", FITS, epsilon=4, horizon=700)
    + stream("pool", "stumps:3:16", FITS, epsilon=8, horizon=700)
    + stream("slow", "stumps:3:16", FITS, epsilon=0.05),
    # killed before what came alone was in the database; a category of sixteen values
    "ahead": stream("late", "thresholds:64")
    + stream("members", "thresholds:64", unit=USERS, epsilon=8, horizon=20_000)
    + stream("cold", "scorecard:16x16x16c", epsilon=2, horizon=1_000),
    # closures of teachers and of users, whose target changes
    "together": stream("planes", "affine:4:2", TEACHERS)
    + stream("members_of_planes", "affine:4:2", FITS, unit=USERS),
}
"""By name of a store: what it was made with."""
KILLED = ("killed", "ahead")
# A daemon that starts learns what the one before was stopped at, before it is ready.
LEARNED = ("warmups", "together")
# What is added to "grown", where another stream is closed: the first that protects users.
ADDED = stream("members", "thresholds:64", unit=USERS, epsilon=8, horizon=20_000)


# --- examples -------------------------------------------------------------------------------------


def examples(name: str, x_type: str, first: int, count: int) -> tuple[list[Any], list[int]]:
    """Points and labels of a stream; they follow from their numbers alone."""
    x: list[Any] = []
    y: list[int] = []
    for number in range(first, first + count):
        chance = random.Random(f"{name} {number}")
        high = chance.random() < 0.5
        if x_type.startswith("bytes"):
            seed, index = b"shop" * 4 if high else b"none" * 4, chance.randrange(8)
            leaf = leaf_of(seed, index, 3)
            x.append(point_of(index, leaf.sigma, 3))
            y.append(leaf.bit if high else 0)
        elif "x" in x_type:
            flags = name == "conjunctions"
            row = [chance.randrange(2 if flags else 16) for _ in range(width(x_type))]
            x.append(row)
            y.append(int(row[0] == 1 if flags else row[1] >= 9))
        elif name in OF_SPACES:  # which change in the middle
            space = OF_SPACES[name][number >= EXAMPLES // 2]
            x.append(chance.choice(space) if high else chance.randrange(16))
            y.append(int(x[-1] in space))
        else:
            limit = LIMITS.get(name, 16)
            point = chance.randrange(limit // 2, limit) if high else chance.randrange(limit // 2)
            point = 5 if name in OF_IDS and high else point
            x.append(point)
            y.append(int(high if point != 5 else 1))
    return x, y


LINE, PLANE = (3, 5), (8, 9, 10, 11)
OF_SPACES = {
    "lines": (LINE, (9, 12)),
    "planes": (LINE, PLANE),
    "members_of_planes": (LINE, PLANE),
}
OF_IDS = ("points", "wide", "sets", "ids", "rows", "sparse", "histogram", "histogram_windows")
LIMITS = {
    "thresholds": 64, "points": 256, "wide": 1 << 100, "sets": 256, "prefixes": 1 << 16,
    "addresses": 1 << 128, "affine": 256, "table": 8, "auto": 64, "dense": 16, "fresh": 64,
    "sparse": 1 << 16, "closure": 1 << 16, "histogram": 1 << 16, "late": 64, "ids": 1 << 64,
    "closure_windows": 4, "halving": 64, "chain": 256,
}  # fmt: skip


def width(x_type: str) -> int:
    """Numbers in a row."""
    return int(x_type.partition("x")[2])


def users(first: int, count: int) -> list[str]:
    """Users of a stream's examples, each with six of them one after the other."""
    return [f"user {number // 6}" for number in range(first, first + count)]


# --- a program at work ----------------------------------------------------------------------------


def littled(*arguments: str, folder: Path) -> str:
    """Run a command; its output. CalledProcessError."""
    command = [sys.executable, "-m", "littled.cli", *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def begun(arguments: list[str], **options: Any) -> subprocess.Popen[str]:
    """A command as a process."""
    return subprocess.Popen([sys.executable, "-m", "littled.cli", *arguments], **options)


@contextmanager
def served(store: Path, *, kill: bool = False, begun: Begun = begun) -> Iterator[Client]:
    """A daemon on a store, and a client; stopped, or killed, in the end.

    begun: how it is started.
    """
    address = store.parent / "s"
    arguments = ["serve", str(store), "--unix", str(address), "--log", "json"]
    daemon = begun(arguments, stderr=subprocess.PIPE, text=True)
    assert daemon.stderr is not None
    try:
        said: list[str] = []
        while not said or '"ready"' not in said[-1]:
            said.append(daemon.stderr.readline())
            assert said[-1], "".join(said)
        with Client(f"unix:{address}", producer=PRODUCER) as client:
            yield client
    finally:
        daemon.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        daemon.stderr.read()
        status = daemon.wait(60)
        daemon.stderr.close()
    assert kill or status == 0, status


def feed(
    client: Client,
    store: Path,
    count: int,
    *,
    wait: bool = True,
    lengths: tuple[int, ...] = FRAMES,
    alone: bool = False,
) -> None:
    """Send so many examples more to each stream, in frames of several lengths.

    alone: each frame after the acknowledgement of the one before.
    """
    for name in plans(store):
        if name in closed(store):
            continue
        # Older versions know nothing of places.
        places: dict[str, Any] = {"resumes": True} if store_name(store) == "places" else {}
        with client.feed(name, **places) as feeder:
            end, frames = feeder.next_sequence + count, 0
            while (first := feeder.next_sequence) < end:
                size = min(lengths[frames % len(lengths)], end - first)
                x, y = examples(name, feeder.x_type, first, size)
                more: dict[str, Any] = {"users": users(first, size)} if feeder.names_users else {}
                if places:
                    more["resume"] = place_of(name, first + size)
                feeder.send(x, y, **more)
                frames += 1
                if alone:
                    feeder.flush()
            feeder.flush()
    deadline = time.monotonic() + LEARN_SECONDS_MAX
    while wait and not learned(client) and time.monotonic() < deadline:
        time.sleep(0.05)


def store_name(store: Path) -> str:
    """The name under which a store is kept, or is made."""
    return store.parent.name if store.name == "store" else store.name


def place_of(name: str, sequence: int) -> bytes:
    """The place of a producer's source behind so many examples."""
    return f"{name} at {sequence}".encode()


def learned(client: Client) -> bool:
    """Whether every stream has its first rule beyond the one without data, if it has rules."""
    found = client.status()["streams"]
    return all(
        learner.get("version", 2) > 1
        for plan in found.values() for learner in plan["learners"].values()
    )  # fmt: skip


def ask(client: Client, store: Path) -> None:
    """Ask some questions wherever answers are given; half of what a window may answer."""
    for name, plan in plans(store).items():
        for learner, settings in plan.get("learners", {}).items():
            if settings.get("kind") == "prediction":
                most = settings["parameters"]["answers_max"] // 2
                points = list(range(min(most, ANSWERED_MAX)))
                client.predict_points(f"{name}/{learner}", points, request=bytes(16))


def plans(store: Path) -> dict[str, Any]:
    """The plan of each stream."""
    with Store.open(store, read_only=True) as opened:
        return opened.plans


def closed(store: Path) -> frozenset[str]:
    """The streams that take no more examples; older versions know of none."""
    with Store.open(store, read_only=True) as opened:
        found: frozenset[str] = getattr(opened, "closed", frozenset())
        return found


# --- what a store says ----------------------------------------------------------------------------


def said(store: Path) -> dict[str, dict[str, list[str]]]:
    """Short digests of each release, charge and answer, by learner or stream, in order."""
    found: dict[str, dict[str, list[str]]] = {"releases": {}, "charges": {}, "answers": {}}
    with Store.open(store, read_only=True) as opened:
        for name, plan in opened.plans.items():
            for learner, values in plan["learners"].items():
                chains = [f"{name}/{learner}"]
                if "quality" in values["parameters"]:
                    chains.append(f"{name}/{learner}/quality")
                for chain in chains:
                    releases = opened.releases(chain)
                    found["releases"][chain] = [_digest(release.body) for release in releases]
            charges = opened.ledger(name)
            found["charges"][name] = [_digest(charge.to_bytes()) for charge in charges]
            answers = opened.predictions(name)
            found["answers"][name] = [
                _digest(answer.x + answer.y + answer.head) for answer in answers
            ]
    return found


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=4).hexdigest()


def verified(store: Path) -> dict[str, Any]:
    """What `littled verify --replay` says; CalledProcessError where it found something."""
    found: dict[str, Any] = json.loads(
        littled("verify", str(store), "--replay", "--json", folder=store.parent)
    )
    return found


# --- making them ----------------------------------------------------------------------------------


def make(name: str, folder: Path) -> None:
    """Make one of the stores in a folder."""
    (folder / "rules.csv").write_text(TABLE)
    (folder / "littled.toml").write_text(CONFIGURATIONS[name])
    store = folder / "store"
    littled("init", "store", "--config", "littled.toml", folder=folder)
    with served(store, kill=name in KILLED) as client:
        feed(client, store, EXAMPLES_OF_WINDOWS if name == "answers" else EXAMPLES)
        if name == "columns":
            feed(client, store, sum(FRAMES_OF_COLUMNS), lengths=FRAMES_OF_COLUMNS)
        ask(client, store)
        if name == "killed":
            feed(client, store, 200, wait=False)
        if name == "ahead":
            feed(client, store, 20, wait=False, lengths=(1,), alone=True)
    if name in LEARNED:
        with served(store):
            pass
    if name == "restored":
        older = shutil.copytree(store, folder / "older")
        with served(store) as client:
            feed(client, store, 2 * EXAMPLES)
        for file in ("store.sqlite", "store.sqlite-wal", "store.sqlite-shm"):
            (store / file).unlink(missing_ok=True)
            if (older / file).exists():
                shutil.copy(older / file, store / file)
        littled("restore", "store", "--yes", folder=folder)
        with served(store) as client:
            feed(client, store, EXAMPLES)
    if name == "grown":
        (folder / "more.toml").write_text(ADDED)
        littled("stream", "add", "store", "more.toml", folder=folder)
        littled("stream", "close", "store", "thresholds", "--yes", folder=folder)
        with served(store) as client:
            feed(client, store, EXAMPLES)


def main(target: str, *names: str) -> None:
    """Make some of them, each with what the program says of it."""
    folder = Path(target).absolute()
    said_of = folder / "said.json"
    everything: dict[str, Any] = json.loads(said_of.read_text()) if said_of.exists() else {}
    for name in names:
        work = folder / "work" / name
        work.mkdir(parents=True)
        make(name, work)
        (work / "store" / "store.sqlite-shm").unlink(missing_ok=True)
        with tarfile.open(folder / f"{name}.tar.xz", "w:xz", preset=9) as archive:
            archive.add(work / "store", name)
        copy = shutil.copytree(work / "store", work / "copy")
        everything[name] = {"verify": verified(copy), "said": said(copy)}
    text = json.dumps(everything, indent=None, separators=(",", ":"), sort_keys=True)
    said_of.write_text(text + "\n")
    shutil.rmtree(folder / "work")


if __name__ == "__main__":
    os.umask(0o077)
    main(*sys.argv[1:])
