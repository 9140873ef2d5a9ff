"""The daemon as a process of its own, and a peer that speaks to it byte by byte.

`main` serves a store like `littled serve`, with limits scaled down and with engines that misbehave,
as its argument in JSON says; see `Serving.start`.
"""

import asyncio
import atexit
import contextlib
import functools
import importlib
import json
import os
import resource
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Self, TypeVar

import msgpack

from littled.classes.names import class_from_name
from littled.engine import Engine, Outlet, Trainings
from littled.learners.prediction import PredictionLearner
from littled.mechanisms.noise import NoiseSource
from littled.planner import OnlineRequest, StreamPlan, StreamRequest, plan_stream
from littled.service.access import Access, one_token
from littled.service.daemon import serve
from littled.service.grants import read_access
from littled.service.logs import guard_process, make_log
from littled.service.tls import TlsFiles
from littled.store.errors import StoreError
from littled.store.records import Record, StoredRelease
from littled.store.store import Store
from littled_client.addresses import TcpAddress
from littled_protocol.codec import encode
from littled_protocol.connection import CLOSED, NEED_DATA, Connection, Role
from littled_protocol.messages import (
    Ack,
    Error,
    Examples,
    Hello,
    Message,
    Open,
    Opened,
    Release,
    Subscribe,
    Welcome,
)
from support.copying import Copy, anew

T = TypeVar("T")
WAIT_SECONDS = 60.0
CANARY = "canary-0815"
STORE_STATUS = 3
# Stream -> class of its one learner, "late".
STREAMS = {"flights": "thresholds:256", "ids": "points:64", "small": "thresholds:200"}


