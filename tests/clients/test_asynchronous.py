"""What only the asyncio client does, against a small daemon over real sockets."""

import asyncio
from collections.abc import Awaitable

import pytest

from littled_client.asynchronous import AsyncClient
from littled_client.errors import (
    ClientError,
    UnreachableError,
)
from littled_client.waits import Waits
from littled_protocol import limits
from support.feeding import until
from support.small_daemon import (
    SmallDaemon,
    changed,
    small_release,
)

QUICK = Waits(reconnect_seconds=5.0, delay_least_seconds=0.01, delay_most_seconds=0.05)
REQUEST = bytes(range(16))


def numbers(count: int) -> tuple[list[int], list[int]]:
    """Points of one byte, and whether each is odd."""
    return [i % 256 for i in range(count)], [i % 2 for i in range(count)]


async def test_feeding_leaves_turns_to_others(daemon: SmallDaemon, address: str) -> None:
    turns = 0

    async def tick() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with AsyncClient(address) as client, client.feed("flights") as feeder:
        ticker = asyncio.create_task(tick())
        for i in range(15_000):
            await feeder.send_one(i % 256, 0)
        ticker.cancel()
    assert turns >= 10


async def test_who_waits_is_told_when_the_feeder_is_left_while_the_daemon_is_away(
    daemon: SmallDaemon, address: str
) -> None:
    waiting: list[asyncio.Task[None]] = []

    async def leave(client: AsyncClient) -> None:
        async with client.feed("flights") as feeder:
            changed(daemon, hold_acks=True)
            await feeder.send([1, 2], [1, 0])
            waiting.append(asyncio.create_task(feeder.flush()))
            await asyncio.sleep(0.05)
            daemon.stop_listening()
            daemon.drop()
            await asyncio.sleep(0.05)
            raise ZeroDivisionError

    async with AsyncClient(address) as client:
        with pytest.raises(ZeroDivisionError):
            await leave(client)
        with pytest.raises(ClientError, match="the feeder is closed"):
            await asyncio.wait_for(waiting[0], 5.0)


async def test_flush_waits_for_what_was_sent_before_it_alone(
    daemon: SmallDaemon, address: str
) -> None:
    """Other tasks that send without an end may have something under way at every time."""
    changed(daemon, hold_acks=True)
    async with AsyncClient(address) as client, client.feed("flights") as feeder:
        await feeder.send([1, 2], [0, 1])
        await feeder.send_one(3, 1)
        flushing = asyncio.create_task(feeder.flush())
        await until(lambda: daemon.position["flights"] == 3)
        daemon.stall()
        await feeder.send([4, 5], [0, 1])
        await feeder.send_one(6, 1)
        assert not flushing.done()
        daemon.acknowledge()
        await asyncio.wait_for(flushing, 30.0)
        assert (feeder.acknowledged, feeder.next_sequence) == (3, 6)
        daemon.release_acks()
        for peer in daemon.peers:
            daemon.on_loop(peer.transport.resume_reading)
    assert daemon.examples("flights") == ([1, 2, 3, 4, 5, 6], [0, 1, 1, 0, 1, 1])


async def test_a_feeder_that_is_left_takes_no_more_and_ends_what_it_has_begun(
    daemon: SmallDaemon, address: str
) -> None:
    changed(daemon, credit_bytes=limits.credit_bytes_min, hold_acks=True)
    x, y = numbers(30_000)
    async with AsyncClient(address) as client:
        feeder = await client.feed("flights").__aenter__()
        sending = asyncio.create_task(feeder.send(x, y))
        await until(lambda: daemon.position["flights"] > 0)
        leaving = asyncio.create_task(feeder.__aexit__(None, None, None))
        await asyncio.sleep(0)
        with pytest.raises(ClientError, match="the feeder is closed"):
            await feeder.send_one(1, 1)
        with pytest.raises(ClientError, match="the feeder is closed"):
            await feeder.send([1, 2], [0, 1])
        assert not leaving.done()
        daemon.release_acks()
        await asyncio.wait_for(leaving, 30.0)
        await sending
    assert daemon.examples("flights") == (x, y)


