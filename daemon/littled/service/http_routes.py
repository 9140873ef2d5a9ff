"""Every page of the HTTP side: who may ask, with what, and what is answered.

One table: the server is built of it, the list of pages at `/`, and the OpenAPI document
(`littled.service.openapi`). The types in it are those of what the program writes and reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from littled.service.access import Permission
from littled.service.feeding import SEQUENCE_MAX
from littled.service.planning import VALUES
from littled_protocol import limits
from littled_protocol.described import Says
from littled_protocol.facts import (
    ErrorFacts,
    FedFacts,
    FeedErrorFacts,
    HistoryFacts,
    PeriodsFacts,
    PointsQuestion,
    PredictionFacts,
    ProducerFacts,
    RefusalFacts,
    ReleaseFacts,
    StatusFacts,
    ValuesQuestion,
)
from littled_protocol.messages import NAME, PRODUCER
from littled_protocol.rules import DIALECTS
from littled_protocol.rules.fields import RuleFields

JSON, TEXT, EVENTS = "application/json", "text/plain", "text/event-stream"
FORMATS: Final = ("json", "text", "sql", "sql-function")
PAGE_FILES: Final = "/page/{name}"
PREDICT: Final = "/predict"
FEED: Final = "/feed/{stream}"
SCHEMAS: Final[Mapping[str, Any]] = {
    "rule": RuleFields,
    "release": ReleaseFacts,
    "status": StatusFacts,
}
"""What there are JSON Schemas of, each by itself."""
# What a body of rows may say that it is, and whether that means JSON lines.
ROWS_TYPES: Final = {JSON: False, "application/x-ndjson": True, "application/jsonl": True}

_Name = Annotated[str, Says(pattern=f"^{NAME.pattern}$")]
_LEARNER_PATTERN: Final = f"{NAME.pattern}/{NAME.pattern}"
_Version = Annotated[int, Says(minimum=0, maximum=limits.integer_max)]
_Cell = int | float | str | bool | None
_SqlName = Annotated[str, Says(minLength=1, maxLength=limits.name_characters_max)]
_Rows = Annotated[
    Annotated[
        list[Annotated[dict[str, _Cell | list[_Cell]], Says("a row by the names of columns")]]
        | list[Annotated[list[_Cell | list[_Cell]], Says("a row in the order of the columns")]],
        Says(minItems=1),
    ]
    | Annotated[dict[str, list[_Cell | list[_Cell]]], Says("columns")],
    Says("examples of the stream: which columns it has is in /status"),
]
Question = ValuesQuestion | PointsQuestion


@dataclass(frozen=True, slots=True)
class Parameter:
    """A part of an address or a header; where: path, query or header."""

    name: str
    where: str
    type: Any
    says: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered with one status: a sentence, and the types of its contents."""

    says: str
    contents: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Route:
    """One page.

    name: of the function that answers. says: one line for the list of pages, "" for none.
    permission: that is needed; None where any right will do. is_open: without any right.
    refusals: what it refuses, by status, beside what every page does. error: the type of its
    refusals; None for plain text. body: types of contents that a request may have.
    """

    method: str
    path: str
    name: str
    says: str
    answer: Answer
    permission: Permission | None = None
    is_open: bool = False
    parameters: tuple[Parameter, ...] = ()
    body: Mapping[str, Any] | None = None
    refusals: Mapping[int, str] | None = None
    error: Any = None
    is_listed: bool = True


STATUS_LIMIT_MAX: Final = 1_000_000
"""Greatest number of streams that an answer may be asked to have."""

_STREAM = Parameter("stream", "path", _Name, "name of a stream", required=True)
_LEARNER = Parameter("learner", "path", _Name, "name of a learner", required=True)
_PRODUCER = Parameter(
    "producer",
    "query",
    Annotated[str, Says(pattern=f"^{PRODUCER.pattern}$")],
    "whose rows they are",
    required=True,
)
_NO_LEARNER = "there is no such learner"
_BUSY = (
    "commits have stopped; or, for now, too many ask at once or the daemon stops: Retry-After says "
    "in how many seconds to ask again"
)

