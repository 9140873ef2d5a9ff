"""Twin daemons whose learners publish values of windows, of byte strings, ids and numbers.

As in `test_twin_daemons`: the neighbours are such that all releases agree, although the replaced
example is counted in a window that is published, and no byte that anybody sees differs. A byte
string is written in two ways, as a text and as hexadecimal digits of another length.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from littled.classes.names import class_from_name
from littled.learners.minimum import MinimumParameters
from littled.learners.most_frequent import MostFrequentParameters
from littled.learners.sequences import SequencesParameters
from littled.planner import StreamPlan
from littled.planner.minimum.plan import MinimumPlan
from littled.planner.most_frequent.plan import MostFrequentPlan
from littled.planner.sequences.plan import SequencesPlan
from littled.service import news
from littled.service.channels import ExampleSchema
from littled.service.daemon import Daemon
from littled.service.host import Host
from littled.service.rows import StreamRows
from littled.store.store import Store
from littled_client.conversions import BadRow
from littled_protocol.rules import Words
from support.posting import random_users
from support.sequences import sequence_points
from support.twin_daemons import Course, Shown, assert_same, live, stored_users
from support.twins import (
    Ears,
    Entry,
    Examples,
    Said,
    course,
    exchange,
    plan_of,
    points_of,
    random_neighbour,
    random_script,
    random_stream,
    random_user_neighbour,
    with_users,
)

pytestmark = pytest.mark.long

F = Fraction
EXAMPLES, HORIZON, WINDOW, TRIES = 30, 22, 7, 60
SIZES: dict[str, Any] = {"horizon": HORIZON, "window": WINDOW}
SPAN: dict[str, Any] = {
    "rank": 3, "span": 3, "length_rate": F(2), "prefix_rate": F(3), "bottom_score": 2,
    "least_count": 2,
}  # fmt: skip
VOTES: dict[str, Any] = {"vote_rate": F(2), "threshold": 2}
ANY = MostFrequentParameters("exponential", F(40), **SIZES, rate=F(3))
NAMED = MostFrequentParameters("stable", F(40), **SIZES, rate=F(3), bottom_score=2)
LEAST = MinimumParameters("exponential", F(40), **SIZES, rate=F(3), rank=2)
SPANNED = MinimumParameters("stable", F(40), **SIZES, rate=F(3), **SPAN)
FORWARD = SequencesParameters("exponential", F(40), **SIZES, rate=F(3), rank=2, **VOTES)
PREFIXED = SequencesParameters("stable", F(40), **SIZES, rate=F(3), **SPAN, **VOTES)
STREAMS: Mapping[str, tuple[str, Sequence[Any]]] = {
    "reports": ("strings:4", [ANY, NAMED]),
    "wanted": ("points:3", [ANY, NAMED]),
    "since": ("integers:3", [LEAST, SPANNED]),
    "tickets": ("oneway:2", [FORWARD, PREFIXED]),
}
USER_STREAMS: Mapping[str, tuple[str, Sequence[Any]]] = {
    "callers": ("strings:4", [replace(NAMED, user_examples_max=2)]),
    "stolen": ("points:3", [replace(ANY, user_examples_max=3)]),
}
PLANS_OF: Mapping[type[Any], type[Any]] = {
    MostFrequentParameters: MostFrequentPlan, MinimumParameters: MinimumPlan,
    SequencesParameters: SequencesPlan,
}  # fmt: skip
# Texts of several lengths, and strings that are none.
STRINGS = [b"ab\0\0", b"abcd", b"\xc3\xa9\0\0", b"\0\0\0\0", b"\xff\0\x01\x02", b"0x\0\0"]
FORGED = (1, *bytes(32))

Twin = tuple[Course, Mapping[bytes, bytes]]


def plan_named(name: str) -> StreamPlan:
    """The plan of a stream as its store gives it back."""
    kind, parameters = {**STREAMS, **USER_STREAMS}[name]
    hypotheses = class_from_name(kind)
    plans = [
        PLANS_OF[type(each)](f"l{number}", hypotheses, each, Words())
        for number, each in enumerate(parameters)
    ]
    return StreamPlan.from_dict(plan_of(plans, HORIZON, name=name).to_dict())


def points(plan: StreamPlan) -> NDArray[Any]:
    hypotheses = plan.plans[0].hypotheses
    if plan.stream == "tickets":
        return points_of(hypotheses, [bytes(each) for each in (*sequence_points(2), FORGED)])
    values: Sequence[Any] = STRINGS if plan.x_type == "bytes4" else range(8)
    return points_of(hypotheses, values)


PLANS = {name: plan_named(name) for name in (*STREAMS, *USER_STREAMS)}


# --- Choosing twins -------------------------------------------------------------------------------


def said(entries: Sequence[Entry]) -> list[Said]:
    return [each for each in entries if isinstance(each, Said)]


def counts(stream: Examples, other: Examples, position: int) -> bool:
    """Whether a window that is published counts another point there, or one more or less."""
    in_window = position % HORIZON < HORIZON // WINDOW * WINDOW and position < EXAMPLES - WINDOW
    return in_window and bool(stream.y[position] or other.y[position])


def random_course(
    name: str, ears: Ears, key: bytes, random: np.random.Generator
) -> tuple[Course, list[Said]]:
    """A stream, and all that is said of it."""
    plan = PLANS[name]
    stream = random_stream(points(plan), EXAMPLES, random, noisy=0.2)
    script = random_script(plan, points(plan), EXAMPLES, random)
    return Course(plan, stream, script), said(course(plan, stream, script, ears, key))


def twin_of(
    original: Course, heard: list[Said], ears: Ears, key: bytes, random: np.random.Generator
) -> Course | None:
    """A neighbour of which the same is said, and that is counted otherwise; None without one."""
    plan, stream, script = original.plan, original.examples, original.script
    for _ in range(TRIES):
        position, other = random_neighbour(stream, points(plan), random)
        if counts(stream, other, position) and heard == said(
            course(plan, other, script, ears, key)
        ):
            return replace(original, examples=other)
    return None


def choose(
    names: Sequence[str], twins: int, seed: tuple[int, int]
) -> tuple[bytes, list[Course], list[list[Course]]]:
    """The key of all noise, a random stream of each plan, and so many twins of each."""
    random = np.random.default_rng(seed)
    key = random.bytes(32)
    found, others = list[Course](), [list[Course]() for _ in range(twins)]
    with pytest.MonkeyPatch.context() as patch:
        ears = Ears(patch)
        for name in names:
            # of some streams whatever is counted otherwise is seen
            near: list[Course | None] = [None]
            while None in near:
                original, heard = random_course(name, ears, key, random)
                near = [twin_of(original, heard, ears, key, random) for _ in range(twins)]
            found.append(original)
            for day, twin in zip(others, near, strict=True):
                assert twin is not None
                day.append(twin)
    return key, found, others


def user_twins(name: str, key: bytes, store_key: bytes, seed: tuple[int, int]) -> list[Twin]:
    """A stream of users; then one with other examples of a user, and one with somebody else."""
    random, plan = np.random.default_rng(seed), PLANS[name]
    stream = random_stream(points(plan), EXAMPLES, random, noisy=0.2)
    stream = with_users(stream, random, 9, random_users)
    script = random_script(plan, points(plan), EXAMPLES, random)
    here = stored_users(stream, store_key, name)
    found: list[Twin] = [(Course(plan, stream, script), {})]
    with pytest.MonkeyPatch.context() as patch:
        ears = Ears(patch)
        heard = said(course(plan, here, script, ears, key))
        for kind in ("examples", "name"):
            for _ in range(3 * TRIES):
                other = random_user_neighbour(stream, points(plan), random, kind, [], random_users)
                there = stored_users(other.stream, store_key, name)
                assert here.users is not None
                assert there.users is not None
                words = exchange(here.users[other.positions[0]], there.users[other.positions[0]])
                if said(course(plan, there, script, ears, key, None, words)) == heard:
                    found.append((Course(plan, other.stream, script), words))
                    break
    assert len(found) == 3, f"no neighbour of a stream of {name} says the same"
    return found


# --- Twins ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def new_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new store with all streams, never to be opened; with one key, which users' names need."""
    path = tmp_path_factory.mktemp("values") / "new"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "token_bytes", lambda count: bytes(range(count)))
        Store.create(path, {}, {name: plan.to_dict() for name, plan in PLANS.items()})
    return path


