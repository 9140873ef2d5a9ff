"""Asking a daemon process for predictions, and checking what it stored of them."""

from pathlib import Path
from typing import Any

from littled.engine.predictions import differing
from littled.mechanisms.noise import KeyedNoise
from littled.planner import StreamPlan
from littled.store.store import Store
from littled.store.verify import verify
from support.predictions import STREAM, examples, question
from support.serving import Peer, Serving

NEAR = f"{STREAM}/near"


def feed(peer: Peer, count: int, sequence: int = 0) -> None:
    """Feed examples and wait until they are acknowledged."""
    x, y = examples(count, sequence)
    peer.feed(sequence, x, y)
    peer.acknowledged(sequence + count)


def fed(daemon: Serving, count: int = 130) -> Peer:
    """A peer that has fed so many examples as the first ones of the stream."""
    peer = Peer.greet(daemon.unix)
    assert peer.open(STREAM, "p").next_sequence == 0
    feed(peer, count)
    return peer


def ask(peer: Peer, number: int, x: bytes = bytes([5, 19, 40]), name: str = "near") -> Any:
    """Ask and return what comes."""
    peer.send(question(number, x, name))
    return peer.receive()


def check(path: Path) -> int:
    """The store is sound, and a replay comes to the same; return how many requests it answered."""
    assert verify(path).findings == ()
    with Store.open(path, read_only=True) as store:
        plan = StreamPlan.from_dict(store.plans[STREAM])
        noise = KeyedNoise(store.noise_key)
        stored = list(store.predictions(STREAM))
        assert list(differing(plan, noise, store, stored)) == []
        charged = [entry for entry in store.ledger(STREAM) if entry.window is not None]
        assert [entry.event["answers"] for entry in charged] == [answer.count for answer in stored]
    return len(stored)
