"""The desk: windows, seasons, charges, repetitions and refusals, over a real store and engine."""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.budget.ledger import LedgerEntry, rederive, without_answers
from littled.budget.price import Price
from littled.engine import replay
from littled.engine.predictions import AnsweringService, Windows, differing
from littled.learners.prediction import PredictionLearner, PredictionParameters
from littled.mechanisms.noise import Address, KeyedNoise, NoiseSource
from littled.planner import StreamPlan
from littled.store.errors import StoreDamaged
from littled.store.records import NewPrediction, StoredPrediction
from littled.store.store import Store
from littled.store.verify import verify
from littled_protocol.messages import Predict, Prediction, PredictionRefused
from support.predictions import (
    DENSE,
    EPSILON,
    HORIZON,
    STREAM,
    VOTES,
    Bench,
    make_store,
    prediction_plan,
    question,
    stream_plan,
)

NEAR = f"{STREAM}/near"
FEW = bytes([5, 19, 40])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A new store."""
    return make_store(tmp_path / "store")


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Bench]:
    """A daemon's rooms around a store, without the daemon."""
    bench = Bench(Store.open(path))
    try:
        yield bench
    finally:
        bench.close()


@pytest.fixture
def bench(path: Path) -> Iterator[Bench]:
    """The rooms around a new store."""
    with opened(path) as made:
        yield made


# --- Windows --------------------------------------------------------------------------------------


@given(st.integers(1, 12), st.integers(0, 11), st.integers(0, 80))
def test_windows_are_whole_and_inside_one_season(size: int, more: int, position: int) -> None:
    horizon = size + more
    windows = Windows(horizon, size)
    expected = [
        (season * horizon + first, season * horizon + first + size)
        for season in range(position + 1)
        for first in range(0, horizon - size + 1, size)
    ]
    ends = [end for _, end in expected if end <= position]
    assert windows.full(position) == len(ends)
    for window in range(len(ends) + 1):
        assert windows.bounds(window) == expected[window]
        assert windows.season(window) == expected[window][0] // horizon


def test_answers_come_from_the_last_full_window(bench: Bench) -> None:
    found = []
    for number in range(16):
        bench.feed(50)
        answer = bench.ask(number)
        found.append((bench.position, answer.window))
    # seasons end at 350 and 700; the last 50 examples of each are in no window
    assert found == [
        (50, None), (100, 0), (150, 0), (200, 1), (250, 1), (300, 2), (350, 2), (400, 2),
        (450, 3), (500, 3), (550, 4), (600, 4), (650, 5), (700, 5), (750, 5), (800, 6),
    ]  # fmt: skip


def test_a_window_is_cut_out_of_records_of_any_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[tuple[str, bytes, bytes]] = []
    original = PredictionLearner.prepare

    def prepare(learner: PredictionLearner, x: Any, y: Any) -> Any:
        prepared.append((learner.name, x.tobytes(), y.tobytes()))
        return original(learner, x, y)

    monkeypatch.setattr(PredictionLearner, "prepare", prepare)
    for number, sizes in enumerate([(7, 93, 250, 150), (500,), (99, 2, 398, 1), (3,) * 167]):
        with opened(make_store(tmp_path / str(number))) as bench:
            x, y = b"", b""
            for size in sizes:
                bench.feed(size)
                bench.ask(bench.position)
                bench.ask(bench.position, name="votes")
            for record in bench.store.records(STREAM):
                x, y = x + record.x, y + record.y
        for name, first, last in ((NEAR, 350, 450), ("s/votes", 414, 478)):
            assert (name, x[first:last], y[first:last]) in prepared


