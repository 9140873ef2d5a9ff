"""Where the files of a store are."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias

from littled.store.database import Database
from littled.store.errors import StoreRefused
from littled.store.etcd_place import SCHEMES, MarkInEtcd
from littled.store.keys import KEY_NAME
from littled.store.mark import MARK_NAME
from littled.store.sqlite import SqliteDatabase

StorePath: TypeAlias = Path | str
"""A folder, or the URL of a database of PostgreSQL."""
URL_BEGINNINGS = ("postgresql://", "postgres://")
WITNESS_NAME = "mark-seen"


@dataclass(frozen=True, slots=True)
class MarkFile:
    """A high-water mark in a file."""

    path: Path

    def __str__(self) -> str:
        """The path, as it was named."""
        return str(self.path)


MarkPlace: TypeAlias = MarkFile | MarkInEtcd
"""Wherever a high-water mark may be kept."""


def mark_place(named: Path | str) -> MarkPlace:
    """The place that somebody has named: a path, or the URL of a place in etcd. StoreRefused."""
    scheme, separator, _ = str(named).partition("://")
    if isinstance(named, str) and separator and scheme in SCHEMES:
        return MarkInEtcd.parse(named)
    return MarkFile(Path(named))


def is_url(path: StorePath) -> bool:
    """Whether a store is named by the URL of a database, and not by a folder."""
    return isinstance(path, str) and path.startswith(URL_BEGINNINGS)


def postgres_database(url: str) -> Database:
    """The database at a URL. StoreRefused where it cannot be, or without the extra for it."""
    database: Database = _postgres_database(url)
    return database


def make_schema(url: str, name: str) -> None:
    """Make a schema in the database at a URL unless there is one. StoreError."""
    _postgres_database(url).make_schema(name)


def _postgres_database(url: str) -> Any:
    try:
        from littled.store.postgres import PostgresDatabase  # noqa: PLC0415 - an extra
    except ImportError:
        raise StoreRefused(
            "a store in PostgreSQL needs psycopg: pip install 'littled[postgres]'"
        ) from None
    return PostgresDatabase(url)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the parts of a store are.

    path: as it was named. key_given: the key's path was named by the operator. witness: the file
    that remembers what was written to a mark that is not in a file, None where there is no folder.
    """

    path: StorePath
    database: Database
    key: Path
    mark: MarkPlace
    key_given: bool
    witness: Path | None

    @classmethod
    def of(
        cls,
        path: StorePath,
        key_path: Path | str | None,
        mark_path: MarkPlace | Path | str | None,
        vfs: str | None = None,
    ) -> Self:
        """The place of the store in the folder `path`; key and mark lie inside unless given.

        path: or the URL of a database of PostgreSQL; key and mark have to be given then. vfs: name
        of a registered SQLite file system, None for the usual. StoreRefused for what cannot be.
        """
        if is_url(path):
            if key_path is None or mark_path is None:
                raise StoreRefused(
                    "the noise key and the high-water mark of a store in PostgreSQL are not in it: "
                    "name both, --key FILE and --mark PLACE"
                )
            database = postgres_database(str(path))
            mark = _mark_place(Path(), mark_path)
            return cls(path, database, Path(key_path), mark, key_given=True, witness=None)
        folder = Path(path)
        return cls(
            path=path,
            database=SqliteDatabase(folder, vfs),
            key=folder / KEY_NAME if key_path is None else Path(key_path),
            mark=_mark_place(folder, mark_path),
            key_given=key_path is not None,
            witness=folder / WITNESS_NAME,
        )

    @property
    def name(self) -> str:
        """What messages call the store."""
        return self.database.name


def _mark_place(folder: Path, given: MarkPlace | Path | str | None) -> MarkPlace:
    if given is None:
        return MarkFile(folder / MARK_NAME)
    return mark_place(given) if isinstance(given, Path | str) else given
