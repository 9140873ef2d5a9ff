"""Questions over HTTP: from JSON to a request for predictions, and from its answer to JSON.

    {"learner": "STREAM/LEARNER", "values": [VALUE, ...], "request": "32 hexadecimal digits"}

`values` holds 1 to `predict_points_max` values in the stream's own units: integers, written without
a fraction, texts of their digits, texts of addresses, or a list of features each. `true`, 1.0,
"1_0", "+1", "0x1", " 1" and digits of other scripts are none. `x`, in the place of `values`, holds
points: values less the stream's offset. `request` may be left out; who gives it can ask again
without paying twice. Answers:

    {"learner": ..., "request": ..., "y": [0, 1, ...], "window": 3, "left": 9, "repeated": false}

What was refused has "error", one sentence, and the refusal's facts if the learner had any. Values
are never quoted.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from littled.limits import (
    HTTP_QUESTION_BYTES_MAX,
    HTTP_QUESTION_CHARACTER_BYTES,
    HTTP_QUESTION_FEATURE_BYTES,
    HTTP_QUESTION_NUMBER_BYTES,
    HTTP_QUESTION_OTHER_BYTES,
)
from littled.service.http_errors import HttpError
from littled.service.json_bodies import NotJson, read_json
from littled_client.conversions import BadRow, Converter, Fields
from littled_client.encoder import points_of
from littled_client.errors import ExampleError
from littled_protocol import limits
from littled_protocol.columns import point_type
from littled_protocol.described import keys_of
from littled_protocol.encodings import Reading
from littled_protocol.errors import ProtocolError, RefusalCode
from littled_protocol.facts import (
    PointsQuestion,
    PredictionFacts,
    RefusalFacts,
    ValuesQuestion,
)
from littled_protocol.messages import Predict, Prediction, PredictionRefused, check_learner
from littled_protocol.rules import Words

BAD_REQUEST, FORBIDDEN, NOT_FOUND, CONFLICT = 400, 403, 404, 409
MISDIRECTED, TOO_MANY = 421, 429
STATUSES: Mapping[str, int] = {
    RefusalCode.WINDOW_SPENT: TOO_MANY,
    RefusalCode.NO_WINDOW: CONFLICT,
    RefusalCode.UNKNOWN_LEARNER: NOT_FOUND,
    RefusalCode.NO_PREDICTIONS: CONFLICT,
    RefusalCode.INVALID_POINTS: BAD_REQUEST,
    RefusalCode.REQUEST_REUSED: CONFLICT,
    RefusalCode.STREAM_CLOSED: CONFLICT,
    RefusalCode.STREAM_ELSEWHERE: MISDIRECTED,
}
# Digits, an address or a UUID; files may have a sign +, hexadecimal digits after 0x and blanks too.
_TEXT = re.compile(r"[0-9A-Fa-f:.-]+")
_KEYS = tuple(dict.fromkeys((*keys_of(ValuesQuestion), *keys_of(PointsQuestion))))


class QuestionError(HttpError):
    """A body that asks nothing that can be answered."""


def question_bytes_max(x_types: Iterable[str], words: Iterable[Words]) -> int:
    """How long the JSON of a question may be about streams of these types, in these words."""
    if any(one.reading is not None for one in words):  # of texts of any length
        return HTTP_QUESTION_BYTES_MAX
    longest = max(map(_json_bytes, set(x_types)), default=0)
    needed = HTTP_QUESTION_OTHER_BYTES + limits.predict_points_max * longest
    return min(needed, HTTP_QUESTION_BYTES_MAX)


def _json_bytes(x_type: str) -> int:
    """How long the longest point of a type is in JSON."""
    kind = point_type(x_type)
    if kind.is_string:
        return HTTP_QUESTION_NUMBER_BYTES + HTTP_QUESTION_CHARACTER_BYTES * kind.itemsize_bytes
    is_row = kind.columns > 1 and kind.name != "u128"
    return HTTP_QUESTION_NUMBER_BYTES + is_row * kind.columns * HTTP_QUESTION_FEATURE_BYTES


def asked_in(body: bytes) -> Mapping[str, Any]:
    """The JSON object in a body, with no key but those of a question; raises QuestionError."""
    try:
        asked = read_json(body)
    except NotJson as error:
        raise QuestionError(BAD_REQUEST, str(error)) from None
    if not isinstance(asked, dict):
        raise QuestionError(BAD_REQUEST, "the body must be a JSON object")
    if not set(asked) <= set(_KEYS):
        raise QuestionError(BAD_REQUEST, f"the keys of a question are {', '.join(_KEYS)}")
    return asked


def learner_asked(
    asked: Mapping[str, Any],
    x_types: Mapping[str, str],
    may: Callable[[str], bool] = lambda _: True,
    check_here: Callable[[str], None] = lambda _: None,
) -> tuple[str, str]:
    """The full name of the learner that is asked, and the type of its stream's points.

    x_types: of every stream. may: whether questions about a stream, known or not, are allowed.
    check_here: raises HttpError for a stream that is not known because another daemon serves it.
    Raises QuestionError, and that.
    """
    learner = asked.get("learner")
    try:
        check_learner(learner, "learner")
    except ProtocolError:
        raise QuestionError(BAD_REQUEST, "learner needs the form STREAM/LEARNER") from None
    assert isinstance(learner, str)
    stream = learner.partition("/")[0]
    if not may(stream):
        raise QuestionError(FORBIDDEN, "what you have shown does not allow this")
    x_type = x_types.get(stream)
    if x_type is None:
        check_here(stream)
        raise QuestionError(NOT_FOUND, "the daemon has no stream of this name")
    return learner, x_type


def question_of(asked: Mapping[str, Any], learner: str, x_type: str, known: Words) -> Predict:
    """The request, to a learner with such points and words; raises QuestionError."""
    if "values" in asked and "x" in asked:
        raise QuestionError(BAD_REQUEST, "give values, or points as x, but not both")
    if "x" in asked:
        x, count = _column(asked["x"], "x", 0, known.x_type_of(x_type))
    elif known.reading is not None:
        x, count = _rows(asked.get("values"), known.reading)
    else:
        x, count = _column(asked.get("values"), "values", known.offset_of(x_type), x_type)
    return Predict(_name(asked.get("request")), learner, count, x)


def response_to(
    answer: Prediction | PredictionRefused,
) -> tuple[int, PredictionFacts | RefusalFacts]:
    """The HTTP status and the body of an answer."""
    if isinstance(answer, Prediction):
        answered: PredictionFacts = {
            "learner": answer.learner,
            "request": answer.request.hex(),
            "y": list(answer.y),
            "window": answer.window,
            "left": answer.left,
            "repeated": answer.repeated,
        }
        return 200, answered
    refused: RefusalFacts = {
        "learner": answer.learner,
        "request": answer.request.hex(),
        "error": answer.message,
        "code": answer.code,
        "asked": answer.asked,
        "spent": answer.spent,
        "left": answer.left,
        "window": answer.window,
        "next_window": answer.next_window,
    }
    return STATUSES.get(answer.code, CONFLICT), refused


def _rows(rows: Any, reading: Reading) -> tuple[bytes, int]:
    """The points of rows, which are objects with a reading's columns, and their number."""
    most = limits.predict_points_max
    if not isinstance(rows, list) or not 1 <= len(rows) <= most:
        raise QuestionError(BAD_REQUEST, f"values must be a list of 1 to {most} objects")
    try:
        x = points_of(rows, reading)
    except ExampleError as error:
        raise QuestionError(BAD_REQUEST, str(error)) from None
    return point_type(reading.x_type).encode(x), len(rows)


