"""Explanations as people and programs read them."""

import numpy as np

from littled_protocol.encodings import Reading, column_from_dict
from littled_protocol.rules import ScorecardRule, Words

CARD = ScorecardRule(-10, ((0, 5, 5, 30), (-4, 8)))
INCOME = {"kind": "number", "name": "income", "from": 0, "to": 400, "steps": 4, "unit": "EUR"}
GRADE = {"kind": "category", "name": "grade", "values": ["A", "B"], "other": "refuse"}
READING = Reading((column_from_dict(INCOME), column_from_dict(GRADE)), "row")
WORDS = Words(positive="yes", negative="no", reading=READING)


def test_each_column_is_said_with_its_points_and_then_the_sum() -> None:
    first, second = CARD.explain(np.array([[9, 0], [0, 1]]), WORDS)
    assert str(first).splitlines() == [
        "yes",
        "  +30  income >= 300 EUR",
        "   -4  grade is A",
        "  -10  constant",
        "  +16  in all, which is above 0",
    ]
    assert str(second).splitlines() == [
        "no",
        "   +8  grade is B",
        "   +0  income < 100 EUR",
        "  -10  constant",
        "   -2  in all, which is not above 0",
    ]


def test_programs_read_the_same() -> None:
    (found,) = CARD.explain(np.array([[0, 1]]), WORDS)
    assert found.to_dict() == {
        "label": 0,
        "word": "no",
        "total": -2,
        "constant": -10,
        "columns": [
            {"column": "grade", "text": "grade is B", "points": 8},
            {"column": "income", "text": "income < 100 EUR", "points": 0},
        ],
    }


def test_columns_without_names_are_numbered() -> None:
    (found,) = CARD.explain(np.array([[2, 1]]))
    assert [share.text for share in found.shares] == ["feature 1 of x = 1", "feature 0 of x = 2"]
