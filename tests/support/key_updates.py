"""Records of TLS 1.3 that `ssl` makes for nobody: changes of a key, and data in any pieces."""

import ssl
from collections.abc import Iterable
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

_HASH = SHA384()
_HANDSHAKE, _DATA = 22, 23
# A message of a handshake: its type, its length, and that no answer is asked for.
_UPDATE = bytes([24, 0, 0, 1, 0])


class KeyUpdates:
    """Makes the records of a peer that has sent none since its handshake (RFC 8446)."""

    def __init__(self, secret: bytes) -> None:
        """Begin with the secret of what the peer sends."""
        self._use(secret)

    @classmethod
    def of(cls, peer: ssl.SSLSocket, keys: Path) -> "KeyUpdates":
        """Take the secret out of the file to which the peer's context writes its keys."""
        cipher = peer.cipher()
        assert cipher is not None
        assert cipher[0] == "TLS_AES_256_GCM_SHA384"
        name = "CLIENT_TRAFFIC_SECRET_0"
        found = [line.split() for line in keys.read_text().splitlines() if line.startswith(name)]
        return cls(bytes.fromhex(found[-1][2]))

    def updates(self, count: int) -> bytes:
        """So many changes of the key, one after the other."""
        made = []
        for _ in range(count):
            made.append(self._record(_UPDATE, _HANDSHAKE))
            self._use(self._expand(b"traffic upd", _HASH.digest_size))
        return b"".join(made)

    def records(self, pieces: Iterable[bytes]) -> bytes:
        """Pieces of data, each in a record of its own."""
        return b"".join(self._record(piece, _DATA) for piece in pieces)

    def _use(self, secret: bytes) -> None:
        self._secret, self._number = secret, 0
        self._key, self._mask = AESGCM(self._expand(b"key", 32)), self._expand(b"iv", 12)

    def _expand(self, label: bytes, length: int) -> bytes:
        label = b"tls13 " + label
        info = length.to_bytes(2, "big") + bytes([len(label)]) + label + b"\0"
        return HKDFExpand(_HASH, length, info).derive(self._secret)

    def _record(self, content: bytes, kind: int) -> bytes:
        nonce = int.from_bytes(self._mask, "big") ^ self._number
        self._number += 1
        head = bytes([_DATA, 3, 3]) + (len(content) + 17).to_bytes(2, "big")
        inner = content + bytes([kind])
        return head + self._key.encrypt(nonce.to_bytes(12, "big"), inner, head)
