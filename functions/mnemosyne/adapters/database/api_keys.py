"""API keys in PostgreSQL.

The services can only look up keys by id. Only the owner of the schema can create, block and revoke keys.
"""

from collections.abc import Sequence
from typing import Final

from mnemosyne.adapters.database.owner_store import OwnerStore
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.database.rows import text_array
from mnemosyne.adapters.database.statements import Row
from mnemosyne.domain.principal import ApiKey, Scope
from mnemosyne.errors import NotFound

_FIND: Final = """
SELECT id, name, namespace, scopes, secret_hash, created_at, expires_at, revoked_at, blocked_at, last_used_at
FROM find_api_key(CAST(:id AS text))
"""
_CREATE: Final = """
INSERT INTO api_keys (id, name, namespace, scopes, secret_hash, created_at, expires_at)
VALUES (:id, :name, :namespace, CAST(:scopes AS text[]), :secret_hash, :created_at, CAST(:expires_at AS timestamptz))
ON CONFLICT (id) DO NOTHING
"""
_LIST: Final = """
SELECT id, name, namespace, scopes, secret_hash, created_at, expires_at, revoked_at, blocked_at, last_used_at
FROM api_keys
ORDER BY created_at, id
"""
_REVOKE: Final = """
UPDATE api_keys SET revoked_at = coalesce(revoked_at, now()) WHERE id = :id
RETURNING id, name, namespace, scopes, secret_hash, created_at, expires_at, revoked_at, blocked_at, last_used_at
"""


def find_api_key(pool: Pool, key_id: str) -> ApiKey | None:
    """Return the key with this id, or None if it does not exist.

    The database roles of the services have the right to run this query. Raises Unavailable if the database cannot be
    reached.
    """
    with pool.connection() as connection:
        rows = connection.run(_FIND, id=key_id)
    return _read_key(rows[0]) if rows else None


class ApiKeyStore(OwnerStore):
    """Creates, lists and revokes keys as the schema's owner, with a new connection for each operation."""

    def create(self, key: ApiKey) -> None:
        """Store a new key. A repeated call with the same id changes nothing."""
        self._run(_CREATE, **vars(key) | {"scopes": text_array(sorted(key.scopes))})

    def every(self) -> Sequence[ApiKey]:
        """Return all keys, oldest first."""
        return [_read_key(row) for row in self._run(_LIST)]

    def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key and return it. Raises NotFound if no key has this id."""
        rows = self._run(_REVOKE, id=key_id)
        if not rows:
            raise NotFound(f"no key has the id {key_id}: see `mnemosyne keys list`")
        return _read_key(rows[0])


def _read_key(row: Row) -> ApiKey:
    scopes = frozenset(map(Scope, row["scopes"]))
    return ApiKey(**row.by_name | {"scopes": scopes, "secret_hash": bytes(row["secret_hash"])})
