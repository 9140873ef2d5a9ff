"""Columns as programs give them, before anybody looks at their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from littled_client.errors import ExampleError

__all__ = ["as_given"]


def as_given(name: str, values: Any) -> Any:
    """Return a column of a program, with a memory of several dimensions as an array.

    Raises ExampleError where some values are masked: what lies under a mask is nobody's value.
    """
    if isinstance(values, memoryview) and values.ndim != 1:  # Python does not go through its rows
        try:
            return np.asarray(values)
        except ValueError:
            raise ExampleError(f"{name} is a memory of a type that numpy does not know") from None
    if _is_masked(values):
        raise ExampleError(
            f"some of {name} is masked; leave these rows out, or fill them with .filled(VALUE)"
        )
    return values


def _is_masked(values: Any) -> bool:
    """Whether something is masked in an array, or in a list of arrays."""
    if isinstance(values, np.ma.MaskedArray):
        return bool(np.ma.is_masked(values))
    is_list = isinstance(values, list | tuple) and len(values) > 0
    return is_list and isinstance(values[0], np.ma.MaskedArray) and any(map(_is_masked, values))
