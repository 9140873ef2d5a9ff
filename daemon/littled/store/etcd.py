"""As much of etcd's JSON gateway as marks and groups need, for one thread that may wait.

Of the clients on PyPI in November 2026 etcd3gw has one endpoint and no users, aetcd needs a loop
and brings gRPC and protobuf, etcd3 has had no release since 2020: so this is `http.client` of the
standard library. Each request goes to one member after the other until one answers. A request that
got no answer may have been done all the same; whoever makes one has to bear that it is done twice.
"""

import base64
import http.client
import json
import re
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from littled.limits import (
    ETCD_ANSWER_BYTES_MAX,
    ETCD_PASSWORD_BYTES_MAX,
    MARK_REQUEST_SECONDS,
    MARK_RETRY_SECONDS,
    MARK_WAIT_SECONDS,
)
from littled.store.etcd_place import MarkInEtcd
from littled.store.files import read_limited, refuse_readable

# What a member says of itself or of its leader, which another one or a later moment may do better.
_PASSING = {408, 429, 500, 502, 503, 504}
_OLD_TOKEN = re.compile("auth token|auth store")
_HARMLESS = re.compile(r"[\w :,.'()-]{1,200}")

Waiting = Callable[[str], None]
"""Told a sentence when the mark cannot be had at once."""


class EtcdRefused(Exception):
    """etcd is there, and will not do this for us; one sentence."""


class EtcdSilent(Exception):
    """No member has answered in time, or none knows a leader; one sentence."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds: how long one member may take, how long all of them, and between two rounds."""

    request: float
    wait: float
    retry: float


def encoded(data: bytes | str) -> str:
    """Bytes as the gateway wants them."""
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


class Etcd:
    """Members of a cluster, asked in turns, beginning with the one that answered last."""

    def __init__(
        self, place: MarkInEtcd, waiting: Waiting, patience: Patience | None = None
    ) -> None:
        """Ask nothing yet."""
        self._place = place
        self._waiting = waiting
        self._patience = patience or Patience(
            MARK_REQUEST_SECONDS, MARK_WAIT_SECONDS, MARK_RETRY_SECONDS
        )
        self._first = 0
        self._connection: http.client.HTTPConnection | None = None
        self._context: ssl.SSLContext | None = None
        self._token: str | None = None

    def ask(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """What the gateway answers to a request. EtcdRefused; EtcdSilent."""
        until = time.monotonic() + self._patience.wait
        told = False
        while True:
            reason = ""
            for _ in self._place.endpoints:
                try:
                    return self._ask_one(path, body)
                except (OSError, http.client.HTTPException, _Passing) as error:
                    self._refuse_certificate(error)
                    reason = _reason(error)
                    self._next()
                if time.monotonic() > until:
                    break
            if time.monotonic() > until:
                raise EtcdSilent(f"etcd at {self._hosts} does not answer ({reason})")
            if not told:
                self._waiting(f"etcd does not answer ({reason}); nothing is shown meanwhile")
                told = True
            time.sleep(self._patience.retry)

    def close(self) -> None:
        """Close the connection; the next request opens one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def _hosts(self) -> str:
        return ", ".join(f"{host}:{port}" for host, port in self._place.endpoints)

    def _next(self) -> None:
        """Ask another member first from now on."""
        self.close()
        self._first = (self._first + 1) % len(self._place.endpoints)

    def _ask_one(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Ask one member, with a new token if the old one is no longer known."""
        if self._place.user and self._token is None:
            self._authenticate()
        status, answer = self._exchange(path, body)
        if self._token is not None and (status == 401 or _OLD_TOKEN.search(_said(answer))):
            self._authenticate()
            status, answer = self._exchange(path, body)
        if status == 200:
            return answer
        if status in _PASSING:
            raise _Passing(_said(answer) or f"status {status}")
        raise EtcdRefused(f"etcd at {self._hosts} refuses: {_said(answer) or f'status {status}'}")

    def _authenticate(self) -> None:
        self._token = None
        path = self._place.password_file
        assert path is not None, "a user has a password"
        body = {"name": self._place.user, "password": password_in(path)}
        status, answer = self._exchange("/v3/auth/authenticate", body)
        if status in _PASSING:
            raise _Passing(_said(answer) or f"status {status}")
        token = answer.get("token")
        if status != 200 or not isinstance(token, str) or not token:
            raise EtcdRefused(
                f"etcd at {self._hosts} does not let in user {self._place.user} with the password "
                f"in {path}: {_said(answer) or f'status {status}'}"
            )
        self._token = token

    def _exchange(self, path: str, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        if self._connection is None:
            self._connection = self._connect()
        headers = {"Content-Type": "application/json"}
        if self._token is not None:
            headers["Authorization"] = self._token
        self._connection.request("POST", path, json.dumps(body).encode(), headers)
        response = self._connection.getresponse()
        data = response.read(ETCD_ANSWER_BYTES_MAX + 1)
        if len(data) > ETCD_ANSWER_BYTES_MAX:
            raise EtcdRefused(f"etcd at {self._hosts} says more than a mark can be")
        try:
            answer = json.loads(data)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            if response.status == 200:
                raise EtcdRefused(f"what answers at {self._hosts} is not etcd")
            answer = {}
        return response.status, answer

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._place.endpoints[self._first]
        host = host.strip("[]")
        if not self._place.tls:
            plain = http.client.HTTPConnection(host, port, timeout=self._patience.request)
            plain.connect()
            return plain
        if self._context is None:
            self._context = _context(self._place)
        secured = http.client.HTTPSConnection(
            host, port, timeout=self._patience.request, context=self._context
        )
        secured.connect()
        return secured

    def _refuse_certificate(self, error: Exception) -> None:
        """What is not trusted now will not be trusted later."""
        if isinstance(error, ssl.SSLCertVerificationError):
            host, port = self._place.endpoints[self._first]
            raise EtcdRefused(
                f"the certificate of etcd at {host}:{port} is not to be trusted "
                f"({error.verify_message}): name its authority with ?ca=FILE"
            ) from None


class _Passing(Exception):
    """A member cannot do it at the moment."""


def _said(answer: Mapping[str, Any]) -> str:
    """etcd's own words, if they are words."""
    text = answer.get("message") or answer.get("error") or ""
    return text if isinstance(text, str) and _HARMLESS.fullmatch(text) else ""


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, socket.gaierror):
        return "the name of its host is not known"
    if isinstance(error, ssl.SSLError):
        return "TLS failed"
    if isinstance(error, OSError):
        return error.strerror or "the connection was lost"
    return str(error) if isinstance(error, _Passing) else "the connection was lost"


def password_in(path: Path) -> str:
    """A password without the line's end. EtcdRefused when it cannot be read or others can."""
    try:
        refuse_readable(path, group_may_read=True)
        text = read_limited(path, ETCD_PASSWORD_BYTES_MAX).decode().rstrip("\r\n")
    except (OSError, UnicodeDecodeError):
        raise EtcdRefused(f"the password file {path} cannot be read") from None
    if not text:
        raise EtcdRefused(f"the password file {path} is empty")
    return text


def _context(place: MarkInEtcd) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=place.ca)
        if place.cert is not None and place.key is not None:
            context.load_cert_chain(place.cert, place.key)
    except OSError:
        raise EtcdRefused(
            "the files of TLS for etcd cannot be read, or hold something else"
        ) from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
