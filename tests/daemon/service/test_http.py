"""HTTP over real sockets: public facts, questions, tokens, server-sent events, rude clients."""

import asyncio
import json
import os
import socket
import threading
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import pytest

from littled.limits import HTTP_QUESTION_DIRECT_BYTES, HTTP_UNITS_MAX
from littled.service import http_asking, http_bodies, http_rules, planning
from littled.service.access import Access, Gate, Grant, Permission, digest_of, one_token
from littled.service.http import HttpServer
from littled.service.http_turns import HttpTurns, Lane
from littled.service.planning import Plans
from littled.service.questions import asked_in, question_bytes_max
from littled.service.release_texts import ReleaseTexts
from littled_protocol.messages import Release
from littled_protocol.rules import ThresholdRule, Words, rule_from_dict
from support.sites import LEARNER, TOKEN, FakeDaemon, Site, figure, large, run, stored


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async for made in run(Gate(Access()), FakeDaemon()):
        yield made


@pytest.fixture
async def guarded() -> AsyncIterator[Site]:
    async for made in run(Gate(Access(tokens=one_token(TOKEN))), FakeDaemon()):
        yield made


async def test_health(site: Site) -> None:
    assert (await site.get("/healthz"))[:2] == (200, "ok\n")
    site.daemon.well = False
    assert (await site.get("/healthz"))[:2] == (503, "commits have stopped\n")


async def test_status_and_metrics(site: Site) -> None:
    status, text, headers = await site.get("/status")
    assert status == 200
    assert json.loads(text) == site.daemon.status(["flights"])
    assert headers["Content-Type"] == "application/json; charset=utf-8"
    status, text, headers = await site.get("/metrics")
    assert (status, text) == (200, "littled_connections 0.0\n")
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("after=", "after must be the name of a stream\n"),
        ("stream=", "stream must be the name of a stream\n"),
        ("stream=flights&stream=no%20name", "stream must be the name of a stream\n"),
        ("after=no%20name", "after must be the name of a stream\n"),
        ("limit=0", "limit must be a number of streams, from 1 on\n"),
        ("limit=many", "limit must be a number of streams, from 1 on\n"),
    ],
)
async def test_a_page_of_statuses_that_cannot_be_is_refused(
    site: Site, query: str, sentence: str
) -> None:
    assert (await site.get(f"/status?{query}"))[:2] == (400, sentence)
    assert (await site.get("/status?after=flights&limit=1"))[0] == 200


async def test_answers_name_the_daemon_and_nothing_below_it(site: Site) -> None:
    for path in ("/status", "/nowhere", "/rules/flights/late"):
        headers = (await site.get(path))[2]
        assert headers["Server"] == "littled/test"
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"


async def test_a_rule_in_its_three_forms(site: Site) -> None:
    path = "/rules/flights/late"
    assert (await site.get(path))[0] == 404
    site.daemon.releases.announce([stored(1, 128), stored(2, 54)])
    status, text, _ = await site.get(path)
    assert status == 200
    found = json.loads(text)
    assert rule_from_dict(found.pop("rule")) == ThresholdRule(256, 54)
    assert found == {
        "learner": LEARNER,
        "version": 2,
        "kind": "rule",
        "season": 0,
        "epoch": 2,
        "position": 20,
        "text": "late if departure delay >= 24 min",
        "words": {
            "x_name": "departure delay",
            "unit": "min",
            "offset": -30,
            "positive": "late",
            "negative": "not late",
        },
    }
    text_form = await site.get(path + "?format=text")
    assert text_form[:2] == (200, "late if departure delay >= 24 min\n")
    assert (await site.get(path + "?format=sql"))[1] == '("x" >= 24)\n'
    assert (await site.get(path + "?format=sql&column=dep"))[1] == '("dep" >= 24)\n'
    function = await site.get(path + "?format=sql-function&dialect=duckdb&name=n&column=dep")
    assert function[1] == 'CREATE OR REPLACE MACRO "n"("dep") AS ("dep" >= 24);\n'
    function = await site.get(path + "?format=sql-function")
    assert function[1].startswith('CREATE OR REPLACE FUNCTION "late"("x" bigint) RETURNS boolean ')
    for wrong, sentence in (
        ("xml", "format must be one of json, text, sql, sql-function\n"),
        ("sql&column=", "a name in SQL has 1 to 64 characters\n"),
        ("sql&column=%07", "a column's name needs printable characters\n"),
        ("sql&column=" + "c" * 65, "a name in SQL has 1 to 64 characters\n"),
        ("sql-function&name=" + "c" * 65, "a name in SQL has 1 to 64 characters\n"),
        ("sql-function&dialect=x", "dialect must be one of postgresql, duckdb, sqlite\n"),
        (
            "sql-function&dialect=sqlite",
            "SQLite has no functions in SQL; use the expression itself\n",
        ),
    ):
        assert (await site.get(f"{path}?format={wrong}"))[:2] == (400, sentence)


