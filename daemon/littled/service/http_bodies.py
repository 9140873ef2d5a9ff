"""Bodies of requests over HTTP: who may send which, how long, and in what time."""

from __future__ import annotations

import asyncio

from aiohttp import hdrs, web

from littled.limits import HTTP_FEED_BYTES_MAX, HTTP_QUESTION_SECONDS
from littled.service.feeding import FeedError
from littled.service.http_errors import HttpError
from littled.service.http_routes import ROUTES, ROWS_TYPES
from littled.service.questions import QuestionError

# Pages whose requests have a body.
_BODIES = frozenset(route.path for route in ROUTES if route.body is not None)


def takes_body(request: web.Request) -> bool:
    """Return whether a request may have a body."""
    resource = request.match_info.route.resource
    return (
        resource is not None and resource.canonical in _BODIES and request.method == hdrs.METH_POST
    )


def parameters(request: web.Request) -> dict[str, str]:
    """The parameters of an address, each of which comes once; raises FeedError."""
    found = dict(request.query)
    if len(found) != len(request.query):
        raise FeedError(400, "a parameter of the address comes twice")
    return found


async def question_body(request: web.Request, bytes_max: int) -> bytes:
    """The body of a question, at most so long; raises QuestionError when it may not be asked."""
    if hdrs.ORIGIN in request.headers:
        raise QuestionError(403, "web pages may not ask questions")
    if request.content_type != "application/json" or hdrs.CONTENT_ENCODING in request.headers:
        raise QuestionError(415, "a question must be application/json, and not compressed")
    return await _body(request, bytes_max, "a question", QuestionError)


async def rows_body(request: web.Request) -> tuple[bool, bytes]:
    """Whether rows are JSON lines, and the body; raises FeedError when it may not be fed."""
    if hdrs.ORIGIN in request.headers:
        raise FeedError(403, "web pages may not feed")
    lines = ROWS_TYPES.get(request.content_type)
    if lines is None or hdrs.CONTENT_ENCODING in request.headers:
        raise FeedError(
            415, "rows must be application/json or application/x-ndjson, and not compressed"
        )
    return lines, await _body(request, HTTP_FEED_BYTES_MAX, "a body of rows", FeedError)


async def _body(request: web.Request, bytes_max: int, what: str, refused: type[HttpError]) -> bytes:
    """The body of a request; raises `refused` for one that is too long or too slow."""
    too_large = refused(413, f"{what} has at most {bytes_max} bytes")
    if (request.content_length or 0) > bytes_max:
        raise too_large
    try:
        async with asyncio.timeout(HTTP_QUESTION_SECONDS):
            body = await request.read()
    except TimeoutError:
        raise refused(408, f"{what} did not arrive in time") from None
    except web.HTTPRequestEntityTooLarge:
        raise too_large from None
    if len(body) > bytes_max:
        raise too_large
    return body
