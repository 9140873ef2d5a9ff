"""Logs: the allow-list, exceptions without values, and everything else that a process prints."""

import ast
import asyncio
import contextlib
import io
import json
import logging
import os
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import structlog

from littled.limits import (
    LOG_INTERVAL_SECONDS,
    LOG_KINDS_MAX,
    LOG_LINES_MAX,
    LOG_PLACES_MAX,
    LOG_TEXT_CHARACTERS_MAX,
)
from littled.service.logs import (
    ALLOWED_KEYS,
    LineLimit,
    Log,
    LogStyle,
    guard_loop,
    make_log,
    tell_left_out,
)

CANARY = "canary-4711"


def logged(style: LogStyle = "json") -> tuple[Log, io.StringIO]:
    file = io.StringIO()
    return make_log(style, file), file


def line_of(file: io.StringIO) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(file.getvalue())
    return line


def fail_with(secret: str) -> None:
    hidden = [secret]
    raise ValueError(f"not a number: {hidden[0]}")


def test_a_line_holds_what_was_said() -> None:
    log, file = logged()
    log.info("released", learner="flights/late", version=3, kind="rule")
    line = line_of(file)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "released",
        "level": "info",
        "learner": "flights/late",
        "version": 3,
        "kind": "rule",
    }


def test_keys_that_are_not_allowed_are_dropped_and_counted() -> None:
    log, file = logged()
    log.warning("odd", x=CANARY, mistakes=17, stream="flights")
    assert CANARY not in file.getvalue()
    line = line_of(file)
    assert line["dropped"] == 2
    assert set(line) == {"event", "level", "timestamp", "stream", "dropped"}


def test_no_allowed_key_names_anything_private() -> None:
    private = {"x", "y", "label", "labels", "point", "points", "mistakes", "score", "scores", "gap"}
    assert not ALLOWED_KEYS & private


def test_values_are_plain_and_short() -> None:
    log, file = logged()
    log.info("long", reason="a" * 10_000, address=object(), error_places=list(range(100)))
    line = line_of(file)
    assert len(line["reason"]) == LOG_TEXT_CHARACTERS_MAX
    assert isinstance(line["address"], str)
    assert line["error_places"] == list(range(LOG_PLACES_MAX))


@pytest.mark.parametrize("style", ["json", "console"])
def test_an_exception_leaves_its_type_and_places_only(style: LogStyle) -> None:
    log, file = logged(style)
    try:
        fail_with(CANARY)
    except ValueError:
        log.exception("failed")
    text = file.getvalue()
    assert CANARY not in text
    assert "hidden" not in text
    assert "ValueError" in text
    assert "service/test_logs.py" in text
    assert "fail_with" in text


def test_exceptions_can_be_handed_over_in_every_way() -> None:
    error = ValueError(CANARY)
    for given in (error, (ValueError, error, None)):
        log, file = logged()
        log.error("failed", exc_info=given)
        assert line_of(file)["error_type"] == "ValueError"
        assert CANARY not in file.getvalue()


def test_a_console_line_cannot_be_forged() -> None:
    log, file = logged("console")
    log.info("odd", reason="first\nsecond")
    assert file.getvalue().count("\n") == 1


def test_debug_lines_are_not_written() -> None:
    log, file = logged()
    log.debug("detail")
    assert file.getvalue() == ""


async def test_the_loop_reports_without_quoting() -> None:
    log, file = logged()
    loop = asyncio.get_running_loop()
    guard_loop(log, loop)
    try:
        loop.call_soon(fail_with, CANARY)
        await asyncio.sleep(0.01)
    finally:
        loop.set_exception_handler(None)
    assert CANARY not in file.getvalue()
    assert line_of(file)["event"] == "exception in the event loop"
    assert line_of(file)["error_type"] == "ValueError"


def test_lines_of_one_kind_are_limited_and_the_others_counted() -> None:
    log, file = logged()
    for _ in range(3 * LOG_LINES_MAX):
        log.info("session ended", code="limit_exceeded", transport="unix")
        log.info("session ended", code="malformed_frame", transport="unix")
    tell_left_out(log)  # the interval is not over
    assert file.getvalue().count("\n") == 2 * LOG_LINES_MAX
    tell_left_out(log, at_once=True)
    lines = [json.loads(line) for line in file.getvalue().splitlines()]
    told = [line for line in lines if line["event"] == "lines left out"]
    assert [(line["code"], line["left_out"]) for line in told] == [
        ("limit_exceeded", 2 * LOG_LINES_MAX),
        ("malformed_frame", 2 * LOG_LINES_MAX),
    ]
    assert {line["left_out_event"] for line in told} == {"session ended"}
    assert {line["level"] for line in told} == {"info"}
    tell_left_out(log, at_once=True)
    assert len(file.getvalue().splitlines()) == len(lines)


