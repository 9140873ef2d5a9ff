"""One-way sequences: strings that are easy to compute forward and hard to compute back.

Source: Blum, "Separating Distribution-Free and Mistake-Bound Learning Models over the Boolean
Domain"; Bun, "A Computational Separation between Private Learning and Online Learning", section
3.1, whose k and seed of k bits are kept apart here: an index has `bits` bits, a seed always 128.

The sequence of a seed is read off the tree of Goldreich, Goldwasser and Micali with SHA-256: the
seed is the label of its root, a node with the label v of 16 bytes has the children SHA-256(v 0) and
SHA-256(v 1), cut to 16 bytes. Leaf i of 2^bits has the *string* sigma_i, the labels of the right
siblings along its path from the root, and the *bit* b_i, the last one of the first byte of
SHA-256(v 2), v its own label. Leaf j > i lies below exactly one of these siblings, leaf i below
none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from littled_protocol.columns import Points
from littled_protocol.rules.base import NEVER, SQL_NEVER, Rule, RuleError, Words
from littled_protocol.rules.fields import SequenceFields
from littled_protocol.rules.writing import hexadecimal, integer

LABEL_BYTES: Final = 16
INDEX_BITS_MAX: Final = 128
# Where a path goes right, its string has no label.
NO_LABEL: Final = bytes(LABEL_BYTES)


class Leaf(NamedTuple):
    """What belongs to an index: sigma, a label of 16 bytes for each of its bits, and the bit b."""

    sigma: bytes
    bit: int


def index_bytes(bits: int) -> int:
    """Return how many bytes of a point are its index."""
    return (bits + 7) // 8


def point_bytes(bits: int) -> int:
    """Return how many bytes a point has: its index, and a label for each bit of it."""
    return index_bytes(bits) + bits * LABEL_BYTES


def point_of(index: int, sigma: bytes, bits: int) -> bytes:
    """Return a point as it is on the wire: its index, the highest byte first, and its string."""
    return index.to_bytes(index_bytes(bits), "big") + sigma


def index_and_string(point: bytes, bits: int) -> tuple[int, bytes]:
    """Return the parts of a point."""
    size = index_bytes(bits)
    return int.from_bytes(point[:size], "big"), point[size:]


def leaf_of(seed: bytes, index: int, bits: int) -> Leaf:
    """Return sigma_i and b_i of the sequence of a seed of 16 bytes, for 0 <= index < 2^bits."""
    return _walked(seed, 0, index, bits, b"")


def is_formed(index: int, sigma: bytes, bits: int) -> bool:
    """Return whether sigma has labels where the path to the index goes left, and nowhere else."""
    labels = (sigma[at : at + LABEL_BYTES] for at in range(0, bits * LABEL_BYTES, LABEL_BYTES))
    return all(
        (label == NO_LABEL) == bool(index >> (bits - 1 - place) & 1)
        for place, label in enumerate(labels)
    )


def forward(index: int, before: int, sigma: bytes, bits: int) -> Leaf:
    """Return sigma and b of a later index from those of an earlier one (Bun, Proposition 5).

    The later leaf is below exactly one of the right siblings of the earlier one's path, that where
    both paths part. ValueError unless before < index and sigma is formed.
    """
    if not before < index or not is_formed(before, sigma, bits):
        raise ValueError("only what comes after a string that is formed follows from it")
    parted = bits - (before ^ index).bit_length()
    label = sigma[LABEL_BYTES * parted : LABEL_BYTES * (parted + 1)]
    return _walked(label, parted + 1, index, bits, sigma[: LABEL_BYTES * parted] + NO_LABEL)


def _walked(label: bytes, depth: int, index: int, bits: int, sigma: bytes) -> Leaf:
    """Return what belongs to an index below a node with this label; above it sigma is known."""
    found = bytearray(sigma)
    for place in range(depth, bits):
        right = index >> (bits - 1 - place) & 1
        found += NO_LABEL if right else _child(label, 1)
        label = _child(label, right)
    return Leaf(bytes(found), sha256(label + b"\x02").digest()[0] & 1)


def _child(label: bytes, right: int) -> bytes:
    return sha256(label + bytes((right,))).digest()[:LABEL_BYTES]


@dataclass(frozen=True, slots=True)
class SequenceRule(Rule):
    """1 iff a point continues one string, and its bit is 1; `index` None: always 0.

    Points are an index of `bits` bits and a string. A point of `index` itself has label `label` if
    its string is `sigma`; one with a greater index has the bit b that follows from `sigma`, if its
    string follows too; all others have 0.
    """

    kind: ClassVar[str] = "sequence"
    bits: int
    index: int | None
    sigma: bytes
    label: int

    def __post_init__(self) -> None:
        """Check the fields (RuleError)."""
        integer(self.bits, 1, INDEX_BITS_MAX, "bits")
        size = 0 if self.index is None else self.bits * LABEL_BYTES
        if type(self.sigma) is not bytes or len(self.sigma) != size:
            raise RuleError(f"sigma needs {size} bytes")
        if self.index is not None:
            integer(self.index, 0, 2**self.bits - 1, "index")
            if not is_formed(self.index, self.sigma, self.bits):
                raise RuleError("sigma needs labels where the path to its index goes left")
        integer(self.label, 0, 0 if self.index is None else 1, "label")

    @property
    def x_type(self) -> str:
        """Byte strings of an index and its labels."""
        return f"bytes{point_bytes(self.bits)}"

    def _condition(self, words: Words) -> str:
        """Return from which index on the bits of a sequence are known."""
        if self.index is None:
            return NEVER
        return (
            f"{words.x_name} is in the one-way sequence that is known from index {self.index} on, "
            "and its bit there is 1"
        )

    def _sql(self, column: str, offset: int) -> str:
        """Refuse all but the rule that is always 0: no SQL computes forward (RuleError)."""
        if self.index is None:
            return SQL_NEVER
        raise RuleError(
            "one-way sequences are chains of SHA-256, which SQL does not compute; evaluate the "
            "rule in Python or JavaScript"
        )

    def _labels(self, points: Points) -> NDArray[np.bool_]:
        if self.index is None:
            return np.zeros(len(points), dtype=np.bool_)
        rows = (row.tobytes() for row in np.ascontiguousarray(points))
        return np.fromiter(map(self._label_of, rows), dtype=np.bool_, count=len(points))

    def _label_of(self, point: bytes) -> bool:
        index, sigma = index_and_string(point, self.bits)
        if self.index is None or index >> self.bits or index < self.index:
            return False
        if index == self.index:
            return bool(self.label) and sigma == self.sigma
        return (sigma, 1) == forward(index, self.index, self.sigma, self.bits)

    def _fields(self) -> SequenceFields:
        index = None if self.index is None else f"{self.index:0{2 * index_bytes(self.bits)}x}"
        return {
            "kind": "sequence",
            "bits": self.bits,
            "index": index,
            "sigma": self.sigma.hex(),
            "label": self.label,
        }

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        bits, index, sigma = fields["bits"], fields["index"], fields["sigma"]
        integer(bits, 1, INDEX_BITS_MAX, "bits")
        hexadecimal(sigma, "sigma")
        if len(sigma) % 2:
            raise RuleError("sigma needs two digits for each byte")
        if index is None:
            return cls(bits, None, bytes.fromhex(sigma), fields["label"])
        hexadecimal(index, "index")
        if len(index) != 2 * index_bytes(bits):
            raise RuleError(f"index needs {2 * index_bytes(bits)} small hexadecimal digits")
        return cls(bits, int(index, 16), bytes.fromhex(sigma), fields["label"])
