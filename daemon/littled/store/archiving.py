"""Which records may be moved into an archive, and what the store keeps of them.

Only what lies behind the oldest snapshot that is kept may go, and nothing of a window from which a
learner still answers: a daemon that serves the store never needs the rest. Restores stay where they
are as well, as every start reads them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from littled.limits import ARCHIVE_FILE_BYTES
from littled.store.archive import Archive, Piece, Stretch
from littled.store.database import (
    Connection,
    Facts,
    answer_windows,
    begin_archiving,
    has_beside,
    record_key,
)
from littled.store.errors import StoreDamaged
from littled.store.history import History
from littled.store.segments import Loose

_INSERT = "INSERT INTO archived VALUES (?, ?, ?, ?, ?, ?, ?)"
_INSERT_POINT = "INSERT INTO archived_points VALUES (?, ?, ?, ?)"
_DELETE_SEGMENTS = "DELETE FROM segments WHERE key >= ? AND key <= ?"
_DELETE_RECORDS = "DELETE FROM records WHERE key >= ? AND key <= ? AND count > 0"
_DELETE_BESIDE = "DELETE FROM beside WHERE key >= ? AND key <= ?"


@dataclass(frozen=True, slots=True)
class Moved:
    """What a transaction replaces: records that are in a file now.

    points: number, first position, the position that follows, and head of each record that
    something in the store names. segments, rows: how many hold the records.
    """

    stretch: Stretch
    points: tuple[tuple[int, int, int, bytes], ...]
    segments: int
    rows: int


class Archiving:
    """Moves the beginnings of a store's journals into files, one file at a time."""

    def __init__(
        self, facts: Facts, history: History, plans: Mapping[str, Any], folder: Path
    ) -> None:
        """Write to `folder`, made if it is missing. StoreRefused."""
        self._facts = facts
        self._history = history
        self._plans = plans
        self._archive = Archive(folder, facts)
        self._archive.prepare()

    def next(self, stream: str) -> Moved | None:
        """Write the next file of a stream and read it back; None when nothing more may go.

        Raises StoreError; a file that was written then stays, and is used when tried again.
        """
        journal = self._history.journal
        pieces: list[Piece] = []
        size = 0
        for piece in journal.pieces(stream, self._limit(stream)):
            pieces.append(piece)
            columns = piece if isinstance(piece, Loose) else piece[0]
            size += len(columns.x) + len(columns.y) + len(columns.users)
            if size >= ARCHIVE_FILE_BYTES:
                break
        if not pieces:
            return None
        stretch = _stretch(stream, pieces)
        before = journal.record_point(stream, stretch.first - 1)
        if before is None:
            raise StoreDamaged(f"the journal of {stream} has a gap: put back a backup")
        written = self._archive.write(stretch, before[0], pieces)
        wanted = self._named(stream)
        points = tuple(
            (
                *(record.number, record.first_position),
                *(record.first_position + record.count, record.chain_head),
            )
            for record in self._archive.records(written, before[0])
            if record.number in wanted
        )
        rows = sum(isinstance(piece, Loose) and piece.examples > 0 for piece in pieces)
        loose = sum(isinstance(piece, Loose) for piece in pieces)
        return Moved(written, points, len(pieces) - loose, rows)

    def _limit(self, stream: str) -> int:
        """Number of the last record that nobody who serves the store will read again."""
        limit = self._history.snapshots.oldest(stream)
        position = self._history.stream_mark(stream).position
        plan = self._plans[stream]
        for windows in answer_windows(stream, plan).values():
            first = window_start(position, plan["horizon"], windows.size)
            holds = None if first is None else self._history.journal.record_at(stream, first)
            limit = min(limit, -1 if holds is None else holds - 1)
        return limit

    def _named(self, stream: str) -> set[int]:
        """Numbers of records that restores and answers of a stream name."""
        restores = {record.number - 1 for record, _ in self._history.restores.of(stream)}
        return restores | self._history.predictions.records_named(stream)


def put_moved(connection: Connection, facts: Facts, moved: Moved) -> None:
    """Put what is kept in the place of records that were moved, inside a transaction."""
    begin_archiving(connection, facts)
    stretch = moved.stretch
    identity = facts.streams[stretch.stream].identity
    ends = record_key(identity, stretch.first), record_key(identity, stretch.last)
    gone = []
    for statement in (_DELETE_SEGMENTS, _DELETE_RECORDS):
        connection.execute(statement, ends)
        gone.append(connection.changes())
    if has_beside(connection):
        connection.execute(_DELETE_BESIDE, ends)
    if gone != [moved.segments, moved.rows]:
        raise StoreDamaged(f"the journal of {stretch.stream} has changed while it was archived")
    connection.execute(
        _INSERT,
        (
            *(ends[0], stretch.last, stretch.first_position, stretch.end_position),
            *(stretch.examples, stretch.head, stretch.checksum),
        ),
    )
    points = [(record_key(identity, point[0]), *point[1:]) for point in moved.points]
    connection.executemany(_INSERT_POINT, points)


def window_start(position: int, horizon: int, size: int) -> int | None:
    """First position of the last full window in a stream of so many examples, None without one."""
    season, inside = divmod(position, horizon)
    full = season * (horizon // size) + inside // size
    if not full:
        return None
    season, inside = divmod(full - 1, horizon // size)
    return season * horizon + inside * size


def _stretch(stream: str, pieces: list[Piece]) -> Stretch:
    """What some pieces hold; without the checksum of their file."""
    parts = [piece if isinstance(piece, Loose) else piece[0] for piece in pieces]
    first, end = parts[0], parts[-1]
    return Stretch(
        stream=stream,
        first=first.number if isinstance(first, Loose) else first.first,
        last=end.number if isinstance(end, Loose) else end.last,
        first_position=first.first_position,
        end_position=end.first_position + end.examples,
        examples=sum(part.examples for part in parts),
        head=end.head,
        checksum=b"",
    )
