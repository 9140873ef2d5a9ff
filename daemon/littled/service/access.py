"""Who may come in, and what they may do there.

A peer shows what it has: a token, the common name of a certificate that TLS has checked, or the
user and groups that the kernel names for the other end of a Unix socket. For each there may be a
*grant*: some of the permissions to feed, subscribe, predict and operate, for all streams or for
some. A peer has all its grants together; one that has none is turned away before anything else.

Where nothing is asked for, everybody has every permission. Nothing is asked for on a Unix socket
unless users or groups are named: it is guarded by the permissions of its file. On TCP and HTTP it
is a token or a certificate as soon as there is a file of grants, also one that names none: then
nobody comes in there. A port that other machines reach needs one of them, or an authority for
certificates, and TLS.

The kernel shows the user 65534 for everybody whom this process cannot name, as in a user namespace.
So 65534 never has a grant.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import socket
import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from littled.limits import TOKEN_BYTES_MIN
from littled.service.elsewhere import Elsewhere, Nowhere

OVERFLOW_ID: Final = 65534
"""What the kernel calls users and groups that have no name here."""
_CREDENTIALS: Final = struct.Struct("iII")
_SO_PEERGROUPS: Final = 59
# What one call can ask for; who is in more groups is known by the first one only.
_GROUPS_MAX: Final = 256


class AccessError(ValueError):
    """An unsafe way in, or a wrong rule for it; the message is one sentence."""


class Permission(StrEnum):
    """What a peer may do; the value is its name in a file of grants."""

    FEED = "feed"
    SUBSCRIBE = "subscribe"
    PREDICT = "predict"
    OPERATE = "operate"


# Messages of the protocol that need a permission; everybody who was let in may send the others.
_MESSAGES: Final[Mapping[Permission, frozenset[str]]] = {
    Permission.FEED: frozenset({"open", "examples"}),
    Permission.SUBSCRIBE: frozenset({"subscribe"}),
    Permission.PREDICT: frozenset({"predict"}),
}


@dataclass(frozen=True, slots=True)
class Grant:
    """What one token, certificate, user or group may do. streams: None means all of them."""

    name: str
    permissions: frozenset[Permission]
    streams: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Rights:
    """What a peer may do that was let in: any of its grants is enough."""

    grants: tuple[Grant, ...]

    def may(self, permission: Permission, stream: str | None = None) -> bool:
        """Return whether the peer may do something, with a stream if one is named."""
        return any(
            permission in grant.permissions and _covers(grant, stream) for grant in self.grants
        )

    def sees(self, stream: str) -> bool:
        """Return whether the peer may know of a stream at all."""
        return any(_covers(grant, stream) for grant in self.grants)

    @property
    def streams(self) -> frozenset[str] | None:
        """The streams that the peer may know of; None means all of them."""
        found: frozenset[str] = frozenset()
        for grant in self.grants:
            if grant.streams is None:
                return None
            found |= grant.streams
        return found

    @property
    def refused_types(self) -> frozenset[str]:
        """Types of messages that the peer may not send, whatever is in them."""
        refused = (names for what, names in _MESSAGES.items() if not self.may(what))
        return frozenset().union(*refused)


EVERYTHING: Final = Rights((Grant("everybody", frozenset(Permission)),))
"""The rights of who comes in where nothing is asked for."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who the kernel says is at the other end of a Unix socket."""

    user: int
    groups: frozenset[int]

    @classmethod
    def of(cls, peer: socket.socket) -> Caller:
        """Ask the kernel; nobody is known of a peer that is gone."""
        try:
            data = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        except OSError:
            return cls(OVERFLOW_ID, frozenset())
        _, user, group = _CREDENTIALS.unpack(data)
        groups = {group}
        try:
            more = peer.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, 4 * _GROUPS_MAX)
            groups.update(number for (number,) in struct.iter_unpack("I", more))
        except OSError:  # of a kernel before 4.13, or of a member of too many groups
            pass
        return cls(user, frozenset(groups))


@dataclass(frozen=True, slots=True)
class Shown:
    """What a peer has shown.

    token: its digest. common_name: of the certificate that TLS has checked. caller: who it is, on a
    Unix socket; None for a peer on TCP or HTTP.
    """

    token: bytes
    common_name: str | None = None
    caller: Caller | None = None

    @classmethod
    def by(cls, token: str | None, transport: asyncio.BaseTransport) -> Shown:
        """Return what the peer at the other end of a transport shows together with a token.

        One with TLS that has just gone shows what nobody does.
        """
        peer = transport.get_extra_info("socket")
        if peer is None:
            return cls(digest_of(""))
        if peer.family == socket.AF_UNIX:
            return cls(digest_of(token or ""), None, Caller.of(peer))
        certificate = transport.get_extra_info("peercert")
        return cls(digest_of(token or ""), common_name_in(certificate))


