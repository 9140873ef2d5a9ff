"""Streams that another daemon serves: what a real daemon says of them, and to whom."""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.limits import (
    ALLOWANCE_UNITS_MAX,
    ALLOWANCE_UNITS_PER_SECOND,
    MOVED_AGAIN_MS,
    NOBODY_AGAIN_MS,
    REFUSAL_UNITS,
)
from littled.service.access import Access, AccessError, Grant, Permission
from littled.service.elsewhere import Nowhere, moved
from littled_protocol import limits
from littled_protocol.errors import ERROR_SENTENCES, REFUSAL_SENTENCES, ErrorCode, RefusalCode
from littled_protocol.messages import (
    Error,
    Message,
    Moved,
    Open,
    Opened,
    Ping,
    Pong,
    Predict,
    PredictionRefused,
    Release,
    Status,
    StatusRequest,
    Subscribe,
)
from support.javascript import answers
from support.serving import STREAMS, Peer, PlacesFile, Serving, make_store, serving

TOKENS = {"all": "token for everything".ljust(32, "0"), "some": "token for two".ljust(32, "0")}
# Streams of others, and where they are; the store's own are never looked for.
PLACES = {
    "near": ["unix:/run/b.sock", "tls://b.example:4815"],
    "nobody": [],
    "many": [f"10.0.0.{number}:4815" for number in range(20)],
    "flights": ["unix:/run/wrong.sock"],
}
GRANTS = f"""
[tokens.all]
token = "{TOKENS["all"]}"
roles = ["feed", "subscribe", "predict"]
[tokens.some]
token = "{TOKENS["some"]}"
roles = ["feed", "subscribe", "predict"]
streams = ["flights", "nobody"]
"""
REQUEST = bytes(range(16))


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A daemon that knows of streams elsewhere; no test may end it."""
    folder = tmp_path_factory.mktemp("elsewhere")
    places = PlacesFile(folder / "places")
    places.say(**PLACES)
    tokens = folder / "tokens"
    tokens.write_text(GRANTS)
    tokens.chmod(0o600)
    store = make_store(folder / "store")
    with serving(
        store,
        tcp=["127.0.0.1", 0],
        http=["127.0.0.1", 0],
        token_file=str(tokens),
        elsewhere=str(places.path),
    ) as running:
        yield running
        assert running.stop() == 0
        assert [line for line in running.lines if line.get("level") != "info"] == []


def greet(daemon: Serving, version: int, who: str = "all") -> Peer:
    return Peer.greet(daemon.address("tcp"), TOKENS[who], version)


def requests(stream: str) -> dict[str, Message]:
    """One of each request that names a stream."""
    return {
        "open": Open(3, stream, "p"),
        "subscribe": Subscribe(f"{stream}/late", 0),
        "predict": Predict(REQUEST, f"{stream}/late", 1, b"\1"),
        "status_request": StatusRequest(stream),
    }


def said_of(stream: str, kind: str) -> Moved:
    """What a session of version 2 is told."""
    addresses = PLACES[stream][: limits.moved_addresses_max]
    of: dict[str, dict[str, Any]] = {
        "open": {"channel": 3},
        "subscribe": {"learner": f"{stream}/late"},
        "predict": {"request": REQUEST},
        "status_request": {},
    }
    return Moved(stream, addresses, MOVED_AGAIN_MS if addresses else NOBODY_AGAIN_MS, **of[kind])


ELSEWHERE = sorted(PLACES.keys() - STREAMS.keys())


def test_to_be_told_where_a_stream_is_comes_out_of_the_allowance(daemon: Serving) -> None:
    started, answers = time.monotonic(), 0
    with greet(daemon, 2) as peer:
        while time.monotonic() - started < 1.0:
            peer.send(StatusRequest(ELSEWHERE[0]))
            assert peer.expect(Moved)
            answers += 1
    allowed = ALLOWANCE_UNITS_MAX + ALLOWANCE_UNITS_PER_SECOND * (time.monotonic() - started)
    assert answers <= allowed / REFUSAL_UNITS + 1


@pytest.mark.parametrize("stream", ELSEWHERE)
def test_every_request_about_a_stream_elsewhere_is_told_where_it_is(
    daemon: Serving, stream: str
) -> None:
    with greet(daemon, 2) as peer:
        for kind, request in requests(stream).items():
            peer.send(request)
            assert peer.receive() == said_of(stream, kind)
        peer.send(Ping(1))
        assert peer.receive() == Pong(1)


@pytest.mark.parametrize("kind", requests("near"))
@pytest.mark.parametrize("stream", ELSEWHERE)
def test_an_older_client_is_told_in_its_own_words(daemon: Serving, stream: str, kind: str) -> None:
    with greet(daemon, 1) as peer:
        peer.send(requests(stream)[kind])
        answer = peer.receive()
    if kind == "predict":
        assert isinstance(answer, PredictionRefused)
        assert (answer.code, answer.message) == (
            "stream_elsewhere",
            REFUSAL_SENTENCES[RefusalCode.STREAM_ELSEWHERE],
        )
    else:
        sentence = ERROR_SENTENCES[ErrorCode.STREAM_ELSEWHERE]
        assert answer == Error("stream_elsewhere", sentence, 3 if kind == "open" else None)
    assert "b.example" not in str(answer)


@pytest.mark.parametrize("version", [1, 2])
def test_a_stream_of_nobody_is_unknown_as_ever(daemon: Serving, version: int) -> None:
    said: dict[str, Any] = {}
    for kind, request in requests("unheard").items():
        with greet(daemon, version) as peer:
            peer.send(request)
            answer = peer.receive()
            said[kind] = answer.body["streams"] if isinstance(answer, Status) else answer.code  # type: ignore[union-attr]
    assert said == {
        "open": "unknown_stream",
        "subscribe": "unknown_learner",
        "predict": "unknown_learner",
        "status_request": {},
    }


@pytest.mark.parametrize("version", [1, 2])
def test_who_may_not_use_a_stream_is_not_told_where_it_is(daemon: Serving, version: int) -> None:
    for kind, request in requests("near").items():
        with greet(daemon, version, "some") as peer:
            peer.send(request)
            answer = peer.receive()
            if kind == "status_request":
                assert isinstance(answer, Status)
                assert answer.body["streams"] == {}
            else:
                assert isinstance(answer, Error)
                assert answer.code == "forbidden"


def test_a_status_of_all_streams_tells_of_those_here(daemon: Serving) -> None:
    with greet(daemon, 2) as peer:
        peer.send(StatusRequest())
        assert sorted(peer.expect(Status).body["streams"]) == sorted(STREAMS)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["flights", *ELSEWHERE, "unheard"]),
        st.sampled_from(["open", "subscribe", "predict", "status_request"]),
    ),
    min_size=1,
    max_size=6,
)


@given(STEPS, st.sampled_from([1, 2]), st.sampled_from(["all", "some"]))
@settings(max_examples=60, deadline=None)
def test_a_session_says_moved_exactly_where_it_should(
    daemon: Serving, steps: list[tuple[str, str]], version: int, who: str
) -> None:
    """Any requests in any order: `moved` is an answer to those about streams elsewhere alone."""
    with greet(daemon, version, who) as peer:
        seen: set[tuple[str, str]] = set()
        for stream, kind in steps:
            here, allowed = stream in STREAMS, who == "all" or stream in ("flights", "nobody")
            if here and (stream, kind) in seen:
                continue  # a channel and a subscription last
            seen.add((stream, kind))
            peer.send(requests(stream)[kind] if not here else HERE[kind])
            answer = peer.receive()
            if version == 2 and stream in ELSEWHERE and allowed:
                assert answer == said_of(stream, kind)
                continue
            assert not isinstance(answer, Moved)
            if here:
                assert isinstance(answer, (Opened, Release, PredictionRefused, Status))
            if isinstance(answer, Error):
                break


HERE = {**requests("flights"), "open": Open(4, "flights", "q")}


def test_who_serves_a_stream_is_asked_anew_each_time(tmp_path: Path) -> None:
    places = PlacesFile(tmp_path / "places")
    places.say(other=[])
    store = make_store(tmp_path / "store")
    with (
        serving(store, elsewhere=str(places.path)) as daemon,
        Peer.greet(daemon.unix, version=2) as peer,
    ):
        for where in ([], ["unix:/a"], ["unix:/b"], []):
            places.say(other=where)
            peer.send(StatusRequest("other"))
            assert peer.expect(Moved).addresses == where
        places.say()
        peer.send(StatusRequest("other"))
        assert peer.expect(Status).body["streams"] == {}


def test_grants_may_name_streams_that_are_elsewhere(tmp_path: Path) -> None:
    places = PlacesFile(tmp_path / "places")
    places.say(other=[])
    grant = Grant("it", frozenset(Permission), frozenset({"here", "other"}))
    access = Access(tokens={bytes(32): grant})
    access.check_streams({"here"}, places)
    for elsewhere in (None, Nowhere()):
        with pytest.raises(AccessError, match="it names the stream 'other', which the store"):
            access.check_streams({"here"}, elsewhere)


def test_a_message_has_as_many_addresses_as_it_may() -> None:
    all_of_them = tuple(PLACES["many"])
    said = moved("s", all_of_them)
    assert said == Moved("s", list(all_of_them[:8]), MOVED_AGAIN_MS)
    assert moved("s", ()) == replace(said, addresses=[], after_ms=NOBODY_AGAIN_MS)


@pytest.mark.parametrize("stream", ["flights", "", "a" * 64])
def test_a_daemon_by_itself_knows_of_no_other_place(stream: str) -> None:
    assert Nowhere().where(stream) is None


def test_the_places_file_is_what_it_says(tmp_path: Path) -> None:
    places = PlacesFile(tmp_path / "places")
    places.say(a=["unix:/a"], b=[])
    assert json.loads(places.path.read_text()) == {"a": ["unix:/a"], "b": []}
    assert [places.where(name) for name in "abc"] == [("unix:/a",), (), None]


# --- HTTP -----------------------------------------------------------------------------------------


def ask(daemon: Serving, path: str, body: Any = None, who: str = "all") -> tuple[int, Any]:
    """The status and the JSON, or text, that answers a request; a redirection is not followed."""
    host, port = daemon.address("http")
    connection = http.client.HTTPConnection(host, port, timeout=30)
    headers = {"Authorization": f"Bearer {TOKENS[who]}", "Content-Type": "application/json"}
    with contextlib.closing(connection):
        data = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, data, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        assert "Location" not in answer.headers
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, json.loads(text) if is_json else text


def pages(stream: str) -> dict[str, tuple[str, Any]]:
    """Every page that a request can name a stream to, with what it may have as a body."""
    return {
        "status": (f"/status?stream=flights&stream={stream}", None),
        "rule": (f"/rules/{stream}/late", None),
        "events of a learner": (f"/rules/{stream}/late/events", None),
        "history": (f"/rules/{stream}/late/history", None),
        "quality": (f"/rules/{stream}/late/quality", None),
        "events": (f"/events?learner=flights/late&learner={stream}/late", None),
        "feed": (f"/feed/{stream}?producer=p&sequence=0", [{"x": 1, "y": 0}]),
        "next_sequence": (f"/feed/{stream}?producer=p", None),
        "predict": ("/predict", {"learner": f"{stream}/late", "values": [1]}),
    }


@pytest.mark.parametrize("page", pages("near"))
@pytest.mark.parametrize("stream", ["near", "nobody"])
def test_a_page_of_a_stream_elsewhere_is_misdirected(
    daemon: Serving, stream: str, page: str
) -> None:
    status, said = ask(daemon, *pages(stream)[page])
    assert status == 421
    sentence = said.pop("error")
    assert sentence.startswith("no daemon" if stream == "nobody" else "another daemon")
    assert said == {"stream": stream, "addresses": PLACES[stream]}


@pytest.mark.long
@pytest.mark.parametrize("page", pages("near"))
def test_a_page_does_not_say_where_a_stream_is_to_who_may_not_use_it(
    daemon: Serving, page: str
) -> None:
    status, said = ask(daemon, *pages("near")[page], who="some")
    assert "b.example" not in str(said)
    if page == "status":
        assert (status, list(said["streams"])) == (200, ["flights"])
    else:
        assert status == 403


@pytest.mark.parametrize("page", pages("near"))
def test_a_page_of_a_stream_of_nobody_is_what_it_was(daemon: Serving, page: str) -> None:
    status, said = ask(daemon, *pages("unheard")[page])
    if page == "status":
        assert (status, list(said["streams"])) == (200, ["flights"])
    else:
        assert status == 404


def test_the_client_in_javascript_says_where_the_stream_is(daemon: Serving) -> None:
    question = {"ask": "follow", "base": daemon.url("/"), "token": TOKENS["all"]}
    streams = ("near", "flights")
    asked = [question | {"learners": [f"{stream}/late"]} for stream in streams]
    assert answers(asked) == [
        {
            "refused": "near is served by another daemon, at unix:/run/b.sock or "
            "tls://b.example:4815",
            "addresses": PLACES["near"],
        },
        1,
    ]
