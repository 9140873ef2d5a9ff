"""Messages to bytes and back. A payload is exactly one msgpack map; a frame is its length and it.

Every payload is scanned before it is decoded: nesting, number of maps, lists and values, floats,
extension types and truncation are judged on the bytes alone, so a hostile frame costs one pass and
no objects. After that msgpack decodes it with every limit set, and whatever goes wrong is one
ProtocolError.

Encoding is deterministic: fields in declared order, integers in their shortest form, except in
acknowledgements, which all have one length.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import msgpack

from littled_protocol import limits
from littled_protocol.errors import ErrorCode, ProtocolError
from littled_protocol.messages import (
    Ack,
    Examples,
    Message,
    Predict,
    Release,
    Status,
    fields_of,
    message_from_fields,
)

_PREFIX: Final = struct.Struct(">I")
_PAYLOAD_BYTES_MAX: Final = limits.frame_bytes_max - limits.frame_prefix_bytes
# Messages with maps that some other program part filled: these are scanned before they are sent.
_OPEN_ENDED: Final = (Release, Status)

# The length of what follows; a map of 4, then keys and values with every integer as uint64 (0xcf).
_ACK_FRAME: Final = struct.Struct(">I19sQ15sQ10sQ")
_ACK_BYTES: Final = _ACK_FRAME.size - _PREFIX.size
_ACK_CHANNEL: Final = b"\x84\xa4type\xa3ack\xa7channel\xcf"
_ACK_NEXT_SEQUENCE: Final = b"\xadnext_sequence\xcf"
_ACK_POSITION: Final = b"\xa8position\xcf"

# --- Scan -----------------------------------------------------------------------------------------

_FIXMAP, _FIXARRAY, _FIXSTR = range(0x80, 0x90), range(0x90, 0xA0), range(0xA0, 0xC0)
_BIN8, _FLOAT32, _FLOAT64, _NEVER_USED = 0xC4, 0xCA, 0xCB, 0xC1
_EXTENSIONS: Final = frozenset((*range(0xC7, 0xCA), *range(0xD4, 0xD9)))
# Tag -> bytes of the length that follows, for binaries and strings, lists, maps.
_SIZED: Final = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
_LISTS: Final = {0xDC: 2, 0xDD: 4}
_MAPS: Final = {0xDE: 2, 0xDF: 4}


def _steps() -> tuple[int, ...]:
    """Return, for every tag, the whole length of a value that the tag alone determines, else 0."""
    steps = [1] * 256
    for tag in (*_FIXMAP, *_FIXARRAY, _NEVER_USED, *_EXTENSIONS, *_SIZED, *_LISTS, *_MAPS):
        steps[tag] = 0
    for tag in _FIXSTR:
        steps[tag] = 1 + (tag & 0x1F)
    for width, tags in {2: (0xCC, 0xD0), 3: (0xCD, 0xD1), 5: (0xCE, 0xD2), 9: (0xCF, 0xD3)}.items():
        for tag in tags:
            steps[tag] = width
    steps[_FLOAT32] = steps[_FLOAT64] = 0
    return tuple(steps)


_STEPS: Final = _steps()


def _malformed(sentence: str) -> ProtocolError:
    return ProtocolError(ErrorCode.MALFORMED_FRAME, sentence)


def scan(
    payload: bytes | bytearray, maps_max: int = limits.frame_containers_max
) -> tuple[int, int]:
    """Judge a payload by its bytes alone, in one pass and constant memory.

    Returns how many maps and lists it holds, and how many values, map keys included.

    Raises ProtocolError: malformed_frame unless it is exactly one whole map without extension
    types, NaN and infinities; depth_exceeded; limit_exceeded for too many values, maps and lists,
    also for more than `maps_max` maps.
    """
    end = len(payload)
    if not end or not (payload[0] in _FIXMAP or payload[0] in _MAPS):
        raise _malformed("a payload needs to be a map")
    position, left, elements, containers, maps = 0, 1, 0, 0, 0
    outer: list[int] = []
    steps = _STEPS
    try:
        while True:
            while left:
                left -= 1
                tag = payload[position]
                step = steps[tag]
                if step:
                    position += step
                    continue
                if tag == _BIN8:  # the columns of small batches
                    position += 2 + payload[position + 1]
                    continue
                step, items = _unfixed(payload, position, tag)
                position += step
                if items is None:
                    continue
                containers += 1
                elements += items
                if tag in _FIXMAP or tag in _MAPS:
                    maps += 1
                    if maps > maps_max:
                        raise _too_many("maps", maps_max)
                if items > end - position:
                    raise _malformed("a payload ends inside a value")
                outer.append(left)
                _check_counts(len(outer), containers, elements)
                left = items
            if not outer:
                break
            left = outer.pop()
    except IndexError:
        raise _malformed("a payload ends inside a value") from None
    if position != end:
        raise _malformed("a payload needs to be one whole map and nothing after it")
    return containers, elements


def has_more_values(data: bytes | bytearray, start: int, end: int, values: int) -> bool:
    """Whether the payload from `start` to `end` holds more than so many values, maps and lists.

    False also where it is wrong before that many; no more of it is looked at.
    """
    position, due = start, 1
    try:
        for _ in range(values):
            if not due or position >= end:
                return False
            tag = data[position]
            step, items = _STEPS[tag], None
            if not step:
                step, items = _unfixed(data, position, tag)
            position += step
            due += (items or 0) - 1
    except (IndexError, ProtocolError):
        return False
    return due > 0 and position < end


def _check_counts(depth: int, containers: int, elements: int) -> None:
    if depth > limits.frame_depth_max:
        raise ProtocolError(ErrorCode.DEPTH_EXCEEDED)
    if containers > limits.frame_containers_max:
        raise _too_many("maps and lists", limits.frame_containers_max)
    if elements > limits.frame_elements_max:
        raise _too_many("values", limits.frame_elements_max)


def _too_many(what: str, most: int) -> ProtocolError:
    return ProtocolError(ErrorCode.LIMIT_EXCEEDED, f"a frame may hold at most {most} {what}")


def _unfixed(payload: bytes | bytearray, position: int, tag: int) -> tuple[int, int | None]:
    """Return how far to step and, for a map or list, how many values belong to it."""
    if tag in _FIXMAP:
        return 1, 2 * (tag & 0x0F)
    if tag in _FIXARRAY:
        return 1, tag & 0x0F
    if (width := _SIZED.get(tag)) is not None:
        return 1 + width + _number(payload, position, width), None
    if (width := _LISTS.get(tag)) is not None:
        items = _number(payload, position, width)
        if items > limits.list_examples_max:
            raise _too_many("values in one list", limits.list_examples_max)
        return 1 + width, items
    if (width := _MAPS.get(tag)) is not None:
        keys = _number(payload, position, width)
        if keys > limits.map_keys_max:
            raise _too_many("keys in one map", limits.map_keys_max)
        return 1 + width, 2 * keys
    if tag in _EXTENSIONS:
        raise _malformed("extension types are not used")
    if tag == _NEVER_USED:
        raise _malformed("a payload holds a byte that msgpack does not use")
    return _finite(payload, position, tag), None


def _number(payload: bytes | bytearray, position: int, width: int) -> int:
    """Return the big-endian length after a tag; IndexError when it is cut off."""
    digits = payload[position + 1 : position + 1 + width]
    if len(digits) < width:
        raise IndexError
    return int.from_bytes(digits, "big")


def _finite(payload: bytes | bytearray, position: int, tag: int) -> int:
    """Return the length of a float; refuse one whose exponent says NaN or infinity."""
    first, second = payload[position + 1] & 0x7F, payload[position + 2]
    exponent_rest = 0x80 if tag == _FLOAT32 else 0xF0
    if first == 0x7F and second & exponent_rest == exponent_rest:
        raise _malformed("numbers need to be finite")
    return 5 if tag == _FLOAT32 else 9


# --- Decode ---------------------------------------------------------------------------------------


def _map(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    """Return a map's pairs as a dict; refuse duplicate keys and keys that are not text."""
    values = dict(pairs)
    if len(values) != len(pairs):
        raise _malformed("a map holds a key twice")
    try:
        "".join(values)
    except TypeError:
        raise _malformed("the keys of a map need to be text") from None
    return values


