"""Streams that another daemon serves."""

from __future__ import annotations

import pytest

from littled.service.elsewhere import Nowhere


@pytest.mark.parametrize("stream", ["flights", "", "a" * 64])
def test_a_daemon_by_itself_knows_of_no_other_place(stream: str) -> None:
    assert Nowhere().where(stream) is None
