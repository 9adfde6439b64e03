"""Signing keys in Cloud KMS, which never leave it: https://cloud.google.com/kms/docs/create-validate-signatures.

Cloud KMS has no primary version of an asymmetric key, so this module chooses the version that signs. The public key of
a new version is published at once. But the version signs only when it is PUBLISHED_SECONDS old, because by then no
server or client has an old list of the public keys in its cache. docs/deployment.md describes how to rotate the key.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import google_crc32c
import requests
from google.api_core import exceptions
from google.api_core.retry import Retry, if_exception_type
from google.auth.exceptions import GoogleAuthError
from google.protobuf.json_format import ParseError
from joserfc.jwk import ECKey

from mnemosyne.adapters.signing.key_files import public_jwk, signed_token
from mnemosyne.errors import Misconfigured, Unavailable
from mnemosyne.observability import EventLog, fault_fields
from mnemosyne.ports.identity import ACCESS_TOKEN

if TYPE_CHECKING:
    from google.cloud.kms_v1 import KeyManagementServiceClient

log = EventLog(__name__)

VERSIONS_SECONDS = 60.0
"""Time in seconds for which the list of key versions is cached."""
PUBLISHED_SECONDS = 600.0
"""Age in seconds at which a version begins to sign. No server or client caches the list of keys for longer."""
CALL_SECONDS = 5.0
"""Timeout of a call including retries. The library's default of a minute is too long for a log-in."""
_SEE_KEY = "see the versions of the key with `gcloud kms keys versions list`: docs/deployment.md, Another signing key"
_RESTORE_GRANT = "run `make deploy`, which grants auth the rights on the key"
_BROKEN_OFF = (requests.ConnectionError, requests.exceptions.ChunkedEncodingError)
"""Errors of a connection, which Google's library passes on from its HTTP client."""
_BOUNDS: Mapping[str, Any] = {
    "timeout": CALL_SECONDS,
    "retry": Retry(if_exception_type(exceptions.ServiceUnavailable, *_BROKEN_OFF), initial=0.1, timeout=CALL_SECONDS),
}
_UNUSABLE = (ParseError, ValueError, AttributeError)
"""Errors that Google's library raises if it cannot read a response."""


@dataclass(frozen=True)
class _Version:
    name: str
    created_at: float
    public: ECKey


class _RemoteKey(ECKey):
    """An EC key for the library joserfc. The private part of the key is in Cloud KMS."""

    is_private = True
    private_key = property(lambda self: self)

    def __init__(self, public: ECKey, sign: Callable[[bytes], bytes]) -> None:
        super().__init__(public.raw_value, public.as_dict(private=False))
        self._sign = sign

    def sign(self, message: bytes, _algorithm: object) -> bytes:
        return self._sign(message)


def connect(endpoint: str = "") -> "KeyManagementServiceClient":
    """Return a client of Cloud KMS, or of the address `endpoint` in tests. Raises GoogleAuthError."""
    from google.cloud.kms_v1 import KeyManagementServiceClient

    options = {"api_endpoint": endpoint} if endpoint else None
    return KeyManagementServiceClient(transport="rest", client_options=options)


