"""Reading the releases of a learner, each checked against its chain.

A learner is named "stream/learner".
"""

from collections.abc import Iterator
from struct import error as struct_error
from typing import Any

from littled.store.database import Connection, Facts, Row
from littled.store.errors import StoreDamaged
from littled.store.mark import Point
from littled.store.records import StoredRelease, release_genesis, release_head
from littled.store.restores import Restores
from littled.store.rows import END, Rows, head_of, integer_of, text_of

_RELEASES = """
SELECT version, body, charge, head, length(body) FROM releases
WHERE learner = ? AND version > ? AND version <= ? ORDER BY version
"""
_RELEASE_UP_TO = """
SELECT version, head FROM releases WHERE learner = ? AND version <= ? ORDER BY version DESC LIMIT 1
"""
_LAST_RELEASE = "SELECT max(version) FROM releases WHERE learner = ?"
_LAST_RELEASES = "SELECT learner, max(version) FROM releases GROUP BY learner"
_LEARNERS = "SELECT DISTINCT learner FROM releases ORDER BY learner"


class Releases:
    """The releases of a store's learners, for any thread."""

    def __init__(self, rows: Rows, facts: Facts, restores: Restores) -> None:
        """Read through `rows` what belongs to `facts`; `restores` say which versions were lost."""
        self._rows = rows
        self._facts = facts
        self._restores = restores

    def learners(self) -> list[str]:
        """Learners with at least one release."""
        return [text_of(row[0]) for row in self._rows.all(_LEARNERS, ())]

    def of(self, learner: str, since: int = 0, last: int | None = None) -> Iterator[StoredRelease]:
        """Releases of a learner after version `since`, to `last` or as far as there are any.

        Raises StoreDamaged where the chain breaks; KeyError: no such stream.
        """
        version, head = self._before(learner, since)
        end = END if last is None else last
        left_out = self._restores.versions_left_out(learner)
        while rows := self._rows.piece(_RELEASES, (learner, max(version, since), end)):
            for row in rows:
                jumps = isinstance(row[0], int) and row[0] - 1 in left_out
                version = max(row[0], version + 1) if jumps else version + 1
                release, head = _release(learner, version, head, row)
                yield release

    def point(self, learner: str, version: int) -> bytes | None:
        """Stored head after a release; None without it."""
        found, head = self._before(learner, version)
        return head if found == max(version, 0) else None

    def last(self, learner: str) -> int:
        """Version of a learner's last release, 0 before the first."""
        found = self._rows.one(_LAST_RELEASE, (learner,))
        return 0 if found is None or found[0] is None else integer_of(found[0], learner)

    def last_versions_in(self, connection: Connection) -> list[tuple[Any, Any]]:
        """Each learner and its last version, by what a connection sees. Nothing is checked."""
        rows: list[Any] = connection.execute(_LAST_RELEASES).fetchall()
        return rows

    def end(self, learner: str) -> Point:
        """How far a learner's releases have come."""
        version = self.last(learner)
        head = self.point(learner, version)
        if head is None:
            raise StoreDamaged(f"the releases of {learner} break off: put back a backup")
        return Point(version, head)

    def _before(self, learner: str, version: int) -> tuple[int, bytes]:
        """Version and stored head of the last release up to this version; 0 and its genesis.

        A subscriber may ask for what follows a version that a restore has left out.
        """
        stream = learner.partition("/")[0]
        found = self._rows.one(_RELEASE_UP_TO, (learner, version))
        if found is None:
            return 0, release_genesis(self._facts.streams[stream].genesis, learner)
        return integer_of(found[0], learner), head_of(found[1], stream)


def _release(learner: str, version: int, head: bytes, row: Row) -> tuple[StoredRelease, bytes]:
    """The release of a row and its head, if it is the one that continues the chain."""
    found, body, charge, stored, _ = row
    release = StoredRelease(learner, version, body, charge)
    try:
        sound = found == version and stored == release_head(head, release)
    except (TypeError, struct_error):
        sound = False
    if not sound:
        raise StoreDamaged(
            f"the releases of {learner} are damaged at version {version}: put back a backup"
        )
    return release, stored
