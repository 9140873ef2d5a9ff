"""The pages in docs/: what they name exists, what they quote is printed, what they show runs."""

import csv
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

from littled.classes.capabilities import needed
from littled.classes.registry import CLASSES as REGISTER
from littled.cli.entry import group
from littled.configuration import Configuration, parse_configuration
from littled_client.conversions import Fields
from littled_client.sources import Source
from littled_protocol.rules import Rule, RuleError, SequenceRule, rule_from_dict
from support.batches import pair
from support.documents import load

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
CLASSES = {entry.name: entry.written for entry in REGISTER.values()}
CLASS_PAGES = [DOCS / "classes" / f"{kind}.md" for kind in CLASSES]
PAPER = DOCS / "from-the-paper-to-the-code.md"
PREDICTION = DOCS / "prediction.md"
HEADINGS = [
    "What it can express",
    "Example",
    "Points",
    "Dimensions",
    "Plan",
    "Costs",
    "Limits",
    "Export",
]
# A page of a class is one screen or two.
CLASS_PAGE_LINES_MAX = 170
SESSION_SECONDS_MAX = 80


renew = load("renew")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text_of(page), re.MULTILINE | re.DOTALL)


def block(page: Path, language: str) -> str:
    (only,) = blocks(page, language)
    return only


def session(page: Path) -> str:
    """The example of a class as a script: everything from the folder to the daemon's end."""
    (found,) = (each for each in blocks(page, "sh") if "littled init" in each)
    return found


def configurations(page: Path, folder: Path) -> Iterator[Configuration]:
    """Every configuration on a page, with the files that its example writes beside it."""
    files = renew.files(text_of(page))
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    written = [content for name, content in files.items() if name.endswith(".toml")]
    for content in [*written, *blocks(page, "toml")]:
        yield parse_configuration(content, folder / "littled.toml")


# -- links and headings --------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE)
    named_places = set(re.findall(r'<a id="([^"]+)"></a>', text_of(page)))
    return named_places | {
        re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings
    }


def broken_links(page: Path) -> list[str]:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        if not found.exists() or (anchor and anchor not in anchors(found)):
            broken.append(target)
    return broken


@pytest.mark.parametrize("page", [*PAGES, *sorted(ROOT.glob("*.md"))], ids=named)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One title\n[a](#one-title) [b](#two) [c](nowhere.md) [d](page.md#one-title)")
    assert broken_links(page) == ["#two", "nowhere.md"]


# Words of this program that are linked to the glossary where a page has them first. Some pages have
# such a word in another meaning, or in a table that a program writes.
PRIVATE_WORDS = {
    "season": "[Ss]easons?",
    "epoch": "[Ee]pochs?",
    "mark": "marks?",
    "teacher": "[Tt]eachers?",
    "twin": "[Tt]wins?",
    "trigger": "triggers?",
}
OTHER_MEANINGS = {
    *(("gallery.md", "mark"), ("real-streams.md", "mark"), ("conjunctions.md", "mark")),
    *(("python.md", "twin"), ("real-streams.md", "teacher")),
}
# What explains its words itself.
EXPLAINING = {"glossary.md", "tutorial.md"}
NO_PROSE = re.compile(
    r"```.*?```|<!--.*?-->|`[^`\n]*`|^#[^\n]*$|^    [^\n]*$", re.MULTILINE | re.DOTALL
)


def unexplained(name: str, text: str) -> list[str]:
    """The private words that stand on a page before they are linked to the glossary."""
    prose, found = NO_PROSE.sub("", text), []
    for word, written in PRIVATE_WORDS.items():
        linked = rf"\[{written}\]\((?:\.\./|docs/)?glossary\.md#{word}\)"
        anywhere = rf"(?P<link>{linked})|\[[^\]]*\]\([^)]*\)|(?<![\w-])(?P<word>{written})(?![\w-])"
        first = next((m for m in re.finditer(anywhere, prose) if m["link"] or m["word"]), None)
        if first is not None and first["word"] and (name, word) not in OTHER_MEANINGS:
            found.append(word)
    return found


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS.glob("*.md"), *CLASS_PAGES], ids=named)
def test_a_private_word_leads_to_the_glossary_where_it_is_first_met(page: Path) -> None:
    if page.name not in EXPLAINING:
        assert unexplained(page.name, text_of(page)) == [], "link these to the glossary"


def test_a_word_that_is_met_before_it_is_linked_is_found() -> None:
    page = "A `mark` of a [mark](glossary.md#mark), then a mark. In an epoch"
    assert unexplained("page.md", f"# Epochs\n\n{page}, of [epochs](glossary.md#epoch)") == [
        "epoch"
    ]


