"""The README does what it says: its commands, its configuration and its program."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from littled.cli.entry import COMMANDS
from littled.cli.flights import CONFIGURATION, schema
from littled_client import Client
from support.commands import make_store, serve, start
from support.pages import environment

pytestmark = pytest.mark.long

README = Path(__file__).parents[3] / "README.md"
SECONDS_MAX = 150
EXAMPLES = 20_000


def blocks(language: str) -> list[str]:
    text = README.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.timeout(200)
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
    assert re.search(r"^version 2 .* late if departure_delay >= -?\d+ min$", done.stdout, re.M)
    assert "\nnot late\n" in done.stdout
    assert re.search(r"^ +[+-]\d+  departure_delay >= 101 min and", done.stdout, re.M)
    assert re.search(r'^\("departure_delay" >= -?\d+\)$', done.stdout, re.M)
    assert done.stdout.endswith("sound: the chain is whole and no budget was exceeded\n")


def test_the_configuration_is_the_demo_s() -> None:
    (shown,) = blocks("toml")
    assert tomllib.loads(shown) == tomllib.loads(CONFIGURATION)


def test_the_program_prints_what_was_learned_and_feeds_nothing(tmp_path: Path) -> None:
    make_store(tmp_path, CONFIGURATION)
    daemon, names = serve(tmp_path), [column.name for column in schema().columns]
    with (tmp_path / "flights.csv").open("w") as file:
        file.write(",".join([*names, "late"]) + "\n")
        for delay in (i * 7919 % 150 - 30 for i in range(EXAMPLES)):
            file.write(f"{delay},2013-12-31 22:59,JFK,B6,266,,10,0,10,{int(delay >= 24)}\n")
    process = start("feed", "flights", tmp_path / "flights.csv", "-a", daemon.address)
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
    assert re.fullmatch(r"\d+ late if departure_delay >= -?\d+ min", first)
    assert second == "late: [0, 1]"
    with Client(daemon.address) as client:
        assert client.status()["streams"]["flights"]["position"] == EXAMPLES
    assert daemon.stop() == 0


def test_every_command_is_on_the_page_that_it_names() -> None:
    page = "docs/reference/commands.md"
    assert f"({page})" in README.read_text(encoding="utf-8")
    text = (README.parent / page).read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"littled {name}" not in text] == []


def test_every_file_it_links_to_is_there() -> None:
    text = README.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
