"""From an address to what reads there."""

from __future__ import annotations

from littled_client.brokers.addresses import BrokerAddress, Secrets
from littled_client.brokers.base import Broker
from littled_client.brokers.jetstream import JetStream
from littled_client.brokers.kafka_topics import KafkaTopic
from littled_client.brokers.mqtt_topics import MqttTopic
from littled_client.brokers.redis_streams import RedisStream


def open_broker(address: BrokerAddress, secrets: Secrets, producer: str) -> Broker:
    """Return what reads at an address; nothing is connected yet.

    producer: the name by which a broker knows the reader, where it has to. Raises SourceError when
    the package for it is not installed.
    """
    if address.kind == "nats":
        return JetStream(address, secrets)
    if address.kind == "redis":
        return RedisStream(address, secrets)
    if address.kind == "kafka":
        return KafkaTopic(address, secrets)
    return MqttTopic(address, secrets, producer)
