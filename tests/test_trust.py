"""The pages of trust: whatever they name exists, and their figures are those of other pages."""

import math
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
ASSESSMENT = (DOCS / "self-assessment.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in ASSESSMENT.splitlines()
    if line.startswith("| ") and not line.startswith("| question ")
]
ANSWER = re.compile(r"\*\*(Yes|Partly|No)\b")
WORDS = ["nine", "ten", "eleven", "twelve", "thirteen", "fourteen"]
PARAMETERS = (DOCS / "parameters.md").read_text(encoding="utf-8")


def text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_each_answer_names_a_file_and_a_test_that_exist(row: list[str]) -> None:
    question, answer, file, test = row
    assert question.endswith("?")
    found = ANSWER.match(answer)
    assert found, answer
    assert (ROOT / file.strip("`")).exists(), file
    if found[1] == "No":
        assert test == "-"  # nothing can be tested that is not done
    else:
        assert test.startswith("`tests/")
        assert (ROOT / test.strip("`")).is_file(), test


def test_the_page_counts_what_is_not_or_partly_done() -> None:
    answers = [found[1] for row in ROWS if (found := ANSWER.match(row[1]))]
    open_ones = answers.count("No") + answers.count("Partly")
    assert len(ROWS) == len(answers) > 35
    assert f"there are {WORDS[open_ones - 9]} of them below" in ASSESSMENT


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_what_epsilon_means_is_computed(epsilon: str) -> None:
    odds = math.exp(float(epsilon))
    assert f"| {epsilon} | {100 * odds / (1 + odds):.1f} % |" in PARAMETERS
    assert f"about {100 * math.e / (1 + math.e):.0f} times in 100" in text("promises.md")


@pytest.mark.parametrize(
    ("page", "figures"),
    [
        ("which-class.md", ["22.5 % errors", "stumps 26.1 %", "| 25.0 %, stumps 26.7 %"]),
        (
            "gallery.md",
            ["| 0.5 | 10.2 % | 27.6 % |", "| 1 | 8.6 % | 14.4 % |", "| 2 | 8.6 % | 10.2 % |"],
        ),
        (
            "real-streams.md",
            ["told | 50.8 | 9.0 | 91.5 |", "12.0 | 8.6 | 15.1 |", "*lectures* alone, by 0.1"],
        ),
        ("mistakes.md", ["72 / 78 / 127", "404 / 424 / 356", "94 / 124 / 174", "75,900", "933"]),
        ("quality.md", ["| 100,000 | 16 | 6,250 | 1.9 |", "| 1,000,000 | 24 | 41,666 | 0.3 |"]),
        (
            "speed.md",
            ["| 0.22 | >= 0.5 |", "| 0.08 | >= 0.5 |", "| 306 M/s (0.3) |"],
        ),
        ("planning.md", ["`stumps:16:64` 1,400 mistakes", "to five times the mistakes"]),
    ],
)
def test_figures_stand_where_they_were_measured(page: str, figures: list[str]) -> None:
    found = text(page)
    assert [each for each in figures if each not in found] == [], (
        "docs/parameters.md and docs/known-issues.md quote them: change these with it"
    )


def test_the_picture_can_be_read_on_any_ground_and_says_what_it_shows() -> None:
    picture = ET.parse(DOCS / "promises.svg").getroot()  # noqa: S314 - a file of ours
    space = "{http://www.w3.org/2000/svg}"
    assert picture.findtext(f"{space}title")
    assert picture.findtext(f"{space}desc")
    fills = {each.get("fill") for each in picture.iter() if each.get("fill")}
    assert fills <= {"none", "#7d86a8", "#3f51b5", "#b8500a", "#ffffff"}
