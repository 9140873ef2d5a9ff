"""Structured logs that can hold nothing private.

A line is an event with keys from one allow-list; any other key is dropped before it is written, and
so is the text of an exception, since a message of Python or of a library may quote the value that
it stumbled over. What is kept of an exception is its type and the places in the code that it passed
through, never a local variable. The same holds for the standard library's loggers, for exceptions
that nobody caught, and for what asyncio reports.

Lines of one kind are limited in number; what is left out is counted and told (`LineLimit`), so that
nobody can fill a disk with them.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, MutableMapping
from types import TracebackType
from typing import Any, Literal, TextIO
from weakref import WeakKeyDictionary

import structlog

from littled.limits import (
    LOG_INTERVAL_SECONDS,
    LOG_KINDS_MAX,
    LOG_LINES_MAX,
    LOG_PLACES_MAX,
    LOG_TEXT_CHARACTERS_MAX,
)

LogStyle = Literal["json", "console"]

ALLOWED_KEYS = frozenset(
    {
        "event",  # what happened, a fixed text
        "level",
        "timestamp",
        "address",  # of the daemon's own listeners, never of a peer
        "code",  # a protocol error code
        "connection",  # the running number of a connection
        "dropped",  # how many keys the allow-list removed from this line
        "epoch",
        "error_type",
        "error_places",
        "kind",  # of a release: rule, halt, season
        "learner",
        "left_out",  # how many lines of one kind were not written in an interval
        "left_out_event",  # what they would have said, a fixed text
        "library",  # name of a library's own logger
        "member",  # of a group
        "partition",  # of a group
        "partitions",  # how many a group has
        "position",
        "reason",  # one of the daemon's own sentences, without values
        "season",
        "signal",
        "status",  # with which a daemon has ended
        "store",
        "stream",
        "streams",
        "transport",  # unix, tcp or http
        "version",
    }
)

Log = structlog.typing.FilteringBoundLogger

_LEFT_OUT = "lines left out"
# What tells kinds of lines apart: fixed texts and names of the configuration, so that no peer can
# make a kind.
_KIND_KEYS = ("level", "event", "code", "library", "error_type", "stream", "learner", "partition")


class LineLimit:
    """Lets through so many lines of each kind in an interval, and counts the others.

    An interval of a kind begins with its first line, and lasts until what was left out of it is
    told (`left_out`). Lines of level "critical" are never held back, nor counted. Used from any
    thread.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without a line; `clock` gives seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        # For each kind the end of its interval, lines in it, and lines left out of it.
        self._kinds: dict[tuple[object, ...], list[float]] = {}

    def __call__(
        self, _log: object, _method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """Return a line that may be written; raises structlog.DropEvent for one that may not."""
        if event["level"] == "critical" or event["event"] == _LEFT_OUT:
            return event
        kind = tuple(event.get(key) for key in _KIND_KEYS)
        with self._lock:
            count = self._kinds.get(kind)
            if count is None:
                if len(self._kinds) >= LOG_KINDS_MAX:
                    kind = (event["level"], "lines of many kinds", *(None,) * (len(kind) - 2))
                count = self._kinds.setdefault(kind, [0.0, 0, 0])
            if not count[2] and count[0] <= (now := self._clock()):
                count[:2] = now + LOG_INTERVAL_SECONDS, 0
            if count[1] >= LOG_LINES_MAX:
                count[2] += 1
                raise structlog.DropEvent
            count[1] += 1
        return event

    def left_out(self, *, at_once: bool = False) -> list[tuple[str, dict[str, Any]]]:
        """End the intervals that are over, or all of them; return level and keys of what to say."""
        lines = []
        with self._lock:
            now = self._clock()
            for kind, (ends, _, missing) in list(self._kinds.items()):
                if at_once or ends <= now:
                    del self._kinds[kind]
                    if missing:
                        keys = dict(zip(_KIND_KEYS, kind, strict=True))
                        level, event = keys.pop("level"), keys.pop("event")
                        told = {name: value for name, value in keys.items() if value is not None}
                        lines.append(
                            (str(level), told | {"left_out_event": event, "left_out": int(missing)})
                        )
        return lines


_LIMITS: WeakKeyDictionary[Log, LineLimit] = WeakKeyDictionary()


def tell_left_out(log: Log, *, at_once: bool = False) -> None:
    """Write how many lines were left out in the intervals that are over, or so far if `at_once`."""
    limit = _LIMITS.get(log)
    if limit is not None:
        for level, keys in limit.left_out(at_once=at_once):
            getattr(log, level)(_LEFT_OUT, **keys)


def make_log(style: LogStyle, file: TextIO | None = None) -> Log:
    """Return a log that writes lines, JSON or for people, to `file` or else standard error.

    Whoever uses it calls `tell_left_out` now and then, and at the end.
    """
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if style == "json"
        else structlog.dev.ConsoleRenderer(
            colors=False, exception_formatter=structlog.dev.plain_traceback
        )
    )
    limit = LineLimit()
    log: Log = structlog.wrap_logger(
        structlog.WriteLogger(sys.stderr if file is None else file),
        processors=[
            structlog.processors.add_log_level,
            places_of_exception,
            limit,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            keep_allowed_keys,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )
    _LIMITS[log] = limit
    return log


def keep_allowed_keys(
    _log: object, _method: str, event: MutableMapping[str, Any]
) -> Mapping[str, Any]:
    """Drop every key that is not on the allow-list, and cut values to plain, short ones."""
    kept = {key: _plain(value) for key, value in event.items() if key in ALLOWED_KEYS}
    if len(kept) < len(event):
        kept["dropped"] = len(event) - len(kept)
    return kept


def places_of_exception(
    _log: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Replace `exc_info` by the exception's type and the places it passed through."""
    given = event.pop("exc_info", None)
    if given is True:
        given = sys.exc_info()[1]
    elif isinstance(given, tuple):
        given = given[1]
    if isinstance(given, BaseException):
        event["error_type"] = type(given).__name__
        event["error_places"] = _places(given)
    return event


def guard_process(log: Log) -> None:
    """Send uncaught exceptions, warnings and what libraries log through `log`.

    Replaces the hooks of `sys` and `threading`, and the handlers of the root logger.
    """

    def uncaught(
        _kind: type[BaseException], error: BaseException, _trace: TracebackType | None
    ) -> None:
        log.critical("uncaught exception", exc_info=error)

    def uncaught_in_thread(details: threading.ExceptHookArgs) -> None:
        log.critical("uncaught exception in a thread", exc_info=details.exc_value)

    def unraisable(details: sys.UnraisableHookArgs) -> None:
        log.error("exception outside any call", exc_info=details.exc_value)

    sys.excepthook = uncaught
    threading.excepthook = uncaught_in_thread
    sys.unraisablehook = unraisable
    root = logging.getLogger()
    root.handlers[:] = [_LibraryHandler(log)]
    root.setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)


def guard_loop(log: Log, loop: asyncio.AbstractEventLoop) -> None:
    """Replace the loop's exception handler, whose messages quote objects and their values."""

    def handle(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        log.error("exception in the event loop", exc_info=context.get("exception"))

    loop.set_exception_handler(handle)


class _LibraryHandler(logging.Handler):
    """Passes on that a library logged something, and what it caught; not its text."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line; a library's message is dropped, for nobody knows what it quotes."""
        caught = record.exc_info[1] if record.exc_info else None
        write = self._log.error if record.levelno >= logging.ERROR else self._log.warning
        write("message of a library", library=record.name, exc_info=caught)


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value[:LOG_PLACES_MAX]]
    return str(value)[:LOG_TEXT_CHARACTERS_MAX]


def _places(error: BaseException) -> list[str]:
    """Return where `error` came by, innermost last, as "file:line function" without directories."""
    frames = traceback.extract_tb(error.__traceback__)[-LOG_PLACES_MAX:]
    return [f"{_short(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames]


def _short(filename: str) -> str:
    return "/".join(filename.replace("\\", "/").rsplit("/", 2)[-2:])
