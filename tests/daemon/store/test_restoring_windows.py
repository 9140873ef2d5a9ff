"""Restoring stores whose learners publish a value or a sequence of each window."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from littled.cli.entry import run
from littled.cli.replaying import compare_stream
from littled.engine import Engine
from littled.mechanisms.noise import KeyedNoise
from littled.planner import StreamPlan
from littled.store.errors import StoreRefused
from littled.store.records import NewRecord
from littled.store.restoring import Restoring
from littled.store.store import Store
from littled.store.verify import verify
from littled_protocol.codec import decode
from littled_protocol.messages import Release
from support.sequences import sequence_point

STREAM, WINDOW, HORIZON = "s", 300, 1_200
CONFIGURATION = """
[streams.s]
epsilon = 16.0
delta = 1e-6
horizon = 1_200
learners.one = {{ class = "{kind}", window = 300 }}
"""
# Of each kind the class, points as bytes by a number below 8, and some of the rule that is right.
KINDS: dict[str, tuple[str, list[bytes], dict[str, object]]] = {
    "sequences": (
        "oneway:3",
        [bytes(sequence_point(i, 3)) for i in range(8)],
        {"kind": "sequence", "index": "05"},
    ),
    "minimum": (
        "integers:32",
        [(7 * i).to_bytes(4, "little") for i in range(8)],
        {"kind": "at_least", "bits": 32},
    ),
    "most_frequent": (
        "strings:4",
        [bytes([97 + i // 5]) * 3 + b"\0" for i in range(8)],
        {"kind": "string", "value": b"bbb\0".hex()},
    ),
}


def records(points: list[bytes], first: int, count: int) -> NewRecord:
    """Examples from one number on; odd points of the upper half have label 1."""
    numbers = np.random.default_rng(7).integers(0, 8, 4_000)[first : first + count]
    x = b"".join(points[number] for number in numbers)
    labels = bytes(int(number >= 4 and number % 2) for number in numbers)
    return NewRecord(STREAM, "p", first, count, x, labels)


def live(path: Path, mark: Path, points: list[bytes], upto: int) -> list[Release]:
    """Open the store, feed what it has not seen yet, learn it; all that was published."""
    with Store.open(path, mark_path=mark) as store, ThreadPoolExecutor(1) as executor:
        plan = StreamPlan.from_dict(store.plans[STREAM])
        engine = Engine(plan, KeyedNoise(store.noise_key), store, executor)
        engine.start()
        for record in store.records(STREAM):
            engine.apply(record)
        known = store.producer_next(STREAM, "p")
        for record in store.append([records(points, known, upto - known)]):
            engine.apply(record)
        bodies = [decode(each.body) for each in store.releases(f"{STREAM}/one")]
    return [each for each in bodies if isinstance(each, Release)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_amid_a_window_goes_on_in_a_new_season(kind: str, tmp_path: Path) -> None:
    name, points, right = KINDS[kind]
    path, copy, mark = tmp_path / "store", tmp_path / "copy", tmp_path / "mark"
    (tmp_path / "c.toml").write_text(CONFIGURATION.format(kind=name))
    made = ["init", str(path), "--config", str(tmp_path / "c.toml"), "--mark", str(mark)]
    assert run(made) == 0
    assert len(live(path, mark, points, 200)) == 1
    shutil.copytree(path, copy)
    lost = live(path, mark, points, 800)
    assert [each.version for each in lost] == [1, 2, 3]
    with pytest.raises(StoreRefused, match="behind its high-water mark"):
        Store.open(copy, mark_path=mark)
    with Restoring.open(copy, mark_path=mark) as restoring:
        restoring.finish()
    (found,) = restoring.lost
    assert (found.position, found.marked.position, found.next_position) == (200, 800, HORIZON)
    # lost examples are not taken again, and those of the window that was open are in none
    later = live(copy, mark, points, 800 + WINDOW - 1)
    assert [each.version for each in later][-1] == 4
    later = live(copy, mark, points, 800 + WINDOW)
    assert [(each.version, each.season) for each in later][-1] == (5, 1)
    assert later[-1].position == HORIZON + WINDOW
    rule = later[-1].rule
    assert isinstance(rule, dict)
    assert rule | right == rule
    assert kind != "minimum" or 28 < rule["least"] <= 49
    assert verify(copy, mark_path=mark).findings == ()
    with Store.open(copy, mark_path=mark, read_only=True) as store:
        compared = compare_stream(store, STREAM)
        assert store.position(STREAM) == HORIZON + WINDOW
    assert (compared.findings, compared.pending) == ((), 0)
