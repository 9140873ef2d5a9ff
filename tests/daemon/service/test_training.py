"""Where trainings run: the same steps on a thread and in a process, and a process that behaves."""

import functools
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from littled.classes.names import class_from_name
from littled.engine import Transcript, replay
from littled.mechanisms.noise import KeyedNoise
from littled.planner import OnlinePlan, OnlineRequest, StreamPlan, StreamRequest, plan_stream
from littled.service.training import Trainers
from littled.store.records import Record
from littled.store.store import Store
from littled.store.verify import verify
from littled_protocol.messages import Release
from support.serving import CANARY, Peer, Serving, serving

TEACHERS = 40
HORIZON = 2_000
EXAMPLES = 12_000
RECORD = 500
# What prctl calls PR_SET_MDWE: no memory may become executable, as the service's unit wants it.
DENY_WRITE_EXECUTE = 65


@functools.cache
def plan(name: str = "points:16", teachers: int | None = TEACHERS) -> StreamPlan:
    """Short seasons with a few calls each."""
    learner = OnlineRequest("late", class_from_name(name), teachers=teachers)
    asked = StreamRequest("flights", Fraction(4), Fraction(1, 10**6), HORIZON, (learner,))
    return plan_stream(asked)


def examples(count: int = EXAMPLES) -> tuple[bytes, bytes]:
    """Ids below 100, half of them 7, which is the only one with label 1."""
    x = np.random.default_rng(1).integers(0, 100, count).astype("<u2")
    x[::2] = 7
    return x.tobytes(), (x == 7).astype(np.uint8).tobytes()


def records(count: int = EXAMPLES) -> list[Record]:
    """The same as a journal."""
    x, y = examples(count)
    return [
        Record(
            "flights", first // RECORD, first, "me", first, RECORD,
            x[2 * first : 2 * (first + RECORD)], y[first : first + RECORD],
            bytes([first % 251] * 32),
        )
        for first in range(0, count, RECORD)
    ]  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A new store whose stream trains in a process."""
    path = tmp_path / "store"
    Store.create(path, {"streams": ["flights"]}, {"flights": plan().to_dict()})
    return path


@pytest.fixture
def own_trainers() -> Iterator[Trainers]:
    """Executors that nobody else uses."""
    made = Trainers()
    yield made
    made.close()


@pytest.fixture(scope="module")
def trainers() -> Iterator[Trainers]:
    """Executors that several tests use."""
    made = Trainers()
    yield made
    made.close()


def wait_until(true: Callable[[], Any], what: str) -> None:
    """Wait, not for ever."""
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def descendants(process: int) -> list[int]:
    """Every process that descends from this one."""
    found = []
    for task in Path(f"/proc/{process}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def command_line(process: int) -> str:
    """What a process was started with; "" once it is gone."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def training_process(daemon: int) -> int:
    """The process in which the daemon trains."""
    (found,) = [each for each in descendants(daemon) if "spawn_main" in command_line(each)]
    return found


def feed(daemon: Serving, first: int = 0, count: int = EXAMPLES) -> None:
    """Feed examples from `first` on and wait for every acknowledgement."""
    x, y = examples()
    with Peer.greet(daemon.unix) as peer:
        assert peer.open("flights", "me").next_sequence == first
        for at in range(first, first + count, RECORD):
            peer.feed(at, x[2 * at : 2 * (at + RECORD)], y[at : at + RECORD])
        peer.acknowledged(first + count)


def watch(daemon: Serving, version: int) -> None:
    """Wait until the learner has published that version."""
    with Peer.greet(daemon.unix) as peer:
        peer.subscribe("flights/late")
        while peer.expect(Release).version < version:
            pass


def replayed(path: Path) -> Transcript:
    """What the journal leads to on a thread, which has to be what the store holds."""
    assert verify(path).findings == ()
    with Store.open(path, read_only=True) as opened, ThreadPoolExecutor(1) as executor:
        noise = KeyedNoise(opened.noise_key)
        whole = replay(plan(), noise, opened.records("flights"), executor)
        assert whole.releases == opened.releases("flights/late")
        assert whole.entries == opened.ledger("flights")
    return whole


# --- Which executor -------------------------------------------------------------------------------


@pytest.mark.long
def test_only_lists_of_teachers_need_a_process(own_trainers: Trainers) -> None:
    trainers, before = own_trainers, multiprocessing.active_children()
    dense, sparse = plan("thresholds:64", None), plan("points:16", None)
    assert not any(each.needs_process for each in (*dense.publishing, *sparse.publishing))
    assert isinstance(trainers.executor(dense), ThreadPoolExecutor)
    assert trainers.executor(dense) is trainers.executor(sparse)
    assert multiprocessing.active_children() == before
    with_teachers = trainers.executor(plan())
    assert with_teachers is not trainers.executor(dense)
    assert with_teachers is trainers.executor(plan("prefixes:16"))
    assert len(multiprocessing.active_children()) == len(before) + 1
    (one,), (other,) = sparse.publishing, plan().publishing
    both = replace(plan(), plans=(replace(one, name="first"), other))
    assert trainers.executor(both) is with_teachers


