"""Moving a store from one place to another, with its chain; of the two only one is ever usable.

    1. the source is locked, and verified with its high-water mark
    2. the target is made, noted as an unfinished copy that nobody may use
    3. every row is copied, and compared with the source byte for byte
    4. the source is noted as moved away: nobody may use it any more, ever
    5. the target's mark is made; then the source's is buried under one that no store passes
    6. the target is let go of, and may be used

Each step is durable before the next begins. Killed before 4, the source is as it was; killed after
it, neither is usable. The same done again goes on from wherever it was, and looks at everything
again. Why there is never a second branch: PRIVACY.md, "Moving a store".
"""

import hmac
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

from littled.store.contents import contents, difference, fill
from littled.store.creation import undone_on_failure
from littled.store.database import (
    FORMATS_ARRIVING,
    FORMATS_MOVED,
    Connection,
    Database,
    Facts,
    KnownPlans,
    Readers,
    Undo,
    Writing,
    all_known,
    begin_arriving,
    forget_move,
    put_move,
    read_facts,
    read_move,
)
from littled.store.errors import StoreDamaged, StoreError, StoreFailed, StoreRefused
from littled.store.files import create_private, sync_folder
from littled.store.history import History
from littled.store.keys import check_fingerprint, key_text, read_key
from littled.store.mark import HighWaterMark
from littled.store.moves import Move
from littled.store.place import MarkFile, Place, is_url
from littled.store.register import Register, Revision, current
from littled.store.registers import open_register, silent
from littled.store.store import Store
from littled.store.verify import verify

Progress = Callable[[str, int], None]
"""Told what is being done, and how many bytes more of it are done."""


