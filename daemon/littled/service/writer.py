"""The one thread that writes to the store.

Every write of the daemon passes through here in the order in which it was asked for: commits of
examples, charges and releases of engines, snapshots. The first job that fails is the last job that
runs: after a failed commit nobody knows what the disk holds, so nothing is retried and nothing is
acknowledged any more.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from littled.limits import WRITER_REST_SECONDS

Result = TypeVar("Result")


class WriterStopped(Exception):
    """The writing thread takes no more jobs, because it was closed or because a job failed."""


class Writer:
    """A thread with a queue of jobs, run one after the other.

    A plain queue and a plain thread: a pool costs a future and two locks for each commit. A caller
    in a hurry may run a job on its own thread while the writer has nothing to do (`run_here`): one
    job runs at a time all the same.
    """

    def __init__(self, failed: Callable[[BaseException], None]) -> None:
        """Start the thread; `failed` is called on it with what the first failing job raised."""
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._failed = failed
        self._lock = threading.Lock()
        self._closed = False
        # Held while a job runs; `_broken` is read and set by its holder only.
        self._turn = threading.Lock()
        self._broken = False
        self._thread = threading.Thread(target=self._run, name="littled-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[], None]) -> None:
        """Queue `job` from any thread; it is dropped if the writer stops before its turn."""
        self._jobs.put(job)

    def run_here(self, job: Callable[[], None]) -> bool:
        """Run `job` on the calling thread, if the writer has nothing to do; return whether it ran.

        Who was just told that a job is done may come before the writer is at rest, which takes some
        microseconds; it is waited for. A failure counts as any other job's, and is not raised.
        """
        if not self._turn.acquire(timeout=WRITER_REST_SECONDS):
            return False
        try:
            if self._broken or self._closed or not self._jobs.empty():
                return False
            self._attempt(job)
        finally:
            self._turn.release()
        return True

    def call(self, job: Callable[[], Result]) -> Result:
        """Run `job` and wait for what it returns, from an engine's thread.

        Raises what the job raised, or WriterStopped.
        """
        return self._ask(job).result()

    async def ask(self, job: Callable[[], Result]) -> Result:
        """Run `job` and wait for what it returns, from the event loop.

        Raises what the job raised, or WriterStopped.
        """
        return await asyncio.wrap_future(self._ask(job))

    def close(self) -> None:
        """Run what is queued, then end the thread; questions asked later raise WriterStopped."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()

    def _ask(self, job: Callable[[], Result]) -> Future[Result]:
        answer: Future[Result] = Future()
        with self._lock:
            if self._closed:
                answer.set_exception(WriterStopped("the store is closed"))
            else:
                self._jobs.put(_Question(job, answer))
        return answer

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            with self._turn:
                if not self._broken:
                    self._attempt(job)
                elif isinstance(job, _Question):
                    job.abandon()

    def _attempt(self, job: Callable[[], None]) -> None:
        """Run a job as the holder of the turn."""
        try:
            job()
        except BaseException as error:  # noqa: BLE001 - whatever it was, nothing is written after it
            self._broken = True
            self._failed(error)


class _Question(Generic[Result]):
    """A job whose result somebody waits for."""

    __slots__ = ("_answer", "_job")

    def __init__(self, job: Callable[[], Result], answer: Future[Result]) -> None:
        self._job = job
        self._answer = answer

    def __call__(self) -> None:
        if not self._answer.set_running_or_notify_cancel():
            return
        try:
            result = self._job()
        except BaseException as error:
            self._answer.set_exception(error)
            raise
        self._answer.set_result(result)

    def abandon(self) -> None:
        """Wake up who waits, in the place of running the job."""
        # Asked and taken in one step: who waits may give up on another thread at any moment.
        if self._answer.set_running_or_notify_cancel():
            self._answer.set_exception(WriterStopped("an earlier write failed"))
