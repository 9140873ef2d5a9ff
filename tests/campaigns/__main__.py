"""`make campaign`: the long runs, side by side, with one table in the end.

    python -m campaigns [NAME | NAME=COUNT] ...

Without names every campaign runs, with the count it has in `SEEDED`. What is done is kept in
`.campaign/`, so that a run that was killed goes on where it was; it belongs to one version of the
program, and another begins anew. Failing seeds are added to the campaign's file of seeds, which
every run of the tests repeats. What ran whole is written to `docs/campaigns.md`. The status is 1 if
anything failed.
"""

import datetime
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from campaigns import record
from littled.auditing.trials import usual_processes
from support.campaigns import PART_IMAGES, PART_KILLS

ROOT = Path(__file__).parents[2]
STATE = ROOT / ".campaign" / "state.json"
PROCESSES = usual_processes()
# Beside them, as these wait for servers most of the time.
WAITING_PROCESSES = 1
WAITING = ("cluster",)
CHUNK_SECONDS_MAX = 6 * 3600
TEST_SECONDS_MAX = 3600
FAILING = re.compile(r"^failing seed (\S+)$", re.MULTILINE)
SKIPPED = re.compile(r"^(?:.*, )?(\d+) skipped\b.* in [\d.]+s", re.MULTILINE)
# Tests that hold the program to times, which they take on a machine where nothing else runs: they
# come last, one at a time.
ALONE = ("test_fairness.py", "test_full_speed.py", "test_label_timing.py")


@dataclass(frozen=True, slots=True)
class Seeded:
    """A campaign whose cases are numbers; its module takes the first one and how many.

    For each case that fails it prints "failing seed NUMBER", and it ends with status 1 then.
    `seeds_file`: where failing ones are kept, "" where the module keeps what failed itself.
    """

    module: str
    count: int
    chunk: int
    unit: str
    seeds_file: str = ""


SEEDED: dict[str, Seeded] = {
    "soak": Seeded("sim.soak", 24, 24, "hours"),
    "cluster": Seeded("cluster.run", 1_000, 100, "faults", "tests/cluster/failing_seeds.json"),
    "pages": Seeded("fuzzing.pages", 500, 125, "requests for each page of HTTP"),
    "guided": Seeded("fuzzing.guided", 10_000_000, 500_000, "inputs"),
    "live": Seeded("fuzzing.live", 200_000, 10_000, "frames"),
    "simulation": Seeded("sim.run", 10_000, 250, "seeds", "tests/sim/failing_seeds.json"),
    "frames": Seeded("fuzzing.frames", 20_000_000, 500_000, "inputs"),
    "protocol": Seeded("model.explore", 5_000, 250, "seeds", "tests/model/failing_seeds.json"),
}


@dataclass(frozen=True, slots=True)
class OfTests:
    """A campaign whose cases are in tests.

    test: which one with all its parameters, "" for all that no other campaign names. cases: how
    many it tries in each. piece: how many tests share a process, which takes seconds before its
    first; an audit takes many minutes, so that little is lost where a run is stopped.
    """

    test: str = ""
    cases: int = 1
    piece: int = 4


CRASHES = "tests/daemon/store/test_crashes.py"
OF_TESTS: dict[str, OfTests] = {
    "audit": OfTests(
        "tests/daemon/auditing/test_subjects.py::test_many_runs_of_the_engine_exceed_no_claim",
        piece=1,
    ),
    "tests": OfTests(),
    "kills": OfTests(f"{CRASHES}::test_kills_at_failpoints", PART_KILLS),
    "cuts": OfTests(f"{CRASHES}::test_images_of_a_power_cut", PART_IMAGES),
}
# The longest pieces come first, so that the last ones are short, and no core waits for the other.
ORDER = ("soak", *OF_TESTS, *(name for name in SEEDED if name != "soak"))


@dataclass(slots=True)
class Progress:
    """How far a campaign is.

    cases: how many are done, without those that were skipped. core_seconds: CPU time of all its
    processes. whole: whether it was asked for all there is. ended: the day of the last piece.
    """

    version: str
    asked: int = 0
    done: list[str] = field(default_factory=list)
    cases: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    core_seconds: float = 0.0
    whole: bool = False
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of a campaign: what it is called, how many cases it has, and its command.

    cases_a_test: how many of them are in a test, if it is of tests.
    """

    name: str
    cases: int
    command: tuple[str, ...]
    cases_a_test: int = 1


Piece = tuple[str, Job]
"""A piece with the name of its campaign."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a piece: the cases that failed, how many were skipped, output and CPU time."""

    failing: list[str] = field(default_factory=list)
    skipped: int = 0
    output: str = ""
    core_seconds: float = 0.0


