"""Where the files of a store are."""

from pathlib import Path

from littled.store.place import MarkFile, Place, mark_place
from littled.store.sqlite import SqliteDatabase


def test_everything_lies_in_the_folder_unless_named() -> None:
    place = Place.of("here", None, None)
    assert isinstance(place.database, SqliteDatabase)
    assert place.database.path == Path("here/store.sqlite")
    assert place.name == "here"
    assert place.key == Path("here/noise.key")
    assert place.mark == MarkFile(Path("here/high-water-mark"))
    assert not place.key_given


def test_key_and_mark_may_lie_elsewhere() -> None:
    place = Place.of(Path("here"), "/run/credentials/noise.key", "/var/lib/marks/one")
    assert place.key == Path("/run/credentials/noise.key")
    assert place.mark == mark_place("/var/lib/marks/one") == MarkFile(Path("/var/lib/marks/one"))
    assert Place.of("here", None, place.mark).mark == place.mark
    assert str(place.mark) == "/var/lib/marks/one"
    assert place.key_given
    assert place.name == "here"
