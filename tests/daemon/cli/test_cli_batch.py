"""Learners of windows through a real daemon: plan, serve, feed, follow, status, replay, audit."""

import asyncio
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from littled_client import AsyncClient, Client
from littled_protocol.rules import ScorecardRule, ThresholdRule
from support.commands import Daemon, Littled, flights_csv, make_store, serve, start

CONFIGURATION = """
[streams.flights]
epsilon = 4.0
delta = 1e-6
horizon = 6_000
x = { name = "departure delay", unit = "min", offset = -30 }
y = { positive = "late", negative = "not late" }
learners.late = { kind = "batch", class = "thresholds:256", window = 2_000, noise_rate = 0.1 }
learners.listed = { kind = "batch", class = "thresholds:256", window = 500, method = "teachers" }

[streams.visits]
epsilon = 4.0
delta = 1e-6
horizon = 6_000
unit = "user"
user_examples_max = 2
learners.late = { kind = "batch", class = "thresholds:256", window = 2_000 }
"""
COLUMNS = ["--x", "delay", "--y", "late", "--clip", "-30", "225", "--offset", "-30"]
EXAMPLES = 9_000
PLAN = ["plan", "--kind", "batch", "--epsilon", "1", "--delta", "1e-6", "--horizon", "100000"]
PLAN += ["--quality", "0"]  # all of it for learning
# What one season and the beginning of the next release, windows being 2,000 examples.
RELEASES = [
    ("rule", 0), ("rule", 2_000), ("rule", 4_000), ("rule", 6_000), ("season", 6_000),
    ("rule", 8_000),
]  # fmt: skip


@pytest.fixture(scope="module")
def fed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon whose first season is over and whose second has begun."""
    folder = tmp_path_factory.mktemp("windows")
    make_store(folder, CONFIGURATION)
    running = serve(folder)
    file = flights_csv(folder / "flights.csv", EXAMPLES)
    process = start("feed", "flights", file, *COLUMNS, "-a", running.address)
    assert process.wait(60) == 0
    yield running
    assert running.stop() == 0


@pytest.mark.long
def test_each_window_has_one_release(fed: Daemon) -> None:
    with Client(fed.address) as client:
        found = client.subscribe("flights/late")
        releases = [next(found) for _ in RELEASES]
        found.close()
    assert [(release.kind, release.position) for release in releases] == RELEASES
    for release in releases[1:]:
        assert isinstance(release.rule, ThresholdRule)
        assert 30 < release.rule.threshold < 80


def test_the_other_client_sees_the_same(fed: Daemon) -> None:
    async def followed() -> list[tuple[str, int]]:
        async with AsyncClient(fed.address) as client:
            found = client.subscribe("flights/late")
            releases = [await anext(found) for _ in RELEASES]
            await found.aclose()
            return [(release.kind, release.position) for release in releases]

    assert asyncio.run(followed()) == RELEASES


def test_the_status_shows_windows_and_what_they_cost(fed: Daemon, littled: Littled) -> None:
    with Client(fed.address) as client:
        for learner, before in (("flights/listed", 19), ("flights/late", 5)):
            found = client.subscribe(learner, before)
            next(found)
            found.close()
    end = time.monotonic() + 10  # a status may be a moment behind the releases
    while True:
        said = littled("status", "--json", "-a", fed.address).json["streams"]["flights"]
        if said["learners"]["late"]["epoch"] == 4 or time.monotonic() > end:
            break
    late, listed = said["learners"]["late"], said["learners"]["listed"]
    assert (late["kind"], late["method"], late["window_examples"]) == ("batch", "dense", 2_000)
    assert late["epoch"] == 4
    assert listed["method"] == "teachers"
    # what a window costs was charged when the season opened, and windows cost nothing more
    assert said["spent"] == said["caps"]
    words = littled("status", "-a", fed.address).out
    assert "2,000 examples" in words
    assert "teachers" in words


@pytest.mark.long
def test_the_store_is_sound_and_every_rule_is_drawn_again(
    littled: Littled, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("replayed")
    make_store(folder, CONFIGURATION)
    for count in (2_345, 7_000):  # from a snapshot in the middle of a window
        running = serve(folder)
        file = flights_csv(folder / "flights.csv", count)
        process = start("feed", "flights", file, *COLUMNS, "-a", running.address)
        assert process.wait(60) == 0
        assert running.stop() == 0
    found = littled("verify", running.store, "--replay", "--json").json
    assert (found["sound"], found["findings"]) == (True, [])
    compared = found["replay"]["flights"]
    assert compared["releases"] == found["streams"]["flights"]["releases"] > 20


@pytest.mark.long
def test_a_plan_says_what_is_proven_and_what_is_estimated(littled: Littled) -> None:
    found = littled(*PLAN, "--class", "thresholds:256", "--alpha", "0.05", "--json").json
    assert (found["method"], found["window"]) == ("dense", 400)
    assert (found["window_proven"], found["window_estimated"]) == (400, 118)
    assert [row["method"] for row in found["methods"] if row["chosen"]] == ["dense"]
    assert found["papers"][0]["source"] == "Lyu, Theorem 3"
    words = littled(*PLAN, "--class", "points:64", "--window", "1000").out
    assert "by its constants: refused" in words
    assert "cannot outweigh bottom" in words
    given = littled(*PLAN, "--class", "affine:64:8", "--window", "5000", "--positives", "0.3").out
    assert "closure" in given


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "give --window or --alpha: the other follows"),
        (["--window", "9", "--alpha", "0.1"], "give --window or --alpha: the other follows"),
        (["--alpha", "0.05", "--method", "histogram"], "histogram does not apply"),
        (["--alpha", "0.00001"], "no window of a season of 100,000 examples is enough"),
        (["--window", "200000"], "--window must be at most 100000, not 200000"),
    ],
)
def test_what_cannot_be_planned_is_said_in_one_sentence(
    littled: Littled, options: list[str], sentence: str
) -> None:
    said = littled(*PLAN, "--class", "thresholds:256", *options)
    assert said.status != 0
    assert sentence in said.sentence


@pytest.mark.long
def test_a_small_learner_of_windows_passes_its_audit(littled: Littled) -> None:
    said = littled("audit", "--learner", "window-dense", "--runs", "2000", "--seed", "1")
    assert said.status == 0, said.err


CARDS = """
[streams.requests]
epsilon = 4.0
delta = 1e-6
horizon = 5_000

