"""`littled feed` from real brokers: whatever is killed, each message is learned exactly once."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from littled.cli.brokers import BrokerChoice, _Lane, _Pouring
from littled.cli.stopping import Stopping
from littled.store.store import Store
from littled.store.verify import verify
from littled_client import Client
from littled_client.blocking import Feeder
from littled_client.brokers import Heard, MessageRows, Secrets, Taken
from littled_client.conversions import Fields
from littled_client.errors import SourceError
from support.brokers import (
    PASSWORD,
    STREAM,
    MockedKafka,
    MqttBroker,
    NatsServer,
    ValkeyServer,
    messages,
    needs_mqtt,
    needs_nats,
    needs_valkey,
    row,
)
from support.serving import Serving, make_store

pytestmark = pytest.mark.long

WAIT_SECONDS = 60.0
COUNT = 3_000


class Bench:
    """A daemon, and `littled feed` beside it; both are killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = make_store(folder / "store")
        self.daemon = Serving.start(self.store)
        self.feeds: list[subprocess.Popen[str]] = []

    def feed(self, url: str, *options: str) -> "subprocess.Popen[str]":
        """Start the command."""
        address = f"unix:{self.daemon.unix}"
        columns = ["--x", "x", "--y", "y"]
        command = [sys.executable, "-m", "littled.cli", "feed", "ids", url, *columns]
        feed = subprocess.Popen(
            [*command, "--address", address, "--wait", "30", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "XDG_STATE_HOME": str(self.folder)},
        )
        self.feeds.append(feed)
        return feed

    def feed_without_places(self) -> None:
        """Feed three examples as a producer of no source."""
        with Client(f"unix:{self.daemon.unix}", producer="p") as client, client.feed("ids") as made:
            made.send([0, 1, 2], [0, 1, 0])

    def learned(self) -> list[int]:
        """What the journal has, in its order."""
        with Store.open(self.store, read_only=True) as store:
            columns = [each.x for each in store.records("ids")]
        return [int(x) for x in np.frombuffer(b"".join(columns), dtype="<u8")]

    def until(self, count: int) -> None:
        """Wait until the journal has so many examples."""
        deadline = time.monotonic() + WAIT_SECONDS
        while len(found := self.learned()) < count:
            assert time.monotonic() < deadline, (len(found), [each.poll() for each in self.feeds])
            time.sleep(0.1)

    def restart(self) -> None:
        """Kill the daemon, and start it again."""
        self.daemon.kill()
        self.daemon = Serving.start(self.store)

    def close(self) -> None:
        """End everything."""
        for feed in self.feeds:
            feed.kill()
            feed.communicate()
        self.daemon.kill()


def stopped(feed: "subprocess.Popen[str]") -> tuple[int, str, str]:
    """Stop a command by SIGTERM; its status, output and messages."""
    feed.send_signal(signal.SIGTERM)
    out, err = feed.communicate(timeout=WAIT_SECONDS)
    return feed.returncode, out, err


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[NatsServer]:
    (tmp_path / "nats").mkdir()
    server = NatsServer(tmp_path / "nats")
    with server.running():
        yield server


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[ValkeyServer]:
    (tmp_path / "valkey").mkdir()
    server = ValkeyServer(tmp_path / "valkey")
    with server.running():
        yield server


def kill_everything(
    bench: Bench, server: Any, publish: Callable[[int, int], None], url: str, *options: str
) -> None:
    """Kill the source, the daemon and the broker in the middle, again and again."""
    chance = random.Random(5)
    options = ("--batch", "70", "--rate", "1500", *options)
    part = COUNT // 6
    publish(0, part)
    feed = bench.feed(url, *options)
    for step in range(6):
        if step:
            publish(step * part, (step + 1) * part)
        bench.until(step * part + 1)
        time.sleep(chance.random() / 4)
        if step % 3 == 0:
            feed.kill()
            feed.wait()
            feed = bench.feed(url, *options)
        elif step % 3 == 1:
            bench.restart()
        else:
            server.kill()
            server.start()
    bench.until(COUNT)
    time.sleep(1.0)  # for whatever comes twice
    status, _, err = stopped(feed)
    assert bench.learned() == list(range(COUNT))
    assert (status, f"{COUNT:,} acknowledged examples" in err) == (128 + signal.SIGTERM, True), err
    bench.daemon.stop()
    assert verify(bench.store).findings == ()


