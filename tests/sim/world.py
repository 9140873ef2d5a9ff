"""Threads, locks and clocks of a simulated machine: one thing runs at a time, a seed says which.

Threads are greenlets, so that nothing runs beside anything else. A thread gives way where it waits,
and now and then where it might as well go on. Whoever asks what time it is gets the simulated time,
which passes only while everybody waits.

What is replaced is Python's own `threading`, `queue` and `time`, so that the program and the
libraries that it uses run as they are. The event loop runs in the main greenlet.
"""

import gc
import queue
import random
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import thread as executors
from contextlib import contextmanager
from typing import Any

import greenlet

# How often a thread gives way where it need not.
GIVES_WAY = 0.1


class PowerLost(KeyboardInterrupt):
    """The machine is off: raised wherever anything would go on. Event loops let it through."""


class Deadlock(KeyboardInterrupt):
    """Everybody waits, and nobody for a time."""


# Turns of the event loop after which a life has surely gone round in circles.
TURNS_MAX = 60_000


class World:
    """Clock, chance and threads of one machine."""

    def __init__(self, chance: random.Random) -> None:
        """Begin at second 0 of the simulated time."""
        self.chance = chance
        self.now = 0.0
        self.wall_ahead = 1_700_000_000.0
        self.off = False
        self.turns = 0
        self.main = greenlet.getcurrent()
        self.threads: list[SimThread] = []

    # --- Waiting ----------------------------------------------------------------------------------

    def wait(self, until: Callable[[], bool], seconds: float | None = None) -> bool:
        """Let others run until something holds or time is over; return whether it holds."""
        self.check()
        deadline = None if seconds is None else self.now + max(seconds, 0)
        current = greenlet.getcurrent()
        if current is self.main:
            while not until() and (deadline is None or self.now < deadline):
                if not self.run_one():
                    self.pass_time(deadline)
        else:
            thread = next(each for each in self.threads if each.greenlet is current)
            thread.until, thread.deadline = until, deadline
            self.main.switch()
        self.check()
        return until()

    def give_way(self) -> None:
        """Let another thread go first, perhaps."""
        current = greenlet.getcurrent()
        if current is not self.main and self.chance.random() < GIVES_WAY:
            self.wait(lambda: True)

    def check(self) -> None:
        """Raise PowerLost where the machine is off."""
        if self.off:
            raise PowerLost

    def run_one(self) -> bool:
        """Let one of the threads run that can; return whether any could. Main greenlet only."""
        self.check()
        able = [each for each in self.threads if each.is_able(self.now)]
        if able:
            self.chance.choice(able).run()
        self.check()
        return bool(able)

    def pass_time(self, limit: float | None) -> None:
        """Let the time pass at which the first thread wants to go on, or the limit."""
        times = [each.deadline for each in self.threads if each.deadline is not None]
        if limit is not None:
            times.append(limit)
        if not times:
            raise Deadlock("everybody waits: " + ", ".join(each.name for each in self.threads))
        self.now = max(self.now, min(times))

    def turn(self) -> None:
        """Count a turn of the event loop."""
        self.check()
        self.turns += 1
        if self.turns > TURNS_MAX:
            raise Deadlock("the event loop turns and turns")

    def cut_power(self) -> None:
        """Switch the machine off: nothing goes on, anywhere."""
        self.off = True
        for thread in list(self.threads):
            thread.abandon()
        self.threads.clear()


