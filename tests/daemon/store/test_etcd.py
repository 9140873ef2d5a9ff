"""Asking real etcd: who is let in, over what, and what is made of no answer."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from littled.store.errors import StoreError, StoreRefused
from littled.store.etcd import Etcd, EtcdRefused, EtcdSilent
from littled.store.etcd_place import MarkInEtcd
from littled.store.registers import silent
from littled.store.store import Store
from littled.store.verify import verify
from support.certificates import Authority
from support.etcd import Cluster, EtcdTls, etcd_cluster, free_ports
from support.servers import needs
from support.stores import entry, make_store

pytestmark = needs("etcd")
CANARY = "canary-0815"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("littled.store.etcd.MARK_WAIT_SECONDS", 1.5)
    monkeypatch.setattr("littled.store.etcd.MARK_REQUEST_SECONDS", 1.0)


def asked(place: MarkInEtcd | str) -> dict[str, object]:
    found = MarkInEtcd.parse(place) if isinstance(place, str) else place
    with closing(Etcd(found, silent)) as etcd:
        return etcd.ask("/v3/kv/range", {"key": "YQ=="})


# --- users ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One member that lets in user littled, to the keys below mine/ alone."""
    with etcd_cluster(tmp_path_factory.mktemp("guarded"), 1) as running:
        for arguments in (
            ("user", "add", "root:root"),
            ("user", "grant-role", "root", "root"),
            ("user", "add", f"littled:{CANARY}"),
            ("role", "add", "marks"),
            ("role", "grant-permission", "marks", "--prefix=true", "readwrite", "mine/"),
            ("user", "grant-role", "littled", "marks"),
            ("auth", "enable"),
        ):
            running.ctl(*arguments)
        running.user = "root:root"
        yield running


def secret(folder: Path, text: str = CANARY) -> Path:
    path = folder / "password"
    path.write_text(f"{text}\n")
    path.chmod(0o600)
    return path


def test_a_user_with_the_right_password_is_let_in(guarded: Cluster, tmp_path: Path) -> None:
    """And again when its token is no longer known."""
    url = guarded.url("mine/mark", "littled", f"password_file={secret(tmp_path)}")
    path = make_store(tmp_path / "store", mark_path=url)
    with Store.open(path, mark_path=url) as store:
        store.charge(entry(0))
        guarded.stop()
        guarded.start()  # tokens are in memory
        store.charge(entry(1))
    assert verify(path, mark_path=url).findings == ()


@pytest.mark.parametrize(
    ("user", "password", "prefix", "sentence"),
    [
        ("littled", "wrong", "mine/a", "does not let in user littled with the password in"),
        ("nobody", CANARY, "mine/a", "does not let in user nobody with the password in"),
        ("littled", CANARY, "other/a", "refuses: etcdserver: permission denied"),
        ("littled", "", "mine/a", "is empty"),
        ("", "", "mine/a", "refuses: etcdserver: user name is empty"),
    ],
)
def test_others_are_refused_in_a_sentence_without_the_password(
    guarded: Cluster, tmp_path: Path, user: str, password: str, prefix: str, sentence: str
) -> None:
    query = user and f"password_file={secret(tmp_path, password)}"
    begun = time.monotonic()
    with pytest.raises(StoreError, match=sentence) as refused:
        make_store(tmp_path / "store", mark_path=guarded.url(prefix, user, query))
    assert time.monotonic() - begun < 1.0, "it was tried again and again"
    assert CANARY not in str(refused.value)
    assert not (tmp_path / "store").exists()


def test_a_password_that_others_can_read_is_not_used(guarded: Cluster, tmp_path: Path) -> None:
    path = secret(tmp_path)
    path.chmod(0o644)
    with pytest.raises(StoreRefused, match="other users can reach"):
        asked(guarded.url("mine/a", "littled", f"password_file={path}"))
    with pytest.raises(EtcdRefused, match="cannot be read"):
        asked(guarded.url("mine/a", "littled", f"password_file={tmp_path / 'none'}"))


def test_etcd_that_asks_nobody_does_not_pass_for_one_that_does(tmp_path: Path) -> None:
    with etcd_cluster(tmp_path / "etcd", 1) as open_to_all:
        query = f"password_file={secret(tmp_path)}"
        with pytest.raises(EtcdRefused, match="authentication is not enabled"):
            asked(open_to_all.url("a", "littled", query))


# --- TLS ------------------------------------------------------------------------------------------


