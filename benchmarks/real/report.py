"""From runs to figures, tables in Markdown and JSON."""

import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from benchmarks.real.measuring import WITHOUT, Asked, Refusal, Run
from benchmarks.real.method import Setting
from benchmarks.real.methods import METHODS
from benchmarks.real.streams import CHANGING, DELTA, HELD_OUT, SETTLED, stream_of
from benchmarks.real.tables import TABLES


@dataclass(frozen=True)
class Figures:
    """All seeds of one method on one stream with one budget; errors are shares of the examples.

    parts: mean errors of the parts of a stream that changes, by the names that `Run` has.
    timeline: mistakes up to even positions, mean.
    """

    stream: str
    method: str
    epsilon: str
    setting: Setting
    rows: int
    seeds: int
    error: float
    least: float
    most: float
    parts: dict[str, float]
    timeline: tuple[float, ...]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """JSON-able, without the timeline."""
        return {name: value for name, value in asdict(self).items() if name != "timeline"}


def figures(runs: Iterable[Run]) -> list[Figures]:
    """One for each stream, method and budget, in the order of the first runs."""
    groups: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.stream, run.method, run.epsilon].append(run)
    return [_figures(group) for group in groups.values()]


def _figures(runs: Sequence[Run]) -> Figures:
    errors = [run.error for run in runs]
    first = runs[0]
    return Figures(
        first.stream, first.method, first.epsilon, first.setting, first.rows, len(runs),
        statistics.mean(errors), min(errors), max(errors),
        {name: statistics.mean(run.parts[name] for run in runs) for name in first.parts},
        tuple(statistics.mean(each) for each in zip(*(r.timeline for r in runs), strict=True)),
        statistics.mean(run.seconds for run in runs),
    )  # fmt: skip


# --- Tables ---------------------------------------------------------------------------------------

Index = dict[tuple[str, str, str], Figures]


def sections(found: Sequence[Figures], refusals: Sequence[Refusal], asked: Asked) -> dict[str, str]:
    """The tables by their titles."""
    index: Index = {(each.stream, each.method, each.epsilon): each for each in found}
    steady = [name for name in asked.streams if name not in (*CHANGING, *HELD_OUT)]
    held_out = [name for name in asked.streams if name in HELD_OUT]
    changing = [name for name in asked.streams if name in CHANGING]
    parts = {"Streams": _streams(asked)}
    for epsilon in asked.epsilons:
        if steady:
            parts[f"Epsilon {epsilon}"] = _errors(index, steady, asked.methods, epsilon)
        if held_out:
            title = f"Streams that chose nothing, epsilon {epsilon}"
            parts[title] = _errors(index, held_out, asked.methods, epsilon)
        if changing:
            title = f"After a change at half time, epsilon {epsilon}"
            parts[title] = _changes(index, changing, asked.methods, epsilon)
    parts["Settings that were chosen"] = _settings(found)
    if refusals:
        parts["What did not run"] = _refusals(refusals)
    return parts


def markdown(parts: dict[str, str], asked: Asked) -> str:
    """The report, from its sections."""
    about = (
        "Progressive error in %: each example is predicted before it is learned. Private methods "
        f"keep (epsilon, {DELTA})-differential privacy for the replacement of one example. Means "
        f"over {asked.seeds} seeds, with the least and the most in brackets. Settings are chosen "
        "for each method and budget on the streams of other data."
    )
    text = "\n\n".join(f"## {title}\n\n{body}" for title, body in parts.items())
    return f"# Error on real streams\n\n{about} {_PARTS}\n\n{text}\n"


def renewed(page: str, parts: dict[str, str]) -> str:
    """A page whose quoted sections are those of the report.

    One is quoted between `<!-- measured: TITLE -->` and `<!-- end -->`; those of other titles stay.
    """

    def section(match: re.Match[str]) -> str:
        return f"{match[1]}\n{parts[match[2]]}\n{match[3]}" if match[2] in parts else match[0]

    return re.sub(r"(<!-- measured: (.+?) -->)\n.*?(<!-- end -->)", section, page, flags=re.DOTALL)


