"""Serving: addresses, tokens, logs, and how a daemon ends."""

import json
import shutil
import socket
import time
from pathlib import Path

import pytest

from littled.cli.serving import handed_over
from support.certificates import Authority
from support.commands import START_SECONDS, Daemon, Littled, flights_csv, make_store, serve, start

COLUMNS = ["--x", "delay", "--y", "late", "--clip", "-30", "225", "--offset", "-30"]
TOKEN = "0123456789abcdef" * 4


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert isinstance(port, int)
    return port


def test_a_daemon_ends_well_and_logs_lines_of_json(tmp_path: Path) -> None:
    make_store(tmp_path)
    running = serve(tmp_path)
    running.process.terminate()
    out, err = running.process.communicate(timeout=START_SECONDS)
    assert (running.process.returncode, out) == (0, "")
    events = [json.loads(line)["event"] for line in err.splitlines()]
    assert events[-1] == "stopping"
    assert "ready" in events


@pytest.mark.long
def test_a_daemon_that_is_killed_goes_on_exactly(littled: Littled, tmp_path: Path) -> None:
    make_store(tmp_path)
    file = flights_csv(tmp_path / "flights.csv", 20_000)
    running = serve(tmp_path)
    feed = ["feed", "flights", str(file), *COLUMNS, "-a", running.address, "--batch", "100"]
    feeder = start(*feed, "--rate", "10000", "--wait", "20", "--json")
    for _ in range(3):
        time.sleep(0.5)
        running.process.kill()
        running.process.communicate(timeout=START_SECONDS)
        running = serve(tmp_path)
    out, err = feeder.communicate(timeout=START_SECONDS)
    assert (feeder.returncode, err) == (0, "")
    assert json.loads(out)["acknowledged"] == 20_000
    running.process.kill()
    running.process.communicate(timeout=START_SECONDS)
    facts = littled("verify", running.store, "--replay", "--json").json
    assert facts["findings"] == []
    assert facts["streams"]["flights"]["examples"] == 20_000
    assert facts["replay"]["flights"]["releases"] >= 2


def test_a_store_is_served_by_one_daemon_only(littled: Littled, daemon: Daemon) -> None:
    said = littled("serve", daemon.store, "--unix", daemon.folder / "second.sock")
    assert said.status == 3
    assert str(daemon.store) in said.sentence
    assert littled("status", "-a", daemon.address).status == 0


def test_what_is_no_store_is_not_served(littled: Littled, tmp_path: Path) -> None:
    said = littled("serve", tmp_path / "none", "--unix", tmp_path / "d.sock")
    assert said.status == 3
    assert "make one with littled init" in said.sentence
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--tcp", "0.0.0.0:PORT"], "set a token"),
        (["--tcp", "nowhere"], "nowhere"),
        (["--http", "0.0.0.0:PORT", "--unix", "SOCKET"], "set a token"),
        (["--unix", "/no/such/folder/d.sock"], "/no/such/folder/d.sock"),
    ],
)
def test_an_address_that_must_not_be_opened_is_refused(
    littled: Littled, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    make_store(tmp_path)
    words = [
        each.replace("PORT", str(free_port())).replace("SOCKET", str(tmp_path / "d.sock"))
        for each in arguments
    ]
    said = littled("serve", tmp_path / "store", *words)
    assert said.status == 2
    assert sentence in said.sentence


def test_peers_on_tcp_show_the_token(littled: Littled, tmp_path: Path) -> None:
    make_store(tmp_path)
    right, wrong = tmp_path / "token", tmp_path / "wrong"
    right.write_text(f"{TOKEN}\n")
    right.chmod(0o600)
    wrong.write_text("f" * 64)
    where = f"127.0.0.1:{free_port()}"
    running = serve(tmp_path, "--tcp", where, "--token-file", right)
    assert littled("status", "-a", where, "--token-file", right).status == 0
    for shown in (["--token-file", str(wrong)], []):
        said = littled("status", "-a", where, *shown)
        assert (said.status, "unauthorized" in said.sentence) == (1, True)
    assert running.stop() == 0


@pytest.mark.parametrize(
    ("text", "mode", "sentence"),
    [
        ("", 0o600, "is empty"),
        ("short", 0o600, "is shorter than 32 bytes"),
        (TOKEN, 0o644, "has mode 0644"),
        (f'[tokens.a]\ntoken = "{TOKEN}"\nroles = ["admin"]', 0o600, "has no role 'admin'"),
        (
            f'[tokens.a]\ntoken = "{TOKEN}"\nroles = ["feed"]\nstreams = ["trains"]',
            0o600,
            "tokens.a names the stream 'trains'",
        ),
    ],
)
def test_rules_that_cannot_be_meant_are_refused(
    littled: Littled, tmp_path: Path, text: str, mode: int, sentence: str
) -> None:
    make_store(tmp_path)
    token = tmp_path / "token"
    token.write_text(text)
    token.chmod(mode)
    said = littled("serve", tmp_path / "store", "--tcp", "127.0.0.1:1", "--token-file", token)
    assert (said.status, sentence in said.sentence) == (2, True), said.sentence


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--tls-cert", "CERT"], "TLS needs both --tls-cert and --tls-key"),
        (["--tls-client-ca", "CERT"], "TLS needs both --tls-cert and --tls-key"),
        (["--tls-cert", "CERT", "--tls-key", "OTHER"], "is not the one of the certificate"),
        (["--tls-cert", "CERT", "--tls-key", "NONE"], "cannot read the key"),
        (["--token-file", "TOKEN", "--tcp", "0.0.0.0:9"], "--plaintext-beyond-loopback"),
    ],
)
def test_tls_that_cannot_be_meant_is_refused(
    littled: Littled, tmp_path: Path, given: list[str], sentence: str
) -> None:
    make_store(tmp_path)
    authority = Authority(tmp_path, "ours")
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    files = {
        "CERT": authority.issue("a", server=True).certificate,
        "OTHER": authority.issue("b", server=True).key,
        "NONE": tmp_path / "none",
        "TOKEN": token,
    }
    words = [str(files.get(word, word)) for word in given]
    said = littled("serve", tmp_path / "store", *words)
    assert (said.status, sentence in said.sentence) == (2, True), said.sentence


