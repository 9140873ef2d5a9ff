"""Roles over real sockets: what each token, and each user of the machine, may do and may not."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from littled.store.store import Store
from littled_protocol.codec import encode_frame
from littled_protocol.errors import ERROR_SENTENCES, ErrorCode
from littled_protocol.messages import (
    Error,
    Examples,
    Hello,
    Open,
    Opened,
    Ping,
    Pong,
    Predict,
    Prediction,
    Status,
    StatusRequest,
    Subscribe,
)
from support.predictions import STREAM, make_store, stream_plan
from support.serving import Peer, Serving, framed, raw, serving

ROLES = ("feed", "subscribe", "predict", "operate")
TOKENS = {role: f"token to {role} ".ljust(32, "0") for role in ROLES}
ELSEWHERE = "token for another stream".ljust(32, "0")
OTHERS = 65_000  # a number that nobody has


def grants(tokens: dict[str, str], more: str = "") -> str:
    """A file with a token for each role."""
    parts = [
        f'[tokens.{role}]\ntoken = "{token}"\nroles = ["{role}"]' for role, token in tokens.items()
    ]
    return "\n".join([*parts, more])


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def module_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("roles") / "store")


@pytest.fixture(scope="module")
def daemon(module_store: Path) -> Iterator[Serving]:
    """A daemon with a token for each role."""
    path = written(module_store.parent / "tokens", grants(TOKENS))
    ports: dict[str, list[object]] = {"tcp": ["127.0.0.1", 0], "http": ["127.0.0.1", 0]}
    with serving(module_store, token_file=str(path), **ports) as running:
        yield running


def greet(daemon: Serving, token: str) -> Peer:
    return Peer.greet(daemon.address("tcp"), token)


REQUESTS = {
    "feed": Open(0, STREAM, "p"),
    "subscribe": Subscribe(f"{STREAM}/late", 0),
    "predict": Predict(bytes(16), f"{STREAM}/near", 1, b"\1"),
}


@pytest.mark.parametrize("role", ROLES)
def test_a_token_is_for_its_role(daemon: Serving, role: str) -> None:
    for needed, request in REQUESTS.items():
        with greet(daemon, TOKENS[role]) as peer:
            peer.send(request, Ping(5))
            if needed != role:
                assert peer.error() == "forbidden"
                continue
            kinds = {"feed": Opened, "subscribe": Pong, "predict": object}
            answer = peer.receive()
            assert not isinstance(answer, Error)
            assert isinstance(answer, kinds[needed] | Pong)


@pytest.mark.parametrize("role", ROLES)
def test_everybody_with_a_token_may_ask_for_the_status(daemon: Serving, role: str) -> None:
    with greet(daemon, TOKENS[role]) as peer:
        peer.send(StatusRequest())
        assert set(peer.expect(Status).body["streams"]) == {STREAM}


def test_nothing_is_looked_at_but_the_kind_of_a_message(daemon: Serving) -> None:
    """Who may not feed does not learn whether anything else is wrong with what it sends."""
    frames = [
        raw(type="open", channel=-1, stream="no such stream!", producer=""),
        raw(type="open"),
        raw(type="examples", channel=7, sequence=0, count=0, x=5),
        raw(x=[[]], type="examples"),
        encode_frame(Examples(0, 0, 2, b"\1\2", b"\0\1")),
        raw(type="predict", learner=0),
    ]
    for frame in frames:
        with greet(daemon, TOKENS["subscribe"]) as peer:
            peer.write(frame)
            answer = peer.expect(Error)
            assert (answer.code, answer.channel) == ("forbidden", None)
            assert answer.message == ERROR_SENTENCES[ErrorCode.FORBIDDEN]
    with greet(daemon, TOKENS["subscribe"]) as peer:  # what is no message has no kind
        peer.write(framed(b"\x82\xa4type\xa4open\xa4type\xa4open"))
        assert peer.error() == "malformed_frame"


def test_a_frame_before_the_greeting_says_nothing_about_roles(daemon: Serving) -> None:
    with Peer.connect(daemon.address("tcp")) as peer:
        peer.write(raw(type="open", channel=0, stream=STREAM, producer="p"))
        assert peer.error() == "unexpected_message"
    for token in (None, "", ELSEWHERE, TOKENS["feed"][:-1]):
        with Peer.connect(daemon.address("tcp")) as peer:
            peer.send(Hello(1, "peer/1", token))
            assert peer.error() == "unauthorized"


def page(daemon: Serving, path: str, token: str, question: object = None) -> int:
    """The status of an answer over HTTP."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    body = None if question is None else json.dumps(question).encode()
    request = urllib.request.Request(daemon.url(path), body, headers)  # noqa: S310 - its own
    try:
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.parametrize("role", ROLES)
def test_pages_need_a_role(daemon: Serving, role: str) -> None:
    token = TOKENS[role]
    assert page(daemon, "/healthz", "") == page(daemon, "/status", token) == 200
    assert page(daemon, "/metrics", token) == (200 if role == "operate" else 403)
    for path in (f"/rules/{STREAM}/late", f"/rules/{STREAM}/none", "/rules/none/none/events"):
        assert (page(daemon, path, token) == 403) == (role != "subscribe")
    questions: list[Any] = [{"learner": f"{STREAM}/near", "x": [1]}, {"learner": 5}, []]
    for question in questions:
        assert (page(daemon, "/predict", token, question) == 403) == (role != "predict")
    for stream, rows in ((STREAM, [[1, 0]]), ("none", []), (STREAM, {})):
        fed = page(daemon, f"/feed/{stream}?producer={role}&sequence=0", token, rows)
        assert (fed == 403) == (role != "feed")
    asked = page(daemon, f"/feed/{STREAM}?producer={role}", token)
    assert asked == (200 if role == "feed" else 403)
    assert page(daemon, "/nowhere", token) == 404


