"""Groups of real processes: members that join, stop, are killed, frozen, and lose their etcd.

Stores are in a real PostgreSQL, marks and leases in a real etcd.
"""

import itertools
import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from littled.groups.agreement import Agreement, Present
from littled.groups.partitions import divided, partition_of
from littled.limits import GROUP_DIRECTORY_SECONDS
from littled.store.store import Store
from littled_client import Client, Waits
from littled_protocol.messages import Moved, Open, Opened
from support.commands import Littled
from support.databases import Postgres
from support.etcd import Cluster, etcd_cluster
from support.groups import SECONDS, Group, Machine, alive, database_url, group_of
from support.servers import needs
from support.serving import Peer
from support.watching import Watcher

pytestmark = needs("etcd")
NAMES = itertools.count()
STREAMS, PARTITIONS = 12, 4


@pytest.fixture
def group(cluster: Cluster, server: Postgres, tmp_path: Path) -> Iterator[Group]:
    """A group of four partitions without members."""
    url = cluster.url(f"groups/test{next(NAMES)}")
    with group_of(url, tmp_path, server, STREAMS, PARTITIONS) as found:
        yield found


def place(address: str) -> tuple[str, int]:
    """Host and port."""
    host, _, port = address.rpartition(":")
    return host, int(port)


def ended(processes: list[int]) -> None:
    """Wait until all of these have ended."""
    deadline = time.monotonic() + SECONDS
    while any(map(alive, processes)):
        assert time.monotonic() < deadline, "a daemon has outlived its member"
        time.sleep(0.1)


# --- making ---------------------------------------------------------------------------------------


def test_a_group_is_made_once_with_each_stream_in_the_store_of_its_name(group: Group) -> None:
    parts = divided(group.streams, PARTITIONS)
    for partition, names in enumerate(parts):
        url, _, key, _, mark = group.store(partition)
        with Store.open(url, key, mark, read_only=True) as store:
            assert set(store.plans) == set(names)
            told = store.configuration["group"]
            assert told == {"partition": partition, "partitions": PARTITIONS}
    assert len({path.read_text() for path in group.keys.iterdir()}) == PARTITIONS
    again = group.init()
    assert (again.returncode, "there is a group at" in again.stderr) == (2, True)
    status, said = group.status()
    assert (status, said["unserved"]) == (1, [0, 1, 2, 3])
    text = group.run("group", "status", group.url)
    assert text.stdout.splitlines()[-1] == "no member runs"
    assert text.stderr == "littled: nobody serves 00, 01, 02, 03\n"


def test_an_init_that_was_killed_leaves_no_group_and_goes_on(
    cluster: Cluster, server: Postgres, tmp_path: Path
) -> None:
    url = cluster.url(f"groups/test{next(NAMES)}")
    with group_of(url, tmp_path, server, STREAMS, PARTITIONS) as group:
        # As it is where the last step was not made, and a store is missing.
        cluster.ctl("del", f"{group.place.prefix}/group")
        gone = group.run("group", "member", url, "--address", "127.0.0.1:1", "--keys", group.keys)
        assert (gone.returncode, "there is no group at" in gone.stderr) == (2, True)
        before = {path.name: path.read_text() for path in group.keys.iterdir()}
        again = group.init()
        assert again.returncode == 0, again.stderr
        assert {path.name: path.read_text() for path in group.keys.iterdir()} == before
        cluster.ctl("del", f"{group.place.prefix}/group")
        group.streams.append("one-more")
        other = group.init()
        assert (other.returncode, "there is another store in" in other.stderr) == (2, True)


def test_what_cannot_be_a_group_is_refused_in_a_sentence(
    littled: Littled, cluster: Cluster, server: Postgres, tmp_path: Path
) -> None:
    url = cluster.url(f"groups/test{next(NAMES)}")
    group = Group(url, tmp_path, server, ["flights", "addresses", "a"], 4)
    said = group.init()
    assert said.returncode == 2
    assert said.stderr.endswith("as names are divided by their hash: take 3 partitions\n")
    config, store = group.folder / "littled.toml", database_url(server)
    made = ("group", "init", url, "--config", config, "--partitions", "3", "--store")
    assert "say --keys" in littled(*made, store).err
    optional = littled(*made, f"{store}&options=-csearch_path%3Dx", "--keys", group.keys)
    assert "leave the options out of the database's URL" in optional.err
    wrong = littled("group", "status", "etcd://me:canary@h:1/a")
    assert "a password does not belong into the name of a group" in wrong.err
    assert "canary" not in wrong.err
    group.partitions = 3
    assert group.init().returncode == 0
    member = ("group", "member", url, "--address")
    assert "is HOST:PORT or HOST:PORT-PORT" in littled(*member, "nowhere").err
    few = littled(*member, "127.0.0.1:9000-9001").err
    assert "--address has no port for each of 3 partitions: they take 9000 to 9002" in few
    assert "say --keys" in littled(*member, "127.0.0.1:9000").err
    (group.keys / "01.key").unlink()
    lost = littled(*member, "127.0.0.1:9000", "--keys", group.keys)
    assert (lost.status, "01.key is missing" in lost.err) == (3, True)