def test_commands_speak_tls(littled: Littled, tmp_path: Path) -> None:
    """The daemon's files come as credentials, as systemd hands them over; it listens on a port."""
    make_store(tmp_path)
    authority = Authority(tmp_path, "ours")
    server, client = authority.issue("localhost", server=True), authority.issue("operator")
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    for name, file in {
        "tls.crt": server.certificate,
        "tls.key": server.key,
        "tls-client-ca.crt": authority.path,
    }.items():
        shutil.copy(file, credentials / name)
    (credentials / "tokens").write_text('[certificates.operator]\nroles = ["operate"]\n')
    (credentials / "tokens").chmod(0o400)
    where = f"tls://localhost:{free_port()}"
    environment = {"CREDENTIALS_DIRECTORY": str(credentials)}
    listen = where.removeprefix("tls://").replace("localhost", "127.0.0.1")
    running = start("serve", tmp_path / "store", "--tcp", listen, environment=environment)
    papers = ["--tls-cert", client.certificate, "--tls-key", client.key]
    ask = ["status", "-a", where, "--tls-ca", authority.path, "--wait", "30"]
    assert littled(*ask, *papers).status == 0
    said = littled(*ask[:-2])
    assert (said.status, "certificate" in said.sentence) == (1, True), said.sentence
    said = littled("status", "-a", where, *papers)
    assert (said.status, "is not trusted" in said.sentence) == (1, True), said.sentence
    running.terminate()
    running.communicate(timeout=START_SECONDS)
    assert running.returncode == 0


def test_a_token_file_that_is_not_there(littled: Littled, tmp_path: Path) -> None:
    make_store(tmp_path)
    said = littled("serve", tmp_path / "store", "--token-file", tmp_path / "none")
    assert said.status == 2
    assert said.sentence == f"cannot read the token file {tmp_path}/none: No such file or directory"


def test_clients_find_the_daemon_of_their_session(tmp_path: Path) -> None:
    make_store(tmp_path)
    session = {"XDG_RUNTIME_DIR": str(tmp_path)}
    running = start("serve", tmp_path / "store", environment=session)
    asking = start("status", "--json", "--wait", "20", environment=session)
    out, err = asking.communicate(timeout=START_SECONDS)
    assert (asking.returncode, err) == (0, "")
    assert set(json.loads(out)["streams"]) == {"flights", "addresses"}
    running.terminate()
    running.communicate(timeout=START_SECONDS)
    assert running.returncode == 0