async def test_a_release_without_a_rule(site: Site) -> None:
    site.daemon.releases.announce([stored(1, None, "halt")])
    assert (await site.get("/rules/flights/late"))[0] == 404


@pytest.mark.parametrize(
    "path",
    [
        "/index.html",
        "/rules",
        "/rules/flights",
        "/rules/flights/early",
        "/rules/flights/late/other",
    ],
)
async def test_pages_that_are_not_there(site: Site, path: str) -> None:
    status, text, _ = await site.get(path)
    assert status == 404
    assert path not in text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_nothing_but_get(site: Site, method: str) -> None:
    async with site.client.request(method, site.url("/status")) as response:
        assert response.status == 405


@pytest.mark.parametrize("path", ["/", "/healthz", "/status", "/metrics", "/rules/flights/late"])
async def test_the_head_of_a_page_is_that_of_the_page(site: Site, path: str) -> None:
    site.daemon.releases.announce([stored(1, 3)])
    async with site.client.get(site.url(path)) as whole, site.client.head(site.url(path)) as head:
        assert (head.status, whole.status) == (200, 200)
        assert await head.read() == b""
        for name in ("Content-Type", "Cache-Control", "X-Content-Type-Options"):
            assert head.headers[name] == whole.headers[name]


async def test_streams_of_events_have_no_head_of_their_own(site: Site) -> None:
    async with site.client.head(site.url("/rules/flights/late/events")) as response:
        assert response.status == 405


async def test_the_first_page_names_the_others(site: Site) -> None:
    status, text, _ = await site.get("/")
    assert status == 200
    for page in ("/healthz", "/status", "/metrics", "/rules/STREAM/LEARNER/events", "/predict"):
        assert page in text


async def test_bodies_are_refused_unread(site: Site) -> None:
    endless = b"GET /status HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000000\r\n\r\nabc"
    answer = await site.raw(endless)
    assert answer.startswith(b"HTTP/1.1 413 ")
    chunked = b"GET /status HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    assert (await site.raw(chunked)).startswith(b"HTTP/1.1 413 ")


async def test_requests_have_their_lengths(site: Site) -> None:
    long = b"GET /" + b"a" * 10_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n"
    assert (await site.raw(long)).startswith(b"HTTP/1.0 400 ")


