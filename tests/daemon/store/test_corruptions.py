"""Random corruptions of a store with everything in it: each is found, and said where.

A corruption counts if it changes what the store says: the rows of its tables, by name and in order,
its key or its mark. Left out is what nobody relies on: free space, the pulse, which numbers
producers have inside the file, names in `meta` that are none, a snapshot, a checksum of producers
or an archived place that is missing (they are caches: the journal, with its archive, leads to the
same), and a mark that knows less than it did, which is the same as an older one.
"""

import random
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import apsw
import pytest

from littled.budget.price import Price
from littled.store.errors import StoreError
from littled.store.mark import HighWaterMark, Point, StreamMark
from littled.store.restoring import Restoring
from littled.store.store import Store
from littled.store.verify import verify
from support.crashing import small_columns
from support.predictions import STREAM, Bench, make_store
from support.segments import pack_all, small_segments

pytestmark = pytest.mark.long

# In the store's folder here, so that a copy has it too.
ARCHIVE = "archive"
FILES = ("store.sqlite", "noise.key", "high-water-mark", "columns-000001", "columns-000002")
# What the rows of each table are, without what nobody relies on.
LOGICAL = {
    "meta": "SELECT name, value FROM meta WHERE name IN "
    "('instance', 'salt', 'fingerprint', 'configuration') ORDER BY name",
    "streams": "SELECT name, plan, genesis FROM streams ORDER BY name",
    "producers": "SELECT stream, name, next_sequence FROM producers ORDER BY stream, name",
    "records": "SELECT key, first_position, count, sequence, name, x, y, head FROM records "
    "LEFT JOIN producers ON producers.id = producer ORDER BY key",
    "ledger": "SELECT * FROM ledger ORDER BY stream, number",
    "releases": "SELECT * FROM releases ORDER BY learner, version",
    "predictions": "SELECT * FROM predictions ORDER BY key",
    "snapshots": "SELECT * FROM snapshots ORDER BY stream, record_number",
    "restores": "SELECT * FROM restores ORDER BY key",
    "producer_checksums": "SELECT * FROM producer_checksums ORDER BY stream",
    "segments": "SELECT * FROM segments ORDER BY key",
    "beside": "SELECT * FROM beside ORDER BY key",
    "archived": "SELECT * FROM archived ORDER BY key",
    "archived_points": "SELECT * FROM archived_points ORDER BY key",
}
CACHES = ("snapshots", "producer_checksums", "archived_points")
# Where a finding has to point to for a row of a table.
PLACES = {
    "meta": r"configuration|plan|mark|key|description",
    "streams": r"configuration|plan|mark|does not exist|belong|own description",
    "producers": r"producer|journal",
    "records": r"record|journal|producer",
    "ledger": r"ledger|charge",
    "releases": r"release|version",
    "predictions": r"prediction|window|answers",
    "snapshots": r"snapshot",
    "restores": r"restore",
    "producer_checksums": r"checksum",
    "segments": r"record|segment|journal|producer",
    "beside": r"record|journal|columns",
    "archived": r"record|journal|archive",
    "archived_points": r"record|journal|archive",
}


@dataclass(frozen=True)
class Corrupted:
    """A copy of a store that something was done to. place: what a finding has to name."""

    path: Path
    what: str
    place: str = ""


