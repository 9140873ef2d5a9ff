"""`littled feed`: examples from a file or a pipe to a stream, each exactly once."""

import functools
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress, TaskID

from littled.cli.columns import SourceChoice, StreamInput, source_options
from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.labelling import both_labels
from littled.cli.options import DaemonChoice, daemon_options, with_options
from littled.cli.output import console, notes, number, print_json
from littled.cli.progress import feeding_progress
from littled.cli.resuming import Keeper, Resuming, check_held
from littled.cli.stopping import Stopping
from littled_client.blocking import Feeder
from littled_client.blocks import STANDARD_INPUT
from littled_client.conversions import Batch
from littled_client.errors import ClientError, SourceError
from littled_client.sources import Source, skip_examples
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
@daemon_options
def feed(
    stream: str,
    source: SourceChoice,
    manner: Manner,
    only_check: bool,
    recording: Path | None,
    daemon: DaemonChoice,
) -> None:
    """Feed FILE to STREAM: CSV, JSON lines, Parquet or a recording; - is standard input.

    Each example is fed once, however often the command is run: the daemon remembers how far each
    producer has come, and the feeder what it was. Run it again after an interruption, or after
    lines were added to FILE, and it goes on where it stopped; it refuses a FILE that has changed.
    Standard input has no name, so it needs --producer to be resumed.

    Rows of a pipe are sent as they come. SIGINT and SIGTERM send what was read and wait until it is
    acknowledged; the second one stops at once.
    """
    if only_check:
        _check(stream, source, manner, daemon)
        return

    def read(feeder: Feeder, taken: StreamInput) -> Source:
        _check_users(stream, source.names_users(taken), feeder.names_users)
        return source.open(taken)

    pour(stream, source.file, read, manner_of(manner, source), daemon, recording)


def manner_of(manner: Manner, source: SourceChoice) -> Manner:
    """How a file of examples is fed; what a recording holds was looked at when it was made."""
    one_label = source.one_label or source.is_recording
    return Manner(manner.producer, manner.rate, manner.as_json, one_label)


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
        streams = client.status()["streams"]
    if stream not in streams:
        raise Failure(f"the daemon at {daemon.address} has no stream {stream!r}")
    taken = StreamInput.from_status(streams[stream])
    _check_users(stream, choice.names_users(taken), streams[stream].get("unit") == "user")
    source = choice.open(taken)
    refused: list[SourceError] = []
    counts = [0, 0]
    with explained(ClientError), Stopping(source.stop) as stopping:
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
    if 0 in counts and not manner_of(manner, choice).one_label:
        raise Failure("all labels are the same; if that is right, say --one-label")


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
    started = time.monotonic()
    with explained(ClientError, ProtocolError), daemon.client() as client:
        resuming = Resuming(client.instance or "", stream)
        chosen = resuming.choose(file, manner.producer)
        keeper = resuming.keeper(chosen)
        with client.feed(stream, producer=chosen.producer, record=recording) as feeder:
            before = feeder.next_sequence
            taken = StreamInput.from_status(client.status()["streams"][stream])
            source = read(feeder, taken)
            check_held(chosen, before, source.name)
            source.expect(chosen.expected(before))
            if before:
                where = "" if chosen.elsewhere is None else f", from {chosen.elsewhere}"
                notes().print(
                    f"{number(before)} examples were acknowledged before{where}; going on there"
                )
            else:
                keeper.begin()
            with Stopping(source.stop) as stopping:
                _send_all(stream, source, feeder, manner, keeper, stopping)
            acknowledged = feeder.acknowledged
    if stopping.status is not None:
        again = "" if file == STANDARD_INPUT else "; the same command goes on there"
        raise Failure(f"stopped after {number(acknowledged)} acknowledged examples{again}",
                      stopping.status)  # fmt: skip
    seconds = time.monotonic() - started
    fed = acknowledged - before
    if manner.as_json:
        print_json(
            {
                "stream": stream,
                "producer": chosen.producer,
                "examples": fed,
                "acknowledged": acknowledged,
                "seconds": round(seconds, 3),
            }
        )
        return
    rate = number(round(fed / seconds))
    console().print(f"{stream}: {number(fed)} examples acknowledged in {seconds:.1f} s ({rate}/s)")


def _send_all(
    stream: str,
    source: Source,
    feeder: Feeder,
    manner: Manner,
    keeper: Keeper,
    stopping: Stopping,
) -> None:
    """Send what the daemon does not have yet, at the rate asked for, and wait for it."""
    before, started = feeder.next_sequence, time.monotonic()
    sent = 0
    try:
        with feeding_progress() as progress:
            task = progress.add_task(stream, total=1.0, acknowledged="0", since_start=0)
            batches: Iterator[Batch] = skip_examples(iter(source), before)
            if not (manner.one_label or before):
                batches = both_labels(batches, source)
            for batch in batches:
                keeper.read(source.mark(), feeder.acknowledged)
                feeder.send(*batch)
                sent += len(batch[1])
                if source.waiting:
                    # Nothing else is to do, and a connection that was lost is noticed now.
                    feeder.flush()
                _show(progress, task, feeder.acknowledged, before, source.progress)
                if manner.rate is not None:
                    stopping.pause(started + sent / manner.rate - time.monotonic())
            if stopping.status is not None and sys.stderr.isatty():
                progress.print("stopping when all is acknowledged; once more to stop at once")
            feeder.flush()
            _show(progress, task, feeder.acknowledged, before, 1.0)
    finally:
        keeper.end(feeder.acknowledged)


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
