"""Which partition of a group a stream is in: a function of its name, the same for ever.

A store of a group has `group` in its configuration, which never changes: which partition it is, of
how many. So each store knows by itself which names may be in it, whatever becomes of etcd, and no
name may be in two.

A partition that is added later has the names that it is made with, and never another one. Before it
is made, each of them is used up in the store where it would be by its hash: as a stream that was
closed before its first example, and that says to which partition its name was given.
"""

from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from typing import Any

PARTITIONS_MAX = 1000
_BYTES = 8
_GIVEN = "given_to"


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


def told_to_store(
    partition: int, partitions: int, names: Iterable[str] | None = None
) -> dict[str, Any]:
    """What the configuration of a partition's store has as `group`.

    partitions: how many the group was made with. names: of a partition that was added, its streams.
    """
    told: dict[str, Any] = {"partition": partition, "partitions": partitions}
    return told if names is None else {**told, "streams": sorted(names)}


def given_away(stream: Mapping[str, Any], partition: int) -> dict[str, Any]:
    """The configuration of a stream whose name is given to a partition that is added."""
    return {**stream, _GIVEN: partition}


def names_given(configuration: Mapping[str, Any]) -> dict[str, int]:
    """The streams of a store that are only there to use up their names, and who has these."""
    streams: Mapping[str, Mapping[str, Any]] = configuration.get("streams", {})
    return {name: part[_GIVEN] for name, part in streams.items() if _GIVEN in part}


def check_streams(streams: Iterable[str], group: Mapping[str, Any] | None) -> None:
    """GroupRefused for a name that is not of the partition which `group` of a store says it is.

    A store that is of no group may have any names.
    """
    if group is None:
        return
    partition, partitions = group["partition"], group["partitions"]
    for name in streams:
        if "streams" in group:
            if name not in group["streams"]:
                raise GroupRefused(
                    f"partition {label(partition)} was added for other streams than {name}, and "
                    "never has more: littled group add makes another partition for it"
                )
        elif (right := partition_of(name, partitions)) != partition:
            raise GroupRefused(
                f"stream {name} belongs to partition {label(right)} of the group, and this store "
                f"is partition {label(partition)}: a stream in two stores would have two budgets"
            )


def check_store(
    streams: Iterable[str],
    group: Mapping[str, Any] | None,
    partition: int,
    partitions: int,
    names: Collection[str] | None = None,
) -> None:
    """GroupRefused unless a store is this partition of a group that was made with so many.

    names: of a partition that was added, the streams that the group says it has.
    """
    if group != told_to_store(partition, partitions, names):
        says = "is of no group"
        if group is not None:
            for_names = " for its own streams" if "streams" in group else ""
            says = f"is partition {label(group['partition'])} of {group['partitions']}{for_names}"
        raise GroupRefused(
            f"the group says that the store is partition {label(partition)} of {partitions}, and "
            f"the store that it {says}: see who has changed what the group has in etcd"
        )
    check_streams(streams, group)
