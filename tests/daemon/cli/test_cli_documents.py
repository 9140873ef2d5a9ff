"""`littled docs`: pages are listed, found by name and printed whole, and others are refused."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import littled
from littled.cli.documents import folder_of_documents, pages_in
from littled.cli.entry import group, run

ROOT = Path(__file__).parents[3]


def test_every_page_is_listed_with_its_title() -> None:
    listed = CliRunner().invoke(group, ["docs"])
    assert listed.exit_code == 0
    pages = {
        line.split("  ")[0]: line.split("  ")[-1].strip() for line in listed.stdout.splitlines()
    }
    written = {path for path in (ROOT / "docs").rglob("*.md") if path.name != "README.md"}
    notebooks = list((ROOT / "docs" / "notebooks").glob("*.ipynb"))
    count = len(written) + len(notebooks) + len(list(ROOT.glob("*.md"))) + 1
    assert len(set(pages_in(ROOT))) == count
    assert set(pages_in(ROOT)) < set(pages)
    assert pages["planning"] == "Planning: from a budget to a learner"
    assert pages["notebooks/budget"] == "What a budget buys"
    assert listed.stdout.endswith(f"in {ROOT}\n")


@pytest.mark.parametrize(
    ("page", "file"),
    [
        ("privacy", "PRIVACY.md"),
        ("PRIVACY.md", "PRIVACY.md"),
        ("docs/planning.md", "docs/planning.md"),
        ("classes/points", "docs/classes/points.md"),
        ("spec", "protocol/SPEC.md"),
    ],
)
def test_a_page_is_printed_whole(page: str, file: str) -> None:
    printed = CliRunner().invoke(group, ["docs", page])
    assert printed.exit_code == 0
    assert printed.stdout_bytes == (ROOT / file).read_bytes()


def test_a_notebook_is_printed_with_what_it_showed() -> None:
    printed = CliRunner().invoke(group, ["docs", "notebooks/guarantee.ipynb"])
    assert printed.exit_code == 0
    assert printed.stdout.startswith("# Check the guarantee yourself\n\n")
    assert "```python\nEPSILON = 2\n" in printed.stdout
    assert "and 2 was claimed and charged\n```\n" in printed.stdout
    assert printed.stdout.count("```") % 2 == 0


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("planing", "there is no page planing, did you mean planning? littled docs lists them"),
        (
            "flights",
            "there is no page flights, did you mean notebooks/flights? littled docs lists them",
        ),
        ("../secret", "there is no page ../secret; littled docs lists them"),
    ],
)
def test_another_page_is_refused(
    capsys: pytest.CaptureFixture[str], page: str, sentence: str
) -> None:
    assert run(["docs", page]) == 2
    assert capsys.readouterr().err == f"littled: {sentence}\n"


def test_a_package_without_documents_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "lib" / "site" / "littled"
    package.mkdir(parents=True)
    monkeypatch.setattr(littled, "__file__", str(package / "__init__.py"))
    assert run(["docs"]) == 1
    assert "without its documents: install it from its wheel" in capsys.readouterr().err
    (package / "documents").mkdir()
    (package / "documents" / "PRIVACY.md").touch()
    assert folder_of_documents() == package / "documents"