def test_every_page_can_be_found_from_the_index() -> None:
    index = DOCS / "README.md"
    linked = {(DOCS / each).resolve() for each in re.findall(r"\]\(([^)#]+)", text_of(index))}
    assert {page for page in PAGES if page != index} <= linked


def test_the_page_on_security_names_the_sections_that_it_means() -> None:
    text, privacy = text_of(ROOT / "SECURITY.md"), text_of(ROOT / "PRIVACY.md")
    named_sections = set(re.findall(r"[Ss]ection (\d+)", text))
    titles = dict(re.findall(r"^## (\d+)\. (.+)$", privacy, re.MULTILINE))
    assert {number: titles[number] for number in named_sections} == {
        "8": "What may be shown, and what never is",
        "9": "Limits, in plain words",
        "10": "What is not proven yet",
    }


def test_the_table_of_classes_has_a_row_for_each_page() -> None:
    (table,) = renew.CLASSES_TABLE.findall(text_of(DOCS / "README.md"))
    assert table == "\n".join(renew.classes_rows()), "run python docs/renew.py"
    for kind, name in CLASSES.items():
        assert f"| [`{name}`](classes/{kind}.md) | " in table


def test_a_page_of_a_class_without_a_summary_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "classes").mkdir()
    (tmp_path / "classes" / "thresholds.md").write_text("# thresholds:SIZE\n\nRules.\n")
    monkeypatch.setattr(renew, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match=r"thresholds\.md does not begin"):
        list(renew.classes_rows())


def test_the_readme_names_the_pages() -> None:
    readme = text_of(ROOT / "README.md")
    assert "](docs/README.md#classes-of-rules)" in readme
    for page in (DOCS / "README.md", PAPER, DOCS / "planning.md", PREDICTION):
        assert f"]({named(page)})" in readme


@pytest.mark.parametrize("kind", CLASSES)
def test_every_class_has_a_page_with_the_headings(kind: str) -> None:
    text = text_of(DOCS / "classes" / f"{kind}.md")
    assert text.startswith(f"# {CLASSES[kind]}\n")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS
    assert text.count("\n") <= CLASS_PAGE_LINES_MAX


def test_there_is_no_page_of_a_class_that_does_not_exist() -> None:
    assert sorted((DOCS / "classes").glob("*.md")) == sorted(CLASS_PAGES)


# -- commands and configurations -----------------------------------------------------------------


def commands(page: Path) -> Iterator[list[str]]:
    """The arguments of every `littled` command in a block of shell."""
    for shown in blocks(page, "sh"):
        for line in shown.replace("\\\n", " ").splitlines():
            if line.startswith("littled "):
                yield shlex.split(re.split(r" 2?> | &$", line)[0])[1:]


def parse(arguments: list[str]) -> click.Context:
    """The context that click makes of a command line, without running the command."""
    name, rest = arguments[0], arguments[1:]
    command: click.Command | None = group.get_command(click.Context(group), name)
    while isinstance(command, click.Group):
        name, rest = rest[0], rest[1:]
        command = command.get_command(click.Context(command), name)
    assert command is not None, f"there is no command {name}"
    return command.make_context(name, rest)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_and_configuration_is_understood(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = (
        "year.csv",
        "deliveries.csv",
        "loans.csv",
        "sample.csv",
        "littled.toml",
        "flights.csv",
        "token",
        *("ca.pem", "me.pem", "me.key"),
        *("cancer.csv", "phishing.csv", "diamonds.csv", "january.csv", "domains.csv"),
        *("addresses.csv", "all-columns.toml", "american.toml"),
        *("transactions.csv", "reports.csv"),
    )
    for name in files:
        (tmp_path / name).write_text("what a file has to hold is no matter of the command line")
    streams = {
        name: each.learners
        for configuration in configurations(page, tmp_path)
        for name, each in configuration.streams.items()
    }
    for arguments in commands(page):
        context = parse(arguments)
        learner = context.params.get("learner") or f"{context.params.get('stream')}/"
        stream, _, name = learner.partition("/")
        if stream != "None":
            assert not name or name in streams[stream]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("plan --clas thresholds:4", "No such option"),
        ("feed s nowhere.csv --x a --y b", "does not exist"),
        ("rule shout s/l", "there is no command"),
    ],
)
def test_a_command_that_is_not_understood_is_found(line: str, problem: str) -> None:
    with pytest.raises((click.UsageError, AssertionError)) as raised:
        parse(line.split())
    assert problem in str(raised.value)


@pytest.mark.parametrize("page", CLASS_PAGES, ids=named)
def test_a_page_configures_its_own_class(page: Path, tmp_path: Path) -> None:
    (configuration,) = configurations(page, tmp_path)
    (stream,) = configuration.streams.values()
    (learner,) = stream.learners.values()
    assert str(learner.class_name).partition(":")[0] == page.stem
    assert stream.epsilon == 1


