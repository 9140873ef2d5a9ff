"""The OpenAPI document against a running daemon: answers and refusals are as it says."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from fuzzing.pages import DOCUMENT, ask, schemathesis, taught
from littled.service.http_routes import ROUTES, SCHEMAS
from support.schemas import closed
from support.serving import Serving

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A daemon with all kinds of learners, which have learned a little."""
    with taught(tmp_path_factory.mktemp("openapi")) as running:
        yield running


def answers(path: str, method: str) -> dict[str, Any]:
    """What the document says is answered, references followed."""
    said = DOCUMENT["paths"][path][method.lower()]["responses"]
    shared = DOCUMENT["components"]["responses"]
    return {
        status: shared[each["$ref"].rpartition("/")[2]] if "$ref" in each else each
        for status, each in said.items()
    }


def check(path: str, method: str, answer: tuple[int, str, str]) -> None:
    """That an answer is one of those that the document has for a page."""
    status, kind, text = answer
    contents = answers(path, method)[str(status)]["content"]
    assert kind in contents, (path, status, kind)
    if kind.endswith("json"):
        conforms(contents[kind]["schema"], json.loads(text))


def conforms(schema: dict[str, Any], value: Any) -> None:
    whole = {**schema, "components": DOCUMENT["components"]}
    Draft202012Validator(closed(whole)).validate(value)


def test_the_document_is_one() -> None:
    validate(DOCUMENT)
    names = [route.name for route in ROUTES]
    assert len(set(names)) == len(names)
    for schema in DOCUMENT["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_it_is_served(daemon: Serving) -> None:
    assert json.loads(ask(daemon, "GET", "/openapi.json")[2]) == DOCUMENT
    for name in SCHEMAS:
        check("/schemas/{name}", "GET", answer := ask(daemon, "GET", f"/schemas/{name}"))
        assert answer[:2] == (200, "application/schema+json")
    check("/schemas/{name}", "GET", ask(daemon, "GET", "/schemas/nothing"))


def test_every_page_of_every_learner(daemon: Serving) -> None:
    status = ask(daemon, "GET", "/status")
    check("/status", "GET", status)
    for stream, facts in json.loads(status[2])["streams"].items():
        for learner in facts["learners"]:
            folder = "/rules/{stream}/{learner}"
            for page in ("", "/history", "/quality"):
                check(folder + page, "GET", ask(daemon, "GET", f"/rules/{stream}/{learner}{page}"))
            for form in ("text", "sql", "sql-function", "other"):
                answer = ask(daemon, "GET", f"/rules/{stream}/{learner}?format={form}")
                check(folder, "GET", answer)
    for path in ("/", "/healthz", "/metrics", "/openapi.json"):
        check(path, "GET", ask(daemon, "GET", path))
    check("/page/{name}", "GET", ask(daemon, "GET", "/page/page.js"))
    check("/page/{name}", "GET", ask(daemon, "GET", "/page/none.js"))


def test_questions_and_rows(daemon: Serving) -> None:
    name = "2" * 32
    (learner,) = (f"asked/{each}" for each in _learners(daemon, "asked"))
    for body in (
        {"learner": learner, "x": [1], "request": name},
        {"learner": learner, "x": [1], "request": name},
        {"learner": learner, "x": [2], "request": name},
        {"learner": learner, "x": [1] * 99},
        {"learner": learner, "values": ["a"]},
        {"learner": "online/none", "x": [1]},
        {"learner": "nowhere/none", "x": [1]},
        {"learner": 1},
    ):
        check("/predict", "POST", ask(daemon, "POST", "/predict", json.dumps(body)))
    check("/predict", "POST", ask(daemon, "POST", "/predict", "{}", Content_Type="text/csv"))
    check("/predict", "POST", ask(daemon, "POST", "/predict", "{}", Origin="http://other"))
    feed = "/feed/{stream}"
    for address in ("online?producer=p", "online", "nowhere?producer=p"):
        check(feed, "GET", ask(daemon, "GET", f"/feed/{address}"))
    for address, rows in (
        ("online?producer=q&sequence=0", "[[1, 1]]"),
        ("online?producer=q&sequence=0", "[[1, 1]]"),
        ("online?producer=q&sequence=5", "[[1, 1]]"),
        ("online?producer=q&sequence=1", "[[1]]"),
        ("online?producer=q&sequence=one", "[[1, 1]]"),
        ("nowhere?producer=q&sequence=1", "[[1, 1]]"),
        ("visits?producer=q&sequence=0", '[{"x": 1, "y": 1, "user": "u"}]'),
    ):
        check(feed, "POST", ask(daemon, "POST", f"/feed/{address}", rows))
    answer = ask(
        daemon, "POST", "/feed/online?producer=q&sequence=1", "x,y", Content_Type="text/csv"
    )
    check(feed, "POST", answer)
    assert answer[0] == 415


def _learners(daemon: Serving, stream: str) -> list[str]:
    return list(json.loads(ask(daemon, "GET", "/status")[2])["streams"][stream]["learners"])


def test_events(daemon: Serving) -> None:
    """Their data are the schemas of their names."""
    names = {"hello": "Hello", "release": "Release", "quality": "QualityEvent", "tick": "Tick"}
    seen = set()
    with urllib.request.urlopen(daemon.url("/events"), timeout=30) as stream:  # noqa: S310
        assert stream.headers.get_content_type() in answers("/events", "GET")["200"]["content"]
        while "tick" not in seen:
            event = stream.readline().decode().strip().removeprefix("event: ")
            data = json.loads(stream.readline().decode().removeprefix("data: "))
            stream.readline()
            conforms({"$ref": f"#/components/schemas/{names[event]}"}, data)
            seen.add(event)
    assert seen == {"hello", "release", "tick"}
    for path, page in (("/events?after=a", "/events"), ("/events?learner=a/b", "/events")):
        check(page, "GET", ask(daemon, "GET", path))


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"])
def test_other_methods_are_told_which_ones_there_are(daemon: Serving, method: str) -> None:
    for path, methods in (("/status", "GET,HEAD"), ("/predict", "POST")):
        request = urllib.request.Request(daemon.url(path), method=method)  # noqa: S310
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=30)  # noqa: S310
        with refused.value as answer:
            assert (answer.code, answer.headers["Allow"]) == (405, methods)


# --- Whatever may come ----------------------------------------------------------------------------


def test_schemathesis_finds_nothing(daemon: Serving, tmp_path: Path) -> None:
    quick = ("--generation-deterministic", "--include-path-regex", "^/(feed|predict)")
    found = schemathesis(daemon, tmp_path, 2, *quick)
    assert found.status == 0, found.text


def test_schemathesis_finds_a_refusal_that_the_document_does_not_have(
    daemon: Serving, tmp_path: Path
) -> None:
    silent = json.loads(json.dumps(DOCUMENT))
    del silent["paths"]["/feed/{stream}"]["post"]["responses"]["400"]
    quick = ("--generation-deterministic", "--include-path-regex", "^/feed")
    found = schemathesis(daemon, tmp_path, 2, *quick, said=silent)
    assert found.status == 1
    assert "Undocumented status code" in found.text
