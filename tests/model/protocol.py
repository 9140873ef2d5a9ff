"""The protocol between owners, a store in PostgreSQL and its mark in etcd, as states and steps.

Owners open the store, append examples, publish a release of what they have, and are paused (other
steps come first), killed, and put off. Servers wait for standbys, are restarted, fail over; waits
are cancelled; the store is copied and the copy served; the mark goes back to a backup. `steps` has
every step that may come next, whoever makes it, and what each would violate:

- *one chain*: of all releases ever shown each is of a journal that begins with that of the ones
  before it. Two that are not are two branches, each with a budget of its own;
- *nothing is lost*: what a producer was told is durable stays in the database that told it, unless
  a standby that lags was promoted;
- *nothing twice*: no database has two examples of one number.

What is left out makes the model weaker than the program, not stronger: there is no lock of the
server, and no primary key that would refuse a second record of one number (packed records have
none). Epochs are what PostgreSQL makes of `SELECT ... FOR SHARE` and `UPDATE`: a transaction waits
for the one that holds the row, also while that one waits for standbys.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

GUARDS = {
    "barrier": "whoever takes over waits until its own commit is on a standby before it reads",
    "epoch": "a transaction does nothing unless the store's epoch is its owner's",
    "warning": "a commit that succeeds with a warning is fatal",
    "unknown": "a commit of unknown outcome is not tried again",
    "behind": "a store that lacks what the mark has is refused",
    "swap": "the mark is replaced only by who owns it, if it is as it was left",
    "name": "the owner of the mark is compared by a name and not by a revision",
    "order": "the mark has a release before anybody is shown it",
    "look": "an owner shows no release that another one has stored",
    "tell": "an owner tells no producer of examples that another one has stored",
    "place": "the place of a source is stored in the transaction of its examples",
}
ALL = frozenset(GUARDS)

Example = tuple[int, int]
"""Its producer's number for it, and which opening of a store has cut it into a record."""
Journal = tuple[Example, ...]
Releases = tuple[Journal, ...]
"""Of each release the journal that it was drawn from."""
Item = tuple[str, object]


class Database(NamedTuple):
    """A server and its standbys.

    log: what was committed. sent: how much of it some standby has. waiting: the opening whose
    commit, the last one, waits for a standby and is not seen by others; 0 for none. life: how often
    its connections have broken.
    """

    log: tuple[Item, ...]
    sent: int
    waiting: int = 0
    life: int = 0


class Mark(NamedTuple):
    """The mark, and the counters of etcd. lost: restored under another name of the cluster.

    old: restored under the same name, which nobody can see.
    """

    journal: Journal = ()
    releases: Releases = ()
    owner: int = 0
    owner_revision: int = 0
    revision: int = 0
    counter: int = 0
    cluster: int = 0
    lost: bool = False
    old: bool = False


class Owner(NamedTuple):
    """A process: what it does next, where, and what it knows. opening: 0 before any."""

    state: str = "idle"
    opening: int = 0
    database: int = 0
    life: int = 0
    epoch: int = 0
    journal: Journal = ()
    releases: Releases = ()
    mark: Mark = Mark()


class Bounds(NamedTuple):
    """How much may happen in all: openings, commits and other moves of marks, and faults.

    kinds: the faults that may happen, each by a word of its name; all where there is none.
    """

    openings: int = 3
    commits: int = 4
    faults: int = 2
    kinds: tuple[str, ...] = ()


class State(NamedTuple):
    """Everything at one moment. told: by database, examples that a producer takes for durable.

    promised: the longest releases that a mark ever had. used: of each of `Bounds` so far.
    """

    databases: tuple[Database, ...] = (Database((), 0),)
    mark: Mark = Mark()
    owners: tuple[Owner, ...] = (Owner(), Owner())
    shown: frozenset[Journal] = frozenset()
    told: frozenset[tuple[int, Example]] = frozenset()
    promised: Releases = ()
    backup: Mark | None = None
    used: Bounds = Bounds(0, 0, 0)


Step = tuple[str, State]
_WAITING = {"raising": "raised", "appending": "serving", "publishing": "published"}


@lru_cache(maxsize=1 << 16)
def journal_of(log: tuple[Item, ...]) -> Journal:
    """The examples of a log."""
    return tuple(what for kind, what in log if kind == "example")  # type: ignore[misc]


@lru_cache(maxsize=1 << 16)
def releases_of(log: tuple[Item, ...]) -> Releases:
    """The releases of a log."""
    return tuple(what for kind, what in log if kind == "release")  # type: ignore[misc]


