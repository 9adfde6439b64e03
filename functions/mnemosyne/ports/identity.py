"""Interfaces to verify and sign tokens, to log people in, and to read the documents of clients."""

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
        """Sign the claims, and return a token of the type `type_`.

        Raises Unavailable, or Misconfigured if the key cannot be used.
        """

    def public_keys(self) -> Sequence[Mapping[str, Any]]:
        """Return the public keys with which tokens are verified, as JWKs. Raises Unavailable and Misconfigured."""


class LogIn(Protocol):
    """A way for people to log in."""

    def begin(self, secret: str, client_name: str) -> tuple[str, str]:
        """Begin a log-in, and return the log-in URL and the code that the person types. Either may be empty.

        Without a URL, the person logs in on the server's own page. Only this browser knows `secret`, and `finish`
        requires the same secret.
        """

    def finish(self, secret: str, parameters: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the claims of the person. Raises Unauthorized or Unavailable.

        `parameters` come from the log-in form or the identity provider's callback.
        """


class ClientDocuments(Protocol):
    """Client ID Metadata Documents on the web."""

    async def fetch(self, client_id: str, address: str) -> bytes:
        """Fetch the document at the URL `client_id`, for a caller at `address`.

        Raises InvalidRequest for a permanent failure and Unavailable for a temporary one.
        """
