"""Logs that are followed: every row once, however they are put aside and whoever is restarted."""

import gzip
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from littled.store.store import Store
from support.commands import START_SECONDS, Daemon, Littled, position, start

COLUMNS = ["--x", "delay", "--y", "late"]
HEADER = "delay,late\n"


class Log:
    """A log of examples, whose rows differ from file to file, and a feeder that follows it."""

    def __init__(self, path: Path, daemon: Daemon) -> None:
        self.path = path
        self.daemon = daemon
        self.before = position(daemon)
        self.rows = 0
        self.feeder: subprocess.Popen[str] | None = None
        self.said = ""
        self.begin()

    def begin(self) -> None:
        """Make an empty log."""
        self.path.write_text(HEADER)

    def write(self, count: int) -> None:
        """Append rows that stand nowhere else."""
        with self.path.open("a") as file:
            for _ in range(count):
                self.rows += 1
                delay = self.rows % 200
                file.write(f"{delay},{int(delay >= 24)}\n")
                if self.rows % 7 == 0:
                    file.write("\n" * (1 + self.rows % 3))

    def rename(self, suffix: str = ".1") -> Path:
        """Put the log aside by a new name."""
        aside = self.path.with_name(self.path.name + suffix)
        self.path.rename(aside)
        self.begin()
        return aside

    def cut(self, suffix: str = ".1") -> Path:
        """Put the log aside by a copy."""
        aside = self.path.with_name(self.path.name + suffix)
        aside.write_bytes(self.path.read_bytes())
        os.truncate(self.path, 0)
        with self.path.open("a") as file:
            file.write(HEADER)
        return aside

    def follow(self) -> None:
        """Start a feeder."""
        feed = ["feed", "flights", str(self.path), *COLUMNS, "-a", self.daemon.address, "--follow"]
        self.feeder = start(*feed)

    def arrive(self) -> None:
        """Wait until every row is durable, and see that none is there twice."""
        deadline = time.monotonic() + START_SECONDS
        while position(self.daemon) < self.before + self.rows:
            assert time.monotonic() < deadline, (position(self.daemon) - self.before, self.rows)
            assert self.feeder is None or self.feeder.poll() is None, self.feeder.communicate()
            time.sleep(0.02)
        assert position(self.daemon) == self.before + self.rows

    def stop(self, number: signal.Signals = signal.SIGTERM) -> str:
        """Stop the feeder; return what it said."""
        assert self.feeder is not None
        self.feeder.send_signal(number)
        _, err = self.feeder.communicate(timeout=START_SECONDS)
        # The interpreter ends by the signal as long as it has not begun to listen.
        assert self.feeder.returncode in (-number, 128 + number), err
        self.feeder = None
        return err


@pytest.fixture
def log(daemon: Daemon, tmp_path: Path) -> Log:
    """A log with some rows."""
    made = Log(tmp_path / "log.csv", daemon)
    made.write(40)
    return made


@pytest.mark.long
def test_a_file_that_grows_is_followed(log: Log) -> None:
    log.follow()
    log.arrive()
    taken = []
    for count in (1, 2, 30):
        began = time.monotonic()
        log.write(count)
        log.arrive()
        taken.append(time.monotonic() - began)
    # A busy machine holds up some; a feeder that looks too seldom would hold up each, for it has
    # just looked.
    assert min(taken) < 1.0
    with log.path.open("a") as file:
        file.write("7,")
    time.sleep(0.5)
    with log.path.open("a") as file:
        file.write("0\n")
    log.rows += 1
    log.arrive()
    err = log.stop()
    assert (
        err == "littled: stopped after 74 acknowledged examples; the same command goes on there\n"
    )
    assert log.rows == 74


@pytest.mark.long
@pytest.mark.parametrize("how", ["rename", "cut"])
def test_a_log_that_is_put_aside_is_followed(log: Log, how: str) -> None:
    log.follow()
    log.arrive()
    for turn in range(3):
        log.write(3)
        log.arrive()
        (log.rename if how == "rename" else log.cut)(f".{turn + 1}")
        log.write(5 + turn)
        log.arrive()
    assert log.stop().count("was put aside as ") == 3


