"""`littled feed`: examples from a file to a stream, each exactly once however often it is run."""

import functools
import hashlib
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress, TaskID

from littled.cli.columns import SourceChoice, StreamInput, source_options
from littled.cli.failures import INTERRUPTED, WRONG_USE, Failure, explained
from littled.cli.options import DaemonChoice, daemon_options, with_options
from littled.cli.output import console, notes, number, print_json
from littled.cli.progress import feeding_progress
from littled_client.blocking import Feeder
from littled_client.errors import ClientError
from littled_client.sources import STANDARD_INPUT, Source, skip_examples
from littled_protocol.errors import ProtocolError


@dataclass(frozen=True, slots=True)
class Manner:
    """How something is fed. producer: None means a name made from the stream's and the file's."""

    producer: str | None
    rate: float | None
    as_json: bool


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
    "--record",
    "recording",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the frames to this new file as well, as they go over the wire.",
)
@daemon_options
def feed(
    stream: str,
    source: SourceChoice,
    manner: Manner,
    recording: Path | None,
    daemon: DaemonChoice,
) -> None:
    """Feed FILE to STREAM: CSV, JSON lines, Parquet or a recording; - is standard input.

    The daemon remembers how far each producer has come. Run the same command again after an
    interruption, or after lines were added to FILE, and it goes on where it stopped: no example is
    learned twice. The producer's name is made from STREAM and the path of FILE; standard input has
    no name, so it needs --producer to be resumed.
    """

    def read(feeder: Feeder, taken: StreamInput) -> Source:
        _check_users(stream, source.names_users(taken), feeder)
        return source.open(taken)

    pour(stream, source.file, read, manner, daemon, recording)


def _check_users(stream: str, read: bool | None, feeder: Feeder) -> None:
    """Failure unless users are read where the stream protects users, and only there.

    What a recording holds, it says itself.
    """
    if read is None or read == feeder.names_users:
        return
    if feeder.names_users:
        raise Failure(f"{stream} protects users; name the column with them: --user COL", WRONG_USE)
    raise Failure(f"{stream} protects single examples; leave --user away", WRONG_USE)


def producer_name(stream: str, file: str) -> str:
    """A name that is the same whenever the same file is fed to the same stream."""
    if file == STANDARD_INPUT:
        return f"stdin-{secrets.token_hex(8)}"
    path = Path(file).resolve()
    identity = f"{stream}\0{path}".encode("utf-8", "surrogateescape")
    digest = hashlib.blake2b(identity, digest_size=8).hexdigest()
    readable = re.sub(r"[^A-Za-z0-9_.-]+", "-", path.name)[:64]
    return f"{readable}-{digest}"


def pour(
    stream: str,
    file: str,
    read: Callable[[Feeder, StreamInput], Source],
    manner: Manner,
    daemon: DaemonChoice,
    recording: Path | None = None,
) -> None:
    """Feed everything, wait for the last acknowledgement and print a summary.

    `read` gives the source once it is known what the stream takes.
    """
    producer = manner.producer or producer_name(stream, file)
    started = time.monotonic()
    with (
        explained(ClientError, ProtocolError),
        daemon.client(producer) as client,
        client.feed(stream, record=recording) as feeder,
    ):
        before = feeder.next_sequence
        taken = StreamInput.from_status(client.status()["streams"][stream])
        source = read(feeder, taken)
        if before:
            notes().print(f"{number(before)} examples were acknowledged before; going on there")
        try:
            _send_all(stream, source, feeder, manner.rate)
        except KeyboardInterrupt:
            again = "" if file == STANDARD_INPUT else "; the same command goes on there"
            done = number(feeder.acknowledged)
            raise Failure(
                f"stopped after {done} acknowledged examples{again}", INTERRUPTED
            ) from None
        acknowledged = feeder.acknowledged
    seconds = time.monotonic() - started
    fed = acknowledged - before
    if manner.as_json:
        print_json(
            {
                "stream": stream,
                "producer": producer,
                "examples": fed,
                "acknowledged": acknowledged,
                "seconds": round(seconds, 3),
            }
        )
        return
    rate = number(round(fed / seconds))
    console().print(f"{stream}: {number(fed)} examples acknowledged in {seconds:.1f} s ({rate}/s)")


def _send_all(stream: str, source: Source, feeder: Feeder, rate: float | None) -> None:
    """Send what the daemon does not have yet, at the rate asked for, and wait for it."""
    before, started = feeder.next_sequence, time.monotonic()
    sent = 0
    with feeding_progress() as progress:
        task = progress.add_task(stream, total=1.0, acknowledged="0", since_start=0)
        for batch in skip_examples(iter(source), before):
            feeder.send(*batch)
            sent += len(batch[1])
            _show(progress, task, feeder.acknowledged, before, source.progress)
            if rate is not None:
                time.sleep(max(0.0, started + sent / rate - time.monotonic()))
        feeder.flush()
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
