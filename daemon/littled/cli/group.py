"""`littled group`: the streams of several stores, served by daemons on several machines."""

from contextlib import closing
from pathlib import Path
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from littled.cli.adding import add
from littled.cli.failures import FAILED, WRONG_USE, Failure, explained
from littled.cli.grouping import group_argument, group_explained, keys_option
from littled.cli.members import member
from littled.cli.output import console, listed, number, print_json
from littled.cli.partitions import make_store, store_of
from littled.cli.stores import planned, print_plans
from littled.cli.tabling import print_table
from littled.configuration import ConfigurationError, load_configuration
from littled.groups.agreement import Agreement, Directory, Present
from littled.groups.partitions import (
    PARTITIONS_MAX,
    GroupRefused,
    divided,
    label,
    told_to_store,
)
from littled.store.etcd_place import MarkInEtcd
from littled.store.files import PRIVATE_FOLDER


@click.group()
def group() -> None:
    """Serve the streams of several stores by daemons on several machines.

    GROUP is etcd://HOST:PORT,HOST:PORT/PREFIX, or etcds:// with TLS, as for a high-water mark in
    etcd (docs/several-daemons.md).
    """


@group.command()
@group_argument
@click.option(
    "--config", "configuration", required=True, type=click.Path(path_type=Path),
    help="TOML file that names streams, budgets and learners.",
)  # fmt: skip
@click.option(
    "--partitions", required=True, type=click.IntRange(1, PARTITIONS_MAX),
    help="Into how many stores the streams are divided, for ever.",
)  # fmt: skip
@click.option(
    "--store", required=True, metavar="STORE",
    help="postgresql://USER@HOST/DATABASE, in which each partition has a schema; or a folder that "
    "every machine has at the same place, in which each has a folder.",
)  # fmt: skip
@keys_option
def init(
    place: MarkInEtcd, configuration: Path, partitions: int, store: str, keys: Path | None
) -> None:
    """Make GROUP: the stores of its partitions with their marks, and then what names them.

    A stream is in the partition that follows from its name, for ever; so the streams are never
    divided anew. It is how many processes can serve them at the most: take some for each machine
    that you may ever have, such as 12 for three. More streams, in partitions of their own, come by
    littled group add.

    Where it is stopped, no group is there; say the same again, and it goes on with what it has
    made. Noise keys are drawn into --keys: keep a copy of them somewhere safe, and give one to each
    machine.
    """
    with explained(ConfigurationError, status=WRONG_USE):
        wanted = load_configuration(configuration)
    whole = wanted.to_dict()
    with group_explained(), closing(Agreement(place)) as agreement:
        names = divided(wanted.streams, partitions)
        stores = [store_of(store, place, p, keys) for p in range(partitions)]
        if not agreement.is_free():
            raise GroupRefused(f"there is a group at {place} already: take another prefix")
        plans = {name: planned(stream) for name, stream in wanted.streams.items()}
        if keys is not None:
            keys.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        for partition, its in enumerate(names):
            part = {
                **whole,
                "streams": {name: whole["streams"][name] for name in its},
                "group": told_to_store(partition, partitions),
            }
            its_plans = {name: plans[name].to_dict() for name in its}
            make_store(place, partition, stores[partition], keys, part, its_plans)
        agreement.found([str(found) for found in stores])
    console().print(f"created {place} with {number(partitions)} partitions")
    print_plans(wanted.streams, plans)
    more = f" --keys {keys}" if keys is not None else ""
    console().print(f"next: littled group member '{place}'{more} --address HOST:PORT")


# --- who serves what ------------------------------------------------------------------------------


@group.command()
@group_argument
@click.option("--stream", metavar="NAME", help="Where this stream is.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(place: MarkInEtcd, stream: str | None, as_json: bool) -> None:
    """Show who serves which partition of GROUP, where, and since when.

    The exit status is 1 where nobody serves a partition.
    """
    with group_explained(), closing(Agreement(place)) as agreement:
        directory, present = agreement.directory(), agreement.present()
    chosen = range(directory.partitions)
    if stream is not None:
        only = directory.partition_of(stream)
        chosen = range(only, only + 1)
    rows = [_facts(partition, directory, present) for partition in chosen]
    unserved = [row["partition"] for row in rows if not row["addresses"]]
    counts = {name: _count(present, name) for name in sorted(present.members)}
    members = [
        {"member": name, "fit": present.members[name], "partitions": count}
        for name, count in counts.items()
    ]
    if as_json:
        print_json({"partitions": rows, "members": members, "unserved": unserved}, indent=2)
    else:
        print_table(_table(rows))
        if not members:
            console().print("no member runs")
        for name, count in counts.items():
            said = "" if present.members[name] else ", and cannot serve more: see its log"
            console().print(f"{name} has {number(count)}{said}")
    if unserved:
        raise Failure(f"nobody serves {listed([*map(label, unserved)])}", FAILED)


def _facts(partition: int, directory: Directory, present: Present) -> dict[str, Any]:
    """What is known of a partition."""
    served = present.tenures.get(partition)
    return {
        "partition": partition,
        "store": directory.stores[partition],
        "member": None if served is None else served.member,
        "number": None if served is None else served.number,
        "addresses": [] if served is None else [*served.addresses],
        "since": None if served is None or not served.since else served.since,
    }


def _count(present: Present, member: str) -> int:
    """How many partitions a member has."""
    return sum(served.member == member for served in present.tenures.values())


def _table(rows: list[dict[str, Any]]) -> Table:
    """The partitions, for people."""
    table = Table(box=SIMPLE_HEAD)
    for header in ("partition", "member", "at", "since"):
        table.add_column(header)
    for row in rows:
        table.add_row(
            label(row["partition"]),
            row["member"] or "nobody",
            ", ".join(row["addresses"]) or ("-" if row["member"] is None else "starting"),
            row["since"] or "-",
        )
    return table


group.add_command(add)
group.add_command(member)
