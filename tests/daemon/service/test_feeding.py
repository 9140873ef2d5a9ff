"""Rows over HTTP to a whole daemon: durable, once each, whoever is killed, refused in sentences."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from littled.budget.unit import Unit
from littled.classes.names import class_from_name
from littled.planner import OnlineRequest, StreamRequest, plan_stream
from littled.service import http_asking, http_bodies
from littled.service.access import Access, Gate
from littled.service.users import UserHash
from littled.store.store import Store
from littled.store.verify import verify
from littled_client import hash_users
from littled_protocol.columns import encode_users
from littled_protocol.errors import ErrorCode
from littled_protocol.messages import Error
from support.serving import Peer, Serving, serving, wait_for_file
from support.sites import FakeDaemon, Site, run

LOOPBACK = ["127.0.0.1", 0]
JSON = "application/json"


def send(
    daemon: Serving, path: str, body: Any = None, method: str = "POST", **headers: str
) -> tuple[int, Any]:
    """Send a request; its status, and the JSON of the answer."""
    sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    connection = http.client.HTTPConnection(*daemon.address("http"), timeout=60)
    try:
        connection.request(method, path, sent, {"Content-Type": JSON, **headers})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def feed(
    daemon: Serving, rows: Any, sequence: int, *, stream: str = "flights", producer: str = "p"
) -> tuple[int, Any]:
    """Send rows as a producer."""
    return send(daemon, f"/feed/{stream}?producer={producer}&sequence={sequence}", rows)


def stored(path: Path, stream: str, producer: str) -> tuple[bytes, bytes, bytes]:
    """Points, labels and users of a producer, in their order."""
    with Store.open(path, read_only=True) as store:
        records = [each for each in store.records(stream) if each.producer == producer]
    numbers = [each.sequence for each in records]
    assert numbers == [sum(each.count for each in records[:index]) for index in range(len(records))]
    x, y, users = ([getattr(each, name) for each in records] for name in ("x", "y", "users"))
    return b"".join(x), b"".join(y), b"".join(users)


@pytest.fixture(scope="module")
def daemon(module_store: Path) -> Iterator[Serving]:
    """One daemon for tests that do not stop it; it must survive them all, and say nothing."""
    with serving(module_store, http=LOOPBACK) as running:
        yield running
        assert running.stop() == 0
        assert [line for line in running.lines if line.get("level") != "info"] == []
    assert verify(module_store).findings == ()


# --- Once each ------------------------------------------------------------------------------------


def test_rows_are_durable_once_however_often_they_are_sent(
    daemon: Serving, module_store: Path
) -> None:
    where = {"stream": "flights", "producer": "p"}
    status, answer = feed(daemon, [[1, 0], [70, 1]], 0)
    position = answer.pop("position")
    assert (status, answer) == (200, {**where, "next_sequence": 2, "accepted": 2})
    again = {**where, "next_sequence": 2, "position": position, "accepted": 0}
    assert feed(daemon, [[1, 0], [70, 1]], 0) == (200, again)
    more = {**where, "next_sequence": 4, "position": position + 2, "accepted": 2}
    assert feed(daemon, {"x": [70, 3, 90], "y": [1, 0, 1]}, 1) == (200, more)
    missing = {"error": "rows are missing: the producer's next sequence is 4", "next_sequence": 4}
    assert feed(daemon, [[1, 0]], 5) == (409, missing)
    assert feed(daemon, [[1, 0], [1, 2]], 4)[0] == 400  # all or nothing
    asked = {**where, "next_sequence": 4, "position": position + 2}
    assert send(daemon, "/feed/flights?producer=p", method="GET") == (200, asked)
    nobody = {**asked, "producer": "q", "next_sequence": 0}
    assert send(daemon, "/feed/flights?producer=q", method="GET") == (200, nobody)
    assert stored(module_store, "flights", "p") == (bytes([1, 70, 3, 90]), bytes([0, 1, 0, 1]), b"")


def test_requests_of_one_producer_take_turns(daemon: Serving, module_store: Path) -> None:
    rows = [[value, 0] for value in range(200)]
    answers: list[tuple[int, Any]] = []

    def work() -> None:
        answers.append(feed(daemon, rows, 0, producer="many"))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [status for status, _ in answers] == [200] * 8
    assert sorted(answer["accepted"] for _, answer in answers) == [*[0] * 7, 200]
    assert stored(module_store, "flights", "many")[0] == bytes(range(200))


def test_the_last_of_two_ways_goes_on(daemon: Serving) -> None:
    assert feed(daemon, [[1, 0]], 0, producer="both")[0] == 200
    with Peer.greet(daemon.unix) as peer:
        assert peer.open("flights", "both").next_sequence == 1
        peer.feed(1, b"abc", bytes(3))
        assert feed(daemon, [[1, 0]] * 5, 0, producer="both")[1]["next_sequence"] == 5
        while not isinstance(error := peer.receive(), Error):
            pass
        assert error.code == ErrorCode.PRODUCER_BUSY


def test_long_bodies_become_several_records(daemon: Serving, module_store: Path) -> None:
    values = (np.arange(120_000) % 200).astype(np.uint8)
    body = {"x": values.tolist(), "y": (values % 2).tolist()}
    assert feed(daemon, body, 0, producer="long")[1]["accepted"] == len(values)
    assert stored(module_store, "flights", "long")[:2] == (
        values.tobytes(),
        (values % 2).astype(np.uint8).tobytes(),
    )
    lines = b"\n".join(b"[%d, %d]" % (value, value % 2) for value in range(100))
    sent = send(
        daemon,
        "/feed/flights?producer=lines&sequence=0",
        lines,
        **{"Content-Type": "application/x-ndjson"},
    )
    assert sent[1]["accepted"] == 100
    assert stored(module_store, "flights", "lines")[0] == bytes(range(100))


def test_users_are_hashed_before_they_are_stored(tmp_path: Path) -> None:
    learner = OnlineRequest("late", class_from_name("thresholds:200"))
    request = StreamRequest("visits", Fraction(8), Fraction(1, 10**6), 50_000, (learner,), Unit(2))
    Store.create(tmp_path / "store", {}, {"visits": plan_stream(request).to_dict()})
    with serving(tmp_path / "store", http=LOOPBACK) as running:
        rows = [{"x": 1, "y": 0, "user": "ann"}, {"x": 2, "y": 1, "user": 17}]
        assert feed(running, rows, 0, stream="visits")[0] == 200
        assert feed(running, rows, 1, stream="visits")[1]["accepted"] == 1
        sentence = {"error": "row 1: column 'user' is missing"}
        assert feed(running, [{"x": 1, "y": 0}], 3, stream="visits") == (400, sentence)
        assert running.stop() == 0
    with Store.open(tmp_path / "store", read_only=True) as store:
        digests = encode_users(hash_users(["ann", 17, 17]))
        expected = bytes(UserHash(store.noise_key, "visits").column(digests))
    assert stored(tmp_path / "store", "visits", "p") == (
        bytes([1, 2, 2]),
        bytes([0, 1, 1]),
        expected,
    )


# --- Crashes and stops ----------------------------------------------------------------------------


@pytest.mark.long
def test_an_end_at_any_moment_loses_and_repeats_nothing(store: Path) -> None:
    """A producer that sends again what was not acknowledged; two kills and a stop."""
    x = np.random.default_rng(1).integers(0, 256, 40_000).astype(np.uint8)
    y = (x >= 60).astype(np.uint8)
    chance, sequence, durable = np.random.default_rng(7), 0, b""
    for end in ("kill", "kill", "terminate"):
        daemon = Serving.start(store, http=LOOPBACK)
        seconds = float(chance.uniform(0.02, 0.25))
        ender = threading.Timer(seconds, getattr(daemon.process, end))
        ender.start()
        try:
            while sequence < len(x):
                # so few that a quick machine is not done before the end
                part = slice(sequence, sequence + int(chance.integers(1, 100)))
                body = {"x": x[part].tolist(), "y": y[part].tolist()}
                status, answer = feed(daemon, body, sequence)
                assert status in (200, 503)
                if status == 503:
                    break
                # what became durable without an answer may reach further than the next body
                assert answer["next_sequence"] == max(min(part.stop, len(x)), len(durable))
                sequence = answer["next_sequence"]
        except (OSError, http.client.HTTPException):
            pass
        ender.join()
        assert (daemon.ended() == 0) == (end == "terminate")
        durable = stored(store, "flights", "p")[0]
        assert len(durable) >= sequence
        assert durable == x[: len(durable)].tobytes()
    assert 0 < sequence < len(x)
    with serving(store, http=LOOPBACK) as last:
        known = send(last, "/feed/flights?producer=p", method="GET")[1]["next_sequence"]
        assert known == len(durable)
        # as a program does that remembers acknowledgements alone
        body = {"x": x[sequence:].tolist(), "y": y[sequence:].tolist()}
        assert feed(last, body, sequence)[1]["accepted"] == len(x) - known
        assert last.stop() == 0
    assert stored(store, "flights", "p") == (x.tobytes(), y.tobytes(), b"")
    assert verify(store).findings == ()


def test_rows_wait_for_an_engine_that_is_behind(store: Path) -> None:
    """And say so in time; sent again they are durable, and are not taken twice."""
    names = {
        "littled.service.queues.ENGINE_QUEUE_BYTES_MAX": 1,
        "littled.service.queues.ENGINE_QUEUE_RESERVE_BYTES": 0,
        "littled.service.feeding.HTTP_FEED_SECONDS": 1.0,
    }
    with serving(store, http=LOOPBACK, engine="slow", limits=names) as daemon:
        assert feed(daemon, [[1, 0]], 0)[0] == 200
        wait_for_file(store / "learning")
        late = {"error": "the rows are not durable yet; send them again with the same sequence"}
        assert feed(daemon, [[2, 0], [3, 1]], 1) == (503, late)
        (store / "go").touch()
        deadline = time.monotonic() + 30
        while (answer := feed(daemon, [[2, 0], [3, 1]], 1))[0] != 200:
            assert time.monotonic() < deadline
        assert answer[1]["next_sequence"] == 3
        assert daemon.stop() == 0
    assert stored(store, "flights", "p")[0] == bytes([1, 2, 3])


# --- What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/feed/flights", 400, "producer needs 1 to 128 printable ASCII characters"),
        ("/feed/flights?producer=a%20b&sequence=0", 400, "producer needs 1 to 128 printable"),
        ("/feed/flights?producer=p", 400, "sequence must be the number of the first row, from 0"),
        ("/feed/flights?producer=p&sequence=-1", 400, "sequence must be the number"),
        ("/feed/flights?producer=p&sequence=1e3", 400, "sequence must be the number"),
        ("/feed/flights?producer=p&sequence=" + "9" * 19, 400, "sequence must be the number"),
        ("/feed/flights?producer=p&sequence=0&sequence=1", 400, "a parameter of the address comes"),
        ("/feed/flights?producer=p&sequence=0&s=1", 400, "an address for feeding takes producer"),
        ("/feed/nothing?producer=p&sequence=0", 404, "the daemon has no stream of this name"),
        ("/feed/flights?producer=p&sequence=999999999", 409, "rows are missing: the producer's"),
    ],
)
def test_addresses_that_feed_nothing(
    daemon: Serving, path: str, status: int, sentence: str
) -> None:
    found, answer = send(daemon, path, [[4711, 0]] if status == 400 else [[1, 0]])
    assert (found, answer["error"][: len(sentence)]) == (status, sentence)


def test_hostile_bodies_leave_the_daemon_as_it_was(daemon: Serving) -> None:
    where = "/feed/ids?producer=h&sequence=0"
    for body, headers, status in (
        (b"[[1, 0]]", {"Content-Type": "text/plain"}, 415),
        (b"[[1, 0]]", {"Content-Type": "text/csv"}, 415),
        (b"[[1, 0]]", {"Content-Encoding": "gzip"}, 415),
        (b"[[1, 0]]", {"Origin": "http://127.0.0.1"}, 403),
        (b"[[1, 0]]", {"Sec-Fetch-Site": "cross-site"}, None),
        (b"[[1, 0]]", {"Host": "elsewhere.example"}, None),
        (b"[" * (1 << 20), {}, 400),
        (b"[[[" * 300_000, {}, 400),
        (b"[" + b"{}," * 340_000 + b"{}]", {}, 400),
        (b"[[1" + b"0" * 1_000_000 + b", 0]]", {}, 400),
    ):
        connection = http.client.HTTPConnection(*daemon.address("http"), timeout=60)
        connection.request("POST", where, body, {"Content-Type": JSON, **headers})
        answer = connection.getresponse()
        text = answer.read().decode()
        assert answer.status in ((status,) if status else (403, 421))
        assert len(text) < 200
        connection.close()
    assert send(daemon, "/feed/ids?producer=h", method="GET")[1]["next_sequence"] == 0
    # said of its length alone, before any of it has come
    status, answer = send(daemon, where, b"", **{"Content-Length": str((1 << 20) + 1)})
    assert (status, answer) == (413, {"error": "a body of rows has at most 1048576 bytes"})


@pytest.fixture
async def site() -> Any:
    async for made in run(Gate(Access()), FakeDaemon()):
        yield made


async def test_a_body_that_does_not_come_is_not_waited_for(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_bodies, "HTTP_QUESTION_SECONDS", 1.0)
    monkeypatch.setattr(http_asking, "HTTP_FEEDS_MAX", 1)
    head = "POST /feed/s?producer=p&sequence=0 HTTP/1.1\r\nHost: a\r\n"
    head += f"Content-Type: {JSON}\r\nContent-Length: 50\r\nConnection: close\r\n\r\n["
    slow = asyncio.ensure_future(site.raw(head.encode()))
    await asyncio.sleep(0.1)
    url = site.url("/feed/s?producer=p&sequence=0")
    async with site.client.post(url, json=[]) as answer:
        told = {"error": "too many bodies are being read; send this one again later"}
        assert (answer.status, await answer.json()) == (503, told)
    assert b" 408 " in (await slow).split(b"\r\n")[0]
    async with site.client.post(url, json=[]) as answer:
        assert (answer.status, await answer.json()) == (
            200, {"producer": "p", "bytes": 2, "lines": False},
        )  # fmt: skip


async def test_a_daemon_that_stops_says_so(site: Site) -> None:
    site.daemon.stopping = True
    async with site.client.post(site.url("/feed/s?producer=p&sequence=0"), json=[]) as answer:
        assert (answer.status, await answer.json()) == (
            503, {"error": "the daemon is stopping; send the rows again later"},
        )  # fmt: skip
        assert answer.headers["Retry-After"] == "5"


def test_who_hangs_up_feeds_all_or_nothing(daemon: Serving, module_store: Path) -> None:
    body = json.dumps([[value % 256, 0] for value in range(60_000)]).encode()
    for part in (len(body) // 2, len(body)):
        with socket.create_connection(daemon.address("http")) as connection:
            head = "POST /feed/flights?producer=gone&sequence=0 HTTP/1.1\r\nHost: localhost\r\n"
            head += f"Content-Type: {JSON}\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body[:part])
    known = send(daemon, "/feed/flights?producer=gone", method="GET")[1]["next_sequence"]
    assert known in (0, 60_000)
    assert feed(daemon, json.loads(body), 0, producer="gone")[1]["next_sequence"] == 60_000
    assert len(stored(module_store, "flights", "gone")[0]) == 60_000
