"""Fixtures of the tests of commands."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from littled.cli.entry import run
from support.commands import Daemon, Littled, Said, kill_leftovers, make_store, serve
from support.databases import Postgres
from support.postgres import lasting_server


@pytest.fixture(scope="package", autouse=True)
def _no_leftovers() -> Iterator[None]:
    """No test leaves a process behind, not even one that fails."""
    yield
    kill_leftovers()


@pytest.fixture
def littled(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Littled:
    """Runs one command in this process, without this machine's own settings."""
    for name in ("LITTLED_ADDRESS", "LITTLED_TOKEN_FILE", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")

    def command(*arguments: str | Path) -> Said:
        capfd.readouterr()
        status = run([str(each) for each in arguments])
        out, err = capfd.readouterr()
        return Said(status, out, err)

    return command


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One daemon for the tests of a module; it has to stop cleanly in the end."""
    folder = tmp_path_factory.mktemp("daemon")
    make_store(folder)
    running = serve(folder)
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server of PostgreSQL that keeps what it has acknowledged."""
    with lasting_server() as found:
        yield found


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was fed is remembered within a test, and nowhere else."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
