"""Tables of rules in files: the class `table:FILE`.

A table is a CSV file. Its first line names the points, after one cell that is ignored; each later
line is one rule: its name, then a 0 or a 1 for every point.

    rule,monday,tuesday,saturday,sunday
    weekend,0,0,1,1
    never,0,0,0,0
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from littled.classes.table import Table

TABLE_PREFIX = "table:"
TABLE_BYTES_MAX = 64 << 20  # the whole table is part of the plan that a store keeps


class TableFileError(ValueError):
    """A file that is no table of rules; one sentence."""


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table, and the names of its points; "point 7" where the file names none."""

    table: Table
    point_names: tuple[str, ...]


def read_table(path: Path) -> Table:
    """The table in the CSV file `path`; raises as `read_named_table`."""
    return read_named_table(path).table


def read_named_table(path: Path) -> NamedTable:
    """The table in the CSV file `path` with its points' names, all from one reading.

    Raises TableFileError for a file that cannot be read or is not written as above, and ClassError
    for rules that make no class.
    """
    try:
        if path.stat().st_size > TABLE_BYTES_MAX:
            raise TableFileError(f"the table {path} is larger than {TABLE_BYTES_MAX} bytes")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise TableFileError(f"cannot read the table {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TableFileError(f"the table {path} is not text in UTF-8") from None
    try:
        rows = [row for row in csv.reader(text.splitlines(), strict=True) if row]
    except csv.Error:
        raise TableFileError(f"the table {path} is not well-formed CSV") from None
    if len(rows) < 2 or len(rows[0]) < 2:
        raise TableFileError(f"the table {path} needs a line of points and a line for each rule")
    points = len(rows[0]) - 1
    for number, row in enumerate(rows[1:], 2):
        if len(row) != points + 1 or any(cell.strip() not in ("0", "1") for cell in row[1:]):
            raise TableFileError(
                f"rule {number - 1} of the table {path} needs a name and {points} values 0 or 1"
            )
    matrix = np.array([[cell.strip() == "1" for cell in row[1:]] for row in rows[1:]], dtype=bool)
    table = Table.from_matrix([row[0].strip() for row in rows[1:]], matrix)
    names = (name.strip() or f"point {point}" for point, name in enumerate(rows[0][1:]))
    return NamedTable(table, tuple(names))