def test_no_stream_comes_to_be_in_two_partitions(cluster: Cluster, group: Group) -> None:
    stranger = next(f"x{n}" for n in range(99) if partition_of(f"x{n}", PARTITIONS) == 1)
    config = group.folder / "more.toml"
    config.write_text(
        f"[streams.{stranger}]\nepsilon = 1.0\ndelta = 1e-6\nhorizon = 1000\n"
        'learners.rule = { class = "thresholds:256" }\n'
    )
    refused = group.run("stream", "add", group.store(0)[0], config, *group.store(0)[1:])
    assert refused.returncode == 2
    assert f"stream {stranger} belongs to partition 01 of the group" in refused.stderr
    added = group.run("stream", "add", group.store(1)[0], config, *group.store(1)[1:])
    assert added.returncode == 0, added.stderr
    # Somebody has changed what etcd says of the stores.
    stores = [f"{group.place.prefix}/stores/{n:02}" for n in (0, 1)]
    values = [cluster.ctl("get", "--print-value-only", each).stdout.strip() for each in stores]
    cluster.ctl("put", stores[1], values[0])
    serve = ("serve", *group.store(0), "--group", group.url, "--partition", "1")
    wrong = group.run(*serve, "--unix", group.folder / "d.sock")
    assert wrong.returncode == 3
    assert "partition 01 of 4, and the store that it is partition 00 of 4" in wrong.stderr
    alone = group.run("serve", *group.store(0), "--group", group.url)
    assert (alone.returncode, "belong together" in alone.stderr) == (2, True)


def each_daemon_says_where_the_others_are(group: Group) -> None:
    """Ask every daemon for a stream of each partition that it does not serve."""
    present = group.present()
    places = {name: group.address(name, present) for name in group.streams}
    time.sleep(2 * GROUP_DIRECTORY_SECONDS)
    for asked in set(places.values()):
        host, _, port = asked.rpartition(":")
        with Peer.greet((host, int(port)), version=2) as peer:
            for channel, (stream, place) in enumerate(places.items(), start=1):
                peer.send(Open(channel, stream, "asking"))
                if place == asked:
                    assert isinstance(peer.receive(), Opened)
                else:
                    said = peer.receive()
                    assert isinstance(said, Moved)
                    assert (said.stream, said.addresses) == (stream, [place])


# --- serving --------------------------------------------------------------------------------------


def test_members_that_join_get_their_share_and_who_stops_hands_over(group: Group) -> None:
    first = group.join()
    group.wait(m0=4)
    status, said = group.status()
    assert (status, said["unserved"]) == (0, [])
    assert [(each["fit"], each["partitions"]) for each in said["members"]] == [(True, 4)]
    group.feed_all()
    second = group.join()
    group.wait(m0=2, m1=2)
    each_daemon_says_where_the_others_are(group)
    group.feed_all(group.address(group.streams[0]))
    daemons = first.daemons
    assert first.stop() == 0
    assert not any(map(alive, daemons)), "a daemon was left behind"
    group.wait(m1=4)
    group.feed_all()
    assert second.stop() == 0
    assert group.present() == Present({}, {})
    group.verify()
    assert group.positions() == dict.fromkeys(group.streams, 3)


def test_the_daemons_of_a_member_that_is_killed_end_and_others_serve(group: Group) -> None:
    first = group.join()
    group.wait(m0=4)
    group.join()
    group.wait(m0=2, m1=2)
    daemons = first.daemons
    assert len(daemons) == 2
    first.process.kill()
    ended(daemons)
    group.wait(m1=4)
    group.feed_all()
    for each in group.machines[1:]:
        assert each.stop() == 0
    group.verify()
    assert group.positions() == dict.fromkeys(group.streams, 1)


def test_a_member_that_was_frozen_shows_nothing_more_and_comes_back(group: Group) -> None:
    first = group.join()
    present = group.wait(m0=4)
    stream = group.streams[0]
    learner = f"{stream}/rule"
    group.feed(stream, 200)
    address = group.address(stream)
    watching = Watcher(place(address), learner).wait(2)
    time.sleep(0.5)
    daemons = first.daemons
    first.signal_all(signal.SIGSTOP, daemons)
    before = watching.settled()
    second = group.join()
    group.wait(m1=4)
    later = group.present()
    assert all(later.tenures[p].number > present.tenures[p].number for p in range(PARTITIONS))
    also = Watcher(place(group.address(stream)), learner).wait(max(before))
    group.feed(stream, 400)
    first.signal_all(signal.SIGCONT, daemons)
    ended(daemons)
    assert watching.end() == before, "a daemon that was put off has shown something"
    group.wait(m0=2, m1=2)
    assert "lease lost" in first.said()
    group.feed_all()
    assert [each.stop() for each in (first, second)] == [0, 0]
    group.verify()
    url, _, key, _, mark = group.store(partition_of(stream, PARTITIONS))
    with Store.open(url, key, mark, read_only=True) as store:
        history = {each.version: each.body for each in store.releases(learner)}
    assert history.items() >= {**before, **also.end()}.items()


