"""Feeding from pipes: rows that are durable at once, and signals that lose nothing."""

import fcntl
import os
import select
import signal
import subprocess
import termios
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from support.commands import START_SECONDS, Daemon, flights_csv, make_store, position, serve, start

COLUMNS = ["--x", "delay", "--y", "late"]
# What is promised of a row on a pipe.
DURABLE_SECONDS = 1.0


def feeding(
    daemon: Daemon, *arguments: str | Path, file: str | Path = "-"
) -> subprocess.Popen[str]:
    """A feeder of a pipe, with the header read already."""
    feed = ["feed", "flights", file, *COLUMNS, "-a", daemon.address, *arguments]
    process = start(*feed, stdin=subprocess.PIPE)
    if file == "-":
        write(process, "delay,late\n")
    return process


def write(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.flush()


def seconds_until(
    condition: Callable[[], bool], within: float = START_SECONDS, pause: float = 0.01
) -> float:
    """How long a condition took to come true."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < within
        time.sleep(pause)
    return time.monotonic() - began


def reached(daemon: Daemon, place: int) -> bool:
    return position(daemon) == place


def durable_seconds(daemon: Daemon, send: Callable[[str], object]) -> float:
    """How long a row takes until it is durable: the best of three, as a busy machine holds up some.

    Each leaves alone, so one that waited for more rows would hold up all of them.
    """
    taken = []
    for _ in range(3):
        before = position(daemon)
        send("7,0\n")
        taken.append(seconds_until(partial(reached, daemon, before + 1)))
    return min(taken)


def stopped(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str, str]:
    """How a process ends by a signal, while its pipe is still open."""
    process.send_signal(number)
    process.wait(timeout=START_SECONDS)
    return ended(process)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=START_SECONDS)
    return process.returncode, out, err


def started(process: subprocess.Popen[str], daemon: Daemon, before: int) -> None:
    """Wait until a feeder has sent its first two rows."""
    write(process, "5,0\n90,1\n")
    seconds_until(lambda: position(daemon) == before + 2)


@pytest.mark.long
def test_a_row_of_a_pipe_is_durable_within_a_second(daemon: Daemon) -> None:
    before = position(daemon)
    process = feeding(daemon)
    started(process, daemon, before)
    assert durable_seconds(daemon, partial(write, process)) < DURABLE_SECONDS
    write(process, "8")
    write(process, ",0")
    time.sleep(0.5)
    assert position(daemon) == before + 5, "a row is read when it is whole"
    status, out, err = ended(process)
    assert (status, err) == (0, "")
    assert out.startswith("flights: 6 examples acknowledged in ")


def test_a_stream_of_rows_is_durable_while_it_goes_on(daemon: Daemon) -> None:
    before = position(daemon)
    process = feeding(daemon)
    started(process, daemon, before)
    sent = 2
    # Far fewer than a batch.
    while position(daemon) <= before + 300:
        assert sent < 4_000, "no row is durable before a whole batch is there"
        for _ in range(50):
            write(process, "7,0\n")
            time.sleep(0.002)
        sent += 50
    status, _, _ = ended(process)
    assert (status, position(daemon)) == (0, before + sent)


def test_a_named_pipe_is_as_live_as_standard_input(daemon: Daemon, tmp_path: Path) -> None:
    before = position(daemon)
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    process = feeding(daemon, file=pipe)
    with pipe.open("w", buffering=1) as writer:
        writer.write("delay,late\n5,0\n90,1\n")
        seconds_until(lambda: position(daemon) == before + 2)
        assert durable_seconds(daemon, writer.write) < DURABLE_SECONDS
    assert ended(process)[0] == 0


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"]
)
def test_a_signal_sends_what_was_read(daemon: Daemon, number: signal.Signals, status: int) -> None:
    before = position(daemon)
    process = feeding(daemon)
    started(process, daemon, before)
    write(process, "7,0\n8,0\n9")
    seconds_until(lambda: _is_read(process), pause=0.001)
    code, out, err = stopped(process, number)
    assert (code, out) == (status, "")
    assert err == "littled: stopped after 4 acknowledged examples\n"
    assert position(daemon) == before + 4


def _is_read(process: subprocess.Popen[str]) -> bool:
    """Whether nothing is left in the pipe to a process."""
    assert process.stdin is not None
    left = fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4))
    return not any(left)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_first_row_ends_a_feeder(
    daemon: Daemon, number: signal.Signals
) -> None:
    before = position(daemon)
    feed = ["feed", "flights", "-", *COLUMNS, "-a", daemon.address, "--producer", f"n{number}"]
    process = start(*feed, stdin=subprocess.PIPE)
    seconds_until(lambda: _listens(process))
    code, _, err = stopped(process, number)
    assert (code, position(daemon)) == (128 + number, before)
    assert err in (
        "littled: stopped after 0 acknowledged examples\n",
        "littled: stopped before all that was read was acknowledged\n",  # before it was connected
    )


def _listens(process: subprocess.Popen[str]) -> bool:
    """Whether a process has put its own handler in place of the interpreter's."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) & 1 << (signal.SIGTERM - 1))


def test_a_file_that_is_stopped_by_sigterm_goes_on_where_it_was(
    daemon: Daemon, tmp_path: Path
) -> None:
    before = position(daemon)
    file = flights_csv(tmp_path / "flights.csv", 5_000)
    feed = ["feed", "flights", str(file), *COLUMNS, "-a", daemon.address]
    process = start(*feed, "--batch", "50", "--rate", "300")
    seconds_until(lambda: position(daemon) >= before + 100)
    process.send_signal(signal.SIGTERM)
    code, _, err = ended(process)
    assert code == 143
    assert err.endswith("acknowledged examples; the same command goes on there\n")
    said = int(err.split("stopped after ")[1].split()[0].replace(",", ""))
    assert position(daemon) == before + said
    assert ended(start(*feed))[0] == 0
    assert position(daemon) == before + 5_000


def test_a_second_signal_stops_at_once(daemon: Daemon) -> None:
    before = position(daemon)
    process = feeding(daemon)
    started(process, daemon, before)
    os.kill(daemon.process.pid, signal.SIGSTOP)
    try:
        write(process, "7,0\n")
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert process.poll() is None, "it waits for the daemon"
        code, _, err = stopped(process, signal.SIGINT)
        assert code == 130
        assert err == "littled: stopped before all that was read was acknowledged\n"
    finally:
        os.kill(daemon.process.pid, signal.SIGCONT)
    seconds_until(lambda: position(daemon) == before + 3)


def test_rows_wait_for_both_labels_and_the_feeder_says_so(daemon: Daemon) -> None:
    before = position(daemon)
    process = feeding(daemon)
    write(process, "5,0\n6,0\n")
    assert process.stderr is not None
    assert select.select([process.stderr], [], [], START_SECONDS)[0]
    note = process.stderr.readline()
    assert note == "note: held back until both labels have come; see --one-label\n"
    assert position(daemon) == before
    write(process, "90,1\n")
    seconds_until(lambda: position(daemon) == before + 3)
    assert ended(process)[0] == 0
    process = feeding(daemon, "--one-label")
    write(process, "5,0\n")
    seconds_until(lambda: position(daemon) == before + 4)
    assert ended(process)[0] == 0


def test_what_is_held_back_when_it_is_stopped_is_told(daemon: Daemon) -> None:
    before = position(daemon)
    process = feeding(daemon)
    write(process, "5,0\n6,0\n")
    assert process.stderr is not None
    process.stderr.readline()
    code, _, err = stopped(process, signal.SIGINT)
    assert (code, position(daemon)) == (130, before)
    assert "2 examples of one label were held back, not sent" in err
    assert err.endswith("littled: stopped after 0 acknowledged examples\n")


def test_a_pipe_goes_on_where_its_producer_stopped(daemon: Daemon) -> None:
    before = position(daemon)
    for rows, total in (("5,0\n90,1\n", 2), ("5,0\n90,1\n7,0\n", 3)):
        process = feeding(daemon, "--producer", "pipe")
        write(process, rows)
        assert ended(process)[0] == 0
        assert position(daemon) == before + total
    process = feeding(daemon, "--producer", "pipe")
    write(process, "6,0\n90,1\n7,0\n8,1\n")
    code, _, err = ended(process)
    assert (code, position(daemon)) == (1, before + 3)
    assert "standard input does not begin with what was fed under this producer's name" in err


@pytest.mark.long
def test_rows_arrive_after_the_daemon_was_away(tmp_path: Path) -> None:
    make_store(tmp_path)
    daemon = serve(tmp_path)
    process = feeding(daemon)
    started(process, daemon, 0)
    assert daemon.stop() == 0
    write(process, "7,0\n")
    again = serve(tmp_path)
    seconds_until(lambda: position(again) == 3)
    assert ended(process)[0] == 0
    assert again.stop() == 0
