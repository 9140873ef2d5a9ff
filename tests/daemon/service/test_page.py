"""The operator's page in a real browser, against a real daemon."""

from __future__ import annotations

import hashlib
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from littled.service.page import page_file
from littled_client import Client, Encoder
from littled_protocol.encodings import TableSchema
from support.browser import browsing, watched
from support.commands import Daemon, kill_leftovers, make_store, serve

TABLES = """
[streams.loans]
epsilon = 2.0
delta = 1e-6
horizon = 20_000
label = { column = "defaulted", positive = "yes", negative = "no" }
columns.income = { kind = "number", from = 0, to = 200_000, steps = 64, unit = "EUR" }
columns.grade = { kind = "category", values = ["A", "B", "C", "D"] }
columns.opened = { kind = "time", parts = ["month"] }
learners.points = { class = "scorecard" }
learners.single = { class = "stumps" }

[streams.delays]
epsilon = 1.0
delta = 1e-6
horizon = 20_000
x = { name = "departure delay", unit = "min", offset = -30 }
y = { positive = "late", negative = "not late" }
learners.late = { class = "thresholds:256" }
learners.ask = { class = "thresholds:256", kind = "prediction", window = 4_000 }
"""
MANY = "".join(
    f"""
[streams.{stream}]
epsilon = 1.0
delta = 1e-6
horizon = 1_000
"""
    + "".join(f'learners.l{i} = {{ class = "thresholds:16" }}\n' for i in range(learners))
    for stream, learners in [("crowd", 50), *((f"s{i:03}", 1) for i in range(299))]
)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def serving(folder: Path, text: str, *arguments: str) -> Iterator[tuple[Daemon, str]]:
    """A daemon with its page, and the address of that."""
    if not (folder / "store").exists():
        make_store(folder, text)
    port = free_port()
    daemon = serve(folder, "--http", f"127.0.0.1:{port}", *arguments)
    try:
        yield daemon, f"http://127.0.0.1:{port}/"
        assert daemon.stop() == 0
    finally:
        daemon.process.kill()


def got(url: str) -> str:
    """A page as text without its last line's end."""
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310
        return str(answer.read().decode()).rstrip("\n")


def feed_loans(daemon: Daemon, count: int) -> None:
    rows = [
        {
            "income": (i * 7919) % 200_000,
            "grade": "ABCD"[i % 4],
            "opened": f"2026-{1 + i % 12:02}-01",
            "defaulted": "yes" if i % 4 == 3 else "no",
        }
        for i in range(count)
    ]
    with Client(daemon.address) as client:
        schema = TableSchema.from_dict(client.status()["streams"]["loans"]["schema"])
        x, y = Encoder(schema).examples(rows)[:2]
        with client.feed("loans", producer="page") as feeder:
            feeder.send(x, y)


def feed_delays(daemon: Daemon, count: int, cut: int) -> None:
    x = np.array([(i * 7919) % 256 for i in range(count)], dtype=np.uint8)
    with Client(daemon.address) as client, client.feed("delays", producer="page") as feeder:
        feeder.send(x, (x >= cut + 30).astype(np.uint8))


@pytest.fixture(scope="module", autouse=True)
def _no_leftovers() -> Iterator[None]:
    yield
    kill_leftovers()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as made:
        yield made


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Daemon, str]]:
    with serving(tmp_path_factory.mktemp("page"), TABLES) as (daemon, url):
        feed_loans(daemon, 8_000)
        feed_delays(daemon, 8_000, 24)
        yield daemon, url


@pytest.mark.long
def test_a_scorecard_is_said_drawn_and_tried(browser: Browser, site: tuple[Daemon, str]) -> None:
    with watched(browser) as seen:
        page = seen.page
        page.goto(f"{site[1]}#loans")
        expect(page.locator("#connection")).to_have_text("live")
        expect(page.get_by_role("heading", name="loans")).to_be_visible()
        card = page.get_by_role("region", name="Learner points")
        expect(card.locator(".rule")).to_contain_text("if grade is D")
        expect(card.locator("figure").first).to_contain_text("grade")
        card.get_by_label("income, EUR").fill("31000")
        card.get_by_label("grade", exact=True).select_option("D")
        card.get_by_label("opened", exact=True).fill("2026-05-01T10:00")
        expect(card.locator(".answer")).to_have_text("yes")
        card.get_by_text("Why", exact=True).click()
        expect(card.get_by_role("cell", name="grade is D")).to_be_visible()
        card.get_by_label("grade", exact=True).select_option("A")
        expect(card.locator(".answer")).to_have_text("no")
        card.get_by_role("button", name="SQL, duckdb").click()
        expect(card.locator("pre")).to_contain_text("THEN")
        expect(card.locator("pre")).to_contain_text('"grade" IS NOT NULL')
        card.get_by_role("button", name="Python").click()
        expect(card.locator("pre")).to_contain_text("Rule.from_dict")
    assert seen.hosts == {site[1].split("/")[2]}


