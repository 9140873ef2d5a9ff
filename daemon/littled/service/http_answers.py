"""Answers of the HTTP side as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from aiohttp import web

from littled.service.http_errors import HttpError
from littled.service.http_surface import Surface
from littled.service.statuses import json_text
from littled_protocol.messages import NAME

_ELSEWHERE = "another daemon serves this stream; ask there"
_NOBODY = "no daemon serves this stream right now; ask again later"


def as_json(
    value: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """Answer with an object."""
    return web.Response(
        text=json_text(value), content_type="application/json", status=status, headers=headers
    )


def refused(error: HttpError) -> web.Response:
    """Answer why a request is refused, in one sentence."""
    return as_json({"error": error.sentence, **error.facts}, error.status, error.headers)


def check_here(surface: Surface, streams: Iterable[str]) -> None:
    """Raise HttpError for a stream that another daemon serves, with addresses of that one.

    These are for clients of the protocol. Nobody is redirected there: a token would go along, to a
    host that the peer never named.
    """
    for stream in streams:
        if stream in surface.x_types or not NAME.fullmatch(stream):
            continue
        addresses = surface.elsewhere.where(stream)
        if addresses is not None:
            facts = {"stream": stream, "addresses": list(addresses)}
            raise HttpError(421, _ELSEWHERE if addresses else _NOBODY, facts)
