"""From messages to examples: a message is a row, a JSON object or cells of CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from typing import Any

from littled_client.brokers.base import Taken
from littled_client.conversions import BadRow, Batch, Fields
from littled_client.errors import SourceError
from littled_client.sources import TwiceError, conversion, once_each
from littled_protocol.encodings import TableSchema


class MessageRows:
    """Makes examples of messages, as a `Source` of a file does of lines.

    With the schema of a stream its columns are read; with `Fields` those that they name. JSON
    objects have them as keys, in any order and among others. CSV has no names: with a schema cells
    come in the order of its columns, then the label, then the user; fields are numbers from 1 on.
    """

    def __init__(
        self,
        name: str,
        x_type: str,
        fields: Fields | TableSchema,
        *,
        as_csv: bool = False,
        delimiter: str = ",",
        greatest: int | None = None,
    ) -> None:
        """Read messages of the source `name`. Raises ValueError for fields that do not fit."""
        self._name = name
        self._convert = conversion(x_type, fields, greatest)
        self._delimiter = delimiter
        self._values: Callable[[Taken], list[Any]]
        if isinstance(fields, TableSchema):
            user = () if fields.user is None else (fields.user,)
            self._names: tuple[str, ...] = (*fields.names, fields.label, *user)
            self._places: list[int] = list(range(len(self._names)))
        else:
            if fields.skip_incomplete:
                raise ValueError("--skip-incomplete is for files; --skip-bad leaves out messages")
            self._names = fields.names
            self._places = _numbers(self._names) if as_csv else []
        self._whole_row = isinstance(fields, TableSchema)
        self._as_csv = as_csv

    def examples(
        self, taken: Sequence[Taken], on_bad: Callable[[SourceError], None] | None = None
    ) -> tuple[Batch | None, list[Taken]]:
        """Return the examples of messages, None for none, and the messages that they are of.

        Raises SourceError, with the number of the first message that holds no example, never with
        anything of what it holds; with `on_bad` such messages are left out, and it is told of each.
        """
        good: list[Taken] = []
        values: list[list[Any]] = []
        for message in taken:
            try:
                values.append(self._cells(message))
                good.append(message)
            except SourceError as error:
                if on_bad is None:
                    raise
                on_bad(error)
        while values:
            columns = [list(column) for column in zip(*values, strict=True)]
            try:
                return self._convert(columns), good
            except BadRow as bad:
                refusal = self._refusal(good[bad.index], bad.reason)
                if on_bad is None:
                    raise refusal from None
                on_bad(refusal)
                # Whoever sends one wrong value may send a thousand: each is left out by itself.
                good, values = self._kept(good, values, bad.index, on_bad)
        return None, good

    def _kept(
        self,
        good: list[Taken],
        values: list[list[Any]],
        known: int,
        on_bad: Callable[[SourceError], None],
    ) -> tuple[list[Taken], list[list[Any]]]:
        """Return the messages that are examples each by itself; the known one is told of."""
        kept: list[int] = []
        for index, row in enumerate(values):
            if index == known:
                continue
            try:
                self._convert([[cell] for cell in row])
                kept.append(index)
            except BadRow as bad:
                on_bad(self._refusal(good[index], bad.reason))
        return [good[index] for index in kept], [values[index] for index in kept]

    def _cells(self, message: Taken) -> list[Any]:
        if isinstance(message.row, dict):
            return self._named(message, message.row)
        try:
            text = message.row.decode("utf-8")
        except UnicodeDecodeError:
            raise self._refusal(message, "is not text in UTF-8") from None
        return self._of_csv(message, text) if self._as_csv else self._of_json(message, text)

    def _of_csv(self, message: Taken, text: str) -> list[str]:
        try:
            rows = list(csv.reader([text.rstrip("\r\n")], strict=True, delimiter=self._delimiter))
        except csv.Error:
            raise self._refusal(message, "is not one row of CSV") from None
        if len(rows) != 1:
            raise self._refusal(message, "is not one row of CSV")
        cells = rows[0]
        if len(cells) <= max(self._places) or (self._whole_row and len(cells) != len(self._places)):
            raise self._refusal(message, "has not the number of cells that the columns need")
        return [cells[place] for place in self._places]

    def _of_json(self, message: Taken, text: str) -> list[Any]:
        try:
            row = json.loads(text, object_pairs_hook=once_each)
        except TwiceError:
            raise self._refusal(message, "has an object in which a key comes twice") from None
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise self._refusal(message, "is not a JSON object")
        return self._named(message, row)

    def _named(self, message: Taken, row: dict[str, Any]) -> list[Any]:
        for name in self._names:
            if name not in row:
                raise self._refusal(message, f"has no key {name!r}")
        return [row[name] for name in self._names]

    def _refusal(self, message: Taken, reason: str) -> SourceError:
        return SourceError(f"message {message.number} of {self._name}: {reason}")


def _numbers(names: Sequence[str]) -> list[int]:
    if not all(name.isascii() and name.isdigit() and int(name) for name in names):
        raise ValueError("messages of CSV have no names: name their cells by numbers from 1 on")
    return [int(name) - 1 for name in names]
