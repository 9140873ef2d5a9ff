"""Every message by its name on the wire, in the order of SPEC.md."""

from typing import Final

from littled_protocol.messages import MESSAGE_CLASSES, Message

MESSAGES: Final[dict[str, type[Message]]] = {cls.type_name: cls for cls in MESSAGE_CLASSES}
