"""What a store needs of a database, the tables in it, and what never changes about a store.

Everything else in this package speaks to the database by the five protocols here, in SQL that every
database understands. `littled.store.sqlite` has them for a file in a folder. Whatever a database
raises leaves it as StoreFailed (the disk) or StoreDamaged (the contents).

Tables are described here in the words of SQLite; a database with other words translates them.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from littled.budget.charges import AnswerWindows, ChargesUnknown, unknown_parameters
from littled.classes.registry import CLASSES
from littled.store.columns import ColumnReader, Columns
from littled.store.errors import StoreDamaged, StoreRefused
from littled.store.growth import (
    Closing,
    Growth,
    has_growth,
    make_tables,
    put_streams,
    read_growth,
)
from littled.store.moves import Move
from littled.store.records import genesis

FORMAT = 1
# Of a store with a stream that protects users. Other stores keep the format that they always had; a
# version that knows nothing of users would take such a stream for one that protects examples.
FORMAT_OF_USERS = 2
# The same two, once old records were packed into segments: a version that knows nothing of segments
# would take the journal for one that lacks its beginning. A store becomes one by its first segment.
FORMAT_PACKED = 3
FORMAT_PACKED_OF_USERS = 4
# And the four, each by so much more, once columns of large records stand in files beside this one:
# a version that knows nothing of them would find records without columns.
FORMATS_BESIDE = 4
# Or by so much, once any such columns are in the chain by their BLAKE3: a version that does not
# know that would take their records for damaged.
FORMATS_BLAKE3 = 8
# And all of these by so much, once a stream was added or closed, and where streams have
# configurations of their own: a version that does not know that would go on with a closed stream.
FORMATS_GROWN = 12
# And all of these by so much with a stream that may be charged for Gaussian differential privacy: a
# version that does not know that could not read what its caps are.
FORMATS_GDP = 24
# And all of these by so much while records may stand ahead of the database
# (`littled.store.tail`): a version that does not know that would go on without it.
FORMATS_TAIL = 48
FORMAT_MAX = FORMAT_PACKED_OF_USERS + FORMATS_BLAKE3 + FORMATS_GROWN + FORMATS_GDP + FORMATS_TAIL
# And by so much where nobody may use what is there (`littled.store.moving`): an unfinished copy,
# and what is left of a store that was moved away. Every version refuses either, earlier ones by
# the number alone.
FORMATS_ARRIVING = 1 << 20
FORMATS_MOVED = 1 << 21
# A record's key holds the stream in the upper bits, its number in these.
NUMBER_BITS = 44

META = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
"""
TABLES = """
CREATE TABLE streams (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, plan BLOB NOT NULL, genesis BLOB NOT NULL
) STRICT;
CREATE TABLE producers (
    id INTEGER PRIMARY KEY, stream INTEGER NOT NULL REFERENCES streams, name TEXT NOT NULL,
    next_sequence INTEGER NOT NULL, UNIQUE (stream, name)
) STRICT;
CREATE TABLE records (
    key INTEGER PRIMARY KEY, first_position INTEGER NOT NULL, count INTEGER NOT NULL,
    sequence INTEGER NOT NULL, producer INTEGER NOT NULL REFERENCES producers,
    x BLOB NOT NULL, y BLOB NOT NULL, head BLOB NOT NULL
) STRICT;
CREATE TABLE ledger (
    stream INTEGER NOT NULL REFERENCES streams, number INTEGER NOT NULL,
    entry BLOB NOT NULL, head BLOB NOT NULL, PRIMARY KEY (stream, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE releases (
    learner TEXT NOT NULL, version INTEGER NOT NULL,
    body BLOB NOT NULL, charge INTEGER, head BLOB NOT NULL, PRIMARY KEY (learner, version)
) STRICT, WITHOUT ROWID;
CREATE TABLE snapshots (
    stream INTEGER NOT NULL REFERENCES streams, record_number INTEGER NOT NULL,
    state BLOB NOT NULL, checksum BLOB NOT NULL, UNIQUE (stream, record_number)
) STRICT;
"""
USERS = "ALTER TABLE records ADD COLUMN users BLOB NOT NULL DEFAULT x''"
# Keys as those of records. It came later than the other tables, so a store may lack it.
PREDICTIONS = """
CREATE TABLE IF NOT EXISTS predictions (
    key INTEGER PRIMARY KEY, learner TEXT NOT NULL, "window" INTEGER NOT NULL,
    record INTEGER NOT NULL, request BLOB NOT NULL, count INTEGER NOT NULL,
    x BLOB NOT NULL, y BLOB NOT NULL, charge INTEGER NOT NULL, head BLOB NOT NULL,
    UNIQUE (learner, request)
) STRICT;
CREATE INDEX IF NOT EXISTS predictions_of_window ON predictions (learner, "window", count);
"""
# Keys of the records that are restores. It is made by the first of them.
_RESTORES = "CREATE TABLE IF NOT EXISTS restores (key INTEGER PRIMARY KEY) STRICT"
# Checksums of the producers of each stream (`littled.store.producers`); made when first served.
CHECKSUMS = "producer_checksums"
_CHECKSUMS = """
CREATE TABLE IF NOT EXISTS producer_checksums (
    stream INTEGER PRIMARY KEY REFERENCES streams, record_number INTEGER NOT NULL,
    last_producer INTEGER NOT NULL, checksum BLOB NOT NULL
) STRICT
"""
# The last durable place of a producer's source, the number of its examples before it, and a
# checksum of both (`littled.store.source_places`). It is made by the first of them.
PLACES = "producer_places"
_PLACES = """
CREATE TABLE IF NOT EXISTS producer_places (
    producer INTEGER PRIMARY KEY REFERENCES producers, sequence INTEGER NOT NULL,
    resume BLOB NOT NULL, checksum BLOB NOT NULL
) STRICT
"""
# Consecutive records of a stream, column by column (`littled.store.segments`); the key is the first
# one's. It is made by the first segment.
_SEGMENTS = """
CREATE TABLE segments (
    key INTEGER PRIMARY KEY, records INTEGER NOT NULL, first_position INTEGER NOT NULL,
    examples INTEGER NOT NULL, head BLOB NOT NULL,
    producers BLOB NOT NULL, sequences BLOB NOT NULL, indices BLOB NOT NULL, counts BLOB NOT NULL,
    x BLOB NOT NULL, y BLOB NOT NULL, users BLOB NOT NULL
) STRICT;
"""
# What was moved into an archive (`littled.store.archive`): a row for each file, by the key of its
# first record, and the places in between that something in the store names. Made by the first.
_ARCHIVED = """
CREATE TABLE archived (
    key INTEGER PRIMARY KEY, last INTEGER NOT NULL, first_position INTEGER NOT NULL,
    end_position INTEGER NOT NULL, examples INTEGER NOT NULL, head BLOB NOT NULL,
    checksum BLOB NOT NULL
) STRICT;
CREATE TABLE archived_points (
    key INTEGER PRIMARY KEY, first_position INTEGER NOT NULL, end_position INTEGER NOT NULL,
    head BLOB NOT NULL
) STRICT;
"""
# Where the columns of large records are (`littled.store.columns`): the number of a file, the first
# byte, and how many. Keys are those of records. It is made by the first of them.
_BESIDE = """
CREATE TABLE beside (
    key INTEGER PRIMARY KEY, file INTEGER NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL
) STRICT
"""
# What the slots of the tail name that are not in the database yet (`littled.store.tail`).
TAIL = "tail"
_STREAMS = "SELECT name, id, plan, genesis FROM streams ORDER BY id"
# Where a store was moved to, or comes from (`littled.store.moves`).
MOVE = "move"
_MOVE = "SELECT value FROM meta WHERE name = 'move'"
_FORGET_MOVE = "DELETE FROM meta WHERE name = 'move'"
_PUT_MOVE = "INSERT INTO meta VALUES ('move', ?)"


