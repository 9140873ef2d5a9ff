"""Which partition of a group a stream is in: a function of its name, the same for ever.

A store of a group has `group` in its configuration, which never changes: which partition it is, of
how many. So each store knows by itself which names may be in it, whatever becomes of etcd, and no
name may be in two.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

PARTITIONS_MAX = 1000
_BYTES = 8


class GroupRefused(Exception):
    """What a group is told cannot be, or what it is told of itself is wrong; one sentence."""


def partition_of(stream: str, partitions: int) -> int:
    """The partition of a stream, from 0 on."""
    name = blake2b(stream.encode(), digest_size=_BYTES, person=b"littled group").digest()
    return int.from_bytes(name) % partitions


def label(partition: int) -> str:
    """How a partition is called: 00, 01 and so on."""
    return f"{partition:02}"


def divided(streams: Iterable[str], partitions: int) -> list[list[str]]:
    """The names in each partition. GroupRefused where one would have none."""
    found: list[list[str]] = [[] for _ in range(partitions)]
    names = list(streams)
    for name in names:
        found[partition_of(name, partitions)].append(name)
    if all(found):
        return found
    fits = next(
        n for n in range(partitions, 0, -1) if len({partition_of(s, n) for s in names}) == n
    )
    raise GroupRefused(
        f"{sum(not each for each in found)} of {partitions} partitions would have no stream, as "
        f"names are divided by their hash: take {fits} partitions"
    )


def told_to_store(partition: int, partitions: int) -> dict[str, int]:
    """What the configuration of a partition's store has as `group`."""
    return {"partition": partition, "partitions": partitions}


def check_streams(streams: Iterable[str], group: Mapping[str, Any] | None) -> None:
    """GroupRefused for a name that is not of the partition which `group` of a store says it is.

    A store that is of no group may have any names.
    """
    if group is None:
        return
    partition, partitions = group["partition"], group["partitions"]
    for name in streams:
        if (right := partition_of(name, partitions)) != partition:
            raise GroupRefused(
                f"stream {name} belongs to partition {label(right)} of the group, and this store "
                f"is partition {label(partition)}: a stream in two stores would have two budgets"
            )


def check_store(
    streams: Iterable[str], group: Mapping[str, Any] | None, partition: int, partitions: int
) -> None:
    """GroupRefused unless a store is this partition of a group of so many."""
    if group != told_to_store(partition, partitions):
        says = (
            "is of no group"
            if group is None
            else f"is partition {label(group['partition'])} of {group['partitions']}"
        )
        raise GroupRefused(
            f"the group says that the store is partition {label(partition)} of {partitions}, and "
            f"the store that it {says}: see who has changed what the group has in etcd"
        )
    check_streams(streams, group)
