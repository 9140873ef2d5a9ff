"""A budget that several trainings in one process share."""

from fractions import Fraction
from threading import Lock
from typing import Any, NoReturn, Self

from littled.written import as_written


class LedgerExceeded(ValueError):
    """A training does not fit into what a ledger has left; nothing was learned from its data."""


class Ledger:
    """How much trainings on the same data may spend together: the sums of epsilon and of delta.

    Sums are what basic composition allows (Dwork and Roth, Theorem 3.16), whatever the trainings
    are. A copy of a ledger would be a second budget for the same data. So `copy` and `deepcopy`
    return the ledger itself, and it cannot be pickled. It lives as long as the process: who starts
    the process again starts with an empty ledger, and only the user knows. A daemon's budget is on
    disk.

    epsilon above 0, delta from 0 to below 1; floats as they are written. ValueError for others.
    """

    def __init__(self, epsilon: float | Fraction, delta: float | Fraction) -> None:
        """Begin with nothing spent."""
        self.epsilon, self.delta = as_written(epsilon), as_written(delta)
        if self.epsilon <= 0 or not 0 <= self.delta < 1:
            raise ValueError("a ledger needs epsilon above 0 and delta from 0 to below 1")
        self._spent: list[tuple[Fraction, Fraction]] = []
        self._lock = Lock()

    @property
    def charges(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """(epsilon, delta) of every training so far."""
        with self._lock:
            return tuple(self._spent)

    def spend(self, epsilon: Fraction, delta: Fraction) -> None:
        """Charge a training before it looks at any data; LedgerExceeded, and nothing, if it cannot.

        Safe to be called from several threads.
        """
        with self._lock:
            spent = [*self._spent, (epsilon, delta)]
            epsilons, deltas = (sum(amounts, Fraction(0)) for amounts in zip(*spent, strict=True))
            if epsilons > self.epsilon or deltas > self.delta:
                trained = len(self._spent)
                raise LedgerExceeded(
                    f"this training costs epsilon {float(epsilon):g} and delta {float(delta):g}, "
                    f"which do not fit beside {trained} training{'s' * (trained != 1)} on the same "
                    f"data into the ledger of {float(self.epsilon):g} and {float(self.delta):g}; "
                    "give the estimator a ledger of what all of them may spend, or "
                    'budget="each" if the data is public'
                )
            self._spent = spent

    def __copy__(self) -> Self:
        """Return the same ledger."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the same ledger."""
        return self

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled (TypeError)."""
        raise TypeError(
            "a ledger cannot be pickled, as each copy could be spent; use one process (n_jobs=1), "
            'keep the learned rule (rule_), or say budget="each" if the data is public'
        )
