"""The reference is what the program says of itself, and the site holds together."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel, Field

from littled.cli.entry import COMMANDS
from support.documents import load

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


reference, website = load("reference"), load("website")


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_page_is_what_the_program_says_now(name: str) -> None:
    text = (DOCS / "reference" / name).read_text(encoding="utf-8")
    written = reference.renewed(text, reference.PAGES[name]())
    assert text == written, "run python docs/renew.py"


def test_every_command_has_a_section_with_its_options() -> None:
    text = reference.commands()
    for name in COMMANDS:
        assert f"## littled {name}\n" in text
    assert "| `--epsilon NUMBER` | Budget of a season." in text
    assert "## littled rule export\n" in text


def test_a_key_says_what_it_may_be_and_a_key_without_words_is_refused() -> None:
    text = reference.configuration()
    assert "| `delta` | number, above 0, below 1; required | The failure mass" in text
    assert re.search(r"^\| `alpha` \| number, above 0, below 1 \| The error of a rule", text, re.M)
    assert '| `unit` | `"example"` or `"user"`; `"example"` if not given |' in text

    class Silent(BaseModel):
        told: int = Field(default=1, description="A number.")
        silent: int = 2

    with pytest.raises(ValueError, match=r"Silent\.silent has no description"):
        reference._keys(Silent, set())


def test_a_page_without_a_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="no line <!-- generated -->"):
        reference.renewed("# Title\n", "text")


# -- the site ------------------------------------------------------------------------------------


def pages_of(navigation: list[object]) -> list[str]:
    found = []
    for each in navigation:
        assert isinstance(each, dict)
        ((_, inside),) = each.items()
        found += [inside] if isinstance(inside, str) else pages_of(inside)
    return found


def test_the_navigation_is_the_index_part_by_part() -> None:
    index = (
        "# Documents\n\n## Learn\n\n- [One](one.md): a page.\n- [Away](https://example.org)\n\n"
        "## Reference\n\n### Classes\n\n| [`a:B`](classes/a.md) | x |\n"
        "- [Changes](../CHANGELOG.md)\n"
    )
    assert website.navigation(index) == [
        {"Learn": [{"One": "docs/one.md"}]},
        {"Reference": [{"Classes": [{"a:B": "docs/classes/a.md"}, {"Changes": "CHANGELOG.md"}]}]},
    ]


def test_every_page_of_the_site_is_in_its_navigation_once() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    listed = pages_of(website.navigation(index))
    there = [each.relative_to(ROOT).as_posix() for each in website.sources(ROOT)]
    pages = [name for name in there if name.endswith((".md", ".ipynb"))]
    missing = set(pages) - set(listed) - {"README.md", "docs/README.md"}
    assert not missing, "give each of these a line in docs/README.md"
    assert set(listed) <= set(pages)


@pytest.mark.parametrize(
    "fetching",
    [
        '<script src="https://example.org/a.js"></script>',
        '<link rel="stylesheet" href="//example.org/a.css">',
        "<img alt=a src=http://example.org/a.png>",
    ],
)
def test_what_a_browser_would_fetch_is_found(fetching: str) -> None:
    assert website.FETCHED.search(f"<p>{fetching}</p>")


def test_links_that_a_reader_may_follow_are_no_fetching() -> None:
    shown = (
        '<a href="https://example.org">there</a><img src="page.png"><script src="a.js"></script>'
    )
    assert not website.FETCHED.search(shown)
