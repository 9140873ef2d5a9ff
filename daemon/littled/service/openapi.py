"""The OpenAPI document of the HTTP side, made of the table of pages and the types in it."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any, Final

from littled.service.http_routes import (
    EVERYWHERE,
    JSON,
    OPEN,
    ROUTES,
    TEXT,
    Parameter,
    Route,
)
from littled.service.schemas import schemas_of
from littled_protocol.facts import ElsewhereFacts, HelloFacts, QualityEventFacts, TickFacts

VERSION: Final = "3.1.1"
_PLACE: Final = "#/components/schemas/"
_SCHEME: Final = "bearer"
_SENTENCE: Final = {TEXT: {"schema": {"type": "string"}}}
_EVENTS: Final = {"hello": HelloFacts, "quality": QualityEventFacts, "tick": TickFacts}
# What any page may say of a stream that another daemon serves.
_ELSEWHERE: Final = "elsewhere"
_ABOUT: Final = """\
What a daemon shows over HTTP, all of it public, and how it is fed and asked. Server-sent events \
are named `hello`, `release`, `quality` and `tick`; their data are the schemas `Hello`, `Release`, \
`QualityEvent` and `Tick`.
"""


def document() -> dict[str, Any]:
    """Return the document, which depends on nothing but the version of the program."""
    schemas, definitions = schemas_of({**_types(), **_EVENTS, _ELSEWHERE: ElsewhereFacts}, _PLACE)
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": VERSION,
        "info": {
            "title": "littled",
            "version": version("littled"),
            "description": _ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": definitions,
            "responses": {
                str(status): _answer(says, _refusal(status, schemas))
                for status, says in EVERYWHERE.items()
            },
            "securitySchemes": {_SCHEME: {"type": "http", "scheme": _SCHEME}},
        },
    }


def written(value: dict[str, Any]) -> str:
    """Return a document as it is served and stands in the documentation."""
    return json.dumps(value, indent=2) + "\n"


def _types() -> dict[str, Any]:
    """Every type in the table, by where it stands."""
    found: dict[str, Any] = {}
    for route in ROUTES:
        contents = {"answer": route.answer.contents, "body": route.body or {}}
        for where, kinds in contents.items():
            found |= {f"{route.name} {where} {kind}": each for kind, each in kinds.items()}
        found |= {f"{route.name} {each.name}": each.type for each in route.parameters}
        if route.error is not None:
            found[f"{route.name} error"] = route.error
    return found


def _operation(route: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    answers: dict[int, Any] = {200: _answer(route.answer.says, _contents(route, "answer", schemas))}
    for status, says in sorted({**EVERYWHERE, **(route.refusals or {})}.items()):
        if status == 401 and route.path in OPEN:
            continue
        if route.error is None and status not in (route.refusals or {}):
            answers[status] = {"$ref": f"#/components/responses/{status}"}
            continue
        contents = _refusal(status, schemas)
        if route.error is not None and status not in (401, 421, 431):
            contents[JSON] = {"schema": schemas[f"{route.name} error"]}
        answers[status] = _answer(says, contents)
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.says,
        "parameters": [_parameter(route, each, schemas) for each in route.parameters],
        "responses": {str(status): answer for status, answer in answers.items()},
        # a token is shown where the daemon wants one
        "security": [] if route.path in OPEN else [{}, {_SCHEME: []}],
    }
    if route.body is not None:
        contents = _contents(route, "body", schemas)
        operation["requestBody"] = {"required": True, "content": contents}
    return operation


def _refusal(status: int, schemas: dict[str, Any]) -> dict[str, Any]:
    """What a refusal of any page may hold: a sentence, and where the stream is."""
    return {**_SENTENCE, **({JSON: {"schema": schemas[_ELSEWHERE]}} if status == 421 else {})}


def _answer(says: str, contents: dict[str, Any]) -> dict[str, Any]:
    return {"description": says, "content": contents}


def _contents(route: Route, where: str, schemas: dict[str, Any]) -> dict[str, Any]:
    kinds = route.answer.contents if where == "answer" else route.body or {}
    return {kind: {"schema": schemas[f"{route.name} {where} {kind}"]} for kind in kinds}


def _parameter(route: Route, each: Parameter, schemas: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": each.name,
        "in": each.where,
        "required": each.required,
        "description": each.says,
        "schema": schemas[f"{route.name} {each.name}"],
    }
