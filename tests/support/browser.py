"""A real browser for tests: Chromium of the system, which may reach nothing but this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_WAIT_MS = 30_000
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def chromium() -> str:
    """The path of Chromium; where there is none tests fail in CI, and are skipped elsewhere."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        missing = "Chromium is not installed (apt-get install chromium), and shows the page"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return found


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser without a window."""
    path = chromium()
    with sync_playwright() as playwright:
        expect.set_options(timeout=_WAIT_MS)
        browser = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """A page of a browser, and what went wrong on it."""

    def __init__(self, page: Page) -> None:
        """Listen to errors of scripts, to what the policy refused, and to where requests go."""
        self.page = page
        self.problems: list[str] = []
        self.hosts: set[str] = set()
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._said)
        page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))

    def _said(self, message: object) -> None:
        kind, text = getattr(message, "type", ""), getattr(message, "text", "")
        # A browser says of a connection that the daemon ended, or refused, that it failed.
        if kind in ("error", "warning") and "Failed to load resource" not in text:
            self.problems.append(text)


@contextmanager
def watched(browser: Browser, *, width: int = 1280, dark: bool = False) -> Iterator[Watched]:
    """A new page, which must end without problems."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
        locale="en-GB",
    )
    context.set_default_timeout(_WAIT_MS)
    try:
        made = Watched(context.new_page())
        yield made
        assert made.problems == []
    finally:
        context.close()
