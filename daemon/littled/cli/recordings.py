"""`littled record` and `littled replay`: streams as files of the frames that go over the wire.

`record` writes the frames that a feeder would send for a file, without sending them (`feed
--record` does both). `replay` sends a recording's examples to a daemon.
"""

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import click

from littled.cli.columns import SourceChoice, StreamInput, source_options, stream_facts
from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.feeding import Manner, manner_options, pour
from littled.cli.labelling import both_labels
from littled.cli.options import DaemonChoice, daemon_options
from littled.cli.output import console, number
from littled_client.blocking import Feeder
from littled_client.blocks import is_pipe
from littled_client.conversions import Batch
from littled_client.errors import ClientError
from littled_client.recordings import SUFFIX, RecordingReader, RecordingWriter
from littled_client.sources import Source
from littled_protocol.errors import ProtocolError


@click.command()
@click.argument("stream")
@source_options
@click.argument("recording", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--x-type",
    metavar="TYPE",
    help="Type of the points on the wire (u8, u16, u32, u64, u128, u16x4, ...); "
    "else a daemon is asked for that of STREAM.",
)
@daemon_options
def record(
    stream: str, source: SourceChoice, recording: Path, x_type: str | None, daemon: DaemonChoice
) -> None:
    """Write the examples of FILE to RECORDING, a new file, as frames for STREAM.

    A recording needs no column names any more, is checked already, and feeds faster than text. It
    holds private examples: the file is readable by its owner alone. Nothing is fed.
    """
    if recording.suffix != SUFFIX:
        raise Failure(f"name the recording with the suffix {SUFFIX}, for example day{SUFFIX}")
    taken = _input_of(stream, daemon) if x_type is None else StreamInput(x_type)
    kind = taken.x_type
    count = 0
    with explained(ClientError, ProtocolError):
        opened = source.open(taken)
        batches: Iterator[Batch] = iter(opened)
        if not (source.one_label or source.is_recording):
            batches = both_labels(batches, opened)
        # The first batch says whether there are users, which stands at the recording's beginning.
        first = list(islice(batches, 1))
        names_users = any(len(batch) == 3 for batch in first)
        writer = RecordingWriter.offline(recording, stream, kind, names_users=names_users)
        try:
            with writer:
                for batch in chain(first, batches):
                    writer.write_batch(*batch)
                    count += len(batch[1])
        except BaseException:
            recording.unlink()
            raise
    console().print(f"{recording}: {number(count)} examples of {stream}")


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--stream", help="Feed another stream than the recorded one.")
@manner_options
@daemon_options
def replay(file: str, stream: str | None, manner: Manner, daemon: DaemonChoice) -> None:
    """Feed the recording FILE to the stream that it was made for, until all is acknowledged.

    Run it again after an interruption and it goes on where it stopped. Under a name given with
    --producer a recording goes on by the numbers that its examples had when they were recorded.
    """
    if is_pipe(file):
        raise Failure(
            f"{file} is no regular file, and replay reads the beginning twice; name a file, or say "
            f"littled feed STREAM {file} --format recording",
            WRONG_USE,
        )
    with explained(ClientError, ProtocolError), RecordingReader(file) as reader:
        target = stream or reader.stream

    def read(path: str, feeder: Feeder, _: StreamInput, _follow: bool) -> Source:
        return Source(path, feeder.x_type, file_format="recording")

    pour(target, file, read, manner, daemon)


def _input_of(stream: str, daemon: DaemonChoice) -> StreamInput:
    """What a stream takes, from the status of a daemon that has it."""
    with explained(ClientError, ProtocolError), daemon.client() as client:
        return StreamInput.from_status(stream_facts(client, stream, daemon))
