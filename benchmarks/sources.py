"""How many examples a second come from a broker into a daemon, beside its bare client, in one run.

    python -m benchmarks.sources [--nats nats://HOST:PORT] [--redis redis://HOST:PORT]
        [--messages 100000] [--rounds 3]

The brokers run already, and are measured as they are; without one there is nothing to measure. Each
gets a stream of its own, with messages in JSON of a point of a byte and its label, and loses it at
the end. In turns:

- *bare*: the broker's own client library reads all of them, as many at a time as *feed*;
- *json*: the same, and reads each message with `json`;
- *feed*: `littled feed`, a process, reads them into a daemon on a new store, which syncs them and
    learns; until the last example is durable, without the start of the process.

Each line is a broker as a JSON object: medians in messages a second, and the ratios of *feed*.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, Protocol
from urllib.parse import urlsplit

from benchmarks.service.processes import Server
from littled_client import Client
from littled_client.sources import BATCH_EXAMPLES

STREAM = "points"
CONFIGURATION = f"""\
[streams.{STREAM}]
epsilon = 1.0
delta = 1e-6
horizon = 1000000000
learners.rule = {{ class = "thresholds:256" }}
"""
_TOGETHER = 200  # messages that are published at once
_SECONDS_MAX = 600.0


class Broker(Protocol):
    """A broker with a stream of messages."""

    address: str

    def publish(self, messages: list[bytes]) -> None:
        """Make the stream, with these."""

    def read(self) -> Iterator[list[bytes]]:
        """Read them all by the client library, some at a time."""

    def remove(self) -> None:
        """Remove the stream."""


class Nats:
    """NATS JetStream."""

    def __init__(self, url: str, name: str) -> None:
        """A stream that is not there yet."""
        self._url, self._name = url, name
        self.address = f"{url.rstrip('/')}/{name}"
        self._count = 0

    def publish(self, messages: list[bytes]) -> None:
        """See Broker."""
        self._count = len(messages)

        async def published(stream: Any) -> None:
            subject = f"{self._name}.a"
            await stream.add_stream(name=self._name, subjects=[subject])
            for first in range(0, len(messages), _TOGETHER):
                some = messages[first : first + _TOGETHER]
                await asyncio.gather(*(stream.publish(subject, each, timeout=60) for each in some))

        self._call(published)

    def read(self) -> Iterator[list[bytes]]:
        """See Broker."""
        with asyncio.Runner() as runner:
            connection, found = runner.run(self._subscribed())
            left = self._count
            while left:
                some = runner.run(found.fetch(min(BATCH_EXAMPLES, left), timeout=10))
                left -= len(some)
                yield [each.data for each in some]
            runner.run(connection.close())

    async def _subscribed(self) -> tuple[Any, Any]:
        api = import_module("nats.js.api")
        connection = await import_module("nats").connect(self._url)
        stream = connection.jetstream()
        config = api.ConsumerConfig(ack_policy=api.AckPolicy.NONE, inactive_threshold=60.0)
        made = await stream.add_consumer(self._name, config)
        return connection, await stream.pull_subscribe_bind(consumer=made.name, stream=self._name)

    def remove(self) -> None:
        """See Broker."""
        self._call(lambda stream: stream.delete_stream(self._name))

    def _call(self, what: Callable[[Any], Any]) -> None:
        async def called() -> None:
            connection = await import_module("nats").connect(self._url)
            await what(connection.jetstream())
            await connection.close()

        asyncio.run(called())


class Redis:
    """A stream of Redis or Valkey, with a message in the field "row" of each entry."""

    def __init__(self, url: str, name: str) -> None:
        """A stream that is not there yet."""
        place, library = urlsplit(url), import_module("redis")
        self._redis = library.Redis(host=place.hostname or "localhost", port=place.port or 6379)
        self._name = name
        self.address = f"{url.rstrip('/')}/{name}?field=row"

    def publish(self, messages: list[bytes]) -> None:
        """See Broker."""
        for first in range(0, len(messages), _TOGETHER):
            with self._redis.pipeline(transaction=False) as together:
                for each in messages[first : first + _TOGETHER]:
                    together.xadd(self._name, {"row": each})
                together.execute()

    def read(self) -> Iterator[list[bytes]]:
        """See Broker."""
        last: Any = "0-0"
        while True:
            found: Any = self._redis.xread({self._name: last}, count=BATCH_EXAMPLES)
            parts = list(found.values()) if isinstance(found, dict) else [e for _, e in found]
            if not parts:
                return
            entries = parts[0]
            last = entries[-1][0]
            yield [fields[b"row"] for _, fields in entries]

    def remove(self) -> None:
        """See Broker."""
        self._redis.delete(self._name)
        self._redis.close()


def messages(count: int) -> list[bytes]:
    """Messages of the rule x >= 60."""
    numbers = (number * 97 % 256 for number in range(count))
    return [json.dumps({"x": x, "y": int(x >= 60)}).encode() for x in numbers]


@contextmanager
def daemon() -> Iterator[tuple[Path, str]]:
    """A daemon on a new store in a folder, and its address."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "littled.toml").write_text(CONFIGURATION)
        littled = [sys.executable, "-m", "littled.cli"]
        init = [*littled, "init", "store", "--config", "littled.toml"]
        subprocess.run(init, cwd=folder, check=True, capture_output=True)
        path = folder / "s.sock"
        server = Server([*littled, "serve", "store", "--unix", path], folder)

        def connect() -> socket.socket:
            found = socket.socket(socket.AF_UNIX)
            try:
                found.connect(str(path))
            except OSError:
                found.close()
                raise
            return found

        try:
            server.connected(connect).close()
            yield folder, f"unix:{path}"
        finally:
            server.end()


