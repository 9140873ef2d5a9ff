"""Write the pages of docs/reference/ that the program itself can tell.

    .venv/bin/python docs/renew.py

calls this. In a page everything after the comment `generated` is written anew: from commands as
`--help` knows them, from the models that read a configuration, and from what packages export.
`tests/test_reference.py` compares the pages with what is written now.
"""

import re
import types
import typing
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from littled.cli.entry import group
from littled.configuration import StreamConfiguration
from littled.configuration.parts import Quality
from littled.kinds import KINDS, load
from littled_protocol.encodings import EncodingError, column_from_dict

FOLDER = Path(__file__).parent / "reference"
MARK = "<!-- generated -->\n"
PACKAGES = {
    "littled": "Learners in a notebook or a program, without a daemon.",
    "littled_client": "Clients of a daemon, for threads and for asyncio, and readers of files.",
    "littled_protocol": "Rules as values, and the protocol without input and output.",
    "littled.learners": "The learners themselves, as pure steps from state to state.",
}
COLUMN_KINDS = ("number", "category", "time", "id", "address")
LEARNER = "streams.STREAM.learners.LEARNER"
WORDS = {str: "text", int: "whole number", bool: "true or false"}
UNIONS = (types.UnionType, typing.Union)
SIGNS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


def renewed(text: str, generated: str) -> str:
    """A page with the generated part as it is now; ValueError for a page without one."""
    before, mark, _ = text.partition(MARK)
    if not mark:
        raise ValueError(f"the page has no line {MARK.strip()}")
    return f"{before}{mark}\n{generated}"


# -- commands ------------------------------------------------------------------------------------


def commands() -> str:
    """Every command with its usage, its arguments and its options."""
    with click.Context(group, info_name="littled") as top:
        return "\n".join(_commands(group, top))


def _commands(command: click.Group, context: click.Context) -> Iterator[str]:
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        with click.Context(found, info_name=name, parent=context) as inner:
            yield from _command(found, inner)
            if isinstance(found, click.Group):
                yield from _commands(found, inner)


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    usage = context.get_usage().removeprefix("Usage: ")
    yield f"## {context.command_path}\n\n```text\n{usage}\n```\n"
    for paragraph in re.split(r"\n{2,}", (command.help or "").replace("\b\n", "").strip()):
        yield _escaped(" ".join(paragraph.split())) + "\n"
    records = [each.get_help_record(context) for each in command.get_params(context)]
    options = [each for each in records if each and each[1] and "--help" not in each[0]]
    if options:
        yield "| option | what it does |\n|---|---|"
        for written, what in options:
            yield f"| `{_escaped(written)}` | {_escaped(what)} |"
        yield ""


def _escaped(text: str) -> str:
    """Plain text of a help page as Markdown that says the same, also in a table."""
    return re.sub(r"([|*])", r"\\\1", text)


# -- configurations ------------------------------------------------------------------------------


def configuration() -> str:
    """Every key of a configuration: where it stands, what it may be, what it means."""
    learners = {name: load(kind.configuration) for name, kind in KINDS.items()}
    common = set.intersection(*(set(model.model_fields) for model in learners.values()))
    usual = learners["online"]
    lines = [*_table("streams.STREAM", _keys(StreamConfiguration, {"name", "columns"}))]
    for key, field in StreamConfiguration.model_fields.items():
        model = _model(field.annotation)
        if model is not None:
            lines += _table(f"streams.STREAM.{key}", _keys(model, set()))
    lines += _table("streams.STREAM.columns.COLUMN", _columns())
    kinds = [f'| `kind` | `"{name}"` | {_what(model)} |' for name, model in learners.items()]
    lines += _table(LEARNER, [*kinds, *_keys(usual, set(usual.model_fields) - common | {"kind"})])
    for name, model in learners.items():
        rows = _keys(model, common)
        if rows:
            lines += _table(f'learners, kind = "{name}"', rows)
    paper = _model(usual.model_fields["paper"].annotation)
    assert paper is not None
    lines += _table(f"{LEARNER}.paper", _keys(paper, set()))
    return "\n".join(lines)


