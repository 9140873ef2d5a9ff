"""Engine threads over a real store: replay, snapshots, order of writes, engines that fail."""

import io
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from littled.engine import Engine, Trainings, Transcript, in_turns, replay
from littled.limits import RECORD_OVERHEAD_BYTES
from littled.mechanisms.noise import KeyedNoise
from littled.planner import StreamPlan
from littled.service import host as host_module
from littled.service.courses import Courses
from littled.service.host import (
    Catching,
    Host,
    SeasonAwaited,
    Seasons,
    Status,
    StoreOutlet,
    publish_first,
)
from littled.service.logs import make_log
from littled.service.writer import Writer, WriterStopped
from littled.store import journal
from littled.store.archive import StoreArchived
from littled.store.mark import HighWaterMark
from littled.store.records import NewRecord, Record, StoredRelease
from littled.store.register import FileRegister, Revision
from littled.store.store import Store
from support import predictions
from support.serving import CANARY, FailingEngine

STREAM = "flights"


class RecordingObserver:
    """Remembers what a host shows."""

    def __init__(self) -> None:
        self.released: list[StoredRelease] = []
        self.statuses: list[Status] = []
        self.records: list[int] = []
        self.reports = 0
        self.errors: list[BaseException] = []
        self.over = threading.Event()

    def releases(self, releases: Any) -> None:
        self.released.extend(releases)

    def status(self, stream: str, status: Status) -> None:
        assert stream == STREAM
        self.statuses.append(status)

    def learned(self, stream: str, records: Sequence[Record]) -> None:
        self.records += [record.number for record in records]

    def progress(self, stream: str) -> None:
        self.reports += 1

    def failed(self, error: BaseException) -> None:
        self.errors.append(error)
        self.over.set()


