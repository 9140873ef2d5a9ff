"""How often each user has counted outlives a kill, and is forgotten by a restore; real processes.

All examples are mistakes of the first rule, too few to publish another one. What is looked at is
the state that the daemon keeps when it stops, which is private. The same without processes:
`tests/daemon/store/test_restoring_users.py`.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

from littled.learners.online import OnlineState
from littled.learners.online.snapshot import state_from_dict
from littled.learners.snapshot import unpack
from littled.service.users import UserHash
from littled.store.store import Store
from littled_client import Client, hash_users
from littled_protocol.columns import decode_users, encode_users
from support.commands import Daemon, Littled, serve

CONFIGURATION = """
[streams.visits]
epsilon = 4.0
delta = 1e-6
horizon = 50_000
unit = "user"
user_examples_max = 2
learners.late = { class = "thresholds:256", noise_rate = 0 }
"""


def feed(running: Daemon, users: str) -> None:
    """One mistake of each of these users, whose names are letters."""
    with Client(running.address, producer="p") as client:
        published = client.latest("visits/late")
        assert published is not None
        point = np.zeros(1, dtype=np.uint8)
        assert published.rule is not None
        wrong = 1 - published.rule.evaluate(point)
        with client.feed("visits") as feeder:
            for user in users:
                feeder.send(point, wrong, [user])


def stop_with_all_learned(running: Daemon, *marked: str | Path) -> None:
    """Stop a daemon, and have another one learn what it had not.

    What is acknowledged is learned a while later, and not before a stop. At a start all that is
    durable is learned before anybody is served, and then kept.
    """
    assert running.stop() == 0
    assert serve(running.folder, *marked).stop() == 0


def counted(store: Path, mark: Path, users: str) -> tuple[int, dict[str, int]]:
    """Mistakes that the trigger has counted in all, and how many of each of these users."""
    with Store.open(store, mark_path=mark, read_only=True) as opened:
        snapshot = opened.snapshot("visits")
        key = opened.noise_key
    assert snapshot is not None
    state: OnlineState = state_from_dict(unpack(snapshot[1])["learners"]["late"])
    assert state.users_counted is not None
    column = UserHash(key, "visits").column(encode_users(hash_users(list(users))))
    found = state.users_counted.whole().of(decode_users(bytes(column), len(users)))
    return state.mistakes, dict(zip(users, found.tolist(), strict=True))


@pytest.mark.campaign
def test_counts_of_users_outlive_a_kill_and_end_with_a_restore(
    littled: Littled, tmp_path: Path
) -> None:
    configuration, mark = tmp_path / "littled.toml", tmp_path / "mark"
    configuration.write_text(CONFIGURATION)
    store, marked = tmp_path / "store", ("--mark", mark)
    assert littled("init", store, "--config", configuration, *marked).status == 0
    running = serve(tmp_path, *marked)
    feed(running, "aaaab")
    running.process.kill()
    running.process.communicate()
    copy = Path(shutil.copytree(store, tmp_path / "copy"))

    # the caps go on, and do not begin anew: a has none left and b one
    running = serve(tmp_path, *marked)
    feed(running, "aabbbc")
    stop_with_all_learned(running, *marked)
    assert counted(store, mark, "abc") == (5, {"a": 2, "b": 2, "c": 1})
    assert littled("verify", store, *marked, "--replay").status == 0

    # a season of its own, with nobody counted; what was lost is not taken again
    shutil.rmtree(store)
    shutil.copytree(copy, store)
    assert littled("restore", store, *marked, "--yes").status == 0
    running = serve(tmp_path, *marked)
    feed(running, "aaac")
    stop_with_all_learned(running, *marked)
    assert counted(store, mark, "abc") == (3, {"a": 2, "b": 0, "c": 1})
    said = littled("verify", store, *marked, "--replay", "--json")
    assert said.status == 0, said.err
    assert said.json["streams"]["visits"]["examples"] == 5 + 4
