"""Rules over HTTP: the last one in its forms, the versions so far, figures of quality, events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import Any, TypeVar

from aiohttp import hdrs, web

from littled.limits import HTTP_EVENT_STREAMS_MAX, HTTP_HEARTBEAT_SECONDS
from littled.service.access import Permission
from littled.service.history import history
from littled.service.http_answers import as_json, check_here
from littled.service.http_errors import AGAIN, HttpError
from littled.service.http_guard import RIGHTS
from littled.service.http_numbers import number_in
from littled.service.http_routes import FORMATS
from littled.service.http_slots import Shares, origin_in
from littled.service.http_surface import Handler, Surface
from littled.service.http_turns import HttpTurns, Lane
from littled.service.news import Positions, Shown, Wanted, tell
from littled.service.release_texts import ReleaseTexts
from littled.service.turns import Making
from littled_protocol import limits
from littled_protocol.facts import ShortRelease
from littled_protocol.messages import Release
from littled_protocol.rules import DIALECTS, Dialect, Rule, RuleError, Words, sql_function

T = TypeVar("T")


class RulePages:
    """The answers about rules."""

    def __init__(self, surface: Surface, turns: HttpTurns) -> None:
        """Show the rules of `surface`."""
        self._surface = surface
        self._turns = turns
        self._texts = ReleaseTexts(lambda release: surface.words[release.learner])
        self._event_streams = Shares()
        self._stopping = asyncio.Event()

    @property
    def answers(self) -> dict[str, Handler]:
        """What answers, by the name of its page."""
        return {
            "rule": self.rule,
            "history": self.history,
            "quality": self.quality,
            "events": self.events,
            "all_events": self.all_events,
        }

    @cached_property
    def _positions(self) -> Positions:
        """Where the streams are, looked at once for all who watch."""
        return Positions(self._surface.positions)

    def end_events(self) -> None:
        """End all streams of events; readers come back and resume where they were."""
        self._stopping.set()
        self._stopping = asyncio.Event()

    async def rule(self, request: web.Request) -> web.Response:
        """The last release as JSON, or its rule as text or SQL."""
        learner = self._learner(request)
        form = request.query.get("format", "json")
        if form not in FORMATS:
            raise web.HTTPBadRequest(text=f"format must be one of {', '.join(FORMATS)}\n")
        _check_sql_names(request.query)
        release = self._surface.releases.latest(learner)
        if release is None or release.rule is None:
            raise web.HTTPNotFound(text="no rule has been published yet\n")
        if form == "json":
            text = await self._made(request, self._texts.text(release))
            return web.Response(text=text, content_type="application/json")
        try:
            text = await self._made(request, self._written(release, form, request.query))
        except RuleError as error:
            raise web.HTTPBadRequest(text=f"{error}\n") from None
        return web.Response(text=text + "\n")

    def _written(self, release: Release, form: str, asked: Mapping[str, str]) -> Making[str]:
        """A rule as text or SQL, in the words of its learner."""
        column, dialect = asked.get("column", "x"), _dialect(asked)
        name = asked.get("name", release.learner.partition("/")[2])
        write: dict[str, tuple[tuple[str, ...], Callable[[Rule, Words], str]]] = {
            "text": ((), lambda rule, words: rule.describe(words)),
            "sql": ((column, dialect), lambda rule, words: rule.to_sql(words, column, dialect)),
            "sql-function": (
                (column, dialect, name),
                lambda rule, words: sql_function(rule, words, name, dialect, column),
            ),
        }
        depends, writes = write[form]
        return self._texts.written(release, (form, *depends), writes)

    async def history(self, request: web.Request) -> web.Response:
        """Releases in short."""
        learner, after = self._learner(request), _version(request.query, "after")
        releases, texts = self._surface.releases, self._texts

        async def shorten(some: Iterable[Release]) -> list[ShortRelease]:
            return await self._made(request, texts.shorts(some))

        return as_json(await history(releases, learner, after, origin_in(request), shorten))

    async def quality(self, request: web.Request) -> web.Response:
        """The figures of a learner."""
        learner, figures = self._learner(request), self._surface.figures
        if learner not in figures.learners:
            raise web.HTTPNotFound(text="the rules of this learner are not measured\n")
        return as_json({"learner": learner, "periods": figures.after(learner, 0)})

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Releases of a learner as they come."""
        learner = self._learner(request)
        version, shown = _version(request.headers, "Last-Event-ID"), self._shown(request)
        stream = partial(
            self._stream,
            shown=shown,
            learner=learner,
            version=version,
            origin=origin_in(request),
        )
        return await self._sent(request, stream)

    async def all_events(self, request: web.Request) -> web.StreamResponse:
        """Releases of all learners, and positions."""
        surface, rights, asked = self._surface, request[RIGHTS], request.query
        origin = origin_in(request)

        def may(learner: str) -> bool:
            return rights.may(Permission.SUBSCRIBE, learner.partition("/")[0])

        named, after = asked.getall("learner", []), asked.getall("after", [])
        check_here(surface, [each.partition("/")[0] for each in filter(may, named)])
        try:
            wanted = Wanted.of(named, after, surface.releases, may)
        except HttpError as error:
            return web.Response(status=error.status, text=f"{error}\n")
        return await self._sent(
            request,
            lambda response: tell(
                wanted,
                surface.releases,
                origin,
                surface.figures,
                surface.instance,
                self._positions,
                rights.sees,
                self._shown(request),
                partial(_write, response),
                partial(self._turns.turns.to_send, origin),
                self._stopping,
            ),
        )

    async def _sent(
        self, request: web.Request, stream: Callable[[web.StreamResponse], Awaitable[None]]
    ) -> web.StreamResponse:
        """Answer with the events that `stream` writes, as long as the reader takes them."""
        with self._event_streams.place(request, HTTP_EVENT_STREAMS_MAX, _too_many_events):
            return await self._told(request, stream)

    async def _told(
        self, request: web.Request, stream: Callable[[web.StreamResponse], Awaitable[None]]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={hdrs.CONTENT_TYPE: "text/event-stream"})
        try:
            await response.prepare(request)
            await stream(response)
        except TimeoutError:
            # The reader lets its events pile up. It can resume where it stopped; what waits for it
            # is thrown away, as a close in good order would wait for it in turn.
            if request.transport is not None:
                request.transport.abort()
        return response

    async def _stream(
        self, response: web.StreamResponse, shown: Shown, learner: str, version: int, origin: str
    ) -> None:
        """Write releases as they come, until the reader is gone or slow, or the daemon stops.

        The last figure of quality comes at once, and the next ones as they do; they have no id, as
        readers resume by the version of a rule.
        """
        releases, figures = self._surface.releases, self._surface.figures
        number = max(figures.number(learner) - 1, 0)
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            while not stopping.done():
                for release in await releases.after(learner, version, origin):
                    await self._turns.turns.to_send(origin)
                    data = await shown(release)
                    if stopping.done():  # also in the middle of a long history
                        return
                    head = f"id: {release.version}\nevent: release\ndata: ".encode()
                    await _write(response, head + data + b"\n\n")
                    version = release.version
                for facts in figures.after(learner, number):
                    await _write(response, _quality_event({"learner": learner, **facts}))
                    number = facts["number"]
                news = (
                    asyncio.ensure_future(releases.beyond(learner, version)),
                    asyncio.ensure_future(figures.beyond(learner, number)),
                )
                try:
                    done, _ = await asyncio.wait(
                        (*news, stopping),
                        timeout=HTTP_HEARTBEAT_SECONDS,
                        return_when=asyncio.FIRST_COMPLETED,
                    )
                finally:
                    for each in news:
                        each.cancel()
                if not done:
                    await _write(response, b": still here\n\n")
        finally:
            stopping.cancel()

    def _learner(self, request: web.Request) -> str:
        learner = f"{request.match_info['stream']}/{request.match_info['learner']}"
        if learner not in self._surface.releases:
            raise web.HTTPNotFound(text="there is no such learner\n")
        return learner

    async def _made(self, request: web.Request, making: Making[T]) -> T:
        return await self._turns.made(Lane.OTHERS, origin_in(request), making)

    def _shown(self, request: web.Request) -> Shown:
        """What shows a stream of events its releases: made in turns, for whoever asks first."""
        return lambda release: self._made(request, self._texts.event(release))


