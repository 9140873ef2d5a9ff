"""TLS over real sockets: certificates right, foreign, expired, early, self-signed or missing."""

import shutil
import signal
import socket
import ssl
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from littled.service.access import AccessError
from littled.service.tls import TlsFiles
from littled_protocol.codec import encode_frame
from littled_protocol.messages import Hello, Open, Opened, Ping, Pong, Subscribe, Welcome
from support.certificates import Authority, Issued, write_key
from support.networks import needs_version_six
from support.predictions import STREAM, make_store
from support.serving import Peer, Serving, serving

SHORT = {
    "littled_protocol.limits.first_frame_seconds": 1.0,
    "littled.service.http_connections.HTTP_HEAD_SECONDS": 1.0,
}


@dataclass(frozen=True)
class Papers:
    """Everybody's certificates."""

    ours: Authority
    foreign: Authority
    server: Issued


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    folder = tmp_path_factory.mktemp("papers")
    ours = Authority(folder, "ours")
    return Papers(ours, Authority(folder, "foreign"), ours.issue("localhost", server=True))


@pytest.fixture(scope="module")
def daemon(papers: Papers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A daemon that wants certificates of our authority; "feeder-1" may feed, "boss" everything."""
    folder = tmp_path_factory.mktemp("tls")
    rules = folder / "grants"
    everything = '["feed", "subscribe", "predict", "operate"]'
    rules.write_text(
        f'[certificates.feeder-1]\nroles = ["feed"]\n[certificates.boss]\nroles = {everything}\n'
    )
    rules.chmod(0o600)
    with serving(
        make_store(folder / "store"),
        tcp=["127.0.0.1", 0],
        http=["127.0.0.1", 0],
        token_file=str(rules),
        tls=files(papers.server, papers.ours),
        limits=SHORT,
    ) as running:
        yield running


def files(issued: Issued, authority: Authority | None = None) -> dict[str, str]:
    """What a daemon is told about its TLS."""
    found = {"certificate": str(issued.certificate), "key": str(issued.key)}
    return found if authority is None else found | {"client_ca": str(authority.path)}


def client_context(papers: Papers, shown: Issued | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cafile=papers.ours.path)
    if shown is not None:
        context.load_cert_chain(shown.certificate, shown.key)
    return context


def secret_peer(address: tuple[str, int], context: ssl.SSLContext) -> Peer:
    """A peer that speaks TLS."""
    plain = socket.create_connection(address, 60)
    try:
        return Peer(context.wrap_socket(plain, server_hostname="localhost"))
    except BaseException:
        plain.close()
        raise


def greets(address: tuple[str, int], context: ssl.SSLContext) -> bool:
    """Whether a peer gets as far as the greeting; the end of the connection is the other way."""
    with suppress(OSError), secret_peer(address, context) as peer:
        peer.send(Hello(1, "peer/1"))
        return isinstance(peer.receive(), Welcome)
    return False


def test_a_certificate_carries_its_roles(daemon: Serving, papers: Papers) -> None:
    feeder = client_context(papers, papers.ours.issue("feeder-1"))
    with secret_peer(daemon.address("tcp"), feeder) as peer:
        peer.send(Hello(1, "peer/1"))
        peer.expect(Welcome)
        peer.open(STREAM, "p")
        peer.feed(0, bytes(500), bytes(500))
        peer.acknowledged(500)
        peer.send(Subscribe(f"{STREAM}/late", 0))
        assert peer.error() == "forbidden"
    with secret_peer(daemon.address("tcp"), client_context(papers, papers.ours.issue("x"))) as peer:
        peer.send(Hello(1, "peer/1"))
        assert peer.error() == "unauthorized"


WRONG: dict[str, Callable[[Papers], Issued | None]] = {
    "missing": lambda _: None,
    "foreign": lambda papers: papers.foreign.issue("boss"),
    "self-signed": lambda papers: papers.ours.issue("boss", self_signed=True),
    "expired": lambda papers: papers.ours.issue("boss", expired=True),
    "not valid yet": lambda papers: papers.ours.issue("boss", early=True),
    "a server's": lambda papers: papers.ours.issue("boss", server=True),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_certificate_opens_nothing(daemon: Serving, papers: Papers, wrong: str) -> None:
    right = client_context(papers, papers.ours.issue("boss"))
    context = client_context(papers, WRONG[wrong](papers))
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        for each in (right, context):
            each.minimum_version = each.maximum_version = version
        assert greets(daemon.address("tcp"), right)
        assert not greets(daemon.address("tcp"), context)
        with pytest.raises(OSError):  # noqa: PT011 - the end of a connection has many forms
            urllib.request.urlopen(https(daemon, "/healthz"), timeout=30, context=context)  # noqa: S310


def test_a_certificate_of_the_authority_is_needed_everywhere(
    papers: Papers, tmp_path: Path
) -> None:
    """Where nothing else is asked for, it opens everything, and without it nothing opens."""
    ports: dict[str, Any] = {"tcp": ["127.0.0.1", 0], "http": ["127.0.0.1", 0]}
    tls = files(papers.server, papers.ours)
    with serving(make_store(tmp_path / "store"), tls=tls, **ports) as running:
        known = client_context(papers, papers.ours.issue("anybody"))
        unknown = client_context(papers, None)
        assert greets(running.address("tcp"), known)
        assert page(running, "/metrics", known) == 200
        assert not greets(running.address("tcp"), unknown)
        for path in ("/healthz", "/metrics"):
            with pytest.raises(OSError):  # noqa: PT011 - the end of a connection has many forms
                page(running, path, unknown)


def https(daemon: Serving, path: str) -> str:
    host, port = daemon.address("http")
    return f"https://{host}:{port}{path}"


def page(daemon: Serving, path: str, context: ssl.SSLContext) -> int:
    try:
        with urllib.request.urlopen(https(daemon, path), timeout=30, context=context) as got:  # noqa: S310
            return int(got.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_pages_over_tls_know_who_asks(daemon: Serving, papers: Papers) -> None:
    boss = client_context(papers, papers.ours.issue("boss"))
    assert page(daemon, "/metrics", boss) == page(daemon, "/healthz", boss) == 200
    assert page(daemon, "/metrics", client_context(papers, papers.ours.issue("feeder-1"))) == 403
    assert page(daemon, "/metrics", client_context(papers, papers.ours.issue("x"))) == 401


def test_old_versions_and_plain_bytes_are_not_spoken(daemon: Serving, papers: Papers) -> None:
    old = client_context(papers, papers.ours.issue("boss"))
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    assert not greets(daemon.address("tcp"), old)
    for name in ("tcp", "http"):
        with socket.create_connection(daemon.address(name), 60) as plain:
            plain.sendall(encode_frame(Hello(1, "peer/1")) + b"GET /healthz HTTP/1.1\r\n\r\n")
            with suppress(ConnectionError):
                assert b"welcome" not in plain.recv(1 << 16)


def test_a_handshake_that_is_never_finished_is_ended(daemon: Serving, papers: Papers) -> None:
    """Silent from the start, or after the first bytes of a hello; others are served meanwhile."""
    boss = client_context(papers, papers.ours.issue("boss"))
    begun = []
    for name in ("tcp", "http"):
        for data in (b"", b"\x16", b"\x16\x03\x01\x02\x00\x01"):
            begun.append(socket.create_connection(daemon.address(name), 60))
            begun[-1].sendall(data)
    assert greets(daemon.address("tcp"), boss)
    assert page(daemon, "/healthz", boss) == 200
    for connection in begun:
        with connection, suppress(ConnectionError):
            while connection.recv(1 << 16):
                pass


def test_handshakes_count_as_connections(papers: Papers, tmp_path: Path) -> None:
    """So many unfinished ones neither pile up nor shut anybody out."""
    few = {"littled.service.admission.CONNECTIONS_MAX": 8}
    with serving(
        make_store(tmp_path / "store"),
        tcp=["127.0.0.1", 0],
        http=["127.0.0.1", 0],
        tls=files(papers.server),
        limits=few | {"littled.service.http_connections.HTTP_WAITING_MAX": 4},
    ) as running:
        context = client_context(papers, None)
        begun = []
        for name in ("tcp", "http"):
            for _ in range(20):
                begun.append(socket.create_connection(running.address(name), 60))
                begun[-1].sendall(b"\x16\x03\x01\x02\x00\x01")
        assert greets(running.address("tcp"), context)
        assert page(running, "/healthz", context) == 200
        sockets = (Path("/proc") / str(running.process.pid) / "fd").iterdir()
        deadline = time.monotonic() + 4  # less than a handshake may take
        while len(list((Path("/proc") / str(running.process.pid) / "fd").iterdir())) > 40 + 8:
            assert time.monotonic() < deadline, len(list(sockets))
            time.sleep(0.05)
        for connection in begun:
            connection.close()


def test_an_unfinished_peer_does_not_hold_up_the_end(papers: Papers, tmp_path: Path) -> None:
    with serving(
        make_store(tmp_path / "store"), tcp=["127.0.0.1", 0], tls=files(papers.server)
    ) as running:
        with (
            socket.create_connection(running.address("tcp"), 60) as silent,
            secret_peer(running.address("tcp"), client_context(papers, None)) as peer,
        ):
            silent.sendall(b"\x16")
            peer.send(Hello(1, "peer/1"))
            peer.expect(Welcome)
            peer.send(Open(0, STREAM, "p"), Ping(1))
            assert {type(peer.receive()) for _ in range(2)} == {Opened, Pong}
            running.process.terminate()
            assert peer.error() == "shutting_down"
        assert running.ended() == 0


def test_a_renewed_certificate_is_shown_after_a_signal(papers: Papers, tmp_path: Path) -> None:
    """A wrong pair is told in the log and changes nothing; sessions go on."""
    mine = tmp_path / "server.pem", tmp_path / "server.key"

    def install(certificate: Path, key: Path) -> None:
        for old, new in zip((certificate, key), mine, strict=True):
            shutil.copy(old, new)

    def shown() -> str:
        with secret_peer(running.address("tcp"), client_context(papers, None)) as peer:
            assert isinstance(peer.socket, ssl.SSLSocket)
            return str((peer.socket.getpeercert() or {})["serialNumber"])

    first, second = (papers.ours.issue("localhost", server=True) for _ in range(2))
    install(first.certificate, first.key)
    tls = {"certificate": str(mine[0]), "key": str(mine[1])}
    with serving(make_store(tmp_path / "store"), tcp=["127.0.0.1", 0], tls=tls) as running:
        before = shown()
        install(second.certificate, first.key)
        running.process.send_signal(signal.SIGHUP)
        assert "is not the one of" in running.wait_for("rules not changed")["reason"]
        assert shown() == before
        install(second.certificate, second.key)
        running.process.send_signal(signal.SIGHUP)
        running.wait_for("rules read again")
        assert shown() != before


# --- Files ----------------------------------------------------------------------------------------


def wrong_files(papers: Papers, folder: Path) -> dict[str, tuple[TlsFiles, str]]:
    cert, key = papers.server.certificate, papers.server.key
    other = papers.ours.issue("other", server=True)
    none, text, locked = folder / "none", folder / "text", folder / "locked"
    text.write_text("hello")
    text.chmod(0o600)
    write_key(locked, ec.generate_private_key(ec.SECP256R1()), b"password")
    loose = Path(shutil.copy(key, folder / "loose"))
    loose.chmod(0o644)
    return {
        "no certificate": (TlsFiles(none, key), f"cannot read the certificate {none}: No such"),
        "no key": (TlsFiles(cert, none), f"cannot read the key {none}: No such file or directory"),
        "no authority": (TlsFiles(cert, key, none), f"cannot read the client authority {none}: No"),
        "a certificate that is none": (
            TlsFiles(text, key),
            f"the certificate {text} holds no certificate in PEM",
        ),
        "a key that is none": (TlsFiles(cert, text), f"the key {text} holds no private key in PEM"),
        "an authority that is none": (
            TlsFiles(cert, key, text),
            f"the client authority {text} holds no certificate in PEM",
        ),
        "the key of another": (
            TlsFiles(cert, other.key),
            f"the key {other.key} is not the one of the certificate {cert}",
        ),
        "a locked key": (
            TlsFiles(cert, locked),
            f"the key {locked} is encrypted; give",
        ),
        "a key for everybody": (TlsFiles(cert, loose), f"the key {loose} has mode 0644, so that"),
    }


def test_what_is_wrong_with_a_file_is_said_in_one_sentence(papers: Papers, tmp_path: Path) -> None:
    for name, (given, sentence) in wrong_files(papers, tmp_path).items():
        with pytest.raises(AccessError) as raised:
            given.context()
        assert str(raised.value).startswith(sentence), name
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "everywhere",
    ["0.0.0.0", pytest.param("::", marks=needs_version_six)],  # noqa: S104 - no port is opened
)
def test_beyond_this_machine_tls_is_needed_unless_switched_off_in_words(
    tmp_path: Path, everywhere: str
) -> None:
    store = make_store(tmp_path / "store")
    token: dict[str, Any] = {"token": "0123456789abcdef" * 2}
    for name in ("tcp", "http"):
        with serving(store, ready=False, **token, **{name: [everywhere, 0]}) as running:
            assert running.ended() == 1
            assert any(line.get("error_type") == "AccessError" for line in running.lines)
    with serving(store, plaintext=True, **token, tcp=[everywhere, 0]) as running:
        assert running.stop() == 0
