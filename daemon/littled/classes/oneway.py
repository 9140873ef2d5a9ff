"""One-way sequences: easy to learn from a sample, and impossible to learn online in practice.

Source: Blum, "Separating Distribution-Free and Mistake-Bound Learning Models over the Boolean
Domain"; Bun, "A Computational Separation between Private Learning and Online Learning", section
3.1. What a sequence is: `littled_protocol.rules.sequences`.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from littled.classes.base import ClassError, Labels, Points
from littled.classes.capabilities import Sequences
from littled.classes.hypothesis import HypothesisClass
from littled_protocol.columns import point_type, smallest_point_type
from littled_protocol.rules.sequences import (
    INDEX_BITS_MAX,
    LABEL_BYTES,
    SequenceRule,
    forward,
    index_and_string,
    index_bytes,
    is_formed,
    leaf_of,
    point_bytes,
    point_of,
)


@dataclass(frozen=True)
class OneWay(HypothesisClass, Sequences):
    """For each seed the rule that says 1 to the points (i, sigma_i) of its tree with b_i = 1.

    Published rules are not of the class: from an index on they say what a seed's rule says.
    """

    bits: int

    def __post_init__(self) -> None:
        """Refuse indices that are too long for points (ClassError)."""
        if not 1 <= self.bits <= INDEX_BITS_MAX:
            raise ClassError(
                f"oneway needs a number of bits from 1 to {INDEX_BITS_MAX}, not {self.bits}"
            )

    @property
    def name(self) -> str:
        """`oneway:BITS`."""
        return f"oneway:{self.bits}"

    @property
    def point_type(self) -> str:
        """Byte strings of an index and its labels."""
        return f"bytes{point_bytes(self.bits)}"

    @property
    def littlestone_dimension(self) -> int:
        """At most 128: each mistake of the halving algorithm halves the 2^128 seeds."""
        return 8 * LABEL_BYTES

    @property
    def not_online(self) -> str:
        """Bun's theorem in a sentence."""
        return (
            f"{self.name} cannot be learned online in practice: shown its strings from the last to "
            "the first, a learner that does not try all 2^128 seeds predicts no better than a coin "
            "if SHA-256 makes a pseudorandom generator (Blum; Bun, Proposition 7); take windows"
        )

    @property
    def chunk_dimension(self) -> int:
        """1: the least index alone decides what a chunk teaches, as a threshold would."""
        return 1

    @property
    def learns_from_noise(self) -> bool:
        """No: one forged string with label 1 may be the one with the least index."""
        return False

    def to_dict(self) -> dict[str, Any]:
        """Name and bits of an index."""
        return {"class": "oneway", "bits": self.bits}

    def contains(self, points: Points) -> bool:
        """Whether every index has at most `bits` bits; strings may be any."""
        free = 8 * index_bytes(self.bits) - self.bits
        return not free or not len(points) or int(points[:, 0].max()) >> (8 - free) == 0

    @property
    def telling_points(self) -> Points:
        """The first points of two seeds, in turns: few other byte strings are formed."""
        rows = [
            point_of(index, leaf_of(bytes([byte] * LABEL_BYTES), index, self.bits).sigma, self.bits)
            for index in range(2)
            for byte in (1, 2)
        ]
        return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -1)

    def first_rule(self) -> SequenceRule:
        """Always 0."""
        return SequenceRule(self.bits, None, b"", 0)

    @property
    def longest_rule(self) -> SequenceRule:
        """Any index and string."""
        return SequenceRule(self.bits, 0, b"\xff" * (self.bits * LABEL_BYTES), 1)

    @property
    def index_bits(self) -> int:
        """Bits of an index."""
        return self.bits

    def indices(self, x: Points) -> Points:
        """The first bytes of each point, the highest first."""
        size = index_bytes(self.bits)
        kind = point_type(smallest_point_type(self.bits))
        padded = np.zeros((len(x), kind.itemsize_bytes), dtype=np.uint8)
        padded[:, kind.itemsize_bytes - size :] = x[:, :size]
        words = padded.view(kind.dtype.newbyteorder(">")).astype(kind.dtype)
        return words if kind.columns > 1 else words[:, 0]

    def votes(self, x: Points, index: int) -> Counter[tuple[bytes, int]]:
        """How often each string and bit is named, by forward computation where they are later.

        A point of the index itself names its own string, with the bit 1 as its label is 1.
        """
        found = Counter[tuple[bytes, int]]()
        for point, times in Counter(map(bytes, np.ascontiguousarray(x))).items():
            before, sigma = index_and_string(point, self.bits)
            if before > index or not is_formed(before, sigma, self.bits):
                continue
            is_there = before == index
            named = (sigma, 1) if is_there else forward(index, before, sigma, self.bits)
            found[named[0], named[1]] += times
        return found

    def continuing_rule(self, index: int, sigma: bytes, label: int) -> SequenceRule:
        """From this index on what follows from its string."""
        return SequenceRule(self.bits, index, sigma, label)

    def empirical_rule(self, x: Points, y: Labels) -> SequenceRule:
        """What follows from the formed positive point with the least index; ties by strings.

        Without errors if a seed's rule has none.
        """
        for point in sorted(map(bytes, np.ascontiguousarray(x[y == 1]))):
            index, sigma = index_and_string(point, self.bits)
            if is_formed(index, sigma, self.bits):
                return self.continuing_rule(index, sigma, 1)
        return self.first_rule()