_PARTS = (
    "Where labels change, before: from a quarter of the stream to the change; after: from the "
    "change on; settled: the same without the first examples after the change, "
    + ", ".join(f"{count:,} for {name}" for name, count in SETTLED.items())
    + "."
)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _streams(asked: Asked) -> str:
    lines = [_row(["stream", "rows", "features", "label 1", "what it is"])]
    lines.append(_row(["---", "---:", "---:", "---:", "---"]))
    for name in asked.streams:
        stream = stream_of(name, asked.rows)
        about = (TABLES[name].__doc__ or "").splitlines()[0]
        share = f"{100 * float(stream.y.mean()):.1f} %"
        lines.append(_row([name, f"{len(stream):,}", str(len(stream.features)), share, about]))
    return "\n".join(lines)


def _at(index: Index, stream: str, method: str, epsilon: str) -> Figures | None:
    return index.get((stream, method, epsilon if METHODS[method].private else WITHOUT))


def _errors(index: Index, streams: Sequence[str], methods: Sequence[str], epsilon: str) -> str:
    """A row for each stream; the least error of a private method, as it is shown, is bold."""
    shown = [m for m in methods if any(_at(index, s, m, epsilon) for s in streams)]
    lines = [_row(["stream", *(METHODS[method].title for method in shown)])]
    lines.append(_row(["---", *("---:" for _ in shown)]))
    for stream in streams:
        here = {method: _at(index, stream, method, epsilon) for method in shown}
        private = [each.error for m, each in here.items() if each and METHODS[m].private]
        least = _percent(min(private, default=-1.0))
        lines.append(_row([stream, *(_cell(each, least) for each in here.values())]))
    means = ["mean"]
    for method in shown:
        there = [each for s in streams if (each := _at(index, s, method, epsilon))]
        whole = len(there) == len(streams)
        means.append(_percent(statistics.mean(e.error for e in there)) if whole else "-")
    return "\n".join([*lines, _row(means)])


def _cell(each: Figures | None, least: str) -> str:
    if each is None:
        return "-"
    shown = _percent(each.error)
    if not METHODS[each.method].private:
        return shown
    shown = f"**{shown}**" if shown == least else shown
    return f"{shown} ({_percent(each.least)}-{_percent(each.most)})" if each.seeds > 1 else shown


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _changes(index: Index, streams: Sequence[str], methods: Sequence[str], epsilon: str) -> str:
    lines = [_row(["stream", "method", "whole", "before", "after", "settled"])]
    lines.append(_row(["---", "---", *("---:" for _ in range(4))]))
    for stream, method in product(streams, methods):
        each = _at(index, stream, method, epsilon)
        if each is not None:
            parts = [each.parts.get(name) for name in ("before", "after", "settled")]
            cells = ["-" if part is None else _percent(part) for part in (each.error, *parts)]
            lines.append(_row([stream, METHODS[method].title, *cells]))
    return "\n".join(lines)


def _settings(found: Sequence[Figures]) -> str:
    """Each method and budget with its settings, and the streams for which they were chosen."""
    groups: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for each in found:
        if each.setting:
            words = ", ".join(f"{name} {value}" for name, value in each.setting.items())
            groups[each.method, each.epsilon][words].append(each.stream)
    lines = [_row(["method", "epsilon", "setting", "for"]), _row("---" for _ in range(4))]
    for (method, epsilon), by_words in groups.items():
        for words, streams in by_words.items():
            every = len(by_words) == 1
            where = "all" if every else ", ".join(streams)
            lines.append(_row([METHODS[method].title, epsilon or "-", words, where]))
    return "\n".join(lines) if groups else "No method had a choice."


def _refusals(refusals: Sequence[Refusal]) -> str:
    where: dict[tuple[str, str], set[str]] = defaultdict(set)
    for each in refusals:
        # a sentence may begin with the place in the configuration, which names the stream
        reason = each.reason.split(": ", 1)[-1]
        where[METHODS[each.method].title, reason].add(each.stream)
    return "\n".join(
        f"- {title}: {reason} ({', '.join(sorted(streams))})"
        for (title, reason), streams in where.items()
    )
