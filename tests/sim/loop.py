"""An event loop on the simulated clock, over real sockets within one process.

Sockets of one process are as exact as memory: what is written is there at once, in order. What a
network does to bytes on their way (`sim.peers`) happens on the simulated clock, before they are
written. Which of several ready sockets comes first is up to chance.
"""

import asyncio
import selectors
from collections.abc import Callable
from typing import Any, TypeVarTuple

from sim.world import World

# How often a thread runs while the loop could go on as well.
THREAD_FIRST = 0.4


class SimSelector(selectors.SelectSelector):
    """Waits by letting threads run, or time pass."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self._order: dict[int, int] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Remember the order, which unlike descriptors does not depend on what came before."""
        key = super().register(fileobj, events, data)
        self._order[key.fd] = max(self._order.values(), default=0) + 1
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """Forget a socket."""
        key = super().unregister(fileobj)
        self._order.pop(key.fd, None)
        return key

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; where nothing is, a thread runs or time passes."""
        world = self.world
        world.turn()
        if timeout == 0:
            while world.chance.random() < THREAD_FIRST and world.run_one():
                pass
        ready = super().select(0)
        if not ready and timeout != 0 and not world.run_one():
            world.pass_time(None if timeout is None else world.now + timeout)
            ready = super().select(0)
        ready.sort(key=lambda found: self._order[found[0].fd])
        world.chance.shuffle(ready)
        return ready


Arguments = TypeVarTuple("Arguments")


class SimLoop(asyncio.SelectorEventLoop):
    """The event loop of asyncio on the simulated clock."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.handlers: dict[int, Callable[[], object]] = {}
        super().__init__(SimSelector(world))

    def time(self) -> float:
        """The simulated time."""
        return self.world.now

    def add_signal_handler(
        self, sig: int, callback: Callable[[*Arguments], object], *args: *Arguments
    ) -> None:
        """Remember what a signal would do."""
        self.handlers[sig] = lambda: callback(*args)

    def remove_signal_handler(self, sig: int) -> bool:
        """Forget it."""
        return self.handlers.pop(sig, None) is not None

    def _make_self_pipe(self) -> None:
        """Nobody has to be woken: threads run only while the loop waits."""

    def _close_self_pipe(self) -> None:
        pass

    def _write_to_self(self) -> None:
        pass
