"""The blocking client against a small daemon over real sockets: good days and bad ones."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from littled_client.blocking import Client, Feeder
from littled_client.errors import (
    ChangedStoreError,
    ClientError,
    ConnectionLostError,
    ExampleError,
    PredictionRefused,
    UnreachableError,
)
from littled_client.waits import Waits
from littled_protocol import limits
from littled_protocol.errors import (
    ErrorCode,
    ProtocolError,
    RefusalCode,
    RemoteProtocolError,
)
from littled_protocol.messages import Error
from support.small_daemon import (
    WRONG_ANSWERS,
    SmallDaemon,
    changed,
    right_answer,
    small_release,
)

QUICK = Waits(reconnect_seconds=5.0, delay_least_seconds=0.01, delay_most_seconds=0.05)
REQUEST = bytes(range(16))
IMPATIENT = Waits(reconnect_seconds=0.2, delay_least_seconds=0.01, delay_most_seconds=0.05)


def until(ready: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait until something is true of the daemon, which runs on a thread of its own."""
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.002)


def send_until_it_fails(feeder: Feeder) -> None:
    while True:
        feeder.send([2], [1])
        feeder.flush()


def numbers(count: int, start: int = 0) -> tuple[list[int], list[int]]:
    return [(start + i) % 256 for i in range(count)], [(start + i) % 2 for i in range(count)]


def test_a_short_program_feeds_subscribes_and_predicts(daemon: SmallDaemon, address: str) -> None:
    with Client(address) as client:
        with client.feed("flights") as feeder:
            feeder.send([10, 60, 90], [0, 1, 1])
        daemon.publish(small_release("flights/late", 1, threshold=54))
        for published in client.subscribe("flights/late"):
            assert published.describe() == "1 if x >= 54"
            assert published.predict([10, 60]).tolist() == [0, 1]
            break
    assert daemon.examples("flights") == ([10, 60, 90], [0, 1, 1])
    assert daemon.agents[0].startswith("littled_client/")


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


def test_a_daemon_that_reads_slowly_is_waited_for(daemon: SmallDaemon, address: str) -> None:
    x, y = numbers(60_000)
    with Client(address, waits=QUICK) as client, client.feed("ids") as feeder:
        for peer in daemon.peers:
            daemon.on_loop(peer.transport.pause_reading)
        threading.Timer(
            0.1, lambda: [daemon.on_loop(peer.transport.resume_reading) for peer in daemon.peers]
        ).start()
        started = time.monotonic()
        for _ in range(6):
            feeder.send(x, y)
        feeder.flush()
        assert time.monotonic() - started > 0.09
    assert daemon.examples("ids") == (x * 6, y * 6)


def test_a_daemon_that_reads_nothing_is_left(daemon: SmallDaemon, address: str) -> None:
    waits = Waits(send_seconds=0.1, reconnect_seconds=5.0, delay_least_seconds=0.01)
    x, y = numbers(60_000)
    with Client(address, waits=waits) as client, client.feed("ids") as feeder:
        for peer in daemon.peers:
            daemon.on_loop(peer.transport.pause_reading)
        for _ in range(6):
            feeder.send(x, y)
    assert daemon.examples("ids") == (x * 6, y * 6)


def test_a_daemon_that_comes_back_is_fed_on(daemon: SmallDaemon, address: str) -> None:
    with Client(address, waits=QUICK) as client, client.feed("flights") as feeder:
        feeder.send([1], [1])
        daemon.stop_listening()
        assert daemon.path is not None
        threading.Timer(0.1, daemon.listen, [daemon.path]).start()
        feeder.send(*numbers(50_000))
    x, y = numbers(50_000)
    assert daemon.examples("flights") == ([1, *x], [1, *y])


def test_a_daemon_that_stays_away_is_given_up(daemon: SmallDaemon, address: str) -> None:
    def gone() -> Any:
        return pytest.raises(UnreachableError, match=r"no daemon can be reached at unix:.*")

    with Client(address, waits=IMPATIENT) as client:
        with gone(), client.feed("flights") as feeder:
            feeder.send([1], [1])
            feeder.flush()
            daemon.stop_listening()
            with gone():
                send_until_it_fails(feeder)
            with gone():
                feeder.flush()
            feeder.send([3], [1])
        with gone():
            client.status()
        with gone():
            next(client.subscribe("flights/late"))


def test_nobody_there() -> None:
    for address in ("unix:/nowhere/d.sock", "127.0.0.1:1", "nowhere.invalid:1"):
        with pytest.raises(UnreachableError, match="is littled running"), Client(address):
            pass


