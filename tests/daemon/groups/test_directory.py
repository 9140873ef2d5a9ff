"""Where other streams are, as etcd has it: known at once, and still known when etcd is gone."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from littled.groups.agreement import Agreement, Served
from littled.groups.directory import LiveDirectory
from littled.groups.partitions import partition_of
from littled.limits import GROUP_DIRECTORY_SECONDS
from littled.service.elsewhere import Elsewhere
from support.etcd import Cluster, etcd_cluster
from support.servers import needs

pytestmark = needs("etcd")
PARTITIONS = 3


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """One member of etcd."""
    with etcd_cluster(tmp_path / "etcd", 1) as running:
        yield running


def soon(holds: Callable[[], bool]) -> None:
    """Wait until something holds, for a few times as long as it takes to ask."""
    deadline = time.monotonic() + 10 * GROUP_DIRECTORY_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_is_served_elsewhere_is_known_and_stays_known_without_etcd(cluster: Cluster) -> None:
    place = cluster.place("group")
    agreement = Agreement(place)
    agreement.found([f"store{n}" for n in range(PARTITIONS)])
    lease = agreement.grant(60)
    streams = {partition_of(name, PARTITIONS): name for name in "abcdefghijkl"}
    live = LiveDirectory(place, 1, agreement.directory())
    directory: Elsewhere = live
    # Nobody serves it yet; and what would be here is nowhere else.
    assert [directory.where(streams[p]) for p in range(PARTITIONS)] == [(), None, ()]
    number = agreement.acquire(0, "a", lease)
    assert number is not None
    agreement.publish(0, lease, Served("a", number, ("h:1",)))
    soon(lambda: directory.where(streams[0]) == ("h:1",))
    agreement.publish(0, lease, Served("a", number, ("tls://h:2",)))
    soon(lambda: directory.where(streams[0]) == ("tls://h:2",))
    cluster.stop()
    time.sleep(2 * GROUP_DIRECTORY_SECONDS)
    before = time.monotonic()
    assert [directory.where(streams[p]) for p in range(PARTITIONS)] == [("tls://h:2",), None, ()]
    assert time.monotonic() - before < GROUP_DIRECTORY_SECONDS, "an answer waited for etcd"
    cluster.start()
    agreement.close()
    agreement = Agreement(place)
    agreement.release(0, number)
    soon(lambda: directory.where(streams[0]) == ())
    # A partition that is added has its streams, one of which would be here by its hash.
    agreement.add(PARTITIONS, "more", [streams[0], streams[1]])
    soon(lambda: directory.where(streams[1]) == ())
    number = agreement.acquire(PARTITIONS, "a", lease)
    assert number is not None
    agreement.publish(PARTITIONS, lease, Served("a", number, ("h:3",)))
    soon(lambda: directory.where(streams[1]) == ("h:3",))
    assert [directory.where(streams[p]) for p in (0, 2)] == [("h:3",), ()]
    agreement.close()
    live.close()
    live.close()
