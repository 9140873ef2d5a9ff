"""Reading a ledger: from anywhere, and what a season has spent."""

from fractions import Fraction
from pathlib import Path

import pytest

from littled.store.errors import StoreDamaged
from littled.store.history import History
from littled.store.mark import Point
from littled.store.store import Store
from support.stores import RATE, STREAM, change, entry

pytestmark = pytest.mark.usefixtures("any_database")


def test_entries_are_read_from_anywhere_to_anywhere(history: History) -> None:
    entries = [entry(0), entry(1, position=4), entry(2, position=10, learner="early")]
    for after in range(-1, 4):
        for last in range(-1, 4):
            found = list(history.ledger.entries(STREAM, after, last))
            assert found == entries[after + 1 : last + 1]


def test_a_season_is_added_up_from_its_own_entries(small_store: Path, history: History) -> None:
    with Store.open(small_store) as store:
        store.charge(entry(3, position=1000, rate=Fraction(1, 4)))
        store.charge(entry(4, position=1001, rate=Fraction(1, 16)))
    last = Point(4, history.ledger.point(STREAM, 4) or b"")
    for season, spent in ((0, 3 * RATE), (1, Fraction(5, 16)), (2, 0)):
        found, price, point = history.ledger.season_spent(STREAM, season)
        assert (found, price.epsilon_pure, point) == (season, spent, last)
    assert history.ledger.season_spent(STREAM) == history.ledger.season_spent(STREAM, 1)


def test_a_ledger_entry_that_belongs_elsewhere_is_damage(
    small_store: Path, history: History
) -> None:
    for wrong in (entry(2, stream="quiet"), entry(1)):
        change(
            small_store / "store.sqlite",
            "UPDATE ledger SET entry = ? WHERE number = 2",
            (wrong.to_bytes(),),
        )
        with pytest.raises(StoreDamaged, match="belongs elsewhere"):
            list(history.ledger.entries(STREAM))
        with pytest.raises(StoreDamaged, match="belongs elsewhere"):
            history.ledger.season_spent(STREAM)
