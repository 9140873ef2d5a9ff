"""What a high-water mark costs, in a file and in etcd, beside a bare compare-and-swap.

    python -m benchmarks.registers [--etcd URL] [--writes 500]

A mark is replaced at every charge, release and answer (`littled.store.register`). Here marks of 1
and of 1,000 streams are replaced in turns in a file and, with --etcd, in etcd, each time for one
stream that has gone on. Between them comes a bare compare-and-swap: one key of the same size, one
comparison, one put, over the same connection. Each line is one JSON object with median times in
milliseconds and the ratio of etcd's mark to the bare one. URL names a place that no store uses, as
--mark of `littled init` does; what is written there is deleted at the end.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from littled.budget.price import Price
from littled.store.etcd import Etcd, encoded
from littled.store.etcd_place import MarkInEtcd
from littled.store.etcd_register import EtcdRegister
from littled.store.mark import HighWaterMark, Numbers, Point, StreamMark, no_predictions
from littled.store.records import ledger_genesis
from littled.store.register import FileRegister, Register, Revision
from littled.store.registers import silent
from littled.store.sealing import Seal
from littled.store.witness import Witness

GENESIS = bytes(32)
STREAMS = (1, 1000)


def stream_mark(number: int) -> StreamMark:
    """A stream after so many charges, with eight producers."""
    return StreamMark(
        genesis=GENESIS,
        journal=Point(number, number.to_bytes(32)),
        position=1000 * number,
        ledger=Point(number, ledger_genesis(GENESIS)),
        season=0,
        spent=Price.zero(),
        predictions=no_predictions(GENESIS),
        numbers=Numbers({f"producer-{each}": 1000 * number for each in range(8)}, 0),
    )


def first_mark(streams: int) -> HighWaterMark:
    """A mark of so many streams, each with a learner that has published."""
    names = [f"stream-{number:04}" for number in range(streams)]
    return HighWaterMark(
        "benchmark",
        {name: stream_mark(0) for name in names},
        {f"{name}/late": Point(1, bytes(32)) for name in names},
    )


class Writer:
    """Replaces one mark again and again, one stream at a time."""

    def __init__(self, register: Register, mark: HighWaterMark) -> None:
        """Put the first mark, and own it."""
        self._register = register
        self._mark = mark
        self._revision: Revision = register.claim(mark, register.create(mark))
        self._names = list(mark.streams)

    def write(self, turn: int) -> None:
        """Let one stream go on."""
        name = self._names[turn % len(self._names)]
        streams = {**self._mark.streams, name: stream_mark(turn + 1)}
        self._mark = replace(self._mark, streams=streams)
        self._revision = self._register.replace(self._mark, self._revision)


class Bare:
    """A compare-and-swap of one key, and nothing else."""

    def __init__(self, etcd: Etcd, key: str, size: int) -> None:
        """The key begins anew."""
        self._etcd, self._key, self._size = etcd, encoded(key), size
        etcd.ask("/v3/kv/deleterange", {"key": self._key})
        self._revision = 0

    def write(self, turn: int) -> None:
        """Replace the key's value."""
        value = encoded(turn.to_bytes(8) * (self._size // 8))
        answer = self._etcd.ask(
            "/v3/kv/txn",
            {
                "compare": [
                    {"key": self._key, "target": "MOD", "mod_revision": str(self._revision)}
                ],
                "success": [{"request_put": {"key": self._key, "value": value}}],
            },
        )
        assert answer["succeeded"]
        self._revision = int(answer["header"]["revision"])


def times(writes: int, writers: Mapping[str, Callable[[int], None]]) -> dict[str, float]:
    """Median milliseconds of each, taken in turns."""
    found: dict[str, list[float]] = {name: [] for name in writers}
    for turn in range(writes):
        for name, write in writers.items():
            begun = time.perf_counter()
            write(turn)
            found[name].append(time.perf_counter() - begun)
    return {name: round(1000 * median(taken), 3) for name, taken in found.items()}


def measured(folder: Path, streams: int, writes: int, url: str | None) -> dict[str, Any]:
    """One line."""
    mark = first_mark(streams)
    writers = {"file_ms": Writer(FileRegister(folder / "mark"), mark).write}
    if url is None:
        return {"streams": streams, "writes": writes, **times(writes, writers)}
    place = MarkInEtcd.parse(f"{url}-{streams}")
    register = EtcdRegister(place, Seal(bytes(32)), Witness(folder / "mark-seen"), silent)
    with closing(register), closing(Etcd(place, silent)) as etcd:
        size = len(stream_mark(1).to_text())
        bare = Bare(etcd, f"{place.prefix}-bare", size)
        try:
            writers |= {"etcd_ms": Writer(register, mark).write, "bare_ms": bare.write}
            found = times(writes, writers)
        finally:
            keys = (
                {"key": encoded(f"{place.prefix}-bare")},
                {
                    "key": encoded(f"{place.prefix}/"),
                    "range_end": encoded(f"{place.prefix}0"),
                },
            )
            for each in keys:
                etcd.ask("/v3/kv/deleterange", each)
    ratio = round(found["etcd_ms"] / found["bare_ms"], 2)
    return {"streams": streams, "writes": writes, "bytes": size, **found, "etcd_to_bare": ratio}


def main() -> None:
    """Parse the command line and run."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.registers", description=about)
    parser.add_argument("--etcd", metavar="URL", help="etcd://HOST:PORT,HOST:PORT/PREFIX")
    parser.add_argument("--writes", type=int, default=500, help="of each kind")
    given = parser.parse_args()
    for streams in STREAMS:
        with tempfile.TemporaryDirectory() as name:
            print(json.dumps(measured(Path(name), streams, given.writes, given.etcd)), flush=True)


if __name__ == "__main__":
    main()
