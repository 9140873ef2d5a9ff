"""The floors of coverage: every room has one, and one that is missed is noticed."""

import configparser
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from floors import __main__ as command
from floors.rooms import FLOORS, Share, shares

ROOT = Path(__file__).parent.parent
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def listed(variable: str) -> set[str]:
    """The words of a variable of the Makefile that is written on one line."""
    (words,) = re.findall(rf"^{variable} := (.*)$", MAKEFILE, re.MULTILINE)
    return set(words.split())


def folder_of_tests(room: str) -> str:
    """Where the tests of a room are, in `tests`."""
    home, *_, name = room.split("/")
    if home != "daemon":
        return home
    folder = f"daemon/{name}"
    return folder if (ROOT / "tests" / folder).is_dir() else f"daemon/test_{name}.py"


def measured(group: str) -> set[str]:
    """The folders whose source a run measures."""
    if group == "pure":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        return set(project["tool"]["coverage"]["run"]["source"])
    settings = configparser.ConfigParser()
    settings.read(ROOT / "tests" / "floors" / f"{group}.ini", encoding="utf-8")
    assert settings["json"]["output"] == f".coverage.{group}.json"
    return set(settings["run"]["source"].split())


def report(group: str, run: int, there_are: int) -> dict[str, Any]:
    """A report of two files in every room; the first has another file's name as its beginning."""
    summary = {"covered_lines": run, "num_statements": there_are}
    nothing = {"covered_lines": 0, "num_statements": 10_000}
    rooms = FLOORS[group]
    files = {f"{room}/{name}.py": {"summary": summary} for room in rooms for name in "ab"}
    return {"files": {**files, **{f"{room}s/a.py": {"summary": nothing} for room in rooms}}}


def test_every_room_has_one_floor() -> None:
    folders = [path for path in (ROOT / "daemon" / "littled").iterdir() if path.is_dir()]
    folders += [ROOT / "protocol" / "littled_protocol", ROOT / "clients" / "littled_client"]
    # a folder without modules holds files that the program hands out
    rooms = [str(path.relative_to(ROOT)) for path in folders if any(path.glob("*.py"))]
    assert sorted(room for floors in FLOORS.values() for room in floors) == sorted(rooms)


@pytest.mark.parametrize("group", FLOORS)
def test_each_run_measures_the_rooms_of_its_group(group: str) -> None:
    sources = measured(group)
    assert all(
        any(room == source or room.startswith(f"{source}/") for source in sources)
        for room in FLOORS[group]
    )


def test_make_runs_the_tests_of_each_group_and_looks_at_its_floors() -> None:
    assert {f"daemon/littled/{name}" for name in listed("PURE_ROOMS")} == FLOORS["pure"].keys()
    for variable, group in (("ROOMS", "rooms"), ("PROCESS_ROOMS", "processes")):
        assert listed(variable) == {folder_of_tests(room) for room in FLOORS[group]}
    for group in FLOORS:
        assert f"python -m floors {group}\n" in MAKEFILE


def test_the_files_of_a_room_are_added_up() -> None:
    floors = FLOORS["rooms"].items()
    assert shares("rooms", report("rooms", 9, 10)) == [
        Share(room, 18, 20, floor) for room, floor in floors
    ]
    assert shares("rooms", {"files": {}})[0].percent == 0


def test_branches_count_where_they_are_measured() -> None:
    summary = {
        "covered_lines": 3, "num_statements": 4, "covered_branches": 1, "num_branches": 2,
    }  # fmt: skip
    files = {f"{room}/a.py": {"summary": summary} for room in FLOORS["pure"]}
    assert {(share.run, share.there_are) for share in shares("pure", {"files": files})} == {(4, 6)}


@pytest.mark.parametrize("group", FLOORS)
def test_a_room_below_its_floor_is_named(
    group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "REPORTS", tmp_path)
    path = tmp_path / f".coverage.{group}.json"
    path.write_text(json.dumps(report(group, 10, 10)), encoding="utf-8")
    assert command.main([group]) == 0
    assert "too little" not in capsys.readouterr().out
    path.write_text(json.dumps(report(group, 1, 10)), encoding="utf-8")
    assert command.main([group]) == 1
    assert capsys.readouterr().out.count("too little") == len(FLOORS[group])


def test_a_group_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["halls"]) == 2
    assert "groups are pure, rooms, processes, not halls" in capsys.readouterr().err