def fed(broker: Broker, count: int, turn: int, folder: Path, address: str) -> float:
    """Examples a second by `littled feed`, from the last look at which none was durable."""
    command = [sys.executable, "-m", "littled.cli", "feed", STREAM, broker.address]
    columns = ["--x", "x", "--y", "y", "--producer", f"turn-{turn}"]
    environment = {**os.environ, "XDG_STATE_HOME": str(folder)}
    with Client(address) as client:
        before = position(client)
        feed = subprocess.Popen(
            [*command, *columns, "--address", address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        try:
            seconds = seconds_until(client, before, before + count, feed)
        finally:
            feed.terminate()
            feed.wait()
    return count / seconds


def position(client: Client) -> int:
    """How many examples the stream has."""
    return int(client.status(STREAM)["streams"][STREAM]["position"])


def seconds_until(client: Client, first: int, last: int, feed: subprocess.Popen[bytes]) -> float:
    """Seconds from the last look at which a stream had no more than `first` until it has `last`."""
    begun = time.perf_counter()
    deadline = begun + _SECONDS_MAX
    while (found := position(client)) < last:
        now = time.perf_counter()
        begun = now if found == first else begun
        assert feed.poll() is None, "littled feed has ended"
        assert now < deadline, "littled feed takes too long"
        time.sleep(0.005)
    return time.perf_counter() - begun


def seconds_for(parts: Iterable[list[bytes]], use: Callable[[bytes], object] | None) -> float:
    """How long it takes to read all, and to do something with each."""
    started = time.perf_counter()
    for some in parts:
        if use is not None:
            for each in some:
                use(each)
    return time.perf_counter() - started


def measured(name: str, broker: Broker, count: int, rounds: int) -> dict[str, object]:
    """A broker's line."""
    broker.publish(messages(count))
    found: dict[str, list[float]] = {"bare": [], "json": [], "feed": []}
    try:
        with daemon() as (folder, address):
            for turn in range(rounds):
                found["bare"].append(count / seconds_for(broker.read(), None))
                found["json"].append(count / seconds_for(broker.read(), json.loads))
                found["feed"].append(fed(broker, count, turn, folder, address))
    finally:
        broker.remove()
    rates = {kind: median(some) for kind, some in found.items()}
    return {
        "broker": name,
        "messages": count,
        **{f"{kind}_per_second": round(rate) for kind, rate in rates.items()},
        "ratio_to_bare": round(rates["feed"] / rates["bare"], 2),
        "ratio_to_json": round(rates["feed"] / rates["json"], 2),
    }


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sources", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--nats", metavar="URL", help="of a server with JetStream")
    parser.add_argument("--redis", metavar="URL", help="of a server of Redis or Valkey")
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    kinds: dict[str, Callable[[str, str], Broker]] = {"nats": Nats, "redis": Redis}
    asked = {kind: url for kind in kinds if (url := getattr(options, kind)) is not None}
    if not asked:
        print("nothing to measure: name a broker with --nats or --redis")
    for kind, url in asked.items():
        broker = kinds[kind](url, f"bench{secrets.token_hex(4)}")
        print(json.dumps(measured(kind, broker, options.messages, options.rounds)), flush=True)


if __name__ == "__main__":
    main()
