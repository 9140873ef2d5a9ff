"""A few threads on which any number of courses take turns.

A course is an iterator. Each of its steps does a bounded piece of work and then yields what comes
next: None lets the others go first; a future is waited for, without a thread; a `Rest` lasts until
somebody wakes the course, or hurries it. The steps of one course run one after the other, never two
at a time, though not always on the same thread. So the number of threads is a limit, whatever the
number of streams is, and nobody waits longer than one step of each of the others.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Any


@dataclass(frozen=True, slots=True)
class Rest:
    """Until somebody wakes the course, and at least for so long from now unless it is hurried."""

    seconds: float = 0.0


Next = Future[Any] | Rest | None


class Course:
    """An iterator that takes its turns; `over` is set when it has ended."""

    __slots__ = ("_courses", "hurried", "idle", "over", "rest", "steps", "woken")

    def __init__(self, courses: Courses, steps: Iterator[Next]) -> None:
        """Made by `Courses.start`."""
        self._courses = courses
        self.steps = steps
        self.over = threading.Event()
        # All belong to who holds the lock of `courses`: whether it was woken or hurried since its
        # last step began, the number of the rest that it takes, and whether that is over and it
        # waits to be woken.
        self.woken = self.hurried = False
        self.rest: int | None = None
        self.idle = False

    def wake(self) -> None:
        """End its rest, or the next one if it does not rest; never waits. From any thread."""
        self._courses.wake(self)

    def hurry(self) -> None:
        """Wake it, and end the rest that it takes, or the next one. From any thread."""
        self._courses.hurry(self)


class Courses:
    """At most so many threads, each started when there are as many courses."""

    def __init__(self, threads: int, name: str, failed: Callable[[BaseException], None]) -> None:
        """Start nothing yet; `failed` is called with what ended a course otherwise than well."""
        self._threads_max = threads
        self._name = name
        self._failed = failed
        self._threads: list[threading.Thread] = []
        self._news = threading.Condition()
        self._line: deque[Course] = deque()
        # Courses that rest, by when that may end, with the number of the rest, which they may have
        # ended since; and the end that a waiting thread wakes up for.
        self._later: list[tuple[float, int, Course]] = []
        self._watched: float | None = None
        self._numbers = count()
        self._closed = False

    def start(self, steps: Iterator[Next]) -> Course:
        """Let a new course take turns."""
        course = Course(self, steps)
        with self._news:
            self._line.append(course)
            self._news.notify()
            if len(self._threads) < self._threads_max:
                name = f"{self._name}-{len(self._threads)}"
                thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()
        return course

    def wake(self, course: Course) -> None:
        """See `Course.wake`."""
        with self._news:
            course.woken = True
            if course.idle:
                course.idle = False
                self._line.append(course)
                self._news.notify()

    def hurry(self, course: Course) -> None:
        """See `Course.hurry`."""
        with self._news:
            course.woken = course.hurried = True
            if course.idle or course.rest is not None:
                course.idle, course.rest = False, None
                self._line.append(course)
                self._news.notify()

    def close(self) -> None:
        """End the threads after the steps in hand, without waiting for them."""
        with self._news:
            self._closed = True
            self._news.notify_all()

    def _run(self) -> None:
        course: Course | None = None
        while (course := self._next(course)) is not None:
            try:
                comes = next(course.steps)
            except StopIteration:
                course.over.set()
                course = None
            except BaseException as error:  # noqa: BLE001 - whatever it was, this course has ended
                course.over.set()
                course = None
                self._failed(error)
            else:
                course = self._follow(course, comes)

    def _follow(self, course: Course, comes: Next) -> Course | None:
        """Arrange for the next step; return the course if it only lets the others go first."""
        if comes is None:
            return course
        if isinstance(comes, Rest):
            with self._news:
                if comes.seconds and not course.hurried:
                    due = time.monotonic() + comes.seconds
                    course.rest = next(self._numbers)
                    heappush(self._later, (due, course.rest, course))
                else:
                    self._end_rest(course)
        else:
            comes.add_done_callback(lambda _: self._line_up(course))
        return None

    def _line_up(self, course: Course) -> None:
        with self._news:
            self._line.append(course)
            self._news.notify()

    def _end_rest(self, course: Course) -> None:
        """Let a course that has rested go on if it was woken meanwhile; the lock is held."""
        if course.woken:
            self._line.append(course)
        else:
            course.idle = True

    def _next(self, again: Course | None) -> Course | None:
        """Wait for a course whose turn it is, None at the end; `again` takes the last place."""
        with self._news:
            if again is not None:
                self._line.append(again)
            while not self._closed:
                now = time.monotonic()
                while self._later and self._later[0][0] <= now:
                    _, number, resting = heappop(self._later)
                    if resting.rest == number:
                        resting.rest = None
                        self._end_rest(resting)
                if self._line:
                    found = self._line.popleft()
                    found.woken = found.hurried = False
                    if self._line or self._unwatched:
                        self._news.notify()
                    return found
                self._wait(now)
            return None

    @property
    def _unwatched(self) -> bool:
        """Whether a rest may end before any waiting thread looks; the lock is held."""
        if not self._later:
            return False
        return self._watched is None or self._later[0][0] < self._watched

    def _wait(self, now: float) -> None:
        """Wait for news, or for the end of the next rest; one thread is enough for that.

        A course that is woken while it rests needs no thread before that: who feeds one example
        after the other would wake up one for each.
        """
        if self._unwatched:
            self._watched = self._later[0][0]
            self._news.wait(self._watched - now)
            self._watched = None
        else:
            self._news.wait()
