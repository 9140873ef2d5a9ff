"""The runner of campaigns goes on where it was, for one version, and keeps the seeds that fail."""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from campaigns import __main__ as runner
from campaigns import record
from campaigns.__main__ import Job, OfTests, Outcome, Progress, Seeded
from campaigns.record import Row
from support.campaigns import IMAGES, KILLS, PART_IMAGES, PART_KILLS

ROOT = Path(__file__).parent.parent
AUDIT = "audit"
PAGE = f"""Words.

{record.HEADER}
|---|---|---|---|---|---|---|
| `odd` | not yet | | | | | |
| `even` | `zero` | 2026-01-02 | 4 | 0 | 0 | 3 |
"""


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the pieces that ran, of a campaign "odd" of 10 numbers whose 7 fails."""
    (tmp_path / "seeds.json").write_text("[3]", encoding="utf-8")
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "STATE", tmp_path / "state" / "state.json")
    monkeypatch.setattr(runner, "SEEDED", {"odd": Seeded("odd", 10, 2, "n", "seeds.json")})
    monkeypatch.setattr(runner, "ORDER", ("odd",))
    monkeypatch.setattr(record, "PAGE", "campaigns.md")
    (tmp_path / "campaigns.md").write_text(PAGE, encoding="utf-8")
    monkeypatch.setattr(runner, "PROCESSES", 1)
    monkeypatch.setattr(runner, "version", lambda: "one")
    names: list[str] = []

    def run_job(job: Job) -> Outcome:
        if names[-1:] == ["stop"]:
            raise KeyboardInterrupt
        names.append(job.name)
        if len(names) == 2 and names[0] == "killed soon":
            names.append("stop")
        failing = ["7"] if job.name == "6+2" else []
        return Outcome(failing, output="failing seed 7", core_seconds=24.0)

    monkeypatch.setattr(runner, "run_job", run_job)
    return names


PIECES = ["0+2", "2+2", "4+2", "6+2", "8+2"]


def test_a_table_says_what_was_done(
    ran: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert runner.main(["odd"]) == 1
    assert ran == PIECES
    printed = capsys.readouterr().out.splitlines()
    header, row, failed, last = printed[-4:]
    assert header.split() == [
        *("campaign", "asked", "done", "skipped", "failed", "version", "core-minutes")
    ]
    assert row.split() == ["odd", "10", "10", "0", "1", "one", "2.0"]
    assert failed == "failed: odd 7"
    assert last.startswith("in 0 minutes")
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


def test_a_whole_run_of_a_commit_renews_its_row(
    ran: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = tmp_path / "campaigns.md"
    runner.main(["odd=4"])
    assert page.read_text(encoding="utf-8") == PAGE  # a part
    monkeypatch.setattr(runner, "version", lambda: "one-dirty")
    runner.main(["odd"])
    assert page.read_text(encoding="utf-8") == PAGE  # nobody can look at that version
    monkeypatch.setattr(runner, "version", lambda: "one")
    runner.main(["odd"])
    day = runner.load("one")["odd"].ended
    new = f"| `odd` | `one` | {day} | 10 | 0 | 1 | 2 |"
    assert page.read_text(encoding="utf-8") == PAGE.replace("| `odd` | not yet | | | | | |", new)


def test_a_row_is_written_over_by_the_next(tmp_path: Path) -> None:
    page = tmp_path / "campaigns.md"
    page.write_text(PAGE, encoding="utf-8")
    record.renew(page, {"even": Row("two", "2026-02-03", 20_000_000, 3, 0, 1_499.6)})
    rows = record.rows_of(page.read_text(encoding="utf-8"))
    assert rows["even"] == "| `even` | `two` | 2026-02-03 | 20,000,000 | 3 | 0 | 1,500 |"
    assert rows["odd"] == "| `odd` | not yet | | | | | |"


def test_tests_that_take_times_run_last_and_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["daemon/test_fairness.py::a", "daemon/test_fairness.py::b", "daemon/test_others.py::c"]
    jobs = [
        *runner.test_jobs(names, OfTests(piece=1)),
        *runner.seeded_jobs(Seeded("odd", 4, 2, "n"), 4),
    ]
    running: list[str] = []
    beside: dict[str, int] = {}

    def run_job(job: Job) -> Outcome:
        running.append(job.name)
        time.sleep(0.01)
        beside[job.name] = len(running)
        running.remove(job.name)
        return Outcome()

    monkeypatch.setattr(runner, "PROCESSES", 3)
    monkeypatch.setattr(runner, "run_job", run_job)
    monkeypatch.setattr(runner, "save", lambda _: None)
    runner.run_pieces([("odd", job) for job in jobs], {"odd": Progress("one")})
    assert len(beside) == len(jobs)
    last = list(beside)[-2:]
    assert {name.partition(" ")[0] for name in last} == set(names[:2])
    assert [beside[name] for name in last] == [1, 1]


def test_every_file_that_runs_alone_has_a_campaign() -> None:
    for name in runner.ALONE:
        (file,) = ROOT.glob(f"tests/**/{name}")
        assert "@pytest.mark.campaign" in file.read_text(encoding="utf-8")


def test_the_page_has_a_row_for_each_campaign() -> None:
    rows = record.rows_of((ROOT / record.PAGE).read_text(encoding="utf-8"))
    assert tuple(rows) == runner.ORDER
    assert set(runner.ORDER) == {*runner.SEEDED, *runner.OF_TESTS}


def test_what_campaigns_write_makes_no_other_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    seeds = next(each.seeds_file for each in runner.SEEDED.values() if each.seeds_file)
    for name in (seeds, record.PAGE, "program.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("[]", encoding="utf-8")
    who = ("-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false")
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)  # noqa: S607
    clean = runner.version()
    for name in (seeds, record.PAGE):
        (tmp_path / name).write_text("[1]", encoding="utf-8")
    assert runner.version() == clean
    (tmp_path / "program.py").write_text("[1]", encoding="utf-8")
    assert runner.version() == f"{clean}-dirty"


TEST_FILE = """
import pytest

