"""What docs/store-versions.md promises: its tables are right, and newer stores are left alone."""

import hashlib
import shutil
import sqlite3
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from littled.classes.registry import CLASSES
from littled.cli.failures import FAILED, STORE_NEEDS_ATTENTION
from littled.kinds import KINDS
from littled.store.database import FORMAT, FORMAT_MAX
from littled.store.errors import StoreRefused
from littled.store.store import Store
from support.commands import START_SECONDS, start
from support.learner_cases import learner_plan
from support.old_stores import CONFIGURATIONS, FIXTURES
from support.store_versions import ADDED, HOLDS, PAGE, WRITTEN_BY, formats, renewed
from support.twins import plan_of


def test_the_tables_are_right() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == renewed(text), "run PYTHONPATH=tests python -m support.store_versions"
    assert f"formats {FORMAT} to {FORMAT_MAX}: use the newer" in text
    assert f"has format {FORMAT_MAX + 1};" in text


def test_every_store_and_every_format_has_its_row() -> None:
    kept = {path.name.removesuffix(".tar.xz") for path in FIXTURES.glob("*.tar.xz")}
    assert kept == set(CONFIGURATIONS) == set(HOLDS)
    assert set(WRITTEN_BY) < kept
    assert sorted(formats()) == list(range(FORMAT, FORMAT_MAX + 1))
    for number, (packed, of_users, beside, of_blake3, *others) in formats().items():
        facts = (True, of_users, packed, beside and not of_blake3, of_blake3, *others)
        assert number == sum(added for (added, _), has in zip(ADDED, facts, strict=True) if has)


def digests(folder: Path) -> dict[str, str]:
    """Of every file by its name; without a log there is none of SQLite's index of it either."""
    has_log = any(path.name.endswith("-wal") for path in folder.iterdir())
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if not (has_log and path.name.endswith("-shm"))  # whoever reads makes that one anew
    }


COMMANDS = [
    ("serve", ["--unix", "s"], STORE_NEEDS_ATTENTION),
    ("verify", [], FAILED),
    ("restore", ["--yes"], FAILED),
    ("archive", ["archived"], FAILED),
]


@pytest.mark.parametrize(("command", "more", "status"), COMMANDS)
def test_a_newer_store_is_refused_and_left_as_it_is(
    tmp_path: Path, command: str, more: list[str], status: int
) -> None:
    with tarfile.open(FIXTURES / "seasons.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    store = tmp_path / "seasons"
    connection = sqlite3.connect(store / "store.sqlite")
    connection.execute(f"PRAGMA user_version = {FORMAT_MAX + 1}")
    connection.close()
    before = digests(store)
    process = start(command, "seasons", *more, cwd=tmp_path)
    _, said = process.communicate(timeout=START_SECONDS)
    assert process.returncode == status
    sentence = (
        f"has format {FORMAT_MAX + 1}; this version reads formats {FORMAT} to {FORMAT_MAX}: "
        "use the newer version that wrote it\n"
    )
    assert said.endswith(sentence)
    assert said.count("\n") == 1
    assert digests(store) == before


ALL_COMMANDS = [
    *COMMANDS,
    ("verify", ["--replay"], FAILED),
    ("ledger", [], FAILED),
    ("copy", ["elsewhere", "--yes"], FAILED),
]


Newer = Callable[[dict[str, Any]], Path]


@pytest.fixture
def newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Newer:
    """Makes a store with a learner that has this part, as a version that knows it all would."""

    def make(part: dict[str, Any]) -> Path:
        plan = plan_of([learner_plan("dense", None)], 100, name="visits").to_dict()
        learner = plan["learners"]["dense"]
        for name, value in part.items():
            learner[name] = {**learner[name], **value} if isinstance(value, dict) else value
        with monkeypatch.context() as known:
            known.setitem(KINDS, "novel", KINDS["online"])
            Store.create(tmp_path / "newer", {}, {"visits": plan})
        return tmp_path / "newer"

    return make


def refusal(store: Path, command: str, *more: str, status: int) -> str:
    """What a command says of a store that it refuses, and leaves as it is."""
    before = digests(store)
    process = start(*command.split(), store.name, *more, cwd=store.parent)
    _, said = process.communicate(timeout=START_SECONDS)
    assert (process.returncode, digests(store)) == (status, before)
    assert not (store.parent / "elsewhere").exists()
    return said


def sentence(named: str) -> str:
    return (
        "littled: the store in newer was written by a newer version: learner dense of visits has "
        f"the {named}, which this version does not know; use the version that wrote it\n"
    )


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ({"parameters": {"haste": 3}}, "parameter haste"),
        ({"parameters": {"selection": "novel"}}, "selection novel"),
        ({"hypotheses": {"class": "novel"}}, "class novel"),
    ],
)
@pytest.mark.parametrize(("command", "more", "status"), ALL_COMMANDS)
def test_a_store_with_newer_learners_is_refused_and_left_as_it_is(
    newer: Newer, command: str, more: list[str], status: int, part: dict[str, Any], named: str
) -> None:
    """A newer version need not give its store a new format."""
    assert refusal(newer(part), command, *more, status=status) == sentence(named)


@pytest.mark.parametrize(("command", "more", "status"), COMMANDS[:2])
def test_a_store_with_newer_kinds_is_refused_and_left_as_it_is(
    newer: Newer, command: str, more: list[str], status: int
) -> None:
    said = refusal(newer({"kind": "novel"}), command, *more, status=status)
    assert said == sentence("kind novel")


@pytest.mark.parametrize(
    ("command", "more", "status"),
    [
        ("serve", ["--unix", "s"], STORE_NEEDS_ATTENTION),
        ("restore", ["--copy", "--yes"], FAILED),
        ("verify", ["--replay"], FAILED),
        ("copy", ["elsewhere", "--yes"], FAILED),
        ("archive", ["archived"], FAILED),
        ("stream close", ["visits", "--yes"], FAILED),
    ],
)
def test_whoever_lets_a_store_go_on_refuses_what_else_is_newer(
    newer: Newer, command: str, more: list[str], status: int
) -> None:
    store = newer({"parameters": {"buffer": "novel"}})
    said = refusal(store, command, *more, status=status)
    start, end = (
        "littled: the store in newer was written by a newer version, as the plan of visits is not "
        "one of this version (learner dense: buffer must be one of ",
        "); use the version that wrote it\n",
    )
    assert said.startswith(start)
    assert said.endswith(end)
    assert said.count("\n") == 1


def test_what_a_newer_version_left_in_its_log_stays_there(
    newer: Newer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a crash: whoever opens the database to write first empties the log into it."""
    (tmp_path / "killed").mkdir()
    with monkeypatch.context() as known:
        known.setitem(CLASSES, "novel", CLASSES["thresholds"])
        with Store.open(newer({"hypotheses": {"class": "novel"}})) as store:
            store.save_snapshot("visits", -1, b"state")
            killed = shutil.copytree(tmp_path / "newer", tmp_path / "killed" / "newer")
    assert (killed / "store.sqlite-wal").stat().st_size > 0
    said = refusal(killed, "serve", "--unix", "s", status=STORE_NEEDS_ATTENTION)
    assert said == sentence("class novel")


def test_a_newer_version_at_work_is_not_put_off(
    newer: Newer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused before anybody asks for the lock, which some databases take from others."""
    path = newer({"hypotheses": {"class": "novel"}})
    with monkeypatch.context() as known:
        known.setitem(CLASSES, "novel", CLASSES["thresholds"])
        store = Store.open(path)
    with store, pytest.raises(StoreRefused, match="has the class novel, which"):
        Store.open(path, take_over=True)
