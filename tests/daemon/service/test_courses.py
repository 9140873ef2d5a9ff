"""Courses on a few threads: in order, one step at a time, none forgotten, none in another's way."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from itertools import pairwise
from typing import Any

import pytest

from littled.service.courses import Course, Courses, Next, Rest

WAIT = 20


class Room:
    """Courses on some threads, and what has failed."""

    def __init__(self, threads: int) -> None:
        self.failures: list[BaseException] = []
        self.courses = Courses(threads, "test-courses", self.failures.append)

    def threads(self) -> int:
        return sum(each.name.startswith("test-courses") for each in threading.enumerate())


@pytest.fixture
def rooms() -> Iterator[Any]:
    made: list[Room] = []

    def make(threads: int) -> Room:
        made.append(Room(threads))
        return made[-1]

    yield make
    for room in made:
        room.courses.close()
    deadline = time.monotonic() + WAIT
    while any(room.threads() for room in made):
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_many_courses_share_few_threads_and_run_in_order(rooms: Any) -> None:
    room, steps, inside = rooms(3), 40, [0] * 200
    seen: list[list[int]] = [[] for _ in inside]

    def course(number: int) -> Iterator[Next]:
        for step in range(steps):
            inside[number] += 1
            assert inside[number] == 1, "two steps of one course at a time"
            seen[number].append(step)
            inside[number] -= 1
            yield None

    courses = [room.courses.start(course(number)) for number in range(len(inside))]
    assert all(each.over.wait(WAIT) for each in courses)
    assert seen == [list(range(steps))] * len(inside)
    assert room.threads() <= 3
    assert room.failures == []


def test_who_has_much_to_do_lets_the_others_go_first(rooms: Any) -> None:
    room, order = rooms(1), list[str]()
    begun = threading.Event()

    def course(name: str, steps: int) -> Iterator[Next]:
        begun.wait(WAIT)
        for _ in range(steps):
            order.append(name)
            yield None

    courses = [room.courses.start(course(name, steps)) for name, steps in (("a", 50), ("b", 5))]
    begun.set()
    assert all(each.over.wait(WAIT) for each in courses)
    assert order[:10] == ["a", "b"] * 5


def test_a_future_is_waited_for_without_a_thread(rooms: Any) -> None:
    room = rooms(1)
    futures: list[Future[int]] = [Future() for _ in range(50)]
    found: list[int] = []

    def waiting(future: Future[int]) -> Iterator[Next]:
        yield future
        found.append(future.result())

    def other() -> Iterator[Next]:
        yield from [None] * 5

    held = [room.courses.start(waiting(future)) for future in futures]
    assert room.courses.start(other()).over.wait(WAIT)
    assert not any(each.over.is_set() for each in held)
    for number, future in enumerate(futures):
        future.set_result(number)
    assert all(each.over.wait(WAIT) for each in held)
    assert sorted(found) == list(range(50))


def test_no_wake_is_lost(rooms: Any) -> None:
    room = rooms(2)
    todo, done = [0] * 20, [0] * 20
    stopping = False

    def course(number: int) -> Iterator[Next]:
        while not stopping or done[number] < todo[number]:
            while done[number] < todo[number]:
                done[number] += 1
            yield Rest()

    courses = [room.courses.start(course(number)) for number in range(20)]
    for _ in range(200):
        for number, each in enumerate(courses):
            todo[number] += 1
            each.wake()
    deadline = time.monotonic() + WAIT
    while done != todo:
        assert time.monotonic() < deadline, "somebody was woken and does not work"
        time.sleep(0.001)
    stopping = True
    for each in courses:
        each.wake()
    assert all(each.over.wait(WAIT) for each in courses)


def test_a_rest_lasts_at_least_as_long_as_it_says(rooms: Any) -> None:
    room, times = rooms(1), list[float]()

    def course() -> Iterator[Next]:
        for _ in range(3):
            times.append(time.monotonic())
            yield Rest(0.05)

    made = room.courses.start(course())
    deadline = time.monotonic() + WAIT
    while not made.over.is_set():
        made.wake()
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert all(later - earlier >= 0.05 for earlier, later in pairwise(times))


def test_all_that_are_woken_while_they_rest_go_on(rooms: Any) -> None:
    room, steps = rooms(2), [0] * 10

    def course(number: int) -> Iterator[Next]:
        for _ in range(20):
            steps[number] += 1
            yield Rest(0.001 * (1 + 7 * number % 10))

    courses = [room.courses.start(course(number)) for number in range(len(steps))]
    deadline = time.monotonic() + WAIT
    while not all(each.over.is_set() for each in courses):
        for each in courses:
            each.wake()
        time.sleep(0.002)
        assert time.monotonic() < deadline, "somebody was woken and does not go on"
    assert steps == [20] * len(steps)


def wait_for_rest(room: Room, course: Course) -> None:
    deadline = time.monotonic() + WAIT
    while course.rest is None:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_who_is_hurried_does_not_finish_its_rest_and_then_rests_as_long_as_it_says(
    rooms: Any,
) -> None:
    room, times = rooms(1), list[float]()

    def course() -> Iterator[Next]:
        for seconds in (0.2, 0.4):
            times.append(time.monotonic())
            yield Rest(seconds)
        times.append(time.monotonic())

    made = room.courses.start(course())
    wait_for_rest(room, made)
    made.hurry()
    made.hurry()
    deadline = time.monotonic() + WAIT
    while not made.over.is_set():
        if len(times) == 2:
            made.wake()
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert times[1] - times[0] < times[2] - times[1]
    assert times[2] - times[1] >= 0.4, "the rest that was cut short has ended the next one"


def test_who_is_hurried_rests_no_more_even_if_nobody_else_is_awake(rooms: Any) -> None:
    room = rooms(2)

    def course() -> Iterator[Next]:
        yield Rest(3600)
        yield Rest()

    made = room.courses.start(course())
    wait_for_rest(room, made)
    made.hurry()
    while not made.idle:
        time.sleep(0.001)
    made.hurry()
    assert made.over.wait(WAIT)


def test_who_is_hurried_at_work_takes_no_rest_after_it(rooms: Any) -> None:
    room, working, hurried = rooms(1), threading.Event(), threading.Event()

    def course() -> Iterator[Next]:
        working.set()
        hurried.wait(WAIT)
        yield Rest(3600)

    made = room.courses.start(course())
    assert working.wait(WAIT)
    made.hurry()
    hurried.set()
    assert made.over.wait(WAIT)


def test_waking_a_course_that_rests_needs_no_thread(
    rooms: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody but the end of the rest: else every single example would wake up a thread."""
    room, resting, notified = rooms(2), threading.Event(), []

    def course() -> Iterator[Next]:
        resting.set()
        yield Rest(0.3)
        notified.append("went on")

    made = room.courses.start(course())
    assert resting.wait(WAIT)
    while not room.courses._later:
        time.sleep(0.001)
    real = room.courses._news.notify

    def notify(*_: Any) -> None:
        notified.append("woke a thread")
        real()

    monkeypatch.setattr(room.courses._news, "notify", notify)
    made.wake()
    made.wake()
    assert made.over.wait(WAIT)
    assert notified == ["went on"]


def test_a_course_that_raises_ends_and_the_others_go_on(rooms: Any) -> None:
    room = rooms(1)

    def failing() -> Iterator[Next]:
        yield None
        raise ValueError("planted")

    def other() -> Iterator[Next]:
        yield from [None] * 9

    first, second = room.courses.start(failing()), room.courses.start(other())
    assert first.over.wait(WAIT)
    assert second.over.wait(WAIT)
    assert [str(each) for each in room.failures] == ["planted"]