class SimThread:
    """What `threading.Thread` becomes."""

    world: World

    def __init__(
        self, group: None = None, target: Any = None, name: str | None = None, args: Any = (),
        kwargs: Any = None, *, daemon: bool | None = None,
    ) -> None:  # fmt: skip
        self.name = name or "thread"
        self.daemon = daemon
        self.ident: int | None = None
        self.finished = False
        self.until: Callable[[], bool] = lambda: True
        self.deadline: float | None = None
        self._call: Callable[[], object] = lambda: target(*args, **(kwargs or {}))
        self.greenlet = greenlet.greenlet(self._run)

    def start(self) -> None:
        """Run as soon as the others let it."""
        self.world.check()
        self.ident = id(self)
        self.greenlet.parent = self.world.main
        self.world.threads.append(self)

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end."""
        if not self.world.off:
            self.world.wait(lambda: self.finished, timeout)

    def is_alive(self) -> bool:
        """Whether it has begun and not ended."""
        return self.ident is not None and not self.finished

    def is_able(self, now: float) -> bool:
        """Whether it can run."""
        return self.until() or (self.deadline is not None and now >= self.deadline)

    def run(self) -> None:
        """Run until it waits again."""
        self.deadline = None
        self.greenlet.switch()

    def where(self) -> str:
        """Where it waits, for who looks into a failure."""
        return "".join(traceback.format_stack(self.greenlet.gr_frame)[-5:])

    def abandon(self) -> None:
        """End where it stands; the machine is off."""
        if self.greenlet:
            self.greenlet.throw(PowerLost)

    def _run(self) -> None:
        try:
            self._call()
        except PowerLost:
            pass
        finally:
            self.finished = True
            if self in self.world.threads:
                self.world.threads.remove(self)


class SimLock:
    """What `threading.Lock` becomes."""

    world: World

    def __init__(self) -> None:
        self.owner: object = None
        self.depth = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock."""
        self.world.give_way()
        if self.owner is not None:
            if not blocking:
                return False
            if not self.world.wait(lambda: self.owner is None, None if timeout < 0 else timeout):
                return False
        self.owner, self.depth = greenlet.getcurrent(), 1
        return True

    def release(self) -> None:
        """Give the lock back; like the real one, whoever took it."""
        if self.owner is None:
            # Whoever the power cut drives out of a condition has not got its lock back.
            self.world.check()
            raise RuntimeError("release of a lock that nobody has")
        self.owner = None

    def locked(self) -> bool:
        """Whether somebody has it."""
        return self.owner is not None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class SimSharedLock(SimLock):
    """What the lock that all executors of a process share becomes.

    A real one would stop everybody: whoever has it may wait for others while it does. Where it is
    free, nobody gives way for it.
    """

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock."""
        if self.owner is not None:
            self.world.wait(lambda: self.owner is None)
        self.owner, self.depth = greenlet.getcurrent(), 1
        return True


class SimRLock(SimLock):
    """What `threading.RLock` becomes."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock once more."""
        if self._is_owned():
            self.depth += 1
            return True
        return super().acquire(blocking, timeout)

    def release(self) -> None:
        """Give it back once."""
        self.depth -= 1
        if not self.depth:
            self.owner = None

    def _is_owned(self) -> bool:
        return self.owner is greenlet.getcurrent()

    def _release_save(self) -> int:
        depth, self.depth, self.owner = self.depth, 0, None
        return depth

    def _acquire_restore(self, depth: int) -> None:
        super().acquire()
        self.depth = depth


class SimQueue:
    """What `queue.SimpleQueue` becomes."""

    world: World

    def __init__(self) -> None:
        self.items: deque[Any] = deque()

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Add an item."""
        self.items.append(item)
        self.world.give_way()

    put_nowait = put

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Take the first item."""
        self.world.give_way()
        if not self.items and not (block and self.world.wait(lambda: bool(self.items), timeout)):
            raise queue.Empty
        return self.items.popleft()

    def get_nowait(self) -> Any:
        """Take the first item or raise."""
        return self.get(block=False)

    def empty(self) -> bool:
        """Whether there is none."""
        return not self.items

    def qsize(self) -> int:
        """How many there are."""
        return len(self.items)


@contextmanager
def simulated(world: World) -> Iterator[None]:
    """Put the simulated machine in the place of the real one."""
    for each in (SimThread, SimLock, SimQueue):
        each.world = world
    changes: list[tuple[Any, str, Any]] = [
        (threading, "Thread", SimThread),
        (threading, "Lock", SimLock),
        (threading, "_allocate_lock", SimLock),
        (threading, "RLock", SimRLock),
        (queue, "SimpleQueue", SimQueue),
        (executors, "_global_shutdown_lock", SimSharedLock()),
        (time, "monotonic", lambda: world.now),
        (threading, "_time", lambda: world.now),
        (queue, "time", lambda: world.now),
        (time, "perf_counter", lambda: world.now),
        (time, "time", lambda: world.now + world.wall_ahead),
        (time, "clock_gettime", lambda _clock: 0.0),  # its processors are as quick as can be
        (time, "sleep", lambda seconds: world.wait(lambda: False, seconds)),
        (gc, "freeze", lambda: None),
    ]
    before = [(module, name, getattr(module, name)) for module, name, _ in changes]
    for module, name, new in changes:
        setattr(module, name, new)
    try:
        yield
    finally:
        for module, name, old in before:
            setattr(module, name, old)
