"""The gallery: every section runs as it stands, and prints and learns what the page says."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from ipaddress import IPv4Address
from pathlib import Path
from statistics import median

import duckdb
import numpy as np
import pyarrow.csv as pa_csv
import pytest

from littled.cli.entry import run
from littled_client import Rule
from support.pages import run_scripts

pytestmark = pytest.mark.long

PAGE = Path(__file__).parent.parent / "docs" / "gallery.md"
SECTION_SECONDS_MAX = 100
BLOCK = re.compile(
    r"^```sh\n(?P<script>.*?)^```$"
    r"(?:\n\n<!-- printed(?P<how>| once| by [^>]+) -->\n```text\n(?P<printed>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
EXITS = re.compile(r"^# exits with (\d+)$", re.MULTILINE)
LEFT_OUT = "..."
SEEDS = range(1, 51)


@dataclass(frozen=True)
class Block:
    """Commands of the page, and what the page says that they print."""

    script: str
    printed: tuple[str, ...]
    once: bool = False  # whether noise that nobody knows has changed it
    by: tuple[str, ...] = ()  # "name version" of packages whose data may change

    @property
    def status(self) -> int:
        """The exit status of the last command."""
        found = EXITS.search(self.script)
        return 0 if found is None else int(found[1])


@dataclass(frozen=True)
class Section:
    """One data set."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Learned:
    """What is to be true of a section's rule, whatever the noise was."""

    file: str  # with all rows
    label: str  # the column with the labels
    columns: tuple[str, ...]  # one of them is in the rule
    error_max: float


LEARNED = {
    "Breast cancer": Learned("cancer.csv", "diagnosis", ("worst ",), 0.25),
    "Phishing": Learned(
        "phishing.csv", "is_phishing",
        ("empty_server_form_handler", "popup_window", "request_from_other_domain"), 0.3,
    ),
    "Diamonds": Learned("diamonds.csv", "expensive", ("carat", "x", "y", "z"), 0.1),
    "Flights and weather": Learned("year.csv", "late", ("dep_delay",), 0.105),
    "Disposable mail domains": Learned("domains.csv", "disposable", ("ending",), 0.2),
    "Networks": Learned("addresses.csv", "apple", ("address in ",), 0.002),
}  # fmt: skip
TEXT = PAGE.read_text(encoding="utf-8")


