"""Labelled examples from files: CSV, JSON lines, Parquet and recordings, in bounded batches.

A row that holds no example stops the reading with one sentence that names the file and the line,
never the value.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from littled_client.conversions import BadRow, Batch, Column, Converter, Fields, incomplete_rows
from littled_client.encoder import Encoder
from littled_client.errors import SourceError
from littled_client.recordings import SUFFIX as RECORDING_SUFFIX
from littled_client.recordings import RecordingReader
from littled_protocol.encodings import TableSchema

__all__ = ["FORMATS", "Batch", "Fields", "Source", "skip_examples"]

STANDARD_INPUT = "-"
FORMATS = ("csv", "jsonl", "parquet", "recording")
BATCH_EXAMPLES = 10_000

_SUFFIXES = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    RECORDING_SUFFIX: "recording",
}


@dataclass(frozen=True, slots=True)
class _Rows:
    """Some raw rows: one column per field, in the order of `Fields.names`; `lines` says where."""

    columns: tuple[Column, ...]
    lines: Sequence[int]


class Source:
    """The examples of one file, as batches of at most `batch_examples`, in file order.

    A batch is `(x, y)`, or `(x, y, users)` where `fields` names a column of users and for a
    recording of a stream that protects users; users are digests, uint64 (n, 2).

    The batches of a recording are its frames, whatever `batch_examples` says.

    x has the shape and dtype of `x_type` (see `littled_protocol.columns`), y is uint8 (n,) of 0 and
    1. Iterating again reads the file again (standard input, written "-", only once). `x_type` and
    `fields` are needed for every format except a recording, which knows its own. With the
    schema of a stream in place of fields its columns are read, labels and all, by an `Encoder`.

    Raises SourceError, when iterated, at the first row that holds no example; ValueError at once
    for fields or a format that make no sense.
    """

    def __init__(
        self,
        path: str | Path,
        x_type: str | None = None,
        fields: Fields | TableSchema | None = None,
        *,
        file_format: str | None = None,
        batch_examples: int = BATCH_EXAMPLES,
    ) -> None:
        """Prepare to read `path`; `file_format` (see FORMATS) follows from the suffix if None."""
        self.path = str(path)
        self.format = file_format or _format_of(self.path)
        if self.format not in FORMATS:
            raise ValueError(f"{self.format!r} is no format; choose one of {', '.join(FORMATS)}")
        if batch_examples < 1:
            raise ValueError("batch_examples must be at least 1")
        self._batch_examples = batch_examples
        self._x_type = x_type
        self._fields = fields
        self._progress: float | None = None
        if self.format != "recording":
            if x_type is None or fields is None:
                raise ValueError(f"reading {self.format} needs x_type and fields")
            self._convert_cells = _conversion(x_type, fields)

    @property
    def name(self) -> str:
        """The file's name as messages show it."""
        return "standard input" if self.path == STANDARD_INPUT else self.path

    @property
    def progress(self) -> float | None:
        """The part of the file read so far, 0 to 1; None when its size is not known."""
        return self._progress

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches."""
        self._progress = None
        if self.format == "recording":
            yield from self._recorded()
            return
        readers = {"csv": self._csv, "jsonl": self._json_lines, "parquet": self._parquet}
        for rows in readers[self.format]():
            batch = self._convert(rows)
            if len(batch[1]):
                yield batch

    def cells(self) -> Iterator[tuple[Column, ...]]:
        """Yield the cells of each batch as they stand in the file, by columns in the fields' order.

        For who looks at a file before it is fed. Raises SourceError as iterating does, but for no
        cell; ValueError for a recording, which has no cells.
        """
        readers = {"csv": self._csv, "jsonl": self._json_lines, "parquet": self._parquet}
        if self.format not in readers:
            raise ValueError("a recording has no columns to look at")
        for rows in readers[self.format]():
            yield rows.columns

    def _convert(self, rows: _Rows) -> Batch:
        columns, lines = rows.columns, rows.lines
        if isinstance(self._fields, Fields) and self._fields.skip_incomplete:
            missing = incomplete_rows(columns)
            if missing.any():
                kept = (~missing).nonzero()[0].tolist()
                columns = tuple(_picked(column, kept) for column in columns)
                lines = [lines[i] for i in kept]
        try:
            return self._convert_cells(columns)
        except BadRow as bad:
            place, reason = lines[bad.index], bad.reason
        unit = "row" if self.format == "parquet" else "line"
        raise SourceError(f"{unit} {place} of {self.name}: {reason}")

    # --- text ---------------------------------------------------------------------------------

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        if self.path == STANDARD_INPUT:
            yield sys.stdin.buffer
            return
        try:
            file = Path(self.path).open("rb")  # noqa: SIM115 - errors while reading are others
        except OSError as error:
            raise SourceError(f"cannot read {self.name}: {error.strerror}") from None
        with file:
            yield file

    def _text_lines(self, file: BinaryIO) -> Iterator[str]:
        """Yield the lines of a text file in UTF-8, keeping their ends."""
        size = Path(self.path).stat().st_size if self.path != STANDARD_INPUT else 0
        number = 0
        for number, line in enumerate(file, 1):
            if size and number % self._batch_examples == 0:
                self._progress = min(file.tell() / size, 1.0)
            try:
                text = str(line, "utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                break
            yield text
        else:
            self._progress = 1.0 if size else None
            return
        raise SourceError(f"line {number} of {self.name} is not UTF-8 text")

    def _csv(self) -> Iterator[_Rows]:
        with self._opened() as file:
            reader = csv.reader(self._text_lines(file), strict=True)
            rows = self._csv_rows(reader)
            header = next(rows, (0, []))[1]
            places = [self._place(header, name) for name in self._names]
            while chunk := list(islice(rows, self._batch_examples)):
                lines = [line for line, _ in chunk]
                if min(len(row) for _, row in chunk) <= max(places):
                    short = next(line for line, row in chunk if len(row) <= max(places))
                    raise SourceError(f"line {short} of {self.name} has too few columns")
                if max(len(row) for _, row in chunk) > len(header):
                    long = next(line for line, row in chunk if len(row) > len(header))
                    raise SourceError(f"line {long} of {self.name} has more columns than the first")
                columns = tuple([row[place] for _, row in chunk] for place in places)
                yield _Rows(columns, lines)

    def _csv_rows(self, reader: Any) -> Iterator[tuple[int, list[str]]]:
        """Yield each row that is not blank with the number of the line on which it ends."""
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error:
                break
            if row:
                yield reader.line_num, row
        raise SourceError(f"line {reader.line_num} of {self.name} is not well-formed CSV")

    def _place(self, header: list[str], name: str) -> int:
        # The header's own words stay out of the message: a file without a header would leak a row.
        count = header.count(name)
        if count != 1:
            what = "has no column" if count == 0 else f"has {count} columns"
            raise SourceError(f"the first line of {self.name} {what} named {name!r}")
        return header.index(name)

    def _json_lines(self) -> Iterator[_Rows]:
        names = self._names
        with self._opened() as file:
            numbered = (
                (number, self._json_values(number, line, names))
                for number, line in enumerate(self._text_lines(file), 1)
                if line.strip()
            )
            while chunk := list(islice(numbered, self._batch_examples)):
                lines = [number for number, _ in chunk]
                yield _Rows(tuple(list(c) for c in zip(*(v for _, v in chunk), strict=True)), lines)

    def _json_values(self, number: int, line: str, names: tuple[str, ...]) -> list[Any]:
        row = _json_object(line)
        if row is None:
            raise SourceError(f"line {number} of {self.name} is not a JSON object")
        for name in names:
            if name not in row:
                raise SourceError(f"line {number} of {self.name} has no key {name!r}")
        return [row[name] for name in names]

    # --- binary -------------------------------------------------------------------------------

    def _parquet(self) -> Iterator[_Rows]:
        if self.path == STANDARD_INPUT:
            raise SourceError("Parquet cannot be read from standard input; name a file")
        try:
            import pyarrow  # noqa: PLC0415 - an optional dependency
            from pyarrow import parquet  # noqa: PLC0415
        except ImportError:
            raise SourceError(
                "reading Parquet needs pyarrow; install it with: pip install 'littled[parquet]'"
            ) from None
        try:
            file = parquet.ParquetFile(self.path)
        except (OSError, pyarrow.ArrowInvalid):
            raise SourceError(f"cannot read {self.name} as a Parquet file") from None
        names = self._names
        with file:
            for name in names:
                if name not in file.schema_arrow.names:
                    raise SourceError(f"{self.name} has no column named {name!r}")
            total, done = file.metadata.num_rows, 0
            for batch in file.iter_batches(
                self._batch_examples, columns=list(dict.fromkeys(names))
            ):
                columns = tuple(_arrow_column(batch.column(name)) for name in names)
                yield _Rows(columns, range(done + 1, done + 1 + batch.num_rows))
                done += batch.num_rows
                self._progress = done / total

    def _recorded(self) -> Iterator[Batch]:
        with RecordingReader(self.path) as recording:
            if self._x_type is not None and recording.x_type != self._x_type:
                raise SourceError(
                    f"{self.name} was recorded with points of type {recording.x_type}, "
                    f"not {self._x_type}"
                )
            for batch in recording.batches():
                self._progress = recording.progress
                yield batch

    @property
    def _names(self) -> tuple[str, ...]:
        if isinstance(self._fields, TableSchema):
            user = () if self._fields.user is None else (self._fields.user,)
            return (*self._fields.names, self._fields.label, *user)
        return self._fields.names if self._fields is not None else ()


def _conversion(x_type: str, fields: Fields | TableSchema) -> Callable[[Sequence[Column]], Batch]:
    """What makes examples of rows, given as columns in the order of the fields."""
    if isinstance(fields, TableSchema):
        if fields.x_type != x_type:
            raise ValueError(f"the columns make points of type {fields.x_type}, not {x_type}")
        return Encoder(fields).convert
    converter = Converter(x_type, fields)
    width = len(converter.x_names)
    return lambda columns: converter.convert(columns[:width], *columns[width:])


def skip_examples(batches: Iterator[Batch], count: int) -> Iterator[Batch]:
    """Yield `batches` without their first `count` examples.

    Raises SourceError when there are fewer than `count`: what was fed before came from elsewhere.
    """
    left = count
    for batch in batches:
        examples = len(batch[1])
        if left >= examples:
            left -= examples
            continue
        yield cast("Batch", tuple(column[left:] for column in batch))
        left = 0
    if left:
        raise SourceError(
            f"the source holds fewer than the {count} examples already fed under this producer's "
            "name; feed another source under another name"
        )


def _format_of(path: str) -> str:
    if path == STANDARD_INPUT:
        return "csv"
    suffix = Path(path).suffix.lower()
    try:
        return _SUFFIXES[suffix]
    except KeyError:
        raise ValueError(
            f"the suffix of {path!r} names no format; say which of {', '.join(FORMATS)} it is"
        ) from None


def _picked(column: Column, kept: list[int]) -> Column:
    return [column[i] for i in kept] if isinstance(column, list) else column[kept]


def _json_object(line: str) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _arrow_column(column: Any) -> Column:
    """Return an Arrow column as a numpy array when it is numbers throughout, else as a list."""
    from pyarrow import types  # noqa: PLC0415 - only reached when it is installed

    numeric = types.is_integer(column.type) or types.is_floating(column.type)
    if numeric and column.null_count == 0:
        array: Column = column.to_numpy(zero_copy_only=False)
        return array
    values: Column = column.to_pylist()
    return values
