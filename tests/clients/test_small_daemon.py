"""The small daemon itself, on which the tests of clients rest."""

import contextlib
import gc
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support.small_daemon import running


def knock(path: Path, over: threading.Event) -> int:
    """Connect again and again; return how many of the connections stay open after all."""
    kept = []
    while not over.is_set():
        peer = socket.socket(socket.AF_UNIX)
        try:
            peer.connect(str(path))
            kept.append(peer)
        except OSError:
            peer.close()
            over.wait(0.001)
    still_open = 0
    for peer in kept:
        peer.setblocking(False)
        try:
            with contextlib.suppress(ConnectionResetError):
                peer.recv(1)
        except BlockingIOError:
            still_open += 1
        peer.close()
    return still_open


def test_no_connection_outlives_it_that_was_just_being_made(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as executor:
        for number in range(10):
            path, over = tmp_path / f"{number}.sock", threading.Event()
            with running(str(path), {"flights": "u8"}) as daemon:
                knocking = executor.submit(knock, path, over)
                while not daemon.peers:
                    over.wait(0.001)
            over.set()
            assert knocking.result() == 0
    gc.collect()  # what was left open would be an error of this test
