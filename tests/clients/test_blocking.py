"""What only the blocking client does, against a small daemon over real sockets."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from littled_client.blocking import Client, Feeder
from littled_client.waits import Waits
from littled_protocol import limits
from littled_protocol.errors import (
    ErrorCode,
    RemoteProtocolError,
)
from littled_protocol.messages import Error
from support.small_daemon import (
    SmallDaemon,
    changed,
    small_release,
)

QUICK = Waits(reconnect_seconds=5.0, delay_least_seconds=0.01, delay_most_seconds=0.05)
REQUEST = bytes(range(16))


def until(ready: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.002)


def numbers(count: int, start: int = 0) -> tuple[list[int], list[int]]:
    return [(start + i) % 256 for i in range(count)], [(start + i) % 2 for i in range(count)]


def test_feeders_and_subscriptions_may_have_a_thread_each(
    daemon: SmallDaemon, address: str
) -> None:
    changed(daemon, credit_bytes=limits.credit_bytes_min)

    def feed(client: Client, point: int) -> None:
        with client.feed("flights") as feeder:
            for _ in range(50):
                feeder.send([point] * 300, [point % 2] * 300)

    with Client(address) as client, ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda point: feed(client, point), range(5)))
    x, y = daemon.examples("flights")
    assert sorted(x) == sorted([point for point in range(5) for _ in range(15_000)])
    assert y == [point % 2 for point in x]
    assert daemon.credit_used_most <= limits.credit_bytes_min


def test_a_refusal_is_heard_by_a_program_that_only_sends(daemon: SmallDaemon, address: str) -> None:
    with Client(address, waits=QUICK) as client:
        changed(daemon, refuse_examples=ErrorCode.INVALID_EXAMPLES)
        feeder = client.feed("flights")
        with pytest.raises(RemoteProtocolError) as caught, feeder:  # noqa: PT012 - leaving raises
            for _ in range(1_000_000):
                feeder.send_one(1, 1)
        assert caught.value.code is ErrorCode.INVALID_EXAMPLES
        assert feeder.next_sequence < 200_000  # not only when it leaves


def test_a_refusal_counts_that_came_before_the_end_of_a_stalled_connection(
    daemon: SmallDaemon, address: str
) -> None:
    """A program that waits for room to send hears both at once, and is not to come back."""
    zeros = np.zeros(8_000_000, np.uint8)
    with Client(address, waits=QUICK) as client, ThreadPoolExecutor(1) as pool:
        feeder = client.feed("flights")
        with pytest.raises(RemoteProtocolError, match="superseded"), feeder:  # noqa: PT012
            daemon.stall()
            sending = pool.submit(feeder.send, zeros, zeros)
            until(lambda: feeder._link is not None and bool(feeder._link._unsent))
            daemon.tell_and_end(Error(ErrorCode.PRODUCER_BUSY, "superseded"))
            sending.result(20)
    assert daemon.greetings == 2


def test_a_subscription_may_end_when_nothing_comes(daemon: SmallDaemon, address: str) -> None:
    for version in (1, 2):
        daemon.publish(small_release("flights/late", version))
    with Client(address) as client:
        started = time.monotonic()
        found = [p.version for p in client.subscribe("flights/late", wait_seconds=0.1)]
        assert found == [1, 2]
        assert 0.1 <= time.monotonic() - started < 5.0


def test_losses_do_not_prolong_the_wait_of_a_subscription(
    daemon: SmallDaemon, address: str
) -> None:
    dropping = threading.Event()

    def drop() -> None:
        while not dropping.wait(0.05):
            daemon.drop()

    dropper = threading.Thread(target=drop)
    with Client(address, waits=QUICK) as client:
        dropper.start()
        started = time.monotonic()
        assert list(client.subscribe("flights/late", wait_seconds=0.3)) == []
        assert 0.3 <= time.monotonic() - started < 5.0
        dropping.set()
        dropper.join()
    assert daemon.greetings > 2


def test_an_interrupted_request_leaves_nothing_behind(
    daemon: SmallDaemon, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.answers_left["flights/odd"] = 10

    def interrupted(_link: object, _seconds: float) -> bool:
        raise KeyboardInterrupt

    with Client(address, waits=QUICK) as client:
        client.predict("flights/odd", [2])
        with monkeypatch.context() as patch:
            patch.setattr("littled_client.blocking._Link._exchange", interrupted)
            with pytest.raises(KeyboardInterrupt):
                client.predict("flights/odd", [3], request=REQUEST)
        assert client.predict("flights/odd", [4]).labels.tolist() == [0]
        assert client.predict("flights/odd", [3], request=REQUEST).labels.tolist() == [1]


def test_threads_may_share_a_feeder(daemon: SmallDaemon, address: str) -> None:
    """Each one's examples arrive once and in its order, however their calls fall together."""

    def feed(feeder: Feeder, number: int) -> None:
        for i in range(3_000):
            if i % 500 == 250 * number:
                feeder.send([4 * number] * 2, [0, 1])
            if i % 700 == number:
                feeder.flush()
            feeder.send_one(4 * number + 1 + i % 3, i % 2)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with Client(address) as client, client.feed("flights") as feeder:
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(feed, [feeder] * 2, range(2)))
            feeder.flush()
            assert feeder.acknowledged == 2 * (3_000 + 2 * 6)
    finally:
        sys.setswitchinterval(before)
    x, y = daemon.examples("flights")
    pairs = list(zip(x, y, strict=True))
    for number in range(2):
        singles = [(point, label) for point, label in pairs if 1 <= point - 4 * number <= 3]
        assert singles == [(4 * number + 1 + i % 3, i % 2) for i in range(3_000)]


def test_a_program_may_ask_in_two_threads_with_a_client_each(
    daemon: SmallDaemon, address: str
) -> None:
    daemon.answers_left["flights/odd"] = 1000

    def ask(start: int) -> list[int]:
        with Client(address) as client:
            points = range(start, start + 50)
            return [int(client.predict("flights/odd", [i]).labels[0]) for i in points]

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(ask, (0, 101)))
    assert found == [[i % 2 for i in range(50)], [i % 2 for i in range(101, 151)]]
    assert daemon.answers_left["flights/odd"] == 900


SUBSCRIBING = """
import os, sys
from littled_client import Client
with Client(sys.argv[1]) as client:
    releases = client.subscribe("flights/late", wait_seconds=20)
    assert next(releases).version == 1
    print("subscribed", flush=True)
    sys.stdin.readline()
    child = os.fork()
    if child:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for version in range(2, 31):
        if next(releases, None).version != version:
            os._exit(1)
    if not child:
        os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_subscription_goes_on_in_a_forked_process_and_in_its_parent(
    daemon: SmallDaemon, address: str
) -> None:
    """The child is through before its parent looks for what came over the connection meanwhile."""
    daemon.publish(small_release("flights/late", 1))
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", SUBSCRIBING, address]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "subscribed\n"
        for version in range(2, 31):
            daemon.publish(small_release("flights/late", version))
        _, errors = running.communicate("go on\n", timeout=120)
    assert (running.returncode, errors) == (0, "")
