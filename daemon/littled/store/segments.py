"""Segments: consecutive records of a stream, packed column by column into one row.

A record in a row of its own takes about 80 bytes beside its columns, most of them for its head. A
segment keeps one head, that of its last record: the others follow from the record before it and
from the columns, and are computed again by whoever reads. So nothing in a segment can change
without the head at its end being another one.

A segment holds no restore, and every producer in it goes on without a gap: then positions and
sequence numbers follow from the first ones and from the counts. What does not fit into one stays in
rows, for ever if need be, and so do records whose columns stand beside the database: of these there
is little to pack.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from struct import error as struct_error
from typing import Any, Final, NamedTuple

import numpy as np

from littled.limits import (
    SEGMENT_BYTES_MAX,
    SEGMENT_RECORDS_MAX,
    SEGMENT_ROWS_OVERHEAD_MAX,
    STORE_PAGE_BYTES,
)
from littled.store.database import StreamFacts, record_key
from littled.store.errors import StoreDamaged
from littled.store.records import Record, record_head
from littled_protocol.limits import user_bytes

Row = tuple[Any, ...]
# Bytes of a record's row beside its columns: head, numbers, and what SQLite adds.
_ROW_BYTES: Final = 80
# Records of fewer bytes of columns always waste more than they may.
_SMALL_BYTES: Final = 512
# How SQLite divides a row among a leaf and pages of its own (its file format, "B-tree pages").
_IN_LEAF_MAX: Final = STORE_PAGE_BYTES - 35
_IN_LEAF_MIN: Final = (STORE_PAGE_BYTES - 12) * 32 // 255 - 23
_OVERFLOW_BYTES: Final = STORE_PAGE_BYTES - 4


class Loose(NamedTuple):
    """A record as its row says, not yet checked; made by the thousand. Private: x, y, users.

    identity: of its producer. head: after it.
    """

    number: int
    first_position: int
    examples: int
    sequence: int
    producer: str
    x: bytes
    y: bytes
    head: bytes
    users: bytes
    identity: int

    @property
    def stands_beside(self) -> bool:
        """Whether its columns, which are left out here, stand beside the database."""
        return self.examples > 0 and not self.x


@dataclass(frozen=True, slots=True)
class Segment:
    """A row of the table `segments`. Private: x, y, users.

    first: number of its first record. records, examples: how many. first_position: of its first
    example. head: after its last record. producers: identities of those that take part, ascending;
    sequences: the number of each one's first example; indices: which of them each record is from,
    empty where there is one; counts: examples of each record. These are columns of unsigned
    integers, low byte first, of 1, 2, 4 or 8 bytes each. x, y, users: those of all records.
    """

    first: int
    records: int
    first_position: int
    examples: int
    head: bytes
    producers: bytes
    sequences: bytes
    indices: bytes
    counts: bytes
    x: bytes
    y: bytes
    users: bytes

    @property
    def last(self) -> int:
        """Number of its last record."""
        return self.first + self.records - 1

    @property
    def end_position(self) -> int:
        """The position that follows its last example."""
        return self.first_position + self.examples

    def row(self, facts: StreamFacts) -> Row:
        """Its row, the key first."""
        return (
            *(record_key(facts.identity, self.first), self.records, self.first_position),
            *(self.examples, self.head, self.producers, self.sequences, self.indices, self.counts),
            *(self.x, self.y, self.users),
        )

    @classmethod
    def from_row(cls, stream: str, facts: StreamFacts, row: Row) -> "Segment":
        """What a row says. StoreDamaged where it cannot be a segment of the stream."""
        key, *values = row
        first = key - record_key(facts.identity, 0) if isinstance(key, int) else -1
        segment = cls(first, *values)
        numbers = (segment.records, segment.first_position, segment.examples)
        columns = values[3:]
        if (
            first < 0
            or not all(isinstance(number, int) and number >= 0 for number in numbers)
            or not all(isinstance(column, bytes) for column in columns)
            or not 0 < segment.records <= segment.examples
        ):
            raise damaged(stream, first)
        return segment

    def sources(self) -> list[int]:
        """Which of the producers each record is from; ValueError for a column that is none."""
        if not self.indices:
            return [0] * self.records
        found = _integers(self.indices, self.records)
        if not any(found):
            raise ValueError("the one producer has indices")
        return found

    def sizes(self) -> list[int]:
        """Examples of each record; ValueError for a column that is none."""
        return _integers(self.counts, self.records)

    def identities(self) -> list[int]:
        """Identities of the producers that take part; ValueError for a column that is none."""
        return _integers(self.producers, 1 + max(self.sources()))


def damaged(stream: str, number: int) -> StoreDamaged:
    """What is said of a segment that begins with a record."""
    return StoreDamaged(
        f"the journal of {stream} is damaged in the segment at record {number}: put back a backup"
    )


# --- packing --------------------------------------------------------------------------------------


def together(rows: Sequence[Loose]) -> list[Loose]:
    """The first of some consecutive records, as many as fit into one segment."""
    found: list[Loose] = []
    following: dict[int, int] = {}
    room, width = SEGMENT_BYTES_MAX, None
    for row in rows[:SEGMENT_RECORDS_MAX]:
        count, sequence = row.examples, row.sequence
        if not count or row.stands_beside or following.get(row.identity, sequence) != sequence:
            break
        own = len(row.x) / count
        room -= len(row.x) + len(row.y) + len(row.users)
        if width not in (None, own) or (found and room < 0):
            break
        found.append(row)
        width = own
        following[row.identity] = sequence + count
    return found


def worth_packing(rows: Sequence[Loose]) -> bool:
    """Whether records take much more of the file in rows of their own than their columns need."""
    sizes = [len(row.x) + len(row.y) + len(row.users) for row in rows]
    if sum(sizes) <= _SMALL_BYTES * len(sizes):
        return True
    return sum(map(row_bytes, sizes)) > SEGMENT_ROWS_OVERHEAD_MAX * sum(sizes)


def row_bytes(column_bytes: int) -> float:
    """Bytes of the file that a record with so many bytes of columns takes as a row."""
    length = column_bytes + _ROW_BYTES
    inside, pages = length, 0
    if length > _IN_LEAF_MAX:
        inside = _IN_LEAF_MIN + (length - _IN_LEAF_MIN) % _OVERFLOW_BYTES
        if inside > _IN_LEAF_MAX:
            inside = _IN_LEAF_MIN
        pages = -(-(length - inside) // _OVERFLOW_BYTES)
    return STORE_PAGE_BYTES * (pages + 1 / (STORE_PAGE_BYTES // inside))


def pack(rows: Sequence[Loose]) -> Segment:
    """The segment of some records that fit `together`, at least one."""
    firsts: dict[int, int] = {}
    for row in rows:
        firsts.setdefault(row.identity, row.sequence)
    identities = sorted(firsts)
    places = {identity: place for place, identity in enumerate(identities)}
    return Segment(
        first=rows[0].number,
        records=len(rows),
        first_position=rows[0].first_position,
        examples=sum([row.examples for row in rows]),
        head=rows[-1].head,
        producers=_column(identities),
        sequences=_column([firsts[identity] for identity in identities]),
        indices=_column([places[row.identity] for row in rows]) if len(firsts) > 1 else b"",
        counts=_column([row.examples for row in rows]),
        x=b"".join([row.x for row in rows]),
        y=b"".join([row.y for row in rows]),
        users=b"".join([row.users for row in rows]),
    )


def packed(stream: str, facts: StreamFacts, rows: Sequence[Loose], head: bytes) -> Segment:
    """The segment of some records that fit `together`, read back from the head before the first.

    Raises StoreDamaged where the records do not continue the chain, each with the head it has.
    """
    try:
        segment = pack(rows)
    except (ValueError, TypeError, OverflowError) as error:
        raise damaged(stream, rows[0].number) from error
    names = {row.identity: row.producer for row in rows}
    read = unpack(stream, facts, segment, names, head)
    found = [(record.number, record.chain_head) for record in read]
    if found != [(row.number, row.head) for row in rows]:
        raise damaged(stream, segment.first)
    return segment


# --- reading --------------------------------------------------------------------------------------


def unpack(
    stream: str, facts: StreamFacts, segment: Segment, names: Mapping[int, str], head: bytes
) -> list[Record]:
    """The records of a segment, each with its head, from the head before the first.

    names: of producers by identity. Raises StoreDamaged unless all of them lead to the head that
    the segment was stored with: nobody is given a record before that is known.
    """
    try:
        return _unpacked(stream, facts, segment, names, head)
    except (
        LookupError, ValueError, ArithmeticError, TypeError, AttributeError, struct_error
    ) as error:  # fmt: skip
        raise damaged(stream, segment.first) from error


def _unpacked(
    stream: str, facts: StreamFacts, segment: Segment, names: Mapping[int, str], head: bytes
) -> list[Record]:
    if not 0 < segment.records <= segment.examples:
        raise ValueError("there are fewer examples than records")
    identities = segment.identities()
    following = _integers(segment.sequences, len(identities))
    producers = [names[identity] for identity in identities]
    counts = segment.sizes()
    width, rest = divmod(len(segment.x), segment.examples)
    user_width = user_bytes if facts.of_users else 0
    lengths = sum(counts), len(segment.y), len(segment.users)
    expected = segment.examples, segment.examples, user_width * segment.examples
    if rest or not all(counts) or lengths != expected:
        raise ValueError("the columns have different lengths")
    x, y, users = segment.x, segment.y, segment.users
    records = []
    start, done = segment.first_position, 0
    for number, index, count in zip(
        range(segment.first, segment.last + 1), segment.sources(), counts, strict=True
    ):
        end = done + count
        name, sequence, position = producers[index], following[index], start + done
        columns = (
            x[width * done : width * end],
            y[done:end],
            users[user_width * done : user_width * end],
        )
        head = record_head(head, number, position, count, sequence, name, *columns)
        points, labels, of_users = columns
        records.append(
            Record(stream, number, position, name, sequence, count, points, labels, head, of_users)
        )
        following[index] = sequence + count
        done = end
    if head != segment.head:
        raise ValueError("the last head is another one")
    return records


# --- columns of integers --------------------------------------------------------------------------


def _column(values: Sequence[int]) -> bytes:
    """Unsigned integers, each of as few bytes as the largest needs."""
    largest = max(values)
    width = next(size for size in (1, 2, 4, 8) if largest < 1 << 8 * size)
    return np.array(values, dtype=f"<u{width}").tobytes()


def _integers(data: bytes, count: int) -> list[int]:
    """What `_column` made of `count` values; ValueError for anything else."""
    width, rest = divmod(len(data), count) if count > 0 else (0, 1)
    if rest or width not in (1, 2, 4, 8):
        raise ValueError("a column of integers has another length")
    values: list[int] = np.frombuffer(data, dtype=f"<u{width}").tolist()
    if _column(values) != data:
        raise ValueError("a column of integers has more bytes than it needs")
    return values
