"""What a season knows of the ids that it watches, and how it is written down."""

import numpy as np
import pytest

from littled.learners.online.tallies import NEVER, Tallies, Watched, pairs_of

WIDE = (5 << 64) + 7
TALLIES = Tallies.of(
    {9: Watched(3, 40), WIDE: Watched(1, 12), 2: Watched(30, NEVER), 1: Watched(2, 12)}
)


def test_the_first_to_pass_is_known() -> None:
    assert Tallies().first == Tallies.of({}).first == NEVER
    assert TALLIES.first == 12
    assert TALLIES.passing(12) == [1, WIDE]
    assert TALLIES.passing(13) == []


def test_spells_end_one_by_one() -> None:
    left = TALLIES.without({1, WIDE, 77})
    assert dict(left.watched) == {9: Watched(3, 40), 2: Watched(30, NEVER)}
    assert left.first == 40
    assert TALLIES.without({1}).first == 12


def test_a_snapshot_has_columns_by_rising_id() -> None:
    values = TALLIES.to_dict()
    assert values["ids"].tolist() == [[0, 1], [0, 2], [0, 9], [5, 7]]
    assert values["gaps"].tolist() == [2, 30, 3, 1]
    assert values["passes"].tolist() == [12, NEVER, 40, 12]
    assert all(values[name].dtype == np.int64 for name in ("gaps", "passes"))
    turned = Tallies.of(dict(sorted(TALLIES.watched.items())))
    assert Tallies.from_dict(values) == TALLIES == turned
    assert Tallies.from_dict(Tallies().to_dict()) == Tallies()


@pytest.mark.parametrize("missing", ["ids", "gaps", "passes"])
def test_what_lacks_a_column_is_refused(missing: str) -> None:
    values = {name: column for name, column in TALLIES.to_dict().items() if name != missing}
    with pytest.raises(ValueError, match="tallies have"):
        Tallies.from_dict(values)
    with pytest.raises(ValueError, match="tallies have"):
        Tallies.from_dict({**TALLIES.to_dict(), "more": 1})


def test_no_ids_are_no_rows() -> None:
    assert pairs_of([]).shape == (0, 2)
    assert pairs_of([WIDE]).tolist() == [[5, 7]]
