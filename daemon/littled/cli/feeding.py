"""`littled feed`: examples from a file or a pipe to a stream, each exactly once."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import click
from rich.progress import Progress, TaskID

from littled.cli.brokers import BrokerChoice, broker_options, check_broker, pour_broker
from littled.cli.columns import SourceChoice, StreamInput, source_options, stream_facts
from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.labelling import both_labels
from littled.cli.options import DaemonChoice, daemon_options, with_options
from littled.cli.output import console, notes, number, print_json
from littled.cli.progress import feeding_progress
from littled.cli.resuming import Chosen, Keeper, Resuming, check_held, producer_name
from littled.cli.stopping import Stopping
from littled_client.blocking import Client, Feeder
from littled_client.blocks import STANDARD_INPUT
from littled_client.brokers import is_broker
from littled_client.conversions import Batch
from littled_client.errors import ClientError, SourceError
from littled_client.fed import Fed, rest_after
from littled_client.following import put_aside
from littled_client.sources import Source
from littled_protocol.errors import ProtocolError


@dataclass(frozen=True, slots=True)
class Manner:
    """How something is fed.

    producer: None means the one whose examples the file holds, or a name made from the stream's and
    the file's. one_label: whether the examples may all have one label.
    """

    producer: str | None
    rate: float | None
    as_json: bool
    one_label: bool = True
    follow: bool = False


Reader = Callable[[str, Feeder, StreamInput, bool], Source]
"""Gives the source of a path for a feeder's stream; the last says whether it is followed."""


