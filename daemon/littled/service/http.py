"""HTTP for people and machines that watch: public facts, and questions to learners that answer.

Which pages there are, who may ask for them and what they answer is one table,
`littled.service.http_routes`; `/openapi.json` is made of it.

GET and HEAD and nothing else, and no request bodies, except for questions and rows. Every page is
made of what subscribers are told and of lengths and numbers; none depends on an example in any
other way, and an answer depends on them as the guarantee allows.

Web pages get nothing by way of their visitors. A request that a browser makes for another site is
refused, and on the loopback interface so is one that was sent to another host's name: such a name
may have been made to point here after the page was loaded (DNS rebinding). A question spends budget
as well, and rows are learned: both have to say that they are JSON, which browsers do for another
site only after asking this one, and may have no `Origin`.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Collection
from functools import partial

from aiohttp import ClientConnectionResetError, hdrs, web

from littled.limits import HTTP_LINE_BYTES_MAX, HTTP_QUESTION_BYTES_MAX
from littled.service.access import Gate
from littled.service.http_answers import check_here, refused
from littled.service.http_asking import AskPages
from littled.service.http_bodies import takes_body
from littled.service.http_connections import HttpConnections
from littled.service.http_errors import HttpError
from littled.service.http_expecting import meet_expectations, put_aside
from littled.service.http_guard import RIGHTS, check_origin, rights_of
from littled.service.http_routes import OPEN, PAGE_FILES, ROUTES, Route
from littled.service.http_rules import RulePages
from littled.service.http_surface import Handler, Surface
from littled.service.http_turns import HttpTurns
from littled.service.http_watching import WatchPages
from littled.service.listeners import Listener
from littled.service.logs import Log, make_log
from littled.service.planning import Plans
from littled_protocol import limits

UNREADABLE = "the request line or a header is not written as HTTP wants it\n"
_OPEN_FOLDERS = tuple(path.partition("{")[0] for path in OPEN if "{" in path)


class Reader(web.RequestHandler):
    """Reads one request and writes the answer to it."""

    __slots__ = ()

    def __init__(self, server: web.Server, *, loop: asyncio.AbstractEventLoop) -> None:
        """Read short lines only, and write no log of its own: for None the library has none."""
        super().__init__(
            server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]
            max_line_size=HTTP_LINE_BYTES_MAX,
            max_field_size=HTTP_LINE_BYTES_MAX,
            lingering_time=0,
            auto_decompress=False,
        )

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Refuse what cannot be read without a word of it, which the library would quote.

        It would also log an error for each, and what a peer sends is none of the daemon's. Nor is
        it that a peer has gone.
        """
        if isinstance(exc, ClientConnectionResetError):
            raise exc  # the library closes, and says nothing
        if status != web.HTTPBadRequest.status_code or request.writer.output_size:
            return super().handle_error(request, status, exc, message)
        response = web.Response(status=status, text=UNREADABLE)
        response.force_close()
        return response


class HttpServer:
    """The daemon's HTTP side on one listening socket."""

    def __init__(
        self,
        surface: Surface,
        gate: Gate,
        server: str,
        hosts: Collection[str] | None = None,
        *,
        page: bool = True,
        plans: Plans | None = None,
        log: Log | None = None,
        turns: HttpTurns | None = None,
    ) -> None:
        """Make a server that shows `surface` to whom `gate` admits, under the name `server`.

        hosts: the names, in small letters, by which requests may call this host; None for any.
        page: whether browsers get the operator's page. plans: makes plans; None where nobody may
        ask for one. turns: those of other servers on the same facts, if there are any.
        """
        self._surface = surface
        turns = self._turns = turns or HttpTurns()
        self._rules = RulePages(surface, turns)
        pages = (WatchPages(surface, turns, plans, page=page), self._rules, AskPages(surface))
        self._answers = {name: answer for each in pages for name, answer in each.answers.items()}
        self.application = self._application(gate, server, hosts)
        self._runner = web.AppRunner(
            self.application,
            handle_signals=False,
            handler_cancellation=True,
            shutdown_timeout=limits.close_seconds,
        )
        self._log = make_log("json") if log is None else log
        self._connections: HttpConnections | None = None

    async def start(self, listener: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        """Begin to answer on a bound socket."""
        await self._runner.setup()
        server = self._runner.server
        assert server is not None, "the runner has no server after its setup"
        server.request_factory = put_aside(server.request_factory)
        listening = Listener(listener, tls=tls)
        answer = partial(Reader, server, loop=asyncio.get_running_loop())
        self._connections = HttpConnections(answer, listening, self._turns, self._log)
        self._connections.start()

    def check_rights(self) -> None:
        """The rules have changed: streams of events end, and who still may comes back."""
        self._rules.end_events()

    async def stop(self) -> None:
        """Stop answering; streams of events end."""
        self._rules.end_events()
        connections, self._connections = self._connections, None
        if connections is not None:
            connections.stop()
        await self._runner.cleanup()

    def _application(
        self, gate: Gate, server: str, hosts: Collection[str] | None
    ) -> web.Application:
        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            check_origin(request, hosts)
            if not _is_open(request):
                request[RIGHTS] = rights_of(request, gate)
            if request.match_info.http_exception is not None:
                raise request.match_info.http_exception  # no such page, or no such method
            if request.body_exists and not takes_body(request):
                raise web.HTTPRequestEntityTooLarge(max_size=0, actual_size=1)
            await meet_expectations(request)
            try:
                if (stream := request.match_info.get("stream")) is not None:
                    check_here(self._surface, [stream])
                return await handler(request)
            except HttpError as error:
                return refused(error)

        async def sign(request: web.Request, response: web.StreamResponse) -> None:
            response.force_close()
            if response.status < web.HTTPBadRequest.status_code and self._connections is not None:
                self._connections.took(request.protocol)
            response.headers[hdrs.CONNECTION] = "close"
            response.headers[hdrs.SERVER] = server
            response.headers[hdrs.CACHE_CONTROL] = "no-store"
            response.headers["X-Content-Type-Options"] = "nosniff"

        application = web.Application(middlewares=[guard], client_max_size=HTTP_QUESTION_BYTES_MAX)
        application.on_response_prepare.append(sign)
        for route in ROUTES:
            self._add(application.router, route)
        return application

    def _add(self, router: web.UrlDispatcher, route: Route) -> None:
        """Let one of the pages answer."""
        handler = self._answers[route.name]
        path = route.path
        if path == PAGE_FILES:  # of folders as well
            path = path.replace("{name}", "{name:.+}")
        if route.method == hdrs.METH_GET:
            # The head of a stream of events would be sent for ever.
            router.add_get(path, handler, allow_head=not path.endswith("/events"))
        else:
            router.add_route(route.method, path, handler)


def _is_open(request: web.Request) -> bool:
    """Whether a page holds no fact, so that anybody may ask for it."""
    return request.path in OPEN or request.path.startswith(_OPEN_FOLDERS)