PUT_PRODUCER = """
INSERT INTO producers VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET next_sequence = excluded.next_sequence
"""

# By the name of a table what its rows are ordered by: all that a store may have.
TABLES_KNOWN: Mapping[str, str] = {
    "meta": "name",
    "streams": "id",
    "producers": "id",
    "records": "key",
    "ledger": "stream, number",
    "releases": "learner, version",
    "snapshots": "stream, record_number",
    "predictions": "key",
    "restores": "key",
    CHECKSUMS: "stream",
    PLACES: "producer",
    "segments": "key",
    "archived": "key",
    "archived_points": "key",
    "beside": "key",
    "configurations": "stream",
    "closings": "stream",
    "lost_streams": "name",
}
# Those that something has made which not every store has; of `archived` both.
_MADE_LATER: Mapping[str, str] = {
    "predictions": PREDICTIONS,
    "restores": _RESTORES,
    CHECKSUMS: _CHECKSUMS,
    PLACES: _PLACES,
    "segments": _SEGMENTS,
    "archived": _ARCHIVED,
    "beside": _BESIDE,
}


# --- what a store needs ---------------------------------------------------------------------------

Row = tuple[Any, ...]
Undo = Callable[[], None]
"""Takes back one thing that was made; OSError or StoreFailed where that is not possible."""


