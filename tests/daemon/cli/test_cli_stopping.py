"""Signals: the first asks, the second insists, and afterwards all is as it was."""

import os
import signal
import threading
import time

import pytest

from littled.cli.stopping import SIGNALS, Stopping


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_asks_and_the_second_interrupts(number: signal.Signals) -> None:
    before = [signal.getsignal(number_of) for number_of in SIGNALS]
    asked: list[str] = []
    with Stopping() as stopping:
        stopping.tell(lambda: asked.append("stop"))
        statuses = [stopping.status]
        os.kill(os.getpid(), number)
        statuses.append(stopping.status)
        assert (asked, statuses) == (["stop"], [None, 128 + number])
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        assert len(asked) == 1
    assert [signal.getsignal(number_of) for number_of in SIGNALS] == before


def test_a_pause_ends_with_a_signal() -> None:
    with Stopping() as stopping:
        stopping.tell(lambda: None)
        began = time.monotonic()
        stopping.pause(0.05)
        assert time.monotonic() - began >= 0.05
        stopping.pause(-1.0)
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM)).start()
        stopping.pause(30.0)
        assert time.monotonic() - began < 10.0


def test_another_thread_leaves_signals_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def enter() -> None:
        with Stopping():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [before]


def test_who_begins_after_a_signal_stops_at_once_and_nobody_is_waited_for() -> None:
    asked: list[str] = []
    with Stopping() as stopping:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        stopping.tell(lambda: asked.append("stop"))
        assert asked == ["stop"]
