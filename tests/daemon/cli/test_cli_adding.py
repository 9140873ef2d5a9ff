"""A partition that is added to a group of real processes, whose members run on."""

import itertools
import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from littled.cli import adding
from littled.groups.agreement import Agreement
from littled.groups.partitions import GroupRefused, names_given, partition_of
from littled.store.records import NewRecord
from littled.store.store import Store
from littled.store.verify import verify
from support.commands import Littled, Said
from support.databases import Postgres
from support.etcd import Cluster
from support.groups import SECONDS, Group, group_of
from support.servers import needs

pytestmark = needs("etcd")
NAMES = itertools.count()
STREAMS, PARTITIONS = 4, 2
# By their hashes in partition 00 or 01.
MORE = ["ship-0001", "ship-0002", "ship-0003"]


@pytest.fixture
def group(cluster: Cluster, server: Postgres, tmp_path: Path) -> Iterator[Group]:
    """A group of two partitions without members."""
    url = cluster.url(f"groups/add{next(NAMES)}")
    with group_of(url, tmp_path, server, STREAMS, PARTITIONS) as found:
        yield found


def opened(group: Group, partition: int, *, read_only: bool = True) -> Store:
    """The store of a partition."""
    url, _, key, _, mark = group.store(partition)
    return Store.open(url, key, mark, read_only=read_only)


def test_a_partition_is_added_while_members_run_and_served_without_a_restart(group: Group) -> None:
    assert {partition_of(name, PARTITIONS) for name in MORE} == {0, 1}
    member = group.join()
    group.wait(m0=2)
    group.feed_all()
    said = group.add(MORE)
    assert said.returncode == 0, said.stderr
    assert "added partition 02" in said.stdout
    group.wait(m0=3)
    where = group.run("group", "status", group.url, "--stream", MORE[0], "--json")
    assert json.loads(where.stdout)["partitions"][0]["partition"] == 2
    # Whoever is asked for a stream of the new partition says where it is, also the daemon of the
    # store in which its name was used up.
    for partition in (0, 1):
        group.feed_all(group.present().tenures[partition].addresses[0])
    assert member.stop() == 0
    positions: dict[str, int] = {}
    for partition in range(3):
        url, _, key, _, mark = group.store(partition)
        assert verify(url, key, mark).sound
        with opened(group, partition) as store:
            away = names_given(store.configuration)
            assert set(away) == {n for n in MORE if partition_of(n, PARTITIONS) == partition}
            assert set(away) <= store.closed
            assert all(store.position(name) == 0 for name in away)
            positions |= {n: store.position(n) for n in store.plans if n not in away}
    assert positions == {name: 3 - (name in MORE) for name in group.streams}


def test_no_stream_of_an_added_partition_comes_to_be_in_another_one(
    group: Group, littled: Littled
) -> None:
    def add(*names: str) -> Said:
        return littled(
            *("group", "add", group.url, "--config", group.told(*names), "--keys", group.keys)
        )

    refused = add(group.streams[0])
    assert refused.status == 2
    assert "has or had a stream shop-0000 already" in refused.err
    with closing(Agreement(group.place)) as agreement:
        assert agreement.directory().partitions == PARTITIONS
    assert add(*MORE[:2]).status == 0
    again = add(*MORE[1:])
    assert (again.status, "which was added with it" in again.err) == (2, True)
    store, *files = group.store(partition_of(MORE[0], PARTITIONS))
    used = littled("stream", "add", store, group.told(MORE[0]), *files)
    assert used.status == 2
    assert "has a stream ship-0001 already, and it is closed" in used.err
    store, *files = group.store(2)
    other = littled("stream", "add", store, group.told("trains"), *files)
    assert other.status == 2
    assert "partition 02 was added for other streams than trains" in other.err


@pytest.mark.parametrize("moment", ["_use_up", "make_store"])
def test_what_was_stopped_leaves_the_group_as_it_was_and_goes_on(
    group: Group, littled: Littled, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Before a name was used up, and after all were: the new store comes behind them."""

    def stopped(*_: object) -> None:
        raise GroupRefused("stopped")

    config = group.told("trains")
    command = ("group", "add", group.url, "--config", config, "--keys", group.keys)
    with monkeypatch.context() as patched:
        patched.setattr(adding, moment, stopped)
        said = littled(*command)
    assert (said.status, said.err) == (2, "littled: stopped\n")
    with closing(Agreement(group.place)) as agreement:
        assert agreement.directory().partitions == PARTITIONS
        assert agreement.present().paused == frozenset()
    with opened(group, partition_of("trains", PARTITIONS)) as store:
        assert ("trains" in store.closed) == (moment == "make_store")
    assert not (group.keys / "02.key").exists()
    assert littled(*command).status == 0
    with closing(Agreement(group.place)) as agreement:
        assert agreement.directory().partition_of("trains") == 2
    with opened(group, 2) as store:
        assert [*store.plans] == ["trains"]


def test_a_name_that_was_fed_before_it_was_used_up_stays_where_it_is(
    group: Group, littled: Littled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command was killed in between, and its store then served as one by itself."""

    def stopped(*_: object) -> None:
        raise GroupRefused("stopped")

    command = ("group", "add", group.url, "--config", group.told("trains"), "--keys", group.keys)
    with monkeypatch.context() as patched:
        patched.setattr(Store, "close_stream", stopped)
        assert littled(*command).err == "littled: stopped\n"
    with opened(group, partition_of("trains", PARTITIONS), read_only=False) as store:
        assert "trains" not in store.closed
        store.append([NewRecord("trains", "p", 0, 1, b"\7", b"\1")])
    said = littled(*command)
    assert (said.status, "stream trains was fed in partition" in said.err) == (2, True)
    with closing(Agreement(group.place)) as agreement:
        assert agreement.directory().partitions == PARTITIONS


def test_a_partition_that_somebody_goes_on_serving_is_left_alone(
    group: Group, littled: Littled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adding, "GROUP_ADDING_SECONDS", 4)
    config = group.told("trains")
    partition = partition_of("trains", PARTITIONS)
    with closing(Agreement(group.place)) as agreement:
        agreement.acquire(partition, "an-older-one", agreement.grant(60))
        said = littled("group", "add", group.url, "--config", config, "--keys", group.keys)
        assert f"an-older-one does not give up partition {partition:02}" in said.err
        assert agreement.directory().partitions == PARTITIONS
        assert agreement.present().paused == frozenset()
    with opened(group, partition) as store:
        assert "trains" not in store.plans


def test_a_member_without_a_port_for_a_new_partition_says_so_and_serves_the_others(
    group: Group,
) -> None:
    member = group.join(bounded=True)
    group.wait(m0=2)
    assert group.add(["trains"]).returncode == 0
    deadline = time.monotonic() + SECONDS
    while "partition 02 takes the port" not in member.said():
        assert time.monotonic() < deadline, member.said()
        time.sleep(0.1)
    assert "start it again with more of them" in member.said()
    group.wait(m0=2)
    status, said = group.status()
    assert (status, said["unserved"]) == (1, [2])
    assert member.stop() == 0
