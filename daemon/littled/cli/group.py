"""`littled group`: the streams of several stores, served by daemons on several machines."""

import json
import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from littled.cli.failures import FAILED, WRONG_USE, Failure, explained
from littled.cli.grouping import group_argument, group_explained, key_of, keys_option
from littled.cli.members import member
from littled.cli.output import console, listed, number, print_json
from littled.cli.stores import planned, print_plans
from littled.cli.tabling import print_table
from littled.configuration import ConfigurationError, load_configuration
from littled.groups.agreement import Agreement, Directory, Present, mark_of
from littled.groups.partitions import (
    PARTITIONS_MAX,
    GroupRefused,
    divided,
    label,
    partition_of,
    told_to_store,
)
from littled.store.etcd_place import MarkInEtcd
from littled.store.files import PRIVATE_FOLDER
from littled.store.place import Place, StorePath, is_url, make_schema
from littled.store.store import Store

_NOT_OF_SCHEMAS = re.compile(r"[^a-z0-9_]+")


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

    A stream is in the partition that follows from its name, for ever; so the number of partitions
    never changes. It is how many processes can serve the group at the most: take some for each
    machine that you may ever have, such as 12 for three.

    Where it is stopped, no group is there; say the same again, and it goes on with what it has
    made. Noise keys are drawn into --keys: keep a copy of them somewhere safe, and give one to each
    machine.
    """
    with explained(ConfigurationError, status=WRONG_USE):
        wanted = load_configuration(configuration)
    whole = wanted.to_dict()
    with group_explained(), closing(Agreement(place)) as agreement:
        names = divided(wanted.streams, partitions)
        stores = _stores(store, place, partitions, keys)
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
            _make(place, partition, stores[partition], keys, part, its_plans)
        agreement.found([str(found) for found in stores])
    console().print(f"created {place} with {number(partitions)} partitions")
    print_plans(wanted.streams, plans)
    more = f" --keys {keys}" if keys is not None else ""
    console().print(f"next: littled group member '{place}'{more} --address HOST:PORT")


def _stores(store: str, place: MarkInEtcd, partitions: int, keys: Path | None) -> list[StorePath]:
    """Where the stores of all partitions are; GroupRefused for what cannot be."""
    if not is_url(store):
        folder = Path(store).absolute()
        return [folder / label(partition) for partition in range(partitions)]
    if keys is None:
        raise GroupRefused("noise keys are not in PostgreSQL: say --keys FOLDER")
    if "options=" in store:
        raise GroupRefused(
            "leave the options out of the database's URL: each partition gets its own"
        )
    # At most 63 characters, the first of them no digit.
    base = "g_" + _NOT_OF_SCHEMAS.sub("_", place.prefix.rpartition("/")[2].lower())[:50]
    between = "&" if "?" in store else "?"
    return [
        f"{store}{between}options={quote(f'-csearch_path={base}_{label(p)}', safe='')}"
        for p in range(partitions)
    ]


def _make(
    place: MarkInEtcd,
    partition: int,
    store: StorePath,
    keys: Path | None,
    part: Mapping[str, Any],
    plans: Mapping[str, Mapping[str, Any]],
) -> None:
    """Make the store of a partition, unless a command that was stopped has made the same."""
    key, mark = key_of(keys, partition), mark_of(place, partition)
    if is_url(store):
        make_schema(str(store), str(store).rpartition("%3D")[2])
    if not Place.of(store, key, mark).database.exists():
        if isinstance(store, Path):
            store.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        Store.create(store, part, plans, key_path=key, mark_path=mark)
        return
    with Store.open(store, key, mark, read_only=True) as opened:
        if opened.configuration != json.loads(json.dumps(part)) or any(
            map(opened.position, opened.plans)
        ):
            raise GroupRefused(
                f"there is another store in {store}: name another place, or remove it if it was "
                "made by a command like this one that was stopped, for other streams"
            )


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
        only = partition_of(stream, directory.partitions)
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


group.add_command(member)
