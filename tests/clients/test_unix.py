"""Both clients in front of a Unix socket whose queue is full."""

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from littled_client import AsyncClient, Client, UnreachableError, Waits
from littled_client.unix import has_connected, pauses
from support.serving import Serving, make_store, serving

IMPATIENT = Waits(answer_seconds=0.3)


def ask(kind: str, path: Path, waits: Waits) -> dict[str, Any]:
    """The status, by a client of this kind that has one try to connect."""
    address = f"unix:{path}"

    async def status() -> dict[str, Any]:
        async with AsyncClient(address, waits=waits) as client:
            return await client.status()

    if kind == "asynchronous":
        return asyncio.run(status())
    with Client(address, waits=waits) as client:
        return client.status()


@contextmanager
def full_queue(daemon: Serving) -> Iterator[None]:
    """While the daemon is stopped, as many connections as the kernel keeps waiting for it."""
    with ExitStack() as waiting:
        daemon.process.send_signal(signal.SIGSTOP)
        waiting.callback(daemon.process.send_signal, signal.SIGCONT)
        while True:
            peer = waiting.enter_context(socket.socket(socket.AF_UNIX))
            peer.setblocking(False)
            if not has_connected(peer, str(daemon.unix)):
                break
        yield


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Serving]:
    """A daemon with a short queue."""
    store = make_store(tmp_path / "store")
    with serving(store, limits={"littled.service.reception.CONNECT_BACKLOG": 4}) as running:
        yield running
        assert running.stop() == 0


@pytest.mark.long
@pytest.mark.parametrize("kind", ["blocking", "asynchronous"])
def test_a_client_waits_for_a_place_in_the_queue(daemon: Serving, kind: str) -> None:
    found: list[dict[str, Any]] = []
    asking = threading.Thread(target=lambda: found.append(ask(kind, daemon.unix, Waits())))
    with full_queue(daemon):
        asking.start()
        time.sleep(0.3)
        assert asking.is_alive()
    asking.join(30)
    assert "streams" in found[0]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["blocking", "asynchronous"])
def test_it_waits_no_longer_than_for_any_answer(daemon: Serving, kind: str) -> None:
    with full_queue(daemon):
        begun = time.monotonic()
        with pytest.raises(UnreachableError, match="no answer in time"):
            ask(kind, daemon.unix, IMPATIENT)
        assert time.monotonic() - begun >= 0.3  # it has tried for all of it
    assert "streams" in ask(kind, daemon.unix, Waits())


def test_pauses_grow_up_to_a_limit() -> None:
    found = list(islice(pauses(), 20))
    assert found == sorted(found)
    assert found[0] < 0.01
    assert found[-1] == found[-2] <= 0.1


def test_nobody_at_the_address_is_another_error(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as peer:
        peer.setblocking(False)
        with pytest.raises(FileNotFoundError):
            has_connected(peer, str(tmp_path / "nobody"))