def published(shown: Shown) -> int:
    """How many rules were published that are not the one that is always 0."""
    return sum(
        b"never" not in page and page.startswith(b"HTTP/1.1 200 ")
        for place, page in shown.items()
        if "format=text" in place
    )


def check_twins(new_store: Path, days: int, twins: int, seed: int, *, over_http: bool) -> int:
    """So many days, each with so many twins of every stream; the number of pairs of streams.

    Over HTTP each twin writes its points with other cells.
    """
    pairs = 0
    for day in range(days):
        key, originals, others = choose(list(STREAMS), twins, (seed, day))
        one = live(new_store, originals, key, over_http=over_http)
        assert published(one) > len(STREAMS)
        for number, courses in enumerate(others, start=1):
            other = live(new_store, courses, key, over_http=over_http, spelling=number)
            assert_same(one, other)
            pairs += len(courses)
    return pairs


@pytest.mark.parametrize("over_http", [False, True])
def test_twin_daemons_of_values_show_the_same_bytes_everywhere(
    new_store: Path, over_http: bool
) -> None:
    assert check_twins(new_store, days=1, twins=2, seed=7, over_http=over_http) == 8


@pytest.mark.campaign
@pytest.mark.parametrize("over_http", [False, True])
def test_hundreds_of_twin_daemons_of_values_show_the_same_bytes(
    new_store: Path, over_http: bool
) -> None:
    assert check_twins(new_store, days=15, twins=5, seed=8, over_http=over_http) == 300


