"""Write what `littled plan` and `littled dim` print into the pages that quote it, and a table.

    .venv/bin/python docs/renew.py

A quotation is a fenced block after a comment that says how to make it:

    ```sh
    littled plan --class thresholds:256 --epsilon 1 --delta 1e-6 --horizon 1000000
    ```

    <!-- printed: lines -->
    ```text
    ...
    ```

`lines` keeps the facts that a page is about, `all` is the whole output, `error` the sentence of a
command that is refused, and `ways` the ways of selection, or `methods` the methods of answering, as
a table of this page instead of a fenced block, up to the next empty line. The table after a comment
`classes` has a row for each class of rules, from the first sentence of its page.
`tests/test_documents.py` compares every quotation with what is printed now. The pages that are
generated as a whole are written by `docs/reference.py`.
"""

import contextlib
import io
import json
import re
import runpy
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from littled.classes.registry import CLASSES
from littled.cli.entry import run
from littled.cli.online.plans import mistakes
from littled.cli.output import amount
from littled.cli.prediction.plans import amount_of_error
from littled.service.http_routes import SCHEMAS
from littled.service.openapi import document, written
from littled.service.schemas import schema

FOLDER = Path(__file__).parent
PAGES = sorted(FOLDER.rglob("*.md"))
# The facts of a plan that pages are about; the others follow from the command.
LINES = (
    *("class", "selection", "new rules", "mistakes", "a change", "adversary", "noise"),
    *("windows", "method", "answers", "errors", "instead", "batches", "epochs"),
)
QUOTATION = re.compile(
    r"^```sh\n(?P<command>littled (?:plan|dim) [^`]*?)\n```\n\n"
    r"<!-- printed: (?P<how>lines|all|error|ways|methods) -->\n"
    r"(?P<printed>```text\n.*?^```$|.*?(?=\n\n))",
    re.MULTILINE | re.DOTALL,
)
CLASSES_TABLE = re.compile(r"(?<=^<!-- classes -->\n).*?(?=\n\n)", re.MULTILINE | re.DOTALL)
SUMMARY = re.compile(r"^# (.+)\n\nRules: (.+?), for example (.+)\.$", re.MULTILINE)
HEREDOC = re.compile(r"^cat > (\S+) <<'END'\n(.*?)^END$", re.MULTILINE | re.DOTALL)


def files(text: str) -> dict[str, str]:
    """The files that the commands of a page write, by name."""
    return dict(HEREDOC.findall(text))


def renewed(text: str) -> str:
    """The page with every quotation as it is printed now."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, content in files(text).items():
            Path(name).write_text(content, encoding="utf-8")
        text = CLASSES_TABLE.sub(lambda _: "\n".join(classes_rows()), text)
        return QUOTATION.sub(_quotation, text)


def _quotation(found: re.Match[str]) -> str:
    before = found[0].removesuffix(found["printed"])
    command = found["command"].replace("\\\n", " ")
    how = found["how"]
    if how == "ways":
        return before + "\n".join(ways_rows(json.loads(output(f"{command} --json", 0))["ways"]))
    if how == "methods":
        rows = methods_rows(json.loads(output(f"{command} --json", 0))["methods"])
        return before + "\n".join(rows)
    printed = output(command, 2 if how == "error" else 0)
    if how == "lines":
        facts = printed.partition("\n\n")[0]
        kept = [line for line in facts.splitlines() if line.startswith(LINES)]
        printed = "\n".join(kept)
    return f"{before}```text\n{printed.rstrip()}\n```"


def classes_rows() -> Iterator[str]:
    """All classes of rules as a table in Markdown; ValueError for a page without a summary."""
    yield "| class | rules | for example |"
    yield "|---|---|---|"
    for name in CLASSES:
        page = FOLDER / "classes" / f"{name}.md"
        summary = SUMMARY.match(page.read_text(encoding="utf-8"))
        if summary is None:
            raise ValueError(f"{page.name} does not begin with its name and its rules")
        written, rules, example = summary.groups()
        yield f"| [`{written}`](classes/{page.name}) | {rules} | {example} |"


def ways_rows(ways: list[dict[str, Any]]) -> Iterator[str]:
    """The possible ways of selection as a table in Markdown, the chosen one bold."""
    yield "| way | expected mistakes | at most | calls |"
    yield "|---|---|---|---|"
    for way in ways:
        if way["expected_mistakes"] is None:
            continue
        name = f"**{way['way']}**" if way["chosen"] else way["way"]
        most = mistakes(way["guaranteed_mistakes"])
        yield f"| {name} | {mistakes(way['expected_mistakes'])} | {most} | {way['calls_max']} |"


def methods_rows(methods: list[dict[str, Any]]) -> Iterator[str]:
    """The possible methods of answering as a table in Markdown, the chosen one bold."""
    yield "| method | answers a window | epsilon each | error |"
    yield "|---|---|---|---|"
    for method in methods:
        if method["expected_excess_error"] is None:
            continue
        name = f"**{method['method']}**" if method["chosen"] else method["method"]
        answers = "any number" if method["answers"] is None else f"{method['answers']:,}"
        epsilon = method["epsilon_per_answer"]
        each = "-" if epsilon is None else amount(epsilon)
        error = amount_of_error(method["expected_excess_error"])
        yield f"| {name} | {answers} | {each} | {error} |"


def output(command: str, status: int) -> str:
    """What a command prints when it ends with this exit status; RuntimeError for another one."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        found = run(shlex.split(command)[1:])
    if found != status:
        raise RuntimeError(f"{command} ended with status {found}: {err.getvalue()}")
    return out.getvalue() + err.getvalue()


def documents() -> dict[str, str]:
    """What stands in files of its own: the OpenAPI document and the JSON Schemas, by file."""
    made = {"openapi.json": written(document())}
    return made | {f"schemas/{name}.json": written(schema(name)) for name in SCHEMAS}


def main() -> None:
    """Renew every page and document of this folder, and name those that have changed."""
    for name, new in documents().items():
        place = FOLDER / name
        if not place.exists() or place.read_text(encoding="utf-8") != new:
            place.parent.mkdir(exist_ok=True)
            place.write_text(new, encoding="utf-8")
            sys.stdout.write(f"{name}\n")
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        new = renewed(old)
        if new != old:
            page.write_text(new, encoding="utf-8")
            sys.stdout.write(f"{page.relative_to(FOLDER)}\n")
    for name in runpy.run_path(str(FOLDER / "reference.py"))["main"]():
        sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    main()
