"""The image: what its file says, and that it runs by number, on a root that nobody can write."""

import json
import os
import re
import secrets
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pytest

from littled.cli.entry import group
from support.containers import PUBLIC_BASE, SECONDS_MAX, USER, Buildah, as_user, confined, missing

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "packaging" / "Containerfile").read_text(encoding="utf-8")
CONFIGURATION = (ROOT / "packaging" / "littled.toml").read_text(encoding="utf-8")


def instructions() -> list[tuple[str, str]]:
    """Every instruction of the file with its arguments."""
    text = re.sub(r"^#.*\n", "", TEXT, flags=re.MULTILINE).replace("\\\n", " ")
    lines = (line.partition(" ") for line in text.splitlines() if line)
    return [(word, rest.strip()) for word, _, rest in lines]


def test_the_base_is_the_public_one() -> None:
    assert ("ARG", f"BASE={PUBLIC_BASE}") in instructions()
    assert [rest for word, rest in instructions() if word == "FROM"] == [
        "${BASE} AS build",
        "${BASE}",
    ]


def test_no_shell_runs_anything() -> None:
    for word, rest in instructions():
        if word in ("RUN", "CMD", "ENTRYPOINT", "HEALTHCHECK"):
            command = json.loads(rest[rest.index("[") :])
            assert command, rest
            assert not {"sh", "bash", "/bin/sh"}.intersection(command)


def test_it_runs_as_a_user_by_number() -> None:
    said = dict(instructions())
    assert said["USER"] == f"{USER}:{USER}"
    assert said["STOPSIGNAL"] == "SIGTERM"
    assert json.loads(said["VOLUME"]) == ["/var/lib/littled", "/var/lib/littled-mark"]
    assert said["HEALTHCHECK"].startswith("--interval")


def test_its_command_is_understood() -> None:
    arguments = json.loads(dict(instructions())["CMD"])
    command = group.get_command(click.Context(group), arguments[0])
    assert command is not None
    context = command.make_context(arguments[0], arguments[1:])
    assert context.params["http"] == "127.0.0.1:8790"


def run(*command: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """How a command ended, and what it said."""
    return subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=SECONDS_MAX, input=text
    )


class Container:
    """The daemon in the image, and commands beside it."""

    def __init__(self, folder: Path, root: Path, config: Mapping[str, Any]) -> None:
        self.folder, self.root, self.config = folder, root, config
        for name, mode in (("store", 0o700), ("mark", 0o700)):
            (folder / name).mkdir(mode)
            os.chown(folder / name, USER, USER)
        key = folder / "noise.key"
        key.write_text(f"{secrets.token_hex(32)}\n", encoding="ascii")
        key.chmod(0o400)
        os.chown(key, USER, USER)
        (folder / "littled.toml").write_text(CONFIGURATION, encoding="utf-8")
        self.mounts = {
            "/var/lib/littled": f"{folder / 'store'}",
            "/var/lib/littled-mark": f"{folder / 'mark'}",
            "/run/secrets/noise.key": f"{key}:ro",
            "/etc/littled/littled.toml": f"{folder / 'littled.toml'}:ro",
        }
        for place, source in self.mounts.items():  # as a runtime does, before the root is closed
            target = root / place[1:]
            is_file = Path(source.removesuffix(":ro")).is_file()
            (target.parent if is_file else target).mkdir(parents=True, exist_ok=True)
            if is_file:
                target.touch()
        self.started = 0
        self.process_id = 0

    def once(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a container of its own."""
        command = [*self.config["Entrypoint"], *arguments]
        return run(*confined(self.root, self.config, command, self.mounts))

    def start(self) -> subprocess.Popen[bytes]:
        """Start the image's own command, and wait until it answers."""
        self.started += 1
        log, reading = self.folder / f"log{self.started}", self.folder / f"info{self.started}"
        command = [*self.config["Entrypoint"], *self.config["Cmd"]]
        words = confined(self.root, self.config, command, self.mounts)
        with log.open("wb") as output, reading.open("wb") as info:
            number = info.fileno()
            words = [words[0], "--info-fd", str(number), *words[1:]]
            daemon = subprocess.Popen(words, stdout=output, stderr=output, pass_fds=[number])
        deadline = time.monotonic() + SECONDS_MAX
        while not reading.read_text().endswith("}\n"):
            assert daemon.poll() is None, log.read_text()
            time.sleep(0.05)
        self.process_id = int(json.loads(reading.read_text())["child-pid"])
        while self.inside("littled", "status", "--wait", "5").returncode:
            assert daemon.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        return daemon

    def inside(self, *command: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command beside the daemon."""
        places = ["nsenter", f"--target={self.process_id}", "--mount", "--pid", "--net", "--ipc"]
        variables = ["env", "--ignore-environment", *self.config["Env"]]
        return run(*places, *as_user(self.config), *variables, *command, text=text)

    def send(self, name: str) -> None:
        """Send the daemon a signal."""
        os.kill(self.process_id, signal.Signals[name])

    def position(self) -> int:
        status = json.loads(self.inside("littled", "status", "--json").stdout)
        return int(status["streams"]["scores"]["position"])


@pytest.fixture
def container(tmp_path: Path) -> Container:
    lacking = missing()
    if lacking and "LITTLED_CONTAINER" not in os.environ:
        pytest.skip(f"{', '.join(lacking)} is not here; make test-container needs it")
    assert lacking == []
    root, config = Buildah(tmp_path).image(ROOT)
    return Container(tmp_path, root, config)


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_the_image_serves_is_killed_and_goes_on(container: Container) -> None:
    assert container.config["Healthcheck"]["Test"][:3] == ["CMD", "littled", "status"]
    init = ["init", "/var/lib/littled/store", "--config", "/etc/littled/littled.toml"]
    files = ["--key", "/run/secrets/noise.key", "--mark", "/var/lib/littled-mark/high-water-mark"]
    made = container.once(*init, *files)
    assert made.returncode == 0, made.stderr
    again = container.once(*init, *files)
    assert (again.returncode, "is not empty" in again.stderr) == (2, True), again.stderr
    daemon = container.start()
    health = container.inside(*container.config["Healthcheck"]["Test"][1:])
    assert (health.returncode, health.stdout + health.stderr) == (0, "")
    who = container.inside("python", "-c", "import os; print(os.getuid(), os.getgid())")
    assert who.stdout == f"{USER} {USER}\n"
    for place in ("/", "/opt/littled", "/var/lib", "/etc"):
        code = f"open('{place}/new', 'w')"
        assert "Read-only file system" in container.inside("python", "-c", code).stderr
    rows = "x,y\n" + "10,0\n200,1\n" * 200
    feed = ["littled", "feed", "scores", "-", "--format", "csv", "--x", "x", "--y", "y"]
    fed = container.inside(*feed, "--producer", "p", text=rows)
    assert fed.returncode == 0, fed.stderr
    assert container.position() == 400
    container.send("SIGKILL")
    daemon.wait(SECONDS_MAX)
    daemon = container.start()
    assert container.position() == 400
    second = container.once(*container.config["Cmd"])
    assert second.returncode == 3
    assert "another process serves the store" in second.stderr
    container.send(container.config["StopSignal"])
    assert daemon.wait(SECONDS_MAX) == 0
    verified = container.once("verify", "/var/lib/littled/store", *files, "--replay")
    assert verified.returncode == 0, verified.stdout + verified.stderr