def build(path: Path) -> Path:
    """Two seasons, three producers, answers, snapshots, a restore, and everything closed.

    Columns of 90 examples stand beside the database, and the oldest records in an archive.
    """
    mark = path / "high-water-mark"
    opened = Bench(Store.open(make_store(path)))
    for number in range(6):
        opened.feed(40, seed=number)
        opened.ask(number)
    opened.close()
    copy = Path(shutil.copytree(path, path.with_name("copy")))
    opened = Bench(Store.open(path))
    opened.feed(20, seed=9)
    opened.ask(9)
    opened.close()
    shutil.copy(mark, copy / "high-water-mark")
    with Restoring.open(copy) as found:
        found.finish()
    opened = Bench(Store.open(copy))
    for number in range(5):
        opened.feed(90, seed=20 + number)
        opened.ask(20 + number)
    end = opened.engine.record_number
    opened.store.save_snapshot(STREAM, 4, b"not of this version")
    opened.store.save_snapshot(STREAM, end, opened.engine.snapshot())
    pack_all(opened.store)
    opened.close()
    with Store.open(copy) as store:
        assert len(list(store.archive(copy / ARCHIVE))) > 1
    shutil.rmtree(path)
    return copy


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound store with a little of everything."""
    with pytest.MonkeyPatch.context() as patched:
        small_segments(patched, records=2)
        small_columns(patched, size=150)
        patched.setattr("littled.store.archiving.ARCHIVE_FILE_BYTES", 100)
        path = build(tmp_path_factory.mktemp("sound") / "store")
    assert verify(path, archive=path / ARCHIVE).findings == ()
    assert {each.name for each in path.glob("columns-*")} == {*FILES[3:]}
    for table, rows in contents(path).items():
        assert rows, table
    return path


def contents(path: Path) -> dict[str, Any]:
    """What the database says, table by table; an error where it cannot be read."""
    found: dict[str, Any] = {}
    try:
        connection = apsw.Connection(str(path / "store.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error as error:
        return {"error": type(error)}
    for table, query in LOGICAL.items():
        try:
            found[table] = connection.execute(query).fetchall()
        except (apsw.Error, UnicodeDecodeError) as error:
            found[table] = type(error)
    # what says that this is a store, and of which kind
    for name in ("application_id", "user_version", "journal_mode"):
        try:
            found[name] = connection.pragma(name)
        except apsw.Error as error:
            found[name] = type(error)
    connection.close()
    return found


def matters(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether something is said otherwise; what is missing in a cache does not matter."""
    lost = {key: value for key, value in before.items() if key not in CACHES}
    if any(after.get(key) != value for key, value in lost.items()):
        return True
    return any(
        isinstance(after[key], type) or not {*after[key]} <= {*before[key]} for key in CACHES
    )


# --- what is done to a row ------------------------------------------------------------------------


def other_value(chance: random.Random, value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bytes) and value:
        changed, place = bytearray(value), chance.randrange(len(value))
        changed[place] ^= 1 << chance.randrange(8)
        return chance.choice([bytes(changed), value[:place], value + b"\0", bytes(len(value))])
    if isinstance(value, int):
        return value + chance.choice([-1, 1, chance.randrange(-(1 << 40), 1 << 40), 1 << 44])
    if isinstance(value, str):
        place = chance.randrange(len(value)) if value else 0
        return value[:place] + chance.choice("abc/") + value[place + 1 :]
    return chance.choice([0, 1, b"x"])


Rows = list[tuple[Any, ...]]


def change_rows(chance: random.Random, connection: apsw.Connection, table: str) -> str:
    """Change, delete, duplicate or swap something in a table; say what."""
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    keys = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[5]] or [
        "stream",
        "record_number",
    ]
    rows: Rows = connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608
    row = dict(zip(columns, chance.choice(rows), strict=True))
    where = " AND ".join(f"{key} = ?" for key in keys)
    at = tuple(row[key] for key in keys)
    kind = chance.choice(["change", "change", "change", "delete", "duplicate", "swap"])
    column = chance.choice(columns)
    if kind == "delete":
        connection.execute(f"DELETE FROM {table} WHERE {where}", at)  # noqa: S608
    elif kind == "duplicate":
        row |= {key: other_value(chance, row[key]) for key in chance.sample(keys, 1)}
        marks = ", ".join("?" * len(columns))
        connection.execute(f"INSERT INTO {table} VALUES ({marks})", tuple(row.values()))  # noqa: S608
    elif kind == "swap":
        other = dict(zip(columns, chance.choice(rows), strict=True))
        there = tuple(other[key] for key in keys)
        update = f"UPDATE {table} SET {column} = ? WHERE {where}"  # noqa: S608
        connection.execute(update, (other[column], *at))
        connection.execute(update, (row[column], *there))
    else:
        value = other_value(chance, row[column])
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value, *at))  # noqa: S608
    return f"{kind} {table}.{column} {at!r}"


