"""Printed next steps: as they are printed, they work."""

import shlex
import shutil
import signal
import time
from pathlib import Path

import pytest

from littled.cli.hints import serve_command
from littled.cli.storing import StoreFiles
from littled_client import Client, UnreachableError
from support.commands import CONFIGURATION, START_SECONDS, Littled, start


def next_step(out: str) -> list[str]:
    """The words of the command that is printed last."""
    command = out.rstrip("\n").rpartition("next: ")[2]
    words = shlex.split(command)
    assert words[:2] == ["littled", "serve"]
    return words[1:]


def served(words: list[str], folder: Path, address: str, **environment: str) -> None:
    """Run a next step in a folder until its daemon answers, and end it."""
    process = start(*words, cwd=folder, environment=environment)
    deadline = time.monotonic() + START_SECONDS
    while True:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        try:
            with Client(address) as client:
                assert set(client.status()["streams"]) == {"flights", "addresses"}
            break
        except UnreachableError:
            time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=START_SECONDS)
    assert process.returncode == 0


@pytest.mark.parametrize("session", [True, False])
@pytest.mark.parametrize("apart", [True, False])
def test_the_next_step_after_a_store_was_made_works(
    littled: Littled,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    session: bool,
    apart: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("littled.toml").write_text(CONFIGURATION)
    if session:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    files = ["--key", "key of mine", "--mark", "mark"] if apart else []
    said = littled("init", "my store", "--config", "littled.toml", *files)
    words = next_step(said.out)
    assert words[2:] == [*files, *([] if session else ["--unix", "littled.sock"])]
    environment = {"XDG_RUNTIME_DIR": str(tmp_path)} if session else {}
    served(words, tmp_path, f"unix:{tmp_path}/littled.sock", **environment)


def test_the_next_step_after_a_restore_works(
    littled: Littled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("littled.toml").write_text(CONFIGURATION)
    files = ["--key", "key", "--mark", "mark"]
    made = littled("init", "store", "--config", "littled.toml", *files)
    copy = shutil.copytree("store", "copy")
    served(next_step(made.out), tmp_path, f"unix:{tmp_path}/littled.sock")
    shutil.rmtree("store")
    Path(copy).rename("store")
    said = littled("restore", "store", "--yes", "--copy", *files)
    assert said.status == 0, said.err
    words = next_step(said.out)
    assert words[2:] == [*files, "--unix", "littled.sock"]
    served(words, tmp_path, f"unix:{tmp_path}/littled.sock")


def test_archives_are_kept_in_a_next_step() -> None:
    command = serve_command(Path("s"), StoreFiles(None, None), Path("a b"))
    assert command == "littled serve s --archive 'a b' --unix littled.sock"


def test_no_socket_is_named_where_there_is_a_usual_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = StoreFiles(None, None)
    for address, named in (
        (f"unix:{tmp_path}/d.sock", False),
        (f"unix:{tmp_path}/no/d.sock", True),
        ("localhost:4000", True),
        ("nonsense", True),
    ):
        monkeypatch.setenv("LITTLED_ADDRESS", address)
        assert ("--unix" in serve_command(Path("s"), files)) == named


def test_without_a_usual_place_serving_says_what_to_say(littled: Littled, tmp_path: Path) -> None:
    (tmp_path / "littled.toml").write_text(CONFIGURATION)
    littled("init", tmp_path / "store", "--config", tmp_path / "littled.toml")
    said = littled("serve", tmp_path / "store")
    assert (said.status, said.sentence) == (
        2,
        "cannot listen on unix:/run/littled/littled.sock: No such file or directory; say where to "
        "listen, such as --unix littled.sock",
    )
    said = littled("serve", tmp_path / "nope")
    assert (said.status, said.sentence) == (
        3,
        f"there is no store in {tmp_path / 'nope'}: make one with littled init",
    )


def test_serving_reads_where_clients_look(littled: Littled, tmp_path: Path) -> None:
    assert "$LITTLED_ADDRESS" in littled("serve", "--help").out
    (tmp_path / "littled.toml").write_text(CONFIGURATION)
    assert littled("init", tmp_path / "s", "--config", tmp_path / "littled.toml").status == 0
    address = f"unix:{tmp_path}/named.sock"
    served(["serve", "s"], tmp_path, address, LITTLED_ADDRESS=address)
