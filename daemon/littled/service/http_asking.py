"""Questions and rows over HTTP: what has a body, and changes something."""

from __future__ import annotations

from functools import partial

from aiohttp import web

from littled.limits import HTTP_FEEDS_MAX, HTTP_QUESTIONS_MAX
from littled.service.access import Permission
from littled.service.feeding import Feed
from littled.service.http_answers import as_json, check_here, refused
from littled.service.http_bodies import parameters, question_body, rows_body
from littled.service.http_errors import UNAVAILABLE, HttpError
from littled.service.http_guard import RIGHTS
from littled.service.http_surface import Handler, Surface
from littled.service.questions import read_question, response_to
from littled.service.writer import WriterStopped


class AskPages:
    """The answers to questions and rows."""

    def __init__(self, surface: Surface) -> None:
        """Ask and feed `surface`."""
        self._surface = surface
        self._questions = 0
        self._feeds = 0

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
        if self._questions >= HTTP_QUESTIONS_MAX:
            return refused(
                HttpError(UNAVAILABLE, "too many questions are being answered; ask again later")
            )
        self._questions += 1
        try:
            may = partial(request[RIGHTS].may, Permission.PREDICT)
            surface = self._surface
            asked = read_question(
                await question_body(request),
                surface.x_types,
                surface.words,
                may,
                lambda stream: check_here(surface, [stream]),
            )
            status, value = response_to(await surface.predict(asked))
        except HttpError as error:
            return refused(error)
        except WriterStopped:
            return refused(HttpError(UNAVAILABLE, "the daemon is stopping; ask again later"))
        finally:
            self._questions -= 1
        return as_json(value, status)

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
        if self._feeds >= HTTP_FEEDS_MAX:
            return refused(
                HttpError(UNAVAILABLE, "too many bodies are being read; send this one again later")
            )
        self._feeds += 1
        try:
            feed = Feed.read(request.match_info["stream"], parameters(request), rows=True)
            lines, body = await rows_body(request)
            return as_json(await self._surface.feeding.feed(feed, body, lines=lines))
        except HttpError as error:
            return refused(error)
        except WriterStopped:
            return refused(
                HttpError(UNAVAILABLE, "the daemon is stopping; send the rows again later")
            )
        finally:
            self._feeds -= 1