_unpack: Final = partial(
    msgpack.unpackb,
    raw=False,
    use_list=True,
    strict_map_key=True,
    unicode_errors="strict",
    object_pairs_hook=_map,
    max_str_len=limits.frame_bytes_max,
    max_bin_len=limits.frame_bytes_max,
    max_array_len=limits.list_examples_max,
    max_map_len=limits.map_keys_max,
    max_ext_len=0,
)


# The usual form of examples, as `encode` writes it, up to the column x; then y, and users if any.
_NUMBER: Final = rb"([\x00-\x7f]|\xcc.|\xcd..|\xce.{4}|\xcf.{8})"
_BINARY: Final = rb"(\xc4.|\xc5..|\xc6.{4})"
_EXAMPLES: Final = re.compile(
    rb"([\x86\x87])\xa4type\xa8examples\xa7channel%b\xa8sequence%b\xa5count%b\xa1x%b"
    % (_NUMBER, _NUMBER, _NUMBER, _BINARY),
    re.DOTALL,
)
_LABELS: Final = re.compile(rb"\xa1y%b" % _BINARY, re.DOTALL)
_USERS: Final = re.compile(rb"\xa5users%b" % _BINARY, re.DOTALL)
_WITH_USERS: Final = b"\x87"
_SEQUENCE: Final = 3  # its group in _EXAMPLES
# What a map or a list costs to scan and decode, in values.
_CONTAINER_VALUES: Final = 8
# Longer payloads are not compared with the last one: their columns cost more than their fields.
_LIKENESS_BYTES_MAX: Final = 4096


