"""The demo's processes: a daemon, a feeder and subscribers learn which flights arrive late.

They are the commands that anybody would start by hand, talking over a Unix socket in a temporary
folder; this module starts them, watches what is public, and compares what was published with the
best threshold of the whole year.
"""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from littled.cli.flights import (
    CONFIGURATION,
    DELTA,
    EPSILON,
    STREAM,
    WORDS,
    DemoError,
    Errors,
    Year,
    read_year,
)
from littled.cli.spending import epsilon_spent
from littled_client.blocking import Client
from littled_client.errors import ClientError, UnreachableError
from littled_protocol.encodings.base import only
from littled_protocol.errors import ProtocolError
from littled_protocol.rules import Rule, ScorecardRule, ThresholdRule, Words, rule_from_dict
from littled_protocol.rules.explanations import Explanation

THRESHOLD, SCORECARD = "late", "scorecard"  # the learners of the stream
COLUMNS_SHOWN = 5
SOCKET_NAME = "littled.sock"
START_SECONDS = 30.0  # longest wait for the daemon's socket
STOP_SECONDS = 20.0  # longest wait for a process that was asked to stop
LOOK_SECONDS = 0.1  # between two looks at what the daemon says
QUIET_SECONDS = 2.0  # without a release, after the last example, before the daemon is restarted
STALL_SECONDS = 120.0  # without any progress the demo gives up


@dataclass(frozen=True, slots=True)
class Release:
    """One line of a subscriber."""

    version: int
    kind: str
    position: int
    rule: Rule
    words: Words

    @property
    def text(self) -> str:
        """The rule in a sentence."""
        return self.rule.describe(self.words)


