"""Streams that protect users, over real sockets and processes: from arrival to the replay."""

import functools
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from littled.budget.unit import EXAMPLE, Unit
from littled.classes.names import class_from_name
from littled.cli.replaying import compare_stream
from littled.planner import OnlineRequest, StreamPlan, StreamRequest, plan_stream
from littled.service.users import UserHash
from littled.store.store import Store
from littled.store.verify import verify
from littled_client import Client, Waits, hash_users
from littled_protocol.columns import encode_users
from littled_protocol.errors import ERROR_SENTENCES, ErrorCode
from littled_protocol.messages import Ack, Error, Examples, Open
from support.serving import Peer, Serving, serving

WAITS = Waits(connect_seconds=30.0, delay_least_seconds=0.01, delay_most_seconds=0.1)
USER_EXAMPLES_MAX = 2
STREAMS: dict[str, Any] = {"visits": "user", "clicks": "user", "flights": "example"}


@functools.cache
def plan(unit: Any) -> StreamPlan:
    """A plan for a budget that is large enough to learn from a few thousand users."""
    learner = OnlineRequest("late", class_from_name("thresholds:200"))
    protected = Unit(USER_EXAMPLES_MAX) if unit == "user" else EXAMPLE
    budget = Fraction(8), Fraction(1, 10**6)
    return plan_stream(StreamRequest("any", *budget, 50_000, (learner,), protected))


def make_store(path: Path) -> Path:
    """A new store."""
    plans = {name: replace(plan(unit), stream=name).to_dict() for name, unit in STREAMS.items()}
    Store.create(path, {"streams": sorted(STREAMS)}, plans)
    return path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A new store of the test's own."""
    return make_store(tmp_path / "store")


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the daemon that tests share."""
    return make_store(tmp_path_factory.mktemp("users") / "store")


@pytest.fixture(scope="module")
def daemon(shared_store: Path) -> Iterator[Serving]:
    """One daemon for tests that do not learn; it must survive them all."""
    with serving(shared_store) as running:
        yield running
        assert running.stop() == 0
        assert [line for line in running.lines if line.get("level") != "info"] == []
    assert verify(shared_store).findings == ()


@pytest.fixture
def peer(daemon: Serving) -> Iterator[Peer]:
    """A peer that was let in."""
    with Peer.greet(daemon.unix) as made:
        yield made


def digests(*users: str) -> bytes:
    """The column of some users as it travels."""
    return encode_users(hash_users(users))


def stored(path: Path, stream: str, producer: str) -> tuple[bytes, bytes]:
    """Points and users of a producer's records, from a store that is open elsewhere."""
    with Store.open(path, read_only=True) as opened:
        records = [each for each in opened.records(stream) if each.producer == producer]
        return b"".join(each.x for each in records), b"".join(each.users for each in records)


def hashed(path: Path, stream: str, column: bytes) -> bytes:
    """What a store keeps in the place of a column of users."""
    with Store.open(path, read_only=True) as opened:
        return bytes(UserHash(opened.noise_key, stream).column(column))


# --- What comes in --------------------------------------------------------------------------------


@pytest.mark.long
def test_only_a_stream_of_users_asks_for_them(peer: Peer) -> None:
    assert peer.open("visits", "asked", 0).users is True
    assert peer.open("flights", "asked", 1).users is None


@pytest.mark.long
def test_users_are_hashed_before_they_are_stored(peer: Peer, shared_store: Path) -> None:
    columns = digests("ann", "bob", "ann")
    for stream, channel in (("visits", 0), ("clicks", 1)):
        peer.open(stream, "hashing", channel)
        peer.send(Examples(channel, 0, 3, b"abc", bytes(3), columns))
        peer.send(Examples(channel, 3, 1, [7], [1], digests("bob")))
        peer.acknowledged(4)
        x, users = stored(shared_store, stream, "hashing")
        assert x == b"abc\x07"
        assert users == hashed(shared_store, stream, columns + digests("bob"))
        assert users[:16] == users[32:48] != users[16:32] == users[48:]
    assert stored(shared_store, "visits", "hashing")[1] != users


def test_a_burst_of_frames_keeps_its_users(peer: Peer, shared_store: Path) -> None:
    peer.open("visits", "burst")
    names = [f"user {index % 90}" for index in range(3_000)]
    column = digests(*names)
    peer.send(
        *(
            Examples(0, index, 1, bytes([index % 200]), b"\0", column[16 * index : 16 * index + 16])
            for index in range(3_000)
        )
    )
    peer.acknowledged(3_000)
    x, users = stored(shared_store, "visits", "burst")
    assert x == bytes(index % 200 for index in range(3_000))
    assert users == hashed(shared_store, "visits", column)


def test_what_overlaps_is_cut_with_its_users(peer: Peer, shared_store: Path) -> None:
    peer.open("visits", "overlap")
    first, second = digests("ann", "bob"), digests("bob", "eve", "dan")
    peer.send(Examples(0, 0, 2, b"ab", bytes(2), first))
    peer.send(Examples(0, 1, 3, b"bcd", bytes(3), second))
    peer.acknowledged(4)
    x, users = stored(shared_store, "visits", "overlap")
    assert x == b"abcd"
    assert users == hashed(shared_store, "visits", digests("ann", "bob", "eve", "dan"))


