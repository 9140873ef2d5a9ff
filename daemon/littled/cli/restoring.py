"""`littled restore`: the way on with an older copy of a store, where nothing newer is left."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.hints import serve_command
from littled.cli.output import console, number, print_json
from littled.cli.storing import StoreFiles, archive_option, store_argument, store_options
from littled.service.stored_plans import refuse_unknown
from littled.store.errors import StoreError
from littled.store.place import StorePath
from littled.store.restoring import Lost, Restoring
from littled_protocol.figures import measured_by


@click.command()
@store_argument
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
@click.option(
    "--copy", is_flag=True,
    help="STORE is a copy, although it has all that its high-water mark knows.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@archive_option
@store_options
def restore(
    store: StorePath, yes: bool, copy: bool, as_json: bool, archive: Path | None, files: StoreFiles
) -> None:
    """Let STORE go on, an older copy of a store whose newest high-water mark is at hand.

    A copy is refused by everything else, as it does not know what was spent after it was made. Here
    it says what is lost, and goes on without reusing any of it: every stream ends its season, which
    counts as having spent what the mark says, and opens a new one with a new budget; versions,
    positions and the numbers of producers go on above those that were lost; noise is never drawn
    twice. Examples that were lost are not learned from again, even if they are fed again.
    """
    with (
        explained(StoreError),
        Restoring.open(
            store, files.key, files.mark, copy=copy, archive=archive, known=refuse_unknown
        ) as found,
    ):
        if not as_json:
            for line in lines(found):
                console().print(line)
        if not yes:
            confirm()
        found.finish()
    if as_json:
        print_json(facts(found), indent=2)
    else:
        console().print(f"restored {store}; next: {serve_command(store, files, archive)}")


def confirm() -> None:
    """Ask whether to go on; Failure where nobody can answer, or the answer is no."""
    if not sys.stdin.isatty():
        raise Failure("nothing was changed: say --yes to go on from this copy", WRONG_USE)
    if not click.confirm("go on from this copy?", err=True):
        raise Failure("nothing was changed")


def lines(found: Restoring) -> Iterator[str]:
    """What is lost and how each stream goes on, for people."""
    for stream in found.gone:
        yield f"{stream}: lost as a whole, as it was added after the copy; its name stays used"
    if found.mark_lost:
        yield (
            "the mark itself is an older one: every season that ends here counts as spent in full, "
            "and only the newest copy of the store may go on"
        )
    for lost in found.lost:
        marked = lost.marked
        yield (
            f"{lost.stream}: the copy ends at position {number(lost.position)}, in season "
            f"{lost.season}; its mark was at position {number(marked.position)}, in season "
            f"{marked.season}"
        )
        yield (
            f"{lost.stream}: lost are {number(marked.records)} records, {number(marked.entries)} "
            f"charges, {number(marked.predictions)} answered requests, and whatever was "
            "acknowledged after the mark"
        )
        for learner, version in marked.versions.items():
            before = lost.versions.get(learner, 0)
            if version > before:
                measured = measured_by(learner)
                what = "versions" if measured is None else "figures of quality"
                whose = measured or learner
                yield f"{lost.stream}: lost are {what} {before + 1} to {version} of {whose}"
        yield (
            f"{lost.stream}: season {lost.season} is closed and counts as having spent "
            f"({lost.counted.in_words()}); the copy knows of ({lost.spent.in_words()})"
        )
        yield (
            f"{lost.stream}: goes on with season {lost.next_season} at position "
            f"{number(lost.next_position)}, with a new budget for new examples"
            if lost.stream not in found.closed
            else f"{lost.stream}: closed again, for ever"
        )


def facts(found: Restoring) -> dict[str, Any]:
    """The same as a JSON object."""
    return {
        "instance": found.instance,
        "lost_streams": list(found.gone),
        "closed_streams": list(found.closed),
        "mark_lost": bool(found.mark_lost),
        "streams": {
            lost.stream: {
                "position": lost.position,
                "season": lost.season,
                "spent": lost.spent.to_dict(),
                "mark": {
                    "position": lost.marked.position,
                    "season": lost.marked.season,
                    "spent": lost.marked.spent.to_dict(),
                },
                "lost_records": lost.marked.records,
                "lost_ledger_entries": lost.marked.entries,
                "lost_predictions": lost.marked.predictions,
                "lost_versions": {
                    learner: versions
                    for learner, versions in _lost_versions(lost).items()
                    if measured_by(learner) is None
                },
                "lost_figures": {
                    measured: versions
                    for learner, versions in _lost_versions(lost).items()
                    if (measured := measured_by(learner)) is not None
                },
                "counted": lost.counted.to_dict(),
                "next_season": lost.next_season,
                "next_position": lost.next_position,
            }
            for lost in found.lost
        },
    }


def _lost_versions(lost: Lost) -> dict[str, list[int]]:
    """First and last of the lost releases, by the name under which they were stored."""
    return {
        name: [lost.versions.get(name, 0) + 1, last]
        for name, last in lost.marked.versions.items()
        if last > lost.versions.get(name, 0)
    }
