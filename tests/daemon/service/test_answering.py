"""Desk threads over a real store: order, waiting for a season, and every way to end."""

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

import pytest

from littled.learners.prediction import PredictionLearner
from littled.service.answering import Answer, Answering
from littled.service.courses import Courses
from littled.service.host import Seasons
from littled.service.writer import Writer, WriterStopped
from littled.store.store import Store
from littled_protocol.messages import Prediction
from support.predictions import STREAM, Bench, make_store, question

WAIT = 20.0


class RecordingObserver:
    """Remembers what failed."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []

    def failed(self, error: BaseException) -> None:
        self.errors.append(error)

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"a desk shows nothing else: {name}")


class Room:
    """A store of 120 examples with its writer and one desk thread."""

    def __init__(self, path: Path) -> None:
        self.bench = Bench(Store.open(path))
        self.bench.feed(120)
        self.store = self.bench.store
        self.failures: list[BaseException] = []
        self.writer = Writer(self.failures.append)
        self.seasons = Seasons()
        self.seasons.reach(0)
        self.shown = RecordingObserver()
        self.courses = Courses(2, "desks", self.shown.failed)
        self.answering = Answering(
            self.bench.plan, self.store, self.writer, self.seasons, self.shown, self.courses
        )
        self.answering.begin(self.bench.noise, 120)
        self.answering.start()

    def close(self) -> None:
        self.answering.stop()
        self.answering.join(WAIT)
        self.courses.close()
        self.writer.close()
        self.bench.close()


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(make_store(tmp_path / "store"))
    yield made
    made.close()


class Gate:
    """Holds the desk inside an answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.inside, self.go = threading.Event(), threading.Event()
        make = PredictionLearner.answer

        def slow(learner: PredictionLearner, *arguments: Any) -> Any:
            self.inside.set()
            assert self.go.wait(WAIT)
            return make(learner, *arguments)

        monkeypatch.setattr(PredictionLearner, "answer", slow)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    return Gate(monkeypatch)


def test_requests_are_answered_in_order_and_durably(room: Room) -> None:
    asked = [room.answering.ask(question(number), 120) for number in range(6)]
    found = [each.result(WAIT) for each in asked]
    assert [getattr(each, "left", None) for each in found] == [17, 14, 11, 8, 5, 2]
    stored = list(room.store.predictions(STREAM))
    assert [each.y for each in stored] == [each.y for each in found if isinstance(each, Prediction)]
    assert room.answering.status(120)["near"]["answers_left"] == 2
    assert room.shown.errors == []


