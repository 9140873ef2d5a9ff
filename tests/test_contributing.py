"""CONTRIBUTING.md against the code: what its lists name exists, and no place is left out."""

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from littled.classes.registry import CLASSES
from littled.cli.entry import COMMANDS
from littled.kinds import KINDS
from littled.learners.online.selections.register import SELECTIONS
from littled_protocol.messages import MESSAGE_CLASSES

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ALWAYS, SOMETIMES = "In every case:", "Where it applies:"
SOURCES = sorted(
    path for home in ("daemon", "clients", "protocol") for path in (ROOT / home).rglob("*.py")
)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
VECTORS = [ROOT / "protocol" / "SPEC.md", *sorted((ROOT / "protocol").rglob("*.json"))]


@dataclass(frozen=True)
class Place:
    """One item of a list: a file or a folder, and names in it."""

    path: str
    names: tuple[str, ...]

    @property
    def is_one_file(self) -> bool:
        """Whether the item is one file that everything of its sort is in."""
        return (ROOT / self.path).is_file()


@dataclass(frozen=True)
class Lists:
    """The lists of one section."""

    always: list[Place]
    sometimes: list[Place]

    @property
    def paths(self) -> set[str]:
        """Every path of both lists."""
        return {place.path for place in (*self.always, *self.sometimes)}


def places(text: str) -> list[Place]:
    """The items of a list, each of which begins with a path and names in it."""
    joined = re.sub(r"\n {2}", " ", text)
    items = re.findall(r"^- `([^`]+)`((?:, `[^`]+`)*): \S", joined, re.MULTILINE)
    assert len(items) == joined.count("\n- ") + joined.startswith("- "), text
    return [Place(path, tuple(re.findall(r"`([^`]+)`", names))) for path, names in items]


def lists_of(title: str) -> Lists:
    """The lists of the section with this title."""
    _, _, section = TEXT.partition(f"\n## {title}\n")
    section = section.partition("\n## ")[0]
    _, found, rest = section.partition(ALWAYS)
    assert found, title
    always, _, sometimes = rest.partition(SOMETIMES)
    return Lists(places(always.strip()), places(sometimes.strip()))


# The name of each class in Python, by its name in a configuration.
CONSTRUCTORS = {name: entry.made_by.partition(":")[2] for name, entry in CLASSES.items()}

# What a configuration asks for, of ways of selection that are stored by the words of their kinds.
ASKED = {"chain": "memory", "path": "memory", "lengths": "halving"}
# Of each sort of thing: how each one that there is may be spelled in a file that knows it.
SPELLINGS: dict[str, dict[str, str]] = {
    "To add a hypothesis class": {
        kind: rf"\b{kind}:|[\"`']{kind}[\"`']|\b{made}\b" for kind, made in CONSTRUCTORS.items()
    },
    "To add a way of selection": {
        name: rf"(?i)\b_?({spelling}|{ASKED.get(name, name)})s?(_?Selection|Way)?\b"
        for name, spelling in ((name, name.replace("-", "[-_]?")) for name in SELECTIONS)
    },
    "To add a kind of learner": {
        kind: rf"[\"/]{kind}[\"`]|\b{made}(Plan|Request|Learner|Configuration)\b"
        for kind, made in ((kind, kind.title().replace("_", "")) for kind in KINDS)
        if kind != "online"  # which has no name where nothing else is asked for
    },
    "To add a message of the protocol": {
        kind.type_name: rf"[\"`]{kind.type_name}[\"`.]|\b{kind.__name__}\b"
        for kind in MESSAGE_CLASSES
    },
    "To add a command": {name: rf"\b{name}\b" for name in COMMANDS},
}
LISTS = {title: lists_of(title) for title in SPELLINGS}
every_section = pytest.mark.parametrize("title", SPELLINGS)

# What stands for a name of the list's sort in a path, and all that it can be.
PLACEHOLDERS: dict[str, tuple[str, Iterable[str]]] = {
    "To add a hypothesis class": ("NAME", CLASSES),
    "To add a kind of learner": ("NAME", KINDS),
    "To add a command": ("MODULE", sorted({module for module, _, _ in COMMANDS.values()})),
}


def paths_of(title: str, place: Place) -> list[Path]:
    """The files that an item is about, one for each thing that there is where it says so."""
    mark, known = PLACEHOLDERS.get(title, ("", ()))
    if not mark or mark not in place.path:
        return [ROOT / place.path]
    return [ROOT / place.path.replace(mark, name) for name in known]