class Found(Protocol):
    """What a statement has found."""

    def fetchall(self) -> list[Any]:
        """All rows."""


class Connection(Protocol):
    """By what a transaction reads or writes; used by one thread at a time.

    Statements have `?` or `?1` where values go. They raise errors of the database, which whoever
    lends the connection turns into a StoreError.
    """

    @property
    def filename(self) -> str:
        """What messages call the database."""

    def execute(self, statements: str, values: Row = ..., /) -> Found:
        """Run a statement, or several without values."""

    def executemany(self, statement: str, rows: Iterable[Row], /) -> object:
        """Run a statement for each row."""

    def rows(self, statement: str, values: Row) -> AbstractContextManager[Iterator[Row]]:
        """What a statement finds, row by row, of which only some may be taken."""

    def changes(self) -> int:
        """How many rows the last statement has changed."""

    def has_table(self, name: str) -> bool:
        """Whether there is such a table or index."""

    def tables(self) -> set[str]:
        """The names of all tables of the store, whoever has made them."""

    def format(self) -> int:
        """The format of the store. StoreRefused where there is no store."""

    def put_format(self, number: int) -> None:
        """Change it, inside a transaction."""


class Readers(Protocol):
    """Connections that read, lent to any thread for a short while.

    columns: what reads columns of large records; None where they stand in rows like all others.
    """

    columns: ColumnReader | None

    def lend(self) -> AbstractContextManager[Connection]:
        """A connection, each of whose statements may see another moment. Raises StoreError."""

    def reading(self) -> AbstractContextManager[Connection]:
        """A connection all of whose statements see the same moment. Raises StoreError."""

    def integrity(self) -> list[str]:
        """What the database finds wrong with itself, shortened; reads all of it."""

    def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back. Raises StoreError."""


class Writing(Protocol):
    """The one connection that writes; used by one thread at a time.

    After any StoreError it is good for nothing but `close`.
    """

    def transaction(self) -> AbstractContextManager[Connection]:
        """The connection for one transaction, which is durable on leaving. Raises StoreError."""

    def put_alone(self, producer: Row, record: Row) -> None:
        """Put a producer and its one record, durable on return. Raises StoreError.

        It takes less time than `transaction`. They may be kept elsewhere for a while; whoever reads
        the database in this process finds them there all the same.
        """

    def bring_in(self) -> None:
        """Put into the database what is kept elsewhere; may be called on any thread. StoreError."""

    def put_records(
        self,
        connection: Connection,
        statement: str,
        rows: Sequence[Row],
        beside: Mapping[int, Columns],
    ) -> None:
        """Add records inside a transaction.

        statement: inserts a row of the table `records`. beside: by key, the columns of large
        records, which their rows lack.
        """

    def read(self, statement: str, values: Row) -> list[Row]:
        """Rows of a short query. Raises StoreError."""

    def settle_columns(self) -> None:
        """Let go of what was kept for columns that nothing names any more. Raises StoreError."""

    def check_place(self) -> None:
        """Look whether what is written here is still what others will find. Raises StoreFailed."""

    def shrink(self) -> None:
        """Give much room that is free back to the disk. Raises StoreError."""

    def close(self, *, failed: bool = False) -> None:
        """Close; after a failure without touching the disk again. Raises StoreError."""


class Lock(Protocol):
    """Keeps other processes from serving the same store."""

    def release(self) -> None:
        """Give it back; nothing happens the second time."""


class Database(Protocol):
    """Where the tables of one store are.

    name: what messages call the store.
    """

    name: str

    def exists(self) -> bool:
        """Whether there may be a store. Raises StoreError."""

    def check(self) -> None:
        """Raise StoreRefused where a store is not safe. OSError."""

    def recover(self, *, incomplete: bool = False) -> None:
        """Bring in what a process has kept elsewhere, or wait until the one at work has done so.

        Whoever only reads calls it first. incomplete: also with a copy that lacks some of that,
        without which it is. StoreRefused where it cannot be done; StoreError.
        """

    def notes(self) -> list[str]:
        """What whoever serves the store should know, a sentence each. Raises StoreError."""

    def lock(self, *, take_over: bool = False) -> Lock:
        """Lock the store. StoreRefused while another process serves it; OSError.

        take_over: put that process off if it can be done, else give it a moment to end.
        """

    def readers(self) -> Readers:
        """Connections that read; nothing is opened yet."""

    def glances(self) -> Readers:
        """The same for one short look that leaves nothing behind, not even an empty log.

        While nobody has it open nothing may be written to it meanwhile: what is found then has to
        be found again before anything rests on it.
        """

    def writing(self, *, incomplete: bool = False) -> Writing:
        """Open it for writing. StoreRefused for a copy that lacks something, or StoreError.

        incomplete: go on without what a copy lacks of what was kept elsewhere.
        """

    def sync_names(self) -> None:
        """Make the names of files durable. OSError."""

    def prepare(self, made: list[Undo]) -> list[Path]:
        """Make room for a new store; the folders whose names have to be made durable at the end.

        made: gets what takes back each step. StoreRefused where something is already;
        OSError.
        """

    def creating(
        self, write: Callable[[Connection], None], made: list[Undo]
    ) -> AbstractContextManager[None]:
        """Let `write` make the tables, inside a transaction; only on leaving is there a store.

        made: as in `prepare`. Raises StoreError; OSError.
        """


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """What never changes about a stream. plan: JSON. genesis: head before its first record.

    of_users: whether it protects users, so that its records have them; the plan says so.
    configuration: JSON, if it has one of its own. closing: where it ends, if it is closed.
    """

    identity: int
    plan: bytes
    genesis: bytes
    of_users: bool = False
    configuration: bytes | None = None
    closing: Closing | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What never changes about a store while it is open.

    configuration: JSON, of all streams that have none of their own. fingerprint: of the noise key.
    lost: the genesis of each stream that a restore has lost, by its name.
    """

    instance: str
    salt: bytes
    fingerprint: bytes
    configuration: bytes
    streams: Mapping[str, StreamFacts]
    lost: Mapping[str, bytes] = field(default_factory=dict)
    # Whether any stream protects users, so that the table of records has a column for them.
    of_users: bool = field(init=False)
    # Whether any stream may be charged for Gaussian differential privacy.
    of_gdp: bool = field(init=False)

    def __post_init__(self) -> None:
        """Look at all streams once."""
        of_users = any(stream.of_users for stream in self.streams.values())
        object.__setattr__(self, "of_users", of_users)
        of_gdp = any(is_of_gdp(stream.plan) for stream in self.streams.values())
        object.__setattr__(self, "of_gdp", of_gdp)


