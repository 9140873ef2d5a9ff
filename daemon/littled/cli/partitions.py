"""Where the store of a partition of a group is, and how it is made."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from littled.cli.grouping import key_of
from littled.groups.agreement import mark_of
from littled.groups.partitions import GroupRefused, label
from littled.store.etcd_place import MarkInEtcd
from littled.store.files import PRIVATE_FOLDER
from littled.store.place import Place, StorePath, is_url, make_schema
from littled.store.store import Store

_NOT_OF_SCHEMAS = re.compile(r"[^a-z0-9_]+")


def store_of(store: str, place: MarkInEtcd, partition: int, keys: Path | None) -> StorePath:
    """The store of a partition, in a database or a folder. GroupRefused for what cannot be."""
    if not is_url(store):
        return Path(store).absolute() / label(partition)
    if keys is None:
        raise GroupRefused("noise keys are not in PostgreSQL: say --keys FOLDER")
    if "options=" in store:
        raise GroupRefused(
            "leave the options out of the database's URL: each partition gets its own"
        )
    # At most 63 characters, the first of them no digit.
    base = "g_" + _NOT_OF_SCHEMAS.sub("_", place.prefix.rpartition("/")[2].lower())[:50]
    between = "&" if "?" in store else "?"
    schema = quote(f"-csearch_path={base}_{label(partition)}", safe="")
    return f"{store}{between}options={schema}"


def make_store(
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
