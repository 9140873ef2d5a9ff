"""Processes that share the tasks of a benchmark."""

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


class Pool:
    """Processes for tasks, or this process alone; says on standard error how far it is."""

    def __init__(self, jobs: int) -> None:
        """`jobs` processes."""
        self._pool = None
        if jobs > 1:
            # a product that is spread over threads gets in the way of the other process
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(jobs, mp_context=context)

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
        if self._pool is not None:
            self._pool.shutdown()
