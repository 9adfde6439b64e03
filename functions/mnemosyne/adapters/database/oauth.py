"""Storage of the OAuth authorization server in PostgreSQL: clients, authorization requests, grants and tokens."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from mnemosyne.adapters.database import oauth_sql as sql
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.database.rows import json_text, text_array
from mnemosyne.adapters.database.statements import Row
from mnemosyne.domain.oauth import (
    PENDING_OF_LARGE_NETWORK,
    PENDING_OF_NETWORK,
    REPEAT_SECONDS,
    REQUEST_SECONDS,
    Client,
    Code,
    Consent,
    Grant,
    PendingAuthorization,
    Person,
    RefreshToken,
    ValidGrant,
)
from mnemosyne.domain.principal import Scope


class OAuthStore:
    """Opens transactions in the database of the OAuth authorization server."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @contextmanager
    def transaction(self) -> Iterator["OAuthRows"]:
        """Run the `with` block in a transaction. Raises Unavailable if the database does not respond."""
        with self._pool.connection() as connection, connection.transaction():
            yield OAuthRows(connection)


def find_valid_grant(pool: Pool, grant_id: UUID) -> ValidGrant | None:
    """Return the grant with this id; None if it is revoked, expired, blocked or unknown.

    The service `mcp` calls this function. Its database role is not allowed to read the tables, but has the right to
    run this query. Raises Unavailable if the database does not respond.
    """
    with pool.connection() as connection:
        rows = connection.run(sql.VALID_GRANT, id=str(grant_id))
    return ValidGrant(**rows[0].by_name | {"scopes": _read_scopes(rows[0]["scopes"])}) if rows else None


