"""All runs: first those that choose settings, each on other streams, then those that count.

Runs are kept in a file as they end, so that a measurement that was broken off goes on where it was.
"""

import json
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.pool import Pool
from benchmarks.real.method import Method, Setting
from benchmarks.real.methods import METHODS
from benchmarks.real.streams import SETTLED, Flags, RealStream, family_of, stream_of

# Seeds from here on are for choosing among settings, and for nothing else.
TUNING_SEED = 1_000_000
TIMELINE_POINTS = 200
WITHOUT = ""  # the epsilon of what is not private


@dataclass(frozen=True)
class Run:
    """One method on one stream, with one budget, seed and setting.

    rows: examples. timeline: mistakes up to each of `TIMELINE_POINTS` even positions. parts: error
    of parts of a stream that changes: "before", from a quarter to the change; "after", from the
    change on; "settled", the same without the first examples after the change (`SETTLED`).
    """

    stream: str
    rows: int
    method: str
    epsilon: str
    seed: int
    setting: Setting
    mistakes: int
    timeline: tuple[int, ...]
    parts: dict[str, float]
    seconds: float

    @property
    def error(self) -> float:
        """Progressive error."""
        return self.mistakes / self.rows


@dataclass(frozen=True)
class Refusal:
    """Why a method did not run."""

    stream: str
    method: str
    epsilon: str
    reason: str


@dataclass(frozen=True)
class Task:
    """Runs of one method on one stream with one budget: every setting with every seed.

    rows: of the stream, at most; None for all.
    """

    stream: str
    rows: int | None
    method: str
    epsilon: str
    settings: tuple[Setting, ...]
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Asked:
    """What is to be measured: names, budgets as they are written, seeds, and rows at most."""

    streams: tuple[str, ...]
    tuning_streams: tuple[str, ...]
    methods: tuple[str, ...]
    epsilons: tuple[str, ...]
    seeds: int
    tuning_seeds: int
    rows: int | None = None


# --- Single runs ----------------------------------------------------------------------------------


def perform(task: Task) -> list[Run] | Refusal:
    """The runs of a task, or why there are none."""
    stream, method = stream_of(task.stream, task.rows), METHODS[task.method]
    reason = method.refusal(stream, task.epsilon)
    if reason is not None:
        return Refusal(task.stream, task.method, task.epsilon, reason)
    return [
        _run(stream, method, task.epsilon, seed, setting)
        for setting in task.settings
        for seed in task.seeds
    ]


def _run(stream: RealStream, method: Method, epsilon: str, seed: int, setting: Setting) -> Run:
    begun = time.process_time()
    wrong = method.wrong(stream, epsilon, seed, setting)
    seconds = time.process_time() - begun
    ends = len(stream) * np.arange(1, TIMELINE_POINTS + 1) // TIMELINE_POINTS
    timeline = np.concatenate(([0], np.cumsum(wrong)))[ends]
    return Run(
        stream.name, len(stream), method.name, epsilon, seed, setting, int(wrong.sum()),
        tuple(timeline.tolist()), parts_of(stream, wrong), round(seconds, 3),
    )  # fmt: skip


