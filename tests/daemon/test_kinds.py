"""The register of kinds: it is complete, nobody else names a kind, and unknown ones are refused."""

import ast
import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from littled.auditing.subjects import KindAudits, small_plan
from littled.budget.charges import (
    AnswerWindows,
    Charges,
    ChargesUnknown,
    KindCharges,
    unknown_parameters,
)
from littled.cli.failures import Failure
from littled.cli.kinds import KindOptions, options_of
from littled.cli.presentation import KindPresentation
from littled.cli.watching import KindStatus, stream_tables
from littled.configuration import ConfigurationError, parse_configuration
from littled.configuration.parts import LearnerPart
from littled.kinds import KINDS, USUAL, Kind, UnknownKind, kind_of, load
from littled.planner import PlanError, StreamPlan
from littled.planner.planning import Planning, planning_of
from littled.planner.plans import AnsweringPlan, Plan, PublishingPlan
from littled.store.errors import StoreRefused
from littled.store.store import Store
from littled.store.verify import verify
from support.learner_cases import learner_plan
from support.stores import plan_values

ROOT = Path(__file__).parent.parent.parent
DAEMON = ROOT / "daemon" / "littled"
SOURCES = sorted(DAEMON.rglob("*.py"))
UNKNOWN = "oracle"
SENTENCE = f"the unknown kind '{UNKNOWN}'; this version knows {' and '.join(KINDS)}"

BASES: dict[str, type[Any]] = {
    "configuration": LearnerPart,
    "plan": Plan,
    "planning": Planning,
    "presentation": KindPresentation,
}
PROTOCOLS: dict[str, type[Any]] = {
    "charges": KindCharges,
    "options": KindOptions,
    "status": KindStatus,
    "audits": KindAudits,
}

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))


def members(protocol: type[Any]) -> set[str]:
    """What a protocol asks for: its methods and the attributes that it annotates."""
    methods = {name for name, value in vars(protocol).items() if inspect.isfunction(value)}
    return {name for name in methods | set(protocol.__annotations__) if not name.startswith("_")}


# --- The register ---------------------------------------------------------------------------------


@every_kind
def test_every_part_is_there_and_is_what_the_rooms_ask_for(kind: Kind) -> None:
    asked = {name: load(getattr(kind, name)) for name in (*BASES, *PROTOCOLS)}
    assert set(asked.values()) == {load(part) for part in kind.parts()}
    for name, base in BASES.items():
        assert issubclass(asked[name], base)
        assert not inspect.isabstract(asked[name])
    for name, protocol in PROTOCOLS.items():
        assert members(protocol)
        assert {each for each in members(protocol) if not hasattr(asked[name], each)} == set()


@every_kind
def test_plans_and_requests_name_their_kind(kind: Kind) -> None:
    plan: type[Plan[Any]] = load(kind.plan)
    assert plan.kind == kind.name
    assert issubclass(plan, PublishingPlan) != issubclass(plan, AnsweringPlan)
    audits: KindAudits = load(kind.audits)()
    for name, request in audits.small().items():
        (learner,) = request.learners
        assert learner.kind == kind.name
        assert small_plan(name).to_dict()["learners"][name]["kind"] == kind.name


def test_the_usual_kind_is_one_of_them() -> None:
    assert kind_of(USUAL).name == USUAL


# --- Nobody else names a kind ---------------------------------------------------------------------


GROUPS = {DAEMON / "cli" / "group.py", DAEMON / "service" / "logs.py"}


def is_own(path: Path, kind: str) -> bool:
    """Whether a module is the kind's: in a folder of its name, or called by it."""
    return kind in path.relative_to(DAEMON).with_suffix("").parts


@pytest.mark.long
def test_only_the_register_and_its_own_modules_spell_a_kind() -> None:
    spelled: dict[str, set[Path]] = {kind: set() for kind in KINDS}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                spelled.get(node.value, set()).add(path)
    # Stores of a group are its partitions, too.
    of_groups = {path for path in spelled["partition"] if path.match("groups/*") or path in GROUPS}
    spelled["partition"] -= of_groups
    for kind, paths in spelled.items():
        assert {path for path in paths if not is_own(path, kind)} == {DAEMON / "kinds.py"}


def test_the_engine_imports_no_kind() -> None:
    modules = {
        node.module
        for path in (DAEMON / "engine").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module
    }
    assert "littled.learners.contract" in modules
    assert {name for name in modules for kind in KINDS if kind in name.split(".")} == set()


