"""What the tests of the clients share: a small daemon on a socket of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.small_daemon import SmallDaemon, running

STREAMS = {"flights": "u8", "ids": "u64", "addresses": "u128", "rows": "u16x3"}


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[SmallDaemon]:
    """A small daemon with one stream for each kind of points."""
    with running(str(tmp_path / "d.sock"), STREAMS) as small:
        yield small


@pytest.fixture
def address(daemon: SmallDaemon) -> str:
    """Where the small daemon listens."""
    return f"unix:{daemon.path}"
