"""The README does what it says: its commands, its configuration and its program."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from littled.cli.entry import COMMANDS
from littled.cli.flights import CONFIGURATION
from littled_client import Client
from support.commands import Daemon, flights_csv, start

README = Path(__file__).parents[3] / "README.md"
SECONDS_MAX = 60
EXAMPLES = 20_000


def blocks(language: str) -> list[str]:
    text = README.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LITTLED_", "XDG_RUNTIME"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return kept | {"PATH": path, "NO_COLOR": "1"} | more


def test_the_commands_run_as_they_stand(tmp_path: Path) -> None:
    # Whatever happens, the daemon in the background ends with the script.
    script = "set -euo pipefail\ntrap 'kill $(jobs -p) || true' EXIT\n" + "".join(blocks("sh"))
    done = subprocess.run(
        ["/bin/bash", "-c", script],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "flights: 327,346 examples acknowledged in " in done.stdout
    assert re.search(r"^version 2 .* late if departure delay >= -?\d+ min$", done.stdout, re.M)
    assert "\nnot late\n" in done.stdout
    assert re.search(r'^\("?dep_delay"? >= -?\d+\)$', done.stdout, re.M)
    assert done.stdout.endswith("sound: the chain is whole and no budget was exceeded\n")


def test_the_configuration_is_the_demo_s() -> None:
    (shown,) = blocks("toml")
    assert tomllib.loads(shown) == tomllib.loads(CONFIGURATION)


def test_the_program_prints_what_was_learned_and_feeds_nothing(
    daemon: Daemon, tmp_path: Path
) -> None:
    file = flights_csv(tmp_path / "flights.csv", EXAMPLES)
    columns = ["--x", "delay", "--y", "late", "--clip", "-30", "225", "--offset", "-30"]
    process = start("feed", "flights", file, *columns, "-a", daemon.address)
    _, err = process.communicate(timeout=SECONDS_MAX)
    assert process.returncode == 0, err
    with Client(daemon.address) as client:
        assert next(client.subscribe("flights/late", 1)).version == 2
    (program,) = blocks("python")
    assert len([line for line in program.splitlines() if line.strip()]) <= 10
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env=environment(LITTLED_ADDRESS=daemon.address),
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()
    assert re.fullmatch(r"\d+ late if departure delay >= -?\d+ min", first)
    assert second == "late: [0, 1]"
    with Client(daemon.address) as client:
        assert client.status()["streams"]["flights"]["position"] == EXAMPLES


def test_every_command_is_in_the_table() -> None:
    text = README.read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"littled {name}" in text or f"make {name}" in text


def test_every_file_it_links_to_is_there() -> None:
    text = README.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
