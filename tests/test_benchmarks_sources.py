"""The benchmark of sources, on a few messages of each broker."""

from pathlib import Path

from benchmarks.sources import Broker, Nats, Redis, measured
from support.brokers import NatsServer, ValkeyServer, needs_nats, needs_valkey

COUNT = 2500


def see(name: str, broker: Broker) -> None:
    """Measure once, and see that what is said can be."""
    found = measured(name, broker, COUNT, 1)
    assert (found["broker"], found["messages"]) == (name, COUNT)
    rates = [found[f"{kind}_per_second"] for kind in ("bare", "json", "feed")]
    assert all(isinstance(rate, int) and rate > 0 for rate in rates)
    assert found["ratio_to_bare"] == round(rates[2] / rates[0], 2)  # type: ignore[operator]


@needs_nats
def test_messages_of_nats_are_fed_beside_its_client(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    with server.running():
        see("nats", Nats(f"nats://127.0.0.1:{server.port}", "bench"))


@needs_valkey
def test_entries_of_valkey_are_fed_beside_its_client(tmp_path: Path) -> None:
    server = ValkeyServer(tmp_path)
    with server.running():
        server.publish([])
        see("redis", Redis(f"redis://127.0.0.1:{server.port}", "bench"))
