"""Labelled examples from files: CSV, JSON lines, Parquet and recordings, in bounded batches.

A row that holds no example stops the reading with one sentence that names the file and the line,
never the value. Rows of a pipe are handed out shortly after they came, however few they are.
"""

from __future__ import annotations

import csv
import json
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar, cast

from littled_client.blocks import STANDARD_INPUT, Blocks, Pause, is_pipe, open_blocks
from littled_client.conversions import (
    BadRow,
    Batch,
    Column,
    Converter,
    Fields,
    incomplete_rows,
    is_number_text,
)
from littled_client.encoder import Encoder
from littled_client.errors import SourceError
from littled_client.following import FollowedBlocks
from littled_client.lines import DIGEST_BYTES, Lines
from littled_client.recordings import SUFFIX as RECORDING_SUFFIX
from littled_client.recordings import RecordingReader
from littled_protocol.encodings import TableSchema, TimeColumn

__all__ = ["FORMATS", "Batch", "Fields", "FileColumns", "Mark", "Source", "skip_examples"]

FORMATS = ("csv", "tsv", "jsonl", "parquet", "recording")
BATCH_EXAMPLES = 10_000
# How long the first row of a batch waits for others where they come one by one.
LIVE_SECONDS = 0.2
# Rows that are taken apart together.
PART_ROWS = 256

