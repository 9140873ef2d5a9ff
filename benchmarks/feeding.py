"""How many rows a second the daemon takes in as JSON over HTTP, beside its own limits, in one run.

    python -m benchmarks.feeding [--rows 200000] [--batch 5000] [--rounds 3]

Bodies are made before and sent by one program, each on a connection of its own and after the answer
to the one before, to `littled serve` on a new store; every answer comes after a sync. Each line is
one run as a JSON object, in rows a second; a table of medians follows.

- *daemon*: `POST /feed`, of points and of rows of ten columns, as columns, as objects and as lists.
- *bare server*: aiohttp reads the same bodies with `json`, appends them to a file as they came,
  syncs it and answers: no columns are encoded, nothing is learned. A ceiling for such a server.
- *protocol*: the client library sends the same columns over a Unix socket.
- *json*, *orjson*, *msgspec*: reading the bodies alone, in this process; the last two where they
  are installed.
- *encoder*: from what was read to points and labels alone, in this process.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.rows import SIZES, configuration
from benchmarks.service.processes import Server, free_port, loopback
from littled_client import Client, Encoder
from littled_protocol.encodings import TableSchema

_POINTS = """\
[streams.points]
epsilon = 1.0
delta = 1e-6
horizon = 10000000
[streams.points.learners.rule]
class = "thresholds:256"
"""
_BARE = """\
import asyncio, json, os, sys
from aiohttp import web
log = open("bare.log", "ab", buffering=0)
async def feed(request):
    body = await request.read()
    rows = json.loads(body)
    log.write(body)
    await asyncio.to_thread(os.fdatasync, log.fileno())
    return web.json_response({"next_sequence": len(rows)})
application = web.Application(client_max_size=1 << 20)
application.router.add_post("/feed/{stream}", feed)
web.run_app(application, host="127.0.0.1", port=int(sys.argv[1]), print=None)
"""


def table(count: int) -> dict[str, list[Any]]:
    """Rows of ten columns and their labels."""
    random = np.random.default_rng(1)
    columns: dict[str, list[Any]] = {
        f"c{place}": random.integers(0, size, count).tolist() for place, size in enumerate(SIZES)
    }
    return {**columns, "y": random.integers(0, 2, count).tolist()}


def points(count: int) -> dict[str, list[Any]]:
    """Points of a byte and their labels."""
    x = np.random.default_rng(2).integers(0, 256, count)
    return {"x": x.tolist(), "y": (x >= 100).astype(int).tolist()}


def forms(columns: dict[str, list[Any]], batch: int) -> dict[str, list[bytes]]:
    """The bodies of batches in each form."""
    count = len(columns["y"])
    parts = [slice(first, first + batch) for first in range(0, count, batch)]
    cut = [{name: cells[part] for name, cells in columns.items()} for part in parts]
    listed = [list(zip(*one.values(), strict=True)) for one in cut]
    objects = [[dict(zip(columns, row, strict=True)) for row in rows] for rows in listed]
    made: dict[str, list[Any]] = {"columns": cut, "objects": objects, "lists": listed}
    return {form: [json.dumps(one).encode() for one in some] for form, some in made.items()}


def posted(port: int, stream: str, bodies: list[bytes], batch: int, producer: str) -> float:
    """Seconds until the last body was acknowledged."""
    started = time.perf_counter()
    for index, body in enumerate(bodies):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        path = f"/feed/{stream}?producer={producer}&sequence={index * batch}"
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status == 200, text
    return time.perf_counter() - started


def sent(socket: Path, stream: str, columns: dict[str, list[Any]], batch: int, turn: int) -> float:
    """Seconds until all is acknowledged that the client library sends."""
    x = np.array(columns["x"], dtype=np.uint8)
    y = np.array(columns["y"], dtype=np.uint8)
    with (
        Client(f"unix:{socket}") as client,
        client.feed(stream, producer=f"protocol-{turn}") as feeder,
    ):
        started = time.perf_counter()
        for first in range(0, len(y), batch):
            feeder.send(x[first : first + batch], y[first : first + batch])
        feeder.flush()
        return time.perf_counter() - started


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, int, Path]]:
    """The daemon's port and that of the bare server, and the daemon's socket."""
    text = configuration({"table": 'class = "stumps"'}, 10_000_000) + _POINTS
    (folder / "littled.toml").write_text(text)
    command = [sys.executable, "-m", "littled.cli"]
    subprocess.run(
        [*command, "init", "store", "--config", "littled.toml"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    port, other = free_port(), free_port()
    serve = ["serve", "store", "--unix", "s.sock", "--http", f"127.0.0.1:{port}"]
    servers = [
        Server([*command, *serve], folder),
        Server([sys.executable, "-c", _BARE, str(other)], folder),
    ]
    try:
        for server, each in zip(servers, (port, other), strict=True):
            server.connected(lambda each=each: loopback(each)).close()  # type: ignore[misc]
        yield port, other, folder / "s.sock"
    finally:
        for server in servers:
            server.end()


def readers() -> dict[str, Callable[[bytes], Any]]:
    """What reads JSON and is installed."""
    found: dict[str, Callable[[bytes], Any]] = {"json": json.loads}
    if find_spec("orjson"):
        found["orjson"] = import_module("orjson").loads
    if find_spec("msgspec"):
        found["msgspec"] = import_module("msgspec").json.decode
    return found


def here(bodies: dict[str, list[bytes]], schema: TableSchema) -> Iterator[tuple[str, float]]:
    """Seconds of parts of the work in this process."""
    for form, some in bodies.items():
        for name, read in readers().items():
            started = time.perf_counter()
            for body in some:
                read(body)
            yield f"{name}, {form}", time.perf_counter() - started
    tables = [json.loads(body) for body in bodies["columns"]]
    started = time.perf_counter()
    for one in tables:
        Encoder(schema).examples(one)
    yield "encoder, columns", time.perf_counter() - started


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.feeding", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--batch", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args(arguments)
    tables = {"points": points(asked.rows), "table": table(asked.rows)}
    bodies = {stream: forms(columns, asked.batch) for stream, columns in tables.items()}
    rates: dict[str, list[float]] = {}

    def note(what: str, seconds: float) -> None:
        rate = asked.rows / seconds
        rates.setdefault(what, []).append(rate)
        print(json.dumps({"what": what, "rows_per_second": round(rate)}), flush=True)

    with tempfile.TemporaryDirectory() as name, served(Path(name)) as (port, bare, socket):
        with Client(f"unix:{socket}") as client:
            schema = TableSchema.from_dict(client.status()["streams"]["table"]["schema"])
        for turn in range(asked.rounds):
            for stream, some in bodies.items():
                for form, sending in some.items():
                    producer = f"{form}-{turn}"
                    daemon = posted(port, stream, sending, asked.batch, producer)
                    note(f"daemon, {stream}, {form}", daemon)
                    seconds = posted(bare, stream, sending, asked.batch, producer)
                    note(f"bare server, {stream}, {form}", seconds)
            seconds = sent(socket, "points", tables["points"], asked.batch, turn)
            note("protocol, points", seconds)
            for part, seconds in here(bodies["table"], schema):
                note(f"{part}, table", seconds)
    print("\n| what | rows a second |\n| --- | ---: |")
    for what, found in rates.items():
        print(f"| {what} | {median(found):,.0f} |")


if __name__ == "__main__":
    main()