def _table(title: str, rows: list[str]) -> list[str]:
    return [f"## {title}\n", "| key | value | what it means |\n|---|---|---|", *rows, ""]


def _what(model: type[BaseModel]) -> str:
    what = model.model_fields["kind"].description
    assert what is not None
    return what


def _keys(model: type[BaseModel], without: set[str]) -> list[str]:
    """A row for each key; ValueError for one that does not say what it means."""
    rows = []
    for name, field in model.model_fields.items():
        if name in without:
            continue
        if not field.description:
            raise ValueError(f"{model.__name__}.{name} has no description")
        key = field.alias or name
        rows.append(f"| `{key}` | {_value(field)} | {field.description} |")
    return rows


def _columns() -> list[str]:
    """What each kind of column may say, as the reader of columns lists it."""
    rows = []
    for kind in COLUMN_KINDS:
        try:
            column_from_dict({"name": "c", "kind": kind, "?": 0})
        except EncodingError as error:
            _, _, keys = error.sentence.partition("the keys here are ")
            told = ", ".join(f"`{key}`" for key in keys.split(", ") if key not in ("name", "kind"))
            rows.append(f'| `kind` | `"{kind}"` | a column with the keys {told} |')
    return rows


def _model(annotation: Any) -> type[BaseModel] | None:
    """The table that a key holds, if it holds one."""
    for each in (annotation, *typing.get_args(annotation)):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each
    return None


def _value(field: FieldInfo) -> str:
    """What a key may be, and what it is if it is not given."""
    bounds = [
        f"{said} {_number(getattr(each, sign))}"
        for each in (*field.metadata, *_metadata(field.annotation))
        for sign, said in SIGNS.items()
        if hasattr(each, sign)
    ]
    told = ", ".join([_type(field.annotation), *bounds])
    if field.is_required():
        return f"{told}; required"
    default = field.default
    if default is None or default is PydanticUndefined or isinstance(default, BaseModel):
        return told
    shown = f'"{default}"' if isinstance(default, str) else str(default)
    return f"{told}; `{shown}` if not given"


def _metadata(annotation: Any) -> Iterator[Any]:
    """What is said of a type in `Annotated`, at any depth of unions."""
    if typing.get_origin(annotation) is typing.Annotated:
        inner, *said = typing.get_args(annotation)
        yield from _metadata(inner)
        for each in said:
            yield from each.metadata if isinstance(each, FieldInfo) else (each,)
    elif typing.get_origin(annotation) in UNIONS:
        for each in typing.get_args(annotation):
            yield from _metadata(each)


def _number(bound: Any) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{float(bound):g}"


def _type(annotation: Any) -> str:
    """A type in plain words."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return "number or true" if annotation == Quality else _type(arguments[0])
    if origin in UNIONS:
        return _type(next(each for each in arguments if each is not type(None)))
    if origin is typing.Literal:
        *others, last = (f'`"{each}"`' for each in arguments)
        return f"{', '.join(others)} or {last}" if others else last
    if origin is tuple:
        return "list of texts"
    if origin is dict or _model(annotation) is not None:
        return "table"
    return WORDS.get(annotation, "number")


# -- Python --------------------------------------------------------------------------------------


def python() -> str:
    """What the packages export, each name with the place where the site finds its docstring."""
    lines = []
    for name, what in PACKAGES.items():
        lines.append(f"## {name}\n\n{what}\n")
        package = import_module(name)
        for exported in sorted(package.__all__, key=str.lower):
            found = getattr(package, exported)
            home = getattr(found, "__module__", name)
            home = home if home.startswith("littled") else name  # aliases are told where they are
            lines.append(f"### {name}.{exported}\n\n::: {home}.{exported}\n")
    return "\n".join(lines)


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands,
    "configuration.md": configuration,
    "python.md": python,
}


def main() -> Iterator[str]:
    """Renew the pages, and name those that have changed."""
    for name, generate in PAGES.items():
        page = FOLDER / name
        old = page.read_text(encoding="utf-8")
        new = renewed(old, generate())
        if new != old:
            page.write_text(new, encoding="utf-8")
            yield f"reference/{name}"
