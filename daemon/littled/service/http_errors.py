"""What a request over HTTP is refused with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class HttpError(Exception):
    """A request that is refused: an HTTP status, one sentence, and what may help to go on."""

    def __init__(self, status: int, sentence: str, facts: Mapping[str, Any] | None = None) -> None:
        """Keep them."""
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.facts = facts or {}
