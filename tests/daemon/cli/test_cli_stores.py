"""Stores: made from a configuration or not at all, and checked from one end to the other."""

import sqlite3
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from littled.cli.replaying import compare_stream
from littled.store.store import Store
from support.commands import CONFIGURATION, Littled, flights_csv, make_store, serve, start

EXAMPLES = 6_000
WAYS_OF = ("flights/late", "addresses/bad")
COLUMNS = ["--x", "delay", "--y", "late", "--clip", "-30", "225", "--offset", "-30"]


def test_a_store_is_made_and_says_what_comes_next(littled: Littled, tmp_path: Path) -> None:
    (tmp_path / "littled.toml").write_text(CONFIGURATION)
    store = tmp_path / "store"
    said = littled("init", store, "--config", tmp_path / "littled.toml")
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith(f"created {store}\n")
    assert said.out.endswith(f"next: littled serve {store} --unix littled.sock\n")
    assert "flights: epsilon 1, delta 1e-06 for each season of 1,000,000 examples" in said.out
    assert "prefixes:128" in said.out
    for name in WAYS_OF:
        assert f"ways of selection for {name}" in said.out
    assert said.out.count("chosen: fewest expected mistakes") == len(WAYS_OF)
    assert "needs to be asked for" not in said.out  # littled plan says that
    assert stat.S_IMODE(store.stat().st_mode) == 0o700
    assert stat.S_IMODE((store / "noise.key").stat().st_mode) == 0o600


@pytest.mark.long
def test_streams_that_differ_in_their_names_are_shown_once(
    littled: Littled, tmp_path: Path
) -> None:
    """As many as nobody would read about one by one: five hundred."""
    stream = (
        "[streams.s{0}]\nepsilon = 1\ndelta = 1e-6\nhorizon = {1}\n"
        '[streams.s{0}.learners.rule]\nclass = "thresholds:16"\n'
    )
    names = [f"{number:03}" for number in range(500)]
    (tmp_path / "littled.toml").write_text(
        "".join(stream.format(name, 20_000 if name == "007" else 10_000) for name in names)
    )
    said = littled("init", tmp_path / "store", "--config", tmp_path / "littled.toml")
    assert said.status == 0
    assert "the same for s001, s002, s003 and 495 more" in said.out
    assert [line for line in said.out.splitlines() if line.startswith("ways of selection")] == [
        "ways of selection for s000/rule",
        "ways of selection for s007/rule",
    ]
    with Store.open(tmp_path / "store", read_only=True) as store:
        assert [*store.plans] == [f"s{name}" for name in names]
    checked = littled("check", tmp_path / "littled.toml")
    assert checked.out.count("ways of selection") == len({"000", "007"})


@pytest.mark.long
def test_a_delta_that_promises_little_is_remarked_on(littled: Littled, tmp_path: Path) -> None:
    (tmp_path / "littled.toml").write_text(CONFIGURATION.replace("1e-6", "1e-5", 1))
    said = littled("init", tmp_path / "store", "--config", tmp_path / "littled.toml")
    assert said.status == 0
    assert said.err.startswith("note: streams.flights.delta is greater than 1/horizon")


def test_users_who_may_run_out_are_remarked_on(littled: Littled, tmp_path: Path) -> None:
    users = 'unit = "user"\nusers_expected = {}\nhorizon ='
    for number, expected in enumerate((20, 100_000)):
        file = tmp_path / "littled.toml"
        file.write_text(CONFIGURATION.replace("horizon =", users.format(expected), 1))
        said = littled("init", tmp_path / f"store{number}", "--config", file)
        assert said.status == 0
        notes = " ".join(said.err.split())
        assert ("and users_expected is 20: they may run out" in notes) == (expected == 20)
        assert notes.count("note: streams") == 0


