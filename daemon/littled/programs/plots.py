"""Pictures of what was published: the rules of a learner, its budget, and mistakes over time.

    axes = plot_rules(found.releases)
    axes.figure.savefig("rules.png")

Each draws on the axes that it is given, or on new ones, and returns them; nothing is shown or
written. Rules and budgets are public. Mistakes are not: only a program that holds the examples can
count them. matplotlib is imported when something is drawn (`pip install 'littled[plots]'`).
"""

import textwrap
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from littled.programs.spending import Spending
from littled_protocol.rules import Rule, ThresholdRule, Words

# Colours that people with a colour vision deficiency can tell apart (Okabe and Ito).
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"
# Rules of other classes than thresholds are written out, the last ones first to stay.
RULES_WRITTEN_MAX = 12
RULE_CHARACTERS = 70
# Points of a curve; more could not be told apart.
POINTS = 1000
NO_MATPLOTLIB = "drawing needs matplotlib; install it with: pip install 'littled[plots]'"


class Release(Protocol):
    """What a plot asks of a release: `PublishedRule` has it, and `littled_client.Published`."""

    @property
    def kind(self) -> str:
        """What was published: "season", "rule" or "halt"."""

    @property
    def version(self) -> int:
        """Counts releases, from 1."""

    @property
    def position(self) -> int:
        """Examples before it."""

    @property
    def rule(self) -> Rule | None:
        """The rule in force."""


