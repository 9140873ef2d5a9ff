"""What docs/store-versions.md promises: its tables are right, and newer stores are left alone."""

import hashlib
import sqlite3
import tarfile
from pathlib import Path

import pytest

from littled.cli.failures import FAILED, STORE_NEEDS_ATTENTION
from littled.store.database import FORMAT, FORMAT_MAX
from support.commands import START_SECONDS, start
from support.old_stores import CONFIGURATIONS, FIXTURES
from support.store_versions import HOLDS, PAGE, WRITTEN_BY, formats, renewed


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


@pytest.mark.parametrize(
    ("command", "more", "status"),
    [
        ("serve", ["--unix", "s"], STORE_NEEDS_ATTENTION),
        ("verify", [], FAILED),
        ("restore", ["--yes"], FAILED),
        ("archive", ["archived"], FAILED),
    ],
)
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
