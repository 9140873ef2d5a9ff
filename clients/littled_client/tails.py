"""A thread that finishes what a blocking program began, and rests as long as there is nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final
from weakref import WeakMethod, finalize

_NAME: Final = "littled-tail"


class Tail:
    """Calls `tick` on a thread of its own, some time after a `ring`, until there is no more to do.

    tick(), a method, says in how many seconds to call it again, or None to rest until the next
    ring; it must not raise. While it rests the thread uses no time at all. It begins with the first
    ring and ends with `close`, with the method's object, or with the program.

    A ring that a signal's handler interrupts may be repeated: one too many changes nothing, also
    where it has begun a second thread.
    """

    def __init__(self, tick: Callable[[], float | None], seconds: float) -> None:
        """Prepare; `tick` is called `seconds` after a ring."""
        self._tick = WeakMethod(tick)
        self._seconds = seconds
        self._bell: SimpleQueue[bool] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def ring(self) -> None:
        """Have `tick` called; needed only before the first time and after None.

        Raises RuntimeError when no thread can be started.
        """
        if self._thread is None:
            arguments = (self._bell, self._tick, self._seconds)
            thread = threading.Thread(target=_run, args=arguments, name=_NAME, daemon=True)
            thread.start()
            self._thread = thread
            finalize(self, self._bell.put, False).atexit = False
        self._bell.put(True)

    def close(self) -> None:
        """Call `tick` no more, and wait until a call that runs is over."""
        self._bell.put(False)
        if self._thread is not None:
            self._thread.join()
            self._thread = None


def _run(
    bell: SimpleQueue[bool], method: WeakMethod[Callable[[], float | None]], seconds: float
) -> None:
    while bell.get():
        pause: float | None = seconds
        while pause is not None:
            try:
                if not bell.get(timeout=pause):
                    bell.put(False)
                    return
            except Empty:
                tick = method()
                if tick is None:
                    return
                pause = tick()
                del tick
    bell.put(False)  # for another thread, if there is one
