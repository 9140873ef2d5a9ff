"""Where releases are forwarded to: the address, its secrets, and which answers are final."""

from __future__ import annotations

import email.utils
import hashlib
import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.urls import url_parts
from littled.service.access import AccessError
from littled.service.grants import read_private

CONTENT_TYPE = "application/cloudevents+json; charset=utf-8"
SIGNATURE = "X-Hub-Signature-256"
# However long a receiver asks to be left alone, it is asked again after so many seconds.
RETRY_AFTER_SECONDS_MAX = 86_400.0
# Refusals that may pass by themselves, unlike all others from 400 to 499.
_PASSING = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
)


@dataclass(frozen=True, slots=True)
class Receiver:
    """An address over HTTP, and what is shown to it.

    url: whole, and perhaps secret in its path or query. secret: the key of signatures, None for
    none. bearer: a token for the header Authorization, None for none. Neither they nor the url are
    shown when this is.
    """

    url: str = field(repr=False)
    secret: bytes | None = field(default=None, repr=False)
    bearer: str | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The scheme, the host and the port: what messages may say of it."""
        place = urlsplit(self.url)
        return f"{place.scheme}://{place.netloc}"

    @property
    def digest(self) -> str:
        """What tells this address from others without saying it."""
        return hashlib.blake2b(self.url.encode(), digest_size=16).hexdigest()

    def headers(self, body: bytes) -> dict[str, str]:
        """Return the headers of a request with this body.

        The signature is "sha256=" and the HMAC-SHA256 (RFC 2104) of the body in hexadecimal digits,
        as GitHub and others send it.
        """
        headers = {"Content-Type": CONTENT_TYPE}
        if self.secret is not None:
            mac = hmac.new(self.secret, body, hashlib.sha256)
            headers[SIGNATURE] = f"sha256={mac.hexdigest()}"
        if self.bearer is not None:
            headers["Authorization"] = f"Bearer {self.bearer}"
        return headers


def receiver(
    address: str, secret_file: Path | None, bearer_file: Path | None, *, insecure_http: bool
) -> Receiver:
    """Return what is at an address; Failure for one that is none, or not safe to send to."""
    secret = _secret("the secret file", secret_file)
    bearer = _secret("the bearer file", bearer_file)
    if bearer is not None and not (bearer.isascii() and bearer.isprintable() and " " not in bearer):
        raise Failure(f"the bearer file {bearer_file} holds something else than one token")
    return Receiver(
        _url(address, insecure_http=insecure_http),
        None if secret is None else secret.encode(),
        bearer,
    )


def is_final(status: int) -> bool:
    """Whether asking again cannot help: the answer is a redirect or a refusal that stays."""
    return 300 <= status < 500 and status not in _PASSING


def refusal(name: str, status: int) -> str:
    """Say why an answer that is final ends everything, and what would be right."""
    if status < 400:
        return (
            f"{name} answers {status}, and redirects are not followed: name the URL that it "
            "redirects to"
        )
    try:
        phrase = f" {HTTPStatus(status).phrase}"
    except ValueError:
        phrase = ""
    hint = "put the receiver or the URL right"
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        hint = "put --secret-file or --bearer-file right"
    return f"{name} answers {status}{phrase}, which trying again does not heal: {hint}"


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float:
    """Return for how many seconds a receiver wants no request (RFC 9110, 10.2.3); 0.0 for none.

    What is neither a number of seconds nor a date counts as not said; a day is the most.
    """
    said = headers.get("Retry-After", "").strip()
    if said.isascii() and said.isdigit():
        seconds = float(said) if len(said) < 10 else RETRY_AFTER_SECONDS_MAX
    else:
        try:
            then = email.utils.parsedate_to_datetime(said)
        except ValueError:
            return 0.0
        then = then if then.tzinfo else then.replace(tzinfo=UTC)
        seconds = (then - (now or datetime.now(UTC))).total_seconds()
    return min(max(seconds, 0.0), RETRY_AFTER_SECONDS_MAX)


def _url(address: str, *, insecure_http: bool) -> str:
    """The address; Failure unless it is one, and secret on the way or on this machine."""
    plain = address.isascii() and address.isprintable() and not set(" #") & set(address)
    place = url_parts(address) if plain else None
    # What was given is not repeated: it may be secret.
    if place is None:
        raise Failure("URL is https://HOST/PATH in ASCII, or http:// on this machine", WRONG_USE)
    if place.username is not None or place.password is not None:
        raise Failure("URL holds no user and no password: use --bearer-file", WRONG_USE)
    host = place.hostname or ""
    if place.scheme == "http" and not insecure_http and not _is_loopback(host):
        raise Failure(
            f"http:// to {host} shows everything to who listens on the way: use https://, or "
            "say --insecure-http",
            WRONG_USE,
        )
    return address


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _secret(what: str, path: Path | None) -> str | None:
    """What a private file says, without the line's end."""
    if path is None:
        return None
    with explained(AccessError):
        text = read_private(path, what).strip()
    if not text:
        raise Failure(f"{what} {path} is empty")
    return text
