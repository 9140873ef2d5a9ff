"""Stores for the tests of the service: one is made, the others are copies of it. And a folder."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import predictions
from support.serving import make_store


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new store, never to be opened."""
    return make_store(tmp_path_factory.mktemp("template") / "store")


@pytest.fixture
def store(template: Path, tmp_path: Path) -> Path:
    """A new store of the test's own."""
    return Path(shutil.copytree(template, tmp_path / "store"))


@pytest.fixture(scope="module")
def module_store(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new store for the tests of a module."""
    return Path(shutil.copytree(template, tmp_path_factory.mktemp("module") / "store"))


@pytest.fixture(scope="session")
def prediction_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new store whose learners answer requests, never to be opened."""
    return predictions.make_store(tmp_path_factory.mktemp("template") / "store")


@pytest.fixture
def prediction_store(prediction_template: Path, tmp_path: Path) -> Path:
    """A store whose learners answer requests, of the test's own."""
    return Path(shutil.copytree(prediction_template, tmp_path / "store"))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)
