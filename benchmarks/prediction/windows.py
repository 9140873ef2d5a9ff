"""Windows of independent examples with labels that a rule fits, except for noise, and the flights.

    window = make_window("thresholds:65536", Fraction(1, 10), 100_000, "even", seed=3)
    window.x, window.y       # the examples
    window.excess(chances)   # of answers that are 1 with these probabilities at the questions

Every window is a function of (class, noise, size, kind, seed). Each label is wrong with the
probability `noise`. Kinds:

- *even*: a fair share of the right labels is 1;
- *rare*: few are, a little more than the excess error that is asked for, so that small parts of the
  window never see one. In a table other rules differ from the right one on as few examples.

A window of the flights is as many flights in a row, and its questions are all flights of the year.
Questions are what the excess error is measured on: the whole domain for thresholds and tables,
otherwise points that are drawn as the window's are, but not in it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from benchmarks.learning.runs import hypotheses_of
from benchmarks.learning.streams import Flags, Generator, parsed, table_matrix
from littled.classes.capabilities import needed
from littled.classes.hypothesis import HypothesisClass
from littled.cli.flights import DemoError, Flights, read_flights
from littled_protocol.columns import point_type, smallest_point_type
from littled_protocol.rules import Rule

FLIGHTS = "flights"
FLIGHTS_CLASS = "thresholds:256"
HELD_OUT = 8192
IDS = 1000
EVEN, RARE = (0.25, 0.75), 0.075

Kind = Literal["even", "rare"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Points = NDArray[Any]
Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Labels = Callable[[Points], Flags]


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
        wrong = float(chances @ self._turned) + int(self.ones.sum())
        return self.scale * wrong / self._asked - self.best

    def excess_of_rule(self, rule: Rule) -> float:
        """Excess error of one rule."""
        return self.excess(rule.evaluate(self.questions).astype(np.float64))

    def excess_of_all(self) -> Floats:
        """Excess error of every rule of a class whose rules can be listed, (rule_count,)."""
        rules = needed(self.hypotheses.dense)
        statistics = rules.empty_statistics()
        for label, counts in enumerate((self.zeros, self.ones)):
            x = np.repeat(self.questions, counts, axis=0)
            y = np.full(len(x), label, dtype=np.uint8)
            statistics = rules.add(statistics, x, y)
        right = rules.scores(statistics) / self._asked
        found: Floats = self.scale * (1 - right) - self.best
        return found

    def flipped(self, excess: float, flip: float) -> float:
        """What an excess error becomes when answers are turned over with probability `flip`."""
        return flip * (self.scale - 2 * self.best) + (1 - 2 * flip) * excess

    @property
    def coin(self) -> float:
        """Excess error of a fair coin."""
        return self.scale / 2 - self.best

    @cached_property
    def _turned(self) -> Floats:
        """How many more answers are wrong if a question is answered by 1 instead of 0."""
        return (self.zeros - self.ones).astype(np.float64)

    @cached_property
    def _asked(self) -> int:
        return int(self.zeros.sum() + self.ones.sum())


def hypotheses_for(class_name: str) -> HypothesisClass:
    """The daemon's class behind a name; flights have the demo's."""
    return hypotheses_of(FLIGHTS_CLASS if class_name == FLIGHTS else class_name)


def make_window(
    class_name: str, noise: Fraction, size: int, kind: Kind = "even", seed: int = 0
) -> Window:
    """A window of `size` examples; for flights the `seed`-th one of the year, of no kind."""
    if class_name == FLIGHTS:
        return _of_flights(size, seed)
    family, numbers = parsed(class_name)
    rng = np.random.default_rng([seed, size, KINDS.index(kind)])
    made = _MAKERS[family](numbers, kind, size, rng)
    wrong = rng.random(size) < float(noise)
    right = made.labels(made.questions)
    return Window(
        hypotheses_for(class_name),
        made.x,
        (made.labels(made.x) ^ wrong).astype(np.uint8),
        made.questions,
        made.asked * ~right,
        made.asked * right,
        float(1 - 2 * noise),
        0.0,
    )


# --- Makers ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """Points of the examples, questions and how often each is asked, and what the target says."""

    x: Points
    questions: Points
    asked: Numbers
    labels: Labels


def _share(kind: Kind, rng: Generator) -> float:
    """The share of the label 1."""
    return float(rng.uniform(*EVEN)) if kind == "even" else RARE


def _drawn(points: Points, size: int, labels: Labels) -> Made:
    """The last points are the questions."""
    questions = points[size:]
    return Made(points[:size], questions, np.ones(len(questions), dtype=np.int64), labels)


def _thresholds(numbers: tuple[int, ...], kind: Kind, size: int, rng: Generator) -> Made:
    """Uniform points, and a threshold."""
    domain = np.arange(numbers[0]).astype(smallest(numbers[0]))
    threshold = round(numbers[0] * (1 - _share(kind, rng)))
    x = rng.choice(domain, size)
    return Made(x, domain, np.ones(len(domain), np.int64), lambda points: points >= threshold)


def _prefixes(numbers: tuple[int, ...], kind: Kind, size: int, rng: Generator) -> Made:
    """A block of length 4 to 20, and neighbours that share any smaller number of bits with it."""
    assert numbers == (32,), "addresses here have 32 bits"
    length, anchor, count = int(rng.integers(4, 21)), rng.integers(0, 1 << 32), size + HELD_OUT
    inside = rng.random(count) < _share(kind, rng)
    shared = np.where(inside, length, rng.integers(0, length, count))
    behind = rng.integers(0, 1 << 32, count) & ((1 << (32 - shared)) - 1)
    x = anchor ^ behind
    # the first bit behind what a neighbour shares is another one
    bit = 1 << np.where(inside, 0, 31 - shared)
    x = np.where(inside, x, (x & ~bit) | (~anchor & bit)).astype(np.uint32)
    block = anchor >> (32 - length)
    return _drawn(x, size, lambda points: points >> (32 - length) == block)


def _points(numbers: tuple[int, ...], kind: Kind, size: int, rng: Generator) -> Made:
    """One id that many examples have, among many others."""
    assert numbers == (64,), "ids here have 64 bits"
    ids, count = rng.integers(0, 2**64, IDS, dtype=np.uint64), size + HELD_OUT
    number = np.where(rng.random(count) < _share(kind, rng), 0, rng.integers(1, IDS, count))
    return _drawn(ids[number], size, lambda points: points == ids[0])


def _stumps(numbers: tuple[int, ...], kind: Kind, size: int, rng: Generator) -> Made:
    """Uniform rows, of which one feature decides."""
    features, buckets = numbers
    feature = int(rng.integers(0, features))
    threshold = round(buckets * (1 - _share(kind, rng)))
    x = rng.integers(0, buckets, (size + HELD_OUT, features), dtype=np.uint16)
    return _drawn(x, size, lambda points: points[:, feature] >= threshold)


def _table(numbers: tuple[int, ...], kind: Kind, size: int, rng: Generator) -> Made:
    """Uniform points, or most examples at one of them, where half of the rules are right."""
    matrix = table_matrix(*numbers)
    row = matrix[int(rng.integers(0, len(matrix)))]
    domain = np.arange(matrix.shape[1]).astype(smallest(matrix.shape[1]))
    asked = np.ones(len(domain), dtype=np.int64)
    if kind == "rare":
        # two rules differ on about half of the points
        asked[int(rng.integers(0, len(domain)))] = round(len(domain) * (1 / (2 * RARE) - 1))
    x = rng.choice(domain, size, p=asked / asked.sum())
    return Made(x, domain, asked, lambda points: row[points])


def smallest(count: int) -> np.dtype[Any]:
    """The type of the daemon's points 0 to count - 1."""
    return point_type(smallest_point_type(max(1, (count - 1).bit_length()))).dtype


_MAKERS: dict[str, Callable[[tuple[int, ...], Kind, int, Generator], Made]] = {
    "thresholds": _thresholds,
    "prefixes": _prefixes,
    "points": _points,
    "stumps": _stumps,
    "table": _table,
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
    hypotheses = hypotheses_for(FLIGHTS)
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
