"""`littled init` and `littled verify`: stores before their first day, and whenever in doubt."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.options import StoreFiles, store_options
from littled.cli.output import console, notes, number, print_json
from littled.cli.plans import plan_tables, ways_table
from littled.cli.replaying import Comparison, compare_stream
from littled.configuration import ConfigurationError, StreamConfiguration, load_configuration
from littled.planner import PlanError, StreamPlan, compare_ways, plan_stream
from littled.store.errors import StoreError, StoreRefused
from littled.store.store import Store
from littled.store.verify import Report
from littled.store.verify import verify as check_store


@click.command()
@click.argument("store", type=click.Path(path_type=Path))
@click.option(
    "--config",
    "configuration",
    required=True,
    type=click.Path(path_type=Path),
    help="TOML file that names streams, budgets and learners.",
)
@store_options
def init(store: Path, configuration: Path, files: StoreFiles) -> None:
    """Create STORE, a new folder, for the streams of a configuration.

    Budgets and learners are fixed here for good; what other ways of selection would do with the
    same budget is shown for each learner, as by `littled plan`. The noise key is drawn here too:
    keep a copy of it somewhere safe, since nobody can add to the store without it.
    """
    with explained(ConfigurationError, status=WRONG_USE):
        wanted = load_configuration(configuration)
    plans = {name: planned(stream) for name, stream in wanted.streams.items()}
    with explained(StoreError), explained(StoreRefused, status=WRONG_USE):
        Store.create(
            store,
            wanted.to_dict(),
            {name: plan.to_dict() for name, plan in plans.items()},
            key_path=files.key,
            mark_path=files.mark,
        )
    screen = console()
    screen.print(f"created {store}")
    for plan in plans.values():
        for table in plan_tables(plan):
            screen.print(table)
        request = wanted.streams[plan.stream].request()
        for each in plan.online:
            ways = compare_ways(request, each.name)
            screen.print(ways_table(ways, f"{plan.stream}/{each.name}"))
        if plan.delta * plan.horizon > 1:
            notes().print(
                f"note: streams.{plan.stream}.delta is greater than 1/horizon; one example of a "
                "season might then be given away and the promise still be kept"
            )
    screen.print(f"next: littled serve {store}")


def planned(stream: StreamConfiguration) -> StreamPlan:
    """The plan of a stream; Failure with the stream's key when there is none."""
    with explained(PlanError, status=WRONG_USE, before=f"streams.{stream.name}: "):
        return plan_stream(stream.request())


@click.command()
@click.argument("store", type=click.Path(path_type=Path))
@click.option(
    "--replay",
    is_flag=True,
    help="Run the learners over the whole journal again, and compare what they publish.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@store_options
def verify(store: Path, replay: bool, as_json: bool, files: StoreFiles) -> None:
    """Check that STORE is whole and that no budget was ever exceeded; nothing is changed.

    Every link of the journal's hash chain is computed again, every price is derived again from its
    recorded event, and every sum is compared with the caps. Exit status 1 means that something was
    found.
    """
    with explained(StoreError):
        report = check_store(store, files.key, files.mark)
        compared = replayed(store, files) if replay and report.sound else ()
    findings = [*report.findings, *(each for part in compared for each in part.findings)]
    if as_json:
        print_json(report_facts(report, compared, findings), indent=2)
    else:
        print_report(report, compared, findings)
    if findings:
        what = "one thing is wrong" if len(findings) == 1 else f"{len(findings)} things are wrong"
        skipped = "; not replayed" if replay and not report.sound else ""
        raise Failure(f"{what} with {store}{skipped}")


def replayed(store: Path, files: StoreFiles) -> tuple[Comparison, ...]:
    """The comparison of every stream with the replay of its journal."""
    with Store.open(store, files.key, files.mark, read_only=True) as opened:
        return tuple(compare_stream(opened, stream) for stream in opened.plans)


def report_facts(
    report: Report, compared: Sequence[Comparison], findings: Sequence[str]
) -> dict[str, Any]:
    """What was found, as a JSON object."""
    facts: dict[str, Any] = {
        "sound": not findings,
        "findings": list(findings),
        "streams": {
            each.stream: {
                "records": each.records,
                "examples": each.examples,
                "ledger_entries": each.entries,
                "releases": each.releases,
                "predictions": each.predictions,
                "spent_at_most": each.spent.to_dict(),
            }
            for each in report.streams
        },
    }
    if compared:
        facts["replay"] = {
            each.stream: {
                "releases": each.releases,
                "ledger_entries": each.entries,
                "predictions": each.predictions,
                "pending": each.pending,
                "findings": list(each.findings),
            }
            for each in compared
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
        )
    for each in compared:
        screen.print(
            f"{each.stream}: replayed, {number(each.releases)} releases and "
            f"{number(each.entries)} charges compared byte for byte" + answered(each.predictions)
        )
        if each.pending:
            screen.print(
                f"{each.stream}: {number(each.pending)} releases are still to come: the daemon was "
                "stopped before it had learned the end of the journal"
            )
    for finding in findings:
        screen.print(f"- {finding}", style="red")
    if not findings:
        screen.print("sound: the chain is whole and no budget was exceeded", style="green")


def answered(predictions: int) -> str:
    """How many requests were answered, where there are any."""
    if not predictions:
        return ""
    return f", {number(predictions)} {'request' if predictions == 1 else 'requests'} answered"
