"""The image: what its file says, and that it runs by number, on a root that nobody can write."""

import json
import os
import re
import secrets
import shutil
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from littled.cli.entry import group
from support.containers import PUBLIC_BASE, SECONDS_MAX, USER, Buildah, as_user, confined, missing
from support.podman import Podman, pod_of, without_configs

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "packaging" / "Containerfile").read_text(encoding="utf-8")
INSTALLING = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
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


@dataclass(frozen=True)
class Image:
    """The image in a folder of buildah, its files and how it wants to be run."""

    buildah: Buildah
    root: Path
    config: Mapping[str, Any]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """Build the image."""
    lacking = missing()
    if lacking and "LITTLED_CONTAINER" not in os.environ:
        pytest.skip(f"{', '.join(lacking)} is not here; make test-container needs it")
    assert lacking == []
    buildah = Buildah(tmp_path_factory.mktemp("image"))
    return Image(buildah, *buildah.image(ROOT))


@pytest.fixture
def podman(image: Image) -> Iterator[Podman]:
    """The image for a runtime, with nothing that runs yet."""
    podman = Podman(image.buildah.folder, Path(sys.executable).with_name("podman-compose"))
    podman.said("tag", "localhost/littled", "littled:0.1.0")
    yield podman
    podman.remove_all()


@pytest.fixture
def container(tmp_path: Path, image: Image) -> Container:
    return Container(tmp_path, image.root, image.config)


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


# --- As a runtime runs it -------------------------------------------------------------------------


ROWS = "x,y\n" + "10,0\n200,1\n" * 200
FEED = ("feed", "scores", "-", "--format", "csv", "--x", "x", "--y", "y", "--producer", "p")
PLACES = ("--key", "/run/secrets/noise.key", "--mark", "/var/lib/littled-mark/high-water-mark")


def commands(title: str) -> str:
    """The commands under a title of the page about installing."""
    part = INSTALLING.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```text\n(.*?)```", part, flags=re.DOTALL)
    assert len(blocks) == 1
    return str(blocks[0])


def until(reached: Callable[[], bool], sentence: Callable[[], str]) -> None:
    """Wait; AssertionError with a sentence if it is not reached."""
    deadline = time.monotonic() + SECONDS_MAX
    while not reached():
        assert time.monotonic() < deadline, sentence()
        time.sleep(0.5)


def position(podman: Podman, container: str) -> int:
    """How many examples the daemon in a container has."""
    status = podman.said("exec", container, "littled", "status", "--wait", "30", "--json")
    return int(json.loads(status)["streams"]["scores"]["position"])


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_a_runtime_runs_the_image_as_the_page_says(podman: Podman, tmp_path: Path) -> None:
    (tmp_path / "littled.toml").write_text(CONFIGURATION, encoding="utf-8")
    said = podman.shell(commands("In a container"), tmp_path)
    assert "scores: 0 examples" in said
    assert podman.run("healthcheck", "run", "littled").returncode == 0
    code = "import os; print(os.getuid(), os.getgid()); open('/opt/littled/new', 'w')"
    wrote = podman.run("exec", "littled", "python", "-c", code)
    assert wrote.stdout == f"{USER} {USER}\n"
    assert "Read-only file system" in wrote.stderr
    podman.said("exec", "--interactive", "littled", "littled", *FEED, text=ROWS)
    podman.said("kill", "--signal", "KILL", "littled")
    podman.said("wait", "littled")
    podman.said("start", "littled")
    assert position(podman, "littled") == 400
    volumes = ["--volume=store:/var/lib/littled", "--volume=mark:/var/lib/littled-mark"]
    volumes.append(f"--volume={tmp_path / 'noise.key'}:/run/secrets/noise.key:ro")
    second = podman.run("run", "--rm", "--read-only", *volumes, "littled:0.1.0")
    assert second.returncode == 3, second.stderr
    assert "another process serves the store" in second.stderr
    podman.said("stop", "littled")
    assert podman.state("littled")["ExitCode"] == 0
    verify = ["verify", "/var/lib/littled/store", *PLACES, "--replay"]
    podman.said("run", "--rm", "--read-only", *volumes, "littled:0.1.0", *verify)


PROMETHEUS = """FROM {base}
COPY prometheus /bin/prometheus
RUN ["install", "--directory", "--owner=65534", "--group=65534", "/prometheus", "/etc/prometheus"]
USER 65534
VOLUME ["/prometheus"]
ENTRYPOINT ["/bin/prometheus"]
"""
SCRAPED = "print(__import__('urllib.request').request.urlopen('{}').read().decode())"


