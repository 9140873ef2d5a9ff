"""Questions and rows over HTTP: what has a body, and changes something."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property, partial
from typing import Any, TypeVar

from aiohttp import web

from littled.limits import (
    HTTP_FEEDS_MAX,
    HTTP_QUESTION_BYTES_MAX,
    HTTP_QUESTION_DIRECT_BYTES,
    HTTP_QUESTIONS_MAX,
)
from littled.service.access import Permission
from littled.service.elsewhere import Nowhere
from littled.service.feeding import Feed
from littled.service.http_answers import as_json, check_here, refused
from littled.service.http_bodies import parameters, question_body, rows_body
from littled.service.http_errors import UNAVAILABLE, HttpError
from littled.service.http_guard import RIGHTS
from littled.service.http_readings import Readings
from littled.service.http_slots import Shares, origin_in
from littled.service.http_surface import Handler, Surface
from littled.service.questions import (
    asked_in,
    learner_asked,
    question_bytes_max,
    question_of,
    response_to,
)
from littled.service.writer import WriterStopped
from littled_protocol.messages import Predict
from littled_protocol.rules import PLAIN

T = TypeVar("T")
Run = Callable[..., Coroutine[Any, Any, Any]]


class AskPages:
    """The answers to questions and rows."""

    def __init__(self, surface: Surface) -> None:
        """Ask and feed `surface`."""
        self._surface = surface
        self._questions = Shares()
        self._feeds = Shares()
        self._readings = Readings()

    @property
    def answers(self) -> dict[str, Handler]:
        """What answers, by the name of its page."""
        return {
            "predict": self.predict,
            "next_sequence": self.next_sequence,
            "feed": self.feed,
        }

    async def predict(self, request: web.Request) -> web.Response:
        """Private answers about points."""
        try:
            with self._questions.place(request, HTTP_QUESTIONS_MAX, _too_many_questions):
                status, value = await self._answered(request)
        except HttpError as error:
            return refused(error)
        except WriterStopped:
            return refused(HttpError(UNAVAILABLE, "the daemon is stopping; ask again later"))
        return as_json(value, status)

    async def _answered(self, request: web.Request) -> tuple[int, Mapping[str, Any]]:
        asked = await self._read(request, await question_body(request, self._bytes_max))
        return response_to(await self._surface.predict(asked))

    async def _read(self, request: web.Request, body: bytes) -> Predict:
        """The request in a body; beside the loop what takes long."""
        may = partial(request[RIGHTS].may, Permission.PREDICT)
        if len(body) <= HTTP_QUESTION_DIRECT_BYTES:
            return await self._question(body, may, _at_once)
        question = partial(self._question, body, may, asyncio.to_thread)
        return await self._readings.read(origin_in(request), question)

    async def _question(self, body: bytes, may: Callable[[str], bool], run: Run) -> Predict:
        surface = self._surface
        asked = await run(asked_in, body)
        learner, x_type = learner_asked(
            asked, surface.x_types, may, lambda stream: check_here(surface, [stream])
        )
        known = surface.words.get(learner, PLAIN)  # one that is not there is refused by name
        found: Predict = await run(question_of, asked, learner, x_type, known)
        return found

    @cached_property
    def _bytes_max(self) -> int:
        """How long a question may be; those for other daemons are told where to go."""
        surface = self._surface
        if not isinstance(surface.elsewhere, Nowhere):
            return HTTP_QUESTION_BYTES_MAX
        return question_bytes_max(surface.x_types.values(), surface.words.values())

    async def next_sequence(self, request: web.Request) -> web.Response:
        """Where a producer goes on."""
        try:
            feed = Feed.read(request.match_info["stream"], parameters(request), rows=False)
            return as_json(await self._surface.feeding.next_sequence(feed))
        except HttpError as error:
            return refused(error)
        except WriterStopped:
            return refused(HttpError(UNAVAILABLE, "the daemon is stopping; feed again later"))

    async def feed(self, request: web.Request) -> web.Response:
        """Rows become durable."""
        try:
            with self._feeds.place(request, HTTP_FEEDS_MAX, _too_many_bodies):
                feed = Feed.read(request.match_info["stream"], parameters(request), rows=True)
                lines, body = await rows_body(request)
                origin = origin_in(request)
                fed = await self._surface.feeding.feed(feed, body, lines=lines, origin=origin)
                return as_json(fed)
        except HttpError as error:
            return refused(error)
        except WriterStopped:
            return refused(
                HttpError(UNAVAILABLE, "the daemon is stopping; send the rows again later")
            )


async def _at_once(read: Callable[..., T], *given: Any) -> T:
    """Do on the loop what takes no time."""
    return read(*given)


def _too_many_questions() -> HttpError:
    return HttpError(UNAVAILABLE, "too many questions are being answered; ask again later")


def _too_many_bodies() -> HttpError:
    return HttpError(UNAVAILABLE, "too many bodies are being read; send this one again later")
