"""The way to an acknowledgement is the same for every label: counted, and timed.

Whether an example brings a learner nearer to its threshold depends on its label. What a peer can
see of the daemon's work up to the acknowledgement must not.
"""

import asyncio
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from littled.service import intake as intake_module
from littled.service.channels import Channel, ExampleSchema
from littled.service.intake import Intake
from littled.service.writer import Writer
from littled.store.records import Record
from littled.store.store import Store
from littled_protocol.columns import point_type
from littled_protocol.errors import ErrorCode
from littled_protocol.messages import Ack, Examples, Message
from support.serving import Peer, Serving, serving

EXAMPLES = 40
# Where calls are counted.
ROOMS = ("/littled/service/", "/littled/store/", "/littled_protocol/")
# Of the campaign: round trips, and the greatest distance between the two empirical laws of their
# waits that chance exceeds once in a thousand runs (Smirnov: sqrt(-ln(0.0005) / 2) = 1.95).
ROUND_TRIPS = 6_000
DISTANCE = 1.95


class Counting:
    """A session that only keeps what is sent to it, and what was called on the way."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.sent: list[tuple[Message, int]] = []
        self.learned: list[Record] = []
        self.calls: Counter[str] = Counter()

    def send(self, message: Message) -> None:
        """Keep a message, with how many records had been learned before it."""
        self.sent.append((message, len(self.learned)))

    def fail(self, code: ErrorCode, channel: int | None = None) -> None:
        """Fail the test."""
        pytest.fail(f"{code} on channel {channel}")

    def hold(self, reason: object) -> None:
        """Nobody is held in these tests."""

    def release(self, reason: object) -> None:
        """Nobody is held in these tests."""

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        """Count a call in the rooms of the service, of the store and of the protocol."""
        file = frame.f_code.co_filename
        if any(room in file for room in ROOMS) and "call" in event:
            called = getattr(argument, "__qualname__", frame.f_code.co_qualname)
            self.calls[f"{event} {called} {Path(file).name}:{frame.f_lineno}"] += 1


async def work_for(store: Store, producer: str, labels: bytes) -> Counting:
    """Everything that is called until each of these examples is acknowledged, one by one."""
    loop, seen = asyncio.get_running_loop(), Counting()
    writer = Writer(lambda error: pytest.fail(str(error)))
    intake = Intake(store, writer, loop, lambda: None)
    intake.add_stream("flights", store.position("flights"), seen.learned.append)
    channel = Channel(seen, intake, ExampleSchema(point_type("u8"), lambda _: True), 0)
    queue = await intake.attach("flights", producer, channel)
    channel.open(queue)
    await writer.ask(lambda: None)
    await asyncio.sleep(0.05)  # the writer rests
    for number, label in enumerate(labels):
        sys.setprofile(seen.note)
        try:
            channel.take(Examples(0, number, 1, b"a", bytes([label])))
            channel.flush()
            await asyncio.wait_for(intake.drain(), 10)
        finally:
            sys.setprofile(None)
    await asyncio.to_thread(writer.close)
    return seen


async def test_every_label_takes_the_same_way_to_its_acknowledgement(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "QUICK_COMMIT_SECONDS", 60)  # however busy the machine is
    monkeypatch.setattr("littled.store.sqlite.STORE_PLACE_SECONDS", 600)
    noise = random.Random(7).choices([0, 1], k=EXAMPLES)
    seen = []
    for name, labels in (("a", [0] * EXAMPLES), ("b", [1] * EXAMPLES), ("c", noise)):
        # each has a store of its own, as what a store does next depends on how much it has
        with Store.open(shutil.copytree(store, tmp_path / name)) as opened:
            seen.append(await work_for(opened, "tower", bytes(labels)))
    zeros, ones, mixed = seen
    assert sum(zeros.calls.values()) > 20 * EXAMPLES  # there is something to compare
    assert zeros.calls == ones.calls == mixed.calls
    for each in seen:
        acks = [message for message, _ in each.sent]
        assert all(isinstance(message, Ack) for message in acks)
        # Each leaves before its example is learned.
        assert [learned for _, learned in each.sent] == list(range(EXAMPLES))


@pytest.fixture
def daemon(store: Path) -> Iterator[Serving]:
    """A daemon with real learners."""
    with serving(store) as running:
        yield running
        assert running.stop() == 0


def distance(left: list[float], right: list[float]) -> float:
    """How far two empirical laws are apart, in units of what chance makes of equal ones."""
    both = np.sort(np.concatenate([left, right]))
    first, second = (
        np.searchsorted(np.sort(each), both, side="right") / len(each) for each in (left, right)
    )
    scale = np.sqrt(len(left) * len(right) / len(both))
    return float(scale * np.abs(first - second).max())


def test_laws_that_differ_are_far_apart() -> None:
    chance = np.random.default_rng(3)
    waits = chance.exponential(1.0, (3, 3_000))
    assert distance(list(waits[0]), list(waits[1])) < DISTANCE
    assert distance(list(waits[0]), list(1.15 * waits[2])) > DISTANCE


@pytest.mark.campaign
@pytest.mark.timeout(300)
def test_waits_follow_one_law_whatever_the_label_is(daemon: Serving) -> None:
    """Of the example itself, and of the one before, which is being learned meanwhile."""
    labels = random.Random(11).choices([0, 1], k=ROUND_TRIPS)
    waits: dict[tuple[str, int], list[float]] = {}
    with Peer.greet(daemon.unix) as peer:
        peer.open("flights", "timed")
        for number, label in enumerate(labels):
            begun = time.perf_counter()
            peer.feed(number, b"\xc8", bytes([label]))
            peer.acknowledged(number + 1)
            taken = time.perf_counter() - begun
            waits.setdefault(("this", label), []).append(taken)
            waits.setdefault(("before", labels[number - 1]), []).append(taken)
    for which in ("this", "before"):
        assert distance(waits[which, 0], waits[which, 1]) < DISTANCE
