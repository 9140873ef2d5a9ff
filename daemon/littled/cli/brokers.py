"""`littled feed` from a broker: each message once, from the place on that the daemon has kept."""

from __future__ import annotations

import functools
import math
import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.progress import Progress, TaskID

from littled.cli.columns import SourceChoice, StreamInput, stream_facts
from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.options import EXISTING_FILE, DaemonChoice, with_options
from littled.cli.output import console, notes, number, print_json
from littled.cli.progress import feeding_progress
from littled.cli.stopping import Stopping
from littled_client.blocking import Client, Feeder
from littled_client.brokers import (
    Broker,
    BrokerAddress,
    BrokerLost,
    MessageRows,
    Secrets,
    Taken,
    broker_address,
    open_broker,
)
from littled_client.errors import AddressError, ClientError, SourceError
from littled_protocol.errors import ProtocolError
from littled_protocol.limits import producer_characters_max

PASSWORD = "LITTLED_BROKER_PASSWORD"  # noqa: S105 - the name of a variable
# How long a read waits for the first message; a signal is heard in between.
_READ_SECONDS = 0.5
# The pause after a broker was lost, doubled each time up to the most.
_PAUSE_SECONDS, _PAUSE_SECONDS_MAX = 0.1, 15.0
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class BrokerChoice:
    """What is said of a broker beside its address. skip_bad: leave out what is no example."""

    secrets: Secrets
    skip_bad: bool


