"""What a store in PostgreSQL costs, beside bare commits of the same server and beside a folder.

    python -m benchmarks.postgres [--url postgresql:///littled] [--examples 4000000] [--singles 400]

The database has to be empty, and the role its owner; the server is measured as it is, with the
standbys that it waits for. Without a URL there is nothing to measure. Each line is one JSON object:
first the median of a commit of one example, and its ratio to a bare commit of one small row, in
turns with it; then examples a second in batches of 10,000 points of 1 and of 8 bytes, one batch to
a commit and many, as a busy daemon puts into one, and the ratio to a store in a folder, in turns.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
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


def bare(url: str) -> Iterator[float]:
    """Seconds of commits of one small row each."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE bare (number bigint PRIMARY KEY, value bytea)")
        number = 0
        while True:
            started = time.perf_counter()
            connection.execute("INSERT INTO bare VALUES (%s, %s)", (number, bytes(9)))
            yield time.perf_counter() - started
            number += 1


def lone(store: Store, singles: int, url: str) -> dict[str, object]:
    """Commits of one example and bare ones, in turns."""
    others, ours, theirs = bare(url), [], []
    for number in range(singles):
        record = NewRecord(STREAM, "one", number, 1, b"\7", b"\1")
        started = time.perf_counter()
        store.append([record])
        ours.append(time.perf_counter() - started)
        theirs.append(next(others))
    others.close()  # type: ignore[attr-defined]
    return {
        "what": "a commit of one example",
        "p50_ms": round(1e3 * median(ours), 2),
        "bare_p50_ms": round(1e3 * median(theirs), 2),
        "ratio": round(median(ours) / median(theirs), 2),
    }


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
    options = parser.parse_args()
    if options.url is None:
        print("nothing to measure: name an empty database of PostgreSQL with --url")
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        plan = made(folder / "plan")
        with made_there(options.url, "lone", folder, plan) as store:
            print(json.dumps(lone(store, options.singles, options.url)), flush=True)
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
