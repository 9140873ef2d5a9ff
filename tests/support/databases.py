"""Databases that tests ask for labels: SQLite, DuckDB, and PostgreSQL where it runs."""

import os
import pwd
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from littled_protocol.columns import point_type
from littled_protocol.rules import Dialect, Rule, Words, sql_function
from support.servers import program, server

# A number, the text of a wide point, or the features of a row.
Value = int | str | tuple[int, ...]
COLUMN = 'a "strange" column'
NO_POSTGRESQL = (
    f"PostgreSQL is not installed ({server('PostgreSQL').how}), or may not be run by this user"
)
START_SECONDS = 60
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
        self.options = ""

    def run(self, program: str | Path, *arguments: str | Path) -> None:
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

    def tell(self, statement: str) -> str:
        """Run a statement by a psql of its own; what it prints."""
        done = subprocess.run(
            [
                *(self._programs / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"),
                *("-h", self.folder, "-U", "tests", "-d", "postgres", "-c", statement),
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            timeout=START_SECONDS,
            user=self.user,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def count(self, rows: str) -> int:
        """How many rows there are."""
        return int(self.tell(f"SELECT count(*) FROM {rows}"))  # noqa: S608

    def restart(self, mode: str = "immediate") -> None:
        """Stop the server, as if it had crashed unless said otherwise, and start it again."""
        log = self.folder / "log"
        self.run(
            *("pg_ctl", "-D", self.folder / "data", "-l", log, "-m", mode, "-w"),
            *("-o", self.options, "restart"),
        )

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


class Standbys:
    """Synchronous standbys of a server, each with every commit on its disk before it is known."""

    def __init__(self, primary: Postgres, count: int = 2) -> None:
        """Make them from a base backup, start them, and wait until commits wait for them."""
        self.primary = primary
        self.names = [f"s{number}" for number in range(1, count + 1)]
        for name in self.names:
            self._start(name)
        listed = ", ".join(self.names)
        self._set("synchronous_standby_names", f"ANY 1 ({listed})")
        deadline = time.monotonic() + START_SECONDS
        while primary.count("pg_stat_replication WHERE sync_state = 'quorum'") < count:
            assert time.monotonic() < deadline, "the standbys do not come"
            time.sleep(0.05)

    def _start(self, name: str) -> None:
        primary, data = self.primary, self.primary.folder / name
        backup = ("pg_basebackup", "-h", primary.folder, "-U", "tests", "-c", "fast", "-R")
        primary.run(*backup, "-X", "stream", "-D", data)
        with (data / "postgresql.auto.conf").open("a") as file:
            host = primary.folder
            file.write(f"primary_conninfo = 'host={host} user=tests application_name={name}'\n")
        sockets = primary.folder / f"{name}-sockets"
        sockets.mkdir()
        if primary.user is not None:
            shutil.chown(sockets, primary.user)
        options = primary.options.replace(str(primary.folder), str(sockets))
        log = primary.folder / f"{name}.log"
        primary.run("pg_ctl", "-D", data, "-l", log, "-w", "-o", options, "start")

    def _set(self, name: str, value: str) -> None:
        self.primary.tell(f"ALTER SYSTEM SET {name} = '{value}'")
        self.primary.tell("SELECT pg_reload_conf()")

    def _processes(self) -> list[int]:
        found = []
        for name in self.names:
            first = (self.primary.folder / name / "postmaster.pid").read_text().split()[0]
            children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
            found += [int(first), *map(int, children)]
        return found

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let all of them stand still, as in another part of a network."""
        stopped = self._processes()
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in stopped:
                os.kill(process, signal.SIGCONT)

    def stop(self) -> None:
        """End them; nobody waits for them any more."""
        self._set("synchronous_standby_names", "")
        for name in self.names:
            data = self.primary.folder / name
            self.primary.run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")


def server_programs() -> Path | None:
    """The folder with the programs of a server; None where some are missing (`support.servers`)."""
    if server("PostgreSQL").missing:
        return None
    found = program("initdb")
    assert found is not None
    return found.resolve().parent


@contextmanager
def new_server(parent: Path | None = None) -> Iterator[Postgres | None]:
    """A server that does not run yet, None where PostgreSQL is not installed or may not be run.

    parent: in which folder its own is made; None for that of other temporary files.
    """
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
    # short: sockets have short paths
    folder = Path(tempfile.mkdtemp(prefix="littled-pg-", dir=parent))
    if user is not None:
        shutil.chown(folder, user)
    server = Postgres(folder, programs, user)
    try:
        text = ("-E", "UTF8", "--locale=C")
        server.run("initdb", "-D", folder / "data", "-U", "tests", "-A", "trust", "-N", *text)
        yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgres(*settings: str) -> Iterator[Postgres | None]:
    """A running server, None where PostgreSQL is not installed or may not be run.

    settings: NAME=VALUE each; without any, nothing that is written is durable.
    """
    with new_server() as server:
        if server is None:
            yield None
            return
        folder = server.folder
        options = f"-c listen_addresses='' -c unix_socket_directories={folder}"
        options += "".join(f" -c {setting}" for setting in settings or ("fsync=off",))
        server.options = options
        log = folder / "log"
        server.run("pg_ctl", "-D", folder / "data", "-l", log, "-w", "-o", options, "start")
        try:
            yield server
        finally:
            server.close()
            server.run("pg_ctl", "-D", folder / "data", "-m", "immediate", "-w", "stop")
