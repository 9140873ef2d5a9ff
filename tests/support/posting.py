"""Examples as rows of JSON: what is posted to a daemon so that it stores exactly these points.

Each number of a point may come from many cells: 4, "4" and " 4 ", or any income of a bucket. Which
one is written depends on the row and on a `spelling`, so that two days with different spellings
show whether anything but the point is seen from outside.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from littled.planner import StreamPlan
from littled_client import hash_users
from littled_client.cells import rows_of as numbers_of
from littled_protocol.columns import decode_users, point_type, text_of_bytes
from littled_protocol.encodings import (
    AddressColumn,
    CategoryColumn,
    Column,
    IdColumn,
    NumberColumn,
    TableSchema,
    TimeColumn,
)
from littled_protocol.encodings.reading import as_rows

Row = list[Any]
# Users that rows can name. There are so many that two random ones are hardly ever the same.
USERS = 1 << 16
CELLS_EACH = 3


@cache
def _users() -> tuple[NDArray[np.uint64], Mapping[bytes, str]]:
    """The digests (USERS, 2) of all users, and the name of each by its digest."""
    names = [f"user {number}" for number in range(USERS)]
    digests = hash_users(names)
    return digests, {digest.tobytes(): name for digest, name in zip(digests, names, strict=True)}


def random_users(random: np.random.Generator, many: int) -> NDArray[np.uint64]:
    """The digests (many, 2) of random users, whose names have several lengths."""
    return _users()[0][random.integers(0, USERS, many)]


def rows_of(
    plan: StreamPlan, x: bytes, y: bytes, users: bytes, spelling: int = 0
) -> tuple[list[str], list[Row]]:
    """The names of the columns, and a batch as rows of cells."""
    names, labels = _words(plan.schema)
    points = point_type(plan.x_type).decode(x, len(y))
    if plan.schema is None:
        cells = list(_of_points(plan, points, spelling))
    else:
        cells = list(_of_table(plan.schema, points, spelling))
    rows = [
        [*row, labels[label][(number + spelling) % 2]]
        for number, (row, label) in enumerate(zip(cells, y, strict=True))
    ]
    if plan.unit.is_user:
        named = _users()[1]
        for row, user in zip(rows, decode_users(users, len(y)), strict=True):
            row.append(named[user.tobytes()])
        names.append("user" if plan.schema is None else str(plan.schema.user))
    return names, rows


def _words(schema: TableSchema | None) -> tuple[list[str], tuple[tuple[Any, Any], ...]]:
    """The names of the columns without that of users, and two ways to write each label."""
    if schema is None:
        return ["x", "y"], ((0, False), (1, "1"))
    return [*schema.names, schema.label], ((schema.negative, 0), (schema.positive, True))


def _of_points(plan: StreamPlan, points: NDArray[Any], spelling: int) -> Iterator[Row]:
    kind = point_type(plan.x_type)
    offset = next(iter(plan.words.values())).offset_of(plan.x_type)
    for number, point in enumerate(points.tolist()):
        if kind.is_string:
            texts = text_of_bytes(bytes(point)), f"0x{bytes(point).hex()}"
            yield [texts[(number + spelling) % 2]]
            continue
        if kind.columns > 1 and kind.name != "u128":
            yield [point]
            continue
        value = (point[0] << 64) + point[1] if kind.name == "u128" else point + offset
        ways = (value, str(value), f" {value} ") if kind.name == "u8" else (value, str(value))
        yield [ways[(number + spelling) % len(ways)]]


def _of_table(schema: TableSchema, points: NDArray[Any], spelling: int) -> Iterator[Row]:
    rows = as_rows(points).tolist()
    for number, row in enumerate(rows):
        cells, first = [], 0
        for column in schema.columns:
            ways = cells_of(column)[tuple(row[first : first + column.words])]
            cells.append(ways[(number + spelling) % len(ways)])
            first += column.words
        yield cells


@cache
def cells_of(column: Column) -> Mapping[tuple[int, ...], Sequence[Any]]:
    """Some cells for each number that a column of few numbers has."""
    found: dict[tuple[int, ...], list[Any]] = {}
    for cell in _candidates(column):
        (numbers,) = numbers_of(column, [cell]).tolist()
        ways = found.setdefault(tuple(numbers), [])
        if len(ways) < CELLS_EACH:
            ways.append(cell)
        if len(found) == _numbers_of(column) and all(
            len(ways) == CELLS_EACH or None in ways for ways in found.values()
        ):
            break
    return found


def _numbers_of(column: Column) -> int:
    if isinstance(column, IdColumn):
        return int(2**column.bits)
    size = 1
    for feature in column.features:
        size *= feature.size
    return size


def _candidates(column: Column) -> Iterator[Any]:
    """Cells of a column, of any length."""
    if isinstance(column, NumberColumn):
        if column.missing == "bucket":
            yield None
        for cell in range(-1000, 1000):
            yield from (cell / 8, f"{cell / 8:.3f}")
    elif isinstance(column, CategoryColumn):
        yield from column.values * CELLS_EACH
        if column.other == "bucket":
            yield from ("none of these", "xx", 7)
    elif isinstance(column, TimeColumn):
        for day in range(1, 29):
            yield from (f"2026-{month:02}-{day:02}T0{month % 10}:30" for month in range(1, 13))
    elif isinstance(column, IdColumn):
        for number in count():
            yield from (number, f"card {number}")
    else:
        assert isinstance(column, AddressColumn)
        raise AssertionError("an address has too many numbers to list")


# --- Bodies ---------------------------------------------------------------------------------------


def body_of(names: Sequence[str], rows: Sequence[Row], form: int) -> str:
    """The rows as JSON: lists, objects by name, or columns."""
    if form % 3 == 0:
        return json.dumps(rows)
    if form % 3 == 1:
        return json.dumps([dict(zip(names, row, strict=True)) for row in rows])
    columns = zip(names, zip(*rows, strict=True), strict=True)
    return json.dumps({name: list(cells) for name, cells in columns})


def _with(rows: list[Row], place: int, cell: Any) -> str:
    """All rows, and the first one again with a cell that is none."""
    wrong = [*rows[0]]
    wrong[place] = cell
    return json.dumps([*rows, wrong])


# A body that is refused, of good rows; and the place of their labels.
WRONG_ROWS: tuple[Callable[[list[Row], int], str], ...] = (
    lambda rows, label: _with(rows, label, 2),
    lambda rows, label: _with(rows, 0, {"no": "cell"}),
    lambda rows, label: json.dumps(rows)[:-1],
    lambda rows, label: json.dumps([*rows, rows[0][:1]]),
    lambda rows, label: _with(rows, 0, float("nan")),
    lambda rows, label: json.dumps({str(place): row for place, row in enumerate(rows)}),
    lambda rows, label: "[" * 20_000 + json.dumps(rows),
    lambda rows, label: json.dumps(rows).replace("], [", "],, [") + "]",
)
# The same of rows that end with a user.
WRONG_NAMES: tuple[Callable[[list[Row], int], str], ...] = (
    lambda rows, label: _with(rows, -1, ""),
    lambda rows, label: _with(rows, -1, True),
    lambda rows, label: json.dumps([row[:-1] for row in rows]),
)
