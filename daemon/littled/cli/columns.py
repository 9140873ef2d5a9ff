"""Options that say where the examples of a file stand, shared by `feed` and `record`."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import click

from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.options import DaemonChoice, with_options
from littled_client.blocking import Client
from littled_client.brokers.addresses import is_broker
from littled_client.recordings import SUFFIX as RECORDING_SUFFIX
from littled_client.sources import BATCH_EXAMPLES, FORMATS, Fields, Source
from littled_protocol import limits
from littled_protocol.encodings import TableSchema
from littled_protocol.rules import PLAIN, Words


@dataclass(frozen=True, slots=True)
class StreamInput:
    """What a stream takes: the type of its points, and how people write points and labels.

    schema: its columns, where it takes tables; None for points, whose words are then `words`.
    greatest: the greatest number of a point, or of its features, if that of the type is greater.
    """

    x_type: str
    words: Words = PLAIN
    schema: TableSchema | None = None
    greatest: int | None = None

    @classmethod
    def from_status(cls, facts: Mapping[str, Any]) -> Self:
        """Of a stream in a daemon's status."""
        schema = TableSchema.from_dict(facts["schema"]) if "schema" in facts else None
        words = [Words.from_status(one["words"], schema) for one in facts["learners"].values()]
        words_of = words[0] if words else PLAIN
        return cls(facts["x_type"], words_of, schema, facts.get("x_greatest"))


def stream_facts(client: Client, stream: str, daemon: DaemonChoice) -> dict[str, Any]:
    """What a daemon tells of one stream; Failure where it has none of this name."""
    streams = client.status(stream)["streams"]
    if stream not in streams:
        raise Failure(f"the daemon at {daemon.address} has no stream {stream!r}")
    facts: dict[str, Any] = streams[stream]
    return facts


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """A file and how to read examples from it, as far as that was said.

    fields: the columns that were named; None for a recording, and for a stream that knows its own.
    offset: None for that of the stream. one_label: whether examples may all have one label.
    """

    file: str
    fields: Fields | None
    offset: int | None
    file_format: str | None
    batch: int
    delimiter: str | None = None
    header: bool = True
    one_label: bool = False

    def open(self, taken: StreamInput, *, follow: bool = False) -> Source:
        """The source, for a stream that takes this; Failure when format or columns do not fit."""
        if is_broker(self.file):
            raise Failure("only littled feed reads from a broker", WRONG_USE)
        with explained(ValueError, status=WRONG_USE):
            return Source(
                self.file,
                taken.x_type,
                self.fields_for(taken),
                file_format=self.file_format,
                batch_examples=self.batch,
                delimiter=self.delimiter,
                header=self.header,
                follow=follow,
                greatest=taken.greatest,
            )

    def names_users(self, taken: StreamInput) -> bool | None:
        """Whether a column of users is read; None for a recording, which says it itself."""
        if self.is_recording:
            return None
        if self.fields is not None:
            return self.fields.user is not None
        return taken.schema is not None and taken.schema.user is not None

    @property
    def is_recording(self) -> bool:
        """Whether the file is a recording, which knows its columns."""
        return _is_recording(self.file, self.file_format)

    def fields_for(self, taken: StreamInput) -> Fields | TableSchema | None:
        """The columns, for a stream that takes this; None for a recording, which has none."""
        if self.is_recording:
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
        if (words.positive, words.negative) == ("1", "0"):
            return fields
        if fields.positive is None:
            return replace(fields, positive=words.positive, negative=words.negative)
        if not fields.negatives and words.negative != fields.positive:
            return replace(fields, negative=words.negative)
        return fields


class _FileOrBroker(click.Path):
    """A file that exists, - for standard input, or the address of a broker's stream."""

    def __init__(self) -> None:
        """Take what there is."""
        super().__init__(exists=True, dir_okay=False, allow_dash=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, looked at unless it is an address."""
        if isinstance(value, str) and is_broker(value):
            return value
        return super().convert(value, param, ctx)


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
        negatives: tuple[str, ...],
        skip_incomplete: bool,
        user: str | None,
        file_format: str | None,
        batch: int,
        delimiter: str | None,
        no_header: bool,
        one_label: bool,
        **others: Any,
    ) -> Any:
        fields: Fields | None = None
        if x_names and y_name is not None:
            x = x_names[0] if len(x_names) == 1 else x_names
            with explained(ValueError, status=WRONG_USE):
                _check_columns(x_names)
                fields = Fields(
                    x, y_name, offset or 0, clip, positive, skip_incomplete, user, negatives or None
                )
        elif user is not None and _is_recording(file, file_format):
            raise Failure("a recording has its users; leave --user away", WRONG_USE)
        elif not _is_recording(file, file_format) and (
            x_names
            or y_name is not None
            or clip
            or positive
            or negatives
            or user
            or skip_incomplete
        ):
            raise Failure("name the columns with --x COL and --y COL", WRONG_USE)
        choice = SourceChoice(
            file, fields, offset, file_format, batch, delimiter, not no_header, one_label
        )
        return command(source=choice, **others)

    return click.argument("file", type=_FileOrBroker())(_column_options(wrapped))


def _check_columns(names: tuple[str, ...]) -> None:
    """ValueError when one column is to give two features."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"--x {name} is given twice; name each column of a row once")


def _column_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return with_options(
        _label_options(_format_options(command)),
        click.option(
            "--x",
            "x_names",
            multiple=True,
            metavar="COL",
            help="Column with the points; repeat it for rows of several features.",
        ),
        click.option(
            "--y", "y_name", metavar="COL", help="Column with the labels: words, or 0 and 1."
        ),
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
            "--user",
            metavar="COL",
            help="Column with the user of each example, for a stream that protects users.",
        ),
        click.option("--skip-incomplete", is_flag=True, help="Leave out rows with empty cells."),
    )


def _label_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return with_options(
        command,
        click.option(
            "--positive",
            metavar="TEXT",
            help="The text in the y column that means 1; else the stream's word for it.",
        ),
        click.option(
            "--negative",
            "negatives",
            multiple=True,
            metavar="TEXT",
            help="The text that means 0; repeat it for several. Any other text is refused.",
        ),
        click.option(
            "--one-label",
            is_flag=True,
            help="Feed a file although its first examples all have one label.",
        ),
    )


def _format_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return with_options(
        command,
        click.option(
            "--format",
            "file_format",
            type=click.Choice(FORMATS),
            help="Format of the file, if its suffix does not say.",
        ),
        click.option(
            "--delimiter",
            metavar="CHARACTER",
            help="What stands between the cells of CSV; else a comma, or a tab in TSV.",
        ),
        click.option(
            "--no-header",
            is_flag=True,
            help="The first line is an example; columns are named by their numbers, 1 and so on.",
        ),
        click.option(
            "--batch",
            type=click.IntRange(1, limits.examples_per_frame_max),
            default=BATCH_EXAMPLES,
            show_default=True,
            help="Examples of one batch.",
        ),
    )
