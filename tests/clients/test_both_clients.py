"""Both clients against a small daemon over real sockets: good days and bad ones."""

import asyncio
import math
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import Any

import numpy as np
import pytest

from littled_client.errors import (
    ChangedStoreError,
    ClientError,
    ConnectionLostError,
    ExampleError,
    PredictionRefused,
    UnreachableError,
)
from littled_client.published import Published
from littled_client.waits import Waits
from littled_protocol import limits
from littled_protocol.errors import ErrorCode, ProtocolError, RefusalCode, RemoteProtocolError
from littled_protocol.messages import Error
from littled_protocol.rules import Words
from support.feeding import KINDS, beside, client_of, until, until_it_fails
from support.small_daemon import (
    WRONG_ANSWERS,
    SmallDaemon,
    changed,
    right_answer,
    small_release,
)

QUICK = Waits(reconnect_seconds=5.0, delay_least_seconds=0.01, delay_most_seconds=0.05)
REQUEST = bytes(range(16))
IMPATIENT = Waits(reconnect_seconds=0.2, delay_least_seconds=0.01, delay_most_seconds=0.05)

pytestmark = pytest.mark.parametrize("kind", KINDS)


async def sent(feeder: Any) -> None:
    """An example that is durable."""
    await feeder.send([2], [1])
    await feeder.flush()


async def first(releases: AsyncIterator[Published]) -> Published:
    """What is published first."""
    return await anext(releases)


def numbers(count: int) -> tuple[list[int], list[int]]:
    """Points of one byte, and whether each is odd."""
    return [i % 256 for i in range(count)], [i % 2 for i in range(count)]


