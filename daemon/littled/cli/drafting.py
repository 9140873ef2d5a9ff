"""`littled columns`: a draft of a configuration from a file that somebody may look at."""

import re
from pathlib import Path

import click

from littled.cli.drafts.guesses import DraftError, drafted_columns, drafted_label
from littled.cli.drafts.profiles import Profile
from littled.cli.drafts.writing import draft
from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.output import notes
from littled.configuration import NAME_PATTERN
from littled_client.blocks import is_pipe
from littled_client.errors import ClientError
from littled_client.sources import FORMATS, Source

TABLES = [name for name in FORMATS if name != "recording"]
WARNING = (
    "this has read the file, and what it wrote will be public: use a sample that anybody may "
    "look at, and replace edges and values by what is known without the data"
)


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--label", metavar="COLUMN", help="The column with the labels; else it is guessed.")
@click.option("--stream", help="The stream's name; else that of the file.")
@click.option("--format", "file_format", type=click.Choice(TABLES),
              help="Format of FILE, if its suffix does not say.")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False),
              help="Write the draft into this new file; else it is printed.")  # fmt: skip
def columns(
    file: str,
    label: str | None,
    stream: str | None,
    file_format: str | None,
    output: Path | None,
) -> None:
    """Draft the columns and the label of a stream from FILE, as a configuration to be edited.

    The draft loads as it is. Its edges and values come from FILE, and will be public: draft from a
    sample that anybody may look at, never from private data.
    """
    name = _stream_name(stream, file)
    if output is not None and output.exists():
        raise Failure(f"{output} exists; name a new file", WRONG_USE)
    profiles, others = _look(file, file_format)
    with explained(DraftError):
        chosen = drafted_label(profiles, label)
    drafted = drafted_columns(p for p in profiles if p.name != chosen.column)
    if not any(column.table for column in drafted):
        raise Failure(f"{file} has no column besides the label that rules could be about")
    text = "\n".join(draft(name, profiles[0].rows, chosen, drafted, Path(file).name)) + "\n"
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
    notes().print(f"note: {WARNING}")
    for column in drafted:
        if not column.table:
            notes().print(f"note: column {column.name!r} is left out: {column.remark}")
    for other in others:
        notes().print(f"note: column {other!r} is left out: not every row has it, and once")


def _stream_name(given: str | None, file: str) -> str:
    if given is None:
        stem = re.sub(r"[^A-Za-z0-9_-]+", "_", Path(file).name.partition(".")[0]).strip("_-")
        return stem or "stream"
    if re.match(NAME_PATTERN, given) is None:
        raise Failure("--stream takes letters, digits and _ . -, a letter first", WRONG_USE)
    return given


def _look(file: str, file_format: str | None) -> tuple[list[Profile], tuple[str, ...]]:
    """What is seen of each column that every row has, and the names of the others."""
    if is_pipe(file):
        raise Failure(
            f"{file} is no regular file, and would have to be read twice; save it in one", WRONG_USE
        )
    with explained(ValueError, status=WRONG_USE), explained(ClientError):
        found = Source(file, fields=(), file_format=file_format).columns()
        profiles = [Profile(name) for name in found.names]
        for cells in Source(file, fields=found.names, file_format=file_format).cells():
            for profile, part in zip(profiles, cells, strict=True):
                profile.add(part)
    if not profiles or not profiles[0].rows:
        raise Failure(f"{file} holds no row")
    return profiles, found.others