async def test_a_token(guarded: Site) -> None:
    assert (await guarded.get("/healthz"))[0] == 200
    late = "/rules/flights/late"
    for path in ("/status", "/metrics", late, f"{late}/events", f"{late}/quality"):
        status, _, headers = await guarded.get(path)
        assert status == 401
        assert headers["WWW-Authenticate"] == "Bearer"
    for shown in (TOKEN, f"Basic {TOKEN}", "Bearer", f"Bearer {TOKEN[:-1]}"):
        answer = await guarded.get("/status", headers={"Authorization": shown})
        assert answer[:2] == (401, "show the daemon's token: Authorization: Bearer TOKEN\n")
    for right in (f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER   {TOKEN}"):
        assert (await guarded.get("/status", headers={"Authorization": right}))[0] == 200


@pytest.mark.parametrize("line", [b"GET /status HTTP/1.1", b"POST /predict HTTP/1.1"])
async def test_a_request_shows_one_token_or_none(guarded: Site, line: bytes) -> None:
    """Which of two counts would be up to who reads them."""
    right, wrong = (b"Authorization: Bearer " + each + b"\r\n" for each in (TOKEN.encode(), b"x"))
    for shown in (right + wrong, wrong + right, right + right):
        answer = await guarded.raw(line + b"\r\nHost: a\r\nConnection: close\r\n" + shown + b"\r\n")
        assert b" 400 Bad Request" in answer.split(b"\r\n")[0]


@pytest.mark.parametrize("guess", [b"\xff", b"\xc3\xa9" * 16, b"\xed\xa0\x80", b"", b"\x80" * 64])
async def test_a_token_of_any_bytes_is_a_wrong_guess(guarded: Site, guess: bytes) -> None:
    head = b"Host: localhost\r\nConnection: close\r\nAuthorization: Bearer " + guess
    for line in (b"GET /status HTTP/1.1", b"POST /predict HTTP/1.1"):
        answer = await guarded.raw(line + b"\r\n" + head + b"\r\n\r\n")
        assert answer.split(b"\r\n")[0] == b"HTTP/1.1 401 Unauthorized"
        assert answer.endswith(b"show the daemon's token: Authorization: Bearer TOKEN\n")


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\xff\x00\r\n\r\n",
        b"GET /status HTTP/1.0\r\nAuthorization: Bearer secret\x01\r\n\r\n",
        b"GET /secret\x7f HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /status HTTP/secret\r\nHost: localhost\r\n\r\n",
        b"SECRET{ /status HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /status HTTP/1.1\r\nHost: localhost\r\nsecret header: 1\r\n\r\n",
        b"GET /status HTTP/1.1\r\nHost: localhost\r\nContent-Length: secret\r\n\r\n",
    ],
)
async def test_what_cannot_be_read_is_refused_without_a_word_of_it(
    guarded: Site, request_: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """And an error in what a peer sends is none of the daemon's, to be logged as one."""
    answer = await guarded.raw(request_)
    assert answer.split(b"\r\n")[0].endswith(b" 400 Bad Request")
    assert answer.endswith(b"the request line or a header is not written as HTTP wants it\n")
    assert b"secret" not in answer.lower()
    assert not caplog.records


# --- Browsers -------------------------------------------------------------------------------------

HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]", "monitor.lan"})


@pytest.fixture
async def local() -> AsyncIterator[Site]:
    async for made in run(Gate(Access()), FakeDaemon(), HOSTS):
        yield made


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost:8790", "127.0.0.1:80", "[::1]", "[::1]:9", "monitor.lan:1"]
)
async def test_this_host_by_its_own_names(local: Site, host: str) -> None:
    assert (await local.get("/status", headers={"Host": host}))[0] == 200
    assert (await local.ask(QUESTION, Host=host))[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "localhost.evil.example", "evil.example:8790", "127.0.0.1.evil.example"),
        *("localhost.", "::1", "[::1", "127.0.0.1@evil.example", "localhost:80:80", "[::2]"),
        *("evil@localhost", "localhost, evil.example", "localhost:0", "localhost:65536", "[::1]80"),
        *("localhost:", "localhost:+1", "localhost:\u00b3", "localhost:\u0663", "monitor\u2024lan"),
    ],
)
async def test_a_name_that_was_made_to_point_here_gets_nothing(local: Site, host: str) -> None:
    """What a page sees after its own name was pointed at 127.0.0.1 (DNS rebinding)."""
    for path in ("/healthz", "/status", "/metrics", "/rules/flights/late", "/nowhere"):
        status, text, _ = await local.get(path, headers={"Host": host})
        assert status == 421
        assert "evil" not in text
    async with local.client.post(
        local.url("/predict"), json=QUESTION, headers={"Host": host}
    ) as response:
        assert response.status == 421
    assert local.daemon.asked == []


async def test_a_request_names_one_host(local: Site) -> None:
    for version in (b"1.0", b"1.1"):
        for head in (b"", b"Host: localhost\r\nHost: evil.example\r\n"):
            request = b"GET /status HTTP/" + version + b"\r\nConnection: close\r\n" + head
            assert b" 400 Bad Request" in (await local.raw(request + b"\r\n")).split(b"\r\n")[0]


