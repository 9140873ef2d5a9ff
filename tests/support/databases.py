"""Databases that tests ask for labels: SQLite, DuckDB, and PostgreSQL where it runs."""

import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from littled_protocol.columns import point_type
from littled_protocol.rules import Dialect, Rule, Words, sql_function

# A number, the text of a wide point, or the features of a row.
Value = int | str | tuple[int, ...]
COLUMN = 'a "strange" column'
NO_POSTGRESQL = "PostgreSQL is not installed, or not for this user"
START_SECONDS = 60
# Where Debian and Ubuntu have the programs of a server, which are on nobody's path there.
DEBIAN_FOLDER = Path("/usr/lib/postgresql")
# What psql prints after each script.
END = "-- end --"


def sql_columns(rule: Rule) -> list[str]:
    """The quoted columns that a rule's values stand in."""
    names = [COLUMN]
    if rule.x_type.startswith("u16x"):
        names = [f"{COLUMN}_{feature}" for feature in range(point_type(rule.x_type).columns)]
    return ['"' + name.replace('"', '""') + '"' for name in names]


def script(rule: Rule, words: Words, values: Sequence[Value], dialect: Dialect) -> list[str]:
    """Statements that make a table of values and one of nothing, and ask for their labels.

    The last one gives for each value, in order, the expression and the function of it (twice the
    expression where there are none); after all values comes a row of NULL.
    """
    columns = sql_columns(rule)
    is_text = rule.x_type == "u128" or rule.x_type.startswith("bytes")
    kind = "TEXT" if is_text else "BIGINT"
    if rule.x_type == "u64":
        kind = {"duckdb": "HUGEINT", "postgresql": "NUMERIC", "sqlite": "BIGINT"}[dialect]
    table = ", ".join(f"{column} {kind}" for column in columns)
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    told = ", ".join(f"({number}, {_listed(row)})" for number, row in enumerate(rows))
    nothing = ", ".join(["NULL"] * len(columns))
    expression = said = rule.to_sql(words, COLUMN)
    made = []
    if dialect != "sqlite":
        made = [sql_function(rule, words, 'a "strange" name', dialect, COLUMN)]
        said = f'"a ""strange"" name"({", ".join(columns)})'
    return [
        "DROP TABLE IF EXISTS t",
        f"CREATE TABLE t (number INTEGER, {table})",
        f"INSERT INTO t VALUES {told}, ({len(rows)}, {nothing})",  # noqa: S608
        *made,
        f"SELECT {expression}, {said} FROM t ORDER BY number",  # noqa: S608
    ]


def _listed(row: Sequence[int | str]) -> str:
    quoted = (str(cell).replace("'", "''") for cell in row)
    return ", ".join(
        f"'{text}'" if isinstance(cell, str) else text
        for cell, text in zip(row, quoted, strict=True)
    )


def judged(rows: Sequence[Sequence[bool | int | None]]) -> list[int]:
    """The labels of all values, once both ways agree and NULL has none."""
    *found, nothing = [(row[0], row[1]) for row in rows]
    assert nothing in {(None, None), (False, False)}, nothing
    assert all(first == second for first, second in found)
    return [int(bool(label)) for label, _ in found]


def sqlite_labels(rule: Rule, words: Words, values: Sequence[Value]) -> list[int]:
    """What SQLite makes of a rule's expression over a column of values."""
    database = sqlite3.connect(":memory:")
    *before, query = script(rule, words, values, "sqlite")
    for statement in before:
        database.execute(statement)
    found = database.execute(query).fetchall()
    database.close()
    return judged(found)


def duckdb_labels(rule: Rule, words: Words, values: Sequence[Value]) -> list[int]:
    """What DuckDB makes of a rule's expression and of its macro over a column of values."""
    with duckdb.connect(":memory:") as database:
        *before, query = script(rule, words, values, "duckdb")
        for statement in before:
            database.execute(statement)
        return judged(database.execute(query).fetchall())


class Postgres:
    """A server of PostgreSQL in a folder of its own, asked by one psql for all scripts."""

    def __init__(self, folder: Path, programs: Path, user: str | None) -> None:
        """Serve `folder` with these programs; `user` runs the server where this one may not."""
        self.folder, self.user, self._programs = folder, user, programs
        self._psql: subprocess.Popen[str] | None = None

    def run(self, program: str, *arguments: str | Path) -> None:
        """Run a program of PostgreSQL, and see it succeed."""
        done = subprocess.run(
            [self._programs / program, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            timeout=START_SECONDS,
            user=self.user,
        )
        assert done.returncode == 0, done.stderr

    def labels(self, rule: Rule, words: Words, values: Sequence[Value]) -> list[int]:
        """What PostgreSQL makes of a rule's expression and of its function."""
        return judged(self.ask(script(rule, words, values, "postgresql")))

    def ask(self, statements: Sequence[str]) -> list[list[bool | None]]:
        """What the last of some statements finds, rows of truth values."""
        if self._psql is None:
            self._psql = self._session()
        assert self._psql.stdin is not None
        assert self._psql.stdout is not None
        self._psql.stdin.write(";\n".join([*statements, f"\\echo '{END}'\n"]))
        self._psql.stdin.flush()
        lines = []
        while (line := self._psql.stdout.readline().rstrip("\n")) != END:
            assert self._psql.poll() is None, (self.folder / "errors").read_text()
            lines.append(line)
        truth = {"t": True, "f": False, "": None}
        return [[truth[cell] for cell in line.split("|")] for line in lines]

    def _session(self) -> subprocess.Popen[str]:
        """A psql that reads scripts, and ends at the first error."""
        with (self.folder / "errors").open("w") as errors:
            return subprocess.Popen(
                [
                    *(self._programs / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"),
                    *("-h", self.folder, "-U", "tests", "-d", "postgres", "-f", "-"),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=self.folder,
                user=self.user,
            )

    def close(self) -> None:
        """End psql."""
        if self._psql is not None:
            self._psql.communicate()


def server_programs() -> Path | None:
    """The folder with the programs of a server, the newest of several; None where there is none."""
    found = shutil.which("initdb")
    folders = [] if found is None else [Path(found).resolve().parent]
    debian = DEBIAN_FOLDER.glob("*/bin")
    folders += sorted(debian, key=lambda folder: float(folder.parent.name), reverse=True)
    wanted = ("initdb", "pg_ctl", "psql")
    return next((f for f in folders if all((f / name).exists() for name in wanted)), None)


@contextmanager
def postgres() -> Iterator[Postgres | None]:
    """A running server, None where PostgreSQL is not installed or may not be run."""
    user: str | None = None
    if os.getuid() == 0:  # PostgreSQL does not run as root
        try:
            user = pwd.getpwnam("postgres").pw_name
        except KeyError:
            yield None
            return
    programs = server_programs()
    if programs is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="littled-pg-"))  # short: sockets have short paths
    if user is not None:
        shutil.chown(folder, user)
    server = Postgres(folder, programs, user)
    try:
        server.run("initdb", "-D", folder / "data", "-U", "tests", "-A", "trust", "-N")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        log = folder / "log"
        server.run("pg_ctl", "-D", folder / "data", "-l", log, "-w", "-o", options, "start")
        try:
            yield server
        finally:
            server.close()
            server.run("pg_ctl", "-D", folder / "data", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
