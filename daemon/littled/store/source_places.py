"""Places of producers' sources: up to where of a broker's log examples are durable.

A place is some bytes that mean something to the producer alone. It is stored in the transaction of
the examples before it, and only there: whoever goes on from it neither leaves a message out nor has
one learned twice. It is no part of the journal's chain, which says nothing of where examples came
from; a checksum shows damage, and a place beyond the producer's examples is damage too.
"""

from collections.abc import Sequence
from hashlib import blake2b
from struct import Struct
from typing import Any

from littled.store.database import Connection, add_places
from littled.store.errors import StoreDamaged
from littled.store.records import SourcePlace
from littled_protocol.limits import resume_bytes_max

_PUT = """
INSERT INTO producer_places VALUES (?, ?, ?, ?) ON CONFLICT (producer)
DO UPDATE SET sequence = excluded.sequence, resume = excluded.resume, checksum = excluded.checksum
"""
# Number of examples; bytes of the stream's name and of the producer's.
_START = Struct(">QQQ")

Row = tuple[Any, ...]


def checksum(stream: str, producer: str, place: SourcePlace) -> bytes:
    """Checksum of a place, bound to whose it is."""
    names = stream.encode(), producer.encode()
    start = _START.pack(place.sequence, *map(len, names))
    text = start + b"".join(names) + place.resume
    return blake2b(text, digest_size=16, person=b"littled place").digest()


def place_row(identity: int, stream: str, producer: str, place: SourcePlace) -> Row:
    """Row of the table for the producer with this identity."""
    return identity, place.sequence, place.resume, checksum(stream, producer, place)


def put_places(connection: Connection, rows: Sequence[Row]) -> None:
    """Store rows of places inside the transaction of their examples; none changes nothing."""
    if rows:
        add_places(connection)
        connection.executemany(_PUT, rows)


def place_of(stream: str, producer: str, row: Sequence[Any]) -> SourcePlace:
    """The place of a row: number, place, checksum, and the producer's next number.

    Raises StoreDamaged unless it is as it was stored, and within what the producer has fed.
    """
    sequence, resume, stored, following = row
    try:
        place = SourcePlace(sequence, resume)
        sound = (
            0 < sequence <= following
            and len(resume) <= resume_bytes_max
            and checksum(stream, producer, place) == stored
        )
    except (TypeError, ValueError, ArithmeticError, AttributeError):
        sound = False
    if not sound:
        raise StoreDamaged(
            f"the place that {producer} has reached in its source is damaged, or is not one of "
            f"{stream}: put back a backup"
        )
    return place