def test_key_and_mark_may_lie_elsewhere(littled: Littled, tmp_path: Path) -> None:
    (tmp_path / "littled.toml").write_text(CONFIGURATION)
    files = ["--key", tmp_path / "key", "--mark", tmp_path / "mark"]
    store = tmp_path / "store"
    assert littled("init", store, "--config", tmp_path / "littled.toml", *files).status == 0
    assert (tmp_path / "key").exists()
    assert not (store / "noise.key").exists()
    assert littled("verify", store, *files).status == 0
    assert littled("verify", store).status == 1


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("epsilon = 1.0", "epsilon = 0", "streams.flights.epsilon must be greater than 0, not 0"),
        ("epsilon = 1.0", "epsilon = inf", "streams.flights.epsilon must be finite, not inf"),
        ("horizon =", "horizons =", "streams.flights.horizons is not a known key; did you mean"),
        ("thresholds:256", "trees:9", "streams.flights.learners.late.class: there is no class"),
        ("thresholds:256", "thresholds:0", "streams.flights.learners.late.class: thresholds"),
        ("epsilon = 1.0", "epsilon = 0.00001", "streams.flights: "),
        ("[streams.flights]", "[streams.flights", "is not valid TOML"),
    ],
)
def test_a_wrong_configuration_makes_nothing(
    littled: Littled, tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    assert old in CONFIGURATION
    (tmp_path / "littled.toml").write_text(CONFIGURATION.replace(old, new, 1))
    said = littled("init", tmp_path / "store", "--config", tmp_path / "littled.toml")
    assert said.status == 2
    assert sentence in said.sentence
    assert [path.name for path in tmp_path.iterdir()] == ["littled.toml"]


def test_a_folder_in_use_and_a_missing_file_are_refused(littled: Littled, tmp_path: Path) -> None:
    (tmp_path / "littled.toml").write_text(CONFIGURATION)
    said = littled("init", tmp_path, "--config", tmp_path / "littled.toml")
    assert (said.status, "is not empty" in said.sentence) == (2, True)
    said = littled("init", tmp_path / "store", "--config", tmp_path / "none.toml")
    assert said.status == 2
    assert "none.toml: No such file or directory" in said.sentence


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that was served, fed and stopped."""
    folder = tmp_path_factory.mktemp("used")
    make_store(folder)
    running = serve(folder)
    file = flights_csv(folder / "flights.csv", EXAMPLES)
    process = start("feed", "flights", file, *COLUMNS, "-a", running.address)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert running.stop() == 0
    return running.store


def test_a_good_store_is_sound(littled: Littled, used: Path) -> None:
    said = littled("verify", used)
    assert (said.status, said.err) == (0, "")
    assert f"flights: {EXAMPLES:,} examples in " in said.out
    assert said.out.endswith("sound: the chain is whole and no budget was exceeded\n")


def test_a_replay_comes_to_the_same(littled: Littled, used: Path) -> None:
    facts = littled("verify", used, "--replay", "--json").json
    assert (facts["sound"], facts["findings"]) == (True, [])
    stored, compared = facts["streams"]["flights"], facts["replay"]["flights"]
    assert stored["examples"] == EXAMPLES
    assert compared["releases"] == stored["releases"]
    assert compared["ledger_entries"] == stored["ledger_entries"] >= 1
    assert facts["replay"]["addresses"]["releases"] == 1
    said = littled("verify", used, "--replay")
    assert "flights: replayed, " in said.out


@dataclass(frozen=True)
class WithAnotherKey:
    """A store whose noise is not what its releases were drawn with."""

    store: Store

    @property
    def noise_key(self) -> bytes:
        return bytes(32)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


def test_a_replay_with_other_noise_is_found_out(used: Path) -> None:
    with Store.open(used, read_only=True) as store:
        good = compare_stream(store, "flights")
        odd = compare_stream(WithAnotherKey(store), "flights")  # type: ignore[arg-type]
    assert good.findings == ()
    assert good.releases >= 2
    assert any(each.startswith("version ") for each in odd.findings)
    assert "version 1 of flights/late" not in " ".join(odd.findings)
    assert odd.findings[-1].endswith("is not what the journal leads to")


def test_a_changed_example_is_found(littled: Littled, used: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir(0o700)
    for path in used.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
        (copy / path.name).chmod(0o600)
    database = sqlite3.connect(copy / "store.sqlite")
    with database:
        changed = database.execute("UPDATE records SET y = zeroblob(count) WHERE count > 1")
    database.close()
    assert changed.rowcount >= 1
    said = littled("verify", copy, "--replay")
    assert said.status == 1
    assert said.sentence.endswith("; not replayed")
    assert "\n- " in said.out
    facts = littled("verify", copy, "--json")
    assert (facts.status, facts.json["sound"]) == (1, False)


def test_what_is_no_store_is_refused(littled: Littled, tmp_path: Path) -> None:
    said = littled("verify", tmp_path)
    assert said.status == 1
    assert f"there is no store in {tmp_path}" in said.sentence