def wait_for_file(path: Path) -> None:
    """Wait until a file is there."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not path.exists():
        assert time.monotonic() < deadline, f"no file {path.name}"
        time.sleep(0.01)


@functools.cache
def plans() -> dict[str, dict[str, Any]]:
    """Plans for a budget that lets nothing fire by chance within a few thousand examples."""
    return {
        stream: plan_stream(
            StreamRequest(
                stream,
                Fraction(1),
                Fraction(1, 10**6),
                10**8,
                (OnlineRequest("late", class_from_name(name)),),
            )
        ).to_dict()
        for stream, name in STREAMS.items()
    }


def make_store(path: Path) -> Path:
    """Make a store with the streams of `STREAMS` in the folder `path`."""
    Store.create(path, {"streams": sorted(STREAMS)}, plans())
    return path


class Serving:
    """A daemon process, its log and its addresses."""

    def __init__(self, process: subprocess.Popen[str], unix: Path) -> None:
        """Take over a process that was just started; `start` is the usual way."""
        self.process = process
        self.unix = unix
        self.lines: list[dict[str, Any]] = []
        self._over = False
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @classmethod
    def start(
        cls,
        store: Path,
        *,
        ready: bool = True,
        environment: dict[str, str] | None = None,
        prefix: Sequence[str] = (),
        unix: Path | None = None,
        **how: Any,
    ) -> Self:
        """Start a daemon on `store` and wait until it is ready.

        prefix: a command that runs another one. unix: its socket, if not beside the store.

        how: engine="chatty" (publishes a large release for every record), "slow" (makes the file
        STORE/learning, then waits for STORE/go), "held" (trains once, then waits for STORE/go),
        "failing" (raises at the first record);
        limits={"module.NAME": value} in the daemon's modules; tcp, http (port 0 means any),
        token or token_file, plaintext, tls={"certificate": file, "key": file, "client_ca": file};
        file_bytes_max: no file may grow beyond this; inherit=[descriptors] handed over as a service
        manager does, under `names`;
        answers="slow" (each waits for the file STORE/go), "killed before" or "killed after" (the
        commit of the first answer kills the process, as a power cut would);
        elsewhere=a file that says where other streams are, see `PlacesFile`; learn_first.
        """
        unix = unix or store.parent / f"{store.name}.sock"
        arguments = json.dumps({"store": str(store), "unix": str(unix), **how})
        options: dict[str, Any] = {
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
            "text": True,
            "env": {**os.environ, **(environment or {})},
            "pass_fds": how.get("inherit", ()),
        }
        # Libraries may read the environment while they are imported.
        process = (
            subprocess.Popen([*prefix, *anew("support.serving:main"), arguments], **options)
            if prefix or environment
            else Copy("support.serving:main", [arguments], **options)
        )
        atexit.register(process.kill)  # whatever becomes of the test; does nothing after the end
        serving = cls(process, unix)
        if ready:
            serving.wait_for("ready")
        return serving

    @property
    def text(self) -> str:
        """The whole log so far."""
        return "\n".join(json.dumps(line) for line in self.lines)

    def wait_for(self, event: str, count: int = 1) -> dict[str, Any]:
        """Wait for the `count`-th line of that event."""

        def found() -> list[dict[str, Any]]:
            return [line for line in self.lines if line["event"] == event]

        with self._news:
            self._news.wait_for(lambda: len(found()) >= count or self._over, WAIT_SECONDS)
            assert len(found()) >= count, f"no line {event!r} in {self.text}"
            return found()[count - 1]

    def address(self, transport: str) -> tuple[str, int]:
        """Host and port of the TCP or HTTP listener."""
        line = next(line for line in self.lines if line.get("transport") == transport)
        host, _, port = line["address"].rpartition(":")
        return host, int(port)

    def url(self, path: str) -> str:
        """An address for HTTP."""
        host, port = self.address("http")
        return f"http://{host}:{port}{path}"

    def stop(self) -> int:
        """Ask the daemon to stop; return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self) -> int:
        """Wait for the end of the process; return its exit status."""
        status = self.process.wait(WAIT_SECONDS)
        self._reader.join(WAIT_SECONDS)
        return status

    def kill(self) -> None:
        """End the process as a power cut would, and leave its socket behind."""
        self.process.kill()
        self.ended()

    def resident_bytes(self) -> int:
        """Memory of the process."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                try:
                    entry = json.loads(line)
                except ValueError:
                    entry = {"event": "not a log line", "text": line}
                with self._news:
                    self.lines.append(entry)
                    self._news.notify_all()
        with self._news:
            self._over = True
            self._news.notify_all()


@contextlib.contextmanager
def serving(store: Path, **how: Any) -> Iterator[Serving]:
    """A daemon that is stopped at the end if it still runs."""
    daemon = Serving.start(store, **how)
    try:
        yield daemon
    finally:
        if daemon.process.poll() is None:
            daemon.process.kill()
        daemon.ended()


@dataclass
class Peer:
    """A client without any comfort: sends what it is told and shows what comes."""

    socket: socket.socket
    connection: Connection = field(default_factory=lambda: Connection(Role.CLIENT))
    received: bytearray = field(default_factory=bytearray)
    welcome: Welcome | None = None

    @classmethod
    def connect(cls, address: Path | tuple[str, int]) -> Self:
        """Connect without greeting."""
        family = socket.AF_UNIX if isinstance(address, Path) else socket.AF_INET
        peer = socket.socket(family)
        # A connection to a Unix socket with a full queue waits only where there is no time limit.
        try:
            peer.connect(str(address) if isinstance(address, Path) else address)
        except OSError:
            peer.close()
            raise
        peer.settimeout(WAIT_SECONDS)
        return cls(peer)

    @classmethod
    def greet(
        cls, address: Path | tuple[str, int], token: str | None = None, version: int = 1
    ) -> Self:
        """Connect and greet, as one that speaks no higher version."""
        peer = cls.connect(address)
        peer.send(Hello(version, "peer/1", token))
        welcome = peer.receive()
        assert isinstance(welcome, Welcome), welcome
        peer.welcome = welcome
        return peer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, *messages: Message) -> None:
        """Send messages, which the protocol must allow."""
        self.write(b"".join(self.connection.send(message) for message in messages))

    def write(self, data: bytes) -> None:
        """Send any bytes."""
        self.socket.sendall(data)

    def receive(self) -> Message | None:
        """Return the next message; None at the end of the stream."""
        while (event := self.connection.next_event()) is NEED_DATA:
            self.take()
        return event if event is not CLOSED else None

    def take(self) -> bytes:
        """Receive some bytes without looking at them as messages."""
        data = self.socket.recv(1 << 16)
        self.received += data
        self.connection.receive_data(data)
        return data

    def expect(self, kind: type[Message]) -> Any:
        """Receive a message of this kind."""
        message = self.receive()
        assert isinstance(message, kind), message
        return message

    def error(self) -> str:
        """Receive up to an Error and the end of the stream, and close; return the code."""
        while not isinstance(message := self.receive(), Error):
            assert message is not None, "the stream ended without an error"
        with contextlib.suppress(ConnectionResetError):
            while self.socket.recv(1 << 16):
                pass
        self.socket.close()
        return message.code

    def open(self, stream: str, producer: str, channel: int = 0) -> Opened:
        """Open a channel."""
        self.send(Open(channel, stream, producer))
        opened: Opened = self.expect(Opened)
        return opened

    def feed(self, sequence: int, x: bytes, y: bytes, channel: int = 0) -> None:
        """Send one batch of columns."""
        self.send(Examples(channel, sequence, len(y), x, y))

    def acknowledged(self, next_sequence: int) -> list[Ack]:
        """Receive acknowledgements up to a sequence number."""
        acks: list[Ack] = []
        while not acks or acks[-1].next_sequence < next_sequence:
            acks.append(self.expect(Ack))
        return acks

    def subscribe(self, learner: str, since: int = 0) -> None:
        """Subscribe to a learner."""
        self.send(Subscribe(learner, since))


def raw(**fields: Any) -> bytes:
    """A frame of any map."""
    return framed(msgpack.packb(fields))


def framed(payload: bytes) -> bytes:
    """A frame of any payload."""
    return len(payload).to_bytes(4, "big") + payload


class ChattyEngine:
    """Publishes one release for every record, with a rule of 4,096 members."""

    def __init__(
        self,
        plan: StreamPlan,
        noise: NoiseSource,
        outlet: Outlet,
        executor: Executor,
        state: bytes | None = None,
    ) -> None:
        """Begin before the first record; snapshots hold nothing."""
        self._stream, self._outlet = plan.stream, outlet
        self.record_number, self.position, self._version = -1, 0, 0

    def start(self) -> None:
        """Publish the first rule."""
        self._publish()

    def apply_all(self, records: Sequence[Record]) -> None:
        """Publish the next rule at each record."""
        for record in records:
            self.record_number = record.number
            self.position = record.first_position + record.count
            self._publish()

    def learning(self, records: Sequence[Record]) -> Trainings:
        """Publish the same, without any training."""
        for record in records:
            self.apply_all([record])
            yield None

    def snapshot(self) -> bytes:
        """Return nothing that could be of use."""
        return b""

    def status(self) -> dict[str, Any]:
        """Return public facts."""
        learner = {"version": self._version, "epoch": 0, "halted": False, "rule": "many"}
        zero = {"epsilon_pure": "0/1", "rho": "0/1", "delta": "0/1"}
        return {
            "position": self.position,
            "season": 0,
            "spent": zero,
            "caps": zero,
            "learners": {"late": learner},
        }

    def _publish(self) -> None:
        self._version += 1
        members = [f"{self._version * 4096 + index:016x}" for index in range(4096)]
        learner = f"{self._stream}/late"
        rule = {"kind": "points", "bits": 64, "members": members}
        body = encode(Release(learner, self._version, "rule", 0, 0, self.position, rule))
        self._outlet.publish([StoredRelease(learner, self._version, body, None)], [])


class SlowEngine(Engine):
    """Learns nothing before a file appears; makes another, `learning`, when it is asked to."""

    gate = Path()

    def learning(self, records: Sequence[Record]) -> Trainings:
        """Wait for the file, then learn."""
        self.gate.with_name("learning").touch()
        while not self.gate.exists():
            time.sleep(0.01)
        yield from super().learning(records)


class HeldEngine(Engine):
    """Trains once, and then not again before a file appears."""

    def __init__(
        self,
        plan: StreamPlan,
        noise: NoiseSource,
        outlet: Outlet,
        executor: Executor,
        state: bytes | None = None,
    ) -> None:
        """Hold trainings up wherever they are made."""
        super().__init__(plan, noise, outlet, _HeldTrainings(executor), state)


class _HeldTrainings(Executor):
    def __init__(self, inner: Executor) -> None:
        self._inner, self._trainings = inner, 0

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        self._trainings += 1
        held = self._trainings > 1

        def trained() -> T:
            while held and not SlowEngine.gate.exists():
                time.sleep(0.01)
            return fn(*args, **kwargs)

        return self._inner.submit(trained)


class FailingEngine(Engine):
    """Raises at the first record, with a canary in the message and in a local variable."""

    def learning(self, records: Sequence[Record]) -> Trainings:
        """Fail."""
        hidden = f"{CANARY} {records[0].x!r}"
        raise ValueError(hidden)


def misbehave(answers: str, folder: Path) -> None:
    """Replace how answers are made or stored; see `Serving.start`."""
    make, commit = PredictionLearner.answer, Store.answer

    def slow(learner: PredictionLearner, *arguments: Any) -> Any:
        (folder / "answering").touch()
        while not (folder / "go").exists():
            time.sleep(0.01)
        return make(learner, *arguments)

    def killed(store: Store, *arguments: Any) -> Any:
        if answers == "killed after":
            commit(store, *arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    if answers == "slow":
        PredictionLearner.answer = slow  # type: ignore[method-assign,assignment]
    else:
        Store.answer = killed  # type: ignore[method-assign,assignment]


@dataclass(frozen=True)
class PlacesFile:
    """Says where streams are by a JSON file, a list of addresses for each, as it is now."""

    path: Path

    def where(self, stream: str) -> tuple[str, ...] | None:
        """Return what the file says."""
        found = json.loads(self.path.read_text(encoding="utf-8")).get(stream)
        return None if found is None else tuple(found)

    def say(self, **places: Sequence[str]) -> None:
        """Write where streams are."""
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(places), encoding="utf-8")
        new.replace(self.path)


ENGINES: dict[str, Any] = {
    "real": Engine,
    "chatty": ChattyEngine,
    "slow": SlowEngine,
    "held": HeldEngine,
    "failing": FailingEngine,
}


def inherit(descriptors: Sequence[int], names: Sequence[str]) -> None:
    """Lay descriptors and variables out as a service manager hands them over."""
    moved = [os.dup2(number, 200 + index) for index, number in enumerate(descriptors)]
    for index, number in enumerate(moved):
        os.dup2(number, 3 + index)
    os.environ["LISTEN_PID"] = str(os.getpid())
    os.environ["LISTEN_FDS"] = str(len(descriptors))
    os.environ["LISTEN_FDNAMES"] = ":".join(names)


def rules(how: dict[str, Any]) -> Access:
    """Who may do what: a token with every role, or what a file says."""
    if "token_file" in how:
        return replace(
            read_access(Path(how["token_file"])), client_ca="client_ca" in how.get("tls", {})
        )
    plain = bool(how.get("plaintext"))
    return Access(
        tokens=one_token(how["token"]) if "token" in how else {},
        client_ca="client_ca" in how.get("tls", {}),
        plaintext=plain,
    )


def main(arguments: Sequence[str]) -> int:
    """Serve as the JSON in the first argument says; return the exit status."""
    how = json.loads(arguments[0])
    for name, value in how.get("limits", {}).items():
        module, _, attribute = name.rpartition(".")
        found = importlib.import_module(module)
        assert hasattr(found, attribute), name
        setattr(found, attribute, value)
    SlowEngine.gate = Path(how["store"]) / "go"
    if "answers" in how:
        misbehave(how["answers"], Path(how["store"]))
    if "file_bytes_max" in how:
        resource.setrlimit(resource.RLIMIT_FSIZE, (how["file_bytes_max"],) * 2)
    if "inherit" in how:
        inherit(how["inherit"], how["names"])
    log = make_log("json")
    guard_process(log)

    def tcp(name: str) -> TcpAddress | None:
        return TcpAddress(*how[name]) if name in how else None

    try:
        asyncio.run(
            serve(
                Path(how["store"]),
                Path(how["unix"]) if how["unix"] else None,
                tcp("tcp"),
                tcp("http"),
                log=log,
                rules=functools.partial(rules, how),
                tls=TlsFiles(**{name: Path(file) for name, file in how["tls"].items()})
                if "tls" in how
                else None,
                http_names=how.get("http_names", ()),
                build=ENGINES[how.get("engine", "real")],
                elsewhere=PlacesFile(Path(how["elsewhere"])) if "elsewhere" in how else None,
                learn_first=how.get("learn_first", False),
            )
        )
    except StoreError as error:
        log.critical("store", reason=str(error))
        return STORE_STATUS
    return 0
