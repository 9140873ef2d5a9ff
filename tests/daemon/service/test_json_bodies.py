"""JSON in bodies: what is a value, and what is refused in one sentence without quoting it."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from littled.limits import HTTP_JSON_ELEMENT_CHARACTERS_MAX, HTTP_JSON_PIECE_CHARACTERS
from littled.service import json_bodies
from littled.service.json_bodies import NotJson, read_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    # not half of a pair, which UTF-8 cannot write
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
)  # fmt: skip


@given(VALUES, st.booleans())
def test_every_value_is_read_as_it_was_written(value: Any, ascii_alone: bool) -> None:
    assert read_json(json.dumps(value, ensure_ascii=ascii_alone).encode("utf-8")) == value


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "is not JSON"),
        (b'{"a": 4711', "is not JSON"),
        (b"[4711]\0", "is not JSON"),
        (b"\xef\xbb\xbf[4711]", "is not JSON"),
        ("[4711]".encode("utf-16"), "is not JSON that can be read"),
        ("[4711]".encode("utf-16-be"), "is not JSON"),
        ("[4711]".encode("utf-32-le"), "is not JSON"),
        (b'["\xff4711"]', "is not JSON that can be read"),
        (b'{"a": 4711, "a": 4711}', "has an object in which a key comes twice"),
        (b'[{"a": {"b": 1, "c": 2, "\\u0062": 4711}}]', "has an object in which a key comes twice"),
        (b"[4711, NaN]", "has NaN or Infinity, which JSON has no numbers for"),
        (b"[4711, -Infinity]", "has NaN or Infinity, which JSON has no numbers for"),
        (b"[" * 100_000, "is nested too deep"),
        (b"4711" * 2000, "is not JSON that can be read"),
    ],
)
def test_what_is_no_value(text: bytes, sentence: str) -> None:
    for line, where in ((None, "the body"), (7, "line 7")):
        with pytest.raises(NotJson) as caught:
            read_json(text, line)
        at = " (line 1)" if line is None and sentence == "is not JSON" else ""
        assert str(caught.value) == f"{where} {sentence}{at}"


# --- In pieces ------------------------------------------------------------------------------------

PIECE, ELEMENT = 12, 4096


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the shortest bodies are read in pieces, and those are short."""
    monkeypatch.setattr(json_bodies, "HTTP_JSON_PIECE_CHARACTERS", PIECE)
    monkeypatch.setattr(json_bodies, "HTTP_JSON_ELEMENT_CHARACTERS_MAX", ELEMENT)


def outcome(text: bytes) -> Any:
    try:
        return read_json(text)
    except NotJson as error:
        return str(error)


def at_once(text: bytes) -> Any:
    """The same of a reader that has the whole body at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_bodies, "HTTP_JSON_PIECE_CHARACTERS", len(text))
        return outcome(text)


ROWS = st.lists(VALUES) | st.dictionaries(st.text(max_size=3), st.lists(VALUES)) | VALUES
BREAKS = st.sampled_from([*'[]{},:"\\ \n\t0-.eN', "NaN", '"a":1,"a":2', "[1],[", '",'])


@pytest.mark.usefixtures("pieces")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, st.sampled_from([None, 1]), st.lists(st.tuples(st.floats(0, 1), BREAKS), max_size=2))
def test_pieces_come_to_what_the_whole_is(
    value: Any, indent: int | None, breaks: list[tuple[float, str]]
) -> None:
    """Also of what is broken somewhere: the same value, or the same sentence."""
    text = json.dumps(value, indent=indent)
    for share, piece in breaks:
        place = round(share * len(text))
        text = text[:place] + piece + text[place:]
    assert outcome(text.encode()) == at_once(text.encode())


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"[]," * 9_000 + b"[]]",
        b"[" + b"{}," * 9_000 + b"{}]",
        b'{"x":[' + b"1," * 20_000 + b'1],"y":[' + b'"a,b",' * 9_000 + b"0]}",
        b"[" + b"[1],2," * 9_000 + b"3]",
        b"[" + b'["],[",{}],' * 9_000 + b"3]",
        b"[" + b"[[1,2],0], " * 9_000 + b"[]]",
    ],
)
def test_no_call_of_the_reader_is_given_much(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else has the interpreter while it reads."""
    given: list[int] = []

    class Watched(json.JSONDecoder):
        def raw_decode(self, text: str, idx: int = 0) -> tuple[Any, int]:
            value, end = super().raw_decode(text, idx)
            given.append(end - idx)
            return value, end

    monkeypatch.setattr(json_bodies, "_DECODER", Watched())
    assert read_json(body) == json.loads(body)
    assert max(given) <= HTTP_JSON_PIECE_CHARACTERS + 2
    assert sum(given) >= len(body) // 2


def test_what_is_too_long_for_a_piece_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    most = HTTP_JSON_ELEMENT_CHARACTERS_MAX
    rest = b"," + b"1," * most + b"1]"
    row = b"[" + b"1," * (most // 2 - 1) + b"1]"
    assert len(outcome(b"[" + row[:-3] + b"]" + rest)) == most + 2
    assert outcome(b"[" + row + rest) == (
        f"the body is not JSON (line 1), or has a value of more than {most} characters in a list "
        "or an object"
    )
    monkeypatch.setattr(json_bodies, "HTTP_JSON_KEYS_MAX", 2)
    monkeypatch.setattr(json_bodies, "HTTP_JSON_PIECE_CHARACTERS", PIECE)
    assert outcome(b'{"first":1,"second":2}') == {"first": 1, "second": 2}
    assert outcome(b'{"a":1,"b":2,"c":3}') == "the body has an object with more than 2 keys"


def test_a_body_has_so_many_lists_and_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_bodies, "HTTP_JSON_LISTS_MAX", 3)
    monkeypatch.setattr(json_bodies, "HTTP_JSON_PIECE_CHARACTERS", PIECE)
    assert outcome(b"[[  ],{ },[  ]]") == [[], {}, []]
    for many in (b"[[  ],{ },[[]]]", b'{"a":[[],1],"b":[{},[],{}]}', b"[[{},[],[],[]]  ]"):
        assert outcome(many) == "the body has more than 3 lists and objects"


@pytest.mark.usefixtures("pieces")
def test_keys_of_what_is_read_in_pieces_come_once() -> None:
    twice = "the body has an object in which a key comes twice"
    for body in (
        b'{"a":[1,2,3],"a":[4]}',
        b'{"a":1,"b":[], "\\u0061":2}',
        b'[1,1,1,1,1,1,{"a":1,"a":2}]',
    ):
        assert outcome(body) == twice


def test_lists_and_objects_are_counted_wherever_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in texts, where their brackets mean nothing."""
    monkeypatch.setattr(json_bodies, "HTTP_JSON_LISTS_MAX", 3)
    monkeypatch.setattr(json_bodies, "HTTP_JSON_PIECE_CHARACTERS", PIECE)
    texts = ["[[[[[[[[", '"[{', "\\", '\\"{{{{[', "", "]]["]
    for value in ([[texts[0]], {texts[1]: 1}, texts], {"[[[[": "{{{{", "[": texts}):
        assert outcome(json.dumps(value).encode()) == value
    for many in (
        b'{"a":{"b":[[],[]]}}',
        b'{"a":{},"b":{"c":{}},"d":{}}',
        b'{"a":["[",[],[],{},[]]}',
    ):
        assert outcome(many) == "the body has more than 3 lists and objects"
