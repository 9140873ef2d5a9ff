"""Requests made of the OpenAPI document: `python -m fuzzing.pages FIRST COUNT`, in requests.

schemathesis asks a running daemon so often for each page and method, with what the document allows
and with what it does not; the first number is its seed. Answers and refusals have to be as the
document says, none of them may be a 5xx, and the daemon has to stop well in the end.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from littled.configuration import parse_configuration
from littled.planner import plan_stream
from littled.service.openapi import document
from littled.store.store import Store
from support.class_cases import STREAMS as CLASSES
from support.learner_cases import HORIZON, learner_plan
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
# One of a table.
LOANS = """
[streams.loans]
epsilon = 1.0
delta = 1e-6
horizon = 1000

[streams.loans.columns]
income = { kind = "number", from = 0, to = 100, steps = 8, missing = "bucket" }
grade = { kind = "category", values = ["A", "B"], other = "bucket" }
opened = { kind = "time", parts = ["month"] }

[streams.loans.label]
column = "defaulted"
positive = "yes"
negative = "no"

[streams.loans.learners.l0]
class = "stumps"
"""


@contextmanager
def taught(folder: Path) -> Iterator[Serving]:
    """A daemon with all kinds of learners, which have learned a little."""
    path = folder / "store"
    numbers = CLASSES["thresholds"][0]
    plans = {
        name: plan_of(
            [learner_plan(case, numbers if name in ("online", "asked") else None)],
            HORIZON,
            name=name,
        )
        for name, case in STREAMS.items()
    }
    loans = parse_configuration(LOANS, path).streams["loans"].request()
    plans["loans"] = plan_stream(loans)
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


# Here a schema cannot say all: which rows, values and plans there are, and which names SQL has.
REFUSING = ("POST /predict", "POST /feed/{stream}", "GET /plan", "GET /rules/{stream}/{learner}")


@dataclass(frozen=True)
class Found:
    """What schemathesis said."""

    status: int
    text: str


def schemathesis(
    daemon: Serving, folder: Path, examples: int, *options: str, said: dict[str, Any] = DOCUMENT
) -> Found:
    """Try all pages but streams of events, which do not end, with what is allowed and what is not.

    said: the document. Streams and learners are real ones. Where pages are `REFUSING`, what fits
    may be refused (400).
    """
    known = json.loads(json.dumps(said))
    streams = json.loads(ask(daemon, "GET", "/status")[2])["streams"]
    learners = {name: list(facts["learners"]) for name, facts in streams.items()}
    for operations in known["paths"].values():
        for operation in operations.values():
            for parameter in operation["parameters"]:
                if (parameter["in"], parameter["name"]) == ("path", "stream"):
                    parameter["schema"] = {"enum": [*streams]}
                if (parameter["in"], parameter["name"]) == ("path", "learner"):
                    parameter["schema"] = {"enum": sorted(set(chain(*learners.values())))}
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
            # a plan may take so long where the machine is busy (`littled.limits.PLAN_SECONDS`)
            *("--request-timeout", "150", "--exclude-path-regex", "/events$", *options),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    return Found(run.returncode, run.stdout + run.stderr)


def main(first: str = "0", count: str = "100") -> int:
    """Ask for all pages; the status is 1 if anything was found."""
    with tempfile.TemporaryDirectory() as folder, taught(Path(folder)) as daemon:
        found = schemathesis(daemon, Path(folder), int(count), "--seed", first)
        stopped = daemon.stop()
    if found.status or stopped:
        print(f"failing seed {first}\n{found.text}\nthe daemon ended with status {stopped}")
        return 1
    print(f"{count} requests for each page: nothing was found")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
