"""Options that say where the examples of a file stand, shared by `feed` and `record`."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.options import with_options
from littled_client.recordings import SUFFIX as RECORDING_SUFFIX
from littled_client.sources import BATCH_EXAMPLES, FORMATS, Fields, Source
from littled_protocol import limits


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """A file and how to read examples from it; `fields` is None for a recording alone."""

    file: str
    fields: Fields | None
    file_format: str | None
    batch: int

    def open(self, x_type: str) -> Source:
        """The source, for points of this type; Failure when its format or columns do not fit."""
        with explained(ValueError, status=WRONG_USE):
            return Source(
                self.file,
                x_type,
                self.fields,
                file_format=self.file_format,
                batch_examples=self.batch,
            )


def source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument FILE and options for its columns; the command gets a SourceChoice."""

    @functools.wraps(command)
    def wrapped(
        *,
        file: str,
        x_names: tuple[str, ...],
        y_name: str | None,
        offset: int,
        clip: tuple[int, int] | None,
        positive: str | None,
        skip_incomplete: bool,
        user: str | None,
        file_format: str | None,
        batch: int,
        **others: Any,
    ) -> Any:
        fields: Fields | None = None
        if x_names and y_name is not None:
            x = x_names[0] if len(x_names) == 1 else x_names
            with explained(ValueError, status=WRONG_USE):
                fields = Fields(x, y_name, offset, clip, positive, skip_incomplete, user)
        elif (file_format or Path(file).suffix.lower()) not in ("recording", RECORDING_SUFFIX):
            raise Failure("name the columns with --x COL and --y COL", WRONG_USE)
        elif user is not None:
            raise Failure("a recording has its users; leave --user away", WRONG_USE)
        return command(source=SourceChoice(file, fields, file_format, batch), **others)

    return click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))(
        _column_options(wrapped)
    )


def _column_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return with_options(
        command,
        click.option(
            "--x",
            "x_names",
            multiple=True,
            metavar="COL",
            help="Column with the points; repeat it for rows of several features.",
        ),
        click.option("--y", "y_name", metavar="COL", help="Column with the labels, 0 or 1."),
        click.option(
            "--offset",
            type=int,
            default=0,
            show_default=True,
            help="The number that point 0 stands for; subtracted from every x.",
        ),
        click.option(
            "--clip",
            type=int,
            nargs=2,
            default=None,
            metavar="LEAST MOST",
            help="Move every x into this range first.",
        ),
        click.option("--positive", metavar="TEXT", help="The text in the y column that means 1."),
        click.option(
            "--user",
            metavar="COL",
            help="Column with the user of each example, for a stream that protects users.",
        ),
        click.option("--skip-incomplete", is_flag=True, help="Leave out rows with empty cells."),
        click.option(
            "--format",
            "file_format",
            type=click.Choice(FORMATS),
            help="Format of the file, if its suffix does not say.",
        ),
        click.option(
            "--batch",
            type=click.IntRange(1, limits.examples_per_frame_max),
            default=BATCH_EXAMPLES,
            show_default=True,
            help="Examples of one batch.",
        ),
    )