async def test_many_tasks_may_share_a_feeder(daemon: SmallDaemon, address: str) -> None:
    changed(daemon, credit_bytes=limits.credit_bytes_min)
    async with AsyncClient(address) as client, client.feed("flights") as feeder:

        async def feed(point: int) -> None:
            for _ in range(50):
                await feeder.send([point] * 300, [point % 2] * 300)

        await asyncio.gather(*(feed(point) for point in range(5)))
    x, y = daemon.examples("flights")
    assert sorted(x) == sorted([point for point in range(5) for _ in range(15_000)])
    assert y == [point % 2 for point in x]
    assert daemon.credit_used_most <= limits.credit_bytes_min


async def test_memory_stays_bounded_while_the_daemon_is_away(
    daemon: SmallDaemon, address: str
) -> None:
    changed(daemon, credit_bytes=limits.credit_bytes_min)
    async with AsyncClient(address, waits=QUICK) as client, client.feed("flights") as feeder:
        daemon.stop_listening()
        await asyncio.sleep(0.02)
        feeding = asyncio.create_task(feeder.send(*numbers(50_000)))
        await asyncio.sleep(0.1)
        assert feeder.next_sequence <= limits.credit_bytes_min
        assert daemon.path is not None
        daemon.listen(daemon.path)
        await feeding
    assert daemon.examples("flights") == numbers(50_000)


async def test_a_client_that_is_closed_leaves_no_connection_that_was_being_made(
    daemon: SmallDaemon, address: str
) -> None:
    async with AsyncClient(address, waits=QUICK) as client:
        daemon.drop()
        await until(lambda: not daemon.peers)
        asking = asyncio.create_task(client.status())
        feeding = asyncio.create_task(client.feed("flights").__aenter__())
        await asyncio.sleep(0)  # both have begun to connect
    for task in (asking, feeding):
        with pytest.raises(ClientError, match="the client is closed"):
            await task
    await until(lambda: not daemon.all_peers)
    assert daemon.greetings == 1


async def test_cancelled_sending_keeps_the_order(daemon: SmallDaemon, address: str) -> None:
    changed(daemon, credit_bytes=limits.credit_bytes_min, hold_acks=True)
    x, y = numbers(30_000)
    async with AsyncClient(address) as client, client.feed("flights") as feeder:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await feeder.send(x, y)
        sent = feeder.next_sequence
        assert 0 < sent < 30_000
        daemon.release_acks()
        await feeder.send(x[sent:], y[sent:])
    assert daemon.examples("flights") == (x, y)


@pytest.mark.long
async def test_a_slow_program_does_not_pile_up_releases(daemon: SmallDaemon, address: str) -> None:
    count = 20_000
    daemon.releases["flights/late"] = [small_release("flights/late", v + 1) for v in range(count)]
    async with AsyncClient(address, waits=QUICK) as client:
        versions = []
        async for published in client.subscribe("flights/late"):
            versions.append(published.version)
            if published.version == 1:
                await asyncio.sleep(0.1)
                (waiting,) = [
                    peer.transport.get_write_buffer_size() for peer in daemon.peers if peer.learners
                ]
                assert waiting > 100_000, "the rest waits at the daemon, not in the program"
            if published.version == count:
                break
    assert versions == list(range(1, count + 1))


async def test_closing_the_client_ends_what_is_in_use(daemon: SmallDaemon, address: str) -> None:
    client = AsyncClient(address, waits=QUICK)
    async with client:
        waiting = asyncio.create_task(anext(client.subscribe("flights/late")))
        await until(lambda: any(peer.learners for peer in daemon.peers))
        feeder = await client.feed("flights").__aenter__()
    with pytest.raises(ClientError, match="the client is closed"):
        await waiting
    with pytest.raises(ClientError, match="the client is closed"):
        await feeder.send([1], [1])
    with pytest.raises(ClientError, match="the client is closed"):
        await client.status()
    await until(lambda: not daemon.peers)


async def test_many_tasks_may_ask_for_the_status(daemon: SmallDaemon, address: str) -> None:
    async with AsyncClient(address, waits=QUICK) as client:
        daemon.publish(small_release("flights/late", 3))
        daemon.drop()
        status = await client.status()
        assert status["streams"]["flights"]["learners"]["late"] == {"version": 3, "words": {}}
        answers = await asyncio.gather(*(client.status() for _ in range(20)))
        assert answers == [status] * 20


