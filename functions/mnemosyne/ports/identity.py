"""Ports for verifying tokens, signing them, and logging people in."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class TokenVerifier(Protocol):
    """Tells what a signed token says, once it is sure that it may be believed."""

    def verify(self, token: str) -> Mapping[str, Any]:
        """Return the token's claims; raises Unauthorized, or Unavailable where the issuer cannot be asked."""


class Signer(Protocol):
    """Holds the keys that tokens are signed with; none leaves it."""

    def sign(self, claims: Mapping[str, Any]) -> str:
        """Return the claims as a signed token of the type `at+jwt` (RFC 9068); raises Unavailable."""

    def public_keys(self) -> Sequence[Mapping[str, Any]]:
        """Return every key that a valid token may be signed with, as a JWK without its private part."""


class LogIn(Protocol):
    """How a person shows who they are."""

    def begin(self, secret: str, client_name: str) -> tuple[str, str]:
        """Return where the browser goes, and what it must come back with; `secret` is that browser's alone."""

    def finish(self, secret: str, shown: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the claims of who came back; raises Unauthorized, or Unavailable."""
