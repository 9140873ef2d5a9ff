"""The filter against whole numbers: adaptive askers, amounts of any size, refusals, restarts.

The oracle counts in units of 2^-1200, in which every amount that is asked for is a whole number. It
shares nothing with the filter: no fraction, no price, no sum of the code's.
"""

import random
from fractions import Fraction

import pytest

from littled.budget.codec import event_to_dict
from littled.budget.events import RestoredSeason
from littled.budget.filter import BudgetRefused, PrivacyFilter
from littled.budget.ledger import LedgerEntry
from littled.budget.price import Price
from littled.budget.prices import price

UNIT_BITS = 1200
ONE = 1 << UNIT_BITS
SUBNORMAL = 1 << (UNIT_BITS - 1074)
HUGE = 10**300 * ONE
Units = tuple[int, int, int]
NOTHING: Units = (0, 0, 0)
# (epsilon_pure, rho, delta); one that no float holds, and one without zCDP
CAPS: tuple[Units, ...] = (
    (ONE, ONE // 10, ONE // 10**6),
    (ONE - 1, 1, SUBNORMAL),
    (3 * ONE // 7, 0, 0),
    (HUGE, ONE, 0),
)


def to_price(units: Units) -> Price:
    return Price(*(Fraction(each, ONE) for each in units))


def as_written(number: int, units: Units) -> bytes:
    """A ledger entry of this price, as a store keeps it."""
    event = RestoredSeason(*(Fraction(each, ONE) for each in units))
    return LedgerEntry(number, "s", 0, None, 0, event_to_dict(event), price(event)).to_bytes()


class Asker:
    """Chooses each request by what was left and what happened to the one before."""

    def __init__(self, chance: random.Random, caps: Units) -> None:
        self.chance, self.caps = chance, caps
        self.refused: Units | None = None

    def amount(self, left: int, cap: int) -> int:
        """An amount that is likely to be near an edge of the filter."""
        edges = (0, 1, SUBNORMAL, left, left + 1, max(left - 1, 0), left // 2, left // 3, cap, HUGE)
        if self.chance.random() < 0.8:
            return self.chance.choice(edges)
        return self.chance.randrange(left // 4 + 2)

    def request(self, spent: Units) -> Units:
        """Something new; after a refusal often a part of what was refused."""
        if self.refused is not None and self.chance.random() < 0.4:
            divisor = self.chance.choice((2, 3, 1 << 60, HUGE))
            epsilon, rho, delta = self.refused
            return epsilon // divisor, rho // divisor, delta // divisor
        left = [cap - each for cap, each in zip(self.caps, spent, strict=True)]
        chosen = [self.amount(*each) for each in zip(left, self.caps, strict=True)]
        for other in range(3):  # most requests name one kind of price only
            if self.chance.random() < 0.4:
                chosen[other] = 0
        return chosen[0], chosen[1], chosen[2]


class Run:
    """One sequence: the filter, its ledger and what the oracle knows of both."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.caps = self.chance.choice(CAPS)
        self.spent = NOTHING
        self.filter = PrivacyFilter(to_price(self.caps), Price.zero())
        self.ledger: list[Units] = []
        self.asker = Asker(self.chance, self.caps)
        self.counts = {"admitted": 0, "refused": 0, "passed after a refusal": 0, "restarts": 0}

    def fits(self, asked: Units) -> bool:
        triples = zip(self.spent, asked, self.caps, strict=True)
        return all(spent + more <= cap for spent, more, cap in triples)

    def step(self) -> None:
        asked = self.asker.request(self.spent)
        before, ledger = self.filter, len(self.ledger)
        if self.fits(asked):
            self.admit(asked)
            self.counts["passed after a refusal"] += self.asker.refused is not None
            self.asker.refused = None
        else:
            with pytest.raises(BudgetRefused) as caught:
                self.filter.admit(to_price(asked))
            assert self.filter is before
            assert len(self.ledger) == ledger
            assert (caught.value.spent, caught.value.asked) == (
                to_price(self.spent),
                to_price(asked),
            )
            self.counts["refused"] += 1
            self.asker.refused = asked
        assert all(cap >= spent for cap, spent in zip(self.caps, self.spent, strict=True))
        assert self.filter.spent == to_price(self.spent)

    def admit(self, asked: Units) -> None:
        self.filter = self.filter.admit(to_price(asked))
        first, second, third = (a + b for a, b in zip(self.spent, asked, strict=True))
        self.spent = first, second, third
        self.ledger.append(asked)
        self.counts["admitted"] += 1

    def restart(self) -> None:
        """Forget the filter, as a process that ends does, and make it anew from the ledger."""
        written = [as_written(number, each) for number, each in enumerate(self.ledger)]
        prices = [LedgerEntry.from_bytes(each).price for each in written]
        self.filter = PrivacyFilter(to_price(self.caps), sum(prices, Price.zero()))
        assert self.filter.spent == to_price(self.spent)
        self.counts["restarts"] += 1

    def ask_wrongly(self) -> None:
        """What is no price is refused as such, and nothing happens."""
        before = self.filter
        wrong = self.chance.choice((-1, -SUBNORMAL, -HUGE))
        place = self.chance.randrange(3)
        amounts = [Fraction(wrong if each == place else 0, ONE) for each in range(3)]
        with pytest.raises(ValueError, match="must not be negative"):
            self.filter.admit(Price(*amounts))
        # adding to the largest amount that a float can hold would lose the rest
        with pytest.raises(TypeError, match="must be a Fraction"):
            Price(*(0.5 if each == place else Fraction(0) for each in range(3)))  # type: ignore[arg-type]
        assert self.filter == before


def run(seed: int) -> dict[str, int]:
    found = Run(seed)
    for _ in range(found.chance.randrange(1, 7)):
        what = found.chance.random()
        if what < 0.1:
            found.restart()
        elif what < 0.13:
            found.ask_wrongly()
        found.step()
    # whatever happened, nothing costs nothing, and what is left may be had, but not a unit more
    left = found.filter.left
    epsilon, rho, delta = (a - b for a, b in zip(found.caps, found.spent, strict=True))
    assert left == to_price((epsilon, rho, delta))
    assert found.filter.admit(Price.zero()) == found.filter
    assert found.filter.admit(left).left == Price.zero()
    with pytest.raises(BudgetRefused):
        found.filter.admit(left + to_price((1, 0, 0)))
    return found.counts


def totals(seeds: range) -> dict[str, int]:
    """What happened in all sequences together; each kind of it often enough to mean something."""
    found: dict[str, int] = {}
    for seed in seeds:
        for what, count in run(seed).items():
            found[what] = found.get(what, 0) + count
    assert min(found.values()) > len(seeds) // 5, found
    return found


@pytest.mark.no_cover
def test_a_thousand_adaptive_sequences_agree_with_whole_numbers() -> None:
    totals(range(1_000))


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(10))
def test_a_hundred_thousand_adaptive_sequences_agree_with_whole_numbers(part: int) -> None:
    totals(range(10_000 * part, 10_000 * (part + 1)))


def test_the_oracle_would_notice_a_subnormal_that_is_lost() -> None:
    """A filter that adds in floating point admits the smallest amount for ever."""
    state = PrivacyFilter(to_price((ONE, 0, 0)), to_price((ONE, 0, 0)))
    assert float(state.spent.epsilon_pure) + 2.0**-1074 == float(state.spent.epsilon_pure)
    with pytest.raises(BudgetRefused):
        state.admit(to_price((SUBNORMAL, 0, 0)))