def test_the_register_imports_nothing_of_this_project() -> None:
    tree = ast.parse((DAEMON / "kinds.py").read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not any(module and module.startswith("littled") for module in modules)


@every_kind
def test_a_check_of_a_store_knows_every_parameter(kind: Kind) -> None:
    """It imports no learner, so their names are written down again; others are refused."""
    plan, charges = load(kind.plan), load(kind.charges)
    assert charges.parameters == {field.name for field in fields(plan.parameters_class)}
    known = dict.fromkeys([*charges.parameters, "quality"])
    assert unknown_parameters({"kind": kind.name, "parameters": known}) == []
    more = {**known, "haste": 1, "ease": 2}
    found = unknown_parameters({"kind": kind.name, "parameters": more})
    assert found == ["the parameter ease", "the parameter haste"]


@pytest.mark.parametrize(
    ("case", "parameter"),
    [("dense", "selection"), ("windows, dense", "method"), ("answers, dense", "method")],
)
def test_a_check_of_a_store_knows_every_way_of_learning(case: str, parameter: str) -> None:
    plan = learner_plan(case, None).to_dict()
    assert unknown_parameters(plan) == []
    plan["parameters"] |= {parameter: "novel", "haste": 1}
    assert unknown_parameters(plan) == ["the parameter haste", f"the {parameter} novel"]


# --- An unknown kind is refused -------------------------------------------------------------------


def stored_plan() -> dict[str, Any]:
    """A plan of a learner of a kind that nobody knows, as a store would keep it."""
    values = plan_values()
    return {**values, "learners": {"late": {"kind": UNKNOWN}}}


REFUSALS: list[tuple[type[Exception], Callable[[], object]]] = [
    (UnknownKind, lambda: kind_of(UNKNOWN)),
    (UnknownKind, lambda: planning_of(UNKNOWN)),
    (UnknownKind, lambda: options_of(UNKNOWN)),
    (PlanError, lambda: StreamPlan.from_dict(stored_plan())),
    (ChargesUnknown, lambda: Charges.of({"kind": UNKNOWN, "parameters": {}})),
    (ChargesUnknown, lambda: AnswerWindows.of({"kind": UNKNOWN, "parameters": {}})),
]


@pytest.mark.parametrize(("error", "met"), REFUSALS)
def test_an_unknown_kind_is_refused_in_one_sentence(
    error: type[Exception], met: Callable[[], object]
) -> None:
    with pytest.raises(error) as raised:
        met()
    assert SENTENCE in str(raised.value)


@pytest.mark.parametrize("kind", [None, 7, ["online"]])
def test_what_is_no_name_is_no_kind(kind: object) -> None:
    with pytest.raises(UnknownKind, match="this version knows"):
        kind_of(kind)


def test_a_configuration_with_an_unknown_kind_is_refused() -> None:
    text = f"""
[streams.s]
epsilon = 1
delta = 1e-6
horizon = 100
learners.l = {{ class = "points:8", kind = "{UNKNOWN}" }}
"""
    *first, last = map(repr, KINDS)
    names = f"{', '.join(first)} or {last}"
    with pytest.raises(ConfigurationError, match=f"streams.s.learners.l.kind must be {names}"):
        parse_configuration(text, Path("c.toml"))


def test_a_store_for_an_unknown_kind_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match=f"learner late of flights: it has {SENTENCE}"):
        Store.create(tmp_path / "store", {}, {"flights": stored_plan()})


def test_a_store_of_a_version_with_more_kinds_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, sentence = tmp_path / "store", f"learner late of flights has the kind {UNKNOWN}, which"
    with monkeypatch.context() as newer:
        newer.setitem(KINDS, UNKNOWN, KINDS[USUAL])
        Store.create(path, {}, {"flights": stored_plan()})
        Store.open(path).close()
    with pytest.raises(StoreRefused, match=sentence):
        Store.open(path)  # as whoever serves it, or moves its records into an archive
    with pytest.raises(StoreRefused, match=sentence):
        verify(path)


def test_a_status_with_an_unknown_kind_is_refused() -> None:
    stream = {
        "position": 0,
        "season": 0,
        "horizon": 9,
        "epsilon": 1.0,
        "delta": 1e-6,
        "delta_z": 0,
        "spent": {"epsilon_pure": "0/1", "rho": "0/1", "delta": "0/1"},
        "caps": {"epsilon_pure": "1/1", "rho": "0/1", "delta": "0/1"},
        "learners": {"l": {"kind": UNKNOWN}},
    }
    with pytest.raises(Failure) as raised:
        list(stream_tables("s", stream))
    assert raised.value.sentence == f"s/l: it has {SENTENCE}"
