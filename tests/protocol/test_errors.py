"""Codes, their sentences and the family of errors."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from enum import StrEnum

import pytest

from littled_protocol.errors import (
    ERROR_SENTENCES,
    REFUSAL_SENTENCES,
    ErrorCode,
    LocalProtocolError,
    ProtocolError,
    RefusalCode,
    RemoteProtocolError,
)


def test_codes_are_append_only() -> None:
    assert [code.value for code in ErrorCode][:16] == [
        *("malformed_frame", "frame_too_large", "depth_exceeded", "unexpected_message"),
        *("unsupported_version", "unauthorized", "unknown_stream", "unknown_learner"),
        *("invalid_examples", "sequence_gap", "credit_exceeded", "slow_subscriber"),
        *("producer_busy", "limit_exceeded", "shutting_down", "internal_error"),
    ]


def test_codes_of_refusals_are_append_only() -> None:
    assert [code.value for code in RefusalCode][:6] == [
        *("window_spent", "no_window", "unknown_learner", "no_predictions"),
        *("invalid_points", "request_reused"),
    ]


@pytest.mark.parametrize(
    ("codes", "sentences"), [(ErrorCode, ERROR_SENTENCES), (RefusalCode, REFUSAL_SENTENCES)]
)
def test_every_code_has_one_sentence(
    codes: type[StrEnum], sentences: Mapping[StrEnum, str]
) -> None:
    assert set(sentences) == set(codes)
    assert len(set(sentences.values())) == len(codes)
    for sentence in sentences.values():
        assert sentence[0].isupper()
        assert sentence.endswith(".")


@pytest.mark.parametrize("kind", [ProtocolError, LocalProtocolError, RemoteProtocolError])
def test_an_error_holds_its_code_and_a_sentence(kind: type[ProtocolError]) -> None:
    error = kind(ErrorCode.SEQUENCE_GAP)
    assert error.code is ErrorCode.SEQUENCE_GAP
    assert error.message == ERROR_SENTENCES[ErrorCode.SEQUENCE_GAP]
    assert str(kind(ErrorCode.SEQUENCE_GAP, "here")) == "sequence_gap: here"
    assert kind(ErrorCode("sequence_gap")).code is ErrorCode.SEQUENCE_GAP
    assert isinstance(error, ProtocolError)


def test_the_two_sides_are_told_apart() -> None:
    assert not isinstance(LocalProtocolError(ErrorCode.UNAUTHORIZED), RemoteProtocolError)
    assert not isinstance(RemoteProtocolError(ErrorCode.UNAUTHORIZED), LocalProtocolError)


def test_an_error_survives_a_process_boundary() -> None:
    copy = pickle.loads(pickle.dumps(RemoteProtocolError(ErrorCode.PRODUCER_BUSY, "busy")))  # noqa: S301
    assert type(copy) is RemoteProtocolError
    assert (copy.code, copy.message) == (ErrorCode.PRODUCER_BUSY, "busy")


def test_a_code_that_does_not_exist_is_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="tea"):
        ProtocolError("tea")  # type: ignore[arg-type]