[streams.requests.label]
column = "slow"
positive = "slow"
negative = "quick"

[streams.requests.columns]
load = { kind = "number", from = 0, to = 9, steps = 9 }
zone = { kind = "category", values = ["north", "south", "west"] }

[streams.requests.learners.card]
kind = "batch"
class = "scorecard"
window = 1_000
"""


def requests_csv(path: Path, count: int) -> Path:
    """Slow are loads in the middle, and more of them in the south; each user sends two requests."""
    rng = random.Random(4)
    lines = ["load,zone,user,slow"]
    for number in range(count):
        load, zone = rng.randrange(9), rng.choice(("north", "south", "west"))
        slow = 3 <= load < (8 if zone == "south" else 6)
        lines.append(f"{load},{zone},{number // 2},{'slow' if slow else 'quick'}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("unit", ["example", "user"])
def test_a_scorecard_from_each_window_is_published_and_drawn_again(
    unit: str, littled: Littled, tmp_path: Path
) -> None:
    text = CARDS
    if unit == "user":
        text = text.replace("5_000", '5_000\nunit = "user"\nuser_examples_max = 2')
        text += '\n[streams.requests.user]\ncolumn = "user"\n'
    make_store(tmp_path, text)
    running = serve(tmp_path)
    file = requests_csv(tmp_path / "requests.csv", 2_500)
    process = start("feed", "requests", file, "-a", running.address)
    with Client(running.address) as client:
        found = client.subscribe("requests/card")
        releases = []
        for _ in range(3):
            releases.append(next(found))
            # a status is never behind what a subscriber has seen
            latest = client.latest("requests/card")
            assert latest is not None
            assert latest.version >= releases[-1].version
        found.close()
    assert process.wait(60) == 0, process.communicate()
    assert [(each.kind, each.position) for each in releases] == [
        ("rule", 0), ("rule", 1_000), ("rule", 2_000)
    ]  # fmt: skip
    for release in releases[1:]:
        assert isinstance(release.rule, ScorecardRule)
        load, _ = release.rule.tables
        assert load[4] > max(load[0], load[8])
    words = littled("rule", "show", "requests/card", "-a", running.address).out
    assert "slow if points are above" in words
    sql = littled("rule", "export", "requests/card", "--format", "sql", "-a", running.address).out
    assert "CASE WHEN" in sql
    assert running.stop() == 0
    replayed = littled("verify", running.store, "--replay", "--json").json
    assert (replayed["sound"], replayed["findings"]) == (True, [])
    assert replayed["replay"]["requests"]["releases"] >= 3


def test_a_plan_of_scorecards_says_how_many_rounds_there_are(littled: Littled) -> None:
    options = [*PLAN, "--class", "scorecard:12x7x24"]
    found = littled(*options, "--window", "5000", "--json").json
    assert (found["method"], found["step"], found["papers"]) == ("boosted", 110, [])
    assert found["rounds"] == found["plan"]["learners"]["learner"]["parameters"]["rounds"]
    words = littled(*options, "--window", "5000").out
    assert f"{found['rounds']}, each of which adds one stump" in words
    said = littled(*options, "--window", "200")
    assert said.status != 0
    assert 'take class = "stumps", or a window of' in said.sentence
    assert "give window instead of alpha" in littled(*options, "--alpha", "0.1").sentence
