"""The units: known to systemd, inside the sandbox, with a command that the daemon understands."""

import configparser
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from littled.cli.failures import STORE_NEEDS_ATTENTION
from littled.limits import DESCRIPTORS_MAX, GROUP_STOP_SECONDS
from support.tasks import MEMORY_BYTES_MAX, TASKS_MAX

UNITS = Path(__file__).parent.parent / "daemon" / "littled" / "systemd"
INSTALLED = "/opt/littled/bin/littled"
COMMAND = str(Path(sys.executable).parent / "littled")
CONFIGURATION = """
[streams.flights]
epsilon = 1
delta = 1e-6
horizon = 100000
[streams.flights.learners.late]
class = "thresholds:16"
noise_rate = 0
"""
# What MemoryDenyWriteExecute=yes does to a process, on kernels that know prctl 65 (PR_SET_MDWE).
DENY_WRITE_EXECUTE = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(65, 1, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
# In tenths: an exposure of 1.0 at the most, on systemd's scale from 0 (safe) to 10.
EXPOSURE_MAX = 10
# What posts to others has the network: 1.5.
FORWARDER_EXPOSURE_MAX = 15
SECONDS_MAX = 60

# A continuous integration machine has to have what the tests use; a developer's may do without.
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None and "CI" not in os.environ,
    reason="systemd-analyze is not installed",
)


class Unit(configparser.RawConfigParser):
    """A unit file; of a repeated setting the last one is seen."""

    def __init__(self, name: str) -> None:
        super().__init__(strict=False, interpolation=None, delimiters=("=",))
        self.optionxform = str  # type: ignore[assignment,method-assign]
        self.read_string((UNITS / name).read_text(encoding="utf-8"))


