"""The operator's page: files that are the same everywhere, and hold no fact of any stream.

What the page shows it asks for itself, with the token that somebody gave it. So the files are open
to whoever reaches the port. A browser may run nothing but them, and send nothing but to this host.
"""

from __future__ import annotations

from functools import lru_cache
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


@lru_cache(maxsize=64)
def page_file(name: str) -> tuple[bytes, str] | None:
    """Return the content and the type of a file, "index.html" or "client/rules.js"; else None."""
    part, _, last = name.rpartition("/")
    if part not in _FOLDERS or not last.replace(".", "").replace("-", "").isalnum():
        return None
    kind = _TYPES.get(last[last.rfind(".") :])
    package, folder = _FOLDERS[part]
    found = files(package).joinpath(folder, last)
    return (found.read_bytes(), kind) if kind is not None and found.is_file() else None