ROUTES: Final = (
    Route(
        "GET",
        "/",
        "index",
        "this list; in browsers the operator's page",
        Answer("the page, or a list of pages", {TEXT: str, "text/html": str}),
        is_open=True,
        is_listed=False,
    ),
    Route(
        "GET",
        PAGE_FILES,
        "file",
        "files of the page",
        Answer(
            "a file",
            dict.fromkeys(("text/html", "text/css", "text/javascript", "image/svg+xml", TEXT), str),
        ),
        is_open=True,
        parameters=(Parameter("name", "path", str, "name of the file", required=True),),
        refusals={404: "the page has no such file, or is switched off"},
        is_listed=False,
    ),
    Route(
        "GET",
        "/healthz",
        "healthz",
        "whether the daemon works",
        Answer("it does", {TEXT: str}),
        is_open=True,
    ),
    Route(
        "GET",
        "/status",
        "status",
        "streams, learners and budgets, JSON; ?stream=NAME",
        Answer("public facts", {JSON: StatusFacts}),
        parameters=(
            Parameter(
                "stream",
                "query",
                list[_Name],
                "a stream that is wanted, as often as needed; otherwise all",
            ),
            Parameter("after", "query", _Name, "the last stream that is known already"),
            Parameter(
                "limit",
                "query",
                Annotated[int, Says(minimum=1, maximum=STATUS_LIMIT_MAX)],
                "most streams of an answer; with `more` others follow",
            ),
        ),
        refusals={400: "limit is no such number, or after or a stream no name"},
    ),
    Route(
        "GET",
        "/metrics",
        "metrics",
        "the same for Prometheus",
        Answer("all metrics", {TEXT: str, "application/openmetrics-text": str}),
        Permission.OPERATE,
    ),
    Route(
        "GET",
        "/rules/{stream}/{learner}",
        "rule",
        "the last rule, JSON; ?format=text, sql or sql-function",
        Answer("the last release, or its rule", {JSON: ReleaseFacts, TEXT: str}),
        Permission.SUBSCRIBE,
        parameters=(
            _STREAM,
            _LEARNER,
            Parameter("format", "query", Annotated[str, Says(enum=list(FORMATS))], "usually json"),
            Parameter("column", "query", _SqlName, "what SQL calls the points, usually x"),
            Parameter("name", "query", _SqlName, "of the function, usually that of the learner"),
            Parameter(
                "dialect",
                "query",
                Annotated[str, Says(enum=list(DIALECTS))],
                "the database that SQL is for",
            ),
        ),
        refusals={400: "the rule cannot be written so", 404: "no such learner, or no rule yet"},
    ),
    Route(
        "GET",
        "/rules/{stream}/{learner}/events",
        "events",
        "rules as they come, server-sent events",
        Answer("events `release` and `quality`; their ids are versions", {EVENTS: str}),
        Permission.SUBSCRIBE,
        parameters=(
            _STREAM,
            _LEARNER,
            Parameter("Last-Event-ID", "header", _Version, "the version that is known"),
        ),
        refusals={400: "no number of a version", 404: _NO_LEARNER},
    ),
    Route(
        "GET",
        "/rules/{stream}/{learner}/history",
        "history",
        "the versions so far, in short",
        Answer("releases, oldest first", {JSON: HistoryFacts}),
        Permission.SUBSCRIBE,
        parameters=(
            _STREAM,
            _LEARNER,
            Parameter("after", "query", _Version, "the version that is known"),
        ),
        refusals={400: "no number of a version", 404: _NO_LEARNER},
    ),
    Route(
        "GET",
        "/rules/{stream}/{learner}/quality",
        "quality",
        "how often they were wrong, JSON",
        Answer("figures, oldest first", {JSON: PeriodsFacts}),
        Permission.SUBSCRIBE,
        parameters=(_STREAM, _LEARNER),
        refusals={404: "no such learner, or its rules are not measured"},
    ),
    Route(
        "GET",
        "/events",
        "all_events",
        "rules of all learners, and positions of streams",
        Answer("events `hello`, `release`, `quality` and `tick`", {EVENTS: str}),
        parameters=(
            Parameter(
                "learner",
                "query",
                list[Annotated[str, Says(pattern=f"^{_LEARNER_PATTERN}$")]],
                "STREAM/LEARNER, as often as needed; otherwise all",
            ),
            Parameter(
                "after",
                "query",
                list[Annotated[str, Says(pattern=f"^{_LEARNER_PATTERN}:[0-9]{{1,18}}$")]],
                "STREAM/LEARNER:VERSION that is known, as often as needed",
            ),
        ),
        refusals={400: "after is not written so", 404: _NO_LEARNER},
    ),
    Route(
        "GET",
        "/plan",
        "plan",
        "what `littled plan` prints; on this machine only",
        Answer("a plan", {TEXT: str}),
        parameters=tuple(
            Parameter(
                name,
                "query",
                Annotated[str, Says(pattern=f"^{pattern.pattern}$")],
                "as `littled plan` takes it",
                required=True,
            )
            for name, pattern in VALUES.items()
        ),
        refusals={
            400: "there is no such plan, or making it takes too much of the processor",
            404: "only this machine may ask",
            503: "commits have stopped, others are asking, or the machine is too busy for it; "
            "Retry-After says in how many seconds to ask again",
        },
        is_listed=False,
    ),
    Route(
        "POST",
        PREDICT,
        "predict",
        "questions to learners that answer",
        Answer("answers", {JSON: PredictionFacts}),
        Permission.PREDICT,
        body={JSON: Question},
        refusals={
            400: "no question, or values that the stream does not have",
            404: "no such stream or learner",
            408: "the body did not arrive in time",
            409: "the learner does not answer, or not yet, or this request asked something else",
            413: "the body is too long",
            415: "the body is not JSON",
            429: "the window has fewer answers left",
        },
        error=RefusalFacts,
    ),
    Route(
        "POST",
        FEED,
        "feed",
        "rows to learn, as JSON; ?producer=NAME&sequence=NUMBER",
        Answer("the rows are durable", {JSON: FedFacts}),
        Permission.FEED,
        parameters=(
            _STREAM,
            _PRODUCER,
            Parameter(
                "sequence",
                "query",
                Annotated[int, Says(minimum=0, maximum=SEQUENCE_MAX)],
                "the number of the first row among all of this producer",
                required=True,
            ),
        ),
        body={JSON: _Rows, **{kind: str for kind, lines in ROWS_TYPES.items() if lines}},
        refusals={
            400: "no rows of this stream",
            404: "no such stream",
            408: "the body did not arrive in time",
            409: "rows are missing before these, or somebody else feeds as this producer",
            413: "the body is too long",
            415: "the body is no JSON",
        },
        error=FeedErrorFacts,
    ),
    Route(
        "GET",
        FEED,
        "next_sequence",
        "where a producer goes on",
        Answer("the number of its next row", {JSON: ProducerFacts}),
        Permission.FEED,
        parameters=(_STREAM, _PRODUCER),
        refusals={400: "the address has no producer, or more than one", 404: "no such stream"},
        error=ErrorFacts,
        is_listed=False,
    ),
    Route(
        "GET",
        "/openapi.json",
        "openapi",
        "all of this for programs, OpenAPI 3.1",
        Answer("the OpenAPI document", {JSON: dict[str, Any]}),
        is_open=True,
    ),
    Route(
        "GET",
        "/schemas/{name}",
        "schema",
        f"JSON Schemas: {', '.join(SCHEMAS)}",
        Answer("a JSON Schema", {"application/schema+json": dict[str, Any]}),
        is_open=True,
        parameters=(
            Parameter(
                "name", "path", Annotated[str, Says(enum=list(SCHEMAS))], "of what", required=True
            ),
        ),
        refusals={404: "there is no such schema"},
    ),
)
"""All pages. Those for `GET` are there for `HEAD` as well, except for events."""