def plot_rules(
    releases: Sequence[Release],
    *,
    words: Words | None = None,
    end: int | None = None,
    axes: Any = None,
) -> Any:
    """Draw how the published rule of a learner changed; return the axes.

    releases: in their order, of one learner: of `run`, a `Runner`, `releases_` of a classifier, or
    what `client.subscribe` gave. Thresholds are a line over the positions of the stream; of other
    rules each has a bar from its position to the next one's, with its text and its versions, the
    last 12 of them; what was published again is the same rule. words: what points stand for; else
    those of the last release that has any. end: the position of the stream, where the last
    version's line stops. ValueError for no rule at all.
    """
    with_rules = [release for release in releases if release.rule is not None]
    if not with_rules:
        raise ValueError("there is no rule to draw")
    for release in reversed(with_rules):
        words = words or getattr(release, "words", None)
    words = words or Words()
    axes = _axes(axes)
    last = with_rules[-1].position
    stop = max(end or 0, last + max(1, last // 20))
    starts = [release.position for release in with_rules]
    rules = [release.rule for release in with_rules if release.rule is not None]
    thresholds = [rule for rule in rules if isinstance(rule, ThresholdRule)]
    if len(thresholds) == len(rules) and words.reading is None:
        _thresholds(axes, thresholds, [*starts, stop], words)
    else:
        texts = [rule.describe(words) for rule in rules]
        firsts = [n for n, text in enumerate(texts) if not n or text != texts[n - 1]]
        versions = [release.version for release in with_rules]
        ends = [versions[n - 1] for n in [*firsts[1:], len(texts)]]
        shown = [
            str(versions[n]) if versions[n] == newest else f"{versions[n]} to {newest}"
            for n, newest in zip(firsts, ends, strict=True)
        ]
        edges = [*(starts[n] for n in firsts), stop]
        _timeline(axes, [texts[n] for n in firsts], shown, edges)
    halts = [release.position for release in releases if release.kind == "halt"]
    for number, position in enumerate(halts):
        label = "no further rule in the season" if not number else None
        axes.axvline(position, color=GREY, linestyle=":", label=label)
    if halts:
        axes.legend(loc="best", frameon=False)
    axes.set_xlim(0, stop)
    _positions(axes)
    return axes


def _thresholds(
    axes: Any, rules: Sequence[ThresholdRule], edges: Sequence[int], words: Words
) -> None:
    values = np.array([rule.threshold + words.offset for rule in rules])
    axes.step(edges, [*values, values[-1]], where="post", color=BLUE)
    axes.plot(edges[:-1], values, "o", color=BLUE, markersize=4)
    unit = f", {words.unit}" if words.unit else ""
    axes.set_ylabel(f"{words.x_name}{unit}")
    axes.set_title(f"{words.positive} if {words.x_name} >= threshold", loc="left")
    if np.ptp(values) == 0:
        axes.set_ylim(values[0] - 1, values[0] + 1)


def _timeline(
    axes: Any, texts: Sequence[str], versions: Sequence[str], edges: Sequence[int]
) -> None:
    """One row for each rule, the newest at the bottom, with the rule written above its bar."""
    first = max(0, len(texts) - RULES_WRITTEN_MAX)
    stop = edges[-1]
    for row, number in enumerate(range(first, len(texts))):
        start, end = edges[number], edges[number + 1]
        axes.barh(row, end - start, left=start, height=0.22, color=BLUE)
        shown = textwrap.shorten(texts[number], RULE_CHARACTERS, placeholder=" ...")
        # a text that begins in the right half would leave the axes, so it ends with its bar
        left = start <= stop / 2
        place = start if left else stop
        axes.text(place, row - 0.17, shown, fontsize=9, va="bottom", ha="left" if left else "right")
    rows = len(texts) - first
    axes.set_yticks(range(rows), versions[first:])
    axes.set_ylim(rows - 0.6, -0.8)
    axes.set_ylabel("version")
    hidden = f", the last {rows} of {len(texts)}" if first else ""
    axes.set_title(f"the published rule{hidden}", loc="left")


def plot_budget(spending: Spending, *, axes: Any = None) -> Any:
    """Draw what was spent of a season's budget over the positions; return the axes.

    spending: of `run`, `spending_` of a classifier, `spending_of(runner)`, or
    `spending_of_statuses` of what a daemon has said. The next call is drawn on top of what is
    spent, where one fits.
    """
    axes = _axes(axes)
    stop = max(spending.position, 1)
    places = [position for position, _ in spending.steps]
    amounts = [amount for _, amount in spending.steps]
    axes.step([*places, stop], [*amounts, spending.spent], where="post", color=BLUE, label="spent")
    axes.fill_between(
        [*places, stop], [*amounts, spending.spent], step="post", color=BLUE, alpha=0.2
    )
    axes.axhline(spending.budget, color=ORANGE, linestyle="--", label="budget of a season")
    if spending.next_call is not None:
        axes.plot(
            [stop], [spending.spent + spending.next_call], "^", color=GREY, clip_on=False,
            label=f"with the next call ({_added(spending.next_call)})",
        )  # fmt: skip
    axes.set_xlim(0, stop)
    axes.set_ylim(0, 1.35 * spending.budget)
    _positions(axes)
    axes.set_ylabel(f"epsilon at delta {spending.delta:g}")
    axes.set_title(
        f"{spending.spent:.3g} of {spending.budget:g} spent, {spending.left:.3g} left", loc="left"
    )
    axes.legend(loc="upper left", ncols=3, frameon=False, fontsize=9)
    return axes


def _added(amount: float) -> str:
    return f"+{amount:.3g}" if amount else "paid for"


def plot_mistakes(
    wrong: NDArray[np.bool_], *, label: str | None = None, color: str = BLUE, axes: Any = None
) -> Any:
    """Draw the share of mistakes of the published rule so far; return the axes. Not private.

    wrong: bool (n,), whether the rule of the moment was wrong about each example: `wrong` of `run`,
    or the parts of `littled.engine.Progress` put together. ValueError for no example.
    """
    if not len(wrong):
        raise ValueError("there is no example to draw")
    axes = _axes(axes)
    shown = np.unique(np.linspace(1, len(wrong), min(len(wrong), POINTS)).astype(np.int64))
    share = 100 * np.cumsum(wrong)[shown - 1] / shown
    axes.plot(shown, share, color=color, label=label)
    axes.set_xlim(0, len(wrong))
    # the share of the first few examples says nothing, and would press all else to the bottom
    top = max(1.25 * float(share[len(share) // 50 :].max()), 1.0)
    axes.set_ylim(0, min(100.0, max(top, axes.get_ylim()[1] if axes.lines[:-1] else 0)))
    _positions(axes)
    axes.set_ylabel("mistakes, % of examples so far")
    axes.set_title("mistakes of the published rule so far (not private)", loc="left")
    return axes


def _positions(axes: Any) -> None:
    """Positions of the stream along the bottom, as 20,000."""
    axes.set_xlabel("examples")
    axes.xaxis.set_major_formatter("{x:,.0f}")


def _axes(axes: Any) -> Any:
    """The axes that were given, or those of a new figure, which no window shows."""
    if axes is not None:
        return axes
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError(NO_MATPLOTLIB) from None
    return Figure(figsize=(8, 4), layout="constrained").subplots()
