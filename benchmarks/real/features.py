"""Features for linear methods, from the buckets that the encoder gives."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.real.streams import RealStream
from littled_protocol.encodings import CategoryColumn, Feature, NumberColumn, TimeColumn

Matrix = NDArray[np.float32]
FORMS = ("numbers", "flags", "bins")
BINS = 16


def is_number(stream: RealStream) -> list[bool]:
    """Which features are numbers; the others are categories and parts of times."""
    found: list[bool] = []
    for column in stream.schema.columns:
        found += [isinstance(column, NumberColumn)] * len(column.features)
    return found


def has_missing(stream: RealStream) -> list[bool]:
    """Which features are numbers whose bucket 0 stands for what is missing."""
    found: list[bool] = []
    for column in stream.schema.columns:
        own = isinstance(column, NumberColumn) and column.missing == "bucket"
        found += [own] * len(column.features)
    return found


def names_of(stream: RealStream) -> list[str]:
    """One for each feature."""
    found: list[str] = []
    for column in stream.schema.columns:
        if isinstance(column, TimeColumn):
            found += [f"{column.name} {part}" for part in column.parts]
        elif isinstance(column, NumberColumn | CategoryColumn):
            found.append(column.name)
    return found


@lru_cache(maxsize=1)
def matrix_of(stream: RealStream, form: str) -> Matrix:
    """Features (n, d) of a stream, each row of Euclidean length at most 1, with a constant.

    numbers: every feature is one number, from -1 to 1. flags: numbers are, and 0 with a flag where
    they are missing; of a category or a part of a time each bucket is a flag. bins: every bucket is
    a flag, of numbers up to 16 ranges of equal width. A feature adds at most 1 to the squared
    length and the constant is 1, so all is divided by the root of features + 1, which is public.
    """
    parts: list[Matrix] = []
    kinds = zip(stream.features, is_number(stream), has_missing(stream), strict=True)
    for place, (feature, number, missing) in enumerate(kinds):
        buckets = stream.rows[:, place].astype(np.int64)
        if form == "numbers":
            parts.append(_scaled(buckets, feature.size)[:, None])
        elif number and form == "flags":
            parts += _with_missing(buckets, feature, missing)
        elif number:
            parts.append(_flags(buckets * min(BINS, feature.size) // feature.size))
        else:
            parts.append(_flags(buckets, feature.size))
    parts.append(np.ones((len(stream), 1), np.float32))
    found: Matrix = np.hstack(parts) / np.float32(np.sqrt(len(stream.features) + 1))
    return found


def _scaled(buckets: NDArray[np.int64], size: int) -> Matrix:
    return (2 * buckets / max(1, size - 1) - 1).astype(np.float32)


def _with_missing(buckets: NDArray[np.int64], feature: Feature, missing: bool) -> list[Matrix]:
    if not missing:
        return [_scaled(buckets, feature.size)[:, None]]
    known = buckets > 0
    number = np.where(known, _scaled(buckets - 1, feature.size - 1), 0).astype(np.float32)
    return [number[:, None], (~known).astype(np.float32)[:, None]]


def _flags(buckets: NDArray[np.int64], size: int | None = None) -> Matrix:
    size = int(buckets.max()) + 1 if size is None else size
    found: Matrix = (buckets[:, None] == np.arange(size)).astype(np.float32)
    return found
