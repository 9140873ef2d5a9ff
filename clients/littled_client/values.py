"""From values as people have them to points: the same for published rules and for questions.

A value is a number in the stream's unit, an address, a UUID, or a row of numbers. The words of a
learner say which point it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from littled_client.arrays import as_given
from littled_client.conversions import BadRow, Column, Converter, Fields
from littled_client.encoder import points_of
from littled_client.errors import ExampleError
from littled_protocol.columns import Points, point_type
from littled_protocol.rules import Words


def value_points(x_type: str, words: Words, values: Any) -> Points:
    """Return the points of n values, an array or a sequence, in the shape and dtype of their type.

    values: integers, or whole numbers as floats or text; also IPv4 addresses for u32; integers,
    addresses, UUIDs, 16 bytes or an array (n, 2) of uint64 for u128; rows of integers, or an array
    (n, m), for u16xm; texts, binaries of m bytes or an array (n, m), for bytesm. Where the words
    have a reading, a table with its columns, as `littled_client.encoder` takes. Raises ExampleError
    with the number of the first value, from 1 on, that is none of the stream's.
    """
    if words.reading is not None:
        return points_of(values, words.reading)
    kind = point_type(x_type)
    found = _column(values)
    if isinstance(found, np.ndarray) and found.ndim == 2 and kind.columns > 1:
        if kind.name == "u128" or kind.is_string:
            if found.dtype != kind.dtype or found.shape[1] != kind.columns:
                shape = f"(n, {kind.columns}) of {kind.dtype}"
                raise ExampleError(f"values of type {kind.name} need an array {shape}")
            return found
        columns: list[Column] = list(found.T)
        names: str | tuple[str, ...] = tuple(f"feature {i}" for i in range(len(columns)))
    elif isinstance(found, np.ndarray) and found.ndim != 1:
        raise ExampleError(f"values of type {x_type} need one dimension, one value for each point")
    else:
        columns, names = [found], "x"
    if not len(found):
        return np.empty((0, kind.columns) if kind.columns > 1 else (0,), dtype=kind.dtype)
    try:
        fields = Fields(names, "y", offset=words.offset_of(x_type))
        return Converter(x_type, fields).points(columns)
    except BadRow as bad:
        reason = bad.reason.removeprefix("column 'x' ").partition(";")[0]
        raise ExampleError(f"value {bad.index + 1} {reason}") from None
    except ValueError as wrong:
        raise ExampleError(str(wrong)) from None


def _column(values: Any) -> Column:
    """Return values as an array or a list; ExampleError where some are masked."""
    values = as_given("values", values)
    if hasattr(values, "__array__"):
        array: Column = np.asarray(values)
        return array
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ExampleError("values need an array or a sequence, with one value for each point")
    return list(values)
