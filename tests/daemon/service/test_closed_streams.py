"""A closed stream in a daemon: nothing comes in, and what was published stays to be had."""

import json
from http.client import HTTPConnection
from pathlib import Path

import pytest

from littled.cli.streams import catch_up
from littled.store.store import Store
from littled_protocol.messages import (
    Open,
    Prediction,
    PredictionRefused,
    Release,
    Status,
    StatusRequest,
)
from support.predicting import ask, check, fed
from support.predictions import STREAM
from support.serving import Peer, Serving, serving


@pytest.fixture
def store(prediction_store: Path) -> Path:
    """A closed stream that has learned, published and answered."""
    with serving(prediction_store) as daemon:
        with fed(daemon) as peer:
            assert isinstance(ask(peer, 1), Prediction)
        assert daemon.stop() == 0
    with Store.open(prediction_store) as opened:
        catch_up(opened, STREAM)
        opened.close_stream(STREAM)
    return prediction_store


def posted(daemon: Serving, path: str, body: str) -> tuple[int, str]:
    connection = HTTPConnection(*daemon.address("http"), timeout=10)
    connection.request("POST", path, body, {"Content-Type": "application/x-ndjson"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())["error"]


def test_a_closed_stream_is_read_and_not_fed(store: Path) -> None:
    with Store.open(store, read_only=True) as opened:
        before = len(opened.ledger(STREAM)), opened.position(STREAM)
        stored = opened.releases(f"{STREAM}/late")
    with serving(store, http=["127.0.0.1", 0]) as daemon:
        with Peer.greet(daemon.unix) as peer:
            peer.subscribe(f"{STREAM}/late", 0)
            shown = [peer.expect(Release).version for _ in stored]
            assert shown == [release.version for release in stored]
            peer.send(StatusRequest())
            facts = peer.expect(Status).body["streams"][STREAM]
            assert (facts["closed"], facts["position"]) == (True, before[1])
            again, new = ask(peer, 1), ask(peer, 2)
            assert isinstance(again, Prediction)
            assert again.repeated
            assert isinstance(new, PredictionRefused)
            assert new.code == "stream_closed"
        assert posted(daemon, f"/feed/{STREAM}?producer=q&sequence=0", "[1, 1]\n") == (
            409,
            "the stream is closed and takes no more rows",
        )
        assert daemon.stop() == 0
    with Store.open(store, read_only=True) as opened:
        assert (len(opened.ledger(STREAM)), opened.position(STREAM)) == before
        assert opened.releases(f"{STREAM}/late") == stored
    assert check(store) == 1


def test_who_feeds_a_closed_stream_is_told_so(store: Path) -> None:
    with serving(store) as daemon, Peer.greet(daemon.unix) as peer:
        peer.send(Open(0, STREAM, "p"))
        assert peer.error() == "stream_closed"
