"""The pages for who watches: the operator's page, health, status, metrics, plans, and schemas."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache, cached_property, partial
from typing import Any

from aiohttp import hdrs, web

from littled.service.access import Permission
from littled.service.http_answers import check_here
from littled.service.http_errors import HttpError
from littled.service.http_guard import RIGHTS
from littled.service.http_numbers import number_in
from littled.service.http_routes import INDEX, SCHEMAS, STATUS_LIMIT_MAX
from littled.service.http_slots import origin_in
from littled.service.http_surface import Handler, Surface
from littled.service.http_turns import HttpTurns, Lane
from littled.service.page import POLICY, page_file
from littled.service.planning import Plans
from littled.service.statuses import Names, StatusTexts, status_page
from littled_protocol.messages import NAME


class WatchPages:
    """The answers about the daemon as a whole."""

    def __init__(
        self, surface: Surface, turns: HttpTurns, plans: Plans | None, *, page: bool
    ) -> None:
        """Show `surface`. plans: None where nobody may ask for one; page: whether browsers do."""
        self._surface = surface
        self._turns = turns
        self._statuses = StatusTexts(self._tell)
        self._plans = plans
        self._page = page

    @property
    def answers(self) -> dict[str, Handler]:
        """What answers, by the name of its page."""
        return {
            "index": self.index,
            "file": self.file,
            "healthz": self.healthz,
            "status": self.status,
            "metrics": self.metrics,
            "plan": self.plan,
            "openapi": self.openapi,
            "schema": self.schema,
        }

    @cached_property
    def _names(self) -> Names:
        """In the order in which JSON has them, so that the last one of a page is known."""
        return Names(sorted(self._surface.x_types))

    def _tell(self, streams: Sequence[str]) -> dict[str, Any]:
        return self._surface.status(streams)

    async def index(self, request: web.Request) -> web.Response:
        """The page, or a list of pages."""
        if self._page and "text/html" in request.headers.get(hdrs.ACCEPT, ""):
            return _file("index.html")
        return web.Response(text=INDEX, headers={hdrs.VARY: hdrs.ACCEPT})

    async def file(self, request: web.Request) -> web.Response:
        """A file of the page."""
        if not self._page:
            raise web.HTTPNotFound(text="the page is switched off; --page switches it on\n")
        return _file(request.match_info["name"])

    async def healthz(self, _request: web.Request) -> web.Response:
        """Whether commits go through."""
        if self._surface.healthy():
            return web.Response(text="ok\n")
        return web.Response(status=503, text="commits have stopped\n")

    async def status(self, request: web.Request) -> web.Response:
        """Public facts about every stream, or some."""
        asked = request.query
        most = number_in(asked["limit"], STATUS_LIMIT_MAX) if "limit" in asked else None
        if most == 0 or ("limit" in asked and most is None):
            raise web.HTTPBadRequest(text="limit must be a number of streams, from 1 on\n")
        after = asked.get("after")
        for key in ("after", "stream"):
            if not all(map(NAME.fullmatch, asked.getall(key, ()))):
                raise web.HTTPBadRequest(text=f"{key} must be the name of a stream\n")
        surface, rights = self._surface, request[RIGHTS]
        only = set(asked.getall("stream")) if "stream" in asked else None
        check_here(surface, sorted(filter(rights.sees, only or ())))
        names, more = status_page(self._names, rights, only=only, after=after, most=most)
        making = self._statuses.answer(names, more=more)
        text = await self._turns.made(Lane.OTHERS, origin_in(request), making)
        return web.Response(text=text, content_type="application/json")

    async def metrics(self, request: web.Request) -> web.Response:
        """Numbers for Prometheus."""
        accepted = request.headers.get(hdrs.ACCEPT, "")
        sees = partial(request[RIGHTS].may, Permission.OPERATE)
        making = self._surface.metrics(accepted, sees)
        body, kind = await self._turns.made(Lane.WATCHING, origin_in(request), making)
        return web.Response(body=body, headers={hdrs.CONTENT_TYPE: kind, hdrs.VARY: hdrs.ACCEPT})

    async def plan(self, request: web.Request) -> web.Response:
        """What a budget buys."""
        if self._plans is None:
            raise web.HTTPNotFound(text="plans are made on the daemon's own machine only\n")
        try:
            return web.Response(text=await self._plans.plan(request.query))
        except HttpError as error:
            return web.Response(status=error.status, text=f"{error}\n", headers=error.headers)

    async def openapi(self, _request: web.Request) -> web.Response:
        """The OpenAPI document."""
        return web.Response(
            text=await asyncio.to_thread(_document), content_type="application/json"
        )

    async def schema(self, request: web.Request) -> web.Response:
        """A JSON Schema."""
        name = request.match_info["name"]
        if name not in SCHEMAS:
            raise web.HTTPNotFound(text=f"there are schemas of {', '.join(SCHEMAS)}\n")
        text = await asyncio.to_thread(_schema, name)
        return web.Response(text=text, content_type="application/schema+json")


# What makes schemas takes a while to import, and few ask for one.


@cache
def _document() -> str:
    from littled.service.openapi import document, written  # noqa: PLC0415

    return written(document())


@cache
def _schema(name: str) -> str:
    from littled.service.openapi import written  # noqa: PLC0415
    from littled.service.schemas import schema  # noqa: PLC0415

    return written(schema(name))


def _file(name: str) -> web.Response:
    """A file of the page."""
    found = page_file(name)
    if found is None:
        raise web.HTTPNotFound(text="the page has no such file\n")
    content, kind = found
    headers = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer"}
    headers |= {hdrs.VARY: hdrs.ACCEPT, "Cross-Origin-Resource-Policy": "same-origin"}
    return web.Response(body=content, content_type=kind, charset="utf-8", headers=headers)
