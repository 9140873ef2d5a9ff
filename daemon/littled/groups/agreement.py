"""What a group has in etcd, and how its members agree there.

    PREFIX/group                 how many partitions there are; written last: without it there is no
                                 group
    PREFIX/stores/NN             where the store of a partition is
    PREFIX/added/NN              the same of a partition that was added, and which streams it has
    PREFIX/partitions/NN/mark/   its high-water mark (`littled.store.etcd_register`)
    PREFIX/members/NAME          a member that lives, and whether it can serve
    PREFIX/tenures/NN            which member has a partition, and where it is served
    PREFIX/paused/NN             a partition that no member is to serve for a moment
    PREFIX/adding                that a partition is being added

The last four are bound to a lease and end with it. A tenure is made only where there is
none, and changed or removed only by who made it, as its number says: etcd's revision at which the
key was made. All of it is public, and none of it decides what may be shown.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self

from littled.groups.partitions import PARTITIONS_MAX, GroupRefused, label, partition_of
from littled.limits import GROUP_ADDRESSES_MAX
from littled.store.etcd import Etcd, EtcdRefused, EtcdSilent, Patience, encoded
from littled.store.etcd_place import MarkInEtcd
from littled.store.registers import silent

_FORMAT = 1
_GROUP, _STORES, _PARTITIONS = "group", "stores", "partitions"
_MEMBERS, _TENURES = "members", "tenures"
_ADDED, _PAUSED, _ADDING = "added", "paused", "adding"


class GroupUnreachable(Exception):
    """etcd did not answer, so that nothing is known; one sentence."""


@dataclass(frozen=True, slots=True)
class Directory:
    """What only grows of a group.

    stores: the place of each partition's store. added: the streams of each partition that was added
    to those that the group was made with.
    """

    stores: tuple[str, ...]
    added: tuple[frozenset[str], ...] = ()

    @property
    def partitions(self) -> int:
        """How many there are."""
        return len(self.stores)

    @property
    def first(self) -> int:
        """How many the group was made with."""
        return len(self.stores) - len(self.added)

    def names(self, partition: int) -> frozenset[str] | None:
        """The streams of a partition that was added; None for one that the group was made with."""
        return None if partition < self.first else self.added[partition - self.first]

    def partition_of(self, stream: str) -> int:
        """The partition of a stream, from 0 on."""
        for number, names in enumerate(self.added, start=self.first):
            if stream in names:
                return number
        return partition_of(stream, self.first)


@dataclass(frozen=True, slots=True)
class Served:
    """A partition that a member has.

    number: etcd's revision at which the member got it. addresses: where it is served, none until it
    is. since: when that was, in UTC, for people.
    """

    member: str
    number: int
    addresses: tuple[str, ...] = ()
    since: str = ""


@dataclass(frozen=True, slots=True)
class Present:
    """What changes. members: whether each can serve. tenures: by partition.

    added: how many partitions were added. paused: those that no member is to serve now.
    """

    members: Mapping[str, bool]
    tenures: Mapping[int, Served]
    added: int = 0
    paused: frozenset[int] = frozenset()


def mark_of(group: MarkInEtcd, partition: int) -> MarkInEtcd:
    """The place of the high-water mark of a partition."""
    return group.below(f"{_PARTITIONS}/{label(partition)}/mark")


class Agreement:
    """The keys of a group; for one thread at a time, which may wait as long as `patience` says.

    Every method raises GroupUnreachable where etcd does not answer, and GroupRefused where it
    refuses or has what makes no sense.
    """

    def __init__(self, place: MarkInEtcd, patience: Patience | None = None) -> None:
        """Ask nothing yet."""
        self.place = place
        self._etcd = Etcd(place, silent, patience)

    def close(self) -> None:
        """Close the connection."""
        self._etcd.close()

    # -- what only grows -----------------------------------------------------------------------

    def is_free(self) -> bool:
        """Whether there is nothing yet below the prefix but stores' marks."""
        return not self._range(_GROUP)

    def found(self, stores: Sequence[str]) -> None:
        """Write a group with these stores. GroupRefused where there is one."""
        for partition, store in enumerate(stores):
            self._put(f"{_STORES}/{label(partition)}", {"store": store})
        value = {"format": _FORMAT, "partitions": len(stores)}
        if not self._put(_GROUP, value, made_at=0):
            raise GroupRefused(f"there is a group at {self.place} already: take another prefix")

    def directory(self) -> Directory:
        """What only grows. GroupRefused where there is no group."""
        found = self._range(_GROUP)
        if not found:
            raise GroupRefused(
                f"there is no group at {self.place}: see whether endpoints and prefix are right; "
                "littled group init makes one"
            )
        with _understood(self.place):
            value = found[_GROUP].value
            count = value["partitions"]
            if value["format"] != _FORMAT or not 0 < count <= PARTITIONS_MAX:
                raise ValueError
            stores = self._range(f"{_STORES}/", f"{_STORES}0")
            names = [f"{_STORES}/{label(p)}" for p in range(count)]
            found_in = [stores[name].value for name in names]
            later = self._range(f"{_ADDED}/", f"{_ADDED}0")
            names = [f"{_ADDED}/{label(p)}" for p in range(count, count + len(later))]
            added = [later[name].value for name in names]
            return Directory(
                tuple(str(each["store"]) for each in (*found_in, *added)),
                tuple(frozenset(map(str, each["streams"])) for each in added),
            )

    def add(self, partition: int, store: str, streams: Sequence[str]) -> None:
        """Write one more partition with these streams. GroupRefused where there is one."""
        value = {"store": store, "streams": sorted(streams)}
        if not self._put(f"{_ADDED}/{label(partition)}", value, made_at=0):
            raise GroupRefused(f"there is a partition {label(partition)} already: look again")

    # -- what changes --------------------------------------------------------------------------

    def present(self) -> Present:
        """Who lives, and who has what."""
        # "0" follows "/".
        ranges: list[dict[str, dict[str, Any]]] = [
            {"request_range": {"key": self._key(f"{each}/"), "range_end": self._key(f"{each}0")}}
            for each in (_MEMBERS, _TENURES, _PAUSED, _ADDED)
        ]
        ranges[-1]["request_range"]["count_only"] = True
        answer = self._ask("/v3/kv/txn", {"success": ranges})
        with _understood(self.place):
            found = [each["response_range"] for each in answer["responses"]]
            members, tenures, paused = map(self._keys, found[:3])
            return Present(
                {name.partition("/")[2]: bool(key.value["fit"]) for name, key in members.items()},
                {int(name.partition("/")[2]): key.served() for name, key in tenures.items()},
                int(found[3].get("count", 0)),
                frozenset(int(name.partition("/")[2]) for name in paused),
            )

    def grant(self, seconds: int) -> int:
        """A new lease."""
        return int(self._ask("/v3/lease/grant", {"TTL": str(seconds)})["ID"])

    def renew(self, lease: int) -> bool:
        """Keep a lease for as long again; False when it has ended."""
        answer = self._ask("/v3/lease/keepalive", {"ID": str(lease)})
        with _understood(self.place):
            return int(answer["result"].get("TTL", 0)) > 0

    def revoke(self, lease: int) -> None:
        """End a lease, and all that is bound to it."""
        with suppress(GroupRefused):  # it has ended already
            self._ask("/v3/lease/revoke", {"ID": str(lease)})

    def announce(self, member: str, lease: int, *, fit: bool) -> None:
        """Say that a member lives, and whether it can serve."""
        self._put(f"{_MEMBERS}/{member}", {"fit": fit}, lease)

    def begin_adding(self, lease: int) -> None:
        """Be the only one who adds a partition, for a lease. GroupRefused where another one is."""
        if not self._put(_ADDING, {"lease": lease}, lease, made_at=0):
            raise GroupRefused(
                f"somebody else adds a partition to {self.place}: wait until that is done, or for "
                "a minute if it was stopped"
            )

    def pause(self, partition: int, lease: int) -> None:
        """Let no member serve a partition, for a lease."""
        self._put(_paused(partition), {}, lease)

    def resume(self, partition: int) -> None:
        """Let members serve a partition again."""
        self._ask("/v3/kv/deleterange", {"key": self._key(_paused(partition))})

    def acquire(self, partition: int, member: str, lease: int) -> int | None:
        """Take a partition; the number of the tenure, None where somebody has it."""
        # Put by a try whose answer was lost, it is there.
        self._put(_tenure(partition), {"member": member, "lease": lease}, lease, made_at=0)
        found = self._range(_tenure(partition)).get(_tenure(partition))
        if found is None or found.value != {"member": member, "lease": lease}:
            return None
        return found.made_at

    def publish(self, partition: int, lease: int, served: Served) -> bool:
        """Say where a partition is served; False if the tenure of this number is over."""
        value = {
            "member": served.member,
            "addresses": [*served.addresses],
            "since": served.since,
        }
        return self._put(_tenure(partition), value, lease, made_at=served.number)

    def release(self, partition: int, number: int) -> None:
        """End a tenure, if it is still the one of this number."""
        name = _tenure(partition)
        delete = {"request_delete_range": {"key": self._key(name)}}
        self._ask("/v3/kv/txn", {"compare": [self._made(name, number)], "success": [delete]})

    # -- inside ----------------------------------------------------------------------------------

    def _ask(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self._etcd.ask(path, body)
        except EtcdRefused as error:
            raise GroupRefused(str(error)) from None
        except EtcdSilent as error:
            raise GroupUnreachable(str(error)) from None

    def _key(self, name: str) -> str:
        return encoded(f"{self.place.prefix}/{name}")

    def _made(self, name: str, revision: int) -> dict[str, str]:
        """That a key was made at a revision, 0 for one that is not there."""
        return {
            "key": self._key(name),
            "target": "CREATE",
            "result": "EQUAL",
            "create_revision": str(revision),
        }

    def _put(
        self, name: str, value: Mapping[str, Any], lease: int = 0, made_at: int | None = None
    ) -> bool:
        """Put a key, if it was made at a revision; False if it was not."""
        text = json.dumps(value, sort_keys=True)
        put = {"key": self._key(name), "value": encoded(text), "lease": str(lease)}
        compared = [] if made_at is None else [self._made(name, made_at)]
        body = {"compare": compared, "success": [{"request_put": put}]}
        return self._ask("/v3/kv/txn", body).get("succeeded") is True

    def _range(self, name: str, end: str = "") -> dict[str, "_Key"]:
        """Keys by their names; one, or all from there to `end`."""
        body = {"key": self._key(name)} | ({"range_end": self._key(end)} if end else {})
        answer = self._ask("/v3/kv/range", body)
        with _understood(self.place):
            return self._keys(answer)

    def _keys(self, answer: Mapping[str, Any]) -> dict[str, "_Key"]:
        found = (_Key.of(each) for each in answer.get("kvs", ()))
        return {each.name.removeprefix(f"{self.place.prefix}/"): each for each in found}


def _tenure(partition: int) -> str:
    return f"{_TENURES}/{label(partition)}"


def _paused(partition: int) -> str:
    return f"{_PAUSED}/{label(partition)}"


@dataclass(frozen=True, slots=True)
class _Key:
    """A key with its value, a JSON object; made_at: the revision that made it."""

    name: str
    value: dict[str, Any]
    made_at: int

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        value = json.loads(base64.b64decode(found.get("value", "")))
        if not isinstance(value, dict):
            raise TypeError
        name = base64.b64decode(found["key"]).decode()
        return cls(name, value, int(found["create_revision"]))

    def served(self) -> Served:
        addresses = tuple(map(str, self.value.get("addresses", ())[:GROUP_ADDRESSES_MAX]))
        member, since = str(self.value["member"]), str(self.value.get("since", ""))
        return Served(member, self.made_at, addresses, since)


@contextmanager
def _understood(place: MarkInEtcd) -> Iterator[None]:
    """Turn what makes no sense into GroupRefused."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError):
        raise GroupRefused(
            f"what is at {place} is not a group, or damaged: see who else writes there"
        ) from None
