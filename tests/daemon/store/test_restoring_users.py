"""How often each user has counted: it goes on after a stop or a kill, and ends with a restore.

All examples are mistakes of the first rule, too few for the trigger to fire. With real processes:
`tests/daemon/cli/test_cli_restoring_users.py`.
"""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from littled.cli.replaying import compare_stream
from littled.engine import Engine
from littled.learners.online import OnlineState
from littled.mechanisms.noise import KeyedNoise
from littled.planner import OnlinePlan
from littled.store.records import NewRecord
from littled.store.restoring import Restoring
from littled.store.store import Store
from littled.store.verify import verify
from littled_client import hash_users
from littled_protocol.columns import decode_users, encode_users
from littled_protocol.rules import Words
from support.learning import Inline
from support.predictions import CLASS, EPSILON, HORIZON, ONLINE, STREAM, make_store
from support.twins import plan_of

PARAMETERS = replace(ONLINE, user_examples_max=2, buffer="mistakes", trigger_threshold=500)
LATE = OnlinePlan("late", CLASS, PARAMETERS, Words())
PLAN = replace(plan_of([LATE], HORIZON, name=STREAM), epsilon=EPSILON)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """Where the mark of the store is; no copy holds it."""
    return tmp_path / "mark"


@pytest.fixture
def path(tmp_path: Path, mark: Path) -> Path:
    """A new store."""
    return make_store(tmp_path / "store", PLAN, mark_path=mark)


def column(users: str) -> bytes:
    """Users whose names are letters, as a record holds them."""
    return encode_users(hash_users(list(users)))


def live(path: Path, mark: Path, users: str, *, saved: bool = False) -> OnlineState:
    """Go on from the snapshot or the journal's start, and learn one mistake of each of these."""
    with Store.open(path, mark_path=mark) as store:
        number, state = store.snapshot(STREAM) or (-1, None)
        engine = Engine(PLAN, KeyedNoise(store.noise_key), store, Inline(), state)
        engine.start()
        for record in store.records(STREAM, number):
            engine.apply(record)
        x = np.zeros(len(users), dtype=np.uint8)
        y = 1 - engine._course.states["late"].rule.evaluate(x)
        first = store.producer_next(STREAM, "p")
        new = NewRecord(STREAM, "p", first, len(users), x.tobytes(), y.tobytes(), column(users))
        for record in store.append([new]):
            engine.apply(record)
        if saved:
            store.save_snapshot(STREAM, engine.record_number, engine.snapshot())
        late = engine._course.states["late"]
        assert isinstance(late, OnlineState)
        return late


def counted(state: OnlineState, users: str) -> tuple[int, dict[str, int]]:
    """Mistakes that the trigger has counted in all, and how many of each of these users."""
    assert state.users_counted is not None
    found = state.users_counted.whole().of(decode_users(column(users), len(users)))
    return state.mistakes, dict(zip(users, found.tolist(), strict=True))


def is_sound(path: Path, mark: Path) -> None:
    assert verify(path, mark_path=mark).findings == ()
    with Store.open(path, mark_path=mark, read_only=True) as store:
        compared = compare_stream(store, STREAM)
    assert (compared.findings, compared.pending) == ((), 0)


def test_caps_of_users_go_on_and_do_not_begin_anew(path: Path, mark: Path) -> None:
    """From the journal, as after a kill, and from a snapshot."""
    assert counted(live(path, mark, "aaaab"), "ab") == (3, {"a": 2, "b": 1})
    state = live(path, mark, "aabbbc", saved=True)
    assert counted(state, "abc") == (5, {"a": 2, "b": 2, "c": 1})
    state = live(path, mark, "abccd")
    assert counted(state, "abcd") == (7, {"a": 2, "b": 2, "c": 2, "d": 1})
    is_sound(path, mark)


@pytest.mark.parametrize("saved", [False, True])
def test_a_restore_begins_with_nobody_counted(
    path: Path, mark: Path, tmp_path: Path, saved: bool
) -> None:
    live(path, mark, "aaaab", saved=saved)
    copy = Path(shutil.copytree(path, tmp_path / "copy"))
    live(path, mark, "bbcc")
    with Restoring.open(copy, mark_path=mark) as restoring:
        restoring.finish()
    state = live(copy, mark, "aaac")
    assert (state.season, counted(state, "abc")) == (1, (3, {"a": 2, "b": 0, "c": 1}))
    is_sound(copy, mark)
    # its own caps go on in turn
    assert counted(live(copy, mark, "ab"), "abc") == (4, {"a": 2, "b": 1, "c": 1})
    is_sound(copy, mark)
