"""Interfaces of the authorization server's store, and of the web where clients publish metadata documents."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol
from uuid import UUID

from mnemosyne.domain.oauth import Client, Code, Consent, Grant, PendingAuthorization, Person, RefreshToken


class OAuthRows(Protocol):
    """Rows of the authorization server within one transaction.

    A row that is read is locked until the transaction ends.
    """

    def client(self, client_id: str) -> tuple[Client, float] | None:
        """Return a stored client and the age of its document in seconds."""

    def save_client(self, client: Client, seconds: int) -> None:
        """Store a client whose document has just been read."""

    def extend_client(self, client_id: str, seconds: int) -> None:
        """Extend the lifetime of a client, because it is used."""

    def begin(
        self, cookie_hash: bytes, parameters: Mapping[str, str], client: Client | None, networks: tuple[str, str]
    ) -> None:
        """Store an authorization request. If its network has too many, delete the oldest of them."""

    def pending(self, cookie_hash: bytes) -> PendingAuthorization | None:
        """Return the request of a browser; None if it does not exist or has expired."""

    def expect_log_in(self, cookie_hash: bytes, log_in_hash: bytes) -> None:
        """Store the hash of the log-in code that the person must type."""

    def count_attempt(self, cookie_hash: bytes) -> None:
        """Count a wrong log-in code."""

    def set_status(self, cookie_hash: bytes, status: str) -> None:
        """Set the status of an authorization request to started, logging_in or decided."""

    def log_in(self, cookie_hash: bytes, new_hash: bytes, person: Person) -> None:
        """Store the person who has logged in, and replace the hash of the browser's cookie."""

    def delete_request(self, cookie_hash: bytes) -> None:
        """Delete an authorization request."""

    def add_grant(self, grant: Grant, seconds: int) -> None:
        """Store a grant: the access that a person gives to a client."""

    def add_code(self, code: Code, seconds: int) -> None:
        """Store an authorization code."""

    def code(self, code_hash: bytes) -> Code | None:
        """Return the stored authorization code with this hash."""

    def use_code(self, code_hash: bytes) -> None:
        """Mark an authorization code as used, because a code is valid once."""

    def add_refresh_token(self, token: RefreshToken, seconds: int) -> None:
        """Store a refresh token unless it is stored already."""

    def refresh_token(self, token_hash: bytes) -> RefreshToken | None:
        """Return the stored refresh token with this hash."""

    def use_refresh_token(self, token: RefreshToken, successor_salt: bytes) -> None:
        """Mark a refresh token as used, and store the salt from which its successor is derived.

        The salts of the grant's earlier used tokens are deleted, so these tokens can no longer return their successors.
        """

    def grant(self, grant_id: UUID) -> Grant | None:
        """Return the grant with this id."""

    def extend_grant(self, grant_id: UUID, seconds: int) -> None:
        """Set the expiry of a grant to `seconds` from now."""

    def revoke(self, grant_id: UUID, reason: str) -> None:
        """Revoke a grant with all its tokens."""

    def is_client_blocked(self, client_id: str) -> bool:
        """Whether the operator has blocked the client."""

    def is_blocked(self, subject: str, addresses: Sequence[str]) -> bool:
        """Whether the operator has blocked the person."""

    def consent(self, subject: str, client_id: str, resource: str) -> Consent | None:
        """Return the scopes that the person has allowed for the client before; None if there are none."""

    def save_consent(self, consent: Consent) -> None:
        """Store a consent, which replaces the previous one."""

    def grants_of(self, subject: str) -> Sequence[Grant]:
        """List the active grants of a person, newest first."""

    def withdraw(self, subject: str, client_id: str) -> int:
        """Revoke all grants of a person to a client, and delete the consent. Returns the number of revoked grants."""

    def forget_expired(self) -> None:
        """Delete expired rows, at most a fixed number per call."""


class OAuthStore(Protocol):
    """Database of the authorization server."""

    def transaction(self) -> AbstractContextManager[OAuthRows]:
        """Open a transaction. Raises Unavailable."""


class ClientDocuments(Protocol):
    """Client ID Metadata Documents on the web."""

    async def fetch(self, client_id: str, address: str) -> bytes:
        """Fetch the document at the URL `client_id`, for a caller at `address`.

        Raises InvalidRequest for a permanent failure and Unavailable for a temporary one.
        """
