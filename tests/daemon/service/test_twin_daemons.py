"""Twin daemons: while the outputs of neighbouring streams agree, nobody sees any difference at all.

Every frame to producers and watchers, every page and event of HTTP, every line of the log, every
error, and what is admitted and credited are the same bytes, as `support.twin_daemons` lives two
days with them. The neighbours are chosen so that all releases and answers agree although some
mechanism was asked something else. Leaks that are planted have to be seen.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.classes.names import class_from_name, class_of_reading
from littled.cli import streams
from littled.engine import Engine
from littled.learners.batch import BatchParameters
from littled.learners.online import OnlineState
from littled.learners.online.parameters import OnlineParameters
from littled.learners.prediction import PredictionParameters
from littled.learners.users import Run
from littled.planner import OnlinePlan, StreamPlan
from littled.planner.batch.plan import BatchPlan
from littled.planner.prediction.plan import PredictionPlan
from littled.service import rows, sessions
from littled.service.channels import Channel, ExampleSchema
from littled.service.daemon import Daemon
from littled.service.feeding import Feeding
from littled.service.host import Host
from littled.service.json_bodies import NotJson, read_json
from littled.service.samples import METRICS, MetricName, Sample
from littled.service.sessions import Session
from littled.service.subscribers import Releases
from littled.store.store import Store
from littled_client.conversions import BadRow
from littled_client.encoder import Encoder
from littled_protocol.encodings import Form, Reading, TableSchema, chosen_columns, column_from_dict
from littled_protocol.messages import Ack, Error, error_message
from littled_protocol.rules import Words, rule_from_dict
from support.posting import cells_of, random_users
from support.twin_daemons import (
    NORMALISED,
    WRONG_FRAMES,
    WRONG_USERS,
    Course,
    Shown,
    assert_same,
    live,
    normalised,
    stored_users,
)
from support.twins import (
    Ears,
    Entry,
    Kind,
    compare,
    exchange,
    plan_of,
    points_of,
    random_neighbour,
    random_script,
    random_stream,
    random_user_neighbour,
    with_users,
)
from support.twins import course as course_of

EXAMPLES, HORIZON = 30, 22
TRIES = 60

ONLINE = OnlineParameters(
    epsilon=Fraction(1),
    horizon=HORIZON,
    noise_rate=Fraction(0),
    trigger_rate=Fraction(1, 2),
    trigger_threshold=5,
    selection="dense",
    selection_rate=Fraction(1, 2),
    selection_accounting="pure",
    draws=1,
    calls_max=2,
    buffer="examples",
)
SPARSE = replace(
    ONLINE, selection="sparse", buffer="both", background_max=12, list_cap=4, bottom_score=3,
    draws=3,
)  # fmt: skip
CLOSURE = replace(
    ONLINE, selection="closure", buffer="mistakes", list_cap=1, bottom_score=3,
    selection_rate=Fraction(1), fresh=True,
)  # fmt: skip
SETS = replace(
    CLOSURE, selection="histogram", list_cap=0, fresh=False, tests="cohen_lyu",
    tests_failure=Fraction(1, 1000),
)  # fmt: skip
WINDOW: dict[str, Any] = {"epsilon": Fraction(30), "window": 10, "answers_max": 4}
NEAR = PredictionParameters("dense", **WINDOW, rate=Fraction(1, 3))
IN_WINDOWS = BatchParameters(
    "dense", epsilon=Fraction(30), horizon=HORIZON, window=7, rate=Fraction(1, 2)
)
OF_IDS = replace(IN_WINDOWS, method="histogram", bottom_score=2, user_examples_max=2)
VOTES = PredictionParameters("realizable", **WINDOW, chunks=4, vote_rate=Fraction(1, 2))
STREAMS: dict[str, tuple[str, Sequence[Any]]] = {
    "dense": ("thresholds:8", [ONLINE]),
    "sparse": ("prefixes:3", [SPARSE]),
    "closure": ("affine:3:2", [CLOSURE]),
    "sets": ("points:3", [SETS]),
    "asked": ("thresholds:8", [ONLINE, NEAR, VOTES]),
    "windows": ("thresholds:8", [IN_WINDOWS]),
    "loans": ("", [ONLINE, replace(ONLINE, buffer="mistakes")]),
    "cards": ("", [SETS, ONLINE]),
}
# Of tables: the columns of the stream, and the class of each learner with what it reads.
COLUMNS: dict[str, tuple[dict[str, Any], ...]] = {
    "loans": (
        {"name": "income", "kind": "number", "from": 0, "to": 9, "steps": 3, "missing": "bucket"},
        {"name": "grade", "kind": "category", "values": ["A", "B"], "other": "refuse"},
    ),
    "cards": (
        {"name": "card", "kind": "id", "bits": 3},
        {"name": "paid", "kind": "time", "parts": ["weekday"]},
    ),
    "orders": (
        {"name": "amount", "kind": "number", "from": 0, "to": 9, "steps": 4},
        {"name": "country", "kind": "category", "values": ["at", "de"], "other": "bucket"},
    ),
}
READ: dict[str, tuple[tuple[str, Form, tuple[str, ...]], ...]] = {
    "loans": (("stumps", "row", ("income", "grade")), ("thresholds", "value", ("income",))),
    "cards": (("points", "number", ("card",)), ("thresholds", "value", ("paid",))),
    "orders": (("stumps", "row", ("amount", "country")),),
}
KINDS_OF_PLANS: dict[type[Any], type[Any]] = {
    OnlineParameters: OnlinePlan, PredictionParameters: PredictionPlan, BatchParameters: BatchPlan,
}  # fmt: skip


def plan_named(name: str) -> StreamPlan:
    """The plan of a stream as its store gives it back; "asked" has calls enough for one only."""
    kind, parameters = (STREAMS | USER_STREAMS)[name]
    schema = schema_of(name)
    plans = []
    for number, each in enumerate(parameters):
        if schema is None:
            words, hypotheses = Words(), class_from_name(kind)
        else:
            own, form, names = READ[name][number]
            reading = Reading(chosen_columns(schema.columns, names), form)
            words = Words(positive="yes", negative="no", reading=reading)
            hypotheses = class_of_reading(own, reading)
        plans.append(KINDS_OF_PLANS[type(each)](f"l{number}", hypotheses, each, words))
    share = Fraction(9, 10) if name == "asked" else Fraction(1)
    plan = replace(plan_of(plans, HORIZON, name=name, share=share), schema=schema)
    return StreamPlan.from_dict(plan.to_dict())


def schema_of(name: str) -> TableSchema | None:
    """The columns of a stream of tables."""
    if name not in COLUMNS:
        return None
    user = "customer" if name in USER_STREAMS else None
    return TableSchema(tuple(map(column_from_dict, COLUMNS[name])), "defaulted", "yes", "no", user)


# Streams that protect users, with c: mistakes that a trigger counts, secret words of users, ids,
# windows.
USER_STREAMS: dict[str, tuple[str, Sequence[Any]]] = {
    "visits": (
        "thresholds:8",
        [replace(ONLINE, buffer="mistakes", trigger_threshold=3, user_examples_max=2)],
    ),
    "page_views": (
        "affine:3:2",
        [replace(CLOSURE, teachers=3, bottom_score=2, trigger_threshold=3, user_examples_max=1)],
    ),
    "ids": (
        "points:3",
        [replace(CLOSURE, selection="histogram", list_cap=0, fresh=False, user_examples_max=3)],
    ),
    "hours": ("points:3", [OF_IDS]),
    "orders": ("", [replace(ONLINE, trigger_threshold=3, user_examples_max=2)]),
}


def points(plan: StreamPlan) -> NDArray[Any]:
    if plan.schema is not None:
        numbers = [sorted(cells_of(column)) for column in plan.schema.columns]
        rows = [sum(row, ()) for row in product(*numbers)]
        return np.array(rows, dtype=np.uint16)
    return points_of(plan.plans[0].hypotheses, range(8))


PLANS = {name: plan_named(name) for name in STREAMS}
USER_PLANS = {name: plan_named(name) for name in USER_STREAMS}


# --- Choosing twins -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Original:
    """A stream, and neighbours of it that say the same but are not the same to some mechanism."""

    course: Course
    said: list[Entry]
    key: bytes

    @classmethod
    def random(cls, name: str, ears: Ears, key: bytes, random: np.random.Generator) -> "Original":
        plan = PLANS[name]
        stream = random_stream(points(plan), EXAMPLES, random, noisy=0.2)
        script = random_script(plan, points(plan), EXAMPLES, random)
        return cls(Course(plan, stream, script), course_of(plan, stream, script, ears, key), key)

    def twin(self, ears: Ears, random: np.random.Generator, *different: str) -> Course:
        """A neighbour that puts something else to a mechanism, of these kinds if any are named."""
        plan, script = self.course.plan, self.course.script
        for _ in range(TRIES):
            position, other = random_neighbour(self.course.examples, points(plan), random)
            verdict = compare(
                plan,
                [position],
                self.said,
                course_of(plan, other, script, ears, self.key, self.said),
            )
            found = {what for what, change in verdict.largest.items() if change}
            if verdict.agreed and found and found >= set(different):
                return replace(self.course, examples=other)
        raise AssertionError(f"no neighbour of a stream of {plan.stream} says the same")


@dataclass(frozen=True)
class Twin:
    """A neighbour, and whose secret words are exchanged."""

    course: Course
    exchanged: Mapping[bytes, bytes]


@dataclass(frozen=True)
class UserOriginal:
    """The same of a stream that protects users, in a store with the key `store_key`."""

    course: Course
    said: list[Entry]
    key: bytes
    store_key: bytes

    @classmethod
    def random(
        cls, name: str, ears: Ears, keys: tuple[bytes, bytes], random: np.random.Generator
    ) -> "UserOriginal":
        plan, (key, store_key) = USER_PLANS[name], keys
        stream = random_stream(points(plan), EXAMPLES, random, noisy=0.2)
        stream = with_users(stream, random, 9, random_users)
        script = random_script(plan, points(plan), EXAMPLES, random)
        stored = stored_users(stream, store_key, name)
        return cls(Course(plan, stream, script), course_of(plan, stored, script, ears, key), *keys)

    def twin(
        self, ears: Ears, random: np.random.Generator, kind: Kind, different: Sequence[str]
    ) -> Twin | None:
        """A neighbour with other examples of a user, or of somebody else in their place."""
        plan, script, stream = self.course.plan, self.course.script, self.course.examples
        here = stored_users(stream, self.store_key, plan.stream).users
        assert here is not None
        for _ in range(TRIES):
            other = random_user_neighbour(
                stream, points(plan), random, kind, self.said, random_users
            )
            stored = stored_users(other.stream, self.store_key, plan.stream)
            assert stored.users is not None
            place = other.positions[0]
            exchanged = exchange(here[place], stored.users[place])
            said = course_of(plan, stored, script, ears, self.key, self.said, exchanged)
            verdict = compare(plan, other.positions, self.said, said)
            found = {what for what, change in verdict.largest.items() if change}
            if verdict.agreed and (found or kind == "name") and found >= set(different):
                return Twin(replace(self.course, examples=other.stream), exchanged)
        return None


@pytest.fixture(scope="module")
def new_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new store with all streams, never to be opened."""
    path = tmp_path_factory.mktemp("twins") / "new"
    Store.create(path, {}, {name: plan.to_dict() for name, plan in PLANS.items()})
    return path


