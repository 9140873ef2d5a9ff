"""Streams of brokers as sources of examples: NATS JetStream, Redis and Valkey, Kafka, MQTT.

Each message is one row. A broker is read from a *place* on, and the place behind the last message
that was learned is kept by the daemon with the examples (`Feeder.resume`); what a broker remembers
of its readers is never relied on.
"""

from littled_client.brokers.addresses import BrokerAddress, Secrets, broker_address, is_broker
from littled_client.brokers.base import Broker, BrokerLost, Heard, Taken
from littled_client.brokers.opening import open_broker
from littled_client.brokers.rows import MessageRows

__all__ = [
    "Broker",
    "BrokerAddress",
    "BrokerLost",
    "Heard",
    "MessageRows",
    "Secrets",
    "Taken",
    "broker_address",
    "is_broker",
    "open_broker",
]
