"""`littled status --healthz`: silent and 0 while commits go through, else one sentence and 1."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext

import pytest

from support.certificates import Authority, Issued
from support.commands import Littled


class Pages(BaseHTTPRequestHandler):
    """/healthz as a daemon's HTTP has it."""

    status, text = 200, b"ok\n"

    def do_GET(self) -> None:
        assert self.path == "/healthz"
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(self.text)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def answering(status: int, text: bytes, issued: Issued | None = None) -> Iterator[HTTPServer]:
    """A server with this answer, over TLS where it has a certificate, until the block ends."""
    pages = type("These", (Pages,), {"status": status, "text": text})
    with HTTPServer(("127.0.0.1", 0), pages) as server:
        if issued is not None:
            context = SSLContext(PROTOCOL_TLS_SERVER)
            context.load_cert_chain(issued.certificate, issued.key)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_a_daemon_that_commits_is_passed_in_silence(littled: Littled) -> None:
    with answering(200, b"ok\n") as server:
        said = littled("status", "--healthz", f"http://127.0.0.1:{server.server_port}")
    assert (said.status, said.out, said.err) == (0, "", "")


def test_a_daemon_that_commits_nothing_is_not(littled: Littled) -> None:
    with answering(503, b"commits have stopped\n") as server:
        url = f"http://127.0.0.1:{server.server_port}"
        said = littled("status", "--healthz", url)
    assert (said.status, said.sentence) == (1, f"{url} says 503: commits have stopped")
    again = littled("status", "--healthz", url)
    assert (again.status, again.sentence) == (1, f"{url} does not answer")


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:8790", "unix:littled.sock", "http://", "http://a:0", "http://a:99999",
     "http://a/healthz", "http://me@a:1"],
)  # fmt: skip
def test_anything_but_the_address_of_http_is_refused(littled: Littled, url: str) -> None:
    said = littled("status", "--healthz", url)
    expected = f"--healthz takes http://HOST:PORT or https://HOST:PORT, not {url!r}"
    assert (said.status, said.sentence) == (2, expected)


def test_over_tls_the_certificate_has_to_be_trusted(littled: Littled, tmp_path: Path) -> None:
    ours, theirs = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    with answering(200, b"ok\n", ours.issue("littled.example", server=True)) as server:
        url = f"https://127.0.0.1:{server.server_port}"
        asked = ("status", "--healthz", url, "--tls-ca")
        assert littled(*asked, ours.path).status == 0
        assert littled(*asked, ours.path, "--tls-server-name", "littled.example").status == 0
        for others in (
            (*asked, theirs.path),
            (*asked, ours.path, "--tls-server-name", "another.example"),
        ):
            said = littled(*others)
            sentence = f"{url} cannot be trusted, or does not speak TLS"
            assert (said.status, said.sentence) == (1, sentence)