class UsualForm(NamedTuple):
    """Where the fields of an examples payload in the usual form stand in the bytes around it.

    All but the first three are offsets. examples: the field `count`. number_start: of the sequence
    number without its tag. users_start: of the column of users; None without one.
    """

    channel: int
    sequence: int
    examples: int
    number_start: int
    number_end: int
    x_start: int
    x_end: int
    y_start: int
    y_end: int
    users_start: int | None
    end: int


def usual_form(data: bytes | bytearray, start: int = 0) -> UsualForm | None:
    """Return where the fields of the payload that begins at `start` would stand.

    None for any payload that does not begin like examples in the usual form. The columns may reach
    beyond the end of `data`, and no field is checked.
    """
    head = _EXAMPLES.match(data, start)
    if head is None:
        return None
    fields, channel, sequence, count, x_length = head.groups()
    x_start = head.end()
    x_end = x_start + _tagged(x_length)
    middle = _LABELS.match(data, x_end)
    if middle is None:
        return None
    y_start = middle.end()
    y_end = end = y_start + _tagged(middle[1])
    users_start: int | None = None
    if fields == _WITH_USERS:
        last = _USERS.match(data, y_end)
        if last is None:
            return None
        users_start = last.end()
        end = users_start + _tagged(last[1])
    number_end = head.end(_SEQUENCE)
    number_start = number_end - max(1, len(sequence) - 1)
    return UsualForm(
        _tagged(channel),
        _tagged(sequence),
        _tagged(count),
        number_start,
        number_end,
        x_start,
        x_end,
        y_start,
        y_end,
        users_start,
        end,
    )


def _decode_examples(payload: bytes | bytearray) -> Examples | None:
    """Return the message of a payload in the usual form of examples, in half the general time.

    None for any other payload, right or wrong. Raises ProtocolError for wrong fields.
    """
    form = usual_form(payload)
    return None if form is None else _examples_at(form, payload)


def _examples_at(form: UsualForm, payload: bytes | bytearray) -> Examples | None:
    """Return the message of a payload whose fields would stand there; None if it ends elsewhere."""
    if form.end != len(payload):
        return None
    return Examples(
        form.channel,
        form.sequence,
        form.examples,
        bytes(payload[form.x_start : form.x_end]),
        bytes(payload[form.y_start : form.y_end]),
        None if form.users_start is None else bytes(payload[form.users_start :]),
    )


def _tagged(number: bytes) -> int:
    """Return an unsigned number: one byte, or what follows a tag."""
    return number[0] if len(number) == 1 else int.from_bytes(number[1:], "big")