def in_a_table(chance: random.Random, path: Path) -> Corrupted:
    table = chance.choice(list(LOGICAL))
    connection = apsw.Connection(str(path / "store.sqlite"))
    try:
        what = change_rows(chance, connection, table)
    except apsw.ConstraintError:
        what = f"nothing in {table}, which does not allow it"
    finally:
        connection.close()
    return Corrupted(path, what, PLACES[table])


# --- what is done to the files --------------------------------------------------------------------


def in_the_file(chance: random.Random, path: Path) -> Corrupted:
    """Some bits, or a run of bytes, somewhere in the database file or in columns beside it."""
    name, named = chance.choice(STORED)
    data = bytearray((path / name).read_bytes())
    place = chance.randrange(len(data))
    if chance.random() < 0.1:
        place = chance.randrange(100)  # the header
    length = chance.choice([1, 1, 1, 8, 512])
    for at in range(place, min(place + length, len(data))):
        data[at] = chance.randrange(256) if length > 1 else data[at] ^ 1 << chance.randrange(8)
    (path / name).write_bytes(data)
    return Corrupted(path, f"{length} bytes of {name} at {place}", named)


def cut_off(chance: random.Random, path: Path) -> Corrupted:
    name, named = chance.choice(STORED)
    data = (path / name).read_bytes()
    length = chance.randrange(len(data))
    (path / name).write_bytes(data[:length])
    return Corrupted(path, f"cut off at {length} of {len(data)} of {name}", named)


def lost_or_swapped(chance: random.Random, path: Path) -> Corrupted:
    """One file of columns is missing, or it is in the place of the other."""
    (one, _), (other, _) = chance.sample(STORED[1:], 2)
    data = (path / other).read_bytes()
    (path / other).unlink()
    if chance.random() < 0.5:
        (path / one).rename(path / other)
        (path / one).write_bytes(data)
    return Corrupted(path, f"lost or swapped {other}", "journal|columns")


# Files that bytes are changed in, and what a finding has to name.
STORED = (("store.sqlite", ""), *((name, "journal|columns") for name in FILES[3:]))


def in_the_archive(chance: random.Random, path: Path) -> Corrupted:
    """A file of the archive is damaged, cut off, missing, or in the place of another."""
    one, other = chance.sample(sorted((path / ARCHIVE).iterdir()), 2)
    data, way = one.read_bytes(), chance.randrange(4)
    place = chance.randrange(len(data))
    if way == 0:
        one.unlink()
    elif way == 1:
        one.write_bytes(data[:place])
    elif way == 2:
        one.write_bytes(other.read_bytes())
    else:
        one.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    return Corrupted(path, f"archive, way {way} at byte {place} of {one.name}", "archive")


def in_the_key(chance: random.Random, path: Path) -> Corrupted:
    text = bytearray((path / "noise.key").read_bytes())
    place = chance.randrange(64)
    text[place] = chance.choice(sorted(set(b"0123456789abcdefg") - {text[place]}))
    (path / "noise.key").write_bytes(text)
    return Corrupted(path, f"digit {place} of the key", r"noise key")


def in_the_mark(chance: random.Random, path: Path) -> Corrupted:
    """Bytes of the mark, or what it says: then its checksum is right."""
    place = path / "high-water-mark"
    data = place.read_bytes()
    if chance.random() < 0.4:
        at = chance.randrange(len(data))
        changed = bytearray(data)
        changed[at] ^= 1 << chance.randrange(8)
        place.write_bytes(chance.choice([bytes(changed), data[:at]]))
        return Corrupted(path, f"the mark at byte {at}", r"mark .* is damaged")
    if chance.random() < 0.1:
        place.unlink()
        return Corrupted(path, "the mark is gone", r"mark .* is missing")
    mark = HighWaterMark.from_bytes(data)
    name = chance.choice(sorted(AHEAD))
    stream = AHEAD[name](chance, mark.streams[STREAM])
    changed_mark = replace(mark, streams={STREAM: stream})
    if name == "instance":
        changed_mark = replace(mark, instance="0" * 32)
    if name == "release":
        (learner,) = mark.releases
        changed_mark = replace(mark, releases={learner: moved(chance, mark.releases[learner])})
    place.write_bytes(changed_mark.to_bytes())
    return Corrupted(path, f"the mark's {name}", r"mark|producer")


