"""From runs to figures, a table in Markdown and JSON lines."""

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.learning.baselines import BASELINES, DELTA, EPSILON, Variant
from benchmarks.learning.runs import INDEPENDENT, LITTLED, USER_EXAMPLES, USERS, WAYS, Run
from benchmarks.learning.streams import KINDS, ORDERS, Kind
from littled.budget.price import AMOUNTS

METHODS = (*WAYS, *(baseline.name for baseline in BASELINES))
TITLES = {
    LITTLED: "littled",
    INDEPENDENT: "littled, independent",
    USERS: "littled, users",
    **{baseline.name: baseline.title for baseline in BASELINES},
}
LOWER_LINE = "soa"
# Methods with another guarantee than the rest.
UNLIKE = (LOWER_LINE, USERS)


@dataclass(frozen=True)
class Figures:
    """All runs of one method on one class and kind.

    spent: largest share of each cap over the runs. retrain_*: seconds of one call of training.
    timeline: mean number of mistakes up to even positions. told: as in `Run`.
    """

    class_name: str
    kind: Kind
    method: str
    variant: Variant
    seeds: int
    mistakes_median: float
    mistakes_p95: int
    mistakes_max: int
    publications_mean: float
    spent: Mapping[str, float]
    retrain_median_seconds: float | None
    retrain_max_seconds: float | None
    seconds_per_run: float
    timeline: Sequence[float]
    told: bool

    def to_dict(self) -> dict[str, Any]:
        """JSON-able, without the timeline."""
        return {name: value for name, value in asdict(self).items() if name != "timeline"}


@dataclass(frozen=True)
class ClassFacts:
    """What is public about a class: its dimension, littled's plans, or why there are none."""

    name: str
    dimension: int | None
    plans: Mapping[str, Mapping[str, Any]]
    note: str


def figures(runs: Iterable[Run]) -> list[Figures]:
    """One for each class, kind, method and way to tune it, in the order of the first runs."""
    groups: dict[tuple[str, Kind, str, bool], list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.class_name, run.kind, run.method, run.told].append(run)
    return [_figures(group) for group in groups.values()]


def _figures(runs: Sequence[Run]) -> Figures:
    found = sorted(run.mistakes for run in runs)
    retrains = [seconds for run in runs for seconds in run.retrains]
    first = runs[0]
    return Figures(
        class_name=first.class_name,
        kind=first.kind,
        method=first.method,
        variant=first.variant,
        seeds=len(runs),
        mistakes_median=statistics.median(found),
        mistakes_p95=percentile_95(found),
        mistakes_max=found[-1],
        publications_mean=statistics.mean(run.publications for run in runs),
        spent={name: max(run.spent[name] for run in runs) for name in first.spent},
        retrain_median_seconds=statistics.median(retrains) if retrains else None,
        retrain_max_seconds=max(retrains) if retrains else None,
        seconds_per_run=statistics.mean(run.seconds for run in runs),
        timeline=[statistics.mean(each) for each in zip(*(r.timeline for r in runs), strict=True)],
        told=first.told,
    )


