"""The littled daemon: private rules from streams of labelled queries.

For programs and notebooks, imported when they are asked for: `PrivateOnlineClassifier` (needs
scikit-learn: `pip install 'littled[sklearn]'`), `PrivateRiverClassifier` (needs River as well:
`pip install 'littled[river]'`), `Ledger`, `LedgerExceeded`, `ledger_of`, `plan_of`,
`run`, and `plot_rules`, `plot_budget` and `plot_mistakes`, which need matplotlib when they draw.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "Ledger": "littled.programs.ledgers",
    "LedgerExceeded": "littled.programs.ledgers",
    "PrivateOnlineClassifier": "littled.programs.estimator",
    "PrivateRiverClassifier": "littled.programs.streaming",
    "ledger_of": "littled.store.statement",
    "plan_of": "littled.programs.research",
    "plot_budget": "littled.programs.plots",
    "plot_mistakes": "littled.programs.plots",
    "plot_rules": "littled.programs.plots",
    "run": "littled.programs.research",
    "spending_of_statuses": "littled.programs.spending",
}
# What a package that is missing is called, and the extra that brings it.
_EXTRAS = {"sklearn": ("scikit-learn", "sklearn"), "river": ("River", "river")}
__all__ = [  # noqa: PLE0604 - names that `__getattr__` finds
    *_HOMES
]


def __getattr__(name: str) -> Any:
    """What is imported on demand; ImportError with a sentence where an extra is missing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'littled' has no attribute {name!r}")
    try:
        return getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        needed, package = extra
        raise ImportError(
            f"{name} needs {needed}; install it with: pip install 'littled[{package}]'"
        ) from None


def __dir__() -> list[str]:
    """What a completion offers: also what is imported on demand."""
    return sorted({*globals(), *_HOMES})
