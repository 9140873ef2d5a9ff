"""Pictures: what is on the axes is what was published, and a file comes of it."""

import io
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.image import imread

from littled import (
    plan_of,
    plot_budget,
    plot_mistakes,
    plot_rules,
    run,
    spending_of_statuses,
)
from littled.engine import PublishedRule
from littled.programs.plots import BLUE
from littled.programs.spending import Spending
from littled_client import Published
from littled_protocol.rules import StumpRule, ThresholdRule, Words

X = np.random.default_rng(1).integers(0, 256, 20_000).astype(np.uint8)
PLAN = plan_of("thresholds:256", epsilon=1, delta=1e-6, horizon=20_000, noise_rate=0.1)
FOUND = run(PLAN, [(X, (X >= 100).astype(np.uint8))], seed=1)
WORDS = Words("delay", "min", -30, "late", "on time")


def picture(axes: Any) -> Any:
    """The figure as pixels (height, width, 4): somebody looks at it in the end."""
    file = io.BytesIO()
    axes.figure.savefig(file, format="png", dpi=80)
    file.seek(0)
    return imread(file)


def published(rules: Sequence[Any], kind: str = "rule") -> list[PublishedRule]:
    return [PublishedRule(kind, 1 + n, 0, 100 * n, rule) for n, rule in enumerate(rules)]


def overlaps(axes: Any) -> list[tuple[str, str]]:
    """Pairs of texts on the axes that lie on each other, and texts that leave the figure."""
    axes.figure.draw_without_rendering()
    boxes = [(text.get_text(), text.get_window_extent()) for text in axes.texts]
    frame = axes.figure.bbox
    wrong = [(a, b) for i, (a, box) in enumerate(boxes) for b, other in boxes[:i]
             if box.overlaps(other)]  # fmt: skip
    return wrong + [(text, "figure") for text, box in boxes
                    if box.x1 > frame.x1 or box.x0 < 0]  # fmt: skip


def test_thresholds_are_a_line_over_the_positions() -> None:
    axes = plot_rules(FOUND.releases, words=WORDS, end=20_000)
    steps, dots = axes.lines
    wanted = [(release.position, release.rule.threshold - 30) for release in FOUND.releases]
    assert list(zip(*dots.get_data(), strict=True)) == wanted
    assert steps.get_xdata().tolist() == [*(position for position, _ in wanted), 20_000]
    assert steps.get_ydata().tolist() == [*(value for _, value in wanted), wanted[-1][1]]
    assert steps.get_drawstyle() == "steps-post"
    assert axes.get_ylabel() == "delay, min"
    assert axes.get_title(loc="left") == "late if delay >= threshold"
    assert axes.get_xlim() == (0, 20_000)
    pixels = picture(axes)
    # edges of a line are mixed with white, so what is bluish is looked for
    assert (pixels[:, :, 2] - pixels[:, :, 0] > 0.3).sum() > 500


def test_releases_of_a_client_bring_their_words() -> None:
    rules = [ThresholdRule(256, 60), ThresholdRule(256, 50)]
    received = [Published("f/l", 1 + n, "rule", 0, n, 100 * n, rule, WORDS)
                for n, rule in enumerate(rules)]  # fmt: skip
    axes = plot_rules(received)
    assert axes.lines[1].get_ydata().tolist() == [30, 20]
    nothing = Published("f/l", 3, "halt", 0, 2, 300, None, WORDS)
    axes = plot_rules([*received, nothing])
    assert axes.get_legend().get_texts()[0].get_text() == "no further rule in the season"


@pytest.mark.parametrize("count", [1, 3, 40])
def test_other_rules_are_written_beside_their_versions(count: int) -> None:
    rules = [StumpRule(8, 64, n % 8, 1 + n, True) for n in range(count)]
    releases = published(rules)
    axes = plot_rules(releases, end=100 * count)
    kept = releases[-12:]
    assert [text.get_text() for text in axes.texts] == [r.rule.describe() for r in kept]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [str(r.version) for r in kept]
    assert [bar.get_x() for bar in axes.patches] == [release.position for release in kept]
    assert overlaps(axes) == []
    assert ("the last 12 of 40" in axes.get_title(loc="left")) == (count == 40)
    assert picture(axes).shape[2] == 4