def read(text: str) -> dict[str, Section]:
    """The sections of a page by their titles."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:]
    return {
        title: Section(title, tuple(blocks_of(body)))
        for title, body in zip(parts[::2], parts[1::2], strict=True)
    }


def blocks_of(body: str) -> Iterator[Block]:
    for found in BLOCK.finditer(body):
        printed, how = (found["printed"] or "").splitlines(), found["how"] or ""
        packages = how.removeprefix(" by ").split(", ") if how.startswith(" by ") else []
        yield Block(found["script"], tuple(printed), how == " once", tuple(packages))


SECTIONS = read(TEXT)


def run_section(section: Section, folder: Path) -> list[tuple[int, list[str]]]:
    """The exit status and the lines of each block, all run in one shell, as a reader would."""
    scripts = [(block.script, block.status == 0) for block in section.blocks]
    return run_scripts(scripts, folder, SECTION_SECONDS_MAX)


def quotes(shown: Sequence[str], said: Sequence[str]) -> bool:
    """Whether `shown` is what was said, where lines are left out only at `...`."""
    pieces = re.split(r"^\.\.\.$", "\n".join(["", *shown, ""]), flags=re.MULTILINE)
    rest = "\n".join(["", *said, ""])
    start = 0
    for place, piece in enumerate(pieces):
        found = rest.find(piece, start)
        if found < 0 or (place == 0 and found > 0):
            return False
        start = found + len(piece) - 1  # the end of a line is the beginning of the next
    return start == len(rest) - 1 or pieces[-1] == "\n"


def test_the_sections_are_those_whose_rules_are_known() -> None:
    assert list(SECTIONS) == list(LEARNED)
    for title in SECTIONS:
        assert f"](#{title.lower().replace(' ', '-')})" in TEXT


@pytest.mark.parametrize("title", SECTIONS)
def test_a_section_goes_from_a_file_to_sql(title: str) -> None:
    script = "".join(block.script for block in SECTIONS[title].blocks)
    for command in ("columns", "check", "backtest", "init", "serve", "feed", "rule show",
                    "rule eval", "rule export"):  # fmt: skip
        assert f"littled {command} " in script, command
    assert "--format sql" in script
    for block in SECTIONS[title].blocks:
        if re.search(r"^littled (columns|check|backtest|rule eval)|^import (duckdb|sqlite3)$",
                     block.script, re.MULTILINE):  # fmt: skip
            assert block.printed
        noisy = re.search(r"^littled (serve|rule)|rule\.sql", block.script, re.MULTILINE)
        assert not block.printed or block.once == bool(noisy)


@pytest.mark.timeout(SECTION_SECONDS_MAX + 10)
@pytest.mark.parametrize("title", SECTIONS)
def test_a_section_runs_as_it_stands(title: str, tmp_path: Path) -> None:
    section, expected = SECTIONS[title], LEARNED[title]
    said = run_section(section, tmp_path)
    assert len(said) == len(section.blocks), said[-1:]
    for block, (status, lines) in zip(section.blocks, said, strict=True):
        told = "\n".join([block.script, *lines])
        assert status == block.status, told
        if block.once:  # the noise is another one, what is printed of it is not
            assert shapes(block.printed) <= shapes(lines), told
        elif block.printed:
            same = all(version(name) == wanted for name, wanted in map(str.split, block.by))
            shown, seen = (block.printed, lines) if same else (plain(block.printed), plain(lines))
            assert quotes(shown, seen), told
    rule = Rule.from_dict(json.loads((tmp_path / "rule.json").read_text(encoding="utf-8")))
    positive, told = str(rule).split(" if ")
    assert positive in TEXT
    assert any(told.startswith(column) or f" {column}" in told for column in expected.columns)
    assert_the_rule_is_as_good_as_said_and_its_sql_is_the_same(rule, tmp_path, expected)


def plain(lines: Sequence[str]) -> list[str]:
    """The lines without numbers and what rules say: what newer data do not change."""
    said = [re.sub(r"\d[\d,.]*", "0", line) for line in lines]
    said = [re.sub(r"^(rule|best rule) .*", r"\1", line) for line in said]
    return [re.sub(r"^  (\w+): .*", r"  \1", line) for line in said]


def shapes(lines: Sequence[str]) -> set[str]:
    """The kinds of lines: versions, rules, counts, so far as noise does not change them."""
    return {
        kind
        for kind, pattern in {
            "fed": r"^\w+: [\d,]+ examples acknowledged in ",
            "version": r"^version \d+ +after +[\d,]+ examples   ",
            "shown": r"^version \d+ of \w+/\w+, after [\d,]+ examples$",
            "rule": r"^\w+ if ",
            "counted": r"^│ \w+ +│ (false|true) +│ +\d+ │$|^\([01], [01], \d+\)$",
            "expression": r"^\(+\"\w+",
        }.items()
        if any(re.search(pattern, line) for line in lines)
    }


def assert_the_rule_is_as_good_as_said_and_its_sql_is_the_same(
    rule: Rule, folder: Path, expected: Learned
) -> None:
    expression = (folder / "rule.sql").read_text(encoding="utf-8")
    table = pa_csv.read_csv(folder / expected.file)
    predicted = np.asarray(rule.labels(table), dtype=bool)
    labels = np.asarray(table[expected.label].to_pylist())
    truth = labels if labels.dtype == bool else labels == "malignant"
    assert np.mean(predicted != truth) <= expected.error_max
    if "address" in table.column_names:  # numbers in SQL
        numbers = [int(IPv4Address(text)) for text in table["address"].to_pylist()]
        table = table.set_column(table.column_names.index("address"), "address", [numbers])
    with duckdb.connect() as base:
        base.register("rows", table.append_column("place", [np.arange(len(predicted))]))
        query = f"SELECT place, coalesce({expression}, false) AS told FROM rows"  # noqa: S608
        found = base.execute(query).fetchnumpy()
    told = np.empty_like(predicted)
    told[found["place"]] = found["told"]  # rows of a table come in any order
    assert np.array_equal(told, predicted)


# -- figures -------------------------------------------------------------------------------------


def final_errors(folder: Path, epsilon: str) -> list[float]:
    """The final error of the cancer's rule for each seed."""
    (written,) = re.findall(r"^cat > cancer\.toml <<'END'\n(.*?)^END$", TEXT, re.M | re.S)
    assert tomllib.loads(written)["streams"]["cancer"]["epsilon"] == 1
    configuration = folder / f"cancer-{epsilon}.toml"
    configuration.write_text(written.replace("epsilon = 1.0", f"epsilon = {epsilon}"))
    errors = []
    for seed in SEEDS:
        said = io.StringIO()
        asked = ["backtest", "cancer", str(folder / "cancer.csv"), "--config", str(configuration)]
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            assert run([*asked, "--seed", str(seed), "--json"]) == 0
        errors.append(float(json.loads(said.getvalue().splitlines()[-1])["final_error"]))
    return errors


