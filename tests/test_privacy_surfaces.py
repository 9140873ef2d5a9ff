"""PRIVACY.md against the code: all that noise is drawn for, and all that leaves the daemon."""

import asyncio
import re
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from littled.engine.quality import quality_facts
from littled.learners.measured import QualitySettings
from littled.mechanisms.noise import Purpose
from littled.service.access import Access, Gate
from littled.service.http import HttpServer
from littled.service.logs import ALLOWED_KEYS
from littled.service.samples import METRICS
from littled_protocol.connection import TRANSITIONS, Role
from littled_protocol.figures import Figure
from littled_protocol.messages import RELEASE_KINDS, Message, Status, StatusRequest
from support.predicting import fed
from support.predictions import STREAM, make_store
from support.serving import serving

TEXT = (Path(__file__).parent.parent / "PRIVACY.md").read_text(encoding="utf-8")
SURFACES = TEXT.partition("## 8.")[2].partition("## 9.")[0]


def names(cell: str) -> set[str]:
    """What stands in backticks in a cell of a table."""
    return set(re.findall(r"`([^`]+)`", cell))


def said(where: str) -> set[str]:
    """What the rows say, together, whose first cell is this."""
    cells = [
        line.split("|")[2] for line in SURFACES.splitlines() if line.startswith(f"| {where} |")
    ]
    assert cells, where
    return set().union(*map(names, cells))


def test_each_purpose_of_noise_has_a_row() -> None:
    table = TEXT.partition("| purpose | what it decides |")[2].partition("\n\n")[0]
    listed = [name for line in table.splitlines() for name in names((line + "||").split("|")[1])]
    assert sorted(listed) == sorted(get_args(Purpose))


def test_each_message_that_a_daemon_sends_has_a_row_with_all_its_fields() -> None:
    written = {
        name: names(line.split("|")[2])
        for line in SURFACES.splitlines()
        if line.startswith("| message")
        for name in names(line.split("|")[1])
    }
    by_name = {kind.type_name: kind for kind in Message.__subclasses__()}
    sent = {name for sender, _, name in TRANSITIONS if sender is Role.SERVER}
    assert written == {name: {each.name for each in fields(by_name[name])} for name in sent}
    assert said("releases' `kind`") == RELEASE_KINDS


def test_each_fact_of_a_status_has_a_row(tmp_path: Path) -> None:
    """Of a daemon whose one stream has learners of both kinds, and a window that is full."""
    with serving(make_store(tmp_path / "store")) as daemon, fed(daemon) as peer:
        peer.send(StatusRequest())
        answer = peer.receive()
        assert isinstance(answer, Status)
    stream = answer.body["streams"][STREAM]
    assert said("status") == set(answer.body)
    sometimes = {"user_examples_max", "restores", "closed", "x_greatest"}
    assert said("status of a stream, where it applies") == sometimes
    assert said("status of a stream") == set(stream) - sometimes
    assert said("status of a learner of rules") == set(stream["learners"]["late"])
    assert said("`next_call`, while calls are left") == set(stream["learners"]["late"]["next_call"])
    assert said("status of a learner of answers") == set(stream["learners"]["near"])


def test_each_fact_of_a_figure_has_a_row() -> None:
    settings = QualitySettings(Fraction(1, 10), 100, 3)
    figure = Figure(1, 0, 0, 100, 1, 2, 9)
    before = set(quality_facts(settings, None, 0, 0))
    after = set(quality_facts(settings, figure, 0, 100))
    of_users = set(quality_facts(settings, replace(figure, right=80), 0, 100))
    assert said("status of a learner that is measured, besides") == {"quality"}
    assert said("`quality`") == before
    assert said("`quality`, after the first figure") == after - before
    assert said("`quality`, where users are protected") == of_users - after


def test_each_metric_and_each_key_of_a_log_line_has_a_row() -> None:
    assert said("metrics") == set(METRICS)
    assert said("keys of log lines") == ALLOWED_KEYS


def test_each_page_has_a_row() -> None:
    async def paths() -> set[str]:
        surface: Any = None  # no page is asked for
        application = HttpServer(surface, Gate(Access()), "littled/test").application
        return {each.canonical for each in application.router.resources()}

    assert said("HTTP") == asyncio.run(paths())