def moved(chance: random.Random, point: Point) -> Point:
    """A place that the chain does not have."""
    if chance.random() < 0.5:
        return Point(point.number + chance.randrange(1, 1000), point.head)
    return Point(point.number, bytes([point.head[0] ^ 1, *point.head[1:]]))


GRAIN = Price(Fraction(0), Fraction(0), Fraction(1, 1 << 80))
Ahead = Callable[[random.Random, StreamMark], StreamMark]
AHEAD: dict[str, Ahead] = {
    "instance": lambda chance, mark: mark,
    "release": lambda chance, mark: mark,
    "genesis": lambda chance, mark: replace(mark, genesis=bytes(32)),
    "journal": lambda chance, mark: replace(mark, journal=moved(chance, mark.journal)),
    "ledger": lambda chance, mark: replace(mark, ledger=moved(chance, mark.ledger)),
    "predictions": lambda chance, mark: replace(mark, predictions=moved(chance, mark.predictions)),
    "position": lambda chance, mark: replace(
        mark, position=mark.position + chance.choice([-1, 1, 7])
    ),
    "spend": lambda chance, mark: replace(mark, spent=mark.spent + GRAIN),
    "season": lambda chance, mark: replace(mark, season=mark.season + 1),
}

WAYS = (
    in_a_table,
    in_a_table,
    in_a_table,
    in_a_table,
    in_the_file,
    cut_off,
    lost_or_swapped,
    in_the_archive,
    in_the_key,
    in_the_mark,
)


def files(path: Path) -> dict[str, bytes]:
    """What every file holds, without the database and what belongs to it."""
    every = (each for each in path.rglob("*") if each.is_file())
    return {
        str(each.relative_to(path)): each.read_bytes()
        for each in every
        if not each.name.startswith("store.sqlite") and each.name != "lock"
    }


def corrupted(chance: random.Random, sound: Path, folder: Path) -> Corrupted:
    """A copy that says something else than the sound store."""
    before = contents(sound)
    while True:
        copy = folder / "corrupted"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(sound, copy)
        found = chance.choice(WAYS)(chance, copy)
        same = files(copy) == files(sound)
        if not same or matters(before, contents(copy)):
            return found


def found_in(path: Path) -> list[str]:
    """What a check says; what cannot be checked at all is a sentence as well."""
    try:
        return list(verify(path, archive=path / ARCHIVE).findings)
    except StoreError as error:
        return [str(error)]


def check(sound: Path, folder: Path, count: int, seed: int) -> Counter[str]:
    """So many corruptions are found, each; return how many there were of each kind."""
    chance = random.Random(seed)
    kinds: Counter[str] = Counter()
    for _ in range(count):
        corruption = corrupted(chance, sound, folder)
        findings = found_in(corruption.path)
        assert findings, f"not found: {corruption.what}"
        said = " ".join(findings)
        assert re.search(corruption.place, said), f"{corruption.what}: {said}"
        assert all(each and len(each) < 500 and "\n" not in each for each in findings), said
        kinds[corruption.what.partition(" ")[0]] += 1
    return kinds


def test_a_hundred_and_fifty_random_corruptions_are_found(sound: Path, tmp_path: Path) -> None:
    kinds = check(sound, tmp_path, 150, seed=1)
    ways = {"change", "delete", "duplicate", "swap", "cut", "the", "digit", "lost", "archive,"}
    assert ways <= set(kinds)


@pytest.mark.campaign
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(10))
def test_a_thousand_random_corruptions_are_found(sound: Path, tmp_path: Path, part: int) -> None:
    check(sound, tmp_path, 100, seed=100 + part)


def test_what_does_not_matter_is_no_finding(sound: Path, tmp_path: Path) -> None:
    """The other half of the definition: what is left out above is called sound."""
    copy = Path(shutil.copytree(sound, tmp_path / "copy"))
    connection = apsw.Connection(str(copy / "store.sqlite"))
    connection.execute("UPDATE meta SET value = x'00' WHERE name = 'pulse'")
    connection.execute("DELETE FROM snapshots")
    connection.execute("VACUUM")
    connection.close()
    assert not matters(contents(sound), contents(copy))
    assert verify(copy, archive=copy / ARCHIVE).findings == ()