def test_closures_stay_on_the_thread() -> None:
    closures = replace(
        plan().publishing[0].parameters, selection="closure", list_cap=1, draws=1, stage_rate=None
    )
    assert closures.teachers == TEACHERS
    learner: OnlinePlan = replace(plan().of(OnlinePlan)[0], parameters=closures)
    assert not learner.needs_process


# --- The process ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["points:16", "prefixes:16", "thresholds:100"])
def test_a_process_comes_to_the_same_bytes(name: str, trainers: Trainers) -> None:
    kind = plan(name)
    wide = np.dtype("<u2" if kind.x_type == "u16" else "u1")
    journal = [
        replace(each, x=np.frombuffer(each.x, dtype="<u2").astype(wide).tobytes())
        for each in records()
    ]
    noise = KeyedNoise(bytes(range(32)))
    there = replay(kind, noise, journal, trainers.executor(kind))
    with ThreadPoolExecutor(1) as thread:
        here = replay(kind, noise, journal, thread)
    assert len(here.releases) > 10
    assert there == here


def test_a_process_that_dies_prints_nothing_and_is_not_replaced(
    own_trainers: Trainers, capfd: pytest.CaptureFixture[str]
) -> None:
    executor = own_trainers.executor(plan())
    executor.submit(os.write, 1, CANARY.encode()).result()
    executor.submit(os.write, 2, CANARY.encode()).result()
    with pytest.raises(ValueError, match=CANARY):
        executor.submit(int, CANARY).result()
    with pytest.raises(BrokenProcessPool):
        executor.submit(os._exit, 3).result()
    with pytest.raises(BrokenProcessPool):
        own_trainers.executor(plan()).submit(os.getpid)
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


def test_the_process_does_not_hear_stop_signals(trainers: Trainers) -> None:
    executor = trainers.executor(plan())
    number = executor.submit(os.getpid).result()
    assert number != os.getpid()
    sleeping = executor.submit(time.sleep, 0.2)
    os.kill(number, signal.SIGTERM)
    os.kill(number, signal.SIGINT)
    assert sleeping.result() is None
    assert executor.submit(os.getpid).result() == number
    # and the daemon itself still does
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


# --- The whole daemon -----------------------------------------------------------------------------


def test_a_daemon_trains_in_a_process(store: Path) -> None:
    with serving(store) as daemon:
        process = training_process(daemon.process.pid)
        feed(daemon)
        watch(daemon, 10)
        assert training_process(daemon.process.pid) == process
        # a service manager stops all processes at once; every record is learned all the same
        os.kill(process, signal.SIGTERM)
        assert daemon.stop() == 0
        wait_until(lambda: not command_line(process), "the process outlived a clean stop")
    assert len(replayed(store).releases) >= 10
    with Store.open(store, read_only=True) as opened:
        assert opened.snapshot("flights") is not None


@pytest.mark.long
def test_whichever_process_dies_the_other_ends_and_nothing_is_lost(store: Path) -> None:
    first = Serving.start(store)
    os.kill(training_process(first.process.pid), signal.SIGKILL)
    with Peer.greet(first.unix) as peer:
        x, y = examples()
        peer.open("flights", "me")
        peer.feed(0, x, y)
        assert peer.error() == "internal_error"
    assert first.ended() != 0
    (failed,) = [line for line in first.lines if line["event"] == "failed"]
    assert failed["error_type"] == "BrokenProcessPool"
    # what was stored before the end is learned by the next daemon
    second = Serving.start(store)
    process = training_process(second.process.pid)
    watch(second, 10)
    second.kill()
    wait_until(lambda: not command_line(process), "the process outlived the daemon")
    with serving(store) as third:
        assert third.stop() == 0
    assert len(replayed(store).releases) >= 10


@pytest.mark.long
def test_the_process_starts_where_memory_may_not_become_executable(tmp_path: Path) -> None:
    program = f"""
import ctypes, os
ctypes.CDLL(None).prctl({DENY_WRITE_EXECUTE}, 1, 0, 0, 0)
from littled.planner import StreamPlan
from littled.service.training import Trainers
if __name__ == "__main__":
    made = Trainers()
    print(made.executor(StreamPlan.from_dict({plan().to_dict()!r})).submit(pow, 3, 4).result())
    made.close()
"""
    script = tmp_path / "sandboxed.py"
    script.write_text(program)
    done = subprocess.run(
        [sys.executable, script], check=True, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("81\n", "")