def test_tls_with_certificates_on_both_sides(tmp_path: Path) -> None:
    authority, other = Authority(tmp_path, "authority"), Authority(tmp_path, "other")
    shown = authority.issue("etcd", peer=True)
    mine, foreign = authority.issue("littled"), other.issue("littled")
    tls = EtcdTls(authority.path, shown.certificate, shown.key, authority.path)
    with etcd_cluster(tmp_path / "etcd", 1, tls) as cluster:
        own = f"cert={mine.certificate}&key={mine.key}"
        url = cluster.url("mark", query=f"ca={authority.path}&{own}")
        path = make_store(tmp_path / "store", mark_path=url)
        with Store.open(path, mark_path=url) as store:
            store.charge(entry(0))
        assert verify(path, mark_path=url).findings == ()
        with pytest.raises(EtcdRefused, match="is not to be trusted"):
            asked(cluster.url("mark", query=f"ca={other.path}&{own}"))
        with pytest.raises(EtcdRefused, match="is not to be trusted"):
            asked(cluster.url("mark", query=own))
        theirs = f"cert={foreign.certificate}&key={foreign.key}"
        for query in ("", f"&{theirs}"):
            with pytest.raises(EtcdSilent, match=r"TLS failed|connection was lost|reset"):
                asked(cluster.url("mark", query=f"ca={authority.path}{query}"))
        with pytest.raises(EtcdRefused, match="files of TLS"):
            asked(cluster.url("mark", query=f"ca={tmp_path / 'none'}"))
        plain = cluster.url("mark").replace("etcds", "etcd")
        with pytest.raises((EtcdRefused, EtcdSilent)):
            asked(plain)


def test_a_certificate_for_another_machine_is_not_trusted(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "authority")
    shown = authority.issue("etcd", peer=True, address="127.0.0.2")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(shown.certificate, shown.key)
    with answering({}, context) as port, pytest.raises(EtcdRefused, match="not to be trusted"):
        asked(f"etcds://127.0.0.1:{port}/a?ca={authority.path}")


# --- what is no answer ----------------------------------------------------------------------------


@contextmanager
def answering(
    body: object, context: ssl.SSLContext | None = None, status: int = 200
) -> Iterator[int]:
    """Something that is not etcd, and says the same to everybody; its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass

    server = Quiet(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        (b"hello", 200, "is not etcd"),
        ([], 200, "is not etcd"),
        (b"hello", 404, "refuses: status 404"),
        ({"message": "<b>" + CANARY}, 400, "refuses: status 400"),
    ],
)
def test_what_is_not_etcd_is_refused(body: object, status: int, sentence: str) -> None:
    with answering(body, status=status) as port:
        with pytest.raises(EtcdRefused, match=sentence) as refused:
            asked(f"etcd://127.0.0.1:{port}/a")
        assert CANARY not in str(refused.value)


def test_an_answer_of_another_form_is_refused(tmp_path: Path) -> None:
    with answering({}) as port, pytest.raises(StoreRefused, match="is not etcd"):
        make_store(tmp_path / "store", mark_path=f"etcd://127.0.0.1:{port}/a")


def test_an_answer_longer_than_a_mark_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("littled.store.etcd.ETCD_ANSWER_BYTES_MAX", 100)
    with answering({"kvs": "x" * 200}) as port, pytest.raises(EtcdRefused, match="says more than"):
        asked(f"etcd://127.0.0.1:{port}/a")


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_member_that_cannot_at_the_moment_is_asked_again(status: int) -> None:
    told: list[str] = []
    with answering({"message": "etcdserver: no leader"}, status=status) as port:
        place = MarkInEtcd((("127.0.0.1", port),), "a")
        with (
            closing(Etcd(place, told.append)) as etcd,
            pytest.raises(EtcdSilent, match=r"does not answer \(etcdserver: no leader\)"),
        ):
            etcd.ask("/v3/kv/range", {})
    assert told == ["etcd does not answer (etcdserver: no leader); nothing is shown meanwhile"]


def test_nobody_there_and_nobody_who_speaks() -> None:
    (port,) = free_ports(1)
    with pytest.raises(EtcdSilent, match="Connection refused"):
        asked(f"etcd://127.0.0.1:{port}/a")
    with pytest.raises(EtcdSilent, match="the name of its host is not known"):
        asked("etcd://nowhere.invalid:1/a")
    with socket.create_server(("127.0.0.1", 0)) as silence:
        begun = time.monotonic()
        with pytest.raises(EtcdSilent, match="no answer in time"):
            asked(f"etcd://127.0.0.1:{silence.getsockname()[1]}/a")
        assert time.monotonic() - begun < 5.0


def test_a_member_that_is_slow_is_waited_for(tmp_path: Path) -> None:
    """Answers that take longer than an election, and no longer than a request may."""
    with etcd_cluster(tmp_path / "etcd", 1) as cluster:
        path = make_store(tmp_path / "store", mark_path=cluster.url("mark"))
        (member,) = cluster.members
        with Store.open(path, mark_path=cluster.url("mark")) as store:
            member.freeze()
            timer = threading.Timer(0.7, member.thaw)
            timer.start()
            begun = time.monotonic()
            store.charge(entry(0))
            assert time.monotonic() - begun > 0.5
            timer.join()
        assert verify(path, mark_path=cluster.url("mark")).findings == ()
