"""What every test shares: property tests with the same cases everywhere, and a clean process."""

import ast
import gc
import logging
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from support.databases import Postgres
    from support.etcd import Cluster

# Fewer cases than the library's default: the same ones every time, so more would only repeat them.
settings.register_profile("ci", derandomize=True, deadline=None, database=None, max_examples=20)
settings.load_profile("ci")

# Schemas are checked without formats, whose grammar takes every process seconds to read.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

MEMORY, MEMORY_BYTES_MIN = Path("/dev/shm"), 4 << 30


def pytest_configure(config: pytest.Config) -> None:
    """Put temporary files into memory where it has room: on a disk, stores wait most of the time.

    What is lost when a process is killed is the same there; where the power goes or a disk fails,
    the disk is a simulated one. TMPDIR says otherwise. Campaigns may need more room.
    """
    if "TMPDIR" in os.environ or "not campaign" not in config.option.markexpr:
        return
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= MEMORY_BYTES_MIN:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import files whose tests are all marked as what is not asked for.

    What they import, and the tests that they enumerate, would take every process seconds.
    """
    if collection_path.suffix != ".py":
        return None
    text = collection_path.read_text(encoding="utf-8")
    marks = re.findall(r"\bnot (\w+)", config.option.markexpr)
    said = {f"pytestmark = pytest.mark.{mark}" for mark in marks}
    if said.isdisjoint(lines := text.splitlines()):
        return None
    # such a line within a text that a test writes marks nothing
    return not said.isdisjoint(lines[each.lineno - 1] for each in ast.parse(text).body) or None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look once, and never again, for what may go of all that is imported and collected.

    It stays to the end; to look through it time and again takes seconds of every process.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse time that a test asks for and would not get, as the whole run ends before.

    Campaigns are run with longer limits by what runs them.
    """
    run_seconds = float(config.getini("faulthandler_timeout"))
    for item in items:
        limit = item.get_closest_marker("timeout")
        if limit and limit.args[0] >= run_seconds and not item.get_closest_marker("campaign"):
            message = f"{item.nodeid}: its timeout is not less than faulthandler_timeout"
            raise pytest.UsageError(message)


@pytest.fixture(scope="session", autouse=True)
def _state_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What commands remember of files stays out of the home of who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def postgresql() -> Iterator["Postgres | None"]:
    """One server for all tests that ask one; None where PostgreSQL does not run."""
    from support.databases import postgres

    with postgres() as running:
        yield running


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Cluster"]:
    """Three members of etcd, which every test leaves as they were; see `support.servers.needs`."""
    from support.etcd import etcd_cluster

    with etcd_cluster(tmp_path_factory.mktemp("etcd")) as running:
        yield running


@pytest.fixture(autouse=True)
def _hooks_of_this_process() -> Iterator[None]:
    """Put back the hooks that a command sets up for the process that it thinks is its own.

    Without them pytest would no longer hear of exceptions that nobody caught.
    """
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
    yield
    sys.excepthook, threading.excepthook, sys.unraisablehook = hooks
    logging.captureWarnings(capture=False)
    root = logging.getLogger()
    root.handlers[:] = [
        each for each in root.handlers if not type(each).__module__.startswith("littled.")
    ]
