"""Predictions from a daemon that is killed, put back or started again, with real processes."""

import asyncio
import random
import shutil
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from littled.store.store import Store
from littled_client import AsyncClient, Waits
from littled_client import PredictionRefused as Refused
from littled_protocol.messages import Prediction
from support.predicting import NEAR, ask, check
from support.predictions import (
    DENSE,
    STREAM,
    Bench,
    make_store,
    prediction_plan,
    question,
    stream_plan,
)
from support.serving import STORE_STATUS, Peer, Serving, serving

TINY = DENSE.rate / 100


@pytest.fixture
def store(prediction_store: Path) -> Path:
    """A store whose learners answer requests, with 130 examples."""
    return filled(prediction_store)


def filled(path: Path) -> Path:
    """Feed 130 examples to the stream of a new store."""
    bench = Bench(Store.open(path))
    bench.feed(130, seed=0)
    bench.close()
    return path


@pytest.mark.long
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_around_the_commit_gives_the_same_bytes_and_one_charge(
    store: Path, tmp_path: Path, moment: str
) -> None:
    """What was computed and not said is computed again, or was stored: a twin says which bytes."""
    points = bytes([20] * 20)
    twin = Path(shutil.copytree(store, tmp_path / "twin"))
    bench = Bench(Store.open(twin))
    expected = bench.answered(1, points)
    bench.close()
    with serving(store, answers=f"killed {moment}") as daemon, Peer.greet(daemon.unix) as peer:
        peer.send(question(1, points))
        assert peer.receive() is None
        assert daemon.ended() == -signal.SIGKILL
    with serving(store) as daemon, Peer.greet(daemon.unix) as peer:
        answer = ask(peer, 1, points)
        assert answer.y == expected.y
        assert answer.repeated == (moment == "after")
        assert ask(peer, 1, points).y == expected.y
        assert daemon.stop() == 0
    assert check(store) == 1
    with Store.open(store, read_only=True) as opened, Store.open(twin, read_only=True) as other:
        assert list(opened.predictions(STREAM)) == list(other.predictions(STREAM))


class Asking(threading.Thread):
    """Asks request after request until the daemon is gone, and remembers every answer."""

    def __init__(self, daemon: Serving, known: dict[int, bytes], batch: int) -> None:
        super().__init__(daemon=True)
        self.known = known
        self._address, self._batch = daemon.unix, batch
        self.start()

    def run(self) -> None:
        try:
            with Peer.greet(self._address) as peer:
                for number in range(self._batch, self._batch + 2_000):
                    # every other request was made before, answered or not
                    name = number // 2
                    answer = ask(peer, name, bytes([20, name % 64]))
                    assert isinstance(answer, Prediction)
                    assert self.known.setdefault(name, answer.y) == answer.y
        except (OSError, AssertionError):
            return


def test_kill_at_any_moment_changes_no_answer_and_charges_each_once(tmp_path: Path) -> None:
    # 2,000 requests of two points
    plan = stream_plan([prediction_plan("near", replace(DENSE, answers_max=4_000, rate=TINY))])
    store = filled(make_store(tmp_path / "store", plan))
    chance = random.Random(3)
    known: dict[int, bytes] = {}
    for batch in range(2):
        daemon = Serving.start(store)
        enough = len(known) + chance.randrange(20, 60)
        asking = Asking(daemon, known, batch=40 * batch)
        while asking.is_alive() and len(known) < enough:
            time.sleep(chance.uniform(0.001, 0.005))
        daemon.kill()
        asking.join(20)
        assert not asking.is_alive()
    assert len(known) > 30
    bench = Bench(Store.open(store))
    for name, y in known.items():
        answer = bench.answered(name, bytes([20, name % 64]))
        assert (answer.y, answer.repeated) == (y, True)
    bench.close()
    answered = check(store)
    assert len(known) <= answered <= len(known) + 2  # one a kill may have been stored and not said


async def test_a_client_outlives_a_killed_daemon_and_pays_once(store: Path) -> None:
    daemon = Serving.start(store, answers="killed after")
    points = np.array([20] * 20, dtype=np.uint8)
    async with AsyncClient(
        f"unix:{daemon.unix}",
        producer="p",
        waits=Waits(delay_least_seconds=0.05, delay_most_seconds=0.2),
    ) as client:
        asking = asyncio.ensure_future(client.predict(NEAR, points))
        await asyncio.to_thread(daemon.ended)
        daemon = await asyncio.to_thread(Serving.start, store)
        found = await asyncio.wait_for(asking, 15)
        assert found.repeated
        assert len(found.labels) == 20
        with pytest.raises(Refused) as caught:
            await client.predict(NEAR, points[:1])
        assert (caught.value.code, caught.value.spent) == ("window_spent", 20)
    assert await asyncio.to_thread(daemon.stop) == 0
    assert check(store) == 1


def test_a_store_put_back_is_refused(store: Path, tmp_path: Path) -> None:
    old = Path(shutil.copytree(store, tmp_path / "old"))
    bench = Bench(Store.open(store))
    assert bench.answered(1).left == 17
    bench.close()
    shutil.copy(store / "high-water-mark", old / "high-water-mark")
    with serving(old, ready=False) as daemon:
        assert daemon.ended() == STORE_STATUS
        assert "is behind its high-water mark" in daemon.text