def percentile_95(found: Sequence[int]) -> int:
    """The 95th percentile of sorted numbers: the least of them that 95 % are not above."""
    return found[max(0, -(-95 * len(found) // 100) - 1)]


# --- Files ----------------------------------------------------------------------------------------


def write_json_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """One JSON object a line."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def markdown(found: Sequence[Figures], facts: Sequence[ClassFacts], horizon: int) -> str:
    """The report."""
    by_key = {(x.class_name, x.kind, x.method): x for x in found if not x.told}
    told = by_key | {(x.class_name, x.kind, x.method): x for x in found if x.told}
    methods = [m for m in METHODS if any(each.method == m for each in found)]
    parts = [
        "# Mistakes on realizable streams",
        f"({float(EPSILON):g}, {float(DELTA):g})-differential privacy, {horizon:,} examples, "
        f"oblivious streams of three kinds, up to {max(each.seeds for each in found)} seeds. "
        "Mistakes are the median over the seeds, with the 95th percentile in brackets; the fewest "
        "of a private method are bold. Reference lines: d, the Littlestone dimension, which no "
        f"learner undercuts on every stream, and ln(T) / epsilon = {log_line(horizon):.1f}. "
        '"littled, independent" is planned for independent examples, which uniform streams are. '
        f'"littled, users" protects users with all examples that they have in a season, '
        f"{USER_EXAMPLES} each; everything else protects one example.",
        "## One setting for all kinds of streams",
        "Baselines with free parameters have one variant for each class, the one with the fewest "
        "mistakes on its worst kind of tuning streams.",
        _mistakes_table(by_key, facts, methods),
        "## Baselines that are told the kind of stream",
        "For each class and kind they have the variant with the fewest mistakes on tuning streams "
        "of this kind. littled is not told.",
        _mistakes_table(told, facts, methods),
        *_orders(by_key, facts),
        "## littled in detail",
        "Budget spent: the largest share of each cap (pure epsilon / rho / delta) over the seeds.",
        _littled_table(by_key, facts),
        "## Where a private baseline makes fewer mistakes in the median",
        "With one setting for all kinds of streams, against littled:",
        _beaten(by_key, LITTLED, KINDS, facts, methods),
        "Told that the stream is uniform, against littled, independent:",
        _beaten(told, INDEPENDENT, ("uniform",), facts, methods),
        "## What does not apply",
        _refusals(facts, methods),
        "## What was chosen for the baselines with free parameters",
        "For all kinds of streams, and for each of them.",
        _choices(by_key, told, facts, methods),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def log_line(horizon: int) -> float:
    """ln(T) / epsilon."""
    return math.log(horizon) / float(EPSILON)


Index = Mapping[tuple[str, Kind, str], Figures]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _mistakes_table(by_key: Index, facts: Sequence[ClassFacts], methods: Sequence[str]) -> str:
    lines = [_row(["class", "d", "stream", *(TITLES[m] for m in methods)])]
    lines.append(_row(["---", "---:", "---", *("---:" for _ in methods)]))
    for fact in facts:
        for kind in KINDS:
            here = {m: by_key[key] for m in methods if (key := (fact.name, kind, m)) in by_key}
            if not here:
                continue
            private = [each.mistakes_median for m, each in here.items() if m not in UNLIKE]
            least = min(private, default=-1.0)
            cells = [_cell(here.get(m), least, m) for m in methods]
            dimension = "-" if fact.dimension is None else str(fact.dimension)
            lines.append(_row([fact.name, dimension, kind, *cells]))
    return "\n".join(lines)


def _orders(by_key: Index, facts: Sequence[ClassFacts]) -> list[str]:
    """The section of the further kinds; nothing if none was measured."""
    kinds = [kind for kind in ORDERS if any(key[1] == kind for key in by_key)]
    if not kinds:
        return []
    lines = [_row(["class", "stream", *(TITLES[method] for method in WAYS)])]
    lines.append(_row(["---", "---", *("---:" for _ in WAYS)]))
    for fact, kind in product(facts, kinds):
        here = [by_key.get((fact.name, kind, method)) for method in WAYS]
        if any(here):
            lines.append(_row([fact.name, kind, *(_cell(figures, -1, "") for figures in here)]))
    return [
        "## Orders that hurt, and targets that move",
        "littled alone. No rule fits a whole stream of the kinds jump and drift, so mistakes there "
        "are what they are; the other kinds are realizable.",
        "\n".join(lines),
    ]


def _cell(each: Figures | None, least: float, method: str) -> str:
    if each is None:
        return "-"
    median = f"{each.mistakes_median:,.0f}"
    if each.mistakes_median == least and method not in UNLIKE:
        median = f"**{median}**"
    return f"{median} ({each.mistakes_p95:,})"


def _littled_table(by_key: Index, facts: Sequence[ClassFacts]) -> str:
    names = ["class", "stream", "way", "mistakes", "95 %", "publications", "budget spent"]
    lines = [_row([*names, "retrain median", "retrain max", "seconds a run"])]
    lines.append(_row(["---", "---", "---", *("---:" for _ in range(7))]))
    for fact, method, kind in product(facts, WAYS, (*KINDS, *ORDERS)):
        each = by_key.get((fact.name, kind, method))
        if each is None:
            continue
        shares = (each.spent.get(name) for name in AMOUNTS)
        cells = [
            fact.name,
            kind,
            _way(method, fact.plans[method]),
            f"{each.mistakes_median:,.0f}",
            f"{each.mistakes_p95:,}",
        ]
        cells.append(f"{each.publications_mean:.1f}")
        cells.append(" / ".join("-" if s is None else f"{s:.0%}" for s in shares))
        cells += [_seconds(each.retrain_median_seconds), _seconds(each.retrain_max_seconds)]
        lines.append(_row([*cells, f"{each.seconds_per_run:.2f} s"]))
    return "\n".join(lines)


def _way(method: str, parameters: Mapping[str, Any]) -> str:
    first = parameters["schedule_first"]
    words = [str(parameters["selection"])]
    words += [] if first is None else [f"scheduled from {first}"]
    return ", ".join([*words, "users"] if method == USERS else words)


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value * 1000:.1f} ms"


def _beaten(
    by_key: Index,
    mine: str,
    kinds: Sequence[Kind],
    facts: Sequence[ClassFacts],
    methods: Sequence[str],
) -> str:
    others = [method for method in methods if method not in (*WAYS, LOWER_LINE)]
    lines = []
    for fact, kind, method in product(facts, kinds, others):
        ours = by_key.get((fact.name, kind, mine))
        other = by_key.get((fact.name, kind, method))
        if ours is None or other is None or other.mistakes_median >= ours.mistakes_median:
            continue
        here = [by_key.get((fact.name, each, method)) for each in KINDS]
        worst = max(each.mistakes_median for each in here if each is not None)
        lines.append(
            f"- {fact.name}, {kind}: {TITLES[method]}, {other.mistakes_median:,.0f} "
            f"against {ours.mistakes_median:,.0f} "
            f"(the method's worst kind of stream: {worst:,.0f})"
        )
    return "\n".join(lines) or "Nowhere."


def _refusals(facts: Sequence[ClassFacts], methods: Sequence[str]) -> str:
    lines = [f"- {fact.name}: {fact.note}" for fact in facts if fact.note]
    for baseline in BASELINES:
        classes: dict[str, list[str]] = defaultdict(list)
        for fact in facts:
            reason = baseline.refusal(fact.name)
            if reason is not None and baseline.name in methods:
                classes[reason].append(fact.name)
        lines += [f"- {baseline.title}: {why} ({', '.join(of)})" for why, of in classes.items()]
    return "\n".join(lines)


def _choices(
    by_key: Index, told: Index, facts: Sequence[ClassFacts], methods: Sequence[str]
) -> str:
    tuned = [m for m in methods if any(key[2] == m and by_key[key].variant for key in by_key)]
    if not tuned:
        return ""
    lines = [_row(["class", "stream", *(TITLES[m] for m in tuned)])]
    lines.append(_row("---" for _ in range(2 + len(tuned))))
    for fact in facts:
        kinds = [kind for kind in KINDS if any((fact.name, kind, m) in told for m in tuned)]
        rows = [("all", kinds[0], by_key)] if kinds else []
        for name, kind, index in (*rows, *((kind, kind, told) for kind in kinds)):
            here = [index.get((fact.name, kind, m)) for m in tuned]
            cells = ("-" if each is None else _in_words(each.variant) for each in here)
            lines.append(_row([fact.name, name, *cells]))
    return "\n".join(lines)


def _in_words(variant: Variant) -> str:
    return ", ".join(f"{name} {value}" for name, value in variant.items())
