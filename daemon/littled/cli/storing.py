"""Options of commands that open or make a store; a group arrives at a command as one value."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from littled.cli.options import with_options
from littled.store.errors import StoreRefused
from littled.store.place import MarkPlace, StorePath, is_url, mark_place

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class StoreFiles:
    """Where a store's two other files are; None means in the store."""

    key: Path | None
    mark: MarkPlace | None


class StoreParameter(click.Path):
    """Where a store is: a folder, or the URL of a database of PostgreSQL."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> StorePath:
        """A path, or the URL as it was given."""
        if is_url(value):
            return str(value)
        return Path(super().convert(value, param, ctx))  # type: ignore[arg-type]


def store_argument(command: Command) -> Command:
    """Add STORE."""
    return click.argument("store", type=StoreParameter(path_type=Path))(command)


class MarkParameter(click.ParamType[MarkPlace]):
    """Where a high-water mark is kept: a path or a URL."""

    name = "mark"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> MarkPlace:
        """The place that was named, or click's error with the sentence of StoreRefused."""
        try:
            return mark_place(value)
        except StoreRefused as error:
            self.fail(str(error), param, ctx)


def store_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --key and --mark; the command gets them as `files`, a StoreFiles."""

    @functools.wraps(command)
    def wrapped(*, key: Path | None, mark: MarkPlace | None, **others: Any) -> Any:
        return command(files=StoreFiles(key, mark), **others)

    return with_options(
        wrapped,
        click.option(
            "--key",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Noise key, if it is not in STORE.",
        ),
        click.option(
            "--mark",
            type=MarkParameter(),
            metavar="PLACE",
            help="High-water mark, if it is not in STORE: a file, best on another disk, or "
            "etcd://HOST:PORT,HOST:PORT/PREFIX (docs/more-than-one-machine.md).",
        ),
    )


def archive_option(command: Command) -> Command:
    """Add --archive: the folder with what was moved out of a store."""
    return click.option(
        "--archive",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        help="Folder into which littled archive has moved the oldest records.",
    )(command)
