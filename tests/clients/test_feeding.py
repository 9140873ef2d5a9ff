"""What a feeder promises, of both clients, against a small daemon over real sockets."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BufferedWriter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from littled_client.blocking import Client
from littled_client.errors import (
    ClientError,
    ExampleError,
    RecordingError,
    SourceError,
    UnreachableError,
)
from littled_client.joining import JOINED_EXAMPLES_MAX
from littled_client.recordings import RecordingReader
from littled_client.sources import Fields, Source
from littled_client.users import hash_users
from littled_client.waits import Waits
from littled_protocol import limits
from littled_protocol.columns import encode_users, point_type
from littled_protocol.errors import ErrorCode, RemoteProtocolError
from littled_protocol.messages import Error
from support.batches import pair
from support.feeding import KINDS, beside, client_of, until, until_it_fails
from support.small_daemon import SmallDaemon, changed

QUICK = Waits(reconnect_seconds=5.0, delay_least_seconds=0.01, delay_most_seconds=0.05)
IMPATIENT = Waits(reconnect_seconds=0.2, delay_least_seconds=0.01, delay_most_seconds=0.05)
POINTS = {"flights": 7, "ids": 2**64 - 2, "addresses": 2**127 + 5, "rows": [1, 2, 65535]}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Which client it is."""
    return str(request.param)


def numbers(count: int) -> tuple[list[int], list[int]]:
    return [i % 256 for i in range(count)], [i % 2 for i in range(count)]


def frames(daemon: SmallDaemon) -> list[int]:
    """The sizes of the frames that came, in their order."""
    return [len(labels) for _, labels in daemon.received["flights"]]


# --- Batches ------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", ["flights", "ids", "addresses", "rows"])
async def test_batches_of_every_type_arrive_in_order(
    kind: str, daemon: SmallDaemon, address: str, stream: str
) -> None:
    points = point_type(daemon.streams[stream])
    shape = (150_000,) if points.columns == 1 else (150_000, points.columns)
    x = (np.arange(np.prod(shape)) % 251).reshape(shape).astype(points.dtype)
    y = (np.arange(150_000) % 3 == 0).astype(np.uint8)
    async with client_of(kind, address) as client, client.feed(stream) as feeder:
        assert feeder.x_type == points.name
        for part in (slice(0, 1), slice(1, 1), slice(1, 70_000), slice(70_000, None)):
            await feeder.send(x[part], y[part])
        assert feeder.next_sequence == 150_000
        await feeder.flush()
        assert feeder.acknowledged == feeder.position == 150_000
    received = daemon.received[stream]
    assert np.array_equal(np.concatenate([part for part, _ in received]), x)
    assert np.array_equal(np.concatenate([part for _, part in received]), y)


