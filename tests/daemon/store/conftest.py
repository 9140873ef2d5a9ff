"""A small store with a little of everything, for the tests of what reads it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from littled.store.database import read_facts
from littled.store.history import History
from littled.store.place import Place
from littled.store.store import Store
from support.databases import Postgres
from support.disks import quick_folder
from support.postgres import FolderOnServer, lasting_server
from support.stores import STREAM, fill, make_store


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what is asked of every store on every database; see `any_database`."""
    if "any_database" in metafunc.fixturenames:
        in_a_folder = metafunc.definition.get_closest_marker("in_a_folder") is not None
        kinds = ["sqlite"] if in_a_folder else ["sqlite", "postgresql"]
        metafunc.parametrize("any_database", kinds, indirect=True)


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    """A server of PostgreSQL that keeps what it has acknowledged."""
    with lasting_server() as found:
        yield found


@pytest.fixture
def any_database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let folders name stores whose tables are in one database or another; the kind of it.

    A test is marked `in_a_folder` where it speaks of what only a folder has.
    """
    kind: str = request.param
    if kind == "postgresql":
        server = request.getfixturevalue("server")
        monkeypatch.setattr(
            "littled.store.place.SqliteDatabase", lambda folder, _: FolderOnServer(server, folder)
        )
    return kind


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """For campaigns a folder in memory, where there is one, and the usual one for other tests.

    A kill takes nothing from the system's own memory, so what it leaves is the same there; where
    the power goes or a disk fails, the disk is a simulated one. Campaigns would else wait for the
    real one most of the time.
    """
    memory = quick_folder()
    if memory is None or request.node.get_closest_marker("campaign") is None:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name)


@pytest.fixture
def small_store(tmp_path: Path) -> Path:
    """A small closed store with a little of everything, and a second stream without anything."""
    made = make_store(tmp_path / "store", [STREAM, "quiet"])
    with Store.open(made) as store:
        fill(store)
    return made


@pytest.fixture
def history(small_store: Path) -> Iterator[History]:
    """What is in it."""
    readers = Place.of(small_store, None, None).database.readers()
    yield History(readers, read_facts(readers))
    readers.close()