def make_prometheus(podman: Podman, image: Image, folder: Path) -> None:
    """An image of this machine's Prometheus under the name that the compose file has."""
    program, base = shutil.which("prometheus"), image.buildah.base()
    assert program is not None
    (folder / "File").write_text(PROMETHEUS.format(base=base), encoding="utf-8")
    shutil.copy(program, folder / "prometheus")
    services = yaml.safe_load((ROOT / "packaging" / "compose.yaml").read_text())["services"]
    how = ["--isolation", "chroot", "--tag", services["prometheus"]["image"]]
    podman.said("build", *how, "--file", str(folder / "File"), str(folder))


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_prometheus_of_the_compose_file_sees_the_daemon(
    podman: Podman, image: Image, tmp_path: Path
) -> None:
    """Without Grafana, which there is no package of; what it is given is in `test_monitoring`."""
    make_prometheus(podman, image, tmp_path)
    shutil.copytree(ROOT / "packaging", tmp_path / "packaging")
    shutil.copytree(
        ROOT / "daemon" / "littled" / "monitoring", tmp_path / "daemon" / "littled" / "monitoring"
    )
    packaging = tmp_path / "packaging"
    without_configs(packaging / "compose.yaml", "grafana")
    podman.shell(commands("With Prometheus and Grafana"), packaging)

    def asked(path: str) -> str:
        code = SCRAPED.format(f"http://127.0.0.1:9090/api/v1/{path}")
        return podman.run("exec", "littled_prometheus_1", "python3", "-c", code).stdout

    until(lambda: '"health":"up"' in asked("targets"), lambda: asked("targets"))
    assert "http://littled:8790/metrics" in asked("targets")
    assert "littled_" in asked("label/__name__/values")
    assert json.loads(asked("rules"))["data"]["groups"]
    token = (packaging / "secrets" / "tokens").read_text().strip()
    request = urllib.request.Request(
        "http://127.0.0.1:8790/status", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - of this machine
        assert json.load(answer)["streams"]["scores"]["position"] == 0
    podman.shell("docker compose down --timeout 60", packaging)


@dataclass(frozen=True)
class Cluster:
    """The pods of the manifests on this machine, and what the page makes for them."""

    podman: Podman
    folder: Path

    def __post_init__(self) -> None:
        """Make secrets as the page says."""
        subject = ["-subj", "/CN=littled", "-addext", "subjectAltName=IP:127.0.0.1"]
        for name in ("littled", "littled-tls"):
            (self.folder / name).mkdir()
        (self.folder / "littled" / "noise.key").write_text(f"{secrets.token_hex(32)}\n")
        (self.folder / "littled" / "tokens").write_text(f"{secrets.token_hex(32)}\n")
        made = [*("-newkey", "rsa:2048", "-nodes", "-days", "2"), *subject]
        keys = [f"-keyout={self.folder}/littled-tls/tls.key", f"-out={self.certificate}"]
        pairs = [word for each in keys for word in each.split("=", 1)]
        assert run("openssl", "req", "-x509", *made, *pairs).returncode == 0

    @property
    def certificate(self) -> Path:
        return self.folder / "littled-tls" / "tls.crt"

    def play(self, manifest: str, kind: str, name: str, *, published: bool = True) -> None:
        """Start the pod of an object; podman publishes its ports on this machine, if it may."""
        text = (ROOT / "packaging" / manifest).read_text(encoding="utf-8")
        (found,) = [each for each in yaml.safe_load_all(text) if each["kind"] == kind]
        pod = pod_of(found["spec"]["template"], name, self.folder)
        if not published:
            del pod["spec"]["containers"][0]["ports"]
        settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "littled"}}
        settings["data"] = {"littled.toml": CONFIGURATION}
        file = self.folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump_all([settings, pod]), encoding="utf-8")
        self.podman.said("kube", "play", str(file))

    def is_alive(self) -> bool:
        """What the probes of the manifest ask."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        try:
            address = "https://127.0.0.1:8790/healthz"
            with urllib.request.urlopen(address, timeout=5, context=context) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_two_pods_of_the_manifest_never_serve_one_store(podman: Podman, tmp_path: Path) -> None:
    cluster = Cluster(podman, tmp_path)
    cluster.play("kubernetes-init.yaml", "Job", "making")
    assert podman.said("wait", "making-init") == "0", podman.run("logs", "making-init").stderr
    cluster.play("kubernetes.yaml", "StatefulSet", "one")
    until(cluster.is_alive, lambda: podman.run("logs", "one-littled").stderr)
    podman.said("exec", "--interactive", "one-littled", "littled", *FEED, text=ROWS)
    cluster.play("kubernetes.yaml", "StatefulSet", "two", published=False)
    assert podman.said("wait", "two-littled") == "3", podman.run("logs", "two-littled").stderr
    assert "another process serves the store" in podman.run("logs", "two-littled").stderr
    assert cluster.is_alive()
    assert position(podman, "one-littled") == 400
    podman.said("kill", "--signal", "KILL", "one-littled")
    podman.said("wait", "one-littled")
    podman.said("pod", "rm", "--force", "one")
    podman.said("start", "two-littled")  # what was acknowledged is there on another node
    assert position(podman, "two-littled") == 400