@lru_cache(maxsize=1 << 16)
def epoch_of(log: tuple[Item, ...]) -> int:
    """How many owners a log has had."""
    return sum(kind == "epoch" for kind, _ in log)


def seen(database: Database) -> tuple[Item, ...]:
    """What other connections see of a database."""
    return database.log[:-1] if database.waiting else database.log


def has(journal: Journal, releases: Releases, mark: Mark) -> bool:
    """Whether a store has what a mark says."""
    return (
        journal[: len(mark.journal)] == mark.journal
        and releases[: len(mark.releases)] == mark.releases
    )


def wrong(state: State) -> str:
    """What is violated in a state; nothing in a sound one."""
    chains = sorted(state.shown, key=len)
    for one, other in pairwise(chains):
        if len(one) == len(other) or other[: len(one)] != one:
            return "two chains were shown"
    for number, example in state.told:
        if example not in journal_of(state.databases[number].log):
            return "an acknowledged example is lost"
    for database in state.databases:
        numbers = [number for number, _ in journal_of(database.log)]
        if len(set(numbers)) != len(numbers):
            return "an example is learned twice"
    if any(_resumes_wrongly(state, owner) for owner in state.owners):
        return "a source goes on behind examples that are not there"
    return ""


def _resumes_wrongly(state: State, owner: Owner) -> bool:
    """Whether an owner that serves finds a place of its source behind examples it has not."""
    if owner.state != "serving":
        return False
    log = seen(state.databases[owner.database])
    if epoch_of(log) != owner.epoch:
        return False  # and is told so
    places: list[Example] = [what for kind, what in log if kind == "place"]  # type: ignore[misc]
    return any(
        number >= len(owner.journal) and opening != owner.opening for number, opening in places
    )


def steps(state: State, guards: frozenset[str], bounds: Bounds) -> Iterator[Step]:
    """Every step that may come next: what it is, and the state after it."""
    for index, owner in enumerate(state.owners):
        number = owner.opening or state.used.openings + 1
        for name, found in _steps_of(state, index, owner, guards, bounds):
            yield f"owner {number} {name}", _sorted(found)
    for number, database in enumerate(state.databases):
        if database.sent < len(database.log):
            after = database._replace(sent=len(database.log), waiting=0)
            yield f"standby of {number} has everything", _with(state, number, after)
    if state.used.faults < bounds.faults:
        used = state.used._replace(faults=state.used.faults + 1)
        for name, found in _faults(state._replace(used=used), guards):
            if not bounds.kinds or any(kind in name for kind in bounds.kinds):
                yield name, _sorted(found)


def _sorted(state: State) -> State:
    """Which of two owners is called the first makes no difference."""
    first, second = state.owners
    return state if first <= second else state._replace(owners=(second, first))


def _with(state: State, number: int, database: Database) -> State:
    databases = list(state.databases)
    databases[number] = database
    return state._replace(databases=tuple(databases))


def _owned(state: State, index: int, owner: Owner) -> State:
    owners = list(state.owners)
    owners[index] = owner
    return state._replace(owners=tuple(owners))


# --- owners ---------------------------------------------------------------------------------------


def _steps_of(
    state: State, index: int, owner: Owner, guards: frozenset[str], bounds: Bounds
) -> Iterator[Step]:
    if owner.state == "idle":
        yield from _openings(state, index, guards, bounds)
        return
    yield "is killed", _owned(state, index, Owner())
    database = state.databases[owner.database]
    connected = database.life == owner.life
    if owner.state in _WAITING:
        # until the server answers, or the connection is known to be broken
        if connected and database.waiting != owner.opening:
            yield "is told of its commit", _committed(state, index, owner)
    elif owner.state.startswith("warned "):
        doing = owner._replace(state=owner.state.removeprefix("warned "))
        yield "ignores a warning", _committed(state, index, doing)
    elif owner.state in ("raised", "marked", "read", "claimed"):
        yield from _taking_over(state, index, owner, guards)
    elif owner.state == "published":
        yield from _shows(state, index, owner, guards)
    elif owner.state == "again":
        yield from _again(state, index, owner)
    else:
        yield from _serving(state, index, owner, guards, bounds)


