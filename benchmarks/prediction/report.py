"""The report of the prediction benchmark: tables in Markdown."""

import json
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import groupby
from pathlib import Path

from benchmarks.prediction.bound import BoundPoint
from benchmarks.prediction.choices import (
    ALPHA,
    EPSILON,
    NOISY_MAJORITY,
    PUBLISHED,
    STABLE_VOTING,
    Cell,
)
from benchmarks.prediction.errors import ANSWERS_MAX
from benchmarks.prediction.runs import METHODS, AnswersRow, ErrorRow, Row, TimeRow, to_dict

TITLES = {
    **{method: method for method in METHODS},
    NOISY_MAJORITY: "noisy majority (PATE)",
    STABLE_VOTING: "stable voting",
    PUBLISHED: "one rule",
}
# Methods within this factor count as equal.
EQUAL = 1.1
# Seconds an answer may take, by class.
GOALS = {"prefixes:128": 0.002, "table:10000x2000": 0.02}


def write_json_lines(path: Path, rows: Iterable[Row]) -> None:
    """One JSON object a line."""
    texts = (json.dumps(to_dict(row), default=str) for row in rows)
    path.write_text("".join(f"{each}\n" for each in texts), encoding="utf-8")


def markdown(rows: Sequence[Row]) -> str:
    """The whole report."""
    errors = [row for row in rows if isinstance(row, ErrorRow)]
    answers = [row for row in rows if isinstance(row, AnswersRow)]
    times = [row for row in rows if isinstance(row, TimeRow)]
    bounds = [row for row in rows if isinstance(row, BoundPoint)]
    parts = ["# Private answers, measured", _INTRODUCTION]
    if answers:
        parts += [f"## Answers at an excess error of {float(ALPHA):g}", _ANSWERS]
        parts += [answers_table(answers), *_against_majority(answers), *_other_methods(answers)]
    if errors:
        parts += ["## Excess error", _ERRORS, error_table(errors), *_beaten(errors)]
    if times:
        parts += ["## Time", _TIMES, time_table(times)]
    if bounds:
        parts += ["## The lower bound", _BOUND, bound_table(bounds), _above(bounds)]
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = (
    f"All methods promise ({float(EPSILON):g}, 1e-6)-differential privacy for one example of a "
    "window, for all of its answers. Excess errors are expected over the answers' randomness and "
    "are means over windows. The planner knows the class, the window and the rate of noise. *Noisy "
    "majority* (PATE) has ideal Laplace or Gaussian noise, its chunks by the planner's model; "
    "*stable voting* is tuned on a window of its own, and booked as pure or as zCDP, whichever is "
    "cheaper; *one rule* is drawn once by the exponential mechanism for the whole budget, and "
    "published."
)
_ANSWERS = (
    "The largest number of answers a window with a measured excess error of at most this, to 5 %, "
    "on two kinds of windows: even ones, and ones in which a label is rare. "
    "*Planner* is what it chooses by itself, with the answers that it promises and what these err "
    "by. Bold: its method. *x*: how many times the answers of noisy majority. Stable voting's "
    "figures are expected numbers until its unstable answers are used up."
)
_ERRORS = (
    "Each answer's log-odds may move by *epsilon* at the most, which pays for so many *answers*; "
    "all methods answer as many. Bold: what the planner chooses. A method without a "
    "figure does not apply, or is expected to be no better than a coin."
)
_TIMES = (
    "Seconds of the processor, by the learner itself with keyed noise, planned for as many answers "
    "as there can be at this excess error and 10 % of noise: preparing a window once, one question "
    "alone, and a question in a request of 1,000."
)
_BOUND = (
    "Theorem 11 on the instance of its appendix D: d points that are shattered, d - 1 of them with "
    "the probability 4 alpha / (d - 1) each. A g-stable learner needs n >= (d - 1) / (8 g alpha). "
    "For each g the instance is the worst, alpha = (d - 1) / (8 g n) or 1/4, and the learner's "
    "parameters are the best in hindsight."
)


def cell_of(row: ErrorRow | AnswersRow) -> Cell:
    """The cell of a row, to be shown."""
    return Cell(row.class_name, Fraction(row.noise).limit_denominator(1000), row.size)


def number(value: float | None) -> str:
    """An error with two digits."""
    if value is None:
        return "-"
    return "0" if value < 5e-5 else f"{value:.2g}" if value >= 0.001 else f"{value:.1e}"


def count(value: int | None) -> str:
    """A number of answers with three digits."""
    if value is None:
        return "-"
    if value >= 0.99 * ANSWERS_MAX:
        return "no limit"
    return f"{float(f'{value:.3g}'):,.0f}"


def table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table whose first column is text."""
    rule = "|".join(["---", *["---:"] * (len(heads) - 1)])
    rows = ["| " + " | ".join(each) + " |" for each in (heads, *lines)]
    return "\n".join([rows[0], f"|{rule}|", *rows[1:]])


# --- Numbers of answers ---------------------------------------------------------------------------


def answers_table(rows: Sequence[AnswersRow]) -> str:
    """One line a cell."""
    heads = ["class, noise", "n", "planner", "error", *(TITLES[each] for each in METHODS), "x"]
    lines = []
    for row in rows:
        shown = [
            f"**{count(row.most[each])}**" if each == row.chosen else count(row.most[each])
            for each in METHODS
        ]
        promised = f"{row.chosen}, {count(row.planned)}" if row.chosen else "-"
        lines.append(
            [cell_of(row).title, f"{row.size:,}", promised, number(row.planned_excess),
             *shown, number(ratio(row))]
        )  # fmt: skip
    return table(heads, lines)


def ratio(row: AnswersRow) -> float | None:
    """How many times the answers of noisy majority the planner's method gives."""
    ours, theirs = row.chosen and row.most[row.chosen], row.most[NOISY_MAJORITY]
    return ours / theirs if ours and theirs else None