def test_waiting_for_a_daemon_that_starts_late(tmp_path: Path) -> None:
    daemon = SmallDaemon({"flights": "u8"})
    path = str(tmp_path / "late.sock")
    threading.Timer(0.1, daemon.listen, [path]).start()
    waits = Waits(connect_seconds=5.0, delay_least_seconds=0.01, delay_most_seconds=0.05)
    try:
        with Client(f"unix:{path}", waits=waits) as client:
            assert "flights" in client.status()["streams"]
    finally:
        daemon.close()


def test_tcp(daemon: SmallDaemon) -> None:
    daemon.stop_listening()
    port = daemon.listen_tcp()
    changed(daemon, token="open sesame")  # noqa: S106 - a test's
    with (
        Client(f"127.0.0.1:{port}", token="open sesame") as client,  # noqa: S106 - a test's
        client.feed("flights") as feeder,
    ):
        feeder.send([1, 2], [0, 1])
    assert daemon.examples("flights") == ([1, 2], [0, 1])
    for token in (None, "close sesame"):
        with (
            pytest.raises(RemoteProtocolError) as caught,
            Client(f"127.0.0.1:{port}", token=token),
        ):
            pass
        assert caught.value.code is ErrorCode.UNAUTHORIZED


def test_another_store_under_the_same_address_is_refused(daemon: SmallDaemon, address: str) -> None:
    with Client(address, waits=QUICK) as client:
        assert client.instance == "store-1"
        daemon.publish(small_release("flights/late", 1))
        with (  # noqa: PT012 - leaving raises
            pytest.raises(ChangedStoreError, match="another store"),
            client.feed("flights") as feeder,
        ):
            feeder.send([1], [1])
            feeder.flush()
            changed(daemon, instance="store-2")
            daemon.drop()
            send_until_it_fails(feeder)
        for use in (client.status, lambda: next(client.subscribe("flights/late"))):
            with pytest.raises(ChangedStoreError, match="another store"):
                use()


def test_an_older_store_is_refused(daemon: SmallDaemon, address: str) -> None:
    with (  # noqa: PT012 - leaving raises
        Client(address, waits=QUICK) as client,
        pytest.raises(ChangedStoreError, match="had acknowledged 3"),
        client.feed("flights") as feeder,
    ):
        feeder.send([1, 2, 3], [0, 0, 0])
        feeder.flush()
        daemon.next_sequence["flights", feeder.producer] = 2
        daemon.drop()
        send_until_it_fails(feeder)


def test_an_impossible_acknowledgement_is_refused_for_good(
    daemon: SmallDaemon, address: str
) -> None:
    with Client(address, waits=QUICK) as client:
        feeder = client.feed("flights")
        with pytest.raises(ChangedStoreError, match="never sent"), feeder:  # noqa: PT012 - leaving raises
            changed(daemon, hold_acks=True)
            feeder.send([1, 2, 3], [0, 0, 0])
            until(lambda: daemon.position["flights"] == 3)
            daemon.next_sequence["flights", feeder.producer] = 4
            daemon.release_acks()
            with pytest.raises(ChangedStoreError, match="never sent"):
                feeder.flush()
            feeder.send([1], [1])


@pytest.mark.parametrize(
    ("stream", "behaviour", "code"),
    [
        ("ships", {}, ErrorCode.UNKNOWN_STREAM),
        ("flights", {"refuse_examples": ErrorCode.INVALID_EXAMPLES}, ErrorCode.INVALID_EXAMPLES),
        ("flights", {"refuse_open": [ErrorCode.PRODUCER_BUSY]}, ErrorCode.PRODUCER_BUSY),
        ("flights", {"refuse_examples": ErrorCode.PRODUCER_BUSY}, ErrorCode.PRODUCER_BUSY),
        ("flights", {"refuse_open": [ErrorCode.LIMIT_EXCEEDED] * 99}, ErrorCode.LIMIT_EXCEEDED),
        ("no such name", {}, ErrorCode.MALFORMED_FRAME),
    ],
)
def test_refusals_arrive_with_their_code(
    daemon: SmallDaemon, address: str, stream: str, behaviour: dict[str, Any], code: ErrorCode
) -> None:
    with Client(address, waits=IMPATIENT) as client:
        changed(daemon, **behaviour)
        with pytest.raises(ProtocolError) as caught, client.feed(stream) as feeder:
            feeder.send([1], [1])
        assert caught.value.code is code


