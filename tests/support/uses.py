"""Which definitions of a program are reached from where it starts, read from its source text.

Followed are names and attributes in the text of what is reached, and imports by name through any
number of modules. What a package imports in its own `__init__` passes a name on and uses nothing.
What a function of the program decorates is in a register of it, and so is reached with its module.
Methods are told apart by name alone: one is reached if its class is, and some reached text has an
attribute of that name. So are all methods of a class with a base of another distribution, which
calls them, and those whose names begin with two underscores.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# A module and a name in it; "" is what runs when the module is imported.
Place: TypeAlias = tuple[str, str]
# Bases of other distributions that call no method by its name.
PASSIVE_BASES = {
    *(
        "abc.ABC",
        "enum.Enum",
        "enum.IntEnum",
        "enum.StrEnum",
        "typing.Generic",
        "typing.NamedTuple",
    ),
    *("typing.Protocol", "typing.TypedDict", "Exception", "ValueError"),
}


@dataclass
class Module:
    """One module: what it defines, what it imports under which name, and all other statements."""

    name: str
    is_package: bool
    defined: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imported: dict[str, str] = field(default_factory=dict)
    loose: list[ast.stmt] = field(default_factory=list)

    @classmethod
    def of(cls, name: str, tree: ast.Module, *, is_package: bool) -> "Module":
        """The module of this parsed text."""
        module = cls(name, is_package)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    short = alias.name.partition(".")[0]
                    module.imported[alias.asname or short] = alias.name if alias.asname else short
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    module.imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        for statement in tree.body:
            names = list(_defined_by(statement))
            for defined in names:
                module.defined.setdefault(defined, []).append(statement)
            if not names and not isinstance(statement, ast.Import | ast.ImportFrom):
                module.loose.append(statement)
        return module


def _defined_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top of a module defines."""
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            for node in ast.walk(target):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


