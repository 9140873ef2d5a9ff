"""A small store with a little of everything, for the tests of what reads it."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from littled.store.database import read_facts
from littled.store.history import History
from littled.store.place import Place
from littled.store.store import Store
from support.databases import Postgres
from support.disks import quick_folder
from support.postgres import FolderOnServer, lasting_server
from support.stores import STREAM, copy_store, fill, make_store

CopyOf = Callable[..., Path]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what is asked of every store on every database; see `any_database`."""
    if "any_database" in metafunc.fixturenames:
        in_a_folder = metafunc.definition.get_closest_marker("in_a_folder") is not None
        dear = metafunc.definition.get_closest_marker("long_on_a_server") is not None
        server = pytest.param("postgresql", marks=[pytest.mark.long] * dear)
        kinds = ["sqlite"] if in_a_folder else ["sqlite", server]
        metafunc.parametrize("any_database", kinds, indirect=True)


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    """A server of PostgreSQL that keeps what it has acknowledged."""
    with lasting_server() as found:
        yield found


@pytest.fixture
def any_database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let folders name stores whose tables are in one database or another; the kind of it.

    A test is marked `in_a_folder` where it speaks of what only a folder has, and `long_on_a_server`
    where it takes seconds on the other one, and others ask that for the same of it.
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


@pytest.fixture(scope="session")
def _made() -> dict[object, Path]:
    """Stores that were made, by what they were made for."""
    return {}


@pytest.fixture
def copy_of(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    _made: dict[object, Path],
) -> CopyOf:
    """A copy, in a folder of the test, of the store that a function makes.

    A module makes it once on each database, as that takes several times as long as a copy.
    """
    kind = "any_database" in request.fixturenames and request.getfixturevalue("any_database")

    def copied(make: Callable[[Path], object], name: str = "store") -> Path:
        key = kind, request.module.__name__, make
        if key not in _made:
            _made[key] = tmp_path_factory.mktemp("made") / "store"
            make(_made[key])
        return copy_store(_made[key], tmp_path / name)

    return copied


def make_small(path: Path) -> None:
    """A small closed store with a little of everything, and a second stream without anything."""
    make_store(path, [STREAM, "quiet"])
    with Store.open(path) as store:
        fill(store)


@pytest.fixture
def small_store(copy_of: CopyOf) -> Path:
    """A store of its own like that."""
    return copy_of(make_small)


@pytest.fixture
def history(small_store: Path) -> Iterator[History]:
    """What is in it."""
    readers = Place.of(small_store, None, None).database.readers()
    yield History(readers, read_facts(readers))
    readers.close()
