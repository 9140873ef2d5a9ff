"""Questions as JSON: every point that can be fed can be asked about, nothing else can."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled.limits import HTTP_QUESTION_BYTES_MAX
from littled.service.questions import (
    STATUSES,
    QuestionError,
    question_bytes_max,
    response_to,
)
from littled_protocol import limits
from littled_protocol.columns import point_type
from littled_protocol.encodings import Reading
from littled_protocol.errors import REFUSAL_SENTENCES, RefusalCode
from littled_protocol.messages import Prediction, PredictionRefused
from littled_protocol.rules import Words
from support.asking import read_question
from support.tables import AMOUNT

TYPES = {"flights": "u8", "blocks": "u32", "ids": "u128", "rows": "u16x2"}
WORDS = {
    "flights/late": Words("departure delay", "min", -30, "late", "not late"),
    "rows/x": Words(offset=5),
    "ids/x": Words(offset=5),  # which points of 128 bits do not have
    "blocks/bad": Words(),
}
NAME = "000102030405060708090a0b0c0d0e0f"


def body(**values: Any) -> bytes:
    return json.dumps(values).encode()


def refused(data: bytes) -> tuple[int, str]:
    with pytest.raises(QuestionError) as raised:
        read_question(data, TYPES, WORDS)
    return raised.value.status, raised.value.sentence


@pytest.mark.parametrize(
    ("learner", "x", "points"),
    [
        ("flights/late", [0, 255, "7"], [0, 255, 7]),
        ("blocks/bad", ["10.0.0.1", 2**32 - 1], [0x0A000001, 2**32 - 1]),
        ("ids/x", ["::1", 1 << 64], [[0, 1], [1, 0]]),
        ("rows/x", [[1, 2], [3, "4"]], [[1, 2], [3, 4]]),
    ],
)
def test_points_are_read_as_they_are_fed(learner: str, x: list[Any], points: list[Any]) -> None:
    found = read_question(body(learner=learner, x=x, request=NAME), TYPES, WORDS)
    assert (found.learner, found.count, found.request.hex()) == (learner, len(x), NAME)
    kind = point_type(TYPES[learner.partition("/")[0]])
    assert isinstance(found.x, bytes)
    assert kind.decode(found.x, found.count).tolist() == points


@pytest.mark.parametrize(
    ("learner", "values", "points"),
    [
        ("flights/late", [-30, 225, "7"], [0, 255, 37]),
        ("blocks/bad", ["10.0.0.1", 2**32 - 1], [0x0A000001, 2**32 - 1]),
        ("ids/x", ["::1", 1 << 64], [[0, 1], [1, 0]]),
        ("rows/x", [[5, 6], [7, "8"]], [[0, 1], [2, 3]]),
        ("flights/unknown", [7], [7]),
    ],
)
def test_values_are_asked_about_in_the_units_of_the_stream(
    learner: str, values: list[Any], points: list[Any]
) -> None:
    found = read_question(body(learner=learner, values=values), TYPES, WORDS)
    kind = point_type(TYPES[learner.partition("/")[0]])
    assert isinstance(found.x, bytes)
    assert kind.decode(found.x, found.count).tolist() == points


@given(x=st.lists(st.integers(0, 255), min_size=1, max_size=limits.predict_points_max))
def test_any_points_of_a_stream_can_be_asked_about(x: list[int]) -> None:
    found = read_question(body(learner="flights/late", x=x), TYPES, WORDS)
    assert found.x == np.array(x, dtype=np.uint8).tobytes()


def test_a_request_without_a_name_gets_one_of_its_own() -> None:
    asked = body(learner="flights/l", x=[1])
    assert len({read_question(asked, TYPES, WORDS).request for _ in range(9)}) == 9


@pytest.mark.parametrize(
    ("data", "status", "sentence"),
    [
        (b"", 400, "the body is not JSON (line 1)"),
        (b"[1]", 400, "the body must be a JSON object"),
        (b"\xff", 400, "the body is not JSON that can be read"),
        (b"[" * 100_000, 400, "the body is nested too deep"),
        (b'{"x": ' + b"9" * 5_000 + b"}", 400, "the body is not JSON that can be read"),
        (b'{"learner": "flights/l", "x": [1], "x": [2]}', 400, "the body has an object in which a"),
        (b'{"learner": "a/b", "learner": "flights/l", "x": [1]}', 400, "the body has an object in"),
        (
            body(learner="flights/l", x=[1], y=[1]),
            400,
            "the keys of a question are learner, request, values, x",
        ),
        (body(x=[1]), 400, "learner needs the form STREAM/LEARNER"),
        (body(learner=5, x=[1]), 400, "learner needs the form STREAM/LEARNER"),
        (body(learner="flights", x=[1]), 400, "learner needs the form STREAM/LEARNER"),
        (body(learner="trains/l", x=[1]), 404, "the daemon has no stream of this name"),
        (body(learner="flights/l"), 400, "values must be a list of 1 to 1000 values"),
        (body(learner="flights/l", values=[]), 400, "values must be a list of 1 to 1000 values"),
        (body(learner="flights/l", values=[1], x=[1]), 400, "give values, or points as x, but not"),
        (body(learner="flights/late", values=[225, 226]), 400, "values[1] less the offset -30 is"),
        (body(learner="flights/late", values=[True]), 400, "values[0] does not hold an integer"),
        (body(learner="flights/l", x=[]), 400, "x must be a list of 1 to 1000 points"),
        (body(learner="flights/l", x="7"), 400, "x must be a list of 1 to 1000 points"),
        (body(learner="flights/l", x=[1] * 1001), 400, "x must be a list of 1 to 1000 points"),
        (body(learner="flights/l", x=[1, 31337]), 400, "x[1] is outside 0 to 255"),
        (body(learner="flights/l", x=["31337z"]), 400, "x[0] does not hold an integer"),
        (body(learner="flights/l", x=[None]), 400, "x[0] is empty"),
        (body(learner="flights/l", x=[{}]), 400, "x[0] does not hold an integer"),
        (body(learner="flights/l", x=[[1]]), 400, "x[0] does not hold an integer"),
        (body(learner="flights/l", x=[float("nan")]), 400, "the body has NaN or Infinity, which"),
        (body(learner="flights/l", x=["nan"]), 400, "x[0] is NaN, not a number"),
        (
            body(learner="flights/l", x=[1, True]),
            400,
            "x[1] does not hold an integer (digits 0 to 9",
        ),
        (
            body(learner="flights/l", x=[1, 1.0]),
            400,
            "x[1] does not hold an integer (digits 0 to 9",
        ),
        (
            body(learner="flights/l", x=[1e1]),
            400,
            "x[0] does not hold an integer (digits 0 to 9",
        ),
        (
            body(learner="flights/l", x=["1_0"]),
            400,
            "x[0] does not hold an integer (digits 0 to 9",
        ),
        (
            body(learner="blocks/l", x=["\u0661"]),
            400,
            "x[0] does not hold an integer (digits 0 to 9",
        ),
        (body(learner="ids/l", x=[1, True]), 400, "x[1] does not hold an address, a UUID or an in"),
        (body(learner="ids/l", x=["1_0"]), 400, "x[0] does not hold an address, a UUID or an inte"),
        (
            body(learner="rows/l", x=[[1, 2], [3, True]]),
            400,
            "x[1] does not hold an integer (digits 0 to 9",
        ),
        (body(learner="rows/l", x=[[1, 2], [3]]), 400, "x[1] holds no row of 2 features"),
        (body(learner="flights/l", x=[1], request="12"), 400, "request must be a text of 32 hex"),
        (body(learner="flights/l", x=[1], request="0f " * 16), 400, "request must be a text of 32"),
        (body(learner="flights/l", x=[1], request=12), 400, "request must be a text of 32 hex"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_sentence(
    data: bytes, status: int, sentence: str
) -> None:
    found = refused(data)
    assert found[0] == status
    assert found[1].startswith(sentence)
    assert "\n" not in found[1]
    assert "31337" not in found[1]


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-32-be"])
def test_a_question_is_utf_8(coding: str) -> None:
    data = json.dumps({"learner": "flights/l", "x": [1]})
    assert read_question(data.encode(), TYPES, WORDS).count == 1
    status, sentence = refused(data.encode(coding))
    assert status == 400
    assert sentence.startswith("the body is not JSON")


@pytest.mark.parametrize("text", ["0x1", "+1", " 1", "1 ", "1\n", "\u00a01", "\u20021", "0X1"])
def test_texts_of_points_are_their_digits_alone(text: str) -> None:
    """Also where a column of a file may have more; each would be a second way to ask the same."""
    for learner, x in (("flights/l", text), ("blocks/l", text), ("ids/l", text)):
        for key in ("x", "values"):
            status, sentence = refused(body(learner=learner, **{key: [1, x]}))
            assert status == 400
            assert sentence.startswith(f"{key}[1] ")
    assert refused(body(learner="rows/l", x=[[1, 2], [3, text]]))[1].startswith("x[1] ")
    for address in (" 10.0.0.1", "10.0.0.1\n", "::1 "):
        assert refused(body(learner="ids/l", x=[address]))[1].startswith("x[0] ")


def test_texts_of_points_that_can_be_asked_about() -> None:
    uuid = "123e4567-E89B-12d3-a456-426614174000"
    for learner, x in (
        ("flights/l", ["0", "007", "255"]),
        ("blocks/l", ["10.0.0.1", "7"]),
        ("ids/l", ["10.0.0.1", "::", "::ffff:10.0.0.1", uuid, "0", "340282366920938463463"]),
    ):
        assert read_question(body(learner=learner, x=x), TYPES, WORDS).count == len(x)
    assert read_question(body(learner="flights/late", values=["-30"]), TYPES, WORDS).x == b"\0"
    strings = {"texts": "bytes4"}
    asked = body(learner="texts/l", x=[" +x", "0x00000001"])
    assert read_question(asked, strings, WORDS).x == b" +x\0\0\0\0\1"


def test_answers_are_told() -> None:
    answer = Prediction(bytes(16), "flights/late", b"\0\1\1", 3, 9, True)
    assert response_to(answer) == (
        200,
        {
            "learner": "flights/late",
            "request": "0" * 32,
            "y": [0, 1, 1],
            "window": 3,
            "left": 9,
            "repeated": True,
        },
    )


@pytest.mark.parametrize("code", RefusalCode)
def test_refusals_are_told_with_their_facts(code: RefusalCode) -> None:
    answer = PredictionRefused(
        bytes(16), "flights/late", code, REFUSAL_SENTENCES[code], 5, 7, 2, 3, 99
    )
    status, value = response_to(answer)
    assert status == STATUSES[code]
    assert value == {
        "learner": "flights/late",
        "request": "0" * 32,
        "error": REFUSAL_SENTENCES[code],
        "code": code.value,
        "asked": 5,
        "spent": 7,
        "left": 2,
        "window": 3,
        "next_window": 99,
    }


def test_a_refusal_of_a_later_version_is_told_too() -> None:
    later = PredictionRefused(bytes(16), "flights/late", "too_late", "It is late.", 1, 0, 0)
    assert response_to(later)[0] == 409


@pytest.mark.parametrize(
    ("x_type", "point"),
    [
        ("u8", 255),
        ("u32", "255.255.255.255"),
        ("u64", 2**64 - 1),
        ("u128", 2**128 - 1),
        ("u128", "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"),
        ("u16x3", [65535] * 3),
        ("u16x17", ["65535"] * 17),
        ("bytes8", "0x" + "ff" * 8),
        ("bytes8", '"' * 8),
        ("bytes100", "é" * 50),
    ],
)
def test_the_longest_question_is_short_enough(x_type: str, point: Any) -> None:
    """Of as many points as there may be, however JSON is laid out."""
    most = question_bytes_max([x_type, "u8"], [Words()])
    name = "n" * limits.name_characters_max
    asked = {"learner": f"{name}/{name}", "x": [point] * limits.predict_points_max, "request": NAME}
    for indent in (None, 2):
        data = json.dumps(asked, indent=indent).encode()
        assert len(data) <= most
        assert read_question(data, {name: x_type}, {}).count == limits.predict_points_max
    assert len(data) > most / 8
    assert most < HTTP_QUESTION_BYTES_MAX


def test_questions_about_long_points_are_as_long_as_any() -> None:
    assert question_bytes_max(["u8", "bytes4096"], []) == HTTP_QUESTION_BYTES_MAX
    reading = Reading((AMOUNT,), "value")
    assert question_bytes_max(["u8"], [Words(reading=reading)]) == HTTP_QUESTION_BYTES_MAX
