"""Streams that a store gets after it was made, streams that are closed, and streams that are lost.

A store that was made with few streams has one configuration, which the genesis of each stream
covers. A stream that is added has a configuration of its own, and its genesis covers that alone:
the chains of the others stay as they are. So have all streams of a store that was made with very
many, as one configuration of thousands of streams would be hashed thousands of times.

A stream is closed for ever: no example and no answer comes after the ends that are noted with it.
Whatever its journal leads to by then may still be charged and published, which is the same whenever
that happens. Only a restore may follow, and moves its end. Its name is not given to another stream:
the same examples fed under a second genesis would have a second budget.

A stream is lost when a store goes on from a copy that was made before it was added. Nothing is left
of it but its name and its genesis, which the high-water mark knows as those of a closed stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

# Each of the three is there or none is: the first stream that is added, closed or lost makes them.
_TABLES = """
CREATE TABLE configurations (
    stream INTEGER PRIMARY KEY REFERENCES streams, configuration BLOB NOT NULL
) STRICT;
CREATE TABLE closings (
    stream INTEGER PRIMARY KEY REFERENCES streams,
    record_number INTEGER NOT NULL, record_head BLOB NOT NULL,
    prediction_number INTEGER NOT NULL, prediction_head BLOB NOT NULL
) STRICT;
CREATE TABLE lost_streams (name TEXT PRIMARY KEY, genesis BLOB NOT NULL) STRICT, WITHOUT ROWID;
"""
_CONFIGURATIONS = "SELECT stream, configuration FROM configurations"
_CLOSINGS = "SELECT * FROM closings"
_LOST = "SELECT name, genesis FROM lost_streams"
_INSERT_STREAM = "INSERT INTO streams VALUES (?, ?, ?, ?)"
_INSERT_CONFIGURATION = "INSERT INTO configurations VALUES (?, ?)"
_FORGET_CLOSING = "DELETE FROM closings WHERE stream = ?"
_INSERT_CLOSING = "INSERT INTO closings VALUES (?, ?, ?, ?, ?)"
_INSERT_LOST = "INSERT INTO lost_streams VALUES (?, ?) ON CONFLICT (name) DO NOTHING"


class Connection(Protocol):
    """As much as is needed here of `littled.store.database.Connection`."""

    def execute(self, statements: str, values: tuple[Any, ...] = ..., /) -> Any:
        """Run a statement, or several without values."""

    def executemany(self, statement: str, rows: Iterable[tuple[Any, ...]], /) -> object:
        """Run a statement for each row."""

    def has_table(self, name: str) -> bool:
        """Whether there is such a table or index."""


@dataclass(frozen=True, slots=True)
class Closing:
    """Where a closed stream ends: number and head of its last record and of its last prediction.

    Numbers are -1 where there is none.
    """

    record: int
    record_head: bytes
    prediction: int
    prediction_head: bytes


@dataclass(frozen=True, slots=True)
class Growth:
    """What a store has of all this.

    configurations: JSON, by the identity of the stream. closings: likewise. lost: the genesis of
    each lost stream, by its name.
    """

    configurations: Mapping[int, bytes] = field(default_factory=dict)
    closings: Mapping[int, Closing] = field(default_factory=dict)
    lost: Mapping[str, bytes] = field(default_factory=dict)


def has_growth(connection: Connection) -> bool:
    """Whether any stream was ever added, closed or lost; once so, it stays."""
    return connection.has_table("closings")


def make_tables(connection: Connection) -> None:
    """Make room for all this inside a transaction, in a store that has none."""
    connection.execute(_TABLES)


def read_growth(connection: Connection) -> Growth:
    """All of it. TypeError for what is not as it was stored; what SQLite raises."""
    if not has_growth(connection):
        return Growth()
    configurations: dict[Any, Any] = dict(connection.execute(_CONFIGURATIONS).fetchall())
    lost: dict[Any, Any] = dict(connection.execute(_LOST).fetchall())
    closings = {}
    for stream, *ends in connection.execute(_CLOSINGS).fetchall():
        closings[stream] = Closing(*ends)
    return Growth(configurations, closings, lost)


def put_streams(
    connection: Connection, rows: Iterable[tuple[int, str, bytes, bytes, bytes | None]]
) -> None:
    """Add streams inside a transaction: identity, name, plan, genesis, and configuration if own."""
    for identity, name, plan, genesis, configuration in rows:
        connection.execute(_INSERT_STREAM, (identity, name, plan, genesis))
        if configuration is not None:
            connection.execute(_INSERT_CONFIGURATION, (identity, configuration))


def put_closing(connection: Connection, identity: int, closing: Closing) -> None:
    """Note inside a transaction where a stream ends."""
    ends = closing.record, closing.record_head, closing.prediction, closing.prediction_head
    connection.execute(_FORGET_CLOSING, (identity,))
    connection.execute(_INSERT_CLOSING, (identity, *ends))


def put_lost(connection: Connection, lost: Mapping[str, bytes]) -> None:
    """Note inside a transaction which streams are lost, by their names."""
    connection.executemany(_INSERT_LOST, lost.items())
