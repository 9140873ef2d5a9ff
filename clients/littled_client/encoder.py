"""From tables with named columns to the points and labels of a stream: the one encoder there is.

    x, y = Encoder(schema).examples(frame)  # pandas, polars, Arrow, a dict of columns, rows
    points = points_of(frame, reading)      # for a rule whose words have this reading

Files, frames, questions and rules all go through it, so that one value has one meaning.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from littled_client.cells import cell_text, rows_of
from littled_client.conversions import (
    BadRow,
    Batch,
    how_missing,
    is_missing,
    label_of,
    ready_labels,
)
from littled_client.conversions import Column as Cells
from littled_client.errors import ExampleError
from littled_client.users import UserDigests, user_text
from littled_protocol.columns import Labels, Points, Users, point_type
from littled_protocol.encodings import (
    Column,
    NumberColumn,
    Reading,
    Rows,
    TableSchema,
    TimeColumn,
    spellings,
)


class Encoder:
    """Encodes tables for a stream of this schema.

    x_type: the type of the stream's points. Raises ExampleError, with the number of the row from 1
    on and the column's name and never the value, for a cell that has no number.
    """

    def __init__(self, schema: TableSchema) -> None:
        """Encode for the columns and labels of this schema."""
        self.schema = schema
        self.x_type = schema.x_type
        self._digests = UserDigests()

    def examples(self, table: Any) -> Batch:
        """Return the points of the stream and the labels (n,) of a table with n rows.

        With a schema that names a column of users, also their digests (n, 2).

        table: a frame of pandas, polars or Arrow, anything with the Arrow PyCapsule interface, a
        structured array, a dict of columns, or rows that are dicts. It may have further columns.
        """
        schema = self.schema
        user = () if schema.user is None else (schema.user,)
        cells = columns_of(table, [*schema.names, schema.label, *user], schema.columns)
        with _rows_named():
            return self.convert(cells)

    def convert(self, cells: Sequence[Cells]) -> Batch:
        """Return the same of n rows, given as cells: columns in their order, labels, and users.

        Raises BadRow at the first cell of the first column that has no number.
        """
        count = len(self.schema.columns)
        encoded = rows(self.schema.columns, cells[:count])
        labels = labels_of(self.schema, cells[count])
        if encoded.shape[1] == 1:
            encoded = encoded[:, 0].astype(point_type(self.x_type).dtype)
        if len(cells) == count + 1:
            return encoded, labels
        return encoded, labels, self._users(cells[count + 1])

    def _users(self, cells: Cells) -> Users:
        for index, cell in enumerate(cells):
            if is_missing(cell) or user_text(cell) is None:
                raise BadRow(index, f"column {self.schema.user!r} holds no user (text or integer)")
        return self._digests.array(cells)


def points_of(table: Any, reading: Reading) -> Points:
    """Return the points (n,) or (n, columns) that a rule with this reading is about, of a table.

    table: as `Encoder.examples` takes; only the columns of the reading are looked at.
    """
    cells = columns_of(table, [column.name for column in reading.columns], reading.columns)
    with _rows_named():
        return reading.points(rows(reading.columns, cells))


def labels_of(schema: TableSchema, cells: Cells) -> Labels:
    """Return the labels (n,), uint8, of n cells; BadRow at the first that is none.

    Besides the words of the schema 1, 0, true and false are labels, unless one of them is the word
    for the other label; every other cell is an error.
    """
    if (schema.positive, schema.negative) == ("1", "0"):
        ready = ready_labels(cells)
        if ready is not None:
            return ready
    words: dict[Any, int] = dict(spellings((schema.negative, schema.positive)))
    if not isinstance(cells, np.ndarray):
        with suppress(KeyError, TypeError):
            return np.frombuffer(bytes(map(words.__getitem__, cells)), dtype=np.uint8)
    # Where 0 or false is the word for the label 1, the usual spelling would say the opposite.
    is_usual = label_of(schema.positive) != 0 and label_of(schema.negative) != 1
    labels = bytearray(len(cells))
    for index, cell in enumerate(cells):
        found = words.get(cell_text(cell))
        if found is None and is_usual:
            found = label_of(cell)
        if found is None:
            wanted = f"holds a label other than {schema.positive!r} and {schema.negative!r}"
            what = how_missing(cell) if is_missing(cell) else wanted
            raise BadRow(index, f"column {schema.label!r} {what}")
        labels[index] = found
    return np.frombuffer(labels, dtype=np.uint8)


@contextmanager
def _rows_named() -> Iterator[None]:
    """Say of a bad row which one of the table it is."""
    try:
        yield
    except BadRow as bad:
        raise ExampleError(f"row {bad.index + 1}: {bad.reason}") from None


def rows(columns: Sequence[Column], cells: Sequence[Cells]) -> Rows:
    """Return the numbers (n, words of all columns) of n rows, given column by column; BadRow."""
    parts = [rows_of(column, part) for column, part in zip(columns, cells, strict=True)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def columns_of(table: Any, names: Sequence[str], columns: Sequence[Column]) -> list[Cells]:
    """Return the cells of these columns of a table, each as a list or an array (n,).

    columns: those of them that are encoded; times with a zone are put into the zone of theirs.
    Raises ExampleError for a table that lacks one, or is none.
    """
    if isinstance(table, Generator):
        table = list(table)
    if isinstance(table, Mapping):
        found = {name: _listed(table[name], name) for name in names if name in table}
    elif isinstance(table, np.ndarray) and table.dtype.names:
        found = {name: _listed(table[name], name) for name in names if name in table.dtype.names}
    elif isinstance(table, Sequence) and not isinstance(table, str | bytes):
        found = _of_rows(table, names)
    else:
        found = _of_frame(table, names, {column.name: column for column in columns})
    for name in names:
        if name not in found:
            raise ExampleError(f"the table has no column {name!r}")
    cells = [found[name] for name in names]
    if len({len(part) for part in cells}) > 1:
        raise ExampleError("the columns of the table need the same length")
    return cells


def _listed(cells: Any, name: str) -> Cells:
    """Return the cells of one column; ExampleError where they are none, or have no order."""
    if isinstance(cells, np.ndarray):
        if cells.ndim != 1:
            raise ExampleError(
                f"column {name!r} has {cells.ndim} dimensions, and a column of a table has one"
            )
        return cast("Cells", cells.tolist() if isinstance(cells, np.ma.MaskedArray) else cells)
    if isinstance(cells, list):
        return cells
    if hasattr(cells, "to_pylist"):  # an array of Arrow, whose items are no Python objects
        return cast("Cells", cells.to_pylist())
    if isinstance(cells, str | bytes | Set | Mapping) or not isinstance(cells, Iterable):
        raise ExampleError(f"column {name!r} of a table needs a list or an array of cells")
    return list(cells)


def _of_rows(table: Sequence[Any], names: Sequence[str]) -> dict[str, Cells]:
    if not all(isinstance(row, Mapping) for row in table):
        raise ExampleError("rows of a table need to be dicts with the names of columns")
    found: dict[str, Cells] = {}
    for name in names:
        has = [name in row for row in table]
        if all(has):
            found[name] = [row[name] for row in table]
        elif any(has):
            raise ExampleError(f"row {has.index(False) + 1} has no column {name!r}")
    return found


def _of_frame(table: Any, names: Sequence[str], columns: Mapping[str, Column]) -> dict[str, Cells]:
    """Return columns of a frame of any library that narwhals knows, or of Arrow's interface."""
    import narwhals as nw  # noqa: PLC0415 - not needed by who sends lists

    try:
        frame = nw.from_native(table, eager_only=True)
    except nw.exceptions.DuplicateError:
        raise ExampleError("the columns of a frame need different names") from None
    except TypeError:
        frame = _of_capsule(table, nw)
    present = [name for name in names if name in frame.columns]
    return {name: _of_series(frame[name], columns.get(name), nw) for name in present}