_COMPRESSED = (".gz", ".zst")
_DELIMITERS = ";\t|,"
_Item = TypeVar("_Item")
_Told = Callable[[SourceError], None]
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    RECORDING_SUFFIX: "recording",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a source: what stands before it, as a number of examples and as bytes.

    digest: of those bytes, after decompression, as hexadecimal digits. Parquet files and recordings
    are not read from one end to the other: `bytes` and `digest` are those of the whole file, as it
    was when its first mark was asked for.
    """

    examples: int
    bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class _Rows:
    """Some raw rows: one column per field, in the order of `Fields.names`; `lines` says where."""

    columns: tuple[Column, ...]
    lines: Sequence[int]

    def picked(self, kept: Sequence[int]) -> _Rows:
        """Return the rows with these indices."""
        columns = tuple(_picked(column, kept) for column in self.columns)
        return _Rows(columns, [self.lines[i] for i in kept])


class _Growing:
    """Columns of raw rows, to which some rows are added at a time."""

    def __init__(self, width: int) -> None:
        self._columns: list[list[Any]] = [[] for _ in range(width)]
        self._lines: list[int] = []

    def add(self, lines: list[int], columns: Sequence[Iterable[Any]]) -> None:
        """Take in the rows of these lines, given column by column."""
        self._lines += lines
        for column, more in zip(self._columns, columns, strict=True):
            column.extend(more)

    def taken(self) -> _Rows:
        """Return the rows, and begin anew."""
        rows = _Rows(tuple(self._columns), self._lines)
        self._columns, self._lines = [[] for _ in self._columns], []
        return rows


@dataclass(frozen=True, slots=True)
class FileColumns:
    """The columns of a file: `names` that every row has once, and others that not every row has."""

    names: tuple[str, ...]
    others: tuple[str, ...]


class Source:
    """The examples of one file, as batches of at most `batch_examples`, in file order.

    A batch is `(x, y)`, or `(x, y, users)` where `fields` names a column of users and for a
    recording of a stream that protects users; users are digests, uint64 (n, 2).

    The batches of a recording are its frames, whatever `batch_examples` says.

    x has the shape and dtype of `x_type` (see `littled_protocol.columns`), y is uint8 (n,) of 0 and
    1. Iterating again reads the file again (standard input, written "-", and pipes only once).
    `x_type` and `fields` are needed for every format except a recording, which knows its own. With
    the schema of a stream in place of fields its columns are read, labels and all, by an `Encoder`.
    With names of columns alone there are no examples, only `cells`.

    CSV, TSV and JSON lines may be compressed with gzip or zstd, which their first bytes say. CSV
    has a first line with the names of its columns; with `header=False` it has none, and columns are
    named by their numbers from 1 on. `delimiter`: what stands between cells, else a comma or, in
    TSV, a tab. `greatest`: the greatest number that a point, or a feature of it, may have, as the
    status of a stream says it (`x_greatest`); that of the type if None.

    Of a pipe a smaller batch is handed out 0.2 seconds after its first row was read. `stop` may be
    called meanwhile, by a signal's handler or another thread. With `follow` the same goes for a
    file of text, which then ends when another one is at its path, or when it was cut.

    Raises SourceError, when iterated, at the first row that holds no example; ValueError at once
    for fields or a format that make no sense.
    """

    def __init__(
        self,
        path: str | Path,
        x_type: str | None = None,
        fields: Fields | TableSchema | tuple[str, ...] | None = None,
        *,
        file_format: str | None = None,
        batch_examples: int = BATCH_EXAMPLES,
        delimiter: str | None = None,
        header: bool = True,
        follow: bool = False,
        greatest: int | None = None,
    ) -> None:
        """Prepare to read `path`; `file_format` (see FORMATS) follows from the suffix if None."""
        self.path = str(path)
        self.format = file_format or _format_of(self.path)
        if self.format not in FORMATS:
            raise ValueError(f"{self.format!r} is no format; choose one of {', '.join(FORMATS)}")
        if batch_examples < 1:
            raise ValueError("batch_examples must be at least 1")
        self.batch_examples = batch_examples
        self._x_type = x_type
        self._fields = fields
        self._header = header
        self._delimiter = self._checked(delimiter)
        if follow and (self.path == STANDARD_INPUT or self.format in ("parquet", "recording")):
            raise ValueError("only a file of CSV, TSV or JSON lines can be followed")
        self._follow = follow
        self._progress: float | None = None
        self._stopping = False
        self._waiting = False
        self._examples = 0
        self._place_of: Callable[[], tuple[int, str]] | None = None
        self._whole: tuple[int, str] | None = None
        self._expected: list[Mark] = []
        if self.format != "recording" and not isinstance(fields, tuple):
            if x_type is None or fields is None:
                raise ValueError(f"reading {self.format} needs x_type and fields")
            self._convert_cells = conversion(x_type, fields, greatest)

    @property
    def name(self) -> str:
        """The file's name as messages show it."""
        return "standard input" if self.path == STANDARD_INPUT else self.path

    @property
    def progress(self) -> float | None:
        """The part of the file read so far, 0 to 1; None when its size is not known."""
        return self._progress

    @property
    def waiting(self) -> bool:
        """Whether the last batch was handed out before it was full, as nothing more had come."""
        return self._waiting

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopping

    def stop(self) -> None:
        """Hand out what was read and then nothing more."""
        self._stopping = True

    def expect(self, marks: Iterable[Mark]) -> None:
        """Raise SourceError while reading where what stands before one of these marks is different.

        For pipes, which are read only once.
        """
        self._expected = sorted(marks, key=lambda mark: mark.bytes)

    def mark(self) -> Mark | None:
        """Return the place behind the last batch; None before the first, and where there is none.

        A recording that comes by a pipe has none, and none that goes on by its own numbers.
        """
        if self._place_of is None:
            return None
        return Mark(self._examples, *self._place_of())

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches."""
        return self.batches()

    def batches(self, on_bad: _Told | None = None) -> Iterator[Batch]:
        """Yield the batches; with `on_bad` bad rows are left out and it is told of each.

        What is wrong with the file itself is raised all the same.
        """
        return self._batches(on_bad, 0)

    def after(self, count: int, *, numbered: bool = False) -> Iterator[Batch]:
        """Yield the batches without their first `count` examples, whose cells nobody looks at.

        numbered: examples are counted as the recorded producer did, also those that came before the
        recording; there are no marks then, as the numbers say enough.

        Raises SourceError when there are fewer: what was fed before came from elsewhere; and with
        `numbered` when examples between the `count` and the recording are missing.
        """
        return self._batches(None, count, numbered=numbered)

    def first_number(self) -> int | None:
        """Return how many examples the producer of a recording had before it; else 0.

        None for a recording that comes by a pipe: it says so only while it is read.
        """
        if self.format != "recording":
            return 0
        if is_pipe(self.path):
            return None
        with RecordingReader(self.path) as recording:
            return recording.first_sequence

    def _batches(
        self, on_bad: _Told | None, before: int, *, numbered: bool = False
    ) -> Iterator[Batch]:
        self._progress, self._place_of, self._waiting = None, None, False
        self._examples, self._whole = 0, None
        each_is_one = not (isinstance(self._fields, Fields) and self._fields.skip_incomplete)
        is_recording = self.format == "recording"
        found = self._recorded(before, numbered) if is_recording else self._rows(on_bad)
        with closing(found):  # and so the file, whoever still has the traceback of an error
            for some in found:
                left = before - self._examples
                if isinstance(some, _Rows) and each_is_one and len(some.lines) <= left:
                    self._examples += len(some.lines)
                else:
                    batch = self._convert(some, on_bad) if isinstance(some, _Rows) else some
                    self._examples += len(batch[1])
                    if len(batch[1]) > max(0, left):
                        yield _without_first(batch, left) if left > 0 else batch
                if self._stopping:
                    return
        if self._examples < before:
            raise _too_short(before)

    def cells(self) -> Iterator[tuple[Column, ...]]:
        """Yield the cells of each batch as they stand in the file, by columns in the fields' order.

        For who looks at a file before it is fed. Raises SourceError as iterating does, but for no
        cell; ValueError for a recording, which has no cells.
        """
        if self.format == "recording":
            raise ValueError("a recording has no columns to look at")
        with closing(self._rows(None)) as found:
            for rows in found:
                yield rows.columns

    def _rows(self, on_bad: _Told | None) -> Generator[_Rows, None, None]:
        if self.format == "parquet":
            return self._parquet()
        return self._json_lines(on_bad) if self.format == "jsonl" else self._csv(on_bad)

    def columns(self) -> FileColumns:
        """Return the columns of the file, whatever the fields are.

        Of JSON lines every line is read. Raises SourceError as iterating does, but for no cell;
        ValueError for a recording, which has no columns.
        """
        finders = {
            "csv": self._csv_names,
            "tsv": self._csv_names,
            "jsonl": self._json_names,
            "parquet": self._parquet_names,
        }
        if self.format not in finders:
            raise ValueError("a recording has no columns to look at")
        counts, rows = finders[self.format]()
        names = tuple(name for name, count in counts.items() if count == rows)
        return FileColumns(names, tuple(name for name in counts if name not in names))

    def _convert(self, rows: _Rows, on_bad: _Told | None) -> Batch:
        if isinstance(self._fields, Fields) and self._fields.skip_incomplete:
            missing = incomplete_rows(rows.columns)
            if missing.any():
                rows = rows.picked((~missing).nonzero()[0].tolist())
        try:
            return self._convert_cells(rows.columns)
        except BadRow as found:
            bad = found
        if on_bad is None:
            raise self._refusal(rows, bad)
        kept = []
        for index in range(len(rows.lines)):
            try:
                self._convert_cells(rows.picked([index]).columns)
            except BadRow as found:
                on_bad(self._refusal(rows, BadRow(index, found.reason)))
            else:
                kept.append(index)
        return self._convert_cells(rows.picked(kept).columns)

    def _refusal(self, rows: _Rows, bad: BadRow) -> SourceError:
        unit = "row" if self.format == "parquet" else "line"
        return SourceError(f"{unit} {rows.lines[bad.index]} of {self.name}: {bad.reason}")

    # --- text ---------------------------------------------------------------------------------

    def _blocks(self) -> Blocks:
        opened = FollowedBlocks if self._follow else open_blocks
        return opened(self.path, lambda: self._stopping)

    @contextmanager
    def _text(self) -> Iterator[tuple[Blocks, Lines]]:
        """Open the file, and keep what says which part of it was used."""
        try:
            blocks = self._blocks()
        except OSError as error:
            raise SourceError(f"cannot read {self.name}: {error.strerror}") from None
        try:
            expected = [(mark.bytes, mark.digest) for mark in self._expected]
            lines = Lines(blocks, self.name, expected)
            yield blocks, lines
        finally:
            blocks.close()

    def _parts(
        self, blocks: Blocks, lines: Lines, rows: Iterable[_Item | None]
    ) -> Iterator[tuple[list[_Item], bool]]:
        """Yield rows in lists, and whether a batch ends with the list.

        Lists are short, so that who takes rows apart finds them in the processor's cache, and the
        garbage collector few of them. None stands for a pause, after which `rows` goes on.
        """
        part: list[_Item] = []
        count, most = 0, self.batch_examples
        self._place_of = lambda: (lines.bytes_done, lines.digest)
        for row in rows:
            if row is None:
                lines.until = None
                if count:
                    yield self._settled(blocks, lines, part, waiting=True), True
                    part, count = [], 0
                if self._stopping:
                    return
                continue
            part.append(row)
            count += 1
            if count == 1 and blocks.live:
                lines.until = time.monotonic() + LIVE_SECONDS
            if count == most:
                yield self._settled(blocks, lines, part, waiting=False), True
                part, count = [], 0
                lines.until = None
            elif len(part) == PART_ROWS:
                yield part, False
                part = []
        if count:
            yield self._settled(blocks, lines, part, waiting=False), True
        lines.settle()
        self._progress = None if blocks.part(lines.bytes_done) is None else 1.0

    def _settled(
        self, blocks: Blocks, lines: Lines, part: list[_Item], *, waiting: bool
    ) -> list[_Item]:
        lines.settle()
        self._waiting = waiting
        self._progress = blocks.part(lines.bytes_done)
        return part

    def _csv(self, on_bad: _Told | None) -> Generator[_Rows, None, None]:
        with self._text() as (blocks, lines):
            reader = csv.reader(lines, strict=True, delimiter=self._delimiter)
            rows = self._csv_rows(reader, lines)
            places, width = self._places(rows, lines)
            if not places:
                return
            found = _Growing(len(places))
            for part, is_last in self._parts(blocks, lines, rows):
                whole = self._of_width(part, width, on_bad)
                if whole:
                    by_place = list(zip(*(row for _, row in whole), strict=True))
                    found.add([line for line, _ in whole], [by_place[place] for place in places])
                if is_last:
                    yield found.taken()

    def _places(
        self, rows: Iterator[tuple[int, list[str]] | None], lines: Lines
    ) -> tuple[list[int], int]:
        """Return where the columns stand, and how many cells a row has."""
        first = next((row for row in rows if row is not None or self._stopping), None)
        if first is None and self._stopping:
            return [], 0
        header = [] if first is None else first[1]
        if not self._header:
            lines.give_back(0)
            return [self._numbered(name, len(header)) for name in self._names], len(header)
        if header and all(map(is_number_text, header)):
            raise SourceError(
                f"the first line of {self.name} holds numbers and no names of columns; put the "
                "names there, or say that it has none (--no-header) and number the columns"
            )
        return [self._place(header, name) for name in self._names], len(header)

    def _numbered(self, name: str, width: int) -> int:
        if name.isascii() and name.isdigit() and 1 <= int(name) <= width:
            return int(name) - 1
        raise SourceError(
            f"without names in its first line, the columns of {self.name} are 1 to {width}, and "
            f"{name!r} is none of them"
        )

    def _of_width(
        self, part: list[tuple[int, list[str]]], width: int, on_bad: _Told | None
    ) -> list[tuple[int, list[str]]]:
        """Return the rows with so many cells; tell of others, or raise the first."""
        if all(len(row) == width for _, row in part):
            return part
        kept = []
        for line, row in part:
            if len(row) == width:
                kept.append((line, row))
                continue
            what = "has too few columns" if len(row) < width else "has more columns than the first"
            error = SourceError(f"line {line} of {self.name} {what}")
            if on_bad is None:
                raise error
            on_bad(error)
        return kept

    def _csv_names(self) -> tuple[Counter[str], int]:
        with self._text() as (_, lines):
            reader = csv.reader(lines, strict=True, delimiter=self._delimiter)
            rows = (row for row in self._csv_rows(reader, lines) if row is not None)
            return Counter(name.strip() for name in next(rows, (0, []))[1]), 1

    def _csv_rows(self, reader: Any, lines: Lines) -> Iterator[tuple[int, list[str]] | None]:
        """Yield each row that is not blank with the number of the line on which it ends."""
        while True:
            before, first = len(lines.taken), lines.number + 1
            try:
                row = next(reader)
            except StopIteration:
                return
            except Pause:
                lines.give_back(before)
                yield None
                continue
            except csv.Error as error:
                problem = _csv_problem(str(error), lines.number, first)
                break
            if row:
                yield lines.number, row
        raise SourceError(f"{self.name} is not well-formed CSV: {problem}")

    def _place(self, header: list[str], name: str) -> int:
        # The header's own words stay out of the message: a file without a header would leak a row.
        if not header:
            raise SourceError(f"{self.name} is empty; its first line has to name its columns")
        if name not in header:
            header = [each.strip() for each in header]
        count = header.count(name)
        if count == 1:
            return header.index(name)
        what = "has no column" if count == 0 else f"has {count} columns"
        hint = ""
        if len(header) == 1 and (other := [mark for mark in _DELIMITERS if mark in header[0]]):
            hint = f"; if {other[0]!r} stands between its cells, say so with --delimiter"
        raise SourceError(f"the first line of {self.name} {what} named {name!r}{hint}")

    def _json_lines(self, on_bad: _Told | None) -> Generator[_Rows, None, None]:
        with self._text() as (blocks, lines):
            found = _Growing(len(self._names))
            for part, is_last in self._parts(blocks, lines, _line_by_line(lines)):
                numbered = self._json_rows(part, on_bad)
                if numbered:
                    values = zip(*(row for _, row in numbered), strict=True)
                    found.add([line for line, _ in numbered], list(values))
                if is_last:
                    yield found.taken()

    def _json_rows(
        self, part: list[tuple[int, str]], on_bad: _Told | None
    ) -> list[tuple[int, list[Any]]]:
        names = self._names
        found = []
        for number, line in part:
            try:
                found.append((number, self._json_values(number, line, names)))
            except SourceError as error:
                if on_bad is None:
                    raise
                on_bad(error)
        return found

    def _json_names(self) -> tuple[Counter[str], int]:
        counts: Counter[str] = Counter()
        rows = 0
        with self._text() as (blocks, lines):
            for part, _ in self._parts(blocks, lines, _line_by_line(lines)):
                rows += len(part)
                for number, line in part:
                    counts.update(self._json_row(number, line).keys())
        return counts, rows

    def _json_row(self, number: int, line: str) -> dict[str, Any]:
        try:
            row = json.loads(line, object_pairs_hook=once_each)
        except TwiceError:
            raise SourceError(
                f"line {number} of {self.name} has an object in which a key comes twice"
            ) from None
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise SourceError(f"line {number} of {self.name} is not a JSON object")
        return row

    def _json_values(self, number: int, line: str, names: tuple[str, ...]) -> list[Any]:
        row = self._json_row(number, line)
        for name in names:
            if name not in row:
                raise SourceError(f"line {number} of {self.name} has no key {name!r}")
        return [row[name] for name in names]

    def _checked(self, delimiter: str | None) -> str:
        """Return what stands between cells; ValueError where that makes no sense."""
        if self.format not in ("csv", "tsv"):
            if delimiter is not None or not self._header:
                raise ValueError("only CSV has a delimiter, and may lack a first line with names")
            return ","
        if not self._header and isinstance(self._fields, TableSchema):
            raise ValueError(
                "the stream knows its columns by name, so the file needs a first line with names"
            )
        if delimiter is None:
            return "\t" if self.format == "tsv" else ","
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise ValueError("a delimiter is one character, and no quote and no end of a line")
        return delimiter

    # --- binary -------------------------------------------------------------------------------

    @contextmanager
    def _parquet_opened(self) -> Iterator[Any]:
        """Yield the open file of pyarrow."""
        if self.path == STANDARD_INPUT:
            raise SourceError("Parquet cannot be read from standard input; name a file")
        if is_pipe(self.path):
            raise SourceError(
                f"Parquet cannot be read from {self.name}, which is no regular file; save it in one"
            )
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
        with file:
            yield file

    def _parquet_names(self) -> tuple[Counter[str], int]:
        with self._parquet_opened() as file:
            return Counter(file.schema_arrow.names), 1

    def _parquet(self) -> Generator[_Rows, None, None]:
        names = self._names
        self._place_of = self._whole_file
        with self._parquet_opened() as file:
            for name in names:
                if (count := file.schema_arrow.names.count(name)) != 1:
                    what = f"{count} columns" if count else "no column"
                    raise SourceError(f"{self.name} has {what} named {name!r}")
            times = [self._is_time(name) for name in names]
            total, done = file.metadata.num_rows, 0
            for batch in file.iter_batches(self.batch_examples, columns=list(dict.fromkeys(names))):
                columns = tuple(
                    _arrow_column(batch.column(name), is_time)
                    for name, is_time in zip(names, times, strict=True)
                )
                yield _Rows(columns, range(done + 1, done + 1 + batch.num_rows))
                done += batch.num_rows
                self._progress = done / total

    def _is_time(self, name: str) -> bool:
        """Whether this is a column of times of the stream."""
        columns = self._fields.columns if isinstance(self._fields, TableSchema) else ()
        return any(isinstance(one, TimeColumn) and one.name == name for one in columns)

    def _recorded(self, before: int, numbered: bool) -> Generator[Batch, None, None]:
        with RecordingReader(self.path) as recording:
            if self._x_type is not None and recording.x_type != self._x_type:
                raise SourceError(
                    f"{self.name} was recorded with points of type {recording.x_type}, "
                    f"not {self._x_type}"
                )
            if numbered and recording.first_sequence:
                self._examples = self._numbered_from(recording.first_sequence, before)
            elif not is_pipe(self.path):
                self._place_of = self._whole_file
            for batch in recording.batches():
                self._progress = recording.progress
                yield batch

    def _numbered_from(self, first: int, before: int) -> int:
        """Return the number of the first recorded example; SourceError if some are missing."""
        if first > before:
            raise SourceError(
                f"{self.name} begins with example {first} of the producer that was recorded, and "
                f"the stream has {before} under this name: feed those before it first, or feed it "
                "as new examples, from a path of its own and without --producer"
            )
        return first

    def _whole_file(self) -> tuple[int, str]:
        """Return the size and the digest of the file; it is gone through once in each reading."""
        if self._whole is None:
            digest, size = blake2b(digest_size=DIGEST_BYTES), 0
            with Path(self.path).open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
                    size += len(block)
            self._whole = size, digest.hexdigest()
        return self._whole

    @property
    def _names(self) -> tuple[str, ...]:
        if isinstance(self._fields, TableSchema):
            user = () if self._fields.user is None else (self._fields.user,)
            return (*self._fields.names, self._fields.label, *user)
        if isinstance(self._fields, tuple):
            return self._fields
        return self._fields.names if self._fields is not None else ()


def conversion(
    x_type: str, fields: Fields | TableSchema, greatest: int | None
) -> Callable[[Sequence[Column]], Batch]:
    """What makes examples of rows, given as columns in the order of the fields."""
    if isinstance(fields, TableSchema):
        if fields.x_type != x_type:
            raise ValueError(f"the columns make points of type {fields.x_type}, not {x_type}")
        return Encoder(fields).convert
    converter = Converter(x_type, fields, greatest=greatest)
    width = len(converter.x_names)
    return lambda columns: converter.convert(columns[:width], *columns[width:])


def skip_examples(batches: Iterable[Batch], count: int) -> Iterator[Batch]:
    """Yield `batches`, such as a source, without their first `count` examples.

    Raises SourceError when there are fewer than `count`: what was fed before came from elsewhere.
    """
    if isinstance(batches, Source):
        yield from batches.after(count)
        return
    left = count
    for batch in batches:
        examples = len(batch[1])
        if left >= examples:
            left -= examples
            continue
        yield _without_first(batch, left)
        left = 0
    if left:
        raise _too_short(count)


def _without_first(batch: Batch, count: int) -> Batch:
    return cast("Batch", tuple(column[count:] for column in batch))


def _too_short(count: int) -> SourceError:
    return SourceError(
        f"the source holds fewer than the {count} examples already fed under this producer's "
        "name; feed another source under another name"
    )


def _format_of(path: str) -> str:
    if path == STANDARD_INPUT:
        return "csv"
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    while suffixes and (suffixes[-1] in _COMPRESSED or suffixes[-1][1:].isdigit()):
        suffixes.pop()  # also of a log that was put aside: log.csv.2.gz
    suffix = suffixes[-1] if suffixes else ""
    try:
        return _SUFFIXES[suffix]
    except KeyError:
        raise ValueError(
            f"the suffix of {path!r} names no format; say which of {', '.join(FORMATS)} it is"
        ) from None


def _csv_problem(error: str, line: int, first: int) -> str:
    """Return what is wrong with a row of CSV, from line `first` to `line`, without its content."""
    if "field limit" in error:
        most = f"{csv.field_size_limit():,}"
        return f"line {first} begins a cell of more than {most} characters; is its quote closed?"
    if "end of data" in error:
        return f"a quote in line {first} is not closed"
    if "new-line" in error:
        return f"line {line} has a carriage return inside, which ends no line"
    return f"in line {line} a quoted cell goes on after its closing quote"


def _picked(column: Column, kept: Sequence[int]) -> Column:
    return [column[i] for i in kept] if isinstance(column, list) else column[list(kept)]


def _line_by_line(lines: Lines) -> Iterator[tuple[int, str] | None]:
    """Yield each line that is not blank with its number, and None for a pause."""
    while True:
        try:
            line = next(lines)
        except StopIteration:
            return
        except Pause:
            yield None
            continue
        if line.strip():
            yield lines.number, line


class TwiceError(Exception):
    """A key of an object comes twice, and nobody knows which value is meant."""


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise TwiceError
    return found


def _arrow_column(column: Any, is_time: bool) -> Column:
    """Return an Arrow column as a numpy array when it is numbers throughout, else as a list.

    So it does for dates and times without a zone that are read as times, and for floats of fewer
    than 64 bits, which a list would hold as others.
    """
    from pyarrow import timestamp, types  # noqa: PLC0415 - only reached when it is installed

    kind = column.type
    numeric = types.is_integer(kind) or types.is_floating(kind)
    local = is_time and (types.is_date(kind) or (types.is_timestamp(kind) and kind.tz is None))
    narrow = types.is_float16(kind) or types.is_float32(kind)
    if local or narrow or (numeric and column.null_count == 0):
        array: Column = column.to_numpy(zero_copy_only=False)
        return array
    if is_time and types.is_timestamp(kind):  # nanoseconds have no place in times of Python
        column = column.cast(timestamp("us", kind.tz), safe=False)
    try:
        values: Column = column.to_pylist()
    except OverflowError:  # one is beyond the year 9999; the others still say which
        values = [_python_value(cell) for cell in column]
    return values


def _python_value(cell: Any) -> Any:
    """Return a value of Arrow, or what nobody takes for one where Python has no such value."""
    try:
        return cell.as_py()
    except OverflowError:
        return cell
