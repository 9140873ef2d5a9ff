"""The ledger: every charge of a stream, with the event it was made for.

An entry records what was done (the event) and what was charged (the price). Nobody has to believe
the charge: `rederive` computes every price again and adds them up, season by season. The ledger is
public; it holds parameters and prices, nothing that depends on data.

*Answers from a window.* What a window may cost in all is charged to its season when that opens:
`answers` of a prediction event, at most. Every answered request then has an entry of its own that
names the window. It counts against what the window may cost and not against the season, which has
paid for it already: an example is in one window, so all windows together cost it what one does.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

from littled.budget.codec import event_from_dict
from littled.budget.events import PrecisionLoss, PrivacyEvent, RestoredSeason
from littled.budget.price import Price
from littled.budget.prices import UnsupportedEvent, price


class LedgerDamaged(ValueError):
    """Bytes that are no ledger entry of this version; one sentence."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One charge.

    `number` counts the stream's entries from 0, over all seasons; `learner` is the learner's name
    without the stream's, or None for the stream itself; `position` is the example at which the
    charge was made; `event` is what `event_to_dict` wrote. `window` is None, or for the answers to
    one request the number of the window that they come from; `season` and `position` are then the
    window's own, the position that of its last example.
    """

    number: int
    stream: str
    season: int
    learner: str | None
    position: int
    event: dict[str, Any]
    price: Price
    window: int | None = None

    def to_bytes(self) -> bytes:
        """Canonical: equal entries have equal bytes (JSON, sorted keys, no spaces, ASCII)."""
        values = {name: getattr(self, name) for name in _FIELDS}
        values["price"] = self.price.to_dict()
        if self.window is None:
            del values["window"]
        text = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return text.encode("ascii")

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The entry that `to_bytes` wrote; LedgerDamaged for any other bytes."""
        try:
            values = json.loads(data)
            _check_types(values)
            entry = cls(**{**values, "price": Price.from_dict(values["price"])})
        except (ValueError, TypeError, KeyError, RecursionError):
            raise LedgerDamaged("a ledger entry is not written as this version writes it") from None
        if entry.to_bytes() != data:
            raise LedgerDamaged("a ledger entry is not in its canonical form")
        return entry


_FIELDS = frozenset(field.name for field in fields(LedgerEntry))


