"""`littled forward`: releases to a webhook as CloudEvents, each at least once and in order."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import ssl
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import aiohttp
import click

from littled.cli.delivered import Delivered, usual_file
from littled.cli.failures import Failure, explained
from littled.cli.options import EXISTING_FILE, DaemonChoice, daemon_options
from littled.cli.output import console, notes
from littled.cli.receivers import Receiver, is_final, receiver, refusal, retry_after
from littled_client.asynchronous import AsyncClient
from littled_client.cloudevents import cloud_event
from littled_client.conversation import newest_version
from littled_client.errors import ChangedStoreError, ClientError
from littled_client.tls import Tls
from littled_client.waits import Waits
from littled_protocol.errors import ProtocolError
from littled_protocol.messages import NAME

# The pause after a failed delivery, doubled each time up to the most; half of it is drawn.
_PAUSE_SECONDS, _PAUSE_SECONDS_MAX = 1.0, 60.0
# How long a request that is under way may take when the program is asked to stop.
_STOP_SECONDS = 5.0
_TIMEOUT_SECONDS, _TIMEOUT_SECONDS_MAX = 30.0, 600.0
_SECRET = click.Path(path_type=Path)  # whose reading says what is wrong with it


@click.command()
@click.argument("learners", metavar="STREAM/LEARNER...", nargs=-1, required=True)
@click.argument("url")
@click.option(
    "--secret-file", type=_SECRET,
    help="File with the key of an HMAC-SHA256 of each body, sent as X-Hub-Signature-256.",
)  # fmt: skip
@click.option(
    "--bearer-file", type=_SECRET, help="File with a token to send as Authorization: Bearer."
)
@click.option(
    "--progress", type=click.Path(dir_okay=False, path_type=Path),
    help="File with the last version of each learner that was delivered; else one of this URL and "
    "store under $XDG_STATE_HOME.",
)  # fmt: skip
@click.option(
    "--timeout", type=click.FloatRange(0, _TIMEOUT_SECONDS_MAX, min_open=True),
    default=_TIMEOUT_SECONDS, show_default=True, metavar="SECONDS",
    help="How long one request may take.",
)  # fmt: skip
@click.option(
    "--url-ca", type=EXISTING_FILE,
    help="Authorities in PEM that vouch for the URL; else those of the system.",
)  # fmt: skip
@click.option("--insecure-http", is_flag=True, help="Allow http:// beyond this machine.")
@daemon_options
def forward(
    learners: Sequence[str],
    url: str,
    secret_file: Path | None,
    bearer_file: Path | None,
    progress: Path | None,
    timeout: float,
    url_ca: Path | None,
    insecure_http: bool,
    daemon: DaemonChoice,
) -> None:
    """Post everything that learners publish to URL, as CloudEvents, until interrupted.

    A release is delivered once URL has answered 2xx, and only then is it written down; so each is
    delivered at least once, and those of one learner in order. Its id is STREAM/LEARNER/VERSION.
    The same command goes on where it stopped. Timeouts, lost connections, 408, 425, 429 and 5xx are
    tried again, for ever; any other answer ends the command with exit status 1.
    """
    to = receiver(url, secret_file, bearer_file, insecure_http=insecure_http)
    with explained(ClientError):
        tls = Tls(ca=url_ca).context()
    forwarding = Forwarding(daemon, to, tls, timeout)
    with explained(ClientError, ProtocolError):
        asyncio.run(until_signal(forwarding.run(list(dict.fromkeys(learners)), progress)))


async def until_signal(work: Coroutine[Any, Any, None]) -> None:
    """Do something until it ends, or SIGINT or SIGTERM does; the second signal acts at once."""
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)

    def stop() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    with suppress(asyncio.CancelledError):
        await task


class Forwarding:
    """Carries releases of one daemon to one receiver."""

    def __init__(
        self, daemon: DaemonChoice, to: Receiver, tls: ssl.SSLContext, timeout: float
    ) -> None:
        """Prepare; nothing is connected yet. timeout: seconds for one request."""
        self._daemon, self._to, self._tls = daemon, to, tls
        self._timeout = aiohttp.ClientTimeout(total=timeout)

    async def run(self, learners: Sequence[str], progress: Path | None) -> None:
        """Forward what these learners publish, until something ends it for good."""
        async with self._client() as client:
            # Unknown learners, and those without rules, are named here.
            newest, instances = {}, set()
            for learner in learners:
                stream = learner.partition("/")[0]
                if not NAME.fullmatch(stream):
                    raise ClientError(f"the daemon has no learner {learner!r}")
                newest[learner] = newest_version(await client.status(stream), learner)
                instances.add(await client.instance_of(stream))
        if len(instances) > 1:
            raise Failure("these learners are in several stores; forward those of each by itself")
        instance = instances.pop()
        name = f"{instance}-{self._to.digest}"
        path = usual_file(name) if progress is None else progress
        with Delivered(path, instance, self._to.digest) as delivered:
            if delivered.forgotten:
                notes().print(
                    f"note: {path} was of another store, or of this one before it was restored; "
                    "everything is sent again"
                )
            for learner in learners:
                delivered.check(learner, newest[learner])
            async with self._session() as session:
                poster = Poster(session, self._to)
                await _all([self._forward(each, instance, delivered, poster) for each in learners])

    async def _forward(
        self, learner: str, instance: str, delivered: Delivered, poster: Poster
    ) -> None:
        """Post releases of one learner, one after the other."""
        # The client of the status is closed: an idle connection would keep a daemon that stops.
        client = self._client()
        async with aclosing(client.subscribe(learner, delivered.version(learner))) as releases:
            async for published in releases:
                if await client.instance_of(learner.partition("/")[0]) != instance:
                    raise ChangedStoreError("the daemon came back with another store; start again")
                event = cloud_event(published, instance)
                body = json.dumps(event, sort_keys=True, ensure_ascii=False).encode()

                def keep(version: int = published.version) -> None:
                    delivered.keep(learner, version)
                    console().print(f"{learner} version {version} delivered")

                await poster.deliver(event["id"], body, keep)

    def _client(self) -> AsyncClient:
        daemon = self._daemon
        waits = Waits(connect_seconds=daemon.wait_seconds)
        return AsyncClient(daemon.addresses, token=daemon.token, waits=waits, tls=daemon.tls)

    def _session(self) -> aiohttp.ClientSession:
        # One request for each learner at the most, so there is no other limit on connections.
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=self._timeout,
            auto_decompress=False,
            headers={"User-Agent": "littled"},
        )


class Poster:
    """Posts bodies until they are taken; when the receiver asks for a pause, all of them wait."""

    def __init__(self, session: aiohttp.ClientSession, to: Receiver) -> None:
        """Post with this session to this receiver."""
        self._session, self._to = session, to
        self._not_before = 0.0

    async def deliver(self, name: str, body: bytes, keep: Callable[[], None]) -> None:
        """Post a body until it is taken, then call `keep`; Failure when it never will be.

        name: of the release, for messages. When this is cancelled, a request that is under way has
        a few seconds to be answered, and is kept if it is.
        """
        loop, pause, told, tries = asyncio.get_running_loop(), _PAUSE_SECONDS, "", 0
        while True:
            # Somebody else's answer may move the time while this waits.
            while (seconds := self._not_before - loop.time()) > 0:  # noqa: ASYNC110
                await asyncio.sleep(seconds)
            attempt = asyncio.ensure_future(self._try(body, keep))
            try:
                trouble = await asyncio.shield(attempt)
            except asyncio.CancelledError:
                await asyncio.wait([attempt], timeout=_STOP_SECONDS)
                attempt.cancel()
                await asyncio.gather(attempt, return_exceptions=True)
                raise
            if not trouble:
                if told:
                    notes().print(f"note: {self._to.name} has taken {name} at try {tries + 1}")
                return
            tries += 1
            if trouble != told:
                notes().print(f"note: {self._to.name} {trouble}; {name} is tried again")
                told = trouble
            await asyncio.sleep(pause * (0.5 + _drawn() / 2))
            pause = min(pause * 2, _PAUSE_SECONDS_MAX)

    async def _try(self, body: bytes, keep: Callable[[], None]) -> str:
        """Post once; return why it has to be tried again, "" when it was taken and kept."""
        headers = self._to.headers(body)
        try:
            async with self._session.post(
                self._to.url, data=body, headers=headers, allow_redirects=False
            ) as answer:
                status, said = answer.status, answer.headers
        except aiohttp.ClientConnectorCertificateError:
            raise Failure(
                f"{self._to.name} shows a certificate that is not trusted: put it right, or name "
                "its authority with --url-ca"
            ) from None
        except aiohttp.InvalidURL:
            raise Failure(f"{self._to.name} is no address that can be asked") from None
        except TimeoutError:
            return "does not answer in time"
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return _lost(error)
        if 200 <= status < 300:
            keep()
            return ""
        if is_final(status):
            raise Failure(refusal(self._to.name, status))
        seconds = retry_after(said)
        if seconds:
            now = asyncio.get_running_loop().time()
            self._not_before = max(self._not_before, now + seconds)
        return f"answers {status}"


def _lost(error: Exception) -> str:
    """Why a request got no answer; nothing of the URL is said."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "has no address that is known"
    if isinstance(error, aiohttp.ClientSSLError):
        return "does not speak TLS as it should"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "cannot be reached"
    return "gives no answer that is whole"


async def _all(works: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Do several things until the first one fails; raise what it failed with."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        await task


_drawn = random.SystemRandom().random
