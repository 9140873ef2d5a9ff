"""KeyboardInterrupt at a chosen point of some code, as the handler of a signal raises it."""

import opcode
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

# The interpreter runs handlers of signals behind these instructions alone.
_HANDLING = ("CALL", "JUMP_BACKWARD", "RESUME")
_CODES = frozenset(number for name, number in opcode.opmap.items() if name.startswith(_HANDLING))


class Interruption:
    """At the n-th point of a block in some modules where a handler can run, counted from 0.

    raised: whether the block had so many.
    """

    def __init__(self, modules: tuple[str, ...], point: int) -> None:
        self._modules = modules
        self._left = point
        self._last: dict[FrameType, int] = {}
        self.raised = False

    def enter(self, frame: FrameType, _event: str, _argument: object) -> Any:
        """Trace the instructions of the modules' functions."""
        if self.raised or frame.f_globals.get("__name__") not in self._modules:
            return None
        frame.f_trace_opcodes = True
        return self._step

    def _step(self, frame: FrameType, event: str, _argument: object) -> Any:
        if event == "return":
            self._last.pop(frame, None)
        if event == "opcode" and not self.raised:
            before = self._last.get(frame)
            self._last[frame] = frame.f_lasti
            if before is not None and _handles(frame.f_code, before):
                self._left -= 1
                if self._left < 0:
                    self.raised = True
                    raise KeyboardInterrupt
        return self._step


def _handles(code: CodeType, offset: int) -> bool:
    return code.co_code[offset] in _CODES


@contextmanager
def interrupted(modules: tuple[str, ...], point: int) -> Iterator[Interruption]:
    """A block that is interrupted at a point, if it has so many; the exception ends here."""
    interruption = Interruption(modules, point)
    sys.settrace(interruption.enter)
    try:
        yield interruption
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
