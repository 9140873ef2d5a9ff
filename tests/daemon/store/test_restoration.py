"""What the record of a restore says, and what it charges."""

from dataclasses import replace
from fractions import Fraction

import pytest

from littled.budget.price import Price
from littled.store.mark import Numbers
from littled.store.records import Record
from littled.store.restoration import RESTORER, Restoration, closing_position
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import check_producer

HALF = Fraction(1, 2)
CAPS = Price(Fraction(1), HALF, Fraction(1, 10**6))
SPENT = Price(HALF, Fraction(0), Fraction(1, 10**7))
SAID = Restoration(
    instance="ab" * 16,
    season=1,
    spent=SPENT,
    position=1500,
    records=3,
    entries=2,
    predictions=1,
    versions={"s/late": 7},
    numbers=Numbers({"p": 40, "q": 0}, 3),
)


def record(x: bytes) -> Record:
    return Record("s", 4, 2000, RESTORER, 0, 0, x, b"", bytes(32))


def test_it_reads_as_it_was_written() -> None:
    assert Restoration.from_record(record(SAID.to_bytes())) == SAID
    assert record(b"").restores


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"[]",
        b"{}",
        SAID.to_bytes()[:-1],
        SAID.to_bytes() + b" ",
        SAID.to_bytes().replace(b'"format":1', b'"format":2'),
        SAID.to_bytes().replace(b'"records":3,', b""),
        SAID.to_bytes().replace(b'"epsilon_pure":"1/2"', b'"epsilon_pure":"2/4"'),
        SAID.to_bytes().replace(b'["p",40]', b'["p",-4]'),
        SAID.to_bytes().replace(b'["p",40]', b'["p",4.5]'),
    ],
)
def test_anything_else_is_no_restore(wrong: bytes) -> None:
    assert wrong != SAID.to_bytes()
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
        Restoration.from_record(record(wrong))


def test_no_producer_has_its_name() -> None:
    with pytest.raises(ProtocolError):
        check_producer(RESTORER, "producer")


def test_a_season_counts_what_the_mark_says_if_it_stood_in_it() -> None:
    assert SAID.counted(1, CAPS, horizon=1000) == SPENT
    assert SAID.charge(1, Price.zero(), CAPS, 1000) == SPENT
    part = Price(Fraction(1, 8), Fraction(0), Fraction(0))
    assert SAID.charge(1, part, CAPS, 1000) + part == SPENT
    assert SAID.charge(1, SPENT, CAPS, 1000) == Price.zero()
    more = SPENT + Price(Fraction(1, 4), Fraction(0), Fraction(0))
    assert SAID.charge(1, more, CAPS, 1000) == Price.zero(), "the copy had something to learn yet"


def test_what_is_lost_of_gdp_is_charged_as_gdp() -> None:
    zero, spent = Fraction(0), replace(SPENT, gaussian=HALF)
    said = replace(SAID, spent=spent)
    assert Restoration.from_record(record(said.to_bytes())) == said
    assert said.charge(1, replace(SPENT, gaussian=HALF / 4), CAPS, 1000) == Price(
        zero, zero, zero, HALF * 3 / 4
    )
    assert b"gaussian" not in SAID.to_bytes(), "as it was written before there was GDP"


@pytest.mark.parametrize(
    ("said", "season"),
    [
        (SAID, 0),  # the mark stood in a later season
        (SAID, 2),  # or in an earlier one, of another history
        (replace(SAID, position=2000), 1),  # a restore had opened another one, not yet served
        (replace(SAID, position=900), 1),
    ],
)
def test_else_it_counts_all_that_it_may_spend(said: Restoration, season: int) -> None:
    assert said.counted(season, CAPS, horizon=1000) == CAPS
    assert said.charge(season, SPENT, CAPS, 1000) + SPENT == CAPS


def test_a_season_is_closed_inside_itself() -> None:
    assert closing_position(1500, 1, 1000) == 1500
    assert closing_position(1000, 1, 1000) == 1000
    assert closing_position(2000, 1, 1000) == 1999
