"""`littled init`: stores before their first day."""

from itertools import chain
from pathlib import Path

import click

from littled.cli.failures import WRONG_USE, explained
from littled.cli.hints import serve_command
from littled.cli.options import StoreFiles, store_options
from littled.cli.output import console, notes
from littled.cli.presenting import chosen_notes, hopeless, plan_notes, plan_tables
from littled.cli.quality import quality_lines
from littled.cli.tabling import print_table
from littled.configuration import ConfigurationError, StreamConfiguration, load_configuration
from littled.planner import PlanError, StreamPlan, plan_stream
from littled.store.errors import StoreError, StoreRefused
from littled.store.store import Store


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
    same budget is shown for each learner, where they are possible; `littled plan` says why the
    rest are not. The noise key is drawn here too: keep a copy of it somewhere safe, since nobody
    can add to the store without it.
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
        stream = wanted.streams[plan.stream]
        request = stream.request()
        for table in plan_tables(plan, request):
            print_table(table)
        for line in quality_lines(plan):
            screen.print(line)
        said = (chosen_notes(stream), plan_notes(plan, request), hopeless(plan, request))
        for note in chain(*said):
            notes().print(f"note: {note}")
        if plan.delta * plan.horizon > 1:
            notes().print(
                f"note: streams.{plan.stream}.delta is greater than 1/horizon; one example of a "
                "season might then be given away and the promise still be kept"
            )
    screen.print(f"next: {serve_command(store, files)}")


def planned(stream: StreamConfiguration) -> StreamPlan:
    """The plan of a stream; Failure with the stream's key when there is none."""
    with explained(PlanError, status=WRONG_USE, before=f"streams.{stream.name}: "):
        return plan_stream(stream.request())
