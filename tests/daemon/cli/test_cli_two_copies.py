"""Two daemons over two copies of one store, and one mark in etcd: one shows, the other one ends.

Whatever anybody was ever shown is one chain within one budget. These are real processes, which are
frozen, go on, and lose their etcd.
"""

import itertools
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from littled.store.store import Store
from support.commands import START_SECONDS, Daemon, Littled, kill_leftovers, serve
from support.etcd import Cluster, etcd_cluster
from support.servers import needs
from support.serving import Peer
from support.watching import Watcher

pytestmark = needs("etcd")
CONFIGURATION = """
[streams.flights]
epsilon = 1.0
delta = 1e-6
horizon = 50_000
learners.late = { class = "thresholds:256", noise_rate = 0 }
"""
LEARNER = "flights/late"
BATCH = 1_000
NAMES = itertools.count()


@pytest.fixture(autouse=True)
def _nobody_left() -> Iterator[None]:
    yield
    kill_leftovers()


def made(littled: Littled, folder: Path, url: str) -> Path:
    """A folder with a new store whose mark is at a place."""
    folder.mkdir()
    (folder / "littled.toml").write_text(CONFIGURATION)
    said = littled("init", folder / "store", "--config", folder / "littled.toml", "--mark", url)
    assert said.status == 0, said.err
    return folder


def copied(folder: Path, to: Path) -> Path:
    """The same store in another folder."""
    to.mkdir()
    shutil.copytree(folder / "store", to / "store")
    return to


def subscriber(daemon: Daemon) -> Watcher:
    """Who is shown what a daemon publishes."""
    return Watcher(daemon.folder / "d.sock", LEARNER)


def feed(daemon: Daemon, batches: int, change: int) -> None:
    """Feed batches of a rule of their own, each acknowledged unless the daemon ends."""
    with Peer.greet(daemon.folder / "d.sock") as peer:
        sequence = peer.open("flights", "tower").next_sequence
        for _ in range(batches):
            x = bytes((sequence + i) * 97 % 256 for i in range(BATCH))
            peer.feed(sequence, x, bytes(int(value >= change) for value in x))
            sequence += BATCH
            peer.acknowledged(sequence)


def feed_until_end(daemon: Daemon, change: int) -> None:
    """Feed until the daemon has ended."""
    try:
        for _ in range(40):
            feed(daemon, 1, change)
    except (OSError, AssertionError):
        pass


def ended(daemon: Daemon) -> tuple[int, str]:
    """Exit status and last line of a daemon that ends by itself."""
    _, err = daemon.process.communicate(timeout=START_SECONDS)
    return daemon.process.returncode, err.splitlines()[-1]


def stored(folder: Path, url: str) -> dict[int, bytes]:
    """All releases of a store by their versions."""
    with Store.open(folder / "store", mark_path=url, read_only=True) as store:
        return {each.version: each.body for each in store.releases(LEARNER)}


def test_a_zombie_shows_nothing(littled: Littled, cluster: Cluster, tmp_path: Path) -> None:
    """An owner is frozen, its store is copied and served elsewhere, and then it wakes up."""
    url = cluster.url("zombie")
    folder = made(littled, tmp_path / "one", url)
    one = serve(folder, "--mark", url)
    watching = subscriber(one)
    feed(one, 4, 24)
    watching.wait(2)
    time.sleep(0.5)
    one.process.send_signal(signal.SIGSTOP)
    before = watching.settled()
    other = serve(copied(folder, tmp_path / "two"), "--mark", url)
    also = subscriber(other).wait(max(before))
    feed(other, 4, 150)
    also.wait(max(before) + 1)
    one.process.send_signal(signal.SIGCONT)
    feed_until_end(one, 200)
    status, sentence = ended(one)
    assert status == 3
    assert "another daemon serves a copy of this store and owns the mark" in sentence
    shown = watching.end()
    assert shown == before, "the zombie has shown something"
    assert other.stop() == 0
    history = stored(tmp_path / "two", url)
    assert history.items() >= also.end().items() >= shown.items()
    said = littled("verify", tmp_path / "two" / "store", "--mark", url, "--replay")
    assert said.status == 0, said.out + said.err
    said = littled("serve", folder / "store", "--mark", url, "--unix", folder / "d.sock")
    assert said.status == 3
    assert "is behind its high-water mark" in said.sentence


