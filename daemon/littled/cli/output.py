"""What commands print: for people by rich, for programs as JSON; quiet and plain in a pipe."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

# Width of tables where there is no terminal that would wrap them.
PIPE_COLUMNS = 160
# Names that are listed one by one, where there may be thousands.
LISTED_MAX = 3


def console() -> Console:
    """Standard output for people: colours and wrapped lines only in a terminal."""
    terminal = sys.stdout.isatty()
    width = None if terminal else PIPE_COLUMNS
    return Console(highlight=False, markup=False, soft_wrap=not terminal, width=width)


def print_pairs(rows: Mapping[str, str]) -> None:
    """Names and what there is to say about each, one below the other."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column()
    for name, text in rows.items():
        table.add_row(name, Text(text))
    if sys.stdout.isatty():
        console().print(table)
    else:
        longest = max(map(len, rows))
        click.echo("\n".join(f"{name:<{longest}}  {text}" for name, text in rows.items()))


def notes() -> Console:
    """Standard error for people: what is not the command's result."""
    return Console(stderr=True, highlight=False, markup=False, soft_wrap=not sys.stderr.isatty())


def print_json(value: Mapping[str, Any], *, indent: int | None = None) -> None:
    """One JSON object on standard output, seen at once by the reader of a pipe."""
    click.echo(json.dumps(value, indent=indent, ensure_ascii=False))
    sys.stdout.flush()


def listed(names: Sequence[str], most: int = LISTED_MAX) -> str:
    """Names as people read them: the first few, and how many more there are."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {number(len(names) - most)} more"


def number(value: int) -> str:
    """A whole number with separators: 327,346."""
    return f"{value:,}"


def amount(value: float) -> str:
    """A budget with as many digits as say something: 0.8341, 1, 1e-06."""
    return f"{value:.4g}"


def duration(seconds: float | None) -> str:
    """Seconds or milliseconds for people."""
    if seconds is None:
        return "-"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{max(1, round(1000 * seconds))} ms"


def size(count: int | None) -> str:
    """Bytes for people."""
    if count is None:
        return "-"
    return f"{count / 2**20:.0f} MiB" if count >= 2**20 else f"{max(1, count >> 10)} KiB"
