"""What a method is: from a stream, a budget and a seed to the examples on which it was wrong."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from benchmarks.real.streams import Flags, RealStream

Setting = Mapping[str, str | int | float]


class Method(ABC):
    """One way to predict each example before learning from it.

    name: short and stable; title: for people. private: whether it keeps (epsilon, 1e-6)-
    differential privacy for the replacement of one example, over everything that it predicts. One
    that does not has one run for all budgets. seeded: whether runs differ in anything by chance.
    """

    name: str
    title: str
    private: bool = True
    seeded: bool = True

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The public grid from which a setting is chosen on other streams."""
        return ({},)

    def refusal(self, stream: RealStream, epsilon: str) -> str | None:
        """Why the method does not run on a stream; None if it does."""
        return None

    @abstractmethod
    def wrong(self, stream: RealStream, epsilon: str, seed: int, setting: Setting) -> Flags:
        """Whether each example was predicted wrongly, (n,); epsilon as it is written."""

    def rng(self, stream: RealStream, seed: int) -> np.random.Generator:
        """Chance that belongs to the method, the stream and the seed."""
        name = hashlib.blake2b(f"{self.name}/{stream.name}".encode(), digest_size=8).digest()
        return np.random.default_rng([seed, int.from_bytes(name, "big")])
