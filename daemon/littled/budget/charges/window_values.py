"""What learners that publish a value of each window are charged, whatever is drawn."""

from collections.abc import Mapping
from typing import Any, Final

from littled.budget.charges import Charges
from littled.budget.events import PrepaidSelection, PrivacyEvent
from littled.budget.rounding import from_text

# What all kinds of such learners have.
VALUE_PARAMETERS: Final = frozenset(
    {"method", "epsilon", "horizon", "window", "rate", "accounting", "user_examples_max"}
)


def season_of(parameters: Mapping[str, Any], draws: tuple[PrivacyEvent, ...]) -> Charges:
    """A season whose windows together cost what one of them does; users' prices are in `draws`.

    KeyError, TypeError or ValueError for parameters that no such learner has.
    """
    horizon, window = parameters["horizon"], parameters["window"]
    if type(horizon) is not int or type(window) is not int or window < 1:
        raise TypeError("window")
    return Charges(
        trigger=(),
        segment=None,
        selection=draws,
        epsilon=from_text(parameters["epsilon"]),
        call=PrepaidSelection(draws=1),
        calls_max=horizon // window,
    )
