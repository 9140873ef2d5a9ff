"""`littled completion`: scripts that shells take, and that then complete."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from littled.cli.completion import SHELLS
from littled.cli.entry import COMMANDS, group

BASH, ZSH, FISH = (shutil.which(shell) for shell in SHELLS)
PROGRAM = Path(sys.executable).parent / "littled"


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script(shell: str) -> None:
    printed = CliRunner().invoke(group, ["completion", shell])
    assert printed.exit_code == 0
    assert f"_LITTLED_COMPLETE={shell}_complete" in printed.stdout


def test_another_shell_is_refused() -> None:
    refused = CliRunner().invoke(group, ["completion", "csh"])
    assert refused.exit_code == 2
    assert "'csh' is not one of 'bash', 'zsh', 'fish'" in refused.output


def completed(*words: str) -> list[str]:
    """What a shell is offered for the last of these words."""
    asked = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        [PROGRAM],
        env={**os.environ, "_LITTLED_COMPLETE": "bash_complete", **asked},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


@pytest.mark.long
def test_commands_options_and_choices_are_completed() -> None:
    offered = completed("littled", "st")
    assert offered == [name for name in COMMANDS if name.startswith("st")] != []
    assert "--producer" in completed("littled", "feed", "--pro")
    assert completed("littled", "systemd", "print", "littled.so") == ["littled.socket"]


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
def test_bash_takes_the_script(tmp_path: Path) -> None:
    script = CliRunner().invoke(group, ["completion", "bash"]).stdout
    (tmp_path / "script").write_text(script)
    said = subprocess.run(
        [str(BASH), "--noprofile", "--norc", "-c", "source ./script && complete -p littled"],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert "_littled_completion" in said.stdout


def offered_by(shell: str, commands: str, folder: Path) -> list[str]:
    """The words that a shell offers, where `commands` print them, with the script beside it."""
    (folder / "script").write_text(CliRunner().invoke(group, ["completion", shell]).stdout)
    path = f"{PROGRAM.parent}:{os.environ['PATH']}"
    options = {"zsh": "-f", "fish": "--no-config"}
    done = subprocess.run(
        [shell, options[shell], "-c", commands],
        cwd=folder, env={**os.environ, "PATH": path, "HOME": str(folder)},
        capture_output=True, text=True, check=True, timeout=80,
    )  # fmt: skip
    return [line.partition("\t")[0] for line in done.stdout.splitlines()]


@pytest.mark.skipif(FISH is None, reason="fish is not installed")
def test_fish_completes(tmp_path: Path) -> None:
    ask = "source script; complete --do-complete 'littled sta'; complete --do-complete '{}'"
    found = offered_by("fish", ask.format("littled completion "), tmp_path)
    assert found == ["status", *sorted(SHELLS)]


@pytest.mark.skipif(ZSH is None, reason="zsh is not installed")
def test_zsh_completes(tmp_path: Path) -> None:
    """The script registers its function; called as zsh calls it, it offers words of the command."""
    shown = """
        autoload -U compinit; compinit -u -D; source ./script
        print -- $_comps[littled]
        compadd() { print -l -- ${(P)5} }
        _describe() { print -l -- ${(P)3} }
        words=(littled sta); CURRENT=2; $_comps[littled]
    """
    registered, *words = offered_by("zsh", shown, tmp_path)
    assert registered == "_littled_completion"
    assert [word.partition(":")[0] for word in words] == ["status"]
