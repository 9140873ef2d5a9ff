"""Pages whose commands run as they stand, each in an empty folder: what they lead to."""

import re
import socket
from pathlib import Path

import pytest

from support.pages import run_scripts

pytestmark = pytest.mark.long

DOCS = Path(__file__).parent.parent / "docs"
PAGE_SECONDS_MAX = 200
PORT = "8080"


def free_port() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def said_by(name: str, folder: Path) -> str:
    """All that the commands of a page print; none of them may fail."""
    text = (DOCS / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text.replace(PORT, free_port()), re.M | re.S)
    said = run_scripts([(block, True) for block in blocks], folder, PAGE_SECONDS_MAX)
    told = "\n".join(line for _, lines in said for line in lines)
    assert [status for status, _ in said] == [0] * len(blocks), told
    return told


@pytest.mark.timeout(PAGE_SECONDS_MAX + 10)
def test_the_tutorial_goes_from_deliveries_to_a_rule_that_is_checked(tmp_path: Path) -> None:
    said = said_by("tutorial.md", tmp_path)
    assert "deliveries: 50,000 examples acknowledged in " in said
    assert re.search(r"^version 3 .* yes if minutes_late >= -?\d+ min$", said, re.M), said
    assert "\nno\nyes\n" in said
    assert re.search(r'^\("minutes_late" >= (19|2[0-2])\)$', said, re.M), said
    assert said.endswith("sound: the chain is whole and no budget was exceeded")


@pytest.mark.campaign
@pytest.mark.timeout(PAGE_SECONDS_MAX + 10)
def test_columns_go_from_a_file_to_sql_and_to_a_program(tmp_path: Path) -> None:
    said = said_by("columns.md", tmp_path)
    assert "loans: 40,000 examples acknowledged in " in said
    assert re.search(r"^yes if income < 4\d{4}(\.\d+)? EUR$", said, re.M), said
    assert re.search(r'^\("income" < 4\d{4}(\.\d+)?\)$', said, re.M), said
    assert "\n[1 0]\n" in said
    assert "note: loans/ids names no class; sparse_sets:" in said


@pytest.mark.campaign
@pytest.mark.timeout(PAGE_SECONDS_MAX + 10)
def test_files_pipes_logs_and_http_are_fed(tmp_path: Path) -> None:
    said = said_by("feeding.md", tmp_path)
    assert "20,000 examples, 15,273 with label 1 and 4,727 with label 0; 0 rows refused" in said
    assert said.count("flights: 20,000 examples acknowledged in ") == 2
    assert "20,000 examples were acknowledged before; going on there" in said
    assert re.search(r'"accepted": 2,\s+"next_sequence": 2,\s+"position": 4000[23],', said), said
