"""The whole daemon as a process: kill -9, clean stops, failures, systemd, and what it shows."""

import asyncio
import json
import math
import re
import resource
import shutil
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from littled.engine import replay
from littled.limits import START_LEARNING_SECONDS
from littled.mechanisms.noise import KeyedNoise
from littled.planner import StreamPlan
from littled.service.daemon import Daemon
from littled.service.host import Catching
from littled.store.restoring import Restoring
from littled.store.store import Store
from littled.store.verify import verify
from littled_client import AsyncClient, Client, Published, Waits
from littled_protocol.messages import (
    Ack,
    Error,
    Examples,
    Hello,
    Ping,
    Pong,
    Release,
    Status,
    StatusRequest,
)
from littled_protocol.rules import rule_from_dict
from support.networks import needs_version_six
from support.serving import (
    CANARY,
    STORE_STATUS,
    WAIT_SECONDS,
    Peer,
    Serving,
    serving,
    wait_for_file,
)
from support.stores import change

LOOPBACK = ["127.0.0.1", 0]
BATCH = 500


def examples(count: int, seed: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Points and labels of the rule x >= 60."""
    x = np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8)
    return x, (x >= 60).astype(np.uint8)


def fetch(url: str) -> bytes:
    """The body of a page."""
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - our own page
        body: bytes = answer.read()
    return body


def journal(path: Path, stream: str = "flights") -> tuple[bytes, bytes]:
    """All points and labels that a store holds."""
    with Store.open(path, read_only=True) as store:
        records = list(store.records(stream))
    return b"".join(each.x for each in records), b"".join(each.y for each in records)


def check_history(path: Path, *, behind: bool = False) -> int:
    """A replay from the start says the same as the store; return the number of releases.

    behind: whether the engine may have been stopped before it had learned everything.
    """
    assert verify(path).findings == ()
    with Store.open(path, read_only=True) as store, ThreadPoolExecutor(1) as executor:
        plan = StreamPlan.from_dict(store.plans["flights"])
        noise = KeyedNoise(store.noise_key)
        whole = replay(plan, noise, store.records("flights"), executor)
        releases, entries = store.releases("flights/late"), store.ledger("flights")
        if behind:
            whole = replace(
                whole,
                releases=whole.releases[: len(releases)],
                entries=whole.entries[: len(entries)],
            )
        assert (whole.releases, whole.entries) == (releases, entries)
    return len(whole.releases)


class Feeding(threading.Thread):
    """Feeds the same known stream until the daemon is gone, and remembers what was acknowledged."""

    def __init__(self, daemon: Serving, x: bytes, y: bytes, batch: int) -> None:
        super().__init__(daemon=True)
        self.acknowledged = 0
        self.batch = batch
        self._daemon_process, self._x, self._y = daemon, x, y
        self.start()

    def run(self) -> None:
        try:
            with Peer.greet(self._daemon_process.unix) as peer:
                sequence = self.acknowledged = peer.open("flights", "me").next_sequence
                while sequence < len(self._x):
                    while sequence - self.acknowledged > 20 * self.batch:
                        self.acknowledged = peer.expect(Ack).next_sequence
                    stop = min(sequence + self.batch, len(self._x))
                    peer.feed(sequence, self._x[sequence:stop], self._y[sequence:stop])
                    sequence = stop
                while self.acknowledged < sequence:
                    self.acknowledged = peer.expect(Ack).next_sequence
        except (OSError, AssertionError):
            return


# --- Crashes and stops ----------------------------------------------------------------------------


def test_kill_at_any_moment_loses_and_repeats_nothing(store: Path) -> None:
    points, marks = examples(200_000, 1)
    x, y = points.tobytes(), marks.tobytes()
    chance = np.random.default_rng(7)
    promised = 0
    for _ in range(4):
        daemon = Serving.start(store)
        feeding = Feeding(daemon, x, y, batch=5)
        time.sleep(float(chance.uniform(0.0, 0.15)))
        daemon.kill()
        feeding.join(10)
        assert not feeding.is_alive()
        promised = max(promised, feeding.acknowledged)
        stored_x, stored_y = journal(store)
        assert len(stored_x) >= promised
        assert (stored_x, stored_y) == (x[: len(stored_x)], y[: len(stored_y)])
    assert 0 < promised < len(x)
    with serving(store) as last:
        feeding = Feeding(last, x, y, batch=BATCH)
        feeding.join(20)
        assert feeding.acknowledged == len(x)
        assert last.stop() == 0
    assert journal(store) == (x, y)
    assert check_history(store) > 1


async def watch(client: AsyncClient, seen: list[Published], least: int) -> None:
    """Follow a learner to the release with that version."""
    async for published in client.subscribe("flights/late"):
        seen.append(published)
        if published.version >= least:
            return


async def test_the_clients_outlive_a_killed_daemon(store: Path) -> None:
    points, marks = examples(60_000, 2)
    daemon = Serving.start(store)
    waits = Waits(delay_least_seconds=0.05, delay_most_seconds=0.2)
    seen: list[Published] = []
    async with AsyncClient(f"unix:{daemon.unix}", producer="me", waits=waits) as client:
        watching = asyncio.ensure_future(watch(client, seen, 2))
        async with client.feed("flights") as feeder:
            for start in range(0, 60_000, BATCH):
                await feeder.send(points[start : start + BATCH], marks[start : start + BATCH])
                if start in (10_000, 30_000):
                    daemon.kill()
                    daemon = await asyncio.to_thread(Serving.start, store)
            await feeder.flush()
            assert feeder.acknowledged == 60_000
        await asyncio.wait_for(watching, 10)
        assert await asyncio.to_thread(daemon.stop) == 0
    assert [each.version for each in seen] == [1, 2]
    assert seen[-1].rule is not None
    assert journal(store) == (points.tobytes(), marks.tobytes())
    assert check_history(store) >= 2


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_clean_stop_commits_acknowledges_and_says_goodbye(
    store: Path, kind: signal.Signals
) -> None:
    points, marks = examples(60_000, 2)
    with serving(store, http=LOOPBACK) as daemon:
        with Peer.greet(daemon.unix) as feeder, Peer.greet(daemon.unix) as idle:
            idle.subscribe("flights/late", since=1)
            feeder.open("flights", "me")
            for start in range(0, len(points), BATCH):
                part = slice(start, start + BATCH)
                feeder.feed(start, points[part].tobytes(), marks[part].tobytes())
            assert idle.expect(Release).version == 2  # so the engine has begun
            for number in range(40):
                feeder.feed(len(points) + number * BATCH, bytes(BATCH), bytes(BATCH))
            daemon.process.send_signal(kind)
            acknowledged = 0
            while isinstance(message := feeder.receive(), Ack):
                acknowledged = message.next_sequence
            assert message is not None
            assert message.code == "shutting_down"  # type: ignore[attr-defined]
            while not isinstance(message := idle.receive(), Error):
                assert isinstance(message, Release)
            assert message.code == "shutting_down"
        assert daemon.ended() == 0
        assert not daemon.unix.exists()
    stored_x, _ = journal(store)
    assert acknowledged == len(stored_x)
    with Store.open(store, read_only=True) as opened:
        saved = opened.snapshot("flights")
    assert saved is not None
    assert saved[0] >= 0
    check_history(store, behind=True)


def test_a_stop_during_a_replay_is_quick(store: Path) -> None:
    with serving(store, engine="slow") as daemon, Peer.greet(daemon.unix) as peer:
        peer.open("flights", "me")
        for number in range(20):
            peer.feed(number, b"a", b"\0")
            peer.acknowledged(number + 1)
        daemon.kill()
    (store / "learning").unlink()
    with serving(store, engine="slow", ready=False) as again:
        wait_for_file(store / "learning")  # by then it hears signals
        again.process.send_signal(signal.SIGTERM)
        again.wait_for("stopping")
        (store / "go").touch()
        assert again.ended() == 0
        assert "ready" not in [line["event"] for line in again.lines]


def test_what_is_said_of_a_rule_is_of_its_version_between_two_trainings(store: Path) -> None:
    """An engine tells its facts after each record, and a record may lead to many trainings."""
    with serving(store, engine="held") as daemon, Peer.greet(daemon.unix) as peer:
        with Peer.greet(daemon.unix) as subscriber:
            subscriber.subscribe("flights/late")
            first = subscriber.expect(Release)
            x, y = examples(10 * BATCH, 1)
            peer.open("flights", "me")
            peer.feed(0, x.tobytes(), y.tobytes())
            second = subscriber.expect(Release)
        assert second.version == 2
        assert second.rule != first.rule
        peer.send(StatusRequest())
        while not isinstance(status := peer.receive(), Status):
            assert isinstance(status, Ack)
        facts = status.body["streams"]["flights"]["learners"]["late"]
        said = rule_from_dict(second.rule).describe()
        assert (facts["version"], facts["epoch"], facts["rule"]) == (2, second.epoch, said)
        assert facts["calls_left"] > 0
        (store / "go").touch()
        assert daemon.stop() == 0


LISTEN_AT_ONCE = {"littled.service.daemon.START_LEARNING_SECONDS": 0}


def feed_backlog(store: Path) -> int:
    """Let a daemon learn a batch, and another one store six of which it learns nothing.

    These say the opposite, which leads to releases. Returns how many there are before.
    """
    for first, batches, engine in ((0, 1, "real"), (1, 6, "slow")):
        with serving(store, engine=engine) as daemon, Peer.greet(daemon.unix) as peer:
            peer.open("flights", "me")
            for number in range(first, first + batches):
                x, y = examples(BATCH, number)
                peer.feed(number * BATCH, x.tobytes(), (y ^ bool(number)).tobytes())
            peer.acknowledged((first + batches) * BATCH)
            if engine == "real":
                assert daemon.stop() == 0
            else:
                wait_for_file(store / "learning")
                daemon.kill()
    (store / "learning").unlink()
    with Store.open(store, read_only=True) as opened:
        return len(opened.releases("flights/late"))


def test_a_daemon_listens_before_it_has_learned_what_waited(store: Path) -> None:
    """And stores more meanwhile, which it learns in its order; nothing is learned twice."""
    version = feed_backlog(store)
    with serving(store, engine="slow", limits=LISTEN_AT_ONCE) as again:
        wait_for_file(store / "learning")
        with Peer.greet(again.unix) as peer:
            assert peer.open("flights", "me").next_sequence == 7 * BATCH
            x, y = examples(BATCH, 7)
            peer.feed(7 * BATCH, x.tobytes(), y.tobytes())
            assert peer.acknowledged(8 * BATCH)[-1].position == 8 * BATCH
        with Peer.greet(again.unix) as subscriber:
            subscriber.subscribe("flights/late", version)
            (store / "go").touch()
            assert subscriber.expect(Release).version == version + 1
        assert again.stop() == 0
    with serving(store, learn_first=True) as last:
        assert last.stop() == 0
    assert check_history(store) > version


def test_a_daemon_may_be_told_to_learn_first(store: Path) -> None:
    version = feed_backlog(store)
    with serving(
        store, engine="slow", limits=LISTEN_AT_ONCE, learn_first=True, ready=False
    ) as again:
        wait_for_file(store / "learning")
        assert "ready" not in [line["event"] for line in again.lines]
        (store / "go").touch()
        again.wait_for("ready")
        assert check_history(store) > version


def test_a_restore_is_told_as_soon_as_a_daemon_listens(store: Path) -> None:
    """Although the engine had not learned what was before it."""
    feed_backlog(store)
    with Restoring.open(store, copy=True) as found:
        found.finish()
    with serving(store, engine="slow", limits=LISTEN_AT_ONCE, ready=False) as again:
        wait_for_file(store / "learning")
        time.sleep(0.3)
        assert "ready" not in [line["event"] for line in again.lines]
        (store / "go").touch()
        again.wait_for("ready")
        with Peer.greet(again.unix) as peer:
            peer.send(StatusRequest())
            assert peer.expect(Status).body["streams"]["flights"]["restores"] == 1


async def test_the_time_to_learn_begins_when_it_is_known_what_was_shown() -> None:
    """With thousands of streams it takes longer than that to ask the store, beside the loop."""
    given: list[Catching] = []
    threads: list[threading.Thread] = []
    known = math.inf

    def shown_position(_: str) -> int:
        nonlocal known
        threads.append(threading.current_thread())
        time.sleep(0.05)
        known = time.monotonic()
        return 7

    streams = [
        SimpleNamespace(stream=f"s{number}", behind_bytes=0, replay=given.append)
        for number in range(3)
    ]
    daemon: Any = Daemon.__new__(Daemon)
    daemon._hosts, daemon._learn_first = streams, False
    daemon._shown_position = shown_position
    await daemon._catch_up()
    assert [catching.shown for catching in given] == [7, 7, 7]
    assert min(catching.until for catching in given) >= known + START_LEARNING_SECONDS
    assert threading.current_thread() not in threads


def test_what_was_shown_before_a_kill_is_shown_as_soon_as_a_daemon_listens(store: Path) -> None:
    """Although the snapshots were lost, and what nobody has seen is for later."""
    x, y = examples(40 * BATCH, 1)
    with serving(store) as daemon:
        with Peer.greet(daemon.unix) as peer, Peer.greet(daemon.unix) as subscriber:
            peer.open("flights", "me")
            peer.feed(0, x.tobytes(), y.tobytes())
            peer.acknowledged(40 * BATCH)
            subscriber.subscribe("flights/late", 2)
            subscriber.expect(Release)
        before = told_of_flights(daemon)
        daemon.kill()
    change(store / "store.sqlite", "DELETE FROM snapshots")
    with serving(store, limits=LISTEN_AT_ONCE) as again:
        after = told_of_flights(again)
    assert after["learners"]["late"]["version"] >= before["learners"]["late"]["version"] >= 3
    assert after["epsilon_spent"] >= before["epsilon_spent"] > 0
    assert after["position"] == 40 * BATCH


def told_of_flights(daemon: Serving) -> Any:
    """What anybody may know of the stream."""
    with Client(f"unix:{daemon.unix}") as client:
        return client.status()["streams"]["flights"]


def test_a_second_daemon_is_refused(store: Path) -> None:
    with serving(store) as daemon:
        with serving(store, ready=False) as same_socket:
            assert same_socket.ended() == 1
            assert any(line.get("error_type") == "ListenError" for line in same_socket.lines)
        link = store.parent / "link"
        link.symlink_to(store)
        with serving(link, ready=False) as same_store:
            assert same_store.ended() == STORE_STATUS
            assert "another process serves the store" in same_store.text
        with Peer.greet(daemon.unix) as peer:
            peer.send(Ping(1))
            assert peer.expect(Pong) == Pong(1)


# --- Failures -------------------------------------------------------------------------------------


def test_an_engine_that_fails_ends_the_daemon_and_loses_nothing(store: Path) -> None:
    with serving(store, engine="failing") as daemon, Peer.greet(daemon.unix) as peer:
        peer.open("flights", "me")
        peer.feed(0, CANARY.encode(), bytes(len(CANARY)))
        assert peer.acknowledged(len(CANARY))
        assert peer.error() == "internal_error"
        assert daemon.ended() == 1
        assert CANARY not in daemon.text
        assert CANARY.encode() not in bytes(peer.received)
        failed = next(line for line in daemon.lines if line["event"] == "failed")
        assert failed["error_type"] == "ValueError"
    with serving(store) as again, Peer.greet(again.unix) as peer:
        assert peer.open("flights", "me").next_sequence == len(CANARY)
    assert journal(store)[0] == CANARY.encode()


@pytest.mark.long
def test_a_full_disk_ends_the_daemon_without_a_false_acknowledgement(store: Path) -> None:
    size = 1 << 20
    with serving(store, file_bytes_max=size) as daemon, Peer.greet(daemon.unix) as peer:
        peer.open("flights", "me")
        acknowledged = sequence = 0
        message = None
        while sequence < 20 * size:
            peer.feed(sequence, bytes(50_000), bytes(50_000))
            sequence += 50_000
            message = peer.receive()
            if not isinstance(message, Ack):
                break
            acknowledged = message.next_sequence
        assert message is None or message.code == "internal_error"  # type: ignore[attr-defined]
        peer.socket.close()
        assert daemon.ended() == STORE_STATUS
        assert daemon.lines[-1]["event"] == "store"
    assert 0 < acknowledged < sequence
    assert len(journal(store)[0]) >= acknowledged
    with serving(store) as again, Peer.greet(again.unix) as peer:
        assert peer.open("flights", "me").next_sequence >= acknowledged
        assert again.stop() == 0
    check_history(store)


def test_an_idle_daemon_notices_that_the_disk_is_full(store: Path) -> None:
    often = {"littled.service.daemon.PULSE_SECONDS": 0.02}
    with serving(store, file_bytes_max=400_000, limits=often) as daemon:
        assert daemon.ended() == STORE_STATUS
        assert [line["event"] for line in daemon.lines[-2:]] == ["failed", "store"]


@pytest.mark.parametrize(
    "everywhere",
    ["0.0.0.0", pytest.param("::", marks=needs_version_six)],  # noqa: S104 - no port is opened
)
def test_a_port_that_others_can_reach_needs_a_token(store: Path, everywhere: str) -> None:
    for name in ("tcp", "http"):
        with serving(store, ready=False, **{name: [everywhere, 0]}) as daemon:
            assert daemon.ended() == 1
            assert any(line.get("error_type") == "AccessError" for line in daemon.lines)
    assert not store.with_suffix(".sock").exists()


def asked_over_http(daemon: Serving, path: str, **headers: str) -> int:
    """The status of a page."""
    request = urllib.request.Request(daemon.url(path), headers=headers)  # noqa: S310 - its own
    try:
        with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_the_token_is_asked_for_on_every_port_of_this_machine(store: Path) -> None:
    """Answers are charged, so who may not come in by TCP may not ask over HTTP."""
    token = "0123456789abcdef" * 2
    ports: Any = {"tcp": ["127.0.0.1", 0], "http": ["127.0.0.1", 0]}
    with serving(store, token=token, **ports) as daemon:
        with Peer.connect(daemon.address("tcp")) as peer:
            peer.send(Hello(1, "peer/1"))
            assert peer.error() == "unauthorized"
        assert asked_over_http(daemon, "/healthz") == 200
        for path in ("/status", "/metrics", "/rules/flights/late", "/predict"):
            assert asked_over_http(daemon, path) == 401
        assert asked_over_http(daemon, "/status", Authorization=f"Bearer {token}") == 200
        with Peer.greet(daemon.address("tcp"), token):
            pass


def test_http_on_this_machine_goes_by_its_names(store: Path) -> None:
    with serving(store, http=["127.0.0.1", 0], http_names=["Monitor.lan"]) as daemon:
        for host in ("localhost", "127.0.0.1:1", "[::1]:2", "monitor.lan"):
            assert asked_over_http(daemon, "/status", Host=host) == 200
        assert asked_over_http(daemon, "/status", Host="evil.example") == 421


@needs_version_six
def test_http_on_the_loopback_address_of_version_six(store: Path) -> None:
    with serving(store, http=["::1", 0]) as daemon:
        host, port = daemon.address("http")
        assert host == "[::1]"
        for name in (f"[::1]:{port}", "[::1]", f"localhost:{port}"):
            assert asked_over_http(daemon, "/status", Host=name) == 200
        assert asked_over_http(daemon, "/status") == 200, "as the address itself is asked"
        for name in ("::1", f"::1:{port}", "[::2]", "[::1%lo]", "[::ffff:127.0.0.1]", "[::1"):
            assert asked_over_http(daemon, "/status", Host=name) == 421


# --- The service manager --------------------------------------------------------------------------


@pytest.fixture
def manager(tmp_path: Path) -> Any:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(10)
        yield listening


def messages(manager: socket.socket, seconds: float) -> list[str]:
    """What arrives within that time, first lines only."""
    found, deadline = [], time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        manager.settimeout(left)
        try:
            found.append(manager.recv(500).decode().partition("\n")[0])
        except TimeoutError:
            break
    return found


def messages_up_to(manager: socket.socket, last: str) -> list[str]:
    """What arrives up to this message, first lines only."""
    manager.settimeout(WAIT_SECONDS)
    found: list[str] = []
    while last not in found:
        found.append(manager.recv(500).decode().partition("\n")[0])
    return found


@pytest.mark.long
def test_readiness_and_a_watchdog_fed_by_commits(store: Path, manager: socket.socket) -> None:
    environment = {"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "300000"}
    with serving(store, environment=environment) as daemon:
        first = messages_up_to(manager, "READY=1")
        assert first[0].startswith("EXTEND_TIMEOUT_USEC=")
        # Twice in each period that the manager gives, unless the machine is busy for all of it.
        assert any(messages(manager, 0.7).count("WATCHDOG=1") >= 3 for _ in range(5))
        # Commits stop while another process holds the database's lock: so must the messages,
        # although the daemon still answers.
        held = apsw.Connection(str(store / "store.sqlite"))
        held.set_busy_timeout(5_000)
        held.execute("BEGIN IMMEDIATE")
        assert any(messages(manager, 0.7) == [] for _ in range(3))
        with Peer.greet(daemon.unix) as peer:
            peer.send(Ping(1))
            assert peer.expect(Pong) == Pong(1)
        held.execute("ROLLBACK")
        held.close()
        messages_up_to(manager, "WATCHDOG=1")
        assert daemon.stop() == 0
        messages_up_to(manager, "STOPPING=1")


def test_sockets_from_the_service_manager(store: Path, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as unix, socket.socket() as web:
        unix.bind(str(tmp_path / "given.sock"))
        unix.listen()
        web.bind(("127.0.0.1", 0))
        web.listen()
        descriptors = [unix.fileno(), web.fileno()]
        port = web.getsockname()[1]
        names = ["littled.socket", "http"]
        with serving(store, unix=None, inherit=descriptors, names=names) as daemon:
            with Peer.greet(tmp_path / "given.sock") as peer:
                assert peer.open("flights", "me").next_sequence == 0
            assert fetch(f"http://127.0.0.1:{port}/healthz") == b"ok\n"
            assert daemon.stop() == 0
        assert (tmp_path / "given.sock").exists()  # it is the manager's


# --- What is shown --------------------------------------------------------------------------------

PAGES = ("/healthz", "/status", "/metrics", "/rules/flights/late", "/rules/flights/late?format=sql")


def surfaces(store: Path, x: bytes, y: bytes) -> dict[str, Any]:
    """Everything that a daemon lets out while it is fed, example by example and then in batches."""
    shown: dict[str, Any] = {}
    with (
        serving(store, http=LOOPBACK) as daemon,
        Peer.greet(daemon.unix) as peer,
        Peer.greet(daemon.unix) as subscriber,
    ):
        subscriber.subscribe("flights/late")
        subscriber.expect(Release)
        peer.open("flights", "me")
        for index in range(len(x)):
            peer.feed(index, x[index : index + 1], y[index : index + 1])
            peer.acknowledged(index + 1)
        peer.send(StatusRequest())
        peer.expect(Status)
        subscriber.send(Ping(1))
        subscriber.expect(Pong)
        time.sleep(0.1)
        shown["pages"] = [fetch(daemon.url(page)) for page in PAGES]
        stream = daemon.url("/rules/flights/late/events")
        with urllib.request.urlopen(stream, timeout=5) as events:  # noqa: S310 - our own page
            shown["event"] = [events.readline() for _ in range(4)]
        daemon.process.send_signal(signal.SIGTERM)
        assert peer.error() == subscriber.error() == "shutting_down"
        assert daemon.ended() == 0
        shown["fed"] = bytes(peer.received)
        shown["subscribed"] = bytes(subscriber.received)
        lines = [
            {key: value for key, value in line.items() if key not in ("timestamp", "address")}
            for line in daemon.lines
        ]
        ready = next(index for index, line in enumerate(lines) if line["event"] == "ready")
        # Streams start side by side, in any order.
        shown["start"] = sorted(map(str, lines[:ready]))
        shown["log"] = lines[ready:]
    return shown


def test_what_was_received_does_not_show_the_values_of_lists(store: Path) -> None:
    """A greater number takes more bytes in a list; the public count must not say so."""
    pattern = re.compile(rb"^littled_received_bytes_total (\S+)$", re.MULTILINE)
    with serving(store, http=LOOPBACK) as daemon, Peer.greet(daemon.unix) as peer:

        def received() -> float:
            peer.send(Ping(1))
            peer.expect(Pong)
            (found,) = pattern.findall(fetch(daemon.url("/metrics")))
            return float(found)

        peer.open("flights", "me")
        counts, before = [], received()
        batches: list[bytes | list[Any]] = [[1, 2], [1, 200], bytes([1, 2]), bytes([1, 200])]
        for sequence, x in enumerate(batches):
            peer.send(Examples(0, 2 * sequence, 2, x, [0, 1]))
            peer.acknowledged(2 * sequence + 2)
            now = received()
            counts.append(now - before)
            before = now
    assert len(set(counts)) == 1


def test_nothing_shows_whether_examples_are_mistakes(store: Path, tmp_path: Path) -> None:
    twin = Path(shutil.copytree(store, tmp_path / "twin"))
    # The first rule is x >= 128. In one stream every example is a mistake of it, in the other none;
    # there are too few for the noisy test to fire, so both publish the same: nothing more.
    x = bytes([7, 200] * 10)
    right = bytes(int(each >= 128) for each in x)
    wrong = bytes(1 - each for each in right)
    one, other = surfaces(store, x, right), surfaces(twin, x, wrong)
    assert one == other
    assert journal(store)[1] == right
    assert journal(twin)[1] == wrong


def test_a_refusal_shows_nothing_either(store: Path, tmp_path: Path) -> None:
    twin = Path(shutil.copytree(store, tmp_path / "twin"))

    def refused(path: Path, x: bytes, y: bytes) -> tuple[bytes, list[str]]:
        with serving(path) as daemon, Peer.greet(daemon.unix) as peer:
            peer.open("small", "me")
            peer.feed(0, x, y)
            assert peer.error() == "invalid_examples"
            assert daemon.stop() == 0
            return bytes(peer.received), [json.dumps(line.get("code")) for line in daemon.lines]

    assert refused(store, b"\xff\1", b"\0\0") == refused(twin, b"\1\2", b"\1\7")


def test_memory_stays_flat(store: Path) -> None:
    x, y = examples(50_000, 3)
    column, marks = x.tobytes(), y.tobytes()
    short_queue = {"littled.service.queues.ENGINE_QUEUE_BYTES_MAX": 4 << 20}
    with serving(store, limits=short_queue) as daemon, Peer.greet(daemon.unix) as peer:
        peer.open("flights", "me")
        sequence, sizes = 0, []
        for _ in range(4):
            for _ in range(300):  # 30 MB of points and labels
                while peer.connection.credit_left_bytes < 110_000:
                    peer.expect(Ack)
                peer.feed(sequence, column, marks)
                sequence += len(x)
            peer.acknowledged(sequence)
            sizes.append(daemon.resident_bytes())
        assert sequence == 60_000_000
        assert max(sizes) - sizes[0] < 24 << 20
        assert max(sizes) < 300 << 20
        assert (store / "store.sqlite-wal").stat().st_size < 256 << 20


def test_no_file_descriptor_left_is_survived(store: Path) -> None:
    with serving(store) as daemon:
        in_use = len(list(Path(f"/proc/{daemon.process.pid}/fd").iterdir()))
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (in_use + 20, 4096))
        with Peer.greet(daemon.unix) as settled:
            settled.open("flights", "settled")
            crowd = [Peer.connect(daemon.unix) for _ in range(60)]
            daemon.wait_for("no file descriptors left")
            settled.feed(0, b"a", b"\0")
            assert settled.acknowledged(1)
            with Peer.greet(daemon.unix) as newcomer:  # the silent ones make room
                newcomer.send(Ping(1))
                assert newcomer.expect(Pong)
            for peer in crowd:
                peer.socket.close()
        assert daemon.stop() == 0
