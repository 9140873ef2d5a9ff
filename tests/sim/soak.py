"""A day of the simulated service: `python -m sim.soak 0 HOURS`.

Half a minute after its start each life of the daemon is killed, with everything that it has
written; once an hour the disk is full, once a sync fails, and once the power goes. Producers send
all the while, subscribers and people who ask come back. After every hour the auditor opens a copy
of the store, in a process of its own, and in the end the journal is learned again. The memory of
this process, which holds the daemon, must not grow from hour to hour.
"""

import ctypes
import gc
import logging
import os
import random
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

from sim.peers import Wrong
from sim.run import (
    Faults,
    Load,
    Machine,
    audit,
    leave_out_of_collections,
    new_store,
    one_life,
)
from support.disks import quick_folder

KILL_SECONDS = 30.0
HOUR_SECONDS = 3_600.0
# Far more than a day takes, at two producers that send about 40 examples and rest for 3 seconds.
ENDLESS = 10**9
LOAD = Load((("tower", ENDLESS), ("radar", ENDLESS)), rest_seconds=3.0)
# Growth in an hour, after the first, beside what the auditor keeps of every answer and release.
GROWTH_BYTES_MAX = 4 << 20


def resident_bytes() -> int:
    """Memory of this process, without what the daemon lets the C library keep for later."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def faults_of(life: int) -> Faults:
    """A kill after half a minute, unless the disk fails first: three times an hour."""
    faults = Faults(kill_after_seconds=KILL_SECONDS)
    place = life % 120
    if place in (30, 60):
        faults.failure_at = 30 + place
    elif place == 90:
        faults.power_at = 50
    return faults


def begin_audit(machine: Machine, path: Path, *, replay: bool) -> int:
    """Let another process look at a copy of the store; its id.

    What the auditor takes in memory grows with the journal, and is not the daemon's.
    """
    copy = shutil.copytree(path, machine.folder / "audited")
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        audit(machine, copy, replay=replay)
        status = 0
    except BaseException:  # noqa: BLE001 - the process ends here, whatever it was
        traceback.print_exc()
    finally:
        os._exit(status)


def end_audit(machine: Machine, child: int) -> None:
    """Wait for the auditor; raise Wrong if it has found something."""
    _, status = os.waitpid(child, 0)
    shutil.rmtree(machine.folder / "audited")
    if status:
        raise Wrong("the auditor has found something")


def soak(hours: int, seed: int = 0) -> list[int]:
    """Run so many hours of simulated time; return the memory after each."""
    with tempfile.TemporaryDirectory(prefix="soak", dir=quick_folder()) as name:
        machine = Machine(seed, Path(name), random.Random(seed), load=LOAD)
        path, memory, life = new_store(machine), [], 0
        auditor: int | None = None
        for hour in range(1, hours + 1):
            while machine.now < hour * HOUR_SECONDS:
                left, _ = one_life(machine, path, faults_of(life))
                if left != path:
                    shutil.rmtree(path)
                path = left
                life += 1
            machine.lines.clear()
            if auditor is not None:
                end_audit(machine, auditor)
            auditor = begin_audit(machine, path, replay=hour == hours)
            memory.append(resident_bytes())
            sent = sum(machine.seen.acknowledged.values())
            print(
                f"hour {hour}: {life} lives, {sent:,} examples, {memory[-1] >> 20} MiB", flush=True
            )
        if auditor is not None:
            end_audit(machine, auditor)
        print(f"{machine.kills} kills, {machine.crashes} power cuts, {machine.failures} failures")
    return memory


def slope(memory: list[int]) -> float:
    """Bytes an hour after the first hour, by least squares; 0 for fewer than three hours."""
    later = memory[1:]
    if len(later) < 2:
        return 0.0
    middle, mean = (len(later) - 1) / 2, sum(later) / len(later)
    upper = sum((hour - middle) * (bytes_ - mean) for hour, bytes_ in enumerate(later))
    return upper / sum((hour - middle) ** 2 for hour in range(len(later)))


def main(_first: str = "0", hours: str = "24") -> int:
    """Run; the status is 1 where a promise was broken or the memory grew."""
    logging.getLogger("concurrent.futures").disabled = True
    sys.unraisablehook = lambda _: None
    leave_out_of_collections()
    try:
        growth = slope(soak(int(hours)))
    except Exception:  # noqa: BLE001 - whatever it is, it is a finding
        traceback.print_exc()
        print("failing seed 0")
        return 1
    print(f"memory grows by {growth / (1 << 20):.1f} MiB an hour")
    if growth > GROWTH_BYTES_MAX:
        print("failing seed 0")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