def test_what_few_rows_teach_at_each_epsilon(tmp_path: Path) -> None:
    script = SECTIONS["Breast cancer"].blocks[0].script.partition("littled columns")[0]
    subprocess.run(
        ["/bin/bash", "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        check=True,
    )
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) % \| ([\d.]+) % \|$", TEXT, re.MULTILINE)
    assert len(rows) == 4
    for epsilon, middle, worst in rows:
        errors = final_errors(tmp_path, epsilon)
        assert (middle, worst) == (f"{100 * median(errors):.1f}", f"{100 * max(errors):.1f}")


# -- the reader of the page ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "said", "right"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a", "..."], ["a", "b"], True),
        (["...", "b"], ["a", "b"], True),
        (["a", "...", "c"], ["a", "b", "c"], True),
        (["...", "b", "..."], ["a", "b", "c"], True),
        (["...", "a", "..."], ["a"], True),
        (["a"], ["a", "b"], False),
        (["b"], ["a", "b"], False),
        (["a", "c"], ["a", "b", "c"], False),
        (["a", "...", "c"], ["a", "b", "d"], False),
        (["...", "c", "...", "b", "..."], ["a", "b", "c"], False),
        (["...", "b"], ["a", "b", "c"], False),
        (["...", "bb", "..."], ["a", "b", "c"], False),
    ],
)
def test_a_quotation_may_leave_lines_out_but_not_change_them(
    shown: list[str], said: list[str], right: bool
) -> None:
    assert quotes(shown, said) == right


def test_blocks_know_their_status_and_whether_noise_changes_them() -> None:
    text = (
        "## One\n\n```sh\na\n# exits with 1\nb\n```\n\n<!-- printed -->\n```text\nx\n```\n\n"
        "```sh\nc\n```\n\n<!-- printed once -->\n```text\ny\n```\n"
        "```sh\nd\n```\n\n<!-- printed by name 1.2, other 3 -->\n```text\nz\n```\n"
    )
    first, second, third = read(text)["One"].blocks
    assert first == Block("a\n# exits with 1\nb\n", ("x",))
    assert second == Block("c\n", ("y",), once=True)
    assert third == Block("d\n", ("z",), by=("name 1.2", "other 3"))
    assert [block.status for block in (first, second, third)] == [1, 0, 0]


def test_a_section_ends_where_a_command_fails(tmp_path: Path) -> None:
    fails = Block("python -c 'import nothing_of_this_name' > rows.csv\necho fed\n", ())
    refused = Block("# exits with 3\n(exit 3)\n", ())
    section = Section("One", (Block("echo begun\n", ()), refused, fails, Block("echo on\n", ())))
    first, second, (status, said) = run_section(section, tmp_path)
    assert (first, second) == ((0, ["begun"]), (3, []))
    assert status == 1
    assert said[-1].startswith("ModuleNotFoundError: ")


def test_newer_data_change_numbers_and_rules_alone() -> None:
    old = ["rows 1,000", "rule yes if x >= 3", "  x: 0.1 % above, clipped", "learner a/b"]
    new = ["rows 1,200", "rule yes if x >= 5", "  x: every cell is read as it is", "learner a/b"]
    assert plain(old) == plain(new)
    assert plain(old) != plain([*new[:3], "learner a/c"])
