"""The floors of coverage: every room has one, and one that is missed is noticed."""

from pathlib import Path
from typing import Any

import pytest

from floors import __main__ as command
from floors.rooms import ELSEWHERE, FLOORS, Share, shares

ROOT = Path(__file__).parent.parent


def report(run: int, statements: int) -> dict[str, Any]:
    """A report of two files in every room; the first has another file's name as its beginning."""
    summary = {"covered_lines": run, "num_statements": statements}
    nothing = {"covered_lines": 0, "num_statements": 10_000}
    files = {f"{room}/{name}.py": {"summary": summary} for room in FLOORS for name in "ab"}
    return {"files": {**files, **{f"{room}s/a.py": {"summary": nothing} for room in FLOORS}}}


def test_every_room_has_a_floor_or_a_reason() -> None:
    folders = [path for path in (ROOT / "daemon" / "littled").iterdir() if path.is_dir()]
    folders += [ROOT / "protocol" / "littled_protocol", ROOT / "clients" / "littled_client"]
    rooms = {str(path.relative_to(ROOT)) for path in folders if path.name != "__pycache__"}
    assert FLOORS.keys() | ELSEWHERE.keys() == rooms
    assert not FLOORS.keys() & ELSEWHERE.keys()


def test_make_measures_the_rooms_with_floors() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    tests = {
        "tests/protocol" if room.startswith("protocol") else f"tests/daemon/{Path(room).name}"
        for room in FLOORS
    }
    (listed,) = [line for line in makefile.splitlines() if line.startswith("ROOMS :=")]
    assert {f"tests/{name}" for name in listed.split()[2:]} == tests


def test_the_files_of_a_room_are_added_up() -> None:
    assert shares(report(9, 10)) == [Share(room, 18, 20) for room in FLOORS]
    assert shares({"files": {}})[0].percent == 0


def test_a_room_below_its_floor_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "report.json"
    monkeypatch.setattr(command, "REPORT", path)
    path.write_text(str(report(10, 10)).replace("'", '"'), encoding="utf-8")
    assert command.main() == 0
    assert "too little" not in capsys.readouterr().out
    path.write_text(str(report(1, 10)).replace("'", '"'), encoding="utf-8")
    assert command.main() == 1
    assert capsys.readouterr().out.count("too little") == len(FLOORS)