@pytest.fixture(scope="module")
def user_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the streams that protect users, with one key: users' names come from it."""
    path = tmp_path_factory.mktemp("users") / "new"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "token_bytes", lambda count: bytes(range(count)))
        Store.create(path, {}, {name: plan.to_dict() for name, plan in USER_PLANS.items()})
    return path


def choose(
    names: Sequence[str], twins: int, seed: tuple[int, int], *different: str
) -> tuple[bytes, list[Course], list[list[Course]]]:
    """The key of all noise, one random stream of each plan, and so many twins of each."""
    random = np.random.default_rng(seed)
    key = random.bytes(32)
    with pytest.MonkeyPatch.context() as patch:
        ears = Ears(patch)
        for plan in PLANS.values():
            ears.listen_to(plan.plans[0].hypotheses)
        originals = [Original.random(name, ears, key, random) for name in names]
        others = [[each.twin(ears, random, *different) for each in originals] for _ in range(twins)]
    return key, [each.course for each in originals], others


def check_twins(new_store: Path, days: int, twins: int, seed: int) -> int:
    """So many days, each with so many twins of every stream; the number of pairs of streams."""
    pairs = 0
    for day in range(days):
        key, originals, others = choose(list(STREAMS), twins, (seed, day))
        one = live(new_store, originals, key)
        for courses in others:
            assert_same(one, live(new_store, courses, key))
            pairs += len(courses)
    return pairs