def test_a_grant_is_for_its_streams(tmp_path: Path) -> None:
    """A stream that a token is not for cannot be told from one that is not there."""
    plans = [replace(stream_plan(), stream=name).to_dict() for name in (STREAM, "other")]
    Store.create(tmp_path / "store", {}, {str(plan["stream"]): plan for plan in plans})
    lines = f'roles = ["feed", "subscribe", "predict", "operate"]\nstreams = ["{STREAM}"]'
    path = written(tmp_path / "tokens", f'[tokens.all]\ntoken = "{ELSEWHERE}"\n{lines}')
    ports: dict[str, list[object]] = {"tcp": ["127.0.0.1", 0], "http": ["127.0.0.1", 0]}
    with serving(tmp_path / "store", token_file=str(path), **ports) as daemon:
        for other in ("other", "none"):
            for request in (
                Open(0, other, "p"),
                Subscribe(f"{other}/late", 0),
                Predict(bytes(16), f"{other}/late", 1, b"\1"),
            ):
                with greet(daemon, ELSEWHERE) as peer:
                    peer.send(request)
                    assert peer.error() == "forbidden"
            assert page(daemon, f"/rules/{other}/late", ELSEWHERE) == 403
            assert page(daemon, "/predict", ELSEWHERE, {"learner": f"{other}/l", "x": [1]}) == 403
            assert page(daemon, f"/feed/{other}?producer=p&sequence=0", ELSEWHERE, [[1, 0]]) == 403
        with greet(daemon, ELSEWHERE) as peer:
            peer.open(STREAM, "p")
            peer.send(StatusRequest())
            assert set(peer.expect(Status).body["streams"]) == {STREAM}
        assert page(daemon, "/predict", ELSEWHERE, {"learner": f"{STREAM}/late", "x": [1]}) == 409


# --- Rules that change ----------------------------------------------------------------------------


def test_rules_are_read_again(tmp_path: Path) -> None:
    """A revoked token ends its sessions, another stays, a wrong file changes nothing."""
    store = make_store(tmp_path / "store")
    path = written(tmp_path / "tokens", grants(TOKENS))
    tcp: list[object] = ["127.0.0.1", 0]
    with serving(store, token_file=str(path), tcp=tcp) as daemon:
        feeder, watcher, asker = (greet(daemon, TOKENS[role]) for role in ROLES[:3])
        feeder.open(STREAM, "p")
        written(path, grants({"subscribe": TOKENS["subscribe"], "feed": ELSEWHERE}))
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_for("rules read again")
        assert feeder.error() == asker.error() == "unauthorized"
        with greet(daemon, ELSEWHERE) as again:
            again.open(STREAM, "p")
            written(path, "[tokens.a]\nroles = ['none']")
            daemon.process.send_signal(signal.SIGHUP)
            assert "either token or sha256" in daemon.wait_for("rules not changed")["reason"]
            written(path, grants({"subscribe": TOKENS["subscribe"], "predict": ELSEWHERE}))
            daemon.process.send_signal(signal.SIGHUP)
            assert again.error() == "forbidden"
        with watcher:
            watcher.send(Ping(3))
            assert watcher.expect(Pong).nonce == 3
        assert daemon.stop() == 0