class Moving:
    """A store that is about to be moved; made by `open`, ended by leaving its context."""

    def __init__(
        self, source: Place, target: Place, key: bytes, opened: ExitStack, progress: Progress
    ) -> None:
        """Move from one place to another. opened: gets what has to be let go of in the end."""
        self._source, self._target = source, target
        self._key = key
        self._opened = opened
        self.progress = progress
        self._readers = source.database.readers()
        opened.callback(_close, self._readers)
        # Where the source was moved to already, if an earlier run has come so far.
        self.left = _noted(self._readers, FORMATS_MOVED)
        self.facts: Facts = read_facts(self._readers, moving=True)
        self.move = self.left or Move(
            self.facts.instance, name_of(source), name_of(target), mark_of(target)
        )
        self._register: Register = open_register(source, key)
        opened.callback(self._register.close)
        self._target_register: Register = open_register(target, key)
        opened.callback(self._target_register.close)
        self._mark: tuple[HighWaterMark, Revision] | None = None
        self._writing: Writing | None = None  # of the source, until it is given up

    @classmethod
    def open(
        cls,
        source: Place,
        target: Place,
        *,
        archive: Path | None = None,
        progress: Progress = lambda _, __: None,
        known: KnownPlans = all_known,
        waiting: Callable[[str], None] = silent,
    ) -> Self:
        """Look at both places; nothing is moved yet. The source is served once, as it were.

        archive: the folder with what was moved out of the source, to verify that as well. known: is
        asked before anything is written. Raises StoreRefused where the source is served, damaged,
        or behind its mark, or something is in the way; StoreFailed.
        """
        database = source.database
        if not database.exists():
            raise StoreRefused(f"there is no store in {source.name}: nothing is there to be copied")
        if name_of(source) == name_of(target):
            raise StoreRefused(
                f"{source.name} is named as both places: name another one to copy to"
            )
        with ExitStack() as opened:
            database.check()
            key = read_key(source.key, handed_over=source.key_given)
            with closing(database.glances()) as readers:
                left = _noted(readers, FORMATS_MOVED)
            if left is None:
                # It raises the mark to all that is stored, and puts off any other owner of it.
                Store.open(
                    *(source.path, source.key if source.key_given else None, source.mark),
                    waiting=waiting, known=known,
                ).close()  # fmt: skip
            opened.callback(database.lock().release)
            moving = cls(source, target, key, opened, progress)
            check_fingerprint(key, moving.facts.instance, moving.facts.fingerprint, source.key)
            moving._look(archive)
            moving._opened = opened.pop_all()
            return moving

    def __enter__(self) -> Self:
        """Use it in a `with` statement."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of both places."""
        self._opened.close()

    # -- looking -----------------------------------------------------------------------------

    def _look(self, archive: Path | None) -> None:
        """StoreRefused unless the source may be moved to the target, or the move be finished."""
        if "group" in json.loads(self.facts.configuration):
            raise StoreRefused(
                f"the store in {self._source.name} is a partition of a group, which would look for "
                "it and for its mark where they are now: stores of a group are not moved"
            )
        if self._register.moved_to() is None:
            self._mark = current(self._register)
            self._check_mark(self._mark[0])
        elif self.left is None:
            self._register.read()  # which says it
        target = self._target
        exists = target.database.exists()
        arriving = _arriving(target) if exists else None
        if self.left is not None:
            self._check_same(arriving if exists else None)
            return
        if exists and (arriving is None or arriving.instance != self.facts.instance):
            raise StoreRefused(
                f"{target.name} holds "
                + (
                    "a store already"
                    if arriving is None
                    else "the unfinished copy of another store"
                )
                + ": name an empty place to copy to"
            )
        if not self._target_register.empty():
            raise StoreRefused(
                f"there is something at {target.mark}, where the mark of the copy is to be: name "
                "another place for it; the mark that the store has now is never the copy's"
            )
        self._check_key()
        self.progress("verifying", 0)
        given = self._source.key if self._source.key_given else None
        report = verify(self._source.path, given, self._source.mark, archive=archive)
        if not report.sound:
            raise StoreRefused(
                f"the store in {self._source.name} is damaged: {report.findings[0]} (see littled "
                "verify)"
            )

    def _check_mark(self, mark: HighWaterMark) -> None:
        """StoreRefused unless the source is what its mark says, no more and no less."""
        history = History(self._readers, self.facts)
        findings = history.behind(mark)
        if findings:
            raise StoreRefused(
                f"the store in {self._source.name} is behind its high-water mark: {findings[0]}. "
                "Name the newest copy of it"
            )
        releases = {name: history.releases.end(name) for name in history.releases.learners()}
        streams = {
            name: replace(known, numbers=None)
            for name, known in mark.streams.items()
            if name in self.facts.streams
        }
        ends = {name: history.stream_mark(name) for name in self.facts.streams}
        if (streams, dict(mark.releases)) != (ends, releases):
            raise StoreRefused(
                f"another process has just used the store in {self._source.name}: say the same "
                "again when it is stopped"
            )

    def _check_same(self, arriving: Move | None) -> None:
        """StoreRefused unless this is the move that an earlier run has begun."""
        move, target = self.move, self._target
        if arriving is None and not self._has_arrived():
            raise StoreRefused(
                f"the store in {self._source.name} was moved to {move.target}, and is not in "
                f"{target.name}: name the place where it is"
            )
        if arriving is None:
            raise StoreRefused(
                f"the store in {self._source.name} was moved to {move.target} already: use it there"
            )
        if arriving != move or mark_of(target) != move.mark:
            raise StoreRefused(
                f"the store in {self._source.name} is on its way to {move.target}, with its mark "
                f"at {move.mark}: name these to finish that"
            )
        self._check_key()

    def _has_arrived(self) -> bool:
        """Whether the target holds this store, for everybody to use."""
        database = self._target.database
        if not database.exists():
            return False
        with closing(database.readers()) as readers:
            return read_facts(readers).instance == self.facts.instance

    def _check_key(self) -> None:
        """StoreRefused for another key in the place where the copy's is to be."""
        target = self._target
        if not target.key.exists():
            return
        found = read_key(target.key, handed_over=target.key_given)
        if not hmac.compare_digest(found, self._key):
            raise StoreRefused(
                f"the noise key {target.key} is another one than that of the store, which is "
                "copied with it: name a place where no key is"
            )

    # -- moving ------------------------------------------------------------------------------

    def finish(self) -> None:
        """Move the store; durable on return. Raises StoreError; then the same may be done again."""
        try:
            self._own()
            self._receive()
            self._leave()
            self._hand_over_the_mark()
            self._let_go()
        except OSError as error:
            place = error.filename or self._target.name
            raise StoreFailed(f"{self._unfinished}: {place}: {error.strerror}") from error
        except StoreFailed as error:
            raise type(error)(f"{self._unfinished}: {error}") from error

    @property
    def _unfinished(self) -> str:
        if self.left is not None:
            return f"the copy to {self._target.name} is not finished; say the same again"
        return (
            f"the copy to {self._target.name} was not made; the store in {self._source.name} is as "
            "it was, and the same may be said again"
        )

    def _own(self) -> None:
        """Own the source until it is given up: what another owner adds would be in no copy."""
        if self.left is None:
            self._writing = self._source.database.writing()
            self._opened.callback(_abandon, self._writing)

    def _receive(self) -> None:
        """Let the target hold what the source does, for nobody to use yet."""
        database = self._target.database
        if not database.exists():
            self._make()
        self._opened.callback(database.lock().release)
        self._bring_key()
        if _arriving(self._target) != self.move or self._difference() is not None:
            self._fill()
            table = self._difference()
            if table is not None:
                raise StoreDamaged(
                    f"{table} in {self._target.name} is not what was copied there: the store in "
                    f"{self._source.name} is as it was; see what else writes there"
                )
        database.sync_names()

    def _make(self) -> None:
        """Make the place, and nothing in it but whose unfinished copy it is."""
        database = self._target.database
        with contents(self._readers, self.facts) as source:
            number = source.format
        made: list[Undo] = []

        def write(connection: Connection) -> None:
            begin_arriving(connection, self.move, number)

        with undone_on_failure(made):
            named = database.prepare(made)
            with database.creating(write, made):
                pass
            for folder in named:
                sync_folder(folder)

    def _bring_key(self) -> None:
        self._check_key()
        key = self._target.key
        if not key.exists():
            create_private(key, key_text(self._key))
            sync_folder(key.parent)

    def _fill(self) -> None:
        with (
            _writing(self._target.database) as writing,
            contents(self._readers, self.facts) as source,
        ):
            fill(source, writing, self.move, lambda done: self.progress("copying", done))

    def _difference(self) -> str | None:
        """The first table that is not the same in both places, None if all are."""
        with closing(self._target.database.readers()) as readers:
            try:
                facts = read_facts(readers, moving=True)
            except StoreError:
                return "meta"  # it was only begun
            with (
                contents(self._readers, self.facts) as source,
                contents(readers, facts) as target,
            ):
                return difference(source, target, lambda done: self.progress("comparing", done))

    def _leave(self) -> None:
        """Let the source be used by nobody any more."""
        if self.left is not None:
            return
        # The last connection to a file leaves no log behind in which alone it would say so.
        _close(self._readers)
        assert self._writing is not None, "the source is not owned"
        with self._writing.transaction() as connection:
            put_move(connection, self.move, FORMATS_MOVED + connection.format())
        self._writing.close()
        self.left = self.move

    def _hand_over_the_mark(self) -> None:
        """Make the target's mark, and then bury the source's."""
        register = self._target_register
        if self._mark is not None:
            mark, revision = self._mark
            if register.empty():
                register.create(mark)
            found = current(register)[0]
            if found != mark:
                raise StoreRefused(
                    f"the high-water mark {self._target.mark} is not that of the copy: see what "
                    "else writes there"
                )
            self._register.bury(self.move.target, revision)
            self._mark = None
        elif current(register)[0].instance != self.facts.instance:
            raise StoreRefused(
                f"the high-water mark {self._target.mark} belongs to another store: put back that "
                "of the copy"
            )

    def _let_go(self) -> None:
        """Let everybody use the target."""
        with _writing(self._target.database) as writing, writing.transaction() as connection:
            forget_move(connection)