# A peer has an allowance for what it asks for, and waits for that most of a day.
WAITING_SECONDS = 320.0
KINDS: tuple[Kind, ...] = ("examples", "silent", "name")


def choose_users(
    user_store: Path,
    names: Sequence[str],
    kinds: Sequence[Kind],
    seed: tuple[int, int],
    *different: str,
) -> tuple[bytes, list[Course], list[list[Twin]]]:
    """The same with streams of users, and twins of these kinds; streams that have none are left.

    A user may have too many examples for anything that is said to be the same without them.
    """
    random = np.random.default_rng(seed)
    with Store.open(user_store, read_only=True) as store:
        keys = random.bytes(32), store.noise_key
    with pytest.MonkeyPatch.context() as patch:
        ears = Ears(patch)
        for plan in USER_PLANS.values():
            ears.listen_to(plan.plans[0].hypotheses)
        courses, others = [], [list[Twin]() for _ in kinds]
        for name in names:
            twins: list[Twin | None] = [None]
            while None in twins:
                original = UserOriginal.random(name, ears, keys, random)
                twins = [original.twin(ears, random, kind, different) for kind in kinds]
            courses.append(original.course)
            for day, twin in zip(others, twins, strict=True):
                assert twin is not None
                day.append(twin)
    return keys[0], courses, others


