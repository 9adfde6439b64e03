"""Interfaces to verify and sign tokens, to log people in, and to fetch the metadata documents of OAuth clients."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class TokenVerifier(Protocol):
    """Verifies signed tokens."""

    def verify(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a valid token.

        Raises Unauthorized, or Unavailable if the issuer's keys cannot be read.
        """


ACCESS_TOKEN = "at+jwt"  # noqa: S105 - the name of a type
"""Type of access tokens: https://www.rfc-editor.org/rfc/rfc9068#section-2.1."""


class Signer(Protocol):
    """Signs tokens with private keys that never leave the signer."""

    def sign(self, claims: Mapping[str, Any], type_: str = ACCESS_TOKEN) -> str:
        """Sign the claims, and return the signed token. `type_` is the token's type, in its header `typ`.

        Raises Unavailable, or Misconfigured if the key cannot be used.
        """

    def public_keys(self) -> Sequence[Mapping[str, Any]]:
        """Return the public keys with which tokens are verified, as JWKs. Raises Unavailable or Misconfigured."""


class LogIn(Protocol):
    """Logs people in, through an identity provider or with a log-in code."""

    def begin(self, secret: str, client_name: str) -> tuple[str, str]:
        """Begin a log-in. Return the URL of the log-in page, and the code that the person must type there.

        An empty URL means the server's own log-in page. The code is empty if none is needed. `secret` is in a cookie of
        the person's browser, and `finish` requires the same secret.
        """

    def finish(self, secret: str, parameters: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the claims of the person. Raises Unauthorized or Unavailable.

        `parameters` come from the log-in form or the identity provider's callback.
        """


class ClientDocuments(Protocol):
    """Fetches Client ID Metadata Documents, in which OAuth clients describe themselves, from the web."""

    async def fetch(self, client_id: str, address: str) -> bytes:
        """Fetch the document at the URL `client_id`, for a caller with the IP address `address`.

        Raises InvalidRequest for a permanent failure and Unavailable for a temporary one.
        """