@pytest.mark.long
@pytest.mark.parametrize("how", ["rename", "cut"])
def test_half_a_line_is_read_whole_from_where_the_log_was_put(log: Log, how: str) -> None:
    """As of a program whose output is flushed in the middle of a line."""
    log.follow()
    log.arrive()
    for turn in range(2):
        with log.path.open("a") as file:
            file.write("19")
        time.sleep(0.3)
        with log.path.open("a") as file:
            file.write("5,1\n40,1\n")
        log.rows += 2
        (log.rename if how == "rename" else log.cut)(f".{turn + 1}")
        log.write(2)
        log.arrive()
    log.stop()
    with Store.open(log.daemon.store, read_only=True) as store:
        points = b"".join(each.x for each in store.records("flights"))
    learned = [point - 30 for point in points[log.before :]]
    assert (learned.count(19), learned.count(195)) == (1, 2)


def test_rows_that_were_written_just_before_a_log_was_cut_are_in_its_copy(log: Log) -> None:
    log.follow()
    log.arrive()
    assert log.feeder is not None
    os.kill(log.feeder.pid, signal.SIGSTOP)  # it does not see them in time
    log.write(30)
    log.cut()
    log.write(3)
    os.kill(log.feeder.pid, signal.SIGCONT)
    log.arrive()
    log.stop()


@pytest.mark.long
@pytest.mark.parametrize("how", ["rename", "cut"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_log_that_is_put_aside_while_nobody_follows_loses_nothing(
    log: Log, how: str, number: signal.Signals
) -> None:
    log.follow()
    log.arrive()
    log.write(3)
    log.arrive()
    log.stop(number)
    log.write(20)
    put = log.rename if how == "rename" else log.cut
    put(".2")
    log.write(11)
    packed = put(".1").read_bytes()
    log.path.with_name("log.csv.1.gz").write_bytes(gzip.compress(packed))
    log.path.with_name("log.csv.1").unlink()
    log.write(6)
    log.follow()
    log.arrive()
    log.write(1)
    log.arrive()
    log.stop()
    log.follow()
    log.write(1)
    log.arrive()
    log.stop()


def test_a_log_whose_old_part_is_gone_is_followed_and_that_is_said(log: Log) -> None:
    log.follow()
    log.arrive()
    log.stop()
    log.path.unlink()
    log.begin()
    log.write(5)
    log.follow()
    log.arrive()
    assert "what was fed of the old one is not beside it" in log.stop()


@pytest.mark.long
def test_feeders_that_are_killed_at_any_time_feed_every_row_once(log: Log) -> None:
    """Rows, renames, cuts and kills in a random order, the same every time."""
    dice = random.Random(5)
    log.follow()
    log.arrive()
    turn = 0
    for _ in range(12):
        log.write(dice.randrange(1, 400))
        what = dice.choice(["rename", "kill", "stop", "both", "nothing"])
        if what in ("kill", "stop", "both"):
            log.stop(signal.SIGTERM if what == "stop" else signal.SIGKILL)
            log.write(dice.randrange(1, 50))
        if what in ("rename", "both"):
            turn += 1
            log.rename(f".{turn}")
            log.write(dice.randrange(1, 50))
        if log.feeder is None:
            log.follow()
        time.sleep(dice.random())
    log.arrive()
    log.stop()


@pytest.mark.parametrize(
    ("options", "status", "sentence"),
    [
        (["FILE", "--producer", "p"], 2, "--producer and --record are for one file"),
        (["-"], 2, "only a file of CSV, TSV or JSON lines can be followed"),
        (["PIPE"], 1, "only a regular file can be followed"),
    ],
)
def test_what_cannot_be_followed_is_said_in_one_sentence(
    littled: Littled, log: Log, options: list[str], status: int, sentence: str
) -> None:
    pipe = log.path.with_name("pipe.csv")
    os.mkfifo(pipe)
    names = {"FILE": str(log.path), "PIPE": str(pipe)}
    words = [names.get(word, word) for word in options]
    said = littled("feed", "flights", *words, *COLUMNS, "-a", log.daemon.address, "--follow")
    assert (said.status, said.sentence.count(sentence)) == (status, 1)


def test_without_a_folder_for_what_was_fed_no_log_is_followed(
    littled: Littled, log: Log, tmp_path: Path
) -> None:
    """After a log was put aside nobody would know which rows were fed."""
    (tmp_path / "state").write_text("a file where a folder would be")
    feed = ["feed", "flights", log.path, *COLUMNS, "-a", log.daemon.address, "--follow"]
    assert "set XDG_STATE_HOME to one that can be written" in littled(*feed).sentence
    assert position(log.daemon) == log.before
