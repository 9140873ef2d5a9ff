"""Reading the ledger of a stream: what was charged, each entry checked against its chain."""

from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from littled.budget.ledger import LedgerEntry
from littled.budget.price import Price
from littled.store.database import Connection, Facts, Row
from littled.store.errors import StoreDamaged
from littled.store.mark import Point
from littled.store.records import ledger_genesis, ledger_head
from littled.store.rows import END, Rows, head_of, integer_of

_ENTRIES = """
SELECT number, entry, head, length(entry) FROM ledger
WHERE stream = ? AND number > ? AND number <= ? ORDER BY number
"""
# An entry for answers ends with its window, which no other entry has (`LedgerEntry.to_bytes`).
_OWN_ENTRIES = """
SELECT number, entry, head, length(entry) FROM ledger
WHERE stream = ?1 AND number < ?2 AND instr(substr(entry, length(entry) - 30), ?3) = 0
ORDER BY number DESC
"""
_LAST_OWN_ENTRY = f"{_OWN_ENTRIES} LIMIT 1"
_WINDOW = b',"window":'
_HEAD = "SELECT head FROM ledger WHERE stream = ? AND number = ?"
_LAST_ENTRY = "SELECT max(number) FROM ledger WHERE stream = ?"


class Ledger:
    """The ledgers of a store's streams, for any thread."""

    def __init__(self, rows: Rows, facts: Facts) -> None:
        """Read through `rows` what belongs to `facts`."""
        self._rows = rows
        self._facts = facts
        self._summed: dict[str, tuple[int, Price, Point]] = {}

    def entries(
        self, stream: str, after: int = -1, last: int | None = None
    ) -> Iterator[LedgerEntry]:
        """Entries of a stream after number `after`, to number `last` or as far as there are any.

        Raises StoreDamaged where the chain breaks; KeyError: no such stream.
        """
        start = self.point(stream, after)
        if start is None:
            return
        number, head = after, start
        identity, end = self._facts.streams[stream].identity, END if last is None else last
        while rows := self._rows.piece(_ENTRIES, (identity, number, end)):
            for row in rows:
                number += 1
                entry, head = _entry(stream, number, head, row)
                yield entry

    def point(self, stream: str, number: int) -> bytes | None:
        """Stored head after an entry; None without the entry."""
        facts = self._facts.streams[stream]
        if number < 0:
            return ledger_genesis(facts.genesis)
        found = self._rows.one(_HEAD, (facts.identity, number))
        return None if found is None else head_of(found[0], stream)

    def last_in(self, connection: Connection, stream: str) -> int:
        """Number of the last entry by what a connection sees, -1 before the first."""
        values = (self._facts.streams[stream].identity,)
        found = connection.execute(_LAST_ENTRY, values).fetchall()[0][0]
        return found if isinstance(found, int) else -1

    def season_spent(self, stream: str, season: int | None = None) -> tuple[int, Price, Point]:
        """A season (None: the last), the sum of its prices, and the ledger's last place.

        Answers do not count, as their season has paid for them. Each entry that counts is checked
        against the head before it, and so is the last one.
        """
        identity = self._facts.streams[stream].identity
        last = self._last(stream)
        if len(list(self.entries(stream, last - 1, last))) != min(last + 1, 1):
            raise StoreDamaged(f"the ledger of {stream} has a gap: put back a backup")
        # A season has few different prices, whose sums of fractions take a while.
        prices: Counter[Price] = Counter()
        end, more = last + 1, True
        newest: int | None = None
        while more and (rows := self._rows.piece(_OWN_ENTRIES, (identity, end, _WINDOW))):
            for row, before in zip_longest(rows, rows[1:]):
                end, entry = row[0], self._own_entry(stream, row, before)
                newest = entry.season if newest is None else newest
                season = newest if season is None else season
                more = entry.season >= season
                if entry.season == season:
                    prices[entry.price] += 1
        head = self.point(stream, last)
        if head is None:
            raise StoreDamaged(f"the ledger of {stream} breaks off: put back a backup")
        spent = sum((price * count for price, count in prices.items()), start=Price.zero())
        found = season or 0, spent, Point(last, head)
        if newest == season:
            self._summed[stream] = found
        return found

    def last_own(self, stream: str) -> LedgerEntry | None:
        """The last entry that is not for answers, checked against the head before it."""
        ends = self._facts.streams[stream].identity, self._last(stream) + 1, _WINDOW
        row = self._rows.one(_LAST_OWN_ENTRY, ends)
        return None if row is None else self._own_entry(stream, row, None)

    def last_season_spent(self, stream: str) -> tuple[int, Price, Point]:
        """The last season's spend, which who opens a store has asked for a moment ago.

        It is summed again unless the ledger ends where it ended then, and always the next time.
        """
        found = self._summed.pop(stream, None)
        if found is None or found[2] != self._end(stream):
            found = self.season_spent(stream)
            self._summed.pop(stream, None)
        return found

    def _end(self, stream: str) -> Point:
        last = self._last(stream)
        return Point(last, self.point(stream, last) or b"")

    def _last(self, stream: str) -> int:
        with self._rows.lend() as connection:
            return self.last_in(connection, stream)

    def _own_entry(self, stream: str, row: Row, before: Row | None) -> LedgerEntry:
        """The entry of a row, checked against the head before it.

        before: the row of another entry, which mostly is the one before.
        """
        number = integer_of(row[0], stream)
        if before is not None and before[0] == number - 1:
            head: bytes | None = head_of(before[2], stream)
        else:
            head = self.point(stream, number - 1)
        if head is None:
            raise StoreDamaged(f"the ledger of {stream} has a gap: put back a backup")
        return _entry(stream, number, head, row)[0]


def _entry(stream: str, number: int, head: bytes, row: Row) -> tuple[LedgerEntry, bytes]:
    """The entry of a row and its head, if it is the one that continues the chain."""
    found, data, stored, _ = row
    entry = _parsed(stream, number, data)
    if found != number or stored != ledger_head(head, data):
        raise StoreDamaged(
            f"the ledger of {stream} is damaged at entry {number}: put back a backup"
        )
    return entry, stored


def _parsed(stream: str, number: int, data: Any) -> LedgerEntry:
    try:
        entry = LedgerEntry.from_bytes(data)
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as error:
        raise StoreDamaged(
            f"the ledger of {stream} cannot be read at entry {number}: put back a backup"
        ) from error
    if entry.stream != stream or entry.number != number:
        raise StoreDamaged(f"entry {number} of the ledger of {stream} belongs elsewhere")
    return entry
