"""`littled group add`: one more partition for a group, while its members run.

The names of its streams are used up first in the stores where their hash has them, each by a stream
that is closed before its first example (`littled.groups.partitions`). Only then is there a store in
which they learn, so that no name is ever in two.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import click

from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.grouping import group_argument, group_explained, key_of, keys_option
from littled.cli.output import console, number
from littled.cli.partitions import make_store, store_of
from littled.cli.stores import planned, print_plans
from littled.configuration import ConfigurationError, load_configuration
from littled.groups.agreement import Agreement, Directory, mark_of
from littled.groups.partitions import (
    PARTITIONS_MAX,
    GroupRefused,
    given_away,
    label,
    names_given,
    partition_of,
    told_to_store,
)
from littled.limits import GROUP_ADDING_SECONDS
from littled.service.stored_plans import refuse_unknown
from littled.store.place import StorePath, is_url
from littled.store.store import Store

_LOOK_SECONDS = 0.2


@click.command()
@group_argument
@click.option(
    "--config", "configuration", required=True, type=click.Path(path_type=Path),
    help="TOML file that names the streams of the new partition, budgets and learners.",
)  # fmt: skip
@click.option(
    "--store", metavar="STORE",
    help="As of littled group init, if the new store is not to be beside that of partition 00.",
)  # fmt: skip
@keys_option
def add(place: Any, configuration: Path, store: str | None, keys: Path | None) -> None:
    """Add a partition with new streams to GROUP, while its members run.

    The streams of the configuration are the partition's for ever, and no others ever come into it.
    Other partitions keep what they have. Those whose hash the new names have are not served for
    some seconds, as their stores note that these names are used up.

    Members take the new partition by themselves, once they have its noise key: it is drawn into
    --keys, from where each machine needs a copy. Where the command is stopped, say the same again.
    """
    with explained(ConfigurationError, status=WRONG_USE):
        wanted = load_configuration(configuration)
    whole, plans = wanted.to_dict(), {n: planned(part) for n, part in wanted.streams.items()}
    told_plans = {name: plan.to_dict() for name, plan in plans.items()}
    with group_explained(), closing(Agreement(place)) as agreement:
        lease = agreement.grant(GROUP_ADDING_SECONDS)
        try:
            agreement.begin_adding(lease)
            directory = agreement.directory()
            partition = directory.partitions
            there = _place_of(directory, store, agreement, keys)
            names = _divided(directory, whole["streams"])
            for former, its in names.items():
                _check(agreement, directory, former, keys, its, partition)
            for former, its in names.items():
                parts = {name: given_away(whole["streams"][name], partition) for name in its}
                its_plans = {name: told_plans[name] for name in its}
                with _paused(agreement, former, lease):
                    _use_up(agreement, directory, former, keys, parts, its_plans)
            part = {
                **whole,
                "group": told_to_store(partition, directory.first, whole["streams"]),
            }
            make_store(place, partition, there, keys, part, told_plans)
            agreement.add(partition, str(there), [*whole["streams"]])
        finally:
            agreement.revoke(lease)
    count = number(len(plans))
    console().print(f"added partition {label(partition)} to {place}, with {count} streams")
    print_plans(wanted.streams, plans)
    if keys is not None:
        file = key_of(keys, partition)
        console().print(f"next: give {file} to each machine; members then serve the partition")


def _place_of(
    directory: Directory, store: str | None, agreement: Agreement, keys: Path | None
) -> StorePath:
    """Where the new store is to be."""
    partition = directory.partitions
    if partition >= PARTITIONS_MAX:
        raise GroupRefused(f"a group has at most {PARTITIONS_MAX} partitions")
    if store is not None:
        return store_of(store, agreement.place, partition, keys)
    first = directory.stores[0]
    if not first.endswith(label(0)):
        raise GroupRefused(f"the store of partition 00 is {first}: say --store for the new one")
    if is_url(first) and keys is None:
        raise GroupRefused("noise keys are not in PostgreSQL: say --keys FOLDER")
    beside = first.removesuffix(label(0)) + label(partition)
    return beside if is_url(first) else Path(beside)


def _divided(directory: Directory, streams: Mapping[str, Any]) -> dict[int, list[str]]:
    """New names by the partition that would have them. GroupRefused for one that was added."""
    found: dict[int, list[str]] = {}
    for name in streams:
        now = directory.partition_of(name)
        if directory.names(now) is not None:
            raise GroupRefused(
                f"stream {name} is in partition {label(now)}, which was added with it: leave it out"
            )
        found.setdefault(partition_of(name, directory.first), []).append(name)
    return dict(sorted(found.items()))


def _open(
    agreement: Agreement, directory: Directory, partition: int, keys: Path | None, **options: Any
) -> Store:
    """The store of a partition."""
    key, mark = key_of(keys, partition), mark_of(agreement.place, partition)
    if key is not None and not key.exists():
        raise GroupRefused(f"the noise key {key} is missing: put the group's keys there")
    return Store.open(directory.stores[partition], key, mark, known=refuse_unknown, **options)


def _check(
    agreement: Agreement,
    directory: Directory,
    former: int,
    keys: Path | None,
    names: list[str],
    partition: int,
) -> None:
    """GroupRefused where a store has one of the names; it may be served meanwhile."""
    with _open(agreement, directory, former, keys, read_only=True) as store:
        known = names_given(store.configuration)
        for name in names:
            if (name in store.plans and known.get(name) != partition) or name in store.lost:
                raise GroupRefused(
                    f"partition {label(former)} has or had a stream {name} already, and a stream "
                    "in two stores would have two budgets: use another name"
                )


@contextmanager
def _paused(agreement: Agreement, partition: int, lease: int) -> Iterator[None]:
    """Have nobody serve a partition. Failure where somebody goes on."""
    if not agreement.renew(lease):
        raise GroupRefused("etcd was away for too long: say the same again")
    agreement.pause(partition, lease)
    try:
        until = time.monotonic() + GROUP_ADDING_SECONDS / 2
        while (served := agreement.present().tenures.get(partition)) is not None:
            if time.monotonic() > until:
                raise Failure(
                    f"{served.member} does not give up partition {label(partition)}: see whether "
                    "it is of this version, and say the same again"
                )
            time.sleep(_LOOK_SECONDS)
        yield
    finally:
        agreement.resume(partition)


def _use_up(
    agreement: Agreement,
    directory: Directory,
    former: int,
    keys: Path | None,
    parts: Mapping[str, Any],
    plans: Mapping[str, Mapping[str, Any]],
) -> None:
    """Let a store have streams of these names that are closed before their first example."""
    with _open(agreement, directory, former, keys) as store:
        new = [name for name in parts if name not in store.plans]
        if new:
            streams = {name: parts[name] for name in new}
            store.add_streams({"streams": streams}, {name: plans[name] for name in new})
        for name in parts:
            # Of a command that was stopped here; since then the store was served by itself.
            if store.position(name):
                raise GroupRefused(
                    f"stream {name} was fed in partition {label(former)} meanwhile, where it "
                    "stays: use another name"
                )
            if name not in store.closed:
                store.close_stream(name)
