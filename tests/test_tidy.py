"""The style of this project as tests: who may import whom, what is banned, what must be said."""

import ast
import gc
import hashlib
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from littled.classes.registry import CLASSES
from littled.cli.entry import COMMANDS
from littled.kinds import KINDS
from support.uses import Module, Reach

ROOT = Path(__file__).parent.parent
PACKAGES = {
    "littled_protocol": ROOT / "protocol",
    "littled_client": ROOT / "clients",
    "littled": ROOT / "daemon",
}
SOURCES = sorted(path for home in PACKAGES.values() for path in home.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
EVERYTHING = [*SOURCES, *TESTS, *sorted((ROOT / "benchmarks").rglob("*.py"))]
FUNCTION_LINES_MAX = 70
# Where a statement has other statements.
STATEMENTS = ("body", "orelse", "finalbody", "handlers", "cases")
# Of the text at apache.org/licenses/LICENSE-2.0.txt.
APACHE_2_SHA256 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"

# The one direction of imports. A room is a package or a top-level module of `littled`; it may use
# the rooms named here and no others.
ARROWS: dict[str, set[str]] = {
    "littled": set(),
    "littled_protocol": set(),
    "littled_client": {"littled_protocol"},
    "limits": set(),
    "executors": set(),
    "portable": set(),
    "ways": set(),
    "written": set(),
    "kinds": set(),  # it names the parts of kinds, for their rooms to load
    "littlestone": set(),
    "classes": {"littled_protocol", "littlestone"},
    "mechanisms": {"written"},
    "budget": {"portable", "kinds"},
    "learners": {"littled_protocol", "classes", "mechanisms", "budget", "written"},
    "planner": {
        *("littled_protocol", "classes", "learners", "budget", "portable", "kinds", "ways"),
        "written",
    },
    "store": {
        *("littled_protocol", "budget", "limits"),
        "classes",  # the names of all classes; a store knows nothing else of them
    },
    "engine": {
        *("littled_protocol", "planner", "learners", "mechanisms", "budget", "store", "portable"),
    },
    "predictions": {"littled_protocol", "planner", "learners", "mechanisms", "budget", "store"},
    "groups": {"store", "limits", "service"},
    "tables": {"classes"},
    "configuration": {
        "littled_protocol",
        "planner",
        "tables",
        "classes",
        "budget",
        "kinds",
        "ways",
    },
    "programs": {
        *("littled_client", "littled_protocol", "configuration", "engine", "planner", "learners"),
        *("classes", "budget", "written"),
    },
    "auditing": {
        *("littled_protocol", "engine", "planner", "learners", "classes", "mechanisms", "budget"),
        "kinds",
        "store",  # records and their chain heads; an audit opens no store
    },
    "laboratory": {
        *("littled_protocol", "planner", "learners", "classes", "mechanisms", "budget"),
        *("littlestone", "engine"),
    },
    "service": {
        *("littled_client", "littled_protocol", "engine", "planner", "learners", "mechanisms"),
        *("budget", "store", "limits", "predictions"),
    },
}
# The shell may use every room, and no room uses it.
SHELL = {"cli"}

PURE_ROOMS = {"learners", "classes", "littlestone", "mechanisms", "budget"}
# Clocks, entropy, files, sockets, threads and logs come to a pure room as values, or not at all.
IMPURE_MODULES = {
    *("aiohttp", "apsw", "asyncio", "datetime", "importlib", "multiprocessing", "os", "pathlib"),
    *("random", "secrets", "socket", "sqlite3", "structlog", "subprocess", "tempfile", "threading"),
    *("time", "uuid"),
}
# Modules whose classes have a base class of an extra; whoever asks for one imports them.
IMPORTED_LATE = {
    *("littled.programs.estimator", "littled.programs.streaming", "littled.store.postgres"),
}
# The protocol is sans-IO as well, and has to be light enough for the smallest client.
# The last is what TypedDict comes from that pydantic takes before Python 3.12.
PROTOCOL_THIRD_PARTY = {"msgpack", "numpy", "typing_extensions"}

# Bytes that name types to build, a clock that jumps, noise that is neither keyed nor exact,
# and imports that only a type checker sees.
BANNED_NAMES = {
    "numpy.random": "noise comes from littled.mechanisms.noise",
    "pickle": "bytes must not name the types they turn into",
    "marshal": "bytes must not name the types they turn into",
    "shelve": "bytes must not name the types they turn into",
    "typing.TYPE_CHECKING": "imports that do not happen hide circles; name a Protocol",
    "time.time": "durations need time.monotonic; positions are the only public clock",
}

# Functions of `math` and `numpy` that give floating-point numbers, and the types themselves.
FLOATING = re.compile(
    r"math\.(?!ceil$|comb$|factorial$|floor$|gcd$|isqrt$|lcm$|perm$|prod$).*"
    r"|numpy\.(float.*|double|single|half|longdouble|exp.*|log.*|sqrt|power|mean|average|std|var"
    r"|divide|true_divide|linspace|median|quantile|percentile|random.*)"
)

# What computes plans, floating point included: it has to come to the same bits on every processor.
PORTABLE = (
    *sorted((ROOT / "daemon/littled/planner").rglob("*.py")),
    *sorted((ROOT / "tests/oracle/planner").rglob("*.py")),
    ROOT / "daemon/littled/budget/conversion.py",
)
# Functions that do not: they choose among versions of themselves, or an order of additions.
UNPORTABLE = re.compile(
    r"math\.(?!ceil$|comb$|factorial$|floor$|frexp$|fsum$|gcd$|inf$|isfinite$|isqrt$|sqrt$).*"
    r"|numpy\.(exp.*|log.*|power|float_power|convolve|correlate|dot|inner|vdot|matmul|einsum|tensordot"
    r"|interp|geomspace|logspace|linspace|mean|average|std|var|sum|prod|trapezoid|sin.*|cos.*|tan.*"
    r"|polynomial.*|linalg.*|fft.*|vectorize|cbrt|hypot)|statistics\..*|scipy\..*"
)
UNPORTABLE_METHODS = {"sum", "mean", "dot", "std", "var", "prod"}
# Comparisons with noise that no plan has; and powers of integers and fractions.
UNPORTABLE_ALLOWED = {
    ("errors.py", "math.erfc"),
    ("errors.py", "numpy.vectorize"),
    ("paper.py", "**"),
}

MECHANISM_HEADINGS = {
    *("Source", "Guarantee", "Neighbouring relation", "Sensitivity", "Shapes", "Edge cases"),
}
# Not mechanisms: where the bits of every mechanism come from.
NO_MECHANISMS = {"__init__.py", "noise.py", "chacha.py"}

# Source modules without a test module of their own, each with the one that tests it and the reason.
ALL_CLASSES = ("tests/daemon/classes/test_classes.py", "one suite for all, against brute force")
ONE_LEARNER = (
    "tests/daemon/learners/online/test_learner.py",
    "parts of one state machine, run as one",
)
TESTED_ELSEWHERE: dict[str, tuple[str, str]] = {
    "daemon/littled/store/lending.py": (
        "tests/daemon/store/test_sqlite.py",
        "connections that are lent, many at once and after an error",
    ),
    "daemon/littled/groups/daemons.py": (
        "tests/daemon/cli/test_cli_group.py",
        "members as processes, with daemons that are killed, frozen and stopped",
    ),
    **{
        f"daemon/littled/store/{name}.py": (
            "tests/daemon/store/test_moving.py",
            f"{what} of stores that are moved",
        )
        for name, what in (("contents", "the rows"), ("moves", "what is noted"))
    },
    "daemon/littled/executors.py": (
        "tests/daemon/cli/test_cli_executors.py",
        "a cluster as commands use it",
    ),
    **{
        f"clients/littled_client/brokers/{name}.py": (
            "tests/daemon/cli/test_brokers.py",
            "brokers as a command meets them, with real ones that are killed",
        )
        for name in ("opening", "jetstream", "redis_streams", "kafka_topics", "mqtt_topics")
    },
    **{
        f"daemon/littled/service/{name}.py": (
            "tests/daemon/service/test_http.py",
            f"{what} as the pages meet them",
        )
        for name, what in (
            ("http_answers", "answers"),
            ("http_asking", "questions and rows"),
            ("http_bodies", "bodies"),
            ("http_errors", "refusals"),
            ("http_guard", "rights"),
            ("http_rules", "rules"),
            ("http_surface", "facts"),
            ("http_watching", "pages"),
        )
    },
    **{
        f"daemon/littled/{name}.py": (
            "tests/daemon/cli/test_cli_batch.py",
            "the parts of a kind as a configuration, a daemon and people meet them",
        )
        for name in ("configuration/batch", "planner/batch/plan", "auditing/subjects/batch")
    },
    **{
        f"daemon/littled/{name}.py": (
            f"tests/daemon/cli/test_cli_{kind}.py",
            "the parts of a kind as a configuration, a daemon and people meet them",
        )
        for kind in ("leader", "partition")
        for name in (
            f"configuration/{kind}",
            f"planner/{kind}/plan",
            f"planner/{kind}/request",
            f"auditing/subjects/{kind}",
        )
    },
    **{
        f"daemon/littled/{name}.py": (
            "tests/daemon/cli/test_cli_window_values.py",
            "the parts of a kind as a configuration, a daemon and people meet them",
        )
        for name in (
            *("configuration/window_values", "auditing/subjects/window_values"),
            *(f"configuration/{kind}" for kind in ("minimum", "most_frequent", "sequences")),
            *(f"auditing/subjects/{kind}" for kind in ("minimum", "most_frequent", "sequences")),
        )
    },
    **{
        f"daemon/littled/{name}.py": (
            "tests/daemon/learners/values/test_value_laws.py",
            "learners of values against their laws, each with its draws and parameters",
        )
        for name in (
            "learners/window_values",
            *(
                f"learners/{kind}/{part}"
                for kind in ("minimum", "most_frequent")
                for part in ("draws", "learner", "parameters")
            ),
        )
    },
    **{
        f"daemon/littled/{name}.py": (
            "tests/daemon/planner/test_window_values.py",
            "these kinds are planned in one way",
        )
        for name in (
            f"planner/{kind}/{part}"
            for kind in ("minimum", "most_frequent", "sequences")
            for part in ("plan", "search")
        )
    },
    **{
        f"daemon/littled/learners/sequences/{part}.py": (
            "tests/daemon/learners/sequences/test_sequence_laws.py",
            "the learner against its laws, with its draws and parameters",
        )
        for part in ("draws", "learner", "parameters")
    },
    **{
        f"daemon/littled/budget/charges/{name}.py": (
            "tests/daemon/budget/charges/test_window_values.py",
            "these kinds against what their learners ask for",
        )
        for name in ("minimum", "most_frequent", "sequences")
    },
    **{
        f"{name}.py": (
            "tests/daemon/service/test_schemas.py",
            "types, as the schemas made of them meet what is written",
        )
        for name in (
            "protocol/littled_protocol/described",
            "protocol/littled_protocol/facts",
            "protocol/littled_protocol/rules/fields",
            "protocol/littled_protocol/encodings/fields",
        )
    },
    "daemon/littled/service/http_routes.py": (
        "tests/daemon/service/test_openapi.py",
        "the table of pages against a running daemon",
    ),
    "clients/littled_client/errors.py": ("tests/clients/test_both_clients.py", "names only"),
    "daemon/littled/ways.py": ("tests/daemon/planner/online/ways/test_register.py", "words only"),
    **{
        f"daemon/littled/classes/{name}.py": ALL_CLASSES
        for name in ("base", "hypothesis", "numbered", *CLASSES)
        if not (ROOT / "tests" / "daemon" / "classes" / f"test_{name}.py").exists()
    },
    **{
        f"daemon/littled/laboratory/{name}.py": (
            "tests/daemon/laboratory/test___main__.py",
            "what is printed is what the page has",
        )
        for name in ("draws", "markdown", "tables_of_learners", "tables_of_streams")
    },
    "daemon/littled/store/predictions.py": (
        "tests/daemon/store/test_stored_predictions.py",
        "what is read there is tested with what is written and refused",
    ),
    "daemon/littled/store/producer_table.py": (
        "tests/daemon/store/test_producers.py",
        "rows, and whether they fit the journal",
    ),
    "daemon/littled/store/restores.py": (
        "tests/daemon/store/test_restoring.py",
        "what was restored is read by everything that follows",
    ),
    "daemon/littled/store/archiving.py": (
        "tests/daemon/store/test_archive.py",
        "what may go and what stays is tested with what is written",
    ),
    "daemon/littled/store/packing.py": (
        "tests/daemon/store/test_segments.py",
        "whatever is packed, is packed by it",
    ),
    "daemon/littled/service/certificates.py": (
        "tests/daemon/service/test_tls.py",
        "what is wrong with each file, as whoever starts a daemon is told",
    ),
    "daemon/littled/service/samples.py": (
        "tests/daemon/service/test_metrics.py",
        "the allow-list of the metrics, and values",
    ),
    **{
        f"daemon/littled/planner/{name}.py": (
            "tests/daemon/planner/test_search.py",
            "values: made, stored and read there",
        )
        for name in ("plans", "planning", "online/plan", "prediction/plan")
    },
    **{
        f"daemon/littled/planner/{name}.py": (
            "tests/daemon/planner/test_search.py",
            "what is asked and refused there",
        )
        for name in ("requests", "online/request", "prediction/request")
    },
    **{
        f"daemon/littled/budget/{name}.py": (
            "tests/daemon/budget/test_events.py",
            "each event with its price and as it is written",
        )
        for name in ("prices", "codec")
    },
    "daemon/littled/planner/online/search.py": (
        "tests/daemon/planner/online/test_ways.py",
        "what is chosen among the ways that are planned there",
    ),
    "daemon/littled/planner/capacity.py": (
        "tests/daemon/planner/online/test_sizes.py",
        "the limits of one learner and of several",
    ),
    **{
        f"daemon/littled/configuration/{name}.py": (
            "tests/daemon/configuration/test_configuration.py",
            "one configuration, with every key",
        )
        for name in ("parts", "words", "online", "prediction")
    },
    **{
        f"daemon/littled/budget/charges/{name}.py": (
            "tests/daemon/budget/test_charges.py",
            "every kind against what its learners ask for",
        )
        for name in ("online", "prediction")
    },
    **{
        f"daemon/littled/auditing/subjects/{name}.py": (
            "tests/daemon/auditing/test_subjects.py",
            "one suite for the small learners of all kinds",
        )
        for name in ("small", "online", "prediction")
    },
    "daemon/littled/planner/budgets.py": (
        "tests/daemon/planner/online/test_ways.py",
        "rates of the ways that are planned there",
    ),
    **{
        f"daemon/littled/learners/{name}.py": ONE_LEARNER
        for name in (
            *("contract", "online/keeping", "online/noise", "online/parameters"),
            *("online/snapshot", "online/state", "online/trigger", "online/values", "snapshot"),
        )
    },
    **{
        f"daemon/littled/learners/online/selections/{name}.py": (
            "tests/daemon/learners/online/test_laws.py",
            "the laws of each, and in test_learner.py and test_growing.py what it selects",
        )
        for name in ("base", "blocks", "dense", "histogram", "proposals", "teachers")
    },
    **{
        f"daemon/littled/planner/online/ways/{name}.py": (
            "tests/daemon/planner/online/test_ways.py",
            "estimates against simulated learners; with a schedule in test_schedules.py",
        )
        for name in (
            *("base", "closure", "dense", "draft", "histogram", "scheduled", "sparse", "teachers"),
        )
    },
    **{
        f"daemon/littled/planner/online/{name}.py": (
            "tests/daemon/planner/test_search.py",
            "what is chosen, and every row of a comparison",
        )
        for name in ("choosing",)
    },
    "daemon/littled/classes/memory.py": (
        "tests/daemon/planner/online/test_costs.py",
        "the models that it is a part of, against what is measured",
    ),
    "daemon/littled/limits.py": ("tests/daemon/service/test_sessions.py", "numbers only"),
    "daemon/littled/auditing/prediction.py": (
        "tests/daemon/learners/prediction/test_audit.py",
        "every method by games, and faults that they find",
    ),
}
# Run as `python -m littled.cli` and `python -m littled.laboratory`, so nothing imports them.
ENTRY_POINTS = {"littled.cli.__main__", "littled.laboratory.__main__"}
# What users' programs call and no command does, each with the document that says so.
PUBLIC_API = {
    "littled_client.AsyncFeeder.send_rest": "docs/python.md",
    "littled_client.Feeder.send_rest": "docs/python.md",
    "littled_client.Rule": "docs/python.md",
    "littled_client.hash_users": "docs/speed.md",
    "littled.learners.given.examples_of": "docs/python.md",
    "littled.programs.estimator.PrivateOnlineClassifier": "docs/python.md",
    "littled.programs.streaming.PrivateRiverClassifier": "docs/python.md",
    "littled.programs.research.run": "docs/python.md",
    "littled.programs.research.plan_of": "docs/python.md",
    "littled.programs.spending.spending_of_statuses": "docs/python.md",
    "littled.cli.flights.read_flights": "docs/planning.md",
    "littled_protocol.Rule.to_json": "docs/rules.md",
    "littled_protocol.limits.learner_characters_max": "protocol/SPEC.md",
}


def relative(path: Path) -> str:
    """The path as messages show it."""
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    """The parsed module, once for all tests."""
    gc.disable()  # it would look through all trees again and again, which takes most of the time
    try:
        return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    finally:
        gc.freeze()
        gc.enable()


def module_name(path: Path) -> str:
    """`littled.budget.price` for its path."""
    home = next(home for home in PACKAGES.values() if path.is_relative_to(home))
    parts = path.relative_to(home).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """The room that a module of this project belongs to; "" for another distribution's."""
    first, _, rest = module.partition(".")
    if first != "littled":
        return first if first in PACKAGES else ""
    return rest.partition(".")[0] or "littled"


def imported_modules(path: Path) -> Iterator[str]:
    """Full names of everything that the module imports, wherever in it the import stands."""
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def imported_first(path: Path) -> Iterator[str]:
    """First names of what the module imports when it is imported itself, outside of functions."""
    waiting: list[ast.AST] = [tree_of(path)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting.extend(ast.iter_child_nodes(node))


def requirements() -> dict[str, list[str]]:
    """What pyproject.toml asks for: at run time under "", and for each extra under its name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"": project["dependencies"], **project["optional-dependencies"]}


def distributions(wanted: list[str]) -> set[str]:
    """Requirements without their versions, as the names of modules: {"prometheus_client"}."""
    names = {re.split(r"[^\w-]", each)[0].replace("-", "_") for each in wanted}
    return {"sklearn" if name == "scikit_learn" else name for name in names}


@cache
def used_names(path: Path) -> tuple[tuple[int, str], ...]:
    """What of other modules is used, found once for all tests."""
    return tuple(names_used_in(tree_of(path)))


def dotted_name(node: ast.Attribute) -> str:
    """The source of an attribute; that of most is a name with dots, which is found sooner."""
    parts: list[str] = [node.attr]
    value = node.value
    while isinstance(value, ast.Attribute):
        parts.append(value.attr)
        value = value.value
    return (
        ".".join([value.id, *reversed(parts)]) if isinstance(value, ast.Name) else ast.unparse(node)
    )


def names_used_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of every import and attribute, with import aliases resolved."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                short = alias.asname or alias.name.partition(".")[0]
                aliases[short] = alias.name if alias.asname else short
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                yield node.lineno, f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            dotted = dotted_name(node)
            first, _, rest = dotted.partition(".")
            yield node.lineno, f"{aliases.get(first, first)}.{rest}"


def is_banned(name: str) -> str | None:
    """Why a dotted name is banned; None if it is not."""
    for banned, reason in BANNED_NAMES.items():
        if name == banned or name.startswith(f"{banned}."):
            return reason
    return None


def floats_in(path: Path) -> Iterator[tuple[int, str]]:
    """Line and source of everything that makes a floating-point number."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Name) and node.id == "float":
            yield node.lineno, "float"
    for line, name in used_names(path):
        if FLOATING.fullmatch(name):
            yield line, name


def unportable_in(path: Path) -> Iterator[tuple[int, str]]:
    """Line and source of everything whose last bits may depend on the processor."""
    for line, name in used_names(path):
        if UNPORTABLE.fullmatch(name):
            yield line, name
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield node.lineno, "@"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            of_integers = isinstance(node.left, ast.Constant) and isinstance(node.left.value, int)
            if not of_integers and not isinstance(node.left, ast.Call | ast.Constant):
                yield node.lineno, "**"
        elif isinstance(node, ast.Attribute) and node.attr in UNPORTABLE_METHODS:
            yield node.lineno, node.attr


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a module, methods and inner ones included."""
    waiting: list[ast.AST] = [tree_of(path)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        # functions are statements, and no expression has statements in it
        inner = (getattr(node, part, ()) for part in STATEMENTS)
        waiting += [each for part in inner for each in part]


def forbidden_arrows(path: Path) -> list[str]:
    """Imports between rooms that are not on the list."""
    room = room_of(module_name(path))
    used = {room_of(module) for module in imported_modules(path)} - {"", room}
    if room in SHELL:
        return []
    return [f"{relative(path)}: {room} -> {each}" for each in sorted(used - ARROWS[room])]


@pytest.mark.long
def test_imports_between_rooms_run_one_way() -> None:
    wrong = [arrow for path in SOURCES for arrow in forbidden_arrows(path)]
    assert wrong == []


def test_the_arrows_form_no_circle() -> None:
    settled: set[str] = set()
    while settled != set(ARROWS):
        ready = {room for room, uses in ARROWS.items() if uses <= settled} - settled
        assert ready, f"these rooms use each other in a circle: {sorted(set(ARROWS) - settled)}"
        settled |= ready


def in_circles(uses: dict[str, set[str]]) -> set[str]:
    """The modules that, by way of others, use themselves, with those on the way between such."""
    left = {module: set(used) - {module} for module, used in uses.items()}
    while True:
        used_by_none = set(left) - {each for used in left.values() for each in used}
        outside = {module for module, used in left.items() if not used} | used_by_none
        if not outside:
            return set(left)
        left = {module: used - outside for module, used in left.items() if module not in outside}


def test_no_modules_import_each_other_wherever_the_import_stands() -> None:
    modules = {module_name(path) for path in SOURCES}
    uses: dict[str, set[str]] = {}
    for path in SOURCES:
        # `from littled.planner import PlanError` names a module and something in it
        found = {name if name in modules else name.rpartition(".")[0]
                 for name in imported_modules(path)}  # fmt: skip
        uses[module_name(path)] = found & modules
    assert sum(map(len, uses.values())) > len(modules)
    assert in_circles(uses) == set()


def test_a_circle_of_imports_is_found() -> None:
    line = {"top": {"middle"}, "middle": {"bottom"}, "bottom": set[str]()}
    assert in_circles(line) == set()
    assert in_circles({**line, "bottom": {"middle"}}) == {"middle", "bottom"}
    assert in_circles({**line, "bottom": {"top"}}) == set(line)


def test_every_room_is_on_the_list() -> None:
    assert {room_of(module_name(path)) for path in SOURCES} <= set(ARROWS) | SHELL


@pytest.mark.parametrize("room", sorted(PURE_ROOMS | {"littled_protocol"}))
def test_pure_rooms_import_no_input_output_clock_or_entropy(room: str) -> None:
    wrong = [
        f"{relative(path)} imports {module}"
        for path in SOURCES
        if room_of(module_name(path)) == room
        for module in imported_modules(path)
        if module.partition(".")[0] in IMPURE_MODULES
    ]
    assert wrong == []


def test_the_protocol_needs_little() -> None:
    used = {
        module.partition(".")[0]
        for path in SOURCES
        if room_of(module_name(path)) == "littled_protocol"
        for module in imported_modules(path)
    }
    assert used - set(sys.stdlib_module_names) - {"littled_protocol"} <= PROTOCOL_THIRD_PARTY


def test_what_is_installed_is_what_is_imported_and_the_rest_are_extras() -> None:
    own = set(PACKAGES) | set(sys.stdlib_module_names) | {"pydantic_core"}  # a part of pydantic
    sources = [path for path in SOURCES if module_name(path) not in IMPORTED_LATE]
    at_once = {name for path in sources for name in imported_first(path)} - own
    ever = {name.partition(".")[0] for path in SOURCES for name in imported_modules(path)} - own
    wanted = requirements()
    # tzdata is data, which `zoneinfo` reads where a system has none.
    assert at_once <= distributions(wanted[""]) - {"tzdata"} <= ever
    extras = {
        "parquet": {"pyarrow"},
        "audit": {"scipy"},
        "dask": {"distributed"},
        "plots": {"matplotlib"},
        "postgres": {"psycopg"},
        "river": {"river", "sklearn"},
        "sklearn": {"sklearn"},
    }
    assert {extra: distributions(wanted[extra]) for extra in extras} == extras
    assert ever - distributions(wanted[""]) == set[str]().union(*extras.values())


def test_no_version_of_anything_is_ruled_out_by_being_new() -> None:
    every = [each for wanted in requirements().values() for each in wanted]
    plain = re.compile(r"[\w-]+(\[\w+\])?>=(\d+!)?[\d.]+")
    assert [each for each in every if not plain.fullmatch(each)] == []


def test_no_module_uses_a_banned_name() -> None:
    uses = [
        f"{relative(path)}:{line} uses {name}: {reason}"
        for path in SOURCES
        for line, name in used_names(path)
        if (reason := is_banned(name))
    ]
    assert uses == []


@pytest.mark.parametrize("room", ["mechanisms", "learners", "classes"])
def test_no_floating_point_number_comes_between_data_and_release(room: str) -> None:
    floats = []
    for path in SOURCES:
        if room_of(module_name(path)) == room:
            floats += [f"{relative(path)}:{line} {what}" for line, what in floats_in(path)]
    assert floats == []


def test_plans_are_computed_alike_on_every_processor() -> None:
    found = [
        f"{relative(path)}:{line} {what}"
        for path in PORTABLE
        for line, what in unportable_in(path)
        if (path.name, what) not in UNPORTABLE_ALLOWED
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        *("import math\nmath.exp(x)", "from math import log", "import numpy as np\nnp.log1p(x)"),
        *("x @ y", "x.sum()", "x ** y", "import numpy\nnumpy.polynomial.hermite_e"),
    ],
)
def test_what_depends_on_the_processor_is_found(text: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(text, encoding="utf-8")
    assert list(unportable_in(path))


@pytest.mark.parametrize(
    "text", ["rate = 0.5", "float(x)", "import math\nmath.exp(1)", "import numpy as n\nn.float64"]
)
def test_floating_point_numbers_are_found(text: str, tmp_path: Path) -> None:
    path = tmp_path / "sample.py"
    path.write_text(text)
    assert list(floats_in(path))


@pytest.mark.parametrize(
    "text",
    [
        "import numpy as np\nnp.random.default_rng()",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import time as clock\nclock.time()",
        "from time import time",
        "import pickle",
        "from typing import TYPE_CHECKING",
    ],
)
def test_banned_names_are_found_however_they_are_imported(text: str, tmp_path: Path) -> None:
    path = tmp_path / "sample.py"
    path.write_text(text)
    found = [name for _, name in used_names(path)]
    assert any(is_banned(name) for name in found)


@pytest.mark.long
def test_no_exception_is_caught_without_a_name() -> None:
    bare = [
        f"{relative(path)}:{node.lineno}"
        for path in EVERYTHING
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ExceptHandler) and node.type is None
    ]
    assert bare == []


@pytest.mark.long
def test_no_module_changes_another_one_when_it_is_imported() -> None:
    """Tests share a process, so what one import sets would hold for all others."""
    changing = []
    for path in EVERYTHING:
        body = tree_of(path).body
        imported = {
            (alias.asname or alias.name).partition(".")[0]
            for node in body
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        changing += [
            f"{relative(path)}:{node.lineno}"
            for node in body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Attribute) and ast.unparse(target).split(".")[0] in imported
        ]
    assert changing == []


def test_functions_are_short() -> None:
    long = [
        f"{relative(path)}:{function.lineno} {function.name} has {lines} lines"
        for path in EVERYTHING
        for function in functions(path)
        if (lines := (function.end_lineno or 0) - function.lineno + 1) > FUNCTION_LINES_MAX
    ]
    assert long == []


def test_every_module_says_what_it_is() -> None:
    silent = [relative(path) for path in EVERYTHING if not ast.get_docstring(tree_of(path))]
    assert silent == []


def test_nothing_is_left_to_do() -> None:
    markers = re.compile(r"\b(" + "TO" + "DO|FIX" + "ME|XX" + r"X)\b")
    texts = [*EVERYTHING, *ROOT.glob("*.md"), *(ROOT / "protocol").glob("*.md"), ROOT / "Makefile"]
    left = [
        f"{relative(path)}:{number}"
        for path in texts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if markers.search(line)
    ]
    assert left == []


def test_hooks_before_a_commit_check_what_make_lint_checks() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^lint: .*\n((?:\t.+\n)+)", makefile, re.MULTILINE)
    checks = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()]
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"^ +entry: (.+)$", hooks, re.MULTILINE) == checks
    # each of them on the whole tree, whatever a commit touches
    for setting in ("language: system", "always_run: true", "pass_filenames: false"):
        assert hooks.count(f"        {setting}\n") == len(checks)


def test_types_are_checked_strictly_in_every_file() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert settings["strict"] is True
    checked = [ROOT / name for name in settings["files"]]
    assert [path for path in EVERYTHING if not any(map(path.is_relative_to, checked))] == []
    assert [part for part in settings["overrides"] if part.get("ignore_errors")] == []


def mechanism_modules() -> list[Path]:
    """Modules that hold a mechanism each."""
    folder = PACKAGES["littled"] / "littled" / "mechanisms"
    return [path for path in sorted(folder.glob("*.py")) if path.name not in NO_MECHANISMS]


def headings_in(docstring: str) -> set[str]:
    """Those of the fixed headings that start a line, with a colon on the same line."""
    return {each for each in MECHANISM_HEADINGS if re.search(rf"^\W*{each}\b.*:", docstring, re.M)}


def test_every_mechanism_states_its_guarantee_under_fixed_headings() -> None:
    modules = mechanism_modules()
    assert modules
    silent = {}
    for path in modules:
        classes = [node for node in tree_of(path).body if isinstance(node, ast.ClassDef)]
        nodes: list[ast.Module | ast.ClassDef] = [tree_of(path), *classes]
        texts = [ast.get_docstring(node) or "" for node in nodes]
        missing = min((MECHANISM_HEADINGS - headings_in(text) for text in texts), key=len)
        if missing:
            silent[relative(path)] = missing
    assert silent == {}


def modules_that_test(path: Path) -> list[Path]:
    """Test modules that belong to a source module, whether they exist or not."""
    home = next(home for home in PACKAGES.values() if path.is_relative_to(home))
    inside = path.relative_to(home).parts[1:]
    if inside[0] == "cli":
        return sorted((ROOT / "tests" / home.name).rglob("test_cli*.py"))
    folder = ROOT / "tests" / home.name / Path(*inside[:-1])
    return [folder / f"test_{path.name}"]


def is_tested(path: Path) -> bool:
    """Whether a source module has a test module of its own."""
    return any(each.exists() for each in modules_that_test(path))


def test_every_source_module_has_its_tests() -> None:
    untested = {
        relative(path) for path in SOURCES if path.name != "__init__.py" and not is_tested(path)
    }
    assert untested == set(TESTED_ELSEWHERE)
    assert all((ROOT / test).exists() for test, _ in TESTED_ELSEWHERE.values())


def reach_of(paths: Iterable[Path]) -> Reach:
    """Nothing reached yet of these modules."""
    return Reach(
        Module.of(module_name(path), tree_of(path), is_package=path.name == "__init__.py")
        for path in paths
    )


def reach_of_the_commands() -> Reach:
    """What `littled` and its commands reach."""
    reach = reach_of(SOURCES)
    for entry in ENTRY_POINTS:
        reach.start(entry)
    for module, attribute, _ in COMMANDS.values():
        reach.start(f"littled.cli.{module}.{attribute}")
    parts = [part for kind in KINDS.values() for part in kind.parts()]
    for part in (*parts, *(entry.made_by for entry in CLASSES.values())):
        reach.start(part.replace(":", "."))
    return reach


@pytest.mark.long
def test_everything_is_reached_by_a_command_or_by_programs_of_users() -> None:
    """What only tests use belongs to `tests/oracle` or to `tests/support`."""
    reach = reach_of_the_commands()
    for name in PUBLIC_API:
        reach.start(name)
    assert sorted(reach.unreached()) == []


@pytest.mark.long
def test_the_public_api_is_documented_and_needed() -> None:
    """Every name on the list is in its document, and would be unreached without it."""
    unreached = {each.rpartition(".")[2] for each in reach_of_the_commands().unreached()}
    names = {name: name.rpartition(".")[2] for name in PUBLIC_API}
    assert set(names.values()) <= unreached
    for name, last in names.items():
        text = (ROOT / PUBLIC_API[name]).read_text(encoding="utf-8")
        assert re.search(rf"\b{last}\b", text), f"{last} is not in {PUBLIC_API[name]}"


def test_nothing_in_the_packages_imports_from_the_tests() -> None:
    rooms = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()}
    wrong = [
        f"{relative(path)} imports {module}"
        for path in SOURCES
        for module in imported_modules(path)
        if module.partition(".")[0] in rooms
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "unreached"),
    [
        ("def main(): helper()\ndef helper(): pass", []),
        ("def main(): pass\ndef helper(): helper()", ["helper"]),
        ("LIMIT = 3\ndef main(): return LIMIT", []),
        ("LIMIT = 3\nTWICE = 2 * LIMIT\ndef main(): pass", ["LIMIT", "TWICE"]),
        ("class C:\n def used(self): 0\n def idle(self): 0\ndef main(): C().used()", ["C.idle"]),
        ("import click\nclass C(click.Group):\n def called(self): 0\ndef main(): C()", []),
        ("class C:\n pass\ndef main(c: 'C'): pass", []),
        ("def kept(f): return f\n@kept\ndef listed(): pass\ndef main(): pass", []),
        ("import functools\n@functools.cache\ndef idle(): pass\ndef main(): pass", ["idle"]),
        ("from littled.cli import failures\ndef idle(): pass\ndef main(): pass", ["idle"]),
    ],
)
def test_what_nothing_reaches_is_found(text: str, unreached: list[str]) -> None:
    reach = Reach([Module.of("sample", ast.parse(text), is_package=False)])
    reach.start("sample.main")
    assert list(reach.unreached()) == [f"sample.{name}" for name in unreached]


def test_a_package_that_passes_a_name_on_does_not_use_it() -> None:
    package = "from package.inner import idle, used\n__all__ = ['idle', 'used']"
    texts = {
        "package": package,
        "package.inner": "def idle(): pass\ndef used(): pass",
        "program": "from package import used\ndef main(): used()",
    }
    reach = Reach(
        Module.of(name, ast.parse(text), is_package=name == "package")
        for name, text in texts.items()
    )
    reach.start("program.main")
    assert list(reach.unreached()) == ["package.inner.idle"]


def test_test_folders_are_no_packages() -> None:
    assert [relative(path) for path in TESTS if path.name == "__init__.py"] == []


def test_the_licence_is_the_published_text() -> None:
    text = (ROOT / "LICENSE").read_bytes()
    assert hashlib.sha256(text).hexdigest() == APACHE_2_SHA256
