"""What a group has in etcd, and how its members agree there.

    PREFIX/group                 how many partitions there are; written last: without it there is no
                                 group
    PREFIX/stores/NN             where the store of a partition is
    PREFIX/partitions/NN/mark/   its high-water mark (`littled.store.etcd_register`)
    PREFIX/members/NAME          a member that lives, and whether it can serve
    PREFIX/tenures/NN            which member has a partition, and where it is served

The last two are bound to a member's lease and end with it. A tenure is made only where there is
none, and changed or removed only by who made it, as its number says: etcd's revision at which the
key was made. All of it is public, and none of it decides what may be shown.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self

from littled.groups.partitions import PARTITIONS_MAX, GroupRefused, label
from littled.limits import GROUP_ADDRESSES_MAX
from littled.store.etcd import Etcd, EtcdRefused, EtcdSilent, Patience, encoded
from littled.store.etcd_place import MarkInEtcd
from littled.store.registers import silent

_FORMAT = 1
_GROUP, _STORES, _PARTITIONS = "group", "stores", "partitions"
_MEMBERS, _TENURES = "members", "tenures"


class GroupUnreachable(Exception):
    """etcd did not answer, so that nothing is known; one sentence."""


@dataclass(frozen=True, slots=True)
class Directory:
    """What never changes of a group. stores: the place of each partition's store."""

    stores: tuple[str, ...]

    @property
    def partitions(self) -> int:
        """How many there are."""
        return len(self.stores)


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
    """What changes. members: whether each can serve. tenures: by partition."""

    members: Mapping[str, bool]
    tenures: Mapping[int, Served]


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

    # -- what never changes --------------------------------------------------------------------

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
        """What never changes. GroupRefused where there is no group."""
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
            return Directory(tuple(str(stores[name].value["store"]) for name in names))

    # -- what changes --------------------------------------------------------------------------

    def present(self) -> Present:
        """Who lives, and who has what."""
        # "0" follows "/".
        ranges = [
            {"request_range": {"key": self._key(f"{each}/"), "range_end": self._key(f"{each}0")}}
            for each in (_MEMBERS, _TENURES)
        ]
        answer = self._ask("/v3/kv/txn", {"success": ranges})
        with _understood(self.place):
            members, tenures = (self._keys(each["response_range"]) for each in answer["responses"])
            return Present(
                {name.partition("/")[2]: bool(key.value["fit"]) for name, key in members.items()},
                {int(name.partition("/")[2]): key.served() for name, key in tenures.items()},
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
