"""A slice of what is fuzzed, inputs that once failed, and targets that do notice."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzing import frames, live, targets
from littled_protocol.codec import decode
from littled_protocol.connection import Connection
from littled_protocol.errors import ProtocolError

FAILED = sorted((Path(__file__).parent / "fuzzing/failing").glob("*.bin"))


def test_mutated_frames_end_in_a_value_or_a_code() -> None:
    assert frames.main("0", "8000") == 0


@pytest.mark.parametrize("make", [targets.server_connection, targets.client_connection])
def test_every_input_has_a_connection_as_if_it_were_made_anew(
    make: Callable[[], Connection],
) -> None:
    """What an input has done to one is not seen by the next."""
    used = targets.fresh(make)
    assert vars(used) == vars(make())
    targets.feed(used, b"\xff" + bytes(64))
    assert vars(used) != vars(make())
    assert vars(targets.fresh(make)) == vars(make())


def test_mutations_reach_messages_and_errors() -> None:
    """Half of them would show little: some payloads can be read, some cannot."""
    payloads = [data[1:] for data in frames.inputs(3) if data[0] == 2]
    read = 0
    for payload in payloads:
        try:
            decode(payload)
        except ProtocolError:
            continue
        read += 1
    assert 0.02 < read / len(payloads) < 0.9


@pytest.mark.parametrize("path", FAILED, ids=[path.stem for path in FAILED])
def test_inputs_that_once_failed(path: Path) -> None:
    targets.run(path.read_bytes())


@settings(max_examples=150)
@given(st.sampled_from(targets.starting_points()), st.binary(max_size=64), st.integers(0, 200))
def test_bytes_in_the_middle_of_anything(start: bytes, middle: bytes, place: int) -> None:
    targets.run(start[: place + 1] + middle + start[place + 1 :])


def test_a_daemon_survives_what_no_client_would_send() -> None:
    assert live.main("0", "120") == 0


def test_a_parser_that_raises_something_else_is_noticed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def careless(data: bytes) -> None:
        if len(data) == 7:
            raise ValueError("careless")

    monkeypatch.setattr(targets, "TARGETS", (careless,))
    monkeypatch.setattr(frames, "FAILING", tmp_path)
    assert frames.main("0", "1000") == 1
    assert all(len(path.read_bytes()) == 8 for path in tmp_path.glob("*.bin"))
    assert list(tmp_path.glob("*.bin"))