def version() -> str:
    """The commit, and whether anything was changed since but what campaigns write themselves."""

    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["git", *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    commit = git("describe", "--always", "--abbrev=12").stdout.strip()
    written = [f":(exclude){each.seeds_file}" for each in SEEDED.values() if each.seeds_file]
    written.append(f":(exclude){record.PAGE}")
    changed = git("diff", "--quiet", "HEAD", "--", ".", *written).returncode
    return (commit or "unknown") + ("-dirty" if changed else "")


def load(now: str) -> dict[str, Progress]:
    """What was done by this version."""
    if not STATE.exists():
        return {}
    values = json.loads(STATE.read_text(encoding="utf-8"))
    return {name: Progress(**value) for name, value in values.items() if value["version"] == now}


def save(state: dict[str, Progress]) -> None:
    """Write the state as a whole, so that a kill leaves the old one or the new one."""
    STATE.parent.mkdir(exist_ok=True)
    text = json.dumps({name: asdict(progress) for name, progress in state.items()}, indent=1)
    beside = STATE.with_suffix(".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(STATE)


def seeded_jobs(campaign: Seeded, count: int) -> Iterator[Job]:
    """The pieces of a campaign of numbers."""
    for first in range(0, count, campaign.chunk):
        cases = min(campaign.chunk, count - first)
        command = (sys.executable, "-m", campaign.module, str(first), str(cases))
        yield Job(f"{first}+{cases}", cases, command)


def test_names() -> list[str]:
    """Every test that is marked as a campaign."""
    command = [sys.executable, "-m", "pytest", "-m", "campaign", "--collect-only"]
    # quiet once, by the configuration: twice would count tests by file and name none
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [line for line in found.stdout.splitlines() if "::" in line]


def names_of(campaign: str, names: Sequence[str]) -> list[str]:
    """Those tests that belong to a campaign of tests; each belongs to one of them."""
    owners = {each.test: name for name, each in OF_TESTS.items()}
    rest = owners[""]
    return [each for each in names if owners.get(each.partition("[")[0], rest) == campaign]


def test_jobs(names: Sequence[str], campaign: OfTests) -> Iterator[Job]:
    """A few tests of one file in each piece."""
    limits = (
        *("-o", f"timeout={TEST_SECONDS_MAX}"),
        *("-o", f"faulthandler_timeout={CHUNK_SECONDS_MAX}"),
    )
    files: dict[str, list[str]] = {}
    for name in names:
        files.setdefault(name.partition("::")[0], []).append(name)
    for found in files.values():
        for first in range(0, len(found), campaign.piece):
            few = found[first : first + campaign.piece]
            command = (sys.executable, "-m", "pytest", "-m", "campaign", *limits, *few)
            cases = campaign.cases * len(few)
            yield Job(f"{few[0]} and {len(few) - 1} more", cases, command, campaign.cases)


def failed_tests(job: Job, output: str) -> list[str]:
    """Which tests of a piece failed, or could not be set up, by the summary of pytest."""
    summary = [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    told = {f"{line.partition(' ')[2]} - " for line in summary}
    return [name for name in job.command if any(line.startswith(f"{name} - ") for line in told)]


def run_job(job: Job) -> Outcome:
    """Run a piece in a process of its own."""
    of_tests = job.command[2] == "pytest"
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            job.command, cwd=ROOT if of_tests else ROOT / "tests",
            stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
        )  # fmt: skip
        limit = threading.Timer(CHUNK_SECONDS_MAX, child.kill)
        limit.start()
        try:
            # unlike what `subprocess` offers this says what it and its children have used
            _, status, used = os.wait4(child.pid, 0)
        finally:
            limit.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        output = said.read().decode(errors="replace")
    failing = failed_tests(job, output) if of_tests else FAILING.findall(output)
    if child.returncode and not failing:
        failing = [job.name]
        output += f"\n{job.name} ended with status {child.returncode}\n"
    skipped = sum(map(int, SKIPPED.findall(output))) * job.cases_a_test if of_tests else 0
    return Outcome(failing, skipped, output, used.ru_utime + used.ru_stime)


def run_pieces(pieces: Sequence[Piece], state: dict[str, Progress]) -> None:
    """Run pieces of campaigns side by side, and after them those that want to be alone."""
    alone = [piece for piece in pieces if wants_to_be_alone(piece[1])]
    run_some([piece for piece in pieces if piece not in alone], state, PROCESSES)
    run_some(alone, state, 1)


def wants_to_be_alone(job: Job) -> bool:
    """Whether it is of tests that need a machine for themselves."""
    file, _, test = job.name.partition("::")
    return bool(test) and Path(file).name in ALONE


def run_some(pieces: Sequence[Piece], state: dict[str, Progress], processes: int) -> None:
    """Run pieces, so many side by side, and write down how far each campaign is after each."""
    finished: queue.SimpleQueue[Future[Outcome]] = queue.SimpleQueue()
    lanes = [ThreadPoolExecutor(processes), ThreadPoolExecutor(WAITING_PROCESSES)]
    try:
        jobs = {}
        for name, job in pieces:
            future = lanes[name in WAITING].submit(run_job, job)
            jobs[future] = name, job
            future.add_done_callback(finished.put)
        for _ in pieces:
            future = finished.get()
            name, job = jobs[future]
            note(name, job, future.result(), state[name])
            save(state)
    finally:
        for lane in lanes:
            lane.shutdown(cancel_futures=True)


def note(name: str, job: Job, outcome: Outcome, progress: Progress) -> None:
    """Add what came of a piece; keep what is needed to look at what failed."""
    progress.done.append(job.name)
    progress.cases += job.cases - outcome.skipped
    progress.skipped += outcome.skipped
    progress.failures += outcome.failing
    progress.core_seconds += outcome.core_seconds
    progress.ended = datetime.datetime.now(datetime.UTC).date().isoformat()
    if outcome.failing:
        STATE.parent.mkdir(exist_ok=True)
        with (STATE.parent / f"{name}.log").open("a", encoding="utf-8") as log:
            log.write(outcome.output)
        keep_seeds(name, outcome.failing)
    done = progress.cases + progress.skipped
    print(f"{name}: {done:,} of {progress.asked:,}, failed {outcome.failing}", flush=True)


def keep_seeds(name: str, failing: Sequence[str]) -> None:
    """Add failing seeds to the file of seeds that every run of the tests repeats."""
    if name not in SEEDED or not SEEDED[name].seeds_file:
        return
    path = ROOT / SEEDED[name].seeds_file
    seeds = {*json.loads(path.read_text(encoding="utf-8")), *map(int, filter(str.isdigit, failing))}
    path.write_text(json.dumps(sorted(seeds)) + "\n", encoding="utf-8")


def whole_row(progress: Progress) -> record.Row | None:
    """What `docs/campaigns.md` says of a run; None where it was not whole, or of no commit."""
    if not progress.whole or progress.cases + progress.skipped < progress.asked:
        return None
    if progress.version.endswith("-dirty"):
        return None
    return record.Row(
        progress.version, progress.ended, progress.cases, progress.skipped,
        len(progress.failures), progress.core_seconds / 60,
    )  # fmt: skip


def table(state: dict[str, Progress], names: Sequence[str]) -> str:
    """Campaign, cases asked for, done, skipped and failed, version, minutes of one core."""
    rows = [["campaign", "asked", "done", "skipped", "failed", "version", "core-minutes"]]
    for name in names:
        found = state[name]
        numbers = found.asked, found.cases, found.skipped, len(found.failures)
        counts = [f"{number:,}" for number in numbers]
        rows.append([name, *counts, found.version, f"{found.core_seconds / 60:,.1f}"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    failures = [f"failed: {name} {case}" for name in names for case in state[name].failures]
    return "\n".join([*lines, *failures])


def prepare(name: str, count: int, state: dict[str, Progress], now: str) -> list[Piece]:
    """Note what is asked for of a campaign; return the pieces of it that are left.

    count: 0 for all cases of tests.
    """
    if name in SEEDED:
        whole = count >= SEEDED[name].count
        jobs = list(seeded_jobs(SEEDED[name], count))
    else:
        names, tested = names_of(name, test_names()), OF_TESTS[name]
        wanted = -(-count // tested.cases) or len(names)
        # a part of them may be asked for by the environment as well (`support.campaigns`)
        few = any(each.startswith("LITTLED_CAMPAIGN_") for each in os.environ)
        whole = not few and wanted >= len(names)
        jobs = list(test_jobs(names[:wanted], tested))
    progress = state.setdefault(name, Progress(now))
    progress.asked, progress.whole = sum(job.cases for job in jobs), whole
    done = set(progress.done)
    return [(name, job) for job in jobs if job.name not in done]


def main(arguments: Sequence[str]) -> int:
    """Run the campaigns that are named, or all."""
    counts = {name: SEEDED[name].count if name in SEEDED else 0 for name in ORDER}
    asked = dict(counts)
    if arguments:
        given = (argument.partition("=") for argument in arguments)
        asked = {name: int(count) if count else counts.get(name, 0) for name, _, count in given}
    unknown = asked.keys() - counts.keys()
    if unknown:
        print(f"there is no campaign {', '.join(sorted(unknown))}; there are {', '.join(counts)}")
        return 2
    began, now = time.monotonic(), version()
    state = load(now)
    pieces = [
        piece for name in ORDER if name in asked for piece in prepare(name, asked[name], state, now)
    ]
    run_pieces(pieces, state)
    found: dict[str, Any] = {name: whole_row(state[name]) for name in asked}
    record.renew(ROOT / record.PAGE, {name: row for name, row in found.items() if row})
    print(table(state, list(asked)))
    print(f"in {(time.monotonic() - began) / 60:,.0f} minutes, with what was done before")
    return 1 if any(state[name].failures for name in asked) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
