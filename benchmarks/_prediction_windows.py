"""Windows of independent examples with labels that a rule fits, but for noise, and the flights.

    window = make_window("thresholds:65536", Fraction(1, 10), 100_000, seed=3)
    window.x, window.y       # the examples
    window.excess(chances)   # of answers that are 1 with these probabilities at the questions

Every window is a function of (class, noise, size, seed). Points come from the uniform streams of
`_streams.py`, where these have the class; each label is wrong with the probability `noise`. A
window of the flights is as many flights in a row, and its questions are all flights of the year.

Questions are what the excess error is measured on: the whole domain for thresholds and tables,
otherwise points that are drawn as the window's are, but not in it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from _runs import hypotheses_of
from _streams import Flags, Generator, make_stream, parsed
from numpy.typing import NDArray

from littled.classes import HypothesisClass, class_from_name
from littled.demo import DemoError, Flights, read_flights
from littled_protocol.rules import Rule

FLIGHTS = "flights"
FLIGHTS_CLASS = "thresholds:256"
HELD_OUT = 8192
# Of a stream with one id to find, this share is it.
MEMBER_SHARE = 0.25
IDS = 1000

Points = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Window:
    """A window, and what answers are measured by.

    x, y: the examples. questions: different points (m,) or rows of features; zeros, ones: how often
    each is asked with the right answer 0 or 1, int64 (m,). An error is multiplied by `scale`, and
    is beyond `best`, that of the best rule of the class.
    """

    hypotheses: HypothesisClass
    x: Points
    y: NDArray[np.uint8]
    questions: Points
    zeros: NDArray[np.int64]
    ones: NDArray[np.int64]
    scale: float
    best: float

    def excess(self, chances: Floats) -> float:
        """Excess error of answers that are 1 with these probabilities (m,)."""
        wrong = float(chances @ self.zeros + (1 - chances) @ self.ones)
        return self.scale * wrong / self._asked - self.best

    def excess_of_rule(self, rule: Rule) -> float:
        """Excess error of one rule."""
        return self.excess(rule.evaluate(self.questions).astype(np.float64))

    def excess_of_all(self) -> Floats:
        """Excess error of every rule of a class whose rules can be listed, (rule_count,)."""
        statistics = self.hypotheses.empty_statistics()
        for label, counts in enumerate((self.zeros, self.ones)):
            x = np.repeat(self.questions, counts, axis=0)
            y = np.full(len(x), label, dtype=np.uint8)
            statistics = self.hypotheses.add(statistics, x, y)
        right = self.hypotheses.scores(statistics) / self._asked
        found: Floats = self.scale * (1 - right) - self.best
        return found

    def flipped(self, excess: float, flip: float) -> float:
        """What an excess error becomes when answers are turned over with probability `flip`."""
        return flip * (self.scale - 2 * self.best) + (1 - 2 * flip) * excess

    @property
    def coin(self) -> float:
        """Excess error of a fair coin."""
        return self.scale / 2 - self.best

    @property
    def _asked(self) -> int:
        return int(self.zeros.sum() + self.ones.sum())


def hypotheses_for(class_name: str) -> HypothesisClass:
    """The daemon's class behind a name; flights have the demo's."""
    if class_name == FLIGHTS:
        return class_from_name(FLIGHTS_CLASS)
    family, numbers = parsed(class_name) if class_name not in _MAKERS else ("", ())
    return hypotheses_of(class_name) if family and numbers else class_from_name(class_name)


def make_window(class_name: str, noise: Fraction, size: int, seed: int) -> Window:
    """A window of `size` examples; for flights the `seed`-th one of the year."""
    if class_name == FLIGHTS:
        return _of_flights(size, seed)
    x, questions, labels = _points(class_name, size, seed)
    rng = np.random.default_rng([seed, noise.numerator, noise.denominator, size])
    wrong = rng.random(size) < float(noise)
    right = labels(questions)
    return Window(
        hypotheses_for(class_name),
        x,
        (labels(x) ^ wrong).astype(np.uint8),
        questions,
        (~right).astype(np.int64),
        right.astype(np.int64),
        float(1 - 2 * noise),
        0.0,
    )


def _points(
    class_name: str, size: int, seed: int
) -> tuple[Points, Points, Callable[[Points], Flags]]:
    """Examples' points, questions, and what the target says."""
    maker = _MAKERS.get(class_name)
    if maker is not None:
        x, labels = maker(size + HELD_OUT, np.random.default_rng([seed, size]))
        return x[:size], x[size:], labels
    family, numbers = parsed(class_name)
    stream = make_stream(class_name, "uniform", size + HELD_OUT, seed)
    questions = stream.x[size:]
    if family in ("thresholds", "table"):
        questions = np.arange(numbers[-1]).astype(stream.x.dtype)
    return stream.x[:size], questions, stream.target.labels


def _prefixes(count: int, rng: Generator) -> tuple[Points, Callable[[Points], Flags]]:
    """A block of length 4 to 20; half of the addresses inside, half neighbours at all scales."""
    length, anchor = int(rng.integers(4, 21)), rng.integers(0, 1 << 32)
    inside = rng.random(count) < 0.5
    shared = np.where(inside, length, rng.integers(0, length, count))
    behind = rng.integers(0, 1 << 32, count) & ((1 << (32 - shared)) - 1)
    x = anchor ^ behind
    # the first bit behind what a neighbour shares is another one
    bit = 1 << np.where(inside, 0, 31 - shared)
    x = np.where(inside, x, (x & ~bit) | (~anchor & bit))
    return x.astype(np.uint32), lambda points: points >> (32 - length) == anchor >> (32 - length)


def _member(count: int, rng: Generator) -> tuple[Points, Callable[[Points], Flags]]:
    """One id that is a quarter of all examples, among many that are rare."""
    ids = rng.integers(0, 2**64, IDS, dtype=np.uint64)
    number = np.where(rng.random(count) < MEMBER_SHARE, 0, rng.integers(1, IDS, count))
    return ids[number], lambda points: points == ids[0]


_MAKERS: dict[str, Callable[[int, Generator], tuple[Points, Callable[[Points], Flags]]]] = {
    "prefixes:32": _prefixes,
    "points:64": _member,
}


# --- Flights --------------------------------------------------------------------------------------


@cache
def flights() -> Flights | None:
    """The year, None where its package is not installed."""
    try:
        return read_flights()
    except DemoError:
        return None


def _of_flights(size: int, number: int) -> Window:
    """So many flights in a row; windows begin at even distances."""
    year = flights()
    assert year is not None, "nobody asks for flights without their package"
    first = (len(year) - size) * number // 4
    points = year.points
    hypotheses = class_from_name(FLIGHTS_CLASS)
    domain = np.arange(256, dtype=np.uint8)
    return Window(
        hypotheses,
        points[first : first + size],
        year.late[first : first + size],
        domain,
        np.bincount(points[year.late == 0], minlength=256),
        np.bincount(points[year.late == 1], minlength=256),
        1.0,
        year.error(year.best_rule()),
    )