@pytest.mark.parametrize("target", ["/status", "/status?a=http://evil.example/", "/healthz"])
async def test_the_host_in_a_target_counts(local: Site, target: str) -> None:
    """A target may name its host (RFC 9112, 3.2.2), and then that is the one that was meant."""

    async def asked(where: str, host: str = "localhost") -> bytes:
        request = f"GET {where}{target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        return (await local.raw(request.encode())).split(b"\r\n")[0]

    for right in ("", "http://localhost", "HTTP://LocalHost:8790", "https://[::1]:1"):
        assert await asked(right) == b"HTTP/1.1 200 OK"
        assert b" 421 " in await asked(right, "evil.example")
    for wrong in ("http://evil.example", "http://localhost@evil.example", "http://localhost.evil"):
        assert b" 421 " in await asked(wrong)
        assert b" 421 " in await asked(wrong, wrong.removeprefix("http://"))


async def test_one_header_that_names_another_site_is_enough(local: Site) -> None:
    own, other = (b"Sec-Fetch-Site: " + each + b"\r\n" for each in (b"none", b"cross-site"))
    request = b"GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    for sites in (own + other, other + own, own + own + other):
        assert b" 403 Forbidden" in (await local.raw(request + sites + b"\r\n")).split(b"\r\n")[0]
    assert b" 200 OK" in (await local.raw(request + own + b"\r\n")).split(b"\r\n")[0]


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
async def test_pages_of_other_sites_read_nothing(local: Site, site: str) -> None:
    for path in ("/healthz", "/status", "/rules/flights/late/events"):
        status, text, _ = await local.get(path, headers={"Sec-Fetch-Site": site})
        assert (status, text) == (403, "web pages of other sites may not read this one\n")
    for own in ("none", "same-origin"):
        assert (await local.get("/status", headers={"Sec-Fetch-Site": own}))[0] == 200


# --- Server-sent events ---------------------------------------------------------------------------


async def events(response: aiohttp.ClientResponse, count: int) -> list[dict[str, Any]]:
    """Read that many events; comments are passed over."""
    found: list[dict[str, Any]] = []
    while len(found) < count:
        block = (await asyncio.wait_for(response.content.readuntil(b"\n\n"), 10)).decode()
        if block.startswith(":"):
            continue
        fields = dict(line.split(": ", 1) for line in block.strip().split("\n"))
        assert fields["event"] == "release"
        value = json.loads(fields["data"])
        assert fields["id"] == str(value["version"])
        found.append(value)
    return found


async def test_events_past_and_to_come(site: Site) -> None:
    site.daemon.releases.announce([stored(1, 128), stored(2, 54)])
    async with site.client.get(site.url("/rules/flights/late/events")) as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        assert [each["version"] for each in await events(response, 2)] == [1, 2]
        site.daemon.releases.announce([stored(3, 55)])
        (third,) = await events(response, 1)
        assert third["text"] == "late if departure delay >= 25 min"
        assert Words.from_dict(third["words"]) == site.daemon.words[LEARNER]
        site.daemon.releases.announce([stored(4, None, "halt")])
        (fourth,) = await events(response, 1)
        assert (fourth["kind"], fourth["text"]) == ("halt", None)


async def test_events_resume(site: Site) -> None:
    site.daemon.releases.announce([stored(version, version) for version in range(1, 6)])
    resume = {"Last-Event-ID": "3"}
    url = site.url("/rules/flights/late/events")
    async with site.client.get(url, headers=resume) as response:
        assert [each["version"] for each in await events(response, 2)] == [4, 5]
    for wrong in ("-1", "x", "1.5", "9" * 30):
        answer = await site.get("/rules/flights/late/events", headers={"Last-Event-ID": wrong})
        assert answer[0] == 400


async def block_of(response: aiohttp.ClientResponse) -> dict[str, str]:
    """The fields of the next event."""
    block = (await asyncio.wait_for(response.content.readuntil(b"\n\n"), 10)).decode()
    return dict(line.split(": ", 1) for line in block.strip().split("\n"))


