"""`littled stream`: streams that come to a store, and streams that end; the daemon is stopped."""

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import click

from littled.budget.ledger import LedgerEntry
from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.hints import serve_command
from littled.cli.output import console, listed, notes, number, print_json
from littled.cli.stores import planned, print_plans
from littled.cli.storing import StoreFiles, archive_option, store_argument, store_options
from littled.configuration import ConfigurationError, load_configuration
from littled.engine import Engine, in_turns, newest_usable
from littled.groups.partitions import GroupRefused, check_streams
from littled.mechanisms.noise import KeyedNoise
from littled.service.stored_plans import refuse_unknown, stored_plan
from littled.store.errors import StoreError
from littled.store.place import StorePath
from littled.store.records import StoredRelease
from littled.store.store import Store


@click.group()
def stream() -> None:
    """Add streams to a store, or close one for ever; the daemon must be stopped."""


@stream.command()
@store_argument
@click.argument("configuration", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@store_options
def add(store: StorePath, configuration: Path, as_json: bool, files: StoreFiles) -> None:
    """Add streams to STORE: those of CONFIGURATION that it does not have yet.

    CONFIGURATION may be the file that the store was made from, with more streams at its end, or one
    with the new streams alone. Streams that the store has must be in it as they are, or not at all.
    Each new stream has a budget of its own; those of the others do not change. All are added, or
    none. A name that was used once is not used again, also after its stream was closed.
    """
    with explained(ConfigurationError, status=WRONG_USE):
        wanted = load_configuration(configuration)
    with (
        explained(StoreError),
        Store.open(store, files.key, files.mark, known=refuse_unknown) as opened,
    ):
        asked = wanted.to_dict()["streams"]
        known = opened.configuration.get("streams", {})
        for name in opened.plans:
            if name in asked and asked[name] != known.get(name):
                closed = ", and it is closed" if name in opened.closed else ""
                raise Failure(
                    f"the store has a stream {name} already{closed}, with another configuration: "
                    "give the new one another name, or leave it out",
                    WRONG_USE,
                )
        new = {name: part for name, part in wanted.streams.items() if name not in opened.plans}
        if not new:
            raise Failure(
                f"the store has all streams of {configuration} already: {listed([*asked])}",
                WRONG_USE,
            )
        with explained(GroupRefused, status=WRONG_USE):
            check_streams(new, opened.configuration.get("group"))
        plans = {name: planned(part) for name, part in new.items()}
        opened.add_streams(
            {"streams": {name: asked[name] for name in new}},
            {name: plan.to_dict() for name, plan in plans.items()},
        )
        streams = len(opened.plans)
    if as_json:
        print_json({"added": [*new], "streams": streams}, indent=2)
        return
    console().print(f"added {listed([*new])}; {store} has {number(streams)} streams now")
    print_plans(new, plans)
    console().print(f"next: {serve_command(store, files)}")


@stream.command()
@store_argument
@click.argument("name", metavar="STREAM")
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@archive_option
@store_options
def close(
    store: StorePath, name: str, yes: bool, as_json: bool, archive: Path | None, files: StoreFiles
) -> None:
    """Close STREAM of STORE for ever: it takes no more examples and gives no more answers.

    First it learns what it has taken in. Its rules stay as they are, and who subscribes to them or
    asks for its ledger gets what there is. It cannot be opened again, and no other stream can have
    its name.
    """
    with (
        explained(StoreError),
        Store.open(store, files.key, files.mark, archive=archive, known=refuse_unknown) as opened,
    ):
        if name not in opened.plans:
            raise Failure(
                f"the store has no stream {name}; it has {listed([*opened.plans])}", WRONG_USE
            )
        if name in opened.closed:
            raise Failure(f"stream {name} is closed already", WRONG_USE)
        if not yes:
            _confirm(name)
        catch_up(opened, name)
        opened.close_stream(name)
        position, entries = opened.position(name), len(opened.ledger(name))
    if as_json:
        print_json({"closed": name, "position": position, "ledger_entries": entries}, indent=2)
        return
    console().print(
        f"closed {name} after {number(position)} examples and {number(entries)} charges; what it "
        "has published stays"
    )


def _confirm(name: str) -> None:
    """Ask whether to go on; Failure where nobody can answer, or the answer is no."""
    if not sys.stdin.isatty():
        raise Failure(f"nothing was changed: say --yes to close {name} for ever", WRONG_USE)
    if not click.confirm(f"close {name} for ever?", err=True):
        raise Failure("nothing was changed")


class _Durable:
    """An outlet that makes everything durable at once; nobody is there to be shown it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def charge(self, entry: LedgerEntry) -> None:
        """Make a charge durable."""
        self._store.charge(entry)

    def publish(self, releases: Sequence[StoredRelease], entries: Sequence[LedgerEntry]) -> None:
        """Make releases and charges durable in one transaction."""
        self._store.publish(releases, entries)


def catch_up(store: Store, name: str) -> None:
    """Let a stream learn what is in its journal, as a daemon does when it starts. StoreError."""
    plan, noise = stored_plan(store, name), KeyedNoise(store.noise_key)
    with ThreadPoolExecutor(1) as executor:
        make = partial(Engine, plan, noise, _Durable(store), executor)
        engine, saved, has_unusable = newest_usable(store.snapshots(name), make)
        if has_unusable and saved < 0:
            notes().print(f"note: the snapshot of {name} is not usable, replaying from the start")
        engine.start()
        for together in in_turns(store.records(name, engine.record_number)):
            engine.apply_all(together)
        if engine.record_number >= 0:
            store.save_snapshot(name, engine.record_number, engine.snapshot())
