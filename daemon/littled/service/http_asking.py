"""Questions and rows over HTTP: what has a body, and changes something."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from aiohttp import web

from littled.limits import HTTP_FEEDS_MAX, HTTP_QUESTIONS_MAX
from littled.service.access import Permission
from littled.service.feeding import Feed
from littled.service.http_answers import as_json, check_here, refused
from littled.service.http_bodies import parameters, question_body, rows_body
from littled.service.http_errors import UNAVAILABLE, HttpError
from littled.service.http_guard import RIGHTS
from littled.service.http_slots import Shares
from littled.service.http_surface import Handler, Surface
from littled.service.questions import read_question, response_to
from littled.service.writer import WriterStopped


class AskPages:
    """The answers to questions and rows."""

    def __init__(self, surface: Surface) -> None:
        """Ask and feed `surface`."""
        self._surface = surface
        self._questions = Shares()
        self._feeds = Shares()

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
        surface = self._surface
        asked = read_question(
            await question_body(request),
            surface.x_types,
            surface.words,
            partial(request[RIGHTS].may, Permission.PREDICT),
            lambda stream: check_here(surface, [stream]),
        )
        return response_to(await surface.predict(asked))

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
                return as_json(await self._surface.feeding.feed(feed, body, lines=lines))
        except HttpError as error:
            return refused(error)
        except WriterStopped:
            return refused(
                HttpError(UNAVAILABLE, "the daemon is stopping; send the rows again later")
            )


def _too_many_questions() -> HttpError:
    return HttpError(UNAVAILABLE, "too many questions are being answered; ask again later")


def _too_many_bodies() -> HttpError:
    return HttpError(UNAVAILABLE, "too many bodies are being read; send this one again later")
