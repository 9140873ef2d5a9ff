"""The archives that are shipped: what is in them, and the same bytes wherever they are made."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from email import message_from_bytes
from pathlib import Path

import pytest

from littled.cli.documents import pages_in

ROOT = Path(__file__).parent.parent
LINK = "systemd"  # to daemon/littled/systemd: the archive has its files there
HOMES = {
    "littled_protocol": "protocol",
    "littled_client": "clients",
    "littled": "daemon",
}
# What the wheel has of the documents, as globs of the checkout.
DOCUMENTS = (
    "*.md",
    "LICENSE",
    "docs/**/*",
    "protocol/SPEC.md",
    "protocol/vectors/*",
    "packaging/**/*",
)
NOT_SHIPPED = {"docs/notebooks.py", "docs/reference.py", "docs/renew.py", "docs/website.py"}
BUILD_SECONDS_MAX = 80

pytestmark = pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="only a checkout knows which files belong to it"
)


def git(*arguments: str, folder: Path = ROOT) -> str:
    """What git says."""
    names = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
    command = ["git", *names, *arguments]
    return subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True, timeout=30
    ).stdout


def tracked() -> list[str]:
    """Every file of the checkout that git has or would take, links among them."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return sorted({name for name in listed.split("\0") if name and os.path.lexists(ROOT / name)})


def exported(folder: Path, mode: Callable[[int], int], seconds: float) -> Path:
    """A copy of those files with other permissions, all of them so many seconds old."""
    for name in tracked():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target, follow_symlinks=False)
        if not target.is_symlink():
            target.chmod(mode(target.stat().st_mode))
            os.utime(target, (seconds, seconds))
    return folder


def environment(**more: str) -> dict[str, str]:
    """This process's environment without a date for builds, and with more."""
    return {key: of for key, of in os.environ.items() if key != "SOURCE_DATE_EPOCH"} | more


