"""Stores that are moved between folders and servers, and all that is in them."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import apsw
import psycopg

from littled.store.columns import file_name
from littled.store.errors import StoreError
from littled.store.moving import Moving
from littled.store.place import Place, is_url
from littled.store.postgres import PostgresWriting
from littled.store.register import FileRegister
from littled.store.sqlite import SqliteWriting
from littled.store.store import Store
from support.crashing import wrap, wrap_commits

Tables = dict[str, list[tuple[Any, ...]]]
# What a database notes of itself.
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table'"
OWN = ("format", "move", "pulse")


def move(source: Place, target: Place, **options: Any) -> Moving:
    """Move a store."""
    with Moving.open(source, target, **options) as moving:
        moving.finish()
    return moving


def opens(place: Place) -> bool:
    """Whether somebody may serve what is in a place."""
    try:
        opened(place).close()
    except StoreError:
        return False
    return True


def opened(place: Place) -> Store:
    """The store in a place, served."""
    return Store.open(place.path, place.key if place.key_given else None, place.mark)


def tables_of(place: Place) -> Tables:
    """All rows of a store, in order; records with their columns, and nothing of where these are."""
    found = _on_server(str(place.path)) if is_url(place.path) else _in_folder(Path(place.path))
    spans = {row[0]: row[1:] for row in found.pop("beside", [])}
    found["records"] = [_whole(Path(str(place.path)), row, spans) for row in found["records"]]
    found["meta"] = [row for row in found["meta"] if row[0] not in OWN]
    return {table: sorted(rows) for table, rows in found.items()}


def _in_folder(folder: Path) -> Tables:
    connection = apsw.Connection(str(folder / "store.sqlite"))
    names: Any = connection.execute(_TABLES).fetchall()
    found: Tables = {
        name: connection.execute(f"SELECT * FROM {name}").fetchall()  # noqa: S608
        for (name,) in names
    }
    connection.close()
    return found


def _on_server(url: str) -> Tables:
    with psycopg.connect(url) as connection:
        names = connection.execute(
            "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()"
        ).fetchall()
        return {
            name: [
                tuple(bytes(each) if isinstance(each, memoryview) else each for each in row)
                for row in connection.execute(f"SELECT * FROM {name}".encode(), binary=True)  # noqa: S608
            ]
            for (name,) in names
            if name != "owners"
        }


def _whole(folder: Path, row: tuple[Any, ...], spans: dict[int, Any]) -> tuple[Any, ...]:
    """A record with all its columns in one, whose lengths follow from the count."""
    *numbers, x, y, head = row[:8]
    columns = b"".join((x, y, *row[8:]))
    if row[0] in spans:
        file, start, size = spans[row[0]]
        columns = (folder / file_name(file)).read_bytes()[start : start + size]
    return (*numbers, columns, head)


# --- moves that are killed ------------------------------------------------------------------------

# Named moments of a move: what is called then.
STEPS: dict[str, tuple[Any, str]] = {
    "the making of the place": (Moving, "_make"),
    "the key": (Moving, "_bring_key"),
    "the filling": (Moving, "_fill"),
    "the comparison": (Moving, "_difference"),
    "the leaving": (Moving, "_leave"),
    "the target's mark": (FileRegister, "create"),
    "the burial of the source's mark": (FileRegister, "bury"),
    "the letting go": (Moving, "_let_go"),
}
FAILPOINTS = tuple(
    f"{side} {name}" for name in (*STEPS, "a commit") for side in ("before", "after")
)


def killed_at(failpoint: str, hit: int, work: Callable[[], object]) -> bool:
    """Work in a child that is killed when it comes by a failpoint so often; whether it was."""
    child = os.fork()
    if not child:
        _work_until_killed(failpoint, hit, work)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child has failed by itself"
    return os.WIFSIGNALED(status)


def _work_until_killed(failpoint: str, hit: int, work: Callable[[], object]) -> NoReturn:
    status, left = 1, hit

    def passed() -> None:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        side, _, name = failpoint.partition(" ")
        if name == "a commit":
            for writing in (SqliteWriting, PostgresWriting):
                wrap_commits(passed, before=side == "before", writing=writing)
        else:
            wrap(*STEPS[name], passed, before=side == "before")
        work()
        status = 0
    finally:
        os._exit(status)
