"""Audits by trials: learn from runs which transcripts to believe, then prove with new ones.

A subject is a mechanism with its claims and some trials, each a pair of neighbouring inputs. All
trials are tried a little, the most promising one is trained, and new runs of it decide. Every run
has a key of its own, and no two stages share one.
"""

import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from littled.auditing.bounds import (
    DOUBT,
    Belief,
    Claim,
    Counts,
    Sides,
    Verdict,
    View,
    learn,
)
from littled.auditing.noise import derived_key

# Of the runs that decide, so many are made of each trial to choose one, within these limits; and of
# the one that is chosen to train it.
PILOT_PART, PILOT_RUNS = 20, (100, 2_000)
TRAINING_PART = 2
# Where runs cost little a choice has more of them.
CHEAP_PILOT_PART = 10
# What is proven is no better with fewer.
RUNS_MIN = 100

PILOT, TRAINING, DECISION = range(3)


class Trial(Protocol):
    """A mechanism on two neighbouring inputs, its sides 0 and 1."""

    @property
    def name(self) -> str:
        """What the inputs are, in a few words."""

    @property
    def chunk(self) -> int:
        """Runs that are counted at a time."""

    def counts(self, side: int, runs: int, key: bytes) -> Counts:
        """How often each public transcript came up; a function of its arguments."""


class Subject(Protocol):
    """What is audited."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def what(self) -> str:
        """What it is, in a line."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Every (epsilon, delta) that is promised, the one that is shown first."""

    @property
    def private(self) -> bool:
        """Whether the claims hold, as far as anybody knows."""

    @property
    def usual_runs(self) -> int:
        """Runs a side that decide where nothing else is asked for."""

    def runs_needed(self, runs: int) -> int:
        """Runs of an audit in all, with so many that decide on each side."""

    def audited(self, auditor: "Auditor", key: bytes, runs: int) -> "Finding":
        """The audit, with keys that follow from `key`."""


@dataclass(frozen=True)
class Finding:
    """What an audit of one subject came to; `trial` names the inputs that decided."""

    subject: Subject
    trial: str
    verdict: Verdict

    @property
    def exceeded(self) -> bool:
        """Whether a claim is proven wrong."""
        return bool(self.verdict.exceeded(self.subject.claims))

    @property
    def claim(self) -> Claim:
        """The first of the claims that is proven wrong; where none is, the first one."""
        return (*self.verdict.exceeded(self.subject.claims), *self.subject.claims)[0]

    @property
    def epsilon(self) -> float:
        """The lower bound of epsilon at the claim's delta, at least 0."""
        return self.at_least(self.claim.delta)

    def at_least(self, delta: float) -> float:
        """The lower bound of epsilon at this delta, at least 0, as epsilon is never negative."""
        return max(self.verdict.epsilon(delta), 0.0)


@dataclass(frozen=True)
class TrialSubject:
    """A mechanism that is audited by trials.

    `views`: what is looked at of its transcripts. `cheap`: whether runs cost little, or
    trials are few, so that each of them may have more runs.
    """

    name: str
    what: str
    claims: tuple[Claim, ...]
    trials: Sequence[Trial]
    views: tuple[View, ...]
    private: bool = True
    usual_runs: int = 4_000
    cheap: bool = False

    def runs_needed(self, runs: int) -> int:
        """Runs of an audit in all, with so many that decide on each side."""
        pilot, training = self._shares(runs)
        return 2 * (len(self.trials) * pilot + training + runs)

    def audited(self, auditor: "Auditor", key: bytes, runs: int) -> Finding:
        """Try every trial a little, train the most promising one, and decide by new runs of it."""
        pilot, training = self._shares(runs)
        tried = []
        for number, trial in enumerate(self.trials):
            halves = auditor.halves(trial, pilot, derived_key(key, PILOT, number))
            tried.append((self._learned(*halves, runs, auditor.doubt).promised, number))
        trial = self.trials[max(tried)[1]]
        halves = auditor.halves(trial, training, derived_key(key, TRAINING))
        belief = self._learned(*halves, runs, auditor.doubt)
        decision = auditor.sides(trial, runs, derived_key(key, DECISION))
        hits, false_hits = (
            belief.count(decision[side]) for side in (belief.likely, 1 - belief.likely)
        )
        return Finding(self, trial.name, Verdict(hits, false_hits, runs, auditor.doubt))

    def _shares(self, runs: int) -> tuple[int, int]:
        """Runs of a side of each trial to choose one, and of the chosen one to train it."""
        if self.cheap:
            return max(runs // CHEAP_PILOT_PART, PILOT_RUNS[0]), runs // TRAINING_PART
        least, most = PILOT_RUNS
        return min(max(runs // PILOT_PART, least), most), runs // TRAINING_PART

    def _learned(self, counts: Sides, checks: Sides, runs: int, doubt: float) -> Belief:
        return learn(counts, checks, self.views, self.claims[0], runs, doubt)


@dataclass(frozen=True)
class Auditor:
    """Makes audits with keys that follow from `key`; `doubt` is that of each of them.

    Runs are made on `pool`, or here without one. `told` hears how many runs were made.
    """

    key: bytes
    doubt: float = DOUBT
    pool: Executor | None = None
    told: Callable[[int], None] = field(default=lambda _: None)

    def audit(self, number: int, subject: Subject, runs: int) -> Finding:
        """Audit subject number `number`. ValueError for fewer than `RUNS_MIN` runs."""
        if runs < RUNS_MIN:
            raise ValueError(f"an audit needs at least {RUNS_MIN} runs")
        return subject.audited(self, derived_key(self.key, number), runs)

    def halves(self, trial: Trial, runs: int, key: bytes) -> tuple[Sides, Sides]:
        """Counts of so many runs on each side, in two halves: to learn from, and to check by."""
        half = runs // 2
        learning = self.sides(trial, runs - half, derived_key(key, 0))
        return learning, self.sides(trial, half, derived_key(key, 1))

    def sides(self, trial: Trial, runs: int, key: bytes) -> Sides:
        """Counts of so many runs on each side."""
        tasks = [
            (side, min(trial.chunk, runs - start), derived_key(key, side, start))
            for side in (0, 1)
            for start in range(0, runs, trial.chunk)
        ]
        found: Sides = (Counter(), Counter())
        for side, count, counts in self._counted(trial, tasks):
            found[side].update(counts)
            self.told(count)
        return found

    def _counted(
        self, trial: Trial, tasks: Sequence[tuple[int, int, bytes]]
    ) -> Iterator[tuple[int, int, Counts]]:
        """Side, runs and counts of each task, in any order."""
        if self.pool is None:
            for side, runs, key in tasks:
                yield side, runs, trial.counts(side, runs, key)
            return
        waiting = {
            self.pool.submit(trial.counts, side, runs, key): (side, runs)
            for side, runs, key in tasks
        }
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for task in done:
                yield *waiting.pop(task), task.result()


@contextmanager
def processes(count: int) -> Iterator[ProcessPoolExecutor | None]:
    """A pool of so many processes, None for a single one; given up at once when interrupted."""
    if count <= 1:
        yield None
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_leave_interruptions)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def usual_processes() -> int:
    """As many as this process may use cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _leave_interruptions() -> None:
    """Who is interrupted is the process that waits; it ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
