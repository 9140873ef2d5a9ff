"""The image of packaging/Containerfile, built by buildah and run by bubblewrap, without any daemon.

`support.podman` runs it as a runtime does.

The base is the public one where it can be fetched, else a Debian made by debootstrap; or whatever
image $LITTLED_BASE names. Offline, $LITTLED_WHEELS is a folder of wheels to install from.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PUBLIC_BASE = "docker.io/library/python:3.12-slim"
TOOLS = ("buildah", "bwrap", "debootstrap", "nsenter", "setpriv")
# What runs an image as a runtime does, and a Prometheus for beside it.
RUNTIME_TOOLS = ("podman", "runc", "catatonit", "iptables", "prometheus", "openssl")
NETWORK_TOOLS = ("netavark", "aardvark-dns")
NETWORK_FOLDERS = "/usr/lib/podman:/usr/libexec/podman:/usr/local/libexec/podman"
PACKAGES = "python3,python3-venv,python3-pip,python-is-python3,ca-certificates"
BUILD_SECONDS_MAX = 1_500
SECONDS_MAX = 120
USER = 65532
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


def missing() -> list[str]:
    """What a machine lacks that is to build and run an image."""
    lacking = [tool for tool in (*TOOLS, *RUNTIME_TOOLS) if shutil.which(tool) is None]
    lacking += [tool for tool in NETWORK_TOOLS if shutil.which(tool, path=NETWORK_FOLDERS) is None]
    return lacking + (["root"] if os.getuid() else [])


class Buildah:
    """Images and containers in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        """Begin with none."""
        self.folder = folder

    def run(self, command: str, *arguments: str, seconds: float = BUILD_SECONDS_MAX) -> str:
        """What a command prints; CalledProcessError."""
        places = ["--root", str(self.folder / "images"), "--runroot", str(self.folder / "run")]
        words = ["buildah", "--storage-driver", "vfs", *places, command, *arguments]
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=seconds)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def base(self) -> str:
        """The image that the daemon's is made from."""
        named = os.environ.get("LITTLED_BASE")
        if named:
            return named
        try:
            self.run("pull", PUBLIC_BASE, seconds=SECONDS_MAX)
        except (AssertionError, subprocess.TimeoutExpired):
            return self._debian()
        return PUBLIC_BASE

    def _debian(self) -> str:
        root = self.folder / "debian"
        command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm"]
        subprocess.run(
            [*command, str(root)], check=True, capture_output=True, timeout=BUILD_SECONDS_MAX
        )
        shutil.rmtree(root / "var" / "cache")
        (self.folder / "Debian").write_text("FROM scratch\nCOPY debian /\n", encoding="utf-8")
        options = [
            "--isolation",
            "chroot",
            "--tag",
            "debian",
            "--file",
            str(self.folder / "Debian"),
        ]
        self.run("bud", *options, str(self.folder))
        shutil.rmtree(root)
        return "localhost/debian"

    def image(self, sources: Path) -> tuple[Path, Mapping[str, Any]]:
        """Build the image; where its files are, and how it wants to be run."""
        file = sources / "packaging" / "Containerfile"
        settings = self.folder / "pip.conf"
        if offline := os.environ.get("LITTLED_WHEELS"):
            settings.write_text("[global]\nno-index = true\nfind-links = /wheels-here\n")
            mounts = [f"--volume={offline}:/wheels-here:ro"]
        else:  # whom this machine trusts: some have an authority of their own on the way out
            settings.write_text(f"[global]\ncert = {CERTIFICATES}\n")
            mounts = [f"--volume={CERTIFICATES}:{CERTIFICATES}:ro"]
        mounts += [f"--volume={settings}:/etc/pip.conf:ro"]
        self.run(
            *("bud", "--isolation", "chroot", "--format", "docker", "--layers=false"),
            *("--ignorefile", f"{file}.dockerignore", f"--build-arg=BASE={self.base()}"),
            *(*mounts, "--tag", "littled", "--file", str(file), str(sources)),
        )
        container = self.run("from", "localhost/littled")
        config = json.loads(self.run("inspect", "--type", "image", "localhost/littled"))
        return Path(self.run("mount", container)), config["Docker"]["config"]


def confined(
    root: Path, config: Mapping[str, Any], command: Iterable[str], mounts: Mapping[str, str]
) -> list[str]:
    """A command in the image as it wants to be run: read-only, by its user, without capabilities.

    mounts: folders and files of this machine by their places in the container; `:ro` after one says
    that it may not be written.
    """
    words = ["bwrap", "--ro-bind", str(root), "/", "--proc", "/proc", "--dev", "/dev"]
    for place in ("/tmp", "/run/littled"):
        words += ["--perms", "1777", "--tmpfs", place]
    for place, source in mounts.items():
        how = "--ro-bind" if source.endswith(":ro") else "--bind"
        words += [how, source.removesuffix(":ro"), place]
    words += ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--as-pid-1", "--die-with-parent"]
    words += ["--clearenv", "--chdir", config["WorkingDir"], "--cap-drop", "ALL"]
    for capability in ("SETUID", "SETGID", "SETPCAP"):  # of whoever puts them down
        words += ["--cap-add", f"CAP_{capability}"]
    for name, _, value in (each.partition("=") for each in config["Env"]):
        words += ["--setenv", name, value]
    return [*words, *as_user(config), *command]


def as_user(config: Mapping[str, Any]) -> list[str]:
    """Become the image's user, for good."""
    user, _, group = config["User"].partition(":")
    return [
        *("setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--no-new-privs"),
        *("--inh-caps=-all", "--bounding-set=-all"),
    ]
