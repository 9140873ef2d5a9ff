"""How the most frequent item is drawn from one window: two methods with one interface.

The score of an item is the number of examples with label 1 that are it. One example replaced
changes at most two scores, one by 1 and one by -1. Candidates are in the order of their numbers,
and ties are equally likely: in which order examples came does not matter. The proofs are in
PRIVACY.md, section 18.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from littled.budget.events import DenseSelection, PrivacyEvent, SparseSelection
from littled.classes.base import Scores
from littled.classes.capabilities import Items, needed
from littled.classes.hypothesis import HypothesisClass
from littled.learners.batch.methods import Draw, Window
from littled.learners.most_frequent.parameters import MostFrequentMethod, MostFrequentParameters
from littled.mechanisms.ranges import DOMAIN_BITS_MAX, RangeDraw
from littled.mechanisms.sparse_sample import SparseSample
from littled_protocol.rules import Rule


@dataclass(frozen=True)
class MostFrequentDraw(ABC):
    """One method for one class with public parameters."""

    hypotheses: HypothesisClass
    parameters: MostFrequentParameters

    def misfit(self) -> str | None:
        """Why the class does not go with the method, in a sentence, or None."""
        if self.hypotheses.items is None:
            return f"{self.hypotheses.name} has no rules that say 1 to one item"
        return None

    @abstractmethod
    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """What all windows of a season cost together; finite precision is not in it."""

    @abstractmethod
    def precision_error(self) -> Fraction:
        """Bound on the total variation of one window's release from the ideal one."""

    @abstractmethod
    def drawn(self, items: list[int], counts: Scores, draw: Draw) -> int | None:
        """One item, from those that are reported, rising, and their counts; None for none."""

    def select(self, window: Window, draw: Draw) -> Rule:
        """The rule of the drawn item, or the one that is always 0."""
        item = self.drawn(*self._items.reported(window.x, window.y), draw)
        return self.hypotheses.first_rule() if item is None else self._items.item_rule(item)

    @cached_property
    def _items(self) -> Items:
        return needed(self.hypotheses.items)


class Exponential(MostFrequentDraw):
    """The exponential mechanism over all items: those that nobody reports are alike."""

    def misfit(self) -> str | None:
        """Needs a domain whose size can be computed with."""
        found = MostFrequentDraw.misfit(self)
        if found is None and self._items.item_bits >= DOMAIN_BITS_MAX:
            return (
                f"{self.hypotheses.name} has 2^{self._items.item_bits} items, too many to draw "
                f"among all of them; 2^{DOMAIN_BITS_MAX - 1} is the most"
            )
        return found

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """One draw."""
        p = self.parameters
        return (DenseSelection(p.rate, 1, p.accounting, p.user_examples_max or 0),)

    def precision_error(self) -> Fraction:
        """That of one draw."""
        return self._mechanism.total_variation()

    def drawn(self, items: list[int], counts: Scores, draw: Draw) -> int:
        """A reported item, or any other one."""
        most = int(counts.max(initial=0))
        sizes = [1] * len(items) + [(1 << self._items.item_bits) - len(items)]
        behind = [*(most - counts).tolist(), most]
        words = draw.words("select", self._mechanism.words)
        index, place = self._mechanism.sample(sizes, behind, words)
        return items[index] if index < len(items) else _other(items, place)

    @cached_property
    def _mechanism(self) -> RangeDraw:
        return RangeDraw(self.parameters.rate, 1 << self._items.item_bits)


def _other(items: list[int], place: int) -> int:
    """The item with this number among all that are not in the rising list.

    Before items[i] there are items[i] - i others; with the place in all, as many items are skipped
    as have no more others before them than that.
    """
    return place + bisect_right([item - i for i, item in enumerate(items)], place)


class Stable(MostFrequentDraw):
    """Sparse sampling among the items that examples report, and bottom (Lemma B)."""

    def season_events(self) -> tuple[PrivacyEvent, ...]:
        """One draw; an example reports one item."""
        p = self.parameters
        return (
            SparseSelection(p.rate, 1, p.bottom_score, 1, p.accounting, p.user_examples_max or 0),
        )

    def precision_error(self) -> Fraction:
        """That of one draw."""
        return self._mechanism.total_variation(self.parameters.window)

    def drawn(self, items: list[int], counts: Scores, draw: Draw) -> int | None:
        """A reported item, or none."""
        index = self._mechanism.sample(counts, draw.words("select", SparseSample.WORDS))
        return None if index is None else items[index]

    @cached_property
    def _mechanism(self) -> SparseSample:
        p = self.parameters
        return SparseSample(p.rate, list_cap=1, bottom_score=p.bottom_score)


_METHODS: dict[MostFrequentMethod, type[MostFrequentDraw]] = {
    "exponential": Exponential,
    "stable": Stable,
}


def draw_of(hypotheses: HypothesisClass, parameters: MostFrequentParameters) -> MostFrequentDraw:
    """The method that the parameters name; ValueError, one sentence, for what does not fit."""
    found = next(made for name, made in _METHODS.items() if name == parameters.method)(
        hypotheses, parameters
    )
    problem = found.misfit()
    if problem is not None:
        raise ValueError(problem)
    return found
