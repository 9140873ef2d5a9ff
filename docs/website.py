"""Makes the site's pages of the repository's files: a hook of mkdocs, see mkdocs.yml.

The site has the tree of the repository: README.md is its front page, and docs/planning.md and
PRIVACY.md stand where they stand. So a link between pages is right on the site and in the files.
The navigation is what docs/README.md lists, in its order: a second heading is a part, a third one a
group in it, and each entry of a list or row of a table that begins with a link to a page is a page.
A notebook is a page with the outputs that it holds: docs/notebooks.py runs it, and nothing here.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbconvert import MarkdownExporter

# Files outside of docs/ that are pages, or that pages link to.
BESIDE = (
    *("README.md", "PRIVACY.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"),
    *("protocol/SPEC.md", "protocol/vectors/*.json", "packaging/**/*.*"),
)
INDEX = "docs/README.md"
# What a browser fetches by itself when it shows a page.
FETCHED = re.compile(
    r"<(?:script|link|img|iframe|source|object)\b[^>]*?\b(?:src|href|data)=[\"']?(?:https?:)?//[^>]*>"
)
PAGES = (".md", ".ipynb")
ENTRY = re.compile(r"^(?:- |\| )\[(?P<title>[^\]]+)\]\((?P<target>[^)#]+)\)")


class Notebook(File):
    """A page that is a notebook in the repository; its content is Markdown."""

    def is_documentation_page(self) -> bool:
        """It is, whatever its name ends with."""
        return True


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """The files of docs/ and those beside it, under their names in the repository."""
    root = Path(str(config.config_file_path)).parent
    found = Files([file for file in files if file.src_dir != config.docs_dir])
    for path in sources(root):
        name = path.relative_to(root).as_posix()
        if path.suffix == ".ipynb":
            for file in notebook_files(config, path, name):
                found.append(file)
        else:
            found.append(File.generated(config, name, abs_src_path=str(path)))
    index = (root / INDEX).read_text(encoding="utf-8")
    config.nav = [{"Start": "README.md"}, *navigation(index)]
    return found


def on_post_page(output: str, *, page: Page, **_: object) -> str:
    """The page as it is; PluginError for one that would fetch something from the network."""
    found = FETCHED.search(output)
    if found:
        raise PluginError(f"{page.file.src_uri} would fetch from the network: {found[0]}")
    return output


def notebook_files(config: MkDocsConfig, path: Path, name: str) -> Iterator[File]:
    """The page of a notebook, its pictures, and the notebook itself, to be taken along."""
    exporter = MarkdownExporter()  # type: ignore[no-untyped-call]
    text, resources = exporter.from_filename(
        str(path), resources={"output_files_dir": f"{path.stem}_pictures"}
    )
    beside = name.removesuffix(path.name)
    title, _, rest = text.partition("\n\n")
    kept = f"taken/{path.name}"
    hint = f"*This page is a notebook, as it went in one run. To run it: [{path.name}]({kept}).*"
    yield Notebook.generated(config, name, content=f"{title}\n\n{hint}\n\n{rest}")
    yield File.generated(config, f"{beside}{kept}", content=path.read_bytes())
    for picture, content in resources["outputs"].items():
        yield File.generated(config, f"{beside}{picture}", content=content)


def sources(root: Path) -> Iterator[Path]:
    """Every file that is on the site; programs and configurations of the pages are not."""
    for path in sorted((root / "docs").rglob("*")):
        if path.suffix in {*PAGES, ".css", ".png", ".svg", ".json"}:
            yield path
    for pattern in BESIDE:
        yield from sorted(root.glob(pattern))


def navigation(index: str) -> list[Any]:
    """The pages that the index lists, as mkdocs has its navigation."""
    parts: list[dict[str, list[Any]]] = []
    into: list[Any] = []
    for line in index.splitlines():
        if line.startswith("## "):
            into = []
            parts.append({line[3:]: into})
        elif line.startswith("### "):
            group: list[Any] = []
            (inside,) = parts[-1].values()
            inside.append({line[4:]: group})
            into = group
        elif (entry := ENTRY.match(line)) and entry["target"].endswith(PAGES):
            into.append({entry["title"].strip("`"): page_of(entry["target"])})
    return [part for part in parts if all(part.values())]


def page_of(target: str) -> str:
    """The page that a link in docs/README.md leads to."""
    return target.removeprefix("../") if target.startswith("../") else f"docs/{target}"