def _openings(state: State, index: int, guards: frozenset[str], bounds: Bounds) -> Iterator[Step]:
    if state.used.openings == bounds.openings:
        return
    opening = state.used.openings + 1
    used = state.used._replace(openings=opening)
    for number, database in enumerate(state.databases):
        if database.waiting:
            continue  # for the row of the epoch
        log = (*database.log, ("epoch", opening))
        waits = opening if "barrier" in guards else 0
        owner = Owner("raising", opening, number, database.life, epoch_of(log))
        after = _with(state, number, database._replace(log=log, waiting=waits))
        yield f"raises the epoch of {number}", _owned(after._replace(used=used), index, owner)


def _committed(state: State, index: int, owner: Owner) -> State:
    """The state after an owner's commit, which it takes for durable."""
    following = _WAITING[owner.state]
    log = state.databases[owner.database].log
    if owner.state == "appending":
        last = next(each for each in reversed(journal_of(log)) if each[1] == owner.opening)
        told = state.told | {(owner.database, last)}
        state = state._replace(told=told)
        owner = owner._replace(journal=(*owner.journal, last))
    elif owner.state == "publishing":
        drawn = owner.journal[: len(owner.releases) + 1]
        owner = owner._replace(releases=(*owner.releases, drawn))
    return _owned(state, index, owner._replace(state=following))


def _taking_over(state: State, index: int, owner: Owner, guards: frozenset[str]) -> Iterator[Step]:
    database, mark = state.databases[owner.database], state.mark
    if owner.state == "raised":
        # What a mark of a backup no longer knows the operator has to: the newest copy goes on.
        newest = releases_of(seen(database))[: len(state.promised)] == state.promised
        if newest or not (mark.lost or mark.old):
            yield "reads the mark", _owned(state, index, owner._replace(state="marked", mark=mark))
    elif owner.state == "marked":
        journal, releases = journal_of(seen(database)), releases_of(seen(database))
        if has(journal, releases, owner.mark) or "behind" not in guards:
            read = owner._replace(state="read", journal=journal, releases=releases)
            yield "reads the store", _owned(state, index, read)
    elif owner.state == "read":
        unchanged = max(mark.owner_revision, mark.revision) <= owner.mark.counter
        if "swap" in guards and not (unchanged and _same_owner(owner.mark, mark, guards)):
            return
        counter = mark.counter + 1
        claimed = mark._replace(
            owner=owner.opening, owner_revision=counter, counter=counter, lost=False, old=False
        )
        if mark.cluster != owner.mark.cluster:
            claimed = claimed._replace(lost=mark.lost)
            yield (
                "claims another cluster, and ends",
                _owned(state._replace(mark=claimed), index, Owner()),
            )
            return
        after = owner._replace(state="claimed", mark=claimed)
        yield "claims the mark", _owned(state._replace(mark=claimed), index, after)
    else:
        yield from _puts(state, index, owner, guards, frozenset(owner.releases))


def _same_owner(known: Mark, there: Mark, guards: frozenset[str]) -> bool:
    if "name" in guards:
        return known.owner == there.owner
    return known.owner_revision == there.owner_revision


def _puts(
    state: State, index: int, owner: Owner, guards: frozenset[str], shown: frozenset[Journal]
) -> Iterator[Step]:
    """Replace the mark; then show."""
    mark = state.mark
    same = _same_owner(owner.mark, mark, guards) and owner.mark.revision == mark.revision
    if "swap" in guards and not same:
        return
    counter = mark.counter + 1
    put = mark._replace(
        journal=owner.journal, releases=owner.releases, revision=counter, counter=counter
    )
    promised = max(state.promised, owner.releases, key=len)
    after = state._replace(mark=put, promised=promised)
    if mark.cluster != owner.mark.cluster:
        yield "puts the mark into another cluster, and ends", _owned(after, index, Owner())
        return
    serving = owner._replace(state="serving", mark=put)
    done = _owned(after, index, serving)
    yield "puts the mark, and shows", done._replace(shown=state.shown | shown)


def _shows(state: State, index: int, owner: Owner, guards: frozenset[str]) -> Iterator[Step]:
    shown = frozenset(owner.releases[-1:])
    yield from _puts(state, index, owner, guards, shown)
    if "order" not in guards and not shown <= state.shown:
        yield "shows before the mark has it", state._replace(shown=state.shown | shown)