def _too_many_events() -> web.HTTPException:
    return web.HTTPServiceUnavailable(text="too many streams of events are open\n", headers=AGAIN)


def _check_sql_names(asked: Mapping[str, str]) -> None:
    """Refuse names that SQL would not have; a column is named often, so they are short."""
    most = limits.name_characters_max
    if not all(1 <= len(asked.get(each, "x")) <= most for each in ("column", "name")):
        raise web.HTTPBadRequest(text=f"a name in SQL has 1 to {most} characters\n")
    _dialect(asked)


def _dialect(asked: Mapping[str, str]) -> Dialect:
    """The database that a function is for."""
    wanted = asked.get("dialect", DIALECTS[0])
    for dialect in DIALECTS:
        if dialect == wanted:
            return dialect
    raise web.HTTPBadRequest(text=f"dialect must be one of {', '.join(DIALECTS)}\n")


def _version(said: Mapping[str, str], name: str) -> int:
    """The version that is known by a parameter or header, 0 without it."""
    version = number_in(said.get(name, "0"), limits.integer_max)
    if version is None:
        raise web.HTTPBadRequest(text=f"{name} must be the number of a version\n")
    return version


def _quality_event(value: Mapping[str, Any]) -> bytes:
    return f"event: quality\ndata: {json.dumps(value, sort_keys=True)}\n\n".encode()


async def _write(response: web.StreamResponse, data: bytes) -> None:
    async with asyncio.timeout(limits.send_seconds):
        await response.write(data)
