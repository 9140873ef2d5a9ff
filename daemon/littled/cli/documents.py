"""`littled docs`: the documents that the package holds, for machines without a browser."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

import click
from rich.table import Table

import littled
from littled.cli.failures import WRONG_USE, Failure
from littled.cli.output import console
from littled.cli.tabling import print_table


@click.command()
@click.argument("page", required=False)
def docs(page: str | None) -> None:
    """Print PAGE of the documents, as Markdown; without PAGE, what pages there are.

    For example: littled docs privacy | less
    """
    folder = folder_of_documents()
    pages = pages_in(folder)
    if page is None:
        table = Table()
        table.add_column("page")
        table.add_column("what it is about")
        for name, path in pages.items():
            table.add_row(name, title_of(path))
        print_table(table)
        console().print(f"in {folder}", soft_wrap=True)
        return
    wanted = page.lower().removesuffix(".md").removesuffix(".ipynb").removeprefix("docs/")
    if wanted not in pages:
        inner = [name for name in pages if name.endswith(f"/{wanted}")]
        found = inner[:1] or get_close_matches(wanted, pages, 1)
        close = "".join(f", did you mean {each}?" for each in found)
        raise Failure(f"there is no page {page}{close or ';'} littled docs lists them", WRONG_USE)
    click.echo(text_of(pages[wanted]), nl=False)


def folder_of_documents() -> Path:
    """Where the documents are: in the package, or in the checkout that it is run from. Failure."""
    package = Path(littled.__file__).parent
    for folder in (package / "documents", package.parents[1]):
        if (folder / "PRIVACY.md").is_file():
            return folder
    raise Failure("this package was installed without its documents: install it from its wheel")


def pages_in(folder: Path) -> Mapping[str, Path]:
    """The pages by name: those at the top, of the protocol, then of docs/ in alphabetical order."""
    top = [*sorted(folder.glob("*.md")), folder / "protocol" / "SPEC.md"]
    named = {path.stem.lower(): path for path in top}
    inner = folder / "docs"
    for path in sorted([*inner.rglob("*.md"), *inner.rglob("*.ipynb")]):
        if path.name != "README.md":
            named[path.relative_to(inner).with_suffix("").as_posix().lower()] = path
    return named


def title_of(path: Path) -> str:
    """The first heading of a page."""
    lines = text_of(path).splitlines()
    return next((line[2:].strip() for line in lines if line.startswith("# ")), "")


def text_of(path: Path) -> str:
    """A page as Markdown; of a notebook its cells, and what they showed as text."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            shown = output.get("text") or output.get("data", {}).get("text/plain", [])
            parts.append(f"```text\n{''.join(shown).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"
