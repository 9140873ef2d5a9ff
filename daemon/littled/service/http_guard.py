"""Who may ask for a page: whose browser, by which name of this host, and with what shown."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from aiohttp import hdrs, web

from littled.service.access import Gate, Rights, Shown
from littled.service.http_routes import PERMISSIONS

RIGHTS: Final = web.RequestKey("rights", Rights)
"""What the peer of a request may do."""
_BEARER = "Bearer "
# What browsers say about the page that makes them ask. Others do not send the header.
_FETCH_SITE = "Sec-Fetch-Site"
_OWN_SITES = ("none", "same-origin")
_NOT_ALLOWED = "what you have shown does not allow this\n"


def check_origin(request: web.Request, hosts: Collection[str] | None) -> None:
    """Refuse what a browser asks for another site, and what was sent to a name of another host."""
    if request.headers.get(_FETCH_SITE, "none") not in _OWN_SITES:
        raise web.HTTPForbidden(text="web pages of other sites may not read this one\n")
    if hosts is None:
        return
    named = request.headers.getall(hdrs.HOST, ())
    if len(named) != 1:
        raise web.HTTPBadRequest(text="a request needs one Host header\n")
    if _without_port(named[0]) not in hosts:
        raise web.HTTPMisdirectedRequest(
            text="this host answers to localhost and the names given to it with --http-name\n"
        )


def _without_port(host: str) -> str:
    """A host as a header names it, in small letters and without its port."""
    name, colon, port = host.lower().rpartition(":")
    return (
        name if colon and port.isdigit() and (":" not in name or name[-1] == "]") else host.lower()
    )


def rights_of(request: web.Request, gate: Gate) -> Rights:
    """What the peer may do; refuses one that may not come in, or not ask for this kind of page."""
    header = request.headers.get(hdrs.AUTHORIZATION, "")
    token = header.removeprefix(_BEARER) if header.startswith(_BEARER) else None
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
