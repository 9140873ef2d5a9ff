"""Six hundred streams in one process: as many threads as for a few, and all of them learn."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from littled.store.store import Store
from littled_client import AsyncClient, Client
from support.predictions import TARGET, stream_plan
from support.serving import Peer, Serving, serving
from support.tasks import TASKS_MAX
from test_systemd import Unit

STREAMS = [f"stream{number}" for number in range(600)]
# Those that are fed, of which the first few are asked as well.
FED, ASKED = STREAMS[::15], STREAMS[:60:15]
EXAMPLES = 300
GIB = 1 << 30


def tasks(process: int) -> int:
    """Threads of a process and of all processes that it started."""
    own = [path.name for path in Path(f"/proc/{process}/task").iterdir()]
    children = " ".join(
        Path(f"/proc/{process}/task/{task}/children").read_text() for task in own
    ).split()
    return len(own) + sum(tasks(int(child)) for child in children)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with 600 streams, each with a learner that publishes and two that answer."""
    plan = stream_plan()
    plans: dict[str, dict[str, Any]] = {
        stream: replace(plan, stream=stream).to_dict() for stream in STREAMS
    }
    Store.create(tmp_path / "store", {}, plans)
    return tmp_path / "store"


def environment() -> dict[str, str]:
    """What the unit sets."""
    name, _, value = Unit("littled.service")["Service"]["Environment"].partition("=")
    return {name: value}


def feed(daemon: Serving) -> Iterator[str]:
    """Feed the chosen streams; yields each as soon as it has published a rule from examples."""
    random = np.random.default_rng(3)
    x = random.integers(0, 64, EXAMPLES).astype(np.uint8)
    y = (x >= TARGET).astype(np.uint8)
    with Peer.greet(daemon.unix) as feeder, Peer.greet(daemon.unix) as subscriber:
        for channel, stream in enumerate(FED):
            feeder.open(stream, "p", channel)
            feeder.feed(0, x.tobytes(), y.tobytes(), channel)
            assert feeder.acknowledged(EXAMPLES)[-1].position == EXAMPLES
            subscriber.subscribe(f"{stream}/late", 1)
        waiting = set(FED)
        while waiting:
            message: Any = subscriber.receive()
            learned = message.learner.partition("/")[0]
            waiting.discard(learned)
            yield learned


async def told_of(daemon: Serving) -> list[str]:
    """The streams of which the other client is told."""
    async with AsyncClient(f"unix:{daemon.unix}") as client:
        return [*(await client.status())["streams"]]


@pytest.mark.long
def test_six_hundred_streams_need_no_more_threads_than_the_unit_allows(store: Path) -> None:
    service = Unit("littled.service")["Service"]
    most = int(service["MemoryMax"].removesuffix("G")) * GIB
    with serving(store, environment=environment()) as daemon:
        seen = [tasks(daemon.process.pid)]
        learned = set()
        for stream in feed(daemon):
            learned.add(stream)
            seen.append(tasks(daemon.process.pid))
        assert learned == set(FED)
        with Client(f"unix:{daemon.unix}") as client:
            for stream in ASKED:
                assert len(client.predict(f"{stream}/near", [1, 60]).labels) == 2
            told = client.status()
            assert [*told["streams"]] == STREAMS, "in pages"
            assert "more" not in told
            assert [*client.status(STREAMS[7])["streams"]] == STREAMS[7:8]
        assert asyncio.run(told_of(daemon)) == STREAMS
        seen.append(tasks(daemon.process.pid))
        assert max(seen) <= TASKS_MAX <= int(service["TasksMax"])
        assert daemon.resident_bytes() < most / 2
        assert daemon.stop() == 0
    with Store.open(store, read_only=True) as opened:
        saved = [opened.snapshot(stream) for stream in FED]
    assert all(saved)
