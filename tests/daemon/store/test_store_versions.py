"""What docs/store-versions.md promises: its tables are right, and newer stores are left alone."""

import hashlib
import sqlite3
import tarfile
from pathlib import Path

import pytest

from littled.cli.failures import FAILED, STORE_NEEDS_ATTENTION
from littled.store.database import FORMAT, FORMAT_MAX
from littled.store.store import Store
from support.commands import START_SECONDS, start
from support.learner_cases import learner_plan
from support.old_stores import CONFIGURATIONS, FIXTURES
from support.store_versions import HOLDS, PAGE, WRITTEN_BY, formats, renewed
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
    assert list(formats()) == list(range(FORMAT, FORMAT_MAX + 1))


def digests(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if not path.name.endswith("-shm")
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
    after = digests(store)
    assert {name: after[name] for name in before if not name.endswith("-wal")} == {
        name: digest for name, digest in before.items() if not name.endswith("-wal")
    }


ALL_COMMANDS = [
    *COMMANDS,
    ("verify", ["--replay"], FAILED),
    ("ledger", [], FAILED),
    ("copy", ["elsewhere", "--yes"], FAILED),
]


def check_refused(
    folder: Path, part: dict[str, dict[str, object]], command: str, more: list[str], status: int
) -> str:
    """What is said of a store whose learner has this part, which is refused and left as it is."""
    plan = plan_of([learner_plan("dense", None)], 100, name="visits").to_dict()
    for name, values in part.items():
        plan["learners"]["dense"][name] |= values
    Store.create(folder / "newer", {}, {"visits": plan})
    before = digests(folder / "newer")
    process = start(command, "newer", *more, cwd=folder)
    _, said = process.communicate(timeout=START_SECONDS)
    assert process.returncode == status
    after = digests(folder / "newer")
    assert {name: after[name] for name in before if not name.endswith("-wal")} == {
        name: digest for name, digest in before.items() if not name.endswith("-wal")
    }
    assert not (folder / "elsewhere").exists()
    return said


@pytest.mark.parametrize(
    ("parameters", "named"),
    [({"haste": 3}, "parameter haste"), ({"selection": "novel"}, "selection novel")],
)
@pytest.mark.parametrize(("command", "more", "status"), ALL_COMMANDS)
def test_a_store_with_newer_parameters_is_refused_and_left_as_it_is(
    tmp_path: Path,
    command: str,
    more: list[str],
    status: int,
    parameters: dict[str, object],
    named: str,
) -> None:
    """A newer version need not give its store a new format."""
    said = check_refused(tmp_path, {"parameters": parameters}, command, more, status)
    assert said == (
        "littled: the store in newer was written by a newer version: learner dense of visits has "
        f"the {named}, which this version does not know; use the version that wrote it\n"
    )


@pytest.mark.parametrize(
    ("command", "more", "status"),
    [
        ("restore", ["--copy", "--yes"], FAILED),
        ("verify", ["--replay"], FAILED),
        ("copy", ["elsewhere", "--yes"], FAILED),
    ],
)
def test_whoever_lets_a_store_go_on_refuses_a_newer_class(
    tmp_path: Path, command: str, more: list[str], status: int
) -> None:
    said = check_refused(tmp_path, {"hypotheses": {"class": "novel"}}, command, more, status)
    assert said == (
        "littled: the store in newer was written by a newer version, as the plan of visits is not "
        "one of this version (learner dense: a stored plan names a class 'novel', unknown to this "
        "version); use the version that wrote it\n"
    )
