"""`littled audit`: what runs of the daemon's own code prove about what it claims."""

import importlib.util
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from littled.auditing.bounds import DOUBT
from littled.auditing.controls import trigger_controls, variant_controls
from littled.auditing.noise import SEED_MAX, key_of_seed
from littled.auditing.streams import NoStreams
from littled.auditing.subjects import SMALL, small_plan, subjects_of
from littled.auditing.trials import RUNS_MIN, Auditor, Finding, Subject, processes, usual_processes
from littled.cli.executing import ExecutorChoice, executor_options
from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.output import console, notes, number, print_json
from littled.configuration import ConfigurationError, load_configuration
from littled.mechanisms.noise import KEY_BYTES
from littled.planner import PlanError, StreamPlan, plan_stream

CONFIDENCE_PERCENT = 100 * (1 - DOUBT)
REMARK = (
    "Claims are (epsilon, delta); runs are those on each side that decide. Each bound proves that "
    "epsilon is at least so large at its delta; all of them together hold with "
    f"{CONFIDENCE_PERCENT:g} % confidence. A bound below its claim proves nothing: it only says "
    "that these runs found no fault. Runs have keys of their own; no store is opened."
)
CONTROLS_REMARK = (
    "Controls show what an audit of this size can find: the mechanisms that are known to be wrong "
    "have to be found, and the others must not be. The variants are those of Lyu, Su and Li 2017."
)