def live_as(user_store: Path, twins: Sequence[Twin], key: bytes, **how: Any) -> Shown:
    """A day with these twins."""
    exchanged = {user: word for each in twins for user, word in each.exchanged.items()}
    return live(user_store, [each.course for each in twins], key, exchanged, **how)


def check_user_twins(
    user_store: Path,
    days: int,
    twins: int,
    seed: int,
    *,
    over_http: bool = False,
    closing: bool = False,
) -> int:
    """So many days with streams of users, each with so many twins of each kind."""
    pairs, shown = 0, set[str]()
    for day in range(days):
        kinds = KINDS * twins
        key, originals, others = choose_users(user_store, list(USER_STREAMS), kinds, (seed, day))
        one = live(user_store, originals, key, over_http=over_http, closing=closing)
        for number, each in enumerate(others):
            how = {"over_http": over_http, "spelling": number, "closing": closing}
            assert_same(one, live_as(user_store, each, key, **how))
            pairs += len(each)
        shown |= one.keys()
    assert_wrong_frames(shown, (*WRONG_FRAMES, *WRONG_USERS))
    return pairs


def assert_wrong_frames(places: Iterable[str], frames: Iterable[Callable[..., bytes]]) -> None:
    """These wrong frames have been shown out, and no others."""
    seen = {each.split()[1] for each in places if each.split()[1].startswith("_")}
    assert seen == {frame.__name__ for frame in frames}


@dataclass(frozen=True)
class Lived:
    """A day that was lived through, and twins of all its streams."""

    key: bytes
    shown: Shown
    others: list[list[Course]]


@pytest.fixture(scope="module")
def lived(new_store: Path) -> Lived:
    """A day with every stream."""
    key, originals, others = choose(list(STREAMS), 4, (0, 0))
    return Lived(key, live(new_store, originals, key), others)


@pytest.mark.long
@pytest.mark.timeout(WAITING_SECONDS)
def test_twin_daemons_show_the_same_bytes_everywhere(new_store: Path, lived: Lived) -> None:
    for courses in lived.others:
        assert_same(lived.shown, live(new_store, courses, lived.key))