def test_a_file_without_a_token_closes_the_ports(tmp_path: Path) -> None:
    """From the start and after a signal, where an open one would let in who was turned away."""
    store, closed = make_store(tmp_path / "store"), "nobody may come in by TCP or HTTP"
    users = f'[users.{os.geteuid()}]\nroles = ["feed"]\n'
    path = written(tmp_path / "tokens", users)
    ports: dict[str, list[object]] = {"tcp": ["127.0.0.1", 0], "http": ["127.0.0.1", 0]}
    with serving(store, token_file=str(path), **ports) as daemon:

        def turns_away(token: str) -> bool:
            with Peer.connect(daemon.address("tcp")) as peer:
                peer.send(Hello(1, "peer/1", token))
                return (peer.receive(), page(daemon, "/status", token)) == (
                    Error(ErrorCode.UNAUTHORIZED, ERROR_SENTENCES[ErrorCode.UNAUTHORIZED]),
                    401,
                )

        assert "neither a token nor a certificate" in daemon.wait_for(closed)["reason"]
        assert turns_away(TOKENS["feed"])
        assert page(daemon, "/healthz", "") == 200
        with Peer.greet(daemon.unix) as peer:
            peer.open(STREAM, "p")
        written(path, users + grants(TOKENS))
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_for("rules read again")
        feeder = greet(daemon, TOKENS["feed"])
        feeder.open(STREAM, "q")
        assert turns_away("")
        written(path, users)
        daemon.process.send_signal(signal.SIGHUP)
        assert feeder.error() == "unauthorized"
        assert turns_away(TOKENS["feed"])
        assert daemon.stop() == 0
        assert [line["event"] for line in daemon.lines].count(closed) == 2
    with serving(store, token_file=str(path)) as daemon:
        assert daemon.stop() == 0
        assert closed not in [line["event"] for line in daemon.lines]


# --- Users of this machine ------------------------------------------------------------------------


def test_a_unix_socket_is_for_the_users_that_are_named(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store")
    me = f'[users.{os.geteuid()}]\nroles = ["feed"]\n'
    path = written(tmp_path / "tokens", grants({"predict": TOKENS["predict"]}, me))
    with serving(store, token_file=str(path)) as daemon:
        with Peer.greet(daemon.unix) as peer:
            peer.open(STREAM, "p")
            peer.send(Subscribe(f"{STREAM}/late", 0))
            assert peer.error() == "forbidden"
        with Peer.greet(daemon.unix, TOKENS["predict"]) as peer:  # what it shows adds up
            peer.open(STREAM, "q")
            peer.send(Predict(bytes(16), f"{STREAM}/late", 1, b"\1"))
            assert not isinstance(peer.receive(), Error | Prediction)
        written(path, f'[users.{OTHERS}]\nroles = ["feed"]\n')
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_for("rules read again")
        with Peer.connect(daemon.unix) as peer:
            peer.send(Hello(1, "peer/1"))
            assert peer.error() == "unauthorized"


CONNECT = """
import os, socket, sys
os.setgroups([]); os.setgid(12345); os.setuid(12345)
peer = socket.socket(socket.AF_UNIX)
peer.connect(sys.argv[1])
peer.sendall(bytes.fromhex(sys.argv[2]))
peer.settimeout(30)
print(peer.recv(1 << 16).hex())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_another_user_is_known_and_in_a_namespace_unknown(open_folder: Path) -> None:
    """A daemon in a user namespace of its own, as under PrivateUsers=yes, names nobody outside."""
    store = make_store(open_folder / "store")
    path = written(open_folder / "tokens", '[users.12345]\nroles = ["feed"]\n')
    for prefix, admitted in (([], True), (["unshare", "--user", "--map-root-user"], False)):
        if prefix and subprocess.run([*prefix, "true"], check=False).returncode:
            pytest.skip("user namespaces are not allowed here")
        with serving(store, token_file=str(path), prefix=prefix) as daemon:
            daemon.unix.chmod(0o666)
            hello = encode_frame(Hello(1, "peer/1")).hex()
            command = [sys.executable, "-c", CONNECT, str(daemon.unix), hello]
            said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
            answer = bytes.fromhex(said.stdout)
            assert (b"welcome" in answer, b"unauthorized" in answer) == (admitted, not admitted)
            assert daemon.stop() == 0