def test_a_rule_that_is_published_again_keeps_its_bar() -> None:
    first, second = StumpRule(8, 64, 1, 9, True), StumpRule(8, 64, 2, 9, True)
    axes = plot_rules(published([first, second, second, second, first]), end=500)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["1", "2 to 4", "5"]
    assert [text.get_text() for text in axes.texts] == [
        rule.describe() for rule in (first, second, first)
    ]


def test_long_rules_are_cut_and_stay_inside() -> None:
    words = Words(positive="approved by the committee " * 5)
    axes = plot_rules(published([StumpRule(8, 64, 1, 9, True)] * 3), words=words)
    assert all(text.get_text().endswith(" ...") for text in axes.texts)
    assert overlaps(axes) == []


def test_a_budget_shows_what_is_spent_left_and_next() -> None:
    spending = FOUND.spending
    assert spending.steps[0][0] == 0
    assert len(spending.steps) == len(FOUND.releases)
    assert spending.steps == tuple(sorted(spending.steps))
    assert 0 < spending.spent < 1
    assert spending.next_call is not None
    assert spending.spent + spending.left == pytest.approx(1)
    axes = plot_budget(spending)
    spent, budget, following = axes.lines
    assert spent.get_ydata().tolist()[:-1] == [amount for _, amount in spending.steps]
    assert set(budget.get_ydata()) == {1.0}
    assert following.get_ydata() == [spending.spent + spending.next_call]
    assert "left" in axes.get_title(loc="left")
    assert to_hex(spent.get_color()).upper() == BLUE
    picture(axes)


def test_a_daemon_s_budget_is_what_it_has_said() -> None:
    said = {"epsilon": 1.0, "delta": 1e-6}
    statuses = [{**said, "position": 100 * n, "epsilon_spent": 0.2 * n} for n in (1, 2)]
    found = spending_of_statuses(statuses)
    assert found == Spending(1.0, 1e-6, ((100, 0.2), (200, 0.4)), 200)
    axes = plot_budget(found)
    assert len(axes.lines) == 2
    assert axes.get_title(loc="left") == "0.4 of 1 spent, 0.6 left"
    for nothing in ([], [said]):
        with pytest.raises(ValueError, match="at least one status"):
            spending_of_statuses(nothing)


def test_mistakes_are_counted_and_said_not_to_be_private() -> None:
    assert int(FOUND.wrong.sum()) == FOUND.mistakes
    axes = plot_mistakes(FOUND.wrong, label="rule")
    (line,) = axes.lines
    assert line.get_ydata()[-1] == pytest.approx(100 * FOUND.mistakes / len(X))
    assert "not private" in axes.get_title(loc="left")
    plot_mistakes(np.ones(1000, dtype=np.bool_), axes=axes)
    assert axes.get_ylim()[1] == 100
    picture(axes)


def test_nothing_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="no rule to draw"):
        plot_rules([])
    with pytest.raises(ValueError, match="no example to draw"):
        plot_mistakes(np.zeros(0, dtype=np.bool_))


@pytest.mark.long
def test_no_window_is_opened_and_the_extra_is_named() -> None:
    code = """
import sys
from littled import plot_mistakes
import numpy as np
assert "matplotlib" not in sys.modules
plot_mistakes(np.ones(3, dtype=bool)).figure.savefig(sys.stdout.buffer, format="png")
sys.stdout.buffer.flush()
assert "matplotlib.pyplot" not in sys.modules
for name in [name for name in sys.modules if name.startswith("matplotlib")]:
    sys.modules[name] = None
try: plot_mistakes(np.ones(3, dtype=bool))
except ImportError as error: print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith(b"\x89PNG")
    assert done.stdout.decode(errors="ignore").rstrip().endswith("pip install 'littled[plots]'")