@pytest.mark.long
def test_a_threshold_moves_while_somebody_looks(browser: Browser, site: tuple[Daemon, str]) -> None:
    daemon, url = site
    with watched(browser) as seen:
        page = seen.page
        page.goto(f"{url}#delays")
        card = page.get_by_role("region", name="Learner late")
        expect(card.locator(".rule")).to_contain_text("late if departure delay >= ")
        card.get_by_label("departure delay, min").fill("90")
        expect(card.locator(".answer")).to_have_text("late")
        card.get_by_label("departure delay, min").fill("ninety")
        expect(card.locator(".answer")).to_have_text("a value needs to be an integer")
        answers = page.get_by_role("region", name="Learner ask")
        expect(answers).to_contain_text("answers are left of window 1")
        card.get_by_text("How the rule went").click()
        expect(card.get_by_role("table")).to_contain_text("late if departure delay >= ")
        expect(card.locator("canvas")).to_be_visible()
        before = card.locator("tbody tr").count()
        position = page.locator("nav li", has_text="delays").locator(".position")
        expect(position).to_have_text("8,000")
        feed_delays(daemon, 4_000, 60)
        expect(position).to_have_text("12,000")
        expect(card.locator(f"tbody tr:nth-child({before + 1})")).to_be_attached()
        expect(card.locator(".rule")).to_have_text(got(f"{url}rules/delays/late?format=text"))


@pytest.mark.long
def test_what_another_budget_buys(browser: Browser, site: tuple[Daemon, str]) -> None:
    with watched(browser) as seen:
        page = seen.page
        page.goto(site[1])
        page.get_by_text("What would another budget buy?").click()
        plan = page.locator("pre[aria-label=Plan]")
        expect(plan).to_contain_text("differentially private per example", timeout=60_000)
        page.get_by_label("class of rules").fill("thresholds:banana")
        expect(page.locator("details.card [role=status]")).to_contain_text(
            "thresholds", timeout=60_000
        )


@pytest.mark.long
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_anybody_can_read_it(
    browser: Browser, site: tuple[Daemon, str], width: int, dark: bool
) -> None:
    """axe finds nothing, nothing is wider than the window, and Tab reaches the streams."""
    with watched(browser, width=width, dark=dark) as seen:
        page = seen.page
        for stream in ("loans", "delays"):
            page.goto(f"{site[1]}#{stream}")
            expect(page.locator("#connection")).to_have_text("live")
            expect(page.locator("section.card").nth(3)).to_be_visible()
            for summary in page.locator("details > summary:visible").all():
                summary.click()
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.goto(site[1])
        expect(page.locator("#connection")).to_have_text("live")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the stream")).to_be_focused()
        for _ in range(2):
            page.keyboard.press("Tab")
        expect(page.locator("nav li button").first).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("nav li button").first).to_have_attribute("aria-current", "true")


@pytest.mark.long
def test_it_comes_back_with_the_daemon(browser: Browser, tmp_path: Path) -> None:
    make_store(tmp_path, TABLES)
    port = str(free_port())
    daemon = serve(tmp_path, "--http", f"127.0.0.1:{port}")
    try:
        with watched(browser) as seen:
            seen.page.goto(f"http://127.0.0.1:{port}/")
            expect(seen.page.locator("#connection")).to_have_text("live")
            daemon.process.kill()
            daemon.process.communicate()
            expect(seen.page.locator("#connection")).to_contain_text("away")
            daemon = serve(tmp_path, "--http", f"127.0.0.1:{port}")
            expect(seen.page.locator("#connection")).to_have_text("live")
            feed_loans(daemon, 100)
            position = seen.page.locator("nav li", has_text="loans").locator(".position")
            expect(position).to_have_text("100")
            assert daemon.stop() == 0
    finally:
        daemon.process.kill()


