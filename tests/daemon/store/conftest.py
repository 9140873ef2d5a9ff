"""A small store with a little of everything, for the tests of what reads it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from littled.store.database import read_facts
from littled.store.history import History
from littled.store.place import Place
from littled.store.store import Store
from support.stores import STREAM, fill, make_store


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
