"""Both clients against the real daemon, which is killed while they feed and follow."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from littled_client import AsyncClient, Client, Waits

pytestmark = pytest.mark.long

CONFIGURATION = """\
[streams.flights]
epsilon = 1.0
delta = 1e-6
horizon = 1000000

[streams.flights.learners.late]
class = "thresholds:256"
noise_rate = 0
"""
WAITS = Waits(connect_seconds=30.0, delay_most_seconds=0.2)
COUNT = 30_000
KILLS = 2


def littled(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start the program in a folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "littled.cli", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@contextmanager
def serving(folder: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """A daemon on `d.sock`; the list's last process is the present one."""
    (folder / "littled.toml").write_text(CONFIGURATION)
    assert littled(folder, "init", "store", "--config", "littled.toml").wait(60) == 0
    daemons = [littled(folder, "serve", "store", "--unix", "d.sock")]
    try:
        yield daemons
    finally:
        daemons[-1].terminate()
        daemons[-1].wait(30)


def test_killing_the_daemon_loses_and_repeats_nothing(tmp_path: Path) -> None:
    x = (np.arange(COUNT) * 97 % 256).astype(np.uint8)
    y = (x >= 84).astype(np.uint8)
    address = f"unix:{tmp_path / 'd.sock'}"
    fed = threading.Barrier(2)

    async def feed_and_kill(daemons: list[subprocess.Popen[bytes]]) -> None:
        async with (
            AsyncClient(address, waits=WAITS) as client,
            client.feed("flights", producer="asynchronous") as feeder,
        ):
            await asyncio.to_thread(fed.wait, 60)
            for i in range(COUNT):
                await feeder.send_one(x[i], y[i])
                if i % (COUNT // KILLS) == COUNT // KILLS // 2:
                    daemons[-1].kill()
                    daemons[-1].wait(30)
                    daemons.append(littled(tmp_path, "serve", "store", "--unix", "d.sock"))

    def feed_in_batches() -> None:
        with (
            Client(address, waits=WAITS) as client,
            client.feed("flights", producer="blocking") as feeder,
        ):
            fed.wait(60)
            for start in range(0, COUNT, 100):
                feeder.send(x[start : start + 100], y[start : start + 100])
                feeder.flush()

    with serving(tmp_path) as daemons:
        other = threading.Thread(target=feed_in_batches)
        other.start()
        asyncio.run(feed_and_kill(daemons))
        other.join(60)
        with Client(address, waits=WAITS) as client:
            assert client.status()["streams"]["flights"]["position"] == 2 * COUNT
            for producer in ("asynchronous", "blocking"):
                with client.feed("flights", producer=producer) as feeder:
                    assert feeder.next_sequence == COUNT
            found = list(client.subscribe("flights/late", wait_seconds=1.0))
            assert [each.version for each in found] == list(range(1, len(found) + 1))
            assert client.latest("flights/late") == found[-1]
            assert found[-1].predict([0, 255]).tolist() == [0, 1]
    assert len(daemons) == KILLS + 1
