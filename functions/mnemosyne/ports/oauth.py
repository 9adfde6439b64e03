"""Ports of the authorization server's store and of client metadata documents."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol
from uuid import UUID

from mnemosyne.domain.oauth import Client, Code, Consent, Grant, Pending, Person, RefreshToken


class OAuthRows(Protocol):
    """What the authorization server keeps, within one transaction; what it reads there is locked until its end."""

    def client(self, client_id: str) -> tuple[Client, float] | None:
        """Return a client that somebody has agreed to, and how many seconds ago its document was read."""

    def keep_client(self, client: Client, seconds: int) -> None:
        """Keep a client whose document has just been read."""

    def extend_client(self, client_id: str, seconds: int) -> None:
        """Keep a client for longer, because it is used."""

    def begin(
        self, cookie_hash: bytes, parameters: Mapping[str, str], client: Client | None, networks: tuple[str, str]
    ) -> None:
        """Keep a request until it is decided, has expired, or gives way to newer ones of its own network."""

    def pending(self, cookie_hash: bytes) -> Pending | None:
        """Return the request of that browser; None where there is none, or it has expired."""

    def expect_log_in(self, cookie_hash: bytes, log_in_hash: bytes) -> None:
        """Keep what the person must show next, and forget what was shown before."""

    def count_attempt(self, cookie_hash: bytes) -> None:
        """Note that something wrong was shown."""

    def set_status(self, cookie_hash: bytes, status: str) -> None:
        """Note that a request is started, logging_in or decided."""

    def log_in(self, cookie_hash: bytes, new_hash: bytes, person: Person) -> None:
        """Note who it is. The request is found by the new hash from now on."""

    def end(self, cookie_hash: bytes) -> None:
        """Forget a request."""

    def add_grant(self, grant: Grant, seconds: int) -> None:
        """Keep what a person has let a client do."""

    def add_code(self, code: Code, seconds: int) -> None:
        """Keep an authorization code."""

    def code(self, code_hash: bytes) -> Code | None:
        """Return an authorization code."""

    def use_code(self, code_hash: bytes) -> None:
        """Note that a code was presented: it is of no use again."""

    def add_refresh_token(self, token: RefreshToken, seconds: int) -> None:
        """Keep a refresh token if it is not kept already."""

    def refresh_token(self, token_hash: bytes) -> RefreshToken | None:
        """Return a refresh token."""

    def use_refresh_token(self, token: RefreshToken, successor_salt: bytes) -> None:
        """Note that a refresh token was used; the successors of earlier ones are answered no more."""

    def grant(self, grant_id: UUID) -> Grant | None:
        """Return a grant."""

    def extend_grant(self, grant_id: UUID, seconds: int) -> None:
        """Keep a grant for so long from now on."""

    def revoke(self, grant_id: UUID, reason: str) -> None:
        """End a grant, with all its tokens."""

    def is_blocked(self, subject: str, addresses: Sequence[str]) -> bool:
        """Whether the operator has blocked the person."""

    def consent(self, subject: str, client_id: str, resource: str) -> Consent | None:
        """Return what the person has agreed to before."""

    def remember(self, consent: Consent) -> None:
        """Keep what a person has agreed to, in the place of what they did before."""

    def grants_of(self, subject: str) -> Sequence[Grant]:
        """List the grants of a person that stand, newest first."""

    def withdraw(self, subject: str, client_id: str) -> int:
        """End all that the person has let the client do, and forget that they agreed to it; how many grants."""

    def forget_expired(self) -> None:
        """Delete a bounded number of rows that have expired."""


class OAuthStore(Protocol):
    """Where the authorization server keeps what must outlast an instance."""

    def transaction(self) -> AbstractContextManager[OAuthRows]:
        """Commit what is done inside, or nothing; raises Unavailable."""


class ClientDocuments(Protocol):
    """Client ID Metadata Documents, on the web."""

    async def fetch(self, client_id: str, address: str) -> bytes:
        """Return the document at that URL, for a caller at `address`.

        Raises InvalidRequest if it is none or may not be read, and Unavailable if it may be there later.
        """
