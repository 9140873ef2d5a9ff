"""Other protocols, told from ours by the first bytes of a connection.

None of them can begin a conversation here: as the length of a frame, their first four bytes are
more than any frame may have. So whoever speaks them by mistake can be told in words, and nobody
else is.
"""

from __future__ import annotations

from typing import Final

HTTP_ANSWER: Final = b"HTTP/"
"""How an answer of HTTP begins."""
_METHODS: Final = (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"PATC", b"CONN", b"TRAC")
_PRI: Final = b"PRI "
# The records of TLS that a handshake and a refusal begin with, of any version of TLS.
_HANDSHAKE: Final = b"\x16\x03"
_ALERT: Final = b"\x15\x03"


def asks_by_http(first: bytes) -> bool:
    """Return whether the first bytes of a client, at least four, begin a request of HTTP."""
    return first[:4] in _METHODS or first[:4] == _PRI


def speaks_tls(first: bytes) -> bool:
    """Return whether the first bytes of either side begin TLS."""
    return first[:2] in (_HANDSHAKE, _ALERT)


def http_refusal(sentence: str) -> bytes:
    """Return an answer of HTTP, status 400, that says one sentence."""
    body = sentence.encode("ascii") + b"\n"
    return (
        b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
        b"Content-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(body), body)
    )