async def test_figures_of_quality_are_events_of_their_own(site: Site) -> None:
    """Of those that are there the last one; they have no id, as readers resume by versions."""
    site.daemon.releases.announce([stored(1, 128)])
    site.daemon.figures.announce([figure(1), figure(2)])
    async with site.client.get(site.url("/rules/flights/late/events")) as response:
        assert (await block_of(response))["event"] == "release"
        first = await block_of(response)
        assert first.keys() == {"event", "data"}
        assert first["event"] == "quality"
        value = json.loads(first["data"])
        assert (value["learner"], value["number"], value["position"]) == (LEARNER, 2, 3000)
        assert value["error_rate_lower"] < value["error_rate"] == 0.1 < value["error_rate_upper"]
        site.daemon.figures.announce([figure(3, 70)])
        assert json.loads((await block_of(response))["data"])["error_rate"] == 0.07
        site.daemon.releases.announce([stored(2, 54)])
        assert (await block_of(response))["id"] == "2"


async def test_the_latest_figures_are_a_page(site: Site) -> None:
    path = "/rules/flights/late/quality"
    status, text, _ = await site.get(path)
    assert (status, json.loads(text)) == (200, {"learner": LEARNER, "periods": []})
    site.daemon.figures.announce([figure(1), figure(2, -3)])
    found = json.loads((await site.get(path))[1])["periods"]
    assert [one["error_rate"] for one in found] == [0.1, 0.0]
    answer = await site.get("/rules/flights/none/quality")
    assert answer[:2] == (404, "the rules of this learner are not measured\n")
    assert (await site.get("/rules/flights/early/quality"))[0] == 404


QUESTION = {"learner": "flights/ask", "x": [4, 7], "request": "0f" * 16}


async def test_questions_are_answered(site: Site) -> None:
    status, found = await site.ask(QUESTION)
    assert status == 200
    assert found == {
        "learner": "flights/ask",
        "request": "0f" * 16,
        "y": [0, 1],
        "window": 1,
        "left": 5,
        "repeated": False,
    }
    (asked,) = site.daemon.asked
    assert (asked.count, asked.x) == (2, bytes([4, 7]))
    named = {"learner": LEARNER, "values": [-26, -23], "request": "0e" * 16}
    assert (await site.ask(named))[1]["y"] == [0, 1]
    assert site.daemon.asked.pop().x == bytes([4, 7])
    status, found = await site.ask(QUESTION | {"x": [99]})
    assert (status, found["code"], found["spent"], found["next_window"]) == (
        429,
        "window_spent",
        7,
        9,
    )
    assert found["error"] == "The window has fewer answers left."


async def test_what_is_no_question_is_refused_in_a_sentence(site: Site) -> None:
    for data, status, sentence in (
        (b"no json", 400, "the body is not JSON (line 1)"),
        (QUESTION | {"x": [31337]}, 400, "x[0] is outside 0 to 255"),
        (QUESTION | {"learner": "trains/ask"}, 404, "the daemon has no stream of this name"),
    ):
        assert await site.ask(data) == (status, {"error": sentence})
    assert site.daemon.asked == []
    assert (await site.get("/predict"))[0] == 405