class Bench:
    """A store, its writer, and hosts one after the other."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.plan = StreamPlan.from_dict(store.plans[STREAM])
        self.noise = KeyedNoise(store.noise_key)
        self.executor = ThreadPoolExecutor(1)
        self.failures: list[BaseException] = []
        self.writer = Writer(self.failures.append)
        self.log_file = io.StringIO()
        self.sequence = 0
        self.courses: list[Courses] = []

    def host(self, build: Any = Engine) -> tuple[Host, RecordingObserver]:
        shown = RecordingObserver()
        made = self.idle_host(shown)
        self.begin(made, build)
        return made, shown

    def begin(
        self, host: Host, build: Any = Engine, catching: Catching = host_module.ALL
    ) -> list[Record]:
        host.begin(build, self.noise, self.executor)
        self.writer.call(lambda: publish_first([host], self.store))
        return host.replay(catching)

    def idle_host(self, shown: "RecordingObserver") -> Host:
        courses = Courses(2, "engines", shown.failed)
        self.courses.append(courses)
        log = make_log("json", self.log_file)
        return Host(self.plan, self.store, self.writer, shown, log, courses)

    def append(self, x: bytes, y: bytes) -> Record:
        record = NewRecord(STREAM, "p", self.sequence, len(y), x, y)
        self.sequence += len(y)
        return self.writer.call(lambda: self.store.append([record]))[0]

    def learn(self, host: Host, shown: RecordingObserver, records: list[Record]) -> None:
        for record in records:
            host.put(record)
        self.wait_for(shown, records[-1].number)

    def wait_for(self, shown: RecordingObserver, number: int) -> None:
        """Until this record is learned."""
        deadline = time.monotonic() + 20
        while not shown.records or shown.records[-1] < number:
            assert time.monotonic() < deadline
            assert not shown.errors, shown.errors
            time.sleep(0.005)

    def close(self) -> None:
        for courses in self.courses:
            courses.close()
        self.writer.close()
        self.executor.shutdown()
        self.store.close()


@pytest.fixture
def bench(store: Path) -> Iterator[Bench]:
    made = Bench(Store.open(store))
    yield made
    made.close()


def flights(count: int, seed: int) -> tuple[bytes, bytes]:
    """Points and labels of the rule x >= 60."""
    points = np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8)
    return points.tobytes(), (points >= 60).astype(np.uint8).tobytes()


def stop(host: Host) -> None:
    host.stop()
    host.join(20)


def test_a_host_learns_and_publishes(bench: Bench) -> None:
    host, shown = bench.host()
    assert [each.version for each in shown.released] == [1]
    host.start()
    records = [bench.append(*flights(2_000, seed)) for seed in range(10)]
    bench.learn(host, shown, records)
    stop(host)
    assert shown.records == list(range(10))
    assert len(shown.released) > 1
    assert bench.store.releases("flights/late") == shown.released
    assert shown.statuses[-1]["learners"]["late"]["version"] == len(shown.released)
    whole = replay(bench.plan, bench.noise, bench.store.records(STREAM), bench.executor)
    assert whole.releases == shown.released
    assert whole.entries == bench.store.ledger(STREAM)


def test_what_is_shown_changes_only_with_a_release(bench: Bench) -> None:
    """25 examples are too few for the first epoch to end."""
    host, shown = bench.host()
    host.start()
    before = list(shown.statuses)
    bench.learn(host, shown, [bench.append(b"\x80" * 5, b"\1" * 5)])  # by itself
    bench.learn(host, shown, [bench.append(b"\x80" * 5, b"\1" * 5) for _ in range(4)])
    stop(host)
    assert shown.statuses == before
    assert len(shown.released) == 1


def test_facts_are_told_with_each_record_in_which_something_is_published(bench: Bench) -> None:
    """Not only after a turn, which may have thousands of records with a training in each."""
    host, shown = bench.host()
    records = changing_stream(bench)
    for record in records:
        host.put(record)
    host.start()
    bench.wait_for(shown, records[-1].number)
    stop(host)
    told = [(each["position"], each["learners"]["late"]) for each in shown.statuses[1:]]
    assert len(told) > len(records) / 2
    engine, transcript = replayed_alone(bench)
    expected = []
    for record in records:
        before = len(transcript.releases)
        engine.apply(record)
        if len(transcript.releases) > before:
            status = engine.status()
            expected.append((status["position"], status["learners"]["late"]))
    assert told == expected


def replayed_alone(bench: Bench) -> tuple[Engine, Transcript]:
    """An engine at the start of the journal, and what it will have published."""
    transcript = Transcript()
    engine = Engine(bench.plan, bench.noise, transcript, bench.executor)
    engine.start()
    return engine, transcript


def learned_first(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> tuple[Host, RecordingObserver]:
    """A host that rests for an hour, as it has learned a single example."""
    monkeypatch.setattr(host_module, "ENGINE_LONG_REST_SECONDS", 3600.0)
    host, shown = bench.host()
    host.start()
    bench.learn(host, shown, [bench.append(b"\x80", b"\1")])
    assert host._course is not None
    while host._course.rest is None:
        time.sleep(0.001)
    return host, shown


def test_single_examples_gather_until_there_are_many(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "ENGINE_MANY_EXAMPLES", 100)
    host, shown = learned_first(bench, monkeypatch)
    for _ in range(99):
        host.put(bench.append(b"\x80", b"\1"))
    time.sleep(0.05)
    assert shown.records == [0]
    bench.learn(host, shown, [bench.append(b"\x80", b"\1")])
    stop(host)
    assert shown.records == list(range(101))


def test_a_long_record_ends_a_rest_by_itself(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_module, "ENGINE_MANY_EXAMPLES", 100)
    host, shown = learned_first(bench, monkeypatch)
    bench.learn(host, shown, [bench.append(*flights(100, 1))])
    stop(host)
    assert shown.records == [0, 1]


def test_a_full_stream_gathers_as_long_as_it_is_told_to(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the last turn of a gust is a short one, and whatever comes meanwhile."""
    monkeypatch.setattr(host_module, "ENGINE_MANY_EXAMPLES", 100)
    monkeypatch.setattr(host_module, "ENGINE_REST_SECONDS", 3600.0)
    monkeypatch.setattr(host_module, "ENGINE_LONG_REST_SECONDS", 0.0)
    monkeypatch.setattr("littled.engine.journal.EXAMPLES_AT_ONCE", 100)
    host, shown = bench.host()
    for count in (100, 1):
        host.put(bench.append(*flights(count, count)))
    host.start()
    course = host._course
    assert course is not None
    deadline = time.monotonic() + 20
    while course.rest is None:
        assert not course.idle, "it took no rest"
        assert time.monotonic() < deadline
        time.sleep(0.001)
    rest = course.rest
    host.put(bench.append(*flights(200, 3)))
    assert course.rest == rest
    assert shown.records == [0, 1]
    stop(host)
    assert course.over.is_set()


