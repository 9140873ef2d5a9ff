"""`littled init`: stores before their first day."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import click

from littled.cli.executing import ExecutorChoice, executor_options
from littled.cli.failures import WRONG_USE, explained
from littled.cli.hints import serve_command
from littled.cli.output import console, listed, notes
from littled.cli.presenting import chosen_notes, hopeless, plan_notes, plan_tables
from littled.cli.quality import quality_lines
from littled.cli.storing import StoreFiles, store_argument, store_options
from littled.cli.tabling import print_table
from littled.configuration import ConfigurationError, StreamConfiguration, load_configuration
from littled.planner import PlanError, StreamPlan, StreamRequest, plan_stream
from littled.store.errors import StoreError, StoreRefused
from littled.store.place import StorePath
from littled.store.store import Store


@click.command()
@store_argument
@click.option(
    "--config",
    "configuration",
    required=True,
    type=click.Path(path_type=Path),
    help="TOML file that names streams, budgets and learners.",
)
@executor_options
@store_options
def init(
    store: StorePath, configuration: Path, files: StoreFiles, executor: ExecutorChoice
) -> None:
    """Create STORE, a new folder, for the streams of a configuration.

    Budgets and learners are fixed here for good; what other ways of selection would do with the
    same budget is shown for each learner, where they are possible; `littled plan` says why the
    rest are not. The noise key is drawn here too: keep a copy of it somewhere safe, since nobody
    can add to the store without it.
    """
    with explained(ConfigurationError, status=WRONG_USE):
        wanted = load_configuration(configuration)
    plans = all_planned(wanted.streams, executor)
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
    print_plans(wanted.streams, plans)
    screen.print(f"next: {serve_command(store, files)}")


def print_plans(
    streams: Mapping[str, StreamConfiguration], plans: Mapping[str, StreamPlan]
) -> None:
    """Print what streams may do; those that differ in nothing but their names are shown once."""
    for name, *others in alike(streams):
        plan = plans[name]
        for note in print_plan(streams[name], plan, others):
            notes().print(f"note: {note}")
        if plan.delta * plan.horizon > 1:
            notes().print(
                f"note: streams.{plan.stream}.delta is greater than 1/horizon; one example of a "
                "season might then be given away and the promise still be kept"
            )


def print_plan(
    stream: StreamConfiguration, plan: StreamPlan, others: Sequence[str]
) -> Iterator[str]:
    """Print what a stream may do, and others that differ in the name; a sentence for each doubt."""
    request = stream.request()
    for table in plan_tables(plan, request):
        print_table(table)
    for line in quality_lines(plan):
        console().print(line)
    if others:
        console().print(f"the same for {listed(others)}")
    for note in (*chosen_notes(stream), *plan_notes(plan, request)):
        notes().print(f"note: {note}")
    return hopeless(plan, request)


def alike(streams: Mapping[str, StreamConfiguration]) -> list[list[str]]:
    """The names of streams, those together that differ in nothing but their names."""
    groups: dict[tuple[StreamRequest, tuple[str, ...]], list[str]] = {}
    for name, stream in streams.items():
        asked = replace(stream.request(), name=""), tuple(stream.chosen_classes)
        groups.setdefault(asked, []).append(name)
    return [*groups.values()]


def all_planned(
    streams: Mapping[str, StreamConfiguration], executor: ExecutorChoice
) -> dict[str, StreamPlan]:
    """The plans of streams; on a cluster, those that differ side by side. Failure as `planned`."""
    with executor.running() as there:
        if there is None:
            return {name: planned(stream) for name, stream in streams.items()}
        groups = alike(streams)
        asked = [there.submit(plan_stream, streams[name].request()) for name, *_ in groups]
        found: dict[str, StreamPlan] = {}
        for names, plan in zip(groups, asked, strict=True):
            with _explained(names[0]):
                found |= {name: replace(plan.result(), stream=name) for name in names}
        return {name: found[name] for name in streams}


def planned(stream: StreamConfiguration) -> StreamPlan:
    """The plan of a stream; Failure with the stream's key when there is none."""
    with _explained(stream.name):
        return plan_stream(stream.request())


def _explained(stream: str) -> AbstractContextManager[None]:
    return explained(PlanError, status=WRONG_USE, before=f"streams.{stream}: ")
