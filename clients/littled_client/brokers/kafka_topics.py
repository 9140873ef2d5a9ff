"""Topics of Kafka: each partition is a lane, read from an offset of its own.

Which partition is read is said here and not by a group (`assign`), and where by the place; offsets
are never committed. Of transactions of Kafka only those that were committed are read.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from littled_client.brokers.addresses import BrokerAddress, Secrets
from littled_client.brokers.base import (
    BrokerLost,
    Heard,
    Taken,
    imported,
    place_of,
    position_of,
)
from littled_client.errors import SourceError

_ANSWER_SECONDS = 5.0
_SASL = "SCRAM-SHA-256"


class KafkaTopic:
    """A topic of Kafka, or one partition of it; see `Broker`."""

    note = ""

    def __init__(self, address: BrokerAddress, secrets: Secrets) -> None:
        """Prepare; nothing is connected yet."""
        self.name = address.name
        self._kafka = imported("confluent_kafka", "kafka")
        self._address, self._secrets = address, secrets
        self._topic = address.path[0]
        self._partitions: list[int] = []
        self._consumer: Any = None

    def lanes(self) -> Sequence[str]:
        """The numbers of the partitions; raises SourceError for a topic that there is not."""
        consumer = self._connected()
        try:
            topics = consumer.list_topics(self._topic, timeout=_ANSWER_SECONDS).topics
        except self._kafka.KafkaException as error:
            raise self._lost(error.args[0]) from None
        finally:
            consumer.close()
        found = sorted(topics[self._topic].partitions) if self._topic in topics else []
        if len(self._address.path) > 1:
            found = [number for number in found if number == int(self._address.path[1])]
        if not found:
            raise SourceError(f"{self.name} is no topic, or no partition of one")
        self._partitions = found
        return [str(number) for number in found]

    def open(self, places: Sequence[bytes]) -> Sequence[Heard]:
        """Connect, and go to the offset of each partition."""
        self.close()
        consumer = self._consumer = self._connected()
        assigned, heard = [], []
        for number, place in zip(self._partitions, places, strict=True):
            partition = self._kafka.TopicPartition(self._topic, number)
            try:
                low, high = consumer.get_watermark_offsets(partition, timeout=_ANSWER_SECONDS)
            except self._kafka.KafkaException as error:
                raise self._lost(error.args[0]) from None
            offset = self._after(number, place)
            if offset > high:
                raise SourceError(
                    f"partition {number} of {self.name} is not the one that was read before, up to "
                    f"offset {offset - 1}: it was made anew; name another producer with --producer"
                )
            heard.append(Heard(missing=low > offset))
            partition.offset = max(low, offset)
            assigned.append(partition)
        consumer.assign(assigned)
        return heard

    def read(self, most: int, seconds: float) -> list[tuple[int, Taken]]:
        """Return the next messages of all partitions."""
        try:
            found = self._consumer.consume(num_messages=most, timeout=seconds)
        except self._kafka.KafkaException as error:
            raise self._lost(error.args[0]) from None
        taken: list[tuple[int, Taken]] = []
        for message in found:
            problem = message.error()
            if problem is not None:
                # Also what came with it is read again: each place is behind what was sent.
                raise self._lost(problem)
            number, offset = message.partition(), message.offset()
            place = place_of("kafka", self._address.digest, number, offset)
            row = message.value() or b""
            taken.append((self._partitions.index(number), Taken(f"{number}:{offset}", place, row)))
        return taken

    def acknowledge(self, taken: Sequence[Taken]) -> None:
        """Nothing: offsets are kept with the examples alone."""

    def close(self) -> None:
        """Disconnect."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def _after(self, number: int, place: bytes) -> int:
        if not place:
            return 0
        partition, offset = position_of("kafka", self._address.digest, place, self.name, 2)
        if int(partition) != number:
            raise SourceError(f"the producer has fed partition {partition} of {self.name} before")
        return int(offset) + 1

    def _connected(self) -> Any:
        secrets = self._secrets
        protocol = ("SASL_" if secrets.user else "") + ("SSL" if self._address.tls else "PLAINTEXT")
        shown: dict[str, Any] = {"security.protocol": protocol}
        if secrets.user:
            mechanism = self._address.options.get("sasl", _SASL)
            shown |= {"sasl.mechanism": mechanism, "sasl.username": secrets.user}
            shown |= {"sasl.password": secrets.password or ""}
        files = {
            "ssl.ca.location": secrets.ca,
            "ssl.certificate.location": secrets.certificate,
            "ssl.key.location": secrets.key,
        }
        shown |= {name: str(path) for name, path in files.items() if path is not None}
        try:
            return self._kafka.Consumer(
                {
                    "bootstrap.servers": self._address.servers,
                    # Never used, as nothing is committed and partitions are assigned here.
                    "group.id": "littled-feed",
                    "enable.auto.commit": False,
                    "enable.auto.offset.store": False,
                    "isolation.level": "read_committed",
                    "auto.offset.reset": "error",
                    "enable.partition.eof": False,
                    "log_level": 0,
                    "error_cb": lambda _error: None,
                    **shown,
                }
            )
        except self._kafka.KafkaException:
            raise SourceError(
                f"{self.name} cannot be read: the library takes no such mechanism or file"
            ) from None

    def _lost(self, error: Any) -> Exception:
        """What to raise: only what cannot heal by itself is final."""
        codes = self._kafka.KafkaError
        if error.code() in (codes._AUTHENTICATION, codes.SASL_AUTHENTICATION_FAILED):
            return SourceError(f"{self.name} refuses the user or the password")
        if error.code() in (codes.TOPIC_AUTHORIZATION_FAILED, codes.UNKNOWN_TOPIC_OR_PART):
            return SourceError(f"{self.name} is no topic, or may not be read")
        if error.code() in (codes.OFFSET_OUT_OF_RANGE, codes._AUTO_OFFSET_RESET):
            return BrokerLost(f"{self.name} has removed messages meanwhile")
        time.sleep(0.05)
        return BrokerLost(f"{self.name} cannot be reached ({error.name()})")