async def test_a_short_program_feeds_subscribes_and_predicts(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    async with client_of(kind, address) as client:
        async with client.feed("flights") as feeder:
            await feeder.send([10, 60, 90], [0, 1, 1])
        daemon.words["flights/late"] = {"x_name": "delay", "unit": "min", "offset": -30}
        daemon.publish(small_release("flights/late", 1, threshold=54))
        async for published in client.subscribe("flights/late"):
            assert published.words == Words("delay", "min", -30)
            assert published.describe() == "1 if delay >= 24 min"
            assert published.predict([23, 24]).tolist() == [0, 1]
            break
    assert daemon.examples("flights") == ([10, 60, 90], [0, 1, 1])
    assert daemon.agents[0].startswith("littled_client/")


async def test_a_daemon_that_reads_nothing_is_left(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    waits = Waits(send_seconds=0.1, reconnect_seconds=5.0, delay_least_seconds=0.01)
    x, y = numbers(60_000)
    async with client_of(kind, address, waits=waits) as client, client.feed("ids") as feeder:
        for peer in daemon.peers:
            daemon.on_loop(peer.transport.pause_reading)
        for _ in range(6):
            await feeder.send(x, y)
        await feeder.flush()
    assert daemon.examples("ids") == (x * 6, y * 6)


async def test_a_feeder_has_nothing_to_flush_outside_of_its_block(kind: str, address: str) -> None:
    async with client_of(kind, address) as client:
        feeder = client.feed("flights")
        with pytest.raises(ClientError, match="not open"):
            await feeder.flush()
        async with feeder:
            await feeder.flush()
        with pytest.raises(ClientError, match="closed"):
            await feeder.flush()


async def test_a_daemon_that_reads_slowly_is_waited_for(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    x, y = numbers(60_000)
    async with client_of(kind, address, waits=QUICK) as client, client.feed("ids") as feeder:
        for peer in daemon.peers:
            daemon.on_loop(peer.transport.pause_reading)
        started = time.monotonic()
        threading.Timer(
            0.1, lambda: [daemon.on_loop(peer.transport.resume_reading) for peer in daemon.peers]
        ).start()
        for _ in range(6):
            await feeder.send(x, y)
        await feeder.flush()
        assert time.monotonic() - started > 0.09
    assert daemon.examples("ids") == (x * 6, y * 6)


async def test_a_daemon_that_comes_back_is_fed_on(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    async with client_of(kind, address, waits=QUICK) as client, client.feed("flights") as feeder:
        await feeder.send([1], [1])
        daemon.stop_listening()
        assert daemon.path is not None
        threading.Timer(0.1, daemon.listen, [daemon.path]).start()
        await feeder.send(*numbers(50_000))
    x, y = numbers(50_000)
    assert daemon.examples("flights") == ([1, *x], [1, *y])


async def test_a_daemon_that_stays_away_is_given_up(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    def gone() -> Any:
        return pytest.raises(UnreachableError, match=r"no daemon can be reached at unix:.*")

    async with client_of(kind, address, waits=IMPATIENT) as client:
        with gone():
            async with client.feed("flights") as feeder:
                await feeder.send([1], [1])
                await feeder.flush()
                daemon.stop_listening()
                with gone():
                    await until_it_fails(partial(sent, feeder))
                with gone():
                    await feeder.flush()
                await feeder.send([3], [1])
        with gone():
            await client.status()
        with gone():
            await anext(client.subscribe("flights/late"))


async def entries(use: Callable[[], Awaitable[None]]) -> tuple[int, int]:
    """How long the traceback of a failure is, and the chain of those that it is told after."""
    try:
        try:
            raise KeyError
        except KeyError:
            await use()
    except UnreachableError as failure:
        chain, error = 0, failure.__context__
        while error is not None:
            chain, error = chain + 1, error.__context__
        return len([*walk_tb(failure.__traceback__)]), chain
    raise AssertionError("it did not fail")


async def test_a_feeder_that_has_failed_keeps_nothing_of_later_calls(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    """A program that goes on calling it for days would have to remember all those calls."""
    async with client_of(kind, address, waits=IMPATIENT) as client:
        with pytest.raises(UnreachableError):  # noqa: PT012 - leaving raises
            async with client.feed("flights") as feeder:
                await sent(feeder)
                daemon.stop_listening()
                with pytest.raises(UnreachableError):
                    await until_it_fails(partial(sent, feeder))
                for use in (
                    partial(feeder.send_one, 1, 1),
                    partial(feeder.send, [1, 2], [0, 1]),
                    feeder.flush,
                ):
                    assert len({await entries(use) for _ in range(20)}) == 1


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize(
    "name", ["connect", "reconnect", "answer", "send", "idle", "pong", "stable"]
)
async def test_a_wait_may_have_no_end(
    kind: str, daemon: SmallDaemon, address: str, name: str, tcp: bool
) -> None:
    waits, where = Waits(**{f"{name}_seconds": math.inf}), address
    if tcp:
        daemon.stop_listening()
        where = f"127.0.0.1:{daemon.listen_tcp()}"
    daemon.answers_left["flights/odd"] = 10
    async with client_of(kind, where, waits=waits) as client:
        async with client.feed("flights") as feeder:
            await feeder.send([1, 2], [0, 1])
            await feeder.flush()
        assert (await client.predict("flights/odd", [3])).labels.tolist() == [1]
    assert daemon.examples("flights") == ([1, 2], [0, 1])


async def test_nobody_there(kind: str) -> None:
    for address in ("unix:/nowhere/d.sock", "127.0.0.1:1", "nowhere.invalid:1"):
        with pytest.raises(UnreachableError, match="is littled running"):
            async with client_of(kind, address):
                pass


async def test_waiting_for_a_daemon_that_starts_late(kind: str, tmp_path: Path) -> None:
    daemon = SmallDaemon({"flights": "u8"})
    path = str(tmp_path / "late.sock")
    threading.Timer(0.1, daemon.listen, [path]).start()
    waits = Waits(connect_seconds=5.0, delay_least_seconds=0.01, delay_most_seconds=0.05)
    try:
        async with client_of(kind, f"unix:{path}", waits=waits) as client:
            assert "flights" in (await client.status())["streams"]
    finally:
        daemon.close()


async def test_tcp(kind: str, daemon: SmallDaemon) -> None:
    daemon.stop_listening()
    port = daemon.listen_tcp()
    changed(daemon, token="open sesame")  # noqa: S106 - a test's
    async with (
        client_of(kind, f"127.0.0.1:{port}", token="open sesame") as client,  # noqa: S106 - a test's
        client.feed("flights") as feeder,
    ):
        await feeder.send([1, 2], [0, 1])
    assert daemon.examples("flights") == ([1, 2], [0, 1])
    for token in (None, "close sesame"):
        with pytest.raises(RemoteProtocolError) as caught:
            async with client_of(kind, f"127.0.0.1:{port}", token=token):
                pass
        assert caught.value.code is ErrorCode.UNAUTHORIZED


async def test_another_store_under_the_same_address_is_refused(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    async with client_of(kind, address, waits=QUICK) as client:
        assert client.instance == "store-1"
        daemon.publish(small_release("flights/late", 1))
        with pytest.raises(ChangedStoreError, match="another store"):  # noqa: PT012 - leaving raises
            async with client.feed("flights") as feeder:
                await feeder.send([1], [1])
                await feeder.flush()
                changed(daemon, instance="store-2")
                daemon.drop()
                await feeder.send([2], [1])
                await feeder.flush()
        for use in (client.status, lambda: anext(client.subscribe("flights/late"))):
            with pytest.raises(ChangedStoreError, match="another store"):
                await use()


async def test_an_older_store_is_refused(kind: str, daemon: SmallDaemon, address: str) -> None:
    async with client_of(kind, address, waits=QUICK) as client:
        with pytest.raises(ChangedStoreError, match="had acknowledged 3"):  # noqa: PT012 - leaving raises
            async with client.feed("flights") as feeder:
                await feeder.send([1, 2, 3], [0, 0, 0])
                await feeder.flush()
                daemon.next_sequence["flights", feeder.producer] = 2
                daemon.drop()
                await until_it_fails(partial(sent, feeder))


async def test_an_impossible_acknowledgement_is_refused_for_good(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    async with client_of(kind, address, waits=QUICK) as client:
        with pytest.raises(ChangedStoreError, match="never sent"):  # noqa: PT012 - leaving raises
            async with client.feed("flights") as feeder:
                changed(daemon, hold_acks=True)
                await feeder.send([1, 2, 3], [0, 0, 0])
                await until(lambda: daemon.position["flights"] == 3)
                daemon.next_sequence["flights", feeder.producer] = 4
                daemon.release_acks()
                with pytest.raises(ChangedStoreError, match="never sent"):
                    await feeder.flush()
                await feeder.send([1], [1])


@pytest.mark.parametrize(
    ("stream", "behaviour", "code"),
    [
        ("ships", {}, ErrorCode.UNKNOWN_STREAM),
        ("flights", {"refuse_examples": ErrorCode.INVALID_EXAMPLES}, ErrorCode.INVALID_EXAMPLES),
        ("flights", {"refuse_open": [ErrorCode.PRODUCER_BUSY]}, ErrorCode.PRODUCER_BUSY),
        ("flights", {"refuse_examples": ErrorCode.PRODUCER_BUSY}, ErrorCode.PRODUCER_BUSY),
        ("flights", {"refuse_open": [ErrorCode.LIMIT_EXCEEDED] * 99}, ErrorCode.LIMIT_EXCEEDED),
        ("no such name", {}, ErrorCode.MALFORMED_FRAME),
    ],
)
async def test_refusals_arrive_with_their_code(
    kind: str,
    daemon: SmallDaemon,
    address: str,
    stream: str,
    behaviour: dict[str, Any],
    code: ErrorCode,
) -> None:
    async with client_of(kind, address, waits=IMPATIENT) as client:
        changed(daemon, **deepcopy(behaviour))
        with pytest.raises(ProtocolError) as caught:
            async with client.feed(stream) as feeder:
                await feeder.send([1], [1])
        assert caught.value.code is code


async def test_a_refused_greeting(kind: str, daemon: SmallDaemon, address: str) -> None:
    changed(daemon, refuse_hello=ErrorCode.UNSUPPORTED_VERSION)
    with pytest.raises(RemoteProtocolError, match="share no version"):
        async with client_of(kind, address, waits=QUICK):
            pass


async def test_refusals_that_pass_are_waited_out(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    async with client_of(kind, address, waits=QUICK) as client, client.feed("flights") as feeder:
        await feeder.send([1], [1])
        await feeder.flush()
        busy = [ErrorCode.PRODUCER_BUSY, ErrorCode.LIMIT_EXCEEDED, ErrorCode.SHUTTING_DOWN]
        changed(daemon, refuse_open=busy)
        daemon.tell(Error(ErrorCode.SHUTTING_DOWN, "later"))
        await feeder.send([2], [1])
        await feeder.flush()
        assert daemon.behaviour.refuse_open == []
    assert daemon.examples("flights") == ([1, 2], [1, 1])


async def test_an_end_that_comes_together_with_an_answer_is_waited_out(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    """Who sends now and then reads both at once, and only then is about to send more."""
    async with client_of(kind, address, waits=QUICK) as client, client.feed("flights") as feeder:
        for number in range(1, 4):
            await feeder.send_one(number, 1)
            await until(partial(lambda number: daemon.position["flights"] == number, number))
            daemon.tell(Error(ErrorCode.SHUTTING_DOWN, "later"))
            await until(lambda: not daemon.peers or len(daemon.peers) == 1)
            await asyncio.sleep(0.05)
        await feeder.send_one(4, 1)
        await feeder.flush()
    assert daemon.examples("flights") == ([1, 2, 3, 4], [1, 1, 1, 1])


async def test_a_batch_goes_on_where_the_daemon_comes_back_with_shorter_frames(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    """All that a batch holds is cut before, and the rest of it has to be cut anew."""
    x, y = numbers(200_000)
    least = limits.credit_bytes_min
    changed(daemon, credit_bytes=140_000, drop_after_frames=1, drops=1)
    async with client_of(kind, address, waits=QUICK) as client, client.feed("flights") as feeder:
        changed(daemon, credit_bytes=least, frame_bytes_max=limits.frame_bytes_max_min)

        async def give() -> None:
            await feeder.send(x, y)
            await feeder.flush()

        giving = beside(kind, give())
        try:
            await until(giving.done, 20.0)
        finally:
            if not giving.done():  # so that it ends
                daemon.stop_listening()
            await giving
        assert feeder.acknowledged == 200_000
    assert daemon.examples("flights") == (x, y)
    assert daemon.credit_used_most <= 140_000


async def test_a_feeder_needs_its_block(kind: str, address: str) -> None:
    async with client_of(kind, address) as client:
        feeder = client.feed("flights")
        with pytest.raises(ClientError, match="not open"):
            await feeder.send([1], [1])
        with pytest.raises(ClientError, match="not open"):
            assert feeder.x_type


async def test_a_subscriber_gets_what_it_missed_and_what_comes(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    for version in (1, 2, 3):
        daemon.publish(small_release("flights/late", version))
    daemon.publish(small_release("flights/other", 1))
    async with client_of(kind, address) as client:
        versions = []
        async for published in client.subscribe("flights/late", since=1):
            assert published.learner == "flights/late"
            versions.append(published.version)
            if published.version in (3, 4):
                daemon.publish(small_release("flights/late", published.version + 1))
            if published.version == 5:
                break
        assert versions == [2, 3, 4, 5]
        await until(lambda: len(daemon.peers) == 1)


async def test_a_subscription_goes_on_after_losses(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    for version in range(1, 4):
        daemon.publish(small_release("flights/late", version))
    versions = []
    async with client_of(kind, address, waits=QUICK) as client:
        async for published in client.subscribe("flights/late"):
            versions.append(published.version)
            if published.version == 15:
                break
            if published.version == len(daemon.releases["flights/late"]):
                daemon.publish(small_release("flights/late", published.version + 1))
            if published.version % 3 == 0:
                daemon.drop()
            if published.version % 5 == 0:
                daemon.tell(Error(ErrorCode.SLOW_SUBSCRIBER, "slow"))
    assert versions == list(range(1, 16))


async def test_words_are_asked_for_once(kind: str, daemon: SmallDaemon, address: str) -> None:
    daemon.words["flights/late"] = {"offset": -30}
    for version in range(1, 4):
        daemon.publish(small_release("flights/late", version, threshold=40))
        daemon.publish(small_release("flights/other", version, threshold=40))
    async with client_of(kind, address, waits=QUICK) as client:
        async for published in client.subscribe("flights/late"):
            assert published.predict([9, 10]).tolist() == [0, 1]
            if published.version == 2:
                daemon.drop()
            if published.version == 3:
                break
        async for published in client.subscribe("flights/other"):
            assert published.predict([39, 40]).tolist() == [0, 1]
            break
    assert daemon.status_requests == 1


@pytest.mark.parametrize("words", [None, {"offset": 1.5}, {"columns": []}, []])
async def test_values_are_refused_where_words_are_not_understood(
    kind: str, daemon: SmallDaemon, address: str, words: Any
) -> None:
    daemon.words |= {"flights/late": words, "flights/odd": words}
    daemon.answers_left["flights/odd"] = 10
    daemon.publish(small_release("flights/late", 1, threshold=54))
    async with client_of(kind, address) as client:
        latest = await client.latest("flights/late")
        assert latest is not None
        assert latest.words is None
        with pytest.raises(ClientError, match="what the points of flights/late stand for"):
            latest.predict([60])
        with pytest.raises(ClientError, match="what the points of flights/odd stand for"):
            await client.predict("flights/odd", [60])
        assert (await client.predict_points("flights/odd", [61])).labels.tolist() == [1]


async def test_refused_subscriptions(kind: str, daemon: SmallDaemon, address: str) -> None:
    async with client_of(kind, address) as client:
        with pytest.raises(ProtocolError, match="stream/learner"):
            await anext(client.subscribe("flights"))
        waiting = beside(kind, first(client.subscribe("flights/late")))
        await until(lambda: any(peer.learners for peer in daemon.peers))
        daemon.tell(Error(ErrorCode.UNKNOWN_LEARNER, "no such learner"))
        with pytest.raises(RemoteProtocolError) as caught:
            await waiting
        assert caught.value.code is ErrorCode.UNKNOWN_LEARNER


async def test_status_and_latest(kind: str, daemon: SmallDaemon, address: str) -> None:
    async with client_of(kind, address, waits=QUICK) as client:
        with pytest.raises(ClientError, match="no learner 'flights/late'"):
            await client.latest("flights/late")
        daemon.releases["flights/late"] = []
        assert await client.latest("flights/late") is None
        for version in (1, 2, 3):
            daemon.publish(small_release("flights/late", version, threshold=version))
        latest = await client.latest("flights/late")
        assert latest is not None
        assert (latest.version, latest.describe()) == (3, "1 if x >= 3")
        daemon.drop()
        status = await client.status()
        assert status["streams"]["flights"]["learners"]["late"] == {"version": 3, "words": {}}


async def test_pings_of_the_daemon_are_answered(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    changed(daemon, ask=True)
    async with client_of(kind, address) as client:
        await client.status()
        await until(lambda: daemon.pongs == [7])


async def test_a_silent_connection_is_kept_alive(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    waits = Waits(idle_seconds=0.02, pong_seconds=1.0)
    async with client_of(kind, address, waits=waits) as client:
        waiting = beside(kind, first(client.subscribe("flights/late")))
        await asyncio.sleep(0.2)
        daemon.publish(small_release("flights/late", 1))
        assert (await waiting).version == 1
    assert daemon.greetings == 2


async def test_a_daemon_that_fell_silent_is_left(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    waits = Waits(
        idle_seconds=0.05,
        pong_seconds=0.05,
        answer_seconds=0.1,
        delay_least_seconds=0.01,
        delay_most_seconds=0.05,
    )
    async with client_of(kind, address, waits=waits) as client, client.feed("flights") as feeder:
        changed(daemon, hold_acks=True, mute=True)
        await feeder.send([1], [1])
        greetings = daemon.greetings
        flushing = beside(kind, feeder.flush())
        await until(lambda: daemon.greetings > greetings)
        changed(daemon, hold_acks=False, mute=False)
        await flushing
    assert daemon.examples("flights") == ([1], [1])


async def test_an_answer_that_never_comes(kind: str, daemon: SmallDaemon, address: str) -> None:
    waits = Waits(answer_seconds=0.05, reconnect_seconds=0.2, delay_least_seconds=0.01)
    async with client_of(kind, address, waits=waits) as client:
        changed(daemon, mute=True)
        for use in (client.status, client.feed("flights").__aenter__):
            with pytest.raises(UnreachableError, match="no answer in time"):
                await use()


async def test_a_client_can_be_used_again(kind: str, daemon: SmallDaemon, address: str) -> None:
    client = client_of(kind, address)
    for _ in range(2):
        async with client:
            await client.status()
        await until(lambda: not daemon.peers)
    assert issubclass(ConnectionLostError, ClientError)


async def test_predictions_of_points_of_every_type(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    points: dict[str, Any] = {
        "flights": [10, 61],
        "ids": np.array([2**63, 2**64 - 1], dtype=np.uint64),
        "addresses": ["::2", "::3"],
        "rows": [[1, 2, 3], [1, 2, 4]],
    }
    daemon.answers_left |= {f"{stream}/odd": 10 for stream in points}
    async with client_of(kind, address) as client:
        for stream, x in points.items():
            found = await client.predict(f"{stream}/odd", x)
            assert found.labels.tolist() == [0, 1]
            assert found.labels.dtype == np.uint8
            assert (found.window, found.left, found.repeated) == (0, 8, False)


async def test_values_are_asked_about_in_the_units_of_the_stream(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    daemon.words["flights/odd"] = {"x_name": "delay", "unit": "min", "offset": -30}
    daemon.answers_left["flights/odd"] = 10
    async with client_of(kind, address) as client:
        found = await client.predict("flights/odd", [-30, 225])
        assert found.labels.tolist() == [0, 1]
        found = await client.predict_points("flights/odd", [0, 255])
        assert found.labels.tolist() == [0, 1]
        with pytest.raises(ExampleError, match="value 1 less the offset -30 is outside"):
            await client.predict("flights/odd", [226])
        with pytest.raises(ClientError, match="no learner 'flights/none'"):
            await client.predict("flights/none", [1])
    assert [request.x for request in daemon.requests] == [b"\0\xff"] * 2


async def test_a_request_made_again_is_answered_again_for_nothing(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    daemon.answers_left["flights/odd"] = 10
    async with client_of(kind, address) as client:
        first = await client.predict("flights/odd", [1, 2], request=REQUEST)
        again = await client.predict("flights/odd", [1, 2], request=REQUEST)
        other = await client.predict("flights/odd", [1, 2])
    assert (first.repeated, again.repeated, other.repeated) == (False, True, False)
    assert first.labels.tolist() == again.labels.tolist() == [1, 0]
    assert (first.left, again.left, other.left) == (8, 8, 6)


async def test_many_points_are_asked_about_in_several_requests(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    daemon.answers_left |= {"flights/odd": 5000, "rows/odd": 5000}
    x, y = numbers(2500)
    async with client_of(kind, address) as client:
        found = await client.predict("flights/odd", x, request=REQUEST)
        assert (found.labels.tolist(), found.left, found.repeated) == (y, 2500, False)
        assert [each.count for each in daemon.requests] == [1000, 1000, 500]
        again = await client.predict("flights/odd", np.array(x), request=REQUEST)
        assert (again.labels.tolist(), again.left, again.repeated) == (y, 2500, True)
    changed(daemon, frame_bytes_max=limits.frame_bytes_max_min)
    daemon.requests.clear()
    rows = np.arange(6000).reshape(2000, 3)
    async with client_of(kind, address) as client:
        found = await client.predict("rows/odd", rows)
        assert found.labels.tolist() == (rows.sum(axis=1) % 2).tolist()
    assert [each.count for each in daemon.requests] == [640, 640, 640, 80]


async def test_refused_predictions_say_why_and_leave_the_connection_alive(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    daemon.answers_left["flights/odd"] = 1500
    x, y = numbers(2500)
    async with client_of(kind, address) as client:
        with pytest.raises(PredictionRefused) as caught:
            await client.predict("flights/odd", x, request=REQUEST)
        refused = caught.value
        assert (refused.code, refused.learner) == (RefusalCode.WINDOW_SPENT, "flights/odd")
        assert (refused.asked, refused.spent, refused.left) == (1000, 7, 500)
        assert (refused.window, refused.next_window) == (0, 99)
        assert refused.labels.tolist() == y[:1000]
        for learner, request, code in (
            ("flights/none", None, RefusalCode.UNKNOWN_LEARNER),
            ("flights/odd", daemon.requests[0].request, RefusalCode.REQUEST_REUSED),
        ):
            with pytest.raises(PredictionRefused) as caught:
                await client.predict_points(learner, [1], request=request)
            assert caught.value.code == code
            assert caught.value.labels.tolist() == []
        daemon.answers_left["flights/odd"] = 1500
        found = await client.predict("flights/odd", x, request=REQUEST)
        assert (found.labels.tolist(), found.left) == (y, 0)
    # The asyncio client has a connection of its own for predictions.
    assert daemon.greetings == {"blocking": 1, "asyncio": 2}[kind]


async def test_what_cannot_be_asked_is_not_sent(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    daemon.answers_left["flights/odd"] = 10
    async with client_of(kind, address) as client:
        with pytest.raises(ClientError, match="no stream 'ships'"):
            await client.predict("ships/odd", [1])
        for x in ([], [256], [1.5]):
            with pytest.raises(ExampleError):
                await client.predict("flights/odd", x)
        with pytest.raises(ProtocolError, match="stream/learner"):
            await client.predict("flights", [1])
        with pytest.raises(ProtocolError, match="16 bytes"):
            await client.predict("flights/odd", [1], request=b"short")
    assert daemon.requests == []


async def test_lost_answers_are_asked_for_again_and_charged_once(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    daemon.answers_left["flights/odd"] = 10_000
    x, y = numbers(3500)
    changed(daemon, drop_answers=3)
    async with client_of(kind, address, waits=QUICK) as client:
        found = await client.predict("flights/odd", x)
        assert (found.labels.tolist(), found.left, found.repeated) == (y, 6500, False)
        assert daemon.behaviour.drop_answers == 0
        assert len(daemon.requests) == 4 + 3
        assert len({each.request for each in daemon.requests}) == 4
        daemon.drop()
        assert (await client.predict("flights/odd", [3])).left == 6499
        daemon.tell(Error(ErrorCode.SHUTTING_DOWN, "later"))
        assert (await client.predict("flights/odd", [3])).left == 6498
        changed(daemon, drop_answers=1)
        found = await client.predict("flights/odd", [3])
        assert (found.labels.tolist(), found.left, found.repeated) == ([1], 6497, True)


async def test_predictions_of_a_daemon_that_stays_away(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    daemon.answers_left["flights/odd"] = 10
    async with client_of(kind, address, waits=IMPATIENT) as client:
        await client.predict("flights/odd", [1])
        daemon.stop_listening()
        with pytest.raises(UnreachableError, match=r"no daemon can be reached at unix:.*"):
            await client.predict("flights/odd", [1])


async def test_predictions_of_another_store_are_refused(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    daemon.answers_left["flights/odd"] = 10
    async with client_of(kind, address, waits=QUICK) as client:
        await client.predict("flights/odd", [1])
        changed(daemon, instance="store-2", drop_answers=1)
        with pytest.raises(ChangedStoreError, match="another store"):
            await client.predict("flights/odd", [1])


@pytest.mark.parametrize("wrong", WRONG_ANSWERS)
async def test_wrong_answers_are_errors_and_no_predictions(
    kind: str, daemon: SmallDaemon, address: str, wrong: str
) -> None:
    answer, code = WRONG_ANSWERS[wrong]
    daemon.answers_left["flights/odd"] = 0  # the daemon knows it
    async with client_of(kind, address, waits=QUICK) as client:
        changed(daemon, answer=answer)
        with pytest.raises(RemoteProtocolError) as caught:
            await client.predict("flights/odd", [1, 2])
        assert caught.value.code is code
        changed(daemon, answer=right_answer)
        assert (await client.predict("flights/odd", [1, 2])).labels.tolist() == [0, 0]


async def test_predictions_that_never_come(kind: str, daemon: SmallDaemon, address: str) -> None:
    waits = Waits(answer_seconds=0.05, reconnect_seconds=0.2, delay_least_seconds=0.01)
    daemon.answers_left["flights/odd"] = 10
    async with client_of(kind, address, waits=waits) as client:
        await client.predict("flights/odd", [1])
        changed(daemon, mute=True)
        with pytest.raises(UnreachableError, match="no answer in time"):
            await client.predict("flights/odd", [1])
        changed(daemon, mute=False)
        assert (await client.predict("flights/odd", [1])).left == 8


# --- places of sources ----------------------------------------------------------------------------


async def test_a_source_goes_on_where_its_examples_are_durable(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    async with client_of(kind, address, producer="log") as client:
        async with client.feed("flights", resumes=True) as feeder:
            assert (feeder.resume, feeder.resume_sequence, feeder.next_sequence) == (b"", 0, 0)
            await feeder.send([1, 2, 3], [0, 1, 0], resume=b"three")
            await feeder.send([4], [1], resume=b"four")  # a single one does not wait for others
            await feeder.send([5], [1])
        async with client.feed("flights", resumes=True) as feeder:
            assert (feeder.resume, feeder.resume_sequence) == (b"four", 4)
            assert feeder.next_sequence == 5
    assert daemon.examples("flights") == ([1, 2, 3, 4, 5], [0, 1, 0, 1, 1])


async def test_the_place_comes_with_the_last_frame_of_a_batch(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    daemon.behaviour.frame_bytes_max = limits.frame_bytes_max_min
    x, y = numbers(10_000)
    daemon.behaviour.drop_after_frames, daemon.behaviour.drops = 2, 1
    async with client_of(kind, address, producer="log", waits=QUICK) as client:
        async with client.feed("flights", resumes=True) as feeder:
            await feeder.send(x, y, resume=bytes(range(64)))
        assert daemon.places["flights", "log"] == (bytes(range(64)), 10_000)
    assert daemon.examples("flights") == (x, y)


async def test_a_daemon_that_keeps_no_places_is_not_fed_with_them(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    daemon.behaviour.knows_places = False
    async with client_of(kind, address) as client:
        with pytest.raises(ClientError, match="keeps no places of sources"):
            async with client.feed("flights", resumes=True):
                pass
        async with client.feed("flights") as feeder:
            await sent(feeder)
    assert daemon.examples("flights") == ([2], [1])


async def test_places_have_to_be_asked_for_and_are_short(
    kind: str, daemon: SmallDaemon, address: str
) -> None:
    async with client_of(kind, address) as client:
        async with client.feed("flights") as feeder:
            with pytest.raises(ClientError, match="resumes=True"):
                await feeder.send([1], [0], resume=b"one")
        async with client.feed("flights", resumes=True) as feeder:
            with pytest.raises(ExampleError, match="at most 64"):
                await feeder.send([1], [0], resume=bytes(65))
    assert daemon.examples("flights") == ([], [])


async def test_a_recording_has_no_places(
    kind: str, daemon: SmallDaemon, address: str, tmp_path: Path
) -> None:
    for name, places in (("plain", False), ("placed", True)):
        how = {"producer": name, "record": tmp_path / name, "resumes": places}
        async with client_of(kind, address) as client, client.feed("ids", **how) as feeder:
            await feeder.send([1, 2], [0, 1], **({"resume": b"two"} if places else {}))
    frames = [(tmp_path / name).read_bytes() for name in ("plain", "placed")]
    # But for the stream's position in `opened`.
    assert len(frames[0]) == len(frames[1])
    assert b"resume" not in frames[1]
