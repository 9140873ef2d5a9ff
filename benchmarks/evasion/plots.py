"""The figure of the evasion benchmark; needs matplotlib, which the extra `plots` installs."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from benchmarks.evasion.report import Figures

# Colours that people with a colour vision deficiency can tell apart (Okabe and Ito), and markers.
LOOKS = (
    ("#0072B2", "o"),
    ("#D55E00", "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("#E69F00", "v"),
    ("#56B4E9", "P"),
)
COLUMNS = 2
# No mistake at all has no place on a logarithmic axis; it is drawn here.
LEAST = 0.5


def overview(path: Path, found: Sequence[Figures], horizon: int, most: int) -> None:
    """One panel a class: policies side by side, plans as colours, bars from median to most."""
    mpl.use("Agg")
    classes = list(dict.fromkeys(row.class_name for row in found))
    plans = list(dict.fromkeys(row.plan for row in found))
    columns = min(COLUMNS, len(classes))
    rows = math.ceil(len(classes) / columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(7.2 * columns, 3.4 * rows + 1.2), sharey=True, squeeze=False
    )
    handles: dict[str, Any] = {}
    for axis, name in zip(axes.flat, classes, strict=False):
        handles |= _panel(axis, [row for row in found if row.class_name == name], plans, most)
        axis.set_title(name, fontsize=11)
    for axis in axes.flat[len(classes) :]:
        axis.set_visible(False)
    for row in axes:
        row[0].set_ylabel("mistakes, median to most")
    figure.suptitle(f"Mistakes in {horizon:,} examples against evaders and on fixed streams")
    figure.legend(list(handles.values()), list(handles), loc="lower center", ncols=4, frameon=False)
    height = figure.get_figheight()
    figure.tight_layout(rect=(0, 0.8 / height, 1, 1 - 0.2 / height))
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _panel(axis: Any, found: Sequence[Figures], plans: Sequence[str], most: int) -> dict[str, Any]:
    """One class; returns what the legend shows."""
    handles: dict[str, Any] = {}
    ordered = sorted(found, key=lambda row: not row.evader)
    policies = list(dict.fromkeys(row.policy for row in ordered))
    offsets = np.linspace(-0.25, 0.25, len(plans)) if len(plans) > 1 else [0.0]
    for number, (plan, offset) in enumerate(zip(plans, offsets, strict=True)):
        colour, marker = LOOKS[number % len(LOOKS)]
        mine = [row for row in found if row.plan == plan]
        if not mine:
            continue
        x = [policies.index(row.policy) + offset for row in mine]
        median = np.maximum([row.mistakes_median for row in mine], LEAST)
        above = np.maximum([row.mistakes_max for row in mine], median)
        handles[plan] = axis.errorbar(
            x, median, yerr=[np.zeros(len(x)), above - median], fmt=marker, color=colour,
            markersize=7, markeredgecolor="black", markeredgewidth=0.6, elinewidth=1.4, zorder=4,
        )  # fmt: skip
        for value, style, said in (
            (mine[0].expected, ":", "expected"),
            (mine[0].guaranteed, "--", "guaranteed"),
        ):
            if value is not None:
                line = axis.axhline(value, color=colour, linestyle=style, linewidth=1.3)
                handles[f"{plan}, {said}"] = line
    if any(row.stopped for row in found):
        stop = axis.axhline(most, color="#555555", linewidth=0.8)
        handles["a run is stopped here"] = stop
    evaders = len({row.policy for row in found if row.evader})
    if 0 < evaders < len(policies):
        axis.axvline(evaders - 0.5, color="#999999", linewidth=0.8)
        axis.text(
            evaders - 0.45, 0.86, "fixed streams", fontsize=8, color="#555555",
            transform=axis.get_xaxis_transform(),
        )  # fmt: skip
    axis.set_yscale("log")
    axis.set_xticks(range(len(policies)), policies, rotation=30, ha="right", fontsize=9)
    axis.set_xlabel("policy of the evader, or fixed stream", fontsize=9)
    axis.set_xlim(-0.55, len(policies) - 0.45)
    axis.grid(axis="y", color="#eeeeee", zorder=0)
    axis.set_axisbelow(True)
    return handles
