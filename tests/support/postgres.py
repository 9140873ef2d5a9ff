"""Stores whose tables are on a server of PostgreSQL, and their keys and marks in a folder."""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from littled.store.database import Undo
from littled.store.files import PRIVATE_FOLDER
from littled.store.postgres import PostgresDatabase, translated_statement
from support.databases import NO_POSTGRESQL, Postgres, postgres
from support.stores import PLACES

# A server that keeps what it has acknowledged, with room for all connections of a test.
SETTINGS = ("fsync=on", "max_connections=200")

# What changes of tests say in the words of SQLite.
WORDS = (
    (re.compile(r"\bx'([0-9a-fA-F]*)'"), r"'\\x\1'::bytea"),
    (re.compile(r"CAST\((\w+) AS TEXT\)"), r"convert_from(\1, 'UTF8')"),
    (re.compile(r"\bBLOB\b"), "BYTEA"),
    (re.compile(r'(?<!")\bwindow\b'), '"window"'),
)
ZEROBLOB = """
CREATE OR REPLACE FUNCTION zeroblob(size bigint) RETURNS bytea
LANGUAGE sql AS $$ SELECT decode(repeat('00', size::int), 'hex') $$
"""


@contextmanager
def lasting_server() -> Iterator[Postgres]:
    """A server that keeps what it has acknowledged; whoever asks is skipped where none can run."""
    with postgres(*SETTINGS) as found:
        if found is None:
            pytest.skip(NO_POSTGRESQL)
        yield found


def url_of(server: Postgres, schema: str, database: str = "postgres") -> str:
    """The URL of a schema on a server."""
    host, options = quote(str(server.folder), safe=""), quote(f"-csearch_path={schema}", safe="")
    return f"postgresql://tests@/{database}?host={host}&options={options}"


def asked(url: str, statement: str) -> list[tuple[Any, ...]]:
    """What a statement finds, by a connection of its own."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


class FolderOnServer(PostgresDatabase):
    """The tables of a store that tests call by a folder, in which are its key and its mark."""

    def __init__(self, server: Postgres, folder: Path) -> None:
        """Keep the tables in a schema whose name follows from the folder's."""
        self.folder = folder
        self.schema = "s" + hashlib.sha256(str(folder.absolute()).encode()).hexdigest()[:20]
        self._server = server
        self.url = url_of(server, self.schema)
        super().__init__(self.url)
        self.name = str(folder)
        PLACES[folder] = self

    def prepare(self, made: list[Undo]) -> list[Path]:
        """Make the schema and the folder."""
        asked(self.url, f"CREATE SCHEMA IF NOT EXISTS {self.schema}")
        super().prepare(made)
        if not self.folder.exists():
            self.folder.mkdir(PRIVATE_FOLDER)
            made.append(self.folder.rmdir)
        return [self.folder]

    def copy_to(self, folder: Path) -> None:
        """Make a copy that is called by another folder."""
        copy = FolderOnServer(self._server, folder)
        asked(self.url, f"DROP SCHEMA IF EXISTS {copy.schema} CASCADE; CREATE SCHEMA {copy.schema}")
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        statements = [
            f"CREATE TABLE {copy.schema}.{name} (LIKE {name} INCLUDING ALL); "  # noqa: S608
            f"INSERT INTO {copy.schema}.{name} SELECT * FROM {name}; "
            f"ALTER INDEX IF EXISTS {copy.schema}.{name}_learner_window_count_idx "
            "RENAME TO predictions_of_window"
            for (name,) in asked(self.url, tables)
        ]
        asked(self.url, "; ".join(statements))

    def change(self, statement: str, values: tuple[Any, ...] = ()) -> None:
        """Change the tables behind the store's back."""
        asked(self.url, ZEROBLOB)
        for word, other in WORDS:
            statement = word.sub(other, statement)
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = psycopg.RawCursor(connection)
            cursor.execute(translated_statement(statement).encode(), values or None)
