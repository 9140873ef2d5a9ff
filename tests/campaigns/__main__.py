"""`make campaign`: the long runs, one after the other, with one table in the end.

    python -m campaigns [NAME | NAME=COUNT] ...

Without names every campaign runs, with the count it has in `SEEDED`. What is done is kept in
`.campaign/`, so that a run that was killed goes on where it was; it belongs to one version of the
program, and another begins anew. Failing seeds are added to the campaign's file of seeds, which
every run of the tests repeats. The status is 1 if anything failed.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
STATE = ROOT / ".campaign" / "state.json"
PROCESSES = 2
CHUNK_SECONDS_MAX = 6 * 3600
TEST_SECONDS_MAX = 3600
FAILING = re.compile(r"^failing seed (\S+)$", re.MULTILINE)
TESTS = "tests"


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
    "simulation": Seeded("sim.run", 10_000, 50, "seeds", "tests/sim/failing_seeds.json"),
    "protocol": Seeded("model.explore", 5_000, 250, "seeds", "tests/model/failing_seeds.json"),
    "cluster": Seeded("cluster.run", 1_000, 100, "faults", "tests/cluster/failing_seeds.json"),
    "soak": Seeded("sim.soak", 24, 24, "hours"),
    "frames": Seeded("fuzzing.frames", 20_000_000, 100_000, "inputs"),
    "live": Seeded("fuzzing.live", 200_000, 10_000, "frames"),
    "pages": Seeded("fuzzing.pages", 500, 125, "requests for each page of HTTP"),
    "guided": Seeded("fuzzing.guided", 10_000_000, 500_000, "inputs"),
}


@dataclass(slots=True)
class Progress:
    """How far a campaign is: cases that are done, those that failed, and seconds of its runs."""

    version: str
    asked: int = 0
    done: list[str] = field(default_factory=list)
    cases: int = 0
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of a campaign: what it is called, how many cases it has, and its command."""

    name: str
    cases: int
    command: tuple[str, ...]


def version() -> str:
    """The commit, and whether anything was changed since."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def load(now: str) -> dict[str, Progress]:
    """What was done by this version."""
    if not STATE.exists():
        return {}
    values = json.loads(STATE.read_text(encoding="utf-8"))
    kept = {name: Progress(**value) for name, value in values.items()}
    return {name: progress for name, progress in kept.items() if progress.version == now}


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


def test_jobs() -> Iterator[Job]:
    """Every test that is marked as a campaign, each on its own."""
    pytest = (sys.executable, "-m", "pytest", "-m", "campaign")
    # quiet once, by the configuration: twice would count tests by file and name none
    found = subprocess.run(
        [*pytest, "--collect-only"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    limits = (
        "-o",
        f"timeout={TEST_SECONDS_MAX}",
        "-o",
        f"faulthandler_timeout={CHUNK_SECONDS_MAX}",
    )
    for line in found.stdout.splitlines():
        if "::" in line:
            yield Job(line, 1, (*pytest, *limits, "-q", line))


def run_job(job: Job) -> tuple[list[str], str]:
    """The cases that failed, and the output."""
    try:
        done = subprocess.run(
            job.command, cwd=ROOT / TESTS if job.command[2] != "pytest" else ROOT,
            capture_output=True, text=True, timeout=CHUNK_SECONDS_MAX, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return [job.name], "took too long"
    output = done.stdout + done.stderr
    failing = FAILING.findall(output)
    return failing or ([job.name] if done.returncode else []), output


def run_campaign(
    name: str, asked: int, jobs: Sequence[Job], state: dict[str, Progress], now: str
) -> None:
    """Run what is left of a campaign, and write down how far it is after each piece."""
    progress = state.setdefault(name, Progress(now))
    progress.asked = asked
    left = [job for job in jobs if job.name not in set(progress.done)]
    began = time.monotonic()
    before = progress.seconds
    with ThreadPoolExecutor(PROCESSES) as pool:
        for job, (failing, output) in zip(left, pool.map(run_job, left), strict=True):
            progress.done.append(job.name)
            progress.cases += job.cases
            progress.failures += failing
            progress.seconds = before + time.monotonic() - began
            if failing:
                STATE.parent.mkdir(exist_ok=True)
                with (STATE.parent / f"{name}.log").open("a", encoding="utf-8") as log:
                    log.write(output)
                keep_seeds(name, failing)
            save(state)
            print(f"{name}: {progress.cases:,} of {asked:,}, failed {failing}", flush=True)


def keep_seeds(name: str, failing: Sequence[str]) -> None:
    """Add failing seeds to the file of seeds that every run of the tests repeats."""
    if name not in SEEDED or not SEEDED[name].seeds_file:
        return
    path = ROOT / SEEDED[name].seeds_file
    seeds = {*json.loads(path.read_text(encoding="utf-8")), *map(int, filter(str.isdigit, failing))}
    path.write_text(json.dumps(sorted(seeds)) + "\n", encoding="utf-8")


def table(state: dict[str, Progress], names: Sequence[str]) -> str:
    """Campaign, cases asked for and done, failures, version, seconds."""
    rows = [("campaign", "asked", "done", "failed", "version", "seconds")]
    for name in names:
        found = state[name]
        counts = f"{found.asked:,}", f"{found.cases:,}", f"{len(found.failures):,}"
        rows.append((name, *counts, found.version, f"{found.seconds:,.0f}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    failures = [f"failed: {name} {case}" for name in names for case in state[name].failures]
    return "\n".join([*lines, *failures])


def main(arguments: Sequence[str]) -> int:
    """Run the campaigns that are named, or all."""
    counts = {name: campaign.count for name, campaign in SEEDED.items()} | {TESTS: 0}
    asked = dict(counts)
    if arguments:
        given = (argument.partition("=") for argument in arguments)
        asked = {name: int(count) if count else counts.get(name, 0) for name, _, count in given}
    unknown = asked.keys() - counts.keys()
    if unknown:
        print(f"there is no campaign {', '.join(sorted(unknown))}; there are {', '.join(counts)}")
        return 2
    now = version()
    state = load(now)
    for name, count in asked.items():
        if name in SEEDED:
            jobs = list(seeded_jobs(SEEDED[name], count))
        else:
            jobs = list(test_jobs())[: count or None]
        run_campaign(name, sum(job.cases for job in jobs), jobs, state, now)
    print(table(state, list(asked)))
    return 1 if any(state[name].failures for name in asked) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