pytestmark = pytest.mark.campaign


@pytest.mark.parametrize("case", ["holds", "a - b", "left out"])
def test_long(case):
    if case == "left out":
        pytest.skip("no such server here")
    assert case == "holds"
"""


@pytest.fixture
def a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with three tests that are campaigns: one holds, one fails, one is skipped."""
    shutil.copy(runner.ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(TEST_FILE, encoding="utf-8")
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.long
def test_tests_share_a_process_and_are_told_apart(a_project: Path) -> None:
    names = runner.test_names()
    assert names == [
        f"tests/test_it.py::test_long[{case}]" for case in ("holds", "a - b", "left out")
    ]
    (job,) = runner.test_jobs(names, OfTests(cases=10))
    assert job.cases == 30
    outcome = runner.run_job(job)
    assert outcome.failing == ["tests/test_it.py::test_long[a - b]"], outcome.output
    assert outcome.skipped == 10
    assert 0.05 < outcome.core_seconds < 60


def test_a_piece_has_tests_of_one_file() -> None:
    names = [f"tests/{file}.py::test[{case}]" for file in "ab" for case in range(5)]
    assert [job.cases for job in runner.test_jobs(names, OfTests())] == [4, 1, 4, 1]
    assert len({job.name for job in runner.test_jobs(names, OfTests(piece=1))}) == len(names)


def test_each_test_belongs_to_one_campaign() -> None:
    named = {name: each.test for name, each in runner.OF_TESTS.items() if each.test}
    for test in named.values():
        file, _, function = test.partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        marked = rf"@pytest\.mark\.campaign\n@pytest\.mark\.parametrize\(.*\)\ndef {function}\("
        assert re.search(marked, text)
    of = {name: [f"{test}[{case}]" for case in range(2)] for name, test in named.items()}
    of["tests"] = ["tests/test_it.py::test_long[1]", f"{named['audit']}_at_all"]
    names = [each for found in zip(*of.values(), strict=True) for each in found]
    for name, found in of.items():
        assert runner.names_of(name, names) == found


@pytest.mark.parametrize(
    ("name", "all_cases", "each"), [("kills", KILLS, PART_KILLS), ("cuts", IMAGES, PART_IMAGES)]
)
def test_a_campaign_counts_the_cases_of_its_tests(
    monkeypatch: pytest.MonkeyPatch, name: str, all_cases: int, each: int
) -> None:
    names = [f"{runner.OF_TESTS[name].test}[{part}]" for part in range(all_cases // each)]
    monkeypatch.setattr(runner, "test_names", lambda: names)
    state: dict[str, Progress] = {}
    pieces = runner.prepare(name, 0, state, "one")
    assert sum(job.cases for _, job in pieces) == state[name].asked == all_cases
    assert state[name].whole
    few = runner.prepare(name, 4 * each + 1, state, "one")
    assert [job.cases for _, job in few] == [4 * each, each]
    assert not state[name].whole


@pytest.mark.long
def test_audits_that_were_done_are_not_run_again(
    a_project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no other tests with them."""
    monkeypatch.setattr(runner, "STATE", a_project / "state" / "state.json")
    audit = OfTests("tests/test_it.py::test_long", piece=1)
    monkeypatch.setitem(runner.OF_TESTS, AUDIT, audit)
    state: dict[str, runner.Progress] = {}
    pieces = runner.prepare(AUDIT, 0, state, "one")
    assert [job.cases for _, job in pieces] == [1, 1, 1]
    assert runner.prepare("tests", 0, state, "one") == []
    runner.run_pieces(pieces[:1], state)
    again = runner.load("one")
    assert runner.prepare(AUDIT, 0, again, "one") == pieces[1:]
    assert (again[AUDIT].cases, again[AUDIT].asked) == (1, 3)


def test_a_process_that_dies_has_failed() -> None:
    command = (sys.executable, "-c", "import os; print('said'); os.abort()")
    outcome = runner.run_job(Job("0+2", 2, command))
    assert outcome.failing == ["0+2"]
    assert "said" in outcome.output
    assert "ended with status -6" in outcome.output


def test_what_fails_in_a_campaign_of_seeds_is_named() -> None:
    command = (sys.executable, "-c", "print('failing seed 12'); raise SystemExit(1)")
    assert runner.run_job(Job("0+20", 20, command)).failing == ["12"]
