"""Both clients with real daemons: a store that one after another serves, killed or stopped."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from littled.store.store import Store
from littled_client import AsyncClient, Client, StreamElsewhereError, Tls, TlsError, Waits
from littled_client.published import Published
from support.certificates import Authority
from support.moving import make_store, moving
from support.serving import PlacesFile, Serving, serving

WAITS = Waits(connect_seconds=30.0, delay_least_seconds=0.02, delay_most_seconds=0.2)
SHORT = Waits(reconnect_seconds=0.5, delay_least_seconds=0.02, delay_most_seconds=0.1)
COUNT = 24_000
TOKEN = "0123456789abcdef" * 2


def examples() -> tuple[Any, Any]:
    x = (np.arange(COUNT) * 97 % 256).astype(np.uint8)
    return x, (x >= 84).astype(np.uint8)


def learned(store: Path) -> dict[str, list[tuple[int, int]]]:
    """All examples in the journal by producer, in their order there."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    with Store.open(store) as opened:
        for record in opened.records("flights"):
            assert record.sequence == len(found[record.producer])
            found[record.producer] += zip(record.x, record.y, strict=True)
    return dict(found)


@pytest.mark.long
def test_streams_move_while_both_clients_feed_and_follow(tmp_path: Path) -> None:
    """Killed and stopped in turns: each example is learned once, each release is seen once."""
    x, y = examples()
    seen: dict[str, list[Published]] = {"blocking": [], "asyncio": []}
    fed, over = threading.Event(), threading.Event()

    def feed(address: str) -> None:
        with (
            Client(address, waits=WAITS) as client,
            client.feed("flights", producer="blocking") as feeder,
        ):
            for start in range(0, COUNT, 200):
                feeder.send(x[start : start + 200], y[start : start + 200])
                over.wait(0.02)
            feeder.flush()
            assert feeder.acknowledged == COUNT

    def follow(address: str) -> None:
        with Client(address, waits=WAITS) as client:
            while not fed.is_set():
                since = seen["blocking"][-1].version if seen["blocking"] else 0
                seen["blocking"] += client.subscribe("flights/late", since, wait_seconds=2.0)

    async def feed_and_follow(address: str) -> None:
        async with AsyncClient(address, waits=WAITS) as client:

            async def follow() -> None:
                async for published in client.subscribe("flights/late"):
                    seen["asyncio"].append(published)

            following = asyncio.create_task(follow())
            async with client.feed("flights", producer="asyncio") as feeder:
                for number in range(COUNT):
                    await feeder.send_one(x[number], y[number])
                    if number % 100 == 0:
                        await asyncio.sleep(0.01)
            await asyncio.sleep(1.0)
            following.cancel()
            with pytest.raises(asyncio.CancelledError):
                await following

    with moving(tmp_path) as (store, address):
        workers = [
            threading.Thread(target=feed, args=(address,)),
            threading.Thread(target=asyncio.run, args=(feed_and_follow(address),)),
        ]
        follower = threading.Thread(target=follow, args=(address,))
        for thread in (*workers, follower):
            thread.start()
        for killed in (True, False, True, False):
            over.wait(0.5)
            store.leave(killed=killed)
            over.wait(0.2)
            store.serve()
        for thread in workers:
            thread.join(120)
            assert not thread.is_alive()
        fed.set()
        follower.join(60)
        with Client(address, waits=WAITS) as client:
            everything = list(client.subscribe("flights/late", wait_seconds=1.0))
        store.leave(killed=False)
    expected = [(int(a), int(b)) for a, b in zip(x, y, strict=True)]
    assert learned(tmp_path / "flights") == {"blocking": expected, "asyncio": expected}
    assert len(everything) > 1
    assert [each.version for each in everything] == list(range(1, len(everything) + 1))
    for found in seen.values():
        assert found == everything[: len(found)]
    assert len(seen["blocking"]) == len(everything)


