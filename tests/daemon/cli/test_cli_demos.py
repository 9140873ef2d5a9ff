"""What the demo shows, without running it: the view, the lines, the summary and the JSON."""

import io
import json
from pathlib import Path

from rich.console import Console, RenderableType

from littled.cli.demos import release_line, summary, view
from littled.cli.flights import Errors, Outcome, Release, Sight
from littled_protocol.rules import ThresholdRule
from support.commands import Littled


def release(version: int, threshold: int, position: int, kind: str = "rule") -> Release:
    rule = ThresholdRule(256, threshold)
    text = f"late if departure delay >= {threshold - 30} min"
    return Release(version, kind, position, text, rule)


SIGHT = Sight(
    examples=327_346,
    position=210_000,
    seconds=4.2,
    rate=52_000.4,
    epsilon_spent=0.72345,
    releases=tuple(release(v, 50 + v, 1_000 * v) for v in range(1, 10)),
)


def drawn(what: RenderableType, width: int = 80) -> str:
    file = io.StringIO()
    Console(width=width, file=file, color_system=None, highlight=False).print(what)
    return file.getvalue()


def test_the_view_shows_position_rate_budget_and_rule() -> None:
    text = drawn(view(SIGHT))
    assert "210,000 of 327,346, 52,000/s" in text
    assert "epsilon 0.7234 of 1.0 spent" in text or "epsilon 0.7235 of 1.0 spent" in text
    assert "version 9   late if departure delay >= 29 min" in text
    assert "version 4 " in text
    assert "version 3 " not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "..." not in text


def test_the_view_of_the_first_moment_is_empty_but_whole() -> None:
    text = drawn(view(Sight(327_346, 0, 0.0, 0.0, 0.0, ())))
    assert "0 of 327,346, 0/s" in text


def test_a_release_is_one_line() -> None:
    assert release_line(release(2, 54, 1_415)) == (
        "after     1,415 flights  version 2   late if departure delay >= 24 min"
    )
    halted = release_line(release(3, 54, 9, kind="halt"))
    assert halted.endswith("halt: late if departure delay >= 24 min")


OUTCOME = Outcome(
    SIGHT,
    SIGHT.releases[-1],
    Errors(0.06613, 0.10312, 0.02944),
    "best of all",
    Errors(0.08701, 0.10012, 0.07401),
    Errors(0.16123, 0.24215, 0.08098),
)


def test_the_summary_compares_the_rules_with_the_best_one() -> None:
    text = " ".join(drawn(summary(OUTCOME), 100).split())
    assert "the published ones (learned privately) │ 10.31 % │ 2.94 % │ 6.61 %" in text
    assert "best of all (the best, in hindsight) │ 10.01 % │ 7.40 % │ 8.70 %" in text
    assert 'always "not late" │ 24.21 % │ 8.10 % │ 16.12 %' in text
    assert "Its last rule: late if departure delay >= 29 min." in text
    assert "9 rules published, epsilon 0.723" in text


def test_the_json_has_the_keys_that_programs_wait_for() -> None:
    facts = json.loads(json.dumps(OUTCOME.to_dict()))
    assert list(facts) == [
        *("examples", "seconds", "published", "rule", "error", "error_before", "error_after"),
        *("best_rule_error", "epsilon", "epsilon_spent", "delta"),
    ]
    assert (facts["examples"], facts["published"]) == (327_346, 9)
    assert facts["rule"] == "late if departure delay >= 29 min"
    assert (facts["error_before"], facts["error_after"]) == (0.10312, 0.02944)
    assert (facts["epsilon"], facts["delta"]) == (1.0, 1e-6)


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
