"""Daemons on one store in PostgreSQL with its mark in etcd, and all that may happen to a cluster.

    python -m cluster.run FIRST COUNT

makes faults of those numbers, `LIFE_FAULTS` to a life of a cluster; a number alone is repeated with
those before it in its life. Everything is real: three members of etcd, three servers of PostgreSQL
of which one standby has to have each commit, three daemons that a supervisor starts again whenever
they end, producers, and subscribers of each daemon. Faults follow from their number; what they meet
does not. For a failing one it prints "failing seed NUMBER".

What is promised, and held against what everybody was told: `cluster.life`.
"""

import contextlib
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cluster.faults import BY_NAME, FAULTS
from cluster.life import Life
from cluster.servers import Servers, parent, servers
from support.etcd import Cluster, etcd_cluster

LIFE_FAULTS = 20


@contextlib.contextmanager
def clusters() -> Iterator[tuple[Servers, Cluster]]:
    """Servers for one life after the other."""
    folder = Path(tempfile.mkdtemp(prefix="littled-etcd-", dir=parent()))
    try:
        with servers() as made, etcd_cluster(folder) as etcd:
            assert made is not None, "PostgreSQL is not installed, or not for this user"
            yield made, etcd
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def living(made: Servers, etcd: Cluster, schema: str = "flights") -> Iterator[Life]:
    """A store that daemons serve and peers use."""
    folder = Path(tempfile.mkdtemp(prefix="littled-life-"))
    life = None
    try:
        life = Life(folder, made, etcd, schema)
        life.recover()
        yield life
    finally:
        if life is not None:
            life.close()
        shutil.rmtree(folder, ignore_errors=True)


def live(life: Life, named: list[tuple[int, str]], say: Callable[[str], Any]) -> None:
    """Let these faults happen, each with the seed of its chance; raises Wrong."""
    for seed, name in named:
        began = time.monotonic()
        try:
            BY_NAME[name](life, random.Random(seed))
            life.recover()
        except Exception:
            say(f"failing seed {seed}")
            say(f"{name}: {life.told[-12:]}")
            raise
        say(f"fault {seed} {name}: held, {time.monotonic() - began:.1f} s")
    ran = life.finish()
    say(f"a life of {len(named)} faults: {ran}; load {os.getloadavg()[0]:.0f}")
    for (status, sentence), count in Counter(life.ends).most_common():
        say(f"  {count} times a daemon ended with {status}: {sentence}")


def fault_of(seed: int) -> str:
    """The name of a fault."""
    return random.Random(f"fault {seed}").choice(FAULTS).__name__


def main(first: str = "0", count: str = "1") -> int:
    """Make faults; print those after which a promise was broken, and one line in the end."""
    start_at, end = int(first), int(first) + int(count)
    begins = range(start_at - start_at % LIFE_FAULTS, end, LIFE_FAULTS)
    left = [range(begin, min(begin + LIFE_FAULTS, end)) for begin in begins]
    failing = 0
    while left:
        try:
            # Servers are made anew only after a life that failed.
            with clusters() as running:
                while left:
                    named = [(seed, fault_of(seed)) for seed in left[0]]
                    with living(*running, f"life{left[0][0]}") as life:
                        live(life, named, lambda line: print(line, flush=True))
                    del left[0]
        except Exception:  # noqa: BLE001 - whatever it is, it is a finding
            traceback.print_exc()
            print(*(f"failing seed {seeds[-1]}" for seeds in left[:1]), flush=True)
            failing += 1
            del left[:1]
    print(f"{end - start_at} faults, {failing} lives failed")
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
