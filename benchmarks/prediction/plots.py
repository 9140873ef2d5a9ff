"""The figures of the prediction benchmark; needs matplotlib, which the extra `plots` installs."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from benchmarks.prediction.bound import BoundPoint
from benchmarks.prediction.choices import NOISY_MAJORITY, PUBLISHED, STABLE_VOTING
from benchmarks.prediction.report import TITLES, cell_of
from benchmarks.prediction.runs import METHODS, ErrorRow

# Colours that people with a colour vision deficiency can tell apart (Okabe and Ito), and markers.
LOOKS: dict[str, tuple[str, str, str]] = {
    "dense": ("#000000", "D", "-"),
    "stability": ("#009E73", "o", "-"),
    "relabelling": ("#882255", "v", "-"),
    "realizable": ("#0072B2", "s", "-"),
    "averaging": ("#E69F00", "^", "--"),
    "majority": ("#56B4E9", "h", "-"),
    NOISY_MAJORITY: ("#D55E00", "X", "--"),
    STABLE_VOTING: ("#CC79A7", "P", "--"),
    PUBLISHED: ("#888888", "_", ":"),
}
# Errors below it are drawn at it.
LEAST = 1e-4
COLUMNS = 3


def errors(path: Path, rows: Sequence[ErrorRow], size: int, noise: float) -> None:
    """One panel a class at one size and rate of noise, and the flights: error by price."""
    mpl.use("Agg")
    here = [
        row for row in rows
        if row.size == size and (row.noise == noise or row.class_name == "flights")
    ]  # fmt: skip
    names = list(dict.fromkeys(row.class_name for row in here))
    lines = math.ceil(len(names) / COLUMNS)
    figure, axes = plt.subplots(
        lines, COLUMNS, figsize=(11, 3.3 * lines + 1), sharey=True, squeeze=False
    )
    handles: dict[str, Any] = {}
    for axis, name in zip(axes.flat, names, strict=False):
        handles |= _panel(axis, [row for row in here if row.class_name == name])
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    for line in axes:
        line[0].set_ylabel("excess error")
    figure.suptitle(f"Windows of {size:,} examples, all answers together (1, 1e-6)-private")
    ordered = [TITLES[each] for each in METHODS if TITLES[each] in handles]
    figure.legend(
        [handles[each] for each in ordered], ordered, loc="lower center", ncols=5, frameon=False
    )
    figure.tight_layout(rect=(0, 0.6 / figure.get_figheight(), 1, 1))
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _panel(axis: Any, rows: Sequence[ErrorRow]) -> dict[str, Any]:
    """One class; returns what the legend shows."""
    handles: dict[str, Any] = {}
    for method in METHODS:
        mine = [row for row in rows if row.method == method and row.excess is not None]
        if not mine:
            continue
        colour, marker, style = LOOKS[method]
        (line,) = axis.plot(
            [row.epsilon for row in mine], [max(row.excess or 0, LEAST) for row in mine],
            color=colour, marker=marker, linestyle=style, linewidth=1.6, markersize=5,
        )  # fmt: skip
        handles[TITLES[method]] = line
    chosen = [row for row in rows if row.chosen]
    axis.plot(
        [row.epsilon for row in chosen], [max(row.excess or 0, LEAST) for row in chosen],
        "o", markersize=12, markerfacecolor="none", markeredgecolor="#000000", zorder=5,
    )  # fmt: skip
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_ylim(LEAST / 1.3, 0.7)
    first = rows[0]
    axis.set_title(cell_of(first).title.replace("`", ""), fontsize=10)
    ticks = sorted({(row.epsilon, row.answers) for row in rows})
    axis.set_xticks([each for each, _ in ticks], [f"{each:g}\n{m:,}" for each, m in ticks])
    axis.minorticks_off()
    axis.set_xlabel("epsilon of an answer, and number of answers", fontsize=8)
    axis.tick_params(labelsize=8)
    axis.grid(color="#eeeeee")
    return handles


def bound(path: Path, rows: Sequence[BoundPoint]) -> None:
    """Error against stability, with the bound, one panel a dimension."""
    mpl.use("Agg")
    dimensions = sorted({row.dimension for row in rows})
    figure, axes = plt.subplots(
        1, len(dimensions), figsize=(4.6 * len(dimensions), 3.8), sharey=True, squeeze=False
    )
    for axis, dimension in zip(axes[0], dimensions, strict=True):
        mine = sorted(
            (row for row in rows if row.dimension == dimension), key=lambda row: row.stability
        )
        x = [row.stability for row in mine]
        axis.errorbar(
            x, [row.measured for row in mine], yerr=[2 * row.deviation for row in mine],
            fmt="o", color="#009E73", label="stable learner, measured",
        )  # fmt: skip
        axis.plot(x, [row.exact for row in mine], color="#009E73", label="exactly")
        axis.plot(x, [row.bound for row in mine], "--", color="#000000", label="lower bound")
        axis.fill_between(x, 1e-5, [row.bound for row in mine], color="#dddddd")
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_ylim(min(row.bound for row in rows) / 2, 1)
        axis.set_xlabel("stability g")
        axis.set_title(f"d = {dimension}, n = {mine[0].size:,}")
        axis.grid(color="#eeeeee")
    axes[0][0].set_ylabel("error on the worst instance")
    axes[0][0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    plt.close(figure)