@click.command()
@click.argument(
    "configuration",
    required=False,
    metavar="[CONFIG]",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option("--stream", "-s", metavar="NAME", help="Audit only this stream of CONFIG.")
@click.option("--learner", "-l", metavar="NAME", help="Audit only learners of this name.")
@click.option("--controls", is_flag=True,
              help="Audit what is known to be wrong instead: it must be found.")  # fmt: skip
@click.option("--runs", type=click.IntRange(RUNS_MIN), metavar="N",
              help="Runs a side that decide; else 4,000, and 200,000 of published variants."
              )  # fmt: skip
@click.option("--seed", type=click.IntRange(0, SEED_MAX), metavar="N",
              help="Repeat an audit exactly; else its keys are random.")  # fmt: skip
@click.option("--processes", "count", type=click.IntRange(1, 256), metavar="N",
              show_default="one a core", help="Processes that make runs.")  # fmt: skip
@executor_options
@click.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object.")
def audit(
    configuration: Path | None,
    stream: str | None,
    learner: str | None,
    controls: bool,
    runs: int | None,
    seed: int | None,
    count: int | None,
    executor: ExecutorChoice,
    as_json: bool,
) -> None:
    """Try to disprove what a plan claims, by running the daemon's own engine over and over.

    Plans the learners of CONFIG as the daemon would, or small ones of every kind without CONFIG,
    runs each on pairs of neighbouring streams that are hard to tell apart unless something is
    wrong, learns from some runs which public transcripts to believe, and proves with new runs how
    large epsilon is at least (Clopper and Pearson). Exit status 1 if a claim is exceeded.
    """
    if importlib.util.find_spec("scipy") is None:
        raise Failure("audits need scipy; install it with: pip install 'littled[audit]'")
    chosen = list(_controls(configuration, stream, learner) if controls else
                  _subjects(configuration, stream, learner))  # fmt: skip
    key = secrets.token_bytes(KEY_BYTES) if seed is None else key_of_seed(seed)
    if count is not None and executor.address is not None:
        raise Failure("--processes is for this machine; leave it away with --executor", WRONG_USE)
    with executor.running() as workers:
        pool: AbstractContextManager[Executor | None] = (
            processes(usual_processes() if count is None else count)
            if workers is None
            else nullcontext(workers)
        )
        findings = audited(chosen, key, runs, pool)
    if as_json:
        print_json({"doubt": DOUBT, "seed": seed, "audits": list(map(facts, findings))}, indent=2)
    else:
        console().print(findings_table(findings))
        console().print()
        console().print(CONTROLS_REMARK if controls else REMARK)
    complain(findings)


def _controls(
    configuration: Path | None, stream: str | None, learner: str | None
) -> Iterator[Subject]:
    """All controls: published variants, and the engine with and without faults of its trigger."""
    if (configuration, stream, learner) != (None, None, None):
        raise Failure("--controls audits mechanisms of its own; give it no CONFIG", WRONG_USE)
    yield from variant_controls()
    yield from trigger_controls()


def _subjects(configuration: Path | None, stream: str | None, learner: str | None) -> list[Subject]:
    """What is to be audited; Failure where it is nothing, or cannot be."""
    if configuration is None and stream is not None:
        raise Failure("--stream chooses a stream of CONFIG; give one", WRONG_USE)
    if configuration is None:
        plans = [small_plan(name) for name in SMALL if learner in (None, name)]
        known = list(SMALL)
    else:
        plans = list(_planned(configuration, stream))
        known = [name for plan in plans for name in plan.learners]
    with explained(NoStreams, status=WRONG_USE):
        found = [subject for plan in plans for subject in subjects_of(plan, learner)]
    if not found:
        names = ", ".join(dict.fromkeys(known))
        raise Failure(f"there is no learner {learner!r} to audit; there are {names}", WRONG_USE)
    return found


def _planned(configuration: Path, stream: str | None) -> Iterator[StreamPlan]:
    """The plans of a configuration's streams, or of one of them."""
    with explained(ConfigurationError, status=WRONG_USE):
        streams = load_configuration(configuration).streams
    if stream is not None and stream not in streams:
        raise Failure(f"{configuration} has no stream {stream!r}", WRONG_USE)
    for name, configured in streams.items():
        if stream in (None, name):
            with explained(PlanError, status=WRONG_USE, before=f"stream {name}: "):
                yield plan_stream(configured.request())


def audited(
    subjects: Sequence[Subject],
    key: bytes,
    runs: int | None,
    workers: AbstractContextManager[Executor | None],
) -> list[Finding]:
    """The findings on all subjects, with a bar on standard error in a terminal."""
    sizes = [subject.usual_runs if runs is None else runs for subject in subjects]
    needed = [audited.runs_needed(size) for audited, size in zip(subjects, sizes, strict=True)]
    findings = []
    with workers as pool, watched(sum(needed)) as (progress, task):
        auditor = Auditor(
            key, DOUBT / len(subjects), pool, lambda done: progress.advance(task, done)
        )
        for index, (subject, size) in enumerate(zip(subjects, sizes, strict=True)):
            progress.update(task, description=subject.name)
            findings.append(auditor.audit(index, subject, size))
    return findings


@contextmanager
def watched(runs: int) -> Iterator[tuple[Progress, Any]]:
    """A bar for so many runs, and its task."""
    progress = Progress(
        SpinnerColumn(),
        TextColumn("auditing {task.description}", markup=False),
        BarColumn(bar_width=30),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=notes(),
        transient=True,
        disable=not notes().is_terminal,
    )
    with progress:
        yield progress, progress.add_task("", total=runs)


def verdict(finding: Finding) -> str:
    """What a finding says of its claim."""
    if finding.subject.private:
        return "EXCEEDED" if finding.exceeded else "not exceeded"
    return "found" if finding.exceeded else "NOT FOUND"


def findings_table(findings: Sequence[Finding]) -> Table:
    """A line for each audit."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("audit", overflow="fold")
    table.add_column("what was run", min_width=18)
    for column in ("runs", "claimed", "at least"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("claim", no_wrap=True)
    for finding in findings:
        claim = finding.claim
        wrong = finding.exceeded == finding.subject.private
        table.add_row(
            finding.subject.name,
            finding.subject.what,
            number(finding.verdict.games),
            f"({claim.epsilon:.3g}, {claim.delta:.1g})",
            f"{finding.epsilon:.2f}",
            verdict(finding),
            style="bold red" if wrong else "",
        )
    return table


def facts(finding: Finding) -> Mapping[str, Any]:
    """A finding as a JSON object."""
    subject, decided = finding.subject, finding.verdict
    return {
        "name": subject.name,
        "what": subject.what,
        "inputs": finding.trial,
        "runs": decided.games,
        "hits": decided.hits,
        "false_hits": decided.false_hits,
        "doubt": decided.doubt,
        "claims": [
            {
                "epsilon": claim.epsilon,
                "delta": claim.delta,
                "at_least": finding.at_least(claim.delta),
            }
            for claim in subject.claims
        ],
        "exceeded": finding.exceeded,
        "known_private": subject.private,
    }


def complain(findings: Iterable[Finding]) -> None:
    """Failure if a claim that should hold does not, or a control was not found."""
    exceeded = [
        finding.subject.name for finding in findings if finding.exceeded and finding.subject.private
    ]
    missed = [
        finding.subject.name
        for finding in findings
        if not (finding.exceeded or finding.subject.private)
    ]
    if exceeded:
        raise Failure(f"more is revealed than was claimed: {', '.join(exceeded)}")
    if missed:
        raise Failure(f"known faults were not found with so few runs: {', '.join(missed)}")
