"""`littled audit`: what is proven, what is asked wrongly, and what a person is told."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from littled.auditing import online
from littled.auditing.bounds import Claim
from littled.auditing.controls import variant_controls
from littled.cli import auditing
from support.commands import Littled

QUICK = ("--runs", "100", "--seed", "1", "--processes", "1")
SMALLEST = ("audit", "--learner", "answers-realizable", *QUICK)
CONFIGURATION = """
[streams.one]
epsilon = 4
delta = 1e-2
horizon = 16
learners.cut = { class = "thresholds:2", selection = "fresh", adversary = "none" }
learners.asked = { class = "thresholds:2", kind = "prediction", window = 12, answers = 2 }

[streams.two]
epsilon = 4
delta = 1e-2
horizon = 64
learners.cut = { class = "thresholds:2", kind = "prediction", window = 12, answers = 2 }
"""


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    path = tmp_path / "littled.toml"
    path.write_text(CONFIGURATION)
    return path


def test_an_audit_is_told_in_words(littled: Littled) -> None:
    said = littled(*SMALLEST)
    assert (said.status, said.err) == (0, "")
    (line,) = (line for line in said.out.splitlines() if "small/answers-realizable" in line)
    cells = [cell.strip() for cell in re.split("  +", line.strip())]
    assert cells[1:4] == ["thresholds:2, realizable, 2 answers", "100", "(4, 2e-19)"]
    assert 0 < float(cells[4]) < 4
    assert cells[5] == "not exceeded"
    assert "A bound below its claim proves nothing" in said.out
    assert "99.9 %" in said.out
    assert "no store is opened" in said.out


@pytest.mark.long
def test_a_seed_repeats_an_audit_and_without_one_its_keys_are_new(littled: Littled) -> None:
    said = littled(*SMALLEST, "--json")
    facts = said.json
    assert littled(*SMALLEST, "--json").json == facts
    (audit,) = facts["audits"]
    assert (facts["doubt"], facts["seed"], audit["runs"]) == (0.001, 1, 100)
    assert audit["doubt"] == 0.001
    assert (audit["exceeded"], audit["known_private"]) == (False, True)
    (claim,) = audit["claims"]
    assert 0 < claim["at_least"] < claim["epsilon"] == pytest.approx(4, abs=0.001)
    assert 0 <= audit["false_hits"] < audit["hits"] <= 100
    new = ("audit", "-l", "answers-realizable", "--runs", "2000", "--processes", "1", "--json")
    first, second = (littled(*new).json["audits"][0] for _ in range(2))
    assert (first["hits"], first["false_hits"]) != (second["hits"], second["false_hits"])


@pytest.mark.long
def test_learners_of_a_configuration_are_audited(littled: Littled, configuration: Path) -> None:
    said = littled("audit", configuration, *QUICK, "--json")
    assert said.status == 0
    audits = said.json["audits"]
    assert [each["name"] for each in audits] == ["one/asked", "one/cut", "two/cut"]
    assert {each["doubt"] for each in audits} == {0.001 / 3}
    assert audits[1]["what"] == "thresholds:2, fresh dense, schedule"
    chosen = littled("audit", configuration, "-s", "two", "-l", "cut", *QUICK, "--json").json
    assert [each["name"] for each in chosen["audits"]] == ["two/cut"]


@pytest.mark.long
def test_a_claim_that_is_exceeded_fails(littled: Littled, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same runs, but somebody has claimed far less than they cost."""
    monkeypatch.setattr(online, "claims_of", lambda *_: (Claim(0.1, 0.0),))
    said = littled("audit", "-l", "fresh-scheduled", *QUICK)
    assert said.status == 1
    assert "EXCEEDED" in said.out
    assert said.sentence == "more is revealed than was claimed: small/fresh-scheduled"


def test_controls_that_are_found_are_no_failure(
    littled: Littled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditing, "trigger_controls", tuple)
    monkeypatch.setattr(auditing, "variant_controls", lambda: variant_controls()[::4])
    said = littled("audit", "--controls", "--runs", "2000", "--seed", "1", "--processes", "1")
    assert (said.status, said.err) == (0, "")
    assert said.out.count("not exceeded") == said.out.count("  found") == 1
    assert "Lyu, Su and Li 2017" in said.out


def test_controls_that_are_missed_fail(littled: Littled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "trigger_controls", tuple)
    said = littled("audit", "--controls", *QUICK)
    assert said.status == 1
    assert "NOT FOUND" in said.out
    missed = "known faults were not found with so few runs: variant 3, variant 4"
    assert said.sentence.startswith(missed)


def test_without_scipy_an_audit_says_what_to_install(
    littled: Littled, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "scipy" else found(name)
    )
    said = littled(*SMALLEST)
    assert (said.status, said.out) == (1, "")
    assert said.sentence == "audits need scipy; install it with: pip install 'littled[audit]'"
    assert littled("audit", "--help").status == 0


@pytest.mark.long
def test_nothing_but_the_bounds_of_an_audit_needs_scipy() -> None:
    program = (
        "import sys, littled.cli.auditing; assert 'scipy' not in sys.modules; "
        "from littled.auditing.bounds import epsilon_at_least; "
        "epsilon_at_least(90, 0, 100, 0.0); assert 'scipy' in sys.modules"
    )
    subprocess.run([sys.executable, "-P", "-c", program], check=True, timeout=60)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--stream", "one"], "--stream chooses a stream of CONFIG; give one"),
        (["--controls", "--learner", "dense"], "--controls audits mechanisms of its own"),
        (["--learner", "nobody"], "there is no learner 'nobody' to audit; there are dense, fresh,"),
        (["--runs", "99"], "'--runs': 99 is not in the range x>=100"),
        (["--runs", "many"], "'--runs': 'many' is not a valid integer range"),
        (["--seed", "-1"], "'--seed'"),
        (["/no/such.toml"], "does not exist"),
    ],
)
def test_wrong_use_is_said_in_one_sentence(
    littled: Littled, arguments: list[str], sentence: str
) -> None:
    said = littled("audit", *arguments)
    assert (said.status, said.out) == (2, "")
    assert sentence in said.sentence


@pytest.mark.parametrize(
    ("text", "more", "sentence"),
    [
        ("[streams.s", [], "is not valid TOML"),
        (CONFIGURATION, ["-s", "three"], "has no stream 'three'"),
        (CONFIGURATION, ["-l", "other"], "there is no learner 'other' to audit; there are asked"),
        (
            CONFIGURATION.replace('"fresh"', '"closure"'), [],
            "stream one: learner cut: thresholds:2 has no closures",
        ),
        (
            '[streams.s]\nepsilon = 1e-3\ndelta = 1e-9\nhorizon = 1_000_000_000\n'
            'learners.l = { class = "points:32", selection = "sparse", teachers = 1000 }',
            [],
            "learner l publishes its first rule after more than 16,384 examples",
        ),
    ],
)  # fmt: skip
def test_a_configuration_that_cannot_be_audited_is_said_in_one_sentence(
    littled: Littled, tmp_path: Path, text: str, more: list[str], sentence: str
) -> None:
    path = tmp_path / "littled.toml"
    path.write_text(text)
    said = littled("audit", path, *more)
    assert (said.status, said.out) == (2, "")
    assert sentence in said.sentence