def broker_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about a broker; the command gets a BrokerChoice."""

    @functools.wraps(command)
    def wrapped(
        *,
        skip_bad: bool,
        broker_user: str | None,
        broker_password_file: Path | None,
        broker_ca: Path | None,
        broker_cert: Path | None,
        broker_key: Path | None,
        **others: Any,
    ) -> Any:
        password = os.environ.get(PASSWORD)
        if broker_password_file is not None:
            password = _password(broker_password_file)
        secrets = Secrets(broker_user, password, broker_ca, broker_cert, broker_key)
        return command(broker=BrokerChoice(secrets, skip_bad), **others)

    return with_options(
        wrapped,
        click.option(
            "--skip-bad", is_flag=True,
            help="Of a broker: leave out messages that are no examples, and count them.",
        ),
        click.option("--broker-user", metavar="NAME", help="User that the broker asks for."),
        click.option(
            "--broker-password-file", type=EXISTING_FILE,
            help=f"File with the password, or a token of NATS; else ${PASSWORD}.",
        ),
        click.option(
            "--broker-ca", type=EXISTING_FILE, help="Authorities in PEM that vouch for it."
        ),
        click.option("--broker-cert", type=EXISTING_FILE, help="Certificate in PEM to show to it."),
        click.option(
            "--broker-key", type=EXISTING_FILE, help="Its key, if that is in a file of its own."
        ),
    )  # fmt: skip


def _password(path: Path) -> str | None:
    with explained(OSError, UnicodeDecodeError):
        text = path.read_text(encoding="utf-8").strip()
    if "\n" in text:
        raise Failure(f"{path} holds something else than one password")
    return text or None


def address_of(text: str) -> BrokerAddress:
    """The address of a broker; Failure for one that cannot be read."""
    with explained(AddressError, status=WRONG_USE):
        return broker_address(text)


def rows_of(address: BrokerAddress, choice: SourceChoice, taken: StreamInput) -> MessageRows:
    """What makes examples of messages, for a stream that takes this."""
    if choice.file_format not in (None, "jsonl", "csv", "tsv"):
        raise Failure("a message is a JSON object, or with --format csv a row of CSV", WRONG_USE)
    fields = choice.fields_for(taken)
    assert fields is not None, "only a recording has none"
    with explained(ValueError, status=WRONG_USE):
        return MessageRows(
            address.name,
            taken.x_type,
            fields,
            as_csv=choice.file_format in ("csv", "tsv"),
            delimiter=choice.delimiter or ("\t" if choice.file_format == "tsv" else ","),
            greatest=taken.greatest,
        )


def producer_of(stream: str, address: BrokerAddress) -> str:
    """A name that is the same whenever the same is read, from whichever host of the broker."""
    identity = f"{stream}\0{address.kind}\0{address.digest}".encode()
    digest = blake2b(identity, digest_size=8).hexdigest()
    readable = re.sub(r"[^A-Za-z0-9_.-]+", "-", address.path[0])[:64]
    return f"{address.kind}-{readable}-{digest}"


def pour_broker(
    stream: str,
    choice: SourceChoice,
    how: BrokerChoice,
    manner_producer: str | None,
    daemon: DaemonChoice,
    *,
    as_json: bool,
    rate: float | None,
    check_users: Callable[[str, bool | None, bool], None],
) -> None:
    """Feed messages until a signal, and print a summary."""
    address = address_of(choice.file)
    producer = manner_producer or producer_of(stream, address)
    started = time.monotonic()
    with explained(ClientError, ProtocolError), Stopping() as stopping:
        broker = open_broker(address, how.secrets, producer)
        try:
            with daemon.client() as client:
                pouring = _Pouring(client, stream, broker, producer, how, stopping, rate)
                facts = stream_facts(client, stream, daemon)
                taken = StreamInput.from_status(facts)
                check_users(stream, choice.names_users(taken), facts.get("unit") == "user")
                pouring.run(rows_of(address, choice, taken), choice.batch)
        except KeyboardInterrupt:
            if stopping.status is None:
                raise
            raise Failure(
                "stopped before all that was read was acknowledged; the same command goes on there",
                stopping.status,
            ) from None
        finally:
            broker.close()
    _report(stream, pouring, time.monotonic() - started, as_json=as_json)
    raise Failure(
        f"stopped after {number(pouring.acknowledged)} acknowledged examples, "
        f"{number(pouring.skipped)} messages left out; the same command goes on there",
        stopping.status or 0,
    )


def check_broker(
    stream: str,
    choice: SourceChoice,
    how: BrokerChoice,
    daemon: DaemonChoice,
    *,
    as_json: bool,
) -> None:
    """Read what is there from its beginning, say what it holds, and send nothing."""
    address = address_of(choice.file)
    if address.kind == "mqtt":
        raise Failure("a topic of MQTT cannot be looked at without taking its messages", WRONG_USE)
    with explained(ClientError, ProtocolError), Stopping() as stopping:
        with daemon.client() as client:
            taken = StreamInput.from_status(stream_facts(client, stream, daemon))
        rows = rows_of(address, choice, taken)
        unnamed = address if address.kind != "nats" else _without_consumer(address)
        broker = open_broker(unnamed, how.secrets, "check")
        stopping.tell(lambda: None)
        counts, refused = [0, 0], list[SourceError]()
        try:
            broker.open([b""] * len(broker.lanes()))
            while stopping.status is None and (found := broker.read(choice.batch, 2.0)):
                batch, _ = rows.examples([message for _, message in found], refused.append)
                if batch is not None:
                    ones = int(batch[1].sum())
                    counts = [counts[0] + len(batch[1]) - ones, counts[1] + ones]
        except BrokerLost as lost:
            raise Failure(str(lost)) from None
        finally:
            broker.close()
    if as_json:
        labels = {"0": counts[0], "1": counts[1]}
        facts = {"stream": stream, "examples": sum(counts), "labels": labels}
        print_json({**facts, "refused": len(refused)})
    else:
        console().print(
            f"{address.name}: {number(sum(counts))} examples, {number(counts[1])} with label 1 and "
            f"{number(counts[0])} with label 0; {number(len(refused))} messages refused; nothing "
            "was sent"
        )
    if stopping.status is not None:
        raise Failure("stopped before the end", stopping.status)
    if refused:
        raise Failure(f"the first that is refused is {refused[0]}")


def _without_consumer(address: BrokerAddress) -> BrokerAddress:
    return BrokerAddress(
        address.kind, address.hosts, address.path[:1], address.options, address.tls
    )


def _report(stream: str, pouring: _Pouring, seconds: float, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "stream": stream,
                "producer": pouring.producer,
                "examples": pouring.fed,
                "acknowledged": pouring.acknowledged,
                "skipped": pouring.skipped,
                "seconds": round(seconds, 3),
            }
        )
    else:
        rate = number(round(pouring.fed / seconds))
        console().print(
            f"{stream}: {number(pouring.fed)} examples acknowledged in {seconds:.1f} s ({rate}/s)"
        )


@dataclass(slots=True)
class _Lane:
    """What is read in one order, and its feeder.

    place: behind the last message that was read. left_out: how many examples behind it come first
    that are not to be fed: the daemon has them without a place, or a restored store has lost them.
    told: whether the user has heard of these. waiting: messages whose examples are not
    acknowledged, with the producer's number behind them.
    """

    feeder: Feeder
    place: bytes
    left_out: int
    before: int
    told: bool = False
    waiting: deque[tuple[int, list[Taken]]] = field(default_factory=deque)

    def learned(self) -> list[Taken]:
        """Messages whose examples are durable by now, each said once."""
        found: list[Taken] = []
        while self.waiting and self.waiting[0][0] <= self.feeder.acknowledged:
            found += self.waiting.popleft()[1]
        return found


class _Pouring:
    """Feeds what a broker has, until a signal.

    fed: examples acknowledged since the beginning; acknowledged: and by earlier runs. skipped:
    messages that were left out.
    """

    def __init__(
        self,
        client: Client,
        stream: str,
        broker: Broker,
        producer: str,
        how: BrokerChoice,
        stopping: Stopping,
        rate: float | None,
    ) -> None:
        """Nothing is read yet."""
        self.producer = producer
        self.fed = self.acknowledged = self.skipped = 0
        self._client, self._stream, self._broker = client, stream, broker
        self._how, self._stopping, self._rate = how, stopping, rate
        self._lanes: list[_Lane] = []
        self._sent = 0

    def run(self, rows: MessageRows, batch: int) -> None:
        """Feed until a signal, then wait until all that was read is acknowledged."""
        self._stopping.tell(lambda: None)
        names = self._until_back(self._broker.lanes)
        if names is None:
            return
        if self._broker.note:
            notes().print(self._broker.note)
        with ExitStack() as stack:
            for name in names:
                producer = _lane_producer(self.producer, name)
                feeder = self._client.feed(self._stream, producer=producer, resumes=True)
                self._lanes.append(_lane(stack.enter_context(feeder)))
            before = sum(lane.before for lane in self._lanes)
            if before:
                notes().print(f"{number(before)} examples were acknowledged before; going on there")
            try:
                self._all(rows, batch)
            finally:
                self.acknowledged = sum(lane.feeder.acknowledged for lane in self._lanes)
                self.fed = self.acknowledged - before

    def _all(self, rows: MessageRows, batch: int) -> None:
        with feeding_progress() as progress:
            task = progress.add_task(self._stream, total=None, acknowledged="0", since_start=0)
            started = time.monotonic()
            while self._stopping.status is None:
                if self._until_back(self._open) is None:
                    break
                try:
                    while self._stopping.status is None:
                        self._some(rows, batch)
                        self._show(progress, task)
                        due = started + self._sent / (self._rate or math.inf)
                        self._stopping.pause(due - time.monotonic())
                except BrokerLost as lost:
                    notes().print(f"{lost}; trying again")
            self._settle()
            self._show(progress, task)

    def _some(self, rows: MessageRows, batch: int) -> None:
        """Read what there is, send it, and acknowledge what was learned meanwhile."""
        found = self._broker.read(batch, _READ_SECONDS)
        for index, lane in enumerate(self._lanes):
            taken = [message for which, message in found if which == index]
            if taken:
                self._send(lane, rows, taken)
        if len(found) < batch:
            # Nothing more is there, and some brokers send no more before they hear of these.
            self._flush()
        for lane in self._lanes:
            learned = lane.learned()
            if learned:
                self._broker.acknowledge(learned)

    def _send(self, lane: _Lane, rows: MessageRows, taken: Sequence[Taken]) -> None:
        batch, _ = rows.examples(taken, self._skip if self._how.skip_bad else None)
        lane.place = taken[-1].place
        count = 0 if batch is None else len(batch[1])
        out = min(lane.left_out, count)
        lane.left_out -= out
        if batch is not None and count > out:
            # The place is behind the last message, and those that were left out are before it.
            lane.feeder.send(*(column[out:] for column in batch), resume=lane.place)
            self._sent += count - out
        lane.waiting.append((lane.feeder.next_sequence, list(taken)))

    def _skip(self, error: SourceError) -> None:
        self.skipped += 1
        if self.skipped == 1:
            notes().print(f"left out: {error}; others are counted")

    def _open(self) -> bool:
        # All that was read before is durable then, so a broker may be told when it sends it again.
        self._flush()
        heard = self._broker.open([lane.place for lane in self._lanes])
        for lane, said in zip(self._lanes, heard, strict=True):
            lane.waiting.clear()
            if said.unnumbered:
                lane.left_out = 0
            if (said.missing or said.forgets) and lane.left_out:
                raise SourceError(
                    f"{self._broker.name} keeps no messages any more of those that the daemon has "
                    "without their place or has lost, so it is not known where to go on: name "
                    "another producer with --producer, and feed only what was not fed before"
                )
            if lane.left_out and not lane.told:
                lane.told = True
                notes().print(
                    f"{number(lane.left_out)} examples behind the last place of "
                    f"{lane.feeder.producer} are known to the daemon already; leaving out as many"
                )
            if said.missing and lane.place:
                notes().print(
                    f"{self._broker.name} has removed messages before they were read; going on "
                    "with the first that is there"
                )
        return True

    def _until_back(self, attempt: Callable[[], _Result]) -> _Result | None:
        """What an attempt returns, tried until it does; None after a signal."""
        pause, told = _PAUSE_SECONDS, False
        while self._stopping.status is None:
            try:
                return attempt()
            except BrokerLost as lost:
                if not told:
                    notes().print(f"{lost}; trying again until it is there")
                told = True
                self._stopping.pause(pause)
                pause = min(2 * pause, _PAUSE_SECONDS_MAX)
        return None

    def _flush(self) -> None:
        for lane in self._lanes:
            lane.feeder.flush()

    def _settle(self) -> None:
        """Wait until everything is durable, and tell the broker."""
        if sys.stderr.isatty():
            notes().print("stopping when all is acknowledged; once more to stop at once")
        self._flush()
        for lane in self._lanes:
            learned = lane.learned()
            try:
                if learned:
                    self._broker.acknowledge(learned)
            except (BrokerLost, SourceError):
                return  # it sends them again, and they are passed over

    def _show(self, progress: Progress, task: TaskID) -> None:
        done = sum(lane.feeder.acknowledged for lane in self._lanes)
        since = done - sum(lane.before for lane in self._lanes)
        progress.update(task, acknowledged=number(done), since_start=since)


def _lane(feeder: Feeder) -> _Lane:
    left_out = feeder.next_sequence - feeder.resume_sequence
    return _Lane(feeder, feeder.resume, left_out, feeder.acknowledged)


def _lane_producer(producer: str, lane: str) -> str:
    name = f"{producer}/{lane}" if lane else producer
    if len(name) > producer_characters_max:
        raise Failure(f"the name {name} of a producer is too long: shorten --producer", WRONG_USE)
    return name