def test_answers_are_written_on_the_writers_thread(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    commit = Store.answer

    def answer(store: Store, *arguments: Any) -> Any:
        threads.append(threading.current_thread().name)
        return commit(store, *arguments)

    monkeypatch.setattr(Store, "answer", answer)
    room.answering.ask(question(1), 120).result(WAIT)
    assert threads == ["littled-writer"]


def test_asking_never_waits(room: Room, gate: Gate) -> None:
    first = room.answering.ask(question(1), 120)
    assert gate.inside.wait(WAIT)
    second = room.answering.ask(question(2), 120)
    assert room.answering.status(120)["near"]["answers_left"] == 20
    assert not first.done()
    gate.go.set()
    assert isinstance(first.result(WAIT), Prediction)
    assert isinstance(second.result(WAIT), Prediction)


def test_a_request_that_is_taken_back_in_time_costs_nothing(room: Room, gate: Gate) -> None:
    first = room.answering.ask(question(1), 120)
    assert gate.inside.wait(WAIT)
    second, third = (room.answering.ask(question(number), 120) for number in (2, 3))
    assert second.cancel()
    assert not first.cancel()
    gate.go.set()
    third.result(WAIT)
    with pytest.raises(CancelledError):
        second.result(WAIT)
    names = [int.from_bytes(each.request) for each in room.store.predictions(STREAM)]
    assert names == [1, 3]


def test_an_answer_waits_for_its_season(room: Room) -> None:
    room.bench.feed(400)
    asked = room.answering.ask(question(1), 520)
    with pytest.raises(TimeoutError):
        asked.result(0.2)
    room.seasons.reach(1)
    found = asked.result(WAIT)
    assert isinstance(found, Prediction)
    assert found.window == 3


def test_who_waits_for_a_season_keeps_no_thread_from_others(room: Room) -> None:
    """As many streams as there are threads are far behind, and one is not."""
    room.bench.feed(400)
    behind: list[tuple[Answering, Future[Answer]]] = []
    for number in range(2):
        seasons = Seasons()
        seasons.reach(0)
        made = Answering(
            room.bench.plan, room.store, room.writer, seasons, room.shown, room.courses
        )
        made.begin(room.bench.noise, 120)
        made.start()
        behind.append((made, made.ask(question(number), 520)))
    with pytest.raises(TimeoutError):
        behind[1][1].result(0.2)
    assert isinstance(room.answering.ask(question(9), 120).result(WAIT), Prediction)
    for made, asked in behind:
        assert not asked.done()
        made.stop()
        with pytest.raises(WriterStopped):
            asked.result(WAIT)
        made.join(WAIT)


def test_an_answer_waits_for_as_many_seasons_as_it_has_to(room: Room) -> None:
    room.bench.feed(800)
    asked = room.answering.ask(question(1), 920)
    room.seasons.reach(1)
    with pytest.raises(TimeoutError):
        asked.result(0.2)
    room.seasons.reach(2)
    found = asked.result(WAIT)
    assert isinstance(found, Prediction)
    assert found.window == 7


def test_who_must_not_wait_any_longer_gets_no_answer(room: Room) -> None:
    room.bench.feed(400)
    waiting = room.answering.ask(question(1), 520)
    room.answering.wait_no_longer()
    with pytest.raises(WriterStopped):
        waiting.result(WAIT)
    assert list(room.store.predictions(STREAM)) == []
    assert room.shown.errors == []


def test_a_stop_ends_every_wait(room: Room) -> None:
    room.bench.feed(400)
    asked = [room.answering.ask(question(number), 520) for number in range(3)]
    room.answering.stop()
    for each in (*asked, room.answering.ask(question(9), 520)):
        with pytest.raises(WriterStopped):
            each.result(WAIT)
    room.answering.join(WAIT)
    assert list(room.store.predictions(STREAM)) == []
    assert room.shown.errors == []


def test_a_stop_finishes_the_answer_in_hand(room: Room, gate: Gate) -> None:
    first = room.answering.ask(question(1), 120)
    assert gate.inside.wait(WAIT)
    second = room.answering.ask(question(2), 120)
    room.answering.stop()
    gate.go.set()
    assert isinstance(first.result(WAIT), Prediction)
    with pytest.raises(WriterStopped):
        second.result(WAIT)
    assert len(list(room.store.predictions(STREAM))) == 1


def test_a_desk_that_fails_says_so_and_answers_nobody(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> Any:
        raise ValueError("broken")

    monkeypatch.setattr(PredictionLearner, "answer", failing)
    asked = [room.answering.ask(question(number), 120) for number in range(3)]
    for each in (*asked, room.answering.ask(question(9), 120)):
        with pytest.raises(WriterStopped):
            each.result(WAIT)
    assert [type(each) for each in room.shown.errors] == [ValueError]
    assert list(room.store.predictions(STREAM)) == []


def test_a_writer_that_stopped_ends_a_desk_quietly(room: Room) -> None:
    room.writer.close()
    with pytest.raises(WriterStopped):
        room.answering.ask(question(1), 120).result(WAIT)
    assert room.shown.errors == []
    room.answering.join(WAIT)


def test_a_desk_that_never_started_is_joined_at_once(tmp_path: Path) -> None:
    bench = Bench(Store.open(make_store(tmp_path / "store")))
    writer = Writer(lambda error: None)
    shown = RecordingObserver()
    courses = Courses(1, "desks", shown.failed)
    made = Answering(bench.plan, bench.store, writer, Seasons(), shown, courses)
    made.stop()
    made.join(WAIT)
    writer.close()
    bench.close()
