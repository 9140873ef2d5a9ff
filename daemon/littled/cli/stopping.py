"""Signals that ask a command to come to a good end."""

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Exit status of a process that a signal ended, less the signal's number.
_SIGNALLED = 128


class Stopping:
    """While it is entered, SIGINT and SIGTERM ask to stop; the second one interrupts at once.

    Outside of the main thread signals stay as they are.
    """

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self._listener: Callable[[], None] | None = None
        self._asked = threading.Event()
        self._before: dict[signal.Signals, Any] = {}
        self.signal: signal.Signals | None = None

    @property
    def status(self) -> int | None:
        """The exit status that says by which signal the command was stopped, if it was."""
        return None if self.signal is None else _SIGNALLED + self.signal

    def tell(self, listener: Callable[[], None]) -> None:
        """Call this at the first signal, and nothing that was to be called before.

        Until there is something to call, a signal interrupts at once.
        """
        self._listener = listener
        if self.signal is not None:
            listener()

    def pause(self, seconds: float) -> None:
        """Sleep, but no longer than until a signal."""
        self._asked.wait(max(0.0, seconds))

    def __enter__(self) -> Self:
        """Begin to listen."""
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave signals to whom they were left before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        first = self.signal is None
        self.signal = self.signal or signal.Signals(number)
        self._asked.set()
        if self._listener is None or not first:
            raise KeyboardInterrupt
        self._listener()
