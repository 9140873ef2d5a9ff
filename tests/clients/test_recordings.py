"""Recordings: written and read back whole, and every kind of damage found."""

import io
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from littled_client.errors import ExampleError, RecordingError
from littled_client.recordings import RecordingReader, RecordingWriter
from littled_client.users import hash_users
from littled_protocol import limits
from littled_protocol.codec import decode, encode_frame
from littled_protocol.columns import encode_users, point_type
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import Ack, Examples, Message, Opened, Welcome
from support.batches import pair, triple

WELCOME = Welcome(1, "test", "store", limits.credit_bytes, limits.frame_bytes_max)
OPENED = Opened(3, "flights", "u8", 10, 40)
EXAMPLES = [
    Examples(3, 10, 2, b"\x01\x02", b"\x00\x01"),
    Examples(3, 12, 1, b"\x03", b"\x01"),
    Examples(3, 13, 3, [4, 5, 6], [True, False, 1]),
]


def frames(*messages: Message) -> bytes:
    return b"".join(encode_frame(message) for message in messages)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.littled"


def batches(path: Path) -> list[tuple[list[int], list[int]]]:
    with RecordingReader(path) as recording:
        return [(x.tolist(), y.tolist()) for x, y in map(pair, recording.batches())]


def test_a_recording_is_the_very_frames(path: Path) -> None:
    with RecordingWriter(path, WELCOME, OPENED) as writer:
        for message in EXAMPLES:
            writer.write(message)
        assert writer.next_sequence == 16
    assert path.read_bytes() == frames(WELCOME, OPENED, *EXAMPLES)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_recording_of_a_later_version_is_one_of_the_first(path: Path) -> None:
    """What is recorded is the same in all versions, so readers of any version can read it."""
    with RecordingWriter(path, replace(WELCOME, version=2), OPENED):
        pass
    assert path.read_bytes() == frames(replace(WELCOME, version=1), OPENED)


def test_a_welcome_of_any_version_that_is_spoken_is_read(path: Path) -> None:
    path.write_bytes(frames(replace(WELCOME, version=2), OPENED, *EXAMPLES))
    assert batches(path) == [([1, 2], [0, 1]), ([3], [1]), ([4, 5, 6], [1, 0, 1])]


def test_what_was_written_is_read_back(path: Path) -> None:
    path.write_bytes(frames(WELCOME, OPENED, *EXAMPLES))
    with RecordingReader(path) as recording:
        assert (recording.stream, recording.x_type, recording.first_sequence) == (
            "flights",
            "u8",
            10,
        )
        assert recording.welcome == WELCOME
        found = []
        parts = []
        for message in recording.messages():
            found.append(message)
            parts.append(recording.progress)
        assert found == EXAMPLES
        assert parts == sorted(parts, key=lambda part: part or 0)
        assert parts[-1] == 1.0
    assert batches(path) == [([1, 2], [0, 1]), ([3], [1]), ([4, 5, 6], [1, 0, 1])]


@pytest.mark.parametrize("x_type", ["u8", "u64", "u128", "u16x3"])
def test_a_recording_can_be_made_without_a_daemon(path: Path, x_type: str) -> None:
    kind = point_type(x_type)
    shape = (200_000,) if kind.columns == 1 else (200_000, kind.columns)
    x = (np.arange(np.prod(shape)) % 251).reshape(shape).astype(kind.dtype)
    y = (np.arange(200_000) % 3 == 0).astype(np.uint8)
    with RecordingWriter.offline(path, "flights", x_type) as writer:
        writer.write_batch(x[:1], y[:1])
        writer.write_batch([], [])
        writer.write_batch(x[1:], y[1:])
    with RecordingReader(path) as recording:
        found = list(map(pair, recording.batches()))
        assert recording.first_sequence == 0
    assert np.array_equal(np.concatenate([x for x, _ in found]), x)
    assert np.array_equal(np.concatenate([y for _, y in found]), y)
    assert max(len(y) for _, y in found) <= limits.examples_per_frame_max


def test_writing_refuses_gaps_bad_examples_and_bad_names(path: Path) -> None:
    with RecordingWriter(path, WELCOME, OPENED) as writer:
        with pytest.raises(ValueError, match="number 10"):
            writer.write(Examples(3, 11, 1, b"\0", b"\0"))
        with pytest.raises(ExampleError):
            writer.write_batch([256], [0])
        writer.write(EXAMPLES[0])
    assert batches(path) == [([1, 2], [0, 1])]
    for stream, x_type in (("no/name", "u8"), ("flights", "u7")):
        with pytest.raises(ProtocolError):
            RecordingWriter.offline(path.with_suffix(".other"), stream, x_type)
    assert list(path.parent.iterdir()) == [path]


