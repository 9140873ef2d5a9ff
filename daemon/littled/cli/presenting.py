"""What `littled plan` and `littled init` say about plans of any kind."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from littled.cli.failures import WRONG_USE, Failure, explained
from littled.cli.output import amount, number
from littled.cli.presentation import KindPresentation
from littled.configuration import (
    ConfigurationError,
    StreamConfiguration,
    checked_configuration,
)
from littled.kinds import KINDS, Kind, kind_of, load
from littled.planner import PlanError, StreamPlan, StreamRequest

STREAM, LEARNER = "stream", "learner"


def _presentation(kind: Kind) -> KindPresentation:
    presentation: type[KindPresentation] = load(kind.presentation)
    return presentation()


def show_plan(stream: Mapping[str, Any], learner: Mapping[str, Any], *, as_json: bool) -> None:
    """Print the plan of one learner alone on a stream, both given as tables of a configuration.

    Failure, in the words of the options of `littled plan`, where there is none.
    """
    table = {**stream, "learners": {LEARNER: learner}}
    try:
        checked = checked_configuration({"streams": {STREAM: table}}, Path())
    except ConfigurationError as error:
        raise Failure(as_option(str(error)), WRONG_USE) from None
    request = checked.streams[STREAM].request()
    with explained(PlanError, status=WRONG_USE, cut=f"learner {LEARNER}: "):
        _presentation(kind_of(learner["kind"])).show(request, as_json=as_json)


def as_option(sentence: str) -> str:
    """A sentence about a key of a configuration as one about an option."""
    stream = f"streams.{STREAM}."
    if "learners.learner.window must" in sentence:
        return f"--window{sentence.partition('.window')[2]}"
    key, space, rest = sentence.partition(" ")
    name = key.removeprefix(f"{stream}learners.{LEARNER}.").removeprefix(stream)
    return f"--{name.replace('_', '-').replace('.', '-')}{space}{rest}"


def chosen_notes(stream: StreamConfiguration) -> Iterator[str]:
    """Which classes were chosen for learners that name none, in a sentence each."""
    for name, chosen in stream.chosen_classes.items():
        columns = ", ".join(stream.learners[name].columns or ())
        yield f"{stream.name}/{name} names no class; {chosen} was chosen for its columns: {columns}"


def plan_notes(stream: StreamPlan, request: StreamRequest) -> Iterator[str]:
    """What to say of a stream's learners besides, in a sentence each."""
    for name in {plan.kind: None for plan in stream.plans}:
        yield from _presentation(KINDS[name]).notes(stream, request)


def hopeless(stream: StreamPlan, request: StreamRequest) -> Iterator[str]:
    """A sentence for each learner of a stream that is not worth its examples."""
    for name in {plan.kind: None for plan in stream.plans}:
        yield from _presentation(KINDS[name]).hopeless(stream, request)


def plan_tables(stream: StreamPlan, request: StreamRequest) -> Iterator[Table]:
    """What the learners of a stream may do, a table for each kind; then what else could be done."""
    title = (
        f"{stream.stream}: epsilon {amount(float(stream.epsilon))}, delta "
        f"{amount(float(stream.delta))} for each season of {number(stream.horizon)} examples"
    )
    if stream.unit.is_user:
        title += f", per user with {number(stream.unit.examples)} of theirs"
    planned = {plan.kind for plan in stream.plans}
    shown = [_presentation(kind) for name, kind in KINDS.items() if name in planned]
    for presentation in shown:
        first = presentation is shown[0]
        yield presentation.table(
            stream, title if first else f"{stream.stream}: {presentation.heading}"
        )
    for presentation in shown:
        yield from presentation.comparisons(stream, request)
