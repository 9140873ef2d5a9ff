"""A member of a group that runs: what becomes of a partition that cannot be served here."""

import asyncio
import io
import json
from pathlib import Path

from littled.groups.agreement import Directory
from littled.groups.membership import Acquired, Ended, Event, Leased, Phase, step
from littled.groups.running import Running, Settings
from littled.service.logs import make_log
from littled.store.etcd_place import MarkInEtcd


def settings() -> Settings:
    """Of a member that never gets as far as its agreement."""
    place = MarkInEtcd.parse("etcd://127.0.0.1:1/group")
    return Settings(place, "m", Directory(("/s",)), 3, lambda _: "address", lambda *_: [])


async def ended(running: Running) -> Event:
    """What comes of a partition that was acquired."""
    running._member, _ = step(running._member, Leased())
    running._member, actions = step(running._member, Acquired(0, 7))
    assert running._member.held[0].phase is Phase.STARTING
    for action in actions:
        await running._do(action)
    async with asyncio.timeout(20):
        return await running._events.get()


async def test_a_daemon_that_cannot_be_prepared_has_ended() -> None:
    """Its socket has a name that is too long, as under a long TMPDIR; or there is no file left."""
    log = io.StringIO()
    running = Running(settings(), make_log("json", log))
    running._folder = Path("/tmp", *["long"] * 30)
    event = await ended(running)
    assert isinstance(event, Ended)
    assert (event.partition, event.status) == (0, 1)
    assert running._daemons == {}
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    (reason,) = [
        each["reason"] for each in lines if each["event"] == "partition cannot be served here"
    ]
    assert reason == "AF_UNIX path too long"
    running._member, _ = step(running._member, event)
    held = running._member.held.get(0)
    assert held is None or held.phase is not Phase.STARTING