def test_two_daemons_at_once_show_one_history(
    littled: Littled, cluster: Cluster, tmp_path: Path
) -> None:
    """Both are fed from the same moment on; nobody sees a version in two ways."""
    url = cluster.url("both")
    folder = made(littled, tmp_path / "one", url)
    daemons = [serve(folder, "--mark", url)]
    watchers = [subscriber(daemons[0]).wait(1)]
    time.sleep(0.5)
    other = copied(folder, tmp_path / "two")
    daemons.append(serve(other, "--mark", url))
    watchers.append(subscriber(daemons[1]))
    threads = [
        threading.Thread(target=feed_until_end if number == 0 else feed, args=arguments)
        for number, arguments in enumerate(((daemons[0], 60), (daemons[1], 6, 180)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(START_SECONDS)
    assert ended(daemons[0])[0] == 3
    assert daemons[1].stop() == 0
    history = stored(other, url)
    assert len(history) >= 2
    for watcher in watchers:
        assert history.items() >= watcher.end().items()


def test_a_leader_that_is_killed_is_survived(littled: Littled, tmp_path: Path) -> None:
    with etcd_cluster(tmp_path / "etcd") as own:
        url = own.url("mark")
        folder = made(littled, tmp_path / "one", url)
        daemon = serve(folder, "--mark", url)
        watching = subscriber(daemon).wait(1)
        own.leader().kill()
        feed(daemon, 4, 24)
        watching.wait(2)
        assert daemon.stop() == 0
        assert stored(folder, url).items() >= watching.end().items()


def test_a_daemon_without_etcd_shows_nothing_says_so_and_may_start_again(
    littled: Littled, tmp_path: Path
) -> None:
    with etcd_cluster(tmp_path / "etcd") as own:
        url = own.url("mark")
        folder = made(littled, tmp_path / "one", url)
        daemon = serve(folder, "--mark", url, "--log", "json")
        watching = subscriber(daemon).wait(1)
        time.sleep(0.2)
        before = dict(watching.shown)
        for member in own.members[1:]:
            member.kill()
        feed_until_end(daemon, 24)
        _, err = daemon.process.communicate(timeout=2 * START_SECONDS)
        assert daemon.process.returncode == 1
        assert '"event": "waiting for the mark"' in err
        assert "the high-water mark cannot be had: etcd at" in err.splitlines()[-1]
        assert watching.end() == before
        own.start(own.members[1:])
        daemon = serve(folder, "--mark", url)
        again = subscriber(daemon)
        feed(daemon, 4, 24)
        again.wait(2)
        assert daemon.stop() == 0
        assert stored(folder, url).items() >= again.end().items() >= before.items()


@pytest.mark.parametrize("command", ["init", "serve", "verify", "restore", "archive", "ledger"])
def test_every_command_says_what_is_wrong_with_a_mark(
    littled: Littled, tmp_path: Path, command: str
) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "c.toml").write_text(CONFIGURATION)
    more: dict[str, list[str | Path]] = {
        "init": ["--config", folder / "c.toml"],
        "archive": [folder / "archive"],
    }
    given = more.get(command, [])
    said = littled(command, folder / "store", *given, "--mark", "etcd://me:canary@h:1/a")
    assert said.status == 2
    assert "a password does not belong into the name of a mark" in said.err
    assert "canary" not in said.err


def test_a_restored_copy_goes_on_and_fences_the_old_daemon(
    littled: Littled, cluster: Cluster, tmp_path: Path
) -> None:
    url = cluster.url("restored")
    folder = made(littled, tmp_path / "one", url)
    copy = copied(folder, tmp_path / "two")
    one = serve(folder, "--mark", url)
    watching = subscriber(one)
    feed(one, 4, 24)
    watching.wait(2)
    said = littled("serve", copy / "store", "--mark", url, "--unix", copy / "d.sock")
    assert (said.status, said.sentence.endswith("may only go on by littled restore")) == (3, True)
    for _ in range(20):
        said = littled("restore", copy / "store", "--mark", url, "--yes")
        if said.status == 0:
            break
        # The daemon still learns what it has, and its mark has moved since the copy was looked at.
        assert "was changed by another process" in said.sentence
        time.sleep(0.2)
    assert said.status == 0, said.err
    assert said.out.splitlines()[-1].endswith(f"--mark {url} --unix littled.sock")
    feed_until_end(one, 150)
    assert ended(one)[0] == 3
    watching.end()
    assert littled("verify", copy / "store", "--mark", url, "--replay").status == 0