def json_bytes(values: Mapping[str, Any]) -> bytes:
    """A JSON-able mapping, order kept, as it is stored and hashed. TypeError or ValueError."""
    return json.dumps(values, separators=(",", ":"), allow_nan=False).encode()


def record_key(stream: int, number: int) -> int:
    """Key of a record in its table; those of one stream stand together, in order."""
    return (stream << NUMBER_BITS) + number


# --- making and reading what never changes --------------------------------------------------------


@lru_cache
def insert_record(columns: int) -> str:
    """The statement that inserts a row of the table `records` with so many columns."""
    values = ", ".join("?" * columns)
    return f"INSERT INTO records VALUES ({values})"  # noqa: S608 - question marks


def write_facts(connection: Connection, facts: Facts) -> None:
    """Make the tables of a new store and write the facts, inside a transaction."""
    connection.execute(PREDICTIONS + META + TABLES)
    if facts.of_users:
        connection.execute(USERS)
    meta = {
        "instance": facts.instance.encode(),
        "salt": facts.salt,
        "fingerprint": facts.fingerprint,
        "configuration": facts.configuration,
        "pulse": b"",
    }
    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    if any(stream_facts.configuration is not None for stream_facts in facts.streams.values()):
        make_tables(connection)
    put_streams(connection, stream_rows(facts.streams))
    grown = has_growth(connection)
    number = format_number(
        packed=False,
        of_users=facts.of_users,
        beside=False,
        of_blake3=False,
        grown=grown,
        of_gdp=facts.of_gdp,
    )
    connection.put_format(number)


