"""The runner of campaigns goes on where it was, for one version, and keeps the seeds that fail."""

import json
import shutil
from pathlib import Path

import pytest

from campaigns import __main__ as runner
from campaigns.__main__ import Job, Seeded


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the pieces that ran, of a campaign "odd" of 10 numbers whose 7 fails."""
    (tmp_path / "seeds.json").write_text("[3]", encoding="utf-8")
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "STATE", tmp_path / "state" / "state.json")
    monkeypatch.setattr(runner, "SEEDED", {"odd": Seeded("odd", 10, 2, "n", "seeds.json")})
    monkeypatch.setattr(runner, "PROCESSES", 1)
    monkeypatch.setattr(runner, "version", lambda: "one")
    names: list[str] = []

    def run_job(job: Job) -> tuple[list[str], str]:
        if names[-1:] == ["stop"]:
            raise KeyboardInterrupt
        names.append(job.name)
        if len(names) == 2 and names[0] == "killed soon":
            names.append("stop")
        return (["7"], "failing seed 7") if job.name == "6+2" else ([], "")

    monkeypatch.setattr(runner, "run_job", run_job)
    return names


PIECES = ["0+2", "2+2", "4+2", "6+2", "8+2"]


def test_a_table_says_what_was_done(
    ran: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert runner.main(["odd"]) == 1
    assert ran == PIECES
    printed = capsys.readouterr().out.splitlines()
    assert printed[-3].split() == ["campaign", "asked", "done", "failed", "version", "seconds"]
    assert printed[-2].split() == ["odd", "10", "10", "1", "one", "0"]
    assert printed[-1] == "failed: odd 7"
    assert json.loads((tmp_path / "seeds.json").read_text(encoding="utf-8")) == [3, 7]


def test_a_run_that_was_killed_goes_on(ran: list[str]) -> None:
    ran.append("killed soon")
    with pytest.raises(KeyboardInterrupt):
        runner.main(["odd"])
    ran.clear()
    assert runner.main(["odd"]) == 1
    assert PIECES[0] not in ran
    assert ran == PIECES[-len(ran) :]


def test_another_version_begins_anew(
    ran: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert runner.main(["odd=4"]) == 0
    assert ran == PIECES[:2]
    assert runner.main(["odd=4"]) == 0
    assert ran == PIECES[:2]
    monkeypatch.setattr(runner, "version", lambda: "two")
    assert runner.main(["odd=4"]) == 0
    assert ran == 2 * PIECES[:2]
    assert runner.main(["even"]) == 2
    assert "there is no campaign even" in capsys.readouterr().out


def test_every_test_that_is_a_campaign_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(runner.ROOT / "pyproject.toml", tmp_path)
    text = "import pytest\n@pytest.mark.campaign\ndef test_long(): ...\ndef test_short(): ...\n"
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    assert [job.name for job in runner.test_jobs()] == ["tests/test_it.py::test_long"]
