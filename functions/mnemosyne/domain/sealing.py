"""Encrypt an operator's requests to the `migrate` function, and the function's answers. Pure.

Requests and answers pass through a workflow of Google Workflows, and Google keeps the inputs and results of a workflow
for 90 days. Therefore the operator's command and the function each make a key pair, and derive a shared key from the
two pairs. Nobody can derive this key from the inputs, results or logs of the workflow. The encryption uses X25519
(https://www.rfc-editor.org/rfc/rfc7748), HKDF with SHA-256, and AES-256-GCM.
"""

import os
from base64 import b64decode, b64encode

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from mnemosyne.errors import InvalidRequest

NONCE_BYTES = 12
REQUEST, ANSWER = b"request", b"answer"
"""The two kinds of encrypted texts. The encryption includes the kind, so that nobody can send an answer back as a
request."""


class KeyPair:
    """A new key pair, from which this process derives the key that it shares with another process."""

    def __init__(self) -> None:
        self._private = X25519PrivateKey.generate()
        self.public = b64encode(self._private.public_key().public_bytes_raw()).decode()

    def channel(self, other: str) -> "Channel":
        """Return the encrypted channel to the owner of the public key `other`.

        Raises InvalidRequest if `other` is not a key.
        """
        try:
            shared = self._private.exchange(X25519PublicKey.from_public_bytes(b64decode(other, validate=True)))
        except ValueError as exc:
            raise InvalidRequest("the public key must be 32 bytes of X25519 in base64") from exc
        keys = "/".join(sorted((self.public, other))).encode()
        return Channel(HKDF(SHA256(), 32, None, b"mnemosyne operator " + keys).derive(shared))


class Channel:
    """Encrypts and decrypts messages between two processes with the key that they share."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def seal(self, data: bytes, kind: bytes) -> str:
        """Encrypt data, and return the result as base64."""
        nonce = os.urandom(NONCE_BYTES)
        return b64encode(nonce + self._cipher.encrypt(nonce, data, kind)).decode()

    def open(self, sealed: str, kind: bytes) -> bytes:
        """Decrypt data. `kind` is the expected kind of the data: REQUEST or ANSWER.

        Raises InvalidRequest if the data was encrypted with another key, or as data of the other kind.
        """
        try:
            data = b64decode(sealed, validate=True)
            return self._cipher.decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], kind)
        except (ValueError, InvalidTag) as exc:
            raise InvalidRequest("the message was not encrypted for this process") from exc