def test_an_address_for_clients_on_tcp_is_no_place_to_listen(
    littled: Littled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_store(tmp_path)
    monkeypatch.setenv("LITTLED_ADDRESS", "localhost:4000")
    said = littled("serve", tmp_path / "store")
    assert said.status == 2
    assert said.sentence == "LITTLED_ADDRESS names no Unix socket; say where to listen"


def test_the_key_may_come_from_systemd(tmp_path: Path) -> None:
    assert handed_over({}, "noise.key") is None
    assert handed_over({"CREDENTIALS_DIRECTORY": str(tmp_path)}, "noise.key") is None
    (tmp_path / "noise.key").write_text("00")
    found = handed_over({"CREDENTIALS_DIRECTORY": str(tmp_path)}, "noise.key")
    assert found == tmp_path / "noise.key"
    assert handed_over({"CREDENTIALS_DIRECTORY": str(tmp_path)}, "tokens") is None


def test_a_store_opens_with_a_key_that_was_handed_over(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    (store / "noise.key").rename(credentials / "noise.key")
    environment = {"CREDENTIALS_DIRECTORY": str(credentials), "XDG_RUNTIME_DIR": str(tmp_path)}
    running = start("serve", store, environment=environment)
    asking = start("status", "--wait", "20", environment=environment)
    asking.communicate(timeout=START_SECONDS)
    running.terminate()
    _, err = running.communicate(timeout=START_SECONDS)
    assert (asking.returncode, running.returncode) == (0, 0), err


def answer_of(port: int, request: bytes) -> bytes:
    """Everything that comes from a port after a request."""
    with socket.create_connection(("127.0.0.1", port), START_SECONDS) as peer:
        peer.sendall(request)
        return b"".join(iter(lambda: peer.recv(4096), b""))


def test_who_speaks_another_protocol_is_told_in_words(littled: Littled, tmp_path: Path) -> None:
    """HTTP and TLS to the port of clients, clients and TLS to that of HTTP, and no TLS to TLS."""
    make_store(tmp_path)
    tcp, http = free_port(), free_port()
    running = serve(tmp_path, "--tcp", f"127.0.0.1:{tcp}", "--http", f"127.0.0.1:{http}")
    found = answer_of(tcp, b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert found.startswith(b"HTTP/1.1 400 ")
    assert found.endswith(b"the daemon speaks HTTP at the address of --http.\n")
    assert littled("status", "-a", f"127.0.0.1:{http}").sentence == (
        "malformed_frame: What answers speaks HTTP; a client needs the address of --unix or --tcp."
    )
    for port in (tcp, http):
        said = littled("status", "-a", f"tls://127.0.0.1:{port}")
        assert said.sentence == "what answers speaks no TLS; write its address without tls://"
    assert littled("status", "-a", f"127.0.0.1:{tcp}").status == 0
    assert running.stop() == 0


def test_a_client_without_tls_is_told_that_a_port_has_it(littled: Littled, tmp_path: Path) -> None:
    make_store(tmp_path)
    server = Authority(tmp_path, "ours").issue("localhost", server=True)
    port = free_port()
    files = ["--tls-cert", str(server.certificate), "--tls-key", str(server.key)]
    running = serve(tmp_path, "--tcp", f"127.0.0.1:{port}", *files)
    said = littled("status", "-a", f"127.0.0.1:{port}")
    assert said.sentence.endswith("is littled running, and is TLS spoken there (tls://HOST:PORT)?")
    assert running.stop() == 0


def test_pages_say_what_was_spent_as_a_number(littled: Littled, tmp_path: Path) -> None:
    make_store(tmp_path)
    port = free_port()
    running = serve(tmp_path, "--http", f"127.0.0.1:{port}")
    feed = ["feed", "flights", flights_csv(tmp_path / "flights.csv", 3_000)]
    columns = ["--x", "delay", "--y", "late", "-a", running.address]
    assert littled(*feed, *columns).status == 0
    request = "GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    status = answer_of(port, request.format("/status").encode()).partition(b"\r\n\r\n")[2]
    facts = json.loads(status)["streams"]["flights"]
    assert 0 <= facts["epsilon_prepaid"] <= facts["epsilon_spent"] <= facts["epsilon"] == 1.0
    assert facts["epsilon_spent"] > 0
    metrics = answer_of(port, request.format("/metrics").encode()).decode()
    for key in ("epsilon", "epsilon_spent", "epsilon_prepaid"):
        assert f'littled_stream_{key}{{stream="flights"}} {facts[key]}\n' in metrics
    assert running.stop() == 0