# -- quotations ----------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_quotations_are_what_is_printed_now(page: Path) -> None:
    assert text_of(page) == renew.renewed(text_of(page)), "run python docs/renew.py"


def test_every_page_that_shows_a_plan_quotes_it() -> None:
    for page in PAGES:
        shown = sum(each[0] in ("plan", "dim") for each in commands(page))
        in_example = session(page).count("littled dim") if page in CLASS_PAGES else 0
        assert len(renew.QUOTATION.findall(text_of(page))) == shown - in_example, named(page)
    assert all(renew.QUOTATION.search(text_of(page)) for page in CLASS_PAGES)


def test_a_quotation_that_is_out_of_date_is_written_anew() -> None:
    page = DOCS / "classes" / "points.md"
    old = re.sub(r"^new rules .*$", "new rules  at most 77", text_of(page), flags=re.MULTILINE)
    assert old != text_of(page)
    assert renew.renewed(old) == text_of(page)


# -- examples ------------------------------------------------------------------------------------


def option(page: Path, command: str, name: str) -> list[str]:
    """The values of an option in the commands of a page's example."""
    found = [each for each in commands(page) if command in each[:2] and name in each]
    return [b for each in found for a, b in pairwise(each) if a == name]


def exported(page: Path) -> Rule:
    rule = rule_from_dict(json.loads(block(page, "json")))
    assert isinstance(rule, Rule)
    return rule


@pytest.mark.parametrize("page", CLASS_PAGES, ids=named)
def test_the_rule_of_a_page_fits_its_examples(page: Path, tmp_path: Path) -> None:
    rule = exported(page)
    x, (y,) = option(page, "feed", "--x"), option(page, "feed", "--y")
    (tmp_path / "day.csv").write_text(renew.files(text_of(page))["day.csv"], encoding="utf-8")
    fields = Fields(x[0] if len(x) == 1 else tuple(x), y)
    rows = 0
    for points, labels in map(pair, Source(str(tmp_path / "day.csv"), rule.x_type, fields)):
        assert rule.evaluate(points).tolist() == labels.tolist()
        rows += len(labels)
        assert 0 < labels.sum() < rows
    assert 6 <= rows <= 24


@pytest.mark.parametrize("page", CLASS_PAGES, ids=named)
def test_the_rule_of_a_page_is_written_as_it_is_printed(page: Path, tmp_path: Path) -> None:
    rule = exported(page)
    (configuration,) = configurations(page, tmp_path)
    (stream,) = configuration.streams.values()
    (learner,) = stream.request().learners
    assert rule.x_type == learner.hypotheses.point_type
    assert f"```text\n{rule.describe(learner.words)}\n```" in text_of(page)
    if isinstance(rule, SequenceRule):
        with pytest.raises(RuleError, match="SQL"):
            rule.to_sql(learner.words, "x")
        assert "```sql" not in text_of(page)
        return
    (column,) = option(page, "export", "--column")
    assert block(page, "sql") == f"{rule.to_sql(learner.words, column)}\n"


def test_the_rule_of_the_table_is_in_the_table(tmp_path: Path) -> None:
    page = DOCS / "classes" / "table.md"
    (configuration,) = configurations(page, tmp_path)
    (stream,) = configuration.streams.values()
    table = stream.learners["policy"].hypothesis_class
    rules = needed(table.dense)
    assert exported(page) in [rules.rule(index) for index in range(rules.rule_count)]


