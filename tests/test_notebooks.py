"""The notebooks of docs/notebooks, each run as a whole: what they show is what they say."""

import re
from pathlib import Path
from typing import Any

import pytest

from support.documents import load

DOCS = Path(__file__).parent.parent / "docs"
# Each takes some seconds, and several times as long where other tests run as well.
NOTEBOOK_SECONDS_MAX = 240

pytestmark = pytest.mark.timeout(NOTEBOOK_SECONDS_MAX)


notebooks = load("notebooks")


def said(notebook: Any) -> str:
    """All that the cells of a notebook show as text."""
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return "\n".join(each.get("text") or each["data"]["text/plain"] for each in shown)


def pictures(notebook: Any) -> int:
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return sum("image/png" in each.get("data", {}) for each in shown)


def shown_by(name: str) -> str:
    """What a notebook shows when it is run now; the file has as many pictures."""
    path = DOCS / "notebooks" / f"{name}.ipynb"
    run = notebooks.executed(path)
    assert pictures(run) == pictures(notebooks.nbformat.read(path, as_version=4))
    return said(run)


@pytest.mark.long
def test_flights_go_from_feed_to_sql() -> None:
    shown = shown_by("flights")
    assert "327,346 examples acknowledged" in shown
    rules = re.findall(
        r"^version +\d+, after +([\d,]+) rows: late if .* >= (-?\d+) min$", shown, re.M
    )
    assert rules[0] == ("0", "45")
    (minutes,) = re.findall(r'^\("departure_delay" >= (\d+)\)$', shown, re.M)
    # from July on late means more than an hour, and whoever departs so late arrives so late
    assert 50 <= int(minutes) <= 80
    assert rules[-1] == ("319,486", minutes)
    counted = dict(re.findall(r"'(\w+)': ([\d.]+)", shown))
    assert int(counted["flights"]) == 166_668
    assert float(counted["wrong_percent"]) < 4
    assert counted["late_percent"] == "7.85"
    assert "epsilon 1 of 1 spent" in shown
    assert "sound: the chain is whole and no budget was exceeded" in shown


@pytest.mark.long
def test_a_budget_buys_fewer_mistakes() -> None:
    shown = shown_by("budget")
    by_epsilon = re.findall(r"^epsilon ([\d.]+) +expected +(\d+) .*: mean +(\d+)$", shown, re.M)
    expected = [int(each) for _, each, _ in by_epsilon]
    counted = [int(each) for _, _, each in by_epsilon]
    assert [float(each) for each, _, _ in by_epsilon] == [0.05, 0.1, 0.2, 0.5, 1, 2, 5]
    assert expected == sorted(expected, reverse=True)
    assert counted == sorted(counted, reverse=True)
    assert all(run < plan for run, plan in zip(counted, expected, strict=True))
    shares = [float(each) for each in re.findall(r"([\d.]+) % of the rows$", shown, re.M)]
    assert len(shares) == 7
    assert shares == sorted(shares, reverse=True)
    users = [int(each.replace(",", "")) for each in re.findall(r"used: +([\d,]+)", shown)]
    many, few = users[:5], users[5:]
    assert many == sorted(many)
    assert few[1] < few[0]
    assert few[2:] == many[2:]


@pytest.mark.long
def test_the_guarantee_is_checked_and_faults_are_found() -> None:
    shown = shown_by("guarantee")
    assert "64 streams, 9 histories of each; all add up to 1 exactly" in shown
    (found,) = re.findall(r"^576 pairs of neighbours: epsilon is ([\d.]+), and 2 ", shown, re.M)
    assert 1.9 < float(found) <= 2
    faults = re.findall(r"^(.+?) +epsilon is (\S+); found: more than was claimed$", shown, re.M)
    assert [name for name, _ in faults] == ["half the noise", "a rule that fits is kept"]
    assert float(faults[0][1]) > 3.9
    assert faults[1][1] == "inf"


def test_every_notebook_has_a_test() -> None:
    names = {path.stem for path in notebooks.NOTEBOOKS}
    assert names == {"budget", "flights", "guarantee"}


def test_no_notebook_names_a_place_of_the_machine_that_it_ran_on() -> None:
    for path in notebooks.NOTEBOOKS:
        assert not re.search(r"/(tmp|home|root|var|work)/", path.read_text(encoding="utf-8"))
