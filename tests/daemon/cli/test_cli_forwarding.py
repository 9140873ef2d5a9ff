"""`littled forward`: each release at least once, in order, signed; and whatever goes wrong."""

import hashlib
import hmac
import json
import re
import signal
import ssl
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_http_event
from cloudevents.core.formats.json import JSONFormat

from littled.classes.names import class_from_name
from littled.cli import forwarding
from littled.planner import OnlineRequest, StreamRequest, plan_stream
from littled.store.store import Store
from littled_client import Client
from support.certificates import Authority
from support.commands import Daemon, Littled, flights_csv, make_store, serve, start
from support.receiving import Answer, Webhook, webhook
from support.serving import Peer, Serving, serving

FEED = ("--x", "delay", "--y", "late", "--clip", "-30", "225", "--offset", "-30")
RELEASES = 24
WAIT_SECONDS = 30


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "_PAUSE_SECONDS", 0.01)


@pytest.fixture
def chatty(tmp_path: Path) -> Iterator[Serving]:
    """A daemon whose learner ids/late has published RELEASES large rules."""
    learner = OnlineRequest("late", class_from_name("points:64"))
    request = StreamRequest("ids", Fraction(1), Fraction(1, 10**6), 10**8, (learner,))
    Store.create(tmp_path / "s", {"streams": ["ids"]}, {"ids": plan_stream(request).to_dict()})
    with serving(tmp_path / "s", engine="chatty") as daemon:
        with Peer.greet(daemon.unix) as peer:
            peer.open("ids", "p")
            for number in range(RELEASES - 1):
                peer.feed(number, bytes(8), b"\0")
                peer.acknowledged(number + 1)
        yield daemon


def ids(hook: Webhook) -> list[int]:
    """The versions that were sent, in their order."""
    return [int(json.loads(sent.body)["id"].rpartition("/")[2]) for sent in hook.sent]


def kept(path: Path) -> dict[str, int]:
    found = json.loads(path.read_text())["delivered"]
    assert isinstance(found, dict)
    return found


@pytest.mark.long
def test_killed_again_and_again_it_sends_every_version_in_order(
    chatty: Serving, tmp_path: Path
) -> None:
    """A version comes twice only where a kill fell between its answer and the disk."""
    with webhook(lambda n: Answer(503 if n % 10 == 3 else 202, seconds=0.02)) as hook:
        arguments = ("forward", "ids/late", hook.url, "-a", f"unix:{chatty.unix}",
                     "--progress", tmp_path / "p.json")  # fmt: skip
        for count in (3, 6):
            forwarder = start(*arguments)
            hook.wait_for(count)
            forwarder.kill()
            forwarder.communicate()
        forwarder = start(*arguments)
        while not hook.sent or ids(hook)[-1] < RELEASES:
            hook.wait_for(len(hook.sent) + 1)
        forwarder.send_signal(signal.SIGTERM)
        out, err = forwarder.communicate(timeout=WAIT_SECONDS)
        assert forwarder.returncode == 0, err
    versions = ids(hook)
    assert list(dict.fromkeys(versions)) == list(range(1, RELEASES + 1))
    assert versions == sorted(versions)
    assert kept(tmp_path / "p.json") == {"ids/late": RELEASES}
    assert out.splitlines()[-1] == f"ids/late version {RELEASES} delivered"
    assert "answers 503; ids/late/" in err
    bodies = {json.loads(sent.body)["id"]: sent.body for sent in hook.sent}
    assert all(sent.body == bodies[json.loads(sent.body)["id"]] for sent in hook.sent)


def feed(daemon: Daemon, count: int, seed: int = 1) -> int:
    """Feed delays; return the newest version of flights/late then."""
    file = flights_csv(daemon.folder / f"flights{seed}.csv", count, seed)
    process = start("feed", "flights", file, *FEED, "-a", daemon.address)
    _, err = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 0, err
    with Client(daemon.address) as client:
        found = client.status()["streams"]["flights"]["learners"]["late"]["version"]
    assert isinstance(found, int)
    return found


def is_genuine_by_the_page(body: bytes, header: str) -> bool:
    """What the example in docs/forwarding.md says."""
    page = (Path(__file__).parents[3] / "docs" / "forwarding.md").read_text()
    (example,) = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    names: dict[str, Any] = {}
    exec(example, names)  # noqa: S102
    names["SECRET"] = b"key of signatures"
    return bool(names["is_genuine"](body, header))


