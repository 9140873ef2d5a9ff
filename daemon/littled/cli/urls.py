"""Addresses of HTTP in commands."""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, urlsplit

PORTS: Final = {"http": 80, "https": 443}
"""The schemes that there are, each with its usual port."""


def url_parts(address: str) -> SplitResult | None:
    """Return the parts of an address of HTTP that names a host; None for anything else."""
    try:
        parts = urlsplit(address)
        known = parts.scheme in PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if known else None
