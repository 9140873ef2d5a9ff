"""What is seen of one column of a file, in bounded memory however long the file is."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled_client.cells import cell_text, read_numbers, rows_of
from littled_client.conversions import BadRow, is_missing
from littled_client.conversions import Column as Cells
from littled_protocol.encodings import PARTS, AddressColumn, TimeColumn
from littled_protocol.encodings.identities import IPV4_BITS, IPV6_BITS

DISTINCT_MAX = 4096
# Numbers of which quantiles are taken; of a longer column every second, fourth and so on is kept.
SAMPLE_MAX = 1 << 17


@dataclass(slots=True)
class Profile:
    """A column so far.

    texts: how often each text stands there, without what is missing; None for more than
    DISTINCT_MAX. nested: whether a cell holds a list or an object. is_number, is_time, is_id and
    is_address: whether every cell that is there can be read so, `address_bits` in how many bits.
    whole: whether all numbers are whole. parts: which parts of times differ from row to row.
    """

    name: str
    rows: int = 0
    missing: int = 0
    texts: Counter[str] | None = field(default_factory=Counter)
    nested: bool = False
    is_number: bool = True
    is_time: bool = True
    is_id: bool = True
    is_address: bool = True
    address_bits: int = IPV4_BITS
    whole: bool = True
    _sample: list[NDArray[np.float64]] = field(default_factory=list)
    _stride: int = 1
    _parts: dict[str, set[int]] = field(default_factory=dict)

    def add(self, cells: Cells) -> None:
        """Look at more cells of the column."""
        values = cells.tolist() if isinstance(cells, np.ndarray) else cells
        self.rows += len(values)
        self.nested = self.nested or any(
            issubclass(kind, list | dict) for kind in set(map(type, values))
        )
        if self.nested:
            return
        counted = [(value, n) for value, n in _counted(values) if not is_missing(value)]
        self.missing += len(values) - sum(n for _, n in counted)
        self._count(counted)
        there = [value for value, _ in counted]
        self.is_number = self.is_number and self._numbers(cells)
        self.is_time = self.is_time and not self.is_number and self._times(there)
        self.is_address = self.is_address and self._addresses(there)
        self.is_id = self.is_id and all(map(_can_be_id, there))

    @property
    def numbers(self) -> NDArray[np.float64]:
        """Numbers of the column (n,), rising; where it is long, each of so many."""
        return np.sort(np.concatenate(self._sample)) if self._sample else np.empty(0)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of times of which there are two or more, in their usual order."""
        return tuple(part for part in PARTS if len(self._parts.get(part, ())) > 1)

    @property
    def present(self) -> int:
        """How many cells are not missing."""
        return self.rows - self.missing

    def _count(self, counted: list[tuple[Any, int]]) -> None:
        if self.texts is None:
            return
        for value, count in counted:
            self.texts[cell_text(value)] += count
        if len(self.texts) > DISTINCT_MAX:
            self.texts = None

    def _numbers(self, cells: Cells) -> bool:
        """Keep the numbers; return whether every cell is one, or missing."""
        values, wrong = read_numbers(cells)
        if wrong.any():
            return False
        values = values[~np.isnan(values)]
        self.whole = self.whole and bool((values == np.floor(values)).all())
        self._sample.append(values[:: self._stride])
        if sum(map(len, self._sample)) > SAMPLE_MAX:
            self._sample = [np.concatenate(self._sample)[::2]]
            self._stride *= 2
        return True

    def _times(self, values: list[Any]) -> bool:
        """Keep which parts there are; return whether every value is a time."""
        try:
            rows = rows_of(TimeColumn(self.name, tuple(PARTS), missing="bucket"), values)
        except BadRow:
            return False
        for part, numbers in zip(PARTS, rows.T, strict=True):
            self._parts.setdefault(part, set()).update(np.unique(numbers).tolist())
        return True

    def _addresses(self, values: list[Any]) -> bool:
        """Return whether every value is an address as people write one; find how many bits."""
        if not all(isinstance(value, str) and ("." in value or ":" in value) for value in values):
            return False
        for bits in (self.address_bits, IPV6_BITS):
            try:
                rows_of(AddressColumn(self.name, bits), values)
            except BadRow:
                continue
            self.address_bits = bits
            return True
        return False


def _counted(values: Sequence[Any]) -> list[tuple[Any, int]]:
    """Every value with how often it stands there; 1, 1.0 and true, which are equal, are three."""
    if set(map(type, values)) <= {str, type(None)}:
        return list(Counter(values).items())
    typed = Counter(zip(map(type, values), values, strict=True))
    return [(value, count) for (_, value), count in typed.items()]


def _can_be_id(value: Any) -> bool:
    """Whether a value is a text or a whole number."""
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, str | int) and not isinstance(value, bool)
