"""Lines of a text: as they come, counted, and known by a digest."""

from collections import deque
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from littled_client.blocks import Pause
from littled_client.errors import SourceError
from littled_client.lines import DIGEST_BYTES, Lines


class Script:
    """Blocks as a test says; None stands for a pause."""

    live = True
    ends_anywhere = False

    def __init__(self, *blocks: bytes | None) -> None:
        self.left = deque(blocks)

    def read(self, until: float | None) -> bytes:
        block = self.left.popleft() if self.left else b""
        if block is None:
            raise Pause
        return block

    def part(self, done_bytes: int) -> float | None:
        return None

    def close(self) -> None:
        pass


class Cut(Script):
    """A file that was put aside at any place."""

    ends_anywhere = True


def test_what_was_cut_off_in_a_line_is_no_line() -> None:
    assert list(Lines(Script(b"one\nt", b"w"), "log")) == ["one\n", "tw"]
    lines = Lines(Cut(b"one\nt", b"w"), "log")
    assert list(lines) == ["one\n"]
    lines.settle()
    assert (lines.bytes_done, lines.digest) == (4, digest_of(b"one\n"))


def digest_of(content: bytes) -> str:
    return blake2b(content, digest_size=DIGEST_BYTES).hexdigest()


@given(st.lists(st.text("ab\n", max_size=5)))
def test_lines_do_not_depend_on_blocks(parts: list[str]) -> None:
    text = "".join(parts)
    lines = Lines(Script(*(part.encode() for part in parts if part)), "it")
    assert list(lines) == text.splitlines(keepends=True)
    assert lines.number == len(text.splitlines())
    lines.settle()
    assert (lines.bytes_done, lines.digest) == (len(text), digest_of(text.encode()))


def test_a_pause_loses_nothing_of_a_row() -> None:
    lines = Lines(Script(b"one\ntw", None, b"o\n"), "it")
    assert next(lines) == "one\n"
    with pytest.raises(Pause):
        next(lines)
    lines.give_back(0)
    assert (lines.number, lines.taken) == (0, [])
    assert list(lines) == ["one\n", "two\n"]
    assert lines.number == 2


def test_only_what_was_used_is_in_the_digest() -> None:
    lines = Lines(Script(b"one\ntwo\nthree\n"), "it")
    next(lines)
    next(lines)
    assert lines.bytes_done == 0
    lines.settle()
    assert (lines.bytes_done, lines.digest) == (8, digest_of(b"one\ntwo\n"))


def test_a_text_that_does_not_begin_as_expected_is_refused() -> None:
    expected = [(4, digest_of(b"one\n")), (8, digest_of(b"one\ntwo\n"))]
    right = Lines(Script(b"one\ntwo\nthree\n"), "it", expected)
    assert len(list(right)) == 3
    right.settle()
    wrong = Lines(Script(b"one\nsix\nthree\n"), "it", expected)
    next(wrong)
    wrong.settle()
    next(wrong)
    with pytest.raises(SourceError, match=r"^it does not begin with what was fed"):
        wrong.settle()


def test_what_is_no_text_is_named_by_its_line() -> None:
    lines = Lines(Script(b"\xef\xbb\xbfone\n\xff\n"), "it")
    assert next(lines) == "one\n"
    with pytest.raises(SourceError, match=r"^line 2 of it is not UTF-8 text; save it as UTF-8$"):
        next(lines)