def defined_in(path: Path) -> set[str]:
    """Names that a module defines anywhere in it: classes, functions, constants and attributes."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                found.add(node.name)
            case ast.Name(ctx=ast.Store()):
                found.add(node.id)
            case ast.Attribute(ctx=ast.Store()):
                found.add(node.attr)
    return found


def unknown(path: Path, spellings: Mapping[str, str]) -> list[str]:
    """Those that a file does not name."""
    text = path.read_text(encoding="utf-8")
    return [name for name, spelling in spellings.items() if not re.search(spelling, text)]


def named(path: Path) -> str:
    """The path as the lists write it."""
    return path.relative_to(ROOT).as_posix()


@every_section
def test_every_path_exists_and_every_name_is_defined_there(title: str) -> None:
    lists = LISTS[title]
    assert lists.always
    for place in (*lists.always, *lists.sometimes):
        for path in paths_of(title, place):
            assert path.exists(), named(path)
            assert set(place.names) <= (defined_in(path) if place.names else set()), named(path)


@every_section
def test_what_exists_already_is_in_every_place_that_is_listed_for_every_case(title: str) -> None:
    files = [place.path for place in LISTS[title].always if place.is_one_file]
    assert files
    missing = {path: unknown(ROOT / path, SPELLINGS[title]) for path in files}
    assert {path: names for path, names in missing.items() if names} == {}


def knows_every_class(path: Path) -> bool:
    return not unknown(path, SPELLINGS["To add a hypothesis class"])


def asks_for_a_class(path: Path) -> bool:
    """Whether a module asks of a class which one it is."""
    names = set(CONSTRUCTORS.values())
    return any(
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == "isinstance"
        and names & {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


def asks_for_a_selection(path: Path) -> bool:
    """Whether a module compares a selection with one that it names, or has the names of all."""
    strings = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            constants = {
                part.value
                for side in sides
                for part in ast.walk(side)
                if isinstance(part, ast.Constant)
            }
            if constants & set(SELECTIONS) and any(
                isinstance(side, ast.Attribute) and side.attr == "selection" for side in sides
            ):
                return True
        elif isinstance(node, ast.Constant):
            strings.add(node.value)
    return set(SELECTIONS) <= strings


def asks_for_a_kind(path: Path) -> bool:
    """Whether a module that is no kind's own asks for one."""
    spellings = SPELLINGS["To add a kind of learner"]
    own = any(kind in named(path) for kind in spellings)
    known = set(spellings) - set(unknown(path, spellings))
    # Stores of a group are its partitions, too.
    return not own and bool(known - {"partition"})


def knows_every_message(path: Path) -> bool:
    return not unknown(path, SPELLINGS["To add a message of the protocol"])


def knows_every_command(path: Path) -> bool:
    """Whether a file names the program with each of its commands, or each as a text of its own."""
    return not unknown(path, {name: rf'"{name}"|`littled {name}\b' for name in COMMANDS})


OUTSIDE_OF_THE_PROTOCOL = [path for path in SOURCES if "littled_protocol" not in path.parts]
DISCOVERED: list[tuple[str, list[Path], Callable[[Path], bool]]] = [
    ("To add a hypothesis class", [*SOURCES, *PAGES], knows_every_class),
    ("To add a way of selection", SOURCES, asks_for_a_selection),
    ("To add a kind of learner", OUTSIDE_OF_THE_PROTOCOL, asks_for_a_kind),
    ("To add a message of the protocol", [*SOURCES, *VECTORS], knows_every_message),
    ("To add a command", [*SOURCES, *PAGES], knows_every_command),
]


@pytest.mark.parametrize(("title", "files", "knows"), DISCOVERED)
def test_every_place_that_knows_them_is_listed(
    title: str, files: list[Path], knows: Callable[[Path], bool]
) -> None:
    found = {named(path) for path in files if knows(path)}
    assert found
    assert found - LISTS[title].paths == set()


def test_no_module_asks_a_class_which_one_it_is() -> None:
    assert [named(path) for path in SOURCES if asks_for_a_class(path)] == []


def test_what_is_missing_or_unknown_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`thresholds:SIZE` and PointFunctions", encoding="utf-8")
    title = "To add a hypothesis class"
    assert unknown(page, SPELLINGS[title]) == [
        *("sparse_sets", "prefixes", "prefix_sets", "affine", "stumps", "scorecard"),
        *("integers", "strings", "oneway", "conjunctions", "table"),
    ]
    module = tmp_path / "module.py"
    module.write_text("if isinstance(x, Stumps | Table) or p.selection == 'dense':\n    a.b = 1")
    assert asks_for_a_class(module)
    assert asks_for_a_selection(module)
    assert defined_in(module) == {"b"}
    with pytest.raises(AssertionError):
        places("- `a/b.py`, `name`: something.\n- no path")


def test_every_target_that_is_named_exists() -> None:
    (targets,) = re.findall(
        r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    wanted = set(re.findall(r"`make ([\w-]+)", TEXT))
    assert wanted
    assert wanted <= set(targets.split())


def test_every_file_that_is_named_outside_of_the_lists_exists() -> None:
    named_files = re.findall(r"`((?:tests|daemon|docs)/[\w/]+(?:\.py|\.md)?)`", TEXT)
    assert named_files
    assert [path for path in named_files if "NAME" not in path and "MODULE" not in path
            and not (ROOT / path).exists()] == []  # fmt: skip