def stream_rows(
    streams: Mapping[str, StreamFacts],
) -> list[tuple[int, str, bytes, bytes, bytes | None]]:
    """What is stored of streams; see `put_streams`."""
    return [
        (facts.identity, name, facts.plan, facts.genesis, facts.configuration)
        for name, facts in streams.items()
    ]


def complete(readers: Readers, writing: Writing) -> None:
    """Add the table of predictions where a store was made before there were any. StoreError."""
    with readers.lend() as connection:
        if has_predictions(connection):
            return
    with writing.transaction() as writer:
        writer.execute(PREDICTIONS)


def read_facts(readers: Readers, *, moving: bool = False) -> Facts:
    """What never changes. StoreRefused for a file of another kind or version, StoreDamaged.

    moving: also of what nobody may use, as it was moved away, or is not here yet.
    """
    # In one transaction, as a daemon may pack its first segment meanwhile, or put the first columns
    # beside the database.
    with readers.reading() as connection:
        found = connection.format()
        if found >= FORMATS_ARRIVING:
            move = read_move(connection)
            if not moving:
                raise StoreRefused(_nobodys(connection.filename, found, move))
            found %= FORMATS_ARRIVING
        if not FORMAT <= found <= FORMAT_MAX:
            raise StoreRefused(
                f"{connection.filename} has format {found}; this version reads formats {FORMAT} "
                f"to {FORMAT_MAX}"
                + (": use the newer version that wrote it" if found > FORMAT_MAX else "")
            )
        packed, beside = has_segments(connection), has_beside(connection)
        grown, growth = has_growth(connection), read_growth(connection)
        meta: dict[Any, Any] = dict(connection.execute("SELECT name, value FROM meta").fetchall())
        rows = connection.execute(_STREAMS).fetchall()
    try:
        facts = _facts_of(meta, rows, growth)
        number = format_number(
            packed=packed,
            of_users=facts.of_users,
            beside=beside,
            of_blake3=_says_blake3(found),
            grown=grown,
            of_gdp=facts.of_gdp,
            of_tail=TAIL in meta,
        )
        sound = found == number and all(
            stream_facts.genesis
            == genesis(
                facts.salt,
                name,
                facts.configuration
                if stream_facts.configuration is None
                else stream_facts.configuration,
                stream_facts.plan,
            )
            for name, stream_facts in facts.streams.items()
        )
        json.loads(facts.configuration)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreDamaged(
            "the store's own description cannot be read: put back a backup"
        ) from error
    if not sound:
        raise StoreDamaged(
            "the configuration or a plan is not the one that the store was made with: put back a "
            "backup, or make a new store for a new configuration"
        )
    return facts


