"""Lock-outs of people, OAuth clients and API keys: list, add and undo them as the schema's owner."""

from collections.abc import Sequence
from typing import Any, Final, Literal

from mnemosyne.adapters.database.owner_store import OwnerStore
from mnemosyne.errors import NotFound

Kind = Literal["person", "client", "key"]
_LIST: Final = """
SELECT 'person' AS kind, who, subjects, blocked_at FROM oauth_blocked_people
UNION ALL
SELECT 'client', client_id, NULL, blocked_at FROM oauth_blocked_clients
UNION ALL
SELECT 'key', id, NULL, blocked_at FROM api_keys WHERE blocked_at IS NOT NULL
ORDER BY blocked_at, who
"""
# Also store the subjects (user ids at the identity provider) of all grants that belong to this e-mail address. Then the
# person stays blocked even after the identity provider gives this person another e-mail address.
_BLOCK_PERSON: Final = """
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
_UNBLOCK_PERSON: Final = "DELETE FROM oauth_blocked_people WHERE who = :who RETURNING who"
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
_BLOCK_KEY: Final = "UPDATE api_keys SET blocked_at = coalesce(blocked_at, now()) WHERE id = :who RETURNING id"
_UNBLOCK_KEY: Final = "UPDATE api_keys SET blocked_at = NULL WHERE id = :who AND blocked_at IS NOT NULL RETURNING id"


class Lockouts(OwnerStore):
    """The store of lock-outs; opens a connection for each operation."""

    def every(self) -> Sequence[dict[str, Any]]:
        """Return all lock-outs, the earliest first.

        Each lock-out has its kind (person, client or key), its time (`blocked_at`), and `who`: the e-mail address or
        subject of the person, or the id of the client or key. A subject is a user id at the identity provider. The
        lock-out of a person also has the known `subjects` of this person.
        """
        rows = [row.by_name | {"blocked_at": row["blocked_at"].isoformat()} for row in self._run(_LIST)]
        return [{name: value for name, value in row.items() if value is not None} for row in rows]

    def add(self, kind: Kind, who: str) -> Sequence[str]:
        """Lock out a person, a client or a key. Revoke the active grants of the person or client, and return their ids.

        `who` is the e-mail address or subject of the person, or the id of the client or key. Raises NotFound for an
        unknown key.
        """
        if kind == "key":
            if not self._run(_BLOCK_KEY, who=who):
                raise NotFound(f"no key has the id {who}: see `mnemosyne keys list`")
            return []
        return [str(row["id"]) for row in self._run(_BLOCK_PERSON if kind == "person" else _BLOCK_CLIENT, who=who)]

    def undo(self, kind: Kind, who: str) -> bool:
        """Undo a lock-out, and return whether there was one."""
        match kind:
            case "person":
                rows = self._run(_UNBLOCK_PERSON, who=who)
            case "client":
                rows = self._run(_UNBLOCK_CLIENT, who=who)
            case "key":
                rows = self._run(_UNBLOCK_KEY, who=who)
        return bool(rows)