def check_twins_over_http(new_store: Path, days: int, twins: int, seed: int) -> int:
    """The same where examples are rows of values; the number of pairs of streams.

    Each writes its points with other cells, and so does the original once more.
    """
    pairs = 0
    for day in range(days):
        key, originals, others = choose(list(STREAMS), twins, (seed, day))
        one = live(new_store, originals, key, over_http=True)
        answers = [shown for place, shown in one.items() if " /feed/" in place]
        assert {answer.split()[1] for answer in answers} == {b"200", b"400"}
        for number, courses in enumerate([originals, *others], start=1):
            twin = live(new_store, courses, key, over_http=True, spelling=number)
            assert_same(one, twin)
            pairs += len(courses)
    return pairs


@pytest.mark.long
@pytest.mark.timeout(WAITING_SECONDS)
def test_twin_daemons_fed_over_http_show_the_same_bytes_everywhere(new_store: Path) -> None:
    assert check_twins_over_http(new_store, days=1, twins=1, seed=3) == 16


@pytest.mark.long
@pytest.mark.timeout(WAITING_SECONDS)
def test_twin_daemons_of_users_fed_over_http_show_the_same_bytes(user_store: Path) -> None:
    assert check_user_twins(user_store, days=1, twins=1, seed=5, over_http=True) == 15


@pytest.mark.long
@pytest.mark.timeout(WAITING_SECONDS)
def test_twin_daemons_whose_streams_are_closed_show_the_same_bytes(new_store: Path) -> None:
    """What the command says, pages and events of the next life, and what is refused in it."""
    key, originals, others = choose(list(STREAMS), 1, (8, 0))
    one = live(new_store, originals, key, closing=True)
    for courses in others:
        assert_same(one, live(new_store, courses, key, closing=True))
    whole = b"".join(one.values())
    for course in originals:
        name = course.plan.stream
        (late,) = (each for place, each in one.items() if f"late producer of {name}" in place)
        assert b"stream_closed" in late
        assert one[f"closing of {name}"].startswith(f"closed {name} after ".encode())
    assert b"the stream is closed and takes no more rows" in whole
    assert b'"closed": true' in whole


@pytest.mark.long
@pytest.mark.timeout(WAITING_SECONDS)
def test_twin_daemons_of_users_whose_streams_are_closed_show_the_same_bytes(
    user_store: Path,
) -> None:
    assert check_user_twins(user_store, days=1, twins=1, seed=9, closing=True) == 15