def _facts_of(meta: Mapping[Any, Any], rows: Iterable[Row], growth: Growth) -> Facts:
    """Facts of what the tables `meta` and `streams` and those of streams that came later say.

    KeyError, TypeError, ValueError or AttributeError where they are damaged.
    """
    return Facts(
        instance=meta["instance"].decode(),
        salt=meta["salt"],
        fingerprint=meta["fingerprint"],
        configuration=meta["configuration"],
        streams={
            name: StreamFacts(
                *(identity, plan, start, is_of_users(plan)),
                *(growth.configurations.get(identity), growth.closings.get(identity)),
            )
            for name, identity, plan, start in rows
        },
        lost=growth.lost,
    )


def _nobodys(name: str, number: int, move: Move) -> str:
    """Why nobody may use what is in a database."""
    if number >= FORMATS_MOVED:
        return (
            f"the store in {name} was moved to {move.target}: use it there; what is left here is "
            "used by nobody"
        )
    return (
        f"{name} is the unfinished copy of the store in {move.source}: say littled copy again, as "
        "before; until that is done it is used by nobody"
    )


def read_move(connection: Connection) -> Move:
    """Where a store comes from or was moved to, which nobody may use. StoreDamaged."""
    rows = connection.execute(_MOVE).fetchall()
    try:
        return Move.from_bytes(rows[0][0])
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise StoreDamaged(
            "the database does not say where its store was moved to: put back a backup"
        ) from error


def put_move(connection: Connection, move: Move, number: int) -> None:
    """Say inside a transaction that nobody may use this. number: the format that says so."""
    connection.execute(_FORGET_MOVE)
    connection.execute(_PUT_MOVE, (move.to_bytes(),))
    connection.put_format(number)


def begin_arriving(connection: Connection, move: Move, number: int) -> None:
    """Make the one table, in a new place, that says that a copy is on its way, in a transaction.

    number: the format of the store.
    """
    connection.execute(META)
    put_move(connection, move, FORMATS_ARRIVING + number)


def forget_move(connection: Connection) -> None:
    """Let everybody use a copy, inside a transaction."""
    connection.execute(_FORGET_MOVE)
    connection.put_format(connection.format() % FORMATS_ARRIVING)


def make_tables_like(connection: Connection, names: Set[str], *, of_users: bool) -> None:
    """Make the tables of another store inside a transaction, all but `meta`, which is there.

    names: its tables. of_users: whether one of its streams protects users. Tables that are there
    already are made anew, without rows.
    """
    for name in connection.tables() & TABLES_KNOWN.keys() - {"meta"}:
        connection.execute(f"DROP TABLE {name}")
    connection.execute(TABLES)
    if of_users:
        connection.execute(USERS)
    for name, statement in _MADE_LATER.items():
        if name in names:
            connection.execute(statement)
    if "closings" in names:
        make_tables(connection)


def is_of_users(plan: bytes) -> bool:
    """Whether a plan, JSON, protects users. ValueError or AttributeError for what is no plan."""
    unit: object = json.loads(plan).get("unit")
    return unit == "user"


def is_of_gdp(plan: bytes) -> bool:
    """Whether the caps of a plan, JSON, have a part of Gaussian differential privacy.

    ValueError, TypeError or AttributeError for what is no plan.
    """
    return b'"gaussian"' in plan and "gaussian" in json.loads(plan).get("caps", {})


