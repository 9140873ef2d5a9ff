"""Examples over HTTP: from JSON to the columns that a stream stores.

A body is a table in one of these forms; columns that the stream does not know are passed over:

    [{"delay": 24, "late": 1}, {"delay": 3, "late": 0}]        rows by the names of columns
    [[24, 1], [3, 0]]                                          rows in the order of the columns
    {"delay": [24, 3], "late": [1, 0]}                         columns
    {"delay": 24, "late": 1}\\n{"delay": 3, "late": 0}\\n        JSON lines: either kind of row

Cells mean what they mean in files (`littled_client.encoder`, `littled_client.conversions`): numbers
in the stream's own units, the words for labels, times and addresses as texts. A stream of points
has the columns x and y, and user where it protects users; x of a stream with features is a list.
Points that are integers have no fraction and no exponent here: files may hold 24.0 for 24, as
tables with empty cells do, and a program that sends JSON has no reason to.

A body is taken whole or refused whole, and the first cell that is wrong is named by its row, from 1
on, and its column. Values never appear in a sentence.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from operator import itemgetter
from typing import Any, Final, TypeVar

from littled.limits import (
    HTTP_FEED_COLUMN_BYTES_MAX,
    HTTP_FEED_ROWS_AT_A_TIME,
    HTTP_JSON_LISTS_MAX,
    RECORD_BYTES_MAX,
)
from littled.service.channels import ExampleSchema
from littled.service.json_bodies import NotJson, read_json
from littled_client.conversions import BadRow, Batch, Converter, Fields
from littled_client.conversions import Column as Cells
from littled_client.encoder import Encoder
from littled_client.errors import ExampleError
from littled_protocol import limits
from littled_protocol.columns import encode_labels, encode_users
from littled_protocol.encodings import TableSchema
from littled_protocol.errors import ProtocolError
from littled_protocol.rules import PLAIN, Words

X, Y, USER = "x", "y", "user"
"""The columns of a stream that takes points."""
_FORMS: Final = "the body must be a list of rows, an object of columns, or JSON lines"

_NOT_ALIKE: Final = "rows must be objects with the names of columns, or lists, all alike"
R = TypeVar("R")


class RowsRefused(Exception):
    """A body that holds no examples of its stream: one sentence, without any value."""


@dataclass(frozen=True)
class StreamRows:
    """What the rows of a stream look like.

    schema: the columns of a stream of tables, None for one of points, whose words are then `words`
    and whose greatest number is `greatest`, if not that of its type.
    """

    x_type: str
    examples: ExampleSchema
    words: Words = PLAIN
    schema: TableSchema | None = None
    greatest: int | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns in the order of rows that are lists."""
        if self.schema is None:
            return (X, Y, *([USER] if self.examples.users is not None else []))
        user = () if self.schema.user is None else (self.schema.user,)
        return (*self.schema.names, self.schema.label, *user)

    @property
    def run_rows(self) -> int:
        """Rows that are stored together at the most."""
        row_bytes = self.examples.points.itemsize_bytes + 1 + limits.user_bytes
        return max(1, min(limits.examples_per_frame_max, RECORD_BYTES_MAX // row_bytes))

    def columns(self, body: bytes, *, lines: bool) -> tuple[int, bytes, bytes, bytes]:
        """Return how many rows a body has, and their columns of points, labels and users.

        Users are digests of 16 bytes, none where the stream protects examples. lines: whether the
        body is JSON lines. Raises RowsRefused.
        """
        try:
            cells = self._cells(_lines(body) if lines else read_json(body))
            count = len(cells[0])
            self._check_size(count)
            points, labels, *users = self._encoded(cells)
        except BadRow as bad:
            reason = bad.reason.partition(";")[0]
            raise RowsRefused(f"row {bad.index + 1}: {reason}") from None
        except (ExampleError, NotJson) as error:
            raise RowsRefused(str(error)) from None
        except RecursionError:
            raise RowsRefused("the body is nested too deep") from None
        x, y = self.examples.points.encode(points), encode_labels(labels)
        self._check_domain(x, y)
        return count, x, y, b"".join(encode_users(each) for each in users)

    def _encoded(self, cells: Sequence[Cells]) -> Batch:
        # made anew for each body, so that no id of a user is remembered
        if self.schema is not None:
            return Encoder(self.schema).convert(cells)
        words = self.words
        is_usual = (words.positive, words.negative) == ("1", "0")
        fields = Fields(
            X,
            Y,
            offset=words.offset_of(self.x_type),
            positive=None if is_usual else words.positive,
            negative=None if is_usual else words.negative,
            user=USER if len(self.names) > 2 else None,
        )
        converter = Converter(self.x_type, fields, exact=True, greatest=self.greatest)
        return converter.convert(cells[:1], cells[1], *cells[2:])

    def _cells(self, table: Any) -> list[Cells]:
        """The cells of each column of a table, as many of each."""
        if isinstance(table, dict):
            return self._of_columns(table)
        if not isinstance(table, list):
            raise RowsRefused(_FORMS)
        kinds = set(map(type, table))
        if kinds == {dict}:
            return self._of_objects(table)
        if kinds == {list}:
            return self._of_lists(table)
        if not table:
            raise RowsRefused("the body has no rows")
        raise RowsRefused(_NOT_ALIKE)

    def _of_columns(self, table: dict[str, Any]) -> list[Cells]:
        for name in self.names:
            if not isinstance(table.get(name), list):
                what = "is no list" if name in table else "is missing"
                raise RowsRefused(f"column {name!r} {what}")
        cells: list[Cells] = [table[name] for name in self.names]
        if len(set(map(len, cells))) > 1:
            raise RowsRefused("the columns need the same length")
        if not cells[0]:
            raise RowsRefused("the body has no rows")
        return cells

    def _of_objects(self, rows: list[dict[str, Any]]) -> list[Cells]:
        named = itemgetter(*self.names)
        try:
            return _turned(rows, lambda some: map(named, some))
        except KeyError:
            pass
        for index, row in enumerate(rows):
            for name in self.names:
                if name not in row:
                    raise BadRow(index, f"column {name!r} is missing")
        raise AssertionError("a row that lacks no column was said to lack one")

    def _of_lists(self, rows: list[list[Any]]) -> list[Cells]:
        wanted = len(self.names)
        for index, row in enumerate(rows):
            if len(row) != wanted:
                named = ", ".join(map(repr, self.names))
                raise BadRow(index, f"a row that is a list needs {wanted} cells: {named}")
        return _turned(rows, lambda some: some)

    def _check_size(self, count: int) -> None:
        """Refuse more rows than may wait at once; the columns may be longer than their JSON."""
        row_bytes = self.examples.points.itemsize_bytes + 1 + limits.user_bytes
        most = max(1, HTTP_FEED_COLUMN_BYTES_MAX // row_bytes)
        if count > most:
            raise RowsRefused(f"a body for this stream has at most {most} rows")

    def _check_domain(self, x: bytes, y: bytes) -> None:
        """Refuse points that the stream does not take, as the protocol does."""
        size = self.examples.points.itemsize_bytes

        def is_wrong(count: int) -> bool:
            try:
                self.examples.check(x[: count * size], y[:count], count)
            except ProtocolError:
                return True
            return False

        if is_wrong(len(y)):
            index = bisect_left(range(len(y) + 1), True, key=is_wrong) - 1
            raise RowsRefused(f"row {index + 1}: column {self.names[0]!r} holds no point it may")


def _turned(
    rows: Sequence[R], cells: Callable[[Sequence[R]], Iterable[Sequence[Any]]]
) -> list[Cells]:
    """The columns of rows, whose `cells` are all as many; some rows at a time."""
    columns: list[list[Any]] = []
    for first in range(0, len(rows), HTTP_FEED_ROWS_AT_A_TIME):
        part = zip(*cells(rows[first : first + HTTP_FEED_ROWS_AT_A_TIME]), strict=True)
        if not columns:
            columns += map(list, part)
        else:
            for column, more in zip(columns, part, strict=True):
                column.extend(more)
    return [*columns]


def _lines(body: bytes) -> list[Any]:
    """The rows in lines; raises NotJson and RowsRefused at the first that is none."""
    rows: list[Any] = []
    for number, line in enumerate(BytesIO(body), 1):
        if line.strip():
            row = read_json(line, number)
            if type(row) not in (dict, list) or type(row) is not type(rows[0] if rows else row):
                raise RowsRefused(_NOT_ALIKE)
            if len(rows) == HTTP_JSON_LISTS_MAX:
                raise RowsRefused(f"the body has more than {HTTP_JSON_LISTS_MAX} lines with rows")
            rows.append(row)
    return rows
