"""Predictions from a daemon as a process of its own, over real sockets: answers and refusals."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from littled.budget.ledger import without_answers
from littled.engine import replay
from littled.mechanisms.noise import KeyedNoise
from littled.planner import StreamPlan
from littled.store.store import Store
from littled_protocol.messages import (
    Predict,
    Prediction,
    PredictionRefused,
    Status,
    StatusRequest,
    Subscribe,
)
from support.predicting import NEAR, ask, check, fed, feed
from support.predictions import STREAM, make_store, question, stream_plan
from support.serving import CANARY, Peer, serving

pytestmark = pytest.mark.long


@pytest.fixture
def store(prediction_store: Path) -> Path:
    """A new store whose learners answer requests."""
    return prediction_store


# --- Asking ---------------------------------------------------------------------------------------


def test_a_prediction_comes_from_what_was_acknowledged(store: Path) -> None:
    """The window that answers is the last one that an acknowledgement has filled: always."""
    with serving(store) as daemon, Peer.greet(daemon.unix) as peer:
        peer.open(STREAM, "p")
        windows = []
        for number in range(18):
            feed(peer, 50, 50 * number)
            answer = ask(peer, number)
            assert isinstance(answer, PredictionRefused if number == 0 else Prediction)
            windows.append(answer.window)
        assert windows == [None, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 5, 6, 6, 7]
        assert daemon.stop() == 0
        assert "window" not in daemon.text
    assert check(store) == 17


def test_refusals_leave_the_connection_alone(store: Path) -> None:
    with serving(store) as daemon:
        peer = fed(daemon)
        first = ask(peer, 1, bytes(19))
        assert first == Prediction(question(1).request, NEAR, first.y, 0, 1, False)
        codes = [
            ask(peer, 2, bytes(2)).code,
            ask(peer, 1, bytes(18)).code,
            ask(peer, 3, b"\x40").code,
            ask(peer, 4, name="late").code,
            ask(peer, 5, name="nobody").code,
        ]
        assert codes == [
            *("window_spent", "request_reused", "invalid_points"),
            *("no_predictions", "unknown_learner"),
        ]
        peer.send(Predict(bytes(16), "elsewhere/near", 1, b"\0"))
        assert peer.expect(PredictionRefused).code == "unknown_learner"
        spent = ask(peer, 2, bytes(2))
        assert (spent.asked, spent.spent, spent.left) == (2, 19, 1)
        assert (spent.window, spent.next_window) == (0, 200)
        assert ask(peer, 2, bytes(1)).left == 0
        with Peer.greet(daemon.unix) as other:
            again = ask(other, 1, bytes(19))
            assert (again.y, again.repeated, again.left) == (first.y, True, 0)
        peer.socket.close()
        assert daemon.stop() == 0
        assert [line for line in daemon.lines if line.get("level") != "info"] == []
    assert check(store) == 2


def test_a_stream_without_such_learners_refuses(tmp_path: Path) -> None:
    path = make_store(tmp_path / "store", stream_plan([]))
    with serving(path) as daemon, Peer.greet(daemon.unix) as peer:
        assert ask(peer, 1, name="late").code == "no_predictions"
        assert ask(peer, 1, name="near").code == "unknown_learner"
        assert daemon.stop() == 0


def test_nobody_subscribes_to_a_learner_without_rules(store: Path) -> None:
    with serving(store) as daemon, Peer.greet(daemon.unix) as peer:
        peer.send(Subscribe(NEAR, 0))
        assert peer.error() == "unknown_learner"


def test_the_status_shows_both_kinds_of_learners(store: Path) -> None:
    with serving(store) as daemon:
        peer = fed(daemon)
        ask(peer, 1)
        peer.send(StatusRequest())
        learners = peer.expect(Status).body["streams"][STREAM]["learners"]
        assert set(learners) == {"late", "near", "votes"}
        near = learners["near"]
        assert (near["kind"], near["window"], near["answers_left"]) == ("prediction", 0, 17)
        assert "kind" not in learners["late"] or learners["late"]["kind"] == "online"
        peer.socket.close()


def test_questions_are_not_logged(store: Path) -> None:
    wide = CANARY.encode()
    with serving(store) as daemon:
        peer = fed(daemon)
        assert ask(peer, 1, wide).code == "invalid_points"
        peer.send(Predict(bytes(16), NEAR, 1, [CANARY]))
        assert peer.expect(PredictionRefused).code == "invalid_points"
        peer.socket.close()
        assert daemon.stop() == 0
        assert CANARY not in daemon.text
        assert CANARY not in bytes(peer.received).decode("latin1")


def test_learning_goes_on_beside_the_answers(store: Path) -> None:
    """Rules are published and charged as the journal alone leads to, whatever is asked."""
    with serving(store) as daemon, Peer.greet(daemon.unix) as peer:
        peer.open(STREAM, "p")
        for number in range(14):
            feed(peer, 60, 60 * number)
            ask(peer, number)
            ask(peer, number, bytes([20]), "votes")
        assert daemon.stop() == 0
    with serving(store) as again:  # replays next to what was answered
        assert again.stop() == 0
    assert check(store) > 12
    with Store.open(store, read_only=True) as opened:
        plan = StreamPlan.from_dict(opened.plans[STREAM])

        with ThreadPoolExecutor(1) as executor:
            whole = replay(plan, KeyedNoise(opened.noise_key), opened.records(STREAM), executor)
        assert whole.entries == without_answers(opened.ledger(STREAM))
        assert [each.body for each in whole.releases] == [
            each.body for each in opened.releases(f"{STREAM}/late")
        ]
