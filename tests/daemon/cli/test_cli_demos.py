"""What the demo shows, without running it: the view, the lines, the summary and the JSON."""

import importlib.util
import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console, RenderableType

from littled.cli.demos import release_line, summary, view
from littled.cli.flights import Errors, schema
from littled.cli.playing import Outcome, Release, Sight, columns_that_matter
from littled_protocol.encodings import Reading
from littled_protocol.rules import ScorecardRule, ThresholdRule, Words
from support.commands import Littled

pytestmark = pytest.mark.long

FEATURES = tuple(feature for column in schema().columns for feature in column.features)
WORDS = Words("departure delay", "min", -30, "late", "not late")


def release(version: int, threshold: int, position: int, kind: str = "rule") -> Release:
    return Release(version, kind, position, ThresholdRule(256, threshold), WORDS)


CARD = ScorecardRule(
    -4,
    tuple(
        tuple((10 - place) * (bucket % 4) - place for bucket in range(feature.size))
        for place, feature in enumerate(FEATURES)
    ),
)
WORDS_OF_CARD = Words(
    positive="late", negative="not late", reading=Reading(schema().columns, "row")
)
CARDS = tuple(Release(v, "rule", 129 * v, CARD, WORDS_OF_CARD) for v in (1, 2))
SIGHT = Sight(
    examples=327_346,
    position=210_000,
    seconds=4.2,
    rate=52_000.4,
    epsilon_spent=0.72345,
    releases=tuple(release(v, 50 + v, 1_000 * v) for v in range(1, 10)),
    cards=CARDS,
)


def drawn(what: RenderableType, width: int = 80) -> str:
    file = io.StringIO()
    Console(width=width, file=file, color_system=None, highlight=False).print(what)
    return file.getvalue()


def test_the_view_shows_position_rate_budget_and_rule() -> None:
    text = drawn(view(SIGHT))
    assert "210,000 of 327,346, 52,000/s" in text
    assert "epsilon 0.7234 of 1.0 spent" in text or "epsilon 0.7235 of 1.0 spent" in text
    assert "version 9    late if departure delay >= 29 min" in text
    assert "version 4 " in text
    assert "version 3 " not in text
    assert "after       258 flights  version 2    late if points are above" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "..." not in text


def test_the_view_of_the_first_moment_is_empty_but_whole() -> None:
    text = drawn(view(Sight(327_346, 0, 0.0, 0.0, 0.0, ())))
    assert "0 of 327,346, 0/s" in text


def test_a_release_is_one_line() -> None:
    assert release_line(release(2, 54, 1_415)) == (
        "after     1,415 flights  version 2    late if departure delay >= 24 min"
    )
    halted = release_line(release(3, 54, 9, kind="halt"))
    assert halted.endswith("halt: late if departure delay >= 24 min")


OUTCOME = Outcome(
    last=SIGHT,
    published=Errors(0.06613, 0.10312, 0.02944),
    cards=Errors(0.06413, 0.10213, 0.02513),
    best_rule="best of all",
    best=Errors(0.08701, 0.10012, 0.07401),
    never_late=Errors(0.16123, 0.24215, 0.08098),
    columns=columns_that_matter(CARD, WORDS_OF_CARD),
    decision=CARD.explain(np.ones((1, len(FEATURES)), dtype=np.uint16), WORDS_OF_CARD)[0],
)


def test_the_summary_compares_the_rules_with_the_best_one() -> None:
    text = " ".join(drawn(summary(OUTCOME), 100).split())
    assert "published thresholds (learned privately) │ 10.31 % │ 2.94 % │ 6.61 %" in text
    assert "published scorecards (learned privately) │ 10.21 % │ 2.51 % │ 6.41 %" in text
    assert "best of all (the best, in hindsight) │ 10.01 % │ 7.40 % │ 8.70 %" in text
    assert 'always "not late" │ 24.21 % │ 8.10 % │ 16.12 %' in text
    assert "The last threshold: late if departure delay >= 29 min." in text
    assert "9 thresholds and 2 scorecards published, epsilon 0.723" in text


def test_the_summary_says_what_the_scorecard_makes_of_columns_and_of_one_flight() -> None:
    text = " ".join(drawn(summary(OUTCOME), 200).split())
    first = (
        "+30 │ departure_delay >= -27 min and departure_delay < -26 min │ +0 │ departure_delay <"
    )
    assert first in text
    assert "+26 │ hour of scheduled is 3 │ -1 │ hour of scheduled is 0" in text
    assert "│ distance" not in text  # five columns, and no more
    assert "late +10 departure_delay >= -29 min and departure_delay < -28 min +8 hour" in text
    assert "-4 constant" in text


def test_the_columns_that_matter_most_come_first() -> None:
    found = OUTCOME.columns
    assert len(found) == 5
    assert [column.column for column in found[:3]] == [
        *("departure_delay", "hour of scheduled", "weekday of scheduled"),
    ]
    spreads = [column.most - column.least for column in found]
    assert spreads == sorted(spreads, reverse=True)


def test_the_json_has_the_keys_that_programs_wait_for() -> None:
    facts = json.loads(json.dumps(OUTCOME.to_dict()))
    assert list(facts) == [
        *("examples", "seconds", "published", "rule", "error", "error_before", "error_after"),
        *("best_rule_error", "scorecard", "epsilon", "epsilon_spent", "delta"),
    ]
    assert (facts["examples"], facts["published"]) == (327_346, 9)
    assert facts["rule"] == "late if departure delay >= 29 min"
    assert (facts["error_before"], facts["error_after"]) == (0.10312, 0.02944)
    assert (facts["epsilon"], facts["delta"]) == (1.0, 1e-6)
    card = facts["scorecard"]
    assert (card["published"], card["error"], card["error_after"]) == (2, 0.06413, 0.02513)
    assert card["rule"].startswith("late if points are above")
    assert card["columns"][0]["most_if"].startswith("departure_delay >= -27 min")
    assert card["decision"]["word"] == "late"


def test_the_demo_can_be_written_down(littled: Littled, tmp_path: Path) -> None:
    said = littled("demo", "--export", tmp_path / "work")
    assert (said.status, said.err) == (0, "")
    assert [line.rpartition("/")[2] for line in said.out.splitlines()] == [
        "littled.toml",
        "flights.csv",
    ]
    again = littled("demo", "--export", tmp_path / "work")
    assert again.status == 1
    assert "littled.toml: File exists" in again.sentence


def test_a_demo_that_cannot_be_written_down_leaves_nothing(
    littled: Littled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "flights.csv").write_text("mine")
    said = littled("demo", "--export", tmp_path)
    assert (said.status, [each.name for each in tmp_path.iterdir()]) == (1, ["flights.csv"])
    assert "flights.csv: File exists" in said.sentence
    assert (tmp_path / "flights.csv").read_text() == "mine"
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)  # as where it is not installed
    said = littled("demo", "--export", tmp_path / "new")
    assert (said.status, (tmp_path / "new").exists()) == (1, False)
    assert "pip install 'littled[demo]'" in said.sentence