def _column(values: Any, key: str, offset: int, x_type: str) -> tuple[bytes, int]:
    """The points of values as a column, and their number; `key` is the values' own."""
    most = limits.predict_points_max
    if not isinstance(values, list) or not 1 <= len(values) <= most:
        what = "points" if key == "x" else "values"
        raise QuestionError(BAD_REQUEST, f"{key} must be a list of 1 to {most} {what}")
    converter = Converter(x_type, Fields("x", "y", offset=offset), exact=True)
    try:
        x = converter.points([values])
    except BadRow as bad:
        reason = bad.reason.removeprefix("column 'x' ").partition(";")[0]
        raise QuestionError(BAD_REQUEST, f"{key}[{bad.index}] {reason}") from None
    if not converter.point_type.is_string:
        _check_texts(values, key)
    return converter.point_type.encode(x), len(values)


def _check_texts(values: list[Any], key: str) -> None:
    """Refuse texts that a column of a file may hold for a point, and a question may not."""
    for index, value in enumerate(values):
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and not _TEXT.fullmatch(text):
                raise QuestionError(
                    BAD_REQUEST,
                    f"{key}[{index}] has more than its digits, or than an address, in its text",
                )


def _name(request: Any) -> bytes:
    """The name of the request, random if none is given."""
    if request is None:
        return secrets.token_bytes(limits.request_bytes)
    digits = 2 * limits.request_bytes
    if not isinstance(request, str) or not re.fullmatch(f"[0-9A-Fa-f]{{{digits}}}", request):
        raise QuestionError(BAD_REQUEST, f"request must be a text of {digits} hexadecimal digits")
    return bytes.fromhex(request)
