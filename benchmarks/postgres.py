"""What a store in PostgreSQL costs, beside bare commits of the same server and beside a folder.

    python -m benchmarks.postgres [--url postgresql:///littled] [--examples 4000000] [--singles 400]
        [--commits 300]

The database has to be empty, and the role its owner; the server is measured as it is, with the
standbys that it waits for. Without a URL there is nothing to measure. Each line is one JSON object:
first the median of a commit of one example, and of one batch of 10,000 points of 1 and of 8 bytes,
and its ratio to a bare commit of one row with the same bytes, in turns with it; then examples a
second in such batches, one to a commit and many, as a busy daemon puts into one, and the ratio to a
store in a folder, in turns.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from statistics import median

import psycopg
from psycopg import sql

from benchmarks.journal import STREAM, made, records
from littled.store.records import NewRecord
from littled.store.store import Store

BATCH = 10_000
TURNS = 3


def made_there(url: str, schema: str, folder: Path, plan: Path) -> Store:
    """A new store in a schema, with the plan of the store in a folder."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    with Store.open(plan, read_only=True) as store:
        plans = store.plans
    there = url + ("&" if "?" in url else "?") + f"options=-csearch_path%3D{schema}"
    files = folder / f"{schema}.key", folder / f"{schema}.mark"
    Store.create(there, {}, plans, *files)
    return Store.open(there, *files)


def bare(url: str, name: str, rows: Iterable[NewRecord]) -> Iterator[float]:
    """Seconds of commits of one row each, which holds the bytes of a record and a number."""
    table = sql.Identifier(name)
    with psycopg.connect(url, autocommit=True) as connection:
        columns = sql.SQL("(number bigint PRIMARY KEY, x bytea, y bytea)")
        connection.execute(sql.SQL("CREATE TABLE {} {}").format(table, columns))
        for column in ("x", "y"):  # as in a store: bytes as they are
            stored = sql.SQL("ALTER TABLE {} ALTER {} SET STORAGE EXTERNAL")
            connection.execute(stored.format(table, sql.Identifier(column)))
        insert = sql.SQL("INSERT INTO {} VALUES (%s, %s, %s)").format(table)
        for row in rows:
            started = time.perf_counter()
            connection.execute(insert, (row.sequence, row.x, row.y))
            yield time.perf_counter() - started


def commits(store: Store, url: str, name: str, rows: list[NewRecord]) -> dict[str, object]:
    """Commits of one record each, and bare ones of the same bytes, in turns."""
    ours, theirs = [], []
    for row, other in zip(rows, bare(url, name, rows), strict=True):
        started = time.perf_counter()
        store.append([row])
        ours.append(time.perf_counter() - started)
        theirs.append(other)
    count = rows[0].count
    return {
        "what": f"a commit of {count} points of {len(rows[0].x) // count} bytes",
        "p50_ms": round(1e3 * median(ours), 2),
        "bare_p50_ms": round(1e3 * median(theirs), 2),
        "ratio": round(median(ours) / median(theirs), 2),
        "examples_per_second": round(count * len(ours) / sum(ours)),
        "bare_examples_per_second": round(count * len(theirs) / sum(theirs)),
    }


def singles(count: int) -> list[NewRecord]:
    """So many examples that come alone."""
    return [NewRecord(STREAM, "one", number, 1, b"\7", b"\1") for number in range(count)]


def fed(store: Store, examples: int, width: int, *, together: bool) -> float:
    """Examples a second, from nothing, many batches to a commit or one."""
    started = time.perf_counter()
    for several in records(examples, BATCH, width):
        for batches in [several] if together else ([batch] for batch in several):
            store.append(batches)
    return examples / (time.perf_counter() - started)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.postgres", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--url", help="of an empty database")
    parser.add_argument("--examples", type=int, default=4_000_000, help="in batches")
    parser.add_argument("--singles", type=int, default=400, help="one at a time")
    parser.add_argument("--commits", type=int, default=300, help="of one batch each")
    options = parser.parse_args()
    if options.url is None:
        print("nothing to measure: name an empty database of PostgreSQL with --url")
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        plan = made(folder / "plan")
        batches = [
            [row for some in records(options.commits * BATCH, BATCH, width) for row in some]
            for width in (1, 8)
        ]
        for number, rows in enumerate((singles(options.singles), *batches)):
            with made_there(options.url, f"commits{number}", folder, plan) as store:
                line = commits(store, options.url, f"bare{number}", rows)
            print(json.dumps(line), flush=True)
        for number, (width, together) in enumerate(product((1, 8), (False, True))):
            there, here = [], []
            for turn in range(TURNS):
                name = f"batches{number}{turn}"
                with made_there(options.url, name, folder, plan) as store:
                    there.append(fed(store, options.examples, width, together=together))
                with Store.open(made(folder / name)) as store:
                    here.append(fed(store, options.examples, width, together=together))
            line = {
                "what": f"batches of {BATCH} points of {width} bytes, "
                + ("many to a commit" if together else "one to a commit"),
                "examples_per_second": round(median(there)),
                "folder_examples_per_second": round(median(here)),
                "ratio": round(median(there) / median(here), 3),
            }
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
