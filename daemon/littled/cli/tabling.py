"""Tables on a screen of any width, and in a pipe without lines around them.

In a pipe a row is a line, whatever it says: programs read it, and nothing is cut off. On a narrow
screen the remarks of a table are below its figures, where they have room.
"""

import sys
from collections.abc import Iterator

import click
from rich.measure import Measurement
from rich.table import Table

from littled.cli.output import console

# The column that says in words what the figures of a row do not.
REMARK = "remark"
_BETWEEN = "  "


def print_table(table: Table) -> None:
    """Print a table on standard output."""
    if not sys.stdout.isatty():
        click.echo("\n".join(plain_lines(table)))
        return
    screen = console()
    needed = Measurement.get(screen, screen.options.update(max_width=10_000), table).maximum
    if needed <= screen.width or table.columns[-1].header != REMARK:
        screen.print(table)
        return
    figures, remarks = _parted(table)
    screen.print(figures)
    screen.print(remarks)


def plain_lines(table: Table) -> Iterator[str]:
    """A table as lines of text: its title, its headers, and a line for each row."""
    if table.title:
        yield str(table.title)
    headers = [str(column.header) for column in table.columns]
    rows = [headers, *_rows(table)]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    right = [column.justify == "right" for column in table.columns]
    for row in rows:
        cells = [
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(row, widths, right, strict=True)
        ]
        yield _BETWEEN.join(cells).rstrip()


def _rows(table: Table) -> list[list[str]]:
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _parted(table: Table) -> tuple[Table, Table]:
    """The figures of a table, of the rows that have any; and the remarks of all rows."""
    *columns, _ = table.columns
    figures = Table(title=table.title, title_justify="left", title_style="bold")
    for column in columns:
        figures.add_column(column.header, justify=column.justify)
    remarks = Table.grid(padding=(0, 2, 0, 0))
    for row in _rows(table):
        if any(cell != "-" for cell in row[1:-1]):
            figures.add_row(*row[:-1])
        remarks.add_row(row[0], row[-1])
    return figures, remarks