class Reach:
    """What of some modules is reached; starts with nothing, and grows with every `start`."""

    def __init__(self, modules: Iterable[Module]) -> None:
        """Know these modules."""
        self._modules: Mapping[str, Module] = {module.name: module for module in modules}
        self._reached: set[Place] = set()
        self._attributes: set[str] = set()
        self._waiting: dict[str, list[tuple[Module, str, Function]]] = {}
        self._ahead: list[Place] = []

    def start(self, dotted: str) -> None:
        """Reach a module, or a definition, a class's method included, and all it leads to."""
        place = self._resolved(dotted)
        if place is None:
            owner, _, method = dotted.rpartition(".")
            place = self._resolved(owner)
            assert place is not None, dotted
            self._attribute(method)
        self._want(place)
        while self._ahead:
            self._visit(self._ahead.pop())

    def unreached(self) -> Iterator[str]:
        """Full names of modules, definitions and methods that are not; packages' own aside."""
        for module in self._modules.values():
            if module.is_package:
                continue
            if (module.name, "") not in self._reached:
                yield module.name
            for name, statements in module.defined.items():
                if name == "__all__":
                    continue
                if (module.name, name) not in self._reached:
                    yield f"{module.name}.{name}"
                    continue
                for method in (m for statement in statements for m in _methods(statement)):
                    if (module.name, f"{name}.{method.name}") not in self._reached:
                        yield f"{module.name}.{name}.{method.name}"

    def _resolved(self, dotted: str) -> Place | None:
        """The place of a full name, followed through imports; None if it is not of this program."""
        while True:
            if dotted in self._modules:
                return dotted, ""
            owner, _, name = dotted.rpartition(".")
            module = self._modules.get(owner)
            if module is None:
                return None
            if name in module.defined:
                return owner, name
            if name not in module.imported:
                return None
            dotted = module.imported[name]

    def _in(self, module: Module, name: str) -> Place | None:
        """The place of a name, with attributes or without, as one module writes it."""
        first, dot, rest = name.partition(".")
        if first in module.defined:
            return module.name, first
        if first in module.imported:
            return self._resolved(module.imported[first] + dot + rest)
        return None

    def _want(self, place: Place | None) -> None:
        if place is not None and place not in self._reached:
            self._reached.add(place)
            self._ahead.append(place)

    def _visit(self, place: Place) -> None:
        module, name = self._modules[place[0]], place[1]
        if not name:
            self._import(module)
            return
        self._want((module.name, ""))
        for statement in module.defined[name]:
            if isinstance(statement, ast.ClassDef):
                self._class(module, statement)
            else:
                self._read(module, statement)

    def _import(self, module: Module) -> None:
        """What happens when a module is imported; names that a package passes on are no use."""
        for statement in module.loose:
            self._read(module, statement)
        for name, statements in module.defined.items():
            decorators = [
                decorator
                for statement in statements
                if isinstance(statement, FUNCTIONS)
                for decorator in statement.decorator_list
            ]
            if any(self._in(module, _called(decorator)) is not None for decorator in decorators):
                self._want((module.name, name))
        if not module.is_package:
            for dotted in module.imported.values():
                found = self._resolved(dotted)
                self._want(found and (found[0], ""))

    def _class(self, module: Module, node: ast.ClassDef) -> None:
        for part in (*node.bases, *node.keywords, *node.decorator_list):
            self._read(module, part)
        methods = _methods(node)
        for statement in node.body:
            if statement not in methods:
                self._read(module, statement)
        called = self._is_called_by_others(module, node)
        for method in methods:
            name = method.name
            if called or name in self._attributes or name.startswith("__"):
                self._method(module, node.name, method)
            else:
                self._waiting.setdefault(name, []).append((module, node.name, method))

    def _is_called_by_others(self, module: Module, node: ast.ClassDef) -> bool:
        """Whether a base, or a base of a base, is of another distribution and calls methods."""
        for base in node.bases:
            name = _called(base)
            place = self._in(module, name)
            if place is None:
                first, dot, rest = name.partition(".")
                if module.imported.get(first, first) + dot + rest not in PASSIVE_BASES:
                    return True
            else:
                owner = self._modules[place[0]]
                for definition in owner.defined[place[1]]:
                    if isinstance(definition, ast.ClassDef) and self._is_called_by_others(
                        owner, definition
                    ):
                        return True
        return False

    def _method(self, module: Module, owner: str, method: Function) -> None:
        self._reached.add((module.name, f"{owner}.{method.name}"))
        self._read(module, method)

    def _attribute(self, name: str) -> None:
        if name not in self._attributes:
            self._attributes.add(name)
            for waiting in self._waiting.pop(name, ()):
                self._method(*waiting)

    def _read(self, module: Module, text: ast.AST) -> None:
        """Reach every name and attribute in a piece of text, and in annotations that are quoted."""
        for node in ast.walk(text):
            if isinstance(node, ast.Name):
                self._want(self._in(module, node.id))
            elif isinstance(node, ast.Attribute):
                self._attribute(node.attr)
                self._want(self._in(module, _called(node)))
            for annotation in _annotations(node):
                for part in ast.walk(annotation):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        with suppress(SyntaxError):  # words about a type, in `Annotated`
                            self._read(module, ast.parse(part.value))


def _methods(node: ast.stmt) -> list[Function]:
    """The functions of a class; none of anything else."""
    if not isinstance(node, ast.ClassDef):
        return []
    return [definition for definition in node.body if isinstance(definition, FUNCTIONS)]


def _called(node: ast.expr) -> str:
    """What stands before the arguments or the subscript, as written."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return ast.unparse(node)


def _annotations(node: ast.AST) -> Iterator[ast.expr]:
    """The annotations that a node has itself."""
    found: ast.expr | None = None
    if isinstance(node, ast.arg | ast.AnnAssign):
        found = node.annotation
    elif isinstance(node, FUNCTIONS):
        found = node.returns
    if found is not None:
        yield found
