"""`littled archive`: the oldest records of a store in files of their own."""

from pathlib import Path

import click

from littled.cli.failures import explained
from littled.cli.output import console, number, print_json
from littled.cli.storing import StoreFiles, store_argument, store_options
from littled.service.stored_plans import refuse_unknown
from littled.store.archive import Stretch
from littled.store.errors import StoreError
from littled.store.place import StorePath
from littled.store.store import Store


@click.command()
@store_argument
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@store_options
def archive(store: StorePath, folder: Path, as_json: bool, files: StoreFiles) -> None:
    """Move the oldest records of STORE into files in DIR; the daemon must be stopped.

    What lies behind the oldest snapshot goes, as no daemon reads it again; the store keeps where
    its chain goes on, its ledger and its releases, and gives the room back to the disk. Each file
    is on the disk and was read back before its records leave the store. After an interruption, say
    the same again. The files are as private as the store: keep them as long as somebody may want to
    check or replay the journal (--archive of verify, restore and serve), and delete them when the
    examples must be gone.
    """
    moved: list[Stretch] = []
    with (
        explained(StoreError),
        Store.open(store, files.key, files.mark, known=refuse_unknown) as opened,
    ):
        while opened.pack():
            pass
        for stretch in opened.archive(folder):
            moved.append(stretch)
            if not as_json:
                console().print(line(stretch))
    if as_json:
        print_json({"files": [facts(segment) for segment in moved]}, indent=2)
    elif not moved:
        console().print("nothing to archive: everything is needed since the oldest snapshot")


def line(stretch: Stretch) -> str:
    """What a file holds, for people."""
    return (
        f"{stretch.name}: {number(stretch.examples)} examples in "
        f"{number(stretch.last - stretch.first + 1)} records of {stretch.stream}, to position "
        f"{number(stretch.end_position)}"
    )


def facts(stretch: Stretch) -> dict[str, object]:
    """The same as a JSON object."""
    return {
        "file": stretch.name,
        "stream": stretch.stream,
        "first_record": stretch.first,
        "last_record": stretch.last,
        "examples": stretch.examples,
        "next_position": stretch.end_position,
        "checksum": stretch.checksum.hex(),
    }
