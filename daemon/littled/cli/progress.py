"""The bar that `littled feed` and its kin draw while examples are on their way."""

import sys

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from littled.cli.output import notes


class RateColumn(ProgressColumn):
    """Examples per second, from the field `done` of a task that counts examples."""

    def render(self, task: Task) -> Text:
        """The rate since the task began."""
        elapsed = task.elapsed or 0.0
        rate = task.fields.get("since_start", 0) / elapsed if elapsed > 0.05 else 0.0
        return Text(f"{rate:,.0f}/s", style="cyan")


def feeding_progress() -> Progress:
    """A bar for examples on their way: part of the source, acknowledged examples, rate, time.

    Drawn on standard error, and only in a terminal. A task's fields are `acknowledged` (text) and
    `since_start` (examples).
    """
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[acknowledged]} acknowledged", markup=False),
        RateColumn(),
        TimeElapsedColumn(),
        console=notes(),
        transient=True,
        disable=not sys.stderr.isatty(),
    )


def bytes_progress() -> Progress:
    """Bytes on their way, of whose number nobody knows how many there are; in a terminal alone."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeElapsedColumn(),
        console=notes(),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