class OAuthRows:
    """Rows of the authorization server within one transaction.

    An authorization request, grant or code that is read by its id or hash is locked until the transaction ends.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    # -- clients

    def client(self, client_id: str) -> tuple[Client, float] | None:
        """Return a stored client, and the seconds since its metadata document was last read."""
        rows = self._connection.run(sql.CLIENT, id=client_id)
        return (_read_client(rows[0]["metadata"] | {"id": client_id}), rows[0]["age"]) if rows else None

    def save_client(self, client: Client, seconds: int) -> None:
        """Store a client for at least `seconds`. Its metadata document was just read.

        If the client is stored already with a later expiry, the later expiry is kept.
        """
        metadata = {name: value for name, value in vars(client).items() if name != "id"}
        self._connection.run(sql.KEEP_CLIENT, id=client.id, metadata=json_text(metadata), seconds=seconds)

    def extend_client(self, client_id: str, seconds: int) -> None:
        """Keep a stored client for at least `seconds` from now. Called when the client gets a token."""
        self._connection.run(sql.EXTEND_CLIENT, id=client_id, seconds=seconds)

    # -- authorization requests in progress

    def begin(
        self, cookie_hash: bytes, parameters: Mapping[str, str], client: Client | None, networks: tuple[str, str]
    ) -> None:
        """Store an authorization request.

        The request is kept until the person decides, until it expires, or until newer requests of the same network
        evict it.
        """
        network, large_network = networks
        self._connection.run(
            sql.BEGIN,
            cookie_hash=cookie_hash,
            parameters=json_text(parameters),
            client=json_text(vars(client)) if client else None,
            network=network,
            large_network=large_network,
            of_network=PENDING_OF_NETWORK,
            of_large_network=PENDING_OF_LARGE_NETWORK,
            seconds=REQUEST_SECONDS,
        )

    def pending(self, cookie_hash: bytes) -> PendingAuthorization | None:
        """Return the authorization request of the browser with this cookie; None if there is none or it has expired."""
        rows = self._connection.run(sql.PENDING, cookie_hash=cookie_hash)
        if not rows:
            return None
        person, client = rows[0]["person"], rows[0]["client"]
        values = rows[0].by_name | {"person": person and Person(**person | {"scopes": _read_scopes(person["scopes"])})}
        return PendingAuthorization(**values | {"client": client and _read_client(client)})

    def expect_log_in(self, cookie_hash: bytes, log_in_hash: bytes) -> None:
        """Store the hash of the log-in code that the person must type."""
        self._connection.run(sql.EXPECT_LOG_IN, cookie_hash=cookie_hash, log_in_hash=log_in_hash)

    def count_attempt(self, cookie_hash: bytes) -> None:
        """Count one more wrong log-in code for an authorization request."""
        self._connection.run(sql.COUNT_ATTEMPT, cookie_hash=cookie_hash)

    def set_status(self, cookie_hash: bytes, status: str) -> None:
        """Set the status of an authorization request to started, logging_in or decided."""
        self._connection.run(sql.SET_STATUS, cookie_hash=cookie_hash, status=status)

    def log_in(self, cookie_hash: bytes, new_hash: bytes, person: Person) -> None:
        """Store the logged-in person, and replace the hash of the browser's cookie.

        The browser gets a new cookie. So a cookie that was stolen before the log-in is useless.
        """
        person_json = json_text(vars(person) | {"scopes": sorted(person.scopes)})
        self._connection.run(sql.LOG_IN, cookie_hash=cookie_hash, new_hash=new_hash, person=person_json)

    def delete_request(self, cookie_hash: bytes) -> None:
        """Delete an authorization request."""
        self._connection.run(sql.END, cookie_hash=cookie_hash)

    # -- grants, codes and refresh tokens

    def add_grant(self, grant: Grant, seconds: int) -> None:
        """Store a grant: the access that a person gives to a client."""
        values = vars(grant) | {"id": str(grant.id), "scopes": text_array(sorted(grant.scopes))}
        self._connection.run(sql.ADD_GRANT, **values, seconds=seconds)

    def grant(self, grant_id: UUID) -> Grant | None:
        """Return the grant with this id."""
        rows = self._connection.run(sql.GRANT, id=str(grant_id))
        return _read_grant(rows[0]) if rows else None

    def extend_grant(self, grant_id: UUID, seconds: int) -> None:
        """Set the expiry of a grant to `seconds` from now."""
        self._connection.run(sql.EXTEND_GRANT, id=str(grant_id), seconds=seconds)

    def revoke(self, grant_id: UUID, reason: str) -> None:
        """Revoke a grant with all its tokens."""
        self._connection.run(sql.REVOKE, id=str(grant_id), reason=reason)

    def add_code(self, code: Code, seconds: int) -> None:
        """Store an authorization code."""
        self._connection.run(sql.ADD_CODE, **vars(code), grant_id=str(code.grant.id), seconds=seconds)

    def code(self, code_hash: bytes) -> Code | None:
        """Return the stored authorization code with this hash."""
        rows = self._connection.run(sql.CODE, hash=code_hash)
        grant = self.grant(rows[0]["grant_id"]) if rows else None
        if grant is None:
            return None
        values = {name: value for name, value in rows[0].by_name.items() if name != "grant_id"}
        return Code(**values, hash=code_hash, grant=grant)

    def use_code(self, code_hash: bytes) -> None:
        """Mark an authorization code as used, because a code is valid once."""
        self._connection.run(sql.USE_CODE, hash=code_hash)

    def add_refresh_token(self, token: RefreshToken, seconds: int) -> None:
        """Store a refresh token unless it is stored already."""
        self._connection.run(sql.ADD_REFRESH, hash=token.hash, grant_id=str(token.grant.id), seconds=seconds)

    def refresh_token(self, token_hash: bytes) -> RefreshToken | None:
        """Return the stored refresh token with this hash, and lock its grant until the transaction ends."""
        rows = self._connection.run(sql.REFRESH_GRANT, hash=token_hash)
        grant = self.grant(rows[0]["grant_id"]) if rows else None
        if grant is None:
            return None
        row = self._connection.one(sql.REFRESH, hash=token_hash, repeat_seconds=REPEAT_SECONDS)
        return RefreshToken(hash=token_hash, grant=grant, **row.by_name)

    def use_refresh_token(self, token: RefreshToken, successor_salt: bytes) -> None:
        """Mark a refresh token as used, and store the salt from which its successor is derived.

        The successor is the next refresh token of the grant. The salts of earlier tokens are deleted, so that nobody
        can use these tokens to get their successors.
        """
        self._connection.run(
            sql.USE_REFRESH, hash=token.hash, grant_id=str(token.grant.id), successor_salt=successor_salt
        )

    # -- people

    def is_client_blocked(self, client_id: str) -> bool:
        """Whether the operator has blocked the client."""
        return bool(self._connection.one(sql.CLIENT_IS_BLOCKED, client_id=client_id)["blocked"])

    def is_blocked(self, subject: str, addresses: Sequence[str]) -> bool:
        """Whether the operator has blocked the person."""
        row = self._connection.one(sql.IS_BLOCKED, subject=subject, addresses=text_array(addresses))
        return bool(row["blocked"])

    def consent(self, subject: str, client_id: str, resource: str) -> Consent | None:
        """Return the stored consent: the scopes that the person has allowed for the client; None if there is none."""
        rows = self._connection.run(sql.CONSENT, subject=subject, client_id=client_id, resource=resource)
        return Consent(**rows[0].by_name | {"scopes": _read_scopes(rows[0]["scopes"])}) if rows else None

    def save_consent(self, consent: Consent) -> None:
        """Store a consent, which replaces the previous one."""
        self._connection.run(sql.REMEMBER, **vars(consent) | {"scopes": text_array(sorted(consent.scopes))})

    def grants_of(self, subject: str) -> Sequence[Grant]:
        """List the active grants of a person, newest first."""
        return [_read_grant(row) for row in self._connection.run(sql.GRANTS_OF, subject=subject)]

    def withdraw(self, subject: str, client_id: str) -> int:
        """Revoke all grants of a person to a client, and delete the consent. Returns the number of revoked grants."""
        return int(self._connection.one(sql.WITHDRAW, subject=subject, client_id=client_id)["revoked"])

    def delete_expired(self) -> None:
        """Delete up to 100 expired requests, 100 expired clients, and 100 grants that expired over a day ago."""
        self._connection.run(sql.DELETE_EXPIRED_REQUESTS)
        self._connection.run(sql.DELETE_EXPIRED_CLIENTS)
        self._connection.run(sql.DELETE_EXPIRED_GRANTS)


def _read_grant(row: Row) -> Grant:
    return Grant(**row.by_name | {"scopes": _read_scopes(row["scopes"])})


def _read_client(metadata: Mapping[str, Any]) -> Client:
    return Client(**{**metadata, "redirect_uris": tuple(metadata["redirect_uris"])})


def _read_scopes(names: Sequence[str]) -> frozenset[Scope]:
    return frozenset(map(Scope, names))