def test_a_planted_leak_of_a_closing_is_seen(
    new_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, originals, others = choose(["dense"], 1, (2, 0), "gaps")
    catch_up = streams.catch_up

    def counting(store: Store, name: str) -> None:
        catch_up(store, name)
        print(sum(sum(record.x) - sum(record.y) for record in store.records(name)))  # noqa: T201

    monkeypatch.setattr(streams, "catch_up", counting)
    one, other = (live(new_store, courses, key, closing=True) for courses in (originals, others[0]))
    with pytest.raises(AssertionError, match="closing of dense differs"):
        assert_same(one, other)


@pytest.mark.campaign
def test_hundreds_of_twin_daemons_fed_over_http_show_the_same_bytes(new_store: Path) -> None:
    assert check_twins_over_http(new_store, days=20, twins=6, seed=4) == 1120


@pytest.mark.campaign
def test_a_thousand_twin_daemons_show_the_same_bytes_everywhere(new_store: Path) -> None:
    assert check_twins(new_store, days=20, twins=10, seed=1) == 1600


@pytest.mark.long
@pytest.mark.timeout(WAITING_SECONDS)
def test_twin_daemons_of_users_show_the_same_bytes_everywhere(user_store: Path) -> None:
    assert check_user_twins(user_store, days=1, twins=1, seed=1) == 15


@pytest.mark.campaign
def test_hundreds_of_twin_daemons_of_users_show_the_same_bytes(user_store: Path) -> None:
    assert check_user_twins(user_store, days=20, twins=3, seed=2) == 900


@pytest.mark.campaign
def test_hundreds_of_twin_daemons_of_users_fed_over_http(user_store: Path) -> None:
    assert check_user_twins(user_store, days=20, twins=3, seed=6, over_http=True) == 900


@pytest.mark.long
def test_a_day_shows_every_surface(lived: Lived) -> None:
    """What is compared holds releases, answers, refusals, halts, and errors of wrong frames."""
    shown = lived.shown
    whole = b"".join(shown.values())
    for kind in (b'"kind": "rule"', b'"kind": "season"', b'"kind": "halt"', b"window_spent"):
        assert kind in whole
    for place in ("/metrics", "/status", "/predict", "credit", "log of", "ledger", "watcher"):
        assert any(place in each for each in shown)
    assert_wrong_frames(shown, WRONG_FRAMES)
    codes = {b"invalid_examples", b"sequence_gap", b"malformed_frame", b"unexpected_message"}
    assert all(code in whole for code in codes)
    # nothing of what is made equal is left, and the clock was there
    assert normalised(whole) == whole
    assert b'"timestamp": ""' in whole


@pytest.mark.parametrize("what", NORMALISED)
def test_only_what_is_listed_is_made_equal(what: str) -> None:
    here, there = {
        "the clock in the log": (b'{"timestamp": "1Z", "x": 1}', b'{"timestamp": "2Z", "x": 1}'),
        "the clock in HTTP": (b"\r\nDate: Sat\r\nx", b"\r\nDate: Sun\r\nx"),
        "the port of HTTP": (b'"address": "127.0.0.1:99"', b'"address": "127.0.0.1:7"'),
    }[what]
    assert normalised(here) == normalised(there)
    assert normalised(here + b"1") != normalised(there + b"2")


# --- Planted leaks --------------------------------------------------------------------------------


def plant_metric(
    patch: pytest.MonkeyPatch, what: str, figure: Callable[[OnlineState], int]
) -> None:
    """A metric of what every learner knows."""
    metric = MetricName("gauge", f"The number of {what}.", ("learner",), "published")
    patch.setitem(METRICS, f"littled_{what}", metric)
    samples = Daemon._samples

    def more(daemon: Daemon) -> Iterator[Sample]:
        yield from samples(daemon)
        for host in daemon._hosts:
            for learner, state in states(host).items():
                yield Sample(f"littled_{what}", (f"{host.stream}/{learner}",), figure(state))

    patch.setattr(Daemon, "_samples", more)


def plant_line(patch: pytest.MonkeyPatch, figure: Callable[[OnlineState], int]) -> None:
    """A line of the log with what every learner of a stream knows."""
    learn = Host._learn

    def telling(host: Host, records: Any) -> Iterator[Any]:
        yield from learn(host, records)
        figures = [figure(state) for state in states(host).values()]
        host._log.info("learned", reason=f"{figures} mistakes")

    patch.setattr(Host, "_learn", telling)


def users_counted(state: OnlineState) -> Run:
    """The users whose mistakes the trigger has counted."""
    assert state.users_counted is not None
    return state.users_counted.whole()


def _a_metric_of_mistakes(patch: pytest.MonkeyPatch) -> None:
    plant_metric(patch, "mistakes", lambda state: state.mistakes)


def states(host: Host) -> dict[str, OnlineState]:
    """What the learners of a stream know."""
    engine = host._engine
    assert isinstance(engine, Engine)
    found = engine._course.states
    return {name: state for name, state in found.items() if isinstance(state, OnlineState)}


class Checked:
    """The points and labels that a channel checked last."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        check = ExampleSchema.check

        def noted(schema: ExampleSchema, x: bytes, y: bytes, count: int) -> None:
            self.x, self.y = schema.points.decode(x, count), np.frombuffer(y, dtype=np.uint8)
            check(schema, x, y, count)

        patch.setattr(ExampleSchema, "check", noted)

    def mistakes(self, releases: Releases) -> int:
        """Of the published rule of the one learner that these tests have."""
        release = releases.latest("dense/l0")
        assert release is not None
        assert release.rule is not None
        return int((rule_from_dict(release.rule).evaluate(self.x) != self.y).sum())


def _an_error_that_quotes_a_label(patch: pytest.MonkeyPatch) -> None:
    checked = Checked(patch)

    def quoting(error: Any, channel: int | None = None) -> Error:
        return replace(
            error_message(error, channel), message=f"the labels were {checked.y.tolist()}"
        )

    patch.setattr(sessions, "error_message", quoting)


def _an_acknowledgement_that_counts_mistakes(patch: pytest.MonkeyPatch) -> None:
    checked = Checked(patch)

    def acknowledge(channel: Channel, next_sequence: int, position: int) -> None:
        mistakes = checked.mistakes(cast("Session", channel._session)._context.releases)
        channel._session.send(Ack(channel.number, next_sequence, position + mistakes))

    patch.setattr(Channel, "acknowledge", acknowledge)


def _an_acknowledgement_more_for_a_mistake(patch: pytest.MonkeyPatch) -> None:
    checked, acknowledge = Checked(patch), Channel.acknowledge

    def twice(channel: Channel, next_sequence: int, position: int) -> None:
        for _ in range(1 + checked.mistakes(cast("Session", channel._session)._context.releases)):
            acknowledge(channel, next_sequence, position)

    patch.setattr(Channel, "acknowledge", twice)


def _a_line_of_the_log_with_a_gap(patch: pytest.MonkeyPatch) -> None:
    plant_line(patch, lambda state: state.mistakes)


def _a_status_with_a_share_of_labels(patch: pytest.MonkeyPatch) -> None:
    status = Daemon.status
    checked = Checked(patch)

    def telling(daemon: Daemon, streams: Sequence[str]) -> dict[str, Any]:
        return status(daemon, streams) | {"ones": int(checked.y.sum())}

    patch.setattr(Daemon, "status", telling)


def _an_answer_that_counts_mistakes(patch: pytest.MonkeyPatch) -> None:
    checked, facts = Checked(patch), Feeding._fed

    def counting(feeding: Feeding, *known: Any) -> dict[str, Any]:
        return {**facts(feeding, *known), "ones": int(checked.y.sum())}

    patch.setattr(Feeding, "_fed", counting)


def _a_sentence_that_quotes_rows(patch: pytest.MonkeyPatch) -> None:
    read = rows.StreamRows.columns

    def quoting(stream: rows.StreamRows, body: bytes, *, lines: bool) -> Any:
        try:
            return read(stream, body, lines=lines)
        except rows.RowsRefused:
            raise rows.RowsRefused(body.decode()) from None

    patch.setattr(rows.StreamRows, "columns", quoting)


@pytest.mark.parametrize("plant", [_an_answer_that_counts_mistakes, _a_sentence_that_quotes_rows])
def test_a_planted_leak_over_http_is_seen(
    plant: Callable[[pytest.MonkeyPatch], None], new_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, originals, others = choose(["dense"], 1, (2, 0), "gaps")
    plant(monkeypatch)
    one, other = (
        live(new_store, courses, key, over_http=True) for courses in (originals, others[0])
    )
    with pytest.raises(AssertionError, match=r"/feed/.* differs"):
        assert_same(one, other)


def _a_sentence_that_measures_cells(patch: pytest.MonkeyPatch) -> None:
    convert = Encoder.convert

    def measuring(encoder: Encoder, cells: Sequence[Any]) -> Any:
        try:
            return convert(encoder, cells)
        except BadRow as bad:
            raise BadRow(bad.index, f"{bad.reason} after {len(str(cells[0][0]))} letters") from None

    patch.setattr(Encoder, "convert", measuring)


def _a_sentence_that_says_how_far_it_came(patch: pytest.MonkeyPatch) -> None:
    def telling(text: bytes, line: int | None = None) -> Any:
        try:
            return read_json(text, line)
        except NotJson as refused:
            raise NotJson(f"{refused}, of {len(text)} bytes") from None

    patch.setattr(rows, "read_json", telling)


@pytest.mark.parametrize(
    ("plant", "name"),
    [
        (_a_sentence_that_measures_cells, "loans"),
        (_a_sentence_that_measures_cells, "cards"),
        (_a_sentence_that_says_how_far_it_came, "dense"),
    ],
)
def test_a_planted_leak_of_cells_is_seen_where_the_points_are_the_same(
    plant: Callable[[pytest.MonkeyPatch], None],
    name: str,
    new_store: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key, originals, _ = choose([name], 0, (2, 0))
    plant(monkeypatch)
    one, other = (
        live(new_store, originals, key, over_http=True, spelling=spelling) for spelling in (0, 1)
    )
    with pytest.raises(AssertionError, match=r"/feed/.* differs"):
        assert_same(one, other)


def _a_sentence_that_names_a_user(patch: pytest.MonkeyPatch) -> None:
    columns = rows.StreamRows._encoded

    def naming(stream: rows.StreamRows, cells: Sequence[Any]) -> Any:
        try:
            return columns(stream, cells)
        except BadRow as bad:
            raise BadRow(bad.index, f"{bad.reason}, of {sorted(map(str, cells[-1]))}") from None

    patch.setattr(rows.StreamRows, "_encoded", naming)


@pytest.mark.parametrize("name", ["visits", "orders"])
def test_a_planted_leak_of_users_over_http_is_seen(
    name: str, user_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, originals, (twins,) = choose_users(user_store, [name], ["name"], (2, 0))
    _a_sentence_that_names_a_user(monkeypatch)
    one = live(user_store, originals, key, over_http=True)
    with pytest.raises(AssertionError, match=r"/feed/.* differs"):
        assert_same(one, live_as(user_store, twins, key, over_http=True))


def _a_metric_of_counted_users(patch: pytest.MonkeyPatch) -> None:
    plant_metric(patch, "users", lambda state: len(users_counted(state)))


def _an_error_that_quotes_users(patch: pytest.MonkeyPatch) -> None:
    users_of, seen = ExampleSchema.users_of, list[bytes]()

    def noted(schema: ExampleSchema, message: Any) -> bytes:
        seen.append(bytes(message.users or b""))
        return users_of(schema, message)

    def quoting(error: Any, channel: int | None = None) -> Error:
        return replace(error_message(error, channel), message=f"the users were {seen[-1:]}")

    patch.setattr(ExampleSchema, "users_of", noted)
    patch.setattr(sessions, "error_message", quoting)


def _a_line_of_the_log_with_a_count(patch: pytest.MonkeyPatch) -> None:
    plant_line(patch, lambda state: int(users_counted(state).counts.sum()))


def _a_page_that_says_who_has_fed(patch: pytest.MonkeyPatch) -> None:
    status, users_of = Daemon.status, ExampleSchema.users_of
    seen = set[bytes]()

    def noted(schema: ExampleSchema, message: Any) -> bytes:
        users = users_of(schema, message)
        seen.update(users[at : at + 16] for at in range(0, len(users), 16))
        return users

    def telling(daemon: Daemon, streams: Sequence[str]) -> dict[str, Any]:
        return status(daemon, streams) | {"users": sorted(each.hex() for each in seen)}

    patch.setattr(ExampleSchema, "users_of", noted)
    patch.setattr(Daemon, "status", telling)


LEAKS_OF_USERS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], Kind]] = {
    "metrics": (_a_metric_of_counted_users, "silent"),
    "to visits": (_an_error_that_quotes_users, "name"),
    "log": (_a_line_of_the_log_with_a_count, "silent"),
    "status|control": (_a_page_that_says_who_has_fed, "name"),
}


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(each, marks=() if each in ("metrics", "to visits") else pytest.mark.campaign)
        for each in LEAKS_OF_USERS
    ],
)
def test_a_planted_leak_of_users_is_seen(
    place: str, user_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant, kind = LEAKS_OF_USERS[place]
    different = ["gaps"] if kind == "silent" else []
    key, originals, (twins,) = choose_users(user_store, ["visits"], [kind], (2, 0), *different)
    plant(monkeypatch)
    one, other = live(user_store, originals, key), live_as(user_store, twins, key)
    with pytest.raises(AssertionError, match=f"({place}).* differs"):
        assert_same(one, other)


LEAKS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "metrics": _a_metric_of_mistakes,
    "to dense": _an_error_that_quotes_a_label,
    "producer": _an_acknowledgement_that_counts_mistakes,
    "producer ": _an_acknowledgement_more_for_a_mistake,
    "log": _a_line_of_the_log_with_a_gap,
    "status|control": _a_status_with_a_share_of_labels,
}


@pytest.mark.parametrize("place", LEAKS, ids=[each.__name__[1:] for each in LEAKS.values()])
def test_a_planted_leak_is_seen(
    place: str, new_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, originals, others = choose(["dense"], 1, (2, 0), "gaps")
    LEAKS[place](monkeypatch)
    one, other = live(new_store, originals, key), live(new_store, others[0], key)
    with pytest.raises(AssertionError, match=f"({place.strip()}).* differs"):
        assert_same(one, other)