async def test_pings_are_answered_whatever_the_program_does(
    daemon: SmallDaemon, address: str
) -> None:
    changed(daemon, ask=True)
    async with AsyncClient(address):
        await until(lambda: daemon.pongs == [7])


async def test_entering_may_be_cancelled(daemon: SmallDaemon, address: str) -> None:
    async with AsyncClient(address) as client:
        changed(daemon, mute=True)
        opening: Awaitable[object] = client.feed("flights").__aenter__()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await opening
        await until(lambda: len(daemon.peers) == 1)


async def test_several_requests_may_be_unanswered_and_come_back_in_any_order(
    daemon: SmallDaemon, address: str
) -> None:
    daemon.answers_left["flights/odd"] = 1000
    most = limits.predict_requests_max
    async with AsyncClient(address, waits=QUICK) as client:
        changed(daemon, hold_answers=most)
        points = [[i, i + 1, 3 * i][: 1 + i % 3] for i in range(2 * most)]
        found = await asyncio.gather(*(client.predict("flights/odd", x) for x in points))
        assert [each.labels.tolist() for each in found] == [[p % 2 for p in x] for x in points]
        assert len(daemon.requests) == 2 * most
        assert len({each.left for each in found}) == 2 * most
        assert "flights" in (await client.status())["streams"]
    assert daemon.greetings == 2


async def test_two_unanswered_requests_both_come_back_after_a_loss(
    daemon: SmallDaemon, address: str
) -> None:
    daemon.answers_left["flights/odd"] = 1000
    async with AsyncClient(address, waits=QUICK) as client:
        changed(daemon, hold_answers=3)
        asking = [asyncio.create_task(client.predict("flights/odd", [i])) for i in range(2)]
        await until(lambda: len(daemon.requests) == 2)
        changed(daemon, hold_answers=1)
        daemon.drop()
        found = await asyncio.gather(*asking)
        assert [each.labels.tolist() for each in found] == [[0], [1]]
        assert all(each.repeated and each.left == 998 for each in found)
    assert daemon.greetings == 3


async def test_equal_names_at_a_time_wait_for_one_another(
    daemon: SmallDaemon, address: str
) -> None:
    daemon.answers_left["flights/odd"] = 1000
    async with AsyncClient(address, waits=QUICK) as client:
        asking = (client.predict("flights/odd", [5], request=REQUEST) for _ in range(3))
        found = await asyncio.gather(*asking)
        assert sorted(each.repeated for each in found) == [False, True, True]
        assert [each.left for each in found] == [999] * 3


async def test_a_cancelled_request_can_be_made_again(daemon: SmallDaemon, address: str) -> None:
    daemon.answers_left["flights/odd"] = 1000
    async with AsyncClient(address, waits=QUICK) as client:
        changed(daemon, hold_answers=2)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await client.predict("flights/odd", [5], request=REQUEST)
        again = asyncio.create_task(client.predict("flights/odd", [5], request=REQUEST))
        await asyncio.sleep(0.02)
        assert len(daemon.requests) == 1, "it waits for the answer that nobody wanted"
        changed(daemon, hold_answers=1)
        other = await client.predict("flights/odd", [7])
        assert (await again).repeated
        assert (other.labels.tolist(), other.left) == ([1], 998)
    assert daemon.greetings == 2


async def test_predictions_of_many_tasks_that_never_come(daemon: SmallDaemon, address: str) -> None:
    waits = Waits(answer_seconds=0.05, reconnect_seconds=0.2, delay_least_seconds=0.01)
    daemon.answers_left["flights/odd"] = 10
    async with AsyncClient(address, waits=waits) as client:
        await client.predict("flights/odd", [1])
        changed(daemon, mute=True)
        with pytest.raises(UnreachableError, match="no answer in time"):
            await client.predict("flights/odd", [1])
        asking = [asyncio.create_task(client.predict("flights/odd", [1])) for _ in range(20)]
        done, _ = await asyncio.wait(asking)
        assert all(isinstance(each.exception(), UnreachableError) for each in done)
        changed(daemon, mute=False)
        assert (await client.predict("flights/odd", [1])).left == 8
    with pytest.raises(ClientError, match="the client is closed"):
        await client.predict("flights/odd", [1])
