"""The OpenAPI document against a running daemon: answers and refusals are as it says."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from littled.service.http_routes import ROUTES, SCHEMAS
from littled.service.openapi import document
from littled.store.store import Store
from support.class_cases import STREAMS as CLASSES
from support.learner_cases import HORIZON, learner_plan
from support.schemas import closed
from support.serving import Serving, serving
from support.twins import plan_of

PROGRAM = Path(sys.executable).parent / "schemathesis"
DOCUMENT = document()
# A stream for each kind of learner, and one that protects users.
STREAMS = {
    "online": "dense",
    "asked": "answers, dense",
    "windows": "windows, dense",
    "scorecards": "scorecard",
    "blocks": "partition",
    "since": "minimum",
    "which": "most frequent string",
    "oneway": "sequence",
    "visits": "windows, dense, users 1",
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A daemon with all kinds of learners, which have learned a little."""
    path = tmp_path_factory.mktemp("openapi") / "store"
    numbers = CLASSES["thresholds"][0]
    plans = {
        name: plan_of(
            [learner_plan(case, numbers if name in ("online", "asked") else None)],
            HORIZON,
            name=name,
        )
        for name, case in STREAMS.items()
    }
    Store.create(path, {}, {name: plan.to_dict() for name, plan in plans.items()})
    with serving(path, http=["127.0.0.1", 0]) as running:
        rows = json.dumps([[number % 3, number % 2] for number in range(20)])
        for stream in ("online", "asked", "windows"):
            status, _, said = ask(running, "POST", f"/feed/{stream}?producer=p&sequence=0", rows)
            assert status == 200, said
        yield running


def ask(
    daemon: Serving, method: str, path: str, body: str | None = None, **headers: str
) -> tuple[int, str, str]:
    """Status, type and text of an answer."""
    data = None if body is None else body.encode()
    shown = {"Content-Type": "application/json"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    request = urllib.request.Request(daemon.url(path), data, shown, method=method)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return answer.status, answer.headers.get_content_type(), answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.headers.get_content_type(), refused.read().decode()


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


# Here a schema cannot say all: which rows, values and plans there are, and which names SQL has.
REFUSING = ("POST /predict", "POST /feed/{stream}", "GET /plan", "GET /rules/{stream}/{learner}")


@dataclass(frozen=True)
class Found:
    """What schemathesis said."""

    status: int
    text: str


def schemathesis(daemon: Serving, folder: Path, examples: int, *options: str) -> Found:
    """Try all pages but streams of events, which do not end, with what is allowed and what is not.

    Streams and learners are real ones. Where pages are `REFUSING`, what fits may be refused (400).
    """
    known = json.loads(json.dumps(DOCUMENT))
    streams = json.loads(ask(daemon, "GET", "/status")[2])["streams"]
    learners = {name: list(facts["learners"]) for name, facts in streams.items()}
    for operations in known["paths"].values():
        for operation in operations.values():
            for parameter in operation["parameters"]:
                if (parameter["in"], parameter["name"]) == ("path", "stream"):
                    parameter["schema"] = {"enum": ["online", "asked"]}
                if (parameter["in"], parameter["name"]) == ("path", "learner"):
                    parameter["schema"] = {"enum": [*learners["online"], *learners["asked"]]}
    (folder / "openapi.json").write_text(json.dumps(known))
    accepted = '["2xx", "4xx"]'
    (folder / "schemathesis.toml").write_text(
        "".join(
            f'[[operations]]\ninclude-name = "{name}"\n'
            f"[operations.checks.positive_data_acceptance]\nexpected-statuses = {accepted}\n"
            for name in REFUSING
        )
    )
    run = subprocess.run(
        [
            *(str(PROGRAM), "run", "openapi.json", "--url", daemon.url("")),
            *("--max-examples", str(examples), "--no-color", "--suppress-health-check", "all"),
            *("--request-timeout", "60", "--exclude-path-regex", "/events$", *options),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    return Found(run.returncode, run.stdout + run.stderr)


def test_schemathesis_finds_nothing(daemon: Serving, tmp_path: Path) -> None:
    quick = ("--generation-deterministic", "--include-path-regex", "^/(feed|predict)")
    found = schemathesis(daemon, tmp_path, 2, *quick)
    assert found.status == 0, found.text


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_schemathesis_finds_nothing_for_long(daemon: Serving, tmp_path: Path) -> None:
    found = schemathesis(daemon, tmp_path, 500)
    assert found.status == 0, found.text
