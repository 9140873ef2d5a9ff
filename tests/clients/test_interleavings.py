"""Both clients feed the real daemon, through a relay that cuts connections inside frames.

Whatever the order of batches, single examples, flushes, pauses and losses: the journal holds each
example once, in the order of the calls, with its own label and its own user.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from littled.store.store import Store
from littled_client.errors import ExampleError
from littled_client.waits import Waits
from support.feeding import KINDS, client_of
from support.relay import Relay, relaying

pytestmark = pytest.mark.long

CONFIGURATION = """\
[streams.examples]
epsilon = 1.0
delta = 1e-6
horizon = 1000000
learners.rule.class = "thresholds:65536"
learners.rule.noise_rate = 0

[streams.users]
epsilon = 1.0
delta = 1e-6
horizon = 1000000
unit = "user"
learners.rule.class = "thresholds:65536"
learners.rule.noise_rate = 0
"""
WAITS = Waits(connect_seconds=30.0, delay_least_seconds=0.01, delay_most_seconds=0.05)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("one"), st.integers(1, 1500)),
        st.tuples(st.just("single"), st.integers(1, 30)),
        st.tuples(st.just("batch"), st.integers(2, 5000)),
        st.tuples(st.just("flush"), st.just(0)),
        st.tuples(st.just("pause"), st.sampled_from([0, 1, 3])),
        st.tuples(st.just("lose"), st.sampled_from([0, 1, 40, 100, 3000])),
        st.tuples(st.just("wrong"), st.just(0)),
    ),
    min_size=1,
    max_size=12,
)


@dataclass
class Place:
    """A daemon, the relay before it, and how far its journal was read."""

    folder: Path
    relay: Relay
    read: dict[str, int] = field(default_factory=lambda: {"examples": -1, "users": -1})
    producers: Iterator[int] = field(default_factory=count)
    keyed: dict[int, bytes] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"unix:{self.folder / 'relay'}"

    def new_examples(self, stream: str, producer: str) -> tuple[list[int], bytes, bytes]:
        """What the journal holds of a producer since the last time: points, labels, users."""
        x, y, users = b"", b"", b""
        with Store.open(self.folder / "store", read_only=True) as store:
            for record in store.records(stream, self.read[stream]):
                self.read[stream] = record.number
                if record.producer == producer:
                    x, y, users = x + record.x, y + record.y, users + record.users
        return np.frombuffer(x, "<u2").tolist(), y, users


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One daemon for all tests."""
    folder = tmp_path_factory.mktemp("d")
    (folder / "littled.toml").write_text(CONFIGURATION)
    littled = [sys.executable, "-m", "littled.cli"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [*littled, "init", "store", "--config", "littled.toml"]
    subprocess.run(command, cwd=folder, check=True, **quiet)
    command = [*littled, "serve", "store", "--unix", "socket"]
    serving = subprocess.Popen(command, cwd=folder, **quiet)
    try:
        with relaying(folder / "relay", folder / "socket") as relay:
            yield Place(folder, relay)
    finally:
        serving.terminate()
        serving.wait(30)


async def walk(kind: str, place: Place, stream: str, producer: str, steps: Any) -> int:
    """Take the steps with examples 0, 1, 2, ...; returns how many there were."""
    fed = 0
    async with (
        client_of(kind, place.address, waits=WAITS) as client,
        client.feed(stream, producer=producer) as feeder,
    ):

        def taken(size: int) -> tuple[list[int], list[int], list[int] | None]:
            nonlocal fed
            numbers = list(range(fed, fed + size))
            fed += size
            return numbers, labels_of(numbers), users_of(numbers) if stream == "users" else None

        for step, amount in steps:
            if step == "one":
                for point, label, user in zip(*named(*taken(amount)), strict=True):
                    await feeder.send_one(point, label, user)
            elif step == "single":
                for point, label, user in zip(*named(*taken(amount)), strict=True):
                    await feeder.send([point], [label], None if user is None else [user])
            elif step == "batch":
                await feeder.send(*taken(amount))
            elif step == "flush":
                await feeder.flush()
            elif step == "pause":
                await asyncio.sleep(amount / 1000)
            elif step == "lose":
                place.relay.lose(amount)
            else:
                with pytest.raises(ExampleError):
                    await feeder.send_one(65536, 1, 1 if stream == "users" else None)
            assert feeder.next_sequence == fed
        place.relay.lose(0)
    assert feeder.acknowledged == fed
    return fed


def labels_of(numbers: list[int]) -> list[int]:
    return [number * 7919 >> 4 & 1 for number in numbers]


def users_of(numbers: list[int]) -> list[int]:
    return [number % 13 for number in numbers]


def named(x: list[int], y: list[int], users: list[int] | None) -> tuple[list[Any], ...]:
    return x, y, [None] * len(x) if users is None else users


@pytest.mark.parametrize("stream", ["examples", "users"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_example_is_in_the_journal_once_and_in_order(
    kind: str, stream: str, place: Place
) -> None:
    checks = [HealthCheck.too_slow]

    @settings(max_examples=25, deadline=None, suppress_health_check=checks, derandomize=True)
    @given(STEPS)
    def check(steps: Any) -> None:
        producer = f"producer-{next(place.producers)}"
        fed = asyncio.run(walk(kind, place, stream, producer, steps))
        x, y, users = place.new_examples(stream, producer)
        numbers = list(range(fed))
        assert x == numbers
        assert list(y) == labels_of(numbers)
        if stream == "users":
            for i, user in enumerate(users_of(numbers)):
                digest = users[16 * i : 16 * i + 16]
                assert place.keyed.setdefault(user, digest) == digest
            assert len(set(place.keyed.values())) == len(place.keyed)

    check()
