"""Both clients over TLS: whom they trust, what they show, and what they say when it cannot be."""

import asyncio
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from littled_client import AddressError, AsyncClient, Client, Tls, TlsError, UnreachableError, Waits
from littled_client.addresses import TcpAddress, UnixAddress, parse_address
from littled_client.errors import ConnectionLostError
from littled_client.tls import secured, tls_failure
from littled_protocol.errors import RemoteProtocolError
from support.certificates import Authority, Issued
from support.predictions import STREAM, make_store
from support.serving import Serving, serving
from support.small_daemon import SmallDaemon

SOON = Waits(connect_seconds=0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def ours(folder: Path) -> Authority:
    return Authority(folder, "ours")


@pytest.fixture(scope="module")
def daemon(folder: Path, ours: Authority) -> Iterator[Serving]:
    """A daemon that takes certificates of our authority; "feeder" may feed and nothing else."""
    rules = folder / "grants"
    rules.write_text('[certificates.feeder]\nroles = ["feed"]\n')
    rules.chmod(0o600)
    server = ours.issue("littled.example", server=True)
    tls = {"certificate": server.certificate, "key": server.key, "client_ca": ours.path}
    with serving(
        make_store(folder / "store"),
        tcp=["127.0.0.1", 0],
        token_file=str(rules),
        tls={name: str(path) for name, path in tls.items()},
    ) as running:
        yield running


def shown(ours: Authority, issued: Issued | None = None, **options: Any) -> Tls:
    found = issued or ours.issue("feeder")
    return Tls(**{"ca": ours.path, "certificate": found.certificate, "key": found.key} | options)


def address(daemon: Serving, prefix: str = "tls://") -> str:
    host, port = daemon.address("tcp")
    return f"{prefix}{host}:{port}"


def test_an_address_says_that_tls_is_spoken() -> None:
    for text in ("tls://a.example:7", "tls://[::1]:7"):
        found = parse_address(text)
        assert isinstance(found, TcpAddress)
        assert found.tls
        assert str(found) == text
    for wrong in ("tls://", "tls://a", "tls://a/b:7", "tls://unix:/a", "tls://tls://a:7"):
        with pytest.raises(AddressError):
            parse_address(wrong)


def test_options_of_tls_make_an_address_of_tcp_one_of_tls() -> None:
    assert secured(TcpAddress("a", 7), None) == (TcpAddress("a", 7), None)
    assert secured(TcpAddress("a", 7), Tls(ca="x")) == (TcpAddress("a", 7, tls=True), Tls(ca="x"))
    assert secured(TcpAddress("a", 7, tls=True), None)[1] == Tls()
    assert secured(UnixAddress("s"), None) == (UnixAddress("s"), None)
    with pytest.raises(AddressError, match="TLS is for TCP"):
        secured(UnixAddress("s"), Tls())


def test_files_that_cannot_be_used(tmp_path: Path, ours: Authority) -> None:
    none, issued, other = tmp_path / "none", ours.issue("a"), ours.issue("b")
    for wrong in (
        Tls(ca=none),
        Tls(certificate=none),
        Tls(key=issued.key),
        Tls(certificate=issued.certificate, key=other.key),
        Tls(certificate=issued.certificate, key=none),
    ):
        with pytest.raises(TlsError) as raised:
            wrong.context()
        assert "\n" not in str(raised.value)
    context = Tls(certificate=issued.certificate, key=issued.key).context()
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.check_hostname


def test_both_clients_feed_over_tls(daemon: Serving, ours: Authority) -> None:
    x = np.arange(20_000) % 64
    with (
        Client(address(daemon), tls=shown(ours), producer="b") as client,
        client.feed(STREAM) as feeder,
    ):
        feeder.send(x.astype(np.uint8), x >= 20)
        for point in range(50):
            feeder.send_one(point, 1)
        feeder.flush()
        assert feeder.acknowledged == 20_050

    async def feed() -> None:
        tls = shown(ours, server_name="littled.example")
        async with (
            AsyncClient(address(daemon, ""), tls=tls, producer="a") as client,
            client.feed(STREAM) as feeder,
        ):
            await feeder.send(x.astype(np.uint8), x >= 20)
            for point in range(50):
                await feeder.send_one(point, 1)
            await feeder.flush()
            assert feeder.acknowledged == 20_050

    asyncio.run(feed())


def test_a_daemon_behind_a_narrow_line_is_fed_over_one_connection(
    ours: Authority, tmp_path: Path
) -> None:
    """TLS then takes nothing now and then from who may write, until a whole record has left."""
    issued = ours.issue("narrow.example", server=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.certificate, issued.key)
    x = np.arange(200_000, dtype=np.uint64)
    small = SmallDaemon({STREAM: "u64"})
    try:
        where = f"tls://127.0.0.1:{small.listen_tls(context)}"
        with Client(where, tls=Tls(ca=ours.path)) as client, client.feed(STREAM) as feeder:
            feeder.send(x, x % 2)
        assert np.concatenate([part for part, _ in small.received[STREAM]]).tolist() == x.tolist()
        assert small.greetings == 2, "those of the client and of its feeder"
    finally:
        small.close()


def test_what_is_not_allowed_is_an_error_with_its_code(daemon: Serving, ours: Authority) -> None:
    with Client(address(daemon), tls=shown(ours)) as client:
        with pytest.raises(RemoteProtocolError) as raised:
            next(client.subscribe(f"{STREAM}/late"))
        assert raised.value.code == "forbidden"
        assert set(client.status()["streams"]) == {STREAM}

    async def predict() -> None:
        async with AsyncClient(address(daemon), tls=shown(ours)) as client:
            await client.predict(f"{STREAM}/near", [1])

    with pytest.raises(RemoteProtocolError) as refused:
        asyncio.run(predict())
    assert refused.value.code == "forbidden"


def attempt(kind: str, where: str, tls: Tls | None) -> Exception | None:
    """What comes of connecting with one of the clients."""

    async def connect() -> None:
        async with AsyncClient(where, tls=tls, waits=SOON):
            pass

    try:
        if kind == "async":
            asyncio.run(connect())
        else:
            with Client(where, tls=tls, waits=SOON):
                pass
    except Exception as error:  # noqa: BLE001 - it is returned
        return error
    return None


@pytest.mark.parametrize("kind", ["async", "blocking"])
def test_a_daemon_is_trusted_by_its_authority_and_its_name(
    daemon: Serving, ours: Authority, folder: Path, kind: str
) -> None:
    where, foreign = address(daemon), Authority(folder, "foreign")
    assert attempt(kind, where, shown(ours)) is None
    for tls in (None, shown(ours, ca=foreign.path), shown(ours, server_name="other.example")):
        failure = attempt(kind, where, tls)
        assert isinstance(failure, TlsError), failure
        assert str(failure).startswith("the daemon's certificate is not trusted: ")


@pytest.mark.parametrize("kind", ["async", "blocking"])
@pytest.mark.parametrize("wrong", ["missing", "foreign", "self-signed", "expired", "early"])
def test_a_certificate_that_the_daemon_does_not_take(
    daemon: Serving, ours: Authority, folder: Path, kind: str, wrong: str
) -> None:
    ways: dict[str, Callable[[], Any]] = {
        "missing": lambda: None,
        "foreign": lambda: Authority(folder, "stranger").issue("feeder"),
        "self-signed": lambda: ours.issue("feeder", self_signed=True),
        "expired": lambda: ours.issue("feeder", expired=True),
        "early": lambda: ours.issue("feeder", early=True),
    }
    issued = ways[wrong]()
    tls = Tls(ca=ours.path) if issued is None else shown(ours, issued)
    failure = attempt(kind, address(daemon), tls)
    assert isinstance(failure, UnreachableError | TlsError), failure
    assert "certificate" in str(failure)


@pytest.mark.parametrize("kind", ["async", "blocking"])
def test_tls_with_somebody_who_speaks_none(folder: Path, kind: str) -> None:
    store = folder / f"plain-{kind}"
    with serving(make_store(store), tcp=["127.0.0.1", 0]) as plain:
        failure = attempt(kind, address(plain), Tls())
    assert isinstance(failure, TlsError | UnreachableError), failure


def test_errors_of_tls_are_told_apart() -> None:
    closed = tls_failure(ssl.SSLEOFError(8, "EOF occurred"))
    assert isinstance(closed, ConnectionLostError)
    refused = ssl.SSLError(1, "x")
    refused.reason = "TLSV1_ALERT_UNKNOWN_CA"
    assert "tlsv1 alert unknown ca" in str(tls_failure(refused))
    assert isinstance(tls_failure(refused), TlsError)