EVERYWHERE: Final[Mapping[int, str]] = {
    400: "a request that is not HTTP, or names no host",
    401: "the daemon wants a token",
    403: "what was shown does not allow this, or a web page of another site asks",
    413: "a body where none may be",
    421: "the daemon is not called so, or another one serves the stream (then with JSON)",
    431: "the head of the request is too long",
    503: _BUSY,
}
"""What any page may refuse."""

PERMISSIONS: Final[Mapping[str, Permission]] = {
    route.path: route.permission for route in ROUTES if route.permission is not None
}
"""The permission that a page needs. Who has any may see the status of its streams."""
OPEN: Final = frozenset(route.path for route in ROUTES if route.is_open)
"""Pages without any fact."""


def _listed(route: Route) -> str:
    method = "" if route.method == "GET" else f"{route.method} "
    path = route.path
    for parameter in route.parameters:
        path = path.replace(f"{{{parameter.name}}}", parameter.name.upper())
    return f"{method + path:<32}{route.says}\n"


INDEX: Final = (
    "littled: learns rules from private streams. Pages, all of public facts:\n\n"
    + "".join(_listed(route) for route in ROUTES if route.is_listed)
    + "\nThe names of streams and learners are in /status. "
    'Files are fed with "littled feed".\n'
)
"""The list of pages."""