def without_answers(entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """The entries that a stream's journal alone leads to, numbered as if there were no answers."""
    own = (entry for entry in entries if entry.window is None)
    return [replace(entry, number=number) for number, entry in enumerate(own)]


def own_numbers(entries: Iterable[LedgerEntry]) -> dict[int, int]:
    """For the number of each entry that is not for answers its number in `without_answers`."""
    own = (entry.number for entry in entries if entry.window is None)
    return {number: place for place, number in enumerate(own)}


def rederive(
    entries: Iterable[LedgerEntry],
    caps: Price,
    *,
    horizon: int | None = None,
    epsilon: Fraction | None = None,
) -> list[str]:
    """Problems of one stream's ledger, in order, one sentence each; empty if there are none.

    Checks that entries are numbered from 0 without a gap, that seasons never go back and (with
    `horizon`) contain their positions, that every price is the price of its event, that the events
    of finite precision assume at least the promised `epsilon`, that nothing is charged to a season
    after a restore has closed it, and that no season's sum, recorded or computed again, exceeds
    `caps`. Answers from a window count against what their learner was charged for a window of that
    season, before them and with the same parameters.
    """
    books = _Books()
    for expected, entry in enumerate(entries):
        if entry.number != expected:
            books.problem(entry, f"stands where {expected} was expected")
        if entry.window is None:
            if entry.season < books.season:
                books.problem(entry, f"goes back to season {entry.season}")
            books.season = entry.season
        elif entry.season > books.season:
            books.problem(entry, f"answers from season {entry.season} before that has begun")
        if entry.season <= books.closed:
            books.problem(entry, f"charges season {entry.season}, which a restore has closed")
        if horizon is not None and entry.position // horizon != entry.season:
            books.problem(entry, f"lies outside season {entry.season}")
        event, derived, wrong = _derived(entry, epsilon)
        books.problems.extend(wrong)
        if isinstance(event, RestoredSeason):
            books.closed = entry.season
        if entry.window is None:
            books.add(entry, event, derived)
        else:
            books.add_answers(entry, event, derived)
    return [*books.problems, *_overspent(books.seasons, caps), *books.overspent_windows()]


# The one who is charged: a season's number and a learner's name.
_Account = tuple[int, str | None]
_Sums = tuple[Price, Price]


@dataclass(slots=True)
class _Books:
    """Sums over one ledger so far, and what was found to be wrong.

    season: the last one. closed: the last one that a restore has closed. seasons: what was charged
    in each, recorded and derived. windows: for each account the events that paid for a window's
    answers, by what they are apart from their number. answers: for each account and window, how
    many answers were given, and their prices, recorded and derived.
    """

    season: int = 0
    closed: int = -1
    problems: list[str] = field(default_factory=list)
    seasons: dict[int, _Sums] = field(default_factory=lambda: defaultdict(_nothing))
    windows: dict[_Account, dict[PrivacyEvent, int]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    answers: dict[tuple[_Account, int, PrivacyEvent], tuple[int, _Sums]] = field(
        default_factory=lambda: defaultdict(lambda: (0, _nothing()))
    )

    def problem(self, entry: LedgerEntry, what: str) -> None:
        """Note one; `what` is the rest of the sentence."""
        self.problems.append(f"ledger entry {entry.number} {what}")

    def add(self, entry: LedgerEntry, event: PrivacyEvent | None, derived: Price) -> None:
        """Add a charge to its season, and remember what pays for a window's answers."""
        self.seasons[entry.season] = _added(self.seasons[entry.season], entry.price, derived)
        found = _one_answer(event)
        if found is not None:
            one, count = found
            paid = self.windows[entry.season, entry.learner]
            paid[one] = max(paid.get(one, 0), count)

    def add_answers(self, entry: LedgerEntry, event: PrivacyEvent | None, derived: Price) -> None:
        """Add the answers to one request to their window."""
        account = entry.season, entry.learner
        found = _one_answer(event)
        if found is None or found[0] not in self.windows.get(account, {}):
            self.problem(entry, f"gives answers that season {entry.season} has not paid for")
            return
        assert entry.window is not None
        one, count = found
        given, sums = self.answers[account, entry.window, one]
        self.answers[account, entry.window, one] = (
            given + count,
            _added(sums, entry.price, derived),
        )

    def overspent_windows(self) -> Iterator[str]:
        """One sentence for each window that gave or charged more than was paid for."""
        for (account, window, one), (given, sums) in self.answers.items():
            allowed = self.windows[account][one]
            cap = _price(one) * allowed
            if given > allowed or not all(spent.fits_in(cap) for spent in sums):
                yield (
                    f"window {window} of {account[1]} gives {given} answers, and {allowed} are "
                    f"paid for, or spends more than its cap ({cap.in_words()})"
                )


# A ledger has few different events, and some prices take a while.
_price = lru_cache(maxsize=1024)(price)


def _nothing() -> _Sums:
    return Price.zero(), Price.zero()


def _added(sums: _Sums, recorded: Price, derived: Price) -> _Sums:
    return sums[0] + recorded, sums[1] + derived


def _one_answer(event: PrivacyEvent | None) -> tuple[PrivacyEvent, int] | None:
    """The same event for one answer, and the number of answers; None for other events."""
    answers = getattr(event, "answers", None)
    if event is None or answers is None:
        return None
    changed: dict[str, Any] = {"answers": 1}
    return replace(event, **changed), answers


def _derived(
    entry: LedgerEntry, epsilon: Fraction | None
) -> tuple[PrivacyEvent | None, Price, list[str]]:
    """The entry's event, its price, and what is wrong with it."""
    try:
        event = event_from_dict(entry.event)
    except UnsupportedEvent as error:
        return None, entry.price, [f"ledger entry {entry.number} cannot be priced: {error}"]
    derived = _price(event)
    problems = []
    if derived != entry.price:
        problems.append(
            f"ledger entry {entry.number} charges ({entry.price.in_words()}) for an event that "
            f"costs ({derived.in_words()})"
        )
    if epsilon is not None and isinstance(event, PrecisionLoss) and event.epsilon < epsilon:
        problems.append(
            f"ledger entry {entry.number} prices finite precision for less than the "
            "promised epsilon"
        )
    return event, derived, problems


def _overspent(seasons: dict[int, _Sums], caps: Price) -> Iterator[str]:
    """One sentence for each season whose recorded or derived sum exceeds the caps."""
    for season, (recorded, derived) in sorted(seasons.items()):
        for spent in (recorded, derived):
            if not spent.fits_in(caps):
                yield (
                    f"season {season} spends ({spent.in_words()}), more than its caps "
                    f"({caps.in_words()})"
                )
                break


def _check_types(values: dict[str, Any]) -> None:
    """TypeError, KeyError or ValueError unless every field of an entry has its type."""
    if set(values) | {"window"} != _FIELDS:
        raise ValueError("fields")
    for name in ("number", "season", "position", *({"window"} & set(values))):
        if type(values[name]) is not int or values[name] < 0:
            raise TypeError(name)
    if not isinstance(values["stream"], str) or not isinstance(values["learner"], str | None):
        raise TypeError("names")
    if not isinstance(values["event"], dict) or not isinstance(values["price"], dict):
        raise TypeError("event")
