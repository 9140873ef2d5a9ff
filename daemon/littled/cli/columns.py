"""Options that say where the examples of a file stand, shared by `feed` and `record`."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import click

from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.options import with_options
from littled_client.recordings import SUFFIX as RECORDING_SUFFIX
from littled_client.sources import BATCH_EXAMPLES, FORMATS, Fields, Source
from littled_protocol import limits
from littled_protocol.encodings import TableSchema
from littled_protocol.rules import PLAIN, Words


@dataclass(frozen=True, slots=True)
class StreamInput:
    """What a stream takes: the type of its points, and how people write points and labels.

    schema: its columns, where it takes tables; None for points, whose words are then `words`.
    """

    x_type: str
    words: Words = PLAIN
    schema: TableSchema | None = None

    @classmethod
    def from_status(cls, facts: Mapping[str, Any]) -> Self:
        """Of a stream in a daemon's status."""
        schema = TableSchema.from_dict(facts["schema"]) if "schema" in facts else None
        words = [Words.from_status(one["words"], schema) for one in facts["learners"].values()]
        return cls(facts["x_type"], words[0] if words else PLAIN, schema)


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """A file and how to read examples from it, as far as that was said.

    fields: the columns that were named; None for a recording, and for a stream that knows its own.
    offset: None for that of the stream.
    """

    file: str
    fields: Fields | None
    offset: int | None
    file_format: str | None
    batch: int

    def open(self, taken: StreamInput) -> Source:
        """The source, for a stream that takes this; Failure when format or columns do not fit."""
        with explained(ValueError, status=WRONG_USE):
            return Source(
                self.file,
                taken.x_type,
                self._fields(taken),
                file_format=self.file_format,
                batch_examples=self.batch,
            )

    def names_users(self, taken: StreamInput) -> bool | None:
        """Whether a column of users is read; None for a recording, which says it itself."""
        if self._is_recording:
            return None
        if self.fields is not None:
            return self.fields.user is not None
        return taken.schema is not None and taken.schema.user is not None

    @property
    def _is_recording(self) -> bool:
        return _is_recording(self.file, self.file_format)

    def _fields(self, taken: StreamInput) -> Fields | TableSchema | None:
        if self._is_recording:
            return None
        if self.fields is None and taken.schema is None:
            raise Failure("name the columns with --x COL and --y COL", WRONG_USE)
        if self.fields is None and self.offset is None:
            return taken.schema
        if self.fields is None or taken.schema is not None:
            raise Failure(
                "the stream knows its columns: leave --x, --y and the options about them away",
                WRONG_USE,
            )
        words = taken.words
        offset = words.offset_of(taken.x_type) if self.offset is None else self.offset
        fields = replace(self.fields, offset=offset)
        if fields.positive is not None or (words.positive, words.negative) == ("1", "0"):
            return fields
        return replace(fields, positive=words.positive, negative=words.negative)


def _is_recording(file: str, file_format: str | None) -> bool:
    return (file_format or Path(file).suffix.lower()) in ("recording", RECORDING_SUFFIX)


def source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument FILE and options for its columns; the command gets a SourceChoice."""

    @functools.wraps(command)
    def wrapped(
        *,
        file: str,
        x_names: tuple[str, ...],
        y_name: str | None,
        offset: int | None,
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
                fields = Fields(x, y_name, offset or 0, clip, positive, skip_incomplete, user)
        elif user is not None and _is_recording(file, file_format):
            raise Failure("a recording has its users; leave --user away", WRONG_USE)
        elif not _is_recording(file, file_format) and (
            x_names or y_name is not None or clip or positive or user or skip_incomplete
        ):
            raise Failure("name the columns with --x COL and --y COL", WRONG_USE)
        return command(source=SourceChoice(file, fields, offset, file_format, batch), **others)

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
            help="The number that point 0 stands for, subtracted from every x; else the stream's.",
        ),
        click.option(
            "--clip",
            type=int,
            nargs=2,
            default=None,
            metavar="LEAST MOST",
            help="Move every x into this range first.",
        ),
        click.option(
            "--positive",
            metavar="TEXT",
            help="The text in the y column that means 1, every other 0; else the stream's words.",
        ),
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