def manner_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how something is fed; the command gets a Manner."""

    @functools.wraps(command)
    def wrapped(*, producer: str | None, rate: float | None, as_json: bool, **others: Any) -> Any:
        return command(manner=Manner(producer, rate, as_json), **others)

    return with_options(
        wrapped,
        click.option(
            "--producer", help="Name under which progress is kept; else made from the file's."
        ),
        click.option(
            "--rate", type=click.FloatRange(min=1), help="Feed at most so many examples a second."
        ),
        click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON."),
    )


@click.command()
@click.argument("stream")
@source_options
@manner_options
@click.option(
    "--follow",
    is_flag=True,
    help="Wait for more at the end, also of the next file where FILE is a log that is put aside.",
)
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help="Read everything and say how many examples there are and what is refused; send nothing.",
)
@click.option(
    "--record",
    "recording",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the frames to this new file as well, as they go over the wire.",
)
@broker_options
@daemon_options
def feed(
    stream: str,
    source: SourceChoice,
    manner: Manner,
    follow: bool,
    only_check: bool,
    recording: Path | None,
    broker: BrokerChoice,
    daemon: DaemonChoice,
) -> None:
    """Feed FILE to STREAM: CSV, JSON lines, Parquet or a recording; - is standard input.

    FILE may also be what a broker has, each message a row: nats://HOST:PORT/STREAM[/CONSUMER],
    redis://HOST:PORT/KEY, kafka://HOST:PORT/TOPIC[/PARTITION] or mqtt://HOST:PORT/TOPIC. It is read
    until a signal, from the place on that the daemon keeps with the examples.

    Each example is fed once, however often the command is run: the daemon remembers how far each
    producer has come, and the feeder what it was. Run it again after an interruption, or after
    lines were added to FILE, and it goes on where it stopped; it refuses a FILE that has changed.
    Standard input has no name, so it needs --producer to be resumed.

    Rows of a pipe are sent as they come. SIGINT and SIGTERM send what was read and wait until it is
    acknowledged; the second one stops at once.
    """
    if is_broker(source.file):
        if follow or recording is not None:
            raise Failure("a broker is followed until a signal; leave --follow and --record away",
                          WRONG_USE)  # fmt: skip
        if only_check:
            check_broker(stream, source, broker, daemon, as_json=manner.as_json)
        else:
            pour_broker(
                *(stream, source, broker, manner.producer, daemon),
                as_json=manner.as_json,
                rate=manner.rate,
                check_users=_check_users,
            )
        return
    if only_check:
        _check(stream, source, manner, daemon)
        return

    if follow and (manner.producer is not None or recording is not None):
        raise Failure("--producer and --record are for one file; leave them away with --follow",
                      WRONG_USE)  # fmt: skip

    def read(path: str, feeder: Feeder, taken: StreamInput, followed: bool) -> Source:
        _check_users(stream, source.names_users(taken), feeder.names_users)
        return replace(source, file=path).open(taken, follow=followed)

    manner = replace(manner, one_label=source.one_label or source.is_recording, follow=follow)
    pour(stream, source.file, read, manner, daemon, recording)


def _check_users(stream: str, read: bool | None, wanted: bool) -> None:
    """Failure unless users are read where the stream protects users, and only there.

    What a recording holds, it says itself.
    """
    if read is None or read == wanted:
        return
    if wanted:
        raise Failure(f"{stream} protects users; name the column with them: --user COL", WRONG_USE)
    raise Failure(f"{stream} protects single examples; leave --user away", WRONG_USE)


def _check(stream: str, choice: SourceChoice, manner: Manner, daemon: DaemonChoice) -> None:
    """Read a file as it would be fed and say what it holds; Failure if some of it is refused."""
    with explained(ClientError, ProtocolError), daemon.client() as client:
        facts = stream_facts(client, stream, daemon)
    taken = StreamInput.from_status(facts)
    _check_users(stream, choice.names_users(taken), facts.get("unit") == "user")
    source = choice.open(taken)
    refused: list[SourceError] = []
    counts = [0, 0]
    with explained(ClientError), Stopping() as stopping:
        stopping.tell(source.stop)
        for batch in source.batches(refused.append):
            ones = int(batch[1].sum())
            counts[1] += ones
            counts[0] += len(batch[1]) - ones
    facts = {
        "stream": stream,
        "examples": sum(counts),
        "labels": {"0": counts[0], "1": counts[1]},
        "refused": len(refused),
    }
    if manner.as_json:
        print_json(facts)
    else:
        console().print(
            f"{source.name}: {number(sum(counts))} examples, {number(counts[1])} with label 1 and "
            f"{number(counts[0])} with label 0; {number(len(refused))} rows refused; nothing was "
            "sent"
        )
    if stopping.status is not None:
        raise Failure("stopped before the end", stopping.status)
    if refused:
        raise Failure(f"the first row that is refused is {refused[0]}")
    if 0 in counts and not (choice.one_label or choice.is_recording):
        raise Failure("all labels are the same; if that is right, say --one-label")


def pour(
    stream: str,
    file: str,
    read: Reader,
    manner: Manner,
    daemon: DaemonChoice,
    recording: Path | None = None,
) -> None:
    """Feed everything, wait for the last acknowledgement and print a summary.

    `read` gives the source of a path once it is known what the stream takes.
    """
    started = time.monotonic()
    again = "" if file == STANDARD_INPUT else "; the same command goes on there"
    with Stopping() as stopping, explained(ClientError, ProtocolError):
        try:
            with daemon.client() as client:
                pouring = Pouring(client, stream, file, read, manner, stopping, recording)
                pouring.feed_all()
        except KeyboardInterrupt:
            if stopping.status is None:
                raise
            sentence = f"stopped before all that was read was acknowledged{again}"
            raise Failure(sentence, stopping.status) from None
    if stopping.status is not None:
        done = number(pouring.acknowledged)
        raise Failure(f"stopped after {done} acknowledged examples{again}", stopping.status)
    seconds = time.monotonic() - started
    if manner.as_json:
        print_json(
            {
                "stream": stream,
                "producer": pouring.producer,
                "examples": pouring.fed,
                "acknowledged": pouring.acknowledged,
                "seconds": round(seconds, 3),
            }
        )
        return
    rate = number(round(pouring.fed / seconds))
    console().print(
        f"{stream}: {number(pouring.fed)} examples acknowledged in {seconds:.1f} s ({rate}/s)"
    )


def parts_of(pouring: Pouring) -> Iterator[tuple[Chosen, bool]]:
    """Which files are fed one after the other, and whether each is followed.

    All but a file that is followed is one file alone.
    """
    file, resuming = pouring.file, pouring.resuming
    chosen = resuming.choose(file, pouring.manner.producer)
    if not pouring.manner.follow:
        yield chosen, False
        return
    if not resuming.can_keep():
        raise Failure(
            "a log cannot be followed without a folder for what was fed of it: set XDG_STATE_HOME "
            "to one that can be written"
        )
    record = chosen.record
    # What the same log held before has shown which words are labels.
    pouring.looked_at_labels |= record is not None
    if record is not None and not chosen.holds(record.acknowledged) and pouring.has(record):
        yield from _put_aside(pouring, record)
        chosen = resuming.choose(file, is_new=True)
    while True:
        yield chosen, True
        yield from _put_aside(pouring, pouring.record)
        while not Path(file).exists():
            pouring.stopping.pause(0.1)
            if pouring.stopping.status is not None:
                return
        chosen = resuming.choose(file, is_new=True)


def _put_aside(pouring: Pouring, record: Fed | None) -> Iterator[tuple[Chosen, bool]]:
    """What was put aside since a record of the same file was written, the oldest first."""
    newer: list[str] = []
    for path in [] if record is None else put_aside(pouring.file):
        rest = rest_after(path, cast("Fed", record))
        if rest is None:
            newer.append(path)
            continue
        notes().print(f"{pouring.file} was put aside as {path}; going on with what came after")
        if rest:
            newer.append(path)
        for other in reversed(newer):
            yield pouring.resuming.choose(other, is_new=True), False
        return
    notes().print(f"{pouring.file} is a new file; what was fed of the old one is not beside it")


class Pouring:
    """Feeds files to a stream, each as a producer of its own.

    fed: examples that were acknowledged since the beginning; acknowledged: those and what earlier
    runs have fed of the same files. record: of the file that was fed last. looked_at_labels:
    whether the examples may all have one label from now on.
    """

    def __init__(
        self,
        client: Client,
        stream: str,
        file: str,
        read: Reader,
        manner: Manner,
        stopping: Stopping,
        recording: Path | None,
    ) -> None:
        """Nothing is fed yet."""
        self.resuming = Resuming(client.instance_of(stream), stream)
        self.file, self.manner, self.stopping = file, manner, stopping
        self.fed = self.acknowledged = 0
        self.producer = ""
        self.record: Fed | None = None
        self._client, self._stream, self._read = client, stream, read
        self._recording = recording
        self.looked_at_labels = manner.one_label

    def feed_all(self) -> None:
        """Feed the file, and when it is followed whatever comes after it, until a signal."""
        for chosen, follow in parts_of(self):
            self.feed(chosen, follow=follow)
            if self.stopping.status is not None:
                return

    def has(self, record: Fed) -> bool:
        """Whether the daemon has examples of this record's producer."""
        with self._client.feed(self._stream, producer=record.producer) as feeder:
            return feeder.next_sequence > 0

    def feed(self, chosen: Chosen, *, follow: bool) -> None:
        """Feed the rest of a file and wait until it is acknowledged."""
        self.producer = chosen.producer
        with self._client.feed(
            self._stream, producer=chosen.producer, record=self._recording
        ) as feeder:
            before = feeder.next_sequence
            taken = StreamInput.from_status(
                self._client.status(self._stream)["streams"][self._stream]
            )
            source = self._read(chosen.path, feeder, taken, follow)
            numbered = self._is_numbered(chosen, source)
            # What was fed under the name before is elsewhere then.
            chosen = replace(chosen, record=None) if numbered else chosen
            keeper = self.resuming.keeper(chosen, self.file if self.manner.follow else None)
            check_held(chosen, before, source.name)
            source.expect(chosen.expected(before))
            if before:
                where = "" if chosen.elsewhere is None else f", from {chosen.elsewhere}"
                if not self.fed:
                    notes().print(
                        f"{number(before)} examples were acknowledged before{where}; going on there"
                    )
            else:
                keeper.begin()
            self.stopping.tell(source.stop)
            try:
                self._send_all(source, feeder, keeper, numbered=numbered)
            finally:
                keeper.end(feeder.acknowledged)
            self.fed += feeder.acknowledged - before
            self.acknowledged += feeder.acknowledged
            if keeper.record.marks:
                self.record = keeper.record

    def _is_numbered(self, chosen: Chosen, source: Source) -> bool:
        """Whether a recording goes on under the name of the producer that was recorded.

        So it does under a name that was given, unless it is known that it was fed as a file.
        """
        usual = producer_name(self._stream, chosen.path)
        is_its_own = self.manner.producer in (None, usual) or chosen.is_known
        return not is_its_own and source.first_number() != 0

    def _send_all(self, source: Source, feeder: Feeder, keeper: Keeper, *, numbered: bool) -> None:
        """Send what the daemon does not have yet, at the rate asked for, and wait for it."""
        before, started = feeder.next_sequence, time.monotonic()
        sent, rate = 0, self.manner.rate
        with feeding_progress() as progress:
            task = progress.add_task(self._stream, total=1.0, acknowledged="0", since_start=0)
            batches: Iterator[Batch] = source.after(before, numbered=numbered)
            if not (self.looked_at_labels or before):
                batches = both_labels(batches, source)
            for batch in batches:
                self.looked_at_labels = True
                keeper.read(source.mark(), feeder.acknowledged)
                feeder.send(*batch)
                sent += len(batch[1])
                if source.waiting:
                    # Nothing else is to do, and a connection that was lost is noticed now.
                    feeder.flush()
                _show(progress, task, feeder.acknowledged, before, source.progress)
                if rate is not None:
                    self.stopping.pause(started + sent / rate - time.monotonic())
            if self.stopping.status is not None and sys.stderr.isatty():
                progress.print("stopping when all is acknowledged; once more to stop at once")
            feeder.flush()
            keeper.read(source.mark(), feeder.acknowledged)
            _show(progress, task, feeder.acknowledged, before, 1.0)


def _show(
    progress: Progress, task: TaskID, acknowledged: int, before: int, part: float | None
) -> None:
    """Move the bar; a source of unknown length keeps a bar that only says that it is alive."""
    progress.update(
        task,
        completed=part,
        total=None if part is None else 1.0,
        acknowledged=number(acknowledged),
        since_start=acknowledged - before,
    )