def test_each_window_is_prepared_once_and_one_is_kept(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[str] = []
    original = PredictionLearner.prepare

    def prepare(learner: PredictionLearner, x: Any, y: Any) -> Any:
        prepared.append(learner.name)
        return original(learner, x, y)

    monkeypatch.setattr(PredictionLearner, "prepare", prepare)
    for number in range(6):
        bench.feed(50)
        bench.ask(3 * number)
        bench.ask(3 * number + 1)
        bench.ask(3 * number + 2, name="votes")
    assert prepared.count(NEAR) == 3
    assert prepared.count("s/votes") == 4
    kept = [each.maker._open for each in bench.desk._answerers.values()]
    assert [each.window for each in kept if each is not None] == [2, 3]


# --- Charges --------------------------------------------------------------------------------------


def charged(bench: Bench, window: int | None, name: str = "near") -> list[LedgerEntry]:
    """The entries of a learner for a window, or for seasons."""
    return [e for e in bench.store.ledger(STREAM) if (e.window, e.learner) == (window, name)]


def test_a_season_pays_for_its_windows_when_it_opens(bench: Bench) -> None:
    assert [e.event["type"] for e in charged(bench, None)] == [
        "prediction_answers_dense",
        "precision_loss",
    ]
    bench.feed(400)
    seasons = [(e.season, e.position) for e in charged(bench, None)]
    assert seasons == [(0, 0), (0, 0), (1, 350), (1, 350)]


def test_each_answered_request_has_an_entry_and_a_fixed_price(bench: Bench) -> None:
    bench.feed(200)
    learner = bench.plan.answering[0].learner(STREAM)
    assert [bench.answered(k, bytes(k + 1)).left for k in range(4)] == [19, 17, 14, 10]
    entries = charged(bench, 1)
    assert [e.event["answers"] for e in entries] == [1, 2, 3, 4]
    whole = sum((e.price for e in charged(bench, None)[:1]), Price.zero())
    assert sum((e.price for e in entries), Price.zero()) * 2 == whole
    assert {(e.season, e.position) for e in entries} == {(0, 199)}
    assert learner.answers_max == 20


def test_answers_leave_the_season_and_its_learners_alone(tmp_path: Path) -> None:
    """What the online learner charges and publishes does not depend on who asks what."""
    said = []
    for name, asks in (("asked", True), ("quiet", False)):
        path = make_store(tmp_path / name, key_path=tmp_path / "key")
        if not asks:  # the same history: the same salt, and so the same heads
            shutil.rmtree(path)
            shutil.copytree(tmp_path / "copy", path)
        else:
            shutil.copytree(path, tmp_path / "copy")
        bench = Bench(Store.open(path, key_path=tmp_path / "key"))
        for number in range(40):
            bench.feed(25)
            if asks:
                bench.ask(number)
                bench.ask(1000 + number, name="votes")
        entries = bench.store.ledger(STREAM)
        said.append((without_answers(entries), bodies(bench.store), bench.engine.status()))
        assert any(e.window is not None for e in entries) == asks
        bench.close()
    assert said[0] == said[1]
    assert len(said[0][1]) > 3


def bodies(store: Store) -> list[bytes]:
    return [each.body for each in store.releases(f"{STREAM}/late")]


def test_each_release_points_to_the_charge_that_paid_for_it(bench: Bench) -> None:
    for number in range(20):
        bench.feed(25)
        bench.ask(number, name="votes")
    entries = bench.store.ledger(STREAM)
    paid = [each for each in bench.store.releases(f"{STREAM}/late") if each.charge is not None]
    assert paid
    for each in paid:
        assert each.charge is not None
        assert entries[each.charge].event["type"] == "dense_selection"
        assert entries[each.charge].number == each.charge


# --- Repetitions and refusals ---------------------------------------------------------------------


def test_a_repeated_request_gets_its_answer_and_pays_nothing(bench: Bench) -> None:
    bench.feed(100)
    first = bench.answered(1)
    entries = bench.store.ledger(STREAM)
    assert (first.repeated, first.left) == (False, 17)
    assert bench.answered(1) == replace(first, repeated=True)
    assert bench.answered(2).left == 14
    bench.feed(400)
    later = bench.answered(1)
    assert (later.y, later.window, later.left, later.repeated) == (first.y, 0, 14, True)
    assert len(bench.store.ledger(STREAM)) > len(entries)
    assert len(list(bench.store.predictions(STREAM))) == 2


def test_a_repetition_may_come_as_a_list(bench: Bench) -> None:
    bench.feed(100)
    first = bench.answered(1)
    again = bench.desk.answer(replace(question(1), x=list(FEW)), bench.position)
    assert again == replace(first, repeated=True)


def test_a_spent_window_still_repeats_and_still_serves_a_smaller_request(bench: Bench) -> None:
    bench.feed(100)
    first = bench.answered(1, bytes(18))
    assert bench.refused(2, bytes(3)).code == "window_spent"
    assert bench.answered(3, bytes(2)).left == 0
    assert bench.refused(2, bytes(1)).left == 0
    assert bench.answered(1, bytes(18)) == replace(first, left=0, repeated=True)
    bench.feed(100)
    assert bench.answered(2, bytes(3)).window == 1


FACTS = ("code", "asked", "spent", "left", "window", "next_window")


def facts(refused: PredictionRefused) -> tuple[Any, ...]:
    """All facts of a refusal, in this order."""
    return tuple(getattr(refused, name) for name in FACTS)


def test_refusals_say_all_that_is_public(bench: Bench) -> None:
    assert facts(bench.refused(1)) == ("no_window", 3, 0, 0, None, 100)
    bench.feed(100)
    bench.answered(2, bytes(19))
    assert facts(bench.refused(3, bytes(2))) == ("window_spent", 2, 19, 1, 0, 200)
    assert facts(bench.refused(2, bytes(18))) == ("request_reused", 18, 19, 1, 0, 200)
    assert facts(bench.refused(2, bytes(18) + b"\1")) == ("request_reused", 19, 19, 1, 0, 200)
    assert facts(bench.refused(4, b"\1\x40")) == ("invalid_points", 2, 19, 1, 0, 200)
    assert facts(bench.refused(5, name="late")) == ("no_predictions", 3, 0, 0, None, None)
    assert facts(bench.refused(6, name="nobody")) == ("unknown_learner", 3, 0, 0, None, None)
    bench.feed(240)
    assert facts(bench.refused(7, bytes(21))) == ("window_spent", 21, 0, 20, 2, 450)
    for each in (1, 3, 7):
        assert bench.refused(each, b"\xff").message.endswith(".")


@pytest.mark.parametrize("x", [b"\1", b"\1\2\3", [1], [1, 2, 3], [1, "2"], [1, -2], [1, 256]])
def test_wrong_columns_are_refused(bench: Bench, x: Any) -> None:
    bench.feed(100)
    asked = Predict(bytes(16), NEAR, 2, x)
    found = bench.desk.answer(asked, bench.position)
    assert isinstance(found, PredictionRefused)
    assert found.code == "invalid_points"


def test_one_name_may_be_used_with_two_learners(bench: Bench) -> None:
    bench.feed(100)
    assert bench.answered(1).window == 0
    assert not bench.answered(1, name="votes").repeated


def test_an_answer_waits_until_its_season_is_paid_for(bench: Bench) -> None:
    bench.feed(300)
    bench.feed(60, learn=False)
    bench.ask(1)
    assert bench.waited[-1] == 0
    assert bench.engine.position == 300  # the window of the season before needs nothing new
    bench.feed(90, learn=False)
    assert bench.answered(2).window == 3
    assert bench.waited[-1] == 1
    assert bench.engine.position >= 350
    numbers = [e.number for e in bench.store.ledger(STREAM) if e.season == 1]
    assert charged(bench, 3)[0].number == max(numbers)


def test_a_store_refuses_answers_from_a_season_that_is_not_paid_for(bench: Bench) -> None:
    bench.feed(450, learn=False)
    desk = AnsweringService(bench.plan, bench.noise, bench.store, lambda _: None, bench.position)
    with pytest.raises(StoreDamaged, match="from a season that has not begun"):
        desk.answer(question(1), bench.position)


# --- Public facts ---------------------------------------------------------------------------------


def test_the_status_says_where_windows_stand(bench: Bench) -> None:
    status = bench.desk.status(bench.position)["near"]
    assert status["window"] is status["window_first"] is status["window_last"] is None
    assert (status["answers_left"], status["next_window"]) == (0, 100)
    bench.feed(460)
    bench.answered(1)
    status = bench.desk.status(bench.position)["near"]
    assert (status["method"], status["window_examples"], status["window"]) == ("dense", 100, 3)
    assert [status[key] for key in ("window_first", "window_last", "next_window")] == [
        350,
        449,
        550,
    ]
    assert (status["answers_given"], status["answers_left"]) == (3, 17)
    assert Price.from_dict(status["answer_price"]) * 3 == charged(bench, 3)[0].price
    # a window that nobody has asked yet
    fresh = bench.desk.status(560)["near"]
    assert (fresh["window"], fresh["answers_given"], fresh["answers_left"]) == (4, 0, 20)


def test_a_new_desk_knows_what_was_answered(path: Path) -> None:
    with opened(path) as bench:
        bench.feed(100)
        bench.answered(1)
        before = bench.desk.status(bench.position)
    with opened(path) as bench:
        assert bench.desk.status(bench.position) == before
        assert bench.answered(2).left == 14


# --- Crashes --------------------------------------------------------------------------------------


class Crash(Exception):
    """The daemon died."""


class DyingShelf:
    """A store that dies once, before or after a commit."""

    def __init__(self, store: Store, *, committed: bool) -> None:
        self.store, self.committed = store, committed
        self.seen: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def answer(self, new: NewPrediction, entry: LedgerEntry) -> StoredPrediction:
        self.seen.append(new.y)
        if self.committed:
            self.store.answer(new, entry)
        raise Crash


@pytest.mark.parametrize("committed", [False, True])
def test_a_crash_gives_the_same_bits_and_charges_once(path: Path, *, committed: bool) -> None:
    points = bytes(range(64))[:20]
    with opened(path) as bench:
        bench.feed(130)
        shelf = DyingShelf(bench.store, committed=committed)
        with pytest.raises(Crash):
            bench.open_desk(shelf).answer(question(1, points), bench.position)
    with opened(path) as bench:
        again = bench.answered(1, points)
        assert again.y == shelf.seen[0]
        assert again.repeated == committed
        assert len(charged(bench, 0)) == 1
        assert again.left == 0
    assert verify(path).findings == ()


def test_another_history_gets_other_noise(path: Path, tmp_path: Path) -> None:
    """A copy asked something else in between answers the same question with other bits."""
    points = bytes([20] * 17)
    twin = shutil.copytree(path, tmp_path / "twin")
    answers = []
    for number, each in enumerate((path, Path(twin))):
        with opened(each) as bench:
            bench.feed(100)
            bench.answered(10 + number)
            answers.append(bench.answered(1, points).y)
    assert answers[0] != answers[1]


# --- Noise ----------------------------------------------------------------------------------------


class Listening:
    """Noise that remembers every word that was drawn."""

    def __init__(self, noise: NoiseSource) -> None:
        self.noise = noise
        self.drawn: set[tuple[Address, int]] = set()
        self.twice = 0

    def words(self, address: Address, count: int, offset: int = 0) -> Any:
        for index in range(offset, offset + count):
            self.twice += (address, index) in self.drawn
            self.drawn.add((address, index))
        return self.noise.words(address, count, offset)


METHODS = [
    DENSE,
    PredictionParameters(
        "stability", EPSILON, 50, 20,
        rate=Fraction(1, 10), subset_rate=Fraction(1, 10), flip=Fraction(1, 10),
    ),
    PredictionParameters(
        "relabelling", EPSILON, 40, 20,
        rate=Fraction(1, 100), subset_rate=Fraction(1, 2), net=Fraction(1, 10), chunks=5,
        vote_rate=Fraction(1, 100), flip=Fraction(2, 5),
    ),
    VOTES,
    PredictionParameters("averaging", EPSILON, 50, 20, chunks=8, flip=Fraction(1, 5)),
    PredictionParameters("majority", EPSILON, 50, 20, chunks=8, vote_rate=Fraction(1, 10)),
]  # fmt: skip


@pytest.mark.parametrize("parameters", METHODS, ids=lambda each: each.method)
def test_every_method_answers_from_noise_of_its_own_and_is_recomputed(
    tmp_path: Path, parameters: PredictionParameters
) -> None:
    plan = stream_plan([prediction_plan("near", parameters)])
    path = make_store(tmp_path / "store", plan)
    with opened(path) as bench:
        bench.feed(230)
        bench.noise = Listening(bench.noise)  # type: ignore[assignment]
        bench.desk = bench.open_desk()
        for number in range(3):
            bench.answered(number, bytes([20, 20]))
        assert bench.noise.twice == 0  # type: ignore[attr-defined]
        assert bench.noise.drawn  # type: ignore[attr-defined]
        heads = {address.chain_head for address, _ in bench.noise.drawn}  # type: ignore[attr-defined]
        assert heads == {each.question_head for each in bench.store.predictions(STREAM)}
    assert differences(path) == []
    assert verify(path).findings == ()


# --- Replay ---------------------------------------------------------------------------------------


def differences(path: Path, key: bytes | None = None) -> list[str]:
    """What a replay of all predictions finds."""
    with Store.open(path, read_only=True) as store:
        plan = StreamPlan.from_dict(store.plans[STREAM])
        noise = KeyedNoise(key or store.noise_key)
        return list(differing(plan, noise, store, store.predictions(STREAM)))


def busy(bench: Bench) -> list[Prediction | PredictionRefused]:
    """A day at the desk."""
    said: list[Prediction | PredictionRefused] = []
    for number in range(30):
        bench.feed(37)
        said.append(bench.ask(number % 11, bytes([20, number % 11])))
        said.append(bench.ask(100 + number, bytes([20, 21]), name="votes"))
    return said


def test_a_replay_gives_the_same_bytes(path: Path, tmp_path: Path) -> None:
    twin = Path(shutil.copytree(path, tmp_path / "twin"))
    with opened(path) as one, opened(twin) as other:
        assert busy(one) == busy(other)
        assert list(one.store.predictions(STREAM)) == list(other.store.predictions(STREAM))
        assert one.store.ledger(STREAM) == other.store.ledger(STREAM)
        whole = replay(one.plan, one.noise, one.store.records(STREAM), one.executor)
        assert whole.entries == without_answers(one.store.ledger(STREAM))
    assert differences(path) == []
    assert verify(path).findings == ()


def test_another_answer_or_key_is_found_by_a_replay(path: Path) -> None:
    with opened(path) as bench:
        bench.feed(100)
        bench.answered(1, bytes([20] * 20))
        (stored,) = bench.store.predictions(STREAM)
        wrong = replace(stored, y=bytes(1 - each for each in stored.y))
        found = list(differing(bench.plan, bench.noise, bench.store, [stored, wrong]))
        assert found == ["prediction 0 of s is not what the journal leads to"]
        assert (
            list(
                differing(bench.plan, bench.noise, bench.store, [replace(stored, learner="s/late")])
            )
            == found
        )
    assert differences(path, bytes(32)) == found


# --- Whatever is asked in whatever order ----------------------------------------------------------

ASKS = st.tuples(
    st.just("ask"),
    st.integers(0, 12),
    st.integers(1, 9),
    st.sampled_from(["near", "votes", "late"]),
)
FEEDS = st.tuples(st.sampled_from(["feed", "feed later"]), st.integers(1, 130))
STEPS = st.lists(st.one_of(ASKS, ASKS, ASKS, FEEDS, st.tuples(st.just("restart"))), max_size=30)


def one_step(bench: Bench, step: tuple[Any, ...]) -> Bench:
    """Ask, feed or start again; the store's folder stays."""
    if step[0] == "ask":
        bench.ask(step[1], bytes([20] * step[2]), step[3])
    elif step[0] == "restart":
        folder = bench.store._place.path
        bench.close()
        return Bench(Store.open(folder))
    else:
        bench.feed(step[1], learn=step[0] == "feed")
    return bench


@settings(max_examples=12)
@given(STEPS)
def test_no_window_gives_more_than_its_cap_and_the_books_hold(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Any, ...]]
) -> None:
    path = make_store(tmp_path_factory.mktemp("property") / "store")
    bench = Bench(Store.open(path))
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: bench.close())  # noqa: PLW0108 - of the last one
        for step in steps:
            bench = one_step(bench, step)
        entries = bench.store.ledger(STREAM)
        stored = list(bench.store.predictions(STREAM))
    caps = {"near": 20, "votes": 7}
    for name, most in caps.items():
        given: dict[int, int] = {}
        for each in stored:
            if each.learner == f"{STREAM}/{name}":
                given[each.window] = given.get(each.window, 0) + each.count
        assert all(each <= most for each in given.values())
    assert len({(each.learner, each.request) for each in stored}) == len(stored)
    assert rederive(entries, stream_plan().caps, horizon=HORIZON, epsilon=EPSILON) == []
    assert verify(path).findings == ()


def test_the_store_would_notice_a_desk_that_forgets_what_it_gave(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("littled.engine.predictions._admitted", lambda _, standing, count: standing)
    bench.feed(100)
    bench.answered(1, bytes(20))
    with pytest.raises(StoreDamaged, match="would exceed what window 0 was paid for"):
        bench.ask(2, bytes(1))