def common_name_in(certificate: Mapping[str, Any] | None) -> str | None:
    """Return the one common name in a certificate as `ssl` shows it, None if there is not one."""
    parts = (part for names in (certificate or {}).get("subject", ()) for part in names)
    found = [value for key, value in parts if key == "commonName"]
    return found[0] if len(found) == 1 else None


def digest_of(token: str) -> bytes:
    """Return what is kept of a token: 32 bytes. Bytes that are no text are taken as they came."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


@dataclass(frozen=True, slots=True)
class Access:
    """The rules: who has which grant.

    tokens: by digest. certificates: by common name. users, groups: by number. client_ca: whether
    TLS lets only those in that have a certificate of our authority. plaintext: whether ports that
    other machines reach may do without TLS. from_file: whether a file of grants was given, so that
    TCP and HTTP are for those alone whom it names.
    """

    tokens: Mapping[bytes, Grant] = field(default_factory=dict, repr=False)
    certificates: Mapping[str, Grant] = field(default_factory=dict)
    users: Mapping[int, Grant] = field(default_factory=dict)
    groups: Mapping[int, Grant] = field(default_factory=dict)
    client_ca: bool = False
    plaintext: bool = False
    from_file: bool = False

    def rights(self, shown: Shown) -> Rights | None:
        """Return the rights of a peer, None if it may not come in."""
        found = [self._of_token(shown.token)]
        if shown.caller is None:
            if not (self.tokens or self.certificates or self.from_file):
                return EVERYTHING
            if shown.common_name is not None:
                found.append(self.certificates.get(shown.common_name))
        elif not self.users and not self.groups:
            return EVERYTHING
        elif shown.caller.user != OVERFLOW_ID:
            groups = sorted(shown.caller.groups - {OVERFLOW_ID})
            found += [self.users.get(shown.caller.user), *map(self.groups.get, groups)]
        grants = tuple(grant for grant in found if grant is not None)
        return Rights(grants) if grants else None

    @property
    def closes_ports(self) -> bool:
        """Whether nobody may come in by TCP or HTTP."""
        return self.from_file and not (self.tokens or self.certificates)

    def check_listener(self, listener: socket.socket, purpose: str, *, tls: bool) -> None:
        """Refuse a listening TCP socket that others reach and that is not guarded enough.

        `purpose` names the socket in the sentence. Raises AccessError.
        """
        if listener.family == socket.AF_UNIX:
            return
        host, port = listener.getsockname()[:2]
        if is_loopback(host):
            return
        where = f"the {purpose} address {host}:{port} can be reached from other machines"
        if not (self.tokens or self.certificates or self.client_ca):
            raise AccessError(f"{where}; set a token, or listen on 127.0.0.1")
        if not tls and not self.plaintext:
            raise AccessError(
                f"{where} and is not encrypted; give --tls-cert and --tls-key, or say "
                "--plaintext-beyond-loopback"
            )

    def check_streams(self, streams: Collection[str], elsewhere: Elsewhere | None = None) -> None:
        """Refuse grants for a stream that neither the store has nor anybody elsewhere.

        Raises AccessError.
        """
        where = (elsewhere or Nowhere()).where
        for grants in (self.tokens, self.certificates, self.users, self.groups):
            for grant in grants.values():
                missing = sorted((grant.streams or frozenset()) - set(streams))
                unknown = [stream for stream in missing if where(stream) is None]
                if unknown:
                    raise AccessError(
                        f"{grant.name} names the stream {unknown[0]!r}, which the store lacks"
                    )

    def _of_token(self, guess: bytes) -> Grant | None:
        """Return the grant of a token by its digest; all are compared, whichever it is."""
        found: Grant | None = None
        for digest, grant in self.tokens.items():
            if hmac.compare_digest(guess, digest):
                found = grant
        return found


def one_token(token: str) -> Mapping[bytes, Grant]:
    """Return the tokens of a daemon that has a single one, with every permission.

    Raises AccessError for one that could be guessed.
    """
    check_token(token, "the token")
    return {digest_of(token): Grant("the token", frozenset(Permission))}


def check_token(token: str, name: str) -> None:
    """Refuse a token that could be guessed; raises AccessError."""
    if len(token.encode()) < TOKEN_BYTES_MIN:
        raise AccessError(
            f"{name} is shorter than {TOKEN_BYTES_MIN} bytes; make one with `openssl rand -hex 32`"
        )


def is_loopback(host: str) -> bool:
    """Return whether the numeric address `host` reaches this machine only."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback


def _covers(grant: Grant, stream: str | None) -> bool:
    return stream is None or grant.streams is None or stream in grant.streams


class Gate:
    """The rules in force, which may change while the daemon runs."""

    def __init__(self, access: Access) -> None:
        """Begin with these rules."""
        self.access = access

    def rights(self, shown: Shown) -> Rights | None:
        """Return the rights of a peer now, None if it may not come in."""
        return self.access.rights(shown)
