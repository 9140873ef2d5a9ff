"""What is shipped for Prometheus and Grafana: known metrics, alerts that fire, a real scrape."""

from __future__ import annotations

import json
import math
import re
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from littled.classes.names import class_from_name
from littled.planner import OnlineRequest, StreamRequest, plan_stream
from littled.planner.prediction.request import PredictionRequest
from littled.service.samples import METRICS
from littled.store.store import Store
from support.serving import Peer, Serving, make_store, serving

pytestmark = pytest.mark.long

FOLDER = Path(str(files("littled"))) / "monitoring"
ALERTS = FOLDER / "alerts.yml"
PROMTOOL, PROMETHEUS = shutil.which("promtool"), shutil.which("prometheus")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
needs_prometheus = pytest.mark.skipif(PROMETHEUS is None, reason="prometheus is not installed")
NAMES = {f"{name}_total" if entry.kind == "counter" else name for name, entry in METRICS.items()}
WAIT_SECONDS = 40.0


def promtool(*arguments: object) -> str:
    done = subprocess.run(
        [str(PROMTOOL), *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def dashboard_queries() -> list[str]:
    """Every query of the dashboard, for all daemons."""
    board = json.loads((FOLDER / "dashboard.json").read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    return [query.replace("$instance", ".*") for query in queries]


def test_queries_name_metrics_that_there_are() -> None:
    for text in (ALERTS.read_text(), *dashboard_queries()):
        assert set(re.findall(r"littled_[a-z_]+", text)) <= NAMES
        assert "littled_" in text


def test_panels_do_not_overlap_and_say_what_they_show() -> None:
    board = json.loads((FOLDER / "dashboard.json").read_text())
    taken = set[tuple[int, int]]()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken
        taken |= cells
        assert panel["title"]
        assert panel["description"]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


@needs_promtool
def test_rules_and_queries_are_read_by_prometheus(tmp_path: Path) -> None:
    promtool("check", "rules", ALERTS)
    for name in ("alerts.yml", "prometheus.yml"):
        shutil.copy(FOLDER / name, tmp_path)
    promtool("check", "config", tmp_path / "prometheus.yml")
    rules = [{"record": f"q{index}", "expr": one} for index, one in enumerate(dashboard_queries())]
    group = {"groups": [{"name": "dashboard", "rules": rules}]}
    (tmp_path / "queries.yml").write_text(json.dumps(group))
    promtool("check", "rules", tmp_path / "queries.yml")


# For each alert: values of series, minute by minute, with which it fires, and others where not.
FIRES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "LittledDown": (
        {'up{job="littled", instance="a"}': "0x30"},
        {'up{job="littled", instance="a"}': "1x30", 'up{job="other", instance="a"}': "0x30"},
    ),
    "LittledNotCommitting": (
        {'littled_healthy{instance="a"}': "1 0x30"},
        {'littled_healthy{instance="a"}': "1x30"},
    ),
    "LittledNoAcknowledgement": (
        {
            'littled_received_bytes_total{instance="a"}': "0+200000x30",
            'littled_stream_position{instance="a", stream="s"}': "7x30",
            'littled_stream_position{instance="a", stream="t"}': "0x30",
        },
        {
            'littled_received_bytes_total{instance="a"}': "0+200000x30",
            'littled_stream_position{instance="a", stream="s"}': "7x30",
            'littled_stream_position{instance="a", stream="t"}': "0+1x30",
        },
    ),
    "LittledBudgetLow": (
        {
            'littled_stream_epsilon{instance="a", stream="s"}': "1x30",
            'littled_stream_epsilon_prepaid{instance="a", stream="s"}': "0.5x30",
            'littled_stream_epsilon_spent{instance="a", stream="s"}': "0.91x30",
        },
        {
            'littled_stream_epsilon{instance="a", stream="s"}': "1x30",
            'littled_stream_epsilon_prepaid{instance="a", stream="s"}': "0.5x30",
            'littled_stream_epsilon_spent{instance="a", stream="s"}': "0.89x30",
            'littled_stream_epsilon{instance="a", stream="paid"}': "1x30",
            'littled_stream_epsilon_prepaid{instance="a", stream="paid"}': "0.999x30",
            'littled_stream_epsilon_spent{instance="a", stream="paid"}': "0.999x30",
        },
    ),
    "LittledLearnerHalted": (
        {'littled_learner_halted{instance="a", learner="s/l"}': "0 1x30"},
        {'littled_learner_halted{instance="a", learner="s/l"}': "0x30"},
    ),
    "LittledAnswersLow": (
        {
            'littled_window_answers_left{instance="a", learner="s/l"}': "19x30",
            'littled_window_answers_given{instance="a", learner="s/l"}': "81x30",
        },
        {
            'littled_window_answers_left{instance="a", learner="s/l"}': "20x30",
            'littled_window_answers_given{instance="a", learner="s/l"}': "80x30",
        },
    ),
}


def test_every_alert_is_tried_and_explained() -> None:
    names = re.findall(r"alert: (\w+)", ALERTS.read_text())
    assert sorted(names) == sorted(FIRES)
    page = (Path(__file__).parent.parent / "docs" / "monitoring.md").read_text()
    assert all(f"`{name}`" in page for name in names)


@needs_promtool
def test_alerts_fire_where_they_should_and_nowhere_else(tmp_path: Path) -> None:
    """As promtool works them out, 20 minutes on; which series they are about, and not the texts."""
    tests = []
    for name, cases in FIRES.items():
        for fires, series in zip((True, False), cases, strict=True):
            given = [{"series": one, "values": values} for one, values in series.items()]
            query = f'count(ALERTS{{alertname="{name}", alertstate="firing"}}) or vector(0)'
            wanted = {"expr": query, "eval_time": "20m"}
            samples = [{"labels": "{}", "value": int(fires)}]
            tests.append(
                {
                    "interval": "1m",
                    "input_series": given,
                    "promql_expr_test": [{**wanted, "exp_samples": samples}],
                }
            )
    shutil.copy(ALERTS, tmp_path)
    path = tmp_path / "test.yml"
    path.write_text(json.dumps({"rule_files": ["alerts.yml"], "tests": tests}))
    assert "SUCCESS" in promtool("test", "rules", path)


def query(port: int, path: str, **asked: str) -> Any:
    """The data of an answer of Prometheus."""
    url = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(asked)}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.loads(answer.read())["data"]


def until(wanted: str, port: int, path: str, **asked: str) -> Any:
    """The same once the text of the data has something."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            found = query(port, path, **asked)
            if wanted in json.dumps(found):
                return found
        except OSError:  # it has not begun to listen
            found = None
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


@contextmanager
def scraped(daemon: Serving, folder: Path) -> Iterator[int]:
    """A real Prometheus that scrapes the daemon, with the shipped configuration; its port."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    text = (FOLDER / "prometheus.yml").read_text()
    address = ":".join(map(str, daemon.address("http")))
    text = text.replace("127.0.0.1:8790", address).replace("interval: 15s", "interval: 200ms")
    text = f"global: {{evaluation_interval: 200ms, scrape_timeout: 200ms}}\n{text}"
    (folder / "prometheus.yml").write_text(text)
    shutil.copy(ALERTS, folder)
    command = [
        str(PROMETHEUS), f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}",
    ]  # fmt: skip
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        until('"1"', port, "query", query='up{job="littled"}')
        yield port
    finally:
        server.terminate()
        server.wait(20)