async def test_a_web_page_cannot_ask_in_its_visitors_name(site: Site) -> None:
    """What a browser sends for another site without asking, and what only a browser sends."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert (await site.ask(QUESTION, **{"Content-Type": kind}))[0] == 415
    assert (await site.ask(QUESTION, Origin="http://127.0.0.1"))[0] == 403
    assert (await site.ask(QUESTION, **{"Content-Encoding": "identity"}))[0] == 415
    async with site.client.options(site.url("/predict")) as response:
        assert response.status == 405
    assert site.daemon.asked == []


async def test_questions_need_the_token(guarded: Site) -> None:
    url = guarded.url("/predict")
    async with guarded.client.post(url, json=QUESTION) as response:
        assert response.status == 401
    assert guarded.daemon.asked == []
    assert (await guarded.ask(QUESTION, Authorization=f"Bearer {TOKEN}"))[0] == 200


async def test_bodies_are_for_questions_only(site: Site) -> None:
    async with site.client.get(site.url("/status"), json=QUESTION) as response:
        assert response.status == 413
    async with site.client.post(site.url("/status"), json=QUESTION) as response:
        assert (response.status, response.headers["Allow"]) == (405, "GET,HEAD")
    sent = b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    close = b"Connection: close\r\n\r\n"
    answer = await site.raw(sent + b"Content-Length: 9999999999\r\n" + close + b"{")
    assert b" 413 " in answer.split(b"\r\n")[0]
    assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {
        "error": f"a question has at most {question_bytes_max(['u8'], [])} bytes"
    }
    piece = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    answer = await site.raw(
        sent + b"Transfer-Encoding: chunked\r\n" + close + piece + b"1\r\n \r\n"
    )
    assert b" 413 " in answer.split(b"\r\n")[0]


async def test_a_question_that_does_not_come_is_not_waited_for(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_bodies, "HTTP_QUESTION_SECONDS", 1.0)
    monkeypatch.setattr(http_asking, "HTTP_QUESTIONS_MAX", 1)
    sent = b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    half = asyncio.ensure_future(
        site.raw(sent + b"Content-Length: 50\r\nConnection: close\r\n\r\n{")
    )
    await asyncio.sleep(0.1)
    assert await site.ask(QUESTION) == (
        503,
        {"error": "too many questions are being answered; ask again later"},
    )
    assert b" 408 " in (await half).split(b"\r\n")[0]
    assert (await site.ask(QUESTION))[0] == 200


async def test_who_finds_all_places_taken_is_told_when_to_ask_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_asking, "HTTP_QUESTIONS_MAX", 0)
    monkeypatch.setattr(http_asking, "HTTP_FEEDS_MAX", 0)
    monkeypatch.setattr(http_rules, "HTTP_EVENT_STREAMS_MAX", 0)
    for path in ("/predict", "/feed/flights?producer=p&sequence=0"):
        async with site.client.post(site.url(path), json={}) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
    for path in ("/rules/flights/late/events", f"/events?after={LEARNER}:0"):
        status, _, headers = await site.get(path)
        assert (status, headers["Retry-After"]) == (503, "5")


async def test_what_does_not_pass_says_nothing_of_asking_again(site: Site) -> None:
    site.daemon.well = False
    for path, status in (("/healthz", 503), ("/nowhere", 404), ("/status?limit=none", 400)):
        found, _, headers = await site.get(path)
        assert found == status
        assert "Retry-After" not in headers
    async with site.client.post(site.url("/predict"), json={}) as answer:
        assert answer.status == 400
        assert "Retry-After" not in answer.headers


async def test_a_daemon_that_stops_says_so(site: Site) -> None:
    site.daemon.answering.clear()
    waiting = asyncio.ensure_future(site.ask(QUESTION))
    await site.daemon.begun.wait()
    site.daemon.stopping = True
    site.daemon.answering.set()
    assert await waiting == (503, {"error": "the daemon is stopping; ask again later"})


async def test_who_hangs_up_leaves_no_place_taken(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_asking, "HTTP_QUESTIONS_MAX", 1)
    site.daemon.answering.clear()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(site.ask(QUESTION), 0.3)
    site.daemon.answering.set()
    deadline = asyncio.get_running_loop().time() + 5
    while (await site.ask(QUESTION))[0] == 503:
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.02)


async def test_a_quiet_stream_shows_that_it_lives(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_rules, "HTTP_HEARTBEAT_SECONDS", 0.05)
    async with site.client.get(site.url("/rules/flights/late/events")) as response:
        for _ in range(3):
            assert await response.content.readuntil(b"\n\n") == b": still here\n\n"


async def test_too_many_streams_of_events(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_rules, "HTTP_EVENT_STREAMS_MAX", 2)
    url = site.url("/rules/flights/late/events")
    async with site.client.get(url), site.client.get(url):
        assert (await site.get("/rules/flights/late/events"))[0] == 503
    deadline = asyncio.get_running_loop().time() + 5
    while True:
        async with site.client.get(url) as response:
            if response.status == 200:
                break
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.02)


@pytest.mark.long
@pytest.mark.parametrize("path", ["/rules/flights/late/events", f"/events?after={LEARNER}:0"])
async def test_a_reader_that_does_not_read_is_dropped(
    site: Site, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr("littled_protocol.limits.send_seconds", 1.0)
    monkeypatch.setattr(http_rules, "HTTP_EVENT_STREAMS_MAX", 1)
    loop = asyncio.get_running_loop()
    url = site.url(path)
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        deaf.setblocking(False)
        await loop.sock_connect(deaf, ("127.0.0.1", site.port))
        await loop.sock_sendall(deaf, f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        assert b"200 OK" in await asyncio.wait_for(loop.sock_recv(deaf, 1 << 10), 10)
        await asyncio.sleep(1.5)
        assert (await site.get(path))[0] == 503  # quiet is not deaf
        site.daemon.stored.extend(large(version) for version in range(1, 401))  # 15 MB as events
        site.daemon.releases.announce(site.daemon.stored)
        deadline = loop.time() + 20
        while True:  # its place is free again, although it is still connected and reads nothing
            async with site.client.get(url) as response:
                if response.status == 200:
                    break
            assert loop.time() < deadline
            await asyncio.sleep(0.05)
    assert (await site.get("/healthz"))[0] == 200


async def test_a_connection_is_good_for_one_request(site: Site) -> None:
    request = b"GET /status HTTP/1.1\r\nHost: a\r\n\r\n"
    answer = await site.raw(request * 3)
    assert answer.count(b"HTTP/1.1 200 OK") == 1
    assert b"Connection: close\r\n" in answer


async def test_a_stop_ends_streams_of_events() -> None:
    daemon = FakeDaemon()
    server = HttpServer(daemon, Gate(Access()), "littled/test")
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    await server.start(listener)
    port = listener.getsockname()[1]
    async with (
        aiohttp.ClientSession() as client,
        client.get(f"http://127.0.0.1:{port}/rules/flights/late/events") as response,
    ):
        daemon.releases.announce([stored(1, 7)])
        await events(response, 1)
        await asyncio.wait_for(server.stop(), 5)
        assert await asyncio.wait_for(response.content.read(), 5) == b""
    listener.close()


# --- Plans, and the page --------------------------------------------------------------------------


async def test_plans_are_for_this_machine_only(site: Site) -> None:
    status, text, _ = await site.get("/plan?class=thresholds:16&epsilon=1&delta=1e-6&horizon=10")
    assert (status, text) == (404, "plans are made on the daemon's own machine only\n")


async def test_who_may_ask_for_a_plan_later_is_told_when(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "PLANS_WAITING_MAX", 0)
    server = HttpServer(FakeDaemon(), Gate(Access()), "littled/test", plans=Plans())
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    await server.start(listener)
    asked = "plan?class=thresholds:16&epsilon=1&delta=1e-6&horizon="
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/{asked}"
    async with aiohttp.ClientSession() as client:
        async with client.get(f"{url}10") as later:
            assert (later.status, later.headers["Retry-After"]) == (503, "5")
        async with client.get(f"{url}none") as wrong:
            assert wrong.status == 400
            assert "Retry-After" not in wrong.headers
    await server.stop()
    listener.close()


async def test_browsers_get_the_page_and_programs_the_list(guarded: Site) -> None:
    status, text, headers = await guarded.get("/", headers={"Accept": "text/html,*/*;q=0.8"})
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "<title>littled</title>" in text
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; ")
    assert "unsafe" not in policy
    assert (await guarded.get("/"))[2]["Content-Type"] == "text/plain; charset=utf-8"
    for name in ("page.js", "client/littled.js", "uplot.js"):
        status, _, headers = await guarded.get(f"/page/{name}")
        assert (status, headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    for name in ("", "../http.py", "..%2fhttp.py", "client/../rule.py", "nothing.js", "client"):
        assert (await guarded.get(f"/page/{name}"))[0] in (401, 404)


# --- Long questions, and those who may not know ---------------------------------------------------


async def test_a_long_question_is_read_beside_the_loop(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one at a time: the loop answers others meanwhile, or the reading would never end."""
    go_on = threading.Event()
    reading, most = 0, 0

    def slow(body: bytes) -> Mapping[str, Any]:
        nonlocal reading, most
        reading += 1
        most = max(most, reading)
        assert go_on.wait(10), "nobody was served while a question was read"
        reading -= 1
        return asked_in(body)

    monkeypatch.setattr(http_asking, "asked_in", slow)
    data = json.dumps(QUESTION).encode().ljust(HTTP_QUESTION_DIRECT_BYTES + 1)
    asking = [asyncio.ensure_future(site.ask(data)) for _ in range(2)]
    while not reading:  # noqa: ASYNC110 - it is counted on another thread
        await asyncio.sleep(0.01)
    assert (await site.get("/healthz"))[0] == 200
    go_on.set()
    assert [(await each)[0] for each in asking] == [200, 200]
    assert most == 1


