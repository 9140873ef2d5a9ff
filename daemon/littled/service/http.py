"""HTTP for people and machines that watch: public facts, and questions to learners that answer.

| path | answer |
|---|---|
| / | the operator's page, where it is on, for browsers; for others which pages there are |
| /page/... | its files |
| /healthz | "ok", or 503 when commits have stopped |
| /status | public facts about every stream, JSON |
| /metrics | the same for Prometheus, and as OpenMetrics to who accepts that |
| /rules/STREAM/LEARNER | the last release as JSON, which `littled rule` reads as a file |
| /rules/STREAM/LEARNER?format=text | its rule in words; or sql (&column), sql-function (&name) |
| /rules/STREAM/LEARNER/history | releases in short, JSON; ?after=VERSION for the next ones |
| /rules/STREAM/LEARNER/events | releases as server-sent events; Last-Event-ID resumes |
| /events | releases of all learners, and positions, as server-sent events: `littled.service.news` |
| /plan?class&epsilon&delta&horizon | what `littled plan` prints; on this machine only |
| /rules/STREAM/LEARNER/quality | how often its rules were wrong, period by period, JSON |
| POST /predict | private answers about points, JSON; see `littled.service.questions` |
| POST /feed/STREAM?producer&sequence | rows become durable; see `littled.service.feeding` |
| /feed/STREAM?producer | where a producer goes on, JSON |

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
import json
import socket
import ssl
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import Any, Protocol

from aiohttp import hdrs, web

from littled.limits import (
    HTTP_EVENT_STREAMS_MAX,
    HTTP_FEEDS_MAX,
    HTTP_HEARTBEAT_SECONDS,
    HTTP_LINE_BYTES_MAX,
    HTTP_QUESTION_BYTES_MAX,
    HTTP_QUESTIONS_MAX,
    LISTEN_BACKLOG,
)
from littled.service.access import Gate, Permission, Rights, Shown
from littled.service.feeding import Feed
from littled.service.figures import Figures
from littled.service.history import history
from littled.service.http_bodies import (
    FEED,
    PREDICT,
    parameters,
    question_body,
    rows_body,
    takes_body,
)
from littled.service.http_connections import HttpConnections
from littled.service.http_errors import HttpError
from littled.service.news import Wanted, tell
from littled.service.page import POLICY, PREFIX, page_file
from littled.service.planning import Plans
from littled.service.questions import read_question, response_to
from littled.service.subscribers import Releases
from littled.service.writer import WriterStopped
from littled_client.published import Published
from littled_protocol import limits
from littled_protocol.messages import Predict, Prediction, PredictionRefused, Release
from littled_protocol.rules import (
    DIALECTS,
    Dialect,
    RuleError,
    Words,
    rule_from_dict,
    sql_function,
)

_FORMATS = ("json", "text", "sql", "sql-function")
_BEARER = "Bearer "
# What browsers say about the page that makes them ask. Others do not send the header.
_FETCH_SITE = "Sec-Fetch-Site"
_OWN_SITES = ("none", "same-origin")
_INDEX = """\
littled: learns rules from private streams. Pages, all of public facts:

/healthz                        whether the daemon works
/status                         streams, learners and budgets, JSON
/metrics                        the same for Prometheus
/rules/STREAM/LEARNER           the last rule, JSON; ?format=text, sql or sql-function
/rules/STREAM/LEARNER/events    rules as they come, server-sent events
/rules/STREAM/LEARNER/history   the versions so far, in short
/events                         rules of all learners, and positions of streams
/rules/STREAM/LEARNER/quality   how often they were wrong, JSON
POST /predict                   questions to learners that answer
POST /feed/STREAM               rows to learn, as JSON; ?producer=NAME&sequence=NUMBER