def _against_majority(rows: Sequence[AnswersRow]) -> list[str]:
    behind = [row for row in rows if (ratio(row) or 0) <= 1]
    if not behind:
        return ["The planner's method gives more answers than noisy majority in every line."]
    lines = [
        f"- {cell_of(row).title}, n = {row.size:,}: {count(row.most[NOISY_MAJORITY])} against "
        f"{count(row.most[row.chosen] if row.chosen else 0)}; with the same chunks, the daemon's "
        f"majority gives {count(row.same_chunks)}"
        for row in behind
    ]
    return ["Noisy majority gives as many answers as the planner's method, or more:",
            "\n".join(lines)]  # fmt: skip


def _other_methods(rows: Sequence[AnswersRow]) -> list[str]:
    """Where another way than the planner's would have given clearly more."""
    found = []
    for row in rows:
        ours = row.most[row.chosen] if row.chosen else 0
        more = [
            f"{TITLES[each]} {count(row.most[each])}"
            for each in METHODS
            if each not in (NOISY_MAJORITY, PUBLISHED)
            and (row.most[each] or 0) > EQUAL * (ours or 0)
        ]
        if more:
            found.append(f"- {cell_of(row).title}, n = {row.size:,}: {', '.join(more)}")
    return ["Where another method than the planner's gives clearly more on these streams:",
            "\n".join(found)] if found else []  # fmt: skip


# --- Excess errors --------------------------------------------------------------------------------


def error_table(rows: Sequence[ErrorRow]) -> str:
    """One line a cell and price."""
    heads = ["class, noise", "n", "epsilon", "answers", *(TITLES[each] for each in METHODS)]
    lines = []
    for _, group in groupby(rows, _key):
        found = list(group)
        first = found[0]
        shown = [
            f"**{number(each.excess)}**" if each.chosen else number(each.excess) for each in found
        ]
        lines.append(
            [cell_of(first).title, f"{first.size:,}", f"{first.epsilon:g}",
             f"{first.answers:,}", *shown]
        )  # fmt: skip
    return table(heads, lines)


def _key(row: ErrorRow) -> tuple[str, float, int, float]:
    return row.class_name, row.noise, row.size, row.epsilon


def _beaten(rows: Sequence[ErrorRow]) -> list[str]:
    """Where a baseline that gives answers errs clearly less than the planner's choice."""
    found = []
    for _, group in groupby(rows, _key):
        lines = list(group)
        ours = next((each.excess for each in lines if each.chosen), None)
        better = [
            f"{TITLES[each.method]} {number(each.excess)}"
            for each in lines
            if each.method != PUBLISHED
            and not each.chosen
            and each.excess is not None
            and (ours is None or (ours > EQUAL * each.excess and ours > 5e-4))
        ]
        if better:
            first = lines[0]
            found.append(
                f"- {cell_of(first).title}, n = {first.size:,}, epsilon {first.epsilon:g}: "
                f"{', '.join(better)} against {number(ours)}"
            )
    return ["Where another method errs clearly less than the planner's:",
            "\n".join(found)] if found else []  # fmt: skip


# --- Time and bound -------------------------------------------------------------------------------


def seconds(value: float) -> str:
    """Milliseconds below a second."""
    return f"{value:.2g} s" if value >= 0.1 else f"{1000 * value:.2g} ms"


def time_table(rows: Sequence[TimeRow]) -> str:
    """One line a class and method."""
    heads = [
        "class", "method", "answers", "chunks", "window", "question alone", "of 1,000", "goal",
    ]  # fmt: skip
    return table(
        heads,
        (
            [
                f"`{row.class_name}`", row.method, count(row.answers),
                f"{row.chunks:,}" if row.chunks else "-", seconds(row.prepare_seconds),
                seconds(row.alone_seconds), seconds(row.together_seconds),
                seconds(GOALS[row.class_name]) if row.class_name in GOALS else "-",
            ]
            for row in rows
        ),
    )  # fmt: skip


def bound_table(rows: Sequence[BoundPoint]) -> str:
    """One line a dimension and stability."""
    heads = ["d", "n", "stability g", "alpha", "bound", "exact error", "measured", "+-"]
    return table(
        heads,
        (
            [
                f"{row.dimension}", f"{row.size:,}", f"{row.stability:.3g}", f"{row.alpha:.3g}",
                f"{row.bound:.3g}", f"{row.exact:.3g}", f"{row.measured:.3g}",
                f"{row.deviation:.1g}",
            ]
            for row in rows
        ),
    )  # fmt: skip


def _above(rows: Sequence[BoundPoint]) -> str:
    below = [row for row in rows if row.exact < row.bound or row.measured < row.bound]
    if below:
        return f"BELOW THE BOUND: {below}"
    least = min(row.measured / row.bound for row in rows)
    most = max(row.measured / row.bound for row in rows)
    return f"Every error is above the bound, by a factor of {least:.1f} to {most:.1f}."
