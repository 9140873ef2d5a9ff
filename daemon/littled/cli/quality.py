"""How good published rules were, and what it costs to say so, for people."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from littled.cli.output import amount, number


def percent(share: float) -> str:
    """A share as people read it."""
    return f"{100 * share:.1f} %"


def error_words(facts: Mapping[str, Any]) -> str:
    """An error rate with its interval; "-" before the first figure."""
    if "error_rate" not in facts:
        return "-"
    lower, upper = 100 * facts["error_rate_lower"], 100 * facts["error_rate_upper"]
    return f"{percent(facts['error_rate'])} ({lower:.1f} to {upper:.1f} %)"


def quality_table(stream: str, learners: Mapping[str, Any]) -> Table | None:
    """How often the rules of each learner were wrong; None where none is measured."""
    measured = {name: facts["quality"] for name, facts in learners.items() if "quality" in facts}
    if not measured:
        return None
    title = f"{stream}: how often published rules were wrong, 95 % interval"
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in ("learner", "errors", "examples", "versions", "next after"):
        table.add_column(column, justify="left" if column == "learner" else "right")
    for name, facts in measured.items():
        table.add_row(name, error_words(facts), *_stretch(facts), _next(facts))
    return table


def _stretch(facts: Mapping[str, Any]) -> tuple[str, str]:
    """Which examples and versions of rules the last figure is about."""
    if "error_rate" not in facts:
        return "none yet", "-"
    first, last = facts["first_version"], facts["last_version"]
    versions = str(first) if first == last else f"{first} to {last}"
    return f"{number(facts['first_position'])} to {number(facts['position'] - 1)}", versions


def _next(facts: Mapping[str, Any]) -> str:
    following = facts["next_position"]
    return "next season" if following is None else f"{number(following)} examples"


def quality_plan(stream: Any) -> dict[str, Any] | None:
    """How the rules of a stream are measured, JSON-able; None where they are not.

    noise: by how much it puts an error rate off, at the most, in 95 of 100 figures; where users are
    protected it depends on how many there are, and is left out.
    """
    from littled.planner.quality import noise_width, quality_cost  # noqa: PLC0415 - takes its time

    settings = next((one.quality for one in stream.publishing if one.quality is not None), None)
    if settings is None:
        return None
    cost = quality_cost(settings, users=stream.unit.is_user)
    facts = {
        "epsilon": float(cost),
        "period_examples": settings.period,
        "periods": settings.periods,
    }
    noise = {} if stream.unit.is_user else {"noise": noise_width(settings, settings.period)}
    return {**facts, **noise}


def quality_words(facts: Mapping[str, Any] | None) -> str:
    """The same in words."""
    if facts is None:
        return "not measured"
    noise = facts.get("noise")
    within = "" if noise is None else f"; noise puts that off by up to {100 * noise:.1f} points"
    return (
        f"epsilon {amount(facts['epsilon'])} tells how often published rules were wrong, "
        f"after every {number(facts['period_examples'])} examples{within}"
    )


def quality_lines(stream: Any) -> Iterator[str]:
    """What measuring takes of the budget of a stream, in a sentence."""
    facts = quality_plan(stream)
    if facts is not None:
        each = " for each learner" if len(stream.publishing) > 1 else ""
        yield (
            f"of the budget of {stream.stream}{each} {quality_words(facts)}; quality = false keeps "
            "it for learning"
        )