The names of streams and learners are in /status. Files are fed with "littled feed".
"""
_NOT_ALLOWED = "what you have shown does not allow this\n"
# Pages that need a permission. Who has any may see the status of its streams.
_PERMISSIONS = {
    "/metrics": Permission.OPERATE,
    "/rules/{stream}/{learner}": Permission.SUBSCRIBE,
    "/rules/{stream}/{learner}/events": Permission.SUBSCRIBE,
    "/rules/{stream}/{learner}/history": Permission.SUBSCRIBE,
    "/rules/{stream}/{learner}/quality": Permission.SUBSCRIBE,
    "/predict": Permission.PREDICT,
    FEED: Permission.FEED,
}
# Pages without any fact.
_OPEN = ("/healthz", "/")
_RIGHTS = web.RequestKey("rights", Rights)
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Feeds(Protocol):
    """What takes rows in; raises FeedError, and WriterStopped when the daemon ends."""

    async def next_sequence(self, feed: Feed) -> dict[str, Any]:
        """Say where a producer goes on."""

    async def feed(self, feed: Feed, body: bytes, *, lines: bool) -> dict[str, Any]:
        """Make rows durable, and say so."""


class Surface(Protocol):
    """The public facts that HTTP shows."""

    @property
    def instance(self) -> str:
        """What the store is called, which no other is."""

    @property
    def releases(self) -> Releases:
        """All learners' releases."""

    @property
    def figures(self) -> Figures:
        """How good the rules of learners were, where these are measured."""

    @property
    def words(self) -> Mapping[str, Words]:
        """For each learner's full name the words that its rules are told in."""

    def healthy(self) -> bool:
        """Return whether commits go through."""

    def status(self) -> dict[str, Any]:
        """Return the body of a status message."""

    def positions(self) -> dict[str, int]:
        """Return of every stream how many of its examples are durable."""

    def metrics(self, accepted: str) -> tuple[bytes, str]:
        """Return all metrics in a format that is accepted, and the type of the content."""

    @property
    def feeding(self) -> Feeds:
        """What takes rows in."""

    async def predict(self, asked: Predict) -> Prediction | PredictionRefused:
        """Answer a request; raises WriterStopped when the daemon ends before there is an answer."""


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
    ) -> None:
        """Make a server that shows `surface` to whom `gate` admits, under the name `server`.

        hosts: the names, in small letters, by which requests may call this host; None for any.
        page: whether browsers get the operator's page. plans: makes plans; None where nobody may
        ask for one.
        """
        self._pages = _Pages(surface, plans, page=page)
        self.application = self._application(gate, server, hosts)
        self._runner = web.AppRunner(
            self.application,
            access_log=None,
            handle_signals=False,
            max_line_size=HTTP_LINE_BYTES_MAX,
            max_field_size=HTTP_LINE_BYTES_MAX,
            lingering_time=0,
            auto_decompress=False,
            handler_cancellation=True,
            shutdown_timeout=limits.close_seconds,
        )
        self._connections: HttpConnections | None = None
        self._listener: asyncio.Server | None = None

    async def start(self, listener: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        """Begin to answer on a bound socket."""
        await self._runner.setup()
        server = self._runner.server
        assert server is not None, "the runner has no server after its setup"
        connections = self._connections = HttpConnections(server, tls)
        connections.start()
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(
            connections, sock=listener, backlog=LISTEN_BACKLOG
        )

    def check_rights(self) -> None:
        """The rules have changed: streams of events end, and who still may comes back."""
        self._pages.end_events()

    async def stop(self) -> None:
        """Stop answering; streams of events end."""
        self._pages.end_events()
        if self._listener is not None:
            self._listener.close()
        if self._connections is not None:
            self._connections.stop()
        await self._runner.cleanup()

    def _application(
        self, gate: Gate, server: str, hosts: Collection[str] | None
    ) -> web.Application:
        @web.middleware
        async def guard(request: web.Request, handler: _Handler) -> web.StreamResponse:
            _check_origin(request, hosts)
            if request.path not in _OPEN and not request.path.startswith(PREFIX):
                request[_RIGHTS] = _rights(request, gate)
            if request.body_exists and not takes_body(request):
                raise web.HTTPRequestEntityTooLarge(max_size=0, actual_size=1)
            return await handler(request)

        async def sign(_request: web.Request, response: web.StreamResponse) -> None:
            response.force_close()
            response.headers[hdrs.CONNECTION] = "close"
            response.headers[hdrs.SERVER] = server
            response.headers[hdrs.CACHE_CONTROL] = "no-store"
            response.headers["X-Content-Type-Options"] = "nosniff"

        application = web.Application(middlewares=[guard], client_max_size=HTTP_QUESTION_BYTES_MAX)
        application.on_response_prepare.append(sign)
        pages = self._pages
        for path, handler in {
            "/": pages.index,
            f"{PREFIX}{{name:.+}}": pages.file,
            "/healthz": pages.healthz,
            "/status": pages.status,
            "/metrics": pages.metrics,
            "/rules/{stream}/{learner}": pages.rule,
            "/rules/{stream}/{learner}/events": pages.events,
            "/rules/{stream}/{learner}/history": pages.history,
            "/events": pages.all_events,
            "/plan": pages.plan,
            "/rules/{stream}/{learner}/quality": pages.quality,
        }.items():
            # The head of a stream of events would be sent for ever.
            application.router.add_get(path, handler, allow_head=not path.endswith("/events"))
        application.router.add_get(FEED, pages.next_sequence)
        application.router.add_post(PREDICT, pages.predict)
        application.router.add_post(FEED, pages.feed)
        return application


class _Pages:
    """The answers."""

    def __init__(self, surface: Surface, plans: Plans | None, *, page: bool) -> None:
        self._surface = surface
        self._plans = plans
        self._page = page
        self._event_streams = 0
        self._questions = 0
        self._feeds = 0
        self._stopping = asyncio.Event()

    def end_events(self) -> None:
        """End all streams of events; readers come back and resume where they were."""
        self._stopping.set()
        self._stopping = asyncio.Event()

    async def index(self, request: web.Request) -> web.Response:
        if self._page and "text/html" in request.headers.get(hdrs.ACCEPT, ""):
            return _file("index.html")
        return web.Response(text=_INDEX, headers={hdrs.VARY: hdrs.ACCEPT})

    async def file(self, request: web.Request) -> web.Response:
        if not self._page:
            raise web.HTTPNotFound(text="the page is switched off; --page switches it on\n")
        return _file(request.match_info["name"])

    async def healthz(self, _request: web.Request) -> web.Response:
        if self._surface.healthy():
            return web.Response(text="ok\n")
        return web.Response(status=503, text="commits have stopped\n")

    async def status(self, request: web.Request) -> web.Response:
        return _json(request[_RIGHTS].status(self._surface.status()))

    async def metrics(self, request: web.Request) -> web.Response:
        body, kind = self._surface.metrics(request.headers.get(hdrs.ACCEPT, ""))
        return web.Response(body=body, headers={hdrs.CONTENT_TYPE: kind, hdrs.VARY: hdrs.ACCEPT})

    async def rule(self, request: web.Request) -> web.Response:
        learner = self._learner(request)
        form = request.query.get("format", "json")
        if form not in _FORMATS:
            raise web.HTTPBadRequest(text=f"format must be one of {', '.join(_FORMATS)}\n")
        release = self._surface.releases.latest(learner)
        if release is None or release.rule is None:
            raise web.HTTPNotFound(text="no rule has been published yet\n")
        if form == "json":
            return _json(self._release(release))
        return web.Response(text=self._written(release.rule, learner, request) + "\n")

    def _written(self, fields: dict[str, Any], learner: str, request: web.Request) -> str:
        """A rule as text or SQL, in the words of its learner."""
        rule, words, asked = rule_from_dict(fields), self._surface.words[learner], request.query
        if asked["format"] == "text":
            return rule.describe(words)
        column, name = asked.get("column", "x"), asked.get("name", learner.partition("/")[2])
        if max(len(column), len(name)) > limits.name_characters_max:  # a column is named often
            most = limits.name_characters_max
            raise web.HTTPBadRequest(text=f"a name in SQL has at most {most} characters\n")
        try:
            if asked["format"] == "sql":
                return rule.to_sql(words, column, _dialect(asked))
            return sql_function(rule, words, name, _dialect(asked), column)
        except RuleError as error:
            raise web.HTTPBadRequest(text=f"{error}\n") from None

    async def events(self, request: web.Request) -> web.StreamResponse:
        learner = self._learner(request)
        version = _version(request.headers.get("Last-Event-ID", "0"))
        return await self._sent(request, partial(self._stream, learner=learner, version=version))

    async def history(self, request: web.Request) -> web.Response:
        learner, after = self._learner(request), request.query.get("after", "0")
        if not _is_version(after):
            raise web.HTTPBadRequest(text="after must be the number of a version\n")
        words = self._surface.words[learner]
        return _json(await history(self._surface.releases, learner, int(after), words))

    async def plan(self, request: web.Request) -> web.Response:
        if self._plans is None:
            raise web.HTTPNotFound(text="plans are made on the daemon's own machine only\n")
        try:
            return web.Response(text=await self._plans.plan(request.query))
        except HttpError as error:
            return web.Response(status=error.status, text=f"{error}\n")

    async def all_events(self, request: web.Request) -> web.StreamResponse:
        surface, rights, asked = self._surface, request[_RIGHTS], request.query

        def may(learner: str) -> bool:
            return rights.may(Permission.SUBSCRIBE, learner.partition("/")[0])

        def positions() -> dict[str, int]:
            return {name: at for name, at in surface.positions().items() if rights.sees(name)}

        named, after = asked.getall("learner", []), asked.getall("after", [])
        try:
            wanted = Wanted.of(named, after, surface.releases, may)
        except HttpError as error:
            return web.Response(status=error.status, text=f"{error}\n")
        return await self._sent(
            request,
            lambda response: tell(
                wanted,
                surface.releases,
                surface.figures,
                surface.instance,
                positions,
                self._release,
                partial(_write, response),
                self._stopping,
            ),
        )

    async def _sent(
        self, request: web.Request, stream: Callable[[web.StreamResponse], Awaitable[None]]
    ) -> web.StreamResponse:
        """Answer with the events that `stream` writes, as long as the reader takes them."""
        if self._event_streams >= HTTP_EVENT_STREAMS_MAX:
            raise web.HTTPServiceUnavailable(text="too many streams of events are open\n")
        self._event_streams += 1
        try:
            response = web.StreamResponse(headers={hdrs.CONTENT_TYPE: "text/event-stream"})
            await response.prepare(request)
            await stream(response)
        except TimeoutError:
            # The reader lets its events pile up. It can resume where it stopped; what waits for it
            # is thrown away, as a close in good order would wait for it in turn.
            if request.transport is not None:
                request.transport.abort()
        finally:
            self._event_streams -= 1
        return response

    async def quality(self, request: web.Request) -> web.Response:
        learner, figures = self._learner(request), self._surface.figures
        if learner not in figures.learners:
            raise web.HTTPNotFound(text="the rules of this learner are not measured\n")
        return _json({"learner": learner, "periods": figures.after(learner, 0)})

    async def predict(self, request: web.Request) -> web.Response:
        if self._questions >= HTTP_QUESTIONS_MAX:
            return _refused(
                HttpError(503, "too many questions are being answered; ask again later")
            )
        self._questions += 1
        try:
            may = partial(request[_RIGHTS].may, Permission.PREDICT)
            words = self._surface.words
            asked = read_question(await question_body(request), self._x_types(), words, may)
            status, value = response_to(await self._surface.predict(asked))
        except HttpError as error:
            return _refused(error)
        except WriterStopped:
            return _refused(HttpError(503, "the daemon is stopping; ask again later"))
        finally:
            self._questions -= 1
        return _json(value, status)

    async def next_sequence(self, request: web.Request) -> web.Response:
        try:
            feed = Feed.read(request.match_info["stream"], parameters(request), rows=False)
            return _json(await self._surface.feeding.next_sequence(feed))
        except HttpError as error:
            return _refused(error)
        except WriterStopped:
            return _refused(HttpError(503, "the daemon is stopping; feed again later"))

    async def feed(self, request: web.Request) -> web.Response:
        if self._feeds >= HTTP_FEEDS_MAX:
            return _refused(
                HttpError(503, "too many bodies are being read; send this one again later")
            )
        self._feeds += 1
        try:
            feed = Feed.read(request.match_info["stream"], parameters(request), rows=True)
            lines, body = await rows_body(request)
            return _json(await self._surface.feeding.feed(feed, body, lines=lines))
        except HttpError as error:
            return _refused(error)
        except WriterStopped:
            return _refused(HttpError(503, "the daemon is stopping; send the rows again later"))
        finally:
            self._feeds -= 1

    def _x_types(self) -> dict[str, str]:
        """The type of the points of every stream."""
        streams = self._surface.status()["streams"]
        return {name: stream["x_type"] for name, stream in streams.items()}

    async def _stream(self, response: web.StreamResponse, learner: str, version: int) -> None:
        """Write releases as they come, until the reader is gone or slow, or the daemon stops.

        The last figure of quality comes at once, and the next ones as they do; they have no id, as
        readers resume by the version of a rule.
        """
        releases, figures = self._surface.releases, self._surface.figures
        number = max(figures.number(learner) - 1, 0)
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            while not stopping.done():
                for release in await releases.after(learner, version):
                    await _write(response, _event(release.version, self._release(release)))
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

    def _release(self, release: Release) -> dict[str, Any]:
        return Published.from_release(release, self._surface.words[release.learner]).to_dict()


def _file(name: str) -> web.Response:
    """A file of the page."""
    found = page_file(name)
    if found is None:
        raise web.HTTPNotFound(text="the page has no such file\n")
    content, kind = found
    headers = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer"}
    headers |= {hdrs.VARY: hdrs.ACCEPT, "Cross-Origin-Resource-Policy": "same-origin"}
    return web.Response(body=content, content_type=kind, charset="utf-8", headers=headers)


def _dialect(asked: Mapping[str, str]) -> Dialect:
    """The database that a function is for."""
    wanted = asked.get("dialect", DIALECTS[0])
    for dialect in DIALECTS:
        if dialect == wanted:
            return dialect
    raise web.HTTPBadRequest(text=f"dialect must be one of {', '.join(DIALECTS)}\n")


def _check_origin(request: web.Request, hosts: Collection[str] | None) -> None:
    """Refuse what a browser asks for another site, and what was sent to a name of another host."""
    if request.headers.get(_FETCH_SITE, "none") not in _OWN_SITES:
        raise web.HTTPForbidden(text="web pages of other sites may not read this one\n")
    if hosts is None:
        return
    named = request.headers.getall(hdrs.HOST, ())
    if len(named) != 1:
        raise web.HTTPBadRequest(text="a request needs one Host header\n")
    if _without_port(named[0]) not in hosts:
        raise web.HTTPMisdirectedRequest(
            text="this host answers to localhost and the names given to it with --http-name\n"
        )


def _without_port(host: str) -> str:
    """A host as a header names it, in small letters and without its port."""
    name, colon, port = host.lower().rpartition(":")
    return (
        name if colon and port.isdigit() and (":" not in name or name[-1] == "]") else host.lower()
    )


def _rights(request: web.Request, gate: Gate) -> Rights:
    """What the peer may do; refuses one that may not come in, or not ask for this kind of page."""
    header = request.headers.get(hdrs.AUTHORIZATION, "")
    token = header.removeprefix(_BEARER) if header.startswith(_BEARER) else None
    transport = request.transport
    rights = None if transport is None else gate.rights(Shown.by(token, transport))
    if rights is None:
        raise web.HTTPUnauthorized(
            headers={hdrs.WWW_AUTHENTICATE: "Bearer"},
            text="show the daemon's token: Authorization: Bearer TOKEN\n",
        )
    resource = request.match_info.route.resource
    permission = None if resource is None else _PERMISSIONS.get(resource.canonical)
    if permission is not None and not rights.may(permission, request.match_info.get("stream")):
        raise web.HTTPForbidden(text=_NOT_ALLOWED)
    return rights


def _is_version(text: str) -> bool:
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(limits.integer_max))
    return digits and int(text) <= limits.integer_max


def _version(text: str) -> int:
    if not _is_version(text):
        raise web.HTTPBadRequest(text="Last-Event-ID must be the number of a version\n")
    return int(text)


def _refused(error: HttpError) -> web.Response:
    return _json({"error": error.sentence, **error.facts}, error.status)


def _json(value: Mapping[str, Any], status: int = 200) -> web.Response:
    return web.Response(
        text=json.dumps(value, sort_keys=True, indent=2) + "\n",
        content_type="application/json",
        status=status,
    )


def _event(version: int, value: Mapping[str, Any]) -> bytes:
    data = json.dumps(value, sort_keys=True)
    return f"id: {version}\nevent: release\ndata: {data}\n\n".encode()


def _quality_event(value: Mapping[str, Any]) -> bytes:
    return f"event: quality\ndata: {json.dumps(value, sort_keys=True)}\n\n".encode()


async def _write(response: web.StreamResponse, data: bytes) -> None:
    async with asyncio.timeout(limits.send_seconds):
        await response.write(data)
