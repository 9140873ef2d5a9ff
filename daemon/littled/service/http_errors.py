"""What a request over HTTP is refused with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from littled.limits import HTTP_AGAIN_SECONDS

UNAVAILABLE: Final = 503
AGAIN: Final = {"Retry-After": f"{HTTP_AGAIN_SECONDS}"}
"""Headers of what is refused for now only."""


class HttpError(Exception):
    """A request that is refused: an HTTP status, one sentence, and what may help to go on."""

    def __init__(self, status: int, sentence: str, facts: Mapping[str, Any] | None = None) -> None:
        """Keep them."""
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.facts = facts or {}

    @property
    def headers(self) -> Mapping[str, str]:
        """When to ask again, where that will help: whatever is unavailable is so for now."""
        return AGAIN if self.status == UNAVAILABLE else {}
