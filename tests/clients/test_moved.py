"""Both clients with several small daemons that share streams, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from littled_client.errors import (
    ChangedStoreError,
    StreamElsewhereError,
    UnreachableError,
)
from littled_client.published import Published
from littled_client.waits import Waits
from littled_protocol.errors import RemoteProtocolError
from littled_protocol.messages import Moved, Open, Predict, StatusRequest
from support.feeding import KINDS, beside, client_of, until
from support.small_daemon import SmallDaemon, changed, running, small_release

QUICK = Waits(reconnect_seconds=10.0, delay_least_seconds=0.01, delay_most_seconds=0.05)
IMPATIENT = Waits(reconnect_seconds=0.3, delay_least_seconds=0.01, delay_most_seconds=0.05)
STREAMS = {"flights": "u8", "ids": "u64"}
TOKEN = "0123456789abcdef" * 2

pytestmark = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def daemons(tmp_path: Path) -> Iterator[list[SmallDaemon]]:
    """Three daemons of version 2 on sockets; the first two know that the third has `flights`."""
    with contextlib.ExitStack() as stack:
        made = [
            stack.enter_context(running(str(tmp_path / f"{name}.sock"), dict(STREAMS)))
            for name in "abc"
        ]
        for daemon in made:
            changed(daemon, version=2)
        for daemon in made[:2]:
            changed(daemon, moved={"flights": [at(made[2])]})
        yield made


def at(daemon: SmallDaemon) -> str:
    return f"unix:{daemon.path}"


def move(daemons: list[SmallDaemon], source: SmallDaemon, target: SmallDaemon) -> None:
    """Have the target serve `flights` as the source did, and all others say so."""
    target.next_sequence = dict(source.next_sequence)
    target.position = dict(source.position)
    target.received = {name: list(batches) for name, batches in source.received.items()}
    target.releases = {name: list(each) for name, each in source.releases.items()}
    changed(target, moved={})
    for each in daemons:
        if each is not target:
            changed(each, moved={"flights": [at(target)]})


async def taken(releases: AsyncIterator[Published], count: int) -> list[Published]:
    return [await anext(releases) for _ in range(count)]


# --- Good days ------------------------------------------------------------------------------------


@pytest.mark.parametrize("stores", [1, 3])
async def test_every_verb_goes_where_the_stream_is(
    kind: str, stores: int, daemons: list[SmallDaemon]
) -> None:
    """Whether the daemons share one store, or each has its own."""
    first, _, third = daemons
    for number, daemon in enumerate(daemons):
        changed(daemon, instance=f"store-{number % stores}")
    third.answers_left["flights/odd"] = 100
    third.publish(small_release("flights/late", 1))
    async with client_of(kind, at(first), waits=QUICK) as client:
        assert client.instance == "store-0"
        async with client.feed("flights") as feeder:
            await feeder.send([1, 2, 3], [0, 1, 0])
        assert (await client.predict("flights/odd", [3, 4])).labels.tolist() == [1, 0]
        assert list((await client.status("flights"))["streams"]) == ["flights", "ids"]
        assert await client.instance_of("flights") == third.behaviour.instance
        assert await client.instance_of("ids") == "store-0"
        latest = await client.latest("flights/late")
        assert latest is not None
        assert latest.version == 1
        releases = client.subscribe("flights/late")
        assert (await anext(releases)).version == 1
        await releases.aclose()
        # Streams that are here are asked for here.
        async with client.feed("ids") as feeder:
            await feeder.send([1], [1])
    assert third.examples("flights") == ([1, 2, 3], [0, 1, 0])
    assert first.examples("flights") == ([], [])
    assert first.examples("ids") == ([1], [1])
    kinds = {type(each) for each in first.redirections}
    # Before it asks something of another store than before it makes sure that the stream is there.
    assert kinds == {Open, StatusRequest, *([Predict] if stores == 1 else [])}


async def test_one_connection_to_each_daemon_serves_all_calls(
    kind: str, daemons: list[SmallDaemon]
) -> None:
    first, _, third = daemons
    third.answers_left["flights/odd"] = 100
    async with client_of(kind, at(first), waits=QUICK) as client:
        for number in range(5):
            await client.status("flights")
            assert (await client.predict("flights/odd", [number])).labels.tolist() == [number % 2]
    # The asyncio client has one for statuses and one for predictions.
    most = 1 if kind == "blocking" else 2
    assert (first.greetings, third.greetings) == (most, most)


async def test_several_addresses_are_asked_in_turn(kind: str, daemons: list[SmallDaemon]) -> None:
    first, second, third = daemons
    first.stop_listening()
    addresses = [at(first), at(second)]
    async with client_of(kind, addresses, waits=QUICK) as client:
        async with client.feed("flights", producer="p") as feeder:
            await feeder.send([1], [1])
        second.stop_listening()
        assert first.path is not None
        first.listen(first.path)
        async with client.feed("flights", producer="p") as feeder:
            assert feeder.next_sequence == 1
            await feeder.send([2], [0])
    async with client_of(kind, ",".join(addresses), waits=QUICK) as client:
        await client.status("flights")
    assert third.examples("flights") == ([1, 2], [1, 0])


async def test_no_address_answers(kind: str, daemons: list[SmallDaemon]) -> None:
    for daemon in daemons:
        daemon.stop_listening()
    addresses = [at(daemon) for daemon in daemons]
    with pytest.raises(UnreachableError, match=f"at {' or '.join(addresses)} "):
        async with client_of(kind, addresses):
            pass


async def test_an_older_daemon_is_used_as_ever(kind: str, daemons: list[SmallDaemon]) -> None:
    """One that speaks version 1 never says `moved`; the client speaks to it as it did."""
    third = daemons[2]
    changed(third, version=1)
    third.publish(small_release("flights/late", 1))
    async with client_of(kind, at(third), waits=QUICK) as client:
        async with client.feed("flights") as feeder:
            await feeder.send([1], [1])
        assert (await taken(client.subscribe("flights/late"), 1))[0].version == 1
    assert third.examples("flights") == ([1], [1])


# --- Streams that move ----------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("acknowledged", [True, False])
async def test_a_feeder_follows_and_every_example_is_learned_once(
    kind: str, daemons: list[SmallDaemon], acknowledged: bool
) -> None:
    first, second, third = daemons
    changed(third, hold_acks=not acknowledged)
    addresses = [at(first), at(second)]
    async with (
        client_of(kind, addresses, waits=QUICK) as client,
        client.feed("flights", producer="p") as feeder,
    ):
        await feeder.send([1, 2], [1, 0])
        await until(lambda: third.position["flights"] == 2)
        if acknowledged:
            await feeder.flush()
        # A part of what is durable there was not acknowledged; a part of what was sent is lost.
        changed(third, drop_after_frames=2, forget=True, drops=1)
        await feeder.send([3, 4, 5], [0, 0, 1])
        await until(lambda: third.behaviour.drops == 0)
        third.stop_listening()
        move(daemons, third, second)
        await feeder.send([6], [1])
        await feeder.flush()
        assert feeder.acknowledged == 6
    assert second.examples("flights") == ([1, 2, 3, 4, 5, 6], [1, 0, 0, 0, 1, 1])


async def test_a_subscriber_follows_and_sees_every_release_once(
    kind: str, daemons: list[SmallDaemon]
) -> None:
    first, second, third = daemons
    for version in (1, 2):
        third.publish(small_release("flights/late", version, threshold=version))
    async with client_of(kind, [at(first), at(second)], waits=QUICK) as client:
        releases = client.subscribe("flights/late")
        seen = await taken(releases, 2)
        third.stop_listening()
        move(daemons, third, first)
        first.publish(small_release("flights/late", 3, threshold=3))
        seen += await taken(releases, 1)
        move(daemons, first, second)
        first.drop()
        second.publish(small_release("flights/late", 4, threshold=4))
        seen += await taken(releases, 1)
        await releases.aclose()
    assert [each.version for each in seen] == [1, 2, 3, 4]


async def test_a_subscription_that_a_daemon_ends_begins_again(
    kind: str, daemons: list[SmallDaemon]
) -> None:
    first, second, third = daemons
    third.publish(small_release("flights/late", 1))
    async with client_of(kind, at(first), waits=QUICK) as client:
        releases = client.subscribe("flights/late")
        assert (await anext(releases)).version == 1
        move(daemons, third, second)
        second.publish(small_release("flights/late", 2))

        def tell() -> None:
            for peer in third.peers:
                if peer.learners:
                    peer.send(Moved("flights", [at(second)], 0, None, "flights/late"))

        third.on_loop(tell)
        assert (await anext(releases)).version == 2
        await releases.aclose()


async def test_questions_are_asked_again_under_the_same_name(
    kind: str, daemons: list[SmallDaemon]
) -> None:
    first, second, third = daemons
    for daemon in (second, third):
        daemon.answers_left["flights/odd"] = 100
    async with client_of(kind, [at(first), at(second)], waits=QUICK) as client:
        changed(third, drop_answers=1)
        asked = beside(kind, client.predict("flights/odd", [1, 2], request=bytes(range(16))))
        await until(lambda: bool(third.requests))
        second.answered = dict(third.answered)
        third.stop_listening()
        move(daemons, third, second)
        found = await asked
    assert found.labels.tolist() == [1, 0]
    assert found.repeated
    assert {each.request for each in (*second.requests, *third.requests)} == {bytes(range(16))}


# --- Nobody, and circles --------------------------------------------------------------------------


async def test_a_stream_that_nobody_serves_is_waited_for(
    kind: str, daemons: list[SmallDaemon]
) -> None:
    first, second, third = daemons
    for daemon in (first, second):
        changed(daemon, moved={"flights": []}, after_ms=30)

    def serve() -> None:
        for daemon in (first, second):
            changed(daemon, moved={"flights": [at(third)]})

    async with client_of(kind, at(first), waits=QUICK) as client:
        threading.Timer(0.2, serve).start()
        started = time.monotonic()
        async with client.feed("flights") as feeder:
            assert time.monotonic() - started > 0.15
            # It was not asked more often than it said.
            assert 2 <= len(first.redirections) <= 0.2 / 0.03 + 3
            await feeder.send([1], [1])
    assert third.examples("flights") == ([1], [1])


USES: dict[str, Callable[[Any], Any]] = {
    "feed": lambda client: client.feed("flights").__aenter__(),
    "subscribe": lambda client: anext(client.subscribe("flights/late")),
    "predict": lambda client: client.predict("flights/odd", [1]),
    "status": lambda client: client.status("flights"),
}


@pytest.mark.parametrize("use", USES)
async def test_a_stream_that_stays_away_is_given_up(
    kind: str, use: str, daemons: list[SmallDaemon]
) -> None:
    changed(daemons[0], moved={"flights": []}, after_ms=10)
    async with client_of(kind, at(daemons[0]), waits=IMPATIENT) as client:
        with pytest.raises(StreamElsewhereError, match="no daemon serves flights right now") as e:
            await USES[use](client)
        assert (e.value.stream, e.value.addresses) == ("flights", ())
        # The client is of use for other streams.
        async with client.feed("ids") as feeder:
            await feeder.send([1], [1])


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("length", [1, 3])
async def test_a_circle_ends_with_an_error_that_names_the_addresses(
    kind: str, length: int, use: str, daemons: list[SmallDaemon]
) -> None:
    circle = daemons[:length]
    for daemon, following in zip(circle, [*circle[1:], circle[0]], strict=True):
        changed(daemon, moved={"flights": [at(following)]})
    async with client_of(kind, at(circle[0]), waits=IMPATIENT) as client:
        with pytest.raises(StreamElsewhereError) as caught:
            await USES[use](client)
    assert sorted(caught.value.addresses) == sorted(map(at, circle))
    for daemon in circle:
        assert at(daemon) in str(caught.value)


async def test_a_circle_that_opens_is_left(kind: str, daemons: list[SmallDaemon]) -> None:
    first, second, third = daemons
    changed(first, moved={"flights": [at(second)]})
    changed(second, moved={"flights": [at(first)]})
    threading.Timer(0.1, lambda: changed(second, moved={"flights": [at(third)]})).start()
    async with client_of(kind, at(first), waits=QUICK) as client, client.feed("flights") as feeder:
        await feeder.send([1], [1])
    assert third.examples("flights") == ([1], [1])


async def test_a_daemon_that_only_says_that_it_serves_is_given_up(
    kind: str, daemons: list[SmallDaemon]
) -> None:
    """Its status has the stream, and every subscription ends at once."""
    first = daemons[0]
    changed(first, tells=True)
    async with client_of(kind, at(first), waits=IMPATIENT) as client:
        with pytest.raises(UnreachableError, match="does not serve the stream any more"):
            await anext(client.subscribe("flights/late"))


# --- Hostile daemons ------------------------------------------------------------------------------


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    "unsafe", ["192.0.2.1:4815", "b.example:1", "[2001:db8::1]:1", "127.0.0.1.example:1"]
)
async def test_a_token_is_never_sent_to_plain_tcp_because_a_daemon_says_so(
    kind: str, unsafe: str, use: str, daemons: list[SmallDaemon], monkeypatch: pytest.MonkeyPatch
) -> None:
    connected: list[Any] = []
    for name in ("create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, lambda *to, **_: connected.append(to))
    changed(daemons[0], moved={"flights": [unsafe]})
    async with client_of(kind, at(daemons[0]), waits=QUICK, token=TOKEN) as client:
        with pytest.raises(StreamElsewhereError, match="is not as safe as a Unix socket") as e:
            await USES[use](client)
    assert e.value.addresses == (unsafe,)
    assert connected == []


async def test_a_daemon_over_tcp_sends_nobody_to_a_socket_of_this_machine(
    kind: str, daemons: list[SmallDaemon], tmp_path: Path
) -> None:
    with running(str(tmp_path / "tcp.sock"), STREAMS) as far:
        far.stop_listening()
        port = far.listen_tcp()
        changed(far, version=2, moved={"flights": [at(daemons[2])]})
        async with client_of(kind, f"127.0.0.1:{port}", waits=QUICK, token=TOKEN) as client:
            with pytest.raises(StreamElsewhereError, match="not as safe as TCP on this machine"):
                await client.status("flights")
    assert daemons[2].tokens == []


async def test_the_token_is_shown_where_it_is_safe(kind: str, daemons: list[SmallDaemon]) -> None:
    async with client_of(kind, at(daemons[0]), waits=QUICK, token=TOKEN) as client:
        await client.status("flights")
    assert set(daemons[2].tokens) == {TOKEN}


async def test_moved_in_version_1_breaks_the_protocol(
    kind: str, daemons: list[SmallDaemon]
) -> None:
    from littled_protocol.codec import encode_frame

    first = daemons[0]
    changed(first, version=1, moved={})
    async with client_of(kind, at(first), waits=IMPATIENT) as client:
        releases = client.subscribe("flights/late")
        first.publish(small_release("flights/late", 1))
        assert (await anext(releases)).version == 1
        frame = encode_frame(Moved("flights", [at(daemons[2])], 0, None, "flights/late"))

        def tell() -> None:
            for peer in first.peers:
                peer.transport.write(frame)

        first.on_loop(tell)
        with pytest.raises(RemoteProtocolError, match="unexpected_message"):
            await anext(releases)


# --- Witnesses ------------------------------------------------------------------------------------


async def test_a_feeder_refuses_a_place_that_lacks_what_was_acknowledged(
    kind: str, daemons: list[SmallDaemon]
) -> None:
    first, second, third = daemons
    async with client_of(kind, [at(first), at(second)], waits=QUICK) as client:
        with pytest.raises(ChangedStoreError, match="had acknowledged 3"):  # noqa: PT012
            async with client.feed("flights", producer="p") as feeder:
                await feeder.send([1, 2, 3], [0, 0, 0])
                await feeder.flush()
                third.stop_listening()
                third.next_sequence["flights", "p"] = 2
                move(daemons, third, second)
                await feeder.send([4], [1])
                await feeder.flush()
    assert second.examples("flights") == ([1, 2, 3], [0, 0, 0])


@pytest.mark.parametrize("use", [use for use in USES if use != "predict"])
async def test_another_store_of_the_stream_is_refused_before_anything_is_sent_there(
    kind: str, use: str, daemons: list[SmallDaemon]
) -> None:
    first, second, third = daemons
    second.publish(small_release("flights/late", 1))
    async with client_of(kind, [at(first), at(second)], waits=QUICK) as client:
        await client.status("flights")
        third.stop_listening()
        changed(second, instance="store-2")
        move(daemons, third, second)
        with pytest.raises(ChangedStoreError, match="another store"):
            await USES[use](client)
    assert not any(peer._stream or peer.learners for peer in second.peers)


async def test_a_question_is_not_asked_of_another_store(
    kind: str, daemons: list[SmallDaemon]
) -> None:
    first, second, third = daemons
    for daemon in (second, third):
        daemon.answers_left["flights/odd"] = 100
    async with client_of(kind, [at(first), at(second)], waits=QUICK) as client:
        await client.predict("flights/odd", [1])
        third.stop_listening()
        changed(second, instance="store-2")
        move(daemons, third, second)
        with pytest.raises(ChangedStoreError, match="another store"):
            await client.predict("flights/odd", [1])
    assert second.requests == []


async def test_another_release_under_a_version_that_was_seen_is_refused(
    kind: str, daemons: list[SmallDaemon]
) -> None:
    first, second, third = daemons
    for version in (1, 2):
        third.publish(small_release("flights/late", version, threshold=version))
    async with client_of(kind, [at(first), at(second)], waits=QUICK) as client:
        releases = client.subscribe("flights/late")
        await taken(releases, 2)
        third.stop_listening()
        third.releases["flights/late"][1] = small_release("flights/late", 2, threshold=99)
        third.publish(small_release("flights/late", 3))
        move(daemons, third, second)
        with pytest.raises(ChangedStoreError, match="version 2 of flights/late is another one"):
            await anext(releases)


async def test_a_stream_of_another_type_is_refused(kind: str, daemons: list[SmallDaemon]) -> None:
    first, second, third = daemons
    async with client_of(kind, [at(first), at(second)], waits=QUICK) as client:
        with pytest.raises(ChangedStoreError, match="another stream of this name"):  # noqa: PT012
            async with client.feed("flights", producer="p") as feeder:
                await feeder.send([1], [1])
                await feeder.flush()
                third.stop_listening()
                second.streams["flights"] = "u16"
                move(daemons, third, second)
                await feeder.send([2], [1])
                await feeder.flush()


async def test_a_call_that_is_given_up_leaves_no_answer_to_the_next_one(
    kind: str, daemons: list[SmallDaemon]
) -> None:
    if kind == "blocking":
        pytest.skip("a call of the blocking client is not cancelled")
    third = daemons[2]
    async with client_of(kind, at(third), waits=QUICK) as client:
        changed(third, mute=True)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.status("ids"), 0.05)
        changed(third, mute=False, moved={"flights": []})
        assert "ids" in (await client.status("ids"))["streams"]
