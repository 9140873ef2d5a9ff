"""A blocking feeder whose calls are interrupted by signals, at every point where that can be."""

import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from littled_client.blocking import Client, Feeder
from littled_client.errors import ClientError
from littled_client.recordings import RecordingReader
from littled_client.waits import Waits
from littled_protocol import limits
from support.interrupting import interrupted
from support.small_daemon import SmallDaemon, changed

QUICK = Waits(reconnect_seconds=5.0, delay_least_seconds=0.0005, delay_most_seconds=0.001)
MODULES = tuple(
    f"littled_client.{name}"
    for name in ("batches", "blocking", "conversation", "joining", "outbox", "recordings", "tails")
)
POINTS_MAX = 100_000
Given = Callable[[Feeder, list[int]], None]


@contextmanager
def freed(daemon: SmallDaemon) -> Iterator[list[str]]:
    """Drop connections for as long as a block hangs, so that it ends; lists that it did."""
    hangs: list[str] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(10.0):
            hangs.append("hangs")
            daemon.drop()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield hangs
    finally:
        over.set()
        watcher.join()


def apart(work: Callable[[], None]) -> None:
    """Do something on a thread of its own.

    Where the handling of an exception is interrupted, the interpreter may take that one for the
    context of all that the thread raises later.
    """
    with ThreadPoolExecutor(1) as thread:
        thread.submit(work).result()
    gc.collect()  # what the thread has left behind belongs to this test


def batches(feeder: Feeder, points: list[int]) -> None:
    """A batch of several frames, which need more than the credit that there is."""
    feeder.send(points, [1] * len(points))


def batches_and_flush(feeder: Feeder, points: list[int]) -> None:
    for start in range(0, len(points), 4):
        feeder.send(points[start : start + 4], [1] * len(points[start : start + 4]))
        feeder.flush()


def singles(feeder: Feeder, points: list[int]) -> None:
    for point in points:
        feeder.send_one(point, 1)
    feeder.flush()


def mixed(feeder: Feeder, points: list[int]) -> None:
    for start in range(0, len(points), 5):
        for point in points[start : start + 2]:
            feeder.send_one(point, 1)
        feeder.send(points[start + 2 : start + 5], [1] * len(points[start + 2 : start + 5]))
    feeder.flush()


@pytest.mark.parametrize(
    ("give", "count", "step"),
    [(batches, 2000, 3), (batches_and_flush, 12, 3), (singles, 20, 3), (mixed, 20, 5)],
)
def test_all_that_was_given_is_fed_once_wherever_a_call_is_interrupted(
    give: Given, count: int, step: int, daemon: SmallDaemon, address: str, tmp_path: Path
) -> None:
    """What was taken is known at once, and the feeder goes on with what comes next."""
    changed(daemon, credit_bytes=limits.credit_bytes_min)
    apart(lambda: feed_and_be_interrupted(give, count, step, daemon, address, tmp_path / "a"))


def feed_and_be_interrupted(
    give: Given, count: int, step: int, daemon: SmallDaemon, address: str, path: Path
) -> None:
    expected: list[int] = []
    with Client(address, waits=QUICK) as client, freed(daemon) as hangs:
        with client.feed("ids", record=path) as feeder:
            for point in range(0, POINTS_MAX, step):
                points = list(range(len(expected), len(expected) + count))
                with interrupted(MODULES, point) as interruption:
                    give(feeder, points)
                expected += points[: feeder.next_sequence - len(expected)]
                assert feeder.next_sequence == len(expected), point
                feeder.flush()
                assert not hangs, point
                if not interruption.raised:
                    break
            assert point > 20 * step
        with RecordingReader(path) as recording:
            assert [x for part in recording.batches() for x in part[0].tolist()] == expected
    assert daemon.examples("ids")[0] == expected


# Connections that are being made then are closed with their objects, as nobody has them yet.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("give", "count"), [(batches, 1500), (singles, 3)])
def test_a_feeder_that_is_interrupted_while_it_comes_back_comes_back_later(
    give: Given, count: int, daemon: SmallDaemon, address: str
) -> None:
    changed(daemon, credit_bytes=limits.credit_bytes_min)
    apart(lambda: come_back_and_be_interrupted(give, count, daemon, address))


def come_back_and_be_interrupted(
    give: Given, count: int, daemon: SmallDaemon, address: str
) -> None:
    expected: list[int] = []
    with (
        Client(address, waits=QUICK) as client,
        freed(daemon) as hangs,
        client.feed("ids") as feeder,
    ):
        for point in range(0, POINTS_MAX, 3):
            daemon.drop()
            points = list(range(len(expected), len(expected) + count))
            with interrupted(MODULES, point) as interruption:
                give(feeder, points)
                feeder.flush()
            expected += points[: feeder.next_sequence - len(expected)]
            feeder.flush()
            assert not hangs, point
            if not interruption.raised:
                break
        assert point > 60
    assert daemon.examples("ids")[0] == expected


def test_an_interrupted_wait_keeps_its_connection(daemon: SmallDaemon, address: str) -> None:
    """Nothing is half done then, and a program may wait for a while again and again."""
    changed(daemon, hold_acks=True)
    with Client(address, waits=QUICK) as client, client.feed("ids") as feeder:
        feeder.send([1, 2], [0, 1])

        class Interrupting:
            def __getattr__(self, name: str) -> object:
                return getattr(poll, name)

            def poll(self, _milliseconds: float) -> list[tuple[int, int]]:
                raise KeyboardInterrupt

        assert feeder._link is not None
        poll, feeder._link._poll = feeder._link._poll, cast("Any", Interrupting())
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                feeder.flush()
        feeder._link._poll = poll
        daemon.release_acks()
        feeder.flush()
    assert daemon.greetings == 2
    assert daemon.resent_frames == 0


def test_the_handler_of_a_signal_cannot_call_a_feeder_that_it_has_interrupted(
    daemon: SmallDaemon, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But a single example that it gives is sent."""
    with Client(address, waits=QUICK) as client, client.feed("ids") as feeder:
        take = feeder._outbox.take

        def handle(*arguments: Any) -> object:
            for call in (feeder.flush, lambda: feeder.send([1, 2], [0, 1])):
                with pytest.raises(ClientError, match="signal has interrupted"):
                    call()
            feeder.send_one(8, 1)
            monkeypatch.undo()
            return take(*arguments)

        monkeypatch.setattr(feeder._outbox, "take", handle)
        feeder.send([5, 6], [0, 1])
        feeder.flush()
        feeder.send([7, 9], [0, 1])
    assert sorted(daemon.examples("ids")[0]) == [5, 6, 7, 8, 9]