@needs_nats
@pytest.mark.parametrize("consumer", ["", "/littled"], ids=["no consumer", "a named consumer"])
def test_each_message_of_nats_is_learned_once(
    bench: Bench, nats: NatsServer, consumer: str
) -> None:
    def publish(first: int, end: int) -> None:
        nats.publish(messages(first, end))

    kill_everything(bench, nats, publish, nats.url + consumer)
    if consumer:
        info = nats.call("consumer_info", STREAM, "littled")
        assert (info.num_ack_pending, info.num_pending) == (0, 0)


@needs_nats
def test_a_queue_of_work_is_emptied_and_each_message_learned_once(
    bench: Bench, nats: NatsServer
) -> None:
    nats.publish(messages(0, 500), retention="workqueue")
    feed = bench.feed(f"{nats.url}/littled", "--batch", "60", "--rate", "300")
    bench.until(200)
    feed.kill()  # before it has acknowledged all that is durable
    feed.wait()
    feed = bench.feed(f"{nats.url}/littled", "--batch", "60", "--rate", "300")
    deadline = time.monotonic() + WAIT_SECONDS
    while nats.call("stream_info", STREAM).state.messages:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    status, _, err = stopped(feed)
    assert status == 128 + signal.SIGTERM, err
    assert bench.learned() == list(range(500))


@needs_valkey
def test_each_entry_of_valkey_is_learned_once(bench: Bench, valkey: ValkeyServer) -> None:
    def publish(first: int, end: int) -> None:
        valkey.publish([row(number) for number in range(first, end)])

    kill_everything(bench, valkey, publish, valkey.url)


def test_each_message_of_each_partition_of_kafka_is_learned_once(bench: Bench) -> None:
    """By the mock of librdkafka, which outlives the test's commands and keeps no transactions."""
    kafka = MockedKafka()

    def publish(first: int, end: int) -> None:
        kafka.publish(
            [(number % 4, body) for number, body in enumerate(messages(first, end), first)]
        )

    feed = bench.feed(kafka.url, "--batch", "60", "--rate", "1500")
    for step in range(4):
        publish(step * 500, (step + 1) * 500)
        bench.until(step * 500 + 1)
        if step % 2 == 0:
            feed.kill()
            feed.wait()
            feed = bench.feed(kafka.url, "--batch", "60", "--rate", "1500")
        else:
            bench.restart()
    bench.until(2_000)
    time.sleep(1.0)
    assert stopped(feed)[0] == 128 + signal.SIGTERM
    found = bench.learned()
    assert sorted(found) == list(range(2_000))
    for partition in range(4):
        assert [x for x in found if x % 4 == partition] == list(range(partition, 2_000, 4))
    # One partition alone, as another producer.
    feed = bench.feed(f"{kafka.url}/1", "--producer", "again")
    bench.until(2_500)
    stopped(feed)
    assert bench.learned()[2_000:] == list(range(1, 2_000, 4))


@pytest.fixture
def mqtt(tmp_path: Path) -> Iterator[MqttBroker]:
    """A broker that forgets what was under way to a client that is killed."""
    (tmp_path / "mqtt").mkdir()
    broker = MqttBroker(tmp_path / "mqtt")
    with broker.running():
        yield broker


def subscribed(bench: Bench, mqtt: MqttBroker, url: str) -> "subprocess.Popen[str]":
    """A command that has connected, and most likely subscribed."""
    time.sleep(0.5)  # for the connections before to be in the log
    before = mqtt.connections()
    feed = bench.feed(url)
    deadline = time.monotonic() + WAIT_SECONDS
    while mqtt.connections() == before:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)
    return feed


@needs_mqtt
def test_numbered_messages_of_mqtt_are_learned_once(bench: Bench, mqtt: MqttBroker) -> None:
    url = f"{mqtt.url}?number=x"
    feed = subscribed(bench, mqtt, url)
    mqtt.publish(messages(0, 50))
    bench.until(50)
    feed.kill()
    feed.wait()
    feed = subscribed(bench, mqtt, url)
    # Whoever publishes does not know what was taken, and publishes some again.
    mqtt.publish(messages(30, 100))
    bench.restart()
    mqtt.publish(messages(80, 150))
    bench.until(150)
    time.sleep(1.0)
    status, _, err = stopped(feed)
    assert status == 128 + signal.SIGTERM
    assert "each message is learned once" in err
    assert bench.learned() == list(range(150))


@needs_mqtt
def test_other_messages_of_mqtt_are_learned_at_least_once(bench: Bench, mqtt: MqttBroker) -> None:
    feed = subscribed(bench, mqtt, mqtt.url)
    mqtt.publish(messages(0, 30))
    mqtt.publish(messages(25, 40))
    bench.until(45)
    _, _, err = stopped(feed)
    assert "at least once" in err
    assert bench.learned() == [*range(30), *range(25, 40)]


