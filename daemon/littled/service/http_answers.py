"""Answers of the HTTP side as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from littled.service.http_errors import HttpError


def as_json(value: Mapping[str, Any], status: int = 200) -> web.Response:
    """Answer with an object."""
    return web.Response(
        text=json.dumps(value, sort_keys=True, indent=2) + "\n",
        content_type="application/json",
        status=status,
    )


def refused(error: HttpError) -> web.Response:
    """Answer why a request is refused, in one sentence."""
    return as_json({"error": error.sentence, **error.facts}, error.status)
