"""What a daemon tells of its streams is made once, until it changes, and a little at a time.

A daemon in this process, so that what it does can be counted, and peers on real sockets.
"""

import asyncio
import gc
import io
import re
import sys
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from littled.engine import predictions
from littled.limits import STREAM_ANEW_UNITS, WORK_PER_PEER_UNITS
from littled.service import daemon as daemon_module
from littled.service import statuses
from littled.service.daemon import Daemon, serve
from littled.service.http_turns import HttpTurns
from littled.service.logs import make_log
from littled.service.sessions import Session
from littled.store.store import Store
from littled_client.addresses import TcpAddress
from littled_protocol.messages import Prediction, Status, StatusRequest
from support.predicting import ask, feed
from support.predictions import STREAM, stream_plan
from support.serving import Peer

STREAMS = [STREAM, *(f"s{number}" for number in range(11))]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    """A store of a dozen streams, each with two learners that answer."""
    plan = stream_plan()
    Store.create(
        tmp_path / "store", {}, {name: replace(plan, stream=name).to_dict() for name in STREAMS}
    )
    interval = sys.getswitchinterval()
    yield tmp_path / "store"
    sys.setswitchinterval(interval)
    gc.unfreeze()


class Visit:
    """A daemon while it is served, as a thread of peers sees it."""

    def __init__(self, store: Path, daemon: Daemon, log: io.StringIO) -> None:
        self.unix, self.daemon = store.parent / "socket", daemon
        self._http = re.findall(r'"127.0.0.1:(\d+)"', log.getvalue())[0]

    def page(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._http}{path}") as answer:
            return str(answer.read().decode())


async def visited(
    store: Path, work: Callable[[Visit], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Serve a store as long as `work` takes on a thread."""
    made: list[Daemon] = []

    class Kept(Daemon):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            made.append(self)

    monkeypatch.setattr(daemon_module, "Daemon", Kept)
    log = io.StringIO()
    serving = asyncio.create_task(
        serve(
            store,
            store.parent / "socket",
            http=TcpAddress("127.0.0.1", 0),
            log=make_log("json", log),
        )
    )
    async with asyncio.timeout(20):
        while '"ready"' not in log.getvalue():
            assert not serving.done(), serving
            await asyncio.sleep(0.01)
    try:
        await asyncio.to_thread(work, Visit(store, made[0], log))
    finally:
        made[0]._over.set()
        await serving


def told(peer: Peer) -> dict[str, Any]:
    """The facts of the stream that is fed, out of a status of all."""
    peer.send(StatusRequest())
    streams = peer.expect(Status).body["streams"]
    assert [*streams] == STREAMS
    facts: dict[str, Any] = streams[STREAM]
    return facts


async def test_facts_are_made_anew_when_they_change_and_only_then(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Counter[str]()
    facts = predictions._facts

    def counted(answerer: Any, position: int) -> Any:
        made[answerer.maker.learner.name] += 1
        return facts(answerer, position)

    monkeypatch.setattr(predictions, "_facts", counted)

    def look(visit: Visit, peer: Peer, left: int) -> None:
        """Whoever asks is told how many answers the window has left."""
        assert told(peer)["learners"]["near"]["answers_left"] == left
        assert f'"answers_left": {left},' in visit.page("/status")
        line = f'littled_window_answers_left{{learner="s/near"}} {left}.0\n'
        assert line in visit.page("/metrics")

    def work(visit: Visit) -> None:
        with Peer.greet(visit.unix) as peer:
            peer.open(STREAM, "p")
            feed(peer, 120, 0)
            for given in range(3):  # points that were answered, three at a time
                if given:
                    assert isinstance(ask(peer, given), Prediction)
                heard = None
                while heard != visit.daemon._heard[STREAM]:  # the engine may have had news
                    heard = visit.daemon._heard[STREAM]
                    look(visit, peer, 20 - 3 * given)
                    made.clear()
                    look(visit, peer, 20 - 3 * given)
                    look(visit, peer, 20 - 3 * given)
                assert made == {}
            for fed in (121, 122):
                feed(peer, 1, fed - 1)
                assert told(peer)["position"] == fed
                line = f'littled_stream_position{{stream="s"}} {fed}.0\n'
                assert line in visit.page("/metrics")
            assert {name.partition("/")[0] for name in made} == {STREAM}

    await visited(store, work, monkeypatch)


async def test_a_status_of_many_streams_is_made_a_little_at_a_time(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, most = 0, Counter[type]()

    def counting(write: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            nonlocal written
            written += 1
            return write(*arguments)

        return counted

    def in_a_turn(work: Callable[[Any, int], int]) -> Callable[[Any, int], int]:
        def watched(worker: Any, units: int) -> int:
            before = written
            done = work(worker, units)
            most[type(worker)] = max(most[type(worker)], written - before)
            assert done >= STREAM_ANEW_UNITS * (written - before)
            return done

        return watched

    for name in ("status_part", "_as_text"):
        monkeypatch.setattr(statuses, name, counting(getattr(statuses, name)))
    for worker in (Session, HttpTurns):
        monkeypatch.setattr(worker, "work", in_a_turn(worker.work))

    def work(visit: Visit) -> None:
        with Peer.greet(visit.unix) as peer:
            told(peer)
        visit.page("/status")

    await visited(store, work, monkeypatch)
    assert written == 2 * len(STREAMS)
    assert 1 <= most[Session] <= 1 + WORK_PER_PEER_UNITS // STREAM_ANEW_UNITS
    assert 1 <= most[HttpTurns] <= 1 + WORK_PER_PEER_UNITS // STREAM_ANEW_UNITS
