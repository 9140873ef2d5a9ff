"""Tables for screens of any width, and for pipes."""

import os
import pty
import re
import struct
import subprocess
import sys
import termios
from fcntl import ioctl

import pytest
from rich.table import Table

from littled.cli.tabling import plain_lines
from support.commands import Littled

PLAN = ["plan", "--class", "thresholds:256", "--epsilon", "1", "--delta", "1e-6"]
PLAN += ["--horizon", "100000"]
ADVICE = "lower paper.teachers or paper.threshold"


def on_a_screen(columns: int, *arguments: str) -> list[str]:
    """What a command prints on a terminal of so many columns, without its colours."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    command = [sys.executable, "-P", "-m", "littled.cli", *arguments]
    with subprocess.Popen(command, stdout=theirs, env=kept | {"TERM": "xterm"}) as process:
        os.close(theirs)
        found = bytearray()
        try:
            while data := os.read(ours, 65536):
                found += data
        except OSError:  # how a terminal says that nobody writes any more
            pass
        os.close(ours)
    assert process.returncode == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", found.decode())
    return [line.rstrip() for line in text.replace("\r", "").split("\n")]


@pytest.mark.long
@pytest.mark.parametrize("columns", [80, 200])
def test_a_plan_fits_on_a_screen_and_its_advice_is_whole(columns: int) -> None:
    lines = on_a_screen(columns, *PLAN)
    assert max(map(len, lines)) <= columns
    assert len(lines) < 50
    together = " ".join(" ".join(lines).replace("│", " ").split())
    assert ADVICE in together
    assert "…" not in together
    assert "expected mistakes" in together


@pytest.mark.long
def test_in_a_pipe_a_row_is_a_line_and_nothing_is_drawn(littled: Littled) -> None:
    said = littled(*PLAN).out
    assert said.isascii()
    (paper,) = (line for line in said.splitlines() if line.startswith("paper "))
    assert paper.endswith(ADVICE)
    header = next(line for line in said.splitlines() if line.startswith("way "))
    assert re.split(r" {2,}", header)[:3] == ["way", "expected mistakes", "at most"]


def test_columns_of_numbers_end_where_their_headers_do() -> None:
    table = Table(title="of numbers")
    table.add_column("name")
    table.add_column("count", justify="right")
    table.add_column("remark")
    table.add_row("a", "1", "")
    table.add_row("long", "123,456", "many, [and] more")
    assert list(plain_lines(table)) == [
        "of numbers",
        "name    count  remark",
        "a           1",
        "long  123,456  many, [and] more",
    ]
