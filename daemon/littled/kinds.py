"""The register of all kinds of learners: what every kind is made of, and where it is.

A kind is code in folders of its own in several rooms, and one entry here. The rooms ask for the
parts by kind and know none of them by name. Parts are named, not imported, and loaded when they are
first asked for: a check of a store needs no planner, and `--help` needs nothing that computes.

A kind that is not here is refused wherever it is met: nobody knows what its learners would cost.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from typing import Any

# What a learner is in a configuration, or in a status, that does not say it.
USUAL = "online"


class UnknownKind(ValueError):
    """A kind of learner that this version does not have; one sentence."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of learner. Every part is a class, written "module:name".

    - `configuration`: its table in a configuration (`littled.configuration.parts.LearnerPart`).
    - `plan`: a plan as it is stored (`littled.planner.plans.Plan`).
    - `planning`: how it is planned, and what it takes (`littled.planner.planning.Planning`).
    - `charges`: what a season costs, derived again (`littled.budget.charges.KindCharges`).
    - `options`: its options of `littled plan` (`littled.cli.kinds.KindOptions`).
    - `presentation`: its plans for people (`littled.cli.presentation.KindPresentation`).
    - `status`: its facts for people (`littled.cli.watching.KindStatus`).
    - `audits`: what is audited of it (`littled.auditing.subjects.KindAudits`).

    `classes`: the classes of rules that are the kind's own; a learner of one of these need not say
    its kind. `also`: classes of another kind that it learns as well.
    """

    name: str
    configuration: str
    plan: str
    planning: str
    charges: str
    options: str
    presentation: str
    status: str
    audits: str
    classes: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    def parts(self) -> Iterator[str]:
        """Every part, as it is written here."""
        others = ("name", "classes", "also")
        return (getattr(self, field.name) for field in fields(self) if field.name not in others)


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "online",
            configuration="littled.configuration.online:LearnerConfiguration",
            plan="littled.planner.online.plan:OnlinePlan",
            planning="littled.planner.online.search:OnlinePlanning",
            charges="littled.budget.charges.online:OnlineCharges",
            options="littled.cli.online.options:OnlineOptions",
            presentation="littled.cli.online.plans:OnlinePresentation",
            status="littled.cli.online.status:OnlineStatus",
            audits="littled.auditing.subjects.online:OnlineAudits",
        ),
        Kind(
            "prediction",
            configuration="littled.configuration.prediction:PredictionConfiguration",
            plan="littled.planner.prediction.plan:PredictionPlan",
            planning="littled.planner.prediction.search:PredictionPlanning",
            charges="littled.budget.charges.prediction:PredictionCharges",
            options="littled.cli.prediction.options:PredictionOptions",
            presentation="littled.cli.prediction.plans:PredictionPresentation",
            status="littled.cli.prediction.status:PredictionStatus",
            audits="littled.auditing.subjects.prediction:PredictionAudits",
        ),
        Kind(
            "batch",
            configuration="littled.configuration.batch:BatchConfiguration",
            plan="littled.planner.batch.plan:BatchPlan",
            planning="littled.planner.batch.search:BatchPlanning",
            charges="littled.budget.charges.batch:BatchCharges",
            options="littled.cli.batch.options:BatchOptions",
            presentation="littled.cli.batch.plans:BatchPresentation",
            status="littled.cli.batch.status:BatchStatus",
            audits="littled.auditing.subjects.batch:BatchAudits",
            also=("scorecard",),
        ),
        Kind(
            "leader",
            configuration="littled.configuration.leader:LeaderConfiguration",
            plan="littled.planner.leader.plan:LeaderPlan",
            planning="littled.planner.leader.search:LeaderPlanning",
            charges="littled.budget.charges.leader:LeaderCharges",
            options="littled.cli.leader.options:LeaderOptions",
            presentation="littled.cli.leader.plans:LeaderPresentation",
            status="littled.cli.leader.status:LeaderStatus",
            audits="littled.auditing.subjects.leader:LeaderAudits",
            classes=("scorecard",),
        ),
        Kind(
            "partition",
            configuration="littled.configuration.partition:PartitionConfiguration",
            plan="littled.planner.partition.plan:PartitionPlan",
            planning="littled.planner.partition.search:PartitionPlanning",
            charges="littled.budget.charges.partition:PartitionCharges",
            options="littled.cli.partition.options:PartitionOptions",
            presentation="littled.cli.partition.plans:PartitionPresentation",
            status="littled.cli.partition.status:PartitionStatus",
            audits="littled.auditing.subjects.partition:PartitionAudits",
            classes=("prefix_sets",),
        ),
        Kind(
            "minimum",
            configuration="littled.configuration.minimum:MinimumConfiguration",
            plan="littled.planner.minimum.plan:MinimumPlan",
            planning="littled.planner.minimum.search:MinimumPlanning",
            charges="littled.budget.charges.minimum:MinimumCharges",
            options="littled.cli.minimum.options:MinimumOptions",
            presentation="littled.cli.minimum.plans:MinimumPresentation",
            status="littled.cli.minimum.status:MinimumStatus",
            audits="littled.auditing.subjects.minimum:MinimumAudits",
            classes=("integers",),
        ),
        Kind(
            "most_frequent",
            configuration="littled.configuration.most_frequent:MostFrequentConfiguration",
            plan="littled.planner.most_frequent.plan:MostFrequentPlan",
            planning="littled.planner.most_frequent.search:MostFrequentPlanning",
            charges="littled.budget.charges.most_frequent:MostFrequentCharges",
            options="littled.cli.most_frequent.options:MostFrequentOptions",
            presentation="littled.cli.most_frequent.plans:MostFrequentPresentation",
            status="littled.cli.most_frequent.status:MostFrequentStatus",
            audits="littled.auditing.subjects.most_frequent:MostFrequentAudits",
            classes=("strings",),
        ),
        Kind(
            "sequences",
            configuration="littled.configuration.sequences:SequencesConfiguration",
            plan="littled.planner.sequences.plan:SequencesPlan",
            planning="littled.planner.sequences.search:SequencesPlanning",
            charges="littled.budget.charges.sequences:SequencesCharges",
            options="littled.cli.sequences.options:SequencesOptions",
            presentation="littled.cli.sequences.plans:SequencesPresentation",
            status="littled.cli.sequences.status:SequencesStatus",
            audits="littled.auditing.subjects.sequences:SequencesAudits",
            classes=("oneway",),
        ),
    )
}


def kind_of(name: object) -> Kind:
    """The kind of this name. Raises UnknownKind."""
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        known = " and ".join(KINDS)
        raise UnknownKind(f"it has the unknown kind {name!r}; this version knows {known}")
    return kind


def kind_for(class_name: object) -> str:
    """The kind of a learner of this class that does not say its kind."""
    head = class_name.partition(":")[0] if isinstance(class_name, str) else ""
    return next((kind.name for kind in KINDS.values() if head in kind.classes), USUAL)


def learns(kind: str, class_name: str) -> bool:
    """Whether learners of a kind may have this class, by the classes that are one kind's own."""
    owner = kind_for(class_name)
    if class_name.partition(":")[0] in KINDS[kind].also:
        return True
    return owner == kind or (owner == USUAL and not KINDS[kind].classes)


@cache
def load(part: str) -> Any:
    """The class that a part of a kind names."""
    module, _, name = part.partition(":")
    return getattr(import_module(module), name)
