"""The noise key: 32 random bytes in a file of their own, as 64 hexadecimal digits.

Whoever has the key and the journal knows all noise, so the key is neither in the database nor in
any message. The database holds a keyed fingerprint of it, by which a foreign key is told.
"""

import hmac
import secrets
from hashlib import blake2b
from pathlib import Path

from littled.limits import KEY_FILE_BYTES_MAX
from littled.store.errors import StoreRefused
from littled.store.files import read_limited, refuse_readable

KEY_NAME = "noise.key"
KEY_BYTES = 32
_FINGERPRINT_BYTES = 16


def new_key() -> bytes:
    """A key from the operating system's randomness."""
    return secrets.token_bytes(KEY_BYTES)


def key_text(key: bytes) -> bytes:
    """A key as the contents of its file."""
    return key.hex().encode() + b"\n"


def read_key(path: Path, *, handed_over: bool) -> bytes:
    """The key in a file.

    handed_over: the file was named by the operator and may belong to the service manager, whose
    access list shows as permissions of the group. Raises StoreRefused when the file is missing,
    can be read by others, or holds something else.
    """
    try:
        refuse_readable(path, group_may_read=handed_over)
        text = read_limited(path, KEY_FILE_BYTES_MAX)
    except FileNotFoundError:
        raise StoreRefused(
            f"the noise key {path} is missing: put it back from its backup; without it nobody may "
            "add to this store, as its noise could not be told from that of another history"
        ) from None
    except OSError as error:
        raise StoreRefused(f"the noise key {path} cannot be read: {error.strerror}") from error
    try:
        key = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise StoreRefused(f"the noise key {path} must hold {2 * KEY_BYTES} hexadecimal digits")
    return key


def fingerprint(key: bytes, instance: str) -> bytes:
    """What the database keeps of the key (16 bytes); tells nothing about it."""
    return blake2b(
        instance.encode(), key=key, digest_size=_FINGERPRINT_BYTES, person=b"littled key"
    ).digest()


def check_fingerprint(key: bytes, instance: str, expected: bytes, path: Path) -> None:
    """Raise StoreRefused unless the key is the one the store was made with."""
    if not hmac.compare_digest(fingerprint(key, instance), expected):
        raise StoreRefused(
            f"the noise key {path} belongs to another store: put back the key of this one"
        )
