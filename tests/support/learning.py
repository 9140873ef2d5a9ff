"""Running a learner's state machine in tests: streams, runs, and what they say in order."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.classes.hypothesis import HypothesisClass
from littled.learners.contract import (
    CallAdmitted,
    CallRequested,
    Effect,
    Event,
    Examples,
    Place,
    Published,
    SeasonOpened,
)
from littled.learners.online import OnlineLearner, OnlineState
from littled.learners.online.snapshot import state_to_dict
from littled.learners.snapshot import pack
from littled.mechanisms.noise import Address, NoiseSource
from littled_protocol.columns import point_type

HEAD = bytes(32)

Run = tuple[OnlineState, list[Published], list[OnlineState]]
Entry = tuple[Any, ...]


class Inline(Executor):
    """Trains at once, on the calling thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A future that is done already."""
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


class Runner:
    """A learner in its first season; every call that it asks for is admitted."""

    def __init__(self, learner: OnlineLearner, noise: NoiseSource) -> None:
        self.learner, self.noise = learner, noise
        self.state = learner.initial()

    def open(self) -> list[Effect]:
        return list(self._effects(SeasonOpened(0, 0)))

    def feed(
        self,
        x: NDArray[Any],
        y: NDArray[np.uint8],
        first: int,
        users: NDArray[np.uint64] | None = None,
    ) -> Iterator[Effect]:
        """What a record leads to, each effect before it is acted upon; `first`: its position."""
        record, done = Examples(Place(HEAD, first, first), x, y, users), 0
        while done < len(y):
            place = Place(HEAD, first, first + done)
            rest = replace(record.take(slice(done, None)), place=place)
            step = self.learner.step(self.state, rest, self.noise)
            self.state, done = step.state, done + step.consumed
            for effect in step.effects:
                yield effect
                if isinstance(effect, CallRequested):
                    yield from self._effects(CallAdmitted(effect.place))

    def _effects(self, event: Event) -> Iterator[Effect]:
        step = self.learner.step(self.state, event, self.noise)
        self.state = step.state
        for effect in step.effects:
            yield effect
            if isinstance(effect, CallRequested):
                yield from self._effects(CallAdmitted(effect.place))


def run(
    learner: OnlineLearner,
    x: NDArray[Any],
    y: NDArray[np.uint8],
    noise: NoiseSource,
    cuts: Iterable[int],
) -> Run:
    """Feed a stream cut at `cuts`: the last state, what was published, the states before calls."""
    runner = Runner(learner, noise)
    out = [step for step in runner.open() if isinstance(step, Published)]
    before = []
    for start, stop in pairwise(sorted({0, *cuts, len(y)})):
        for effect in runner.feed(x[start:stop], y[start:stop], start):
            if isinstance(effect, CallRequested):
                before.append(runner.state)
            elif isinstance(effect, Published):
                out.append(effect)
    return runner.state, out, before


class Listening:
    """A source of noise that writes down what it is asked for, between what is released."""

    def __init__(self, source: NoiseSource) -> None:
        self.source = source
        self.entries: list[Entry] = []

    def words(self, address: Address, count: int, offset: int = 0) -> NDArray[np.uint64]:
        place = (address.purpose, address.position, address.draw)
        self.entries.append(("noise", *place, offset, count))
        return self.source.words(address, count, offset)


def course(
    learner: OnlineLearner, x: NDArray[Any], y: NDArray[np.uint8], noise: NoiseSource, size: int
) -> list[Entry]:
    """All that a run draws and says, in order: ("noise", ...), ("call", ...), ("release", ...).

    `size`: examples in a record. Words that are asked for behind a fire are asked for again.
    """
    heard = Listening(noise)
    runner = Runner(learner, heard)
    runner.open()
    for first in range(0, len(y), size):
        part = slice(first, first + size)
        for effect in runner.feed(x[part], y[part], first):
            if isinstance(effect, CallRequested):
                heard.entries.append(("call", effect.place.position, effect.event))
            elif isinstance(effect, Published):
                heard.entries.append(("release", effect))
    return heard.entries


def column(hypotheses: HypothesisClass, values: Iterable[Any]) -> NDArray[Any]:
    """Points of the class's type."""
    kind = point_type(hypotheses.point_type)
    if kind.name == "u128":
        return np.array([[v >> 64, v & (2**64 - 1)] for v in values], dtype=np.uint64)
    return np.array(list(values), dtype=kind.dtype)


def stream(seed: int, count: int, target: int = 5, size: int = 16) -> Any:
    """Points below `size`, label 1 from `target` on."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, size, count).astype(np.uint8)
    return x, (x >= target).astype(np.uint8)


def equal(left: OnlineState, right: OnlineState) -> bool:
    """Deep equality of states that hold arrays."""
    return bool(pack(state_to_dict(left)) == pack(state_to_dict(right)))
