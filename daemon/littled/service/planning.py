"""What `littled plan` says, for the page's sliders: no data is looked at, and nothing is made.

Planning takes some seconds of a processor, so it is done in a process of its own, one at a time,
and what was planned is kept. Only this machine may ask.
"""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from collections.abc import Mapping
from typing import Final

from littled.limits import PLAN_CPU_SECONDS, PLAN_SECONDS, PLANS_KEPT_MAX, PLANS_WAITING_MAX
from littled.service.http_errors import HttpError

VALUES: Final = {
    "class": re.compile(r"[a-z_]{1,20}(:[0-9a-z]{1,400}){0,3}"),
    "epsilon": re.compile(r"[0-9]{1,6}(\.[0-9]{1,9})?"),
    "delta": re.compile(r"[0-9]{1,3}(\.[0-9]{1,20})?(e-[0-9]{1,2})?"),
    "horizon": re.compile(r"[1-9][0-9]{0,12}"),
}


class PlanError(HttpError):
    """A plan that cannot be made."""


class Plans:
    """Plans as text, made when they are asked for."""

    def __init__(self) -> None:
        """Know of none."""
        self._kept: dict[tuple[str, ...], str] = {}
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def plan(self, asked: Mapping[str, str]) -> str:
        """Return what `littled plan` prints for a class, epsilon, delta and horizon.

        Raises PlanError: 400 for what cannot be planned, or takes too much of the processor, 503
        where others are asking as well, or the machine is so busy that it takes too long.
        """
        key = tuple(_value(asked, name) for name in VALUES)
        if len(asked) != len(VALUES):
            raise PlanError(400, f"a plan is asked for by {', '.join(VALUES)} and nothing else")
        if key not in self._kept:
            if self._waiting >= PLANS_WAITING_MAX:
                raise PlanError(503, "other plans are being made; ask again later")
            self._waiting += 1
            try:
                async with self._turn:
                    if key not in self._kept:
                        self._keep(key, await _planned(key))
            finally:
                self._waiting -= 1
        return self._kept[key]

    def _keep(self, key: tuple[str, ...], text: str) -> None:
        while len(self._kept) >= PLANS_KEPT_MAX:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = text


def _value(asked: Mapping[str, str], name: str) -> str:
    text = asked.get(name, "")
    if not VALUES[name].fullmatch(text):
        raise PlanError(400, f"{name} is missing, or not written as littled plan takes it")
    return text


async def _planned(key: tuple[str, ...]) -> str:
    options = [f"--{name}={value}" for name, value in zip(VALUES, key, strict=True)]
    # at the second limit, which a program cannot handle, the signal is another one
    limits = PLAN_CPU_SECONDS, PLAN_CPU_SECONDS + 1
    limited = f"import os, resource; resource.setrlimit(resource.RLIMIT_CPU, {limits}); os.nice(19)"
    program = f"{limited}; from littled.cli import main; main()"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program, "plan", *options),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PLAN_SECONDS):
            printed, said = await process.communicate()
    except TimeoutError:
        raise PlanError(503, "this machine is too busy to plan; ask again later") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode == -signal.SIGXCPU:
        raise PlanError(400, f"this takes more than {PLAN_CPU_SECONDS} s; use littled plan")
    if process.returncode:
        raise PlanError(400, said.decode(errors="replace").strip().removeprefix("littled: "))
    return printed.decode()