@dataclass(frozen=True, slots=True)
class Sight:
    """What can be seen of the demo at one moment; everything in it is public.

    examples: of the whole stream. position: durable ones. rate: durable examples per second, from
    the first to the last. releases, cards: thresholds and scorecards that were published.
    """

    examples: int
    position: int
    seconds: float
    rate: float
    epsilon_spent: float
    releases: tuple[Release, ...]
    cards: tuple[Release, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnPoints:
    """What a column of a scorecard gives: the most and the least points, and for what."""

    column: str
    most: int
    most_if: str
    least: int
    least_if: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the demo ended: the last rules, the best threshold of the year, and how often they erred.

    published, cards: the thresholds and the scorecards that were in force when each flight came.
    columns: those of the last scorecard that matter most. decision: the last late flight by it.
    """

    last: Sight
    published: Errors
    cards: Errors
    best_rule: str
    best: Errors
    never_late: Errors
    columns: tuple[ColumnPoints, ...]
    decision: Explanation

    @property
    def rule(self) -> Release:
        """The last threshold."""
        return self.last.releases[-1]

    @property
    def card(self) -> Release:
        """The last scorecard."""
        return self.last.cards[-1]

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
            "scorecard": {
                "published": sum(release.kind == "rule" for release in self.last.cards),
                "rule": self.card.text,
                "error": self.cards.year,
                "error_before": self.cards.before,
                "error_after": self.cards.after,
                "columns": [asdict(column) for column in self.columns],
                "decision": self.decision.to_dict(),
            },
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
        year = read_year()
        with (folder / "flights.csv").open("w", encoding="utf-8") as file:
            year.write(file)
        troupe.wait_for(made)
        with _explained(troupe):
            last = _play(troupe, _Onlooker(len(year), show), rate)
    return _outcome(last, year)


def _outcome(last: Sight, year: Year) -> Outcome:
    """How good it was, from what was published and the flights."""
    flights, best, card = year.flights, year.flights.best_rule(), last.cards[-1]
    assert isinstance(card.rule, ScorecardRule)
    late = year.rows[flights.late.nonzero()[0][-1:]]
    return Outcome(
        last=last,
        published=year.errors([(each.position, each.rule) for each in last.releases]),
        cards=year.errors([(each.position, each.rule) for each in last.cards]),
        best_rule=best.describe(WORDS),
        best=flights.errors([(0, best)]),
        never_late=flights.errors([(0, ThresholdRule(size=best.size, threshold=best.size))]),
        columns=columns_that_matter(card.rule, card.words),
        decision=card.rule.explain(late, card.words)[0],
    )


def columns_that_matter(rule: ScorecardRule, words: Words) -> tuple[ColumnPoints, ...]:
    """The columns of a scorecard whose points spread most, the first of equals."""
    reading = words.reading
    assert reading is not None, "the demo's stream has columns"
    found = []
    for feature, points in zip(reading.features, rule.tables, strict=True):
        most, least = max(points), min(points)
        said = (feature.condition(only(feature.size, points.index(each))) for each in (most, least))
        most_if, least_if = said
        found.append(ColumnPoints(feature.name, most, most_if, least, least_if))
    found.sort(key=lambda column: column.least - column.most)
    return tuple(found[:COLUMNS_SHOWN])


def write_demo(folder: Path) -> tuple[Path, Path]:
    """Write the demo's configuration and stream into `folder`, to be run by hand.

    Returns the two new files. Raises DemoError when the flights are not there, when one of the
    files exists already, or when they cannot be written; then there is no new file.
    """
    year, made = read_year(), []
    configuration, stream = folder / "littled.toml", folder / "flights.csv"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in (configuration, stream):
            path.touch(exist_ok=False)
            made.append(path)
        configuration.write_text(CONFIGURATION, encoding="utf-8")
        with stream.open("w", encoding="utf-8") as file:
            year.write(file)
    except OSError as error:
        for path in made:
            path.unlink(missing_ok=True)
        raise DemoError(f"cannot write {error.filename}: {error.strerror}") from None
    return configuration, stream


def _feed_arguments(address: str, rate: float | None) -> list[str]:
    pace = [] if rate is None else ["--rate", str(rate)]
    return ["feed", STREAM, "flights.csv", *pace, "-a", address]


def _play(troupe: "_Troupe", onlooker: "_Onlooker", rate: float | None) -> Sight:
    """Feed the year and watch; then restart the daemon, to be sure that it has learned it all.

    Nobody outside is told how far the learners are in the journal, for that would tell how long a
    training took. But a daemon may be told to learn its whole journal before it listens.
    """
    daemon = troupe.start_daemon()
    subscribers = _Subscribers(troupe)
    feeder = troupe.start("feeder", *_feed_arguments(troupe.address, rate))
    with Client(troupe.address) as client:
        while not (feeder.ended and onlooker.complete and onlooker.quiet):
            troupe.check()
            onlooker.look(client, subscribers)
    daemon.stop()
    troupe.check()
    troupe.start_daemon(STALL_SECONDS, "--learn-first")
    with Client(troupe.address) as client:
        onlooker.look(client, subscribers)
        while not onlooker.settled:
            troupe.check()
            onlooker.look(client, subscribers)
    return onlooker.sight


class _Onlooker:
    """Looks at the daemon every now and then, as anybody may, and shows what it sees."""

    def __init__(self, examples: int, show: Callable[[Sight], None]) -> None:
        self.sight = Sight(examples, 0, 0.0, 0.0, 0.0, ())
        self._show = show
        self._published: dict[str, int] = {}
        self._started = self._looked = self._moved = self._released = time.monotonic()

    def look(self, client: Client, subscribers: "_Subscribers") -> None:
        """Wait a moment, take one look and show it; DemoError when nothing has moved for long."""
        time.sleep(LOOK_SECONDS)
        now = time.monotonic()
        stream = client.status()["streams"][STREAM]
        self._published = {name: of["version"] for name, of in stream["learners"].items()}
        before, (releases, cards) = self.sight, subscribers.collect()
        position, rate = stream["position"], before.rate
        if len(releases) + len(cards) > len(before.releases) + len(before.cards):
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
            cards=cards,
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
        """Whether the subscribers have everything that the daemon has published."""
        seen = {THRESHOLD: self.sight.releases, SCORECARD: self.sight.cards}
        return all(
            bool(releases) and releases[-1].version == self._published[name]
            for name, releases in seen.items()
        )


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
        """Start `littled` with these arguments; only subscribers' output is of interest."""
        log = self.folder / f"{name}.log"
        with log.open("w") as errors:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "littled.cli", *arguments],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if arguments[0] == "watch" else subprocess.DEVNULL,
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

    def start_daemon(self, seconds: float = START_SECONDS, *options: str) -> _Player:
        """Start the daemon and wait so long until it answers, or has failed."""
        daemon = self.start("daemon", "serve", "store", "--unix", SOCKET_NAME, *options)
        deadline = time.monotonic() + seconds
        while not self._answers():
            self.check()
            if time.monotonic() > deadline:
                raise DemoError(f"the daemon takes longer than {seconds:.0f} s to start")
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


class _Subscribers:
    """The subscribers of both learners."""

    def __init__(self, troupe: _Troupe) -> None:
        self._each = tuple(
            _Subscriber(
                troupe.start(
                    *(f"subscriber of {name}", "watch", f"{STREAM}/{name}", "--json"),
                    *("-a", troupe.address),
                )
            )
            for name in (THRESHOLD, SCORECARD)
        )

    def collect(self) -> tuple[tuple[Release, ...], tuple[Release, ...]]:
        """Thresholds and scorecards so far."""
        thresholds, scorecards = (subscriber.collect() for subscriber in self._each)
        return thresholds, scorecards


class _Subscriber:
    """A subscriber's lines as releases."""

    def __init__(self, player: _Player) -> None:
        self._releases: list[Release] = []
        self._words: Words | None = None
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        output = player.process.stdout
        assert output is not None
        self._reader = threading.Thread(target=self._read, args=(output,), daemon=True)
        self._reader.start()

    def collect(self) -> tuple[Release, ...]:
        """Take what arrived since the last call, and return everything."""
        while not self._lines.empty():
            facts = json.loads(self._lines.get())
            if self._words is None:  # what points stand for stays the same
                self._words = Words.from_dict(facts["words"])
            self._releases.append(
                Release(
                    version=facts["version"],
                    kind=facts["kind"],
                    position=facts["position"],
                    rule=rule_from_dict(facts["rule"]),
                    words=self._words,
                )
            )
        return tuple(self._releases)

    def _read(self, output: IO[str]) -> None:
        for line in output:
            self._lines.put(line)