async def test_a_producer_goes_on_where_it_stopped(
    kind: str, daemon: SmallDaemon, address: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    x, y = numbers(1000)
    path.write_text("x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, y, strict=True)))
    source = Source(path, "u8", Fields("x", "y"), batch_examples=64)
    async with client_of(kind, address, producer="file-1") as client:
        async with client.feed("flights") as feeder:
            await feeder.send(x[:333], y[:333])
        async with client.feed("flights") as feeder:
            assert feeder.next_sequence == feeder.acknowledged == 333
            assert await feeder.send_rest(source) == 667
            assert await feeder.send_rest(source) == 0
        async with client.feed("flights", producer="file-2") as feeder:
            assert feeder.next_sequence == 0
        with pytest.raises(SourceError, match="fewer than the 1001"):  # noqa: PT012 - leaving raises
            async with client.feed("flights") as feeder:
                await feeder.send_one(1, 1)
                await feeder.send_rest(source)
    # What was sent before the exception is not taken back.
    await until(lambda: daemon.position["flights"] == 1001)
    assert daemon.examples("flights") == ([*x, 1], [*y, 1])


async def test_what_was_fed_can_be_recorded(
    kind: str, daemon: SmallDaemon, address: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.littled"
    changed(daemon, drop_after_frames=3, drops=2)
    x, y = numbers(1000)
    async with client_of(kind, address, waits=QUICK) as client:
        async with client.feed("flights", record=path) as feeder:
            for start in range(0, 900, 100):
                await feeder.send(x[start : start + 100], y[start : start + 100])
            for i in range(900, 1000):
                await feeder.send_one(x[i], y[i])
        with RecordingReader(path) as recording:
            assert recording.stream == "flights"
            assert recording.welcome.instance == "store-1"
            found = list(map(pair, recording.batches()))
        assert [len(part) for part, _ in found][:9] == [100] * 9
        assert [p for part, _ in found for p in part.tolist()] == x
        with pytest.raises(RecordingError, match="exists already"):
            async with client.feed("flights", record=path):
                pass
        async with client.feed("flights") as feeder:
            assert await feeder.send_rest(Source(path)) == 1000
    assert daemon.examples("flights") == (x + x, y + y)


async def test_a_recording_that_cannot_be_written_ends_the_feeding(
    kind: str, daemon: SmallDaemon, address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Full(BufferedWriter):
        def write(self, _: object) -> int:
            raise OSError(28, "No space left on device")

    async with client_of(kind, address, waits=QUICK) as client:
        feeder = client.feed("flights", record=tmp_path / "a.littled")
        with pytest.raises(RecordingError, match="No space left"):  # noqa: PT012 - leaving raises
            async with feeder:
                await feeder.send([1, 2], [0, 1])
                await feeder.flush()
                file = feeder._recorder._file
                monkeypatch.setattr(feeder._recorder, "_file", Full(file.detach()))
                with pytest.raises(RecordingError, match=r"cannot write .*: No space left"):
                    await until_it_fails(lambda: one_and_flush(feeder))
                await feeder.send_one(3, 1)
    assert daemon.examples("flights") == ([1, 2], [0, 1])


async def one_and_flush(feeder: Any) -> None:
    await feeder.send_one(3, 1)
    await feeder.flush()


# --- Single examples ----------------------------------------------------------------------------


async def test_a_single_example_leaves_at_once(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    async with client_of(kind, address) as client, client.feed("flights") as feeder:
        await feeder.send_one(7, 1)
        await until(lambda: frames(daemon) == [1])
        await feeder.flush()
        await feeder.send([8], [0])
        await until(lambda: frames(daemon) == [1, 1])
    assert daemon.examples("flights") == ([7, 8], [1, 0])


async def test_single_examples_travel_together(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    x, y = numbers(20_000)
    async with client_of(kind, address) as client, client.feed("flights") as feeder:
        for point, label in zip(x, y, strict=True):
            await feeder.send_one(point, label)
        assert feeder.next_sequence == 20_000
        assert feeder.acknowledged > 0, "acknowledgements are read while sending"
    assert daemon.examples("flights") == (x, y)
    assert len(frames(daemon)) < 2_000
    assert max(frames(daemon)) <= JOINED_EXAMPLES_MAX


async def test_the_tail_of_a_burst_leaves_without_another_call(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    """Nothing is acknowledged, so that all but the first have to wait for one another."""
    changed(daemon, hold_acks=True)
    async with client_of(kind, address) as client, client.feed("flights") as feeder:
        for burst in range(1, 4):
            for i in range(40):
                await feeder.send_one(i, 1)
            await until(partial(lambda end: daemon.position["flights"] == end, 40 * burst))
        assert feeder.acknowledged == 0
        assert len(frames(daemon)) < 100
        daemon.release_acks()


@pytest.mark.parametrize("stream", sorted(POINTS))
@pytest.mark.parametrize("named", [False, True])
async def test_every_spelling_of_one_example_keeps_the_order(
    kind: str, daemon: SmallDaemon, address: str, stream: str, named: bool
) -> None:
    if named:
        daemon.of_users.add(stream)
    points, point = point_type(daemon.streams[stream]), POINTS[stream]
    wide = [[2**63, 5]] if stream == "addresses" else [point]
    array = np.array(wide, dtype=points.dtype)
    users: list[Any] = []

    def user() -> Any:
        users.append(f"user {len(users) % 3}" if len(users) % 2 else len(users))
        return users[-1] if named else None

    def column(count: int) -> list[Any] | None:
        found = [user() for _ in range(count)]
        return found if named else None

    async with client_of(kind, address) as client, client.feed(stream) as feeder:
        for i in range(12):
            await feeder.send_one(point, i % 2, user())
            await feeder.send([point], [i % 2 == 1], column(1))
            await feeder.send(array, np.array([i % 2], dtype=np.uint8), column(1))
            await feeder.send([point] * 3, [0, 1, i % 2], column(3))
            await feeder.send((point,), (1,), column(1))
    x = np.concatenate([part for part, _ in daemon.received[stream]])
    y = np.concatenate([part for _, part in daemon.received[stream]])
    assert x.tolist() == array.tolist() * 84
    assert y.tolist() == [label for i in range(12) for label in (*[i % 2] * 3, 0, 1, i % 2, 1)]
    assert b"".join(daemon.users) == (encode_users(hash_users(users)) if named else b"")


async def test_an_example_waits_behind_a_batch_that_is_under_way(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    changed(daemon, hold_acks=True)
    async with client_of(kind, address) as client, client.feed("flights") as feeder:
        await feeder.send([1, 2], [0, 1])
        await feeder.send_one(3, 1)
        await feeder.send([4, 5], [0, 1])
        await feeder.send_one(6, 1)
        await until(lambda: daemon.position["flights"] == 6)
        assert daemon.examples("flights")[0] == [1, 2, 3, 4, 5, 6]
        daemon.release_acks()


async def test_bad_examples_send_nothing_and_spoil_nothing(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    good = 0
    async with client_of(kind, address) as client, client.feed("flights") as feeder:
        for _ in range(50):
            for x, y in (([1, 256], [0, 0]), ([1], [2]), ([1, 2], [1]), ([256], [0]), ([1.0], [1])):
                with pytest.raises(ExampleError):
                    await feeder.send(x, y)
            for point, label in ((256, 0), (1, 2), (None, 1), (1, None), (1, [1]), ("1", 0)):
                await feeder.send_one(good % 256, good % 2)
                good += 1
                with pytest.raises(ExampleError):
                    await feeder.send_one(point, label)
        assert feeder.next_sequence == good
    assert daemon.examples("flights") == numbers(good)


async def test_leaving_by_an_exception_does_not_wait(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    changed(daemon, hold_acks=True)
    async with client_of(kind, address) as client:
        feeder = client.feed("flights")
        with pytest.raises(KeyError):  # noqa: PT012 - leaving raises
            async with feeder:
                for i in range(10):
                    await feeder.send_one(i, 1)
                raise KeyError
        with pytest.raises(ClientError, match="closed"):
            await feeder.send([1], [1])
        # What the daemon takes without any waiting is not taken back.
        await until(lambda: daemon.position["flights"] == 10)


async def test_users_travel_as_digests_and_survive_lost_connections(
    kind: str, daemon: SmallDaemon, address: str, tmp_path: Path
) -> None:
    daemon.of_users.add("flights")
    changed(daemon, drop_after_frames=3, drops=2)
    path = tmp_path / "a.littled"
    x, y = numbers(1000)
    users = [f"user {i % 70}" for i in range(1000)]
    async with client_of(kind, address, waits=QUICK) as client:
        async with client.feed("flights", record=path) as feeder:
            assert feeder.names_users
            with pytest.raises(ExampleError, match="protects users"):
                await feeder.send(x, y)
            with pytest.raises(ExampleError, match="protects users"):
                await feeder.send_one(1, 1)
            with pytest.raises(ExampleError, match="needs a name"):
                await feeder.send_one(1, 1, 1.5)
            for start in range(0, 900, 90):
                part = slice(start, start + 90)
                await feeder.send(x[part], y[part], users[part])
            for i in range(900, 1000):
                await feeder.send_one(x[i], y[i], users[i])
        assert daemon.examples("flights") == (x, y)
        assert b"".join(daemon.users) == encode_users(hash_users(users))
        async with client.feed("flights") as feeder:
            assert await feeder.send_rest(Source(path)) == 1000
    assert b"".join(daemon.users) == 2 * encode_users(hash_users(users))


async def test_a_stream_of_examples_takes_no_users(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    async with client_of(kind, address) as client, client.feed("flights") as feeder:
        assert not feeder.names_users
        uses: list[Callable[[], Awaitable[None]]] = [
            lambda: feeder.send([1, 2], [0, 1], ["ann", "bob"]),
            lambda: feeder.send([1], [0], ["ann"]),
            lambda: feeder.send_one(1, 0, "ann"),
        ]
        for use in uses:
            with pytest.raises(ExampleError, match="takes no users"):
                await use()
    assert daemon.examples("flights") == ([], [])


# --- Bad days -----------------------------------------------------------------------------------


@pytest.mark.parametrize("forget", [True, False])
@pytest.mark.parametrize("single", [True, False])
async def test_lost_connections_lose_and_repeat_nothing(
    kind: str, daemon: SmallDaemon, address: str, forget: bool, single: bool
) -> None:
    changed(daemon, drop_after_frames=4, drops=10, forget=forget)
    x, y = numbers(3000)
    async with client_of(kind, address, waits=QUICK) as client, client.feed("flights") as feeder:
        for start in range(0, 3000, 10):
            if single:
                for i in range(start, start + 10):
                    await feeder.send_one(x[i], y[i])
            else:
                await feeder.send(x[start : start + 10], y[start : start + 10])
            if start % 60 == 0:
                await feeder.flush()
    assert daemon.examples("flights") == (x, y)
    assert daemon.behaviour.drops == 0
    assert daemon.greetings >= 11


async def test_a_connection_lost_while_the_tail_waits_comes_back_with_the_next_call(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    changed(daemon, hold_acks=True)
    async with client_of(kind, address, waits=QUICK) as client, client.feed("flights") as feeder:
        for i in range(5):
            await feeder.send_one(i, 1)
        daemon.drop()
        for i in range(5, 10):
            await feeder.send_one(i, 1)
        await asyncio.sleep(0.02)
        changed(daemon, hold_acks=False)
        await feeder.send_one(10, 1)
        await feeder.flush()
        assert feeder.acknowledged == 11
    assert daemon.examples("flights")[0] == list(range(11))


async def test_a_refusal_of_the_tail_reaches_the_next_call(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    changed(daemon, hold_acks=True)
    async with client_of(kind, address, waits=QUICK) as client:
        feeder = client.feed("flights")
        with pytest.raises(RemoteProtocolError) as caught:  # noqa: PT012 - leaving raises
            async with feeder:
                await feeder.send_one(1, 1)
                await feeder.send_one(2, 1)
                await until(lambda: daemon.position["flights"] == 2)
                changed(daemon, refuse_examples=ErrorCode.INVALID_EXAMPLES)
                daemon.tell(Error(ErrorCode.INVALID_EXAMPLES, "no"))
                await until_it_fails(lambda: one_and_flush(feeder))
        assert caught.value.code is ErrorCode.INVALID_EXAMPLES
        with pytest.raises(RemoteProtocolError):
            await feeder.send_one(3, 1)


async def test_a_daemon_that_stays_away_is_given_up_by_single_examples(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    async with client_of(kind, address, waits=IMPATIENT) as client:
        with pytest.raises(UnreachableError):  # noqa: PT012 - leaving raises
            async with client.feed("flights") as feeder:
                await feeder.send_one(1, 1)
                await feeder.flush()
                daemon.stop_listening()
                await until_it_fails(lambda: one_and_pause(feeder))


async def one_and_pause(feeder: Any) -> None:
    await feeder.send_one(3, 1)
    await asyncio.sleep(0.001)


@pytest.mark.parametrize("credit_bytes", [limits.credit_bytes, limits.credit_bytes_min])
async def test_unacknowledged_examples_are_sent_again(
    kind: str, daemon: SmallDaemon, address: str, credit_bytes: int
) -> None:
    changed(daemon, hold_acks=True)
    x, y = numbers(500)
    async with client_of(kind, address, waits=QUICK) as client, client.feed("flights") as feeder:
        for i in range(500):
            await feeder.send_one(x[i], y[i])
        await until(lambda: daemon.position["flights"] == 500)
        # A frame's beginning may be durable, which is then not learned again.
        daemon.next_sequence["flights", feeder.producer] = 200
        daemon.position["flights"] = 200
        changed(daemon, hold_acks=False, credit_bytes=credit_bytes)
        daemon.drop()
        await feeder.flush()
        assert feeder.acknowledged == 500
    points = daemon.examples("flights")[0]
    assert points == x + x[200:]


async def test_credit_is_never_exceeded_and_sending_waits(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    """What is taken without room is as much as one frame holds; then sending waits."""
    changed(daemon, credit_bytes=limits.credit_bytes_min, hold_acks=True)
    most = limits.credit_bytes_min + JOINED_EXAMPLES_MAX
    x, y = numbers(8000)
    async with client_of(kind, address, waits=QUICK) as client, client.feed("flights") as feeder:

        async def feed() -> None:
            for point, label in zip(x, y, strict=True):
                await feeder.send_one(point, label)

        feeding = beside(kind, feed())
        await until(lambda: daemon.position["flights"] > 0)
        await asyncio.sleep(0.1)
        assert not feeding.done()
        assert feeder.next_sequence <= most
        assert feeder.acknowledged == 0
        daemon.release_acks()
        await feeding
    assert daemon.examples("flights") == (x, y)
    assert daemon.credit_used_most <= limits.credit_bytes_min


async def test_a_tail_without_room_leaves_when_there_is_some(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    changed(daemon, credit_bytes=limits.credit_bytes_min, hold_acks=True)
    async with client_of(kind, address, waits=QUICK) as client, client.feed("flights") as feeder:
        await feeder.send([1] * 1900, [1] * 1900)
        for _ in range(200):
            await feeder.send_one(2, 0)
        await until(lambda: daemon.position["flights"] == 1900)
        await asyncio.sleep(0.02)
        assert daemon.position["flights"] == 1900
        daemon.release_acks()
        await until(lambda: daemon.position["flights"] == 2100)


def test_what_comes_by_a_pipe_is_durable_before_more_is_read(
    daemon: SmallDaemon, address: str, tmp_path: Path
) -> None:
    """Of the blocking client, whose program may wait."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    source = Source(pipe, "u8", Fields("x", "y"))

    def feed() -> int:
        with Client(address) as client, client.feed("flights") as feeder:
            return feeder.send_rest(source)

    with ThreadPoolExecutor() as pool:
        fed = pool.submit(feed)
        with pipe.open("w", buffering=1) as writer:
            writer.write("x,y\n1,0\n2,1\n")
            deadline = time.monotonic() + 10.0
            while daemon.position["flights"] < 2:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            source.stop()
        assert fed.result(10.0) == 2
