"""The evader of prefixes: blocks around one hidden address, and an interval of their lengths."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from benchmarks.evasion.game import (
    SPREAD_ROWS,
    Choice,
    Game,
    Generator,
    Rows,
    column,
    goes_up,
    labelled,
)
from benchmarks.evasion.lengths import LengthSearch
from benchmarks.evasion.policies import Style
from littled.classes.base import Points
from littled.classes.prefixes import Prefixes
from littled_protocol.rules import PrefixRule, Rule


@dataclass(frozen=True)
class Path:
    """The blocks of `address` of length low..high fit; whether a block of it was published last."""

    address: int
    low: int
    high: int
    known: bool = False


@dataclass(frozen=True)
class PrefixGame(Game[Path]):
    """Shows addresses that share as many bits with the hidden one as the published block is long.

    While no block of the hidden address is published it shows that address itself, or, to spread
    what positives propose, addresses that share with it just what all blocks that fit ask for.
    """

    hypotheses: Prefixes

    @property
    def bits(self) -> int:
        """Bits of an address."""
        return self.hypotheses.bits

    def begin(self, rng: Generator, place: float | None = None) -> Path:
        """Every length fits, or one."""
        address = int.from_bytes(rng.bytes(16), "big") >> (128 - self.bits)
        if place is None:
            return Path(address, 0, self.bits)
        target = round(place * self.bits)
        return Path(address, target, target)

    def choose(self, state: Path, rule: Rule, style: Style, rng: Generator) -> tuple[Choice, Path]:
        """Positives while no block is published, then a mistake on the side that is kept."""
        length = self._length(state, rule)
        if length is None:
            found, state = self._nowhere(state, style, rng)
            wrong, right = found.split(rule)
            if not len(wrong):  # another block that has them is published
                wrong, right = self._rows(state, [self.bits], 1, rng, tails=False), wrong
        else:
            wrong, state = self._beside(state, length, style, rng)
            wrong, right = wrong.split(rule)
        state = replace(state, known=length is not None)
        if style.pace == 1 and len(wrong):
            return Choice(wrong, self._none()), state
        free, state = self._free(state, length, style, rng)
        return Choice(wrong, free + right), state

    def fitting(self, state: Path) -> PrefixRule:
        """The longest block."""
        return PrefixRule(self.bits, state.address >> (self.bits - state.high), state.high)

    def _length(self, state: Path, rule: Rule) -> int | None:
        """The length of the published block on the path; None if it does not hold the address."""
        says = rule.evaluate(self._points(state, list(range(self.bits + 1))))
        outside = np.flatnonzero(says[: self.bits] == 0)
        if not says[self.bits]:
            return None
        return int(outside[-1]) + 1 if len(outside) else 0

    def _nowhere(self, state: Path, style: Style, rng: Generator) -> tuple[Rows, Path]:
        """Positives, while the hidden address is not inside the published block."""
        if style.side == "costly":
            left = _search_of(self.bits).costliest(state.high - state.low + 1)
            state = replace(state, high=state.low + left - 1)
        elif style.spread and state.high == self.bits:
            state = replace(state, high=max(state.low, self.bits // 2))
        if state.high == self.bits or (style.side != "costly" and not style.spread):
            return self._rows(state, [self.bits], 1, rng, tails=False), state
        shared = rng.integers(state.high, state.high + 2, SPREAD_ROWS)
        return self._rows(state, np.minimum(shared, self.bits).tolist(), 1, rng), state

    def _beside(self, state: Path, length: int, style: Style, rng: Generator) -> tuple[Rows, Path]:
        """Mistakes of a published block of this length, if another length is left."""
        up = state.high - max(length + 1, state.low) + 1
        down = min(length - 1, state.high) - state.low + 1
        if up <= 0 and down <= 0:
            return self._none(), state
        goes = goes_up(style, up, down)
        if style.side == "costly" and up > 0 and down > 0 and not state.known:
            # the first block of a path: to go up means to search for another one
            search = _search_of(self.bits)
            goes = search.search(up) >= search.bisect(down)
        if goes:
            state = replace(state, low=max(state.low, length + 1))
            first, last, label = length, state.low - 1, 0
        else:
            state = replace(state, high=min(state.high, length - 1))
            first, last, label = state.high, length - 1, 1
        if not style.spread:
            nearest = first if goes else last
            return self._rows(state, [nearest], label, rng, tails=False), state
        shared = rng.integers(first, last, SPREAD_ROWS, endpoint=True).tolist()
        return self._rows(state, shared, label, rng), state

    def _free(
        self, state: Path, length: int | None, style: Style, rng: Generator
    ) -> tuple[Rows, Path]:
        """Examples that all blocks that fit agree on; far ones may cost the block of length 0."""
        low, high = state.low, state.high
        if style.free == "ends" and low > 0:
            ends = self._rows(state, [low - 1], 0, rng), self._rows(state, [high], 1, rng)
            return ends[0] + ends[1], state
        if style.free == "near" and length is not None and high < length:
            return self._rows(state, [length], 1, rng), state
        near = low - 1 if length is None else length - 1
        if style.free == "near" and 0 <= near < low:
            return self._rows(state, [near], 0, rng), state
        if high == 0 or length == 0:
            return self._rows(state, [self.bits], 1, rng), state
        return self._rows(state, [0], 0, rng), replace(state, low=max(low, 1))

    def _none(self) -> Rows:
        return labelled(self._column([]), 1)

    def _rows(
        self, state: Path, shared: list[int], label: int, rng: Generator, tails: bool = True
    ) -> Rows:
        """Addresses that share so many bits with the hidden one; what is behind is random."""
        x = self._points(state, shared)
        if tails:
            behind = [max(self.bits - 1 - count, 0) for count in shared]
            words = [int.from_bytes(rng.bytes(16), "big") & ((1 << bits) - 1) for bits in behind]
            x = x ^ self._column(words)
        return labelled(x, label)

    def _points(self, state: Path, shared: list[int]) -> Points:
        """The hidden address with the first bit flipped that is not shared."""
        flips = [1 << self.bits >> (count + 1) for count in shared]
        return self._column([state.address ^ flip for flip in flips])

    def _column(self, values: list[int]) -> Points:
        return column(values, self.hypotheses.point_type)


@cache
def _search_of(bits: int) -> LengthSearch:
    """The search among all lengths 0..bits, made once."""
    return LengthSearch(bits + 1)
