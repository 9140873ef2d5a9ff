"""How an evader plays: the named policies, and policies with random parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

Side = Literal["larger", "smaller", "up", "down", "costly"]
Free = Literal["far", "ends", "near"]
PACES = (1, 1, 1, 2, 3, 5, 10, 30, 100)
# Releases after which a random policy may change its style.
SWITCHES = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Style:
    """What an evader does while one rule is published.

    pace: one example in so many is a mistake, as long as there are correct ones to show between.
    side: which of the two sides of the published rule keeps the target: the one with more rules, or
    fewer; always up (greater thresholds, longer blocks, labels 0 where the rule says 1) or down, as
    long as that side has a rule; or the one that costs a search for a block's length most, which is
    the larger one for all classes but prefixes. free: correct examples far from all doubt, at the
    ends of what is in doubt, or next to the published rule. spread: mistakes are many different
    examples instead of one.
    """

    pace: int = 1
    side: Side = "larger"
    free: Free = "far"
    spread: bool = False


@dataclass(frozen=True)
class Policy:
    """A style, and the one in its place after so many releases; None for never.

    place: of all rules in their order, 0..1, the target, where it is not chosen last.
    """

    first: Style
    later: Style | None = None
    switch: int = 0
    place: float | None = None

    def style(self, releases: int) -> Style:
        """The style after so many releases of the season, the first rule included."""
        return self.first if self.later is None or releases <= self.switch else self.later

    @property
    def words(self) -> str:
        """For people, in one line."""
        if self.later is None:
            return _words(self.first)
        return f"{_words(self.first)}; after {self.switch} releases {_words(self.later)}"


def _words(style: Style) -> str:
    parts = [f"keeps {style.side}"]
    if style.pace > 1:
        parts.append(f"one mistake in {style.pace}, {style.free} between")
    return ", ".join([*parts, "spread"] if style.spread else parts)


def random_policy(rng: np.random.Generator) -> Policy:
    """A policy with random parameters; every other one changes its style."""
    first, later = _random_style(rng), _random_style(rng)
    switch = int(rng.choice(SWITCHES))
    return Policy(first, later, switch) if rng.random() < 0.5 else Policy(first)


def _random_style(rng: np.random.Generator) -> Style:
    sides: tuple[Side, ...] = get_args(Side)
    frees: tuple[Free, ...] = get_args(Free)
    # the larger side is the best guess
    side: Side = "larger" if rng.random() < 0.4 else sides[int(rng.integers(len(sides)))]
    free = frees[int(rng.integers(len(frees)))]
    return Style(int(rng.choice(PACES)), side, free, bool(rng.random() < 0.3))


_USUAL = {"greedy": Policy(Style()), "spread": Policy(Style(spread=True))}
_PACED = Policy(Style(pace=30))
# For each family of classes its policies by name.
NAMED: Mapping[str, Mapping[str, Policy]] = {
    "thresholds": {
        "middle": Policy(Style()),
        "pace": _PACED,
        "steer": Policy(Style(pace=2, free="ends")),
        "extremes": Policy(Style(side="up")),
        # targets that are fixed beforehand: what comes is a random search tree
        "end": Policy(Style(), place=1.0),
        "quarter": Policy(Style(), place=0.25),
        "centre": Policy(Style(), place=0.51),
    },
    "prefixes": {
        "long": Policy(Style(side="up")),
        "big": Policy(Style()),
        "short": Policy(Style(side="down")),
        "spread": Policy(Style(spread=True)),
        "pace": _PACED,
        "tree": Policy(Style(side="costly")),
    },
    "points": {"flips": Policy(Style()), "pace": _PACED},
    "sparse_sets": {
        "flips": Policy(Style()),
        "spread": Policy(Style(spread=True)),
        "pace": _PACED,
    },
    "affine": _USUAL,
    "stumps": {
        **_USUAL,
        "pace": _PACED,
        "even": Policy(Style(side="costly")),
        "even spread": Policy(Style(side="costly", spread=True)),
        "slow": Policy(Style(pace=3)),
    },
    "conjunctions": _USUAL,
    "table": {**_USUAL, "pace": _PACED},
}