@needs_prometheus
def test_a_real_prometheus_scrapes_a_daemon(tmp_path: Path) -> None:
    with serving(make_store(tmp_path / "store"), http=["127.0.0.1", 0]) as daemon:
        with scraped(daemon, tmp_path) as port:
            found = query(port, "query", query='up{job="littled"}')
            address = ":".join(map(str, daemon.address("http")))
            assert found["result"][0]["metric"]["instance"] == address
            found = until("flights", port, "query", query="littled_learner_calls_left")
            assert {one["metric"]["learner"] for one in found["result"]} >= {"flights/late"}
            (target,) = until('"up"', port, "targets")["activeTargets"]
            assert (target["health"], target["lastError"]) == ("up", "")
            (group,) = until('"ok"', port, "rules")["groups"]
            assert {rule["health"] for rule in group["rules"]} <= {"ok", "unknown"}
            assert {rule["state"] for rule in group["rules"]} == {"inactive"}
        assert daemon.stop() == 0


def seen_everything(path: Path) -> Path:
    """A new store whose daemon has a figure for every panel: calls, answers, how good rules are.

    One stream is paid for beforehand, so that there is nothing that calls may still spend.
    """
    thresholds = class_from_name("thresholds:8")
    amounts = Fraction(10), Fraction(1, 10**6), 10_000
    told = OnlineRequest("late", thresholds, selection="dense")
    plans = [
        StreamRequest("flights", *amounts, (told,), quality=Fraction(1, 2)),
        StreamRequest("paid", *amounts, (OnlineRequest("late", thresholds, nothing_told=True),)),
        StreamRequest("asked", *amounts, (PredictionRequest("ask", thresholds, 1000),)),
    ]
    made = {each.name: plan_stream(each).to_dict() for each in plans}
    Store.create(path, {"streams": sorted(made)}, made)
    return path


