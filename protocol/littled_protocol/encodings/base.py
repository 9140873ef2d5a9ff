"""What every kind of column is: numbers of buckets for values, and the words for them."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

SIZE_MAX: Final = 2**16
"""Buckets of one feature: a number of the row is a uint16."""
NAME_CHARACTERS_MAX: Final = 80

Dialect = Literal["postgresql", "duckdb", "sqlite"]
Policy = Literal["refuse", "bucket"]
"""What becomes of a value that is missing: an error, or a bucket of its own."""


class EncodingError(ValueError):
    """A column, or a map of a column, that cannot be; one sentence after the key's name."""

    def __init__(self, key: str, sentence: str) -> None:
        """Keep which key is wrong, "" for the column as a whole, and what is right."""
        super().__init__(f"{key} {sentence}".strip())
        self.key = key
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Feature(ABC):
    """One number of a row: a bucket 0..size-1, and what a set of buckets means to people.

    name: how sentences speak of it, "income" or "month of opened".
    """

    name: str

    @property
    @abstractmethod
    def size(self) -> int:
        """How many buckets there are, at least 2."""

    @property
    @abstractmethod
    def flags(self) -> tuple[NDArray[np.bool_], ...]:
        """The yes-or-no questions that make bits of the feature: for each the buckets (size,)."""

    @abstractmethod
    def condition(self, buckets: NDArray[np.bool_]) -> str:
        """Return a phrase that holds for the values of these buckets alone.

        buckets: bool (size,), neither none nor all of them.
        """

    @abstractmethod
    def to_sql(self, buckets: NDArray[np.bool_], dialect: Dialect) -> str:
        """Return an expression of SQL that is true for the values of these buckets alone."""


@dataclass(frozen=True, slots=True)
class Column(ABC):
    """One column of a table, and how its values become numbers. Immutable, public.

    name: of the column in files, frames and SQL.
    """

    kind: ClassVar[str]

    name: str

    @property
    @abstractmethod
    def features(self) -> tuple[Feature, ...]:
        """The features that a value is read into; none for a value that is one wide number."""

    @property
    @abstractmethod
    def words(self) -> int:
        """How many numbers of 16 bits a value takes in a row."""

    @abstractmethod
    def to_dict(self) -> Mapping[str, Any]:
        """Return the map from which `column_from_dict` makes the column; defaults are left out."""

    @classmethod
    @abstractmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the column of a map without its kind; EncodingError for any other."""


# --- Checks of what a file says -------------------------------------------------------------------


def text(value: object, key: str, characters: int = NAME_CHARACTERS_MAX) -> str:
    """Return a text of one line; EncodingError for anything else."""
    if not isinstance(value, str) or not value.isprintable():
        raise EncodingError(key, "must be a text of printable characters")
    if len(value) > characters:
        raise EncodingError(key, f"must have at most {characters} characters")
    return value


def some_text(value: object, key: str) -> str:
    """Return a text of one line that is not empty; EncodingError for anything else."""
    if text(value, key) == "":
        raise EncodingError(key, "must not be empty")
    return str(value)


def one_of(value: object, key: str, words: tuple[str, ...]) -> str:
    """Return one of these words; EncodingError for anything else."""
    if value not in words:
        *first, last = (f'"{word}"' for word in words)
        raise EncodingError(key, f"must be {', '.join(first)}{' or ' * bool(first)}{last}")
    return str(value)


def whole(value: object, key: str, least: int, most: int) -> int:
    """Return a whole number in this range; EncodingError for anything else."""
    if type(value) is not int or not least <= value <= most:
        raise EncodingError(key, f"must be a whole number from {least} to {most}")
    return value


def known_keys(values: object, keys: tuple[str, ...]) -> None:
    """Raise EncodingError for what is no map, or has a key that this kind does not have."""
    if not isinstance(values, dict):
        raise EncodingError("", "must be a map")
    for key in values:
        if key not in keys:
            close = difflib.get_close_matches(str(key), keys, n=1)
            hint = f"did you mean {close[0]}?" if close else f"the keys here are {', '.join(keys)}"
            raise EncodingError(str(key), f"is not a known key; {hint}")


# --- Sets of buckets ------------------------------------------------------------------------------


def runs(buckets: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield the runs of neighbouring buckets: the first one, and the one after the last."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], buckets.astype(np.int8), [0]))))
    pairs = edges.reshape(-1, 2).tolist()
    yield from ((int(low), int(high)) for low, high in pairs)


def at_least(size: int, bucket: int) -> NDArray[np.bool_]:
    """Return the buckets (size,) from one on."""
    chosen: NDArray[np.bool_] = np.arange(size) >= bucket
    return chosen


def only(size: int, bucket: int) -> NDArray[np.bool_]:
    """Return one bucket (size,)."""
    chosen: NDArray[np.bool_] = np.arange(size) == bucket
    return chosen


def sql_text(value: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


def sql_name(column: str) -> str:
    """Return a column's name quoted for SQL."""
    return '"' + column.replace('"', '""') + '"'


def sql_any(conditions: list[str]) -> str:
    """Return that one of these conditions holds."""
    return conditions[0] if len(conditions) == 1 else f"({' OR '.join(conditions)})"