def test_a_recording_keeps_users_as_they_go_over_the_wire(path: Path) -> None:
    users = ["ann", 17, b"\xff"]
    with RecordingWriter.offline(path, "visits", "u8", names_users=True) as writer:
        writer.write_batch([1, 2, 3], [0, 1, 1], users)
        writer.write_batch([4], [0], hash_users(["ann"]))
        with pytest.raises(ExampleError, match="protects users"):
            writer.write_batch([1], [0])
    with RecordingReader(path) as recording:
        assert recording.names_users
        (first, second) = map(triple, recording.batches())
    assert [column.tolist() for column in first] == [
        *([1, 2, 3], [0, 1, 1]),
        hash_users(users).tolist(),
    ]
    assert second[2].tolist() == [first[2].tolist()[0]]
    assert encode_users(hash_users(users)) in path.read_bytes()
    with (
        RecordingWriter.offline(path.with_suffix(".plain"), "visits", "u8") as writer,
        pytest.raises(ExampleError, match="takes no users"),
    ):
        writer.write_batch([1], [0], ["ann"])


@pytest.mark.parametrize("named", [False, True])
def test_a_recording_names_users_throughout_or_never(path: Path, named: bool) -> None:
    users = None if named else bytes(32)
    opened = replace(OPENED, users=named)
    path.write_bytes(frames(WELCOME, opened, replace(EXAMPLES[0], users=users)))
    with pytest.raises(RecordingError, match="does not name users as its recording does"):
        batches(path)


def test_an_existing_file_is_never_overwritten(path: Path) -> None:
    path.write_text("precious")
    with pytest.raises(RecordingError, match="exists already"):
        RecordingWriter(path, WELCOME, OPENED)
    assert path.read_text() == "precious"
    with pytest.raises(RecordingError, match="cannot create"):
        RecordingWriter(path / "below", WELCOME, OPENED)


def test_a_missing_file_is_one_sentence(path: Path) -> None:
    with pytest.raises(RecordingError, match=r"cannot read .*No such file"):
        RecordingReader(path)


def test_every_cut_is_found_and_all_before_it_is_read(path: Path) -> None:
    whole = frames(WELCOME, OPENED, *EXAMPLES)
    ends = [len(frames(WELCOME, OPENED, *EXAMPLES[:n])) for n in range(len(EXAMPLES) + 1)]
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        if length in ends:
            assert len(batches(path)) == ends.index(length)
            continue
        before = sum(end <= length for end in ends) - 1
        found: list[Message] = []
        with (
            pytest.raises(RecordingError, match="is cut off"),
            RecordingReader(path) as recording,
        ):
            found.extend(recording.messages())
        assert found == EXAMPLES[: max(before, 0)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"x,y\n1,0\n", "longer than a frame"),
        (frames(WELCOME, WELCOME), "does not begin like a recording"),
        (frames(OPENED, WELCOME), "does not begin like a recording"),
        (frames(WELCOME, Opened(0, "s", "u7", 0, 0)), "unknown points"),
        (frames(Welcome(3, "test", "store", 4096, 4096), OPENED), "protocol version 3"),
        (frames(WELCOME, OPENED, Ack(3, 1, 1)), "frame 3 of .* holds no examples of this"),
        (frames(WELCOME, OPENED, Examples(4, 10, 1, b"a", b"\0")), "no examples of this"),
        (frames(WELCOME, OPENED, EXAMPLES[1]), "begins with example 12, but 10 is next"),
        (frames(WELCOME, OPENED, EXAMPLES[0], EXAMPLES[0]), "frame 4 .* 12 is next"),
        (frames(WELCOME, OPENED) + b"\0\0\0\1\xc0", "frame 3 .* is not a message"),
        (frames(WELCOME, OPENED, Examples(3, 10, 1, b"ab", b"\0")), "frame 3 .* type u8"),
        (frames(WELCOME, OPENED, Examples(3, 10, 1, b"a", b"\2")), "frame 3 .* type u8"),
        (
            frames(WELCOME, replace(OPENED, users=True), Examples(3, 10, 1, b"a", b"\1", b"short")),
            "frame 3 .* type u8",
        ),
    ],
)
def test_damage_is_found_and_placed(path: Path, content: bytes, words: str) -> None:
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=words):
        batches(path)


def test_every_flipped_byte_is_found_or_harmless(path: Path) -> None:
    whole = frames(WELCOME, OPENED, *EXAMPLES)
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        try:
            batches(path)
        except RecordingError as error:
            assert "\n" not in str(error)  # noqa: PT017 - either outcome is right


def test_a_recording_may_come_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.BytesIO(frames(WELCOME, OPENED, *EXAMPLES))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(content))
    with RecordingReader("-") as recording:
        assert recording.progress is None
        assert [message.count for message in recording.messages()] == [2, 1, 3]
    assert not content.closed
    assert isinstance(decode(frames(WELCOME)[4:]), Welcome)