@pytest.mark.long
def test_a_stream_that_stays_away_is_given_up(tmp_path: Path) -> None:
    with moving(tmp_path) as (store, address):
        store.leave(killed=False)
        with Client(address, waits=SHORT) as client:
            with pytest.raises(StreamElsewhereError, match="no daemon serves flights right now"):
                client.status("flights")
            store.places.say(flights=[address])
            with pytest.raises(StreamElsewhereError, match="where daemons say that it is"):
                client.status("flights")


# --- TLS ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "ours")


@contextmanager
def over_tls(
    folder: Path, authority: Authority, second: str
) -> Iterator[tuple[Serving, Serving, PlacesFile]]:
    """A front and the daemon that has `flights`, whose certificate is for `second`."""
    places = PlacesFile(folder / "places")
    places.say()

    def how(name: str) -> dict[str, Any]:
        issued = authority.issue(name, server=True)
        files = {"certificate": str(issued.certificate), "key": str(issued.key)}
        return {"tcp": ["127.0.0.1", 0], "token": TOKEN, "tls": files}

    one, two = make_store(folder / "front", "other"), make_store(folder / "flights", "flights")
    with (
        serving(one, elsewhere=str(places.path), **how("front.example")) as front,
        serving(two, **how(second)) as daemon,
    ):
        yield front, daemon, places


def tls_address(daemon: Serving, host: str = "127.0.0.1") -> str:
    return f"tls://{host}:{daemon.address('tcp')[1]}"


def test_the_certificate_of_the_new_host_is_checked_and_the_token_is_shown(
    tmp_path: Path, authority: Authority
) -> None:
    tls = Tls(ca=authority.path)
    with over_tls(tmp_path, authority, "second.example") as (front, daemon, places):
        places.say(flights=[tls_address(daemon)])
        with (
            Client(tls_address(front), tls=tls, token=TOKEN, waits=WAITS) as client,
            client.feed("flights") as feeder,
        ):
            feeder.send([1], [1])

        async def ask() -> Any:
            first = tls_address(front)
            async with AsyncClient(first, tls=tls, token=TOKEN, waits=WAITS) as client:
                return await client.status("flights")

        assert asyncio.run(ask())["streams"]["flights"]["position"] == 1
        # The name that its user gave for the first host is not asked of the second one.
        named = Tls(ca=authority.path, server_name="front.example")
        with Client(tls_address(front), tls=named, token=TOKEN, waits=WAITS) as client:
            assert client.status("flights")["streams"]["flights"]["position"] == 1


def test_a_certificate_of_another_host_ends_the_search_before_a_token_is_shown(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, tls = socket.getaddrinfo, Tls(ca=authority.path)

    def here(host: Any, *others: Any, **more: Any) -> Any:
        return found("127.0.0.1" if host == "third.example" else host, *others, **more)

    monkeypatch.setattr(socket, "getaddrinfo", here)
    with over_tls(tmp_path, authority, "second.example") as (front, daemon, places):
        places.say(flights=[tls_address(daemon, "third.example")])
        with (
            Client(tls_address(front), tls=tls, token=TOKEN, waits=WAITS) as client,
            pytest.raises(TlsError, match="certificate is not trusted"),
        ):
            client.status("flights")

        async def ask() -> None:
            first = tls_address(front)
            async with AsyncClient(first, tls=tls, token=TOKEN, waits=WAITS) as client:
                await client.status("flights")

        with pytest.raises(TlsError, match="certificate is not trusted"):
            asyncio.run(ask())


def test_tls_is_not_left_for_plain_tcp_on_this_machine(
    tmp_path: Path, authority: Authority
) -> None:
    with over_tls(tmp_path, authority, "second.example") as (front, daemon, places):
        host, port = daemon.address("tcp")
        for unsafe in (f"{host}:{port}", f"unix:{daemon.unix}"):
            places.say(flights=[unsafe])
            tls = Tls(ca=authority.path)
            with (
                Client(tls_address(front), tls=tls, token=TOKEN, waits=WAITS) as client,
                pytest.raises(StreamElsewhereError, match="not as safe as TLS"),
            ):
                client.status("flights")
