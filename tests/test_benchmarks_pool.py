"""Processes of benchmarks: they share tasks, and end with the process that began them."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

from benchmarks.pool import Pool
from support.feeding import until
from support.groups import alive

ROOT = Path(__file__).parent.parent
# Prints the numbers of processes that work, and waits.
PROGRAM = """\
import os, time
from benchmarks.pool import Pool


def number(_):
    time.sleep(0.1)
    return os.getpid()


if __name__ == "__main__":
    print(*Pool(2).map(number, range(20), "numbers"), flush=True)
    time.sleep(600)
"""


def test_results_are_in_the_order_of_their_tasks() -> None:
    pool = Pool(2)
    assert list(pool.map(abs, [-3, -1, -2], "numbers")) == [3, 1, 2]
    pool.close()


async def test_processes_end_when_the_one_that_began_them_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "measure.py"
    script.write_text(PROGRAM)
    process = await asyncio.create_subprocess_exec(
        sys.executable, script, stdout=PIPE, stderr=DEVNULL, env={"PYTHONPATH": str(ROOT)}
    )
    assert process.stdout is not None
    workers = set(map(int, (await process.stdout.readline()).split()))
    assert all(map(alive, workers))
    process.kill()
    await process.wait()
    assert workers
    await until(lambda: not any(map(alive, workers)), 20)
