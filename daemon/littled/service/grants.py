"""The file that says who may do what: one token, or TOML with tokens and names.

    [tokens.lab]                      # a name for sentences; not a secret
    token = "64 hexadecimal digits"   # or sha256 = "64 hexadecimal digits", its SHA-256
    roles = ["feed"]                  # of feed, subscribe, predict, operate
    streams = ["flights"]             # all of them if left out

    [certificates."feeder-1"]         # the common name in a client's certificate
    roles = ["feed"]

    [users.1000]                      # by number or name: who connects to a Unix socket
    roles = ["subscribe", "predict"]

    [groups.littled-operators]
    roles = ["operate"]

A file of a single line holds a token that has every role. TCP and HTTP are for tokens and
certificates that the file names: if it names users or groups alone, nobody comes in there.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import re
import stat
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from littled.limits import ACCESS_FILE_BYTES_MAX
from littled.service.access import (
    OVERFLOW_ID,
    Access,
    AccessError,
    Grant,
    Permission,
    check_token,
    digest_of,
    one_token,
)

_SECTIONS: Final = ("tokens", "certificates", "users", "groups")
_SHA256: Final = re.compile(r"[0-9a-fA-F]{64}")
_PLACE: Final = re.compile(r"\(at .*\)$")


def read_access(path: Path) -> Access:
    """Return the rules in a file; raises AccessError, which never quotes a token."""
    text = read_private(path, "the token file").strip()
    if not text:
        raise AccessError(f"the token file {path} is empty")
    tables = _tables(text, path)
    if tables is None:
        return Access(tokens=one_token(text), from_file=True)
    unknown = sorted(set(tables) - set(_SECTIONS))
    if unknown:
        raise AccessError(f"{path} has no use for {unknown[0]!r}; it takes {', '.join(_SECTIONS)}")
    sections = {name: _section(tables, name, path) for name in _SECTIONS}
    return Access(
        tokens=_tokens(sections["tokens"], path),
        certificates={
            name: _grant(f"certificates.{name}", facts, path)
            for name, facts in sections["certificates"].items()
        },
        users=_numbered("users", sections["users"], lambda name: pwd.getpwnam(name).pw_uid, path),
        groups=_numbered(
            "groups", sections["groups"], lambda name: grp.getgrnam(name).gr_gid, path
        ),
        from_file=True,
    )


def read_private(path: Path, what: str) -> str:
    """Return the text of a file that others may neither read nor change; raises AccessError.

    The group may read it, since service managers hand credentials over like that.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(ACCESS_FILE_BYTES_MAX + 1)
        text = data.decode()
    except OSError as error:
        raise AccessError(f"cannot read {what} {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise AccessError(f"{what} {path} is no text") from None
    if stat.S_ISREG(mode) and mode & (stat.S_IWGRP | stat.S_IRWXO):
        raise AccessError(
            f"{what} {path} has mode {stat.S_IMODE(mode):04o}, so that others may read or change "
            f"it; run chmod 600 {path}"
        )
    if len(data) > ACCESS_FILE_BYTES_MAX:
        raise AccessError(f"{what} {path} is longer than {ACCESS_FILE_BYTES_MAX} bytes")
    return text


def _tables(text: str, path: Path) -> dict[str, Any] | None:
    """Return what TOML says; None for a file that is one token."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if "\n" not in text:
            return None
        place = _PLACE.search(str(error))
        where = f" {place[0]}" if place else ""
        raise AccessError(f"{path} is neither a single token nor TOML{where}") from None
    # "a=1" would be TOML, and is the token that it was.
    return tables if "\n" in text or set(tables) & set(_SECTIONS) else None


def _section(tables: Mapping[str, Any], name: str, path: Path) -> dict[str, dict[str, Any]]:
    section = tables.get(name, {})
    if not isinstance(section, dict) or not all(
        isinstance(rule, dict) for rule in section.values()
    ):
        raise AccessError(f"{path}: {name} needs tables [{name}.NAME]")
    return section


def _tokens(section: Mapping[str, Mapping[str, Any]], path: Path) -> dict[bytes, Grant]:
    found: dict[bytes, Grant] = {}
    for name, facts in section.items():
        where = f"tokens.{name}"
        digest = _digest(where, facts, path)
        if digest in found:
            raise AccessError(f"{path}: {found[digest].name} and {where} are the same token")
        others = {key: value for key, value in facts.items() if key not in ("token", "sha256")}
        found[digest] = _grant(where, others, path)
    return found


def _digest(where: str, facts: Mapping[str, Any], path: Path) -> bytes:
    token, sha256 = facts.get("token"), facts.get("sha256")
    if (token is None) == (sha256 is None):
        raise AccessError(f"{path}: {where} needs either token or sha256")
    if sha256 is not None:
        if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
            raise AccessError(f"{path}: {where}.sha256 needs 64 hexadecimal digits")
        return bytes.fromhex(sha256)
    if not isinstance(token, str):
        raise AccessError(f"{path}: {where}.token needs a text")
    check_token(token, f"{path}: {where}.token")
    return digest_of(token)


def _numbered(
    kind: str, section: Mapping[str, Mapping[str, Any]], find: Callable[[str], int], path: Path
) -> dict[int, Grant]:
    """Return grants by the numbers of users or groups, which may be written as names."""
    found: dict[int, Grant] = {}
    for name, facts in section.items():
        where, number = f"{kind}.{name}", None
        if name.isascii() and name.isdigit():
            number = int(name)
        else:
            with contextlib.suppress(KeyError):
                number = find(name)
        if number is None:
            raise AccessError(f"{path}: {where} is unknown on this machine")
        if number == OVERFLOW_ID:
            raise AccessError(f"{path}: {where} is {OVERFLOW_ID}, which may stand for anybody")
        if number in found:
            raise AccessError(f"{path}: {found[number].name} and {where} are the same")
        found[number] = _grant(where, facts, path)
    return found


def _grant(where: str, facts: Mapping[str, Any], path: Path) -> Grant:
    unknown = sorted(set(facts) - {"roles", "streams"})
    if unknown:
        raise AccessError(f"{path}: {where} has no use for {unknown[0]!r}")
    roles = _names(facts.get("roles"), f"{path}: {where}.roles")
    known = [permission.value for permission in Permission]
    if wrong := sorted(roles - set(known)):
        raise AccessError(f"{path}: {where} has no role {wrong[0]!r}; there are {', '.join(known)}")
    streams = facts.get("streams")
    return Grant(
        where,
        frozenset(map(Permission, roles)),
        None if streams is None else _names(streams, f"{path}: {where}.streams"),
    )


def _names(value: object, where: str) -> frozenset[str]:
    if not isinstance(value, list) or not value or not all(isinstance(name, str) for name in value):
        raise AccessError(f"{where} needs a list of at least one name")
    return frozenset(value)