def plan_of(facts: Facts, stream: str) -> dict[str, Any]:
    """The plan of a stream. KeyError: no such stream; StoreDamaged."""
    try:
        plan = json.loads(facts.streams[stream].plan)
    except ValueError as error:
        raise StoreDamaged(f"the plan of {stream} cannot be read: put back a backup") from error
    if not isinstance(plan, dict):
        raise StoreDamaged(f"the plan of {stream} is no plan: put back a backup")
    return plan


def plans_of(facts: Facts) -> dict[str, dict[str, Any]]:
    """The plan of each stream. StoreDamaged."""
    return {stream: plan_of(facts, stream) for stream in facts.streams}


KnownPlans = Callable[[str, Mapping[str, Mapping[str, Any]]], None]
"""Given what messages call the store, and each stream's plan: StoreRefused for what is not known.

A store does not know all that plans say of learners, as whoever runs these does.
"""


def all_known(store: str, plans: Mapping[str, Mapping[str, Any]]) -> None:
    """Take all plans as known."""


def glance(database: Database, known: KnownPlans = all_known) -> Facts | None:
    """What never changes, read before anything is written or anybody is put off.

    None for what is damaged, or was moved: whoever reads it next says so. known: is asked about all
    plans. Raises StoreRefused for a store of a newer version, and leaves it as it is, byte for
    byte; StoreFailed.
    """
    with closing(database.glances()) as readers, suppress(StoreDamaged):
        with readers.lend() as connection:
            is_nobodys = connection.format() >= FORMATS_ARRIVING
        return None if is_nobodys else read_known(readers, database.name, known)
    return None


def read_known(
    readers: Readers, store: str, known: KnownPlans = all_known, seen: Facts | None = None
) -> Facts:
    """The same as `read_facts`, also StoreRefused for plans that only a newer version knows.

    store: what messages call the store. known: is asked about all plans. seen: what was found
    before, which is known to this version.
    """
    facts = read_facts(readers)
    if facts != seen:
        plans = plans_of(facts)
        for stream, plan in plans.items():
            _refuse_newer(store, stream, plan)
        known(store, plans)
    return facts


def _refuse_newer(store: str, stream: str, plan: Mapping[str, Any]) -> None:
    """StoreRefused for a stream whose learners have what only a newer version knows."""
    for name, learner in plan.get("learners", {}).items():
        for unknown in (*_unknown_class(learner), *unknown_parameters(learner)):
            raise StoreRefused(
                f"the store in {store} was written by a newer version: learner {name} of {stream} "
                f"has {unknown}, which this version does not know; use the version that wrote it"
            )


def _unknown_class(learner: Mapping[str, Any]) -> list[str]:
    """A learner's class of rules, "the class novel", where this version has no such class."""
    name = learner.get("hypotheses", {}).get("class")
    return [f"the class {name}"] if isinstance(name, str) and name not in CLASSES else []


def answer_windows(stream: str, plan: Mapping[str, Any]) -> dict[str, AnswerWindows]:
    """The windows of each learner of a stream that answers requests, by the learner's name.

    StoreRefused for a learner of an unknown kind: nobody knows what it needs of a store.
    """
    found = {}
    for name, learner in plan.get("learners", {}).items():
        try:
            windows = AnswerWindows.of(learner)
        except ChargesUnknown as error:
            raise StoreRefused(f"learner {name} of {stream}: {error}") from error
        if windows is not None:
            found[name] = windows
    return found


def has_predictions(connection: Connection) -> bool:
    """Whether the database has the table of predictions; only stores made before it lack it."""
    return connection.has_table("predictions_of_window")


def has_restores(connection: Connection) -> bool:
    """Whether the store went on from an older copy of itself at some time."""
    return connection.has_table("restores")


def has_checksums(connection: Connection) -> bool:
    """Whether there is a table for checksums of producers."""
    return connection.has_table(CHECKSUMS)


def add_checksums(connection: Connection) -> None:
    """Add a table for checksums of producers, inside a transaction, where there is none."""
    connection.execute(_CHECKSUMS)


