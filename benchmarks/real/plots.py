"""Error over time on every stream; needs matplotlib, which the extra `plots` installs."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from benchmarks.real.measuring import TIMELINE_POINTS, WITHOUT
from benchmarks.real.methods import METHODS
from benchmarks.real.report import Figures

# Colours that people with a colour vision deficiency can tell apart (Okabe and Ito).
LOOKS: dict[str, tuple[str, str]] = {
    "majority": ("#999999", ":"),
    "best-stump": ("#999999", "--"),
    "scorecard": ("#000000", "-"),
    "stumps": ("#882255", "-"),
    "stumps-told": ("#882255", "--"),
    "dp-ftrl": ("#0072B2", "-"),
    "dp-sgd": ("#56B4E9", "-"),
    "exponential": ("#E69F00", "-"),
    "aggregate": ("#D55E00", "-"),
    "river-logistic": ("#009E73", "--"),
    "hoeffding-tree": ("#CC79A7", "--"),
    "vowpal-wabbit": ("#F0C808", "--"),
}
COLUMNS = 3
WINDOW = 10  # points of the timeline: a twentieth of the stream


def over_time(path: Path, found: Sequence[Figures], streams: Sequence[str], epsilon: str) -> None:
    """One panel a stream: the error in windows of a twentieth of it, mean over the seeds."""
    mpl.use("Agg")
    rows = math.ceil(len(streams) / COLUMNS)
    columns = min(COLUMNS, len(streams))
    figure, axes = plt.subplots(
        rows, columns, figsize=(4.6 * columns, 3.1 * rows + 1.2), squeeze=False
    )
    handles: dict[str, Any] = {}
    for axis, stream in zip(axes.flat, streams, strict=False):
        here = [e for e in found if e.stream == stream and e.epsilon in (epsilon, WITHOUT)]
        handles |= _panel(axis, here)
        axis.set_title(stream, fontsize=11)
    for axis in axes.flat[len(streams) :]:
        axis.set_visible(False)
    for row in axes:
        row[0].set_ylabel("error, %")
    titles = [METHODS[name].title for name in METHODS if METHODS[name].title in handles]
    lines = [handles[title] for title in titles]
    figure.legend(lines, titles, loc="lower center", ncols=4, frameon=False)
    figure.suptitle(f"Error over time, epsilon {epsilon}; dashed: without privacy, or told")
    height = figure.get_figheight()
    figure.tight_layout(rect=(0, 0.9 / height, 1, 1 - 0.1 / height))
    figure.savefig(path, dpi=80)
    plt.close(figure)


def _panel(axis: Any, found: Sequence[Figures]) -> dict[str, Any]:
    """One stream; returns what the legend shows."""
    handles: dict[str, Any] = {}
    shown: list[float] = []
    for each in sorted(found, key=lambda figures: list(METHODS).index(figures.method)):
        x = np.arange(WINDOW, TIMELINE_POINTS + 1, WINDOW) * each.rows / TIMELINE_POINTS
        mistakes = np.diff([0.0, *each.timeline[WINDOW - 1 :: WINDOW]])
        errors = 100 * mistakes / (WINDOW * each.rows / TIMELINE_POINTS)
        colour, line = LOOKS[each.method]
        (handles[METHODS[each.method].title],) = axis.plot(
            x, errors, line, color=colour, linewidth=2.4 if each.method == "scorecard" else 1.3
        )
        shown += errors.tolist()
    least, most = np.quantile(shown, (0, 0.99))
    axis.set_ylim(0.9 * least, 1.05 * most)
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axis.xaxis.set_major_locator(mpl.ticker.MaxNLocator(4))
    axis.grid(color="#eeeeee")
    return handles