@pytest.mark.parametrize("over_http", [False, True])
def test_twin_daemons_of_values_of_users_show_the_same_bytes(
    new_store: Path, over_http: bool
) -> None:
    key = bytes(32)
    with Store.open(new_store, read_only=True) as store:
        store_key = store.noise_key
    found = [user_twins(name, key, store_key, (9, 0)) for name in USER_STREAMS]
    days = list(zip(*found, strict=True))
    one, *others = (
        live(
            new_store,
            [each for each, _ in day],
            key,
            {user: word for _, words in day for user, word in words.items()},
            over_http=over_http,
            spelling=number,
        )
        for number, day in enumerate(days)
    )
    assert len(others) == 2
    for other in others:
        assert_same(one, other)


# --- Planted leaks --------------------------------------------------------------------------------


def _checksum(patch: pytest.MonkeyPatch) -> Any:
    """A hash of all examples that a channel has checked, as it is at any time."""
    check, seen = ExampleSchema.check, blake2b(digest_size=8)

    def noted(schema: ExampleSchema, x: bytes, y: bytes, count: int) -> None:
        seen.update(x + y)
        check(schema, x, y, count)

    patch.setattr(ExampleSchema, "check", noted)
    return seen


def _a_status_with_a_checksum(patch: pytest.MonkeyPatch) -> None:
    status, seen = Daemon.status, _checksum(patch)

    def telling(daemon: Daemon, streams: Sequence[str]) -> dict[str, Any]:
        return status(daemon, streams) | {"digest": seen.hexdigest()}

    patch.setattr(Daemon, "status", telling)


def _an_event_with_a_checksum(patch: pytest.MonkeyPatch) -> None:
    event, seen = news.event, _checksum(patch)
    patch.setattr(news, "event", lambda name, facts: event(name, {**facts, "d": seen.hexdigest()}))


def _a_line_that_counts_reports(patch: pytest.MonkeyPatch) -> None:
    learn = Host._learn
    # All so far: how many records one turn has depends on what else the machine does.
    learned: dict[Host, Any] = {}

    def telling(host: Host, records: Any) -> Any:
        yield from learn(host, records)
        whole = learned.setdefault(host, blake2b(digest_size=8))
        for record in records:
            whole.update(record.x + record.y)
        host._log.info("learned", reason=whole.hexdigest())

    patch.setattr(Host, "_learn", telling)


def _a_sentence_that_measures_strings(patch: pytest.MonkeyPatch) -> None:
    encoded = StreamRows._encoded

    def measuring(stream: StreamRows, cells: Sequence[Any]) -> Any:
        try:
            return encoded(stream, cells)
        except BadRow as bad:
            raise BadRow(bad.index, f"{bad.reason} after {len(str(cells[0][0]))} letters") from None

    patch.setattr(StreamRows, "_encoded", measuring)


LEAKS: Mapping[Callable[[pytest.MonkeyPatch], None], str] = {
    _a_status_with_a_checksum: "status|control",
    _an_event_with_a_checksum: "/events",
    _a_line_that_counts_reports: "log",
}


@pytest.mark.parametrize("name", ["reports", "tickets"])
@pytest.mark.parametrize("plant", LEAKS, ids=[each.__name__[1:] for each in LEAKS])
def test_a_planted_leak_of_strings_is_seen(
    plant: Callable[[pytest.MonkeyPatch], None],
    name: str,
    new_store: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key, originals, (others,) = choose([name], 1, (2, 0))
    one, other = live(new_store, originals, key), live(new_store, others, key)
    assert_same(one, other)
    plant(monkeypatch)
    one, other = live(new_store, originals, key), live(new_store, others, key)
    with pytest.raises(AssertionError, match=f"({LEAKS[plant]}).* differs"):
        assert_same(one, other)


def test_a_planted_leak_of_cells_is_seen_where_the_strings_are_the_same(
    new_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, originals, _ = choose(["reports"], 0, (2, 0))
    _a_sentence_that_measures_strings(monkeypatch)
    one, other = (
        live(new_store, originals, key, over_http=True, spelling=spelling) for spelling in (0, 1)
    )
    with pytest.raises(AssertionError, match=r"/feed/.* differs"):
        assert_same(one, other)
