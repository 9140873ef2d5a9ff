"""Questions: what they are cut into, their names, and what becomes of the answers; no sockets."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_client.errors import ClientError, ExampleError, PredictionRefused
from littled_client.predictions import _OVERHEAD_BYTES_MAX, Predictions, Questions
from littled_protocol import limits
from littled_protocol.codec import encode_frame
from littled_protocol.columns import point_type
from littled_protocol.errors import ErrorCode, ProtocolError
from littled_protocol.messages import Predict, Prediction
from littled_protocol.messages import PredictionRefused as Refusal

NAME = bytes(range(16))
MOST = limits.frame_bytes_max
U8 = point_type("u8")


def cut(
    x: Any, x_type: str = "u8", request: bytes | None = NAME, frame_bytes_max: int = MOST
) -> list[Predict]:
    return list(Questions("s/l", request).cut(point_type(x_type), x, frame_bytes_max))


def answered(
    message: Predict, left: int = 5, repeated: bool = False, window: int = 2
) -> Prediction:
    labels = bytes(byte & 1 for byte in message.x)
    return Prediction(message.request, "s/l", labels, window, left, repeated)


def refusal(message: Predict) -> Refusal:
    return Refusal(message.request, "s/l", "window_spent", "Spent.", message.count, 9, 1, 2, 77)


def test_one_request_bears_the_name_of_the_call() -> None:
    assert cut([1, 2, 3]) == [Predict(NAME, "s/l", 3, b"\x01\x02\x03")]
    assert cut([9] * 1000)[0].request == NAME
    assert Questions("stream/learner", None).stream == "stream"


def test_calls_without_a_name_get_one_that_nobody_has() -> None:
    names = {cut([1], request=None)[0].request for _ in range(100)}
    assert len(names) == 100
    assert {len(name) for name in names} == {limits.request_bytes}


@given(st.integers(1, 5000))
def test_many_points_are_cut_into_requests_of_the_most_points(count: int) -> None:
    x = np.arange(count).astype(np.uint8)
    found = cut(x)
    assert b"".join(bytes(each.x) for each in found) == x.tobytes()
    assert [each.count for each in found[:-1]] == [limits.predict_points_max] * (len(found) - 1)
    assert 1 <= found[-1].count <= limits.predict_points_max
    assert len({each.request for each in found}) == len(found)
    assert (found[0].request == NAME) == (len(found) == 1)


@pytest.mark.parametrize("x_type", ["u8", "u16", "u32", "u64", "u128", "u16x2", "u16x1024"])
@pytest.mark.parametrize("frame_bytes_max", [limits.frame_bytes_max_min, 65536, MOST])
def test_every_request_fits_into_a_frame(x_type: str, frame_bytes_max: int) -> None:
    kind = point_type(x_type)
    shape = (1500,) if kind.columns == 1 else (1500, kind.columns)
    x = np.zeros(shape, dtype=kind.dtype)
    name = "n" * limits.name_characters_max
    found = list(Questions(f"{name}/{name}", NAME).cut(kind, x, frame_bytes_max))
    assert sum(each.count for each in found) == 1500
    assert max(len(encode_frame(each)) for each in found) <= frame_bytes_max
    least = min(limits.predict_points_max, frame_bytes_max // (2 * kind.itemsize_bytes))
    assert found[0].count >= least


def test_the_overhead_is_what_the_longest_frame_has_beside_its_points() -> None:
    name = "n" * limits.name_characters_max
    longest = encode_frame(Predict(NAME, f"{name}/{name}", 1000, bytes(100_000)))
    assert len(longest) - 100_000 <= 208 <= _OVERHEAD_BYTES_MAX


def test_the_same_call_is_cut_into_the_same_requests() -> None:
    x = list(range(250)) * 10
    assert cut(x) == cut(np.array(x, dtype=np.uint8))
    assert not {m.request for m in cut(x)} & {m.request for m in cut(x, request=bytes(16))}


def test_a_name_never_stands_for_other_points_however_a_call_is_cut() -> None:
    x = np.arange(3000).astype(np.uint64)
    meanings: dict[bytes, bytes | list[Any]] = {}
    for frame_bytes_max in (4096, 5000, 6000, 8192, 20_000, MOST):
        for message in cut(x, "u64", frame_bytes_max=frame_bytes_max):
            assert meanings.setdefault(message.request, message.x) == message.x
    assert len(meanings) > 15


def test_addresses_and_rows_are_points_too() -> None:
    (found,) = cut(["10.0.0.1", 5], "u128")
    assert found.x == bytes.fromhex("00000000000000000000ffff0a000001") + bytes(15) + b"\x05"
    (found,) = cut([[1, 2], [3, 600]], "u16x2")
    assert found.x == bytes.fromhex("0100020003005802")


@pytest.mark.parametrize("x", [[], [256], [-1], ["a"], 5, [[1, 2]], [0.5]])
def test_points_that_do_not_fit_give_no_request(x: Any) -> None:
    with pytest.raises(ExampleError):
        Questions("s/l", None).cut(U8, x, MOST)


@pytest.mark.parametrize(
    ("learner", "request_name"),
    [("s", None), ("s/l/m", None), ("/l", None), ("s/l", b"short"), ("s/l", "x" * 16), (5, None)],
)
def test_ill_formed_names_are_refused_at_once(learner: Any, request_name: Any) -> None:
    with pytest.raises(ProtocolError) as caught:
        Questions(learner, request_name)
    assert caught.value.code is ErrorCode.MALFORMED_FRAME


def test_answers_come_together_in_order() -> None:
    questions = Questions("s/l", NAME)
    left = 3000
    for message in questions.cut(U8, np.arange(2500).astype(np.uint8), MOST):
        left -= message.count
        questions.take(answered(message, left))
    result = questions.result()
    assert result.labels.dtype == np.uint8
    assert result.labels.tolist() == [i % 256 % 2 for i in range(2500)]
    assert (result.window, result.left, result.repeated) == (2, 500, False)


@pytest.mark.parametrize("repeated", [[True, True, True], [True, True, False], [False] * 3])
def test_a_call_is_repeated_when_all_of_it_is(repeated: list[bool]) -> None:
    questions = Questions("s/l", NAME)
    for message, again in zip(questions.cut(U8, [1] * 2001, MOST), repeated, strict=True):
        questions.take(answered(message, repeated=again))
    assert questions.result().repeated == all(repeated)


def test_the_window_is_that_of_the_last_answer() -> None:
    questions = Questions("s/l", NAME)
    first, second = questions.cut(U8, [1] * 1001, MOST)
    questions.take(answered(first, 0, window=2))
    questions.take(answered(second, 99, window=3))
    found = questions.result()
    assert isinstance(found, Predictions)
    assert (found.window, found.left) == (3, 99)


def test_a_refusal_comes_with_what_was_answered_before() -> None:
    questions = Questions("s/l", NAME)
    first, second = questions.cut(U8, [1] * 1001, MOST)
    questions.take(answered(first))
    with pytest.raises(PredictionRefused, match=r"^window_spent: Spent\.$") as caught:
        questions.take(refusal(second))
    refused = caught.value
    assert isinstance(refused, ClientError)
    assert refused.labels.tolist() == [1] * 1000
    assert (refused.learner, refused.code, refused.message) == ("s/l", "window_spent", "Spent.")
    assert (refused.asked, refused.spent, refused.left) == (1, 9, 1)
    assert (refused.window, refused.next_window) == (2, 77)


def test_a_refusal_survives_a_process_boundary() -> None:
    (message,) = cut([1])
    refused = PredictionRefused(refusal(message), np.array([1, 0], dtype=np.uint8))
    copy = pickle.loads(pickle.dumps(refused))  # noqa: S301
    assert (str(copy), copy.next_window, copy.labels.tolist()) == (str(refused), 77, [1, 0])
