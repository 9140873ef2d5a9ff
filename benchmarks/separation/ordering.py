"""In order: what learners that predict one example after the other make of a sequence."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from littled_protocol.rules.sequences import Leaf, forward, leaf_of

ORDERS = ("forward", "random", "reverse")
SEEDS_BITS = 12
HALVED_BITS, HALVED_ROUNDS, HALVED_RUNS = 12, 400, 40


class OnlineLearner(ABC):
    """Predicts a bit from an index and its string, and then is told it."""

    @abstractmethod
    def predict(self, index: int, sigma: bytes) -> int:
        """The bit that is expected."""

    @abstractmethod
    def learn(self, index: int, sigma: bytes, bit: int) -> None:
        """The bit that was right."""


class Forward(OnlineLearner):
    """Computes from the least index so far; what is before it is a coin."""

    def __init__(self, rng: np.random.Generator, bits: int) -> None:
        """Nothing seen yet."""
        self._rng, self._bits = rng, bits
        self._least: tuple[int, bytes] | None = None

    def predict(self, index: int, sigma: bytes) -> int:
        """The bit that follows, or a coin."""
        if self._least is None or index <= self._least[0]:
            return int(self._rng.random() < 0.5)
        return forward(index, *self._least, self._bits).bit

    def learn(self, index: int, sigma: bytes, bit: int) -> None:
        """Strings are known before their bits are: the least one is kept."""
        if self._least is None or index < self._least[0]:
            self._least = (index, sigma)


class Logistic(OnlineLearner):
    """Logistic regression on all bits of the string, by gradient descent."""

    def __init__(self, bits: int) -> None:
        """All weights 0."""
        self._weights = np.zeros(128 * bits + 1)

    def predict(self, index: int, sigma: bytes) -> int:
        """The likelier bit."""
        return int(self._weights @ _row(sigma) >= 0)

    def learn(self, index: int, sigma: bytes, bit: int) -> None:
        """One step."""
        row = _row(sigma)
        chance = 1 / (1 + math.exp(-float(self._weights @ row)))
        self._weights += 0.5 * (bit - chance) * row


def _row(sigma: bytes) -> NDArray[np.float64]:
    flags = np.unpackbits(np.frombuffer(sigma, dtype=np.uint8)).astype(np.float64) * 2 - 1
    return np.append(flags / math.sqrt(len(flags)), 1.0)


class LastBit(OnlineLearner):
    """The bit that came last."""

    def __init__(self) -> None:
        """0 before any."""
        self._last = 0

    def predict(self, index: int, sigma: bytes) -> int:
        """The same again."""
        return self._last

    def learn(self, index: int, sigma: bytes, bit: int) -> None:
        """Keep it."""
        self._last = bit


class Coin(OnlineLearner):
    """Guesses."""

    def __init__(self, rng: np.random.Generator) -> None:
        """With coins of its own."""
        self._rng = rng

    def predict(self, index: int, sigma: bytes) -> int:
        """A coin."""
        return int(self._rng.random() < 0.5)

    def learn(self, index: int, sigma: bytes, bit: int) -> None:
        """Nothing."""


@dataclass(frozen=True)
class Followed:
    """Mistakes of every learner on one order."""

    bits: int
    order: str
    rounds: int
    mistakes: dict[str, int]
    # mistakes after 1, 2, ..., of the learner that computes forward
    course: list[int]


def order_of(rng: np.random.Generator, bits: int, order: str, rounds: int) -> list[int]:
    """Indices one after the other."""
    if order == "forward":
        return [5 + step for step in range(rounds)]
    if order == "reverse":
        return [2**bits - 1 - step for step in range(rounds)]
    return [int.from_bytes(rng.bytes(16), "big") >> (128 - bits) for _ in range(rounds)]


def follow(bits: int, order: str, rounds: int, run: int = 3) -> Followed:
    """Every learner on the same strings of one seed."""
    rng = np.random.default_rng([bits, run])
    seed = rng.bytes(16)
    learners: dict[str, OnlineLearner] = {
        "computes forward": Forward(rng, bits),
        "logistic regression": Logistic(bits),
        "last bit again": LastBit(),
        "a coin": Coin(rng),
    }
    mistakes, course = dict.fromkeys(learners, 0), []
    for index in order_of(rng, bits, order, rounds):
        leaf: Leaf = leaf_of(seed, index, bits)
        for name, learner in learners.items():
            mistakes[name] += int(learner.predict(index, leaf.sigma) != leaf.bit)
            learner.learn(index, leaf.sigma, leaf.bit)
        course.append(mistakes["computes forward"])
    return Followed(bits, order, rounds, mistakes, course)


@dataclass(frozen=True)
class Halved:
    """Mistakes of halving over so many seeds, on the reverse order."""

    seeds: int
    rounds: int
    mean: float
    most: int


def halving(seeds_bits: int = SEEDS_BITS, runs: int = HALVED_RUNS) -> Halved:
    """Halving: of all seeds that were right so far, what most of them say."""
    rng, count = np.random.default_rng(4), 1 << seeds_bits
    seeds = [rng.bytes(16) for _ in range(count)]
    last = (1 << HALVED_BITS) - 1
    said = np.array(
        [
            [leaf_of(seed, last - step, HALVED_BITS).bit for step in range(HALVED_ROUNDS)]
            for seed in seeds
        ],
        dtype=np.uint8,
    )
    found = []
    for target in rng.choice(count, min(runs, count), replace=False):
        alive, mistakes = np.ones(count, dtype=np.bool_), 0
        for step in range(HALVED_ROUNDS):
            bit = int(said[target, step])
            guess = int(2 * int(said[alive, step].sum()) >= int(alive.sum()))
            mistakes += int(guess != bit)
            alive &= said[:, step] == bit
        found.append(mistakes)
    return Halved(count, HALVED_ROUNDS, float(np.mean(found)), max(found))