ONE = digests("canary")
WRONG = {
    "no users": ("visits", None, ErrorCode.USERS_MISSING),
    "users of examples": ("flights", ONE * 2, ErrorCode.USERS_UNEXPECTED),
    "no bytes": ("visits", b"", ErrorCode.INVALID_EXAMPLES),
    "no bytes of examples": ("flights", b"", ErrorCode.USERS_UNEXPECTED),
    "a user too few": ("visits", ONE, ErrorCode.INVALID_EXAMPLES),
    "a user too many": ("visits", ONE * 3, ErrorCode.INVALID_EXAMPLES),
    "a byte too few": ("visits", (ONE * 2)[:-1], ErrorCode.INVALID_EXAMPLES),
}


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_users_end_the_session_and_nothing_else(
    daemon: Serving, name: str, repeated: bool
) -> None:
    stream, users, code = WRONG[name]
    producer = f"{name}-{repeated}".replace(" ", "-")
    good = None if stream == "flights" else digests("ann", "bob")
    with Peer.greet(daemon.unix) as peer:
        peer.open(stream, producer)
        peer.send(Examples(0, 0, 2, b"ab", bytes(2), good))
        if repeated:
            peer.acknowledged(2)
        peer.send(Examples(0, 0 if repeated else 2, 2, b"ab", bytes(2), users))
        while not isinstance(message := peer.receive(), Error):
            assert isinstance(message, Ack)
        assert message == Error(code, ERROR_SENTENCES[code], 0)
    with Peer.greet(daemon.unix) as again:
        assert again.open(stream, producer).next_sequence == 2


def test_a_wrong_batch_takes_its_users_along(daemon: Serving, shared_store: Path) -> None:
    with Peer.greet(daemon.unix) as peer:
        peer.open("clicks", "domain")
        peer.send(
            Examples(0, 0, 1, b"a", b"\0", digests("ann")),
            Examples(0, 1, 1, b"\xc8", b"\0", digests("bob")),  # outside thresholds:200
            Examples(0, 2, 1, b"b", b"\0", digests("eve")),
        )
        assert peer.error() == "invalid_examples"
    with Peer.greet(daemon.unix) as again:
        assert again.open("clicks", "domain").next_sequence == 1
    assert stored(shared_store, "clicks", "domain") == (
        b"a",
        hashed(shared_store, "clicks", digests("ann")),
    )


def test_the_status_says_what_is_protected(daemon: Serving) -> None:
    with Client(f"unix:{daemon.unix}") as client:
        streams = client.status()["streams"]
    assert (streams["visits"]["unit"], streams["visits"]["user_examples_max"]) == ("user", 2)
    assert streams["flights"]["unit"] == "example"
    assert "user_examples_max" not in streams["flights"]


# --- Learning -------------------------------------------------------------------------------------


def season(seed: int, count: int, users: int) -> tuple[Any, Any, list[str]]:
    """Points with a threshold at 70, and for each the name of one of some users."""
    random = np.random.default_rng(seed)
    x = random.integers(0, 200, count).astype(np.uint8)
    whose = random.integers(0, users, count)
    return x, (x >= 70).astype(np.uint8), [f"canary-{number}@example.org" for number in whose]


def feed(running: Serving, columns: tuple[Any, Any, list[str]], first: int, last: int) -> None:
    """Feed a part in batches that overlap no record boundary in particular."""
    x, y, users = columns
    with (
        Client(f"unix:{running.unix}", producer="p", waits=WAITS) as client,
        client.feed("visits") as feeder,
    ):
        assert feeder.next_sequence == first
        for start in range(first, last, 777):
            part = slice(start, min(start + 777, last))
            feeder.send(x[part], y[part], users[part])


def test_a_stream_of_users_is_learned_killed_and_replayed(store: Path) -> None:
    """How often a user has counted outlives a kill and a stop with a snapshot."""
    columns = season(1, 60_000, 20_000)
    for first, last in pairwise([0, 15_000, 35_000, 60_000]):  # the last beyond a season's end
        with serving(store) as running:
            feed(running, columns, first, last)
            if first:
                assert running.stop() == 0
            else:
                running.kill()
    assert verify(store).findings == ()
    with Store.open(store, read_only=True) as opened:
        comparison = compare_stream(opened, "visits")
        users = b"".join(each.users for each in opened.records("visits"))
        restored = [opened.snapshot(stream) is not None for stream in STREAMS]
    assert comparison.findings == ()
    assert comparison.releases >= 3
    assert users == hashed(store, "visits", digests(*columns[2]))
    assert restored[0]


# --- What is never shown --------------------------------------------------------------------------


def test_ids_and_their_digests_are_nowhere(store: Path) -> None:
    columns = season(4, 20_000, 50)
    names = sorted(set(columns[2]))
    with serving(store, http=["127.0.0.1", 0]) as running:
        feed(running, columns, 0, 20_000)
        shown = []
        for path in ("/status", "/metrics", "/rules/visits/late", "/healthz"):
            with urllib.request.urlopen(running.url(path)) as answer:  # noqa: S310
                shown.append(answer.read())
        for users in (None, b"", digests(names[0]) * 2, digests(names[0])[:-1]):
            with Peer.greet(running.unix) as peer:
                peer.send(Open(0, "visits", "wrong"))
                peer.receive()
                peer.send(Examples(0, 0, 1, b"a", b"\0", users))
                peer.error()
                shown.append(bytes(peer.received))
        files = sorted(store.rglob("*"))
        assert any(each.name.endswith("-wal") for each in files)
        shown += [each.read_bytes() for each in files if each.is_file()]
        assert running.stop() == 0
        shown.append(running.text.encode())
    shown += [each.read_bytes() for each in store.rglob("*") if each.is_file()]
    kept = hashed(store, "visits", digests(*names))
    assert any(kept[:16] in each for each in shown), "users are not where they were looked for"
    for name in names:
        digest = digests(name)
        for form in (name.encode(), digest, digest[::-1], digest.hex().encode()):
            assert not any(form in each for each in shown)