def test_what_is_posted_is_public_signed_and_read_by_others(daemon: Daemon, tmp_path: Path) -> None:
    newest = feed(daemon, 2_000)
    assert newest > 1
    with Client(daemon.address) as client:
        found = client.subscribe("flights/late")
        published = [one.to_dict() for one in islice(found, newest)]
        found.close()
        source = f"urn:littled:{client.instance}"
    secret, bearer = tmp_path / "secret", tmp_path / "bearer"
    for path, text in ((secret, "key of signatures\n"), (bearer, "abc.def\n")):
        path.write_text(text)
        path.chmod(0o600)
    with webhook() as hook:
        forwarder = start("forward", "flights/late", "addresses/bad", "flights/late", hook.url,
                          "--secret-file", secret, "--bearer-file", bearer, "-a", daemon.address,
                          environment={"XDG_STATE_HOME": str(tmp_path / "state")})  # fmt: skip
        hook.wait_for(newest + 1)
        forwarder.send_signal(signal.SIGINT)
        _, err = forwarder.communicate(timeout=WAIT_SECONDS)
    assert (forwarder.returncode, err) == (0, "")
    late = []
    for sent in hook.sent:
        mac = hmac.new(b"key of signatures", sent.body, hashlib.sha256).hexdigest()
        assert sent.headers["X-Hub-Signature-256"] == f"sha256={mac}"
        assert is_genuine_by_the_page(sent.body, f"sha256={mac}")
        assert not is_genuine_by_the_page(sent.body + b" ", f"sha256={mac}")
        assert sent.headers["Authorization"] == "Bearer abc.def"
        assert "time" not in json.loads(sent.body)
        event = from_http_event(HTTPMessage(dict(sent.headers), sent.body), JSONFormat())
        if event.get_subject() == "flights/late":
            late.append(event)
    assert [event.get_id() for event in late] == [f"flights/late/{n + 1}" for n in range(newest)]
    assert [event.get_data() for event in late] == published
    assert {event.get_source() for event in late} == {source}
    (file,) = (tmp_path / "state" / "littled" / "forwarded").glob("*.json")
    assert file.stat().st_mode & 0o777 == 0o600
    assert kept(file) == {"addresses/bad": 1, "flights/late": newest}


@pytest.mark.campaign
def test_a_restart_of_the_daemon_is_survived(tmp_path: Path) -> None:
    make_store(tmp_path)
    first = serve(tmp_path)
    feed(first, 2_000)
    with webhook() as hook:
        forwarder = start("forward", "flights/late", hook.url, "-a", first.address,
                          "--progress", tmp_path / "p.json")  # fmt: skip
        hook.wait_for(2)
        assert first.stop() == 0  # a subscription does not keep it
        again = serve(tmp_path)
        newest = feed(again, 30_000, seed=7)
        assert newest > 2
        hook.wait_for(newest)
        forwarder.send_signal(signal.SIGTERM)
        _, err = forwarder.communicate(timeout=WAIT_SECONDS)
        assert (forwarder.returncode, err) == (0, "")
    assert again.stop() == 0
    assert ids(hook) == list(range(1, newest + 1))


def test_a_request_under_way_is_still_kept_when_it_is_stopped(
    daemon: Daemon, tmp_path: Path
) -> None:
    with webhook(lambda _: Answer(seconds=0.5)) as hook:
        forwarder = start("forward", "flights/late", hook.url, "-a", daemon.address,
                          "--progress", tmp_path / "p.json")  # fmt: skip
        hook.wait_for(1)
        forwarder.send_signal(signal.SIGTERM)
        _, err = forwarder.communicate(timeout=WAIT_SECONDS)
    assert (forwarder.returncode, err, len(hook.sent)) == (0, "", 1)
    assert kept(tmp_path / "p.json") == {"flights/late": 1}


# -- answers ---------------------------------------------------------------------------------------


def ended(littled: Littled, daemon: Daemon, hook: Webhook, *options: str | Path) -> str:
    """The sentence that ends forwarding; what was printed before it is left out."""
    said = littled("forward", "flights/late", *options, hook.url, "-a", daemon.address)
    assert said.status == 1
    assert "Traceback" not in said.err
    assert "/hook" not in said.err  # it may be secret
    return said.err.splitlines()[-1].removeprefix("littled: ")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 413, 301, 307, 418])
