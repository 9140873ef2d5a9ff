"""Who may ask for a page: whose browser, by which name of this host, and with what shown."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from aiohttp import hdrs, web

from littled.service.access import Gate, Rights, Shown
from littled.service.http_routes import PERMISSIONS

RIGHTS: Final = web.RequestKey("rights", Rights)
"""What the peer of a request may do."""
# A host and its port; the ASCII digits alone, as others are digits to Python too.
_HOST = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]{1,5}))?")
_PORT_MAX = 65_535
_AUTHORITY_END = re.compile(r"[/?#]")
# What browsers say about the page that makes them ask. Others do not send the header.
_FETCH_SITE = "Sec-Fetch-Site"
_OWN_SITES = ("none", "same-origin")
_NOT_ALLOWED = "what you have shown does not allow this\n"


def check_origin(request: web.Request, hosts: Collection[str] | None) -> None:
    """Refuse what a browser asks for another site, and what was sent to a name of another host."""
    if not set(request.headers.getall(_FETCH_SITE, ("none",))) <= set(_OWN_SITES):
        raise web.HTTPForbidden(text="web pages of other sites may not read this one\n")
    if hosts is None:
        return
    named = request.headers.getall(hdrs.HOST, ())
    if len(named) != 1:
        raise web.HTTPBadRequest(text="a request needs one Host header\n")
    if not {_without_port(name) for name in (*named, *_authority(request))} <= set(hosts):
        raise web.HTTPMisdirectedRequest(
            text="this host answers to localhost and the names given to it with --http-name\n"
        )


def _authority(request: web.Request) -> tuple[str, ...]:
    """The host and port in the target of a request, where it names one (RFC 9112, 3.2.2)."""
    target = request.raw_path
    if target.startswith("/") or target == "*":
        return ()
    return (_AUTHORITY_END.split(target.partition("://")[2])[0],)


def _without_port(host: str) -> str | None:
    """A host as a header names it, in small letters and without its port; None for what is none."""
    found = _HOST.fullmatch(host)
    if found is None or not host.isascii() or not 1 <= int(found[2] or 1) <= _PORT_MAX:
        return None
    return found[1].lower()


def rights_of(request: web.Request, gate: Gate) -> Rights:
    """What the peer may do; refuses one that may not come in, or not ask for this kind of page."""
    shown = request.headers.getall(hdrs.AUTHORIZATION, ("",))
    if len(shown) != 1:
        raise web.HTTPBadRequest(text="a request has one Authorization header at the most\n")
    # RFC 9110, 11.1 and 11.4: the scheme in letters of any size, then one blank or more.
    scheme, _, rest = shown[0].partition(" ")
    token = rest.lstrip(" ") if scheme.lower() == "bearer" else None
    transport = request.transport
    rights = None if transport is None else gate.rights(Shown.by(token, transport))
    if rights is None:
        raise web.HTTPUnauthorized(
            headers={hdrs.WWW_AUTHENTICATE: "Bearer"},
            text="show the daemon's token: Authorization: Bearer TOKEN\n",
        )
    resource = request.match_info.route.resource
    permission = None if resource is None else PERMISSIONS.get(resource.canonical)
    if permission is not None and not rights.may(permission, request.match_info.get("stream")):
        raise web.HTTPForbidden(text=_NOT_ALLOWED)
    return rights
