"""The figures of the learning benchmark; needs matplotlib, which the extra `plots` installs."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from benchmarks.learning.report import METHODS, TITLES, ClassFacts, Figures, log_line
from benchmarks.learning.runs import LITTLED
from benchmarks.learning.streams import KINDS, Kind

# Colours that people with a colour vision deficiency can tell apart (Okabe and Ito), and markers.
LOOKS: dict[str, tuple[str, str]] = {
    "littled": ("#000000", "D"),
    "independent": ("#882255", "D"),
    "soa": ("#999999", "_"),
    "exponential": ("#E69F00", "s"),
    "doubling": ("#F0C808", "^"),
    "realizable-experts": ("#0072B2", "o"),
    "dartboard": ("#56B4E9", "v"),
    "histogram": ("#009E73", "P"),
    "aggregate": ("#D55E00", "X"),
    "gradient": ("#CC79A7", "*"),
}
COLUMNS, LEGEND_COLUMNS = 5, 4
# Inches, so that the legend and the title are whole where there are few panels.
WIDTH_LEAST = 7.6
# No mistake at all has no place on a logarithmic axis; it is drawn here.
LEAST = 0.5


def overview(
    path: Path, found: Sequence[Figures], facts: Sequence[ClassFacts], horizon: int
) -> None:
    """One panel a class: kinds side by side, methods as colours, bars from median to 95 %."""
    mpl.use("Agg")
    shown = [fact for fact in facts if any(each.class_name == fact.name for each in found)]
    columns = min(COLUMNS, len(shown))
    rows = math.ceil(len(shown) / columns)
    width = max(3.4 * columns + 0.6, WIDTH_LEAST)
    figure, axes = plt.subplots(
        rows, columns, figsize=(width, 3.6 * rows + 1.3), sharey=True, squeeze=False
    )
    present = [m for m in METHODS if any(each.method == m for each in found)]
    handles: dict[str, Any] = {}
    for axis, fact in zip(axes.flat, shown, strict=False):
        here = [each for each in found if each.class_name == fact.name]
        handles |= _panel(axis, here, fact, present, horizon)
    for axis in axes.flat[len(shown) :]:
        axis.set_visible(False)
    for row in axes:
        row[0].set_ylabel("mistakes, median to 95 %")
    figure.suptitle(f"Mistakes in {horizon:,} examples under (1, 1e-6)-differential privacy")
    ordered = [name for name in (*(TITLES[m] for m in present), *handles) if name in handles]
    labels = list(dict.fromkeys(ordered))
    figure.legend(
        [handles[name] for name in labels], labels, loc="lower center",
        ncols=LEGEND_COLUMNS if columns > 2 else 2, frameon=False,
    )  # fmt: skip
    lines = math.ceil(len(labels) / (LEGEND_COLUMNS if columns > 2 else 2))
    figure.tight_layout(rect=(0, (0.15 + 0.25 * lines) / figure.get_figheight(), 1, 1))
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _panel(
    axis: Any, found: Sequence[Figures], fact: ClassFacts, present: Sequence[str], horizon: int
) -> dict[str, Any]:
    """One class; returns what the legend shows."""
    handles: dict[str, Any] = {}
    here = [m for m in present if any(each.method == m for each in found)]
    offsets = np.linspace(-0.36, 0.36, max(2, len(here)))
    for method, offset in zip(here, offsets, strict=False):
        colour, marker = LOOKS[method]
        mine = [each for each in found if each.method == method]
        x = [KINDS.index(each.kind) + offset for each in mine]
        median = np.maximum([each.mistakes_median for each in mine], LEAST)
        above = np.maximum([each.mistakes_p95 for each in mine], median)
        handles[TITLES[method]] = axis.errorbar(
            x, median, yerr=[np.zeros(len(x)), above - median], fmt=marker, color=colour,
            markersize=9 if method == LITTLED else 7, markeredgewidth=2 if marker == "_" else 0.6,
            markeredgecolor=colour if marker == "_" else "black", elinewidth=1.4,
            zorder=5 if method == LITTLED else 3,
        )  # fmt: skip
    if fact.dimension is not None:
        handles["d"] = axis.axhline(fact.dimension, color="#555555", linestyle="--", linewidth=1)
    handles["ln(T) / epsilon"] = axis.axhline(
        log_line(horizon), color="#555555", linestyle=":", linewidth=1.2
    )
    axis.set_yscale("log")
    axis.set_xticks(range(len(KINDS)), KINDS)
    axis.set_xlim(-0.55, len(KINDS) - 0.45)
    for edge in range(len(KINDS) - 1):
        axis.axvline(edge + 0.5, color="#dddddd", linewidth=0.8, zorder=0)
    axis.grid(axis="y", color="#eeeeee", zorder=0)
    axis.set_axisbelow(True)
    axis.set_title(fact.name, fontsize=11)
    return handles


def over_time(path: Path, found: Sequence[Figures], class_name: str, horizon: int) -> None:
    """Cumulative mistakes of all methods on one class, one panel a kind."""
    mpl.use("Agg")
    here = [each for each in found if each.class_name == class_name]
    kinds: list[Kind] = [kind for kind in KINDS if any(each.kind == kind for each in here)]
    figure, axes = plt.subplots(
        1, len(kinds), figsize=(5 * len(kinds), 4.6), sharey=True, squeeze=False
    )
    handles: Mapping[str, Any] = {}
    for axis, kind in zip(axes[0], kinds, strict=True):
        for each in sorted(here, key=lambda figures: METHODS.index(figures.method)):
            if each.kind != kind:
                continue
            x = np.arange(1, len(each.timeline) + 1) * horizon / len(each.timeline)
            y = np.maximum(each.timeline, LEAST)
            (line,) = axis.plot(
                x, y, color=LOOKS[each.method][0],
                linewidth=2.8 if each.method == LITTLED else 1.6,
                zorder=5 if each.method == LITTLED else 3,
            )  # fmt: skip
            handles = {**handles, TITLES[each.method]: line}
        axis.set_yscale("log")
        axis.set_xlim(0, horizon)
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.xaxis.set_major_locator(mpl.ticker.MaxNLocator(4))
        axis.set_xlabel("examples")
        axis.set_title(kind)
        axis.grid(color="#eeeeee")
    axes[0][0].set_ylabel("mistakes so far, mean over seeds")
    figure.suptitle(class_name)
    figure.legend(list(handles.values()), list(handles), loc="lower center", ncols=4, frameon=False)
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    figure.savefig(path, dpi=130)
    plt.close(figure)