def run(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What one of systemd's own commands says, on both streams together."""
    path = shutil.which(command)
    assert path is not None, f"{command} is not installed; apt-get install systemd"
    return subprocess.run(
        [path, *arguments],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS_MAX,
    )


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What `systemd-analyze` says."""
    return run("systemd-analyze", *arguments)


@pytest.fixture
def installed_units(tmp_path: Path) -> Path:
    """The units as they would be installed, with the command of this environment."""
    for path in UNITS.iterdir():
        text = path.read_text(encoding="utf-8").replace(INSTALLED, COMMAND)
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    return tmp_path


@needs_systemd
@pytest.mark.parametrize(
    "unit",
    [
        *("littled.service", "littled.socket", "littled-http.socket"),
        *("littled-feed@.service", "littled-forward@.service", "littled-member.service"),
    ],
)
def test_systemd_finds_nothing_to_say_about_a_unit(installed_units: Path, unit: str) -> None:
    verdict = analyze("verify", "--man=no", str(installed_units / unit))
    assert (verdict.returncode, verdict.stdout) == (0, "")


@needs_systemd
def test_the_service_is_hardly_exposed(installed_units: Path) -> None:
    service = str(installed_units / "littled.service")
    verdict = analyze("security", "--offline=true", f"--threshold={EXPOSURE_MAX}", service)
    assert verdict.returncode == 0, verdict.stdout


@needs_systemd
@pytest.mark.parametrize("unit", ["littled-forward@.service", "littled-member.service"])
def test_who_needs_the_network_is_exposed_to_it_alone(installed_units: Path, unit: str) -> None:
    service = str(installed_units / unit)
    verdict = analyze(
        "security", "--offline=true", f"--threshold={FORWARDER_EXPOSURE_MAX}", service
    )
    assert verdict.returncode == 0, verdict.stdout


def test_the_command_of_what_forwards_is_understood(tmp_path: Path) -> None:
    command = Unit("littled-forward@.service")["Service"]["ExecStart"]
    (tmp_path / "secret").write_text("key")
    (tmp_path / "secret").chmod(0o600)
    for written, meant in (
        (INSTALLED, COMMAND),
        ("$LEARNERS", "flights/late ids/bad"),
        ("${URL}", "https://hooks.example.org/"),
        ("%d", str(tmp_path)),
        ("%S", str(tmp_path)),
        ("%i", "alerts"),
        ("/run/littled", str(tmp_path)),
        ("--wait 60", "--wait 0"),
    ):
        assert written in command
        command = command.replace(written, meant)
    said = run(*shlex.split(command))
    assert said.returncode == 1
    assert "no daemon can be reached at unix:" in said.stdout


@pytest.mark.long
def test_the_command_of_a_member_is_understood() -> None:
    service = Unit("littled-member.service")["Service"]
    command = service["ExecStart"]
    for written, meant in (
        (INSTALLED, COMMAND),
        ("${GROUP}", "etcd://127.0.0.1:1/shops"),
        ("${ADDRESS}", "127.0.0.1:8800"),
        ("$OPTIONS", "--lease 2"),
    ):
        assert written in command
        command = command.replace(written, meant)
    said = run(*shlex.split(command))
    assert said.returncode == 1
    assert "etcd at 127.0.0.1:1 does not answer" in said.stdout
    # Its daemons are stopped by it, and killed only if they outlive it.
    assert service["KillMode"] == "mixed"
    assert int(service["TimeoutStopSec"]) > GROUP_STOP_SECONDS


@needs_systemd
def test_a_service_without_its_sandbox_would_be_noticed(tmp_path: Path) -> None:
    bare = tmp_path / "littled.service"
    bare.write_text("[Service]\nType=notify\nExecStart=/bin/true\n", encoding="utf-8")
    verdict = analyze("security", "--offline=true", f"--threshold={EXPOSURE_MAX}", str(bare))
    assert verdict.returncode == 1


@needs_systemd
def test_the_group_of_the_socket_is_made(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    made = run("systemd-sysusers", f"--root={tmp_path}", str(UNITS / "littled.conf"))
    assert made.returncode == 0, made.stdout
    groups = (tmp_path / "etc" / "group").read_text(encoding="utf-8")
    assert groups.startswith(f"{Unit('littled.socket')['Socket']['SocketGroup']}:")


def test_what_no_score_counts_is_set_as_well() -> None:
    service = Unit("littled.service")["Service"]
    assert service["Type"] == "notify"
    assert int(service["WatchdogSec"]) > 0
    assert service["LimitCORE"] == "0"
    assert int(service["LimitNOFILE"]) >= DESCRIPTORS_MAX
    assert int(service["TasksMax"]) >= TASKS_MAX
    assert service["DynamicUser"] == "yes"
    assert service["StateDirectory"].split() == ["littled", "littled-mark"]
    assert service["LoadCredential"].startswith("noise.key:")
    assert service["PrivateUsers"] == "no"  # it would make every user 65534
    assert int(service["MemoryMax"].removesuffix("G")) << 30 >= MEMORY_BYTES_MAX
    assert "UMask" in service


def test_a_damaged_store_is_not_started_again_and_again() -> None:
    service = Unit("littled.service")["Service"]
    assert service["Restart"] == "on-failure"
    assert str(STORE_NEEDS_ATTENTION) in service["RestartPreventExitStatus"].split()


@pytest.fixture
def command_line(tmp_path: Path) -> list[str]:
    """The unit's command on a new store in a temporary folder, with its key as a credential."""
    folders = [tmp_path / name for name in ("littled", "littled-mark", "credentials")]
    for folder in folders:
        folder.mkdir(mode=0o700)
    store, mark, credentials = folders
    (tmp_path / "littled.toml").write_text(CONFIGURATION, encoding="utf-8")
    made = run(
        *(COMMAND, "init", str(store), "--config", str(tmp_path / "littled.toml")),
        *("--key", str(credentials / "noise.key"), "--mark", str(mark / "high-water-mark")),
    )
    assert made.returncode == 0, made.stdout
    command = Unit("littled.service")["Service"]["ExecStart"]
    return shlex.split(command.replace(INSTALLED, COMMAND).replace("/var/lib", str(tmp_path)))


@pytest.mark.long
@needs_systemd
def test_the_command_of_the_unit_serves_under_socket_activation(
    command_line: list[str], tmp_path: Path
) -> None:
    activate = shutil.which("systemd-socket-activate")
    assert activate is not None, "systemd-socket-activate is not installed"
    address, notify = tmp_path / "s", tmp_path / "n"
    environment = {
        "CREDENTIALS_DIRECTORY": str(tmp_path / "credentials"),
        "NOTIFY_SOCKET": str(notify),
        "WATCHDOG_USEC": "1000000",
    }
    passed = [f"--setenv={name}={value}" for name, value in environment.items()]
    sandbox = [sys.executable, "-c", DENY_WRITE_EXECUTE]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(notify))
        manager.settimeout(SECONDS_MAX)
        with subprocess.Popen(
            [activate, f"--listen={address}", *passed, *sandbox, *command_line],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as daemon:
            try:
                assert daemon.stderr is not None
                assert "Listening on" in daemon.stderr.readline()
                status = run(COMMAND, "status", "--json", f"--address=unix:{address}")
                assert status.returncode == 0, status.stdout
                assert set(json.loads(status.stdout)["streams"]) == {"flights"}
                heard = ""
                while "WATCHDOG=1" not in heard:
                    heard += manager.recv(4096).decode()
                assert heard.index("READY=1") < heard.index("WATCHDOG=1")
                daemon.send_signal(signal.SIGTERM)
                assert daemon.wait(SECONDS_MAX) == 0
            finally:
                daemon.kill()