@needs_valkey
def test_a_message_that_is_no_example_stops_or_is_counted(
    bench: Bench, valkey: ValkeyServer
) -> None:
    secret = "4711-private"  # noqa: S105 - no password, a value that nobody may see
    bad: list[dict[str, Any]] = [{"x": secret, "y": 1}, {"x": 3}, {"x": 4, "y": secret}]
    valkey.publish([row(0), *bad, row(1)])
    feed = bench.feed(valkey.url)
    out, err = feed.communicate(timeout=WAIT_SECONDS)
    assert feed.returncode == 1
    assert "message " in err
    assert secret not in out + err
    assert bench.learned() == []
    feed = bench.feed(valkey.url, "--skip-bad", "--json")
    bench.until(2)
    _, out, err = stopped(feed)
    facts = json.loads(out)
    assert (facts["examples"], facts["skipped"]) == (2, 3)
    assert secret not in out + err
    assert bench.learned() == [0, 1]


@needs_valkey
def test_what_came_without_a_place_is_left_out(bench: Bench, valkey: ValkeyServer) -> None:
    bench.feed_without_places()
    valkey.publish([row(number) for number in range(5)])
    feed = bench.feed(valkey.url, "--producer", "p")
    bench.until(5)
    assert "leaving out as many" in stopped(feed)[2]
    assert bench.learned() == [0, 1, 2, 3, 4]


@needs_valkey
def test_it_stops_where_it_is_not_known_what_to_leave_out(
    bench: Bench, valkey: ValkeyServer
) -> None:
    bench.feed_without_places()
    valkey.publish([row(number) for number in range(5)])
    with valkey.connection() as connection:
        connection.xtrim(STREAM, maxlen=3, approximate=False)
    feed = bench.feed(valkey.url, "--producer", "p")
    _, err = feed.communicate(timeout=WAIT_SECONDS)
    assert feed.returncode == 1
    assert "it is not known where to go on" in err
    assert bench.learned() == [0, 1, 2]


@needs_nats
def test_a_stream_that_was_made_anew_is_refused(bench: Bench, nats: NatsServer) -> None:
    nats.publish(messages(0, 10))
    feed = bench.feed(nats.url)
    bench.until(10)
    stopped(feed)
    nats.call("delete_stream", STREAM)
    nats.publish(messages(0, 20))
    feed = bench.feed(nats.url)
    _, err = feed.communicate(timeout=WAIT_SECONDS)
    assert feed.returncode == 1
    assert "it was made anew" in err
    assert bench.learned() == list(range(10))


def checked(bench: Bench, *arguments: str) -> Sequence[Any]:
    """Status, output and messages of a command that ends by itself."""
    feed = bench.feed(*arguments)
    out, err = feed.communicate(timeout=WAIT_SECONDS)
    return feed.returncode, out, err


@needs_nats
def test_check_says_what_a_stream_holds_and_sends_nothing(bench: Bench, nats: NatsServer) -> None:
    nats.publish([*messages(0, 7), b"no json"])
    status, out, err = checked(bench, f"{nats.url}/littled", "--check", "--json")
    facts = json.loads(out)
    assert (status, facts["examples"], facts["refused"]) == (1, 7, 1)
    assert "message 8 " in err
    assert bench.learned() == []


@needs_nats
@needs_valkey
@pytest.mark.parametrize("make", [NatsServer, ValkeyServer])
def test_a_password_comes_from_a_file_and_is_not_shown(
    bench: Bench, tmp_path: Path, make: type[NatsServer] | type[ValkeyServer]
) -> None:
    server = make(tmp_path, password=True)
    (tmp_path / "password").write_text(PASSWORD + "\n")
    shown = ["--broker-password-file", str(tmp_path / "password")]
    if isinstance(server, NatsServer):
        shown += ["--broker-user", "littled"]
    with server.running():
        if isinstance(server, NatsServer):
            server.publish(messages(0, 3))
        else:
            server.publish([row(number) for number in range(3)])
        (tmp_path / "wrong").write_text("4711")
        wrong = [shown[0], str(tmp_path / "wrong"), *shown[2:]]
        status, out, err = checked(bench, server.url, *wrong)
        assert status == 1
        assert "refuses the user" in err
        assert "4711" not in out + err
        feed = bench.feed(server.url, *shown)
        bench.until(3)
        _, out, err = stopped(feed)
    assert bench.learned() == [0, 1, 2]
    assert PASSWORD not in out + err


