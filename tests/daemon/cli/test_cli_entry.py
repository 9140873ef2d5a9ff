"""The entry point: help, sentences, exit statuses, and what is not imported."""

import os
import subprocess
import sys

import click
import pytest

from littled.cli import entry
from littled.cli.entry import COMMANDS
from support.commands import START_SECONDS, Littled, start

HEAVY = {
    *("aiohttp", "apsw", "cryptography", "dp_accounting", "pandas", "prometheus_client"),
    *("pyarrow", "pydantic", "scipy", "structlog"),
}
# What only a daemon, a store or a plan needs.
DAEMONS = {
    f"littled.{room}"
    for room in ("classes", "configuration", "engine", "learners", "planner", "service", "store")
}


def test_help_lists_every_command_with_a_line(littled: Littled) -> None:
    said = littled("--help")
    assert said.status == 0
    for name, (_, _, line) in COMMANDS.items():
        assert f"{name} " in said.out
        assert line in said.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(littled: Littled, name: str) -> None:
    said = littled(name, "--help")
    assert said.status == 0
    assert said.out.startswith(f"Usage: littled {name}")
    assert said.err == ""


@pytest.mark.parametrize("name", ["show", "eval", "export"])
def test_every_command_of_a_rule_explains_itself(littled: Littled, name: str) -> None:
    said = littled("rule", name, "--help")
    assert said.status == 0
    assert said.out.startswith(f"Usage: littled rule {name}")


def test_nothing_asked_for_is_answered_with_help(littled: Littled) -> None:
    said = littled()
    assert said.status == 2
    assert said.out.startswith("Usage: littled")


def test_the_version_is_told(littled: Littled) -> None:
    assert littled("--version").out.startswith("littled 0.")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fly"], "no such command 'fly' (see littled --help)"),
        (
            ["status", "--fast"],
            "no such option '--fast', did you mean '--wait'? (see littled status --help)",
        ),
        (["init", "store"], "missing option '--config' (see littled init --help)"),
        (["feed", "flights"], "missing argument 'FILE' (see littled feed --help)"),
        (["status", "-a", "here"], "the address 'here' is neither unix:PATH nor HOST:PORT"),
        (["feed", "flights", "/no/such.csv", "--x", "a", "--y", "b"], "does not exist"),
        (["watch", "flights/late", "--since", "-1"], "'--since'"),
    ],
)
def test_a_wrong_command_line_is_said_in_one_sentence(
    littled: Littled, arguments: list[str], sentence: str
) -> None:
    said = littled(*arguments)
    assert said.status == 2
    assert sentence in said.sentence


def test_an_address_of_the_environment_that_is_none_is_said(
    littled: Littled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LITTLED_ADDRESS", "nowhere")
    said = littled("status")
    assert (said.status, said.sentence.partition(":")[0]) == (2, "LITTLED_ADDRESS")


def test_a_defect_is_told_without_what_it_stumbled_over(
    littled: Littled, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(**_: object) -> None:
        raise ValueError("the label was 1 and the delay 42")

    monkeypatch.setattr(entry.group, "main", stumble)
    said = littled("status")
    assert said.status == 1
    assert said.sentence.startswith("this is a defect of littled: ValueError in test_cli_entry.py")
    assert "42" not in said.err


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, click.Abort])
def test_an_interruption_has_a_status_of_its_own(
    littled: Littled, monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException]
) -> None:
    def interrupted(**_: object) -> None:
        raise interruption

    monkeypatch.setattr(entry.group, "main", interrupted)
    said = littled("status")
    assert (said.status, said.out, said.err) == (130, "", "")


def test_a_reader_that_went_away_is_no_news() -> None:
    reader, writer = os.pipe()
    os.close(reader)  # before anything can be written
    process = start("--help", stdout=writer)
    os.close(writer)
    _, err = process.communicate(timeout=START_SECONDS)
    assert (process.returncode, err) == (1, "")


def loaded(*arguments: str) -> set[str]:
    """What a process has imported, packages of modules included, once it has run a command."""
    program = (
        "import sys; from littled.cli.entry import run; "
        f"run({[*arguments]!r}); print('loaded', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
        env={"LITTLED_ADDRESS": "unix:/no/such.sock"},
    )
    first, *modules = done.stdout.splitlines()[-1].split()
    assert first == "loaded"
    assert "littled.cli.entry" in modules
    return set(modules)


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["feed", "--help"], ["watch", "a/b"], ["status", "--help"], ["status"]],
)
def test_commands_that_talk_to_a_daemon_start_lightly(arguments: list[str]) -> None:
    modules = loaded(*arguments)
    assert modules.isdisjoint(HEAVY)
    assert modules.isdisjoint(DAEMONS)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["plan", "--help"]])
def test_help_needs_nothing_that_computes(arguments: list[str]) -> None:
    modules = loaded(*arguments)
    assert modules.isdisjoint(HEAVY)
    ours = {module for module in modules if module.partition(".")[0].startswith("littled")}
    # the registers name the parts of all kinds, classes and ways, and import none
    registers = {"littled.kinds", "littled.ways", "littled.classes", "littled.classes.registry"}
    light = {"littled"} | (registers if "plan" in arguments else set())
    assert {module for module in ours if not module.startswith("littled.cli")} == light
    assert modules.isdisjoint({"numpy", "rich", "asyncio", "ssl"})


def test_a_status_draws_no_bars() -> None:
    assert "rich.table" in loaded("status")
    assert "rich.progress" not in loaded("status")


def test_a_daemon_starts_without_what_most_never_need() -> None:
    modules = loaded("serve", "--help")
    assert "littled.service.daemon" in modules
    assert modules.isdisjoint({"aiohttp", "cryptography.x509", "prometheus_client", "scipy"})


@pytest.mark.long
def test_a_plan_is_made_by_what_help_leaves_out() -> None:
    budget = ["--epsilon", "1", "--delta", "1e-6", "--horizon", "1000"]
    assert {"littled.planner", "numpy"} <= loaded("plan", "--class", "thresholds:4", *budget)