class CloudKmsKeys:
    """A Signer that signs with one key of Cloud KMS (EC_SIGN_P256_SHA256). Connects on first use."""

    def __init__(
        self, key: str, connect: "Callable[[], KeyManagementServiceClient]" = connect,
        clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self._key = key
        self._connect = connect
        self._clock = clock
        self._connection: KeyManagementServiceClient | None = None
        self._versions: list[_Version] = []
        self._listed_at = float("-inf")
        self._lock = threading.Lock()

    def sign(self, claims: Mapping[str, Any], type_: str = ACCESS_TOKEN) -> str:
        try:
            return self._sign_token(claims, type_)
        except _Disabled:  # the version was disabled after the versions were listed
            self._listed_at = float("-inf")
            return self._sign_token(claims, type_)

    def public_keys(self) -> Sequence[Mapping[str, Any]]:
        return [public_jwk(version.public) for version in self._current_versions()]

    def _sign_token(self, claims: Mapping[str, Any], type_: str) -> str:
        version = _signing_version(self._current_versions(), self._clock())
        key = _RemoteKey(version.public, lambda message: self._sign_message(version, message))
        return signed_token(claims, type_, key)

    def _sign_message(self, version: _Version, message: bytes) -> bytes:
        """Sign a message, and return the signature in DER.

        The checksums of request and response are verified: https://cloud.google.com/kms/docs/data-integrity-guidelines.
        """
        digest = hashlib.sha256(message).digest()
        request = {"name": version.name, "digest": {"sha256": digest}, "digest_crc32c": google_crc32c.value(digest)}
        with self._client() as client:
            answer = client.asymmetric_sign(request=request, **_BOUNDS)
        intact = answer.verified_digest_crc32c and answer.signature_crc32c == google_crc32c.value(answer.signature)
        if not intact or answer.name != version.name:
            raise Unavailable("Cloud KMS's response is corrupt")
        return bytes(answer.signature)

    def _current_versions(self) -> list[_Version]:
        """Return the enabled key versions, newest first. While KMS is unavailable, return the cached versions."""
        with self._lock:
            if time.monotonic() < self._listed_at + VERSIONS_SECONDS:
                return self._versions
            try:
                self._versions = self._list_versions()
            except Unavailable as exc:
                if not self._versions:
                    raise
                log.warning("key_versions_stale", key=self._key, **fault_fields(exc))
            self._listed_at = time.monotonic()
            return self._versions

    def _list_versions(self) -> list[_Version]:
        cached = {version.name: version for version in self._versions}
        with self._client() as client:
            listing = client.list_crypto_key_versions(
                request={"parent": self._key, "filter": "state=ENABLED"}, **_BOUNDS
            )
            versions = [cached.get(version.name) or self._read_version(client, version) for version in listing]
        if not versions:
            raise Misconfigured(f"the key {self._key} must have an enabled version", next_step=_SEE_KEY)
        return sorted(versions, key=lambda version: -version.created_at)

    def _read_version(self, client: "KeyManagementServiceClient", version: Any) -> _Version:
        answer = client.get_public_key(request={"name": version.name}, **_BOUNDS)
        if answer.algorithm.name != "EC_SIGN_P256_SHA256":
            raise Misconfigured(f"the key {self._key} must be EC_SIGN_P256_SHA256, got {answer.algorithm.name}")
        if answer.pem_crc32c != google_crc32c.value(answer.pem.encode()):
            raise Unavailable("Cloud KMS's response is corrupt")
        return _Version(version.name, version.create_time.timestamp(), ECKey.import_key(answer.pem))

    @contextmanager
    def _client(self) -> "Iterator[KeyManagementServiceClient]":
        """Yield the client of Cloud KMS, which connects on first use.

        If the `with` block raises an error of Google's library, raise Misconfigured or Unavailable instead.
        """
        try:
            if self._connection is None:
                self._connection = self._connect()
            yield self._connection
        except exceptions.BadRequest as exc:
            # The key version is disabled. Over REST, the error FailedPrecondition arrives as BadRequest (status 400).
            raise _Disabled(f"the key {self._key} cannot sign", next_step=_SEE_KEY, detail=str(exc.message)) from exc
        except (exceptions.Forbidden, exceptions.NotFound) as exc:
            raise Misconfigured(
                f"the key {self._key} cannot be used", next_step=_RESTORE_GRANT, detail=str(exc.message)
            ) from exc
        except (exceptions.GoogleAPICallError, exceptions.RetryError, GoogleAuthError) as exc:
            raise Unavailable("Cloud KMS does not respond correctly", detail=str(exc)) from exc
        except (requests.RequestException, *_UNUSABLE) as exc:
            raise Unavailable("Cloud KMS does not respond correctly", detail=f"{type(exc).__name__}: {exc}") from exc


class _Disabled(Misconfigured):
    """Raised when a key version cannot sign, because it was disabled after the versions were listed."""


def _signing_version(versions: Sequence[_Version], now: float) -> _Version:
    """Return the newest key version that is at least PUBLISHED_SECONDS old. If all are younger, return the oldest."""
    return next((version for version in versions if version.created_at <= now - PUBLISHED_SECONDS), versions[-1])