def test_a_refusal_is_heard_by_a_program_that_only_sends(daemon: SmallDaemon, address: str) -> None:
    with Client(address, waits=QUICK) as client:
        changed(daemon, refuse_examples=ErrorCode.INVALID_EXAMPLES)
        feeder = client.feed("flights")
        with pytest.raises(RemoteProtocolError) as caught, feeder:  # noqa: PT012 - leaving raises
            for _ in range(100_000):
                feeder.send_one(1, 1)
        assert caught.value.code is ErrorCode.INVALID_EXAMPLES
        assert feeder.next_sequence < 20_000


def test_a_refused_greeting(daemon: SmallDaemon, address: str) -> None:
    changed(daemon, refuse_hello=ErrorCode.UNSUPPORTED_VERSION)
    with (
        pytest.raises(RemoteProtocolError, match="share no version"),
        Client(address, waits=QUICK),
    ):
        pass


def test_refusals_that_pass_are_waited_out(daemon: SmallDaemon, address: str) -> None:
    with Client(address, waits=QUICK) as client, client.feed("flights") as feeder:
        feeder.send([1], [1])
        feeder.flush()
        busy = [ErrorCode.PRODUCER_BUSY, ErrorCode.LIMIT_EXCEEDED, ErrorCode.SHUTTING_DOWN]
        changed(daemon, refuse_open=busy)
        daemon.tell(Error(ErrorCode.SHUTTING_DOWN, "later"))
        feeder.send([2], [1])
        feeder.flush()
        assert daemon.behaviour.refuse_open == []
    assert daemon.examples("flights") == ([1, 2], [1, 1])


def test_a_feeder_needs_its_block(address: str) -> None:
    with Client(address) as client:
        feeder = client.feed("flights")
        for use in (lambda: feeder.send([1], [1]), feeder.flush, lambda: feeder.x_type):
            with pytest.raises(ClientError, match="not open"):
                use()


def test_a_subscriber_gets_what_it_missed_and_what_comes(daemon: SmallDaemon, address: str) -> None:
    for version in (1, 2, 3):
        daemon.publish(small_release("flights/late", version))
    daemon.publish(small_release("flights/other", 1))
    with Client(address) as client:
        versions = []
        for published in client.subscribe("flights/late", since=1):
            assert published.learner == "flights/late"
            versions.append(published.version)
            if published.version in (3, 4):
                daemon.publish(small_release("flights/late", published.version + 1))
            if published.version == 5:
                break
        assert versions == [2, 3, 4, 5]
        until(lambda: len(daemon.peers) == 1)


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


def test_a_subscription_goes_on_after_losses(daemon: SmallDaemon, address: str) -> None:
    for version in range(1, 4):
        daemon.publish(small_release("flights/late", version))
    versions = []
    with Client(address, waits=QUICK) as client:
        for published in client.subscribe("flights/late"):
            versions.append(published.version)
            if published.version == 15:
                break
            if published.version == len(daemon.releases["flights/late"]):
                daemon.publish(small_release("flights/late", published.version + 1))
            if published.version % 3 == 0:
                daemon.drop()
            if published.version % 5 == 0:
                daemon.tell(Error(ErrorCode.SLOW_SUBSCRIBER, "slow"))
    assert versions == list(range(1, 16))


def test_refused_subscriptions(daemon: SmallDaemon, address: str) -> None:
    with Client(address) as client:
        with pytest.raises(ProtocolError, match="stream/learner"):
            next(client.subscribe("flights"))
        threading.Timer(
            0.05, daemon.tell, [Error(ErrorCode.UNKNOWN_LEARNER, "no such learner")]
        ).start()
        with pytest.raises(RemoteProtocolError) as caught:
            next(client.subscribe("flights/late"))
        assert caught.value.code is ErrorCode.UNKNOWN_LEARNER


def test_status_and_latest(daemon: SmallDaemon, address: str) -> None:
    with Client(address, waits=QUICK) as client:
        with pytest.raises(ClientError, match="no learner 'flights/late'"):
            client.latest("flights/late")
        daemon.releases["flights/late"] = []
        assert client.latest("flights/late") is None
        for version in (1, 2, 3):
            daemon.publish(small_release("flights/late", version, threshold=version))
        latest = client.latest("flights/late")
        assert latest is not None
        assert (latest.version, latest.describe()) == (3, "1 if x >= 3")
        daemon.drop()
        status = client.status()
        assert status["streams"]["flights"]["learners"]["late"] == {"version": 3}


def test_pings_of_the_daemon_are_answered(daemon: SmallDaemon, address: str) -> None:
    changed(daemon, ask=True)
    with Client(address) as client:
        client.status()
        until(lambda: daemon.pongs == [7])


