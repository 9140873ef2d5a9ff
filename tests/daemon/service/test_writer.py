"""The writing thread: order, answers, and the first failure as the last thing that happens."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

import littled.service.writer as writer_module
from littled.service.writer import Writer, WriterStopped


class DiskError(Exception):
    """A write that failed."""


@pytest.fixture
def failures() -> list[BaseException]:
    return []


@pytest.fixture
def writer(failures: list[BaseException]) -> Iterator[Writer]:
    made = Writer(failures.append)
    yield made
    made.close()


def fail() -> None:
    raise DiskError


def wait_for(gate: threading.Event) -> None:
    assert gate.wait(10)


def test_jobs_run_in_order_on_one_thread(writer: Writer) -> None:
    done: list[tuple[int, int]] = []
    for number in range(100):
        writer.submit(lambda number=number: done.append((number, threading.get_ident())))  # type: ignore[misc]
    here = writer.call(threading.get_ident)
    assert done == [(number, here) for number in range(100)]
    assert here != threading.get_ident()


async def test_answers_reach_the_loop(writer: Writer) -> None:
    assert await writer.ask(lambda: 42) == 42


async def test_a_question_nobody_waits_for_any_more_is_passed_over(writer: Writer) -> None:
    gate, asked = threading.Event(), []
    writer.submit(lambda: wait_for(gate))
    waiting = asyncio.ensure_future(writer.ask(lambda: asked.append(1)))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    gate.set()
    assert await writer.ask(lambda: "next") == "next"
    assert asked == []


def test_the_first_failure_is_the_last_job(writer: Writer, failures: list[BaseException]) -> None:
    done: list[int] = []
    with pytest.raises(DiskError):
        writer.call(fail)
    writer.submit(lambda: done.append(1))
    with pytest.raises(WriterStopped, match="an earlier write failed"):
        writer.call(lambda: done.append(2))
    writer.submit(fail)
    writer.close()
    assert done == []
    assert [type(each) for each in failures] == [DiskError]


def test_a_failed_submission_wakes_up_who_waits(
    writer: Writer, failures: list[BaseException]
) -> None:
    gate = threading.Event()

    def slow_failure() -> None:
        gate.wait(5)
        raise DiskError

    answers: list[str] = []

    def ask() -> None:
        try:
            writer.call(lambda: None)
        except WriterStopped:
            answers.append("stopped")

    writer.submit(slow_failure)
    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join(5)
    assert answers == ["stopped"] * 3
    assert len(failures) == 1


def test_a_question_may_be_given_up_while_it_is_abandoned(
    writer: Writer, failures: list[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread goes on, so that all others who wait are woken up too."""

    class GivenUp(Future[int]):
        """Cancelled by whoever waits for it right after the writer has looked."""

        def done(self) -> bool:
            found = super().done()
            self.cancel()
            return found

    monkeypatch.setattr(writer_module, "Future", GivenUp)
    gate = threading.Event()
    writer.submit(lambda: wait_for(gate))
    writer.submit(fail)
    first = writer._ask(lambda: 1)
    monkeypatch.undo()
    other = writer._ask(lambda: 2)
    gate.set()
    with pytest.raises(WriterStopped, match="an earlier write failed"):
        other.result(10)
    assert isinstance(first.exception(10), WriterStopped)
    assert len(failures) == 1


def test_what_is_queued_runs_before_the_end(writer: Writer) -> None:
    done: list[int] = []
    for number in range(10):
        writer.submit(lambda number=number: done.append(number))  # type: ignore[misc]
    writer.close()
    writer.close()
    assert done == list(range(10))
    with pytest.raises(WriterStopped, match="the store is closed"):
        writer.call(lambda: None)


# --- Jobs on the caller's thread ------------------------------------------------------------------


def test_a_job_runs_here_while_the_writer_is_idle(writer: Writer) -> None:
    threads: list[int] = []
    assert writer.run_here(lambda: threads.append(threading.get_ident()))
    assert threads == [threading.get_ident()]
    assert writer.call(lambda: "still there") == "still there"


def test_a_job_does_not_run_here_while_the_writer_has_work(writer: Writer) -> None:
    gate, begun, done = threading.Event(), threading.Event(), []

    def occupy() -> None:
        begun.set()
        wait_for(gate)

    writer.submit(occupy)
    assert begun.wait(5)
    assert not writer.run_here(lambda: done.append(1))
    gate.set()
    writer.call(lambda: None)
    assert done == []


def test_one_job_at_a_time_wherever_it_runs(writer: Writer) -> None:
    running, most, total = 0, 0, 0

    def job() -> None:
        nonlocal running, most, total
        running += 1
        most = max(most, running)
        time.sleep(0.0005)
        running -= 1
        total += 1

    here = 0
    for _ in range(100):
        writer.submit(job)
        here += writer.run_here(job)
        time.sleep(0.001)
    writer.call(lambda: None)
    assert most == 1
    assert total == 100 + here


def test_a_failure_here_counts_as_any_other(writer: Writer, failures: list[BaseException]) -> None:
    assert writer.run_here(fail)
    assert [type(each) for each in failures] == [DiskError]
    done: list[int] = []
    assert not writer.run_here(lambda: done.append(1))
    with pytest.raises(WriterStopped):
        writer.call(lambda: done.append(2))
    assert done == []


def test_nothing_runs_here_after_the_end(writer: Writer) -> None:
    writer.close()
    assert not writer.run_here(lambda: None)