@pytest.mark.long
def test_many_streams_and_many_learners(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path, MANY) as (_, url), watched(browser) as seen:
        page = seen.page
        page.goto(f"{url}#crowd")
        expect(page.locator("#found")).to_have_text("300 streams")
        expect(page.locator("nav li button")).to_have_count(200)
        expect(page.locator("nav li").last).to_have_text("and 100 more; find them by their names")
        expect(page.locator("section[aria-label^='Learner ']")).to_have_count(50)
        expect(page.get_by_role("region", name="Learner l49").locator(".rule")).to_contain_text("1")
        page.get_by_label("Find a stream").fill("s09")
        expect(page.locator("#found")).to_have_text("10 of 300 streams")
        expect(page.locator("nav li")).to_have_count(10)
        page.get_by_role("button", name="s095").click()
        expect(page.get_by_role("heading", name="s095")).to_be_visible()
        page.goto(f"{url}#s290")
        expect(page.get_by_role("heading", name="s290")).to_be_visible()


@pytest.mark.long
def test_the_address_names_the_stream_and_nothing_else_does(
    browser: Browser, site: tuple[Daemon, str]
) -> None:
    with watched(browser) as seen:
        page = seen.page
        page.goto(f"{site[1]}#lonas")
        expect(page.get_by_text("has no stream lonas that you may see")).to_be_visible()
        page.goto(f"{site[1]}#100%")
        expect(page.get_by_text("no stream 100% that you may see")).to_be_visible()
        page.goto(f"{site[1]}#loans")
        expect(page.get_by_role("heading", name="loans")).to_be_visible()
        page.locator(".skip").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#main")).to_be_focused()
        assert page.url.endswith("#loans")
        expect(page.get_by_role("heading", name="loans")).to_be_visible()


def test_a_token_is_asked_for_and_kept_in_the_page(browser: Browser, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("0123456789abcdef" * 2)
    secret.chmod(0o600)
    guarded = serving(tmp_path, TABLES, "--token-file", str(secret))
    with guarded as (_, url), watched(browser) as seen:
        page = seen.page
        page.goto(url)
        expect(page.get_by_role("dialog")).to_be_visible()
        expect(page.locator("#connection")).to_have_text("the daemon wants a token")
        expect(page.get_by_role("alert")).to_have_text("")
        page.get_by_role("textbox", name="Token").fill("wrong" * 8)
        page.get_by_role("button", name="Show it").click()
        expect(page.locator("#connection")).to_have_text("the daemon does not know this token")
        expect(page.get_by_role("alert")).to_contain_text("does not know the token")
        page.get_by_role("textbox", name="Token").fill(secret.read_text())
        page.get_by_role("button", name="Show it").click()
        expect(page.locator("#connection")).to_have_text("live")
        expect(page.get_by_role("heading", name="Budget")).to_be_visible()
        assert page.evaluate("localStorage.length + sessionStorage.length") == 0
        assert page.context.cookies() == []


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    html = {"Accept": "text/html"}
    for switch, found in (("--no-page", False), ("--page", True)):
        with serving(tmp_path, TABLES, switch) as (_, url):
            asked = urllib.request.Request(url, headers=html)  # noqa: S310
            with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310
                assert (answer.headers.get_content_type() == "text/html") is found
            if found:
                assert got(f"{url}page/page.js").startswith("// The operator's page")
            else:
                with pytest.raises(urllib.error.HTTPError, match="404"):
                    got(f"{url}page/page.js")


def test_the_vendored_chart_is_the_one_that_was_published() -> None:
    """uPlot 1.6.32 as its authors ship it: dist/uPlot.iife.min.js, dist/uPlot.min.css, LICENSE."""
    digests = {
        "uplot.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
        "uplot.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
        "uplot.LICENSE.txt": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
    }
    for name, digest in digests.items():
        found = page_file(name)
        assert found is not None
        assert hashlib.sha256(found[0]).hexdigest() == digest


@pytest.mark.parametrize(
    "name", ["../page.py", "client/../page.py", "page", "none.js", "client/package.json", "x/y.js"]
)
def test_no_other_file_is_given(name: str) -> None:
    assert page_file(name) is None