def test_a_silent_connection_is_kept_alive(daemon: SmallDaemon, address: str) -> None:
    waits = Waits(idle_seconds=0.02, pong_seconds=1.0)
    with Client(address, waits=waits) as client:
        threading.Timer(0.2, daemon.publish, [small_release("flights/late", 1)]).start()
        assert next(client.subscribe("flights/late")).version == 1
    assert daemon.greetings == 2


def test_a_daemon_that_fell_silent_is_left(daemon: SmallDaemon, address: str) -> None:
    waits = Waits(
        idle_seconds=0.05,
        pong_seconds=0.05,
        answer_seconds=0.1,
        delay_least_seconds=0.01,
        delay_most_seconds=0.05,
    )
    with Client(address, waits=waits) as client, client.feed("flights") as feeder:
        changed(daemon, hold_acks=True, mute=True)
        feeder.send([1], [1])
        greetings = daemon.greetings

        def wake() -> None:
            until(lambda: daemon.greetings > greetings)
            changed(daemon, hold_acks=False, mute=False)

        waking = threading.Thread(target=wake)
        waking.start()
        feeder.flush()
        waking.join()
        assert daemon.greetings > greetings
    assert daemon.examples("flights") == ([1], [1])


def test_an_answer_that_never_comes(daemon: SmallDaemon, address: str) -> None:
    waits = Waits(answer_seconds=0.05, reconnect_seconds=0.2, delay_least_seconds=0.01)
    with Client(address, waits=waits) as client:
        changed(daemon, mute=True)
        for use in (client.status, client.feed("flights").__enter__):
            with pytest.raises(UnreachableError, match="no answer in time"):
                use()


def test_closing_twice_and_using_again(daemon: SmallDaemon, address: str) -> None:
    client = Client(address)
    for _ in range(2):
        with client:
            client.status()
        until(lambda: not daemon.peers)
    assert issubclass(ConnectionLostError, ClientError)


def test_predictions_of_points_of_every_type(daemon: SmallDaemon, address: str) -> None:
    points: dict[str, Any] = {
        "flights": [10, 61],
        "ids": np.array([2**63, 2**64 - 1], dtype=np.uint64),
        "addresses": ["::2", "::3"],
        "rows": [[1, 2, 3], [1, 2, 4]],
    }
    with Client(address) as client:
        for stream, x in points.items():
            daemon.answers_left[f"{stream}/odd"] = 10
            found = client.predict(f"{stream}/odd", x)
            assert found.labels.tolist() == [0, 1]
            assert found.labels.dtype == np.uint8
            assert (found.window, found.left, found.repeated) == (0, 8, False)


def test_a_request_made_again_is_answered_again_for_nothing(
    daemon: SmallDaemon, address: str
) -> None:
    daemon.answers_left["flights/odd"] = 10
    with Client(address) as client:
        first = client.predict("flights/odd", [1, 2], request=REQUEST)
        again = client.predict("flights/odd", [1, 2], request=REQUEST)
        other = client.predict("flights/odd", [1, 2])
    assert (first.repeated, again.repeated, other.repeated) == (False, True, False)
    assert first.labels.tolist() == again.labels.tolist() == [1, 0]
    assert (first.left, again.left, other.left) == (8, 8, 6)


def test_many_points_are_asked_about_in_several_requests(daemon: SmallDaemon, address: str) -> None:
    daemon.answers_left |= {"flights/odd": 5000, "rows/odd": 5000}
    x, y = numbers(2500)
    with Client(address) as client:
        found = client.predict("flights/odd", x, request=REQUEST)
        assert (found.labels.tolist(), found.left, found.repeated) == (y, 2500, False)
        assert [each.count for each in daemon.requests] == [1000, 1000, 500]
        again = client.predict("flights/odd", np.array(x), request=REQUEST)
        assert (again.labels.tolist(), again.left, again.repeated) == (y, 2500, True)
    changed(daemon, frame_bytes_max=limits.frame_bytes_max_min)
    daemon.requests.clear()
    rows = np.arange(6000).reshape(2000, 3)
    with Client(address) as client:
        found = client.predict("rows/odd", rows)
        assert found.labels.tolist() == (rows.sum(axis=1) % 2).tolist()
    assert [each.count for each in daemon.requests] == [640, 640, 640, 80]


