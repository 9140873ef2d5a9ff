"""A high-water mark in etcd, as it is named: a URL, without any secret.

etcd://HOST:PORT,HOST:PORT/PREFIX
etcds://USER@HOST:PORT,HOST:PORT/PREFIX?ca=FILE&cert=FILE&key=FILE&password_file=FILE
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self
from urllib.parse import parse_qsl, quote, unquote

from littled.store.errors import StoreRefused

SCHEMES = ("etcd", "etcds")
_FORM = "etcd://HOST:PORT,HOST:PORT/PREFIX, or etcds:// with TLS"
_FILES = ("ca", "cert", "key", "password_file")
_ENDPOINT = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")
_PREFIX = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")
_LOOPBACK = re.compile(r"127\.[0-9.]+|\[::1\]|localhost")
PORT_MAX = 65_535


@dataclass(frozen=True, slots=True)
class MarkInEtcd:
    """Keys below a prefix in etcd.

    endpoints: hosts and ports of members, tried in this order. ca: authorities of their
    certificates in PEM, None for those of the system. cert, key: a certificate to show them.
    password_file: the password of `user` and nothing else.
    """

    endpoints: tuple[tuple[str, int], ...]
    prefix: str
    tls: bool = False
    user: str = ""
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    password_file: Path | None = None

    def __str__(self) -> str:
        """The URL."""
        user = f"{quote(self.user)}@" if self.user else ""
        hosts = ",".join(f"{host}:{port}" for host, port in self.endpoints)
        given = ((name, getattr(self, name)) for name in _FILES)
        query = "&".join(f"{name}={quote(str(path))}" for name, path in given if path is not None)
        return f"{SCHEMES[self.tls]}://{user}{hosts}/{self.prefix}" + (query and f"?{query}")

    @classmethod
    def parse(cls, url: str, what: str = "mark") -> Self:
        """The place that a URL names, which is that of a mark, or of something else.

        StoreRefused with a sentence that does not repeat the URL.
        """
        scheme, _, rest = url.partition("://")
        place, _, query = rest.partition("?")
        authority, _, prefix = place.partition("/")
        user, _, hosts = authority.rpartition("@")
        if ":" in user:
            raise StoreRefused(
                f"a password does not belong into the name of a {what}, where others see it: put "
                "it into a file, and say ?password_file=FILE"
            )
        found = [_ENDPOINT.fullmatch(each) for each in hosts.split(",")]
        endpoints = tuple((each[1], int(each[2])) for each in found if each is not None)
        if len(endpoints) != len(found) or any(not 0 < port <= PORT_MAX for _, port in endpoints):
            raise StoreRefused(f"the endpoints of the {what} are not understood: write {_FORM}")
        if not _PREFIX.fullmatch(prefix):
            raise StoreRefused(
                f"the {what} needs a prefix of letters, digits, ., -, _ and / of its own: {_FORM}"
            )
        files = _files(query, what)
        return cls(endpoints, prefix, scheme == "etcds", unquote(user), **files)._checked(what)

    def below(self, name: str) -> Self:
        """The place with this name below this one."""
        return replace(self, prefix=f"{self.prefix}/{name}")

    def _checked(self, what: str) -> Self:
        if (self.ca, self.cert, self.key) != (None, None, None) and not self.tls:
            raise StoreRefused(f"ca, cert and key of a {what} are for etcds://, which is TLS")
        if (self.cert is None) != (self.key is None):
            raise StoreRefused("a certificate for etcd needs both cert and key")
        if bool(self.user) != (self.password_file is not None):
            raise StoreRefused("a user of etcd needs a password_file, and that needs a user")
        local = all(_LOOPBACK.fullmatch(host) for host, _ in self.endpoints)
        if self.user and not self.tls and not local:
            raise StoreRefused("a password for another machine needs TLS: write etcds://")
        return self


def _files(query: str, what: str) -> dict[str, Path]:
    pairs = parse_qsl(query, keep_blank_values=True)
    found = dict(pairs)
    if len(found) != len(pairs) or not found.keys() <= set(_FILES) or not all(found.values()):
        raise StoreRefused(f"after ? a {what} in etcd may have {', '.join(_FILES)}, each once")
    return {name: Path(path) for name, path in found.items()}