async def test_points_are_read_for_those_alone_who_may_ask(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    monkeypatch.setattr(http_asking, "question_of", lambda _asked, name, *_: read.append(name))
    assert (await site.ask(QUESTION | {"learner": "trains/ask"}))[0] == 404
    assert read == []


async def test_who_operates_one_stream_sees_the_metrics_of_that_one() -> None:
    one = Grant("one", frozenset({Permission.OPERATE}), frozenset({"flights"}))
    two = Grant("two", frozenset({Permission.SUBSCRIBE}), None)
    tokens = {digest_of("o" * 32): one}
    access = Access(tokens=tokens, users={os.getuid(): two})
    async for site in run(Gate(access), FakeDaemon()):
        shown = {"Authorization": "Bearer " + "o" * 32}
        assert (await site.get("/metrics", headers=shown))[0] == 200
        (sees,) = site.daemon.seen
        assert [name for name in ("flights", "rides") if sees(name)] == ["flights"]


@pytest.mark.parametrize("name", ["a" * 300 + ".js", "client/" + "b" * 3000 + ".css", "%00.js"])
async def test_a_name_of_no_file_is_not_looked_for(
    site: Site, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert (await site.get(f"/page/{name}"))[0] in (400, 404)
    assert caplog.records == []


# --- What is made for whom ------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["/events?after=flights/late:0", "/rules/flights/late/events"])
async def test_releases_are_made_in_turns_for_events_too(
    site: Site, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    """So that whoever replays large ones over and over waits for itself."""
    works, made = False, 0
    work, facts = HttpTurns.work, ReleaseTexts._facts

    def watched(turns: HttpTurns, units: int) -> int:
        nonlocal works
        works = True
        try:
            return work(turns, units)
        finally:
            works = False

    def counted(texts: ReleaseTexts, release: Release) -> Any:
        nonlocal made
        assert works, "a release was made outside the turns of HTTP"
        made += 1
        return facts(texts, release)

    monkeypatch.setattr(HttpTurns, "work", watched)
    monkeypatch.setattr(ReleaseTexts, "_facts", counted)
    site.daemon.releases.announce([large(version) for version in range(1, 4)])
    for _ in range(2):
        async with site.client.get(site.url(page)) as response:
            told: list[int] = []
            while len(told) < 3:
                line = await asyncio.wait_for(response.content.readuntil(b"\n\n"), 10)
                told += [
                    json.loads(each.partition(b"data: ")[2])["version"]
                    for each in line.split(b"\n")
                    if each.startswith(b"data: ") and b'"version"' in each
                ]
            assert told == [1, 2, 3]
    assert made == 3


async def test_health_and_metrics_wait_for_nothing_that_others_have_had(site: Site) -> None:
    others = site.rules._turns._lane[Lane.OTHERS]
    others.allowance.spend(100 * HTTP_UNITS_MAX)
    for page in ("/healthz", "/metrics"):
        assert (await site.get(page))[0] == 200
    others.allowance.wait_seconds(asyncio.get_running_loop().time())
    assert others.allowance.is_spent
