"""`littled check`: a configuration, and a file that is to be fed, before anything is created."""

from collections import Counter
from pathlib import Path

import click

from littled.cli.executing import ExecutorChoice, executor_options
from littled.cli.failures import FAILED, WRONG_USE, Failure, explained
from littled.cli.output import console, listed, notes, number
from littled.cli.stores import alike, all_planned, print_plan
from littled.configuration import ConfigurationError, StreamConfiguration, load_configuration
from littled_client.cells import odd_cells
from littled_client.conversions import BadRow
from littled_client.encoder import labels_of
from littled_client.errors import ClientError
from littled_client.sources import FORMATS, Source
from littled_protocol.encodings import CategoryColumn, Column, NumberColumn, TableSchema

TABLES = [name for name in FORMATS if name != "recording"]
# What becomes of a cell, by what is odd about it: that it is taken all the same, or refused.
TAKEN = {
    "missing": "a bucket of its own",
    "below": "clipped",
    "above": "clipped",
    "other": "in one bucket",
}


@click.command()
@click.argument("configuration", type=click.Path(path_type=Path))
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option("--stream", help="The stream that FILE is for, where there are several.")
@click.option("--format", "file_format", type=click.Choice(TABLES),
              help="Format of FILE, if its suffix does not say.")  # fmt: skip
@executor_options
def check(
    configuration: Path,
    file: str | None,
    stream: str | None,
    file_format: str | None,
    executor: ExecutorChoice,
) -> None:
    """Say what CONFIGURATION would make, and how FILE would be read; change nothing.

    Exits with 1 where a learner is expected to be wrong on more than a tenth of its examples, and
    where a row of FILE would be refused. What is said of FILE is not private.
    """
    with explained(ConfigurationError, status=WRONG_USE):
        streams = load_configuration(configuration).streams
    # said before the plans, which may take seconds
    schema = None if file is None else _schema(streams, stream)
    problems: list[str] = []
    plans = all_planned(streams, executor)
    for name, *others in alike(streams):
        problems += print_plan(streams[name], plans[name], others)
    if file is not None and schema is not None:
        problems += _look(file, file_format, schema)
    for problem in problems:
        notes().print(f"problem: {problem}")
    if problems:
        raise Failure(f"problems found: {number(len(problems))}", FAILED)


def _schema(streams: dict[str, StreamConfiguration], name: str | None) -> TableSchema:
    """The schema of the stream that a file is for; Failure where there is none."""
    if name is None and len(streams) > 1:
        raise Failure(f"name the stream of the file with --stream: {listed([*streams])}", WRONG_USE)
    chosen = next(iter(streams)) if name is None else name
    if chosen not in streams:
        raise Failure(f"there is no stream {chosen}; there are {listed([*streams])}", WRONG_USE)
    schema = streams[chosen].table_schema
    if schema is None:
        raise Failure(f"streams.{chosen} names no columns, so no file can be checked", WRONG_USE)
    return schema


def _look(file: str, file_format: str | None, schema: TableSchema) -> list[str]:
    """Print how each column of a file would be read; what would be refused, a sentence each."""
    counts: dict[str, Counter[str]] = {column.name: Counter() for column in schema.columns}
    rows, wrong_labels = 0, 0
    with explained(ValueError, status=WRONG_USE), explained(ClientError):
        source = Source(file, schema.x_type, schema, file_format=file_format)
        for cells in source.cells():
            rows += len(cells[0])
            for column, part in zip(schema.columns, cells, strict=False):
                counts[column.name].update(odd_cells(column, part))
            labels = cells[len(schema.columns)]
            wrong_labels += sum(not _is_label(schema, label) for label in labels)
    console().print(f"{file}: {number(rows)} rows")
    problems = [] if rows else [f"{file} holds no row"]
    for column in schema.columns:
        said = []
        for what, count in sorted(counts[column.name].items()):
            taken = _becomes(column, what)
            share = f"{100 * count / rows:.3g} % {what}"
            said.append(f"{share}, {taken}" if taken else f"{share}, refused")
            if not taken:
                problems.append(f"{_cells(count)} of column {column.name!r}: {what}")
        console().print(f"  {column.name}: {'; '.join(said) or 'every cell is read as it is'}")
    if wrong_labels:
        problems.append(f"{_cells(wrong_labels)} of column {schema.label!r}: no label")
    return problems


def _cells(count: int) -> str:
    return f"{number(count)} cell{'s' * (count != 1)}"


def _becomes(column: Column, what: str) -> str:
    """What becomes of odd cells of a column; "" if they are refused."""
    if what == "missing" and getattr(column, "missing", "refuse") != "bucket":
        return ""
    if what in ("below", "above") and isinstance(column, NumberColumn) and column.outside != "clip":
        return ""
    if what == "other" and isinstance(column, CategoryColumn) and column.other != "bucket":
        return ""
    return TAKEN.get(what, "")


def _is_label(schema: TableSchema, cell: object) -> bool:
    try:
        labels_of(schema, [cell])
    except BadRow:
        return False
    return True
