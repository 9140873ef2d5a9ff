"""Containers as a runtime runs them: podman and runc, on images that buildah made beside them."""

import json
import os
import resource
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from support.containers import SECONDS_MAX, USER

# A file descriptor and a process for whatever a container does; more than some machines may give.
LIMIT_MAX = 4096
# What `docker` does with these words that podman does otherwise: its own tmpfs on /run, terminals.
DOCKER = """#!/bin/sh
case "$1 $2" in
"build "*) exec podman tag localhost/littled littled:0.1.0 ;;
"run "*) shift; exec podman run --read-only-tmpfs=false "$@" ;;
"compose build") exit 0 ;;
"compose run") shift 2; exec {compose} run -T "$@" ;;
"compose "*) shift; exec {compose} "$@" ;;
esac
exec podman "$@"
"""
COMPOSE = "{program} --in-pod=false --podman-run-args=--read-only-tmpfs=false {limits}"
SUDO = '#!/bin/sh\nexec "$@"\n'


class Podman:
    """Containers, volumes and networks in a folder of their own, which has images of buildah."""

    def __init__(self, folder: Path, compose: Path) -> None:
        """Begin with none. compose: the program podman-compose."""
        self.folder, limits = folder, _limits()
        (folder / "networks").mkdir(exist_ok=True)
        settings = folder / "containers.conf"
        settings.write_text(
            f"[containers]\ndefault_ulimits = {json.dumps(limits)}\n"
            '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
            '[network]\nnetwork_backend = "netavark"\n'
            f'network_config_dir = "{folder / "networks"}"\n'
        )
        storage = folder / "storage.conf"
        storage.write_text(
            f'[storage]\ndriver = "vfs"\ngraphroot = "{folder / "images"}"\n'
            f'runroot = "{folder / "run"}"\n'
        )
        programs = folder / "programs"
        programs.mkdir(exist_ok=True)
        named = " ".join(f"--podman-run-args=--ulimit={each}" for each in limits)
        words = COMPOSE.format(program=compose, limits=named)
        for name, text in (("docker", DOCKER.format(compose=words)), ("sudo", SUDO)):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        self.environment = {
            **os.environ,
            "CONTAINERS_CONF": str(settings),
            "CONTAINERS_STORAGE_CONF": str(storage),
            "PATH": f"{programs}:{os.environ['PATH']}",
        }

    def shell(self, script: str, folder: Path) -> str:
        """What commands print that were written for docker; up to the first that fails."""
        words = ["bash", "-euo", "pipefail", "-c", script]
        done = subprocess.run(
            words, check=False, capture_output=True, text=True, timeout=3 * SECONDS_MAX,
            env=self.environment, cwd=folder,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run(self, *words: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """How a command of podman ended, and what it said."""
        command = ["podman", *words]
        return subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=SECONDS_MAX,
            input=text, env=self.environment,
        )  # fmt: skip

    def said(self, *words: str, text: str | None = None) -> str:
        """What a command of podman prints; AssertionError if it fails."""
        done = self.run(*words, text=text)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def state(self, container: str) -> Mapping[str, Any]:
        """Of a container."""
        found: list[dict[str, Any]] = json.loads(self.said("inspect", container))
        state: dict[str, Any] = found[0]["State"]
        return state

    def remove_all(self) -> None:
        """Stop and forget all containers, volumes and networks."""
        for words in (("pod", "rm"), ("rm",), ("volume", "rm")):
            self.run(*words, "--force", "--all")
        self.run("network", "prune", "--force")


def _limits() -> list[str]:
    """Limits that this machine may give; podman's own ones are those of a whole machine."""
    found = []
    for name, number in (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC)):
        hard = resource.getrlimit(number)[1]
        most = LIMIT_MAX if hard == resource.RLIM_INFINITY else min(LIMIT_MAX, hard)
        found.append(f"{name}={most}:{most}")
    return found


def without_configs(compose: Path, left_out: str) -> None:
    """Write the file anew for podman-compose, which knows no `configs`: they are files, read-only.

    left_out: a service that there is no image of.
    """
    whole = yaml.safe_load(compose.read_text(encoding="utf-8"))
    del whole["services"][left_out]
    for service in whole["services"].values():
        for each in service.pop("configs", []):
            source = compose.parent / whole["configs"][each["source"]]["file"]
            service["volumes"].append(f"{source.resolve()}:{each['target']}:ro")
    del whole["configs"]
    compose.write_text(yaml.safe_dump(whole), encoding="utf-8")


def pod_of(template: Mapping[str, Any], name: str, secrets: Path) -> dict[str, Any]:
    """A pod of this template for podman, with what the kubelet does and podman does not.

    Secrets are folders in `secrets`, whose files get the mode and the group that the pod says.
    Each pod has an empty folder of its own, where podman goes by the name of the volume alone.
    """
    spec = json.loads(json.dumps(template["spec"]))
    (container,) = spec["containers"]
    mounts = {each["name"]: each for each in container["volumeMounts"]}
    for volume in spec["volumes"]:
        if found := volume.pop("secret", None):
            folder = secrets / found["secretName"]
            for file in folder.iterdir():
                os.chown(file, 0, spec["securityContext"]["fsGroup"])
                file.chmod(found["defaultMode"])
            volume["hostPath"] = {"path": str(folder), "type": "Directory"}
        elif "emptyDir" in volume:
            mount = mounts[volume["name"]]
            volume["name"] = mount["name"] = f"{name}-{volume['name']}"
    assert spec["securityContext"]["fsGroup"] == USER
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