def run_session(page: Path, folder: Path) -> str:
    """What the example of a page prints, run as it stands except for a pause."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LITTLED_", "XDG_RUNTIME"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    # whatever happens, the daemon in the background ends with the script
    script = "set -eu\ntrap 'kill $(jobs -p) || true' EXIT\n" + session(page)
    # a script is quicker than a reader: let the daemon learn from everything before it is asked
    script = script.replace("littled rule show", "sleep 3\nlittled rule show")
    done = subprocess.run(
        ["/bin/bash", "-c", script],
        cwd=folder,
        env=kept | {"PATH": path, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=SESSION_SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.campaign
@pytest.mark.parametrize("page", CLASS_PAGES, ids=named)
def test_the_example_of_a_class_runs_as_it_stands(page: Path, tmp_path: Path) -> None:
    printed = run_session(page, tmp_path)
    (first,) = re.findall(r"^version 1 .* examples   (.+)$", printed, re.MULTILINE)
    (last,) = re.findall(r"^(.+)\nversion \d+ of \w+/\w+, after ", printed, re.MULTILINE)
    assert last != first
    (positive,) = {each.y.positive for c in configurations(page, tmp_path)
                   for each in c.streams.values()}  # fmt: skip
    assert last.startswith(f"{positive} if ")


@pytest.mark.campaign
def test_the_example_of_answers_runs_as_it_stands(tmp_path: Path) -> None:
    printed = run_session(PREDICTION, tmp_path)
    answers = re.findall(r"^(abusive|honest)$", printed, re.MULTILINE)
    assert len(answers) == 2
    assert "0 to 19,999" in printed
    assert ", 1 request answered\n" in printed
    assert printed.endswith("sound: the chain is whole and no budget was exceeded\n")


# -- the paper -----------------------------------------------------------------------------------


def code_names() -> list[str]:
    """Every name in the last column of the tables of symbols."""
    symbols = text_of(PAPER).partition("## Where the code differs")[0]
    rows = re.findall(r"^\|.*[^\\\n]\|(.*)\|$", symbols, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


def find(name: str) -> Any:
    """What a dotted name stands for: a module, then attributes; fields of dataclasses count."""
    parts = name.split(".")
    if parts[0] not in ("littled_protocol", "oracle"):
        parts.insert(0, "littled")
    found: Any = importlib.import_module(parts[0])
    for depth, part in enumerate(parts[1:], start=1):
        if hasattr(found, part):
            found = getattr(found, part)
        elif isinstance(found, ModuleType):
            found = importlib.import_module(".".join(parts[: depth + 1]))
        else:
            found = found.__dataclass_fields__[part]
    return found


def test_every_name_beside_the_paper_exists() -> None:
    names = code_names()
    assert len(set(names)) > 80
    missing = []
    for name in names:
        try:
            find(name)
        except (ImportError, AttributeError, KeyError):
            missing.append(name)
    assert missing == []


def test_every_symbol_of_the_algorithms_has_a_row() -> None:
    text = text_of(PAPER)
    for symbol in (
        *("| d = LDim(H) |", "| epsilon, delta |", "| T |", "| C |", "| K_budget", "| k |"),
        *("| U |", "| epsilon_sparse", "| B |", "| L |", "| R = O(log T) |", "| score(u) |"),
        *("| bottom,", "| f_t(D) |", "| Lap(1/epsilon) |", "counter |", "| h-hat |", "| E |"),
        *("| S^(1), ..., S^(k) |", "| A_1, ..., A_k |", "HALT |", "| j* |", "| err_T(h) |"),
        *("| H_i^j", "| L_i^j |", "| m^j |", "| > 4k/5 |", "| 1/10 (1 - 1/d)^j |", "| Majority("),
        *("| LDim(H) |", "| SOA_H |", "| k-irreducible", "DDim_{p,d}(H) |", "| p |"),
        *("| (p, d)-essential |",),
    ):
        assert symbol in text, symbol


def test_every_symbol_of_windows_has_a_row() -> None:
    text = text_of(PAPER).partition("### Windows: ")[2].partition("\n### ")[0]
    for symbol in (
        *("Theorem 3: S, n |", "| k, S_1, ...", "| alpha, (1 - 1/(2d))^j alpha |", "| H_i^j |"),
        *("| p_j = 2^j n d", "at least k/2 times", "| SparseSample |", "| E_good,"),
        *("Corollary 5.1", "Lemma 29", "Lemma 28", "Theorem 30", "Theorem 23"),
    ):
        assert symbol in text, symbol


def test_every_symbol_of_private_predictions_has_a_row() -> None:
    text = text_of(PAPER).partition("### Dagan and Feldman")[2]
    for symbol in (
        *(
            "| S, n |",
            "| H, d |",
            "| tau_n(H) |",
            "| I, T = S_I |",
            "| H_T |",
            "| A^exp_",
            "| A^sta",
        ),
        *("| gamma |", "| S_h |", "| phi_S(h), A^R", "| eta (", "| 4 e^6", "| alpha, beta |"),
    ):
        assert symbol in text, symbol


def test_every_test_that_the_page_names_exists() -> None:
    named_tests = re.findall(r"`(test_\w+)` in `(test_\w+\.py)`", text_of(PAPER))
    assert len(named_tests) >= 10
    wrong = []
    for test, module in named_tests:
        places = [*(ROOT / "tests" / "daemon").rglob(module)]
        if not any(f"def {test}(" in text_of(place) for place in places):
            wrong.append(f"{module}::{test}")
    assert wrong == []


def test_csv_examples_are_tables() -> None:
    for page in CLASS_PAGES:
        rows = [*csv.reader(renew.files(text_of(page))["day.csv"].splitlines())]
        assert len({len(row) for row in rows}) == 1


def test_documents_of_their_own_are_new() -> None:
    for name, text in renew.documents().items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, "run python docs/renew.py"
