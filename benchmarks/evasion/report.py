"""From runs to figures, tables in Markdown and JSON-able rows."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.evasion.measuring import Planned, Run
from benchmarks.learning.baselines import DELTA, EPSILON
from benchmarks.learning.report import percentile_95

# No one rule fits this stream.
UNREALIZABLE = "jump"


@dataclass(frozen=True)
class Figures:
    """All runs of one policy, or on one fixed stream, against one plan of a class.

    words: the policy for people, "" for a fixed stream. stopped: runs that ended at the most
    mistakes, so that their figures are lower bounds. halted: runs in which calls ran out. expected
    and guaranteed are the planner's, None where nothing is known.
    """

    class_name: str
    plan: str
    policy: str
    words: str
    seeds: int
    mistakes_median: float
    mistakes_p95: int
    mistakes_max: int
    epochs_median: float
    stopped: int
    halted: int
    expected: float | None
    guaranteed: float | None

    @property
    def evader(self) -> bool:
        """Whether somebody wrote the stream who saw the rules."""
        return bool(self.words)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return asdict(self)


def figures(runs: Iterable[Run], plans: Sequence[Planned]) -> list[Figures]:
    """One for each class, plan and policy, in the order of the first runs."""
    said = {(plan.class_name, plan.name): plan for plan in plans}
    groups: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.class_name, run.plan, run.policy].append(run)
    return [_figures(group, said[key[:2]]) for key, group in groups.items()]


def _figures(runs: Sequence[Run], plan: Planned) -> Figures:
    found = sorted(run.outcome.mistakes for run in runs)
    return Figures(
        class_name=plan.class_name,
        plan=plan.name,
        policy=runs[0].policy,
        words=runs[0].words,
        seeds=len(runs),
        mistakes_median=statistics.median(found),
        mistakes_p95=percentile_95(found),
        mistakes_max=found[-1],
        epochs_median=statistics.median(run.outcome.epochs for run in runs),
        stopped=sum(run.outcome.stopped for run in runs),
        halted=sum(run.outcome.halted for run in runs),
        expected=plan.expected,
        guaranteed=plan.guaranteed,
    )


def worst(found: Iterable[Figures], *, evader: bool) -> Figures | None:
    """The evader, or the realizable stream fixed beforehand, with the most mistakes; None: none."""
    here = [row for row in found if row.evader == evader and (evader or row.policy != UNREALIZABLE)]
    return max(here, key=lambda row: row.mistakes_median, default=None)


def markdown(found: Sequence[Figures], plans: Sequence[Planned], horizon: int, most: int) -> str:
    """The report."""
    refused = [plan for plan in plans if plan.plan is None]
    parts = [
        "# Mistakes against whoever writes the stream",
        f"({float(EPSILON):g}, {float(DELTA):g})-differential privacy, {horizon:,} examples, "
        f"{max((row.seeds for row in found), default=0)} seeds. A run ends at {most:,} mistakes; "
        "where one did, figures have >=. Expected and guaranteed are what the planner says of a "
        "stream fixed beforehand that is bad for the plan, or of any stream where the plan is for "
        "adaptive adversaries. A learner halts for good when its calls run out.",
        "## The worst of each class and plan",
        "Of those with the greatest median the median and the most. Evaders see every rule before "
        "they write what follows; fixed streams are those that one rule fits.",
        _summary(found, plans),
        "## Every policy",
        f"One rule of the class fits each stream but {UNREALIZABLE}, whose target changes in the "
        "middle: there only mistakes behind the change are counted, and they are what they are.",
        _table(found),
    ]
    searches = [
        f"- {row.class_name}, {row.plan}: {row.words}" for row in found if row.policy == "searched"
    ]
    if searches:
        parts += ["## What the search found", "\n".join(searches)]
    if refused:
        lines = (f"- {plan.class_name}, {plan.name}: {plan.note}" for plan in refused)
        parts += ["## Plans that do not exist", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _summary(found: Sequence[Figures], plans: Sequence[Planned]) -> str:
    titles = ["class", "plan", "expected", "guaranteed", "worst fixed stream", "worst evader"]
    lines = [_row(titles), _row(["---", "---", *("---:" for _ in titles[2:])])]
    for plan in plans:
        here = [row for row in found if (row.class_name, row.plan) == (plan.class_name, plan.name)]
        cells = []
        for evader in (False, True):
            row = worst(here, evader=evader)
            cells.append("-" if row is None else f"{row.policy}: {_median(row)}, {_most(row)}")
        said = [_number(plan.expected), _number(plan.guaranteed)]
        if here:
            lines.append(_row([plan.class_name, plan.name, *said, *cells]))
    return "\n".join(lines)


def _table(found: Sequence[Figures]) -> str:
    titles = ["class", "plan", "policy", "stream", "median", "95 %", "most", "epochs"]
    lines = [_row([*titles, "expected", "guaranteed"])]
    lines.append(_row(["---"] * 4 + ["---:"] * 6))
    for row in found:
        cells = [row.class_name, row.plan, row.policy, "evader" if row.evader else "fixed"]
        cells += [_median(row), _at_least(row, row.mistakes_p95), _most(row)]
        epochs = f"{row.epochs_median:,.0f}"
        cells.append(f"{epochs}, {row.halted} halted" if row.halted else epochs)
        cells += [_number(row.expected), _number(row.guaranteed)]
        lines.append(_row(cells))
    return "\n".join(lines)


def _median(row: Figures) -> str:
    least = ">= " if 2 * row.stopped >= row.seeds else ""
    return f"{least}{row.mistakes_median:,.0f}"


def _most(row: Figures) -> str:
    return _at_least(row, row.mistakes_max)


def _at_least(row: Figures, mistakes: int) -> str:
    return f">= {mistakes:,}" if row.stopped else f"{mistakes:,}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
