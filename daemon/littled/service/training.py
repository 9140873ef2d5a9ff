"""Where joint trainings run: never on the event loop, and off its interpreter where that matters.

Most trainings are a few calls into numpy, which lets go of the interpreter while it works: they run
on a thread, next to the data. Algorithm 4 lists the essential hypotheses of every single teacher in
Python; with thousands of teachers a thread would contend with acknowledgements for the interpreter
all the while. Streams with such a learner train in a process of its own, which is sent the state
and sends the next one back.

A step is a pure function whose noise is a function of key and address, so it comes to the same
wherever it runs. The key goes to the process as the private data do: through a pipe between two
processes of one user, of which only the daemon has the other end.

Whoever wants it has trainings done on other machines (`TrainingsElsewhere`). They get the private
data of a learner, but not the key: only the subkeys of what this one call draws.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any, TypeVar

from littled.learners.contract import CallAdmitted
from littled.limits import ENGINE_THREADS, TRAINING_ELSEWHERE_SECONDS, TRAININGS_HERE_SECONDS
from littled.mechanisms.noise import (
    IN_CALLS,
    Address,
    GrantedNoise,
    KeyedNoise,
    NotGranted,
    Purpose,
)
from littled.planner import StreamPlan
from littled.service.logs import Log

T = TypeVar("T")
# Addresses that are granted together, and how often one training may ask for more.
DRAWS_AT_ONCE = 16
GRANTS_MAX = 64

STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})


class Trainers:
    """The executors of one daemon: a thread, and a process as soon as a plan needs one.

    Each runs one training at a time, so that trainings never take more than two cores.
    """

    def __init__(self, elsewhere: Executor | None = None, log: Log | None = None) -> None:
        """Start nothing yet. elsewhere: other machines that may train where examples are protected.

        What a training draws for users has addresses of its own for each of them, which nobody can
        name beforehand; such streams train here.
        """
        self._elsewhere, self._log = elsewhere, log
        self._sent: dict[Executor, TrainingsElsewhere] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="littled-training")
        self._process: ProcessPoolExecutor | None = None

    def executor(self, plan: StreamPlan) -> Executor:
        """Return what trains the learners of `plan`; blocks while a process starts.

        Raises BrokenProcessPool or OSError where no process can be had.
        """
        here = self._here(plan)
        if self._elsewhere is None or plan.unit.is_user:
            return here
        # One for all streams: threads for each would be many, and waits for a lost cluster too.
        if here not in self._sent:
            self._sent[here] = TrainingsElsewhere(self._elsewhere, here, self._log)
        return self._sent[here]

    def _here(self, plan: StreamPlan) -> Executor:
        if not any(one.needs_process for one in plan.publishing):
            return self._thread
        if self._process is None:
            self._process = _start_process()
        return self._process

    def close(self) -> None:
        """Begin no more trainings, and do not wait for the one that runs."""
        for sent in self._sent.values():
            sent.shutdown(wait=False, cancel_futures=True)
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._process is not None:
            self._process.shutdown(wait=False, cancel_futures=True)


class TrainingsElsewhere(Executor):
    """Sends trainings to another executor, and does here what is not done there.

    A worker gets the learner, its state, which holds examples, and the subkeys of the addresses at
    which this call draws: never the store's key. It names the addresses that it lacks; those of the
    call are granted, and it begins again. What a learner drew in its calls before is granted at
    once. The step comes to the same wherever it is made. Where one fails, it and those of the next
    TRAININGS_HERE_SECONDS are done here.
    """

    def __init__(self, elsewhere: Executor, here: Executor, log: Log | None) -> None:
        """elsewhere: its results may fail in any way; log: where that is told."""
        self._elsewhere, self._here, self._log = elsewhere, here, log
        self._waiting = ThreadPoolExecutor(ENGINE_THREADS, thread_name_prefix="littled-sent")
        self._drawn: dict[str, set[tuple[Purpose, int]]] = {}
        self._not_before = -math.inf

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """A training: the bound method `step` of a learner, a state, CallAdmitted, the noise."""
        return self._waiting.submit(self._trained, fn, *args)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Send no more."""
        self._waiting.shutdown(wait=wait, cancel_futures=cancel_futures)

    def _trained(
        self, step: Callable[..., T], state: Any, call: CallAdmitted, noise: KeyedNoise
    ) -> T:
        try:
            if time.monotonic() >= self._not_before:
                return self._trained_there(step, state, call, noise)
        except Exception as error:  # noqa: BLE001 - whatever is wrong there is not wrong here
            self._drawn.clear()
            self._not_before = time.monotonic() + TRAININGS_HERE_SECONDS
            if self._log is not None:
                self._log.warning("training not done elsewhere", error_type=type(error).__name__)
        return self._here.submit(step, state, call, noise).result()

    def _trained_there(
        self, step: Callable[..., T], state: Any, call: CallAdmitted, noise: KeyedNoise
    ) -> T:
        """The next step; whatever the executor raises, NotGranted or TimeoutError."""
        name, place = str(getattr(step, "__self__").name), call.place  # noqa: B009 - a bound method
        drawn = self._drawn.setdefault(name, set())
        for _ in range(GRANTS_MAX):
            addresses = [
                Address(place.chain_head, name, purpose, place.position, draw)
                for purpose, draw in drawn
            ]
            granted = {address: noise.subkey(address) for address in addresses}
            sent = self._elsewhere.submit(step_with_grants, step, state, call, granted)
            try:
                found = sent.result(TRAINING_ELSEWHERE_SECONDS)
            finally:
                sent.cancel()
            if not isinstance(found, Address):
                return found
            if found.purpose not in IN_CALLS or (found.purpose, found.draw) in drawn:
                raise NotGranted(found)
            # Whoever draws once at a purpose mostly draws again.
            drawn |= {(found.purpose, found.draw + further) for further in range(DRAWS_AT_ONCE)}
        raise TimeoutError


def step_with_grants(
    step: Callable[..., T], state: Any, call: CallAdmitted, granted: Mapping[Address, bytes]
) -> T | Address:
    """The next step of a learner, or an address that it lacks; wherever the work is done."""
    try:
        return step(state, call, GrantedNoise(granted))
    except NotGranted as missing:
        return missing.address


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