def test_without_etcd_daemons_are_stopped_and_come_back_with_it(
    server: Postgres, tmp_path: Path
) -> None:
    with etcd_cluster(tmp_path / "etcd") as own:
        url = own.url(f"groups/test{next(NAMES)}")
        with group_of(url, tmp_path, server, STREAMS, PARTITIONS) as group:
            first = group.join()
            group.wait(m0=4)
            own.leader().kill()
            time.sleep(2)
            group.wait(m0=4)
            daemons = first.daemons
            for each in own.members:
                each.kill()
            ended(daemons)
            assert '"event": "lease lost"' in first.said()
            assert first.process.poll() is None
            own.start()
            group.wait(m0=4)
            group.feed_all()
            assert first.stop() == 0
            group.verify()


def test_daemons_end_with_a_member_that_is_killed_so_that_others_have_its_folders(
    cluster: Cluster, tmp_path: Path
) -> None:
    url = cluster.url(f"groups/test{next(NAMES)}")
    with group_of(url, tmp_path, None, 6, 2) as group:
        first = group.join()
        group.wait(m0=2)
        group.feed_all()
        daemons = first.daemons
        assert len(daemons) == 2
        first.process.kill()
        ended(daemons)
        second = group.join()
        group.wait(m1=2)
        group.feed_all()
        assert second.stop() == 0
        group.verify()
        assert group.positions() == dict.fromkeys(group.streams, 2)


def test_who_has_no_working_daemon_leaves_its_share_to_the_others(group: Group) -> None:
    good = group.join()
    group.wait(m0=4)
    # Its daemons cannot listen where they are told to.
    bad = group.join("--listen", "192.0.2.1")
    deadline = time.monotonic() + SECONDS
    while '"event": "partition failed"' not in bad.said():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    deadline = time.monotonic() + SECONDS
    while group.counts().get("m0", 0) < 3:
        assert time.monotonic() < deadline, [bad.said(), good.said()]
        time.sleep(0.1)
    fits = {name.partition("-")[0]: fit for name, fit in group.present().members.items()}
    assert fits == {"m0": True, "m1": False}
    assert [each.stop() for each in (bad, good)] == [0, 0]


def test_a_store_that_needs_attention_is_not_tried_again_at_once(group: Group) -> None:
    machine = group.join()
    group.wait(m0=4)
    agreement = Agreement(group.place)
    number = agreement.present().tenures[2].number
    daemon = daemon_of(machine, 2)
    daemon_key = group.keys / "02.key"
    text = daemon_key.read_text()
    daemon_key.write_text("0" * 64 + "\n")
    os.kill(daemon, signal.SIGKILL)
    deadline = time.monotonic() + SECONDS
    while machine.said().count('"event": "partition failed"') < 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert '"status": 3' in machine.said()
    time.sleep(3)
    assert machine.said().count('"event": "partition failed"') == 2
    status, said = group.status()
    assert (status, said["unserved"]) == (1, [2])
    daemon_key.write_text(text)
    group.wait(m0=4)
    assert agreement.present().tenures[2].number > number
    agreement.close()
    assert machine.stop() == 0


def daemon_of(machine: Machine, partition: int) -> int:
    """The process that serves a partition."""
    for process in machine.daemons:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        if words[words.index(b"--partition") + 1] == str(partition).encode():
            return process
    raise AssertionError("nobody serves it")


# --- clients --------------------------------------------------------------------------------------


def test_a_client_finds_every_stream_and_finds_it_again(group: Group) -> None:
    """It knows the addresses of the daemons that are there first, one of which is killed."""
    first, second = group.join(), group.join()
    half = PARTITIONS // 2
    present = group.wait(**{first.name: half, second.name: half})
    addresses = sorted({address for each in present.tenures.values() for address in each.addresses})
    waits = Waits(reconnect_seconds=SECONDS, delay_most_seconds=0.5)
    with Client(addresses, producer="p", waits=waits) as client, ExitStack() as stack:
        feeders = [stack.enter_context(client.feed(stream)) for stream in group.streams]
        for feeder in feeders:
            feeder.send([1, 2], [0, 0])
            feeder.flush()
        first.signal_all(signal.SIGKILL, first.daemons)
        for feeder in feeders:
            feeder.send([3, 4], [0, 0])
            feeder.flush()
        for stream in group.streams:
            assert client.status(stream)["streams"][stream]["position"] == 4
    group.wait(**{second.name: PARTITIONS})
    assert second.stop() == 0
    assert set(group.positions().values()) == {4}
    group.verify()
