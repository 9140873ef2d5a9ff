"""The figure of the separation; needs matplotlib, which the extra `plots` installs."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

from benchmarks.separation.ordering import ORDERS, Followed
from benchmarks.separation.sampling import Needed

# Colours that people with a colour vision deficiency can tell apart (Okabe and Ito).
COLOURS = {"forward": "#009E73", "random": "#0072B2", "reverse": "#D55E00"}
# Forward and random order lie on one another: dashes let the other line be seen.
STROKES = {"forward": "solid", "random": "dashed", "reverse": "solid"}
LOOKS = {"exponential": ("#0072B2", "o"), "stable": ("#E69F00", "s")}


def overview(path: Path, found: Sequence[Needed], followed: Sequence[Followed]) -> None:
    """Examples that the private learner needs, and mistakes as a sequence is shown in order."""
    mpl.use("Agg")
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4))
    for method, (colour, marker) in LOOKS.items():
        mine = [row for row in found if row.method == method]
        bits = [row.bits for row in mine]
        look = {"color": colour, "marker": marker}
        left.plot(bits, [row.worst for row in mine], label=f"{method}, measured", **look)
        left.plot(
            bits, [row.proven for row in mine], label=f"{method}, proven", linestyle=":", **look
        )
    left.set_xlabel("bits of an index")
    left.set_ylabel("examples of a window")
    left.set_ylim(bottom=0)
    left.set_xticks(sorted({row.bits for row in found}))
    left.set_title("Private, from a sample: error at most 10 %")
    left.legend(frameon=False, fontsize=9)
    longest = max((row.bits for row in followed), default=0)
    for order in ORDERS:
        for row in followed:
            if (row.bits, row.order) == (longest, order):
                steps = range(1, row.rounds + 1)
                look = {"color": COLOURS[order], "linestyle": STROKES[order]}
                label = f"{order} order: {row.course[-1]:,} of {row.rounds:,}"
                right.plot(steps, row.course, label=label, linewidth=2, **look)
    rounds = max((row.rounds for row in followed), default=1)
    right.plot([0, rounds], [0, rounds / 2], color="#777777", linestyle="--", label="guessing")
    right.set_xlabel("strings shown")
    right.set_ylabel("mistakes")
    right.set_title(f"Online, not private: computing forward, {longest} bits")
    right.legend(frameon=False, fontsize=9)
    for axes in (left, right):
        axes.grid(color="#eeeeee")
        axes.set_axisbelow(True)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)