def _of_capsule(table: Any, nw: Any) -> Any:
    """Return the frame that Arrow's interface gives."""
    if hasattr(table, "__arrow_c_stream__"):
        with suppress(ValueError, nw.exceptions.NarwhalsError):  # a stream of something else
            return nw.from_arrow(table, backend="pyarrow")
    if hasattr(table, "collect"):
        raise ExampleError("the table is a plan that has no rows yet; give what .collect() returns")
    raise ExampleError(
        "a table is a frame of pandas, polars or Arrow, a dict of columns, or rows of dicts"
    )


def _of_series(series: Any, column: Column | None, nw: Any) -> Cells:
    """Return a series as an array of numbers or times, or as a list.

    column: what it is read as, None for labels and users.
    """
    kind = series.dtype
    if isinstance(kind, nw.Datetime):
        if kind.time_zone is not None:
            zone = column.zone if isinstance(column, TimeColumn) else "UTC"
            series = series.dt.convert_time_zone(zone).dt.replace_time_zone(None)
        times: NDArray[Any] = series.to_numpy()
        return times.astype("datetime64[us]")
    if kind.is_numeric() and not kind.is_decimal() and kind not in (nw.Int128, nw.UInt128):
        if series.null_count():
            if kind.is_integer() and not isinstance(column, NumberColumn):
                return cast("Cells", series.to_list())  # floats have no place for long ids
            series = series.cast(nw.Float32 if kind == nw.Float32 else nw.Float64)
        numbers: NDArray[Any] = series.to_numpy()
        return numbers
    values: list[Any] = series.to_list()
    return values
