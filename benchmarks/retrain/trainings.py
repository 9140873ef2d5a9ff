"""How long a joint training takes, and the memory that it takes."""

import time
import tracemalloc

import numpy as np

from benchmarks.retrain.output import emit
from benchmarks.retrain.workloads import NOISE, Workload
from littled.learners.contract import CallAdmitted, Place

SECONDS_MAX = 1.0


def train(workload: Workload, runs: int) -> bool:
    """Time one workload; whether it meets the goal."""
    learner, state = workload.prepared()
    event = CallAdmitted(Place(bytes(32), 0, workload.kept))
    seconds = []
    for _ in range(runs + 1):
        begun = time.perf_counter()
        learner.step(state, event, NOISE)
        seconds.append(time.perf_counter() - begun)
    tracemalloc.start()
    learner.step(state, event, NOISE)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    first, *later = seconds
    median = float(np.median(later))
    emit(
        f"training of {workload.title}",
        median_ms=round(median * 1e3, 1),
        max_ms=round(max(later) * 1e3, 1),
        first_ms=round(first * 1e3, 1),
        peak_mib=round(peak / 2**20, 1),
        kept=workload.kept,
        runs=runs,
        met=median <= SECONDS_MAX,
    )
    return median <= SECONDS_MAX