def test_a_broker_hears_of_no_message_before_it_is_durable() -> None:
    feeder = SimpleNamespace(acknowledged=3)
    lane = _Lane(cast("Feeder", feeder), b"", 0, 0)
    first, second = Taken("1", b"", b""), Taken("2", b"", b"")
    lane.waiting.extend([(3, [first]), (5, [second])])
    assert lane.learned() == [first]
    assert lane.learned() == []
    feeder.acknowledged = 5
    assert lane.learned() == [second]


class _Listed:
    """Messages of a list, as a broker has them; a signal comes when all are read."""

    name, note = "list://", ""

    heard = Heard()

    def __init__(self, stopping: Stopping, count: int) -> None:
        self.left = [Taken(str(n), b"%d" % n, each) for n, each in enumerate(messages(0, count))]
        self._stopping = stopping
        self.acknowledged: list[str] = []

    def lanes(self) -> Sequence[str]:
        return ("",)

    def open(self, places: Sequence[bytes]) -> Sequence[Heard]:
        behind = [each.place for each in self.left].index(places[0]) + 1 if places[0] else 0
        self.left = self.left[behind:]
        return [self.heard]

    def read(self, most: int, seconds: float) -> list[tuple[int, Taken]]:
        found, self.left = self.left[:most], self.left[most:]
        if not found:
            self._stopping.signal = signal.SIGTERM
        return [(0, each) for each in found]

    def acknowledge(self, taken: Sequence[Taken]) -> None:
        self.acknowledged += [each.number for each in taken]

    def close(self) -> None:
        """Nothing is open."""


def test_examples_that_the_daemon_has_without_a_place_are_left_out(bench: Bench) -> None:
    bench.feed_without_places()
    rows = MessageRows("list://", "u64", Fields("x", "y"))
    for count in (7, 12):
        with Client(f"unix:{bench.daemon.unix}") as client:
            stopping = Stopping()
            broker = _Listed(stopping, count)
            how = BrokerChoice(Secrets(), skip_bad=False)
            _Pouring(client, "ids", broker, "p", how, stopping, None).run(rows, 2)
        assert bench.learned() == list(range(count))
        assert broker.acknowledged[-1] == str(count - 1)


def test_wrong_uses_are_one_sentence(bench: Bench, tmp_path: Path) -> None:
    url = "redis://127.0.0.1:1/key"
    for arguments in (
        ["redis://u:4711@localhost/key"],
        ["nats://localhost"],
        [url, "--follow"],
        [url, "--record", str(tmp_path / "r.littled")],
        [url, "--format", "parquet"],
        ["mqtt://localhost/topic", "--check"],
    ):
        status, out, err = checked(bench, *arguments)
        assert (status, out) == (2, ""), arguments
        assert "Traceback" not in err
        assert "4711" not in err


def test_a_broker_that_is_not_there_is_waited_for(bench: Bench) -> None:
    feed = bench.feed("redis://127.0.0.1:1/key")
    assert feed.stderr is not None
    assert "cannot be reached" in feed.stderr.readline()
    time.sleep(3)  # in which it is not said again
    status, _, err = stopped(feed)
    assert status == 128 + signal.SIGTERM
    assert "cannot be reached" not in err


class _Forgetful(_Listed):
    """Has nothing any more that it was told was learned."""

    heard = Heard(forgets=True)


class _Unnumbered(_Listed):
    """And gives its messages no numbers."""

    heard = Heard(forgets=True, unnumbered=True)


def pour(bench: Bench, kind: type[_Listed]) -> _Listed:
    """Feed ten messages of a new broker, behind three examples that came without a place."""
    bench.feed_without_places()
    with Client(f"unix:{bench.daemon.unix}") as client:
        stopping = Stopping()
        broker = kind(stopping, 10)
        how = BrokerChoice(Secrets(), skip_bad=False)
        rows = MessageRows("list://", "u64", Fields("x", "y"))
        _Pouring(client, "ids", broker, "p", how, stopping, None).run(rows, 4)
    return broker


def test_nothing_new_is_left_out_where_a_broker_keeps_nothing_old(bench: Bench) -> None:
    """What the daemon has without its place, or lost with a store, will never come again."""
    with pytest.raises(SourceError, match="it is not known where to go on"):
        pour(bench, _Forgetful)
    assert bench.learned() == [0, 1, 2]


def test_messages_without_numbers_are_learned_rather_twice_than_never(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    broker = pour(bench, _Unnumbered)
    assert bench.learned() == [0, 1, 2, *range(10)]
    assert broker.acknowledged == [str(number) for number in range(10)]
    assert "leaving out" not in capsys.readouterr().err