def test_refused_predictions_say_why_and_leave_the_connection_alive(
    daemon: SmallDaemon, address: str
) -> None:
    daemon.answers_left["flights/odd"] = 1500
    x, y = numbers(2500)
    with Client(address) as client:
        with pytest.raises(PredictionRefused) as caught:
            client.predict("flights/odd", x, request=REQUEST)
        refused = caught.value
        assert (refused.code, refused.learner) == (RefusalCode.WINDOW_SPENT, "flights/odd")
        assert (refused.asked, refused.spent, refused.left) == (1000, 7, 500)
        assert (refused.window, refused.next_window) == (0, 99)
        assert refused.labels.tolist() == y[:1000]
        for learner, request, code in (
            ("flights/none", None, RefusalCode.UNKNOWN_LEARNER),
            ("flights/odd", daemon.requests[0].request, RefusalCode.REQUEST_REUSED),
        ):
            with pytest.raises(PredictionRefused) as caught:
                client.predict(learner, [1], request=request)
            assert caught.value.code == code
            assert caught.value.labels.tolist() == []
        daemon.answers_left["flights/odd"] = 1500
        found = client.predict("flights/odd", x, request=REQUEST)
        assert (found.labels.tolist(), found.left) == (y, 0)
    assert daemon.greetings == 1


def test_what_cannot_be_asked_is_not_sent(daemon: SmallDaemon, address: str) -> None:
    daemon.answers_left["flights/odd"] = 10
    with Client(address) as client:
        with pytest.raises(ClientError, match="no stream 'ships'"):
            client.predict("ships/odd", [1])
        for x in ([], [256], [1.5]):
            with pytest.raises(ExampleError):
                client.predict("flights/odd", x)
        with pytest.raises(ProtocolError, match="stream/learner"):
            client.predict("flights", [1])
        with pytest.raises(ProtocolError, match="16 bytes"):
            client.predict("flights/odd", [1], request=b"short")
    assert daemon.requests == []


def test_lost_answers_are_asked_for_again_and_charged_once(
    daemon: SmallDaemon, address: str
) -> None:
    daemon.answers_left["flights/odd"] = 10_000
    x, y = numbers(3500)
    changed(daemon, drop_answers=3)
    with Client(address, waits=QUICK) as client:
        found = client.predict("flights/odd", x)
        assert (found.labels.tolist(), found.left, found.repeated) == (y, 6500, False)
        assert daemon.behaviour.drop_answers == 0
        assert len(daemon.requests) == 4 + 3
        assert len({each.request for each in daemon.requests}) == 4
        daemon.drop()
        assert client.predict("flights/odd", [3]).left == 6499
        daemon.tell(Error(ErrorCode.SHUTTING_DOWN, "later"))
        assert client.predict("flights/odd", [3]).left == 6498
        changed(daemon, drop_answers=1)
        found = client.predict("flights/odd", [3])
        assert (found.labels.tolist(), found.left, found.repeated) == ([1], 6497, True)


def test_predictions_of_a_daemon_that_stays_away(daemon: SmallDaemon, address: str) -> None:
    daemon.answers_left["flights/odd"] = 10
    with Client(address, waits=IMPATIENT) as client:
        client.predict("flights/odd", [1])
        daemon.stop_listening()
        with pytest.raises(UnreachableError, match=r"no daemon can be reached at unix:.*"):
            client.predict("flights/odd", [1])


def test_predictions_of_another_store_are_refused(daemon: SmallDaemon, address: str) -> None:
    daemon.answers_left["flights/odd"] = 10
    with Client(address, waits=QUICK) as client:
        client.predict("flights/odd", [1])
        changed(daemon, instance="store-2", drop_answers=1)
        with pytest.raises(ChangedStoreError, match="another store"):
            client.predict("flights/odd", [1])


@pytest.mark.parametrize("wrong", WRONG_ANSWERS)
def test_wrong_answers_are_errors_and_no_predictions(
    daemon: SmallDaemon, address: str, wrong: str
) -> None:
    answer, code = WRONG_ANSWERS[wrong]
    with Client(address, waits=QUICK) as client:
        changed(daemon, answer=answer)
        with pytest.raises(RemoteProtocolError) as caught:
            client.predict("flights/odd", [1, 2])
        assert caught.value.code is code
        changed(daemon, answer=right_answer)
        assert client.predict("flights/odd", [1, 2]).labels.tolist() == [0, 0]


def test_predictions_that_never_come(daemon: SmallDaemon, address: str) -> None:
    waits = Waits(answer_seconds=0.05, reconnect_seconds=0.2, delay_least_seconds=0.01)
    daemon.answers_left["flights/odd"] = 10
    with Client(address, waits=waits) as client:
        client.predict("flights/odd", [1])
        changed(daemon, mute=True)
        with pytest.raises(UnreachableError, match="no answer in time"):
            client.predict("flights/odd", [1])
        changed(daemon, mute=False)
        assert client.predict("flights/odd", [1]).left == 8


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