def test_a_new_interval_begins_when_the_count_was_told() -> None:
    now = 0.0
    limit = LineLimit(lambda: now)

    def written(count: int) -> int:
        passed = 0
        for _ in range(count):
            with contextlib.suppress(structlog.DropEvent):
                limit(None, "info", {"level": "info", "event": "odd"})
                passed += 1
        return passed

    assert written(LOG_LINES_MAX) == LOG_LINES_MAX
    now = LOG_INTERVAL_SECONDS  # nothing was left out, so there is nothing to wait for
    assert written(LOG_LINES_MAX + 7) == LOG_LINES_MAX
    now = 2 * LOG_INTERVAL_SECONDS
    assert written(1) == 0
    assert limit.left_out() == [("info", {"left_out_event": "odd", "left_out": 8})]
    assert written(1) == 1


def test_critical_lines_are_never_left_out() -> None:
    log, file = logged()
    for _ in range(2 * LOG_LINES_MAX):
        log.critical("failed")
    assert file.getvalue().count("\n") == 2 * LOG_LINES_MAX


def test_kinds_of_lines_are_limited_too() -> None:
    limit = LineLimit(lambda: 0.0)
    for number in range(LOG_KINDS_MAX):
        limit(None, "info", {"level": "info", "event": str(number)})
    passed = 0
    for number in range(100):
        with contextlib.suppress(structlog.DropEvent):
            limit(None, "info", {"level": "info", "event": f"more {number}"})
            passed += 1
    assert passed == LOG_LINES_MAX
    assert len(limit.left_out(at_once=True)) == 1


GUARDED = f"""
import logging, threading, warnings
from littled.service.logs import guard_process, make_log
guard_process(make_log("json"))
secret = "{CANARY}"

class Bad:
    def __del__(self):
        raise ValueError(secret)

def fail():
    local = secret
    raise RuntimeError(local)

del_me = Bad(); del del_me
thread = threading.Thread(target=fail); thread.start(); thread.join()
logging.getLogger("aiohttp.server").error("request from %s", secret)
try:
    fail()
except RuntimeError:
    logging.getLogger("asyncio").exception("%s", secret)
logging.getLogger("quiet").info("nothing")
warnings.warn(secret)
fail()
"""


def test_a_guarded_process_prints_nothing_private() -> None:
    # Libraries that other tests import set this for all that the process starts.
    surroundings = {name: each for name, each in os.environ.items() if name != "PYTHONWARNINGS"}
    ended = subprocess.run(
        [sys.executable, "-c", GUARDED],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env=surroundings,
    )
    assert ended.returncode == 1
    assert CANARY not in ended.stderr + ended.stdout
    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert [(line["event"], line.get("error_type")) for line in lines] == [
        ("exception outside any call", "ValueError"),
        ("uncaught exception in a thread", "RuntimeError"),
        ("message of a library", None),
        ("message of a library", "RuntimeError"),
        ("message of a library", None),
        ("uncaught exception", "RuntimeError"),
    ]
    assert lines[2]["library"] == "aiohttp.server"


def test_the_page_of_logs_names_every_event_with_its_level() -> None:
    levels = ("info", "warning", "error", "critical")
    said: dict[str, str] = {}
    for path in Path(str(files("littled"))).rglob("*.py"):
        if "log." not in (text := path.read_text(encoding="utf-8")):
            continue  # what logs nothing need not be parsed
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=receiver, attr=level),
                    args=[ast.Constant(value=str(event)), *_],
                ) if level in levels and ast.unparse(receiver).endswith("log"):
                    said[event] = level
    assert len(said) > 10
    changing = {
        "message of a library": "as the library says",
        "lines left out": "that of the lines",
    }
    page = (Path(__file__).parents[3] / "docs" / "logs.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    assert {row[1].strip(" `"): row[2].strip() for row in rows} == said | changing
    assert {key for row in rows for key in re.findall("`([a-z_]+)`", row[3])} <= ALLOWED_KEYS


def test_this_process_keeps_its_own_handlers() -> None:
    make_log("json", io.StringIO())
    assert all(type(each).__module__ != "littled.service.logs" for each in logging.root.handlers)
