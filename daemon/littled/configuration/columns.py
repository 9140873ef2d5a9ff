"""The columns of a stream's tables in a configuration, and what learners read of them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer
from pydantic_core import PydanticCustomError

from littled.classes.base import ClassError
from littled.classes.names import forms_of
from littled_protocol.encodings import (
    Column,
    EncodingError,
    Form,
    Reading,
    chosen_columns,
    column_from_dict,
)


def _read_columns(tables: Any) -> Any:
    """The columns of their tables, each of which is named by its key."""
    if not isinstance(tables, Mapping):
        return tables
    found = []
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            raise _wrong(name, "", "must be a table")
        if "name" in table:
            raise _wrong(
                name, "name", "is not a known key: a column's name is the key of its table"
            )
        try:
            found.append(column_from_dict({**table, "name": name}))
        except EncodingError as error:
            raise _wrong(name, error.key, error.sentence) from None
    return tuple(found)


def _wrong(name: object, key: str, sentence: str) -> PydanticCustomError:
    place = f".{name}" + (f".{key}" if key else "")
    return PydanticCustomError(
        "column", "{place} {sentence}", {"place": place, "sentence": sentence}
    )


def _tables(columns: tuple[Column, ...]) -> dict[str, Any]:
    """The tables from which these columns were read."""
    kept = ((column.name, column.to_dict()) for column in columns)
    return {name: {key: v for key, v in table.items() if key != "name"} for name, table in kept}


Columns = Annotated[
    tuple[Any, ...], BeforeValidator(_read_columns), PlainSerializer(_tables, return_type=dict)
]


def reading_of(class_name: str, columns: Sequence[Column], names: Sequence[str] | None) -> Reading:
    """What a learner of this class reads of a stream's columns: those named, or all that fit.

    Raises ClassError, a sentence, where nothing fits or it is not clear what is meant.
    """
    forms, kind = forms_of(class_name), class_name.partition(":")[0]
    if not forms:
        raise ClassError(f"{kind} reads no columns of tables; leave the columns out of the stream")
    try:
        if names is not None:
            chosen = chosen_columns(columns, names)
            return _first_reading(chosen, forms)
        return _all_that_fit(kind, columns, forms)
    except EncodingError as error:
        raise ClassError(f"the columns of a learner of {kind} {error.sentence}") from None


def columns_without_class(
    columns: Sequence[Column], names: Sequence[str] | None
) -> tuple[Column, ...]:
    """What a learner that names no class reads of a stream's columns: those named, or all features.

    Where there are only ids and addresses it reads those. Raises ClassError for no column.
    """
    if names is None:
        return tuple(column for column in columns if column.features) or tuple(columns)
    try:
        return chosen_columns(columns, names)
    except EncodingError as error:
        raise ClassError(f"the columns of a learner {error.sentence}") from None


def _first_reading(columns: tuple[Column, ...], forms: tuple[Form, ...]) -> Reading:
    """The columns in the first form that they have."""
    *others, last = forms
    for form in others:
        try:
            return Reading(columns, form)
        except EncodingError:
            continue
    return Reading(columns, last)


def _all_that_fit(kind: str, columns: Sequence[Column], forms: tuple[Form, ...]) -> Reading:
    wide = tuple(column for column in columns if not column.features)
    bucketed = tuple(column for column in columns if column.features)
    for form in forms:
        fitting = wide if form == "number" else bucketed
        alone = sum(len(column.features) for column in fitting) == 1
        if not fitting or (form == "row" and alone and "value" in forms):
            continue
        if form in ("number", "value") and len(fitting) > 1:
            names = ", ".join(column.name for column in fitting)
            raise ClassError(f"{kind} reads one column; name it with columns = [...]: {names}")
        return Reading(fitting, form)
    wanted = "ids or addresses" if "number" in forms else "numbers, categories or times"
    raise ClassError(f"{kind} needs columns of {wanted}")