def _serving(
    state: State, index: int, owner: Owner, guards: frozenset[str], bounds: Bounds
) -> Iterator[Step]:
    database = state.databases[owner.database]
    log = seen(database)
    own = epoch_of(log) == owner.epoch and database.life == owner.life
    if "look" not in guards and not frozenset(releases_of(log)) <= state.shown:
        shown = state.shown | frozenset(releases_of(log))
        yield "shows what it reads", state._replace(shown=shown)
    told = state.told | {(owner.database, example) for example in journal_of(log)}
    if told != state.told and (own or "tell" not in guards):
        yield "tells where its producer is", state._replace(told=told)
    if state.used.commits == bounds.commits:
        return
    moved = state._replace(used=state.used._replace(commits=state.used.commits + 1))
    yield from _puts(moved, index, owner, guards, frozenset())
    may = own or ("epoch" not in guards and database.life == owner.life)
    if database.waiting or not may:
        return
    used = state.used._replace(commits=state.used.commits + 1)
    after = state._replace(used=used)
    number = len(owner.journal)
    place = ("place", (number, owner.opening))
    if "place" not in guards and place not in database.log:
        placed = database._replace(log=(*database.log, place))
        yield "stores a place", _with(after, owner.database, placed)
    example = ("example", (number, owner.opening))
    yield "appends an example", _commits(after, index, owner, example, "appending")
    if len(owner.releases) < len(owner.journal):
        release = ("release", owner.journal[: len(owner.releases) + 1])
        yield "publishes", _commits(after, index, owner, release, "publishing")


def _commits(state: State, index: int, owner: Owner, item: Item, doing: str) -> State:
    database = state.databases[owner.database]
    waiting = database._replace(log=(*database.log, item), waiting=owner.opening)
    return _owned(_with(state, owner.database, waiting), index, owner._replace(state=doing))


def _again(state: State, index: int, owner: Owner) -> Iterator[Step]:
    """A commit of unknown outcome, made once more by another connection."""
    database = state.databases[owner.database]
    if not database.waiting:
        item = ("example", (len(owner.journal), owner.opening))
        there = owner._replace(life=database.life, epoch=epoch_of(database.log))
        yield "tries its commit again", _commits(state, index, there, item, "appending")


# --- faults ---------------------------------------------------------------------------------------


def _faults(state: State, guards: frozenset[str]) -> Iterator[Step]:
    for number, database in enumerate(state.databases):
        yield from _faults_of(state, number, database, guards)
    if len(state.databases) == 1:
        log = seen(state.databases[0])
        copied = Database(log, len(log))
        yield "the store is copied", state._replace(databases=(*state.databases, copied))
    if state.backup is None:
        yield "the mark is backed up", state._replace(backup=state.mark)
    elif state.mark.counter > state.backup.counter:
        mark, cluster = state.backup, state.mark.cluster
        yield (
            "the mark goes back to its backup, under another name",
            state._replace(mark=mark._replace(lost=True, cluster=cluster + 1)),
        )
        yield (
            "the mark goes back to its backup",
            state._replace(mark=mark._replace(old=True, cluster=cluster)),
        )


def _faults_of(
    state: State, number: int, database: Database, guards: frozenset[str]
) -> Iterator[Step]:
    unsent = database.sent < len(database.log)
    if database.waiting:
        cancelled = _with(state, number, database._replace(waiting=0))
        for index, owner in enumerate(state.owners):
            if owner.opening == database.waiting and owner.state in _WAITING:
                warned = owner._replace(state=f"warned {owner.state}")
                ended = Owner() if "warning" in guards else warned
                cancelled = _owned(cancelled, index, ended)
        yield f"a wait of {number} is cancelled", cancelled
    if unsent:
        yield f"{number} is restarted", _broken(state, number, database.log, guards)
        promoted = database.log[: database.sent]
        yield f"the standby of {number} is promoted", _broken(state, number, promoted, guards)
    for length in range(database.sent):
        shorter = _broken(state, number, database.log[:length], guards)
        kept = journal_of(database.log[:length])
        told = frozenset(each for each in state.told if each[0] != number or each[1] in kept)
        yield f"a standby of {number} that lags is promoted", shorter._replace(told=told)


def _broken(state: State, number: int, log: tuple[Item, ...], guards: frozenset[str]) -> State:
    """The same with other contents of a server, to which nobody is connected any more."""
    database = state.databases[number]
    sent = min(database.sent, len(log))
    state = _with(state, number, Database(log, sent, 0, database.life + 1))
    for index, owner in enumerate(state.owners):
        if owner.database != number or owner.state not in _WAITING:
            continue
        again = owner.state == "appending" and "unknown" not in guards
        state = _owned(state, index, owner._replace(state="again") if again else Owner())
    return state
