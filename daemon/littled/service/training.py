"""Where joint trainings run: never on the event loop, and off its interpreter where that matters.

Most trainings are a few calls into numpy, which lets go of the interpreter while it works: they run
on a thread, next to the data. Algorithm 4 lists the essential hypotheses of every single teacher in
Python; with thousands of teachers a thread would contend with acknowledgements for the interpreter
all the while. Streams with such a learner train in a process of its own, which is sent the state
and sends the next one back.

A step is a pure function whose noise is a function of key and address, so it comes to the same
wherever it runs. The key goes to the process as the private data do: through a pipe between two
processes of one user, of which only the daemon has the other end.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor

from littled.planner import StreamPlan

STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})


class Trainers:
    """The executors of one daemon: a thread, and a process as soon as a plan needs one.

    Each runs one training at a time, so that trainings never take more than two cores.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="littled-training")
        self._process: ProcessPoolExecutor | None = None

    def executor(self, plan: StreamPlan) -> Executor:
        """Return what trains the learners of `plan`; blocks while a process starts.

        Raises BrokenProcessPool or OSError where no process can be had.
        """
        if not any(one.needs_process for one in plan.publishing):
            return self._thread
        if self._process is None:
            self._process = _start_process()
        return self._process

    def close(self) -> None:
        """Begin no more trainings, and do not wait for the one that runs."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._process is not None:
            self._process.shutdown(wait=False, cancel_futures=True)


def _start_process() -> ProcessPoolExecutor:
    """Start the process and wait until it is ready.

    It begins as a new interpreter, as a copy of a process with threads could find locks held
    forever. A service manager, or Ctrl-C, signals every process of the daemon at once, but a
    training may be needed until the last record is learned: the process never sees these signals,
    not even while it starts, because it inherits the mask of the thread that starts it.
    """
    pool = ProcessPoolExecutor(
        1, mp_context=multiprocessing.get_context("spawn"), initializer=_settle_in
    )
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        pool.submit(os.getpid).result()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pool


def _settle_in() -> None:
    """Prepare the new process: nothing of it outlives the daemon or is printed.

    What Python prints of an exception nobody caught could quote private values.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process as soon as the daemon is gone, however it went."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
