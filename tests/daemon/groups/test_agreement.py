"""What members of a group agree upon in real etcd: one tenure at a time, told by its number."""

import itertools
import json
import threading
import time
from collections.abc import Iterator

import pytest

from littled.groups.agreement import (
    Agreement,
    Directory,
    GroupUnreachable,
    Present,
    Served,
    mark_of,
)
from littled.groups.partitions import GroupRefused
from littled.store.etcd import Patience
from littled.store.etcd_place import MarkInEtcd
from support.etcd import Cluster
from support.servers import needs

pytestmark = needs("etcd")
NAMES = itertools.count()
STORES = ("postgresql://db/a", "postgresql://db/b")
SECONDS = 2


@pytest.fixture
def place(cluster: Cluster) -> MarkInEtcd:
    """A prefix that nobody has used."""
    return cluster.place(f"group/{next(NAMES)}")


@pytest.fixture
def agreement(place: MarkInEtcd) -> Iterator[Agreement]:
    """A group of two partitions."""
    found = Agreement(place)
    found.found(STORES)
    yield found
    found.close()


def gone(agreement: Agreement, lease: int) -> None:
    """Wait until a lease has ended that nobody renews."""
    deadline = time.monotonic() + 10 * SECONDS
    while any(agreement.present().tenures) or agreement.present().members:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert not agreement.renew(lease)


def test_a_group_is_there_as_a_whole_or_not_at_all(place: MarkInEtcd) -> None:
    agreement = Agreement(place)
    with pytest.raises(GroupRefused, match="there is no group at etcd://"):
        agreement.directory()
    put = agreement._put

    def killed(name: str, *arguments: object, **options: object) -> bool:
        if name == "group":
            raise KeyboardInterrupt
        return put(name, *arguments, **options)  # type: ignore[arg-type]

    agreement._put = killed  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        agreement.found(STORES)
    agreement._put = put  # type: ignore[method-assign]
    assert agreement.is_free()
    with pytest.raises(GroupRefused, match="there is no group"):
        agreement.directory()
    agreement.found(STORES)
    assert not agreement.is_free()
    assert agreement.directory() == Directory(STORES)
    with pytest.raises(GroupRefused, match=r"there is a group at .* already"):
        agreement.found(STORES)
    agreement.close()


def test_a_partition_is_added_once_and_everybody_gets_to_know_of_it(agreement: Agreement) -> None:
    assert agreement.present().added == 0
    agreement.add(2, "postgresql://db/c", ["ships", "flights"])
    assert agreement.present().added == 1
    found = agreement.directory()
    assert found == Directory((*STORES, "postgresql://db/c"), (frozenset({"flights", "ships"}),))
    assert (found.partitions, found.first) == (3, 2)
    assert [found.names(p) for p in range(3)] == [None, None, {"flights", "ships"}]
    assert found.partition_of("ships") == 2
    assert found.partition_of("trains") == Directory(STORES).partition_of("trains") < 2
    with pytest.raises(GroupRefused, match="there is a partition 02 already"):
        agreement.add(2, "postgresql://db/d", ["trains"])
    agreement.add(3, "postgresql://db/d", ["trains"])
    assert agreement.directory().partition_of("trains") == 3


def test_partitions_are_paused_for_a_lease_and_added_by_one_at_a_time(agreement: Agreement) -> None:
    one = agreement.grant(60)
    agreement.begin_adding(one)
    with pytest.raises(GroupRefused, match="somebody else adds a partition"):
        agreement.begin_adding(agreement.grant(60))
    agreement.pause(0, one)
    agreement.pause(1, one)
    assert agreement.present().paused == {0, 1}
    agreement.resume(0)
    assert agreement.present().paused == {1}
    agreement.revoke(one)
    assert agreement.present().paused == frozenset()
    agreement.begin_adding(agreement.grant(60))


def test_where_the_mark_of_a_partition_is(place: MarkInEtcd) -> None:
    assert mark_of(place, 7).prefix == f"{place.prefix}/partitions/07/mark"


def test_a_partition_is_had_by_one_at_a_time(agreement: Agreement) -> None:
    one, two = agreement.grant(60), agreement.grant(60)
    number = agreement.acquire(0, "a", one)
    assert number is not None
    assert agreement.acquire(0, "b", two) is None
    # A try whose answer was lost is made again.
    assert agreement.acquire(0, "a", one) == number
    assert agreement.present().tenures == {0: Served("a", number)}
    agreement.release(0, number)
    later = agreement.acquire(0, "b", two)
    assert later is not None
    assert later > number


def test_of_many_that_want_a_partition_at_once_one_gets_it(place: MarkInEtcd) -> None:
    got: list[int | None] = []

    def take(number: int) -> None:
        own = Agreement(place)
        got.append(own.acquire(0, f"m{number}", own.grant(60)))
        own.close()

    threads = [threading.Thread(target=take, args=(n,)) for n in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sum(number is not None for number in got) == 1


def test_only_who_has_a_partition_says_where_it_is_served(agreement: Agreement) -> None:
    one, two = agreement.grant(60), agreement.grant(60)
    number = agreement.acquire(0, "a", one)
    assert number is not None
    served = Served("a", number, ("h:1", "h:2"), "2026-11-01T00:00:00Z")
    assert agreement.publish(0, one, served)
    assert agreement.present().tenures == {0: served}
    agreement.release(0, number)
    assert not agreement.publish(0, one, served)
    assert agreement.present().tenures == {}
    later = agreement.acquire(0, "b", two)
    # Who had it before neither says anything of it nor lets it go.
    assert not agreement.publish(0, one, served)
    agreement.release(0, number)
    assert agreement.present().tenures == {0: Served("b", later or 0)}


def test_what_is_bound_to_a_lease_ends_with_it(agreement: Agreement) -> None:
    lease = agreement.grant(SECONDS)
    agreement.announce("a", lease, fit=True)
    agreement.announce("a", lease, fit=False)
    number = agreement.acquire(1, "a", lease)
    for _ in range(4):
        time.sleep(SECONDS / 2)
        assert agreement.renew(lease)
    assert agreement.present() == Present({"a": False}, {1: Served("a", number or 0)})
    gone(agreement, lease)
    lease = agreement.grant(60)
    agreement.announce("b", lease, fit=True)
    agreement.revoke(lease)
    agreement.revoke(lease)
    assert agreement.present() == Present({}, {})
    with pytest.raises(GroupRefused):
        agreement.announce("b", lease, fit=True)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("group", "{"),
        ("group", "[]"),
        ("group", json.dumps({"format": 2, "partitions": 2})),
        ("group", json.dumps({"format": 1, "partitions": 3})),
        ("group", json.dumps({"format": 1, "partitions": 10**9})),
        ("stores/00", "{}"),
        ("members/a", "{}"),
        ("tenures/x", json.dumps({"member": "a"})),
        ("tenures/00", json.dumps({"member": "a", "addresses": 5})),
    ],
)
def test_what_makes_no_sense_is_refused(
    cluster: Cluster, agreement: Agreement, key: str, value: str
) -> None:
    cluster.ctl("put", f"{agreement.place.prefix}/{key}", value)
    with pytest.raises(GroupRefused, match="is not a group, or damaged"):
        (agreement.present(), agreement.directory())


def test_without_etcd_nothing_is_known() -> None:
    nobody = Agreement(MarkInEtcd.parse("etcd://127.0.0.1:1/g"), Patience(0.2, 0.2, 0.05))
    with pytest.raises(GroupUnreachable, match=r"etcd at 127\.0\.0\.1:1 does not answer"):
        nobody.present()
