"""Processes that share the tasks of a benchmark, here or on a Dask cluster."""

import argparse
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack
from typing import TypeVar

from littled.executors import cluster

Task = TypeVar("Task")
Result = TypeVar("Result")


class Pool:
    """Processes for tasks, or this process alone; says on standard error how far it is."""

    def __init__(self, jobs: int, executor: str | None = None) -> None:
        """`jobs` processes, or the workers behind an address, which have this checkout as well."""
        self._pool: Executor | None = None
        self._stack = ExitStack()
        if executor is not None:
            self._pool = self._stack.enter_context(cluster(executor))
        elif jobs > 1:
            # a product that is spread over threads gets in the way of the other process
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
            context = multiprocessing.get_context("spawn")
            pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent)
            self._pool = self._stack.enter_context(pool)

    def map(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], what: str
    ) -> Iterator[Result]:
        """The results in order."""
        begun = time.perf_counter()
        results = map(work, tasks) if self._pool is None else self._pool.map(work, tasks)
        for number, result in enumerate(results, 1):
            yield result
            if number % max(1, len(tasks) // 20) == 0 or number == len(tasks):
                seconds = time.perf_counter() - begun
                print(f"{what}: {number}/{len(tasks)}, {seconds:.0f} s", file=sys.stderr)

    def close(self) -> None:
        """End the processes."""
        self._stack.close()


def _end_with_parent() -> None:
    """Let this process end when the one that began it does, however that ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "called in a process of a pool"

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def add_pool_options(parser: argparse.ArgumentParser) -> None:
    """Add --jobs and --executor."""
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--executor", metavar="dask://HOST:PORT", help="run on these workers")
