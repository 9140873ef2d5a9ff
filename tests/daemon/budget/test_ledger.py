"""The ledger: canonical bytes, and every tampering is found."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.budget.codec import event_to_dict
from littled.budget.events import (
    DenseSelection,
    PrecisionLoss,
    PredictionAnswersDense,
    PrepaidSelection,
    PrivacyEvent,
    RestoredSeason,
    TriggerSeason,
)
from littled.budget.ledger import (
    LedgerDamaged,
    LedgerEntry,
    own_numbers,
    rederive,
    without_answers,
)
from littled.budget.price import Price
from littled.budget.prices import price

TRIGGER = TriggerSeason(Fraction(1, 4))
CALL = DenseSelection(Fraction(1, 20), 1, "zcdp")
LOSS = PrecisionLoss(Fraction(1, 1 << 40), Fraction(1))
HORIZON = 1000


def entry(number: int, season: int, position: int, event: PrivacyEvent) -> LedgerEntry:
    return LedgerEntry(
        number, "flights", season, "late", position, event_to_dict(event), price(event)
    )


def ledger() -> list[LedgerEntry]:
    """Two seasons: the trigger and the precision, then calls."""
    charges = [
        (0, 0, TRIGGER), (0, 0, LOSS), (0, 40, CALL), (0, 999, CALL),
        (1, 1000, TRIGGER), (1, 1000, LOSS), (1, 1500, CALL),
    ]  # fmt: skip
    return [
        entry(number, season, position, event)
        for number, (season, position, event) in enumerate(charges)
    ]


CAPS = price(TRIGGER) + price(LOSS) + price(CALL) * 2


def problems(entries: list[LedgerEntry], caps: Price = CAPS) -> list[str]:
    return rederive(entries, caps, horizon=HORIZON, epsilon=Fraction(1))


def test_an_honest_ledger_has_no_problems() -> None:
    assert problems(ledger()) == []
    assert rederive(iter(ledger()), CAPS) == []
    assert rederive([], Price.zero()) == []


def test_bytes_are_these_for_ever() -> None:
    # rho is 1/800 rounded up to a multiple of 2^-80
    assert ledger()[2].to_bytes() == (
        b'{"event":{"accounting":"zcdp","draws":1,"rate":"1/20","type":"dense_selection"},'
        b'"learner":"late","number":2,"position":40,"price":{"delta":"0/1","epsilon_pure":"0/1",'
        b'"rho":"1511157274518286468383/1208925819614629174706176"},"season":0,"stream":"flights"}'
    )


@given(
    st.integers(0, 2**63),
    st.text(max_size=8),
    st.one_of(st.none(), st.text(max_size=8)),
    st.fractions(0, 3),
)
def test_written_entries_are_read_again(
    number: int, stream: str, learner: str | None, rate: Fraction
) -> None:
    event = TriggerSeason(rate)
    one = LedgerEntry(number, stream, 3, learner, 17, event_to_dict(event), price(event))
    assert LedgerEntry.from_bytes(one.to_bytes()) == one
    assert one.to_bytes().isascii()


def changed(**values: Any) -> bytes:
    """The third entry with fields changed, canonical otherwise."""
    fields = {**json.loads(ledger()[2].to_bytes()), **values}
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"\xff",
        b"[" * 100_000,
        b'{"number":0}',
        changed(more=1),
        changed(number=-1),
        changed(window=None),
        changed(window=-1),
        changed(window="0"),
        changed(number=True),
        changed(number=1.0),
        changed(season="0"),
        changed(stream=None),
        changed(learner=3),
        changed(event=[]),
        changed(price={}),
        changed(price={"delta": "0/1", "epsilon_pure": "0/1", "rho": "2/4"}),
        changed(price={"delta": "-1/2", "epsilon_pure": "0/1", "rho": "1/4"}),
        ledger()[2].to_bytes() + b" ",
        ledger()[2].to_bytes().replace(b":", b": "),
        ledger()[2].to_bytes().replace(b'"number":2', b'"number":1,"number":2'),
    ],
)
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(LedgerDamaged, match="ledger entry is not"):
        LedgerEntry.from_bytes(data)


def test_a_charge_that_is_not_its_events_price_is_found() -> None:
    entries = ledger()
    entries[3] = replace(entries[3], price=Price.zero())
    assert problems(entries) == [
        "ledger entry 3 charges (epsilon_pure 0, rho 0, delta 0) for an event that costs "
        "(epsilon_pure 0, rho 0.00125001, delta 0)"
    ]


def test_an_overcharge_is_found_too_and_counted() -> None:
    entries = ledger()
    entries[3] = replace(entries[3], price=price(CALL) * 3)
    found = problems(entries)
    assert len(found) == 2
    assert found[1].startswith("season 0 spends (")


def test_an_undercharge_does_not_hide_an_overspend() -> None:
    entries = ledger()
    expensive = replace(CALL, rate=Fraction(1))
    entries[6] = replace(entries[6], event=event_to_dict(expensive))
    found = problems(entries)
    assert [text.split()[:3] for text in found] == [
        ["ledger", "entry", "6"],
        ["season", "1", "spends"],
    ]


def test_seasons_are_added_up_one_by_one() -> None:
    entries = ledger()
    entries[4:4] = [entry(4, 0, 999, CALL)]
    entries = [replace(each, number=number) for number, each in enumerate(entries)]
    assert [text.partition(" spends")[0] for text in problems(entries)] == ["season 0"]


@pytest.mark.parametrize("removed", range(6))
def test_a_missing_entry_is_found(removed: int) -> None:
    entries = ledger()
    del entries[removed]
    assert f"ledger entry {removed + 1} stands where {removed} was expected" in problems(entries)


def test_a_repeated_entry_is_found() -> None:
    entries = ledger()
    assert "ledger entry 2 stands where 3 was expected" in problems([*entries[:3], *entries[2:]])


def test_a_season_that_goes_back_is_found() -> None:
    entries = ledger()
    entries[6] = replace(entries[6], season=0, position=40)
    assert problems(entries)[0] == "ledger entry 6 goes back to season 0"


def test_a_position_outside_its_season_is_found() -> None:
    entries = ledger()
    entries[3] = replace(entries[3], position=1000)
    assert problems(entries) == ["ledger entry 3 lies outside season 0"]


def test_an_unknown_event_is_named_and_its_charge_still_counts() -> None:
    entries = ledger()
    entries[3] = replace(entries[3], event={"type": "magic"}, price=price(CALL) * 5)
    found = problems(entries)
    assert found[0].startswith("ledger entry 3 cannot be priced: the type of a privacy event")
    assert found[1].startswith("season 0 spends")


def test_nothing_is_charged_to_a_season_that_a_restore_has_closed() -> None:
    """Neither an event nor answers from one of its windows, however little they cost."""
    zero = Fraction(0)
    opening = [entry(0, 0, 0, TRIGGER), entry(1, 0, 999, RestoredSeason(zero, CAPS.rho, zero))]
    assert problems([*opening, entry(2, 1, 1000, TRIGGER)]) == []
    late = entry(2, 0, 999, PrepaidSelection(1))
    sentence = "ledger entry 2 charges season 0, which a restore has closed"
    assert problems([*opening, late]) == [sentence]
    assert problems([*opening, replace(late, window=0)])[0] == sentence


def test_precision_priced_for_less_than_the_promise_is_found() -> None:
    weak = replace(LOSS, epsilon=Fraction(1, 2))
    entries = ledger()
    entries[1] = entry(1, 0, 0, weak)
    assert problems(entries) == [
        "ledger entry 1 prices finite precision for less than the promised epsilon"
    ]
    assert rederive(entries, CAPS, horizon=HORIZON) == []


# --- answers from windows -------------------------------------------------------------------------

WINDOW = PredictionAnswersDense(Fraction(1, 10), 8, "pure")


def answers(number: int, window: int, count: int, season: int = 0) -> LedgerEntry:
    """The answers to one request, from windows of 100 examples, ten a season."""
    made = entry(number, season, 100 * window + 99, replace(WINDOW, answers=count))
    return replace(made, window=window)


def answering() -> list[LedgerEntry]:
    """Two seasons that pay for windows of 8 answers; the last window of one serves on."""
    return [
        entry(0, 0, 0, WINDOW), entry(1, 0, 0, TRIGGER), answers(2, 0, 3), answers(3, 0, 5),
        entry(4, 0, 250, CALL), answers(5, 9, 8), entry(6, 1, 1000, WINDOW), answers(7, 8, 8),
        answers(8, 10, 1, 1), answers(9, 7, 1),
    ]  # fmt: skip


ANSWERING_CAPS = price(WINDOW) + price(TRIGGER) + price(CALL)


def answer_problems(entries: list[LedgerEntry]) -> list[str]:
    return rederive(entries, ANSWERING_CAPS, horizon=HORIZON, epsilon=Fraction(1))


def test_answers_count_against_their_windows_and_no_season() -> None:
    assert answer_problems(answering()) == []
    (found,) = answer_problems([*answering(), entry(10, 1, 1001, replace(CALL, draws=600))])
    assert found.startswith("season 1 spends")


def test_an_entry_for_answers_ends_with_its_window() -> None:
    data = answers(2, 0, 3).to_bytes()
    assert data.endswith(b',"season":0,"stream":"flights","window":0}')
    assert LedgerEntry.from_bytes(data) == answers(2, 0, 3)
    assert b"window" not in ledger()[2].to_bytes()


@pytest.mark.parametrize(
    ("number", "wrong", "sentence"),
    [
        (3, answers(3, 0, 6), "window 0 of late gives 9 answers, and 8 are paid for"),
        (7, answers(7, 9, 1), "window 9 of late gives 9 answers, and 8 are paid for"),
        (3, replace(answers(3, 0, 5), price=price(WINDOW)), "spends more than its cap"),
        (3, replace(answers(3, 0, 5), price=Price.zero()), "ledger entry 3 charges"),
        (3, answers(3, 10, 1, 1), "answers from season 1 before that has begun"),
        (3, answers(3, 10, 1, 0), "lies outside season 0"),
        (3, replace(answers(3, 0, 5), learner="early"), "that season 0 has not paid for"),
        (3, replace(entry(3, 0, 99, CALL), window=0), "that season 0 has not paid for"),
        (6, replace(entry(6, 1, 1000, TRIGGER)), "ledger entry 8 gives answers that season 1"),
        (0, entry(0, 0, 0, replace(WINDOW, rate=Fraction(1, 11))), "season 0 has not paid for"),
    ],
)
def test_answers_that_nobody_paid_for_are_found(
    number: int, wrong: LedgerEntry, sentence: str
) -> None:
    entries = answering()
    entries[number] = wrong
    found = answer_problems(entries)
    assert any(sentence in each for each in found), found


def test_answers_for_nothing_are_counted_too() -> None:
    """Finite precision was charged for so many of them."""
    free = replace(WINDOW, rate=Fraction(0))
    more = replace(entry(1, 0, 99, replace(free, answers=9)), window=0)
    (found,) = answer_problems([entry(0, 0, 0, free), more])
    assert found.startswith("window 0 of late gives 9 answers, and 8 are paid for")


def test_without_answers_a_ledger_is_numbered_as_its_journal_leads_to() -> None:
    own = without_answers(answering())
    assert [each.number for each in own] == [0, 1, 2, 3]
    assert [each.position for each in own] == [0, 0, 250, 1000]
    assert own_numbers(answering()) == {0: 0, 1: 1, 4: 2, 6: 3}
    assert without_answers(ledger()) == ledger()
