"""Block and unblock people and clients, as the schema's owner."""

from collections.abc import Sequence
from typing import Any, Final

from mnemosyne.adapters.database.owner_store import OwnerStore

_LIST: Final = "SELECT who, subjects, blocked_at FROM oauth_blocked_people ORDER BY blocked_at, who"
# Also store the subjects of all grants of this address, so that the person stays blocked after a change of the address
# at the identity provider.
_BLOCK: Final = """
WITH known AS (
    SELECT subject FROM oauth_grants WHERE subject = CAST(:who AS text) OR lower(person) = lower(CAST(:who AS text))
    UNION
    SELECT unnest(subjects) FROM oauth_blocked_people WHERE who = CAST(:who AS text)
), blocked AS (
    INSERT INTO oauth_blocked_people (who, subjects)
    VALUES (CAST(:who AS text), ARRAY(SELECT subject FROM known ORDER BY subject))
    ON CONFLICT (who) DO UPDATE SET subjects = EXCLUDED.subjects
), forgotten AS (
    DELETE FROM oauth_consents WHERE subject IN (SELECT subject FROM known)
), ended AS (
    DELETE FROM oauth_requests
    WHERE person ->> 'subject' IN (SELECT subject FROM known) OR person ->> 'subject' = CAST(:who AS text)
        OR lower(person ->> 'name') = lower(CAST(:who AS text))
), revoked AS (
    UPDATE oauth_grants SET revoked_at = now(), revoked_for = 'person blocked by the operator'
    WHERE subject IN (SELECT subject FROM known) AND revoked_at IS NULL AND expires_at > now()
    RETURNING id
)
SELECT id FROM revoked ORDER BY id
"""
_UNBLOCK: Final = "DELETE FROM oauth_blocked_people WHERE who = :who RETURNING who"
_LIST_CLIENTS: Final = """
SELECT client_id AS who, blocked_at FROM oauth_blocked_clients ORDER BY blocked_at, client_id
"""
_BLOCK_CLIENT: Final = """
WITH blocked AS (
    INSERT INTO oauth_blocked_clients (client_id) VALUES (CAST(:who AS text)) ON CONFLICT (client_id) DO NOTHING
), forgotten AS (
    DELETE FROM oauth_consents WHERE client_id = CAST(:who AS text)
), revoked AS (
    UPDATE oauth_grants SET revoked_at = now(), revoked_for = 'client blocked by the operator'
    WHERE client_id = CAST(:who AS text) AND revoked_at IS NULL AND expires_at > now()
    RETURNING id
)
SELECT id FROM revoked ORDER BY id
"""
_UNBLOCK_CLIENT: Final = "DELETE FROM oauth_blocked_clients WHERE client_id = :who RETURNING client_id"


class PostgresBlockedPeople(OwnerStore):
    """The PeopleStore on PostgreSQL; opens a connection for each operation."""

    def blocked(self) -> Sequence[dict[str, Any]]:
        """Return each blocked person (`who`) and the time of the block (`blocked_at`), the earliest first."""
        return [row.named | {"blocked_at": row["blocked_at"].isoformat()} for row in self._run(_LIST)]

    def block(self, who: str) -> Sequence[str]:
        """Block a person by e-mail address or subject, and return the ids of the revoked grants."""
        return [str(row["id"]) for row in self._run(_BLOCK, who=who)]

    def unblock(self, who: str) -> bool:
        """Unblock a person, and return whether the person was blocked."""
        return bool(self._run(_UNBLOCK, who=who))


class PostgresBlockedClients(OwnerStore):
    """The store of blocked clients; opens a connection for each operation."""

    def blocked(self) -> Sequence[dict[str, Any]]:
        """Return the id of each blocked client (`who`) and the time of the block (`blocked_at`), the earliest first."""
        return [row.named | {"blocked_at": row["blocked_at"].isoformat()} for row in self._run(_LIST_CLIENTS)]

    def block(self, who: str) -> Sequence[str]:
        """Block a client by id, and return the ids of the revoked grants."""
        return [str(row["id"]) for row in self._run(_BLOCK_CLIENT, who=who)]

    def unblock(self, who: str) -> bool:
        """Unblock a client, and return whether the client was blocked."""
        return bool(self._run(_UNBLOCK_CLIENT, who=who))
