"""What a request expects is met behind the guard, and never quoted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from littled.service.access import Access, Gate, one_token
from support.sites import LEARNER, TOKEN, FakeDaemon, Site, run

HOSTS = frozenset({"localhost"})


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async for made in run(Gate(Access()), FakeDaemon()):
        yield made


EXPECTATIONS = [
    b"secret",
    b"\xffsecret",
    b"100-continue, secret",
    b"100-continue\r\nExpect: secret",
]


@pytest.mark.parametrize("expected", [b"100-continue", b"100-Continue", *EXPECTATIONS])
@pytest.mark.parametrize(
    ("line", "others", "status"),
    [
        (b"POST /predict", b"", b"401 Unauthorized"),
        (b"GET /nowhere", b"", b"401 Unauthorized"),
        (b"PUT /predict", b"", b"401 Unauthorized"),
        (b"POST /predict", b"Sec-Fetch-Site: cross-site\r\n", b"403 Forbidden"),
        (b"GET /healthz", b"", b"421 Misdirected Request"),
    ],
)
async def test_nobody_is_told_to_go_on_who_may_not_come_in(
    line: bytes, others: bytes, status: bytes, expected: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate(Access(tokens=one_token(TOKEN)))
    async for guarded in run(gate, FakeDaemon(), HOSTS):
        host = b"elsewhere" if status.startswith(b"421") else b"localhost"
        head = b"Host: " + host + b"\r\nContent-Length: 4\r\n" + others
        request = line + b" HTTP/1.1\r\n" + head + b"Expect: " + expected + b"\r\n\r\n"
        answer = await guarded.raw(request)
        assert answer.startswith(b"HTTP/1.1 " + status)
        assert b"secret" not in answer
    assert not caplog.records


@pytest.mark.parametrize("expected", EXPECTATIONS)
async def test_what_is_expected_is_not_quoted(
    site: Site, expected: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    for line in (b"GET /healthz", b"POST /predict"):
        answer = await site.raw(
            line + b" HTTP/1.1\r\nHost: localhost\r\nExpect: " + expected + b"\r\n\r\n"
        )
        assert answer.startswith(b"HTTP/1.1 417 Expectation Failed\r\n")
        assert answer.endswith(b"\r\n\r\na request may expect 100-continue and nothing else\n")
    assert not caplog.records
    assert (await site.raw(b"GET /healthz HTTP/1.0\r\nExpect: x\r\n\r\n")).startswith(
        b"HTTP/1.0 200 OK"
    )


async def test_who_waits_to_go_on_with_a_body_is_told_to(site: Site) -> None:
    body = json.dumps({"learner": LEARNER, "request": "0f" * 16, "x": [1]}).encode()
    head = (
        b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(head)
    told = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
    assert told == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(body)
    answer = await asyncio.wait_for(reader.read(), 10)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    writer.close()
    await writer.wait_closed()
    # who has nothing to go on with is answered at once
    answer = await site.raw(
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
