"""What the ways to answer share: addresses of noise, chunks of a window, and their votes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from littled.classes.base import Labels, Points
from littled.classes.hypothesis import HypothesisClass
from littled.mechanisms.flips import toss
from littled.mechanisms.noise import Address, NoiseSource, Purpose
from littled_protocol.rules import Rule


@dataclass(frozen=True, slots=True)
class Draw:
    """The fresh noise of one answer: an address of its own for each purpose."""

    noise: NoiseSource
    address: Address

    def at(self, purpose: Purpose) -> Address:
        """The address of one purpose, "predict/..."."""
        return replace(self.address, purpose=purpose)

    def words(self, purpose: Purpose, count: int) -> NDArray[np.uint64]:
        """The first `count` words of one purpose."""
        return self.noise.words(self.at(purpose), count)

    def toss(self, purpose: Purpose, probability: Fraction) -> bool:
        """An exact coin of this probability."""
        return toss(probability, self.noise, self.at(purpose))


def draws(noise: NoiseSource, address: Address, count: int) -> Iterable[Draw]:
    """The noise of `count` answers: draw j follows the address's own by j."""
    first = address.draw
    return (Draw(noise, replace(address, draw=first + j)) for j in range(count))


def check_window(x: Points, y: Labels, window: int) -> None:
    """ValueError unless there are as many points and labels as a window has examples."""
    if len(x) != window or len(y) != window:
        raise ValueError(f"a window must have exactly {window} examples")


def chunk_rules(hypotheses: HypothesisClass, x: Points, y: Labels, chunks: int) -> list[Rule]:
    """What the class learns from each chunk; example i is in chunk i modulo `chunks`.

    The chunks are public sets of positions, so a replaced example changes one rule at most.
    """
    numbers = np.arange(len(y), dtype=np.int64) % chunks
    return hypotheses.empirical_rules(x, y, numbers, chunks)
