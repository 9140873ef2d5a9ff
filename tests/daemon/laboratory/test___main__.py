"""What `python -m littled.laboratory` prints is what its pages have."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from littled.laboratory import __main__ as laboratory
from littled.laboratory.draws import uniforms, words
from littled.laboratory.markdown import power, refusal, shown, table
from littled.laboratory.stable_learner import Infeasible

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "docs" / name for name in ("laboratory.md", "adaptive-and-agnostic.md")]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
TABLES = {
    title: made
    for parts in (laboratory.PARTS, laboratory.EXTRA)
    for tables in parts.values()
    for title, made in tables.items()
}
# Tables that are made within a second; the others are compared in campaigns.
QUICK = (
    "Least best frequency, over all targets and n",
    "The Monte-Carlo variant: thresholds on 3 points, n = 1",
    "What the constants demand",
    "Examples where the frequency is known",
    "Which of 254 neighbours",
    "Lemma 20, item 2",
    "The constants of Lemma 21",
    "Descriptions of rules",
    "Constants at which the statements are proven",
    "Answers of one window",
)
RUN_SECONDS_MAX = 600


def printed(title: str) -> str:
    return "\n".join((title, "", *TABLES[title]()))


@pytest.mark.parametrize("title", QUICK)
def test_a_quick_table_is_the_one_of_the_page(title: str) -> None:
    assert printed(title) in TEXT


def test_every_table_has_its_place_on_the_page() -> None:
    assert [title for title in TABLES if f"\n{title}\n\n| " not in TEXT] == []


@pytest.mark.campaign
@pytest.mark.timeout(2 * RUN_SECONDS_MAX)
def test_the_whole_run_is_on_the_page_and_takes_at_most_ten_minutes() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "littled.laboratory"],
        capture_output=True, text=True, check=True, timeout=RUN_SECONDS_MAX,
    )  # fmt: skip
    parts = re.split(r"^## .*$", done.stdout, flags=re.MULTILINE)[1:]
    assert len(parts) == len(laboratory.PARTS)
    tables = [
        each.strip() for part in parts for each in re.split(r"\n\n(?=[A-Z].*\n\n\|)", part.strip())
    ]
    assert len(tables) == len(TABLES) - 1
    assert [each for each in tables if each not in TEXT] == []


def test_parts_are_printed_by_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    demands = dict([*laboratory.PARTS["private"].items()][:1])
    monkeypatch.setitem(laboratory.PARTS, "private", demands)
    assert laboratory.main(["private"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("## private\n\nWhat the constants demand\n\n| d |")
    assert "\nrefused: at d = 1 the private learner of A, section 5.3, needs 2^39.4 examples" in out


def test_all_parts_but_the_long_one_are_printed_by_default(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(laboratory, "lines_of", lambda part: iter([part]))
    assert laboratory.main([]) == 0
    assert capsys.readouterr().out.split() == list(laboratory.PARTS)


def test_a_part_that_there_is_not_ends_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert laboratory.main(["private", "privat"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("littled.laboratory: there is no part 'privat'; parts are stab")
    assert captured.err.count("\n") == 1


def test_help_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert laboratory.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert "Laboratory only: nothing here is served." in out
    assert all(part in out for part in (*laboratory.PARTS, *laboratory.EXTRA))


def test_nothing_else_imports_the_laboratory_and_every_module_says_what_it_is() -> None:
    sources = [*(ROOT / "daemon").rglob("*.py"), *(ROOT / "clients").rglob("*.py")]
    inside = [path for path in sources if path.parent.name == "laboratory"]
    assert len(inside) > 10
    for path in sources:
        text = path.read_text(encoding="utf-8")
        assert text.startswith('"""Laboratory only') == (path in inside), path
        assert path in inside or "littled.laboratory" not in text, path
    for page in PAGES:
        assert "laboratory only" in page.read_text(encoding="utf-8").lower()


def test_numbers_and_tables_are_printed_alike_everywhere() -> None:
    assert list(table(("a", "b"), [("x", 1)])) == ["| a | b |", "|---|---:|", "| x | 1 |"]
    assert (shown(None), shown(0.12345), power(3.14)) == ("-", "0.123", "2^3.1")

    def refused() -> int:
        raise Infeasible("too many")

    assert refusal(refused) == "refused: too many"
    assert refusal(lambda: 1234) == "1,234"


def test_draws_are_the_same_in_every_run_and_uniform() -> None:
    assert words("x", 1, 2).tolist() == words("x", 1, 3)[:2].tolist()
    assert words("x", 1, 2).tolist() != words("x", 2, 2).tolist()
    found = uniforms("uniform", 0, 10_000)
    assert 0 <= found.min() < found.max() < 1
    assert abs(found.mean() - 0.5) < 0.02