@dataclass(slots=True)
class Likeness:
    """What stood around the number and the columns of a peer's last examples.

    Who waits for each acknowledgement sends the same bytes around each example. To find them equal
    and decode the rest takes 60 % of the time of `decode`. Users are looked for every time.
    """

    # Most maps of a payload that is not in the usual form.
    maps_max: int = limits.frame_containers_max
    # What was looked at one by one so far, as `decode_counted` counts it.
    values: int = 0
    # None until there were examples that can be a pattern.
    _form: UsualForm | None = None
    _fixed: tuple[bytes, bytes, bytes] = (b"", b"", b"")

    def decode(
        self, payload: bytes | bytearray, forbidden: frozenset[str] = frozenset()
    ) -> Message:
        """Return what the function `decode` would, and raise what it would."""
        if Examples.type_name in forbidden:
            return self._decode(payload, forbidden)
        form = self._form
        if form is not None and len(payload) == form.end:
            before, middle, between = self._fixed
            _, _, _, number, number_end, x, x_end, y, _, _, _ = form
            if (
                payload[:number] == before
                and payload[number_end:x] == middle
                and payload[x_end:y] == between
            ):
                return Examples(
                    form.channel,
                    int.from_bytes(payload[number:number_end], "big"),
                    form.examples,
                    bytes(payload[x:x_end]),
                    bytes(payload[y:]),
                )
        return self._look(payload, forbidden)

    def _look(self, payload: bytes | bytearray, forbidden: frozenset[str]) -> Message:
        """Look for the fields, and remember what stands around them."""
        form = usual_form(payload) if len(payload) <= _LIKENESS_BYTES_MAX else None
        examples = None if form is None else _examples_at(form, payload)
        if form is None or examples is None:
            return self._decode(payload, forbidden)
        before = bytes(payload[: form.number_start])
        # A number that is its own tag is no pattern: another byte in its place may be a longer one.
        is_pattern = form.users_start is None and not before.endswith(b"sequence")
        self._form = form if is_pattern else None
        self._fixed = (
            before,
            bytes(payload[form.number_end : form.x_start]),
            bytes(payload[form.x_end : form.y_start]),
        )
        return examples

    def _decode(self, payload: bytes | bytearray, forbidden: frozenset[str]) -> Message:
        message, values = decode_counted(payload, forbidden, self.maps_max)
        self.values += values
        return message


def decode(payload: bytes | bytearray, forbidden: frozenset[str] = frozenset()) -> Message:
    """Return the message of one payload (a frame without its prefix).

    forbidden: types of messages of which nothing but the type is looked at. Raises ProtocolError,
    and nothing else, for any bytes that are not exactly one message, and for these.
    """
    return decode_counted(payload, forbidden)[0]


def decode_counted(
    payload: bytes | bytearray,
    forbidden: frozenset[str] = frozenset(),
    maps_max: int = limits.frame_containers_max,
) -> tuple[Message, int]:
    """Return what `decode` does, and how many values were looked at one by one.

    Map keys are counted as well, and maps and lists eightfold; in the usual form of examples there
    are none. maps_max: how many maps any other payload may hold. Raises what `decode` does.
    """
    if len(payload) > _PAYLOAD_BYTES_MAX:
        raise ProtocolError(ErrorCode.FRAME_TOO_LARGE)
    examples = None if Examples.type_name in forbidden else _decode_examples(payload)
    return _decode_any(payload, forbidden, maps_max) if examples is None else (examples, 0)


def _decode_any(
    payload: bytes | bytearray,
    forbidden: frozenset[str] = frozenset(),
    maps_max: int = limits.frame_containers_max,
) -> tuple[Message, int]:
    """Do the same for any payload: scan, unpack, build."""
    containers, elements = scan(payload, maps_max)
    try:
        values = _unpack(payload)
    except ProtocolError:
        raise
    except Exception:  # noqa: BLE001 - msgpack fails in many ways; its text may quote the payload
        raise _malformed("a payload is not valid msgpack") from None
    name = values.get("type")
    if isinstance(name, str) and name in forbidden:
        raise ProtocolError(ErrorCode.FORBIDDEN)
    return message_from_fields(values), elements + _CONTAINER_VALUES * containers


