"""Checking the figures of a learner: how often its rules were wrong, at the positions of its plan.

Whether the counts are those that the journal leads to, only a replay can tell.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from littled.store.history import History
from littled_protocol.figures import Figure


def wrong_figures(
    history: History, learner: str, name: str, last: int, plan: Mapping[str, Any], position: int
) -> Iterator[str]:
    """What is wrong with a learner's figures, a sentence each.

    learner: "stream/learner". name: that of its figures. last: number of the last of them. plan:
    that of the stream. position: how many examples the stream has.
    """
    parameters = plan.get("learners", {}).get(learner.partition("/")[2], {}).get("parameters", {})
    quality = parameters.get("quality")
    if quality is None:
        yield f"learner {learner} has figures, and its plan measures nothing"
        return
    number, end, version = 0, 0, 1
    for release in history.releases.of(name, 0, last):
        number = release.version
        where = f"figure {number} of {learner}"
        if release.charge is not None:
            yield f"{where} names a charge, though its season has paid for it"
        try:
            figure = Figure.from_bytes(release.body)
        except ValueError:
            yield f"{where} is not the value that it should be"
            continue
        if not _is_planned(figure, number, quality, plan, position):
            yield f"{where} is not of a period that the plan has, or not of one that is over"
        if figure.first < end:
            yield f"{where} is of examples that an earlier one has counted"
        if not version <= figure.first_version <= figure.last_version:
            yield f"{where} is of rules that were published before those of an earlier one"
        end, version = figure.end, figure.last_version
    if version > history.releases.last(learner):
        yield f"the figures of {learner} speak of rules that were never published"
    if number != last:
        yield f"the figures of {learner} break off after number {number}"


def _is_planned(
    figure: Figure,
    number: int,
    quality: Mapping[str, Any],
    plan: Mapping[str, Any],
    position: int,
) -> bool:
    """Whether a figure stands where the plan has one, in a stretch that the stream has."""
    period, before = divmod(figure.first - figure.season * plan["horizon"], quality["period"])
    return (
        figure.number == number
        and figure.examples == quality["period"]
        and not before
        and 0 <= period < quality["periods"]
        and figure.end <= position
        and (figure.right is None) == (plan.get("unit", "example") == "example")
    )