def name_of(place: Place) -> str:
    """What a place is called wherever somebody may stand."""
    return str(place.path) if is_url(place.path) else str(Path(place.path).resolve())


def mark_of(place: Place) -> str:
    """The same of the place of a mark."""
    mark = place.mark
    return str(mark.path.resolve()) if isinstance(mark, MarkFile) else str(mark)


def _noted(readers: Readers, least: int) -> Move | None:
    """The move that a database notes with a format of at least so much; None for a usual store."""
    with readers.reading() as connection:
        return read_move(connection) if connection.format() >= least else None


def _arriving(place: Place) -> Move | None:
    """Whose unfinished copy is in a place, None where it is none. StoreRefused; StoreFailed."""
    place.database.check()
    with closing(place.database.readers()) as readers, readers.reading() as connection:
        unfinished = FORMATS_ARRIVING <= connection.format() < FORMATS_MOVED
        return read_move(connection) if unfinished else None


@contextmanager
def _writing(database: Database) -> Iterator[Writing]:
    """A database for a while, to write in it. Raises StoreError."""
    writing = database.writing()
    try:
        yield writing
    except BaseException:
        _abandon(writing)
        raise
    writing.close()


def _abandon(writing: Writing) -> None:
    with suppress(StoreError):
        writing.close(failed=True)


def _close(readers: Readers) -> None:
    with suppress(StoreError):
        readers.close()