def test_a_refusal_that_stays_ends_it(littled: Littled, daemon: Daemon, status: int) -> None:
    with webhook(lambda _: Answer(status, {"Location": "/elsewhere"})) as hook:
        sentence = ended(littled, daemon, hook)
        assert len(hook.sent) == 1
    assert f"answers {status}" in sentence
    assert ("redirects are not followed" in sentence) == (status < 400)
    assert ("--secret-file" in sentence) == (status in {401, 403})


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_a_failure_that_may_pass_is_tried_again(
    littled: Littled, daemon: Daemon, status: int, tmp_path: Path
) -> None:
    with webhook(lambda n: Answer(status if n < 3 else 410)) as hook:
        assert "answers 410 Gone" in ended(littled, daemon, hook, "--progress", tmp_path / "p")
        assert ids(hook) == [1, 1, 1, 1]
    assert not (tmp_path / "p").exists()  # nothing was delivered


def test_a_receiver_that_is_slow_or_gone_is_tried_again(littled: Littled, daemon: Daemon) -> None:
    with webhook(lambda n: Answer(410, seconds=0 if n else 2)) as hook:
        assert "answers 410" in ended(littled, daemon, hook, "--timeout", "0.2")
        assert len(hook.sent) == 2


def test_a_receiver_is_left_alone_for_as_long_as_it_asks(littled: Littled, daemon: Daemon) -> None:
    with webhook(lambda n: Answer(410 if n else 429, {"Retry-After": "1"})) as hook:
        ended(littled, daemon, hook)
    first, second = hook.sent
    assert second.at - first.at >= 1


def test_all_learners_leave_it_alone_together(littled: Littled, daemon: Daemon) -> None:
    """A pause that one was asked for holds for the other, which would come back after 10 ms."""
    said = (Answer(429, {"Retry-After": "1"}), Answer(503, seconds=0.3), Answer(410))
    with webhook(lambda n: said[min(n, 2)]) as hook:
        ended(littled, daemon, hook, "addresses/bad")
    assert hook.sent[2].at - hook.sent[0].at >= 1


# -- TLS -------------------------------------------------------------------------------------------


def test_a_certificate_is_trusted_by_its_authority_alone(
    littled: Littled, daemon: Daemon, tmp_path: Path
) -> None:
    authority = Authority(tmp_path, "hooks")
    issued = authority.issue("hook", server=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.certificate, issued.key)
    with webhook(lambda _: Answer(410), context) as hook:
        assert "certificate that is not trusted" in ended(littled, daemon, hook)
        assert hook.sent == []
        assert "answers 410" in ended(littled, daemon, hook, "--url-ca", authority.path)


# -- what is wrong from the beginning --------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("ftp://a/", "URL is https://HOST/PATH"),
        ("https://", "URL is https://HOST/PATH"),
        ("https://h:0/", "URL is https://HOST/PATH"),
        ("https://h:x/", "URL is https://HOST/PATH"),
        ("https://h/a#b", "URL is https://HOST/PATH"),
        ("https://h/a b", "URL is https://HOST/PATH"),
        ("https://h\n/", "URL is https://HOST/PATH"),
        ("https://u:31337@h/", "use --bearer-file"),
        ("http://example.org/31337", "http:// to example.org shows everything"),
        ("http://127.0.0.1.example.org/", "use https://, or say --insecure-http"),
    ],
)
def test_an_address_that_is_none_or_not_safe_is_refused(
    littled: Littled, url: str, sentence: str
) -> None:
    said = littled("forward", "flights/late", url, "-a", "unix:/no/such")
    assert said.status == 2
    assert sentence in said.sentence
    assert "31337" not in said.err


@pytest.mark.parametrize("url", ["http://localhost:1/", "http://[::1]:1/", "https://example.org"])
def test_a_safe_address_is_taken(littled: Littled, url: str) -> None:
    said = littled("forward", "flights/late", url, "-a", "unix:/no/such")
    assert said.sentence.startswith("no daemon can be reached")


def test_a_learner_that_is_none_is_named(littled: Littled, daemon: Daemon) -> None:
    for learner in ("flights/no", "no/late", "flights", "http://127.0.0.1:1/"):
        said = littled("forward", learner, "http://127.0.0.1:1/", "-a", daemon.address)
        assert said.sentence == f"the daemon has no learner {learner!r}"


@pytest.mark.parametrize(
    ("text", "mode", "sentence"),
    [("31337", 0o644, "chmod 600"), (" \n", 0o600, "is empty"), ("31337\n1", 0o600, "one token")],
)
def test_a_secret_that_is_none_or_not_kept_is_refused(
    littled: Littled, tmp_path: Path, text: str, mode: int, sentence: str
) -> None:
    path = tmp_path / "secret"
    path.write_text(text)
    path.chmod(mode)
    said = littled("forward", "a/b", "https://h/", "--bearer-file", path, "-a", "unix:/no/such")
    assert sentence in said.sentence
    assert "31337" not in said.err
