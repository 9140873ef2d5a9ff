"""An environment that holds nothing but the wheel and what the wheel says that it needs.

Nothing is fetched: the files of each distribution are links to those of the environment of the
tests, found by its own list of files, and the wheel itself is installed by pip.
"""

import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SECONDS_MAX = 60


def wheel_of(project: Path, folder: Path) -> Path:
    """The wheel of a checkout, made in a folder."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=project, check=True, capture_output=True, timeout=SECONDS_MAX)
    (wheel,) = folder.glob("*.whl")
    return wheel


def requirements_in(wheel: Path) -> list[Requirement]:
    """What a wheel says that it needs, extras among it."""
    with ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        lines = archive.read(name).decode().partition("\n\n")[0].splitlines()
    found = (line.partition("Requires-Dist: ")[2] for line in lines)
    return [Requirement(each) for each in found if each]


def needed(requirements: Iterable[Requirement], extras: Iterable[str] = ()) -> set[str]:
    """Names of all distributions that these need, and those need in turn."""
    found: dict[tuple[str, str], None] = {}

    def take(some: Iterable[Requirement], asked: Iterable[str]) -> None:
        for each in some:
            if not any(_applies(each.marker, extra) for extra in ("", *asked)):
                continue
            name = canonicalize_name(each.name)
            for extra in ("", *each.extras):
                if (name, extra) not in found:
                    found[name, extra] = None
                    inner = distribution(name).requires or []
                    take(map(Requirement, inner), each.extras)

    take(requirements, extras)
    return {name for name, _ in found}


def _applies(marker: Marker | None, extra: str) -> bool:
    return marker is None or marker.evaluate({"extra": extra})


class BareEnvironment:
    """A virtual environment with the wheel, and what it needs, and nothing else."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        """Make it. CalledProcessError; PackageNotFoundError for what is not installed here."""
        self.folder, self._wheel = folder, wheel
        self.python = folder / "bin" / "python"
        command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
        subprocess.run(command, check=True, timeout=SECONDS_MAX)
        (self._packages,) = folder.glob("lib/python*/site-packages")
        self.link(needed(requirements_in(wheel)))
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet"]
        options = ["--no-index", "--no-deps", "--no-compile", "--disable-pip-version-check"]
        command = [*pip, *options, str(wheel)]
        subprocess.run(command, check=True, timeout=SECONDS_MAX)

    def link(self, names: Iterable[str]) -> None:
        """Put distributions of the tests' environment into this one."""
        for name in names:
            for file in distribution(name).files or ():
                target = self._packages / file
                if ".." not in file.parts and not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.symlink_to(file.locate())

    def add_extra(self, extra: str) -> None:
        """What `pip install 'littled[EXTRA]'` would bring."""
        wanted = needed(requirements_in(self._wheel), [extra])
        self.link(wanted - self.names())

    def names(self) -> set[str]:
        """The distributions that are there, as the environment itself sees them."""
        code = "import importlib.metadata as m; print(*(d.name for d in m.distributions()))"
        return {canonicalize_name(name) for name in self.run("-c", code).stdout.split()}

    def run(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run its Python, with nothing of the environment of the tests."""
        return subprocess.run(
            [str(self.python), *arguments],
            cwd=cwd or self.folder,
            env=self.variables(),
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )

    def littled(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run the program that pip has installed."""
        return self.run(str(self.folder / "bin" / "littled"), *arguments, cwd=cwd)

    def variables(self) -> dict[str, str]:
        """All variables of a process in this environment."""
        return {"PATH": f"{self.folder / 'bin'}:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/"}
