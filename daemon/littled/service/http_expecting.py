"""What a client expects before it sends a body (RFC 9110, 10.1.1): looked at by the guard.

The library would look first, for whoever asks, and quote what it does not know.
"""

from __future__ import annotations

from asyncio import Task
from collections.abc import Callable
from typing import Final, TypeAlias

from aiohttp import HttpVersion11, StreamReader, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage

MakeRequest: TypeAlias = Callable[
    [
        RawRequestMessage,
        StreamReader,
        web.RequestHandler,
        AbstractStreamWriter,
        "Task[None]",
    ],
    web.BaseRequest,
]
_EXPECTED: Final = web.RequestKey("expected", list[str])
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


def put_aside(make: MakeRequest) -> MakeRequest:
    """Make requests in which the library finds no `Expect`; what it said is kept."""

    def made(
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: Task[None],
    ) -> web.BaseRequest:
        expected: list[str] = []
        if hdrs.EXPECT in message.headers:  # what cannot be read has a plain dictionary
            headers = message.headers.copy()
            expected = headers.popall(hdrs.EXPECT)
            message = message._replace(headers=type(message.headers)(headers))
        request = make(message, payload, protocol, writer, task)
        request[_EXPECTED] = expected
        return request

    return made


async def meet_expectations(request: web.Request) -> None:
    """Let a client that waits for it send its body; refuses whoever expects anything else."""
    expected = [each for each in request[_EXPECTED] if each]
    if not expected or request.version < HttpVersion11:
        return
    if any(each.lower() != "100-continue" for each in expected):
        raise web.HTTPExpectationFailed(text="a request may expect 100-continue and nothing else\n")
    if request.body_exists:
        await request.writer.write(_CONTINUE)
        request.writer.output_size = 0  # the answer has not begun with it
