"""How long `littled copy` takes, from a folder to a folder, and to a server and back.

    python -m benchmarks.moving [--examples 10000000] [--batch 10000] [--width 8] [--url URL]

A store is filled with so many examples of `width` bytes in batches, and moved from place to place;
batches of one are packed first, as a daemon packs them. The database at the URL has to be empty.
Each line is one JSON object: seconds of looking at the source, of which most is its verification,
and of copying and comparing, and the most memory that the process has had, in MiB.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from benchmarks.journal import made, records
from littled.store.moving import Moving
from littled.store.place import Place
from littled.store.store import Store


def filled(folder: Path, examples: int, batch: int, width: int) -> Place:
    """A store with so many examples, at rest."""
    with Store.open(made(folder)) as store:
        for several in records(examples, batch, width):
            store.append(several)
        while store.pack():
            pass
    return Place.of(folder, None, None)


def moved(source: Place, target: Place, examples: int) -> dict[str, object]:
    """Move a store, and say how long it takes."""
    started = time.perf_counter()
    with Moving.open(source, target) as moving:
        looked = time.perf_counter()
        moving.finish()
        done = time.perf_counter()
    kib = 1024 if sys.platform != "darwin" else 1024 * 1024
    return {
        "from": kind(source),
        "to": kind(target),
        "examples": examples,
        "verify_seconds": round(looked - started, 2),
        "copy_seconds": round(done - looked, 2),
        "memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // kib,
    }


def kind(place: Place) -> str:
    """What a place is."""
    return "folder" if isinstance(place.path, Path) else "server"


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.moving", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--examples", type=int, default=10_000_000)
    parser.add_argument("--batch", type=int, default=10_000, help="examples of a record")
    parser.add_argument("--width", type=int, default=8, help="bytes of a point")
    parser.add_argument("--url", help="of an empty database")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = filled(folder / "first", options.examples, options.batch, options.width)
        places = [first, Place.of(folder / "second", None, None)]
        if options.url is not None:
            places.append(Place.of(options.url, folder / "key", folder / "mark"))
            places.append(Place.of(folder / "third", None, None))
        for source, target in pairwise(places):
            print(json.dumps(moved(source, target, options.examples)), flush=True)


if __name__ == "__main__":
    main()