def has_places(connection: Connection) -> bool:
    """Whether there is a table for places of producers' sources; once there, it stays."""
    return connection.has_table(PLACES)


def add_places(connection: Connection) -> None:
    """Add a table for places of sources, inside a transaction, where there is none."""
    connection.execute(_PLACES)


def add_restores(connection: Connection, keys: Iterable[int]) -> None:
    """Note the keys of records that are restores, inside a transaction."""
    connection.execute(_RESTORES)
    connection.executemany("INSERT INTO restores VALUES (?)", [(key,) for key in keys])


def has_segments(connection: Connection) -> bool:
    """Whether any records were packed; once so, it stays."""
    return connection.has_table("segments")


def begin_packing(connection: Connection, facts: Facts) -> None:
    """Make room for segments inside a transaction, unless there is; older versions then refuse."""
    if not has_segments(connection):
        connection.execute(_SEGMENTS)
        _put_format(connection, facts, of_blake3=_is_of_blake3(connection))


def begin_growing(connection: Connection, facts: Facts, *, users: bool = False) -> None:
    """Make room for streams that come or are closed, inside a transaction, unless there is.

    facts: with them. users: whether the first that protects users is among them.
    """
    of_blake3 = _is_of_blake3(connection)
    if not has_growth(connection):
        make_tables(connection)
    if users:
        connection.execute(USERS)
    _put_format(connection, facts, of_blake3=of_blake3)


def format_number(
    *,
    packed: bool,
    of_users: bool,
    beside: bool,
    of_blake3: bool,
    grown: bool = False,
    of_gdp: bool = False,
    of_tail: bool = False,
) -> int:
    """The format of a store's file."""
    number = FORMAT_OF_USERS if of_users else FORMAT
    if packed:
        number = FORMAT_PACKED_OF_USERS if of_users else FORMAT_PACKED
    if grown:
        number += FORMATS_GROWN
    if of_gdp:
        number += FORMATS_GDP
    if of_tail:
        number += FORMATS_TAIL
    if not beside:
        return number
    return number + (FORMATS_BLAKE3 if of_blake3 else FORMATS_BESIDE)


def _put_format(connection: Connection, facts: Facts, *, of_blake3: bool) -> None:
    number = format_number(
        packed=has_segments(connection),
        of_users=facts.of_users,
        beside=has_beside(connection),
        of_blake3=of_blake3,
        grown=has_growth(connection),
        of_gdp=facts.of_gdp,
        of_tail=says_tail(connection.format()),
    )
    connection.put_format(number)


def says_tail(number: int) -> bool:
    """Whether records may stand ahead of a database with this format."""
    return number > FORMATS_TAIL


def _is_of_blake3(connection: Connection) -> bool:
    """Whether columns beside the database are in the chain by their BLAKE3; once so, it stays."""
    return _says_blake3(connection.format())


def _says_blake3(number: int) -> bool:
    """The same, by the number of a format."""
    number -= FORMATS_TAIL if says_tail(number) else 0
    number -= FORMATS_GDP if number > FORMATS_GDP else 0
    return number - (FORMATS_GROWN if number > FORMATS_GROWN else 0) > FORMATS_BLAKE3


def has_beside(connection: Connection) -> bool:
    """Whether columns of any records were put beside the database; once so, it stays."""
    return connection.has_table("beside")


def begin_beside(connection: Connection, facts: Facts) -> None:
    """Make room for places of columns inside a transaction, unless there is; see above."""
    if _is_of_blake3(connection):
        return
    if not has_beside(connection):
        connection.execute(_BESIDE)
    _put_format(connection, facts, of_blake3=True)


def has_archived(connection: Connection) -> bool:
    """Whether any records were moved into an archive; once so, it stays."""
    return connection.has_table("archived")


def begin_archiving(connection: Connection, facts: Facts) -> None:
    """Make room for what is kept of archived records, inside a transaction, unless there is."""
    begin_packing(connection, facts)
    if not has_archived(connection):
        connection.execute(_ARCHIVED)
