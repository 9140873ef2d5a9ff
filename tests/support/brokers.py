"""Real brokers for tests, each a process of its own that is killed and started again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from support.servers import needs, program

Test = TypeVar("Test", bound=Callable[..., Any])

WAIT_SECONDS = 30.0
STREAM = "EXAMPLES"
PASSWORD = "what-the-broker-asks-for"  # noqa: S105


def _marked(name: str) -> Callable[[Test], Test]:
    """What marks a test that needs a server."""

    def marked(test: Test) -> Test:
        for mark in needs(name):
            test = mark(test)
        return test

    return marked


needs_nats, needs_valkey, needs_mqtt = map(_marked, ("NATS", "Valkey", "amqtt"))


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def row(number: int) -> dict[str, int]:
    """The row of a message: which one it is, and its label."""
    return {"x": number, "y": number % 2}


class Server:
    """A broker on a port of its own. Its data outlive the process."""

    def __init__(self, folder: Path, command: Sequence[str], port: int) -> None:
        self.folder, self.port = folder, port
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, or start again, and wait until it listens."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, cwd=self.folder, stdin=subprocess.DEVNULL
            )
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.02)

    def kill(self) -> None:
        """End the process as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(WAIT_SECONDS)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Start, and kill at the end."""
        self.start()
        try:
            yield
        finally:
            self.kill()


class NatsServer(Server):
    """NATS with JetStream, which syncs each message."""

    def __init__(self, folder: Path, *, password: bool = False) -> None:
        port = free_port()
        account = f'authorization {{ user: littled, password: "{PASSWORD}" }}' if password else ""
        (folder / "nats.conf").write_text(
            f"listen: 127.0.0.1:{port}\n{account}\n"
            f'jetstream {{ store_dir: "{folder}/data", sync_interval: always }}\n'
        )
        self._shown = {"user": "littled", "password": PASSWORD} if password else {}
        super().__init__(folder, [str(program("nats-server")), "-c", "nats.conf"], port)

    @property
    def url(self) -> str:
        """The address of the stream."""
        return f"nats://127.0.0.1:{self.port}/{STREAM}"

    def publish(self, rows: Sequence[bytes], subject: str = "examples.a", **config: Any) -> None:
        """Make the stream unless it is there, and publish messages in their order."""
        asyncio.run(self._publish(rows, subject, config))

    def call(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Call a method of a JetStream context."""

        async def called() -> Any:
            connection = await self._connected()
            try:
                return await getattr(connection.jetstream(), name)(*arguments, **named)
            finally:
                await connection.close()

        return asyncio.run(called())

    async def _connected(self) -> Any:
        import nats

        return await nats.connect(f"nats://127.0.0.1:{self.port}", **self._shown)

    async def _publish(self, rows: Sequence[bytes], subject: str, config: dict[str, Any]) -> None:
        connection = await self._connected()
        try:
            stream = connection.jetstream()
            with contextlib.suppress(Exception):  # it is there
                await stream.add_stream(name=STREAM, subjects=["examples.>"], **config)
            for first in range(0, len(rows), 200):
                part = rows[first : first + 200]
                await asyncio.gather(*(stream.publish(subject, each) for each in part))
        finally:
            await connection.close()


class ValkeyServer(Server):
    """Valkey, which syncs each entry."""

    def __init__(self, folder: Path, *, password: bool = False) -> None:
        port = free_port()
        self._password = PASSWORD if password else None
        shown = ["--requirepass", PASSWORD] if password else []
        options = ["--port", str(port), "--bind", "127.0.0.1", "--appendonly", "yes", "--save", ""]
        always = ["--appendfsync", "always", "--dir", str(folder)]
        super().__init__(folder, [str(program("valkey-server")), *options, *always, *shown], port)

    @property
    def url(self) -> str:
        """The address of the stream."""
        return f"redis://127.0.0.1:{self.port}/{STREAM}"

    def connection(self) -> Any:
        """A connection of the library."""
        import redis

        return redis.Redis(port=self.port, password=self._password)

    def publish(self, entries: Sequence[dict[str, Any]]) -> None:
        """Add entries in their order."""
        connection = self.connection()
        deadline = time.monotonic() + WAIT_SECONDS
        while True:  # it may read its file first
            with contextlib.suppress(Exception):
                connection.ping()
                break
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with connection, connection.pipeline(transaction=False) as pipeline:
            for each in entries:
                pipeline.xadd(STREAM, each)
            pipeline.execute()


class MqttBroker(Server):
    """amqtt, which forgets all messages when it ends."""

    topic = "examples/a"

    def __init__(self, folder: Path) -> None:
        port = free_port()
        (folder / "amqtt.yaml").write_text(
            f"listeners:\n  default:\n    type: tcp\n    bind: 127.0.0.1:{port}\n"
            "plugins:\n"
            "  amqtt.plugins.authentication.AnonymousAuthPlugin:\n    allow_anonymous: true\n"
        )
        super().__init__(folder, [str(program("amqtt")), "-c", "amqtt.yaml"], port)

    @property
    def url(self) -> str:
        """The address of the topic."""
        return f"mqtt://127.0.0.1:{self.port}/{self.topic}"

    def connections(self) -> int:
        """How many clients have connected so far."""
        return (self.folder / "log").read_text().count("Connection from")

    def publish(self, rows: Sequence[bytes]) -> None:
        """Publish messages in their order, each of which the broker has taken."""
        from paho.mqtt import client as mqtt
        from paho.mqtt.enums import CallbackAPIVersion

        client = mqtt.Client(CallbackAPIVersion.VERSION2)
        client.max_inflight_messages_set(1)
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        try:
            for each in rows:
                client.publish(self.topic, each, 1).wait_for_publish(WAIT_SECONDS)
        finally:
            client.disconnect()
            client.loop_stop()


class MockedKafka:
    """The mock brokers of librdkafka, which live as long as this object."""

    topic = "examples"

    partitions = 4  # of a topic that nobody has made

    def __init__(self) -> None:
        from confluent_kafka import Producer

        options = {"bootstrap.servers": "mock", "test.mock.num.brokers": 3, "log_level": 0}
        self._producer = Producer({**options, "linger.ms": 0})

    @property
    def servers(self) -> str:
        """Where the brokers listen."""
        brokers = self._producer.list_topics(self.topic, timeout=WAIT_SECONDS).brokers.values()
        return ",".join(f"{each.host}:{each.port}" for each in brokers)

    @property
    def url(self) -> str:
        """The address of the topic."""
        return f"kafka://{self.servers}/{self.topic}"

    def publish(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Publish messages to their partitions, in order."""
        for partition, value in rows:
            self._producer.produce(self.topic, value, partition=partition)
        assert self._producer.flush(WAIT_SECONDS) == 0


def messages(first: int, end: int) -> list[bytes]:
    """Messages in JSON, one for each number."""
    return [json.dumps(row(number)).encode() for number in range(first, end)]
