"""The benchmark of moving stores, in small; a server is measured by hand."""

from pathlib import Path

from benchmarks.moving import filled, moved
from littled.store.place import Place
from littled.store.store import Store


def test_a_store_is_filled_and_moved(tmp_path: Path) -> None:
    source = filled(tmp_path / "one", 2_000, 1, 8)
    target = Place.of(tmp_path / "two", None, None)
    found = moved(source, target, 2_000)
    assert (found["from"], found["to"], found["examples"]) == ("folder", "folder", 2_000)
    with Store.open(tmp_path / "two", read_only=True) as store:
        (stream,) = store.plans
        assert store.position(stream) == 2_000