@needs_prometheus
def test_every_panel_shows_something_of_a_daemon(tmp_path: Path) -> None:
    """Each query has series with numbers, and the labels that its legend names."""
    board = json.loads((FOLDER / "dashboard.json").read_text())
    with serving(seen_everything(tmp_path / "store"), http=["127.0.0.1", 0]) as daemon:
        for stream in ("flights", "asked"):
            with Peer.greet(daemon.unix) as peer:
                peer.open(stream, "p")
                peer.feed(0, bytes(range(8)) * 500, bytes([0, 0, 0, 1, 1, 1, 1, 1]) * 500)
                peer.acknowledged(4000)
        with Peer.greet(daemon.unix) as wrong, scraped(daemon, tmp_path) as port:
            wrong.write(b"\0\0\0\1\xc1")
            wrong.error()
            (name,) = query(port, "label/instance/values", **{"match[]": "littled_healthy"})
            # as Grafana puts the value of a variable into a text of PromQL
            escaped = re.escape(name).replace("\\", "\\\\")
            for panel in board["panels"]:
                for target in panel["targets"]:
                    asked = target["expr"].replace("$instance", escaped)
                    found = until('"value"', port, "query", query=asked)["result"]
                    labels = re.findall(r"{{(\w+)}}", target["legendFormat"])
                    for series in found:
                        assert set(labels) <= series["metric"].keys(), panel["title"]
                        assert math.isfinite(float(series["value"][1])), panel["title"]


# -- Grafana ---------------------------------------------------------------------------------------


def unlike(ours: Any, theirs: Any, place: str = "") -> Iterator[str]:
    """Where a value of ours is not in theirs, or is another one."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            if key in theirs:
                yield from unlike(value, theirs[key], f"{place}/{key}")
            else:
                yield f"{place}/{key}"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from unlike(*pair, f"{place}/{number}")
    elif ours != theirs:
        yield place


def as_grafana_reads_it(board: Any) -> Any:
    """The dashboard read into Grafana's own types, and written again."""
    plugins.register_default_plugins()
    return json.loads(JSONEncoder().encode(Dashboard.from_json(board)))


def test_grafanas_own_types_know_every_key_of_the_dashboard() -> None:
    board = json.loads((FOLDER / "dashboard.json").read_text())
    assert list(unlike(board, as_grafana_reads_it(board))) == []
    board["panels"][4]["fieldConfig"]["defaults"]["units"] = "s"
    board["panels"][4]["targets"][0]["legend"] = "x"
    assert list(unlike(board, as_grafana_reads_it(board))) == [
        "/panels/4/targets/0/legend",
        "/panels/4/fieldConfig/defaults/units",
    ]