# --- Encode ---------------------------------------------------------------------------------------

_pack: Final = partial(msgpack.packb, use_bin_type=True, unicode_errors="strict")


def encode(message: Message) -> bytes:
    """Return the payload of a message, always the same for equal messages.

    Raises ProtocolError when no peer could decode it: frame_too_large, malformed_frame, or what
    `scan` finds in lists of points and labels and in the maps of a release or a status.
    """
    if type(message) is Ack:
        return _ack_frame(message)[_PREFIX.size :]
    try:
        payload: bytes = _pack(_map_of(message))
    except Exception:  # noqa: BLE001 - msgpack fails in many ways; its text may quote the values
        raise _malformed(f"{message.type_name} holds a value that msgpack cannot carry") from None
    if len(payload) > _PAYLOAD_BYTES_MAX:
        raise ProtocolError(ErrorCode.FRAME_TOO_LARGE)
    if isinstance(message, _OPEN_ENDED) or _has_list(message):
        scan(payload)
    return payload


class StatusPart(NamedTuple):
    """What a status tells of one stream, encoded: kept, it is a part of many statuses.

    data: the stream's name and its facts. containers, elements: as `scan` counts them.
    """

    data: bytes
    containers: int
    elements: int


def status_part(stream: str, facts: Mapping[str, Any]) -> StatusPart:
    """Encode what a status tells of a stream. ProtocolError when no peer could decode it."""
    payload = encode(Status({"streams": {stream: facts}}))
    containers, elements = scan(payload)
    outside = scan(_STATUS_OUTSIDE)
    data = payload[len(_STATUS_OUTSIDE) :]
    return StatusPart(data, containers - outside[0], elements - outside[1])


def encode_status(head: Mapping[str, Any], parts: Sequence[StatusPart]) -> bytes:
    """The payload of a status whose body is `head`, and then `streams` made of these parts.

    The same bytes as those of `encode`. ProtocolError when no peer could decode it.
    """
    outside = encode(Status({**head, "streams": {}}))
    containers, elements = scan(outside)
    _check_counts(
        0,
        containers + sum(part.containers for part in parts),
        elements + sum(part.elements for part in parts),
    )
    if len(parts) > limits.map_keys_max:
        raise _too_many("keys in a map", limits.map_keys_max)
    header = _PACKER.pack_map_header(len(parts))
    payload = b"".join([outside[:-1], header, *[part.data for part in parts]])
    if len(payload) > _PAYLOAD_BYTES_MAX:
        raise ProtocolError(ErrorCode.FRAME_TOO_LARGE)
    return payload


def _has_list(message: Message) -> bool:
    """Return whether points or labels come as a plain list, whose values nobody has looked at."""
    if type(message) is Examples:
        return type(message.x) is list or type(message.y) is list
    return type(message) is Predict and type(message.x) is list


def _map_of(message: Message) -> dict[str, Any]:
    """Return `fields_of(message)`, quickly for examples."""
    if type(message) is not Examples:
        return fields_of(message)
    values = {
        "type": "examples",
        "channel": message.channel,
        "sequence": message.sequence,
        "count": message.count,
        "x": message.x,
        "y": message.y,
    }
    if message.users is not None:
        values["users"] = message.users
    if message.resume is not None:
        values["resume"] = message.resume
    return values


# What stands before the part of a single stream in the status that tells of nothing else.
_PACKER: Final = msgpack.Packer(autoreset=True)
_STATUS_OUTSIDE: Final = encode(Status({"streams": {}}))


def frame(payload: bytes) -> bytes:
    """Return the frame of a payload: its length as 4 bytes, big-endian, and the payload."""
    return _PREFIX.pack(len(payload)) + payload


def encode_frame(message: Message) -> bytes:
    """Return the whole frame of a message; raises ProtocolError as `encode` does."""
    return _ack_frame(message) if type(message) is Ack else frame(encode(message))


def _ack_frame(ack: Ack) -> bytes:
    return _ACK_FRAME.pack(
        _ACK_BYTES,
        _ACK_CHANNEL,
        ack.channel,
        _ACK_NEXT_SEQUENCE,
        ack.next_sequence,
        _ACK_POSITION,
        ack.position,
    )
