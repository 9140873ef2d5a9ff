"""A ledger in memory: sums, refusals, and that there is one of it."""

import copy
import pickle
from fractions import Fraction

import pytest

from littled.programs.ledgers import Ledger, LedgerExceeded

F = Fraction


def test_trainings_add_up_to_what_there_is_and_no_further() -> None:
    ledger = Ledger(0.3, 1e-6)
    for count in (1, 2, 3):
        ledger.spend(F(1, 10), F(0))
        assert ledger.charges == ((F(1, 10), F(0)),) * count
    with pytest.raises(LedgerExceeded, match="do not fit beside 3 trainings on"):
        ledger.spend(F(1, 10**9), F(0))
    assert len(ledger.charges) == 3


def test_delta_is_summed_as_well() -> None:
    ledger = Ledger(10, 1e-6)
    ledger.spend(F(1), F(1, 10**6))
    with pytest.raises(LedgerExceeded):
        ledger.spend(F(1), F(1, 10**9))
    ledger.spend(F(1), F(0))


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (-1, 0), (1, -1), (1, 1)])
def test_amounts_that_make_no_sense_are_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(ValueError, match="epsilon above 0"):
        Ledger(epsilon, delta)


def test_there_is_one_of_it() -> None:
    ledger = Ledger(1, 0)
    assert copy.copy(ledger) is ledger
    assert copy.deepcopy({"held": ledger})["held"] is ledger
    with pytest.raises(TypeError, match="n_jobs=1"):
        pickle.dumps(ledger)