@pytest.fixture(scope="module")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make dist` makes: the wheel out of the source archive."""
    project = exported(tmp_path_factory.mktemp("one") / "project", lambda mode: mode | 0o022, 1e9)
    git("init", "--quiet", folder=project)
    git("add", ".", folder=project)
    git("commit", "--quiet", "--message", "Begin", folder=project)
    binaries = tmp_path_factory.mktemp("environment") / "bin"
    binaries.mkdir()
    python = binaries / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    (binaries.parent / ".installed").touch()
    command = ["make", "--silent", "dist", f"VENV={binaries.parent}"]
    made = subprocess.run(
        command,
        cwd=project,
        env=environment(SOURCE_DATE_EPOCH="1234567890"),
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS_MAX,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return project / "dist"


@pytest.fixture(scope="module")
def built_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same by another way in another place: by hatchling itself, with leftovers around."""
    folder = tmp_path_factory.mktemp("two") / "a much longer name of a folder"
    project = exported(folder, lambda mode: mode & 0o700, 1.6e9)
    for leftover in ("docs/__pycache__/renew.pyc", ".venv/bin/python", "daemon/littled.profile"):
        (project / leftover).parent.mkdir(parents=True, exist_ok=True)
        (project / leftover).write_text("left over", encoding="utf-8")
    command = [sys.executable, "-m", "hatchling", "build"]
    subprocess.run(
        command,
        cwd=project,
        env=environment(TZ="Pacific/Auckland", PYTHONHASHSEED="7"),
        check=True,
        capture_output=True,
        umask=0o077,
        timeout=BUILD_SECONDS_MAX,
    )
    return project / "dist"


def only(folder: Path, pattern: str) -> Path:
    """The one file that fits."""
    (found,) = folder.glob(pattern)
    return found


def wheel_contents(distribution: Path) -> Mapping[str, bytes]:
    """Each file of the wheel."""
    with zipfile.ZipFile(only(distribution, "*.whl")) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def contents(distribution: Path) -> Mapping[str, bytes]:
    return wheel_contents(distribution)


@pytest.mark.long
def test_the_source_archive_holds_what_git_holds(distribution: Path) -> None:
    with tarfile.open(only(distribution, "*.tar.gz")) as archive:
        found = {member.name.partition("/")[2]: archive.extractfile(member) for member in archive}
        assert set(found) == {*tracked(), "PKG-INFO"} - {LINK}
        for name, file in found.items():
            if name != "PKG-INFO":
                assert file is not None
                assert file.read() == (ROOT / name).read_bytes(), name
        modes = {member.name.partition("/")[2]: member.mode for member in archive.getmembers()}
    assert {name for name, mode in modes.items() if mode & 0o111} == {".ci/run"}


@pytest.mark.long
@pytest.mark.parametrize("pattern", ["*.tar.gz", "*.whl"])
def test_the_same_bytes_come_from_anywhere(
    distribution: Path, built_elsewhere: Path, pattern: str
) -> None:
    one, two = only(distribution, pattern), only(built_elsewhere, pattern)
    assert one.name == two.name
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.long
def test_the_sums_are_those_of_the_archives(distribution: Path) -> None:
    lines = (distribution / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    said = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    assert said == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in distribution.iterdir()
        if path.name != "SHA256SUMS"
    }
    assert {Path(name).suffix for name in said} >= {".gz", ".whl"}


@pytest.mark.long
def test_what_is_not_committed_is_not_shipped(distribution: Path) -> None:
    project, before = distribution.parent, sorted(distribution.iterdir())
    (project / "new.txt").write_text("not committed", encoding="utf-8")
    environment_of_make = next(project.parent.parent.glob("environment*"))
    command = ["make", "--silent", "dist", f"VENV={environment_of_make}"]
    refused = subprocess.run(
        command,
        cwd=project,
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS_MAX,
        check=False,
    )
    (project / "new.txt").unlink()
    assert refused.returncode != 0
    assert "commit or remove first what git status shows" in refused.stderr
    assert sorted(distribution.iterdir()) == before


@pytest.mark.long
def test_the_wheel_holds_the_packages_and_the_documents(contents: Mapping[str, bytes]) -> None:
    files = tracked()
    packaged = {
        name.partition("/")[2]: name
        for package, home in HOMES.items()
        for name in files
        if name.startswith(f"{home}/{package}/")
    }
    listed = {path.relative_to(ROOT).as_posix() for each in DOCUMENTS for path in ROOT.glob(each)}
    documents = {
        f"littled/documents/{name}": name for name in listed.intersection(files) - NOT_SHIPPED
    }
    expected = packaged | documents
    assert {name for name in contents if ".dist-info/" not in name} == set(expected)
    for name, source in expected.items():
        assert contents[name] == (ROOT / source).read_bytes(), name


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        *("documents/PRIVACY.md", "documents/docs/README.md", "documents/protocol/SPEC.md"),
        *("documents/protocol/vectors/frames.json", "service/static/index.html"),
        *("systemd/littled.service", "monitoring/dashboard.json", "documents/LICENSE"),
    ],
)
def test_the_wheel_holds_what_its_users_look_for(contents: Mapping[str, bytes], name: str) -> None:
    assert contents[f"littled/{name}"]


def fields_of(contents: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    (metadata,) = (text for name, text in contents.items() if name.endswith("-info/METADATA"))
    yield from message_from_bytes(metadata).items()


@pytest.mark.long
def test_the_wheel_carries_its_licences(contents: Mapping[str, bytes]) -> None:
    fields = list(fields_of(contents))
    uplot = "daemon/littled/service/static/uplot.LICENSE.txt"
    assert ("License-Expression", "Apache-2.0 AND MIT") in fields
    assert [of for field, of in fields if field == "License-File"] == ["LICENSE", uplot]
    for licence in ("LICENSE", uplot):
        (text,) = (of for name, of in contents.items() if name.endswith(f"licenses/{licence}"))
        assert text == (ROOT / licence).read_bytes()


@pytest.mark.long
def test_the_metadata_name_no_place_that_does_not_exist(contents: Mapping[str, bytes]) -> None:
    """There is no site and no forge to name: the documents are in the package."""
    assert [of for field, of in fields_of(contents) if "url" in field.lower()] == []


@pytest.mark.long
def test_the_documents_of_the_wheel_are_found_as_those_of_the_checkout(
    contents: Mapping[str, bytes], tmp_path: Path
) -> None:
    for name, text in contents.items():
        if name.startswith("littled/documents/"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(text)
    shipped, here = pages_in(tmp_path / "littled" / "documents"), pages_in(ROOT)
    assert list(shipped) == list(here)
    for name, path in shipped.items():
        assert path.read_bytes() == here[name].read_bytes()


@pytest.mark.long
def test_links_among_shipped_pages_lead_somewhere(contents: Mapping[str, bytes]) -> None:
    documents = "littled/documents/"
    broken = []
    for name, text in contents.items():
        if not (name.startswith(documents) and name.endswith(".md")):
            continue
        for target in re.findall(r"\]\(([^)\s#]+)", text.decode()):
            leads_to = os.path.normpath(Path(name).parent / target)
            if "://" not in target and not any(each.startswith(leads_to) for each in contents):
                broken.append(f"{name}: {target}")
    assert broken == []


def test_every_extra_is_on_the_page() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = set(settings["project"]["optional-dependencies"])
    text = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    assert rows == extras - {"benchmarks", "docs", "fuzz", "test"}  # of developers
