"""Whether a daemon works, asked over HTTP without any other program: for probes of containers."""

from __future__ import annotations

import http.client
import socket
import ssl
from urllib.parse import SplitResult

from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.urls import PORTS, url_parts
from littled_client.errors import ClientError
from littled_client.tls import Tls

SECONDS_MAX = 5.0


def check_health(url: str, tls: Tls | None) -> None:
    """Ask /healthz of the HTTP side at `url`; Failure unless commits go through there."""
    place = _place(url)
    with explained(ClientError, status=WRONG_USE):
        context = (tls or Tls()).context() if place.scheme == "https" else None
    host, port = place.hostname or "", place.port or PORTS[place.scheme]
    connection = http.client.HTTPConnection(host, port, timeout=SECONDS_MAX)
    try:
        connection.sock = socket.create_connection((host, port), SECONDS_MAX)
        if context is not None:
            name = (tls and tls.server_name) or host
            connection.sock = context.wrap_socket(connection.sock, server_hostname=name)
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        said = answer.read(200).decode("utf-8", "replace").strip()
    except ssl.SSLError:
        raise Failure(f"{url} cannot be trusted, or does not speak TLS") from None
    except (OSError, http.client.HTTPException):
        raise Failure(f"{url} does not answer") from None
    finally:
        connection.close()
    if answer.status != http.HTTPStatus.OK:
        raise Failure(f"{url} says {answer.status}: {said}")


def _place(url: str) -> SplitResult:
    place = url_parts(url)
    if place is None or any((place.path.rstrip("/"), place.query, place.fragment, place.username)):
        raise Failure(
            f"--healthz takes http://HOST:PORT or https://HOST:PORT, not {url!r}", WRONG_USE
        )
    return place
