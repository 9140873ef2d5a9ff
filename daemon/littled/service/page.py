"""The operator's page: files that are the same everywhere, and hold no fact of any stream.

What the page shows it asks for itself, with the token that somebody gave it. So the files are open
to whoever reaches the port. A browser may run nothing but them, and send nothing but to this host.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""The Content-Security-Policy of the page."""

_TYPES: Final = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}
# Where the files of each part of the address are: this package's own, and the client's.
_FOLDERS: Final = {"": ("littled.service", "static"), "client": ("littled_client", "javascript")}


def page_file(name: str) -> tuple[bytes, str] | None:
    """Return the content and the type of a file, "index.html" or "client/rules.js"; else None."""
    return _read(name) if name in _names() else None


@cache
def _names() -> frozenset[str]:
    """The names of all files of the page: what anybody asks for never becomes a path."""
    return frozenset(
        f"{part}/{each.name}".removeprefix("/")
        for part, (package, folder) in _FOLDERS.items()
        for each in files(package).joinpath(folder).iterdir()
        if each.is_file() and _kind(each.name) is not None
    )


@cache
def _read(name: str) -> tuple[bytes, str] | None:
    part, _, last = name.rpartition("/")
    package, folder = _FOLDERS[part]
    kind = _kind(last)
    return None if kind is None else (files(package).joinpath(folder, last).read_bytes(), kind)


def _kind(name: str) -> str | None:
    return _TYPES.get(name[name.rfind(".") :])
