"""`littled verify`: a store checked offline.

Nothing that learns is imported here: the check derives what was charged by itself. Only --replay
runs the learners again.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from littled.cli.comparing import Comparison
from littled.cli.failures import Failure, explained
from littled.cli.output import console, number, print_json
from littled.cli.storing import StoreFiles, archive_option, store_argument, store_options
from littled.store.database import KnownPlans, all_known
from littled.store.errors import StoreError
from littled.store.place import StorePath
from littled.store.store import Store
from littled.store.verify import Report, Restored, StreamReport
from littled.store.verify import verify as check_store


@click.command()
@store_argument
@click.option(
    "--replay",
    is_flag=True,
    help="Run the learners over the whole journal again, and compare what they publish.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@archive_option
@store_options
def verify(
    store: StorePath, replay: bool, as_json: bool, archive: Path | None, files: StoreFiles
) -> None:
    """Check that STORE is whole and that no budget was ever exceeded; nothing is changed.

    Every link of the journal's hash chain is computed again, every price is derived again from its
    recorded event, and every sum is compared with the caps. Records that were moved into an archive
    are checked with it only. Exit status 1 means that something was found.
    """
    with explained(StoreError):
        known = _known_plans() if replay else all_known
        report = check_store(store, files.key, files.mark, archive=archive, known=known)
        compared = replayed(store, files, archive) if replay and report.sound else ()
    findings = [*report.findings, *(finding for part in compared for finding in part.findings)]
    if as_json:
        print_json(report_facts(report, compared, findings), indent=2)
    else:
        print_report(report, compared, findings)
    if findings:
        what = "one thing is wrong" if len(findings) == 1 else f"{len(findings)} things are wrong"
        skipped = "; not replayed" if replay and not report.sound else ""
        raise Failure(f"{what} with {store}{skipped}")


def _known_plans() -> KnownPlans:
    """What refuses plans that nobody here could run."""
    from littled.service.stored_plans import refuse_unknown  # noqa: PLC0415 -- imports the learners

    return refuse_unknown


def replayed(store: StorePath, files: StoreFiles, archive: Path | None) -> tuple[Comparison, ...]:
    """The comparison of every stream with the replay of its journal."""
    from littled.cli.replaying import compare_stream  # noqa: PLC0415 -- imports the learners

    with Store.open(store, files.key, files.mark, read_only=True, archive=archive) as opened:
        return tuple(compare_stream(opened, stream) for stream in opened.plans)


def report_facts(
    report: Report, compared: Sequence[Comparison], findings: Sequence[str]
) -> dict[str, Any]:
    """What was found, as a JSON object."""
    facts: dict[str, Any] = {
        "sound": not findings,
        "findings": list(findings),
        "streams": {
            checked.stream: {
                "records": checked.records,
                "examples": checked.examples,
                "ledger_entries": checked.entries,
                "releases": checked.releases,
                "predictions": checked.predictions,
                "spent_at_most": checked.spent.to_dict(),
                "restored": [restored_facts(restored) for restored in checked.restored],
                "archived_records": checked.archived,
                "unchecked_records": checked.unchecked,
                "closed": checked.closed,
            }
            for checked in report.streams
        },
    }
    if compared:
        facts["replay"] = {
            replayed.stream: {
                "releases": replayed.releases,
                "ledger_entries": replayed.entries,
                "predictions": replayed.predictions,
                "pending": replayed.pending,
                "findings": list(replayed.findings),
            }
            for replayed in compared
        }
    return facts


def print_report(report: Report, compared: Sequence[Comparison], findings: Sequence[str]) -> None:
    """What was found, for people."""
    screen = console()
    for stream in report.streams:
        screen.print(
            f"{stream.stream}: {number(stream.examples)} examples in {number(stream.records)} "
            f"records, {number(stream.entries)} charges, {number(stream.releases)} releases"
            + answered(stream.predictions)
            + ("; closed" if stream.closed else "")
        )
        if stream.archived:
            screen.print(f"{stream.stream}: {archived_line(stream)}")
        for restored in stream.restored:
            screen.print(f"{stream.stream}: {restored_line(restored)}")
    for replayed in compared:
        screen.print(
            f"{replayed.stream}: replayed, {number(replayed.releases)} releases and "
            f"{number(replayed.entries)} charges compared byte for byte"
            + answered(replayed.predictions)
        )
        if replayed.pending:
            screen.print(
                f"{replayed.stream}: {number(replayed.pending)} releases are still to come: the "
                "daemon was stopped before it had learned the end of the journal"
            )
    for finding in findings:
        screen.print(f"- {finding}", style="red")
    if not findings:
        screen.print("sound: the chain is whole and no budget was exceeded", style="green")


def archived_line(stream: StreamReport) -> str:
    """What of a stream is in an archive, and what is believed where that was not given."""
    line = f"{number(stream.archived)} of the records are in an archive"
    if not stream.unchecked:
        return f"{line} and were checked there"
    return (
        f"{line} and were not checked; the head after them, and where producers without a later "
        "record stand, are believed: name the archive's folder with --archive"
    )


def answered(predictions: int) -> str:
    """How many requests were answered, where there are any."""
    if not predictions:
        return ""
    return f", {number(predictions)} {'request' if predictions == 1 else 'requests'} answered"


def restored_facts(restored: Restored) -> dict[str, Any]:
    """A restore as a JSON object."""
    return {
        "position": restored.position,
        "season_closed": restored.season,
        "counted": None if restored.counted is None else restored.counted.to_dict(),
    }


def restored_line(restored: Restored) -> str:
    """A restore for people."""
    line = f"restored from a copy, went on at position {number(restored.position)}"
    if restored.season is None or restored.counted is None:
        return f"{line}; the season before it is closed when the daemon next starts"
    return (
        f"{line}; season {restored.season} is closed and counts as having spent "
        f"({restored.counted.in_words()})"
    )
