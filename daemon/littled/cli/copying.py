"""`littled copy`: a store in another place, in a folder or on a server, and in that place alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.hints import serve_command
from littled.cli.output import console, notes, print_json
from littled.cli.progress import bytes_progress
from littled.cli.storing import (
    MarkParameter,
    StoreFiles,
    StoreParameter,
    archive_option,
    store_argument,
    store_options,
)
from littled.service.stored_plans import refuse_unknown
from littled.store.errors import StoreError
from littled.store.moving import Moving, Progress
from littled.store.place import MarkPlace, Place, StorePath, is_url


@click.command()
@store_argument
@click.argument("target", type=StoreParameter(path_type=Path))
@click.option(
    "--to-key",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Noise key of TARGET, if it is not to be in it.",
)
@click.option(
    "--to-mark",
    type=MarkParameter(),
    metavar="PLACE",
    help="High-water mark of TARGET, if it is not to be in it: a place where none is yet.",
)
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@archive_option
@store_options
def copy(
    store: StorePath,
    target: StorePath,
    to_key: Path | None,
    to_mark: MarkPlace | None,
    yes: bool,
    as_json: bool,
    archive: Path | None,
    files: StoreFiles,
) -> None:
    """Move STORE to TARGET, a new folder or an empty database, with all that is in it.

    The daemon must be stopped. Every row is copied, and compared byte for byte; then STORE is
    closed for good, and TARGET goes on with the same chain, charges, releases and noise key: two
    stores that both go on would spend the same budget twice. After an interruption, say the same
    again. Whatever lies in an archive stays there, and is TARGET's from then on.
    """
    if is_url(target) and (to_key is None or to_mark is None):
        raise Failure(
            "the noise key and the high-water mark of a store in PostgreSQL are not in it: name "
            "where TARGET is to have both, --to-key FILE and --to-mark PLACE",
            WRONG_USE,
        )
    with explained(StoreError):
        source = Place.of(store, files.key, files.mark)
        place = Place.of(target, to_key, to_mark)
        with _progress() as progress:
            moving = Moving.open(
                source, place, archive=archive, progress=progress, known=refuse_unknown
            )
        with moving:
            resumed = moving.left is not None
            if not yes:
                _confirm(store, target)
            with _progress() as progress:
                moving.progress = progress
                moving.finish()
    if as_json:
        print_json(_facts(moving, resumed=resumed), indent=2)
        return
    there = StoreFiles(to_key, to_mark)
    console().print(f"copied {store} to {target}; next: {serve_command(target, there, archive)}")
    notes().print(
        f"note: {store} is used by nobody any more; it still holds examples, so remove it once "
        "the copy is backed up"
    )


def _confirm(store: StorePath, target: StorePath) -> None:
    """Ask whether to go on; Failure where nobody can answer, or the answer is no."""
    if not sys.stdin.isatty():
        raise Failure(
            f"nothing was copied: say --yes to use the store in {target} from now on, and never "
            f"again in {store}",
            WRONG_USE,
        )
    if not click.confirm(
        f"use the store in {target} from now on, never again in {store}?", err=True
    ):
        raise Failure("nothing was copied")


def _facts(moving: Moving, *, resumed: bool) -> dict[str, Any]:
    """What was moved, as a JSON object."""
    move = moving.move
    return {
        "instance": move.instance,
        "source": move.source,
        "target": move.target,
        "mark": move.mark,
        "streams": [*moving.facts.streams],
        "resumed": resumed,
    }


@contextmanager
def _progress() -> Iterator[Progress]:
    """What is being done, in a terminal."""
    with bytes_progress() as bar:
        tasks: dict[str, Any] = {}

        def tell(what: str, done: int) -> None:
            if what not in tasks:
                for each in tasks.values():
                    bar.stop_task(each)
                tasks[what] = bar.add_task(what, total=None)
            bar.advance(tasks[what], done)

        yield tell