def test_a_host_that_rests_stops_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    host, shown = learned_first(bench, monkeypatch)
    host.put(bench.append(b"\x80", b"\1"))
    stop(host)
    assert host._course is not None
    assert host._course.over.is_set()
    saved = bench.store.snapshot(STREAM)
    assert saved is not None
    assert saved[0] == shown.records[-1]


def test_a_stopped_host_goes_on_from_its_snapshot(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, shown = bench.host()
    host.start()
    bench.learn(host, shown, [bench.append(*flights(3_000, seed)) for seed in range(4)])
    stop(host)
    saved = bench.store.snapshot(STREAM)
    assert saved is not None
    assert saved[0] == 3
    late = [bench.append(*flights(3_000, seed)) for seed in range(4, 6)]
    applied: list[int] = []
    original = Engine.learning

    def learning(engine: Engine, records: Sequence[Record]) -> Trainings:
        applied.extend(record.number for record in records)
        yield from original(engine, records)

    monkeypatch.setattr(Engine, "learning", learning)
    again, shown_again = bench.host()
    assert applied == [each.number for each in late]
    assert shown_again.reports == 1
    again.start()
    bench.learn(again, shown_again, [bench.append(*flights(3_000, 6))])
    stop(again)
    whole = replay(bench.plan, bench.noise, bench.store.records(STREAM), bench.executor)
    assert whole.releases == bench.store.releases("flights/late")
    assert whole.entries == bench.store.ledger(STREAM)


def wait_for_snapshot(bench: Bench, number: int) -> None:
    deadline = time.monotonic() + 5
    while (bench.store.snapshot(STREAM) or (-1, b""))[0] != number:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def replays_take(
    monkeypatch: pytest.MonkeyPatch, record: float = 0.0, example: float = 0.0, byte: float = 0.0
) -> None:
    """Seconds for a record, an example and a byte, of which a stream may leave three to a start."""
    monkeypatch.setattr(host_module, "REPLAY_SECONDS", 3.0)
    monkeypatch.setattr(host_module, "SNAPSHOT_RELEASE_SECONDS", 1e9)
    monkeypatch.setattr(host_module, "REPLAY_RECORD_SECONDS", record)
    monkeypatch.setattr(host_module, "REPLAY_EXAMPLE_SECONDS", example)
    monkeypatch.setattr(host_module, "REPLAY_BYTE_SECONDS", byte)


@pytest.mark.parametrize(
    ("costs", "examples"),
    [({"record": 1.0}, 1), ({"example": 0.01}, 100), ({"byte": 0.01}, 50)],
)
def test_snapshots_are_saved_on_the_way(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, costs: dict[str, float], examples: int
) -> None:
    """By records, by examples, by bytes: as soon as a replay would take as long as it may."""
    replays_take(monkeypatch, **costs)
    host, shown = bench.host()
    host.start()
    for turn in range(2):
        for _ in range(2):
            bench.learn(host, shown, [bench.append(bytes(examples), bytes(examples))])
            shown.records.clear()
        assert (bench.store.snapshot(STREAM) or (-1, b""))[0] == 3 * turn - 1
        bench.learn(host, shown, [bench.append(bytes(examples), bytes(examples))])
        shown.records.clear()
        wait_for_snapshot(bench, 3 * turn + 2)
    stop(host)


def test_a_large_snapshot_has_to_be_worth_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    replays_take(monkeypatch, record=1.0)
    monkeypatch.setattr(Engine, "snapshot", lambda _: bytes(60))
    monkeypatch.setattr(host_module, "SNAPSHOT_BYTE_SECONDS", 0.1)
    host, shown = bench.host()
    host.start()
    for turn in range(8):
        bench.learn(host, shown, [bench.append(b"a", b"\0")])
        shown.records.clear()
        if turn == 2:
            wait_for_snapshot(bench, 2)
    assert (bench.store.snapshot(STREAM) or (-1, b""))[0] == 2
    bench.learn(host, shown, [bench.append(b"a", b"\0")])
    wait_for_snapshot(bench, 8)
    stop(host)


def test_a_joint_training_is_followed_by_a_snapshot(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay would train again; the releases of half a second share one."""
    replays_take(monkeypatch)
    host, shown = bench.host()
    host.start()
    bench.learn(host, shown, [bench.append(*flights(5_000, 1))])
    assert len(shown.released) > 1
    assert bench.store.snapshot(STREAM) is None
    monkeypatch.setattr(host_module, "SNAPSHOT_RELEASE_SECONDS", 0.0)
    x, y = flights(5_000, 2)
    bench.learn(host, shown, [bench.append(x, bytes(1 - label for label in y))])
    wait_for_snapshot(bench, 1)
    bench.learn(host, shown, [bench.append(b"a", b"\0")])
    assert (bench.store.snapshot(STREAM) or (-1, b""))[0] == 1
    stop(host)


@pytest.mark.long
@pytest.mark.parametrize("length", [60, 240])
def test_a_start_reads_the_end_of_a_journal_once_however_long_it_is(
    store: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    """After a kill: checking the chain and learning again take the same records, each read once."""
    monkeypatch.setattr(host_module, "REPLAY_SECONDS", 10.0)
    monkeypatch.setattr(host_module, "REPLAY_RECORD_SECONDS", 1.0)
    monkeypatch.setattr(host_module, "SNAPSHOT_RELEASE_SECONDS", 1e9)
    killed = Bench(Store.open(store))
    host, shown = killed.host()
    host.start()
    for seed in range(length):
        killed.learn(host, shown, [killed.append(*flights(50, seed))])
        shown.records.clear()
    # what was committed and not yet learned comes on top
    last = killed.append(*flights(50, length)).number
    copy = store.with_name("killed")
    shutil.copytree(store, copy)
    stop(host)
    killed.close()
    read: list[int] = []
    sizes: list[int] = []

    def counted(*values: Any) -> Record:
        record = checked(*values)
        read.append(record.number)
        sizes.append(len(record.x) + len(record.y))
        return record

    checked = journal._record
    monkeypatch.setattr(journal, "_record", counted)
    started = Bench(Store.open(copy))
    _, shown_again = started.host()
    assert read == list(range(read[0], last + 1)), "a record was read twice, or not at all"
    assert len(read) <= 12
    assert sum(sizes) <= 12 * 100
    assert list(started.store.records(STREAM)) == list(
        started.store._history.journal.records(STREAM)
    ), "whoever reads later reads all"
    assert len(read) > length
    started.close()
    assert not shown_again.errors


def test_what_was_replayed_at_a_start_is_not_replayed_again(bench: Bench) -> None:
    """However the daemon ends: a snapshot follows the replay, before anything else is learned."""
    for seed in range(3):
        bench.append(*flights(1_000, seed))
    assert bench.store.snapshot(STREAM) is None
    host, shown = bench.host()
    host.start()
    bench.learn(host, shown, [bench.append(*flights(10, 9))])
    found = bench.store.snapshot(STREAM)
    assert found is not None
    assert found[0] == 2
    stop(host)


def test_an_unusable_snapshot_is_passed_over(bench: Bench) -> None:
    host, shown = bench.host()
    host.start()
    bench.learn(host, shown, [bench.append(*flights(2_000, seed)) for seed in range(3)])
    stop(host)
    bench.writer.call(lambda: bench.store.save_snapshot(STREAM, 2, b"not a snapshot"))
    _, again = bench.host()
    assert again.released == bench.store.releases("flights/late")
    assert "snapshot not usable" in bench.log_file.getvalue()


OTHER_VERSION = b"not a snapshot"


def kept(bench: Bench) -> list[int]:
    """Record numbers of the snapshots in the store, newest first."""
    return [number for number, _ in bench.store.snapshots(STREAM)]


def save_of_another_version(bench: Bench, *numbers: int) -> None:
    for number in numbers:
        bench.writer.call(partial(bench.store.save_snapshot, STREAM, number, OTHER_VERSION))


def test_an_older_snapshot_is_used_where_the_newest_is_not_usable(bench: Bench) -> None:
    """And it is the only one from then on, also where nothing more is learned."""
    records = long_stream(bench, 4)
    bench.begin(first := bench.idle_host(RecordingObserver()))
    bench.writer.call(
        lambda: bench.store.save_snapshot(STREAM, records[-1].number, first._hosted().snapshot())
    )
    bench.append(*flights(10, 1))
    save_of_another_version(bench, 4)
    assert kept(bench) == [4, 3]
    host = bench.idle_host(RecordingObserver())
    left = bench.begin(host, catching=Catching(bytes_max=1 << 30, until=0))
    assert [record.number for record in left] == [4]
    assert kept(bench) == [3]
    assert "snapshot not usable" not in bench.log_file.getvalue()


@pytest.mark.usefixtures("record_by_record")
def test_a_start_that_ends_early_keeps_what_it_saved_before_states_of_another_version(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next start goes on there: else none that is shorter than the replay would ever help."""
    replays_take(monkeypatch, record=1.0)
    long_stream(bench)
    save_of_another_version(bench, 6, 10)
    shown = RecordingObserver()
    host = bench.idle_host(shown)
    save = host._put_snapshot

    def save_and_end(number: int) -> None:
        save(number)
        if number > 6:
            host.interrupt_replay()

    monkeypatch.setattr(host, "_put_snapshot", save_and_end)
    bench.begin(host)
    assert shown.statuses == []
    newest = kept(bench)[0]
    assert 6 < newest < 10
    again = bench.idle_host(RecordingObserver())
    again.begin(Engine, bench.noise, bench.executor)
    assert again._hosted().record_number == newest


def test_what_only_states_of_another_version_make_dispensable_is_not_archived(
    bench: Bench, tmp_path: Path
) -> None:
    """However early a daemon ends that has listened: the next start has all that it needs."""
    records = long_stream(bench)
    save_of_another_version(bench, 6, 10)
    host = bench.idle_host(RecordingObserver())
    left = bench.begin(host, catching=Catching(bytes_max=1 << 30, until=0))
    assert left == records
    assert list(bench.store.archive(tmp_path / "archive")) == []
    bench.begin(bench.idle_host(RecordingObserver()))
    whole = replay(bench.plan, bench.noise, bench.store.records(STREAM), bench.executor)
    assert bench.store.releases("flights/late") == whole.releases


def test_states_of_another_version_stay_where_the_first_records_are_elsewhere(
    bench: Bench, tmp_path: Path
) -> None:
    """Only that version can go on with the store."""
    long_stream(bench)
    save_of_another_version(bench, 6, 10)
    assert list(bench.store.archive(tmp_path / "archive")) != []
    with pytest.raises(StoreArchived):
        bench.begin(bench.idle_host(RecordingObserver()))
    assert kept(bench) == [10, 6]


def test_an_engine_that_fails_ends_its_host_without_a_snapshot(bench: Bench) -> None:
    host, shown = bench.host(FailingEngine)
    host.start()
    host.put(bench.append(b"a", b"\0"))
    assert shown.over.wait(10)
    host.join(10)
    assert [type(each) for each in shown.errors] == [ValueError]
    assert bench.store.snapshot(STREAM) is None
    assert CANARY not in bench.log_file.getvalue()


def test_a_host_that_is_stopped_in_a_training_ends_with_the_record(bench: Bench) -> None:
    """The wake of the stop comes long before its last record is settled."""
    began, go = threading.Event(), threading.Event()

    class Held(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **named: Any) -> Any:
            def held() -> Any:
                began.set()
                assert go.wait(20)
                return fn(*args, **named)

            return super().submit(held)

    bench.executor = Held(1)
    host, shown = bench.host()
    host.start()
    for seed in range(4):
        host.put(bench.append(*flights(3_000, seed)))
    assert began.wait(20)
    host.stop()
    go.set()
    started = time.monotonic()
    host.join(20)
    assert time.monotonic() - started < 20
    saved = bench.store.snapshot(STREAM)
    assert saved is not None
    assert saved[0] < 3
    assert shown.errors == []


@pytest.mark.parametrize("abandoned", [True, False])
def test_a_host_whose_training_is_refused_at_the_end_of_a_daemon_ends_quietly(
    bench: Bench, abandoned: bool
) -> None:
    """A stop waits for so long, then nothing trains any more; what is in hand is replayed."""
    host, shown = bench.host()
    host.start()
    if abandoned:
        host.abandon()
    bench.executor.shutdown()
    for seed in range(4):
        host.put(bench.append(*flights(3_000, seed)))
    host.join(20)
    assert shown.over.wait(0 if abandoned else 20) != abandoned
    assert [type(each) for each in shown.errors] == [RuntimeError] * (not abandoned)
    saved = bench.store.snapshot(STREAM)
    assert saved is None or saved[0] < 3


class Queueing(ThreadPoolExecutor):
    """Has something else to do until `go`, so that trainings wait in line."""

    def __init__(self) -> None:
        super().__init__(1)
        self.queued, self.go = threading.Event(), threading.Event()
        super().submit(self.go.wait, 20)

    def submit(self, fn: Any, /, *args: Any, **named: Any) -> Any:
        training = super().submit(fn, *args, **named)
        self.queued.set()
        return training


def test_a_replay_ends_whose_training_is_cancelled_while_it_waits_in_line(bench: Bench) -> None:
    """The start of another stream has failed, so the daemon is over and trains nothing more."""
    bench.append(*flights(3_000, 1))
    trainer = bench.executor = Queueing()
    with ThreadPoolExecutor(1) as threads:
        replayed = threads.submit(bench.begin, bench.idle_host(RecordingObserver()))
        assert trainer.queued.wait(20)
        trainer.shutdown(wait=False, cancel_futures=True)
        try:
            assert isinstance(replayed.exception(20), CancelledError)
        finally:
            trainer.go.set()


def test_an_engine_ends_whose_training_is_cancelled_while_it_waits_in_line(bench: Bench) -> None:
    record, trainer = bench.append(*flights(3_000, 1)), Queueing()
    engine = Engine(bench.plan, bench.noise, Transcript(), trainer)
    with ThreadPoolExecutor(1) as threads:
        learned = threads.submit(engine.apply, record)
        assert trainer.queued.wait(20)
        trainer.shutdown(wait=False, cancel_futures=True)
        try:
            assert isinstance(learned.exception(20), CancelledError)
        finally:
            trainer.go.set()


def test_a_writer_that_stopped_ends_a_host_quietly(bench: Bench) -> None:
    host, shown = bench.host()
    host.start()
    records = [bench.append(*flights(2_000, seed)) for seed in range(10)]
    bench.writer.close()
    for record in records:
        host.put(record)
    host.join(10)
    assert shown.errors == []
    assert len(shown.released) == 1


def test_a_replay_can_be_interrupted(bench: Bench) -> None:
    for seed in range(5):
        bench.append(*flights(10, seed))
    shown = RecordingObserver()
    host = bench.idle_host(shown)
    host.interrupt_replay()
    bench.begin(host)
    assert shown.statuses == []
    host.join(1)


def long_stream(bench: Bench, records: int = 12) -> list[Record]:
    """Records of two seasons, each with several trainings."""
    return [bench.append(*flights(2_000, seed)) for seed in range(records)]


def learned_all(bench: Bench, host: Host, shown: RecordingObserver) -> list[StoredRelease]:
    """What is released when the host has learned what it left for later."""
    host.start()
    last = len(list(bench.store.records(STREAM))) - 1
    bench.wait_for(shown, last)
    stop(host)
    assert (bench.store.snapshot(STREAM) or (-1, b""))[0] == last
    return bench.store.releases("flights/late")


@pytest.fixture
def record_by_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay may end after any record."""
    monkeypatch.setattr("littled.engine.journal.RECORDS_AT_ONCE", 1)


@pytest.mark.usefixtures("record_by_record")
def test_a_start_leaves_for_later_what_nobody_knows_of(bench: Bench) -> None:
    """The engine comes to the same as one that learns all before it shows anything."""
    long_stream(bench)
    shown = RecordingObserver()
    host = bench.idle_host(shown)
    left = bench.begin(host, catching=Catching(bytes_max=1 << 30, until=0))
    assert [record.number for record in left] == list(range(12))
    assert [status["position"] for status in shown.statuses] == [0]
    found = learned_all(bench, host, shown)
    assert shown.records == list(range(12))
    assert shown.released == found
    assert len(found) > 1
    whole = replay(bench.plan, bench.noise, bench.store.records(STREAM), bench.executor)
    assert found == whole.releases
    assert bench.store.ledger(STREAM) == whole.entries


@pytest.mark.usefixtures("record_by_record")
@pytest.mark.parametrize("shown_position", [-1, 0, 1_999, 2_000, 9_000, 30_000])
def test_a_start_learns_what_may_be_known_of_in_any_case(bench: Bench, shown_position: int) -> None:
    records = long_stream(bench)
    shown = RecordingObserver()
    host = bench.idle_host(shown)
    catching = Catching(shown_position, bytes_max=1 << 30, until=0)
    left = bench.begin(host, catching=catching)
    assert left == [record for record in records if record.first_position > shown_position]


@pytest.mark.usefixtures("record_by_record")
def test_a_start_leaves_no_more_than_memory_may_hold(bench: Bench) -> None:
    records = long_stream(bench)
    cost = 2 * 2_000 + RECORD_OVERHEAD_BYTES
    host = bench.idle_host(RecordingObserver())
    left = bench.begin(host, catching=Catching(bytes_max=3 * cost + 7, until=0))
    assert left == records[-3:]


def test_a_start_learns_for_as_long_as_it_is_told_to(bench: Bench) -> None:
    long_stream(bench)
    until = time.monotonic() + 3600
    host = bench.idle_host(RecordingObserver())
    assert bench.begin(host, catching=Catching(bytes_max=1 << 30, until=until)) == []


@pytest.mark.usefixtures("record_by_record")
def test_a_start_that_is_killed_has_saved_what_took_long(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the next one does not begin where this one did."""
    replays_take(monkeypatch, record=1.0)
    long_stream(bench)
    bench.begin(bench.idle_host(RecordingObserver()))
    assert (bench.store.snapshot(STREAM) or (-1, b""))[0] == 11


def changing_stream(bench: Bench, records: int = 12) -> list[Record]:
    """Records of one turn whose labels change from each to the next, with trainings in all."""
    found = []
    for seed in range(records):
        x, y = flights(2_000, seed)
        labels = y if seed % 2 else bytes(1 - label for label in y)
        found.append(bench.append(x, labels))
    assert len(list(in_turns(found))) == 1
    return found


class Watched(ThreadPoolExecutor):
    """Calls something in each training, and counts them."""

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__(1)
        self.call, self.trainings = call, 0

    def submit(self, fn: Any, /, *args: Any, **named: Any) -> Any:
        def watched() -> Any:
            self.trainings += 1
            self.call()
            return fn(*args, **named)

        return super().submit(watched)


def trainings_of_a_whole_replay(bench: Bench) -> int:
    counted = Watched(lambda: None)
    replay(bench.plan, bench.noise, bench.store.records(STREAM), counted)
    counted.shutdown()
    return counted.trainings


def test_a_start_learns_no_longer_than_it_is_told_to_whatever_a_turn_has(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All records are one turn, and the time is over in its first training."""
    monkeypatch.setattr(host_module, "REPLAY_REPORT_SECONDS", 0.0)
    records = changing_stream(bench)
    catching = Catching(bytes_max=1 << 30)
    trainer = bench.executor = Watched(lambda: object.__setattr__(catching, "until", 0.0))
    shown = RecordingObserver()
    host = bench.idle_host(shown)
    left = bench.begin(host, catching=catching)
    assert trainer.trainings < trainings_of_a_whole_replay(bench)
    assert 0 < len(left) < len(records)
    assert left == records[-len(left) :]
    cost = 2 * 2_000 + RECORD_OVERHEAD_BYTES
    assert host.behind_bytes == len(left) * cost
    assert shown.reports == len(records) - len(left)
    found = learned_all(bench, host, shown)
    assert shown.records == [record.number for record in left]
    assert found == shown.released
    whole = replay(bench.plan, bench.noise, bench.store.records(STREAM), bench.executor)
    assert found == whole.releases


def test_a_replay_is_interrupted_within_a_turn_and_not_in_vain(bench: Bench) -> None:
    records = changing_stream(bench)
    shown = RecordingObserver()
    host = bench.idle_host(shown)
    trainer = bench.executor = Watched(host.interrupt_replay)
    assert bench.begin(host) == []
    assert 0 < trainer.trainings < trainings_of_a_whole_replay(bench)
    assert shown.statuses == []
    (learned,) = kept(bench)
    assert learned < records[-1].number
    again, shown_again = bench.host()
    assert again._hosted().record_number == records[-1].number
    assert shown.released + shown_again.released == bench.store.releases("flights/late")


def test_a_start_that_is_killed_within_a_turn_has_saved_what_took_long(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    replays_take(monkeypatch, record=1.0)
    records = changing_stream(bench)
    host = bench.idle_host(RecordingObserver())
    saved: list[int] = []
    monkeypatch.setattr(host, "_put_snapshot", saved.append)
    bench.begin(host)
    assert 0 < saved[0] < records[-1].number


def test_releases_are_shown_after_they_are_durable(bench: Bench) -> None:
    seen: list[int] = []

    class Watching(RecordingObserver):
        def releases(self, releases: Any) -> None:
            stored = bench.store.releases("flights/late")
            assert stored[-len(releases) :] == list(releases)
            seen.extend(each.version for each in releases)

    outlet = StoreOutlet(bench.store, bench.writer, Watching())
    engine = Engine(bench.plan, bench.noise, outlet, bench.executor)
    engine.start()
    assert seen == [1]
    assert outlet.published
    bench.writer.close()
    with pytest.raises(WriterStopped):
        outlet.publish([], [])
    assert json.dumps(engine.status())


# --- seasons --------------------------------------------------------------------------------------


def awaited(seasons: Seasons, season: int) -> Future[None]:
    """What to wait for where a season is not open yet."""
    with pytest.raises(SeasonAwaited) as refused:
        seasons.ensure(season)
    return refused.value.news


def test_who_asks_for_a_season_is_told_until_when_to_wait() -> None:
    seasons = Seasons()
    first, far = awaited(seasons, 1), awaited(seasons, 3)
    assert not first.done()
    seasons.reach(1)
    assert first.done()
    assert far.done()  # who waits for more asks again
    seasons.ensure(1)
    news = awaited(seasons, 3)
    seasons.reach(0)
    seasons.ensure(1)
    assert not news.done()
    seasons.close()
    assert news.done()
    with pytest.raises(WriterStopped):
        seasons.ensure(3)
    seasons.ensure(1)
    seasons.close()
    seasons.reach(3)
    seasons.ensure(3)


class AnyStream(RecordingObserver):
    """Looks at no name."""

    def status(self, stream: str, status: Status) -> None:
        self.statuses.append(status)


def seasons_after_replay(path: Path) -> int:
    """The last season that a host over this store says is open."""
    with Store.open(path) as store, ThreadPoolExecutor(1) as executor:
        plan = StreamPlan.from_dict(store.plans[predictions.STREAM])
        writer = Writer(lambda error: None)
        shown = AnyStream()
        courses = Courses(1, "engines", shown.failed)
        host = Host(plan, store, writer, shown, make_log("json", io.StringIO()), courses)
        host.begin(Engine, KeyedNoise(store.noise_key), executor)
        writer.call(lambda: publish_first([host], store))
        host.replay()
        writer.close()
        host.seasons.close()
        return max(season for season in range(-1, 9) if is_open(host.seasons, season))


def test_first_releases_of_many_hosts_are_durable_together(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One transaction and one mark, and nobody is shown anything before."""
    with Store.open(store, read_only=True) as one:
        plan = StreamPlan.from_dict(one.plans[STREAM])
    plans = [replace(plan, stream=f"stream{number}") for number in range(5)]
    Store.create(tmp_path / "five", {}, {each.stream: each.to_dict() for each in plans})
    marks: list[HighWaterMark] = []
    with Store.open(tmp_path / "five") as opened, ThreadPoolExecutor(1) as executor:
        writer = Writer(lambda error: None)
        shown = [AnyStream() for _ in plans]
        hosts = [
            Host(each, opened, writer, observer, make_log("json", io.StringIO()), None)  # type: ignore[arg-type]
            for each, observer in zip(plans, shown, strict=True)
        ]
        real = FileRegister.replace

        def replaced(register: FileRegister, mark: HighWaterMark, expected: Revision) -> Any:
            marks.append(mark)
            return real(register, mark, expected)

        monkeypatch.setattr(FileRegister, "replace", replaced)
        for host in hosts:
            host.begin(Engine, KeyedNoise(opened.noise_key), executor)
        assert not marks
        assert not any(observer.released for observer in shown)
        writer.call(lambda: publish_first(hosts, opened))
        assert [len(mark.releases) for mark in marks] == [len(plans)]
        assert not any(observer.released for observer in shown)
        for host, observer in zip(hosts, shown, strict=True):
            host.replay()
            assert observer.released == opened.releases(f"{host.stream}/late")
            assert [release.version for release in observer.released] == [1]
        writer.close()


def is_open(seasons: Seasons, season: int) -> bool:
    try:
        seasons.ensure(season)
    except WriterStopped:
        return False
    return True


def test_a_host_says_which_season_is_paid_for(tmp_path: Path) -> None:
    """When it opens one, when a replay does, and when a snapshot holds one that is open."""
    path = predictions.make_store(tmp_path / "store")
    assert seasons_after_replay(path) == 0
    bench = predictions.Bench(Store.open(path))
    for _ in range(4):
        bench.feed(200, learn=False)
    bench.close()
    assert seasons_after_replay(path) == 2
    bench = predictions.Bench(Store.open(path))
    bench.store.save_snapshot(predictions.STREAM, 3, bench.engine.snapshot())
    bench.close()
    assert seasons_after_replay(path) == 2