def parts_of(stream: RealStream, wrong: Flags) -> dict[str, float]:
    """Error of the parts of a stream that changes; nothing for others.

    A stream that was made too short for it has no part "settled".
    """
    change = stream.change
    if change is None:
        return {}
    starts = {"before": change // 2, "after": change, "settled": change + SETTLED[stream.name]}
    parts = {
        name: wrong[start : change if name == "before" else None] for name, start in starts.items()
    }
    return {name: float(part.mean()) for name, part in parts.items() if len(part)}


# --- Runs that are kept ---------------------------------------------------------------------------

Key = tuple[str, int | None, str, str, int, str]


@dataclass
class Kept:
    """Runs by what was asked for, in a file with one JSON object a line."""

    path: Path
    runs: dict[Key, Run] = field(default_factory=dict)

    @classmethod
    def opened(cls, path: Path, again: Iterable[str]) -> "Kept":
        """The runs of a file, if there is one, without those of the methods `again`.

        A last line that is not whole was being written when the measurement was broken off.
        """
        found = cls(path)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        lines = text[: text.rfind("\n") + 1].splitlines()
        kept = [line for line in lines if json.loads(line)["method"] not in set(again)]
        for line in kept:
            values = json.loads(line)
            asked = values.pop("asked")
            values["timeline"] = tuple(values["timeline"])
            run = Run(**values)
            found.runs[_key(run, asked)] = run
        whole = "".join(f"{line}\n" for line in kept)
        if whole != text:
            path.write_text(whole, encoding="utf-8")
        return found

    def add(self, runs: Iterable[Run], asked: int | None) -> None:
        """Keep runs; `asked`: the rows that were asked for."""
        with self.path.open("a", encoding="utf-8") as file:
            for run in runs:
                self.runs[_key(run, asked)] = run
                file.write(f"{json.dumps({**asdict(run), 'asked': asked})}\n")

    def of(self, task: Task) -> list[Run] | None:
        """The runs of a task, if all of them are kept."""
        keys = [
            (task.stream, task.rows, task.method, task.epsilon, seed, _written(setting))
            for setting in task.settings
            for seed in task.seeds
        ]
        found = [self.runs[key] for key in keys if key in self.runs]
        return found if len(found) == len(keys) else None


def _key(run: Run, asked: int | None) -> Key:
    return run.stream, asked, run.method, run.epsilon, run.seed, _written(run.setting)


def _written(setting: Setting) -> str:
    return json.dumps(dict(setting), sort_keys=True)


Results = list[list[Run] | Refusal]


def performed(tasks: Sequence[Task], kept: Kept, pool: Pool, what: str) -> Results:
    """What each task gives, in order; what is kept is not run again."""
    missing = [task for task in tasks if kept.of(task) is None]
    refusals: dict[int, Refusal] = {}
    for task, found in zip(missing, pool.map(perform, missing, what), strict=True):
        if isinstance(found, Refusal):
            refusals[id(task)] = found
        else:
            kept.add(found, task.rows)
    return [refusals.get(id(task)) or kept.of(task) or [] for task in tasks]


# --- Settings, and everything ---------------------------------------------------------------------

# Errors of each setting by method and budget and by tuning stream.
Trials = dict[tuple[str, str], dict[str, list[float]]]
# The setting by method, budget and stream.
Choices = dict[tuple[str, str, str], Setting]


def budgets(method: str, epsilons: Sequence[str]) -> Sequence[str]:
    """The budgets with which a method runs."""
    return epsilons if METHODS[method].private else (WITHOUT,)


def seeds_of(method: str, first: int, count: int) -> tuple[int, ...]:
    """The seeds of a method; what has no chance has one run."""
    return tuple(range(first, first + count)) if METHODS[method].seeded else (0,)


def trials(asked: Asked, kept: Kept, pool: Pool) -> Trials:
    """Every setting of every method that has a choice, on the tuning streams."""
    tasks = [
        Task(
            stream, asked.rows, method, epsilon, tuple(METHODS[method].settings),
            seeds_of(method, TUNING_SEED, asked.tuning_seeds),
        )
        for stream in asked.tuning_streams
        for method in asked.methods
        if len(METHODS[method].settings) > 1
        for epsilon in budgets(method, asked.epsilons)
    ]  # fmt: skip
    found: Trials = defaultdict(dict)
    for task, runs in zip(tasks, performed(tasks, kept, pool, "tuning"), strict=True):
        if isinstance(runs, Refusal):
            continue
        errors = [run.error for run in runs]
        each = len(task.seeds)
        means = [statistics.mean(errors[at : at + each]) for at in range(0, len(errors), each)]
        found[task.method, task.epsilon][task.stream] = means
    return found


def chosen(asked: Asked, found: Trials) -> Choices:
    """For each stream the setting with the least mean error on the tuning streams of other data.

    There has to be one of other data than each stream is.
    """
    choices: Choices = {}
    for method in asked.methods:
        settings = METHODS[method].settings
        for epsilon in budgets(method, asked.epsilons):
            errors = found.get((method, epsilon), {})
            for stream in asked.streams:
                others = [e for name, e in errors.items() if family_of(name) != family_of(stream)]
                means = [statistics.mean(each) for each in zip(*others, strict=True)]
                best = min(range(len(means)), key=means.__getitem__) if means else 0
                choices[method, epsilon, stream] = settings[best]
    return choices


def measured(asked: Asked, kept: Kept, pool: Pool) -> tuple[list[Run], list[Refusal]]:
    """All runs that count, with settings from other streams, and what did not run."""
    choices = chosen(asked, trials(asked, kept, pool))
    tasks = [
        Task(
            stream, asked.rows, method, epsilon, (choices[method, epsilon, stream],),
            seeds_of(method, 0, asked.seeds),
        )
        for stream in asked.streams
        for method in asked.methods
        for epsilon in budgets(method, asked.epsilons)
    ]  # fmt: skip
    results = performed(tasks, kept, pool, "streams")
    refusals = [found for found in results if isinstance(found, Refusal)]
    runs = [run for found in results if not isinstance(found, Refusal) for run in found]
    return runs, refusals
